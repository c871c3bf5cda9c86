#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks each behind a script of its own, as `mpirun bash run.sh` has them: wrapped_ranks.py PLAN RANKS

By the variables of MPICH, which says nothing of the run: what they have in common is who started the scripts."""
import os
import subprocess
import sys


def main(plan, ranks):
    processes = []
    for rank in range(int(ranks)):
        environment = dict(os.environ, PMI_RANK=str(rank), PMI_SIZE=ranks, MPI_LOCALNRANKS=ranks)
        command = f'bagua-run "{plan}" --communicator=shared-memory --check --steps=1 --time-scale=0 --timeout=600; exit $?'
        processes.append(subprocess.Popen(["sh", "-c", command], env=environment, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True))
    said = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit("\n".join(said))
    print(f"{ranks} ranks behind scripts have met")


if __name__ == "__main__":
    main(*sys.argv[1:])
