# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One of two ranks whose gradients lie in unusual ways: layouts.py PLANS, a folder. Rank 0 says where they don't have the bits of the means of what
ranks have by themselves; DistributedDataParallel is wrong where a model is turned behind its back. check_layouts.py makes the plans."""
import itertools
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.checkpoint import checkpoint

STEPS = 4


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(3, 2, 3, padding=1)

    def forward(self, x, uses_all=True):
        x = self.a(x)
        return self.b(x) if uses_all else x

    def batch(self, rank):
        return torch.randn(2, 2, 5, 5, generator=torch.Generator().manual_seed(rank))


class Phase(nn.Module):
    """Autograd makes the gradient of `phase` as the negative of memory that it has, unless a rank comes to it otherwise."""

    def __init__(self):
        super().__init__()
        self.linear, self.phase = nn.Linear(3, 1), nn.Parameter(torch.tensor(0.7))

    def forward(self, x, way="conjugate"):
        y = self.linear(x).sum()
        if way == "conjugate":
            return y + (torch.complex(torch.tensor(0.3), self.phase).conj() * torch.tensor(1 + 2j)).abs()
        return y + self.phase ** 2 if way == "square" else y

    def batch(self, rank):
        return torch.randn(2, 3, generator=torch.Generator().manual_seed(rank))


class Transposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3).t())

    def forward(self, x):
        return x @ self.weight

    def batch(self, rank):
        return torch.randn(2, 3, generator=torch.Generator().manual_seed(rank)).requires_grad_()


class Again(Transposed):
    """A layer is computed again in backward, within a backward of its own."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

    def forward(self, x):
        return super().forward(checkpoint(self.block, x, use_reentrant=True))


def turned_convolutions():
    return Convolutions().to(memory_format=torch.channels_last)


MODELS = {"convolutions": Convolutions, "turned": turned_convolutions, "phase": Phase, "transposed": Transposed, "again": Again}


def to_channels_last(param):
    param.data = param.data.contiguous(memory_format=torch.channels_last)


def slices_of_one(model):
    """All gradients, in one tensor."""
    whole = torch.zeros(sum(param.numel() for param in model.parameters()))
    for param, part in zip(model.parameters(), whole.split([param.numel() for param in model.parameters()])):
        param.grad = part.view(param.shape)
    return whole


def gradients_of(model):
    return [torch.zeros_like(param) if param.grad is None else param.grad for param in model.parameters()]


def gradients_in_one_tensor(model, parallel, x, _):
    """Params lie otherwise than their gradients."""
    whole = slices_of_one(model)
    for _ in range(STEPS):
        whole.zero_()
        parallel(x).square().mean().backward()
    return [whole]


def a_param_is_turned_beside_another_gradient(model, parallel, x, _):
    """A param lies otherwise from the third step on, and its gradient as it did; one that comes with it is of another type."""
    whole = slices_of_one(model)
    for step in range(STEPS):
        if step == 2:
            to_channels_last(model.a.weight)
            model.a.bias.register_post_accumulate_grad_hook(lambda bias: setattr(bias, "grad", nn.Parameter(bias.grad.detach(), False)))
        whole.zero_()
        parallel(x).square().mean().backward()
    return [whole]


def turned_where_one_rank_leaves_it_out(model, parallel, x, rank):
    model.to(memory_format=torch.channels_last)
    for _ in range(STEPS):
        model.zero_grad()
        parallel(x, rank == 0).square().mean().backward()
    return gradients_of(model)


def slices_of_what_one_rank_leaves_out(model, parallel, x, rank):
    whole = slices_of_one(model)
    for step in range(STEPS):
        whole.zero_()
        parallel(x, step != 1 or rank == 0).square().mean().backward()
    return [whole]


def negatives(ways):
    def train(model, parallel, x, rank):
        parallel(x, ways[rank]).backward()
        return [gradient * 2 for gradient in gradients_of(model)]
    train.__name__ = f"negative_on_rank_0_{ways[1]}_on_rank_1"
    return train


def kept_by_another_name(model, parallel, x, _):
    parallel(x).square().sum().backward()
    kept, model.weight.grad = model.weight.grad, None
    return [kept]


ALL = [(overlap, views) for overlap in ("backward", "step") for views in (False, True)]
# Slices of one tensor are gradients where these are not views of the plan's memory.
OWN = [(overlap, views) for overlap, views in ALL if not views]
# The model, what is done, and by which ways.
CASES = [("turned", gradients_in_one_tensor, OWN), ("convolutions", a_param_is_turned_beside_another_gradient, OWN),
         ("convolutions", slices_of_what_one_rank_leaves_out, OWN), ("convolutions", turned_where_one_rank_leaves_it_out, ALL),
         *(("phase", negatives(("conjugate", other)), ALL) for other in ("conjugate", "square", "none")), ("transposed", kept_by_another_name, ALL)]


def main(plans):
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False  # some kernels use instructions that some virtual machines lack
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    import bagua.torch
    from bagua import runtime

    def make(name):
        torch.manual_seed(0)
        return MODELS[name]()

    def say(what):
        if rank == 0:
            print(what, flush=True)

    def wrap(name, model, overlap, views):
        store = dist.PrefixStore(f"bagua/{next(runs)}", dist.distributed_c10d._get_default_store())
        deferred = {"optimizer": torch.optim.SGD(model.parameters(), lr=0.1)} if overlap == "step" else {}
        return bagua.torch.DataParallel(model, f"{plans}/{name}.{overlap}.bagua", world=runtime.World.launched(store=bagua.torch.Store(store)),
                                        find_unused_parameters=True, overlap=overlap, gradient_as_bucket_view=views, timeout=60, **deferred)

    runs, different = itertools.count(), 0
    for name, train, ways in CASES:
        model = make(name)
        expected = [gradient.contiguous().clone() for gradient in train(model, model, model.batch(rank), rank)]
        for gradient in expected:
            dist.all_reduce(gradient)
            gradient /= 2
        for overlap, views in ways:
            model = make(name)
            with wrap(name, model, overlap, views) as parallel:
                found = train(model, parallel, model.batch(rank), rank)
                same = torch.tensor([all(map(torch.equal, found, expected))], dtype=torch.int32)
                dist.all_reduce(same)
            if same.item() != 2:
                different += 1
                say(f"{train.__name__}, {overlap}{', views' if views else ''}: {same.item()} ranks have the bits of the means")
    say(f"{len(CASES)} kinds in {next(runs)} runs: {different} different")

    model = make("again")
    try:
        wrap("again", model, "backward", views=True)(model.batch(rank)).sum().backward(create_graph=True)
        say("a graph of views: no error")
    except RuntimeError as error:  # its own, or the other rank's, which may have come first
        say(f"a graph of views: {str(error).removeprefix('rank 1: aborted: ')}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
