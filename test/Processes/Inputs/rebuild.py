# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rebuild.py PLAN FOLDER: trains undisturbed, and again with ranks killed and replaced; compares what is left.

rebuild.py --rank RANK PLAN FOLDER is one rank, which rebuilds its session until the run is over.
"""
import ctypes
import glob
import hashlib
import os
import random
import signal
import subprocess
import sys
import time

from bagua.runtime import Error, Plan, Role, Session, Type, World, write_checkpoint

RANKS, STEPS, EVERY, KILLS = 4, 400, 10, 6
# Seconds: nobody meets it.
LIMIT = 1500
FLOAT_BYTES = 4


class Rank:
    def __init__(self, rank, plan, folder):
        self.rank, self.plan, self.folder = rank, Plan(plan), folder
        self.tensors = [(number, tensor) for number, tensor in enumerate(self.plan.tensors) if tensor.type == Type.FLOAT32]

    def path(self, step):
        return f"{self.folder}/rank{self.rank}-{step}"

    def saved(self):
        return {path for path in glob.glob(f"{self.folder}/rank{self.rank}-*") if not path.endswith(".partial")}

    def floats(self, number):
        return self.places[number]

    def bind(self, session):
        self.places = {}
        for number, tensor in self.tensors:
            size = session.local_bytes(number)
            memory = (ctypes.c_float * (size // FLOAT_BYTES))(*(((number + i) % 5) / 10 for i in range(size // FLOAT_BYTES)))
            place = session.bind_or_locate(number, ctypes.addressof(memory), size)
            self.places[number] = (memory if place == ctypes.addressof(memory)
                                   else (ctypes.c_float * len(memory)).from_address(place))
            if tensor.role == Role.PARAM:
                session.program_updates(tensor.name)

    def step(self, session):
        """A gradient that depends on the param, the step and the rank, in turn."""
        session.begin_step()
        params = {tensor.name: number for number, tensor in self.tensors if tensor.role == Role.PARAM}
        for number in params.values():
            session.wait(number)
        # Its update may begin once its own gradient is given, before other gradients are made.
        first = list(self.places[params[min(params)]])
        for number, tensor in self.tensors:
            if tensor.is_given:
                place = self.places[number]
                for i in range(len(place)):
                    place[i] = first[i % len(first)] * 0.5 + 0.01 * ((session.step + i) % 7) * (self.rank + 1)
                session.mark_ready(number)
        for number, tensor in self.tensors:
            if tensor.is_given:
                session.wait(number)
        session.end_step()

    def train(self, world):
        with Session(self.plan, world) as session:
            newest = world.newest_checkpoint(sorted(self.saved()))
            self.bind(session)
            if newest is not None:
                with open(newest, "rb") as file:
                    session.load_state(file.read())
            kept = [newest] if newest is not None else []
            for stale in self.saved().difference(kept):
                os.remove(stale)
            session.start()
            print("started", flush=True)
            for step in range(session.step, STEPS):
                self.step(session)
                if (step + 1) % EVERY == 0:
                    session.finish()
                    kept.append(self.path(step + 1))
                    write_checkpoint(kept[-1], session.save_state())
                    for old in kept[:-2]:
                        os.remove(old)
                    kept = kept[-2:]
            with open(f"{self.folder}/result-{self.rank}", "wb") as file:
                for number, _ in self.tensors:
                    file.write(bytes(self.places[number]))
        # Nobody leaves whom a replacement may need.
        with world.communicator("end") as group:
            group.barrier()

    def run(self):
        while True:
            try:
                with World.connect(self.rank, RANKS, rendezvous=f"{self.folder}/rendezvous", timeout=60, patience=5) as world:
                    self.train(world)
                return
            except Error as error:
                # Of a rank that is gone; anything else is not what is tried here.
                if error.code not in ("UNAVAILABLE", "ABORTED"):
                    raise
                print(f"rank {self.rank}: {error}", file=sys.stderr, flush=True)


def start(rank, plan, folder):
    log = open(f"{folder}/log-{rank}", "a", encoding="utf-8")
    return subprocess.Popen([sys.executable, __file__, "--rank", str(rank), plan, folder], stdout=log, stderr=log)


def starts(folder):
    count = 0
    for rank in range(RANKS):
        with open(f"{folder}/log-{rank}", encoding="utf-8") as file:
            count += file.read().count("started\n")
    return count


def digest(folder):
    """Of each rank's tensors in the end."""
    result = []
    for rank in range(RANKS):
        with open(f"{folder}/result-{rank}", "rb") as file:
            result.append(hashlib.sha256(file.read()).hexdigest())
    return result


def train(plan, folder, kills):
    os.makedirs(folder)
    chance, killed, begun = random.Random(7), 0, time.monotonic()
    ranks = [start(rank, plan, folder) for rank in range(RANKS)]
    while any(rank.poll() is None for rank in ranks):
        if time.monotonic() - begun > LIMIT:
            for rank in ranks:
                rank.kill()
            sys.exit(f"no end in {LIMIT} s; logs are in {folder}")
        for number, rank in enumerate(ranks):
            if rank.poll() not in (None, 0, -signal.SIGKILL):
                sys.exit(f"rank {number} ended with {rank.returncode}; logs are in {folder}")
        # Whatever it is at: connecting, training, saving.
        time.sleep(chance.uniform(0.05, 0.5))
        if killed < kills and not glob.glob(f"{folder}/rank*-{STEPS}"):
            victim = chance.randrange(RANKS)
            ranks[victim].kill()
            ranks[victim].wait()
            killed += 1
            ranks[victim] = start(victim, plan, folder)
    return killed


def main(plan, folder):
    train(plan, f"{folder}/undisturbed", 0)
    print(f"undisturbed: {STEPS} steps on {RANKS} ranks")
    killed = train(plan, f"{folder}/disturbed", KILLS)
    if digest(f"{folder}/disturbed") != digest(f"{folder}/undisturbed"):
        sys.exit("expected every bit of the undisturbed run")
    print(f"{killed} ranks killed, {starts(f'{folder}/disturbed')} sessions rebuilt: every bit is that of the undisturbed run")


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        Rank(int(sys.argv[2]), *sys.argv[3:]).run()
    else:
        main(*sys.argv[1:])
