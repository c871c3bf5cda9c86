#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the ten commands of README.md as written, in a folder that looks like the project's root."""
import os
import pathlib
import re
import subprocess
import sys


def main(source, directory):
    source = pathlib.Path(source)
    os.makedirs(directory, exist_ok=True)
    for name in ("test", "examples"):
        link = pathlib.Path(directory) / name
        if not link.exists():
            link.symlink_to(source / name)
    block = re.search(r"```sh\n(.*?)```", (source / "README.md").read_text(), re.S).group(1)
    commands = block.strip().splitlines()
    for command in commands:
        result = subprocess.run(command, shell=True, cwd=directory, capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{command}\n{result.stdout}{result.stderr}")
    print(f"{len(commands)} commands work as written")


if __name__ == "__main__":
    main(*sys.argv[1:])
