# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank in Python, as means.c: means.py PLAN [HOST [INTERFACE]]"""
import array
import sys

from bagua.runtime import Error, Plan, Role, Session, Type, World

STEPS = 5


def value(rank, step, tensor, element):
    return float(rank + step + tensor % 50 + element % 100)


def main(path, host=None, interface=None):
    plan = Plan(path)
    world = World.launched(host=host, interface=interface)
    session = Session(plan, world)
    memory, gradients = {}, []
    for number, tensor in enumerate(plan.tensors):
        size = session.local_bytes(number)
        session.program_updates(tensor.name)
        if tensor.is_given and tensor.role == Role.GRADIENT and tensor.type == Type.FLOAT32:
            gradients.append((number, size // 4))
            continue
        memory[number] = array.array("b", bytes(size + 1))
        session.bind_or_locate(number, memory[number].buffer_info()[0], size)
    session.start()
    # All of them, in a plan of one step.
    assert all(session.step_uses(number) for number, _ in gradients)
    told = []
    for step in range(STEPS):
        session.begin_step()
        data = {}
        for number, tensor in enumerate(plan.tensors):
            if tensor.is_given and number in memory:
                session.mark_ready(number)
        for number, count in reversed(gradients):
            data[number] = array.array("f", (value(world.rank, step, number, i) for i in range(count)))
            session.mark_ready(number, data[number].buffer_info()[0], 4 * count)
            session.on_done(number, told.append)
        for number in range(len(plan.tensors)):
            session.wait(number)
        for number, count in gradients:
            expected = array.array("f", (value(0, step, number, i) + (world.size - 1) / 2 for i in range(count)))
            if data[number] != expected:
                sys.exit(f"means: rank {world.rank}: tensor {number} is not the mean")
        session.end_step()
    session.finish()
    try:
        session.mark_ready(gradients[0][0])
        sys.exit("means: expected an error")
    except Error as error:
        assert error.code == "FAILED_PRECONDITION" and "outside of a step" in str(error), error
        assert (error.rank, error.instruction) == (None, None), error  # a mistake between runs ends none
    session.close()
    assert told == [None] * STEPS * len(gradients), told
    if world.rank == 0:
        print(f"{world.size} ranks on {world.hosts} hosts, {STEPS * len(gradients)} gradients are means")


main(*sys.argv[1:])
