# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank: phases.py PLAN FIRST END CHECKPOINT HEAD [UNSYNCED] trains iterations FIRST to END - 1, from a checkpoint of the params unless FIRST is
0; before iteration HEAD with the head. In iteration UNSYNCED a micro-batch without synchronisation comes first, with the head."""
import os
import sys

import torch

import bagua.torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.linspace(-1, 1, 100))
        self.h = torch.nn.Parameter(torch.ones(10))

    def forward(self, x, has_head):
        return (self.w * x).pow(2).sum() * (self.h.sum() if has_head else 1)


def batch(rank, step):
    return torch.linspace(0.3, 1 + rank, 100) * (1 + 0.1 * step)


def main(plan, first, end, checkpoint, head, unsynced=None):
    rank, model = int(os.environ["RANK"]), Model()
    if first > 0:
        model.load_state_dict(torch.load(checkpoint))
    ranks = bagua.torch.DataParallel(model, plan, first_step=first, timeout=20)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for step in range(first, end):
        optimizer.zero_grad()
        if step == unsynced:
            with ranks.no_sync():
                ranks(batch(rank, step), True).backward()
        ranks(batch(rank, step), step < head).backward()
        optimizer.step()
    ranks.close()
    if rank == 0:
        torch.save(model.state_dict(), checkpoint)
        print(f"{float(model.w[0]):.9g} {float(model.h[0]):.9g}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], *map(int, sys.argv[5:]))
