# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_small.py WORK: models that are cut into messages of some 20 KB to keep servers busy, by auto and by strategies that are told to."""
import json
import os
import sys

from tools import run

MOST_BEHIND = 0.01
EAGER = "credit-bytes=1000000000"
RIVALS = [f"p3{{partition-bytes=20000 {EAGER} updates=program}}", f"byteps{{partition-bytes=20000 {EAGER}}}",
          f"bytescheduler-ps{{partition-bytes=20000 {EAGER}}}",
          *(f"custom{{buckets=1/{parts}:servers+flat+servers+flat+flat policy=priority {EAGER}}}" for parts in (15, 60))]


def main(work):
    os.makedirs(work, exist_ok=True)
    worst, cases = -1, 0
    for elements in (100000, 250000, 1000000):
        with open(f"{work}/layers.csv", "w") as table:
            table.write(f"name,tensors,forward_ns,backward_ns\nl0,w={elements}xf32,1000000,2000000\n")
        for servers in (1, 2, 4):
            with open(f"{work}/cluster.mlir", "w") as cluster:
                cluster.write('bagua.cluster @small axes [#bagua.axis<"node", size = 4, latency_ns = 50000, bytes_per_s = 1000000000>] '
                              f"servers {servers}\n")
            run("bagua-translate", "--import-layers", f"{work}/layers.csv", f"--cluster={work}/cluster.mlir", "-o", f"{work}/step.mlir")

            def step_ns(strategy):
                return json.loads(run("bagua-sim", f"{work}/step.mlir", f"--strategy={strategy}", "--json"))["step_ns"]
            auto, times = step_ns("auto"), {strategy: step_ns(strategy) for strategy in RIVALS}
            best = min(times, key=times.get)
            behind = auto / times[best] - 1
            if behind > MOST_BEHIND:
                sys.exit(f"{elements} elements, {servers} servers: auto takes {auto} ns, {best} {times[best]}")
            worst, cases = max(worst, behind), cases + 1
    print(f"{cases} small models: auto is at most {100 * max(worst, 0):.1f} % behind")


if __name__ == "__main__":
    main(*sys.argv[1:])
