#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""resnet50.py OUT: ResNet-50 trained by momentum on two devices, with small images, as OUT.mlir and its arguments as OUT.npz."""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "exporters"))

import constructs
import forms
import jax
import jax.numpy as jnp
import numpy
import optax
from jax import lax

BLOCKS, CLASSES, BATCH, PIXELS = (3, 4, 6, 3), 10, 2, 32


class Maker:
    """Params and statistics of batch norms, by names."""

    def __init__(self):
        self.random, self.params, self.stats = numpy.random.default_rng(0), {}, {}

    def conv(self, name, size, inputs, outputs):
        scale = (2 / (size * size * inputs)) ** 0.5
        kernel = self.random.normal(size=(size, size, inputs, outputs)) * scale
        self.params[name] = {"kernel": jnp.float32(kernel), "scale": jnp.ones(outputs), "bias": jnp.zeros(outputs)}
        self.stats[name] = {"mean": jnp.zeros(outputs), "var": jnp.ones(outputs)}


class Net:
    """One pass in training mode; collects new statistics."""

    def __init__(self, params, stats):
        self.params, self.stats, self.new = params, stats, {}

    def conv(self, name, x, stride=1):
        own = self.params[name]
        x = lax.conv_general_dilated(x, own["kernel"], (stride, stride), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        kept = self.stats[name]
        self.new[name] = {"mean": 0.9 * kept["mean"] + 0.1 * mean, "var": 0.9 * kept["var"] + 0.1 * var}
        return (x - mean) * lax.rsqrt(var + 1e-5) * own["scale"] + own["bias"]


def layers():
    """Name, input and middle width, and stride of each block."""
    inputs = 64
    for stage, count in enumerate(BLOCKS):
        for block in range(count):
            width = 64 << stage
            yield f"layer{stage + 1}_{block}", inputs, width, 2 if stage and not block else 1
            inputs = 4 * width


def make():
    maker = Maker()
    maker.conv("stem", 7, 3, 64)
    for name, inputs, width, stride in layers():
        for part, size, ins, outs in ((1, 1, inputs, width), (2, 3, width, width), (3, 1, width, 4 * width)):
            maker.conv(f"{name}_conv{part}", size, ins, outs)
        if stride == 2 or inputs != 4 * width:
            maker.conv(f"{name}_down", 1, inputs, 4 * width)
    maker.params["fc"] = constructs.dense(1, 2048, CLASSES)
    return maker.params, maker.stats


def loss_of(params, stats, batch):
    net = Net(params, stats)
    x = jax.nn.relu(net.conv("stem", batch["x"], 2))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for name, inputs, width, stride in layers():
        out = jax.nn.relu(net.conv(f"{name}_conv1", x))
        out = jax.nn.relu(net.conv(f"{name}_conv2", out, stride))
        out = net.conv(f"{name}_conv3", out)
        if f"{name}_down" in params:
            x = net.conv(f"{name}_down", x, stride)
        x = jax.nn.relu(x + out)
    logits = x.mean((1, 2)) @ params["fc"]["kernel"] + params["fc"]["bias"]
    return constructs.cross_entropy(logits, batch["y"]), net.new


def main():
    params, stats = make()
    optimizer = optax.sgd(1e-4, momentum=0.9)

    def run(comm, params, batch_stats, opt_state, batch):
        (loss, batch_stats), grads = jax.value_and_grad(loss_of, has_aux=True)(params, batch_stats, batch)
        updates, opt_state = optimizer.update(comm.mean(grads), opt_state, params)
        return optax.apply_updates(params, updates), batch_stats, opt_state, comm.mean(loss)

    random = numpy.random.default_rng(1)
    batch = {"x": random.normal(size=(BATCH, PIXELS, PIXELS, 3)).astype(numpy.float32),
             "y": numpy.arange(BATCH, dtype=numpy.int32)}
    states = {"params": params, "batch_stats": stats, "opt_state": optimizer.init(params)}
    text, _, arguments = forms.export(constructs.Step(run, states, batch), "stacked", 2)
    with open(f"{sys.argv[1]}.mlir", "w", encoding="utf-8") as file:
        file.write(text)
    numpy.savez(f"{sys.argv[1]}.npz", **{str(index): leaf for index, leaf in enumerate(arguments)})


if __name__ == "__main__":
    main()
