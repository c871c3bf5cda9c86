#!/usr/bin/env python3
"""Ranks on a machine that has no time for them: starved.py PLAN SECONDS

Four ranks of one host, and four on hosts of their own, run steps without end beside BUSY threads a core that compute all the while. In
SECONDS none may take another one for lost, each with the patience that is the default."""
import multiprocessing
import os
import signal
import subprocess
import sys
import time

RANKS, BUSY = 4, 4


def compute():
    while True:
        pass


def start(plan, job, is_host_each):
    processes = []
    for number in range(RANKS):
        environment = dict(os.environ, BAGUA_RANK=str(number), BAGUA_SIZE=str(RANKS), BAGUA_JOB=job)
        command = [sys.executable, os.path.join(os.path.dirname(__file__), "interrupt.py"), "--rank", plan]
        processes.append(subprocess.Popen([*command, f"host{number}"] if is_host_each else command, env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    for process in processes:
        process.stdout.readline()
    return processes


def main(plan, seconds):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ranks = [*start(plan, f"starved-{os.getpid()}-1", False), *start(plan, f"starved-{os.getpid()}-2", True)]
    busy = [multiprocessing.Process(target=compute, daemon=True) for _ in range(BUSY * os.cpu_count())]
    for process in busy:
        process.start()
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end and all(process.poll() is None for process in ranks):
        time.sleep(0.5)
    ended = [process for process in ranks if process.poll() is not None]
    for process in busy:
        process.kill()
    for process in ranks:
        process.kill()
    if ended:
        sys.exit("\n".join(process.communicate()[1] for process in ended))
    print(f"{seconds} seconds beside {len(busy)} busy processes: nobody was taken for lost")


if __name__ == "__main__":
    main(*sys.argv[1:])
