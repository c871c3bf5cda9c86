# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank's training of a model by a plan, from its start until the rank leaves."""
from __future__ import annotations

import contextlib
import logging
import sys
import typing
import warnings
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.weak import WeakIdKeyDictionary

from bagua import runtime
from bagua.torch import distributed, report
from bagua.torch.agreement import Agreement, Model
from bagua.torch.broadcast import broadcast
from bagua.torch.compiled import name_in_plan
from bagua.torch.gradients import Gradients
from bagua.torch.one_at_a_time import OneAtATime
from bagua.torch.options import Options
from bagua.torch.order import StepOrder
from bagua.torch.overlap import AcrossSteps, Overlap, WithinBackward
from bagua.torch.reducer import Reducer
from bagua.torch.slot import Slot

_LOG = logging.getLogger("bagua")

# By param: a weak reference to the Training that it is a part of. An attribute of the param would be saved with it.
_OWNERS: typing.Any = WeakIdKeyDictionary()


def _last_error() -> int:
    """The exception that has ended the program, or the last one at a prompt."""
    return id(getattr(sys, "last_value", None))


def _finish(session: OneAtATime, world: runtime.World | None, backwards: set[int], former_error: int) -> None:
    """The program ends without close(), or has dropped its wrapper. Other ranks may still need this rank's last step, so the session is finished.
    It is not where the program ends within a backward or by an exception: then the others get an error. `world` is None where the program
    made it."""
    if not backwards and _last_error() == former_error:
        with contextlib.suppress(runtime.Error, ValueError):  # ValueError: of a process that has forked, or a session that is closed
            if world:
                world.limit_stay()
            session.finish()


def retire_former(module: torch.nn.Module) -> None:
    """A model that is wrapped again leaves its former wrapper, whose run ends in order."""
    for param in module.parameters():
        former = _OWNERS.get(param, lambda: None)()
        if former is not None:
            with contextlib.suppress(runtime.Error):  # a run that has failed may be begun anew
                former.close()


