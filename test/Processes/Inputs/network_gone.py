#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes the network from one of four emulated hosts in the middle of a run: network_gone.py PLAN

Nothing is closed and no packet says so, as where a switch fails: each rank has its patience to tell it by, longer where this machine is busy. Every host is the lost one, once because its card
is down, which its own calls are told by errors, and once because the cable is out, which nobody is told. Hosts are network namespaces, so this needs root.
"""
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", ".."), os.path.join(HERE, "..", "..", "..", "bench", "cluster")]
from hosts import Hosts, command
from yardstick import margin

HOSTS, PATIENCE, LIMIT = 4, 2, 8


def run(plan, lost, is_card):
    """What is wrong with how the ranks end."""
    longer = margin()
    patience, limit = PATIENCE + longer, LIMIT + longer
    with Hosts(HOSTS) as cluster:
        processes = [cluster.start(rank, HOSTS, ["bagua-run", plan, "--communicator=gloo", "--steps=1000000000", "--time-scale=0",
                                                 f"--patience={patience}"]) for rank in range(HOSTS)]
        if ended := cluster.await_steps(processes):
            return [f"a rank ended before anything happened: {ended[0].communicate()[1]}"]
        if is_card:
            command("ip", "-n", cluster.name(lost), "link", "set", cluster.INTERFACE, "down")
        else:
            command("ip", "link", "set", f"{cluster.name(lost)}-veth", "down")
        begin, wrong = time.monotonic(), []
        for rank, process in enumerate(processes):
            try:
                process.wait(timeout=max(0.1, begin + patience + limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                wrong.append(f"rank {rank} goes on after {patience + limit:.1f} s")
                process.kill()
            said = process.communicate()[1]
            named = re.search(r"rank (\d) is lost", said)
            if process.returncode != 1 or not named or (int(named[1]) == lost) == (rank == lost):
                wrong.append(f"rank {rank} ends with {process.returncode}: {said}")
        print(f"host {lost}, {'card' if is_card else 'cable'}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        return wrong


def main(plan):
    count = 0
    for lost in range(HOSTS):
        for is_card in (True, False):
            if wrong := run(plan, lost, is_card):
                sys.exit("\n".join([f"host {lost} by its {'card' if is_card else 'cable'}:", *wrong]))
            count += 1
    print(f"{count} runs, every rank ended with an error in time")


if __name__ == "__main__":
    main(*sys.argv[1:])
