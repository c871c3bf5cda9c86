# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients that lie in unusual ways, on two ranks: check_layouts.py SOURCE BUILD WORK"""
import os
import subprocess
import sys

import plans

RANKS = 2


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    import layouts
    for name, model in layouts.MODELS.items():
        plans.make_table(f"{work}/{name}.csv", model(), model().batch(0))
        plans.make_plans(f"{work}/{name}.csv", RANKS, {f"{work}/{name}.backward.bagua": "ddp{updates=program}",
                                                        f"{work}/{name}.step.bagua": "ddp{updates=late}"})
    port = plans.free_port()
    ranks = [subprocess.Popen([sys.executable, layouts.__file__, work],
                              env={**os.environ, **plans.launched(rank, RANKS, port, f"layouts-{os.getpid()}")}) for rank in range(RANKS)]
    sys.exit(any([rank.wait(timeout=600) for rank in ranks]))


if __name__ == "__main__":
    main(*sys.argv[1:])
