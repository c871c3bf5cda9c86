# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ranks must have alike beyond a plan: the model they train, the forward that a step belongs to, how gradients lie."""
from __future__ import annotations

import hashlib
import itertools
import operator
import typing

import torch


def fingerprint(text: str) -> int:
    """64 bits."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _type(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


class Model:
    """A model's modules, params and buffers, and what they look like as text, one tensor a line.

    Buffers count whether or not they are in the state_dict, in the order in which they are broadcast."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._read()

    def _read(self) -> None:
        modules = list(self._module.modules())
        self._tables = [table for module in modules for table in (module._modules, module._parameters, module._buffers)]
        self._members = self._list()
        self.params = list(self._module.parameters())
        self.buffers = list(self._module.buffers())
        self._looks = self._look()

    def _list(self) -> list[object]:
        return list(itertools.chain.from_iterable(table.values() for table in self._tables))

    def _look(self) -> tuple[list[object], list[object]]:
        return ([(buffer.dtype, buffer.shape) for buffer in self.buffers],
                [(param.dtype, param.requires_grad) for param in self.params])

    def has_changed(self) -> bool:
        """Whether tensors have come, gone, or become others in type or shape, or in whether they are trained, since this was
        asked last. A buffer that was replaced by one like it has not changed."""
        members = self._list()
        if len(members) == len(self._members) and all(map(operator.is_, members, self._members)) and self._look() == self._looks:
            return False
        if not all(isinstance(param, torch.nn.Parameter) for param in self._module.parameters()):
            return False  # others' values for one call, as functional_call has them
        former = self._looks, list(map(id, self.params)), len(self.buffers)
        self._read()
        return former != (self._looks, list(map(id, self.params)), len(self.buffers))

    def describe(self, options: typing.Mapping[str, object]) -> str:
        lines = [f"{name}={value}" for name, value in options.items()]
        lines += [f"param {name}: {_type(param)} {list(param.shape)}, strides {list(param.stride())}" +
                  ("" if param.requires_grad else ", frozen") for name, param in self._module.named_parameters()]
        lines += [f"buffer {name}: {_type(buffer)} {list(buffer.shape)}" for name, buffer in self._module.named_buffers()]
        return "\n".join(lines)
