# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains through the steps of one plan, at once and resumed: check_phases.py SOURCE BUILD WORK"""
import os
import subprocess
import sys

import plans
from commands import run

RANKS = 2
STRATEGIES = "@coarse=wfbp-a2a{wire=minmax_uint8 updates=program} @fine=wfbp-a2a{updates=program} @body=wfbp-a2a{updates=program}"


def train(source, work, name, first, end):
    port, job = plans.free_port(), f"phases-{os.getpid()}-{name}-{first}"
    ranks = [subprocess.Popen([sys.executable, "-W", "ignore", f"{source}/test/Torch/Inputs/phases.py", f"{work}/phases.bagua", str(first),
                               str(end), f"{work}/{name}.pt"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **plans.launched(rank, RANKS, port, job)}) for rank in range(RANKS)]
    said = [rank.communicate(timeout=120) for rank in ranks]
    return said[0][0].strip(), [errors.strip().splitlines()[-1] for _, errors in said if errors.strip()]


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    planned = run("bagua-opt", f"--bagua-strategy={STRATEGIES}", f"{source}/test/Torch/Inputs/phases.mlir")
    run("bagua-translate", "--export-plan", "-o", f"{work}/phases.bagua", input=planned)
    whole, _ = train(source, work, "whole", 0, 6)
    print("trained:", len(whole.split()) == 2)
    for at in (2, 3, 4):
        train(source, work, "parts", 0, at)
        print(f"resumed at {at}:", "every bit" if train(source, work, "parts", at, 6)[0] == whole else "other numbers")
    _, errors = train(source, work, "whole", 0, 7)
    print("a gradient of another step:", *errors, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
