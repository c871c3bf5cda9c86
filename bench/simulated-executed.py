#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicted beside executed step times: simulated-executed.py BUILD [RANKS [TURNS]]

Calibrates this machine with bagua-run, plans five exported steps by strategies of three kinds for it, and runs the
plans on in-process ranks. Compute is slept, updates of the program's with it, in time or late; what the runtime does,
updates with `updates=runtime`, is real, so times of one kind compare. Compute's speed is chosen so that communication
takes as long as compute, so that much of it shows. Of each kind, auto is held to the best of the others. Exits with 1
where a limit of docs/Validation.md is missed.

Memory of a virtual machine may be fast in one minute, or second, and slow in the next. So each of TURNS turns (7) is a
calibration and then a run of each case, of 20 steps, which is compared with what that calibration predicts. A case's
error is the median of its runs' errors.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

STRATEGIES = [(name, "program") for name in ("bsp-a2a", "wfbp-a2a", "ddp", "mg-wfbp", "auto")]
STRATEGIES += [(name, updates) for updates in ("late", "runtime") for name in ("bytescheduler-a2a", "dear", "auto")]
# At these sizes a few ranks of each fit in memory, and messages are not of the sizes calibrated with.
STEPS = {"resnet50": 1, "vgg16": 0.5, "bert_base": 0.6, "bert_large": 0.3, "lstm": 1}
# What is wanted: errors, and how far auto may be behind.
MOST_MEDIAN, MOST_ERROR, MOST_BEHIND = 0.05, 0.15, 0.03
FLOP_PER_S, BYTES_PER_S, LAUNCH_NS = 1e13, 1e12, 5000


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr[:2000]}")
    return done.stdout


def with_device(cluster, scale):
    """The measured cluster with a device on which everything takes `scale` times as long."""
    device = (f"device #bagua.device<flop_per_s = {int(FLOP_PER_S / scale)}, bytes_per_s = {int(BYTES_PER_S / scale)}, "
              f"launch_ns = {int(LAUNCH_NS * scale)}>")
    return cluster.replace("] host", f"]\n    {device} host")


class Case:
    """A plan, and of each of its runs a prediction and ns a step."""

    def __init__(self, step, strategy, updates, text, plan):
        self.step, self.strategy, self.updates, self.text, self.plan = step, strategy, updates, text, plan
        self.results = []


class Machine:
    """The tools of a build, and ranks."""

    def __init__(self, build, ranks, directory):
        self.tools, self.ranks, self.directory = os.path.join(build, "bin"), ranks, directory
        self.graphs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "graphs")

    def calibrate(self):
        return run(f"{self.tools}/bagua-run", "--calibrate", f"--ranks={self.ranks}")

    def imported(self, step, cluster, scale):
        with open(f"{self.directory}/cluster.mlir", "w", encoding="utf-8") as file:
            file.write(with_device(cluster, scale))
        run(f"{self.tools}/bagua-translate", "--import-stablehlo", f"{self.graphs}/{step}.mlir",
            f"--cluster={self.directory}/cluster.mlir", f"--size-scale={STEPS[step]}",
            "-o", f"{self.directory}/{step}.mlir")
        return f"{self.directory}/{step}.mlir"

    def predict(self, imported, strategy):
        return json.loads(run(f"{self.tools}/bagua-sim", imported, f"--strategy={strategy}", "--json"))

    def chosen(self, imported, strategy):
        """The strategy, or the one that auto chooses."""
        path = f"{self.directory}/report.json"
        run(f"{self.tools}/bagua-opt", f"--bagua-strategy={strategy}", f"--bagua-report={path}", imported, "-o", os.devnull)
        with open(path, encoding="utf-8") as file:
            decisions = re.findall(r'"chosen":\s*"([^"]*)"', file.read())
        return decisions[0] if strategy.startswith("auto{") else strategy

    def execute(self, plan):
        """ns a step."""
        return json.loads(run(f"{self.tools}/bagua-run", plan, "--steps=20", "--json"))["step_ns"]["median"]


