# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a training loop is written, and which there are."""
import torch
import torch.distributed as dist

from loop_models import Net, WIDTH, sgd

STEPS = 6
# Where a program may have its tensors made by default; an address there is null.
ELSEWHERE = "meta"
# By name.
LOOPS = {}


class Loop:
    """One loop: a model, an optimizer of its params, and what is done with them."""

    def __init__(self, train, make=Net, optimizer=sgd, unused=False):
        self.train, self.make_model, self.make_optimizer, self.unused = train, make, optimizer, unused

    def make(self):
        torch.manual_seed(0)
        return self.make_model()


def loop(**options):
    def add(train):
        LOOPS[train.__name__] = Loop(train, **options)
        return train
    return add


class Run:
    """What a loop has: the wrapped model, the model, its optimizer, this rank, and a sum over all ranks, in place."""

    def __init__(self, parallel, model, optimizer, rank, add_up=dist.all_reduce):
        self.parallel, self.model, self.optimizer, self.rank, self.add_up = parallel, model, optimizer, rank, add_up

    def batch(self, step):
        generator = torch.Generator().manual_seed(1000 * self.rank + step)
        dtype = next(self.model.parameters()).dtype
        return torch.randn(16, WIDTH, generator=generator).to(dtype), torch.randn(16, WIDTH, generator=generator).to(dtype)

    def loss(self, step, *options):
        x, y = self.batch(step)
        return ((self.parallel(x, *options) - y) ** 2).mean()

    def backward(self, step, *options):
        self.loss(step, *options).backward()

    def update(self, **options):
        self.optimizer.step()
        self.optimizer.zero_grad(**options)


@torch.no_grad()
def report(run, *values):
    """In the params, where it is compared."""
    last = list(run.model.parameters())[-1]
    last.add_(sum(torch.as_tensor(value, dtype=last.dtype).sum() for value in values) / 100)


@torch.no_grad()
def put(run, values):
    for param, value in zip(run.model.parameters(), values):
        param.copy_(value)
