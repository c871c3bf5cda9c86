# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of loops, and how their optimizers are made."""
import time
import warnings

import torch
from torch import nn
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint

WIDTH = 8

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)

    @torch.jit.script
    def shifted(x, bias):
        """Reads without PyTorch's functions noticing."""
        return x + bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


class Optional(nn.Module):
    """With a layer, and a param of transposed strides, that a batch may leave out."""

    def __init__(self):
        super().__init__()
        self.a, self.extra = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.turned = nn.Parameter(torch.randn(WIDTH, WIDTH).t())

    def forward(self, x, uses_all=True):
        x = self.a(x)
        return self.extra(x) @ self.turned if uses_all else x


class Checkpointed(Net):
    def forward(self, x):
        for layer in (self.a, self.b, self.c):
            x = checkpoint(layer, x, use_reentrant=False)
        return x


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.norm, self.f = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(16, WIDTH)
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        return self.f(self.norm(self.c(x.view(16, 2, 2, 2))).flatten(1))


def sgd(params):
    return torch.optim.SGD(params, lr=0.1, momentum=0.9)


def pruned():
    model = Net()
    prune.random_unstructured(model.b, "weight", 0.5)
    return model


def normed():
    model = Net()
    nn.utils.parametrizations.weight_norm(model.b)
    return model


def compiled():
    model = Net()
    model.b = torch.compile(model.b, backend="eager")
    return model


def compiled_whole():
    """Block by block, each as a whole, in the three ways to compile one."""
    model = Net()
    model.a = torch.compile(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH)), backend="eager", fullgraph=True)
    model.b = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
    model.b.compile(backend="eager", fullgraph=True)
    model.c.forward = torch.compile(model.c.forward, backend="eager", fullgraph=True)
    return model


def compiled_as_one():
    return torch.compile(Net(), backend="eager")


def compiled_in_place_as_one():
    model = Net()
    model.compile(backend="eager", fullgraph=True)
    return model


class Shift(nn.Linear):
    def forward(self, x):
        return shifted(nn.functional.linear(x, self.weight), self.bias)


class Block(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.own = inner, nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.own(torch.tanh(self.inner(x)))


class PartsFirst(nn.Module):
    """Calls modules of its blocks by themselves, before the blocks."""

    def __init__(self):
        super().__init__()
        self.a = torch.compile(Block(Shift(WIDTH, WIDTH)), backend="eager", fullgraph=True)
        self.b = Block(Shift(WIDTH, WIDTH))
        self.b.compile(backend="eager", fullgraph=True)
        self.c = Block(Shift(WIDTH, WIDTH))
        self.c.forward = torch.compile(self.c.forward, backend="eager", fullgraph=True)
        self.d = nn.MultiheadAttention(WIDTH, 2)
        self.d.out_proj = Shift(WIDTH, WIDTH)

    def forward(self, x):
        for part in (self.a.inner, self.a, self.b.inner, self.b, self.c.inner, self.c, self.d.out_proj):
            x = torch.tanh(part(x))
        return self.d(x, x, x)[0]


class Delegating(nn.Module):
    """Has what its block has."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("block"), name)

    def encoded(self, x):
        return self.block(x)


class SharedWithBlocks(nn.Module):
    """Has a module by itself that is within a compiled block, and a block twice, compiled in place and once more."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(WIDTH, WIDTH), Block(nn.Linear(WIDTH, WIDTH))
        self.c = Block(self.a)
        self.c.compile(backend="eager", fullgraph=True)
        self.b.compile(backend="eager", fullgraph=True)
        self.d = Delegating(torch.compile(self.b, backend="eager", fullgraph=True))

    def forward(self, x):
        for part in (self.a, self.c, self.b, self.d.encoded):
            x = torch.tanh(part(x))
        return x


class Slow(torch.autograd.Function):
    """Hands its gradient on when those that are given meanwhile have been summed up."""

    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        time.sleep(0.1)
        return gradient.clone()


class Sharing(nn.Module):
    """Its places' gradient is a view of one that backward still needs."""

    def __init__(self):
        super().__init__()
        self.a, self.c = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.places = nn.Parameter(torch.randn(16, WIDTH))

    def forward(self, x):
        return self.c(Slow.apply(self.a(x))[None] + self.places[None])[0]


class Ignored(torch.autograd.Function):
    """Has no gradient of its second argument, and says so."""

    @staticmethod
    def forward(_, x, param):
        return x + param

    @staticmethod
    def backward(_, gradient):
        return gradient, None


class Ignoring(Net):
    def __init__(self):
        super().__init__()
        self.ignored = nn.Parameter(torch.randn(WIDTH))

    def forward(self, x):
        return super().forward(Ignored.apply(x, self.ignored))


class Scaling(Net):
    """By what its forward has seen so far."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        if self.training:
            self.scale.mul_(0.9).add_(0.1 * x.detach().abs().mean())
        return super().forward(x * self.scale)


class Borrowing(nn.Module):
    """Uses params of a module whose forward it never calls."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return nn.functional.linear(self.a(x), self.b.weight, self.b.bias)
