#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mutations.py BIN SUITE WORK [--count=N] [--compared=M] [--seed=S]: texts with one thing changed, through the importer.

A mutant is a text of a suite (test/exporters) with an op deleted, two exchanged, an operand replaced by another value
of its type, a number, a group or a dimension changed, a name or an aliasing lost. The importer takes it, or refuses it
with a message, in time: nothing else. Some that it takes, and imports as another step than the original, are planned by
ddp and written back, and XLA has to compute what it computes of the mutant itself, where it takes that.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys

ORACLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "same_numbers.py")
OP = re.compile(r'^\s*%[\w:, %]+ = "')
VALUE = re.compile(r"%\w+(?:#\d+)?")


def ops_of(lines):
    return [index for index, line in enumerate(lines) if OP.match(line) and "({" not in line]


def delete(lines, draw):
    del lines[draw.choice(ops_of(lines))]


def exchange(lines, draw):
    ops = ops_of(lines)
    a, b = draw.choice(ops), draw.choice(ops)
    lines[a], lines[b] = lines[b], lines[a]


def replace_operand(lines, draw):
    """By a result of an op before, whose type stands at its end."""
    at = draw.choice(ops_of(lines))
    head, _, tail = lines[at].partition(" = ")
    operands = re.search(r'"\(([^)]*)\)', tail)
    if not operands or not VALUE.findall(operands.group(1)):
        return
    wanted = re.search(r": \(([^()]*)\) ->", tail)
    types = re.findall(r"tensor<[^>]*>", wanted.group(1)) if wanted else []
    which = draw.randrange(len(VALUE.findall(operands.group(1))))
    if which >= len(types):
        return
    others = [re.match(r"\s*(%\w+) = ", lines[index]).group(1) for index in ops_of(lines)
              if index < at and re.match(r"\s*%\w+ = ", lines[index]) and lines[index].split(" loc(")[0].rstrip().endswith(types[which])]
    if others:
        old = VALUE.findall(operands.group(1))[which]
        lines[at] = f"{head} = {tail.replace(old, draw.choice(others), 1)}"


def change_number(lines, draw):
    """In a constant, a group, a pair, a dimension."""
    numbers = [(index, match) for index, line in enumerate(lines) for match in
               re.finditer(r"(?<=dense<)-?[\d.e+-]+(?=>)|(?<=\[)\d+(?=[,\]])|(?<=dim = )\d+|(?<=dimension = )\d+", line)]
    index, match = draw.choice(numbers)
    text = match.group(0)
    new = str(draw.choice((0, 1, 2, 3, -1, 7))) if re.fullmatch(r"-?\d+", text) else draw.choice(("0.0", "1.0", "-2.5e-1", "3.0e+02"))
    lines[index] = lines[index][:match.start()] + new + lines[index][match.end():]


def lose_name(lines, draw):
    named = [index for index, line in enumerate(lines) if re.search(r'loc\("[^"]*"', line)]
    index = draw.choice(named)
    lines[index] = re.sub(r'loc\("[^"]*"', 'loc("x"', lines[index], count=1)


def lose_aliasing(lines, draw):
    for index, line in enumerate(lines):
        found = list(re.finditer(r"tf\.aliasing_output = (\d+)|jax\.buffer_donor = true", line))
        if found:
            match = draw.choice(found)
            new = f"tf.aliasing_output = {draw.randrange(12)}" if match.group(1) else "jax.was_donor = true"
            lines[index] = line[:match.start()] + new + line[match.end():]
            return


MUTATIONS = (delete, exchange, replace_operand, replace_operand, change_number, change_number, lose_name, lose_aliasing)


def run(*command, timeout=60):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def step_of(text):
    """Without locations."""
    return "\n".join(line for line in re.sub(r" loc\([^\n]*", "", text).splitlines() if not line.startswith("#loc"))


