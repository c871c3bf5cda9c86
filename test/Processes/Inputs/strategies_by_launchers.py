#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs and checks steps by every strategy on ranks that launchers start: strategies_by_launchers.py OUT SCALE GRAPH...

TORCHRUN is torchrun's path. Results are as the plan's contract says, and in every bit as ranks that are threads have them.
"""
import json
import os
import sys

sys.path += [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..", "..", "Tools", "Inputs")]
from strategies_on_processes import make_plans
from tools import run

LAUNCHERS = {"torchrun": [os.environ["TORCHRUN"], "--no-python", "--nproc-per-node=4"],
             "mpirun": ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4"]}


def main(out, scale, *graphs):
    passed = dict.fromkeys(LAUNCHERS, 0)
    for name, strategy, plan in make_plans(out, scale, graphs):
        words = ["bagua-run", plan, "--check", "--steps=1", "--time-scale=0", "--json"]
        expected = json.loads(run(*words))["check"]["digest"]
        for launcher, start in LAUNCHERS.items():
            result = json.loads(run(*start, *words, "--communicator=shared-memory"))
            if not result["check"]["passed"] or result["check"]["digest"] != expected:
                sys.exit(f"{name} by {strategy}, {launcher}: {result}")
            passed[launcher] += 1
    for launcher, count in passed.items():
        print(f"{launcher}: {count} plans, all passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
