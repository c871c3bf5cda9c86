# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A param whose update is noted and still to be carried out. Who reads or writes it has that done first."""
from __future__ import annotations

import collections
import typing
import weakref

import torch
from torch.utils import _pytree as pytree

from bagua.torch.compiled import uncompiled

# Type stubs know the attributes of tensors, not the descriptors that the class has for them.
_TENSOR: typing.Any = torch.Tensor
_GET_GRADIENT = _TENSOR.grad.__get__
# What tells nothing of a param's values, or sets its gradient.
_ASKED = frozenset(
    [getattr(torch.Tensor, name).__get__ for name in ("grad", "shape", "dtype", "device", "layout", "requires_grad", "ndim",
                                                      "is_leaf", "grad_fn", "is_sparse")] +
    [_TENSOR.grad.__set__, _TENSOR.grad.__delete__] +
    [getattr(torch.Tensor, name) for name in ("size", "stride", "dim", "numel", "nelement", "element_size", "is_contiguous",
                                              "is_floating_point", "is_complex", "register_hook",
                                              "register_post_accumulate_grad_hook")])

# By a param's own class, the one that it has while it is due.
_CLASSES: dict[type, type] = {}
# By a due param's id: who carries out its update. Weak, as the model does not keep what trains it.
_KEEPERS: dict[int, weakref.ref[typing.Any]] = {}


class _Due:
    """Mixed into the class of a param, for as long as its update is due."""

    @classmethod
    @uncompiled
    def __torch_function__(cls, function: typing.Callable[..., typing.Any], _: object, arguments: tuple[typing.Any, ...] = (),
                           named: dict[str, typing.Any] | None = None) -> typing.Any:
        named = named or {}
        if function == _GET_GRADIENT:
            keeper = _keeper(arguments[0])
            if keeper is not None and keeper.is_cleared(arguments[0]):
                return None
        if function not in _ASKED:
            due = [value for value in pytree.tree_leaves((arguments, named)) if isinstance(value, _Due)]
            if due:
                _settle(due)
                return function(*arguments, **named)
        with torch._C.DisableTorchFunctionSubclass():
            return function(*arguments, **named)

    # These look at the class before they look at the values.

    def __deepcopy__(self, memo: typing.Any) -> typing.Any:
        _settle([self])
        return self.__deepcopy__(memo)

    def __reduce_ex__(self, protocol: typing.Any) -> typing.Any:
        _settle([self])
        return self.__reduce_ex__(protocol)


def _keeper(param: typing.Any) -> typing.Any:
    """None where there is none any more, or another thread has carried out the update."""
    reference = _KEEPERS.get(id(param))
    return reference and reference()


def _settle(params: list[typing.Any]) -> None:
    for keeper in dict.fromkeys(map(_keeper, params)):
        if keeper is not None:
            keeper.carry_out(params)
    for param in params:
        keeper = _keeper(param)
        if keeper is None:
            unwatch(param)  # nobody is there to do it any more
        else:
            keeper.unwatch_done(param)


def watch(param: typing.Any, keeper: typing.Any) -> None:
    """From here on keeper.carry_out(params) is called with it before the param's values are looked at, and its gradient is None where
    keeper.is_cleared(param)."""
    own = type(param)
    if own not in _CLASSES:
        kind: typing.Any = type(own)
        _CLASSES[own] = kind("Due" + own.__name__, (_Due, own), {"own": own})
    _KEEPERS[id(param)] = weakref.ref(keeper)
    param.__class__ = _CLASSES[own]


def unwatch(param: typing.Any) -> None:
    due: typing.Any = type(param)
    if issubclass(due, _Due):
        _KEEPERS.pop(id(param), None)
        param.__class__ = due.own


class WatchedState(collections.defaultdict[typing.Any, typing.Any]):
    """An optimizer's state. Who reads a param's has its update carried out first; who looks at the whole, all updates."""

    def __init__(self, state: typing.Mapping[typing.Any, typing.Any], carry_out: typing.Callable[[typing.Sequence[typing.Any]], object],
                 carry_out_all: typing.Callable[[], object]) -> None:
        super().__init__(dict, state)
        self._carry_out, self._carry_out_all = carry_out, carry_out_all

    def __copy__(self) -> typing.Any:
        return collections.defaultdict(dict, self.items())

    copy = __copy__

    def __or__(self, other: typing.Any) -> typing.Any:
        return self.copy() | other

    def __ror__(self, other: typing.Any) -> typing.Any:
        return other | self.copy()

    def __reduce__(self) -> typing.Any:
        return collections.defaultdict, (dict,), None, None, iter(self.items())


def _after(name: str, is_of_one: bool) -> typing.Callable[..., typing.Any]:
    def method(self: typing.Any, *arguments: typing.Any) -> typing.Any:
        if is_of_one:
            self._carry_out(arguments[:1])
        else:
            self._carry_out_all()
        return getattr(collections.defaultdict, name)(self, *arguments)
    return method


for _name in ("__contains__", "__delitem__", "__getitem__", "__setitem__", "get", "pop", "setdefault"):
    setattr(WatchedState, _name, _after(_name, is_of_one=True))
for _name in ("__eq__", "__ior__", "__iter__", "__len__", "__repr__", "__reversed__", "clear", "items", "keys", "popitem", "update",
              "values"):
    setattr(WatchedState, _name, _after(_name, is_of_one=False))
