#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs and checks steps by every strategy on ranks that are processes: strategies_on_processes.py OUT SCALE GRAPH...

They are on one host, and on two or each on one of its own by turns; hosts are names, and talk over loopback. Servers,
where a strategy needs them, are on the ranks' own hosts. Results are as the plan's contract says, and in every bit as ranks
that are threads have them.
"""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "Tools", "Inputs"))
from tools import run

HOSTS = [["gloo", "--hosts=2"], ["gloo"]]

CLUSTER = '''bagua.cluster @test
    axes [#bagua.axis<"node", size = 2, latency_ns = 25000, bytes_per_s = 1250000000, sharers = 2>,
          #bagua.axis<"gpu", size = 2, latency_ns = 3000, bytes_per_s = 10000000000>] servers_on [node]'''


def make_plans(out, scale, graphs):
    """(name of the step, strategy, file of the plan) for each, one after the other."""
    os.makedirs(out, exist_ok=True)
    with open(f"{out}/cluster.mlir", "w", encoding="utf-8") as file:
        file.write(CLUSTER)
    for graph in graphs:
        name = os.path.basename(graph).removesuffix(".mlir")
        step, plan = f"{out}/{name}.mlir", f"{out}/{name}.bagua"
        run("bagua-translate", "--import-stablehlo", graph, f"--cluster={out}/cluster.mlir", f"--size-scale={scale}",
            "-o", step)
        for entry in json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]:
            if "refusal" in entry:
                sys.exit(f"{name}: {entry}")
            run("bagua-opt", f"--bagua-strategy={entry['name']}", step, "-o", f"{plan}.mlir")
            run("bagua-translate", "--export-plan", f"{plan}.mlir", "-o", plan)
            yield name, entry["name"], plan


def main(out, scale, *graphs):
    passed = {}
    for count, (name, strategy, plan) in enumerate(make_plans(out, scale, graphs)):
        digests = set()
        for communicator, *flags in (["in-process"], ["shared-memory"], HOSTS[count % 2]):
            result = json.loads(run("bagua-run", plan, f"--communicator={communicator}", *flags, "--check", "--steps=1",
                                    "--time-scale=0", "--json"))
            digests.add(result["check"]["digest"])
            if result["communicator"] != communicator or not result["check"]["passed"] or len(digests) > 1:
                sys.exit(f"{name} by {strategy}: {result}")
        passed[name] = passed.get(name, 0) + 1
    for name, count in passed.items():
        print(f"{name}: {count} plans, all passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
