#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""annotated.py OUT: whether what is exported of steps of shardings alone computes what jax.jit does with them.

Exports a step on meshes of four devices to OUT/CASE.mlir, runs the text and the jitted step under XLA, and compares what
each device has of every output. Prints a line for each case; needs JAX.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Oracle"), os.path.join(HERE, "..", "..", "python")]
import same_numbers

DEVICES = 4
# Shape and names of the mesh; how the two kernels and the batch lie on it.
CASES = {
    "fsdp": ({"data": 4}, (("data",), ("data",)), "data"),
    "fsdp_columns": ({"data": 4}, ((None, "data"), (None, "data")), "data"),
    "hsdp": ({"replica": 2, "shard": 2}, (("shard",), ("shard",)), ("replica", "shard")),
    "hsdp_inside": ({"shard": 2, "replica": 2}, (("shard",), ("shard",)), ("replica", "shard")),
    "tensor": ({"data": 2, "model": 2}, ((None, "model"), ("model",)), "data"),
    "fsdp_tensor": ({"data": 2, "model": 2}, (("data", "model"), ("model", "data")), "data"),
    "across": ({"x": 2, "y": 2}, ((("y", "x"),), (("y", "x"),)), ("x", "y")),
}


def step_of(case):
    """The jitted step and its arguments."""
    import jax
    import jax.numpy as jnp
    import numpy
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    sizes, kernels, batch = CASES[case]
    mesh = Mesh(numpy.array(jax.devices()[:DEVICES]).reshape(tuple(sizes.values())), tuple(sizes))
    place = lambda *spec: NamedSharding(mesh, PartitionSpec(*spec))
    shardings = {"in": place(*kernels[0]), "out": place(*kernels[1])}
    draw = numpy.random.default_rng(0).normal
    values = {"in": draw(size=(8, 16)), "out": draw(size=(16, 8))}
    params = {name: jax.device_put(value.astype(numpy.float32), shardings[name]) for name, value in values.items()}
    x, y = (jax.device_put(draw(size=(16, 8)).astype(numpy.float32), place(batch)) for _ in range(2))

    def loss_of(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["in"]) @ params["out"] - y) ** 2)

    def step(params, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss
    return jax.jit(step, donate_argnums=0, out_shardings=(shardings, place())), (params, x, y)


def difference(case, path):
    """The largest, of what any device has of any output."""
    import jax
    import numpy
    import export_step
    step, arguments = step_of(case)
    text, _ = export_step.text_of(step, arguments)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    whole = [numpy.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
    module = same_numbers.Module(path)
    worst = 0
    for found, wanted in zip(module.run(whole), jax.tree.leaves(step(*arguments)), strict=True):
        parts = {shard.device: numpy.asarray(shard.data) for shard in wanted.addressable_shards}
        worst = max(worst, *(float(abs(part - parts[device]).max()) for part, device in zip(found, module.devices, strict=True)))
    return worst


def main(out):
    os.makedirs(out, exist_ok=True)
    same_numbers.prepare(DEVICES)
    for case in CASES:
        worst = difference(case, f"{out}/{case}.mlir")
        print(f"{case}: off by {worst:.1e} at most")
        if worst > 1e-6:
            sys.exit(f"{case}: expected what the step computes")


if __name__ == "__main__":
    main(*sys.argv[1:])
