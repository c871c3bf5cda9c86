# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""step_table of a model with odd keys: check_table_names.py TABLE writes it; with a step that was imported from it, compares names."""
import re
import sys

import torch
from torch import nn

from bagua.torch import step_table

KEYS = ["plain", "a,b", "c;d", "e=f", 'say "hi"', '"', "back\\slash", "end\\", " around ", "\t", "#first", "two\nlines",
        "a\r", ";=,\\\"", "größe"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({key: nn.ParameterDict({key: nn.Parameter(torch.ones(2))}) for key in KEYS})
        self.own = nn.ParameterDict({key: nn.Parameter(torch.ones(2)) for key in KEYS})

    def forward(self, x):
        return sum((x * param).sum() for param in self.parameters())


def names_in(step):
    """Of the params of a bagua.step, whose strings escape other than printable characters by two hexadecimal digits."""
    def meant(text):
        return re.sub(rb"\\(\\|[0-9A-F]{2})", lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]), text).decode()
    return [meant(name) for name in re.findall(rb'param %\S+ "((?:[^"\\]|\\.)*)"', step)]


def main(table, step=None):
    model = Model()
    if step is None:
        with open(table, "w", newline="") as file:
            file.write(step_table(model, lambda model, x: model(x), (torch.randn(2),), steps=1))
        return
    with open(step, "rb") as file:
        found = sorted(names_in(file.read()))
    wanted = sorted(name for name, _ in model.named_parameters())
    print(f"{len(wanted)} params: " + ("all as the model names them" if found == wanted else
                                       f"WRONG, found {set(found) - set(wanted)} for {set(wanted) - set(found)}"))


if __name__ == "__main__":
    main(*sys.argv[1:])
