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
            measured, predicted = model._session.step_figures(), model._predicted
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

    # A step's compute leaves out the program's work between steps: forward and backward take 30 of these seconds, a wait 5, an update 10 by
    # itself or within forward, which the plan's compute has in it or not.
    def compares(planned, is_late):
        clock = [0]
        compute = bagua.torch.report.Compute(runtime.StepFigures(-1, planned + 7, 7, 0), now=lambda: clock[0])

        def take(seconds, work=True):
            (compute.resume if work else compute.pause)()
            clock[0] += seconds
        found = []
        for _ in range(30):
            take(20)
            take(5, work=False)
            take(10)
            if is_late:
                with compute.update():
                    clock[0] += 10
            found.append(compute.end_step())
            take(100, work=False)
            if not is_late:
                compute.resume(is_update=True)
                clock[0] += 10
            compute.pause()
            take(200, work=False)
        return f"{sum(map(bool, found))}, {next(filter(None, found), 'none').split(':')[0]}"
    for planned in (14, 16, 79, 81):
        print(f"planned {planned} s: {compares(planned, False)}; updates in forward: {compares(planned, True)}")

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
    log.setLevel(logging.WARNING)
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
