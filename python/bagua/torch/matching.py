# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the tensor of a plan that is the gradient of each param of a model."""
from __future__ import annotations

import math
import typing

import torch

from bagua import runtime
from bagua.torch.compiled import name_in_plan
from bagua.torch.slot import Slot

TYPES = {
    torch.float32: runtime.Type.FLOAT32,
    torch.float16: runtime.Type.FLOAT16,
    torch.bfloat16: runtime.Type.BFLOAT16,
    torch.float64: runtime.Type.FLOAT64,
}


def listed(names: typing.Iterable[str], most: int = 8) -> str:
    """At most `most` of the names, as text for a message."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _check_param(name: str, param: torch.nn.Parameter, tensor: runtime.Tensor) -> None:
    if torch.nn.parameter.is_lazy(param):
        raise ValueError(f"{name}: expected a param with a shape, found a param of a lazy module that has not run forward yet")
    if param.device.type != "cpu":
        raise ValueError(f"{name}: expected a param on the CPU, found one on {param.device}")
    if param.dtype not in TYPES:
        raise ValueError(f"{name}: expected a param of {listed(str(known).removeprefix('torch.') for known in TYPES)}, found one "
                         f"of {str(param.dtype).removeprefix('torch.')}")
    elements = math.prod(tensor.shape)
    if TYPES[param.dtype] != tensor.type or elements != param.numel():
        raise ValueError(f"{name}: the plan has {elements} elements of {tensor.type.name.lower()}, the model "
                         f"{param.numel()} of {str(param.dtype).removeprefix('torch.')}")


def match(plan: runtime.Plan, module: torch.nn.Module) -> list[Slot]:
    """A slot for each param that is trained. Raises ValueError where params and the plan's gradients are not one for one."""
    params = {name_in_plan(name): param for name, param in module.named_parameters() if param.requires_grad}
    gradients = {tensor.name: (number, tensor) for number, tensor in enumerate(plan.tensors)
                 if tensor.is_given and tensor.role == runtime.Role.GRADIENT}
    lacking = [name for name in params if name + ".grad" not in gradients]
    unknown = [name for name in gradients if not name.endswith(".grad") or name[:-len(".grad")] not in params]
    if lacking or unknown:
        raise ValueError("expected a plan for this model's gradients, found one" +
                         (f" without those of {listed(lacking)}" if lacking else "") +
                         (" and" if lacking and unknown else "") + (f" for {listed(unknown)}" if unknown else "") +
                         "; bagua.torch.step_table(model, loss, batch) writes the table of the model as it is now, from which "
                         "bagua-translate --import-layers, bagua-opt and bagua-translate --export-plan make its plan")
    slots = []
    for name, param in params.items():
        number, tensor = gradients[name + ".grad"]
        _check_param(name, param, tensor)
        slots.append(Slot(name, param, number, tensor.is_optional, tensor.is_in_arena))
    return slots
