# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of PyTorch share: plans of models, by the tools of a build, and where ranks meet."""
import os
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from commands import run


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def launched(rank, ranks, port, run):
    """What torchrun tells a rank of a run whose ranks are all on this host."""
    return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": run}


def use_build(source, build):
    """Of this process, and of those that it starts."""
    sys.path += [f"{source}/python", f"{source}/test/Torch/Inputs"]
    os.environ.update(PYTHONPATH=f"{source}/python", BAGUA_LIBRARY=f"{os.path.abspath(build)}/lib/libbagua.so",
                      PATH=f"{os.path.abspath(build)}/bin:{os.environ['PATH']}")


def make_table(path, model, x):
    from bagua.torch import step_table
    with open(path, "w", encoding="utf-8") as file:
        file.write(step_table(model, lambda model, x: model(x).sum(), (x,), steps=1))


def make_plans(table, ranks, strategies):
    """`strategies` are by the names of files."""
    step = run("bagua-translate", "--import-layers", table, f"--cluster=rank={ranks}")
    for plan, strategy in strategies.items():
        planned = run("bagua-opt", f"--bagua-strategy={strategy}", input=step)
        run("bagua-translate", "--export-plan", "-o", plan, input=planned)
