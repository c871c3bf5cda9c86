#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times float32 all_reduce of Bagua (ranks as threads, and as processes that share memory), Gloo and Open MPI, and memcpy.

Runs the programs of BUILD/bin in rounds, so that all of them meet the same
machine, and prints one table: min / median / max of a call in microseconds,
algorithm and bus bandwidth, and the median against Bagua's and memcpy's. Exits
with 1 where a limit of docs/Performance.md is missed.

example: bench/all-reduce.py build --ranks=2,4 --max-bytes=16777216
"""
import argparse
import collections
import os
import shutil
import statistics
import subprocess
import sys


KIB, MIB = 1 << 10, 1 << 20
# Ranks, bytes, whose median, microseconds or whose it is held to, how many of these at most.
LIMITS = [(2, 4 * KIB, "bagua", 1, 5), (2, 4 * KIB, "shared", 1, 10), (4, 64 * MIB, "bagua", "memcpy", 0.8),
          (4, 64 * MIB, "bagua", "openmpi", 1 / 5), (4, 64 * MIB, "shared", "bagua", 1.5),
          (4, 64 * MIB, "shared", "openmpi", 1 / 2.5)]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build directory")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--min-bytes", type=int, default=1024)
    parser.add_argument("--max-bytes", type=int, default=256 << 20)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program")
    parser.add_argument("--repetitions", type=int, default=5, help="samples of each run")
    return parser.parse_args()


def commands(arguments, ranks):
    """What to run for a number of ranks; each prints "name,ranks,bytes,us" lines."""
    ours = os.path.join(arguments.build, "bin", "bagua-bench-all-reduce")
    mpi = os.path.join(arguments.build, "bin", "bagua-bench-mpi-all-reduce")
    sizes = [f"--min-bytes={arguments.min_bytes}", f"--max-bytes={arguments.max_bytes}"]
    base = [ours, f"--ranks={ranks}", "--samples", f"--repetitions={arguments.repetitions}"] + sizes
    # Gloo's event loops would disturb the others: a process of its own.
    yield base + ["--contenders=bagua,memcpy"]
    yield [os.path.join(arguments.build, "bin", "bagua-bench-process-all-reduce"), str(ranks), str(arguments.min_bytes),
           str(arguments.max_bytes), str(arguments.repetitions)]
    if subprocess.run([ours, "--has-gloo"]).returncode == 0:
        yield base + ["--contenders=gloo"]
    else:
        print("no Gloo in this build", file=sys.stderr)
    if os.path.exists(mpi) and shutil.which("mpirun"):
        yield ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), mpi,
               str(arguments.min_bytes), str(arguments.max_bytes), str(arguments.repetitions)]
    else:
        print("no MPI in this build", file=sys.stderr)


def measure(arguments):
    samples = collections.defaultdict(list)
    for ranks in map(int, arguments.ranks.split(",")):
        planned = list(commands(arguments, ranks))
        for round_ in range(arguments.rounds):
            for command in planned:
                print(f"round {round_ + 1}: {' '.join(command)}", file=sys.stderr)
                output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                for line in output.splitlines():
                    name, count, size, us = line.split(",")
                    samples[int(count), int(size), name].append(float(us))
    return samples


def print_table(samples):
    print(f"{'ranks':>5} {'bytes':>10} {'':8} {'min us':>11} {'median us':>11} {'max us':>11} "
          f"{'alg GB/s':>9} {'bus GB/s':>9} {'/bagua':>8} {'/memcpy':>8}")
    median = {key: statistics.median(values) for key, values in samples.items()}
    for ranks, size, name in sorted(samples, key=lambda key: key[:2] + (key[2] != "bagua", key[2])):
        key = (ranks, size, name)
        algorithm = size / median[key] / 1e3
        bus = algorithm if name == "memcpy" else algorithm * 2 * (ranks - 1) / ranks
        print(f"{ranks:5} {size:10} {name:8} {min(samples[key]):11.2f} {median[key]:11.2f} {max(samples[key]):11.2f} "
              f"{algorithm:9.2f} {bus:9.2f} {median[key] / median[ranks, size, 'bagua']:8.2f} "
              f"{median[key] / median[ranks, size, 'memcpy']:8.2f}")
    missed = []
    for ranks, size, name, other, most in LIMITS:
        own, floor = median.get((ranks, size, name)), median.get((ranks, size, other)) if isinstance(other, str) else other
        if own and floor and own > most * floor:
            missed.append(f"{name} at {size} bytes and {ranks} ranks: {own / floor:.2f} of {other}, wanted at most {most:.2f}")
    print("\n".join(missed) or "all limits met")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(print_table(measure(parse_arguments())))
