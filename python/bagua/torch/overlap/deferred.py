# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates no later than right before the forward that needs them, so that gradients travel while the layers before it compute."""
from __future__ import annotations

import collections
import contextlib
import copy
import itertools
import types
import typing
import warnings

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes

from bagua.torch.compiled import CallBefore, is_compiled, is_compiled_in_place, uncompiled, unless_compiling
from bagua.torch.due import WatchedState, unwatch, watch
from bagua.torch.gradients import Gradients
from bagua.torch.overlap.overlap import BeforeUpdate
from bagua.torch.slot import Slot, State, is_shared

# Type stubs lack some of it.
_C: typing.Any = torch._C

# Whose update of a param needs that param's gradient and state alone.
OPTIMIZERS = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adamax, torch.optim.NAdam,
              torch.optim.RAdam, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.Adadelta)


@contextlib.contextmanager
def unrecorded() -> typing.Iterator[None]:
    """What is done within is no part of what the program traces at the moment."""
    tracing = _C._get_tracing_state()
    if tracing:
        _C._set_tracing_state(None)
    try:
        with _disable_current_modes():
            yield
    finally:
        if tracing:
            _C._set_tracing_state(tracing)


class _Update:
    """What is left to do for a param: `hyper` and `state` are the optimizer's when its step() was called."""

    def __init__(self, hyper: dict[str, typing.Any], state: WatchedState) -> None:
        self.hyper, self.state = hyper, state
        # As zero_grad() was told; None where it was not called.
        self.sets_to_none: bool | None = None


def computes_as_one(module: torch.nn.Module) -> bool:
    """Whether it computes with modules within it without calling them in Python."""
    return is_compiled(module) or isinstance(module, torch.nn.MultiheadAttention)


