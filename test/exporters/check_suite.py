#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_suite.py BIN SUITE [--cluster=C] [--strategies=S,..] [--oracle=S[@ULPS],..] [--all]: what becomes of each text that export_suite.py wrote.

Imports each, compares gradients with what the model says, plans it by STRATEGIES and checks the plans by a replay;
plans of --oracle are written back, and XLA compares every output with the original's, bit by bit or within ULPS units
in the last place (see Oracle/same_numbers.py). Prints a line for each text, with what failed first, and how many are
handled; with --all it exits with 1 if not all are. --cluster, such as node=2,gpu=2, is for texts of as many devices.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile

STRATEGIES = ("ddp", "dear", "bytescheduler-a2a", "auto")
ORACLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Oracle", "same_numbers.py")
TYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "float64": "f64"}


class Failed(Exception):
    pass


def run(*command, timeout=300):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        said = [line for line in lines if re.search(r"error:|: [1-9]\d* differ|Error|expected", line)]
        raise Failed((said or lines[-1:] or ["no message"])[0][-300:])
    return done


def gradients_of(text):
    """Name, shape and type of each gradient of an imported step."""
    found = {}
    for sizes, name in re.findall(r'tensor<([^>,]*)> grad "([^"]*)"', text):
        *shape, kind = sizes.split("x")
        found[name] = ([int(size) for size in shape], kind)
    return found


def compare_gradients(step, entry):
    if entry["gradients"] is None:
        return
    found = gradients_of(step)
    wanted = {path: (leaf["shape"], TYPES[leaf["type"]]) for path, leaf in entry["gradients"].items()}
    # Newer pmaps name no arguments.
    if found != wanted and (entry["named"] or sorted(found.values()) != sorted(wanted.values())):
        missing, more = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
        raise Failed(f"missing {missing}, unexpected {more}" if missing or more else f"found {found}, expected {wanted}")


def mispaired(text, states):
    """Name and argument of a state of an imported step, named by its next value, whose path inside its tree is another's."""
    for path, name in re.findall(r'(?:param|optimizer|buffer) %\S+ loc\("([^"]*)"\) "([^"]*)"', text):
        wanted, parts = states.get(path), name.split(".")
        # A name may leave out what its tree is called.
        if wanted and wanted[-len(parts):] != parts and wanted not in [parts[at:at + len(wanted)] for at in range(len(parts))]:
            return f"argument {path} with {name}"
    return ""


def size_of(cluster):
    """Ranks of node=2,gpu=4."""
    return math.prod(int(axis.split("=")[1]) for axis in cluster.split(","))


def check(tools, directory, entry, cluster, strategies, oracle):
    """The stage that failed and why, or None."""
    name = f"{entry['construct']}.{entry['form']}"
    text = f"{directory}/{name}.mlir"
    with tempfile.TemporaryDirectory() as scratch:
        stage = "import"
        with open(text, encoding="utf-8") as file:
            devices = math.prod(int(count) for count in re.findall(r"mhlo\.num_(?:replicas|partitions) = (\d+)", file.read()))
        cluster = [f"--cluster={cluster}"] if cluster and devices == size_of(cluster) else []
        try:
            imported = f"{scratch}/step.mlir"
            run(f"{tools}/bagua-translate", "--import-stablehlo", *cluster, text, "-o", imported)
            with open(imported, encoding="utf-8") as file:
                step = file.read()
            stage = "gradients"
            compare_gradients(step, entry)
            stage = "states"
            if pair := mispaired(step, entry["states"]):
                raise Failed(f"paired {pair}")
            for strategy in strategies if entry["form"] != "single" else ():
                stage = strategy
                run(f"{tools}/bagua-opt", f"--bagua-strategy={strategy}", imported, "-o", f"{scratch}/planned.mlir")
                run(f"{tools}/bagua-translate", "--export-plan", f"{scratch}/planned.mlir", "-o", f"{scratch}/plan")
                run(f"{tools}/bagua-run", f"{scratch}/plan", "--check", "--steps=3")
            stage, written = "writing back", collections.defaultdict(list)
            for compared in oracle if entry["form"] != "single" else ():
                strategy, _, ulps = compared.partition("@")
                path = f"{scratch}/{strategy}"
                written[max(float(ulps or 0), entry["ulps"], entry["ulps_of_sums"] if devices > 2 else 0)].append(path)
                run(f"{tools}/bagua-opt", f"--bagua-strategy={strategy}", imported, "-o", f"{scratch}/planned.mlir")
                run(f"{tools}/bagua-translate", "--export-stablehlo", f"--original={text}", f"{scratch}/planned.mlir",
                    "-o", path)
            stage = "XLA"
            for ulps, modules in written.items():
                run(sys.executable, ORACLE, text, *modules, f"--arguments={directory}/{name}.npz", f"--ulps={ulps}")
        except Failed as why:
            if entry["refused"] and entry["refused"] in str(why):
                return "refused", str(why).replace(directory, "")
            return stage, str(why).replace(scratch, "").replace(directory, "")
        except subprocess.TimeoutExpired:
            return stage, "no end"
    return ("nothing was refused", f"expected '{entry['refused']}'") if entry["refused"] else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools")
    parser.add_argument("suite")
    parser.add_argument("--cluster")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--oracle", default="")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    with open(f"{given.suite}/suite.json", encoding="utf-8") as file:
        suite = json.load(file)
    strategies, oracle = (list(filter(None, text.split(","))) for text in (given.strategies, given.oracle))
    handled = refused = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda entry: check(given.tools, given.suite, entry, given.cluster, strategies, oracle), suite)
        for entry, result in zip(suite, results):
            stage, why = result or ("handled", "")
            handled += stage == "handled"
            refused += stage == "refused"
            print(f"{entry['construct']}.{entry['form']}: {stage}{': ' if why else ''}{why}", flush=True)
    print(f"{handled} of {len(suite)} handled, {refused} rightly refused")
    sys.exit(1 if given.all and (handled + refused < len(suite) or not suite) else 0)


if __name__ == "__main__":
    main()
