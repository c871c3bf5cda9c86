#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it costs that ranks agree on what they train: agreement.py BUILD [STEPS]

By itself, in a loop, and within the steps of examples/train-gpt's model on one rank, where other work has the caches in between. Microseconds.
Runs with the Python that has torch (scripts/setup --full; ~/.cache/bagua/torch/bin/python).
"""
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIMES = 10000


class Clock:
    """The time that calls of some functions take, those within one another once."""

    def __init__(self):
        self.seconds, self.is_running = 0, False

    def watch(self, owner, name):
        function = getattr(owner, name)

        def timed(*arguments, **named):
            if self.is_running:
                return function(*arguments, **named)
            self.is_running, begin = True, time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds, self.is_running = self.seconds + time.perf_counter() - begin, False
        setattr(owner, name, timed)


def make_plan(folder, table):
    with open(f"{folder}/layers.csv", "w", encoding="utf-8") as file:
        file.write(table)
    step = subprocess.run(["bagua-translate", "--import-layers", f"{folder}/layers.csv", "--cluster=rank=1"], check=True,
                          capture_output=True).stdout
    planned = subprocess.run(["bagua-opt", "--bagua-strategy=ddp{updates=program}"], input=step, check=True, capture_output=True).stdout
    subprocess.run(["bagua-translate", "--export-plan", "-o", f"{folder}/plan.bagua"], input=planned, check=True)
    return f"{folder}/plan.bagua"


def alone(call):
    """Of one call, the least of some loops."""
    found = []
    for _ in range(5):
        begin = time.perf_counter()
        for i in range(TIMES):
            call(i)
        found.append((time.perf_counter() - begin) / TIMES)
    return 1e6 * min(found)


def main(build, steps=30):
    os.environ.update(BAGUA_LIBRARY=f"{os.path.abspath(build)}/lib/libbagua.so", PATH=f"{os.path.abspath(build)}/bin:{os.environ['PATH']}")
    sys.path += [f"{ROOT}/python", f"{ROOT}/examples/train-gpt"]
    import torch
    import bagua.torch
    from bagua import runtime
    from train import GPT, loss_of
    torch.set_num_threads(1)
    model = GPT(320, 8, 64)
    x, y = torch.randint(256, (4, 64)), torch.randint(256, (4, 64))
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(bagua.torch.DataParallel(
            model, make_plan(folder, bagua.torch.step_table(model, loss_of, (x, y))), world=runtime.World.in_process(1)[0])) as wrapped:
        modules, params = len(list(model.modules())), len(list(model.parameters()))
        training = wrapped._training
        session, slots = training.session, training.gradients.slots
        gradients = [torch.zeros_like(slot.param) for slot in slots]
        rows = [("a fact", alone(lambda i: session.agree_on("a number", i))),
                ("a tensor's layout, where it changes", alone(lambda i: session.agree_on_tensor(0, i, "a layout"))),
                (f"a gradient's layout, where it doesn't, of {len(slots)}", alone(lambda _: training.reducer.dense_gradients(slots, gradients)) / len(slots)),
                (f"whether the model is the same: {params} params in {modules} modules", alone(lambda _: training._model.has_changed()))]
        clock, taken, whole = Clock(), [], []
        for owner, name in ((training, "check_params"), (training._agreement, "count"), (training.overlap, "before_update"),
                            (training.reducer, "dense_gradients")):
            clock.watch(owner, name)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(int(steps)):
            clock.seconds, begin = 0, time.perf_counter()
            loss_of(wrapped, x, y).backward()
            optimizer.step()
            optimizer.zero_grad()
            whole.append(1e6 * (time.perf_counter() - begin))
            taken.append(1e6 * clock.seconds)
    print("| | us |\n|---|---|")
    for what, us in rows:
        print(f"| {what} | {us:.2f} |")
    print(f"| all of it in a step of {1e-3 * statistics.median(whole):.0f} ms (min / median / max) | "
          f"{min(taken):.0f} / {statistics.median(taken):.0f} / {max(taken):.0f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
