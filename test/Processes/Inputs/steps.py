# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of a plan as a program makes them that computes nothing."""
import ctypes


def start(session, plan):
    """Gives tensors memory, which is returned, where they have none of the plan's, and starts."""
    memory = []
    for number, tensor in enumerate(plan.tensors):
        size = session.local_bytes(number)
        memory.append((ctypes.c_char * (size + 1))())
        session.bind_or_locate(number, ctypes.addressof(memory[-1]), size)
        session.program_updates(tensor.name)
    session.start()
    return memory


def make_one(session, plan):
    session.begin_step()
    finish_one(session, plan)


def finish_one(session, plan):
    """A step that has begun."""
    for number, tensor in enumerate(plan.tensors):
        if tensor.is_given:
            session.mark_ready(number)
    for number in range(len(plan.tensors)):
        session.wait(number)
    session.end_step()
