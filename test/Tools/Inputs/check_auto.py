#!/usr/bin/env python3
"""Holds auto to its word: check_auto.py GRAPHS OUTPUT STEP,... PRESET,..."""
import json
import os
import re
import sys

from tools import run


def main(graphs, output, names, presets):
    os.makedirs(output, exist_ok=True)
    pairs = 0
    for name in names.split(","):
        for preset in presets.split(","):
            step, found, again = f"{output}/step.mlir", f"{output}/auto.mlir", f"{output}/again.mlir"
            run("bagua-translate", "--import-stablehlo", f"{graphs}/{name}.mlir", f"--cluster={preset}", "-o", step)
            rows = json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]
            times = {row["name"]: row["step_ns"] for row in rows if "step_ns" in row}
            auto = times.pop("auto")
            best = min(times, key=times.get)
            if auto > times[best] + 1:
                sys.exit(f"{name} on {preset}: auto {auto} ns, {best} {times[best]} ns")
            run("bagua-opt", "--bagua-strategy=auto", step, "-o", found)
            text = open(found).read()
            chosen = re.search(r'bagua.strategy = "([^"]*)"', text).group(1)
            run("bagua-opt", f"--bagua-strategy={chosen}", step, "-o", again)
            if open(again).read() != text:
                sys.exit(f"{name} on {preset}: {chosen} doesn't repeat what auto wrote")
            print(f"{name} on {preset}: {chosen}, {100 * (1 - auto / times[best]):.2f} % less than {best}, "
                  f"{auto / rows[0]['lower_bound_ns']:.3f} of the bound", flush=True)
            pairs += 1
    print(f"{pairs} pairs, auto is the best or better, and repeats")


if __name__ == "__main__":
    main(*sys.argv[1:])
