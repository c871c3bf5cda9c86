# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hosts on one machine: network namespaces on a bridge, each with a card of a limited rate. Needs root and iproute2.

    with Hosts(4, "1gbit") as hosts:
        hosts.run(["hostname", "-I"], ranks=4)

Who comes second waits until the first one's hosts are gone. Nothing delays packets (this kernel has no netem): latency is that of wake-ups.
"""
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time


def command(*words, check=True):
    done = subprocess.run(words, capture_output=True, text=True)
    if check and done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Hosts:
    # No other network namespace is called so, and no other bridge.
    NAME = "bagua"
    INTERFACE = "eth0"

    def __init__(self, count, rate=None):
        self.count, self.rate = count, rate

    def name(self, host):
        return f"{self.NAME}{host}"

    def address(self, host):
        return f"10.78.0.{host + 1}"

    def __enter__(self):
        self.lock = open(f"/run/lock/{self.NAME}-hosts", "w", encoding="ascii")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.remove()
        bridge = f"{self.NAME}-bridge"
        command("ip", "link", "add", bridge, "type", "bridge")
        command("ip", "link", "set", bridge, "up")
        for host in range(self.count):
            name, outside = self.name(host), f"{self.name(host)}-veth"
            command("ip", "netns", "add", name)
            # The machine's name is the host's own address, as peers expect who listen where their name leads to.
            os.makedirs(f"/etc/netns/{name}", exist_ok=True)
            with open(f"/etc/netns/{name}/hosts", "w", encoding="ascii") as file:
                file.write(f"127.0.0.1 localhost\n{self.address(host)} {socket.gethostname()}\n")
            command("ip", "link", "add", outside, "type", "veth", "peer", "name", self.INTERFACE, "netns", name)
            command("ip", "link", "set", outside, "master", bridge, "up")
            command("ip", "-n", name, "addr", "add", f"{self.address(host)}/24", "dev", self.INTERFACE)
            for device in (self.INTERFACE, "lo"):
                command("ip", "-n", name, "link", "set", device, "up")
            # Others than Reno's pace by what they measure, which jitters here.
            command("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")
            if self.rate:
                for place, device in ((["ip", "netns", "exec", name], self.INTERFACE), ([], outside)):
                    command(*place, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate, "burst",
                            "128kb", "latency", "50ms")
        return self

    def __exit__(self, *_):
        self.remove()
        self.lock.close()

    def remove(self):
        for host in range(64):
            if self.name(host) in command("ip", "netns", "list").split():
                command("ip", "netns", "del", self.name(host))
            shutil.rmtree(f"/etc/netns/{self.name(host)}", ignore_errors=True)
            command("ip", "link", "del", f"{self.name(host)}-veth", check=False)
            if not os.path.exists(f"/run/netns/{self.name(host + 1)}"):
                break
        command("ip", "link", "del", f"{self.NAME}-bridge", check=False)

    def start(self, rank, ranks, words, **variables):
        """Rank `rank` of `ranks`, as many on each host, with the variables that torchrun sets."""
        local = ranks // self.count
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank % local),
                           LOCAL_WORLD_SIZE=str(local), MASTER_ADDR=self.address(0), MASTER_PORT="29500", **variables)
        return subprocess.Popen(["ip", "netns", "exec", self.name(rank // local), *words], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def sent(self, host, device):
        """Bytes."""
        return json.loads(command("ip", "-n", self.name(host), "-s", "-j", "link", "show", device))[0]["stats64"]["tx"]["bytes"]

    def await_steps(self, processes, devices=None):
        """Until each host has sent more than ranks do to meet, by this device of its own or by its card; what ended before that."""
        least = 1 << 20
        devices = devices or {}
        while any(self.sent(host, devices.get(host, self.INTERFACE)) < least for host in range(self.count)):
            if ended := [process for process in processes if process.poll() is not None]:
                return ended
            time.sleep(0.05)
        return []

    def run(self, words, ranks, limit=600, **variables):
        """What rank 0 says; all must end well."""
        processes = [self.start(rank, ranks, words, **variables) for rank in range(ranks)]
        said = []
        for process in processes:
            try:
                said.append(process.communicate(timeout=limit))
            except subprocess.TimeoutExpired:
                for other in processes:
                    other.kill()
                sys.exit(f"{' '.join(words)}: no end in {limit} s")
        failed = [f"rank {rank} ended with {process.returncode}:\n{said[rank][0]}{said[rank][1]}"
                  for rank, process in enumerate(processes) if process.returncode]
        if failed:
            sys.exit("\n".join([" ".join(words), *failed]))
        return said[0][0]
