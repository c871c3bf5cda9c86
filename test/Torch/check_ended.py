# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank that ends without close(), and what another one hears: check_ended.py SOURCE BUILD WORK"""
import os
import subprocess
import sys

import plans

RANKS = 2


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    import ended
    plans.make_table(f"{work}/model.csv", ended.make(), ended.batch(0, 0))
    plans.make_plans(f"{work}/model.csv", RANKS, {f"{work}/backward.bagua": "ddp{updates=program}", f"{work}/step.bagua": "ddp{updates=late}"})
    for kind, way in ended.RUNS:
        port, run = plans.free_port(), f"ended-{os.getpid()}-{kind.__name__}-{way}"
        ranks = [subprocess.Popen([sys.executable, "-W", "ignore", ended.__file__, kind.__name__, way, work], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, **plans.launched(rank, RANKS, port, run)}) for rank in range(RANKS)]
        for number, rank in enumerate(ranks):
            said, errors = rank.communicate(timeout=120)
            words = (said or errors).strip().splitlines()[-1:] or ["nothing"]
            print(f"{kind.__name__}, {way}: rank {number}: {words[0]} ({rank.returncode})", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
