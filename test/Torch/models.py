# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models as a user would write them: each function returns a model, its loss, an optimizer and a batch."""
import torch
from torch import nn
from torch.nn import functional as F


def classified(model, x, y):
    return F.cross_entropy(model(x), y)


def mlp():
    """Two layers and plain SGD."""
    torch.manual_seed(0)
    model = nn.Sequential()
    model.add_module("hidden", nn.Linear(20, 32))
    model.add_module("act", nn.ReLU())
    model.add_module("out", nn.Linear(32, 5))
    return model, classified, torch.optim.SGD(model.parameters(), lr=0.1), (torch.randn(8, 20), torch.arange(8) % 5)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.out = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        return self.out(F.relu(self.conv2(x)).mean((2, 3)))


def convnet():
    """Batch norm, whose statistics are state, and momentum with weight decay."""
    torch.manual_seed(0)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    return model, classified, optimizer, (torch.randn(4, 3, 16, 16), torch.arange(4))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)) / (width // self.heads) ** 0.5
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, words=64, width=32, length=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.place = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(depth)))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x) + self.place))


def gpt():
    """A small GPT and AdamW. The gradient of the keys' bias is zero but for rounding, which a small eps would show."""
    torch.manual_seed(0)
    model = GPT()

    def loss(model, x, y):
        return F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    words = torch.randint(0, 64, (2, 17), generator=torch.Generator().manual_seed(1))
    return model, loss, torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-6), (words[:, :-1], words[:, 1:])


def adam():
    """Adam, and a layer that is not trained."""
    model, loss, _, batch = mlp()
    model.hidden.bias.requires_grad_(False)
    trained = [param for param in model.parameters() if param.requires_grad]
    return model, loss, torch.optim.Adam(trained, lr=1e-2), batch


def scheduled():
    """Learning rates for a schedule to write into."""
    model, loss, _, batch = mlp()
    return model, loss, torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-2)), batch


def scheduled_momentum():
    model, loss, _, batch = mlp()
    return model, loss, torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1), momentum=0.9), batch


class Lamb(torch.optim.Optimizer):
    """LAMB (You et al., 2020, algorithm 2), as modules on the net have it."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for param in group["params"]:
                state = self.state[param]
                if not state:
                    state["step"] = torch.zeros(())
                    state["exp_avg"] = torch.zeros_like(param)
                    state["exp_avg_sq"] = torch.zeros_like(param)
                state["step"] += 1
                mean, variance = state["exp_avg"], state["exp_avg_sq"]
                mean.mul_(beta1).add_(param.grad, alpha=1 - beta1)
                variance.mul_(beta2).addcmul_(param.grad, param.grad, value=1 - beta2)
                update = mean / (1 - beta1 ** state["step"])
                update = update / ((variance / (1 - beta2 ** state["step"])).sqrt() + group["eps"])
                update = update.add(param, alpha=group["weight_decay"])
                weight_norm, update_norm = param.norm(), update.norm()
                ratio = torch.where((weight_norm > 0) & (update_norm > 0), weight_norm / update_norm,
                                    torch.ones_like(weight_norm))
                param.add_(update * ratio, alpha=-group["lr"])


class Lars(torch.optim.Optimizer):
    """LARS, as self-supervised training has it."""

    def __init__(self, params, lr=0.1, momentum=0.9, weight_decay=0.0, trust_coefficient=0.001):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay,
                                  "trust_coefficient": trust_coefficient})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for param in group["params"]:
                change = param.grad.add(param, alpha=group["weight_decay"])
                param_norm, update_norm = torch.norm(param), torch.norm(change)
                one = torch.ones_like(param_norm)
                ratio = torch.where(param_norm > 0.0, torch.where(
                    update_norm > 0, group["trust_coefficient"] * param_norm / update_norm, one), one)
                state = self.state[param]
                if "mu" not in state:
                    state["mu"] = torch.zeros_like(param)
                mu = state["mu"]
                mu.mul_(group["momentum"]).add_(change * ratio)
                param.add_(mu, alpha=-group["lr"])


def lamb():
    model, loss, _, batch = mlp()
    return model, loss, Lamb(model.parameters(), lr=1e-2, weight_decay=0.01), batch


def lars():
    model, loss, _, batch = mlp()
    return model, loss, Lars(model.parameters(), lr=1.0, weight_decay=1e-4, trust_coefficient=0.02), batch


MODELS = {function.__name__: function for function in (mlp, convnet, gpt, adam, scheduled, scheduled_momentum, lamb, lars)}
