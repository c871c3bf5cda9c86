#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the examples of the passes are what the passes do.

    pass_examples.py docs/Passes.md

Each is a step, "becomes", and a step: the pass makes the second of the first.
Values may have other names. Every pass that changes something by itself has an example.
"""
import re
import subprocess
import sys

FENCE = r"```\n((?:(?!```).*\n)*)```\n"
# Those that change nothing, or leave it to other passes.
CHANGE_NOTHING = {"bagua-verify-graph", "bagua-verify-schedule", "bagua-verify-states", "bagua-record-strategy",
                  "bagua-compile-steps", "bagua-auto"}


def bagua_opt(text, *arguments):
    run = subprocess.run(["bagua-opt", "-", *arguments], input=text, capture_output=True, text=True)
    # Hashes of what states mean tell a reader nothing.
    made = re.sub(r", bagua\.meaning = array<[^>]*>", "", run.stdout)
    return made if run.returncode == 0 else run.stderr


def main(path):
    manual = open(path, encoding="utf-8").read()
    frame = re.search(FENCE, manual)[1]
    wrong, count = 0, 0
    for section in re.split(r"^## ", manual, flags=re.M)[1:]:
        name = re.match(r"`-([\w-]+)`", section)[1]
        examples = re.findall(r"(?:With `(\S+)`\n\n)?" + FENCE + "becomes\n" + FENCE, section)
        if not examples and name not in CHANGE_NOTHING:
            wrong += 1
            print(f"{name} has no example")
        for options, before, after in examples:
            count += 1
            pipeline = f"--pass-pipeline=builtin.module(bagua.step({name}{{{options}}}))"
            made, wanted = bagua_opt(frame + before, pipeline), bagua_opt(frame + after)
            if made != wanted:
                wrong += 1
                print(f"{name} doesn't do what its example says. It makes\n{made}where the example has\n{wanted}")
    print(f"{count} examples of passes, {wrong} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
