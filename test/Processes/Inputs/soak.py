#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A long run whose ports get garbage all the while: soak.py PLAN STEPS CHECK_STEPS COMMUNICATOR...

Four ranks run STEPS steps of the plan. What listens among them, the rendezvous and every second of other ports, is connected to and
told random bytes, or nothing, or half a message, or reset. From the middle of the run to its end no rank's memory grows by more than MOST_GROWTH, and no rank has more descriptors,
threads or mappings at its end; nothing is left in /dev/shm. What it has open stays out of programs that it starts, and it listens on
loopback alone, where its group is. With a garbage that ends or changes the run, its check would fail: the
same plan runs CHECK_STEPS steps with --check beside the garbage, too.
"""
import json
import os
import random
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

RANKS = 4
LOOPBACK = "0100007F"
# By which Gloo waits, and which keeps no connection open.
INHERITED = "anon_inode:[eventpoll]"
# The allocator may cut a mapping now and then.
CUT_MAPPINGS = 2
# Times of steps are 16 bytes a step; ten bytes a step on top would be found.
MOST_GROWTH_PER_STEP, LEAST_GROWTH = 24, 1 << 20


def open_files(pid):
    """Of each descriptor: what it leads to, and whether programs that the process starts have it, too."""
    found = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            place = os.readlink(f"/proc/{pid}/fd/{number}")
            with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
                flags = int(next(line for line in file if line.startswith("flags:")).split()[1], 8)
            found[int(number)] = place, not flags & os.O_CLOEXEC
        except OSError:
            pass  # closed meanwhile
    return found


def listening_places(pids):
    """Addresses, as the kernel writes them, and ports."""
    inodes = set()
    for pid in pids:
        try:
            inodes.update(place for place, _ in open_files(pid).values())
        except OSError:
            pass
    places = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as file:
            for line in list(file)[1:]:
                words = line.split()
                if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                    address, port = words[1].rsplit(":", 1)
                    places.add((address, int(port, 16)))
    return places


class Garbage(threading.Thread):
    """Tells what listens anything but what is expected; keeps some connections open."""

    def __init__(self):
        super().__init__(daemon=True)
        self.pids, self.kept, self.ports, self.told = [], [], {}, 0
        self.addresses = set()
        self.is_over, self.random = False, random.Random(1)

    def run(self):
        while not self.is_over:
            for address, port in sorted(listening_places(self.pids)):
                self.addresses.add(address)
                # Who finds a stranger in a peer's place listens anew: were there one at every port, nobody would ever meet.
                if port not in self.ports:
                    self.ports[port] = not self.ports or self.random.random() < 0.5
                if self.ports[port]:
                    self.tell(port)
            time.sleep(0.002)

    def tell(self, port):
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=0.2)
            kind = self.random.randrange(5)
            if kind == 4:  # taken back at once, as a probe of a load balancer is
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
                self.told += 1
                return
            if kind > 0:
                connection.sendall(self.random.randbytes(self.random.choice([1, 4, 7, 64, 5000])))
            if kind > 1:
                connection.sendall((64).to_bytes(4, "little") + self.random.randbytes(kind * 20))
            self.told += 1
            self.kept = [connection, *self.kept[:20]]
        except OSError:
            pass


def usage(pid):
    """Bytes of memory of its own, descriptors, threads, mappings."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        memory = sum(int(line.split()[1]) * 1024 for line in file if line.startswith(("Private_", "Shared_Dirty")))
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        mappings = len(list(file))
    return memory, len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")), mappings


