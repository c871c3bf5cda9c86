#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds auto to its word: check_auto.py GRAPHS OUTPUT STEP:PRESET,..."""
import json
import os
import re
import sys

from tools import AS_FAST, run

# What must be gained over every published strategy for a pair to count.
GAIN = 0.03


def decisions(chosen):
    """How buckets are sent: parts and form of each kind that there is."""
    buckets = re.search(r"buckets=(\S+?)[ }]", chosen)
    return {re.sub(r"^(\d+\*)?\d+", "", bucket) for bucket in buckets.group(1).split(",")} if buckets else set()


def check(graphs, output, name, preset):
    """Returns what auto gained over the best strategy, and whether it treats layers differently."""
    step, found, again, report = (f"{output}/{file}" for file in ["step.mlir", "auto.mlir", "again.mlir", "report.json"])
    run("bagua-translate", "--import-stablehlo", f"{graphs}/{name}.mlir", f"--cluster={preset}", "-o", step)
    rows = json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]
    times = {row["name"]: row["step_ns"] for row in rows if "step_ns" in row}
    auto = times.pop("auto")
    best = min(times, key=times.get)
    if auto > times[best] * AS_FAST:
        sys.exit(f"{name} on {preset}: auto {auto} ns, {best} {times[best]} ns")
    run("bagua-opt", "--bagua-strategy=auto", f"--bagua-report={report}", step, "-o", found)
    decided = next(entry for entry in json.load(open(report))["decisions"] if entry["pass"] == "bagua-auto")
    # What it searches with is what the passes and the simulator say of the same strategies.
    for plan in decided["presets"]:
        if abs(plan["step_ns"] / times[plan["name"]] - 1) > 1e-3:
            sys.exit(f"{name} on {preset}: {plan}, but {times[plan['name']]} ns by its passes")
    text, chosen = open(found).read(), decided["chosen"]
    run("bagua-opt", f"--bagua-strategy={chosen}", step, "-o", again)
    if open(again).read() != text:
        sys.exit(f"{name} on {preset}: {chosen} doesn't repeat what auto wrote")
    gain = 1 - auto / times[best]
    print(f"{name} on {preset}: {100 * gain:.2f} % less than {best}, {auto / rows[0]['lower_bound_ns']:.3f} of the bound, "
          f"{chosen}", flush=True)
    return gain, len(decisions(chosen)) > 1


def check_limit(output, step):
    """With half of the memory that the best plan takes: stays within it, and is still the best that does."""
    def predict(strategy):
        return json.loads(run("bagua-sim", step, f"--strategy={strategy}", "--json"))

    free, report = predict("auto"), f"{output}/limited.json"
    limit = free["peak_bytes"] // 2
    limited = predict(f"auto{{memory={limit}}}")
    if limited["peak_bytes"] > limit or limited["step_ns"] * AS_FAST < free["step_ns"]:
        sys.exit(f"with {limit} bytes of memory: {limited}, without a limit: {free}")
    run("bagua-opt", f"--bagua-strategy=auto{{memory={limit}}}", f"--bagua-report={report}", step, "-o", os.devnull)
    decided = next(entry for entry in json.load(open(report))["decisions"] if entry["pass"] == "bagua-auto")
    fitting = {plan["name"] for plan in decided["presets"]}
    rows = json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]
    for row in rows:
        if row["name"] in ("auto", "bsp-a2a", "bsp-ps") or "step_ns" not in row:
            continue
        # What the search takes a plan to need is what its passes allocate, but for the last value's alignment.
        if (row["name"] in fitting) != (row["peak_bytes"] + 63 <= limit) and abs(row["peak_bytes"] - limit) > 63:
            sys.exit(f"{row['name']} needs {row['peak_bytes']} bytes of {limit}; fitting: {fitting}")
        if row["peak_bytes"] <= limit and row["step_ns"] * AS_FAST < limited["step_ns"]:
            sys.exit(f"within {limit} bytes {row['name']} takes {row['step_ns']} ns, auto {limited['step_ns']}")
    print(f"with {limit} bytes of {free['peak_bytes']}: {limited['peak_bytes']}, {len(fitting)} strategies fit, "
          f"{limited['step_ns'] / free['step_ns']:.3f} of the time")


def main(graphs, output, pairs):
    os.makedirs(output, exist_ok=True)
    results = [check(graphs, output, *pair.split(":")) for pair in pairs.split(",")]
    check_limit(output, f"{output}/step.mlir")
    print(f"{len(results)} pairs, auto is as fast as the best or faster, and repeats")
    better = sum(gain >= GAIN and differs for gain, differs in results)
    print(f"{better} of them at least {100 * GAIN:.0f} % better than every strategy, by different decisions for different layers")


if __name__ == "__main__":
    main(*sys.argv[1:])
