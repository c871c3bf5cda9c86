# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How tests run commands."""
import subprocess
import sys


def run(*command, timeout=7200, **options):
    """The output of a command that must succeed. The limit, in seconds, is for one that hangs: whole builds take less on a busy machine."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout
