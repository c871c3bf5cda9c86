# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts forwards and backwards, and sends buffers between them. All ranks must do these in one order."""
from __future__ import annotations

import torch

from bagua import runtime
from bagua.torch.agreement import FORWARDS, FURTHER, SKIPPED, Agreement, Model
from bagua.torch.broadcast import broadcast
from bagua.torch.gradients import Gradients
from bagua.torch.options import Options
from bagua.torch.overlap import Overlap


class StepOrder:
    """A step is a backward outside of no_sync(). `group` is the communicator of buffers, None where there is one rank."""

    def __init__(self, module: torch.nn.Module, model: Model, gradients: Gradients, overlap: Overlap, agreement: Agreement,
                 group: runtime.Communicator | None, rank: int, options: Options) -> None:
        self._module, self._model, self._gradients, self._overlap, self._agreement = module, model, gradients, overlap, agreement
        self._group, self._rank, self._options = group, rank, options
        # False within no_sync().
        self.syncs = True
        # Whether the next forward is to send buffers, and whether the last forward's backward has not begun.
        self.owes_buffers, self.owes_step = True, False
        # The values of `syncs` in the forwards since the last backward, and whether that backward has begun.
        self._forwards: set[bool] = set()
        self._is_backward = False

    def sends_buffers(self) -> bool:
        return bool(self._group) and self._options.broadcast_buffers and any(buffer.numel() for buffer in self._model.buffers)

    def meet(self, is_among_buffers: bool) -> None:
        """A rank that leaves the usual order meets the others where they wait for it: in the communicator of buffers, or in a step. There a
        difference is an error, and ranks do not wait for each other in vain."""
        if is_among_buffers and self._group:
            self._group.barrier()
        else:
            self._gradients.session.barrier()

    def note_forward(self) -> None:
        """Before a forward that makes gradients."""
        if self._is_backward:
            self._forwards, self._is_backward = set(), False
        self._forwards.add(self.syncs)

    def before_forward(self, has_gradients: bool) -> None:
        is_step = has_gradients and self.syncs
        was_owed = self.owes_step and (is_step or self.owes_buffers and self.sends_buffers())
        if was_owed:
            self._skip_backward(is_step)
        if self._options.broadcast_buffers and self.owes_buffers and self._group:
            broadcast(self._group, self._rank, self._model.buffers if has_gradients else list(self._module.buffers()))
        self.owes_buffers = is_step
        # Counted after buffers: a rank may get these before a micro-batch that other ranks don't have.
        if is_step and not was_owed:
            self._agreement.count(FORWARDS)
        self.owes_step = is_step or self.owes_step and not was_owed

    def _skip_backward(self, is_step: bool) -> None:
        """Another forward begins before the backward of the last one. All ranks must do so: a rank that is in that backward would wait for this
        rank's gradients, and this rank would wait for its buffers."""
        self._agreement.count(SKIPPED)
        if is_step:
            self._agreement.count(FORWARDS)
        self.meet(is_among_buffers=False)

    def check_backward(self) -> None:
        if self._forwards and self.syncs not in self._forwards:
            self._gradients.fail("expected forward and backward both within no_sync() or both outside, found a backward "
                                 f"{'outside' if self.syncs else 'within'} of a forward {'within' if self.syncs else 'outside'}")
        self._is_backward = True

    def begin_step(self) -> None:
        """Called before gradients are given. Does nothing within a step."""
        if self._gradients.is_in_step:
            return
        if not self.owes_step:
            self._agreement.count(FURTHER)
            self._overlap.before_further_backward()
            if self.owes_buffers and self.sends_buffers():
                self.meet(is_among_buffers=True)
        self._gradients.begin_step()
        self.owes_step = False
