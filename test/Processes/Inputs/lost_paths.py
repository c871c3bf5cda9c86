#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes a path between two of three emulated hosts in the middle of a run: lost_paths.py PLAN RUNS PATIENCE

Both of these go on hearing of rank 0, or are rank 0 and another: all packets between them are dropped, or large ones, as by a tunnel that nobody has told of.
All ranks end with an error that names the two, within 15 s, or longer where this machine is busy. Hosts are network namespaces, so this needs root.
"""
import collections
import itertools
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", ".."), os.path.join(HERE, "..", "..", "..", "bench", "cluster")]
from hosts import Hosts, command
from yardstick import margin

HOSTS, LIMIT = 3, 15
# Heartbeats and records without data are smaller, what carries data is not.
LARGE = 600
# The end of the error: where neither host is rank 0's, and where one is.
STILL = ["although rank 0 still hears from both", "although small messages, such as heartbeats, still pass between them"]


class Path:
    """Two cables and a switch, by which alone goes what two hosts send to each other."""
    SWITCH = "bagua-path"

    def __init__(self, cluster, pair):
        self.cluster, self.pair = cluster, pair

    def port(self, host):
        return f"{self.SWITCH}{host}"

    def __enter__(self):
        self.__exit__()
        command("ip", "link", "add", self.SWITCH, "type", "bridge")
        command("ip", "link", "set", self.SWITCH, "up")
        for host in self.pair:
            name, other = self.cluster.name(host), self.cluster.address(sum(self.pair) - host)
            command("ip", "link", "add", self.port(host), "type", "veth", "peer", "name", "path", "netns", name)
            command("ip", "link", "set", self.port(host), "master", self.SWITCH, "up")
            command("ip", "-n", name, "link", "set", "path", "up")
            command("ip", "-n", name, "route", "add", f"{other}/32", "dev", "path")
        return self

    def __exit__(self, *_):
        for device in (self.SWITCH, *map(self.port, self.pair)):
            command("ip", "link", "del", device, check=False)

    def cut(self):
        """Nothing passes, and nobody is told."""
        for host in self.pair:
            command("bridge", "link", "set", "dev", self.port(host), "isolated", "on")

    def eat_large(self):
        """Nothing large passes from the first host to the second, and nobody is told."""
        command("tc", "qdisc", "add", "dev", self.port(self.pair[1]), "root", "tbf", "rate", "1gbit", "burst", str(LARGE), "latency", "50ms")


def run(plan, how, pair, patience):
    """What is wrong with how the ranks end, and the seconds that it took."""
    longer = margin()
    limit = LIMIT + 2 * longer
    with Hosts(HOSTS) as cluster, Path(cluster, pair) as path:
        processes = [cluster.start(rank, HOSTS, ["bagua-run", plan, "--communicator=gloo", "--steps=1000000000", "--time-scale=0",
                                                 f"--patience={float(patience) + longer}"]) for rank in range(HOSTS)]
        if ended := cluster.await_steps(processes, {host: "path" for host in pair}):
            return [f"a rank ended before anything happened: {ended[0].communicate()[1]}"], 0
        how(path)
        begin, wrong = time.monotonic(), []
        for rank, process in enumerate(processes):
            try:
                process.wait(timeout=max(0.1, begin + 2 * limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
            said = process.communicate()[1]
            if process.returncode != 1 or not all(
                    part in said for part in [*(f"rank {one} ({cluster.address(one)}" for one in pair), STILL[0 in pair]]):
                wrong.append(f"rank {rank} ends with {process.returncode}: {said}")
        took = time.monotonic() - begin
        if took > limit:
            wrong.append(f"took {took:.1f} s")
        return wrong, took


def main(plan, runs, patience):
    drawn, met, wrong, slowest = random.Random(7), collections.Counter(), [], 0
    kinds = list(itertools.product([Path.cut, Path.eat_large], itertools.permutations(range(HOSTS), 2)))
    # Without host 0's, by which both hear of each other.
    kinds = [(how, pair) for how, pair in kinds if how is Path.eat_large or pair in [(1, 2), (2, 1)]]
    while met.total() < int(runs):
        drawn.shuffle(kinds)
        for how, pair in kinds[:int(runs) - met.total()]:
            found, took = run(plan, how, pair, patience)
            wrong += [f"{how.__name__} {pair}: {each}" for each in found]
            slowest = max(slowest, took)
            met[how.__name__] += 1
    print("\n".join(wrong))
    print(f"{met.total()} paths lost: {dict(met)}, slowest {slowest:.1f} s, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
