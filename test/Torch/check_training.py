# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains models on four processes by plans of several strategies: check_training.py SOURCE FOLDER"""
import os
import subprocess
import sys

from plans import free_port, launched, run

RANKS = 4
STRATEGIES = ["ddp", "wfbp-a2a", "bytescheduler-a2a"]


def import_table(folder, name, ranks):
    run("bagua-translate", "--import-layers", f"{folder}/{name}.csv", f"--cluster=gpu={ranks}", "-o", f"{folder}/{name}.mlir")


def compile_plan(folder, name, strategy):
    scheduled = run("bagua-opt", f"--bagua-strategy={strategy}", f"{folder}/{name}.mlir")
    run("bagua-translate", "--export-plan", "-o", f"{folder}/{name}.bagua", input=scheduled)


def launch(command, environment):
    """Ranks as torchrun starts them."""
    port = free_port()
    ranks = [subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**environment, **launched(rank, RANKS, port, str(os.getpid()))})
             for rank in range(RANKS)]
    outputs = [rank.communicate(timeout=300)[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit("\n".join(f"rank {rank} ended with {ended.returncode}: {output}"
                           for rank, (ended, output) in enumerate(zip(ranks, outputs))))
    return outputs[0]


def main(source, build, folder):
    os.makedirs(folder, exist_ok=True)
    sys.path[:0] = [f"{source}/python", f"{source}/test/Torch/Inputs"]
    import torch
    import train
    from bagua.torch import step_table
    torch.set_num_threads(1)
    environment = {**os.environ, "PYTHONPATH": f"{source}/python", "BAGUA_LIBRARY": f"{build}/lib/libbagua.so"}
    for case in train.CASES:
        table = step_table(train.make(case)[0], lambda model, x, y: ((model(x) - y) ** 2).mean(), train.batch(0, 0))
        with open(f"{folder}/{case}.csv", "w", encoding="utf-8") as file:
            file.write(table)
        import_table(folder, case, RANKS)
    for strategy in STRATEGIES:
        for overlap, updates in [("backward", "program"), ("step", "late")]:
            for case in train.CASES:
                compile_plan(folder, case, f"{strategy}{{updates={updates}}}")
            print(f"{strategy}, overlap={overlap}:")
            print(launch([sys.executable, "-W", "ignore", f"{source}/test/Torch/Inputs/train.py", folder, overlap], environment), end="")
    for name, of, text in [("one", "momentum", None), ("unused1", "unused", None),
                           ("w", None, "name,tensors\nw,4xf32\n"), ("inner", None, "name,tensors\ninner,w=4xf32\n"),
                           ("sparse", None, "name,tensors\ntable,weight=10x4xf32\n")]:
        with open(f"{folder}/{of}.csv" if of else os.devnull, encoding="utf-8") as file:
            text = text or file.read()
        with open(f"{folder}/{name}.csv", "w", encoding="utf-8") as file:
            file.write(text)
        import_table(folder, name, 1)
        compile_plan(folder, name, "ddp{updates=program}")
    print(run(sys.executable, f"{source}/test/Torch/Inputs/mistakes.py", folder, env=environment), end="")


main(*sys.argv[1:])
