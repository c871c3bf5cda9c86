# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handles that are closed, and handles that a child of this process has a copy of."""
import ctypes
import os
import subprocess
import sys
import threading
import weakref

from bagua.runtime import Error, Plan, Session, Type, World


def refusal(call):
    try:
        call()
    except ValueError as error:
        return error
    return "nothing"


def on_both(body):
    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    plan = Plan(subprocess.run(["bagua-make-test-plan", "2"], capture_output=True, check=True).stdout)
    worlds = World.in_process(2, timeout=120)
    sessions = [None, None]

    def create(rank):
        sessions[rank] = Session(plan, worlds[rank], timeout=120)

    alone = World.in_process(1)[0]
    other = Session(Plan(subprocess.run(["bagua-make-test-plan", "1"], capture_output=True, check=True).stdout), alone)
    other.close()
    print("closed:", refusal(lambda: other.step))
    alone.close()
    print("closed:", refusal(alone.next_number))
    print("closed twice:", refusal(alone.close))

    on_both(create)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        print("forked:", refusal(lambda: sessions[0].step), flush=True)
        # An exit that frees what is left, as that of a loader's worker does.
        sys.exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("the child failed")

    sums = [0.0, 0.0]

    def reduce(rank):
        group = worlds[rank].communicator("sum")
        value = ctypes.c_float(rank + 1)
        group.all_reduce(ctypes.addressof(value), ctypes.addressof(value), 1, Type.FLOAT32)
        sums[rank] = value.value

    on_both(reduce)
    print(f"afterwards: the sum of 2 ranks is {sums[0]}")

    texts = {}

    class Shelf:
        set = staticmethod(texts.__setitem__)
        get = staticmethod(texts.get)

    class Broken:
        def get(self, *_):
            raise OSError("the store is gone")
        set = get

    met = [None, None]

    def meet(rank):
        met[rank] = World.connect(rank, 2, store=Shelf)

    on_both(meet)
    print(f"met by a store: {[(world.rank, world.size) for world in met]}, which has {sorted(texts)}")
    for rank in range(2):
        try:
            World.connect(rank, 2, store=Broken())
        except OSError as error:
            print("broken:", error)
    try:
        sessions[0].mark_ready(0, 4096)
    except TypeError as error:
        print("an address alone:", error)
    try:
        sessions[0].mark_each_ready([0, 0], [4096], [4, 4])
    except TypeError as error:
        print("an address less:", error)
    for number in (2**32, -1):
        try:
            sessions[0].mark_ready(number)
        except ctypes.ArgumentError as error:
            print("no number of a tensor:", error)

    told, done = [], threading.Event()
    on_both(lambda rank: sessions[rank].start())
    sessions[0].begin_step()
    sessions[0].mark_ready(0)
    sessions[0].on_done(0, lambda error: (told.append(error), done.set()))
    sessions[1].abort("no more data")
    done.wait(30)
    print(f"told of {told[0]}: rank {told[0].rank}, tensor {told[0].tensor}")
    drop_with_callbacks(plan)
    raise_in_warnings()


def raise_in_warnings():
    """What a warning's callback raises on the thread that waits comes once it has waited: an interrupt does, by whatever runs there."""
    for failure in (KeyboardInterrupt(), ValueError("warnings are errors")):
        worlds, is_warned = World.in_process(2), threading.Event()

        def warn(_):
            is_warned.set()
            raise failure

        def come(rank):
            group = worlds[rank].communicator("late", timeout=20, on_warning=warn if rank == 0 else None)
            if rank == 1:
                is_warned.wait(60)
            group.barrier()

        other = threading.Thread(target=come, args=(1,))
        other.start()
        try:
            come(0)
            print("lost")
        except (KeyboardInterrupt, ValueError) as found:
            print("raised:", repr(found))
        other.join()


def drop_with_callbacks(plan):
    """Of two sessions that are dropped while a callback is pending, one is known to the callback alone: it is freed on no thread of
    its own."""
    for is_known in (False, True):
        worlds = World.in_process(2, 30)
        sessions = [None, None]

        def make(rank):
            sessions[rank] = Session(plan, worlds[rank])
            sessions[rank].start()
            sessions[rank].begin_step()

        on_both(make)
        sessions[0].mark_ready(0)
        told, freed = threading.Event(), threading.Event()
        weakref.finalize(sessions[0], freed.set)
        keep = sessions[0] if is_known else None
        sessions[0].on_done(0, lambda error, keep=keep: told.set())
        sessions[0] = keep = None
        try:
            sessions[1].mark_ready(0)
        except Error:
            pass  # the other one was freed before
        print("dropped:", "told" if told.wait(30) else "not told", "freed" if freed.wait(30) else "not freed")


if __name__ == "__main__":
    main()
