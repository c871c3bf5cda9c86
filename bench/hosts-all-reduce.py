#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all_reduce of four emulated hosts beside Gloo's own ring: hosts-all-reduce.py BUILD [RATE [REPETITIONS [HOSTS]]]

Both run in the same processes by turns, in the real-time class, since what else this machine does would show in either. Exits with 1
where a limit of docs/Performance.md is missed.
"""
import os
import statistics
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster"))
from hosts import Hosts

MIN_BYTES, MAX_BYTES = 4096, 64 << 20
# Of the ring's time: below 64 KiB, from 1 MiB on.
SMALL, MOST_OF_SMALL, LARGE, MOST_OF_LARGE = 64 << 10, 1, 1 << 20, 1.03


def main(build, rate="1gbit", repetitions="15", count="4"):
    with tempfile.TemporaryDirectory() as folder, Hosts(int(count), rate) as hosts:
        text = hosts.run(["chrt", "-r", "1", f"{build}/bin/bagua-bench-host-all-reduce", folder, hosts.INTERFACE,
                          str(MIN_BYTES), str(MAX_BYTES), repetitions], int(count))
    times = {}
    for line in text.split():
        contender, _, size, microseconds, *_ = line.split(",")
        times.setdefault(int(size), {}).setdefault(contender, []).append(float(microseconds))
    print(f"{count} hosts at {rate}, {repetitions} repetitions, microseconds (min / median / max)")
    print("| bytes | bagua | Gloo's ring | bagua / ring |")
    print("|---|---|---|---|")
    missed = []
    for size, of in times.items():
        spread = {name: f"{min(t):.0f} / {statistics.median(t):.0f} / {max(t):.0f}" for name, t in of.items()}
        ratio = statistics.median(a / b for a, b in zip(of["bagua"], of["gloo"]))
        print(f"| {size} | {spread['bagua']} | {spread['gloo']} | {ratio:.3f} |")
        if (size < SMALL and ratio >= MOST_OF_SMALL) or (size >= LARGE and ratio > MOST_OF_LARGE):
            missed.append(str(size))
    print(f"missed at {', '.join(missed)} bytes" if missed else "all limits met")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
