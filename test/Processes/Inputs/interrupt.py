#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C while ranks run: interrupt.py PLAN

The terminal sends SIGINT to all processes of a run, which end and leave none: ranks that bagua-run starts, and
ranks that are programs in Python. Where one rank alone gets it, the others end with an error that names it."""
import contextlib
import os
import signal
import subprocess
import sys
import time

import steps

# Seconds: who goes on for so long has not heard it.
RANKS, LIMIT = 4, 120


def rank(plan, host=None):
    """Steps without end."""
    from bagua.runtime import Plan, Session, World
    plan = Plan(plan)
    world = World.launched(host=host, interface=host and "127.0.0.1")
    session = Session(plan, world)
    memory = steps.start(session, plan)  # noqa: F841, is kept
    while True:
        if session.step == 3:
            print("stepping", flush=True)
        steps.make_one(session, plan)


def await_end(processes, what):
    begin = time.monotonic()
    for process in processes:
        try:
            process.wait(timeout=begin + LIMIT - time.monotonic())
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            sys.exit(f"{what}: a process goes on after {LIMIT} s")


def threads_of(process):
    with contextlib.suppress(FileNotFoundError):
        return len(os.listdir(f"/proc/{process}/task"))
    return 0


def await_ranks(tool):
    """Until a tool's ranks have the threads of their streams, beside that of the control plane."""
    while tool.poll() is None:
        with open(f"/proc/{tool.pid}/task/{tool.pid}/children", encoding="ascii") as file:
            ranks = file.read().split()
        if len(ranks) >= RANKS - 1 and all(threads_of(rank) > 2 for rank in ranks):
            return
        time.sleep(0.01)


def interrupt_tool(plan):
    process = subprocess.Popen(["bagua-run", plan, "--communicator=shared-memory", "--time-scale=0", "--steps=1000000000"],
                               start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await_ranks(process)
    os.killpg(process.pid, signal.SIGINT)
    await_end([process], "bagua-run")
    if process.returncode == 0:
        sys.exit("bagua-run: expected it to say that it was interrupted")
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    sys.exit("bagua-run: ranks are left")


def start(plan, job, is_host_each=False):
    """Ranks that are at their steps, on one host or each on one of its own."""
    processes = []
    for number in range(RANKS):
        environment = dict(os.environ, BAGUA_RANK=str(number), BAGUA_SIZE=str(RANKS), BAGUA_JOB=job)
        host = [f"host{number}"] if is_host_each else []
        processes.append(subprocess.Popen([sys.executable, __file__, "--rank", plan, *host], env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    for process in processes:
        process.stdout.readline()
    return processes


def interrupt_programs(plan, interrupted, job):
    processes = start(plan, job)
    for number in interrupted:
        processes[number].send_signal(signal.SIGINT)
    await_end(processes, f"ranks {interrupted} of {RANKS}")
    for number, process in enumerate(processes):
        said = process.communicate()[1].splitlines()[-1]
        named = f"rank {interrupted[0]}" in said if len(interrupted) == 1 else "bagua.runtime.Error" in said
        expected = said == "KeyboardInterrupt" if number in interrupted else named
        if process.returncode == 0 or not (expected or (len(interrupted) > 1 and named)):
            sys.exit(f"ranks {interrupted}: rank {number} ends with {process.returncode}: {said}")


def main(plan):
    # Who has started this may ignore it, and what ignores it would be inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt_tool(plan)
    interrupt_programs(plan, list(range(RANKS)), f"interrupt-{os.getpid()}-all")
    interrupt_programs(plan, [2], f"interrupt-{os.getpid()}-one")
    print("all have ended")


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        rank(*sys.argv[2:])
    else:
        main(sys.argv[1])
