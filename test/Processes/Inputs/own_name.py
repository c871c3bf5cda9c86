#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two hosts, the first of which takes its own name for a loopback address, as Debian writes it to /etc/hosts: own_name.py PLAN_OF_2 PLAN_OF_4

Hosts are network namespaces, so this needs root. Ranks meet by the name, which leads others to the host's card, and rank 0's neighbours to loopback. Where an interface is
said rank 0 listens on that alone."""
import os
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "..", "bench", "cluster"))
from hosts import Hosts, command

# Seconds: nobody meets it.
LIMIT = 120
MEETING = ["--communicator=gloo", "--rendezvous=node0:29500"]


class HighHosts(Hosts):
    """Their addresses are behind loopback's: of two peers the one of the lower listens."""

    def address(self, host):
        return f"192.168.78.{host + 1}"


def listening(host):
    """Addresses of a host's listening sockets, as the kernel writes them."""
    table = command("ip", "netns", "exec", host, "cat", "/proc/net/tcp").splitlines()[1:]
    return {words[1].split(":")[0] for words in map(str.split, table) if words[3] == "0A"}


def own_names(cluster):
    for host, address in ((0, "127.0.1.1"), (1, cluster.address(0))):
        with open(f"/etc/netns/{cluster.name(host)}/hosts", "w", encoding="ascii") as file:
            file.write(f"127.0.0.1 localhost\n{address} node0\n")


def meet(cluster, plan, ranks):
    own_names(cluster)
    cluster.run(["bagua-run", plan, *MEETING, "--check", "--steps=1", "--time-scale=0", f"--timeout={LIMIT}"], ranks)


def main(two, four):
    with Hosts(2) as cluster:
        meet(cluster, two, 2)
    with HighHosts(2) as cluster:
        meet(cluster, four, 4)
    with Hosts(2) as cluster:
        own_names(cluster)
        first = cluster.start(0, 2, ["bagua-run", two, *MEETING, f"--interface={Hosts.INTERFACE}", f"--timeout={LIMIT}"])
        end = time.monotonic() + LIMIT
        while not (found := listening(cluster.name(0))) and time.monotonic() < end:
            time.sleep(0.05)
        first.kill()
        expected = {socket.inet_aton(cluster.address(0))[::-1].hex().upper()}
        if found != expected:
            sys.exit(f"expected rank 0 to listen at {expected}, found {found}")
    print("hosts have met")


if __name__ == "__main__":
    main(*sys.argv[1:])
