#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a GPT on the bytes of a text, on as many ranks as torchrun starts: by a plan of Bagua's, or by DistributedDataParallel.

    torchrun --nproc-per-node=4 train.py --table=gpt.csv   # measures the model here: what a plan is made of
    torchrun --nproc-per-node=4 train.py --plan=gpt.bagua [--overlap=step]
    torchrun --nproc-per-node=4 train.py --ddp

docs/RunOnYourCluster.md goes through it. Rank 0 reports as JSON: step times after the first two steps, the first and last
loss over all ranks, a fingerprint of all params, and whether every rank has the same; and, of all this machine's cores, the
share that worked.
"""
import argparse
import hashlib
import json
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

import bagua.torch
from bagua import runtime


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """Of bytes: 256 symbols."""

    def __init__(self, width, layers, length):
        super().__init__()
        self.symbols = nn.Embedding(256, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 256)

    def forward(self, x):
        x = self.symbols(x) + self.places[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


class Text:
    """Pieces of a text, another one for each rank and step."""

    def __init__(self, path, batch, length):
        with open(path, "rb") as file:
            self.bytes = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).long()
        self.batch, self.length = batch, length

    def piece(self, rank, step):
        generator = torch.Generator().manual_seed(step * 10007 + rank)
        begins = torch.randint(len(self.bytes) - self.length - 1, (self.batch,), generator=generator)
        rows = [self.bytes[begin:begin + self.length + 1] for begin in begins]
        rows = torch.stack(rows)
        return rows[:, :-1], rows[:, 1:]


def fingerprint(model):
    digest = hashlib.sha256()
    for param in model.parameters():
        digest.update(param.detach().numpy().tobytes())
    return int.from_bytes(digest.digest()[:7], "little")


class ByPlan:
    """Ranks of Bagua's."""

    def __init__(self, model, optimizer, options):
        self.world = runtime.World.launched(rendezvous=options.rendezvous, interface=options.interface)
        self.rank = self.world.rank
        self.group = self.world.communicator("results")
        deferred = {"overlap": "step", "optimizer": optimizer} if options.overlap == "step" else {}
        self.model = bagua.torch.DataParallel(model, options.plan, world=self.world, gradient_as_bucket_view=True, **deferred)
        self.finish = self.model.synchronize

    def gather(self, number):
        own = torch.tensor([number], dtype=torch.float64)
        found = torch.empty(self.world.size, dtype=torch.float64)
        self.group.all_gather(own.data_ptr(), found.data_ptr(), 1, runtime.Type.FLOAT64)
        return found.tolist()

    def close(self):
        self.group.barrier()
        self.model.close()
        self.group.close()
        self.world.close()


class ByDDP:
    """Ranks of torch.distributed's, over Gloo."""

    def __init__(self, model, *_):
        torch.distributed.init_process_group("gloo")
        self.rank = torch.distributed.get_rank()
        self.model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
        self.finish = lambda: None

    def gather(self, number):
        found = [torch.zeros(1, dtype=torch.float64) for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather(found, torch.tensor([number], dtype=torch.float64))
        return [float(value) for value in found]

    def close(self):
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


def cores_at_work():
    """Ticks of all cores since the machine started: at work, and all."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def train(model, options):
    text = Text(options.text, options.batch, options.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
    system = (ByDDP if options.ddp else ByPlan)(model, optimizer, options)
    times, losses = [], []
    for step in range(options.steps):
        if step == 2:
            worked, all_ticks = cores_at_work()
        begin = time.perf_counter()
        loss = loss_of(system.model, *text.piece(system.rank, step))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == options.steps - 1:
            system.finish()
        times.append(time.perf_counter() - begin)
        losses.append(loss.item())
    worked, all_ticks = (now - then for now, then in zip(cores_at_work(), (worked, all_ticks)))
    first, last = (sum(system.gather(losses[i])) / len(system.gather(losses[i])) for i in (0, -1))
    prints = system.gather(fingerprint(model))
    if system.rank == 0:
        print(json.dumps({"step_ms": [1e3 * value for value in times[2:]], "first_loss": first, "last_loss": last,
                          "params": f"{int(prints[0]):014x}", "same_on_all_ranks": len(set(prints)) == 1,
                          "cores_at_work": worked / all_ticks}))
    system.close()


def measure(model, options):
    """Writes the table of layers. Ranks that share cores measure at the same time, as they train."""
    is_launched = "WORLD_SIZE" in os.environ
    if is_launched:
        torch.distributed.init_process_group("gloo")
    table = bagua.torch.step_table(model, loss_of, Text(options.text, options.batch, options.length).piece(0, 0),
                                   barrier=torch.distributed.barrier if is_launched else None)
    if not is_launched or torch.distributed.get_rank() == 0:
        with open(options.table, "w", encoding="utf-8") as file:
            file.write(table)
    if is_launched:
        torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", help="measure the model, write the table of its layers, and end")
    parser.add_argument("--plan", help="train by this plan")
    parser.add_argument("--ddp", action="store_true", help="train by DistributedDataParallel")
    parser.add_argument("--overlap", choices=["backward", "step"], default="backward")
    parser.add_argument("--rendezvous", help="where ranks of a plan meet, where the launcher doesn't say: host:port, or a file")
    parser.add_argument("--interface", help="the card by which this host is reached")
    parser.add_argument("--steps", type=int, default=20, help="at least 3")
    parser.add_argument("--rate", type=float, default=3e-4, help="AdamW's learning rate")
    parser.add_argument("--batch", type=int, default=4, help="pieces of text a rank and step")
    parser.add_argument("--length", type=int, default=64, help="bytes of a piece")
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--text", default="/usr/share/common-licenses/GPL-3")
    options = parser.parse_args()
    if bool(options.table) + bool(options.plan) + options.ddp != 1:
        parser.error("expected one of --table, --plan and --ddp")
    if options.steps < 3 or options.width % 64:
        parser.error("expected at least 3 steps, and a width that is a multiple of 64")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT(options.width, options.layers, options.length)
    if options.table:
        measure(model, options)
    else:
        train(model, options)


if __name__ == "__main__":
    main()