class DeferredUpdates:
    """An optimizer whose step() and zero_grad() are carried out param by param, before the param's module runs forward, or sooner:
    before an earlier one where the gradient is there, or where somebody looks at the param or its state.

    `before_update(optimizer)` is called before each step() is noted. Other threads may read params and the optimizer's state meanwhile."""

    def __init__(self, gradients: Gradients, model: torch.nn.Module, optimizer: torch.optim.Optimizer, before_update: BeforeUpdate) -> None:
        if type(optimizer) not in OPTIMIZERS:
            raise ValueError('overlap="step": expected an optimizer that updates each param by itself (' +
                             ", ".join(known.__name__ for known in OPTIMIZERS) + f"), found {type(optimizer).__name__}")
        self._gradients, self._optimizer, self._before_update = gradients, optimizer, before_update
        self._check_optimizer()
        self._slots: dict[torch.Tensor, Slot] = {slot.param: slot for slot in gradients.slots}
        self._check_modules(model)
        self._updates: dict[torch.Tensor, _Update] = {}
        self._has_warned = False
        # Steps one behind the other whose gradients the program has waited for before step().
        self._steps_waited_for = 0
        # Of the optimizer's kind, with its state; what it updates is said each time.
        self._alone = copy.copy(optimizer)
        owned = {param for group in optimizer.param_groups for param in group["params"]}
        lacking = [slot.name for slot in gradients.slots if slot.param not in owned]
        if lacking:
            raise ValueError(f'overlap="step": expected an optimizer of all params, found none for {lacking[0]}')
        self._handles: list[typing.Any] = []
        self._hook_forwards(model)
        # Scripted ones take no hooks.
        owners: list[typing.Any] = [module for module in model.modules() if not isinstance(module, torch.jit.ScriptModule)]
        for owner in (*owners, optimizer):
            self._handles.append(owner.register_state_dict_pre_hook(lambda *_: self.carry_out_all()))
            self._handles.append(owner.register_load_state_dict_pre_hook(lambda *_: self.carry_out_all()))
        self._watch_state()
        self._replace_methods(optimizer)

    def _replace_methods(self, optimizer: typing.Any) -> None:
        self._replaced = {name: optimizer.__dict__.get(name) for name in ("step", "zero_grad")}

        def step(_: object, closure: typing.Callable[[], typing.Any] | None = None) -> typing.Any:
            return self._step(closure)
        # Schedulers look for it, which otherwise wrap what they find, and warn where it is another later.
        replacement: typing.Any = step
        replacement._wrapped_by_lr_sched = True
        optimizer.step = types.MethodType(replacement, optimizer)
        optimizer.zero_grad = types.MethodType(lambda _, set_to_none=True: self.zero_grad(set_to_none), optimizer)

    def _hook_forwards(self, model: torch.nn.Module) -> None:
        """Each module's has its params updated before it; a compiler is not to look at params that are due, nor at what updates them."""
        as_one = {module for module in model.modules() if computes_as_one(module)}
        within = {inner for module in as_one for inner in module.modules() if inner is not module}
        for module in model.modules():
            own = [param for param in module.parameters(recurse=module in as_one) if param in self._slots]
            if not own:
                continue
            update = uncompiled(lambda *_, own=own: self.carry_out(own, and_ready=True))
            # A module within may be called by itself, too.
            hook = unless_compiling(update) if module in within else update
            self._handles.append(CallBefore(module, hook) if is_compiled_in_place(module) else
                                 module.register_forward_pre_hook(hook, prepend=True))

    def close(self) -> None:
        """Leaves the model and the optimizer as they were."""
        for handle in self._handles:
            handle.remove()
        for param in self._updates:
            unwatch(param)
        self._updates.clear()
        self._optimizer.state = collections.defaultdict(dict, self._optimizer.state)
        for name, former in self._replaced.items():
            delattr(self._optimizer, name)
            if former is not None:
                setattr(self._optimizer, name, former)

    def _check_modules(self, model: torch.nn.Module) -> None:
        for name, module in model.named_modules():
            if isinstance(module, torch.jit.ScriptModule) and any(param in self._slots for param in module.parameters(recurse=False)):
                raise ValueError(f'overlap="step": expected Python modules, found a scripted module ({name or "the model"}): '
                                 'use overlap="backward" with it')

    def _check_optimizer(self) -> None:
        if self._optimizer._optimizer_step_pre_hooks or self._optimizer._optimizer_step_post_hooks:
            raise ValueError('overlap="step": expected an optimizer without hooks around its step')
        if any(group.get("fused") for group in self._optimizer.param_groups):
            raise ValueError('overlap="step": expected an optimizer with fused=False, found a fused one, which gets its scale from a GradScaler')

    def _watch_state(self) -> None:
        """Loading makes another one."""
        if not isinstance(self._optimizer.state, WatchedState):
            self._optimizer.state = WatchedState(self._optimizer.state, self.carry_out, self.carry_out_all)

    def is_due(self, slot: Slot) -> bool:
        return slot.param in self._updates

    def is_cleared(self, param: torch.Tensor) -> bool:
        """Whether it has no gradient any more, for all that a program sees."""
        slot = self._slots.get(param)
        with self._gradients.lock, torch._C.DisableTorchFunctionSubclass():
            update = self._updates.get(param)
            return update is not None and update.sets_to_none is True and (slot is None or param.grad is slot.pending)

    def _step(self, closure: typing.Callable[[], typing.Any] | None) -> typing.Any:
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
            self._step(None)
            return loss
        with self._gradients.lock:
            self._note_updates()

    def _note_updates(self) -> None:
        self._check_optimizer()
        self._watch_state()
        self._before_update(self._optimizer)
        self._warn_of_waits()
        optimizer: typing.Any = self._optimizer
        optimizer._opt_called = True  # as schedulers want to know
        for group in optimizer.param_groups:
            hyper = {name: value.clone() if torch.is_tensor(value) else value for name, value in group.items()
                     if name != "params"}
            self.carry_out(group["params"])
            at_once = []
            for param in group["params"]:
                slot = self._slots.get(param)
                if slot is not None and slot.state is not State.OWN and param.grad is not slot.pending:
                    self._gradients.take_back(slot)  # the program has set a gradient of its own
                self._updates[param] = _Update(hyper, optimizer.state)
                # What somebody has waited for is there; and what others have a name of is not seen to be read.
                if slot is None or slot.state is State.OWN or self._has_other_names(slot):
                    at_once.append(param)
                else:
                    watch(param, self)
            self.carry_out(at_once)

    def _warn_of_waits(self) -> None:
        """Clipping and reports of norms read all gradients."""
        self._steps_waited_for = 0 if any(slot.state is not State.OWN for slot in self._slots.values()) else self._steps_waited_for + 1
        if self._steps_waited_for == 3:
            warnings.warn('overlap="step": the program reads all gradients before step() (clipping, a scaler or a report does), so updates '
                          'overlap nothing: expected overlap="backward", or a program that reads no gradients before step()')

    def _has_other_names(self, slot: Slot) -> bool:
        is_found = is_shared(slot.param)
        if is_found and not self._has_warned:
            self._has_warned = True
            warnings.warn(f'overlap="step": {slot.name} is updated within step(), and nothing overlaps, because another object shares '
                          "its memory (a state_dict(), .data or detach() of it that the program keeps): keep a copy instead")
        return is_found

    def carry_out(self, params: typing.Iterable[torch.Tensor], and_ready: bool = False) -> None:
        """Updates those that are due, as the optimizer would: those of one step() and one group in one call of it. With `and_ready`
        others as well, in the optimizer's order as far as their gradients are there: that takes less time than a call for each module."""
        with self._gradients.lock:
            due = [param for param in dict.fromkeys(params) if param in self._updates]
            if not due:
                return
            # A signal's handler may raise in there: then all updates are still to be made. Or it may make some.
            self._wait_for(due)
            if and_ready:
                ready = self._find_ready(due)
                self._wait_for(ready)
                due += ready
            taken = [(param, self._updates.pop(param)) for param in due if param in self._updates]
            try:
                self._carry_out(taken)
            finally:
                for param, _ in taken:
                    unwatch(param)

    def unwatch_done(self, param: torch.Tensor) -> None:
        """A signal's handler may look at one whose update is being made, or come between an update and the watch."""
        with self._gradients.lock:
            if param not in self._updates:
                unwatch(param)

    def _wait_for(self, params: list[torch.Tensor]) -> None:
        self._gradients.wait([slot for slot in map(self._slots.get, params) if slot is not None and slot.state is not State.OWN])

    def _find_ready(self, due: list[torch.Tensor]) -> list[torch.Tensor]:
        """Behind these, in the optimizer's order."""
        known = set(due)
        ready: list[torch.Tensor] = []
        for param in self._updates:
            if param in known:
                continue
            slot = self._slots.get(param)
            if slot is not None and not self._gradients.is_ready(slot):
                break
            ready.append(param)
        return ready

    @uncompiled
    def _carry_out(self, due: list[tuple[torch.Tensor, _Update]]) -> None:
        # A param may be read within torch.func's transformations.
        with unrecorded(), torch.inference_mode(False), temporarily_clear_interpreter_stack(), torch._C.DisableTorchFunctionSubclass():
            for _, alike in itertools.groupby(due, key=lambda entry: id(entry[1].hyper)):
                self._update(list(alike))

    def _update(self, due: list[tuple[torch.Tensor, _Update]]) -> None:
        # What the program has set since is not what step() was called for, and stays.
        later: dict[torch.Tensor, torch.Tensor | None] = {}
        for param, _ in due:
            slot = self._slots.get(param)
            if slot is not None and slot.state is not State.OWN:
                if param.grad is not slot.pending:
                    later[param] = param.grad
                param.grad = slot.pending
                self._gradients.put_back([slot])
        # Hooks of all optimizers' steps may have others carried out within this one.
        outer = self._alone.state, self._alone.param_groups
        self._alone.state = due[0][1].state
        self._alone.param_groups = [{**due[0][1].hyper, "params": [param for param, _ in due]}]
        try:
            with self._gradients.compute.update():
                self._alone.step()
        finally:
            self._alone.state, self._alone.param_groups = outer
        for param, update in due:
            if param in later:
                param.grad = later[param]
            elif update.sets_to_none is not None:
                self._clear(param, update.sets_to_none)

    def carry_out_all(self) -> None:
        self.carry_out(list(self._updates))

    def zero_grad(self, set_to_none: bool = True) -> None:
        with self._gradients.lock, torch._C.DisableTorchFunctionSubclass():  # gradients may be set where params are due
            self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        for group in self._optimizer.param_groups:
            for param in group["params"]:
                update = self._updates.get(param)
                slot = self._slots.get(param)
                if update is not None and slot is not None and param.grad is slot.pending:
                    update.sets_to_none = set_to_none
                    continue
                if slot is not None and slot.state is not State.OWN and update is None:
                    self._gradients.take_back(slot)
                self._clear(param, set_to_none)

    def _clear(self, param: torch.Tensor, set_to_none: bool) -> None:
        if set_to_none or param.grad is None:
            param.grad = None
        else:
            param.grad.zero_()
