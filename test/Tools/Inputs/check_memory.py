#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is auto never slower with more memory? check_memory.py GRAPHS OUTPUT STEP:PRESET LIMIT,...; 0 is no limit."""
import json
import os
import sys

from tools import AS_FAST, run


def main(graphs, output, pair, limits):
    os.makedirs(output, exist_ok=True)
    name, preset = pair.split(":")
    step = f"{output}/memory.mlir"
    run("bagua-translate", "--import-stablehlo", f"{graphs}/{name}.mlir", f"--cluster={preset}", "-o", step)
    before = None
    for limit in map(int, limits.split(",")):
        found = json.loads(run("bagua-sim", step, f"--strategy=auto{{memory={limit}}}", "--json"))
        print(f"{pair} with {limit} bytes: {found['step_ns']} ns, {found['peak_bytes']} bytes", flush=True)
        if limit and found["peak_bytes"] > limit:
            sys.exit(f"expected at most {limit} bytes, found {found['peak_bytes']}")
        if before and found["step_ns"] > before * AS_FAST:
            sys.exit(f"expected at most {before} ns with {limit} bytes, found {found['step_ns']}")
        before = found["step_ns"]


if __name__ == "__main__":
    main(*sys.argv[1:])
