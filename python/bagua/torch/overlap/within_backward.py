# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients travel while backward makes others. backward() returns when all are reduced, as with DistributedDataParallel."""
from __future__ import annotations

import typing

import torch

from bagua.torch.gradients import Gradients
from bagua.torch.overlap.overlap import BeforeUpdate, Note, Overlap
from bagua.torch.slot import Slot, State, is_shared


class WithinBackward(Overlap):
    """The program updates params by itself, after backward()."""

    acts_before_each_forward = False

    def __init__(self, gradients: Gradients, model: torch.nn.Module, before_update: BeforeUpdate) -> None:
        super().__init__(gradients)
        self._model, self._before_update = model, before_update
        # The optimizer whose step is under way.
        self._updating: torch.optim.Optimizer | None = None

    def before_forward(self, has_gradients: bool, is_step: bool) -> None:
        pass

    def before_further_backward(self) -> None:
        pass

    def checking(self, note: Note) -> Note:
        return note

    def may_reduce_in_place(self, slot: Slot, gradient: torch.Tensor) -> bool:
        """Where the plan's memory has a copy of the gradient, nobody sees a partial sum before backward() returns."""
        return slot.is_in_arena or not is_shared(gradient)

    def copies_back(self, gradient: torch.Tensor) -> bool:
        return True

    def given(self, slots: typing.Sequence[Slot]) -> None:
        for slot in slots:
            if slot.view is not None and slot.param.grad is slot.arrived:
                slot.param.grad = slot.view  # frees the tensor that autograd has made

    def before_left_out(self, slot: Slot) -> None:
        pass

    def take_back(self, given: typing.Sequence[Slot], left_out: typing.Sequence[Slot]) -> None:
        self._gradients.take_back_each([slot for slot in given if slot.state is not State.OWN])

    def before_update(self, optimizer: torch.optim.Optimizer) -> None:
        if self._before_update(optimizer):
            self._updating = optimizer
            self._gradients.compute.begin_update()

    def after_update(self, optimizer: torch.optim.Optimizer) -> None:
        if optimizer is self._updating:
            self._updating = None
            self._gradients.compute.end_update()

    def zero_grad(self, set_to_none: bool) -> None:
        torch.nn.Module.zero_grad(self._model, set_to_none)
