# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lost_between.py PLAN RENDEZVOUS STEPS: one of two ranks ends without a word when it has made STEPS steps; what the other one is told.

lost_between.py PLAN RENDEZVOUS STEPS RANK is one rank.
"""
import array
import os
import subprocess
import sys
import time

from bagua.runtime import Error, Plan, Session, World, describe_waits


def rank_of_run(path, rendezvous, steps, rank):
    plan = Plan(path)
    session = Session(plan, World.connect(rank, 2, rendezvous=rendezvous))
    memory = {}
    for number, tensor in enumerate(plan.tensors):
        size = session.local_bytes(number)
        session.program_updates(tensor.name)
        memory[number] = array.array("b", bytes(size))
        session.bind_or_locate(number, memory[number].buffer_info()[0], size)
    session.start()
    for _ in range(steps):
        session.begin_step()
        given = [number for number, tensor in enumerate(plan.tensors) if tensor.is_given and session.step_uses(number)]
        session.mark_each_ready(given)
        session.wait_for_each(given)
        session.end_step()
    if rank == 1:
        os._exit(9)
    while "which has failed" not in describe_waits():
        time.sleep(0.01)
    try:
        session.begin_step()
    except Error as error:
        print(error, flush=True)
    os._exit(0)


def main(path, rendezvous, steps, rank=None):
    if rank is not None:
        rank_of_run(path, rendezvous, int(steps), int(rank))
    ranks = [subprocess.Popen([sys.executable, __file__, path, rendezvous, steps, str(rank)]) for rank in range(2)]
    print("exits:", *(rank.wait(timeout=120) for rank in ranks))


main(*sys.argv[1:])
