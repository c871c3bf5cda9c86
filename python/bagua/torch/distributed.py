# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Beside DistributedDataParallel: what it takes and has that DataParallel has not, and what to do instead."""
from __future__ import annotations

import collections
import typing

import torch
from torch.nn.parallel import DistributedDataParallel

# What to write where DistributedDataParallel has wrapped the model as well.
ALONE = "expected model = bagua.torch.DataParallel(model, plan) alone, and no other wrapper"

_CPU = "ranks compute on CPUs so far: leave it out"
_PLAN = "the plan decides which ranks reduce what: leave it out, or pass world= if other ranks train"
_BUCKETS = "the plan says what is sent at once: compile it with ddp{cap-bytes=...}"
# By option: what of it changes nothing, and what to do about anything else.
_OPTIONS: dict[str, tuple[tuple[object, ...], str]] = {
    "device_ids": ((None, []), _CPU),
    "output_device": ((None,), _CPU),
    "dim": ((0,), _CPU),
    "process_group": ((None,), _PLAN),
    "device_mesh": ((None,), _PLAN),
    "bucket_cap_mb": ((None,), _BUCKETS),
    "bucket_cap_mb_list": ((None,), _BUCKETS),
    "lazy_bucket_allocation": ((False, True), ""),
    "batched_grad_copy": ((False, True), ""),
    "forward_sync_buffers": ((None,), "use broadcast_buffers"),
    "check_reduction": ((False,), "leave it out: ranks are always compared"),
    "static_graph": ((False, True), ""),  # it finds params that are never used, and for the rest changes nothing here
    "skip_all_reduce_unused_params": ((False, True), ""),
    "init_sync": ((True,), "all ranks begin with the values of rank 0"),
    "delay_all_reduce_named_params": ((None,), "the plan says what is sent when: compile it with another strategy"),
    "param_to_hook_all_reduce": ((None,), "the plan says what is sent when: compile it with another strategy"),
    "mixed_precision": ((None,), "use torch.autocast, and wire=bf16 of a strategy for what is sent"),
}

_MEMBERS = {
    "register_comm_hook": "what is sent is the plan's: compile it with wire=bf16 or another strategy",
    "join": "expected as many steps on all ranks: DistributedSampler(drop_last=True), or the least of all ranks' numbers of batches",
    "reducer": "hooks of params (register_post_accumulate_grad_hook) see gradients; a trace of the run (BAGUA_TRACE) shows what is sent",
    "logger": "a trace of the run (BAGUA_TRACE) shows what is sent",
}


def check_options(given: typing.Mapping[str, object]) -> None:
    """Of DistributedDataParallel: those that change nothing here pass."""
    for name, value in given.items():
        if name not in _OPTIONS:
            raise TypeError(f"DataParallel has no option '{name}'")
        harmless, instead = _OPTIONS[name]
        if value not in harmless:
            raise ValueError(f"{name}={value!r}: {instead}")


def instead_of(name: str) -> str | None:
    """What to do where a program asks for a member of DistributedDataParallel's; None of any other name."""
    return _MEMBERS.get(name)


def refuse_within(module: torch.nn.Module) -> None:
    if any(isinstance(inner, DistributedDataParallel) for inner in module.modules()):
        raise ValueError(f"DistributedDataParallel within DataParallel, which would reduce gradients twice: {ALONE}")


def is_within() -> bool:
    """Whether a forward of DistributedDataParallel is under way."""
    return DistributedDataParallel._active_ddp_module is not None


def without_prefix(state: typing.Mapping[str, typing.Any], module: torch.nn.Module) -> typing.Mapping[str, typing.Any]:
    """A state_dict of DistributedDataParallel(module), whose names begin with "module.", as one of the module's own."""
    if not state or not all(name.startswith("module.") for name in state) or all(name in module.state_dict() for name in state):
        return state
    own: typing.Any = collections.OrderedDict((name.removeprefix("module."), value) for name, value in state.items())
    if hasattr(state, "_metadata"):
        own._metadata = {name.removeprefix("module").removeprefix("."): value for name, value in state._metadata.items() if name}
    return own
