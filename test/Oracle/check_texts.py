#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_texts.py BIN DIRECTORY: whether each text is what its first line says, `// handled`, `// refused: MESSAGE` or
`// not planned: MESSAGE`.

Handled: imported, planned by ddp and written back, it computes under XLA what the text computes, within 8 units in the
last place. Refused it is by the import, not planned by the proofs of a strategy. Texts are small attacks on the importer, each of which was wrong in silence, or crashed, before it was here.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

# Who ends a text that is not handled, by the step of the work.
ENDS = ("refused", "not planned")
ORACLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "same_numbers.py")


def check(tools, text, scratch):
    """What differs from the first line; empty for nothing."""
    said = text.read_text().split("\n")[0][3:]
    commands = [[f"{tools}/bagua-translate", "--import-stablehlo", text, "-o", f"{scratch}/step"],
                [f"{tools}/bagua-opt", "--bagua-strategy=ddp", f"{scratch}/step", "-o", f"{scratch}/plan"],
                [f"{tools}/bagua-translate", "--export-stablehlo", f"--original={text}", f"{scratch}/plan",
                 "-o", f"{scratch}/written"],
                [sys.executable, ORACLE, text, f"{scratch}/written", "--ulps=8"]]
    end, _, wanted = said.partition(": ")
    for stage, command in enumerate(commands):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode:
            message = done.stdout + done.stderr
            refusal = end in ENDS and stage == ENDS.index(end) and done.returncode == 1
            return "" if refusal and wanted in message else message
        if end in ENDS and stage == ENDS.index(end):
            return f"expected '{said}', found that it is not"
    return ""


def main(tools, directory):
    texts = sorted(pathlib.Path(directory).glob("*.mlir"))
    with tempfile.TemporaryDirectory() as scratch:
        wrong = {text.stem: found for text in texts if (found := check(tools, text, scratch))}
    for name, found in wrong.items():
        print(f"{name}: {found}")
    print(f"{len(texts)} texts, {len(wrong)} wrong")
    sys.exit(1 if wrong or not texts else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
