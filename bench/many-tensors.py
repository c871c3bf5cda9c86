#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backward of a model of 4,000 small tensors by a plan, beside DistributedDataParallel's: many-tensors.py BUILD [STEPS [LAYERS]]

Two ranks of one host, which make steps of all contenders by turns. Runs with the Python that has torch (scripts/setup --full;
~/.cache/bagua/torch/bin/python). Milliseconds that rank 0 sees, and the median ratio to DDP's in the same turn. Exits with 1 where a limit of
docs/Performance.md is missed.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RANKS = 2
# That of plans is a few hundredths off from run to run, as is that of DistributedDataParallel.
MOST_OF_DDP = 1.03
CLUSTER = """bagua.cluster @host
    axes [#bagua.axis<"gpu", size = 2, latency_ns = 10000, bytes_per_s = 2000000000>]
    device #bagua.device<flop_per_s = 10000000000, bytes_per_s = 10000000000, launch_ns = 0>
"""


def make_model(layers):
    from torch import nn
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers)))


def write_table(folder, layers):
    import torch
    import bagua.torch
    torch.set_num_threads(1)
    with open(f"{folder}/layers.csv", "w", encoding="utf-8") as file:
        file.write(bagua.torch.step_table(make_model(layers), lambda model, x: model(x).square().mean(), (torch.randn(4, 8),)))


def train(folder, steps, layers):
    import torch
    from torch.nn.parallel import DistributedDataParallel
    import bagua.torch
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    contenders = {}
    for views in (True, False):
        name = ", gradients are views" if views else ""
        torch.manual_seed(0)
        contenders[f"DDP{name}"] = DistributedDataParallel(make_model(layers), gradient_as_bucket_view=views)
        torch.manual_seed(0)
        contenders[f"plan{name}"] = bagua.torch.DataParallel(make_model(layers), f"{folder}/plan.bagua", gradient_as_bucket_view=views)
    x = torch.randn(4, 8)
    found = {name: [] for name in contenders}
    optimizers = {name: torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True) for name, model in contenders.items()}
    for _ in range(steps):
        for name, model in contenders.items():
            torch.distributed.barrier()
            begin = time.perf_counter()
            loss = model(x).square().mean()
            middle = time.perf_counter()
            loss.backward()
            end = time.perf_counter()
            optimizers[name].step()
            optimizers[name].zero_grad()
            found[name].append((1e3 * (middle - begin), 1e3 * (end - middle), 1e3 * (time.perf_counter() - end)))
    missed = False
    if torch.distributed.get_rank() == 0:
        print(f"{2 * layers} tensors, {RANKS} ranks, {steps} steps, milliseconds (min / median / max)")
        print("| | forward | backward | to DDP | step and zero_grad |")
        print("|---|---|---|---|---|")
        for name, times in found.items():
            times, ddps = times[5:], found[name.replace("plan", "DDP")][5:]
            ratio = statistics.median(own[1] / other[1] for own, other in zip(times, ddps))
            spread = [f"{min(part):.1f} / {statistics.median(part):.1f} / {max(part):.1f}" for part in zip(*times)]
            print(f"| {name} | {spread[0]} | {spread[1]} | {ratio:.2f} | {spread[2]} |")
            missed = missed or ratio > MOST_OF_DDP
        print("limit missed" if missed else "all limits met")
    for model in contenders.values():
        if isinstance(model, bagua.torch.DataParallel):
            model.close()
    torch.distributed.destroy_process_group()
    return missed


def main(build, steps="40", layers="2000"):
    build = os.path.abspath(build)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/python", "BAGUA_LIBRARY": f"{build}/lib/libbagua.so", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, __file__, "--table", folder, layers], env=environment, check=True)
        with open(f"{folder}/cluster.mlir", "w", encoding="utf-8") as file:
            file.write(CLUSTER)
        for tool, *words in [("translate", "--import-layers", f"{folder}/layers.csv", f"--cluster={folder}/cluster.mlir", "-o", f"{folder}/step.mlir"),
                             ("opt", "--bagua-strategy=ddp{updates=program}", f"{folder}/step.mlir", "-o", f"{folder}/scheduled.mlir"),
                             ("translate", "--export-plan", f"{folder}/scheduled.mlir", "-o", f"{folder}/plan.bagua")]:
            subprocess.run([f"{build}/bin/bagua-{tool}", *words], check=True)
        return subprocess.run([sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={RANKS}", __file__, "--rank", folder, steps, layers],
                              env=environment).returncode


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--table", folder, layers]:
            write_table(folder, int(layers))
        case ["--rank", folder, steps, layers]:
            sys.exit(train(folder, int(steps), int(layers)))
        case words:
            sys.exit(main(*words))
