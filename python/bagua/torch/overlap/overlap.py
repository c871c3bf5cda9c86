# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interface of a strategy of overlap, which decides when gradients are taken back from the session."""
from __future__ import annotations

import abc
import typing

import torch

from bagua.torch.gradients import Gradients
from bagua.torch.slot import Slot

# Notes that backward has made a slot's gradient. True where all gradients that are noted should be given to the session now.
Note = typing.Callable[[Slot], bool]
# Makes the step that this rank owes the others before an optimizer's step. False where the optimizer updates no param of the model.
BeforeUpdate = typing.Callable[[torch.optim.Optimizer], bool]


class Overlap(abc.ABC):
    """In a step, `before_forward` is called first, then `given` for each group of gradients that backward has made, `take_back` when that
    backward ends, and `before_update` and `after_update` around an optimizer's step."""

    # Whether `before_forward` has something to do where the forward makes no gradients.
    acts_before_each_forward: bool

    def __init__(self, gradients: Gradients) -> None:
        self._gradients = gradients

    @abc.abstractmethod
    def before_forward(self, has_gradients: bool, is_step: bool) -> None:
        """Before each forward. `is_step` is False within no_sync()."""

    @abc.abstractmethod
    def before_further_backward(self) -> None:
        """Before a backward outside of no_sync() that no forward preceded."""

    @abc.abstractmethod
    def checking(self, note: Note) -> Note:
        """A function that checks whether backward may reach the slot's param now, and then calls `note`."""

    @abc.abstractmethod
    def may_reduce_in_place(self, slot: Slot, gradient: torch.Tensor) -> bool:
        """Whether the session may write to this gradient, which backward has made: nobody else reads its memory meanwhile."""

    @abc.abstractmethod
    def copies_back(self, gradient: torch.Tensor) -> bool:
        """Whether the mean is to be copied to this gradient, which backward has made and of which the session has a copy."""

    @abc.abstractmethod
    def given(self, slots: typing.Sequence[Slot]) -> None:
        """The session has the gradients of these slots, which backward has made. `param.grad` stays where a hook of the program's has
        replaced it since."""

    @abc.abstractmethod
    def before_left_out(self, slot: Slot) -> None:
        """A backward ends that has not reached this slot's param. The gradient of the step before becomes `param.grad` again."""

    @abc.abstractmethod
    def take_back(self, given: typing.Sequence[Slot], left_out: typing.Sequence[Slot]) -> None:
        """A backward has ended, and with it the step, for which the session has the gradients of `given`. Backward has not reached the params of
        `left_out`, which is a part of `given`. Called again where a signal's handler has raised within."""

    def before_update(self, optimizer: torch.optim.Optimizer) -> None:
        """Before a step of any optimizer, also of one that updates other params."""

    def after_update(self, optimizer: torch.optim.Optimizer) -> None:
        """After a step of any optimizer."""

    def settle(self) -> None:
        """Makes all updates of the last step. Gradients may stay with the session."""

    def synchronize(self) -> None:
        """Makes all updates and takes all gradients back."""
        for slot in self._gradients.slots:
            self._gradients.take_back(slot)

    @abc.abstractmethod
    def zero_grad(self, set_to_none: bool) -> None:
        """As torch.nn.Module.zero_grad of the model."""

    def check_saved(self) -> None:
        """Raises TypeError where the model can't be saved as a whole."""

    def close(self) -> None:
        """Leaves the model and the optimizer as they were."""
