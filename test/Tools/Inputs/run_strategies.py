#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs and checks a step by every strategy on several clusters: run_strategies.py STEP.mlir OUTPUT

Each with 32 and with 16 bits on the wire. Numbers must be exact where nothing is reassociated or narrowed.
"""
import json
import os
import sys

from tools import run

SIZES = [(2, 2), (2, 4), (1, 8), (3, 1)]
# Options that change what a plan is made of.
VARIANTS = {
    "dear": ["form=multilevel", "update=shard", "update=shard form=multilevel"],
    "byteps": ["servers=balanced"],
}
# What is asked of servers: none, two hosts of their own, one on each node.
SERVERS = {"": 0, "servers 2": 2, "servers_on [node]": 0}


def strategies(step):
    """Those that the step's cluster allows; whatever else is refused for another reason is a failure."""
    allowed, needing = [], []
    for entry in json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]:
        if "refusal" not in entry:
            allowed.append(entry["name"])
        elif "expected a cluster with servers" in entry["refusal"]:
            needing.append(entry["name"])
        else:
            sys.exit(f"{step}: {entry}")
    return allowed, needing


def write_cluster(path, nodes, gpus, servers):
    with open(path, "w") as file:
        file.write(f'''bagua.cluster @test
    axes [#bagua.axis<"node", size = {nodes}, latency_ns = 25000, bytes_per_s = 12500000000, sharers = {gpus}>,
          #bagua.axis<"gpu", size = {gpus}, latency_ns = 3000, bytes_per_s = 100000000000>] {servers}''')


def main(export, output):
    os.makedirs(output, exist_ok=True)
    step, scheduled, plan = f"{output}/step.mlir", f"{output}/scheduled.mlir", f"{output}/plan.bagua"
    count = 0
    for nodes, gpus in SIZES:
        without_servers = []
        for servers, dedicated in SERVERS.items():
            write_cluster(f"{output}/cluster.mlir", nodes, gpus, servers)
            run("bagua-translate", "--import-stablehlo", export, f"--cluster={output}/cluster.mlir", "-o", step)
            allowed, needing = strategies(step)
            if servers and needing:
                sys.exit(f"refused although there are servers: {needing}")
            # With servers, what runs without them has been seen.
            names = [name for name in allowed if name not in without_servers]
            without_servers = without_servers or allowed
            variants = [(name, options) for name in names for options in ["", *VARIANTS.get(name, [])]]
            for name, options in variants:
                for wire in ["none", "f16", "bf16"]:
                    run("bagua-opt", f"--bagua-strategy={name}{{{options} wire={wire}}}", step, "-o", scheduled)
                    run("bagua-translate", "--export-plan", scheduled, "-o", plan)
                    report = json.loads(run("bagua-run", plan, f"--ranks={nodes * gpus + dedicated}", "--check", "--timeout=60",
                                            "--time-scale=0", "--json"))
                    check = report["check"]
                    if not check["passed"] or check["tensors"] == 0 or (wire != "none") != (check["max_error"] > 1e-5):
                        sys.exit(f"{name} with {options} {wire} on {nodes} x {gpus} {servers}: {check}")
                    predicted = json.loads(run("bagua-sim", step, "--json", f"--strategy={name}{{{options} wire={wire}}}"))
                    if predicted["peak_bytes"] != report["peak_bytes"]:
                        sys.exit(f"{name} with {options} {wire} on {nodes} x {gpus} {servers}: predicted "
                                 f"{predicted['peak_bytes']} bytes of memory, allocated {report['peak_bytes']}")
                    count += 1
        print(f"{nodes} x {gpus}: passed", flush=True)
    print(f"{count} plans, all passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
