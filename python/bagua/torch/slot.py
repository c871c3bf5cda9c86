# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradients that a plan knows, and how each one lies."""
from __future__ import annotations

import ctypes
import operator
import typing

import torch

# Called for thousands of gradients at once, so each is one function of Python's or of PyTorch's.
_look = operator.attrgetter("dtype", "layout", "is_cpu", "shape")
_strides = torch.Tensor.stride
# Autograd makes some gradients as the negative of what their memory has.
_is_negated = torch.Tensor.is_neg


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill its memory, so that it can be reduced as it lies."""
    return tensor.layout == torch.strided and (
        tensor.is_contiguous() or (tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)) or
        (tensor.dim() == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d)))


class Slot:
    """A param, and the plan's tensor that is its gradient."""

    def __init__(self, name: str, param: torch.Tensor, number: int, is_optional: bool, is_in_arena: bool) -> None:
        self.name, self.param, self.number = name, param, number
        self.elements, self.dtype = param.numel(), param.dtype
        self.bytes = self.elements * self.dtype.itemsize
        self.is_optional, self.is_in_arena = is_optional, is_in_arena
        # The tensor that the runtime has, whose memory stays until it is taken back; and, where that is a copy, the tensor that it is
        # copied back to.
        self.held: torch.Tensor | None = None
        self.original: torch.Tensor | None = None
        # Where gradients are views: the plan's memory, and the gradient there, as it was to lie when it was made.
        self.buffer: typing.Any = None
        self.address: int | None = None
        self.view: torch.Tensor | None = None
        # How its gradient lies when it is given: shape and strides, which all ranks must have alike, and the param's by which
        # these were found; and what `_look` then says of it.
        self.form: typing.Any = None
        self.param_form: typing.Any = None
        self.look: typing.Any = None
        # Stands for it as the param's gradient, where nobody has waited for it yet.
        self.pending: typing.Any = None
        # The gradient that the param had when it was waited for, and its version then.
        self.returned: typing.Any = None
        # Whether this rank has added to it since the step before.
        self.is_used = False
        # Whether no rank's backward has made it, so that what was there stays.
        self.is_unused = False
        # Whether another gradient came soon after it in the last backward.
        self.is_followed = False
        # It is communicated with all slots of one message, and takes so much of those that are given together.
        self.message: typing.Any = None
        self.room = 0
        # The gradient that the param had when its own hook ran, until it is given: others' hooks may set another one since.
        self.arrived: torch.Tensor | None = None
        # By which it is known that a gradient is there; and all hooks of the param's.
        self.hook: typing.Any = None
        self.hooks: typing.Any = None

    def has_new_form(self) -> bool:
        """Whether the param lies otherwise than when this was asked last, and so does its gradient from now on: as the param
        does, or contiguous where that is not dense. One that is a view lies as it did while its shape is the same."""
        param_form = self.param.shape, self.param.stride()
        if param_form == self.param_form:
            return False
        self.param_form = param_form
        if self.view is not None and self.form[0] == self.param.shape:
            return False
        layout = torch.preserve_format if _is_dense(self.param) else torch.contiguous_format
        self.form = self.param.shape, torch.empty_like(self.param, device="meta", memory_format=layout).stride()
        self.look = self.dtype, torch.strided, True, self.param.shape
        self.address = None  # a view lies otherwise
        return True

    def empty(self) -> torch.Tensor:
        """A gradient, as it is to lie."""
        return torch.empty_strided(*self.form, dtype=self.dtype, device="cpu")

    def is_as_stated(self, gradient: torch.Tensor) -> bool:
        """Whether it can be given as it lies, however the param lies."""
        return are_as_stated([self], [gradient])

    def in_form(self, gradient: torch.Tensor) -> torch.Tensor:
        """The same gradient, copied where it lies otherwise."""
        if not gradient.is_neg() and all(
                size == 1 or own == other for size, own, other in zip(gradient.shape, gradient.stride(), self.form[1])):
            return gradient
        return self.empty().copy_(gradient)

    def renew_view(self) -> None:
        """Where a model's tensors were moved elsewhere, gradients may have been, too."""
        if self.buffer is None:
            return
        if self.view is None or self.view.data_ptr() != self.address:
            self.address = ctypes.addressof(self.buffer)
            empty = torch.empty(0, dtype=self.dtype, device="cpu")
            memory = torch.frombuffer(self.buffer, dtype=self.dtype) if self.elements else empty
            self.view = empty.set_(memory.untyped_storage(), 0, *self.form)


def are_as_stated(slots: typing.Sequence[Slot], gradients: typing.Sequence[torch.Tensor]) -> bool:
    """Whether all of them can be given as they lie, however their params lie."""
    return set(map(type, gradients)) == {torch.Tensor} and list(map(_look, gradients)) == [slot.look for slot in slots] and (
        list(map(_strides, gradients)) == [slot.form[1] for slot in slots] and not any(map(_is_negated, gradients)))
