# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every loop, where one rank differs in one thing: check_crossed.py SOURCE BUILD WORK pairs|all

Either every rank gets an error that names the thing and the rank, within ten seconds in which no rank is busy, or every rank has the
numbers of DistributedDataParallel. With `pairs` each loop has each trouble once, and by turns each way, number of ranks and rank that differs. Prints a line for each run that is
neither, and how many of which kind there were."""
import collections
import os
import re
import subprocess
import sys

import plans

LIMIT = 10  # seconds


def list_runs(loops, kinds, ways, which):
    runs = []
    for i, loop in enumerate(loops):
        for j, trouble in enumerate(kinds):
            for k, way in enumerate(ways):
                for ranks in (2, 3):
                    is_paired = (i + j) % 3 == k and (i // 3 + j) % 2 == ranks - 2
                    if (which == "all" or is_paired) and loop not in kinds[trouble].not_in:
                        other = 1 if kinds[trouble].changes_numbers else (i + j // 3) % ranks
                        runs.append((loop, trouble, way, ranks, other))
    return runs


def run_ranks(crossed, work, runs, ranks, **environment):
    """What each said. They write to files: a pipe that nobody reads would stop them."""
    paths = [f"{runs}.rank{rank}" for rank in range(ranks)]
    started = []
    for rank, path in enumerate(paths):
        with open(path, "w", encoding="utf-8") as file:
            started.append(subprocess.Popen([sys.executable, "-W", "ignore", crossed.__file__, work, str(rank), runs], stdout=file,
                                            stderr=subprocess.STDOUT, env={**os.environ, "RANK": str(rank), **environment}))
    codes = [process.wait() for process in started]
    said = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            said.append(file.read())
    if any(codes):
        sys.exit("\n".join(text[-4000:] for text, code in zip(said, codes) if code))
    return said


def write_references(crossed, work, runs, ranks):
    """By DDP, of what these runs are compared with."""
    needed = {crossed.reference(work, *run[:2], *run[3:]): run for run in runs if run[3] == ranks}
    if not needed:
        return
    with open(f"{work}/references.{ranks}", "w", encoding="utf-8") as file:
        for loop, trouble, _, _, other in needed.values():
            trouble = trouble if crossed.troubles.TROUBLES[trouble].changes_numbers else "nothing"
            file.write(f"{loop} {trouble} DDP {ranks} {other}\n")
    run_ranks(crossed, work, f"{work}/references.{ranks}", ranks, WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=plans.free_port())


def judge(kind, other, found):
    """What is wrong with what the ranks of one run have found; None: nothing. The rank that differs may end by an error of its program's,
    and is then named by the others; it need not be told its own number."""
    said = [text for *_, text in found]
    # Others wait for a rank while it computes (torch compiles for seconds), or has no core to.
    if max(seconds for seconds, *_ in found) > LIMIT + sum(busy for _, busy, _ in found):
        return "took too long"
    if all(text == "equal" for text in said):
        return None
    if any(text == "equal" or text.startswith("differs") for text in said):
        return "ranks go on" if any(":" in text for text in said) else "other numbers"
    for rank, text in enumerate(said):
        is_named = any(part in text for part in kind.errors)
        if rank == other and not is_named and not text.startswith("by its program: "):
            return "another error of the rank that differs"
        if rank != other and not is_named and f"rank {other}, which has left" not in text:
            return "another error"
        if rank != other and not re.search(rf"\branks? (?:\d+, )*{other}\b", text):
            return "the rank is not named"
    return None


def main(source, build, work, which):
    os.makedirs(f"{work}/plans", exist_ok=True)
    os.makedirs(f"{work}/meet", exist_ok=True)
    plans.use_build(source, build)
    os.environ["OMP_NUM_THREADS"] = "1"
    import crossed
    import torch
    from crossed import UPDATES, WAYS, loops, troubles
    torch.backends.mkldnn.enabled = False
    for name, maker in {loop.make_model.__name__: loop for loop in loops.LOOPS.values()}.items():
        model = maker.make()
        plans.make_table(f"{work}/plans/{name}.csv", model, torch.randn(16, loops.WIDTH, dtype=next(model.parameters()).dtype))
        for ranks in (2, 3):
            plans.make_plans(f"{work}/plans/{name}.csv", ranks, {
                f"{work}/plans/{name}.{ranks}.{updates}.bagua": f"ddp{{updates={updates} first-bytes=64 cap-bytes=256}}"
                for updates in set(UPDATES.values())})
    runs = list_runs(loops.LOOPS, troubles.TROUBLES, WAYS, which)
    for ranks in (2, 3):
        write_references(crossed, work, runs, ranks)
    with open(f"{work}/runs", "w", encoding="utf-8") as file:
        file.writelines(" ".join(map(str, run)) + "\n" for run in runs)
    found = collections.defaultdict(list)
    for text in run_ranks(crossed, work, f"{work}/runs", 3):
        for line in text.splitlines():
            if line.count("\t") == 3:
                number, seconds, busy, said = line.split("\t")
                found[int(number)].append((float(seconds), float(busy), said))
    counts = collections.Counter()
    for number, run in enumerate(runs):
        if len(found[number]) != run[3]:
            sys.exit(f"{' '.join(map(str, run))}: expected {run[3]} ranks to say what they found, found {len(found[number])}")
        wrong = judge(troubles.TROUBLES[run[1]], run[4], found[number])
        counts["wrong" if wrong else "equal" if found[number][0][2] == "equal" else "errors"] += 1
        if wrong:
            print(f"{' '.join(map(str, run))}: {wrong}: {found[number]}")
    print(f"{len(loops.LOOPS)} loops, {len(troubles.TROUBLES)} kinds of trouble, {len(runs)} runs: {counts['equal']} equal, "
          f"{counts['errors']} errors on all ranks, {counts['wrong']} wrong")


if __name__ == "__main__":
    main(*sys.argv[1:])
