# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model's step as a table of layers, from which strategies make plans: names, shapes, times, order of readiness."""
from __future__ import annotations

import statistics
import time
import typing

import torch

from bagua.torch.compiled import name_in_plan

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64"}


class _Layer:
    """A module with params of its own, or a single param of the model's, which has no name of a module."""

    def __init__(self, name: str, params: list[tuple[str, torch.nn.Parameter]]) -> None:
        self.name = name
        self.params = params
        # By step, since forward or backward began: when forward has what it needs of the params, when gradients are there.
        self.forward: list[int | None] = []
        self.ready: list[int | None] = []
        self.activation_bytes = 0


def _find_layers(model: torch.nn.Module) -> dict[torch.nn.Module, list[_Layer]]:
    layers: dict[torch.nn.Module, list[_Layer]] = {}
    seen: set[torch.nn.Parameter] = set()
    for name, module in model.named_modules():
        name = name_in_plan(name)
        own = [(own, param) for own, param in module.named_parameters(recurse=False)
               if param.requires_grad and param not in seen]
        seen.update(param for _, param in own)
        if not own:
            continue
        for _, param in own:
            if param.dtype not in TYPES:
                raise TypeError(f"{name}: expected params of {', '.join(map(str, TYPES))}, found {param.dtype}")
        layers[module] = ([_Layer(name, own)] if name else [_Layer(param_name, [("", param)]) for param_name, param in own])
    return layers


def _hook(layers: dict[torch.nn.Module, list[_Layer]], now: typing.Callable[[], int]) -> list[typing.Any]:
    """Has the layers' last step filled in; the hooks' handles."""
    handles: list[typing.Any] = []

    def forward_at(module: torch.nn.Module, *_: object) -> None:
        for layer in layers[module]:
            if layer.forward[-1] is None:
                layer.forward[-1] = now()

    def forward_done(module: torch.nn.Module, inputs: object, output: typing.Any) -> None:
        forward_at(module)
        for layer in layers[module]:
            layer.activation_bytes = output.numel() * output.element_size() if torch.is_tensor(output) else 0

    def gradient_done(layer: _Layer) -> None:
        layer.ready[-1] = now()

    for module, own in layers.items():
        # One with others within it needs its own params before these.
        if any(inner in layers for inner in module.modules() if inner is not module):
            handles.append(module.register_forward_pre_hook(forward_at))
        handles.append(module.register_forward_hook(forward_done))
        for layer in own:
            for _, param in layer.params:
                handles.append(param.register_post_accumulate_grad_hook(lambda _, layer=layer: gradient_done(layer)))
    return handles


def step_table(model: torch.nn.Module, loss: typing.Callable[..., torch.Tensor], batch: typing.Sequence[typing.Any], steps: int = 10,
               barrier: typing.Callable[[], object] | None = None) -> str:
    """The table, as text, of what `loss(model, *batch)` and its backward take here: the median of some steps.

    Ranks that share cores are to measure at the same time, as they will train: on all ranks, with a `barrier` such as
    `torch.distributed.barrier`, which is called before each step, and in the end.

    For `bagua-translate --import-layers`. Tensors are named as `model.named_parameters()` names them before it is
    compiled, gradients with `.grad` behind that; nothing runs compiled here. Params that this batch has no gradient for
    come last. Gradients are None afterwards; buffers and random numbers are as they were."""
    for name, param in model.named_parameters():
        if param.device.type != "cpu":  # which computes on after a call has returned
            raise ValueError(f"{name}: expected a param on the CPU, found one on {param.device}")
    layers = _find_layers(model)
    begun = [0]
    handles = _hook(layers, now=lambda: time.perf_counter_ns() - begun[0])
    all_layers = [layer for own in layers.values() for layer in own]
    buffers = [(module, name, buffer, buffer.clone()) for module in model.modules()
               for name, buffer in module._buffers.items() if buffer is not None]
    try:
        with torch.random.fork_rng(devices=[]), torch.compiler.set_stance("force_eager"):
            for _ in range(steps + 1):
                for layer in all_layers:
                    layer.forward.append(None)
                    layer.ready.append(None)
                model.zero_grad()
                if barrier:
                    barrier()
                begun[0] = time.perf_counter_ns()
                value = loss(model, *batch)
                begun[0] = time.perf_counter_ns()
                value.backward()
            if barrier:
                barrier()
    finally:
        for handle in handles:
            handle.remove()
        model.zero_grad()
        with torch.no_grad():
            for module, name, buffer, before in buffers:
                module._buffers[name] = buffer.copy_(before)
    return _write(all_layers)


def _median(times: list[int | None]) -> int | None:
    known = [time for time in times[1:] if time is not None]
    return int(statistics.median(known)) if known else None


def _shares(layers: list[_Layer], times: dict[_Layer, int | None]) -> dict[_Layer, int]:
    """What each adds to the one before: operators without params count with the next layer that has some."""
    known = {layer: time for layer in layers if (time := times[layer]) is not None}
    shares: dict[_Layer, int] = {}
    before = 0
    for layer in sorted(known, key=known.__getitem__):
        shares[layer] = known[layer] - before
        before = known[layer]
    return shares


def _cell(text: str) -> str:
    """A cell of RFC 4180; a row that began with # would be a comment."""
    plain = text == text.strip() and not text.startswith("#") and not any(c in text for c in ',"\r\n')
    return text if plain else '"' + text.replace('"', '""') + '"'


def _escaped(name: str) -> str:
    """A tensor's name within a cell: a backslash before what would end it, and before spaces."""
    return "".join("\\" + c if c in "\\;=" or c.isspace() else c for c in name)


def _write(layers: list[_Layer]) -> str:
    forward = _shares(layers, {layer: _median(layer.forward) for layer in layers})
    ready = {layer: _median(layer.ready) for layer in layers}
    backward = _shares(layers, ready)
    places = {layer: place for place, layer in enumerate(backward)}
    lines = ["name,tensors,forward_ns,backward_ns,ready,activation_bytes"]
    for layer in [*forward, *(layer for layer in layers if layer not in forward)]:
        if layer not in places:
            lines.append(f"# {' '.join(layer.name.split())}: its params got no gradient")
        tensors = ";".join((f"{_escaped(name)}=" if name else "") + "x".join([*map(str, param.shape), TYPES[param.dtype]])
                           for name, param in layer.params)
        lines.append(f"{_cell(layer.name)},{_cell(tensors)},{forward.get(layer, 0)},{backward.get(layer, 0)},"
                     f"{places.setdefault(layer, len(places))},{layer.activation_bytes}")
    return "\n".join(lines) + "\n"
