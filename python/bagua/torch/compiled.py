# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.compile does to a model, as far as its names and the order of its gradients are concerned."""
from __future__ import annotations

import typing
import warnings

import torch

_Function = typing.TypeVar("_Function", bound=typing.Callable[..., typing.Any])


def uncompiled(function: _Function) -> _Function:
    """A function that no compiler looks into."""
    result: _Function = torch.compiler.disable(function)
    return result


def name_in_plan(name: str) -> str:
    """A param's or a module's, compiled or not: a plan serves both."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def is_compiled_in_place(module: torch.nn.Module) -> bool:
    """Whether a call of it is compiled, its hooks included."""
    return getattr(module, "_compiled_call_impl", None) is not None


def is_compiled(module: torch.nn.Module) -> bool:
    """As one; blocks within it may be in any case."""
    forward = getattr(module, "forward", None)  # a scripted list has none
    is_forward_changed = hasattr(forward, "_torchdynamo_orig_callable")
    # By its own parts: one that looks up all else in a module within it isn't that module.
    return ("_orig_mod" in module._modules or is_compiled_in_place(module) or
            is_forward_changed and not getattr(forward, "_torchdynamo_disable", False))


class CallBefore:
    """Has a function called before a module that is compiled in place, until it is removed, as a hook's handle is."""

    def __init__(self, module: torch.nn.Module, function: typing.Callable[[], object]) -> None:
        self._module: typing.Any = module
        self._compiled: typing.Any = self._module._compiled_call_impl

        def call(*inputs: typing.Any, **named: typing.Any) -> typing.Any:
            function()
            return self._compiled(*inputs, **named)
        self._call = self._module._compiled_call_impl = call

    def remove(self) -> None:
        if self._module._compiled_call_impl is self._call:  # else it was compiled anew
            self._module._compiled_call_impl = self._compiled


def unless_compiling(function: typing.Callable[[], object]) -> typing.Callable[..., None]:
    """As a hook of a module that compiled code calls, too, which has nothing of it."""
    def hook(*_: object) -> None:
        if not torch.compiler.is_compiling():
            function()
    return hook


def warn_of_compiled() -> None:
    """As if the caller's caller had."""
    warnings.warn("the model is compiled as one: its gradients come at the end of backward, all at once, and nothing "
                  "overlaps with it; expected one that is compiled block by block", stacklevel=3)
