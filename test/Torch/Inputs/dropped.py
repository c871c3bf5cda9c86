# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank: dropped.py PLAN trains an iteration whose step lacks the head, after dropping a gradient of the head, and one in which no rank reaches it."""
import os
import sys

import bagua.torch
from phases import Model, batch


def main(plan):
    rank, model = int(os.environ["RANK"]), Model()
    ranks = bagua.torch.DataParallel(model, plan, find_unused_parameters=True, timeout=20)
    with ranks.no_sync():
        ranks(batch(rank, 0), True).backward()
    for step in range(2):
        model.zero_grad()
        ranks(batch(rank, step), False).backward()
    ranks.close()
    if rank == 0:
        print("the head's gradient:", model.h.grad)


if __name__ == "__main__":
    main(sys.argv[1])
