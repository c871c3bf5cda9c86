# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two ranks that give tensors and take them back by a queue of their own."""
import array
import subprocess
import threading

from bagua.runtime import Error, Plan, Queue, Session, World

STEPS = 2


def train(plan, world, means):
    queue = Queue(world)
    with Session(plan, world, timeout=120) as session:
        session.start()
        sizes = [session.local_bytes(tensor) for tensor in range(len(plan.tensors))]
        for step in range(STEPS):
            session.begin_step()
            given = [array.array("f", [world.rank + tensor + 10 * step] * (size // 4)) for tensor, size in enumerate(sizes)]
            homes = [array.array("f", bytes(size)) for size in sizes]
            for tensor, size in enumerate(sizes):
                queue.copy(homes[tensor].buffer_info()[0], given[tensor].buffer_info()[0], size)
                session.mark_ready(tensor, homes[tensor].buffer_info()[0], size, after=queue)
            for tensor, size in enumerate(sizes):
                session.wait(tensor, before=queue)
                queue.copy(given[tensor].buffer_info()[0], homes[tensor].buffer_info()[0], size)
                queue.zero(homes[tensor].buffer_info()[0], size)
            queue.drain()
            means[world.rank].append([sorted(set(values)) for values in given])
            session.end_step()
        session.finish()
    queue.close()


def main():
    plan = Plan(subprocess.run(["bagua-make-test-plan", "2"], capture_output=True, check=True).stdout)
    means = [[], []]
    threads = [threading.Thread(target=train, args=(plan, world, means)) for world in World.in_process(2, timeout=120)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for step in range(STEPS):
        print(f"step {step}:", means[0][step], "on both ranks" if means[0][step] == means[1][step] else means[1][step])
    world = World.in_process(1)[0]
    for make in (lambda: Queue(world, "board"), lambda: Session(plan, world, backend="board")):
        try:
            make()
        except Error as error:
            print(error.code, error)
    misuse(Plan(subprocess.run(["bagua-make-test-plan", "1"], capture_output=True, check=True).stdout))


def misuse(plan):
    world = World.in_process(1)[0]
    queue, session = Queue(world, ""), Session(plan, world, backend="")
    session.start()
    session.begin_step()
    place = array.array("f", bytes(64)).buffer_info()[0]
    for call in (lambda: queue.copy(place, place, -1), lambda: queue.zero(place, 2**64), lambda: queue.zero(-4, 4),
                 lambda: session.mark_ready(0, after=session), lambda: session.wait(0, before=world),
                 lambda: session.mark_ready(0, place, -4, after=queue), lambda: session.mark_ready(0, 0, 4084, after=queue),
                 lambda: session.agree_on("model", 2**64)):
        try:
            call()
            print("accepted")
        except (Error, OverflowError, TypeError) as error:
            print(type(error).__name__, str(error).split(" <")[0])


main()
