# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs say to DistributedDataParallel, said to DataParallel: check_as_ddp.py SOURCE BUILD WORK"""
import contextlib
import copy
import inspect
import os
import sys
import warnings

import plans


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel
    import bagua.torch
    from bagua import runtime

    def make():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))

    def wrap(model, **options):
        return bagua.torch.DataParallel(model, f"{work}/one.bagua", world=runtime.World.in_process(1)[0], **options)

    def freeze(model):
        model[1].requires_grad_(False)
        return model

    def turn_complex(model):
        model[1].weight = nn.Parameter(torch.ones(8, dtype=torch.complex64))
        return model

    def say(what, attempt):
        try:
            attempt()
            print(f"{what}: taken")
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            print(f"{what}: {type(error).__name__}: {error}")

    plans.make_table(f"{work}/one.csv", make(), torch.randn(4, 8))
    plans.make_plans(f"{work}/one.csv", 1, {f"{work}/one.bagua": "ddp{updates=program}", f"{work}/late.bagua": "ddp{updates=late}"})
    plans.make_plans(f"{work}/one.csv", 2, {f"{work}/two.bagua": "ddp{updates=program}"})

    # What is an option there by default, and what a program would say.
    parameters = list(inspect.signature(DistributedDataParallel.__init__).parameters.values())[2:]
    for parameter in parameters:
        if parameter.name != "broadcast_buffers":
            wrap(make(), **{parameter.name: parameter.default})
    print(f"{len(parameters)} options: taken as they are by default" if len(parameters) >= 10 else parameters)
    for name, value in [("device_ids", []), ("device_ids", [0]), ("output_device", 0), ("process_group", object), ("bucket_cap_mb", 25),
                        ("static_graph", True), ("init_sync", False), ("mixed_precision", object), ("bucket_cap_gb", 1)]:
        say(f"{name}={value}", lambda: wrap(make(), **{name: value}))
    both = wrap(make())
    for name in ("register_comm_hook", "join", "reducer"):
        print(f"has {name}: {hasattr(both, name)}")
        say(name, lambda: getattr(both, name))
    say("another", lambda: both.another)

    # Checkpoints.
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    trained = DistributedDataParallel(make())
    trained(torch.randn(4, 8)).sum().backward()
    with torch.no_grad():
        for param in trained.parameters():
            param.add_(1)
    saved = copy.deepcopy(trained.state_dict())
    keys = list(saved)
    both.load_state_dict(saved)
    same = all(torch.equal(value, saved["module." + name]) for name, value in both.state_dict().items())
    print("a checkpoint:", "equal" if same and list(saved) == keys else "different", both.state_dict()["1.num_batches_tracked"].item())
    both.load_state_dict(both.state_dict())

    # Around ours, as accelerator.prepare makes one, and within.
    around = DistributedDataParallel(wrap(make()))
    say("DDP around it", lambda: around(torch.randn(4, 8)))
    say("DDP within it", lambda: wrap(nn.Sequential(DistributedDataParallel(make()))))
    dist.destroy_process_group()

    # Without a launcher.
    for options in ({}, {"overlap": "step"}, {"find_unused_parameters": True, "gradient_as_bucket_view": True}):
        model, alone = make(), make()
        optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (model, alone)]
        if options.get("overlap"):
            options["optimizer"] = optimizers[0]
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            parallel = bagua.torch.DataParallel(model, f"{work}/late.bagua", **options)
        print("by itself:", *{str(warning.message) for warning in said}, "at", os.path.basename(said[0].filename))
        with parallel:
            for step in range(3):
                x = torch.randn(4, 8, generator=torch.Generator().manual_seed(step))
                for one, optimizer in zip((parallel, alone), optimizers):
                    with one.no_sync() if one is parallel and step == 0 else contextlib.nullcontext():
                        one(x).square().sum().backward()
                    optimizer.step()
                    one.zero_grad()
            parallel.synchronize()
        same = all(torch.equal(*pair) for pair in zip(model.state_dict().values(), alone.state_dict().values()))
        print("trained by itself:", "equal" if same else "different")
    os.environ["RANK"] = "1"
    say("without WORLD_SIZE", lambda: bagua.torch.DataParallel(make(), f"{work}/late.bagua"))
    del os.environ["RANK"]
    say("a lazy model", lambda: wrap(nn.Sequential(nn.LazyLinear(8), nn.BatchNorm1d(8))))
    # Another device's.
    elsewhere = make().to("meta")
    say("a model elsewhere", lambda: wrap(elsewhere))
    say("its table", lambda: bagua.torch.step_table(elsewhere, lambda model, x: model(x).sum(), (torch.randn(4, 8, device="meta"),)))
    say("another model by itself", lambda: bagua.torch.DataParallel(nn.Linear(3, 3), f"{work}/late.bagua"))
    say("a frozen layer", lambda: wrap(freeze(make())))
    say("fewer ranks than planned", lambda: bagua.torch.DataParallel(make(), f"{work}/two.bagua", world=runtime.World.in_process(1)[0]))
    worlds = runtime.World.in_process(2, timeout=0.2)
    say("the world's limit", lambda: bagua.torch.DataParallel(make(), f"{work}/two.bagua", world=worlds[0]))
    say("complex params", lambda: wrap(turn_complex(make())))
    say("their table", lambda: bagua.torch.step_table(turn_complex(make()), lambda model, x: model(x).sum(), (torch.randn(4, 8),)))


if __name__ == "__main__":
    for name in ("RANK", "WORLD_SIZE"):
        os.environ.pop(name, None)
    main(*sys.argv[1:])
