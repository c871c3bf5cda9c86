# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training a PyTorch model on several ranks, its gradients reduced by a plan."""
import contextlib
import copy
import logging
import operator
import os
import sys
import threading
import warnings
import weakref

import torch
from torch._dynamo import compiled_autograd
from torch.autograd import Variable
from torch.autograd.graph import increment_version
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.weak import WeakIdKeyDictionary

from bagua import runtime
from bagua.torch import distributed, report
from bagua.torch.agreement import Model, fingerprint
from bagua.torch.arrivals import Arrivals, current_backward
from bagua.torch.broadcast import broadcast
from bagua.torch.compiled import is_compiled, name_in_plan, warn_of_compiled
from bagua.torch.deferred import DeferredUpdates, PendingGradient, is_shared
from bagua.torch.one_at_a_time import OneAtATime, forkable_lock
from bagua.torch.slot import Slot, are_as_stated

TYPES = {
    torch.float32: runtime.Type.FLOAT32,
    torch.float16: runtime.Type.FLOAT16,
    torch.bfloat16: runtime.Type.BFLOAT16,
    torch.float64: runtime.Type.FLOAT64,
}


def _itself(module):
    return module


def _span(name):
    """In traces of torch.profiler."""
    return torch.profiler.record_function(name) if torch.autograd._profiler_enabled() else contextlib.nullcontext()


def _list(names, most=8):
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


_LOG = logging.getLogger("bagua")

# By param: a weak reference to what trains it. Not an attribute of the param, which would be saved with it.
_OWNERS = WeakIdKeyDictionary()

# What ranks count alike.
FORWARDS = "forwards with gradients, outside of no_sync()"
SKIPPED = "forwards that no backward followed"
FURTHER = "backwards that no forward preceded"
COUNTS = (FORWARDS, SKIPPED, FURTHER)


def _check_alone():
    """Others may wait for a process that has lost one of its launcher's variables."""
    for one, other in (("RANK", "WORLD_SIZE"), ("WORLD_SIZE", "RANK")):
        if one in os.environ and other not in os.environ:
            raise ValueError(f"{one} is set and {other} is not: expected both, as launchers set them, or neither where a process trains "
                             "by itself")


def _last_error():
    """That of the program, or of a prompt that has gone on."""
    return id(getattr(sys, "last_value", None))


def _finish(session, world, backwards, former_error):
    """Of a program that ends without close(), or drops its wrapper: others may still be in this rank's last step. They are to hear of one that
    ends within a backward, or by an exception. `world` is the wrapper's own, or None."""
    if not backwards and _last_error() == former_error:
        with contextlib.suppress(runtime.Error, ValueError):  # ValueError: of a process that has forked, or a session that is closed
            if world:
                world.limit_stay()
            session.finish()


def _retire_former(module):
    """A model that is wrapped anew leaves its former wrapper, which ends its run in order."""
    for param in module.parameters():
        former = _OWNERS.get(param, lambda: None)()
        if former is not None:
            with contextlib.suppress(runtime.Error):  # a run that has failed may be begun anew
                former.close()


