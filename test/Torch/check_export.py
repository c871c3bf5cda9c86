#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_export.py BIN [MODEL..]: whether exported steps of PyTorch models have their names, and their numbers.

Exports each model of models.py, and trains it for some steps by PyTorch itself, in eager mode, and by XLA on the
exported text: params, buffers and losses must be as near as rounding allows. Imports the text with its mapping, whose
gradients must be the model's params, by name and shape, and runs plans of some strategies on four ranks with --check.
"""
import os
import re
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "python")]

import models
import numpy
import torch
from bagua.torch.export import export_step
from commands import run

STEPS = 3
# Of the largest number of a tensor. Adam divides by square roots of small numbers.
TOLERANCE = {"gpt": 2e-5, "adam": 1e-5, "scheduled": 1e-5, "lamb": 1e-5}
STRATEGIES = ("ddp", "dear", "dear{update=shard}", "bytescheduler-a2a", "auto")


def train_eagerly(model, loss, optimizer, batch):
    """The loss of each step, and params and buffers at the end, by name."""
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss(model, *batch)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses, {name: value.detach().numpy() for name, value in model.state_dict().items()}


def compile_by_xla(text):
    """A function of the text's arguments, in order."""
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.extend.backend
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
    backend = jax.extend.backend.get_backend("cpu")
    with mlir.make_ir_context():
        code = mlir.module_to_bytecode(ir.Module.parse(text))
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    executable = backend.compile_and_load(code, devices, xla_client.CompileOptions())

    def call(arguments):
        results = executable.execute_sharded([jax.device_put(value) for value in arguments])
        return [numpy.asarray(parts[0]) for parts in results.disassemble_into_single_device_arrays()]
    return call


def train_by_xla(step, values, inputs, batch):
    """The same by the exported text. An optimizer's state begins with zeros."""
    call = compile_by_xla(step.text)
    states, others = step.mapping["states"], step.mapping["inputs"]
    shapes = re.search(r"function_type = \((.*?)\) ->", step.text).group(1)
    shapes = [kind.split("x")[:-1] for kind in re.findall(r"tensor<([^>]*)>", shapes)]
    given = inputs | {f"batch.{index}": value.numpy() for index, value in enumerate(batch)}
    arguments = [None] * (len(states) + len(others))
    for entry in states + others:
        zeros = numpy.zeros([int(size) for size in shapes[entry["argument"]]], numpy.float32)
        arguments[entry["argument"]] = values.get(entry["name"], given.get(entry["name"], zeros))
    losses = []
    for _ in range(STEPS):
        results = call(arguments)
        losses.append(float(results[len(states)]))
        for entry in states:
            arguments[entry["argument"]] = results[entry["result"]]
    return losses, {entry["name"]: arguments[entry["argument"]] for entry in states}


def check(name, tools, directory):
    """What was seen."""
    model, loss, optimizer, batch = models.MODELS[name]()
    before = {key: value.detach().clone().numpy() for key, value in model.state_dict().items()}
    step = export_step(model, loss, optimizer, batch)
    for key, value in model.state_dict().items():
        if not numpy.array_equal(value.numpy(), before[key]):
            sys.exit(f"{name}: the export changed {key}")
    rates = {key: value.numpy() for key, value in optimizer.param_groups[0].items() if isinstance(value, torch.Tensor)}
    losses, after = train_eagerly(model, loss, optimizer, batch)
    found_losses, found = train_by_xla(step, before, rates, batch)
    numpy.testing.assert_allclose(found_losses, losses, rtol=TOLERANCE.get(name, 1e-6))
    worst = 0
    for key, value in after.items():
        if key in found:
            worst = max(worst, float(abs(found[key] - value).max() / max(abs(value).max(), 1e-6)))
    if worst > TOLERANCE.get(name, 1e-6) or losses[-1] >= losses[0]:
        sys.exit(f"{name}: after {STEPS} steps off by {worst} of the largest number, loss {losses[0]} to {losses[-1]}")

    step.write(f"{directory}/{name}")
    imported = run(f"{tools}/bagua-translate", "--import-stablehlo", f"{directory}/{name}.mlir",
                   f"--mapping={directory}/{name}.json", "--cluster=node=2,gpu=2")
    grads = {param: [int(size) for size in shape.split("x") if size] for shape, param in
             re.findall(r'tensor<((?:\d+x)*)f32> grad "([^"]*)"', imported)}
    wanted = {key: list(param.shape) for key, param in model.named_parameters() if param.requires_grad}
    if grads != wanted:
        sys.exit(f"{name}: expected gradients {wanted}, found {grads}")
    with open(f"{directory}/step.mlir", "w", encoding="utf-8") as file:
        file.write(imported)
    for strategy in STRATEGIES:
        run(f"{tools}/bagua-opt", f"--bagua-strategy={strategy}", f"{directory}/step.mlir", "-o", f"{directory}/planned")
        run(f"{tools}/bagua-translate", "--export-plan", f"{directory}/planned", "-o", f"{directory}/plan")
        run(f"{tools}/bagua-run", f"{directory}/plan", "--check", f"--steps={STEPS}", "--time-scale=0")
    updates = len(re.findall(r"= bagua\.(?:sgd|adam|update) ", imported))
    return f"{len(grads)} gradients, {updates} updates recognised, {len(after)} values off by {worst:.1e} at most"


def main():
    tools, names = sys.argv[1], sys.argv[2:] or list(models.MODELS)
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            print(f"{name}: {check(name, tools, directory)}", flush=True)


if __name__ == "__main__":
    main()
