#!/usr/bin/env python3
"""Ranks that are children of one process, which multiprocessing ends by _exit(): children.py PLAN RANKS

All make the same steps. Rank 0 leaves in order and its process ends; then the others leave."""
import ctypes
import multiprocessing
import os
import sys
import tempfile

STEPS = 3


def rank(number, ranks, folder, path, ends):
    from bagua.runtime import Plan, Session, World
    # Rank 0 alone keeps the end that is written to open, for as long as its process lives.
    is_over, lives = ends
    if number:
        os.close(lives)
    plan, memory = Plan(path), []
    with World.connect(number, ranks, rendezvous=f"{folder}/ranks") as world, Session(plan, world) as session:
        for tensor, described in enumerate(plan.tensors):
            size = session.local_bytes(tensor)
            memory.append((ctypes.c_char * (size + 1))())
            session.bind_or_locate(tensor, ctypes.addressof(memory[-1]), size)
            session.program_updates(described.name)
        session.start()
        for _ in range(STEPS):
            session.begin_step()
            for tensor, described in enumerate(plan.tensors):
                if described.is_given:
                    session.mark_ready(tensor)
            for tensor in range(len(plan.tensors)):
                session.wait(tensor)
            session.end_step()
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
