#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""custom_calls.py SOURCE: whether the importer's table of custom calls is that of docs/Import.md, and has all that JAX emits.

Targets are looked for in the sources of the JAX that runs this, where they are literals or f-strings of a platform's
prefix, in its list of stable targets, and in its tests of backward compatibility. Prints those that no row has.
"""
import fnmatch
import itertools
import pathlib
import re
import sys

import jax
import jaxlib

# What stands for a platform or its like in an f-string.
HOLES = {"target_name_prefix": ("cu", "hip"), "platform": ("cu", "hip"), "partition": ("", "_partitioned"),
         "device": ("cpu", "gpu"), "platform_name": ("cpu", "gpu"), "prefix": ("s", "d", "c", "z")}
# A name after one of these is a target.
BEFORE = (r"custom_call\(\s*", r"call_target_name=(?:(?:mlir\.)?ir\.StringAttr\.get\()?\s*", r"CALL_NAME\s*=\s*",
          r"ffi_lowering\(\s*", r"ffi_call\(\s*", r"target_name = ", r"custom_call_target = ")
LITERAL = re.compile(rf"(?:{'|'.join(BEFORE)})(f?)[\"']([\w.${{}}]+)[\"']")
LISTS = re.compile(r"(?:custom_call_targets=|_CUSTOM_CALL_TARGETS_GUARANTEED_STABLE = )[\[{](.*?)[\]}]", re.DOTALL)
# Examples of documentation.
EXAMPLES = {"foo", "target_name"}


def filled(name):
    holes = re.findall(r"{(\w+)}", name)
    for values in itertools.product(*(HOLES.get(hole, ("?",)) for hole in holes)):
        yield re.sub(r"{\w+}", lambda _, left=iter(values): next(left), name)


def emitted():
    """Each target, with a file that has it."""
    found = {}
    for package in (jax, jaxlib):
        for path in sorted(pathlib.Path(package.__file__).parent.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            names = [name for is_format, literal in LITERAL.findall(text) for name in (filled(literal) if is_format else (literal,))]
            for entries in LISTS.findall(text):
                names += re.findall(r"[\"']([\w.$]+)[\"']", re.sub(r"#.*", "", entries))
            for name in names:
                if name not in EXAMPLES:
                    found.setdefault(name, path.name)
    return found


def of_code(source):
    text = pathlib.Path(source, "lib/Target/StableHLO/Graph/CustomCalls.cpp").read_text()
    table = re.sub(r"//.*", "", text[text.index("kFamilies[] = {"):text.index("};", text.index("kFamilies[] = {"))])
    return set(" ".join(re.findall(r'"([^"]*)"', table)).split())


def of_docs(source):
    text = pathlib.Path(source, "docs/Import.md").read_text()
    table = text[text.index("### Custom calls"):]
    table = table[table.index("\n|"):]
    table = table[:table.index("\n\n")]
    return {name for row in table.splitlines() if row.startswith("| `")
            for name in re.findall(r"`([^`]*)`", row.split("|")[1])}


def main(source):
    code, docs = of_code(source), of_docs(source)
    for name in sorted(code ^ docs):
        print(f"{name}: only in {'code' if name in code else 'docs'}")
    found = emitted()
    missing = [name for name in sorted(found) if not any(fnmatch.fnmatchcase(name, pattern) for pattern in code)]
    for name in missing:
        print(f"{name} of {found[name]}: in no row")
    print(f"{len(found)} targets of JAX, {len(missing)} in no row; {len(code ^ docs)} rows differ")
    sys.exit(1 if missing or code != docs or not found else 0)


if __name__ == "__main__":
    main(sys.argv[1])
