#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that use an installed Bagua: consumers.py SOURCE BUILD FOLDER

One in C++, one in C, built by CMake's package and by pkg-config, and one in Python run a real step's plans on four processes."""
import os
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from commands import run

RANKS = 4
# Gradients in arenas, at the program's place, by levels of the network, in parts.
STRATEGIES = ["ddp", "wfbp-a2a", "blueconnect", "bytescheduler-a2a"]


def compile_plan(step, strategy, plan):
    scheduled = run("bagua-opt", f"--bagua-strategy={strategy}{{updates=program}}", step)
    run("bagua-translate", "--export-plan", "-o", plan, input=scheduled)


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def launch(command, hosts, **variables):
    """Ranks as torchrun starts them; on several hosts by turns."""
    launcher = {"WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(free_port()), "TORCHELASTIC_RUN_ID": f"{os.getpid()}"}
    ranks = []
    for rank in range(RANKS):
        place = [f"host{rank % hosts}", "127.0.0.1"] if hosts > 1 else []
        environment = {**os.environ, **launcher, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        ranks.append(subprocess.Popen([*command, *place], env=environment, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    outputs = [rank.communicate(timeout=120)[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit("\n".join(f"rank {rank}: {output}" for rank, output in enumerate(outputs)))
    return outputs[0]


def main(source, build, folder):
    here = f"{source}/test/Examples/Inputs/means"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    prefix = f"{folder}/install"
    run("cmake", "--install", build, "--prefix", prefix)
    run("cmake", "-S", here, "-B", f"{folder}/build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", f"{folder}/build")
    flags = run("pkg-config", "--cflags", "--libs", "bagua",
                env={**os.environ, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}).split()
    # A header that C of 1999 takes.
    run("cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"{here}/means.c", "-o", f"{folder}/means", *flags)
    library = {"LD_LIBRARY_PATH": f"{prefix}/lib"}
    python = {"PYTHONPATH": f"{source}/python", "BAGUA_LIBRARY": f"{prefix}/lib/libbagua.so"}
    run("bagua-translate", "--import-stablehlo", f"{source}/test/graphs/mlp.mlir", f"--cluster=node=2,gpu={RANKS // 2}",
        "-o", f"{folder}/mlp.mlir")
    for strategy in STRATEGIES:
        plan = f"{folder}/{strategy}.bagua"
        compile_plan(f"{folder}/mlp.mlir", strategy, plan)
        for hosts in [1, 2]:
            for name, command, variables in [
                ("C++", [f"{folder}/build/means-cpp", plan], {}),
                ("C, by CMake", [f"{folder}/build/means", plan], {}),
                ("C, by pkg-config", [f"{folder}/means", plan], library),
                ("Python", [sys.executable, f"{here}/means.py", plan], python),
            ]:
                print(f"{strategy}, {name}: {launch(command, hosts, **variables)}", end="")


main(*sys.argv[1:])