def run(plan, job, options):
    """Processes with what they say, and the garbage that they get from the start."""
    processes, garbage = [], Garbage()
    for rank in range(RANKS):
        environment = dict(os.environ, BAGUA_RANK=str(rank), BAGUA_SIZE=str(RANKS), BAGUA_JOB=job)
        # Files, for what a rank says may be more than a pipe takes.
        said = tempfile.TemporaryFile("w+")
        process = subprocess.Popen(["bagua-run", plan, "--time-scale=0", "--json", *options], env=environment, stdout=said,
                                   stderr=said)
        processes.append((process, said))
        garbage.pids.append(process.pid)
        if rank == 0:
            garbage.start()
        # Rank 0 listens until the last one has come.
        while rank == 0 and garbage.told == 0 and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.3)
    return processes, garbage


def finish(processes, garbage):
    statuses = [process.wait(timeout=3600) for process, _ in processes]
    garbage.is_over = True
    garbage.join()
    said = []
    for _, file in processes:
        file.seek(0)
        said.append(file.read())
    if any(statuses):
        sys.exit(f"expected all ranks to end well, found {statuses}\n{said}")
    if garbage.addresses - {LOOPBACK}:
        sys.exit(f"expected ranks to listen on loopback alone, found {sorted(garbage.addresses)}")
    return json.loads(said[0])


def main(plan, steps, check_steps, *communicator):
    shared = set(os.listdir("/dev/shm"))
    processes, garbage = run(plan, f"garbage-{os.getpid()}", [*communicator, f"--steps={check_steps}", "--check"])
    if not finish(processes, garbage)["check"]["passed"]:
        sys.exit("the check failed")
    told, ports = garbage.told, sum(garbage.ports.values())
    if told == 0:
        sys.exit("nobody listened: nothing was tried")

    processes, garbage = run(plan, f"soak-{os.getpid()}", [*communicator, f"--steps={steps}"])
    samples, begin, inherited = [], time.monotonic(), []
    while all(process.poll() is None for process, _ in processes):
        try:
            samples.append((time.monotonic() - begin, [usage(process.pid) for process, _ in processes]))
            inherited = [place for process, _ in processes for number, (place, is_inherited) in open_files(process.pid).items()
                         if is_inherited and number > 2 and place != INHERITED]
        except OSError:
            break
        time.sleep(0.01)
    took = finish(processes, garbage)["step_ns"]["median"]
    if inherited:
        sys.exit(f"open in programs that ranks start: {sorted(set(inherited))}")
    end = samples[-1][0]
    # Before the first step strangers may have kept the ranks from meeting.
    steps_begin = max(0, end - took * int(steps) / 1e9)

    def within(first, last):
        return [of for at, of in samples if first <= (at - steps_begin) / (end - steps_begin) <= last]

    early, late = within(0.5, 0.65), within(0.8, 0.95)
    if not early or not late:
        sys.exit(f"too short to tell: {len(samples)} samples in {end:.1f} s")
    most = max(LEAST_GROWTH, MOST_GROWTH_PER_STEP * int(steps) // 2)
    growth = 0
    for rank in range(RANKS):
        def median(of, what):
            return statistics.median(sample[rank][what] for sample in of)

        growth = max(growth, median(late, 0) - median(early, 0))
        for what, name, most_more in ((1, "descriptors", 0), (2, "threads", 0), (3, "mappings", CUT_MAPPINGS)):
            if median(late, what) > median(early, what) + most_more:
                sys.exit(f"rank {rank}: {median(early, what)} {name} early, {median(late, what)} late")
    if growth > most:
        sys.exit(f"expected memory to grow by at most {most} bytes, found {growth}")
    if set(os.listdir("/dev/shm")) - shared:
        sys.exit(f"left in /dev/shm: {set(os.listdir('/dev/shm')) - shared}")
    print(f"garbage told {told + garbage.told} times to {ports + sum(garbage.ports.values())} ports", file=sys.stderr)
    print(f"{steps} steps of {took / 1e3:.0f} us: memory grew by {growth / 1024:.0f} KiB at most, "
          "descriptors and threads not at all", file=sys.stderr)
    print(f"{steps} steps: nothing leaked, nothing came of garbage")


if __name__ == "__main__":
    main(*sys.argv[1:])
