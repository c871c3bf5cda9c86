# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model whose compute sleeps, for peers of bagua-run: a layer's forward and backward end on the clock of a virtual device."""
import random
import time

import torch


class Device:
    """Sleeps to the end of what it was given. It idles only where it had nothing left to do."""

    def __init__(self, rank, jitter):
        self.random, self.jitter, self.end = random.Random(rank), jitter, 0.0

    def begin(self):
        self.end = max(self.end, time.perf_counter())

    def run(self, seconds):
        if self.jitter:
            seconds *= max(0.2, self.random.gauss(1, self.jitter))
        self.end += seconds
        left = self.end - time.perf_counter()
        if seconds > 0 and left > 0:
            time.sleep(left)


class Layer(torch.autograd.Function):
    @staticmethod
    def forward(context, values, param, layer):
        context.layer = layer
        layer.device.run(layer.forward_s)
        return values.clone()

    @staticmethod
    def backward(context, gradient):
        context.layer.device.run(context.layer.backward_s)
        # A tensor of its own, as backward makes it, which DDP need not copy to keep.
        own = None if context.layer.gradient is None else context.layer.gradient.detach()
        return gradient, own, None


class Model(torch.nn.Module):
    def __init__(self, layers, device, rank):
        super().__init__()
        self.device, self.layers, self.params = device, [], torch.nn.ParameterList()
        for forward, backward, elements in layers:
            layer = type("", (), {})()
            layer.device, layer.forward_s, layer.backward_s = device, forward, backward
            layer.gradient = torch.full((elements,), rank + 1.0) if elements else None
            layer.param = torch.nn.Parameter(torch.zeros(elements)) if elements else None
            self.layers.append(layer)
            if elements:
                self.params.append(layer.param)

    def forward(self, values):
        self.device.begin()
        for layer in self.layers:
            values = Layer.apply(values, layer.param, layer)
        return values.sum()


def timed(work, count):
    """Seconds of each time."""
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return seconds
