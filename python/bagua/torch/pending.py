# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for a gradient that is being reduced."""
from __future__ import annotations

import typing

import torch
from torch.utils import _pytree as pytree


# Of another signature than the stubs of what it replaces.
_DISABLED: typing.Any = torch._C._disabled_torch_function_impl


class PendingGradient(torch.Tensor):
    """Stands for a gradient that is being reduced, as `param.grad`: who computes with it waits for it first."""

    gradient: torch.Tensor
    before_use: typing.Callable[[PendingGradient], object]
    __torch_function__ = _DISABLED

    @staticmethod
    def __new__(cls, gradient: torch.Tensor, before_use: typing.Callable[[PendingGradient], object]) -> PendingGradient:
        self: PendingGradient = torch.Tensor._make_wrapper_subclass(cls, gradient.shape, strides=gradient.stride(), dtype=gradient.dtype,
                                                                    device=gradient.device)
        self.gradient, self.before_use = gradient, before_use
        return self

    @classmethod
    def __torch_dispatch__(cls, function: typing.Callable[..., typing.Any], _: object,  # type: ignore[override]
                           arguments: tuple[typing.Any, ...] = (), named: dict[str, typing.Any] | None = None) -> typing.Any:
        def real(value: typing.Any) -> typing.Any:
            if not isinstance(value, cls):
                return value
            value.before_use(value)
            return value.gradient
        return function(*pytree.tree_map(real, arguments), **pytree.tree_map(real, named or {}))


def _of_gradient(name: str) -> typing.Callable[..., typing.Any]:
    def method(self: PendingGradient, *arguments: typing.Any, **named: typing.Any) -> typing.Any:
        self.before_use(self)
        return getattr(self.gradient, name)(*arguments, **named)
    return method


# These ask for memory, which it has none of.
for _name in ("numpy", "tolist", "data_ptr", "untyped_storage", "__array__", "__deepcopy__", "__reduce_ex__", "__dlpack__"):
    setattr(PendingGradient, _name, _of_gradient(_name))
