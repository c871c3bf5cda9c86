# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model's gradients on their way: given to a session, waited for, and taken back."""
from __future__ import annotations

import contextlib
import threading
import typing

import torch
from torch._C._autograd import _profiler_enabled

from bagua.torch.one_at_a_time import OneAtATime, forkable_lock
from bagua.torch.options import Options
from bagua.torch.report import Compute
from bagua.torch.slot import Slot, State

# Attributes of an enum are slow to get.
_OWN, _PENDING, _UNUSED = State.OWN, State.PENDING, State.UNUSED


def _span(name: str) -> contextlib.AbstractContextManager[object]:
    """Names what is done within in traces of torch.profiler."""
    return torch.profiler.record_function(name) if _profiler_enabled() else contextlib.nullcontext()


class Gradients:
    """Has a slot for each gradient of the plan's. Other threads may read gradients while the program trains, so a gradient becomes `param.grad`
    again under `lock`. A thread that holds `lock` waits only for gradients of steps that this rank has ended."""

    def __init__(self, session: OneAtATime, slots: list[Slot], compute: Compute, options: Options) -> None:
        self.session, self.slots, self.compute, self._options = session, slots, compute, options
        self.lock = forkable_lock()
        # Within a step: the thread that makes it, and the slots whose gradients it has given, in the order in which they will be reduced.
        self.is_in_step, self._step_thread = False, 0
        self.given: list[Slot] = []

    def fail(self, why: str) -> typing.NoReturn:
        """Ends the run on all ranks."""
        self.session.abort(why)
        raise RuntimeError(why)

    def begin_step(self) -> None:
        self.session.begin_step()
        self.is_in_step = True
        self._step_thread = threading.get_ident()

    def give(self, slots: typing.Sequence[Slot], gradients: typing.Sequence[torch.Tensor]) -> None:
        """Gives all of them in one call. Where slots have views, the gradients are those views."""
        self._keep(slots, gradients)
        numbers = [slot.number for slot in slots]
        if slots[0].view is None:
            self.session.mark_each_ready(numbers, [gradient.data_ptr() for gradient in gradients], [slot.bytes for slot in slots])
        else:
            self.session.mark_each_ready(numbers)

    def give_absent(self, slot: Slot, gradient: torch.Tensor) -> None:
        """Gives zeros, which the plan need not send."""
        self._keep([slot], [gradient])
        self.session.mark_absent(slot.number, *((gradient.data_ptr(), slot.bytes) if slot.view is None else ()))

    def _keep(self, slots: typing.Sequence[Slot], gradients: typing.Sequence[torch.Tensor]) -> None:
        self.given += slots  # first: a thread that sees a held gradient finds it among the given ones
        for slot, gradient in zip(slots, gradients):
            slot.give(gradient)

    def end_step(self) -> list[Slot]:
        """Returns the slots whose gradients the step has given."""
        self.session.end_step()
        given, self.given = self.given, []
        self.is_in_step = False
        return given

    def is_ready(self, slot: Slot) -> bool:
        return slot.state is State.OWN or bool(self.session.is_ready(slot.number))

    def wait(self, slots: typing.Sequence[Slot]) -> None:
        if slots:
            with self.compute.wait(), _span("bagua: wait for gradients"):
                self.session.wait_for_each([slot.number for slot in slots])

    def take_back(self, slot: Slot) -> None:
        """Waits for a gradient, which becomes the param's again. Does nothing where the program has it."""
        if slot.state is State.OWN:
            return
        with self.lock:
            # Another thread can't wait while backward is still to give gradients that the wait needs.
            if (self.is_in_step and threading.get_ident() != self._step_thread and torch._C._current_autograd_node() is None and
                    slot in self.given):
                raise RuntimeError(f"{slot.name}: expected threads to read gradients after backward has returned, found a thread that reads them "
                                    "earlier")
            self.wait([slot])
            self.put_back([slot])

    def take_back_each(self, slots: typing.Sequence[Slot]) -> None:
        """Takes back gradients of steps that have ended, in one wait."""
        self.wait(slots)
        with self.lock:
            self.put_back(slots)

    def put_back(self, slots: typing.Iterable[Slot]) -> None:
        """Gradients that are reduced become the params' again. A pending one does not where the program has set another gradient since."""
        for slot in slots:
            state, param = slot.state, slot.param
            if state is _OWN:
                continue  # a signal's handler, or another thread, has taken it back
            if state is not _UNUSED:
                if slot.original is not None and slot.held is not None:
                    with torch.no_grad():
                        slot.held = slot.original.copy_(slot.held)
                is_to_be_set = param.grad is slot.pending if state is _PENDING else param.grad is not slot.held
                if is_to_be_set:
                    param.grad = slot.held
            if self._options.find_unused_parameters and param.grad is not None:
                slot.returned = param.grad, param.grad._version
            slot.take_back()
