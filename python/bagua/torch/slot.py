# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradients that a plan knows: who has each one, and how it lies."""
from __future__ import annotations

import ctypes
import enum
import operator
import typing

import torch

# Called for thousands of gradients at once, so each is one function of Python's or of PyTorch's.
_look = operator.attrgetter("dtype", "layout", "is_cpu", "shape")
_strides: typing.Any = torch.Tensor.stride
# Autograd makes some gradients as the negative of what their memory has.
_is_negated: typing.Any = torch.Tensor.is_neg


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill its memory, so that it can be reduced as it lies."""
    return tensor.layout == torch.strided and (
        tensor.is_contiguous() or (tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)) or
        (tensor.dim() == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d)))


def is_shared(tensor: torch.Tensor) -> bool:
    """Whether others have its memory, too."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    # The tensor, and the object that this asks.
    return count is None or count(tensor.untyped_storage()._cdata) > 2


class State(enum.Enum):
    """Who has a param's gradient."""
    OWN = "the program has it"
    GIVEN = "the runtime has it"
    PENDING = "the runtime has it, and a PendingGradient stands for it as param.grad"
    UNUSED = "the runtime has it, and param.grad stays as it is, because no rank's backward has reached the param"


# Attributes of an enum are slow to get.
_OWN, _GIVEN = State.OWN, State.GIVEN


class Slot:
    """A param, and the plan's tensor that is its gradient."""

    def __init__(self, name: str, param: torch.Tensor, number: int, is_optional: bool, is_in_arena: bool) -> None:
        self.name, self.param, self.number = name, param, number
        self.elements, self.dtype = param.numel(), param.dtype
        self.bytes = self.elements * self.dtype.itemsize
        self.is_optional, self.is_in_arena = is_optional, is_in_arena
        self.state = State.OWN
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
        # Stands for it as the param's gradient, while it is PENDING.
        self.pending: typing.Any = None
        # The gradient that the param had when it was waited for, and its version then.
        self.returned: tuple[torch.Tensor, int] | None = None
        # Whether this rank has added to it since the step before.
        self.is_used = False
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

    # OWN becomes GIVEN. GIVEN may become PENDING or UNUSED. All three become OWN again.

    def give(self, gradient: torch.Tensor) -> None:
        """The runtime is about to get this tensor. Allowed in any state: where a step gives a gradient twice, the runtime's own error names the
        step."""
        self.state, self.held, self.pending, self.returned = _GIVEN, gradient, None, None

    def stand_in(self, pending: torch.Tensor) -> None:
        """`pending` stands for the gradient until it is taken back."""
        self._leave_given(State.PENDING)
        self.pending = pending

    def leave_unused(self) -> None:
        """The gradient will not become `param.grad` when it is taken back."""
        self._leave_given(State.UNUSED)

    def _leave_given(self, state: State) -> None:
        if self.state is not _GIVEN:
            raise AssertionError(f"{self.name}: expected a gradient that is GIVEN before it is {state.name}, found one that is {self.state.name}")
        self.state = state

    def take_back(self) -> None:
        """The program has the gradient again. Allowed in any state: a signal's handler may have taken it back before."""
        self.state = _OWN
        self.held = self.original = self.pending = None

    def drop(self) -> None:
        """The run is over, so nobody works on the gradient any more."""
        self.state = _OWN
        self.buffer = self.view = self.held = self.original = self.pending = None

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


def are_as_stated(gradients: typing.Sequence[torch.Tensor | None],
                  slots: typing.Sequence[Slot]) -> typing.TypeGuard[typing.Sequence[torch.Tensor]]:
    """Whether all of them can be given as they lie, however their params lie."""
    return set(map(type, gradients)) == {torch.Tensor} and list(map(_look, gradients)) == [slot.look for slot in slots] and (
        list(map(_strides, gradients)) == [slot.form[1] for slot in slots] and not any(map(_is_negated, gradients)))
