#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ends one rank of a run in the middle of a step and looks at the others: mishaps.py STEP.mlir OUT RUNS [PATIENCE]

RUNS processes are killed, stopped (some for good, some until the others have ended), cut off, send garbage to all or exit; or their threads hang while they
live, the one that is at an instruction, or all but the control plane's a little later; or a path to another host loses all, or large packets. Each before an
instruction that is drawn uniformly from a plan's, on a rank and in a step that are drawn, too, of one host, of two, or each on one of its own. All others must
end within the limit, and so must that which wakes, with one error that names the lost rank, where that is, an instruction and a tensor. Where the rank has
nothing to do there, the run is drawn again, and so it is where something is wrong while this machine stood still for a part of the patience: then it may
rightly be another rank that was given up. Limits and patience are longer where the machine is busy (yardstick.py). Seeds are fixed. Every kind of instruction that strategies write must have been met: the last runs are for those
that chance has left out. Nothing may be left in /dev/shm.
"""
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path += [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..", "..")]
from commands import run
from strategies_on_processes import CLUSTER
from yardstick import Standstills, margin

# Between them they have every kind of instruction that strategies write, which is looked at.
STRATEGIES = ["ddp", "bytescheduler-a2a{updates=runtime}", "blueconnect", "dear", "wfbp-a2a{wire=bf16}", "byteps",
              "bagua-allreduce"]
# Whether these have something to do is a plan's affair.
MAY_BE_IDLE = {"After", "Concat", "Split"}
MISHAPS = ["kill", "stop", "wake", "exit", "disconnect", "garbage", "stick", "freeze"]
# A path between hosts that loses all, or what is large: one in so many, for it is found out after ten seconds, 15 at most.
PATHS, RARELY, MOST_OF_PATH = ["cut", "eat"], 25, 15
RANKS = 4
# Each run is drawn so often.
MOST_ATTEMPTS = 10
# Seconds: who has not ended then hangs.
HANGS = 300
COMMUNICATORS = [["--communicator=shared-memory"], ["--communicator=gloo", "--hosts=2"], ["--communicator=gloo"]]


def make_plans(step, out):
    """By strategy: a plan's file, its instructions' kinds, and its tensors' names."""
    with open(f"{out}/cluster.mlir", "w", encoding="utf-8") as file:
        file.write(CLUSTER)
    run("bagua-translate", "--import-stablehlo", step, f"--cluster={out}/cluster.mlir", "-o", f"{out}/step.mlir")
    compared = json.loads(run("bagua-sim", f"{out}/step.mlir", "--compare", "--json"))["strategies"]
    plans, written = {}, set()
    for number, strategy in enumerate([*STRATEGIES, *(entry["name"] for entry in compared)]):
        path = f"{out}/{number}"
        run("bagua-opt", f"--bagua-strategy={strategy}", f"{out}/step.mlir", "-o", f"{path}.mlir")
        run("bagua-translate", "--export-plan", f"{path}.mlir", "-o", f"{path}.bagua")
        text = run("bagua-translate", "--plan-to-json", f"{path}.bagua")
        kinds = re.findall(r'"opcode":\s*"(\w+)"', text)
        written.update(kinds)
        if number < len(STRATEGIES):
            plans[strategy] = f"{path}.bagua", kinds, [tensor["name"] for tensor in json.loads(text)["tensors"]]
    if missing := written - {kind for _, kinds, _ in plans.values() for kind in kinds}:
        sys.exit(f"no plan has {sorted(missing)}, which other strategies write")
    return plans


def is_rarely(number):
    """Whether the run of this number loses a path."""
    return number % RARELY == RARELY - 1


def draw(drawn, plans, kinds):
    """A strategy and one of its plan's instructions: of these kinds, or uniformly."""
    strategy = drawn.choice(sorted(name for name, (_, own, _) in plans.items() if not kinds or kinds & set(own)))
    of_plan = plans[strategy][1]
    return strategy, drawn.choice([i for i, kind in enumerate(of_plan) if not kinds or kind in kinds])