class Training:
    """Holds the parts that DataParallel drives: `order` knows which forwards and backwards make steps, `reducer` gives gradients to the session,
    and `overlap` takes them back."""

    def __init__(self, module: torch.nn.Module, plan: runtime.Plan, slots: list[Slot], world: runtime.World | None, options: Options) -> None:
        self.is_open = True
        self._module, self._options = module, options
        self._known = {slot.param for slot in slots}
        self._model = Model(module)
        self.predicted = plan.predicted
        self._owns_world = world is None
        self.world = world or runtime.World.launched()
        self.session = OneAtATime(runtime.Session(plan, self.world, timeout=options.timeout, on_warning=warnings.warn,
                                                  first_step=options.first_step))
        self.gradients = Gradients(self.session, slots, report.Compute(plan.predicted), options)
        self._agreement = Agreement(self.session, self._model, options.alike())
        for slot in slots:
            self._agreement.on_form(slot)
        if options.gradient_as_bucket_view:
            self._lend()
        self._start(plan)
        name = f"{self.world.next_number()}: bagua.torch"
        self.group = (self.world.communicator(name, timeout=options.timeout, on_warning=warnings.warn) if self.world.size > 1 else None)
        self._agreement.group = self.group
        self._agree()
        self._begin_alike()
        self.overlap = self._make_overlap()
        self.order = StepOrder(module, self._model, self.gradients, self.overlap, self._agreement, self.group, self.world.rank, options)
        self.reducer = Reducer(self.gradients, self.overlap, self.order, self._agreement, self.group, self.world.rank == 0, options)
        self.reducer.hook_all()
        self._tell_start(plan)
        self._own()

    def _lend(self) -> None:
        """Makes gradients views of the plan's memory."""
        for slot in self.gradients.slots:
            if slot.is_in_arena:
                slot.buffer = self.session.hold(slot.number, slot.bytes)
            else:
                memory = torch.empty(slot.bytes, dtype=torch.int8, device="cpu")
                self.session.bind(slot.number, memory.data_ptr(), slot.bytes)
                slot.buffer = runtime.buffer_at(memory.data_ptr(), slot.bytes, owner=memory)
            slot.renew_view()

    def _start(self, plan: runtime.Plan) -> None:
        for tensor in plan.tensors:
            if not self.session.program_updates(tensor.name):
                raise ValueError(f"the plan's instructions update {tensor.name}: expected a plan whose updates are the "
                                 "program's (updates=program or updates=late of its strategy)")
        self.session.start()

    def _agree(self) -> None:
        self._agreement.on_model()
        self._agreement.on_counts()
        if self._options.find_unused_parameters:
            self._agreement.on_changed(self.gradients.slots)

    def _begin_alike(self) -> None:
        """All ranks get the values of rank 0."""
        if self.group:
            self.group.barrier()  # before values are written over
            buffers = self._model.buffers if self._options.broadcast_buffers else ()
            broadcast(self.group, self.world.rank, [*self._model.params, *buffers])

    def _make_overlap(self) -> Overlap:
        if self._options.optimizer is None:
            return WithinBackward(self.gradients, self._module, self.before_update)
        return AcrossSteps(self.gradients, self._module, self._options.optimizer, self.before_update)

    def _tell_start(self, plan: runtime.Plan) -> None:
        if self.world.rank == 0:
            why = report.other_mode(plan, self._options.overlap)
            if why:
                warnings.warn(why, stacklevel=4)  # as if the caller of DataParallel had
            _LOG.info(report.describe_start(plan, len(self.gradients.slots), self.world))

    def _own(self) -> None:
        own = weakref.ref(self)
        for slot in self.gradients.slots:
            _OWNERS[slot.param] = own

        def before(optimizer: torch.optim.Optimizer, *_: object) -> None:
            if training := own():
                training.overlap.before_update(optimizer)

        def after(optimizer: torch.optim.Optimizer, *_: object) -> None:
            if training := own():
                training.overlap.after_update(optimizer)
        self.handles: list[typing.Any] = [register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)]
        # Not where ranks are threads: the garbage collector may run it on a thread that the other ranks wait for.
        self._finalizer = None if self.world.is_in_process else weakref.finalize(
            self, _finish, self.session, self.world if self._owns_world else None, self.reducer.backwards, _last_error())

    # In steps.

    def acts_before_forward(self) -> bool:
        """Whether something is to be done before a forward that makes no gradients."""
        return self.is_open and (self.gradients.is_in_step or self.order.owes_buffers or self.overlap.acts_before_each_forward)

    def check_forward(self) -> None:
        if self.gradients.is_in_step:
            self.gradients.fail("expected the last backward to complete before forward, found it incomplete")
        self.reducer.forget_arrived()
        if not self.is_open:
            raise RuntimeError("expected an open DataParallel for forward, found a closed one: close() was called, or the model or a part of it was "
                               "wrapped again")
        if distributed.is_within():
            self.gradients.fail(f"DataParallel within DistributedDataParallel (accelerator.prepare makes one), which would reduce gradients "
                                f"twice: {distributed.ALONE}")

    def before_forward(self, has_gradients: bool) -> None:
        if has_gradients:
            self.check_params()
            self.order.note_forward()
        self.overlap.before_forward(has_gradients, self.order.syncs)
        self.order.before_forward(has_gradients)
        if has_gradients and self.order.syncs:
            self.gradients.compute.begin_forward()

    def check_params(self) -> None:
        """Fails where a param is trained that the plan has no gradient of. Sees to it that the reducer's hooks are the last ones."""
        with torch._C.DisableTorchFunctionSubclass():  # asking for a param's type or shape needs no update
            sent_buffers = self.order.sends_buffers()
            if self._model.has_changed():
                for name, param in self._module.named_parameters():
                    if param.requires_grad and param not in self._known:
                        self.gradients.fail(f"{name_in_plan(name)} is to be trained now, and was not when DataParallel was made: wrap the model "
                                            "again, with a plan that has the gradient of this param")
                self._agreement.on_model()
                self.order.meet(is_among_buffers=sent_buffers and self.order.owes_buffers)
            self.reducer.check_hooks()

    def before_update(self, optimizer: torch.optim.Optimizer) -> bool:
        """Makes the step that this rank owes where its loss has reached no param, for which the others wait. Without `find_unused_parameters` the
        next collectives of the others find that this rank has gone on. Returns False where the optimizer has no param of the model."""
        if not self.is_open or not any(param in self._known for group in optimizer.param_groups for param in group["params"]):
            return False
        if self.gradients.is_in_step:
            self.gradients.fail("expected the optimizer's step() after a complete backward, found a backward in progress or incomplete: its "
                                "gradients are not reduced")
        if self.order.owes_step and self._options.find_unused_parameters:
            self.reducer.make_step()
        self._agreement.count_update()
        if self._options.find_unused_parameters:
            self._agreement.on_changed(self.gradients.slots)
        return True

    # At its end.

    def close(self) -> None:
        """Leaves the run in order. Raises the run's error again where it has failed, and leaves all the same."""
        if not self.is_open:
            return
        try:
            self.overlap.synchronize()
            self.session.finish()
        finally:
            self._leave()

    def abort(self, why: str) -> None:
        """Ends the run on all ranks, and leaves."""
        if self.is_open:
            self.session.abort(why)
            self._leave()

    def _leave(self) -> None:
        if self._finalizer:
            self._finalizer.detach()
        for handle in self.handles:
            handle.remove()
        self.reducer.unhook_all()
        self.overlap.close()
        slots = self.gradients.slots
        for slot in slots:
            if _OWNERS.get(slot.param, lambda: None)() is self:
                del _OWNERS[slot.param]
        if self.group:
            self.group.close()
        self.session.close()
        # Gradients of the model that are views keep the memory.
        for slot in slots:
            slot.drop()
        if self._owns_world:
            self.world.close()
        self.is_open = self.gradients.is_in_step = False
