#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks on a machine that has no time for them: starved.py PLAN SECONDS

Four ranks of one host, and four on hosts of their own, run steps without end beside BUSY threads a core that compute all the while. In
SECONDS none may take another one for lost, each with the patience that is the default."""
import multiprocessing
import os
import sys
import time

from interrupt import start

BUSY = 4


def compute():
    while True:
        pass


def main(plan, seconds):
    ranks = [*start(plan, f"starved-{os.getpid()}-1"), *start(plan, f"starved-{os.getpid()}-2", is_host_each=True)]
    busy = [multiprocessing.Process(target=compute, daemon=True) for _ in range(BUSY * len(os.sched_getaffinity(0)))]
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
