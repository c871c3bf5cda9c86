# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains through the steps of one plan, at once and resumed: check_phases.py SOURCE BUILD WORK"""
import os
import subprocess
import sys

import plans
from commands import run

RANKS = 2
STRATEGIES = "@coarse=wfbp-a2a{wire=minmax_uint8 updates=program} @fine=wfbp-a2a{updates=program} @body=wfbp-a2a{updates=program}"


def launch(program, job, *arguments):
    """What rank 0 prints, and the last line of each rank's errors."""
    port, job = plans.free_port(), f"phases-{os.getpid()}-{job}"
    ranks = [subprocess.Popen([sys.executable, "-W", "ignore", program, *map(str, arguments)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **plans.launched(rank, RANKS, port, job)}) for rank in range(RANKS)]
    said = [rank.communicate(timeout=120) for rank in ranks]
    return said[0][0].strip(), [errors.strip().splitlines()[-1] for _, errors in said if errors.strip()]


def train(source, work, name, first, end, head=6, *unsynced):
    return launch(f"{source}/test/Torch/Inputs/phases.py", f"{name}-{first}", f"{work}/phases.bagua", first, end, f"{work}/{name}.pt", head, *unsynced)


def train_alone(work):
    """Iterations 6 and 7 in this process, and whether the ranks of "whole" have made the same of "parts"."""
    import torch
    from phases import Model, batch
    model, ranks = Model(), torch.load(f"{work}/whole.pt")
    model.load_state_dict(torch.load(f"{work}/parts.pt"))
    for step in (6, 7):
        model.w.grad = None
        (sum(model(batch(rank, step), False) for rank in range(RANKS)) / RANKS).backward()
        with torch.no_grad():
            model.w -= 0.001 * model.w.grad
    return "as one process" if all(torch.allclose(own, ranks[name], atol=0, rtol=1e-6) for name, own in model.state_dict().items()) else "other numbers"


def plan(text, file):
    planned = run("bagua-opt", f"--bagua-strategy={STRATEGIES}", input=text)
    run("bagua-translate", "--export-plan", "-o", file, input=planned)


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    with open(f"{source}/test/Torch/Inputs/phases.mlir", encoding="utf-8") as file:
        text = file.read()
    plan(text, f"{work}/phases.bagua")
    plan(text.replace("@coarse until 3", "@body until 1").replace("@fine until 6", "@coarse until 3").replace("phase @body\n", "phase @fine\n"),
         f"{work}/dropped.bagua")
    whole, _ = train(source, work, "whole", 0, 6)
    print("trained:", len(whole.split()) == 2)
    for at in (2, 3, 4):
        train(source, work, "parts", 0, at)
        print(f"resumed at {at}:", "every bit" if train(source, work, "parts", at, 6)[0] == whole else "other numbers")
    print("without the head:", train_alone(work) if not train(source, work, "whole", 6, 8)[1] else "an error")
    _, errors = train(source, work, "parts", 6, 7, head=7)
    print("a gradient of another step:", *errors, sep="\n")
    _, errors = train(source, work, "parts", 6, 8, 6, 7)
    print("a gradient of another step, without synchronisation:", *errors, sep="\n")
    said, errors = launch(f"{source}/test/Torch/Inputs/dropped.py", "dropped", f"{work}/dropped.bagua")
    print(said, *errors)


if __name__ == "__main__":
    main(*sys.argv[1:])
