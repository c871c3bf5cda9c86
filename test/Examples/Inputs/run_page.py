#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does what docs/UseInYourProgram.md says, in an empty folder: run_page.py SOURCE BUILD FOLDER

Writes the files that the page shows, each named by the line above its block, then runs the page's commands as one script.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

FILES = {"csv": "line.csv", "cmake": "CMakeLists.txt", "c++": "line.cpp"}


def main(source, build, folder):
    page = pathlib.Path(source, "docs/UseInYourProgram.md").read_text(encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    commands = ["set -eu"]
    for above, language, text in re.findall(r"([^\n]*)\n\n```(\S+)\n(.*?)```\n", page, re.S):
        if language == "sh":
            commands.append(text)
            continue
        if f"`{FILES[language]}`:" not in above:
            sys.exit(f"expected the name of {FILES[language]} above its block, found '{above}'")
        pathlib.Path(folder, FILES[language]).write_text(text, encoding="utf-8")
    result = subprocess.run(["bash", "-c", "\n".join(commands)], cwd=folder, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env={**os.environ, "BAGUA": source, "BUILD": build})
    print(result.stdout)
    for log in pathlib.Path(folder).glob("*.log"):
        if result.returncode:
            print(log.read_text(encoding="utf-8"))
    return result.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