def main(build, ranks="2", turns="7"):
    with tempfile.TemporaryDirectory() as directory:
        machine = Machine(build, ranks, directory)
        cluster = machine.calibrate()
        print(cluster)
        # Compute as long as communication.
        scales, cases = {}, []
        for step in STEPS:
            alone = machine.predict(machine.imported(step, cluster, 1), "bsp-a2a{updates=program}")
            scales[step] = alone["exposed_communication_ns"] / alone["compute_ns"]

        # What auto chooses by the first calibration is what it is held to in all turns.
        for step in STEPS:
            imported = machine.imported(step, cluster, scales[step])
            for strategy, updates in STRATEGIES:
                plan = f"{directory}/{len(cases)}.bagua"
                text = machine.chosen(imported, f"{strategy}{{updates={updates}}}")
                run(f"{machine.tools}/bagua-opt", f"--bagua-strategy={text}", imported, "-o", f"{plan}.mlir")
                run(f"{machine.tools}/bagua-translate", "--export-plan", f"{plan}.mlir", "-o", plan)
                cases.append(Case(step, strategy, updates, text, plan))

        for turn in range(int(turns)):
            print(f"turn {turn + 1} of {turns}", file=sys.stderr)
            cluster = machine.calibrate()
            executed = [machine.execute(case.plan) for case in cases]
            for step in STEPS:
                imported = machine.imported(step, cluster, scales[step])
                for case, ns in zip(cases, executed):
                    if case.step == step:
                        case.results.append((machine.predict(imported, case.text), ns))
        missed = report(cases)
        print(f"{ranks} ranks, {turns} turns")
        if missed:
            sys.exit(f"worse than wanted: {'; '.join(missed)}")


def report(cases):
    """Prints all figures, and returns those that miss their limits."""
    print("| step | strategy | updates | predicted ms | exposed | executed ms (min / median / max) | error |")
    print("|---|---|---|---|---|---|---|")
    errors, exposed = [], 0
    for case in cases:
        times = [ns / 1e6 for _, ns in case.results]
        predicted = statistics.median(prediction["step_ns"] for prediction, _ in case.results) / 1e6
        share = statistics.median(p["exposed_communication_ns"] / p["step_ns"] for p, _ in case.results)
        error = statistics.median(prediction["step_ns"] / ns - 1 for prediction, ns in case.results)
        errors.append(abs(error))
        exposed += share >= 0.2
        print(f"| {case.step} | {case.strategy} | {case.updates} | {predicted:.2f} | {100 * share:.0f} % | "
              f"{min(times):.2f} / {statistics.median(times):.2f} / {max(times):.2f} | {100 * error:+.1f} % |")
    print(f"{len(errors)} cases, {exposed} of them with at least 20 % exposed: median error "
          f"{100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %")
    figures = [("median error", statistics.median(errors), MOST_MEDIAN), ("worst error", max(errors), MOST_ERROR)]
    # Runs of one turn follow each other closely: their ratios, not those of medians.
    for auto in (case for case in cases if case.strategy == "auto"):
        others = [case for case in cases
                  if (case.step, case.updates) == (auto.step, auto.updates) and case is not auto]
        ratio, name = max((statistics.median(a / o for (_, a), (_, o) in zip(auto.results, other.results)),
                           other.strategy) for other in others)
        print(f"auto on {auto.step}, updates={auto.updates}: {ratio:.3f} of the best other, {name}; {auto.text}")
        figures.append((f"auto behind {name} on {auto.step}, updates={auto.updates}", ratio - 1, MOST_BEHIND))
    return [f"{what} {100 * figure:.1f} % (wanted: at most {100 * limit:.0f} %)"
            for what, figure, limit in figures if figure > limit]


if __name__ == "__main__":
    main(*sys.argv[1:])
