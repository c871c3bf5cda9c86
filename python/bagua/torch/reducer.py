# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of a training within backward: gives each gradient to the session, in a form that can be reduced."""
from __future__ import annotations

import operator
import typing
import warnings
import weakref

import torch
from torch._dynamo import compiled_autograd
from torch.autograd import Variable
from torch.autograd.graph import increment_version

from bagua import runtime
from bagua.torch.agreement import Agreement
from bagua.torch.arrivals import Arrivals, current_backward
from bagua.torch.gradients import Gradients
from bagua.torch.matching import listed
from bagua.torch.options import Options
from bagua.torch.order import StepOrder
from bagua.torch.overlap import Overlap
from bagua.torch.pending import PendingGradient
from bagua.torch.slot import Slot, are_as_stated

_Tensors = typing.Sequence[typing.Optional[torch.Tensor]]


class Reducer:
    """A hook of each param tells of its gradient, and a callback of autograd's tells of the end of backward. `group` is the communicator by
    which ranks find the params that none of them has used, None where there is one rank. `warns` is True on the rank that prints warnings."""

    def __init__(self, gradients: Gradients, overlap: Overlap, order: StepOrder, agreement: Agreement, group: runtime.Communicator | None,
                 warns: bool, options: Options) -> None:
        self._gradients, self._overlap, self._order, self._agreement = gradients, overlap, order, agreement
        self._group, self._warns, self._options = group, warns, options
        # The backwards, one within the other, that will call `_end_of_backward`.
        self.backwards: set[int] = set()
        self._arrivals = Arrivals(holds=options.gradient_as_bucket_view)
        self._arrivals.learn(gradients.slots, gradients.session)
        self._note = overlap.checking(self._arrivals.note)

    def hook_all(self) -> None:
        slots = self._gradients.slots
        for slot in slots:
            if slot.hook is None or next(reversed(slot.hooks), None) != slot.hook.id:
                self._hook(slot)
        self._hooks, self._own_hooks = [slot.hooks for slot in slots], [slot.hook.id for slot in slots]

    def check_hooks(self) -> None:
        """Hooks params again where the program has added hooks of its own since."""
        # The list of the params' last hooks is too short where a param has none.
        if list(map(next, map(reversed, self._hooks))) != self._own_hooks:
            self.hook_all()

    def unhook_all(self) -> None:
        for slot in self._gradients.slots:
            slot.hook.remove()

    def _hook(self, slot: Slot) -> None:
        """The reducer's hook comes last: other hooks work on this rank's own gradient, as with DistributedDataParallel."""
        if slot.hook is not None:
            slot.hook.remove()
        own, note = weakref.ref(self), self._note  # the model keeps no reducer

        def is_there(param: torch.Tensor) -> None:
            if next(reversed(hooks), None) != number and (reducer := own()):
                reducer._gradients.fail(f"{slot.name}: expected hooks of its gradient to be there before forward, found one that was added "
                                        "since")
            slot.arrived = param.grad
            if note(slot) and (reducer := own()):
                reducer._give_arrived()

        slot.hook = slot.param.register_post_accumulate_grad_hook(is_there)
        slot.hooks = hooks = slot.param._post_accumulate_grad_hooks
        number = slot.hook.id

    def forget_arrived(self) -> None:
        """Drops gradients that a failed backward has left."""
        self._arrivals.end()

    def _give_arrived(self) -> None:
        """Gives all gradients that are noted. Runs on autograd's thread."""
        slots = self._arrivals.take()
        if compiled_autograd.compiled_autograd_enabled or compiled_autograd.in_compiled_autograd_region:
            self._gradients.fail("expected a backward of eager autograd, found one that torch compiles, which ends before its gradients are "
                                 "reduced: turn compiled autograd off")
        self._order.check_backward()
        syncs = self._order.syncs
        if syncs and current_backward() not in self.backwards:
            self.backwards.add(current_backward())
            Variable._execution_engine.queue_callback(self._end_of_backward)
        for slot in slots:
            slot.is_used = True
        if syncs:
            self._order.begin_step()
            self._give(slots, self.dense_gradients(slots, [slot.arrived for slot in slots]))
            self._overlap.given(slots)
            self._arrivals.begin_next()
        for slot in slots:
            slot.arrived = None

    def make_step(self) -> None:
        """Makes the step of a backward that has reached no param."""
        self._order.begin_step()
        self._end_of_backward()

    def dense_gradients(self, slots: typing.Sequence[Slot], gradients: _Tensors) -> typing.Sequence[torch.Tensor]:
        """The gradients with their elements in the order that this rank has stated to the others."""
        if slots[0].view is not None:
            graphs = [slot for slot, gradient in zip(slots, gradients) if gradient is not None and gradient.requires_grad and gradient.grad_fn]
            if graphs:
                self._gradients.fail(f"{graphs[0].name}: expected a backward without create_graph where gradients are views")
        if are_as_stated(gradients, slots):
            return gradients
        return [gradient if gradient is not None and are_as_stated([gradient], [slot]) else self._dense_gradient(slot, gradient)
                for slot, gradient in zip(slots, gradients)]

    def _dense_gradient(self, slot: Slot, gradient: torch.Tensor | None) -> torch.Tensor:
        self._agreement.on_form(slot)
        if gradient is None:  # a torch.autograd.Function has returned None
            gradient = torch.zeros_like(slot.param)
        elif isinstance(gradient, PendingGradient):  # `param.grad /= 2` keeps what stood for it
            gradient = gradient.gradient
        if gradient.layout != torch.strided:
            self._gradients.fail(f"{slot.name}: expected a dense gradient, found one of {gradient.layout}")
        if (gradient.dtype, gradient.numel(), gradient.device.type) != (slot.dtype, slot.elements, "cpu"):
            self._gradients.fail(f"{slot.name}: expected a gradient of {slot.elements} elements of {slot.dtype}, found {gradient.numel()} of "
                                 f"{gradient.dtype} on {gradient.device}")
        given = slot.in_form(gradient)
        if given is not gradient:
            self._keep_original(slot, gradient)
        return given

    def _keep_original(self, slot: Slot, gradient: torch.Tensor) -> None:
        """The session gets a copy of this gradient, to which other names of the program's may refer. So the mean is copied back to it, where it can
        be written."""
        is_writable = not (gradient.is_neg() or gradient.is_inference() or
                           any(size > 1 and stride == 0 for size, stride in zip(gradient.shape, gradient.stride())))
        if slot.view is None and is_writable and self._overlap.copies_back(gradient):
            slot.original = gradient

    def _give(self, slots: typing.Sequence[Slot], gradients: typing.Sequence[torch.Tensor]) -> None:
        """Gives dense gradients, all in one call."""
        if slots[0].view is None:
            self._gradients.give(slots, self._lasting(slots, gradients))
            return
        views = [view for slot in slots if (view := slot.view) is not None]
        if [view.data_ptr() for view in views] != [slot.address for slot in slots]:
            for slot in slots:
                slot.renew_view()
            views = [view for slot in slots if (view := slot.view) is not None]
        targets, sources = views, list(gradients)
        if any(map(operator.is_, views, gradients)):  # to which backward has added
            targets = [view for view, gradient in zip(views, gradients) if view is not gradient]
            sources = [gradient for view, gradient in zip(views, gradients) if view is not gradient]
        if targets:
            with torch.no_grad():
                torch._foreach_copy_(targets, sources)
        self._gradients.give(slots, views)

    def _lasting(self, slots: typing.Sequence[Slot], gradients: typing.Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients, or copies of those that the session may not write to, as it may begin to sum at once."""
        lasting, may_reduce_in_place = [], self._overlap.may_reduce_in_place
        for slot, gradient in zip(slots, gradients):
            if gradient.requires_grad:
                increment_version(gradient)  # a backward for which it was saved is an error from here on
            if not may_reduce_in_place(slot, gradient):
                slot.original = gradient
                if not slot.is_in_arena:
                    gradient = gradient.clone()
            lasting.append(gradient)
        return lasting

    def _give_absent(self, slot: Slot) -> None:
        self._agreement.on_form(slot)
        slot.renew_view()
        gradient = (slot.empty() if slot.view is None else slot.view).zero_()
        if slot.is_optional:
            self._gradients.give_absent(slot, gradient)
        else:
            self._gradients.give([slot], [gradient])

    def _end_of_backward(self) -> None:
        gradients = self._gradients
        if not gradients.is_in_step:
            return  # a backward within this one has ended the step
        if self._arrivals.slots:
            self._give_arrived()
        made = set(gradients.given)
        left_out = [] if len(made) == len(gradients.slots) else self._left_out(made)
        # This is the end of a backward within another one (reentrant checkpoints), which makes the other gradients and comes here again.
        if left_out and torch._C._current_autograd_node() is not None:
            return
        self._arrivals.end()
        why = gradients.compute.end_backward()
        with gradients.compute.wait():
            self._give_unused(left_out)
        given = gradients.end_step()
        self.backwards.clear()
        for slot in gradients.slots:  # a param of other steps has no gradient by now
            slot.is_used = False
        left_out = [slot for slot in given if slot not in made]
        try:
            self._overlap.take_back(given, left_out)
        except runtime.Error:
            raise
        except BaseException:  # of a signal's handler, after which the program may go on
            self._overlap.take_back(given, left_out)
            raise
        if why and self._warns:
            warnings.warn(why)

    def _left_out(self, made: set[Slot]) -> list[Slot]:
        """The slots of the iteration's step that backward has not reached."""
        uses, missing = self._gradients.session.step_uses, [slot for slot in self._gradients.slots if slot not in made]
        # Zeros are what zero_grad() has left.
        foreign = [slot.name for slot in missing if slot.is_used and not uses(slot.number) and slot.param.grad is not None and
                   slot.param.grad.any()]
        if foreign:
            self._gradients.fail(f"backwards within no_sync() made a gradient of {listed(foreign)}, which the step of this iteration does not "
                                 "reduce: expected none that only other steps of the plan have")
        return [slot for slot in missing if uses(slot.number)]

    def _give_unused(self, left_out: list[Slot]) -> None:
        """Gives the gradients of params that this rank's backward has not reached, and finds the params that no rank has used."""
        if left_out and not self._options.find_unused_parameters:
            self._gradients.fail(f"backward made no gradient of {listed(slot.name for slot in left_out)}: expected "
                                 "find_unused_parameters=True")
        for slot in left_out:
            self._overlap.before_left_out(slot)
            if slot.param.grad is None:
                self._give_absent(slot)
                continue
            # The session gets a copy: where no rank has used the param, its gradient stays as it is.
            [gradient] = self.dense_gradients([slot], [slot.param.grad])
            copy = gradient.clone()
            self._keep_original(slot, slot.param.grad)
            if slot.view is not None and gradient.data_ptr() == slot.view.data_ptr():
                slot.param.grad, copy = copy, gradient
            self._give([slot], [copy])
        if not self._options.find_unused_parameters:
            return
        given = set(self._gradients.given)
        slots = [slot for slot in self._gradients.slots if slot in given]  # the step's, which are the same on all ranks
        used = torch.tensor([slot.is_used for slot in slots], dtype=torch.int32, device="cpu")
        if self._group:
            self._group.all_reduce(used.data_ptr(), used.data_ptr(), used.numel(), runtime.Type.INT32, runtime.Kind.MAX)
        for slot, is_used in zip(slots, used.tolist()):
            if not is_used:
                slot.leave_unused()
