#!/usr/bin/env python3
"""Predicted beside executed step times: simulated-executed.py BUILD [RANKS [RUNS]]

Calibrates this machine with bagua-run, plans five exported steps by four strategies for it, and runs the plans on
in-process ranks. Compute is slept; its speed is chosen so that communication takes as long as compute, so that much of it
shows. Errors are of the median of RUNS runs (7) of 5 steps each, interleaved over the cases.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

STRATEGIES = ("bsp-a2a", "wfbp-a2a", "ddp", "mg-wfbp")
# At these sizes a few ranks of each fit in memory, and messages are not of the sizes calibrated with.
STEPS = {"resnet50": 0.7, "vgg16": 0.2, "bert_base": 0.2, "bert_large": 0.1, "lstm": 1}
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
    return re.sub(r"\]\s*$", f"]\n    {device}\n", cluster)


def main(build, ranks="2", runs="7"):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    tools = os.path.join(build, "bin")
    with tempfile.TemporaryDirectory() as directory:
        measured = run(f"{tools}/bagua-run", "--calibrate", f"--ranks={ranks}")
        print(measured)
        cluster = f"{directory}/cluster.mlir"

        def predict(step, size_scale, scale, strategy):
            with open(cluster, "w", encoding="utf-8") as file:
                file.write(with_device(measured, scale))
            imported = f"{directory}/{step}.mlir"
            run(f"{tools}/bagua-translate", "--import-stablehlo", f"{source}/test/graphs/{step}.mlir",
                f"--cluster={cluster}", f"--size-scale={size_scale}", "-o", imported)
            return imported, json.loads(run(f"{tools}/bagua-sim", imported, f"--strategy={strategy}", "--json"))

        cases = []
        for step, size_scale in STEPS.items():
            _, alone = predict(step, size_scale, 1, "bsp-a2a")
            scale = alone["exposed_communication_ns"] / alone["compute_ns"]
            for strategy in STRATEGIES:
                imported, prediction = predict(step, size_scale, scale, strategy)
                plan = f"{directory}/{step}.{strategy}.bagua"
                run(f"{tools}/bagua-opt", f"--bagua-strategy={strategy}", imported, "-o", f"{plan}.mlir")
                run(f"{tools}/bagua-translate", "--export-plan", f"{plan}.mlir", "-o", plan)
                cases.append((step, strategy, prediction, plan, []))
        for _ in range(int(runs)):
            for _, _, _, plan, times in cases:
                times.append(json.loads(run(f"{tools}/bagua-run", plan, "--steps=5", "--json"))["step_ns"]["median"])
        errors = []
        print("| step | strategy | predicted ms | exposed | executed ms (min / median / max) | error |\n|---|---|---|---|---|---|")
        for step, strategy, prediction, _, times in cases:
            median = statistics.median(times)
            errors.append(prediction["step_ns"] / median - 1)
            exposed = prediction["exposed_communication_ns"] / prediction["step_ns"]
            print(f"| {step} | {strategy} | {prediction['step_ns'] / 1e6:.2f} | {100 * exposed:.0f} % | {min(times) / 1e6:.2f} / "
                  f"{median / 1e6:.2f} / {max(times) / 1e6:.2f} | {100 * errors[-1]:+.1f} % |")
        sizes = sorted(abs(error) for error in errors)
        print(f"{len(errors)} cases on {ranks} ranks: median error {100 * statistics.median(sizes):.1f} %, "
              f"worst {100 * sizes[-1]:.1f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
