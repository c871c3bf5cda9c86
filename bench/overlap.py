#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of communication `ddp` hides: overlap.py BUILD [STEP.mlir]

Compiles a step by bsp-a2a and by ddp, scales its synthetic compute until it lasts as long as communication takes on 4
in-process ranks, and prints both step times and their ratio: 0.5 would be all of it. Rounds are interleaved.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 5


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def measure(tools, plan, scale):
    return json.loads(run(f"{tools}/bagua-run", plan, "--ranks=4", "--steps=20", f"--time-scale={scale}", "--json"))


def main(build, step=None):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    tools = os.path.join(build, "bin")
    step = step or f"{source}/test/graphs/resnet50.mlir"
    with tempfile.TemporaryDirectory() as directory:
        imported = f"{directory}/step.mlir"
        run(f"{tools}/bagua-translate", "--import-stablehlo", step,
            f"--cluster={source}/examples/clusters/v100x4.mlir", "-o", imported)
        plans = {}
        for strategy in ("bsp-a2a", "ddp"):
            scheduled, plans[strategy] = f"{directory}/{strategy}.mlir", f"{directory}/{strategy}.bagua"
            run(f"{tools}/bagua-opt", f"--bagua-strategy={strategy}", imported, "-o", scheduled)
            run(f"{tools}/bagua-translate", "--export-plan", scheduled, "-o", plans[strategy])
        full = measure(tools, plans["bsp-a2a"], 1)
        compute_ns = full["step_ns"]["median"] - full["exposed_communication_ns"]
        scale = 0.08
        for _ in range(4):
            scale = measure(tools, plans["bsp-a2a"], scale)["exposed_communication_ns"] / compute_ns
        times = {"bsp-a2a": [], "ddp": []}
        for _ in range(ROUNDS):
            for strategy, list_ in times.items():
                list_.append(measure(tools, plans[strategy], scale)["step_ns"]["median"] / 1e6)
        print(f"compute {compute_ns * scale / 1e6:.2f} ms (time scale {scale:.4f}), {ROUNDS} rounds of 20 steps")
        for strategy, list_ in times.items():
            print(f"{strategy:8} {min(list_):7.2f} / {statistics.median(list_):7.2f} / {max(list_):7.2f} ms "
                  "(min / median / max of medians)")
        ratio = statistics.median(times["ddp"]) / statistics.median(times["bsp-a2a"])
        print(f"ddp / bsp-a2a = {ratio:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
