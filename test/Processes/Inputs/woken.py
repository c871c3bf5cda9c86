# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""woken.py PLAN FOLDER TRIES: one of three ranks is stopped in the middle of a step, and wakes when the others have gone on without it.

woken.py --rank RANK PLAN RENDEZVOUS PATIENCE is one rank. It steps until the run ends; what it holds of the session is its own then: it closes session and
world, meets the other survivor anew, fills the memory with a number of its own, says so, and looks whether the number stays when the lost rank has
woken. Most of a step is work on the others' memory, so that the lost rank is mostly stopped there.
"""
import ctypes
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

from bagua.runtime import Error, Plan, Session, World

sys.path.append(os.path.join(os.path.dirname(__file__), "..", ".."))
from yardstick import margin

# Seconds. Nobody meets the last one.
RANKS, LOST, PATIENCE, LIMIT = 3, 2, 1, 300


def floats(memory, value):
    return struct.pack("f", value) * (memory.nbytes // 4)


def strangers(memory, value):
    """How many elements are not `value`, and one of them."""
    found = [x for x in memory.cast("B").cast("f") if x != value]
    return len(found), found[:1]


def rank_of_run(rank, path, rendezvous, patience):
    plan = Plan(path)
    world = World.connect(rank, RANKS, rendezvous=rendezvous, patience=float(patience), timeout=LIMIT)
    session, held = Session(plan, world, timeout=LIMIT), {}
    for number, tensor in enumerate(plan.tensors):
        session.program_updates(tensor.name)
        size = session.local_bytes(number)
        if tensor.is_in_arena:
            held[number] = memoryview(session.hold(number, size)).cast("B")
        else:
            held[number] = memoryview(bytearray(size))
            session.bind(number, ctypes.addressof(ctypes.c_char.from_buffer(held[number])), size)
    given = [number for number, tensor in enumerate(plan.tensors) if tensor.is_given and tensor.is_in_arena]
    session.start()
    for number in held:
        held[number][:] = floats(held[number], rank + 1)
    print("stepping", flush=True)
    try:
        while True:
            session.begin_step()
            for number in held:
                session.mark_ready(number)
            for number in held:
                session.wait(number)
            session.end_step()
    except Error as error:
        print(error, flush=True)
    session.close()
    world.close()
    if rank == LOST:
        return
    again = World.connect(rank, RANKS - 1, rendezvous=rendezvous + ".again", timeout=LIMIT)
    for number in given:
        held[number][:] = floats(held[number], 7)
    again.communicator("all").barrier()
    print("went on", flush=True)
    sys.stdin.readline()
    for number in given:
        if held[number] != floats(held[number], 7):
            count, some = strangers(held[number], 7)
            print(f"{count} of {held[number].nbytes // 4} elements of '{plan.tensors[number].name}' are {some}", flush=True)


def read_until(process, text):
    said = ""
    while text not in said:
        line = process.stdout.readline()
        if not line:
            sys.exit(f"expected '{text}', found {said}")
        said += line
    return said


def run(plan, folder, drawn):
    """What is wrong with a run."""
    rendezvous, patience = tempfile.mktemp(dir=folder), str(PATIENCE + margin())
    ranks = [subprocess.Popen([sys.executable, __file__, "--rank", str(rank), plan, rendezvous, patience], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(RANKS)]
    wrong = []
    try:
        for process in ranks:
            read_until(process, "stepping")
        time.sleep(drawn.uniform(0.2, 0.7))
        ranks[LOST].send_signal(signal.SIGSTOP)
        for survivor in ranks[:LOST]:
            said = read_until(survivor, "went on")
            if f"rank {LOST} is lost" not in said:
                wrong.append(f"expected an error that names rank {LOST}, found {said}")
        ranks[LOST].send_signal(signal.SIGCONT)
        said = ranks[LOST].communicate(timeout=LIMIT)[0]
        if ranks[LOST].returncode or f"rank {LOST} is lost" not in said:
            wrong.append(f"the woken rank ends with {ranks[LOST].returncode}: {said}")
        for survivor in ranks[:LOST]:
            survivor.stdin.write("look\n")
            survivor.stdin.flush()
        for survivor in ranks[:LOST]:
            said = survivor.communicate(timeout=LIMIT)[0]
            if survivor.returncode or said:
                wrong.append(f"a survivor ends with {survivor.returncode}: {said}")
    finally:
        for process in ranks:
            process.kill()
    return wrong


def main(plan, folder, tries):
    drawn, wrong = random.Random(7), []
    for _ in range(int(tries)):
        wrong += run(plan, folder, drawn)
    print("\n".join(wrong))
    print(f"{tries} ranks woken, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(rank_of_run(int(sys.argv[2]), *sys.argv[3:]) if sys.argv[1] == "--rank" else main(*sys.argv[1:]))
