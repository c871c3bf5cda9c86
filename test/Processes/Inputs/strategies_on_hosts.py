#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs and checks steps by every strategy on emulated hosts: strategies_on_hosts.py OUT SCALE GRAPH...

Hosts are network namespaces, so this needs root. Four ranks are on four hosts or on two by turns, started as torchrun
starts them. Results are as the plan's contract says, and in every bit as ranks that are threads have them.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "..", "Tools", "Inputs"), os.path.join(HERE, "..", "..", "..", "bench", "cluster")]
from hosts import Hosts
from strategies_on_processes import make_plans
from tools import run

RANKS = 4


def main(out, scale, *graphs):
    count = 0
    for hosts in (4, 2):
        with Hosts(hosts) as cluster:
            for name, strategy, plan in make_plans(out, scale, graphs):
                count += 1
                flags = ["--check", "--steps=1", "--time-scale=0", "--json"]
                threads = json.loads(run("bagua-run", plan, *flags))
                result = json.loads(cluster.run(["bagua-run", plan, "--communicator=gloo", *flags], RANKS))
                if not result["check"]["passed"] or result["check"]["digest"] != threads["check"]["digest"]:
                    sys.exit(f"{name} by {strategy} on {hosts} hosts: {result}")
    print(f"{count} runs, all passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
