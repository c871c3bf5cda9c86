#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPT of 10 M params trained on four emulated hosts, by plans and by DistributedDataParallel, in turns:

    train-gpt.py BUILD [RATE [ROUNDS [STEPS]]] [--busy N] [MODEL OPTIONS]        # RATE as tc says it: 250mbit

Beside N processes that never rest. What is left of options is examples/train-gpt's: --width=256 --layers=4 is a model of 13 MB.

Runs with the Python that has torch (scripts/setup --full; ~/.cache/bagua/torch/bin/python). Same seeds; losses are equal to
rounding, and params the same on all ranks. A step is what rank 0 sees. Exits with 1
where a limit of docs/Performance.md is missed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(f"{ROOT}/bench/cluster")
from hosts import Hosts
from load import busy
from ratios import median_with_interval

HOSTS, RATE = 4, "250mbit"
# Of DDP's step, after backward and with updates before the next forward; of this machine's cores, at RATE.
MOST_AFTER_BACKWARD, MOST_OF_STEP, MOST_CORES = 1.03, 1, 0.7
# Relative: DDP's ring adds in another order.
MOST_LOSSES_APART = 1e-6


def tool(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(build, rate, rounds, steps, load, model):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/python", "BAGUA_LIBRARY": f"{os.path.abspath(build)}/lib/libbagua.so",
                   "PATH": f"{os.path.abspath(build)}/bin:{os.environ['PATH']}", "GLOO_SOCKET_IFNAME": Hosts.INTERFACE}
    os.environ.update(environment)
    train = [sys.executable, f"{ROOT}/examples/train-gpt/train.py", *model]
    with tempfile.TemporaryDirectory() as folder, Hosts(HOSTS, rate) as hosts, busy(load):
        # A plan reckons with the model, on cores that the ranks share, and with the links: both are measured as docs/RunOnYourCluster.md says.
        hosts.run([*train, f"--table={folder}/gpt.csv"], HOSTS)
        hosts.run(["bagua-run", "--calibrate", "-o", f"{folder}/cluster.mlir"], HOSTS)
        tool("bagua-translate", "--import-layers", f"{folder}/gpt.csv", f"--cluster={folder}/cluster.mlir", "-o",
             f"{folder}/gpt.mlir")
        contenders = {"DDP": ["--ddp"]}
        for name, strategy, overlap in [("ddp", "ddp{updates=program}", "backward"),
                                        ("auto, overlap=backward", "auto{updates=program}", "backward"),
                                        ("auto, overlap=step", "auto{updates=late}", "step")]:
            plan = f"{folder}/{len(contenders)}.bagua"
            scheduled = tool("bagua-opt", f"--bagua-strategy={strategy}", f"{folder}/gpt.mlir")
            tool("bagua-translate", "--export-plan", "-o", plan, input=scheduled)
            contenders[name] = [f"--plan={plan}", f"--overlap={overlap}"]
        results = {name: [] for name in contenders}
        for number in range(rounds):
            first = number % len(contenders)
            for name in [*contenders][first:] + [*contenders][:first]:
                results[name].append(json.loads(hosts.run([*train, *contenders[name], f"--steps={steps}"], HOSTS)))
    print(f"{HOSTS} hosts at {rate}, {load} busy processes, {rounds} rounds of {steps} steps, milliseconds a step (min / median / max)")
    print("| | step | to DDP (95 %) | of all cores at work | last loss | loss as DDP, params on all ranks |")
    print("|---|---|---|---|---|---|")
    medians = {name: [statistics.median(run["step_ms"]) for run in runs] for name, runs in results.items()}
    missed = []
    for name, runs in results.items():
        steps_ms = [step for run in runs for step in run["step_ms"]]
        ratio, low, high = median_with_interval([own / ddp for own, ddp in zip(medians[name], medians["DDP"])])
        cores = statistics.median(run["cores_at_work"] for run in runs)
        losses = [run["last_loss"] for run in runs + results["DDP"]]
        is_same = (all(run["same_on_all_ranks"] for run in runs) and
                   max(losses) - min(losses) <= MOST_LOSSES_APART * min(losses))
        print(f"| {name} | {min(steps_ms):.0f} / {statistics.median(steps_ms):.0f} / {max(steps_ms):.0f} | {ratio:.3f} ({low:.3f} to {high:.3f}) | "
              f"{100 * cores:.0f} % | {', '.join(sorted({format(run['last_loss'], '.7f') for run in runs}))} | "
              f"{'same' if is_same else 'DIFFERENT'} |")
        most = MOST_OF_STEP if "step" in name else MOST_AFTER_BACKWARD
        if ratio > most or (load == 0 and rate == RATE and cores > MOST_CORES) or not is_same:
            missed.append(name)
    print(f"limits missed: {'; '.join(missed)}" if missed else "all limits met")
    return bool(missed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("rate", nargs="?", default=RATE)
    parser.add_argument("rounds", nargs="?", type=int, default=3)
    parser.add_argument("steps", nargs="?", type=int, default=12)
    parser.add_argument("--busy", type=int, default=0)
    options, of_model = parser.parse_known_args()
    if options.steps < 7:
        parser.error("expected at least 7 steps: the first two don't count, and the last by overlap=step waits for its own gradients")
    sys.exit(main(options.build, options.rate, options.rounds, options.steps, options.busy, of_model))