class Mutant:
    def __init__(self, number, name, text, seed):
        draw = random.Random(f"{seed}.{number}")
        self.number, self.name, lines = number, name, text.splitlines()
        self.what = draw.choice(MUTATIONS)
        self.what(lines, draw)
        self.text = "\n".join(lines) + "\n"
        self.is_same, self.fault, self.step = self.text == text, "", None

    def path(self, work):
        return f"{work}/{self.number}.mlir"

    def try_import(self, tools, work):
        with open(self.path(work), "w", encoding="utf-8") as file:
            file.write(self.text)
        try:
            done = run(f"{tools}/bagua-translate", "--import-stablehlo", self.path(work))
        except subprocess.TimeoutExpired:
            self.fault = "no end"
            return
        if done.returncode == 0:
            self.step = done.stdout
        elif done.returncode != 1 or "error:" not in done.stderr:
            self.fault = f"exit {done.returncode}: {done.stderr[-200:]}"

    def compare(self, tools, work, arguments):
        """Written back and under XLA: 'equal', 'refused' by one of the two, or a fault."""
        planned, written = f"{work}/{self.number}.planned", f"{work}/{self.number}.written.mlir"
        with open(f"{work}/{self.number}.step", "w", encoding="utf-8") as file:
            file.write(self.step)
        for command in ((f"{tools}/bagua-opt", "--bagua-strategy=ddp", f"{work}/{self.number}.step", "-o", planned),
                        (f"{tools}/bagua-translate", "--export-stablehlo", f"--original={self.path(work)}", planned, "-o", written)):
            done = run(*command)
            if done.returncode == 1 and "error:" in done.stderr:
                return "refused"
            if done.returncode:
                self.fault = f"{os.path.basename(command[0])}: exit {done.returncode}: {done.stderr[-200:]}"
                return "fault"
        done = run(sys.executable, ORACLE, self.path(work), written, f"--arguments={arguments}", "--ulps=8", timeout=300)
        if "differ," in done.stdout and ": 0 differ" not in done.stdout:
            self.fault = done.stdout.strip()
            return "fault"
        return "equal" if done.returncode == 0 else "refused"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools")
    parser.add_argument("suite")
    parser.add_argument("work")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--compared", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.makedirs(given.work, exist_ok=True)
    with open(f"{given.suite}/suite.json", encoding="utf-8") as file:
        names = [f"{entry['construct']}.{entry['form']}" for entry in json.load(file)
                 if entry["form"] != "single" and not entry["refused"]]
    originals = {}
    for name in names:
        with open(f"{given.suite}/{name}.mlir", encoding="utf-8") as file:
            originals[name] = file.read()
    mutants = [Mutant(number, names[number % len(names)], originals[names[number % len(names)]], given.seed)
               for number in range(given.count)]
    mutants = [mutant for mutant in mutants if not mutant.is_same]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        steps = dict(zip(names, pool.map(
            lambda name: step_of(run(f"{given.tools}/bagua-translate", "--import-stablehlo", f"{given.suite}/{name}.mlir").stdout), names)))
        list(pool.map(lambda mutant: mutant.try_import(given.tools, given.work), mutants))
        taken = [mutant for mutant in mutants if mutant.step]
        other = [mutant for mutant in taken if step_of(mutant.step) != steps[mutant.name]]
        chosen = random.Random(given.seed).sample(other, min(given.compared, len(other)))
        ends = list(pool.map(lambda mutant: mutant.compare(given.tools, given.work, f"{given.suite}/{mutant.name}.npz"), chosen))
    faults = [mutant for mutant in mutants if mutant.fault]
    for mutant in faults:
        print(f"{mutant.path(given.work)}: {mutant.name}, {mutant.what.__name__}: {mutant.fault}")
    kinds = {what.__name__ for what in MUTATIONS}
    print("; ".join(f"{kind} {sum(m.what.__name__ == kind for m in mutants)}" for kind in sorted(kinds)))
    print(f"{len(mutants)} mutants, {len(taken)} taken, {len(other)} of these as another step; of {len(chosen)} written back "
          f"{ends.count('equal')} equal under XLA, {ends.count('refused')} refused; {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
