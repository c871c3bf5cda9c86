#!/usr/bin/env python3
"""Has bagua-run --calibrate find the rate of emulated hosts' cards, which tc has set: calibrate_hosts.py FOLDER

Hosts are network namespaces, so this needs root. The rates are so low that any machine carries them, however busy: TCP has 95 % of what tc counts, and a
burst of 128 kB passes at once, of 2 MB and more that a measurement takes.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "..", "bench", "cluster"))
from hosts import Hosts

AXIS = re.compile(r'#bagua\.axis<"(\w+)", size = (\d+), latency_ns = (\d+), bytes_per_s = (\d+)(?:, sharers = (\d+))?')


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


if __name__ == "__main__":
    main(*sys.argv[1:])
