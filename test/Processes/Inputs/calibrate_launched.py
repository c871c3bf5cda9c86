#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of bagua-run --calibrate with the variables that torchrun sets: calibrate_launched.py measure FILE | refuse FOLDER"""
import os
import socket
import subprocess
import sys

# Of a whole run. Nothing here is told by how long it takes: a rank that hangs must end somehow.
LIMIT = 600


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def calibrate(ranks, *flags):
    """By rank, how it ended and what it said."""
    shared = dict(os.environ, WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                  MASTER_PORT=str(free_port()))
    processes = [subprocess.Popen(["bagua-run", "--calibrate", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=dict(shared, RANK=str(rank), LOCAL_RANK=str(rank))) for rank in range(ranks)]
    ends = []
    for process in processes:
        try:
            said, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            sys.exit(f"no end in {LIMIT} s")
        ends.append((process.returncode, said, errors))
    return ends


def measure(file):
    # Into a file that holds something longer, of which nothing may be left.
    with open(file, "w", encoding="ascii") as old:
        old.write("x" * 100000)
    for rank, end in enumerate(calibrate(2, "-o", file)):
        expected = "" if rank else "bagua-run: measures the links between 2 processes of 1 host, in one or two minutes\n"
        if end != (0, "", expected):
            sys.exit(f"rank {rank} ended with {end}")


def refuse(folder):
    pipe = f"{folder}/pipe"
    os.mkfifo(pipe)
    before = sorted(os.listdir(folder))
    cases = [("one rank", 1, ["-o", f"{folder}/one.mlir"]),
             ("no such folder", 3, ["-o", f"{folder}/none/cluster.mlir"]),
             ("a pipe that nobody reads", 2, [f"-o={pipe}"]),
             ("a number of ranks", 2, ["--ranks=3", "-o", f"{folder}/three.mlir"])]
    for what, ranks, flags in cases:
        ends = calibrate(ranks, *flags)
        errors = {errors for _, _, errors in ends}
        if len(errors) > 1 or any(code != 1 or said for code, said, _ in ends):
            sys.exit(f"{what}: ranks ended with {ends}")
        print(f"{what}: {errors.pop()}", end="")
    if sorted(os.listdir(folder)) == before:
        print("nothing is left behind")


if __name__ == "__main__":
    {"measure": measure, "refuse": refuse}[sys.argv[1]](sys.argv[2])
