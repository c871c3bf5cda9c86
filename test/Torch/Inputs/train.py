# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank that trains models on plans, each case beside one process that has all ranks' batches: train.py FOLDER OVERLAP

Run by check_training.py, with torchrun's variables. Rank 0 says whether every bit of the params is the same."""
import contextlib
import sys

import torch
from torch import nn

import bagua.torch
from bagua import runtime

STEPS = 6


class Net(nn.Module):
    """With everything that moves gradients: a param of the root's, tied ones, unused ones, statistics."""

    def __init__(self, tied=False, unused=False, statistics=False):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(32))
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(4))
        self.norm = nn.BatchNorm1d(32) if statistics else None
        self.extra = nn.Linear(32, 32) if unused else None
        if tied:
            self.layers[3].weight = self.layers[0].weight

    def forward(self, x, uses_extra=False):
        x = x * self.scale
        for layer in self.layers:
            x = torch.tanh(layer(x))
        if self.norm:
            x = self.norm(x)
        if uses_extra:
            x = self.extra(x)
        return x


# By case: the model, the optimizer, and what else the loop does.
CASES = {
    "momentum": ({}, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), set()),
    "adam": ({}, lambda p: torch.optim.Adam(p, lr=0.01), {"set_to_none"}),
    "tied": ({"tied": True}, lambda p: torch.optim.SGD(p, lr=0.05), set()),
    "unused": ({"unused": True}, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.1), {"unused"}),
    "accumulated": ({}, lambda p: torch.optim.AdamW(p, lr=0.01), {"accumulated", "set_to_none"}),
    "clipped": ({}, lambda p: torch.optim.SGD(p, lr=0.5), {"clipped", "set_to_none"}),
    "scheduled": ({}, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), {"scheduled"}),
    "statistics": ({"statistics": True}, lambda p: torch.optim.SGD(p, lr=0.05), set()),
    "autocast": ({}, lambda p: torch.optim.SGD(p, lr=0.05), {"autocast"}),
}


def batch(rank, step):
    generator = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randn(16, 32, generator=generator), torch.randn(16, 32, generator=generator)


def backward(model, rank, step, wishes, no_sync=contextlib.nullcontext):
    """What one rank computes in a step. Who uses the extra layer differs between ranks; in step 2 nobody does."""
    x, y = batch(rank, step)
    uses = {"uses_extra": (step + rank) % 3 == 0 and step != 2} if "unused" in wishes else {}
    with torch.autocast("cpu", dtype=torch.bfloat16) if "autocast" in wishes else contextlib.nullcontext():
        if "accumulated" in wishes:
            with no_sync():
                ((model(x[:8], **uses) - y[:8]) ** 2).mean().mul(0.5).backward()
            x, y = x[8:], y[8:]
        ((model(x, **uses) - y) ** 2).mean().backward()


def update(model, optimizer, schedule, wishes):
    if "clipped" in wishes:
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    if schedule:
        schedule.step()
    optimizer.zero_grad(set_to_none="set_to_none" in wishes)


def make(case):
    arguments, make_optimizer, wishes = CASES[case]
    torch.manual_seed(0)
    model = Net(**arguments)
    optimizer = make_optimizer(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5) if "scheduled" in wishes else None
    return model, optimizer, schedule, wishes


def train_alone(case, size):
    """All ranks' gradients, added in the order of ranks. Batch norm's statistics are those of rank 0, as they are sent."""
    model, optimizer, schedule, wishes = make(case)
    for step in range(STEPS):
        kept = {name: value.clone() for name, value in model.named_buffers()}
        before = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        sums, used, of_rank_0 = [None] * len(before), [False] * len(before), None
        for rank in range(size):
            for param, gradient in zip(model.parameters(), before):
                param.grad = None if gradient is None else gradient.clone()
            for name, value in model.named_buffers():
                value.copy_(kept[name])
            marks = []
            handles = [p.register_post_accumulate_grad_hook(lambda _, i=i: marks.append(i))
                       for i, p in enumerate(model.parameters())]
            backward(model, rank, step, wishes)
            for handle in handles:
                handle.remove()
            of_rank_0 = of_rank_0 or {name: value.clone() for name, value in model.named_buffers()}
            for i, param in enumerate(model.parameters()):
                used[i] = used[i] or i in marks
                own = torch.zeros_like(param) if param.grad is None else param.grad
                sums[i] = own.clone() if sums[i] is None else sums[i] + own
        for param, total, is_used, gradient in zip(model.parameters(), sums, used, before):
            param.grad = total / size if is_used or gradient is not None else None
        for name, value in model.named_buffers():
            value.copy_(of_rank_0[name])
        update(model, optimizer, schedule, wishes)
    return model


def train(case, plan, world, overlap):
    model, optimizer, schedule, wishes = make(case)
    if world.rank:
        with torch.no_grad():
            for param in model.parameters():
                param.zero_()  # rank 0's are taken
    deferred = {"overlap": "step", "optimizer": optimizer} if overlap == "step" else {}
    with bagua.torch.DataParallel(model, plan, world=world, find_unused_parameters="unused" in wishes,
                                  **deferred) as parallel:
        for step in range(STEPS):
            backward(parallel, world.rank, step, wishes, parallel.no_sync)
            update(parallel, optimizer, schedule, wishes)
        assert list(parallel.state_dict()) == list(model.state_dict())
    return model


def main(folder, overlap):
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False  # its bf16 kernels use instructions that some virtual machines lack
    world = runtime.World.launched()
    for case in CASES:
        model = train(case, f"{folder}/{case}.bagua", world, overlap)
        if world.rank == 0:
            expected = train_alone(case, world.size).state_dict()
            differ = [name for name, value in model.state_dict().items() if not torch.equal(value, expected[name])]
            print(f"{case}: {'differs in ' + ', '.join(differ) if differ else 'equal'}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