class DataParallel(torch.nn.Module):
    """`module`, whose gradients are the means over all ranks when `backward()` returns, as with DistributedDataParallel.

    `plan` is a file, or a runtime.Plan: one whose gradients are named as `module.named_parameters()` before it was
    compiled, with `.grad` behind, and whose updates are the program's. `world` is by default the launcher's (torchrun,
    mpirun, srun). At the start all ranks get the params of rank 0, and its buffers with `broadcast_buffers`, these also before each
    forward that follows one with gradients outside of `no_sync()`. State is the module's own: `state_dict` has no prefix. Where backward
    may leave params out, say `find_unused_parameters=True`: those that no rank used keep what they had. A param that several modules share is one. Sparse gradients are refused.

    With `gradient_as_bucket_view`, gradients lie in the plan's memory, as with DistributedDataParallel, which spares a copy, and
    the memory of what backward makes. What the program keeps of `param.grad` is that of the next backward after it, a
    process that is forked can't look at it, and backward(create_graph=True) is refused.

    With `overlap="step"` and the `optimizer`, backward() waits for nothing. The optimizer's step() and zero_grad() are noted,
    and carried out param by param, right before the forward of the module that owns the param, where its gradient is waited
    for, or of an earlier one where it has come. Compile such a plan with updates=late. Who computes with `param.grad` (clipping, a
    scaler, a report) waits for it, and gets the mean, and who reads a param or its state in the optimizer has its update carried out first. After `synchronize()`,
    `state_dict()` or `optimizer.state_dict()` all updates are done. Where the program keeps another name of a param's memory, it
    is updated within step(); of a gradient's, it is waited for within backward().

    A step is a backward outside of `no_sync()`. `close()`, leaving `with`, or a program that ends, ends the run in order. A rank that leaves
    `with` by an exception, or whose program ends by one or within a backward, ends the others, with an error; what overlap="step" has not
    carried out by then is not carried out any more. A param that is not to be trained yet has no
    gradient in the plan: make another DataParallel once it is.

    A process that no launcher has started, in a notebook or a debugger, trains by itself, with a warning; where only one of RANK and
    WORLD_SIZE is set it is an error. Options of
    DistributedDataParallel that change nothing here are taken, others are refused with what to do instead; its checkpoints, whose
    names begin with "module.", are loaded as the model's own."""

    def __init__(self, module, plan, *, world=None, overlap="backward", optimizer=None, find_unused_parameters=False,
                 broadcast_buffers=True, gradient_as_bucket_view=False, timeout=0, **options):
        super().__init__()
        distributed.check_options(options)
        if overlap not in ("backward", "step") or (overlap == "step") != (optimizer is not None):
            raise ValueError('expected overlap="backward", or overlap="step" and an optimizer')
        distributed.refuse_within(module)
        _retire_former(module)
        self.module = module
        self._has_warned = is_compiled(module)
        if self._has_warned:
            warn_of_compiled()
        self.find_unused_parameters = find_unused_parameters
        self.broadcast_buffers = broadcast_buffers
        self._syncs, self._is_in_step, self._step_thread = True, False, None
        # Backwards, one within the other, whose end this hears of.
        self._backwards = set()
        self._owes_buffers = True
        self._arrivals = Arrivals(holds=gradient_as_bucket_view)
        # What this step has given, in this order: those that were given first are there first.
        self._given = []
        # What has come outside of no_sync(), and whether the last forward's backward is still to come.
        self._counts, self._owes_step = dict.fromkeys(COUNTS, 0), False
        # What no_sync() said at each forward since the last backward, and whether that has begun.
        self._forwards, self._is_backward = set(), False
        self._group = self._deferred = None
        self._lock = forkable_lock()
        plan = plan if isinstance(plan, runtime.Plan) else runtime.Plan(os.fspath(plan))
        self._slots, self._handles = self._match(plan), []
        self._predicted, self._compute = plan.predicted, report.Compute(plan.predicted)
        self._session = self._world = None
        self._is_alone = world is None and not runtime.is_launched()
        if self._is_alone:
            _check_alone()
            self._slots = []
            warnings.warn("no launcher has started this process: it trains by itself, and nothing is reduced; expected torchrun, "
                          "mpirun or srun, or world=", stacklevel=2)
            return
        self._known = {slot.param for slot in self._slots}
        self._model = Model(module)
        self._options = dict(overlap=overlap, find_unused_parameters=find_unused_parameters, broadcast_buffers=broadcast_buffers,
                             gradient_as_bucket_view=gradient_as_bucket_view)
        self._owns_world = world is None
        self._world = world or runtime.World.launched()
        self._session = OneAtATime(runtime.Session(plan, self._world, timeout=timeout, on_warning=warnings.warn))
        for slot in self._slots:
            self._settle_form(slot)
        if gradient_as_bucket_view:
            self._lend()
        self._start(plan)
        name = f"{self._world.next_number()}: bagua.torch"
        if self._world.size > 1:
            self._group = self._world.communicator(name, timeout=timeout, on_warning=warnings.warn)
        self._agree_on_model()
        for what in COUNTS:
            self._count(what, 0)
        self._states_change, self._step_count, self._updating = None, 0, None
        if find_unused_parameters:
            self._state_change()
        if self._group:
            self._group.barrier()  # before values are written over
        self._broadcast([*self._model.params, *(self._model.buffers if broadcast_buffers else ())])
        if optimizer:
            self._deferred = DeferredUpdates(module, self._slots, optimizer, self._lock, self._wait, self._put_back, self._take_back, self._is_ready,
                                             self._fail, self._before_update, self._compute.update)
        self._hook_all()
        if self._world.rank == 0:
            why = report.other_mode(plan, overlap)
            if why:
                warnings.warn(why, stacklevel=2)
            _LOG.info(report.describe_start(plan, len(self._slots), self._world))
        own = weakref.ref(self)
        for slot in self._slots:
            _OWNERS[slot.param] = own
        self._handles = [self.register_load_state_dict_pre_hook(lambda *_: self._settle()),
                         register_optimizer_step_pre_hook(lambda updating, *_: own() and own()._before_step(updating)),
                         register_optimizer_step_post_hook(lambda updating, *_: own() and own()._after_step(updating))]
        # Not where ranks are threads: the garbage collector may run it on a thread that the other ranks wait for.
        self._finalizer = None if self._world.is_in_process else weakref.finalize(
            self, _finish, self._session, self._world if self._owns_world else None, self._backwards, _last_error())

    # Before the first step.

    def _match(self, plan):
        """The plan's gradients and the module's params, one for one."""
        params = {name_in_plan(name): param for name, param in self.module.named_parameters() if param.requires_grad}
        gradients = {tensor.name: (number, tensor) for number, tensor in enumerate(plan.tensors)
                     if tensor.is_given and tensor.role == runtime.Role.GRADIENT}
        lacking = [name for name in params if name + ".grad" not in gradients]
        unknown = [name for name in gradients if not name.endswith(".grad") or name[:-len(".grad")] not in params]
        if lacking or unknown:
            raise ValueError("expected a plan for this model's gradients, found one" +
                             (f" without those of {_list(lacking)}" if lacking else "") +
                             (" and" if lacking and unknown else "") + (f" for {_list(unknown)}" if unknown else "") +
                             "; bagua.torch.step_table(model, loss, batch) writes the table of the model as it is now, from which "
                             "bagua-translate --import-layers, bagua-opt and bagua-translate --export-plan make its plan")
        slots = []
        for name, param in params.items():
            number, tensor = gradients[name + ".grad"]
            if torch.nn.parameter.is_lazy(param):
                raise ValueError(f"{name}: expected a param that has its shape, found one of a lazy module before its first forward")
            if param.device.type != "cpu":
                raise ValueError(f"{name}: expected a param on the CPU, found one on {param.device}")
            elements = 1
            for size in tensor.shape:
                elements *= size
            if param.dtype not in TYPES:
                raise ValueError(f"{name}: expected a param of {_list(str(known).removeprefix('torch.') for known in TYPES)}, found one "
                                 f"of {str(param.dtype).removeprefix('torch.')}")
            if TYPES.get(param.dtype) != tensor.type or elements != param.numel():
                raise ValueError(f"{name}: the plan has {elements} elements of {tensor.type.name.lower()}, the model "
                                 f"{param.numel()} of {str(param.dtype).removeprefix('torch.')}")
            slots.append(Slot(name, param, number, tensor.is_optional, tensor.is_in_arena))
        return slots

    def _lend(self):
        """The plan's memory, to the params' gradients."""
        for slot in self._slots:
            if slot.is_in_arena:
                slot.buffer = self._session.hold(slot.number, slot.bytes)
            else:
                memory = torch.empty(slot.bytes, dtype=torch.int8, device="cpu")
                self._session.bind(slot.number, memory.data_ptr(), slot.bytes)
                slot.buffer = runtime.buffer_at(memory.data_ptr(), slot.bytes, owner=memory)
            slot.renew_view()

    def _start(self, plan):
        for tensor in plan.tensors:
            if not self._session.program_updates(tensor.name):
                raise ValueError(f"the plan's instructions update {tensor.name}: expected a plan whose updates are the "
                                 "program's (updates=program or updates=late of its strategy)")
        self._session.start()
        self._arrivals.learn(self._slots, self._session)

    def _agree_on_model(self):
        """States what this rank trains: what communicates from here on is an error where another rank trains something else."""
        text = self._model.describe(self._options)
        for stated in (self._session, self._group):
            if stated:
                stated.agree_on("the model", fingerprint(text), text)

    def _count(self, what, more=1):
        self._counts[what] += more
        for stated in (self._session, self._group):
            if stated:
                stated.agree_on(f"the number of {what}, up to here", self._counts[what])

    def _state_change(self):
        """A rank whose loss reached no param has gradients within the optimizer's step() alone, where nobody clips them any more."""
        is_changed = any(slot.returned is not None and (slot.param.grad is not slot.returned[0] or
                                                        slot.returned[0]._version != slot.returned[1]) for slot in self._slots)
        for slot in self._slots:
            slot.returned = None
        if is_changed is not self._states_change:
            self._states_change = is_changed
            self._session.agree_on("whether the program changes gradients between backward and step()", is_changed,
                                   "yes" if is_changed else "no")

    def _settle_form(self, slot):
        """States how a gradient lies, where that has changed."""
        if slot.has_new_form():
            shape, strides = slot.form
            text = f"{list(shape)} with strides {list(strides)}"
            self._session.agree_on_tensor(slot.number, fingerprint(text), text)

    def _broadcast(self, tensors):
        if self._group:
            broadcast(self._group, self._world.rank, tensors)

    # In steps.

    def _hook_all(self):
        for slot in self._slots:
            if slot.hook is None or next(reversed(slot.hooks), None) != slot.hook.id:
                self._hook(slot)
        self._hooks, self._own_hooks = [slot.hooks for slot in self._slots], [slot.hook.id for slot in self._slots]

    def _hook(self, slot):
        """Last of all: others' work on this rank's own gradient, as with DistributedDataParallel."""
        if slot.hook is not None:
            slot.hook.remove()
        own, note, deferred = weakref.ref(self), self._arrivals.note, self._deferred  # the model keeps no wrapper

        def is_there(param):
            if next(reversed(hooks), None) != number and (wrapper := own()):
                wrapper._fail(f"{slot.name}: expected hooks of its gradient to be there before forward, found one that was added since")
            if deferred:
                deferred.check_used(slot)
            slot.arrived = param.grad
            if note(slot) and (wrapper := own()):
                wrapper._give_arrived()

        slot.hook = slot.param.register_post_accumulate_grad_hook(is_there)
        slot.hooks = hooks = slot.param._post_accumulate_grad_hooks
        number = slot.hook.id

    def _sends_buffers(self):
        return bool(self._group) and self.broadcast_buffers and any(buffer.numel() for buffer in self._model.buffers)

    def _meet(self, is_among_buffers):
        """Ranks that do something out of the usual order meet the others where these are, so that a difference is an error, and not
        a wait for each other: in the communicator that carries buffers, or in a step."""
        if is_among_buffers:
            self._group.barrier()
        else:
            self._session.barrier()

    def _check_params(self):
        """Whose gradients nobody would reduce; and that nobody works on one while it is reduced."""
        with torch._C.DisableTorchFunctionSubclass():  # how a param looks may be asked before its update
            sent_buffers = self._sends_buffers()
            if self._model.has_changed():
                for name, param in self.module.named_parameters():
                    if param.requires_grad and param not in self._known:
                        self._fail(f"{name_in_plan(name)} is to be trained now, and was not when DataParallel was made: expected it "
                                   "to be made anew, by a plan that has its gradient")
                self._agree_on_model()
                self._meet(sent_buffers and self._owes_buffers)
            # The number of each param's last hook; the list is too short where a param has none.
            if list(map(next, map(reversed, self._hooks))) != self._own_hooks:
                self._hook_all()

    @property
    def require_backward_grad_sync(self):
        """As DistributedDataParallel's: False is no_sync(), until it is True again."""
        return self._syncs

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, syncs):
        self._syncs = bool(syncs)

    def forward(self, *inputs, **named):
        if not self._is_alone and (torch.is_grad_enabled() or self._is_in_step or self._owes_buffers or self._deferred):
            self._before_forward(torch.compiler.is_compiling())
        return self.module(*inputs, **named)

    @torch.compiler.disable
    def _before_forward(self, is_being_compiled):
        if self._is_in_step:
            self._fail("forward within a step: the last backward did not come to its end")
        self._arrivals.end()  # a backward that failed has left some
        if self._session is None:
            raise RuntimeError("forward of a DataParallel that is closed: its model, or a part of it, was wrapped anew, or close() was called")
        if distributed.is_within():
            self._fail(f"DataParallel within DistributedDataParallel (accelerator.prepare makes one), which would reduce gradients "
                       f"twice: {distributed.ALONE}")
        has_gradients = torch.is_grad_enabled()
        if has_gradients:
            if not self._has_warned and (is_being_compiled or is_compiled(self) or is_compiled(self.module)):
                self._has_warned = True
                warn_of_compiled()
            self._check_params()
            if self._is_backward:
                self._forwards, self._is_backward = set(), False
            self._forwards.add(self._syncs)
        if self._deferred and not has_gradients:
            self.synchronize()  # blocks that were compiled and run before know of no hooks
        elif self._deferred and self._syncs:
            self._take_back_former()  # backward is to add to them
        is_step = has_gradients and self._syncs
        was_owed = self._owes_step and (is_step or self._owes_buffers and self._sends_buffers())
        if was_owed:
            self._skip_backward(is_step)
        if self.broadcast_buffers and self._owes_buffers:
            self._broadcast(self._model.buffers if has_gradients else list(self.module.buffers()))
        self._owes_buffers = is_step
        # Once buffers are there: a rank may get them before a micro-batch that others don't have.
        if is_step and not was_owed:
            self._count(FORWARDS)
        self._owes_step = is_step or self._owes_step and not was_owed
        if is_step:
            self._compute.begin_forward()

    def _take_back_former(self):
        """Gradients of the step before that no update is to use."""
        for slot in self._slots:
            if slot.held is not None and not self._deferred.is_due(slot):
                self._take_back(slot)

    def _skip_backward(self, is_step):
        """Goes on to another forward before the backward of the last one, as all ranks must: others that are in that backward
        wait for this rank's gradients, and this one would wait for their buffers."""
        self._count(SKIPPED)
        if is_step:
            self._count(FORWARDS)
        self._meet(is_among_buffers=False)

    @contextlib.contextmanager
    def no_sync(self):
        """Forward and backward in here add to this rank's own gradients; the next backward outside reduces what has come together."""
        before, self._syncs = self._syncs, False
        try:
            yield
        finally:
            self._syncs = before

    def _give_arrived(self):
        """Gives the gradients that have come; on the thread that autograd runs on."""
        slots = self._arrivals.take()
        if compiled_autograd.compiled_autograd_enabled or compiled_autograd.in_compiled_autograd_region:
            self._fail("expected a backward of eager autograd, found one that torch compiles, which ends before its gradients are "
                       "reduced: turn compiled autograd off")
        if self._forwards and self._syncs not in self._forwards:
            self._fail("expected forward and backward both within no_sync() or both outside, found a backward "
                       f"{'outside' if self._syncs else 'within'} of a forward {'within' if self._syncs else 'outside'}")
        if not self._is_backward:
            self._is_backward = True
        if self._syncs and current_backward() not in self._backwards:
            self._backwards.add(current_backward())
            Variable._execution_engine.queue_callback(self._end_of_backward)
        for slot in slots:
            slot.is_used, slot.is_unused = True, False
        if self._syncs:
            self._begin_step()
            self._give(slots, self._dense_gradients(slots, [slot.arrived for slot in slots]))
            deferred = self._deferred
            for slot in slots:
                is_left_alone = slot.param.grad is slot.arrived  # by hooks of others that came since
                if is_left_alone and slot.view is not None:
                    slot.param.grad = slot.view  # and what autograd has made is free
                if deferred:
                    deferred.given(slot, is_left_alone)
            self._arrivals.begin_next()
        for slot in slots:
            slot.arrived = None

    def _begin_step(self):
        if self._is_in_step:
            return
        if not self._owes_step:
            self._count(FURTHER)
            if self._deferred:
                self._take_back_former()  # of which the program may have dropped some
            if self._owes_buffers and self._sends_buffers():
                self._meet(is_among_buffers=True)
        self._session.begin_step()
        self._is_in_step, self._owes_step = True, False
        self._step_thread = threading.get_ident()

    def _before_step(self, optimizer):
        """Of any optimizer. Updates that are noted ask by themselves: what carries them out comes here, too, once they are due."""
        if not self._deferred:
            self._before_update(optimizer)

    def _before_update(self, optimizer):
        """Makes the step that this rank owes where its loss has reached no param: others wait for it. Without
        `find_unused_parameters` their next collectives find that this rank has gone on."""
        if self._session is None or not any(param in self._known for group in optimizer.param_groups for param in group["params"]):
            return
        if self._is_in_step:
            self._fail("step() of an optimizer within a backward, or behind one that did not come to its end: its gradients are not reduced")
        if self._owes_step and self.find_unused_parameters:
            self._begin_step()
            self._end_of_backward()
        # To the session alone: between a backward and its step() ranks may be in a forward without gradients.
        self._step_count += 1
        self._session.agree_on("the number of steps of optimizers, up to here", self._step_count)
        if self.find_unused_parameters:
            self._state_change()
        if not self._deferred:  # else updates are forward's
            self._updating = optimizer
            self._compute.begin_update()

    def _after_step(self, optimizer):
        if optimizer is self._updating:
            self._updating = None
            self._compute.end_update()

    def _dense_gradients(self, slots, gradients):
        """As they can be reduced: on all ranks elements lie in the order that was stated."""
        if slots[0].view is not None:
            graphs = [slot for slot, gradient in zip(slots, gradients) if gradient is not None and gradient.requires_grad and gradient.grad_fn]
            if graphs:
                self._fail(f"{graphs[0].name}: expected a backward without create_graph where gradients are views")
        if are_as_stated(slots, gradients):
            return gradients
        return [gradient if slot.is_as_stated(gradient) else self._dense_gradient(slot, gradient) for slot, gradient in zip(slots, gradients)]

    def _dense_gradient(self, slot, gradient):
        self._settle_form(slot)
        if gradient is None:  # a function of the program's has said so
            gradient = torch.zeros_like(slot.param)
        elif isinstance(gradient, PendingGradient):  # `param.grad /= 2` keeps what stood for it
            gradient = gradient.gradient
        if gradient.layout != torch.strided:
            self._fail(f"{slot.name}: expected a dense gradient, found one of {gradient.layout}")
        if (gradient.dtype, gradient.numel(), gradient.device.type) != (slot.dtype, slot.elements, "cpu"):
            self._fail(f"{slot.name}: expected a gradient of {slot.elements} elements of {slot.dtype}, found {gradient.numel()} of "
                       f"{gradient.dtype} on {gradient.device}")
        given = slot.in_form(gradient)
        if given is not gradient:
            self._keep_original(slot, gradient)
        return given

    def _keep_original(self, slot, gradient):
        """What is given is a copy of this one, which the program may have by another name: it is to have the mean, too, where it can be written."""
        is_writable = not (gradient.is_neg() or gradient.is_inference() or
                           any(size > 1 and stride == 0 for size, stride in zip(gradient.shape, gradient.stride())))
        if slot.view is None and is_writable and (not self._deferred or is_shared(gradient)):
            slot.original = gradient

    def _give(self, slots, gradients):
        """All at once."""
        if slots[0].view is None:
            self._hand_over(slots, [self._lasting(slot, gradient) for slot, gradient in zip(slots, gradients)])
            return
        if [slot.view.data_ptr() for slot in slots] != [slot.address for slot in slots]:
            for slot in slots:
                slot.renew_view()
        targets = views = [slot.view for slot in slots]
        if any(map(operator.is_, views, gradients)):  # to which backward has added
            targets = [view for view, gradient in zip(views, gradients) if view is not gradient]
            gradients = [gradient for view, gradient in zip(views, gradients) if view is not gradient]
        if targets:
            with torch.no_grad():
                torch._foreach_copy_(targets, gradients)
        self._hand_over(slots, views)

    def _lasting(self, slot, gradient):
        """Where it lies it may be summed up at once: not where others have its memory. A plan's memory has a copy of its own, so there it matters only
        until when backward waits."""
        if gradient.requires_grad:
            increment_version(gradient)  # so that what saved it for a backward is an error
        if slot.is_in_arena and not self._deferred or not is_shared(gradient):
            return gradient
        slot.original = gradient
        return gradient if slot.is_in_arena else gradient.clone()

    def _give_absent(self, slot):
        self._settle_form(slot)
        slot.renew_view()
        gradient = (slot.empty() if slot.view is None else slot.view).zero_()
        if not slot.is_optional:
            self._hand_over([slot], [gradient])
            return
        self._keep([slot], [gradient])
        self._session.mark_absent(slot.number, *((gradient.data_ptr(), slot.bytes) if slot.view is None else ()))

    def _keep(self, slots, gradients):
        self._given += slots  # first: a thread that sees a held gradient finds it among the given ones
        for slot, gradient in zip(slots, gradients):
            slot.held, slot.returned = gradient, None

    def _hand_over(self, slots, gradients):
        self._keep(slots, gradients)
        numbers = [slot.number for slot in slots]
        if slots[0].view is None:
            self._session.mark_each_ready(numbers, [gradient.data_ptr() for gradient in gradients], [slot.bytes for slot in slots])
        else:
            self._session.mark_each_ready(numbers)

    def _fail(self, why):
        """Ends the run on all ranks."""
        self._session.abort(why)
        raise RuntimeError(why)

    def _end_of_backward(self):
        if not self._is_in_step:
            return  # one within this one has ended it
        if self._arrivals.slots:
            self._give_arrived()
        given = set(self._given)
        left_out = [] if len(given) == len(self._slots) else [slot for slot in self._slots if slot not in given]
        # A backward within another one (reentrant checkpoints): what follows comes here again.
        if left_out and torch._C._current_autograd_node() is not None:
            return
        self._arrivals.end()
        why = self._compute.end_backward()
        with self._compute.wait():
            self._give_unused(left_out)
        self._session.end_step()
        self._backwards.clear()
        in_order, self._given = self._given, []
        self._is_in_step = False
        for slot in in_order:
            slot.is_used = False
        left_out = [slot for slot in in_order if slot not in given]
        try:
            self._take_given(in_order, left_out)
        except runtime.Error:
            raise
        except BaseException:  # by a signal's handler, behind which the program may go on
            self._take_given(in_order, left_out)
            raise
        if why and self._world.rank == 0:
            warnings.warn(why)

    def _take_given(self, slots, left_out):
        """What is there when backward returns: with updates that are noted, gradients that have another name, too."""
        taken = [slot for slot in slots if slot.held is not None and (not self._deferred or slot.is_unused or slot.original is not None)]
        self._wait(taken)
        with self._lock:
            for slot in taken:
                self._put_back(slot)
        if self._deferred:
            for slot in left_out:
                if slot.held is not None:
                    self._deferred.given(slot)

    def _take_back(self, slot):
        """Waits for a gradient; then it is the param's again. Nothing where it is already."""
        if slot.held is None:
            return
        with self._lock:
            # The wait may need gradients that backward is still to give.
            if (self._is_in_step and threading.get_ident() != self._step_thread and torch._C._current_autograd_node() is None and
                    slot in self._given):
                raise RuntimeError(f"{slot.name}: expected threads to read gradients once backward has returned, found one that does before")
            self._wait([slot])
            self._put_back(slot)

    def _is_ready(self, slot):
        return slot.held is None or self._session.is_ready(slot.number)

    def _put_back(self, slot):
        """A gradient that is there. What no rank has used stays as it was, and what the program has set since."""
        param = slot.param
        if slot.held is None:
            return  # a signal's handler, or another thread, was here
        if not slot.is_unused:
            if slot.original is not None:
                with torch.no_grad():
                    slot.held = slot.original.copy_(slot.held)
            if param.grad is not slot.held and (not self._deferred or param.grad is slot.pending):
                param.grad = slot.held
        if self.find_unused_parameters and param.grad is not None:
            slot.returned = param.grad, param.grad._version
        slot.held = slot.original = slot.pending = None

    def _wait(self, slots):
        if slots:
            with self._compute.wait(), _span("bagua: wait for gradients"):
                self._session.wait_for_each([slot.number for slot in slots])

    def _give_unused(self, left_out):
        """Gives what this rank's backward has left out, and finds what all ranks have."""
        if left_out and not self.find_unused_parameters:
            self._fail(f"backward made no gradient of {_list(slot.name for slot in left_out)}: expected "
                       "find_unused_parameters=True")
        for slot in left_out:
            if self._deferred:  # no forward has asked for what is left of the step before
                self._deferred.carry_out([slot.param])
                self._take_back(slot)
            if slot.param.grad is None:
                self._give_absent(slot)
                continue
            # Where no rank has used it, it stays as it is.
            [gradient] = self._dense_gradients([slot], [slot.param.grad])
            copy = gradient.clone()
            self._keep_original(slot, slot.param.grad)
            if slot.view is not None and gradient.data_ptr() == slot.view.data_ptr():
                slot.param.grad, copy = copy, gradient
            self._give([slot], [copy])
        if not self.find_unused_parameters:
            return
        used = torch.tensor([slot.is_used for slot in self._slots], dtype=torch.int32, device="cpu")
        if self._group:
            self._group.all_reduce(used.data_ptr(), used.data_ptr(), used.numel(), runtime.Type.INT32, runtime.Kind.MAX)
        for slot, is_used in zip(self._slots, used.tolist()):
            slot.is_unused = not is_used

    # Around them.

    def report(self):
        """What the last steps took on this rank (64 at most), beside what the plan was predicted to take, as text."""
        if self._session is None:
            return "trains by itself, or is closed"
        return report.describe(self._predicted, self._session.step_figures())

    def synchronize(self):
        """Carries out what is left to do of steps."""
        if self._deferred:
            self._deferred.carry_out_all()
        for slot in self._slots:
            self._take_back(slot)

    def zero_grad(self, set_to_none=True):
        if self._deferred:
            self._deferred.zero_grad(set_to_none)
        else:
            super().zero_grad(set_to_none)

    def _settle(self):
        """Params are those of the last whole step, whatever becomes of gradients."""
        if self._deferred:
            self._deferred.carry_out_all()

    def state_dict(self, *arguments, **named):
        self._settle()
        # A module that this one is a part of asks for it as for any other part.
        if arguments or named.get("destination") is not None:
            return super().state_dict(*arguments, **named)
        return self.module.state_dict(**named)

    def load_state_dict(self, state_dict, *arguments, **named):
        self._settle()
        return self.module.load_state_dict(distributed.without_prefix(state_dict, self.module), *arguments, **named)

    def __getattr__(self, name):
        instead = distributed.instead_of(name)
        if instead:
            raise AttributeError(f"DataParallel has no {name}: {instead}")
        return super().__getattr__(name)

    def __deepcopy__(self, memo):
        """The model alone, to keep beside this one, as AveragedModel does."""
        self.synchronize()
        return copy.deepcopy(self.module, memo)

    def __reduce_ex__(self, _):
        """The model alone is saved; what loads it has no other ranks."""
        if self._deferred:
            raise TypeError('overlap="step": expected state_dict() to be saved, found the model, whose hooks can\'t be')
        self.synchronize()
        return _itself, (self.module,)

    def close(self):
        """Waits for all steps and leaves; others that go on are told. Where the run has failed it says why once more, and leaves
        all the same: the model may get another DataParallel."""
        if self._session is None:
            return
        try:
            self.synchronize()
            self._session.finish()
        finally:
            self._leave()

    def _leave(self):
        if self._finalizer:
            self._finalizer.detach()
        for handle in [*self._handles, *(slot.hook for slot in self._slots)]:
            handle.remove()
        if self._deferred:
            self._deferred.close()
        for slot in self._slots:
            if _OWNERS.get(slot.param, lambda: None)() is self:
                del _OWNERS[slot.param]
        if self._group:
            self._group.close()
        self._session.close()
        # Nobody works on it any more; what the model has of it keeps the memory.
        for slot in self._slots:
            slot.buffer = slot.view = slot.held = slot.original = None
        if self._owns_world:
            self._world.close()
        self._session = self._deferred = None
        self._owes_buffers = self._is_in_step = False

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if kind is None:
            self.close()
        elif self._session is not None:
            self._session.abort(f"{kind.__name__}: {error}")
            self._leave()
