#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""recognised.py BIN SUITE: whether updates that an import recognises compute what the module does.

Of each text of a suite (test/exporters) that has structured updates, XLA runs three steps of the original. From
moments before and after the last one follows the gradient, and from it and the constants of the imported op what the
moments and the param must be, in double precision. Prints a line for each text; needs JAX.
"""
import json
import os
import re
import subprocess
import sys

import same_numbers

STEPS = 3
# Of the largest change: moments and constants are of 24 bits.
TOLERANCE = 1e-4
# LAMB and LARS change a param by a thousandth of it, and its own rounding is seen beside that.
TOLERANCES = {"lamb": 4e-4, "lars_trace": 4e-4}


def imported(tools, text):
    done = subprocess.run([f"{tools}/bagua-translate", "--import-stablehlo", text], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def updates_of(step):
    """Kind, states by name, and constants of each update; a rate that is a value is None."""
    arguments = re.findall(r'(?:param|optimizer|buffer|batch|input) %(\S+)(?: loc\([^()]*\))? "([^"]*)"', step)
    names = dict(arguments)
    found = []
    for kind, states, rest in re.findall(r"= bagua\.(adam|sgd) \(([^)]*)\)([^:]*)", step):
        number = lambda word, default: float((re.findall(rf"\b{word} ([-+.\de]+)", rest) or [default])[0])
        betas = re.findall(r"betas \[([^,]*), ([^\]]*)\]", rest)
        found.append((kind, [names[state.strip()[1:]] for state in states.split(",")], {
            "lr": number("lr", "nan"), "eps": number("eps", 1e-8), "decay": number("decay", 0),
            "momentum": number("momentum", 0), "betas": [float(beta) for beta in (betas[0] if betas else (0.9, 0.999))],
            "form": (re.findall(r"bias_correction (\w+)", rest) or ["moments"])[0]}))
    for states, kind, constants, rest in re.findall(r"= bagua\.update \(([^)]*)\) by (\w+) \[([^]]*)\]([^:]*)", step):
        rate = re.findall(r"\blr ([-+.\de]+)", rest)
        found.append((kind, [names[state.strip()[1:]] for state in states.split(",")], {
            "lr": float(rate[0]) if rate else float("nan"), "constants": [float(value) for value in constants.split(",")],
            "form": rest.split()[0]}))
    return [name for _, name in arguments], found


def adam(states, after, given, step):
    """What moments and param must be, and by how much they change at most."""
    import numpy
    w, m, v = states
    beta1, beta2 = given["betas"]
    grad = (after[1] - beta1 * m) / (1 - beta1)
    variance = beta2 * v + (1 - beta2) * grad * grad
    rests = (1 - beta1 ** step, 1 - beta2 ** step) if given["form"] != "none" else (1, 1)
    if given["form"] == "step_size":
        change = numpy.sqrt(rests[1]) / rests[0] * after[1] / (numpy.sqrt(after[2]) + given["eps"])
    else:
        change = after[1] / rests[0] / (numpy.sqrt(after[2] / rests[1]) + given["eps"])
    param = w - given["lr"] * given["decay"] * w - given["lr"] * change
    return [(variance, v, after[2])] + ([] if numpy.isnan(given["lr"]) else [(param, w, after[0])])


def momentum(states, after, given, step):
    import numpy
    return [] if numpy.isnan(given["lr"]) else [(states[0] - given["lr"] * after[1], states[0], after[0])]


def ratio_of(param, direction, coefficient=1.0, eps=0.0):
    import numpy
    norms = [numpy.linalg.norm(value) for value in (param, direction)]
    return coefficient * norms[0] / (norms[1] + eps) if all(norms) else 1.0


def lamb(states, after, given, step):
    import numpy
    w, m, v = states
    beta1, beta2, eps, decay = given["constants"]
    grad = (after[1] - beta1 * m) / (1 - beta1)
    variance = beta2 * v + (1 - beta2) * grad * grad
    rests = (1 - beta1 ** step, 1 - beta2 ** step) if given["form"] != "none" else (1, 1)
    direction = after[1] / rests[0] / (numpy.sqrt(after[2] / rests[1]) + eps) + decay * w
    param = w - given["lr"] * ratio_of(w, direction) * direction
    return [(variance, v, after[2])] + ([] if numpy.isnan(given["lr"]) else [(param, w, after[0])])


def lars_trace(states, after, given, step):
    """The momentum is the change of the param; the direction in it has the length that the ratio gives it."""
    import numpy
    w, m = states
    momentum, decay, coefficient, eps = given["constants"]
    change = after[1] - momentum * m
    found = [(w + after[1], w, after[0])]
    if not numpy.isnan(given["lr"]) and eps == 0 and numpy.linalg.norm(w):
        length = given["lr"] * coefficient * numpy.linalg.norm(w)
        found.append((change * (length / numpy.linalg.norm(change)) + momentum * m, m, after[1]))
    return found


def check(tools, directory, name):
    """How many values there are, and the largest error beside what is allowed; None where there is nothing to see."""
    import numpy
    text = f"{directory}/{name}.mlir"
    names, updates = updates_of(imported(tools, text))
    if not any(len(states) > 1 for _, states, _ in updates):
        return None
    module = same_numbers.Module(text)
    arguments, pairs = same_numbers.load(module, f"{directory}/{name}.npz"), same_numbers.next_arguments(module)
    one = lambda value: numpy.asarray(value[0] if isinstance(value, list) else value, numpy.float64).reshape(-1)
    for _ in range(STEPS):
        before, results = list(arguments), module.run(arguments)
        for index, output in enumerate(pairs):
            if output is not None:
                arguments[index] = results[output]
    worst, seen = 0, 0
    for kind, states, given in updates:
        at = [names.index(state) for state in states]
        if len(at) == 1 or any(pairs[index] is None for index in at):
            continue
        old, new = [one(before[index]) for index in at], [one(arguments[index]) for index in at]
        for expected, was, found in REPEATED[kind](old, new, given, STEPS):
            off = float(abs(found - expected).max() / max(abs(found - was).max(), 1e-12))
            worst = max(worst, off / TOLERANCES.get(kind, TOLERANCE))
            seen += 1
    return (seen, worst) if seen else None


REPEATED = {"adam": adam, "sgd": momentum, "lamb": lamb, "lars_trace": lars_trace}


def main():
    tools, directory = sys.argv[1:]
    with open(f"{directory}/suite.json", encoding="utf-8") as file:
        # Of newer pmaps, which name nothing, only the importer's data flow tells which output is whose next value.
        names = [f"{entry['construct']}.{entry['form']}" for entry in json.load(file)
                 if entry["form"] != "single" and entry["named"]]
    same_numbers.prepare(8)
    failed = 0
    for name in names:
        if found := check(tools, directory, name):
            failed += found[1] > 1
            print(f"{name}: {found[0]} values of updates, off by {found[1]:.2f} of what is allowed at most", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
