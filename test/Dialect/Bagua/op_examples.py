#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the examples of the reference manual hold.

    op_examples.py docs/Dialect.md

Every op, attribute and type of the manual has a section; what stands there in a
fence, and is no syntax and no picture, is an example. An example of an op stands
in the frame that the manual's introduction shows, one of an op at module level
beside what it refers to, one of an attribute or type on a module. bagua-opt has
to parse and verify each, and to print what it reads back unchanged. Every op has
an example.
"""
import re
import subprocess
import sys

FENCE = re.compile(r"^```\n(.*?)^```$", re.M | re.S)
MODULE_LEVEL = {"cluster", "step", "training", "phase"}
BY_NAME = {  # what an example refers to by name
    "farm": 'bagua.cluster @farm axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>]'
            " servers 2\n",
}
ANY_STEP = """bagua.step @%s on @farm data [node] (param %%w "w" : tensor<32xf32>) {
  bagua.yield %%w : tensor<32xf32>
}
"""


def examples_of(section):
    """Fenced blocks but for syntax and pictures."""
    section = re.sub(r"Syntax:\n+```\n.*?^```$", "", section, flags=re.M | re.S)
    blocks = FENCE.findall(section)
    return [b for b in blocks if re.match(r"\s*(%|bagua\.|#bagua|!bagua|tensor<)", b)]


def in_frame(frame, example):
    """A step whose yield is the frame's state, unless the example yields."""
    before, after = frame.split("  // the example\n")
    if "bagua.yield" not in example:
        names = [("w", "4096"), ("m", "4096"), ("v", "4096"), ("e", "4096"), ("p", "64x32")]
        example += "bagua.yield %s : %s\n" % (
            ", ".join("%" + n for n, _ in names), ", ".join(f"tensor<{s}xf32>" for _, s in names))
    return before + example + after


def beside_what_it_names(mnemonic, example):
    """Module-level ops, with stand-ins for the symbols that they use."""
    if mnemonic == "phase":
        example = "bagua.training @job {\n" + example + "}\n"
    defined = set(re.findall(r"bagua\.(?:cluster|step|training) @(\w+)", example))
    used = set(re.findall(r"(?:on|phase) @(\w+)", example)) - defined
    steps = "".join(ANY_STEP % name for name in sorted(used - BY_NAME.keys()))
    if "@farm" in steps:
        used.add("farm")
    clusters = "".join(BY_NAME[name] for name in sorted(used & BY_NAME.keys()))
    return clusters + steps + example


def bagua_opt(text):
    return subprocess.run(["bagua-opt", "-"], input=text, capture_output=True, text=True)


def failure_of(text):
    """What is wrong with a module; nothing if it holds and round-trips."""
    once = bagua_opt(text)
    if once.returncode:
        return once.stderr
    twice = bagua_opt(once.stdout)
    if twice.returncode:
        return "its printed form is refused: " + twice.stderr
    return "" if once.stdout == twice.stdout else "its printed form changes when read again"


def main(path):
    manual = open(path, encoding="utf-8").read()
    frame = next(b for b in FENCE.findall(manual) if "// the example" in b)
    failures, ops, count = [], 0, 0

    def check(title, text, example):
        nonlocal count
        count += 1
        if message := failure_of(text):
            failures.append(f"{title}: this example doesn't hold:\n{example}{message}")

    for section in re.split(r"^### ", manual, flags=re.M)[1:]:
        title = section.split("\n", 1)[0]
        examples = examples_of(section)
        op = re.match(r"`bagua\.(\w+)`", title)
        if not op:
            for line in "".join(examples).splitlines():
                check(title, f"module attributes {{bagua.example = {line}}} {{}}\n", line + "\n")
            continue
        ops += 1
        if not any(f"bagua.{op[1]}" in example for example in examples):
            failures.append(f"{title} has no example")
        for example in examples:
            place = beside_what_it_names if op[1] in MODULE_LEVEL else in_frame
            check(title, place(op[1] if place is beside_what_it_names else frame, example), example)
    print("\n".join(failures))
    print(f"{ops} ops, {count} examples, {len(failures)} wrong")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
