#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the snippets of a page of documentation.

    doc_snippets.py docs/Rationale.md

Blocks fenced as ```mlir; the first is the frame of all others. bagua-opt
--bagua-verify-graph accepts each, or refuses it with the words behind
"// refused:" in its first line.
"""
import re
import subprocess
import sys


def main(path):
    blocks = re.findall(r"^```mlir\n(.*?)^```$", open(path, encoding="utf-8").read(), re.M | re.S)
    wrong = 0
    for block in blocks[1:]:
        run = subprocess.run(["bagua-opt", "-", "--bagua-verify-graph"],
                             input=blocks[0] + block, capture_output=True, text=True)
        refused = re.match(r"// refused: (.*)", block)
        good = refused[1] in run.stderr if refused else run.returncode == 0
        if not good:
            wrong += 1
            print(f"expected this to be {'refused' if refused else 'accepted'}:\n{block}\n{run.stderr}")
    print(f"{len(blocks)} snippets, {wrong} wrong")
    return len(blocks) < 2 or bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
