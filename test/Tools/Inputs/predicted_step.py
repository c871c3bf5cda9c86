# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""predicted_step.py STEP.mlir WORK: what plans of all strategies say of their steps, beside bagua-sim."""
import json
import os
import sys

from tools import run


def main(graph, work):
    os.makedirs(work, exist_ok=True)
    step = f"{work}/step.mlir"
    run("bagua-translate", "--import-stablehlo", graph, "--cluster=host=4@1gbit,50us", "-o", step)
    compared, found = json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"], set()
    for entry in compared:
        if "refusal" in entry:
            continue
        run("bagua-opt", f"--bagua-strategy={entry['name']}", step, "-o", f"{work}/scheduled.mlir")
        run("bagua-translate", "--export-plan", f"{work}/scheduled.mlir", "-o", f"{work}/plan.bagua")
        said = json.loads(run("bagua-translate", "--plan-to-json", f"{work}/plan.bagua"))["steps"][0]["prediction"]
        expected = {"step_ns": entry["step_ns"], "exposed_ns": entry["exposed_communication_ns"], "bytes_sent": entry["bytes_sent"]}
        if said != expected:
            sys.exit(f"{entry['name']}: expected {expected}, found {said}")
        found.add(said["step_ns"])
    if len(found) < 3:
        sys.exit(f"expected steps that differ, found {found}")
    print(f"{len(compared)} plans: steps, exposed communication and bytes are those of bagua-sim")


if __name__ == "__main__":
    main(*sys.argv[1:])
