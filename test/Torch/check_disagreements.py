# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank made to differ from the others in one thing: check_disagreements.py SOURCE BUILD WORK

Each kind runs by each way on two ranks that stay warm, in a run of its own. It ends on both ranks with an error that names what
differs, or with the gradients of one process that has both batches. Prints a line for what does neither."""
import os
import subprocess
import sys

import plans

RANKS = 2
WAYS = {"backward": {}, "views": {"gradient_as_bucket_view": True}, "step": {"overlap": "step"}}
UPDATES = {"backward": "program", "views": "program", "step": "late"}


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    plans.use_build(source, build)
    os.environ["OMP_NUM_THREADS"] = "1"
    import disagreements as kinds
    import torch
    plans.make_table(f"{work}/net.csv", kinds.Net(), torch.randn(4, 8))
    plans.make_plans(f"{work}/net.csv", RANKS, {
        f"{work}/net.{updates}.bagua": f"ddp{{updates={updates} first-bytes=64 cap-bytes=256}}" for updates in UPDATES.values()})
    ranks = [subprocess.Popen([sys.executable, "-W", "ignore", kinds.__file__, work, str(rank)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) for rank in range(RANKS)]
    said = [rank.communicate(timeout=900)[0].splitlines() for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit("\n".join(map("\n".join, said)))
    wrong = [line for lines in said for line in lines if line.startswith("wrong")]
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"{len(kinds.KINDS)} kinds by {len(WAYS)} ways: {len(wrong)} wrong")


if __name__ == "__main__":
    main(*sys.argv[1:])
