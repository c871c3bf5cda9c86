# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ranks must have alike beyond a plan: the model they train, the forward that a step belongs to, how gradients lie."""
from __future__ import annotations

import hashlib
import itertools
import operator
import typing

import torch

from bagua import runtime
from bagua.torch.one_at_a_time import OneAtATime
from bagua.torch.slot import Slot

# Each rank counts these, and all counts must be the same.
FORWARDS = "forwards with gradients, outside of no_sync()"
SKIPPED = "forwards that no backward followed"
FURTHER = "backwards that no forward preceded"
COUNTS = (FORWARDS, SKIPPED, FURTHER)


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


class Agreement:
    """States facts about this rank. The next communication fails where another rank has stated something else.

    `group` is the communicator of buffers, where there is one. A fact may be stated to it that all ranks state between the same two of its
    collectives; other facts are stated to the session alone."""

    def __init__(self, session: OneAtATime, model: Model, options: typing.Mapping[str, object]) -> None:
        self._session, self._model, self._options = session, model, options
        self.group: runtime.Communicator | None = None
        self._counts, self._updates = dict.fromkeys(COUNTS, 0), 0
        self._are_changed: bool | None = None

    def on_model(self) -> None:
        """States what this rank trains."""
        text = self._model.describe(self._options)
        self._state("the model", fingerprint(text), text)

    def on_counts(self) -> None:
        for what in COUNTS:
            self.count(what, 0)

    def count(self, what: str, more: int = 1) -> None:
        self._counts[what] += more
        self._state(f"the number of {what}, up to here", self._counts[what])

    def _state(self, fact: str, value: int, meaning: str | None = None) -> None:
        self._session.agree_on(fact, value, meaning)
        if self.group:
            self.group.agree_on(fact, value, meaning)

    def count_update(self) -> None:
        """Stated to the session alone: between a backward and its step() some ranks may be in a forward without gradients."""
        self._updates += 1
        self._session.agree_on("the number of steps of optimizers, up to here", self._updates)

    def on_changed(self, slots: typing.Sequence[Slot]) -> None:
        """States whether the program has changed gradients since they were reduced. A rank whose loss reached no param makes its step within the
        optimizer's step(), too late for its program to clip gradients as other ranks do."""
        are_changed = any(slot.returned is not None and (slot.returned[0]._version != slot.returned[1] or
                                                         slot.param.grad is not slot.returned[0]) for slot in slots)
        for slot in slots:
            slot.returned = None
        if are_changed is not self._are_changed:
            self._are_changed = are_changed
            self._session.agree_on("whether the program changes gradients between backward and step()", are_changed,
                                   "yes" if are_changed else "no")

    def on_form(self, slot: Slot) -> None:
        """States in which order a gradient's elements lie in memory, where that has changed."""
        if slot.has_new_form():
            shape, strides = slot.form
            text = f"{list(shape)} with strides {list(strides)}"
            self._session.agree_on_tensor(slot.number, fingerprint(text), text)
