#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that are children of one process, which multiprocessing ends by _exit(): children.py PLAN RANKS

All make the same steps. Rank 0 leaves in order and its process ends; then the others leave."""
import multiprocessing
import os
import sys
import tempfile

import steps

STEPS = 3


def rank(number, ranks, folder, path, ends):
    from bagua.runtime import Plan, Session, World
    # Rank 0 alone keeps the end that is written to open, for as long as its process lives.
    is_over, lives = ends
    if number:
        os.close(lives)
    plan = Plan(path)
    with World.connect(number, ranks, rendezvous=f"{folder}/ranks") as world, Session(plan, world) as session:
        memory = steps.start(session, plan)  # noqa: F841, is kept
        for _ in range(STEPS):
            steps.make_one(session, plan)
        if number:
            os.read(is_over, 1)
        session.finish()


def main(plan, ranks):
    context, ends = multiprocessing.get_context("fork"), os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=rank, args=(number, ranks, folder, plan, ends)) for number in range(ranks)]
        for process in processes:
            process.start()
        for end in ends:
            os.close(end)
        for process in processes:
            process.join()
    print(f"{ranks} ranks end with {[process.exitcode for process in processes]}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