def run_ranks(plan, communicator, mishap, wakes, patience, job):
    """By rank: exit status and what it says; and seconds that the last survivor took after the mishap, None where there was none."""
    begin = time.monotonic()
    lost, how = int(mishap.split(":")[0]), mishap.split(":")[3]
    # So that a run does not end before its threads freeze, or the path is used.
    steps = {"freeze": 300, "cut": 40, "eat": 40}.get(how, 5)
    processes = []
    for rank in range(RANKS):
        environment = dict(os.environ, BAGUA_RANK=str(rank), BAGUA_SIZE=str(RANKS), BAGUA_JOB=job)
        processes.append(subprocess.Popen(
            ["bagua-run", plan, *communicator, f"--steps={steps}", "--time-scale=0", f"--mishap={mishap}",
             f"--patience={patience}"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for rank, process in enumerate(processes):
        if rank == lost and how not in PATHS:
            continue
        try:
            process.wait(timeout=begin + HANGS - time.monotonic())
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            sys.exit(f"{plan} {mishap}: rank {rank} hangs")
    end = time.monotonic()
    if wakes:
        processes[lost].send_signal(signal.SIGCONT)
        try:
            processes[lost].wait(timeout=HANGS)
        except subprocess.TimeoutExpired:
            processes[lost].kill()
            sys.exit(f"{plan} {mishap}: rank {lost} has woken, and hangs")
    elif processes[lost].poll() is None:
        time.sleep(0.05)
        processes[lost].kill()
    errors = [process.communicate()[1] for process in processes]
    happened = re.search(r"mishap at ([\d.]+) s$", errors[lost], re.MULTILINE)
    return [process.returncode for process in processes], errors, end - float(happened[1]) if happened else None


def what_is_wrong(lost, how, statuses, errors, tensors):
    """By rank: all but the lost one end with an error that says what it should, as does one that wakes; who loses a path names both ends."""
    for rank in range(RANKS):
        if rank == lost and how not in ["wake", *PATHS]:
            continue
        said = errors[rank]
        if how in PATHS:
            ends = re.search(r"rank (\d) \([\d.]+\) and rank (\d) \([\d.]+\) have lost each other", said)
            is_named = ends and str(lost) in ends.groups()
        elif rank == lost:
            # Rank 0 is told by nobody, and finds the others gone.
            is_named = re.search(rf"rank {lost or '[1-3]'} is lost", said)
        else:
            is_named = f"rank {lost} is lost" in said and f"(rank {lost} is node={lost // 2}, gpu={lost % 2})" in said
        is_placed = rank == lost or re.search(rf"rank {rank}: .*instruction \d+ '.*' \(\w+\) on stream", said) and any(name in said for name in tensors)
        if statuses[rank] != 1 or not is_named or not is_placed:
            yield f"rank {rank} ends with {statuses[rank]}: {said}"


def main(step, out, runs, patience="2"):
    os.makedirs(out, exist_ok=True)
    plans = make_plans(step, out)
    drawn = random.Random(7)
    owed = {kind for _, kinds, _ in plans.values() for kind in kinds} - MAY_BE_IDLE
    shared = set(os.listdir("/dev/shm"))
    met, kinds_met, wrong, slowest, done = collections.Counter(), collections.Counter(), 0, collections.Counter(), 0
    attempts = stood_still = 0
    while done < int(runs):
        attempts += 1
        if attempts > MOST_ATTEMPTS * int(runs):
            sys.exit(f"{done} runs of {attempts}: too many have nothing to notice, or {stood_still} of them a machine that stands still")
        is_rare = is_rarely(done)
        # Those that lose a path need a plan that uses it much.
        left = sum(not is_rarely(later) for later in range(done, int(runs)))
        strategy, instruction = draw(drawn, plans, owed if not is_rare and left <= len(owed) else None)
        plan, kinds, tensors = plans[strategy]
        lost, how = drawn.randrange(RANKS), PATHS[done // RARELY % 2] if is_rare else drawn.choice(MISHAPS)
        communicator = drawn.choice(COMMUNICATORS[1:] if is_rare else COMMUNICATORS)
        mishap = f"{lost}:{drawn.randrange(4)}:{instruction}:{'stop' if how == 'wake' else how}"
        longer = margin()
        with Standstills() as standstills:
            statuses, errors, took = run_ranks(plan, communicator, mishap, how == "wake", float(patience) + longer, f"mishaps-{os.getpid()}-{attempts}")
        # Where nothing large went by a path there was nothing to notice.
        if took is None or (is_rare and not any(statuses)):
            continue
        found = [f"{strategy} {communicator} {mishap}: {each}" for each in what_is_wrong(lost, how, statuses, errors, tensors)]
        if found and standstills.longest > float(patience) / 8:
            stood_still += 1
            continue
        done += 1
        met[how] += 1
        met[" ".join(communicator)] += 1
        kinds_met[kinds[instruction]] += 1
        owed.discard(kinds[instruction])
        slowest[is_rare] = max(slowest[is_rare], took)
        if took > (MOST_OF_PATH if is_rare else max(float(patience), 4)) + 2 * longer:
            found.append(f"{strategy} {communicator} {mishap}: took {took:.1f} s")
        for each in found:
            print(each, file=sys.stderr, flush=True)
        wrong += len(found)
    print(f"{done} runs of {attempts}: {dict(sorted(met.items()))}" + (f", {stood_still} while the machine stood still" if stood_still else ""))
    print(f"before {dict(sorted(kinds_met.items()))}")
    print(f"slowest {slowest[False]:.1f} s, of a path {slowest[True]:.1f} s, {wrong} wrong")
    never = owed | ({*MISHAPS, *map(" ".join, COMMUNICATORS)} - set(met))
    if never:
        print(f"never met: {sorted(never)}")
    left = set(os.listdir("/dev/shm")) - shared
    if left:
        print(f"left in /dev/shm: {sorted(left)}")
    return bool(wrong or never or left)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
