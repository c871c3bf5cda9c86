#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles, runs and checks random sound steps by random strategies: random_steps.py OUTPUT STEPS STRATEGIES_PER_STEP

A chain of layers, each with an optimizer of some kind, and beside it what real steps have: statistics for now or later, of compute or of arithmetic, 16-bit
params with masters, decay and clips before or after reductions, averages, target networks.
"""
import os
import random
import subprocess
import sys

STRATEGIES = [
    "bagua-allreduce", "blueconnect", "blueconnect{updates=runtime}", "bsp-a2a", "bsp-a2a{updates=runtime}", "bsp-ps",
    "bsp-ps{servers=balanced}", "byteps", "byteps{partition-bytes=100 updates=runtime}", "bytescheduler-a2a",
    "bytescheduler-a2a{partition-bytes=333 wire=bf16}", "bytescheduler-ps", "ddp", "ddp{updates=runtime}", "ddp{wire=bf16}",
    "dear", "dear{update=shard}", "dear{updates=program}", "dear{wire=f16 update=shard}", "horovod", "mg-wfbp",
    "mg-wfbp{form=rail updates=runtime}", "p3", "p3{partition-bytes=100 updates=program}", "wfbp-a2a", "wfbp-ps",
    "wfbp-ps{updates=runtime}", "auto{evaluations=20}", "auto{evaluations=20 updates=runtime}"
]


class Step:
    """Text of one step."""

    def __init__(self, rng):
        self.rng = rng
        count = rng.choice([8, 1000])
        self.wide, self.half = f"tensor<{count}xf32>", f"tensor<{count}xbf16>"
        self.axes = rng.choice([["node"], ["node", "gpu"]])
        self.over = f"[{', '.join(self.axes)}]"
        self.states, self.body, self.late = [], [], []
        self.last = "%x"
        self.is_half = [rng.random() < .2 for _ in range(rng.randint(1, 4))]
        for layer in range(len(self.is_half)):
            self.add_forward(layer)
        for layer in reversed(range(len(self.is_half))):
            self.add_backward(layer)

    def chance(self, probability):
        return self.rng.random() < probability

    def type_of(self, layer):
        return self.half if self.is_half[layer] else self.wide

    def compute(self, phase, name, operands, results, lines=None):
        operands, types = zip(*operands)
        (self.body if lines is None else lines).append(
            f"{', '.join(value for value, _ in results)}{' = ' if results else ''}bagua.compute {phase} \"{name}\""
            f"({', '.join(operands)}) cost_ns 20000 measured : ({', '.join(types)}) -> "
            f"({', '.join(kind for _, kind in results)})")

    def add_forward(self, layer):
        wide, results = self.wide, [(f"%a{layer}", self.wide)]
        has_statistic = self.chance(.4)
        if has_statistic:
            results.append((f"%s{layer}", wide))
        self.compute("forward", f"f{layer}", [(self.last, wide), (f"%w{layer}", self.type_of(layer))], results)
        self.last = f"%a{layer}"
        if has_statistic:
            self.add_statistic(layer)

    def add_statistic(self, layer):
        wide, mean, own = self.wide, f"%r{layer}", f"%s{layer}"
        kind = self.rng.choice(["mean", "sum", "max"])
        if self.chance(.3):
            own = f"%u{layer}"
            self.body.append(f"{own} = bagua.linear [0.5, 0.5] (%s{layer}, %x) : {wide}")
        self.body.append(f"{mean} = bagua.all_reduce {kind} {own} over {self.over} : {wide}")
        if self.chance(.4):
            self.compute("forward", f"norm{layer}", [(self.last, wide), (mean, wide)], [(f"%b{layer}", wide)])
            self.last = f"%b{layer}"
        use, kept = self.rng.randint(0, 4), f"%t{layer}"
        if use == 0:
            self.body.append(f"{kept} = bagua.linear [0.9, 0.1] (%e{layer}, {mean}) : {wide}")
        elif use == 1:
            self.compute("update", f"run{layer}", [(f"%e{layer}", wide), (mean, wide)], [(kept, wide)])
        elif use == 2:
            self.compute("update", f"print{layer}", [(mean, wide)], [])
            return
        else:
            kept = mean
        self.states.append(("buffer", f"e{layer}", wide, kept))
        if use == 3:
            self.states.append(("buffer", f"f{layer}", wide, kept))

    def add_backward(self, layer):
        kind, gradient = self.type_of(layer), f"%g{layer}"
        self.compute("backward", f"l{layer}", [(self.last, self.wide), (f"%w{layer}", kind)],
                     [(gradient, f"{kind} grad \"w{layer}\"")])
        is_own = self.chance(.3)
        before = self.rng.randint(0, 3) if is_own and not self.is_half[layer] else 3
        if before == 0:
            self.body.append(f"%p{layer} = bagua.linear [0.8, 0.01] ({gradient}, %w{layer}) : {kind}")
        elif before == 1:
            self.compute("backward", f"clip{layer}", [(gradient, kind)], [(f"%p{layer}", kind)])
        if before < 2:
            gradient = f"%p{layer}"
        if is_own:
            self.body.append(f"%q{layer} = bagua.all_reduce mean {gradient} over {self.over} : {kind}")
            gradient = f"%q{layer}"
        self.add_update(layer, gradient)

    def add_update(self, layer, gradient):
        wide, late, base, new = self.wide, self.late, f"w{layer}", f"%n{layer}"
        raw = gradient
        if self.is_half[layer]:
            base = f"master{layer}"
            late.append(f"%c{layer} = bagua.cast {gradient} : {self.half} -> {wide}")
            gradient = f"%c{layer}"
        if self.chance(.2):
            late.append(f"%k{layer} = bagua.linear [1.0, 0.01] ({gradient}, %{base}) : {wide}")
            gradient = f"%k{layer}"
        rule = self.rng.randint(0, 4)
        moments = [f"m{layer}", f"v{layer}"][:{1: 1, 2: 2}.get(rule, 0)]
        made = ", ".join([new] + [f"%{moment}n" for moment in moments])
        read = ", ".join(f"%{state}" for state in [base] + moments)
        if rule < 3:
            op = ["sgd", "sgd", "adam"][rule]
            momentum = " momentum 0.9" if rule == 1 else ""
            late.append(f"{made} = bagua.{op} ({read}){momentum} grad {gradient} lr 0.1 : {wide}")
        elif rule == 3:
            late.append(f"{new} = bagua.linear [1.0, -0.1] (%{base}, {gradient}) : {wide}")
        else:
            self.compute("update", f"opt{layer}", [(f"%{base}", wide), (gradient, wide)], [(new, wide)], late)
        self.states += [("optimizer", moment, wide, f"%{moment}n") for moment in moments]
        if self.is_half[layer]:
            late.append(f"%h{layer} = bagua.cast {new} : {wide} -> {self.half}")
            self.states += [("optimizer", base, wide, new), ("param", f"w{layer}", self.half, f"%h{layer}")]
        else:
            self.states.append(("param", base, wide, new))
        self.add_follower(layer, base, new, raw)

    def add_follower(self, layer, base, new, gradient):
        """A state that follows the params, or the gradient."""
        wide, name, kept = self.wide, f"y{layer}", f"%z{layer}"
        use = self.rng.randint(0, 13)
        if use < 2:
            operand = [new, f"%{base}"][use]
            self.late.append(f"{kept} = bagua.linear [0.99, 0.01] (%{name}, {operand}) : {wide}")
        elif use < 4:
            operands = [f"%{name}", new, f"%{base}"][:use]
            self.compute("update", f"average{layer}", [(operand, wide) for operand in operands], [(kept, wide)], self.late)
        elif use < 7:
            kept = [new, f"%{base}", gradient][use - 4]
        else:
            return
        self.states.append(("buffer", name, self.type_of(layer) if use == 6 else wide, kept))

    def text(self):
        speeds = {"node": 10**9, "gpu": 10**10}
        axes = ", ".join(f'#bagua.axis<"{axis}", size = 2, latency_ns = 1000, bytes_per_s = {speeds[axis]}>'
                         for axis in self.axes)
        arguments = [f'batch %x "x" : {self.wide}']
        arguments += [f'{role} %{name} "{name}" : {kind}' for role, name, kind, _ in self.states]
        yielded = ", ".join(value for *_, value in self.states)
        types = ", ".join(kind for _, _, kind, _ in self.states)
        lines = "\n  ".join(self.body + self.late)
        return (f"bagua.cluster @pod axes [{axes}] servers_on [node]\n"
                f"bagua.step @s on @pod data {self.over} ({', '.join(arguments)}) {{\n  {lines}\n"
                f"  bagua.yield {yielded} : {types}\n}}\n")


def main(output, steps, per_step):
    os.makedirs(output, exist_ok=True)
    failed = 0
    for seed in range(int(steps)):
        rng = random.Random(seed)
        step = f"{output}/{seed}.mlir"
        with open(step, "w", encoding="utf-8") as file:
            file.write(Step(rng).text())
        for strategy in rng.sample(STRATEGIES, int(per_step)):
            for command in (["bagua-opt", f"--bagua-strategy={strategy}", step, "-o", f"{output}/scheduled.mlir"],
                            ["bagua-translate", "--export-plan", f"{output}/scheduled.mlir", "-o", f"{output}/plan"],
                            ["bagua-run", f"{output}/plan", "--check", "--steps=4", "--time-scale=0.1"]):
                result = subprocess.run(command, capture_output=True, text=True)
                if result.returncode:
                    print(f"{step} by {strategy}:\n{result.stdout}{result.stderr}")
                    failed += 1
                    break
    print(f"{int(steps) * int(per_step)} plans, {failed} failed")
    return failed != 0


sys.exit(main(*sys.argv[1:]))
