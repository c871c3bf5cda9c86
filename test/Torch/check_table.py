# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""step_table on a model whose times and order are known: check_table.py

Layers are made in another order than they run in, and one of them sleeps, in forward and in backward."""
import csv
import io
import os
import sys
import time

import torch
from torch import nn

from bagua.torch import step_table

sys.path.append(os.path.join(os.path.dirname(__file__), ".."))
from yardstick import margin

# Longer than any other layer takes, which may wait for a core.
LONGER_S = margin() / 10
FORWARD_S, BACKWARD_S = 0.03 + LONGER_S, 0.02 + LONGER_S


class SlowInBackward(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        time.sleep(BACKWARD_S)
        return gradient


class Slow(nn.Linear):
    def forward(self, x):
        time.sleep(FORWARD_S)
        return SlowInBackward.apply(super().forward(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.slow, self.first, self.never = nn.Linear(8, 3), Slow(6, 8), nn.Linear(5, 6), nn.Linear(2, 2)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.last(self.slow(self.first(x))) * self.scale


def say(name, is_right):
    print(f"{name}: {'right' if is_right else 'WRONG'}")


def main():
    model = Model()
    text = step_table(model, lambda model, x: model(x).sum(), (torch.randn(4, 5),))
    rows = {row["name"]: row for row in csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#"))}
    tensors = {name: row["tensors"] for name, row in rows.items()}
    say("tensors", tensors == {"last": "weight=3x8xf32;bias=3xf32", "slow": "weight=8x6xf32;bias=8xf32",
                               "first": "weight=6x5xf32;bias=6xf32", "never": "weight=2x2xf32;bias=2xf32", "scale": "3xf32"})
    ready = sorted(rows, key=lambda name: int(rows[name]["ready"]))
    say("order of readiness", ready == ["scale", "last", "slow", "first", "never"] and "# never: its params got no gradient" in text)
    # What the model itself owns is there before what its layers own.
    say("order of forward", [name for name in rows if name != "never"] == ["scale", "first", "slow", "last"])
    for phase, least in (("forward", FORWARD_S), ("backward", BACKWARD_S)):
        ns = {name: int(row[f"{phase}_ns"]) for name, row in rows.items()}
        say(phase, ns["slow"] >= least * 1e9 and ns["slow"] == max(ns.values()) and min(ns.values()) >= 0)
    say("activations", {name: int(row["activation_bytes"]) for name, row in rows.items()} ==
        {"last": 4 * 4 * 3, "slow": 4 * 4 * 8, "first": 4 * 4 * 6, "never": 0, "scale": 4 * 4 * 3})
    calls = []

    def loss(model, x):
        calls.append("step")
        return model(x).sum()
    step_table(model, loss, (torch.randn(4, 5),), steps=2, barrier=lambda: calls.append("barrier"))
    say("ranks begin each step together", calls == 3 * ["barrier", "step"] + ["barrier"])
    compiled = Model()
    compiled.slow = torch.compile(compiled.slow)
    names = step_table(torch.compile(compiled), lambda model, x: model(x).sum(), (torch.randn(4, 5),), steps=1)
    say("names of a compiled model", {line.split(",")[0] for line in names.splitlines() if line[0] != "#"} == {"name", *rows})


if __name__ == "__main__":
    main()
