#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes variants of an exported training step that must import alike.

    make_variants.py STEP.mlir OUTPUT_FOLDER [--only KIND] [--seed N]

  renamed     every SSA value has another name
  functions   every private function has another name
  permuted    arguments and results of the public function in another order
  stripped    no locations, so no names of arguments and no scopes
  unknown     an op that nobody knows in the middle of the model
  nameless    stripped, and no names of results either
  all         renamed, functions, permuted and unknown at once
  worst       nameless and permuted

Each is written to OUTPUT_FOLDER/KIND.mlir. Works on text: what it makes doesn't
depend on any library that the importer uses.
"""
import argparse
import pathlib
import random
import re


def split_list(text):
    """Items of a comma-separated list, commas inside brackets left alone."""
    items, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif c in "([{<":
            depth += 1
        elif c in ")]}" or (c == ">" and text[i - 1] != "-"):
            depth -= 1
        elif c == "," and depth == 0:
            items.append(text[start:i].strip())
            start = i + 1
    tail = text[start:].strip()
    return items + [tail] if tail else items


def closing(text, start):
    """Position of the bracket that closes the one at `start`."""
    depth, quoted = 0, False
    for i in range(start, len(text)):
        c = text[i]
        if c == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return i
    raise ValueError("no closing bracket")


def edit_list(line, key, permute):
    """Permutes the bracketed list that stands after `key`."""
    at = line.find(key)
    if at < 0:
        return line
    start = at + len(key)
    end = closing(line, start)
    items = permute(split_list(line[start + 1 : end]))
    return line[: start + 1] + ", ".join(items) + line[end:]


def renamed(text):
    text = re.sub(r"%arg(\d+)", r"%in_\1", text)
    return re.sub(r"%(\d+)", r"%value_\1", text)


def functions(text):
    private = re.findall(r'sym_name = "([^"]*)", sym_visibility = "private"', text)
    for i, name in enumerate(private):
        text = text.replace(f'sym_name = "{name}", sym_visibility', f'sym_name = "helper_{i}", sym_visibility')
        text = re.sub(rf"callee = @{re.escape(name)}(?![\w$.])", f"callee = @helper_{i}", text)
    return text


def stripped(text):
    lines = [line for line in text.splitlines() if not line.startswith("#loc")]
    return re.sub(r" loc\((?:#loc\d*|unknown)\)", "", "\n".join(lines)) + "\n"


def nameless(text):
    return stripped(re.sub(r'jax\.result_info = "[^"]*"', "", text))


def unknown(text):
    """The middle dot_general or convolution hands its result to an unknown op first."""
    pattern = re.compile(
        r'^( *)(%\w+) = ("stablehlo\.(?:dot_general|convolution)"\(.*) -> (tensor<[^ ]*>)( loc\(.*\))?$', re.M)
    found = list(pattern.finditer(text))
    m = found[len(found) // 2]
    indent, value, op, kind, loc = m.groups(default="")
    known = "%known_" + value[1:]
    lines = (f"{indent}{known} = {op} -> {kind}{loc}\n"
             f'{indent}{value} = "elsewhere.unknown"({known}) : ({kind}) -> {kind}{loc}')
    return text[: m.start()] + lines + text[m.end() :]


def permuted(text, rng):
    lines = text.split("\n")
    main = next(i for i, line in enumerate(lines) if '"func.func"' in line and 'sym_visibility = "public"' in line)
    head, block = lines[main], main + 1
    end = next(i for i in range(block, len(lines)) if lines[i].lstrip().startswith('"func.return"'))
    ret = lines[end]
    results = split_list(ret[ret.index("(") + 1 : closing(ret, ret.index("("))])
    start = lines[block].index("(")
    arguments = split_list(lines[block][start + 1 : closing(lines[block], start)])
    # order[i] is the old position of what now stands at position i.
    order_in, order_out = list(range(len(arguments))), list(range(len(results)))
    rng.shuffle(order_in)
    rng.shuffle(order_out)
    new_out = {old: new for new, old in enumerate(order_out)}
    pick_in = lambda items: [items[i] for i in order_in]
    pick_out = lambda items: [items[i] for i in order_out]
    head = re.sub(r"tf\.aliasing_output = (\d+)", lambda m: f"tf.aliasing_output = {new_out[int(m[1])]}", head)
    head = edit_list(head, "arg_attrs = ", pick_in)
    head = edit_list(head, "res_attrs = ", pick_out)
    head = edit_list(head, "function_type = ", pick_in)
    at = head.index("function_type = ") + len("function_type = ")
    arrow = closing(head, at) + len(") -> ")
    head = head[:arrow] + edit_list(head[arrow:], "", pick_out) if head[arrow] == "(" else head
    lines[main] = head
    lines[block] = lines[block][: start + 1] + ", ".join(pick_in(arguments)) + lines[block][closing(lines[block], start) :]
    ret = edit_list(ret, '"func.return"', pick_out)
    lines[end] = edit_list(ret, " : ", pick_out)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    text = args.step.read_text()
    make = {
        "renamed": lambda: renamed(text),
        "functions": lambda: functions(text),
        "permuted": lambda: permuted(text, random.Random(args.seed)),
        "stripped": lambda: stripped(text),
        "unknown": lambda: unknown(text),
        "all": lambda: renamed(functions(permuted(unknown(text), random.Random(args.seed)))),
        "nameless": lambda: nameless(text),
        "worst": lambda: nameless(permuted(text, random.Random(args.seed))),
    }
    args.output.mkdir(parents=True, exist_ok=True)
    for kind in [args.only] if args.only else make:
        (args.output / f"{kind}.mlir").write_text(make[kind]())


if __name__ == "__main__":
    main()
