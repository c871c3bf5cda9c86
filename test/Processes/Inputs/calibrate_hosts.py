#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has bagua-run --calibrate find the rate of emulated hosts' cards, which tc has set: calibrate_hosts.py FOLDER

Hosts are network namespaces, so this needs root. The rates are so low that any machine carries them, however busy: TCP has 95 % of what tc counts, and a
burst of 128 kB passes at once, of 2 MB and more that a measurement takes. Then steps are planned with the measured cluster, whose messages are of other
sizes, and executed on the same hosts: along the axis host, and over both axes, which was not measured.
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "..", "Tools", "Inputs"), os.path.join(HERE, "..", "..", "..", "bench", "cluster")]
from hosts import Hosts
from tools import run

AXIS = re.compile(r'#bagua\.axis<"(\w+)", size = (\d+), latency_ns = (\d+), bytes_per_s = (\d+)(?:, sharers = (\d+))?')

ELEMENTS = (250000, 100000, 20000, 250000, 1000, 250000)


def compare(folder, rate, ranks):
    """Steps of some strategies on the cluster that was measured at this rate, predicted and executed."""
    table, step, planned, plan = (f"{folder}/{name}" for name in ("table.csv", "step.mlir", "planned.mlir", "step.bagua"))
    with open(table, "w", encoding="ascii") as file:
        print("name,tensors,forward_ns,backward_ns", file=file)
        for number, elements in enumerate(ELEMENTS):
            print(f"layer{number},{elements}xf32,1000000,2000000", file=file)
    run("bagua-translate", "--import-layers", table, f"--cluster={folder}/{rate}.mlir", "-o", step)
    for strategy in ("ddp", "wfbp-a2a", "blueconnect"):
        strategy += "{updates=program}"
        predicted = float(re.search(r"step time +([\d.]+) ms", run("bagua-sim", step, f"--strategy={strategy}"))[1])
        run("bagua-opt", f"--bagua-strategy={strategy}", step, "-o", planned)
        run("bagua-translate", "--export-plan", planned, "-o", plan)
        with Hosts(2, rate) as hosts:
            result = json.loads(hosts.run(["bagua-run", plan, "--communicator=gloo", "--json"], ranks))
        executed = result["step_ns"]["median"] / 1e6
        print(f"{rate}, {ranks} ranks: {strategy} predicted {predicted:.1f} ms, executed {executed:.1f} ms", file=sys.stderr)
        if not 0.8 < predicted / executed < 1.25:
            sys.exit(f"{rate}, {ranks} ranks: {strategy} predicted {predicted} ms, executed {executed} ms")
    print(f"{rate}, {ranks} ranks: steps take what is predicted")


def main(folder):
    for rate, mbit, ranks in (("100mbit", 100, 4), ("20mbit", 20, 2)):
        file = f"{folder}/{rate}.mlir"
        with Hosts(2, rate) as hosts:
            hosts.run(["bagua-run", "--calibrate", "-o", file], ranks)
        with open(file, encoding="ascii") as text:
            axes = AXIS.findall(text.read())
        name, size, _, found, sharers = axes[0]
        part = int(found) / (mbit * 1e6 / 8)
        print(f"{rate}: {part:.3f} of the rate", file=sys.stderr)
        if (name, size, sharers or "1") != ("host", "2", str(ranks // 2)) or not 0.8 < part < 1.2:
            sys.exit(f"{rate}, {ranks} ranks: found {axes}")
        print(f"{rate}, {ranks} ranks: axes {' and '.join(axis[0] for axis in axes)}, the rate within 20 %")
        compare(folder, rate, ranks)


if __name__ == "__main__":
    main(*sys.argv[1:])
