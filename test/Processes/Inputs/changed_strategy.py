# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""changed_strategy.py FOLDER PLAN OTHER...: trains by a plan, saves, and goes on by each of the others; compares what is left.

changed_strategy.py --rank RANK FOLDER PLAN OTHER... is one rank of that.
"""
import os
import subprocess
import sys

from bagua.runtime import Role, Session, World
from rebuild import Rank

RANKS, STEPS = 3, 5


def train(world, plan, steps, state=None):
    """The session's state in the end, and by name the bits of each param and of each moment."""
    rank = Rank(world.rank, plan, folder=None)
    with Session(rank.plan, world) as session:
        rank.bind(session)
        if state is not None:
            session.load_state(state)
        session.start()
        for _ in range(steps):
            rank.step(session)
        session.finish()
        params, moments = ({tensor.name: bytes(rank.places[number]) for number, tensor in rank.tensors if tensor.role == role}
                           for role in (Role.PARAM, Role.OPTIMIZER))
        return session.save_state(), params, moments


def compare(number, folder, plan, *others):
    with World.connect(int(number), RANKS, rendezvous=f"{folder}/rendezvous", timeout=600) as world:
        state, *_ = train(world, plan, STEPS)
        _, *undisturbed = train(world, plan, 2 * STEPS)
        for other in others:
            _, *found = train(world, other, STEPS, state)
            if found != undisturbed:
                sys.exit(f"{other}: expected every bit of the undisturbed run, on rank {number}")
            print(f"{os.path.basename(other)}: {len(found[0])} params and {len(found[1])} moments, every bit of the undisturbed run")


def main(*words):
    ranks = [subprocess.Popen([sys.executable, __file__, "--rank", str(number), *words], text=True, stdout=subprocess.PIPE)
             for number in range(RANKS)]
    outputs = [rank.communicate(timeout=600)[0] for rank in ranks]
    print(outputs[0], end="")
    sys.exit(any(rank.returncode for rank in ranks))


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        compare(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
