# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bytes_sent.py WORK: what plans of all strategies say that rank 0 sends in a step, beside what a run of them counts.

The run says what the rank sends that sends most, which is rank 0 wherever tensors are cut alike over servers."""
import json
import os
import sys

from tools import run

SERVERS = """bagua.cluster @servers
    axes [#bagua.axis<"node", size = 3, latency_ns = 10000, bytes_per_s = 1000000000>,
          #bagua.axis<"gpu", size = 2, latency_ns = 1000, bytes_per_s = 10000000000>]
    device #bagua.device<flop_per_s = 10000000000, bytes_per_s = 10000000000, launch_ns = 0>
    servers_on [node]
"""
# Parts of a tensor need not be of one size.
UNEVEN = 1e-4
FORMS = ["ddp{form=leader}", "ddp{form=rail}"]


def main(work):
    os.makedirs(work, exist_ok=True)
    with open(f"{work}/servers.mlir", "w") as cluster:
        cluster.write(SERVERS)
    with open(f"{work}/layers.csv", "w") as table:
        table.write("name,tensors,forward_ns,backward_ns\nl0,w=1200000xf32,1000,1000\nl1,w=600000xf32,1000,1000\n")
    for cluster, ranks in [("rank=5", 5), ("node=2,gpu=2", 4), ("node=3,gpu=2", 6), (f"{work}/servers.mlir", 6)]:
        step, compared = f"{work}/step.mlir", 0
        run("bagua-translate", "--import-layers", f"{work}/layers.csv", f"--cluster={cluster}", "-o", step)
        entries = json.loads(run("bagua-sim", step, "--compare", "--json"))["strategies"]
        for name in [entry["name"] for entry in entries if "refusal" not in entry] + FORMS * (ranks % 2 == 0):
            run("bagua-opt", f"--bagua-strategy={name}", step, "-o", f"{work}/scheduled.mlir")
            run("bagua-translate", "--export-plan", f"{work}/scheduled.mlir", "-o", f"{work}/plan.bagua")
            said = json.loads(run("bagua-translate", "--plan-to-json", f"{work}/plan.bagua"))["steps"][0]["prediction"]["bytes_sent"]
            counted = json.loads(run("bagua-run", f"{work}/plan.bagua", f"--ranks={ranks}", "--steps=1", "--time-scale=0", "--json"))["bytes_sent"]
            if abs(said - counted) > UNEVEN * counted:
                sys.exit(f"{cluster}, {name}: expected {counted}, found {said}")
            compared += 1
        print(f"{os.path.basename(cluster)}: {compared} plans say what is sent")


if __name__ == "__main__":
    main(*sys.argv[1:])
