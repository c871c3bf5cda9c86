# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that can't be exported."""
import torch


def two_losses():
    model = torch.nn.Linear(4, 1)
    return model, lambda model, x: model(x).flatten(), torch.optim.SGD(model.parameters(), lr=0.1), (torch.ones(8, 4),)


def another_model():
    model, other = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
    return model, lambda model, x: model(x).sum(), torch.optim.SGD(other.parameters(), lr=0.1), (torch.ones(8, 4),)
