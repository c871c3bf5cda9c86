# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training loops by DataParallel beside DistributedDataParallel: check_loops.py SOURCE BUILD WORK

Two ranks, so that DDP's ring adds in our order, and every bit is to be the same."""
import itertools
import os
import subprocess
import sys

import plans

RANKS = 2
# Gradients in buckets, and by themselves.
STRATEGIES, UPDATES = ("ddp", "wfbp-a2a"), {"backward": "program", "step": "late"}
WAYS = [f"{strategy}.{overlap}.{views}" for strategy in STRATEGIES for overlap in UPDATES for views in (False, True)]


def make_plans(loops, work):
    import torch
    torch.backends.mkldnn.enabled = False
    for name, loop in loops.LOOPS.items():
        model = loop.make()
        x = torch.randn(16, loops.WIDTH, dtype=next(model.parameters()).dtype)
        plans.make_table(f"{work}/{name}.csv", model, x)
        plans.make_plans(f"{work}/{name}.csv", RANKS, {
            f"{work}/{name}.{strategy}.{overlap}.bagua": f"{strategy}{{updates={UPDATES[overlap]}}}"
            for strategy, overlap in itertools.product(STRATEGIES, UPDATES)})


def train(source, work, way):
    port = plans.free_port()
    ranks = [subprocess.Popen([sys.executable, f"{source}/test/Torch/Inputs/loops.py", work, way],
                              env={**os.environ, **plans.launched(rank, RANKS, port, f"loops-{os.getpid()}-{way}")},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(RANKS)]
    said = [rank.communicate(timeout=600)[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit(f"{way}: {said}")


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    import loops
    import torch
    make_plans(loops, work)
    for way in ("DDP", *WAYS):
        train(source, work, way)
    different = 0
    for name in loops.LOOPS:
        expected = torch.load(f"{work}/{name}.DDP")
        for way in WAYS:
            found = torch.load(f"{work}/{name}.{way}")
            differ = [key for key in expected if not torch.equal(found[key], expected[key])]
            different += bool(differ)
            if differ:
                most = max((found[key].double() - expected[key].double()).abs().max().item() for key in differ)
                print(f"{name}, {way}: differs in {', '.join(differ)} by {most:.1e}")
    print(f"{len(loops.LOOPS)} loops by {len(WAYS)} ways: {different} differ from DDP in some bit")


if __name__ == "__main__":
    main(*sys.argv[1:])
