#!/usr/bin/env python3
"""Two hosts, the first of which takes its own name for a loopback address, as Debian writes it to /etc/hosts: own_name.py PLAN

Hosts are network namespaces, so this needs root. Ranks meet by the name, which leads others to the host's card."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "..", "bench", "cluster"))
from hosts import Hosts


def main(plan):
    with Hosts(2) as cluster:
        for host, address in ((0, "127.0.1.1"), (1, cluster.address(0))):
            with open(f"/etc/netns/{cluster.name(host)}/hosts", "w", encoding="ascii") as file:
                file.write(f"127.0.0.1 localhost\n{address} node0\n")
        cluster.run(["bagua-run", plan, "--communicator=gloo", "--rendezvous=node0:29500", "--check", "--steps=1",
                     "--time-scale=0", "--timeout=30"], 2)
    print("2 hosts have met")


if __name__ == "__main__":
    main(*sys.argv[1:])
