#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares all strategies on real steps and cluster presets: compare_all.py GRAPHS OUTPUT STEP,... PRESET,...

No strategy may be predicted below the lower bound, nor leave a row out. auto is never behind, by what a prediction can tell, and near the bound where
communication has time enough.
"""
import json
import os
import sys

from tools import AS_FAST, run


def main(graphs, output, names, presets):
    os.makedirs(output, exist_ok=True)
    pairs = 0
    for name in names.split(","):
        step = f"{output}/{name}.mlir"
        run("bagua-translate", "--import-stablehlo", f"{graphs}/{name}.mlir", "-o", step)
        for preset in presets.split(","):
            rows = json.loads(run("bagua-sim", step, "--compare", "--json", f"--cluster={preset}"))["strategies"]
            for row in rows:
                if "refusal" in row:
                    sys.exit(f"{name} on {preset}: {row}")
                if row["step_ns"] < row["lower_bound_ns"] - 1:
                    sys.exit(f"{name} on {preset}: {row['name']} is below the bound: {row}")
                if abs(row["compute_ns"] + row["exposed_communication_ns"] - row["step_ns"]) > 2:
                    sys.exit(f"{name} on {preset}: {row['name']}'s times don't add up: {row}")
            best = min(rows, key=lambda row: row["step_ns"])
            auto = next(row for row in rows if row["name"] == "auto")
            if auto["step_ns"] > best["step_ns"] * AS_FAST:
                sys.exit(f"{name} on {preset}: auto is behind {best['name']}: {auto}")
            # Where the links have time enough, nothing is an excuse but updates: the bound lets ranks and servers share
            # them, auto has each rank's device do all of them, at a time when something else may wait.
            busiest = max(auto["link_utilisation"].values()) * auto["step_ns"]
            least = auto["lower_bound_ns"] + auto["updates_ns"]
            if busiest <= 0.8 * auto["compute_ns"] and auto["step_ns"] > 1.05 * least:
                sys.exit(f"{name} on {preset}: auto is more than 5 % above the bound: {auto}")
            print(f"{name} on {preset}: best {best['name']}, {best['step_ns'] / best['lower_bound_ns']:.3f} of the bound, "
                  f"which is {best['lower_bound_binding']}")
            pairs += 1
    print(f"{pairs} pairs, no strategy below the bound")


if __name__ == "__main__":
    main(*sys.argv[1:])
