#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all_reduce of four emulated hosts whose cores are busy, beside Gloo's own ring: busy.py BUILD [REPETITIONS [LARGEST_MIB [RATE ...]]]

Rates as tc says them. Beside none, two and four processes that never rest, all in the default class, both run in the same processes by turns. For each cell the
median ratio of times with its 95 % interval (bootstrap), and context switches and CPU time a MiB of all ranks. Exits with 1 where a limit of docs/Performance.md
is missed.
"""
import math
import os
import statistics
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster"))
from hosts import Hosts
from load import busy
from ratios import median_with_interval

COUNT, RATES, BUSY = 4, ["100mbit", "500mbit", "1gbit"], [0, 2, 4]
MIN_BYTES = 1 << 20
# Limit of the ratio to the ring's time, for the geometric mean over cells and for the lower end of each cell's interval.
MOST_OF_TIME = 1.03


def measure(build, rate, repetitions, largest):
    """By bytes and contender: (microseconds, context switches, microseconds of CPU time) of each call."""
    with tempfile.TemporaryDirectory() as folder, Hosts(COUNT, rate) as hosts:
        text = hosts.run([f"{build}/bin/bagua-bench-host-all-reduce", folder, hosts.INTERFACE, str(MIN_BYTES), str(largest), repetitions], COUNT, limit=3600)
    found = {}
    for line in text.split():
        contender, _, size, *numbers = line.split(",")
        found.setdefault(int(size), {}).setdefault(contender, []).append([float(number) for number in numbers])
    return found


def main(build, repetitions="15", largest="16", *rates):
    print("| rate | busy | MiB | bagua / ring (95 %) | bagua, ms | ring, ms | switches a MiB | ring's | CPU us a MiB | ring's |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    medians, missed = [], []
    for rate in rates or RATES:
        for count in BUSY:
            with busy(count):
                found = measure(build, rate, repetitions, int(largest) << 20)
            for size, of in found.items():
                ours, ring = of["bagua"], of["gloo"]
                median, low, high = median_with_interval([a[0] / b[0] for a, b in zip(ours, ring)])
                mib = size / (1 << 20)
                spread = [f"{min(times):.1f} / {statistics.median(times):.1f} / {max(times):.1f}" for times in ([call[0] / 1e3 for call in calls] for calls in (ours, ring))]
                switches, rings_switches = (statistics.median(call[1] for call in calls) / mib for calls in (ours, ring))
                cpu, rings_cpu = (statistics.median(call[2] for call in calls) / mib for calls in (ours, ring))
                print(f"| {rate} | {count} | {mib:.0f} | {median:.3f} ({low:.3f} to {high:.3f}) | {' | '.join(spread)} | {switches:.0f} | {rings_switches:.0f} | "
                      f"{cpu:.0f} | {rings_cpu:.0f} |", flush=True)
                medians.append(median)
                cell = f"{rate}, {count} busy, {mib:.0f} MiB"
                if low > MOST_OF_TIME:
                    missed.append(f"{cell}: time")
                if switches > rings_switches:
                    missed.append(f"{cell}: context switches")
    mean = math.exp(statistics.mean(map(math.log, medians)))
    if mean > MOST_OF_TIME:
        missed.append("geometric mean")
    print(f"geometric mean {mean:.3f}; {'missed: ' + '; '.join(missed) if missed else 'all limits met'}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
