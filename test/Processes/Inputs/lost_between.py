# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lost_between.py PLAN RENDEZVOUS STEPS: one of two ranks ends without a word when both have made STEPS steps; what the other one is told.

lost_between.py PLAN RENDEZVOUS STEPS RANK PIPE is one rank: rank 0 closes the pipe when it has made its steps, and rank 1 waits for that.
"""
import array
import os
import subprocess
import sys
import time

from bagua.runtime import Error, Plan, Session, World, describe_waits


def rank_of_run(path, rendezvous, steps, rank, pipe):
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
        os.read(pipe, 1)  # Otherwise rank 0 may be told in its own last step.
        os._exit(9)
    os.close(pipe)
    while "which has failed" not in describe_waits():
        time.sleep(0.01)
    try:
        session.begin_step()
    except Error as error:
        print(error, flush=True)
    os._exit(0)


def main(path, rendezvous, steps, *rank_and_pipe):
    if rank_and_pipe:
        rank_of_run(path, rendezvous, int(steps), *map(int, rank_and_pipe))
    read, write = os.pipe()
    ranks = []
    for rank, pipe in enumerate([write, read]):
        command = [sys.executable, __file__, path, rendezvous, steps, str(rank), str(pipe)]
        ranks.append(subprocess.Popen(command, pass_fds=[pipe]))
        os.close(pipe)
    print("exits:", *(rank.wait(timeout=120) for rank in ranks))


main(*sys.argv[1:])
