# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops in which a rank differs in one thing, on ranks that stay warm: crossed.py WORK RANK RUNS

RUNS has a run a line: LOOP TROUBLE WAY RANKS OTHER, where OTHER is the rank that differs; this process takes part where RANK is below
RANKS. With the way DDP it writes what DistributedDataParallel has in the end; else it compares with that. Prints for each run the seconds that it took,
for how many of them this process was busy (it computed, or was ready to and had no core), and "equal", "differs by ...", or the error, behind "by its
program: " where bagua has not raised it."""
import contextlib
import os
import sys
import time
import traceback

import torch
import torch.distributed as dist

import loops
import troubles

WAYS = {"backward": {}, "views": {"gradient_as_bucket_view": True}, "step": {}}
UPDATES = {"backward": "program", "views": "program", "step": "late"}


def reference(work, loop, trouble, ranks, other):
    kind = troubles.TROUBLES[trouble]
    name = f"{trouble}.{other}" if kind.changes_numbers else "nothing"
    return f"{work}/{loop}.{name}.{ranks}.DDP"


def busy_seconds():
    """For which this thread has run, or been ready to run, so far."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return sum(map(int, file.read().split()[:2])) / 1e9


class Rank:
    def __init__(self, work, rank, loop, trouble, way, ranks, other):
        self.work, self.rank, self.loop, self.way, self.ranks = work, rank, loop, way, ranks
        self.kind = troubles.TROUBLES[trouble]
        self.trouble = (getattr(self.kind, "InDDP", self.kind) if way == "DDP" else self.kind)()
        self.is_other = rank == other
        self.reference = reference(work, loop, trouble, ranks, other)

    def wrap(self, model, optimizer, world):
        import bagua.torch
        options = {"find_unused_parameters": loops.LOOPS[self.loop].unused, "gradient_as_bucket_view": False, **WAYS[self.way]}
        if self.is_other:
            options.update({name: value(options[name]) if callable(value) else value for name, value in self.trouble.options.items()})
        deferred = {"overlap": "step", "optimizer": optimizer} if self.way == "step" else {}
        return bagua.torch.DataParallel(model, f"{self.work}/plans/{loops.LOOPS[self.loop].make_model.__name__}.{self.ranks}."
                                        f"{UPDATES[self.way]}.bagua", world=world, timeout=120, **options, **deferred)

    def run(self, world, stack):
        from bagua import runtime
        model, optimizer = loops.prepare(self.loop)
        self.trouble.before_wrap(model, self.is_other)
        if world is None:
            parallel, add_up = loops.wrap_by_ddp(self.loop, model), dist.all_reduce
        else:
            parallel = self.wrap(model, optimizer, world)
            stack.callback(parallel.close)
            sums = world.communicator("sums", timeout=120)
            stack.callback(sums.close)

            def add_up(tensor):
                sums.all_reduce(tensor.data_ptr(), tensor.data_ptr(), tensor.numel(), runtime.Type.FLOAT32)
        stack.enter_context(self.trouble.stack)
        if self.is_other:
            self.trouble.watch(parallel, model)
        run = loops.Run(parallel, model, optimizer, self.rank, add_up)
        try:
            return loops.train(self.loop, parallel, run)
        finally:
            self.trouble.stack.close()

    def write_reference(self):
        with contextlib.ExitStack() as stack:
            values = self.run(None, stack)
        torch.save(values, f"{self.reference}.{self.rank}")

    def compare(self, values):
        """Other ranks' order of sums is another one than that of a ring of three, and convolutions of other layouts round otherwise."""
        expected, most = torch.load(f"{self.reference}.{self.rank}"), 0.0
        for name in expected.keys() & values.keys():
            size = max(1.0, expected[name].double().abs().max().item()) if expected[name].numel() else 1.0
            most = max(most, ((expected[name].double() - values[name].double()).abs().max().item() / size) if expected[name].numel() else 0.0)
        is_exact = self.ranks == 2 and "layout" not in self.kind.__name__
        return "equal" if most <= (0 if is_exact else 2e-5) else f"differs by {most:.1e}"

    def try_run(self, number):
        import bagua
        from bagua import runtime
        world = runtime.World.connect(self.rank, self.ranks, rendezvous=f"{self.work}/meet/{number}", patience=5, timeout=60)
        begin, busy, found, stack = time.monotonic(), busy_seconds(), "", contextlib.ExitStack()
        try:
            found = self.compare(self.run(world, stack))
            stack.close()
        except Exception as error:  # a program's own ends its rank, too
            raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
            by = "" if raised_in.startswith(os.path.dirname(bagua.__file__)) else "by its program: "
            found = f"{by}{type(error).__name__}: {error}".replace("\n", " ")
        finally:
            with contextlib.suppress(RuntimeError, ValueError):
                stack.close()
            world.close()
        return time.monotonic() - begin, busy_seconds() - busy, found


def main(work, rank, runs):
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False
    rank = int(rank)
    with open(runs, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if lines[0].split()[2] == "DDP":
        dist.init_process_group("gloo")
    for number, line in enumerate(lines):
        loop, trouble, way, ranks, other = line.split()
        if rank >= int(ranks):
            continue
        own = Rank(work, rank, loop, trouble, way, int(ranks), int(other))
        if way == "DDP":
            own.write_reference()
            dist.barrier()
        else:
            seconds, busy, found = own.try_run(number)
            print(f"{number}\t{seconds:.1f}\t{busy:.1f}\t{found}", flush=True)
        if "compiled" in loop or "compiled" in trouble:
            torch._dynamo.reset()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
