#!/usr/bin/env python3
"""Runs and checks a step by every strategy on several clusters: run_strategies.py STEP.mlir OUTPUT

Each with 32 and with 16 bits on the wire. Numbers must be exact where nothing is reassociated or narrowed.
"""
import json
import os
import subprocess
import sys

CLUSTERS = ["node=2,gpu=2", "node=2,gpu=4", "node=1,gpu=8", "node=3,gpu=1"]


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def strategies(step):
    return [entry["name"] for entry in json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]]


def ranks_of(cluster):
    ranks = 1
    for axis in cluster.split(","):
        ranks *= int(axis.split("=")[1])
    return ranks


def main(export, output):
    os.makedirs(output, exist_ok=True)
    step, scheduled, plan = f"{output}/step.mlir", f"{output}/scheduled.mlir", f"{output}/plan.bagua"
    count = 0
    for cluster in CLUSTERS:
        run("bagua-translate", "--import-stablehlo", export, f"--cluster={cluster}", "-o", step)
        for name in strategies(step):
            for wire in ["none", "f16", "bf16"]:
                run("bagua-opt", f"--bagua-strategy={name}{{wire={wire}}}", step, "-o", scheduled)
                run("bagua-translate", "--export-plan", scheduled, "-o", plan)
                report = json.loads(run("bagua-run", plan, f"--ranks={ranks_of(cluster)}", "--check", "--time-scale=0",
                                        "--json"))
                check = report["check"]
                if not check["passed"] or check["tensors"] == 0 or (wire != "none") != (check["max_error"] > 1e-5):
                    sys.exit(f"{name} with {wire} on {cluster}: {check}")
                count += 1
        print(f"{cluster}: passed", flush=True)
    print(f"{count} plans, all passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
