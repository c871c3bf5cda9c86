#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles, runs and checks the steps of a folder by every strategy and by auto: run_sound.py OUTPUT FOLDER"""
import json
import os
import sys

from tools import run

# Beside what each strategy does by itself: shards, and the updates where the other side has them by default.
VARIANTS = ["dear{update=shard}", "dear{updates=program}", "ddp{updates=runtime}", "bsp-a2a{updates=runtime}",
            "wfbp-ps{updates=runtime}", "byteps{updates=runtime}", "auto",
            "auto{evaluations=50 updates=runtime}", "ddp{updates=late}", "bytescheduler-a2a{updates=late}",
            "auto{evaluations=50 updates=late}"]


def main(output, folder):
    os.makedirs(output, exist_ok=True)
    scheduled, plan = f"{output}/scheduled.mlir", f"{output}/plan.bagua"
    for name in sorted(os.listdir(folder)):
        step = f"{folder}/{name}"
        rows = json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]
        refused = [row["name"] for row in rows if "refusal" in row]
        strategies = [row["name"] for row in rows] + VARIANTS
        strategies = [strategy for strategy in strategies if strategy.split("{")[0] not in refused]
        for strategy in strategies:
            run("bagua-opt", f"--bagua-strategy={strategy}", step, "-o", scheduled)
            run("bagua-translate", "--export-plan", scheduled, "-o", plan)
            run("bagua-run", plan, "--check", "--steps=4")
        print(f"{name}: {len(strategies)} plans, all passed; refused by {' '.join(refused) or 'none'}")


main(*sys.argv[1:])
