# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What DataParallel says of its steps: check_report.py SOURCE BUILD WORK"""
import logging
import os
import sys
import threading
import warnings

import plans


def slowed(table):
    """Of a model that computes a thousand times as long."""
    head, *lines = table.splitlines()
    columns = head.split(",")
    times = [place for place, column in enumerate(columns) if column.endswith("_ns")]
    if not times:
        sys.exit(f"expected columns of times, found {head}")
    slow = []
    for line in lines:
        words = line.split(",")
        for place in times:
            words[place] = str(1000 * int(words[place] or 0))
        slow.append(",".join(words))
    return "\n".join([head, *slow]) + "\n"


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    import torch
    from torch import nn
    import bagua.torch
    from bagua import runtime

    def make():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))

    plans.make_table(f"{work}/model.csv", make(), torch.randn(4, 8))
    with open(f"{work}/model.csv", encoding="utf-8") as file:
        table = file.read()
    with open(f"{work}/slow.csv", "w", encoding="utf-8") as file:
        file.write(slowed(table))
    plans.make_plans(f"{work}/slow.csv", 2, {f"{work}/slow.bagua": "ddp{updates=program}", f"{work}/late.bagua": "ddp{updates=late}"})

    class Handler(logging.Handler):
        def emit(self, record):
            print(f"log: {record.getMessage()}")

    log = logging.getLogger("bagua")
    log.setLevel(logging.INFO)
    log.addHandler(Handler())

    def on_two_ranks(train):
        """What rank 0 is warned of."""
        worlds = runtime.World.in_process(2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            other = threading.Thread(target=train, args=(worlds[1],))
            other.start()
            train(worlds[0])
            other.join()
        return [str(warning.message) for warning in caught]

    def train(world):
        model = bagua.torch.DataParallel(make(), f"{work}/slow.bagua", world=world)
        is_first = world.rank == 0
        if is_first:
            print(f"at the start: {model.report()}")
        x = torch.randn(4, 8)

        def step():
            model(x).sum().backward()
            model.zero_grad()
        for _ in range(24):
            step()
        if is_first:
            with torch.profiler.profile() as profile:
                step()
            measured, predicted = model._training.session.step_figures(), model._training.predicted
            print(f"bytes {'as predicted' if measured[-1].bytes_sent == predicted.bytes_sent else (measured[-1], predicted)}")
            print(f"later: {model.report()}")
            print(f"spans: {sorted({event.name for event in profile.events() if 'bagua' in event.name})}")
        else:
            step()
        model.close()
        if is_first:
            said.append(f"closed: {model.report()}")

    said = []
    for warning in on_two_ranks(train):
        print(f"warned: {warning}")
    print(*said)

    log.setLevel(logging.WARNING)

    # Loops whose forward takes 20 seconds of a clock, backward 10, update 10, and all else 100: data, micro-batches, waits for others.
    def counts(loop, planned=30, **options):
        """Seconds of forward with backward, and of the update, in the last of 20 steps, and what rank 0 is warned of."""
        clock, found = [0], []

        def take(seconds):
            clock[0] += seconds

        class Slow(nn.Linear):
            def forward(self, x):
                take(20)
                x = super().forward(x)
                if x.requires_grad:
                    x.register_hook(lambda _: take(10))
                return x

        def train(world):
            module = nn.Sequential(nn.Linear(8, 8), (Slow if world.rank == 0 else nn.Linear)(8, 8))
            own = torch.optim.SGD(module.parameters(), lr=1e-3)
            deferred = dict(overlap="step", optimizer=own) if options.get("overlap") else {}
            model = bagua.torch.DataParallel(module, f"{work}/{'late' if deferred else 'slow'}.bagua", world=world, **{**options, **deferred})
            if world.rank == 0:
                model._training.gradients.compute = bagua.torch.report.Compute(runtime.StepFigures(-1, planned + 7, 7, 0), now=lambda: clock[0])
                if deferred:
                    alone = model._training.overlap.updates._alone
                    update = alone.step
                    alone.step = lambda: (take(2.5 * len(alone.param_groups[0]["params"])), update())
                else:
                    own.register_step_pre_hook(lambda *_: take(10))
                all_reduce = model._training.group.all_reduce
                model._training.group.all_reduce = lambda *arguments: (take(100), all_reduce(*arguments))
            other = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1e-3)
            with model:
                for _ in range(20):
                    if world.rank == 0:
                        take(100)
                    loop(model, own, other, lambda: take(100 * (world.rank == 0)))
                if world.rank == 0:
                    found.append([round(seconds) for seconds in model._training.gradients.compute._found[-1]])
        warned = on_two_ranks(train)
        return f"{found[0]}, {', '.join(text.split(':')[0] for text in warned) or 'none'}"

    x = torch.randn(4, 8)

    def plain(model, own, other, do_else):
        model(x).sum().backward()
        do_else()
        own.step()
        own.zero_grad()

    def by_closure(model, own, other, do_else):
        def closure():
            own.zero_grad()
            loss = model(x).sum()
            loss.backward()
            return loss
        own.step(closure)

    def accumulated(model, own, other, do_else):
        for _ in range(2):
            with model.no_sync():
                model(x).sum().backward()
            do_else()
        plain(model, own, other, do_else)

    def beside_another_optimizer(model, own, other, do_else):
        loss = model(x).sum()
        other.step()
        loss.backward()
        own.step()
        own.zero_grad()

    def evaluated(model, own, other, do_else):
        with torch.no_grad():
            model(x)
        plain(model, own, other, do_else)

    for loop in (plain, by_closure, accumulated, beside_another_optimizer, evaluated):
        for options in ({}, {"overlap": "step"}, {"find_unused_parameters": True}):
            print(f"{loop.__name__} {options}: {counts(loop, **options)}")
    # A plan by a table has no update in its compute, a plan of an exported step has.
    for planned in (14, 16, 79, 81):
        print(f"planned {planned} s: {counts(plain, planned)}")

    def clips(does_clip):
        def train(world):
            module = make()
            optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
            model = bagua.torch.DataParallel(module, f"{work}/late.bagua", world=world, overlap="step", optimizer=optimizer)
            for _ in range(6):
                optimizer.zero_grad()
                model(torch.randn(4, 8)).sum().backward()
                if does_clip:
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            model.close()
        return train
    # Ranks are threads of one process, each of which warns.
    print(f"clipped: {', '.join(sorted(set(on_two_ranks(clips(True)))))}")
    print(f"left alone: {', '.join(on_two_ranks(clips(False))) or 'none'}")

    def in_mode(plan, overlap):
        def train(world):
            module = make()
            options = {"optimizer": torch.optim.SGD(module.parameters(), lr=0.1)} if overlap == "step" else {}
            bagua.torch.DataParallel(module, f"{work}/{plan}.bagua", world=world, overlap=overlap, **options).close()
        return train
    for plan, overlap in (("slow", "backward"), ("slow", "step"), ("late", "backward"), ("late", "step")):
        print(f"{plan}, {overlap}: {', '.join(on_two_ranks(in_mode(plan, overlap))) or 'none'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
