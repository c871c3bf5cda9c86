#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports, compiles, runs and checks every exported step: run_graphs.py GRAPHS OUTPUT SIZE_SCALE RANKS,RANKS,...

Files whose mesh has several axes run on that mesh, and on one axis of as many ranks, which it cuts; on others the
importer must refuse, naming both meshes.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys

from tools import run

STRATEGIES = ["bsp-a2a", "wfbp-a2a", "ddp", "horovod", "mg-wfbp"]


def check(step, strategy, ranks, plan):
    scheduled = f"{plan}.mlir"
    run("bagua-opt", f"--bagua-strategy={strategy}", step, "-o", scheduled)
    run("bagua-translate", "--export-plan", scheduled, "-o", plan)
    report = json.loads(run("bagua-run", plan, f"--ranks={ranks}", "--check", "--time-scale=0", "--json"))
    if not report["check"]["passed"] or report["check"]["tensors"] == 0:
        sys.exit(f"{plan}: {report['check']}")
    return report


def main(graphs, output, scale, ranks_list):
    os.makedirs(output, exist_ok=True)
    files = sorted(pathlib.Path(graphs).glob("*.mlir"))
    for file in files:
        base = ["bagua-translate", "--import-stablehlo", str(file), f"--size-scale={scale}"]
        sizes = re.findall(r"size = (\d+)", run(*base).split("bagua.cluster")[1].split("bagua.step")[0])
        is_mesh = len(sizes) > 1
        for ranks in map(int, ranks_list.split(",")):
            step = f"{output}/{file.stem}.{ranks}.mlir"
            if is_mesh and ranks != math.prod(map(int, sizes)):
                refused = subprocess.run([*base, f"--cluster=data={ranks}"], capture_output=True, text=True)
                if refused.returncode == 0 or "mesh" not in refused.stderr:
                    sys.exit(f"{file}: expected a refusal on {ranks} ranks that names the mesh, found {refused.stderr}")
                continue
            run(*base, f"--cluster=data={ranks}", "-o", step)
            for strategy in STRATEGIES:
                check(step, strategy, ranks, f"{output}/{file.stem}.{strategy}.bagua")
        if is_mesh:
            step = f"{output}/{file.stem}.mlir"
            run(*base, "-o", step)
            for strategy in STRATEGIES:
                check(step, strategy, 8, f"{output}/{file.stem}.{strategy}.bagua")
        print(f"{file.stem}: passed", flush=True)
    print(f"{len(files)} files, all passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
