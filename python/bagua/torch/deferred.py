"""Updates right before the forward that needs them, so that gradients travel while the layers before it compute."""
import copy
import types

import torch
from torch.utils import _pytree as pytree

# Whose update of a param needs that param's gradient and state alone.
OPTIMIZERS = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adamax, torch.optim.NAdam,
              torch.optim.RAdam, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.Adadelta)


class PendingGradient(torch.Tensor):
    """Stands for a gradient that is being reduced, as `param.grad`: who computes with it waits for it first."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, gradient, take_back):
        self = torch.Tensor._make_wrapper_subclass(cls, gradient.shape, strides=gradient.stride(), dtype=gradient.dtype,
                                                   device=gradient.device)
        self.take_back = take_back
        return self

    @classmethod
    def __torch_dispatch__(cls, function, _, arguments=(), named=None):
        def real(value):
            return value.take_back() if isinstance(value, cls) else value
        return function(*pytree.tree_map(real, arguments), **pytree.tree_map(real, named or {}))


class _Update:
    """What is left to do for a param: `hyper` are the optimizer's numbers when its step() was called."""

    def __init__(self, hyper):
        self.hyper = hyper
        # As zero_grad() was told; None where it was not called.
        self.sets_to_none = None


class DeferredUpdates:
    """An optimizer whose step() and zero_grad() are carried out param by param, before the param's module runs forward.

    `take_back(slot)` waits for a gradient and returns it."""

    def __init__(self, model, slots, optimizer, take_back):
        if type(optimizer) not in OPTIMIZERS:
            raise ValueError('overlap="step": expected an optimizer that updates each param by itself (' +
                             ", ".join(known.__name__ for known in OPTIMIZERS) + f"), found {type(optimizer).__name__}")
        if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
            raise ValueError('overlap="step": expected an optimizer without hooks around its step')
        self._optimizer, self._take_back = optimizer, take_back
        self._slots = {slot.param: slot for slot in slots}
        self._updates = {}
        owned = {param for group in optimizer.param_groups for param in group["params"]}
        lacking = [slot.name for slot in slots if slot.param not in owned]
        if lacking:
            raise ValueError(f'overlap="step": expected an optimizer of all params, found none for {lacking[0]}')
        for module in model.modules():
            own = [param for param in module.parameters(recurse=False) if param in self._slots]
            if own:
                module.register_forward_pre_hook(lambda _, inputs, own=own: self.carry_out(own))

        def step(_, closure=None):
            self._step(closure)
        # Schedulers look for it, which otherwise wrap what they find, and warn where it is another later.
        step._wrapped_by_lr_sched = True
        optimizer.step = types.MethodType(step, optimizer)
        optimizer.zero_grad = types.MethodType(lambda _, set_to_none=True: self.zero_grad(set_to_none), optimizer)
        optimizer.register_state_dict_pre_hook(lambda _: self.carry_out_all())

    def given(self, slot):
        """A gradient has been given, and is not to be touched."""
        slot.param.grad = PendingGradient(slot.held, lambda: self._take_back(slot))

    def is_due(self, slot):
        return slot.param in self._updates

    def _step(self, closure):
        if closure is not None:
            raise ValueError('overlap="step": expected step() without a closure')
        self._optimizer._opt_called = True  # as schedulers want to know
        for group in self._optimizer.param_groups:
            hyper = {name: value.clone() if torch.is_tensor(value) else value for name, value in group.items()
                     if name != "params"}
            for param in group["params"]:
                self._updates[param] = _Update(hyper)
                slot = self._slots.get(param)
                # What somebody has waited for is there.
                if slot is None or slot.held is None:
                    self.carry_out([param])

    def carry_out(self, params):
        """Updates those that are due, as the optimizer would."""
        for param in params:
            update = self._updates.pop(param, None)
            if update is None:
                continue
            slot = self._slots.get(param)
            if slot is not None and slot.held is not None:
                self._take_back(slot)
            alone = copy.copy(self._optimizer)  # with the same state
            alone.param_groups = [{**update.hyper, "params": [param]}]
            alone.step()
            if update.sets_to_none is not None:
                self._clear(param, update.sets_to_none)

    def carry_out_all(self):
        self.carry_out(list(self._updates))

    def zero_grad(self, set_to_none=True):
        for group in self._optimizer.param_groups:
            for param in group["params"]:
                update = self._updates.get(param)
                if update is not None:
                    update.sets_to_none = set_to_none
                    continue
                slot = self._slots.get(param)
                if slot is not None and slot.held is not None:
                    self._take_back(slot)
                self._clear(param, set_to_none)

    def _clear(self, param, set_to_none):
        if set_to_none or param.grad is None:
            param.grad = None
        else:
            param.grad.zero_()
