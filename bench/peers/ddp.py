# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's DistributedDataParallel with compute that sleeps, one rank: ddp.py LAYERS.json STEPS JITTER SCALE

LAYERS has [seconds of forward, seconds of backward, float32 elements] of each layer. JITTER is the standard deviation of the factor on each duration. SCALE is
what sizes were multiplied with; DDP's buckets are, too. Rank 0 prints JSON: seconds of each step and of an all_reduce of
all gradients in one buffer, each of the slowest rank.
"""
import json
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import distributed

from sleeping import Device, Model, timed

FIRST_BUCKET_BYTES, BUCKET_MIB = 1 << 20, 25
WARM_UP = 2


def slowest(seconds):
    times = torch.tensor(seconds)
    dist.all_reduce(times, dist.ReduceOp.MAX)
    return times.tolist()


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
    result = {"flat_s": slowest(timed(flat, 5)), "torch": torch.__version__}
    dist.barrier()
    result["step_s"] = slowest(timed(step, int(steps)))
    if rank == 0:
        print(json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
