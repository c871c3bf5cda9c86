# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients travel while the next forward runs as well. Each update is made right before the forward that needs it, or sooner."""
from __future__ import annotations

import typing

import torch

from bagua.torch.overlap.deferred import DeferredUpdates
from bagua.torch.gradients import Gradients
from bagua.torch.overlap.overlap import BeforeUpdate, Note, Overlap
from bagua.torch.pending import PendingGradient
from bagua.torch.slot import Slot, State, is_shared


class AcrossSteps(Overlap):
    """backward() does not wait. Code that computes with `param.grad` waits for the mean, and a param is updated before code reads it."""

    acts_before_each_forward = True

    def __init__(self, gradients: Gradients, model: torch.nn.Module, optimizer: torch.optim.Optimizer, before_update: BeforeUpdate) -> None:
        super().__init__(gradients)
        self.updates = DeferredUpdates(gradients, model, optimizer, before_update)

    def before_forward(self, has_gradients: bool, is_step: bool) -> None:
        if not has_gradients:
            self.synchronize()  # blocks that were compiled and run before know of no hooks
        elif is_step:
            self._take_back_former()  # backward is to add to them

    def before_further_backward(self) -> None:
        self._take_back_former()  # of which the program may have dropped some

    def _take_back_former(self) -> None:
        """Takes back gradients of the step before that no update needs."""
        for slot in self._gradients.slots:
            if slot.state is not State.OWN and not self.updates.is_due(slot):
                self._gradients.take_back(slot)

    def checking(self, note: Note) -> Note:
        def check_and_note(slot: Slot) -> bool:
            self._check_used(slot)
            return note(slot)
        return check_and_note

    def _check_used(self, slot: Slot) -> None:
        """Fails where backward has reached a param whose update is still to be made."""
        if self.updates.is_due(slot):
            self._gradients.fail(f'{slot.name} was used before its update: with overlap="step", expected its module\'s forward to be '
                                 "called before")

    def may_reduce_in_place(self, slot: Slot, gradient: torch.Tensor) -> bool:
        return not is_shared(gradient)

    def copies_back(self, gradient: torch.Tensor) -> bool:
        """Where other code has the gradient's memory, it gets the mean when backward ends. Otherwise the copy becomes `param.grad`."""
        return is_shared(gradient)

    def given(self, slots: typing.Sequence[Slot]) -> None:
        for slot in slots:
            self._stand_in(slot, is_left_alone=slot.param.grad is slot.arrived)

    def _stand_in(self, slot: Slot, is_left_alone: bool) -> None:
        """A PendingGradient becomes `param.grad`, unless the program has set another gradient."""
        def before_use(pending: PendingGradient) -> None:
            with self._gradients.lock:  # else step() may be noted in between
                if slot.pending is not pending:
                    return  # of a step that is over
                if torch._C._current_autograd_node() is not None:
                    self._check_used(slot)  # backward is about to add to it
                if self.updates.is_due(slot):
                    self.updates.carry_out([slot.param])
                else:
                    self._gradients.take_back(slot)
        if slot.state is State.OWN:
            return  # a signal's handler has taken it back
        if slot.state is State.GIVEN:  # else a signal's handler has raised after this
            # Where the session has a copy, the mean is copied back to the original.
            gradient = slot.held if slot.original is None else slot.original
            assert gradient is not None
            slot.stand_in(PendingGradient(gradient, before_use))
        if is_left_alone:
            slot.param.grad = slot.pending

    def before_left_out(self, slot: Slot) -> None:
        """No forward of the param's module has asked for its update."""
        self.updates.carry_out([slot.param])
        self._gradients.take_back(slot)

    def take_back(self, given: typing.Sequence[Slot], left_out: typing.Sequence[Slot]) -> None:
        """Waits for gradients whose memory other code has, and for those that no rank has used."""
        self._gradients.take_back_each([slot for slot in given if slot.state is State.UNUSED or
                                        slot.state is not State.OWN and slot.original is not None])
        for slot in left_out:
            self._stand_in(slot, is_left_alone=True)

    def settle(self) -> None:
        self.updates.carry_out_all()

    def synchronize(self) -> None:
        self.updates.carry_out_all()
        super().synchronize()

    def zero_grad(self, set_to_none: bool) -> None:
        self.updates.zero_grad(set_to_none)

    def check_saved(self) -> None:
        raise TypeError('overlap="step": expected state_dict() to be saved, found the model, whose hooks can\'t be')

    def close(self) -> None:
        """Where the run has failed, gradients that were never reduced become None."""
        self.updates.close()
        for slot in self._gradients.slots:
            if isinstance(slot.param.grad, PendingGradient):
                slot.param.grad = None
