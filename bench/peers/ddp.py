"""PyTorch's DistributedDataParallel with compute that sleeps, one rank: ddp.py LAYERS.json STEPS JITTER SCALE

LAYERS has [seconds of forward, seconds of backward, float32 elements] of each layer. A layer's compute ends on the clock
of a virtual device, as that of bagua-run does. JITTER is the standard deviation of the factor on each duration. SCALE is
what sizes were multiplied with; DDP's buckets are, too. Rank 0 prints JSON: seconds of each step and of an all_reduce of
all gradients in one buffer, each of the slowest rank.
"""
import json
import os
import random
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import distributed

FIRST_BUCKET_BYTES, BUCKET_MIB = 1 << 20, 25
WARM_UP = 2


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


def slowest(seconds):
    times = torch.tensor(seconds)
    dist.all_reduce(times, dist.ReduceOp.MAX)
    return times.tolist()


def timed(work, count):
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return slowest(seconds)


def main(path, steps, jitter, scale):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    with open(path, encoding="utf-8") as file:
        layers = json.load(file)
    model = Model(layers, Device(rank, float(jitter)), rank)
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(FIRST_BUCKET_BYTES * float(scale))
    distributed._DEFAULT_BUCKET_CAP_MB = BUCKET_MIB * float(scale)
    ddp, values = distributed.DistributedDataParallel(model), torch.zeros(1, requires_grad=True)

    def step():
        for param in model.params:
            param.grad = None
        ddp(values).backward()

    def flat():
        dist.all_reduce(everything)

    step()
    for param in model.params:
        if not torch.equal(param.grad, torch.full_like(param, (ranks + 1) / 2)):
            sys.exit(f"expected gradients of {(ranks + 1) / 2}, found {param.grad}")
    everything = torch.zeros(sum(elements for _, _, elements in layers))
    for work in (step, flat):
        for _ in range(WARM_UP):
            work()
        dist.barrier()
    result = {"flat_s": timed(flat, 5), "torch": torch.__version__}
    dist.barrier()
    result["step_s"] = timed(step, int(steps))
    if rank == 0:
        print(json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
