# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank of two that train, of which one never calls close(): ended.py KIND WAY WORK, with torchrun's variables

By overlap="step" rank 0 makes its last backward when rank 1's program is about to end. Each rank says whether its params are those
of one process, or what the error is."""
import atexit
import os
import pathlib
import sys
import time

import torch
from torch import nn

import bagua.torch

STEPS = 3


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))


def batch(rank, step):
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(1000 * rank + step))


def train_alone():
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        for rank in range(2):
            (model(batch(rank, step)).square().mean() / 2).backward()
        optimizer.step()
    return model


def ends(parallel):
    pass


def raises(parallel):
    raise RuntimeError("rank 1 is at fault")


def ends_within_a_backward(parallel):
    parallel.module[0].weight.register_hook(lambda _: sys.exit(3))
    parallel(batch(1, STEPS)).sum().backward()


def drops(parallel):
    """The wrapper: the model gets what it is owed all the same."""
    model = parallel.module
    del parallel
    print("right" if is_right(model) else "other params than one process", flush=True)


def gives_up(parallel):
    """Rank 0: behind an error that it has heard of itself. The other one is at something else until it is gone."""
    sys.exit(1)


# With the way, by which a rank may end before its last gradients are reduced ("step") or not.
RUNS = ((ends, "backward"), (ends, "step"), (raises, "step"), (ends_within_a_backward, "backward"), (drops, "backward"), (drops, "step"),
        (gives_up, "backward"))


def is_right(model):
    return all(torch.allclose(own, expected, rtol=1e-5, atol=1e-7) for own, expected in zip(model.parameters(), train_alone().parameters()))


def wait_for(path):
    while not path.exists():
        time.sleep(0.01)
    time.sleep(0.2)  # what is wrong happens meanwhile


def is_gone(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def main(kind, way, work):
    torch.set_num_threads(1)
    rank, mark = int(os.environ["RANK"]), pathlib.Path(work, f"{kind}.{way}.ending")
    model = make()
    pathlib.Path(work, f"{kind}.{way}.{rank}").write_text(str(os.getpid()), encoding="ascii")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    options = {"overlap": "step", "optimizer": optimizer} if way == "step" else {}
    parallel = bagua.torch.DataParallel(model, f"{work}/{way}.bagua", timeout=60, **options)
    other = pathlib.Path(work, f"{kind}.{way}.{1 - rank}").read_text(encoding="ascii")
    for step in range(STEPS):
        if rank == 0 and step == STEPS - 1 and (kind, way) in (("ends", "step"), ("raises", "step")):
            wait_for(mark)
        parallel(batch(rank, step)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    who = 0 if kind == "gives_up" else 1
    if rank == who:
        atexit.register(mark.touch)  # before all that was registered before
        end, kept = next(function for function, _ in RUNS if function.__name__ == kind), [parallel]
        del parallel
        end(kept.pop())  # which alone refers to it
        return
    try:
        if kind == "gives_up":
            while not is_gone(other):
                time.sleep(0.01)
        if kind == "ends_within_a_backward":
            parallel(batch(rank, STEPS)).sum().backward()
        parallel.close()
        print("right" if is_right(model) else "other params than one process", flush=True)
    except RuntimeError as error:
        print(error, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
