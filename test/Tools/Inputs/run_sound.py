#!/usr/bin/env python3
"""Compiles, runs and checks steps by every strategy and by auto: run_sound.py OUTPUT STEP.mlir..."""
import json
import os
import sys

from tools import run

EXTRA = ["dear{update=shard}", "bsp-a2a{updates=runtime}", "auto"]


def main(output, steps):
    os.makedirs(output, exist_ok=True)
    scheduled, plan = f"{output}/scheduled.mlir", f"{output}/plan.bagua"
    for step in steps:
        rows = json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]
        refused = [row["name"] for row in rows if "refusal" in row]
        if refused:
            sys.exit(f"{step}: refused by {refused}")
        for name in [row["name"] for row in rows] + EXTRA:
            run("bagua-opt", f"--bagua-strategy={name}", step, "-o", scheduled)
            run("bagua-translate", "--export-plan", scheduled, "-o", plan)
            run("bagua-run", plan, "--check", "--steps=4")
        print(f"{os.path.basename(step)}: {len(rows) + len(EXTRA)} plans, all passed")


main(sys.argv[1], sys.argv[2:])
