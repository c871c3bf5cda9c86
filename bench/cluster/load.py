# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other work on the machine: with busy(4): ..."""
import subprocess
import sys
from contextlib import contextmanager

# Until who started it has ended, however that was.
_SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1000000):
        pass
"""


@contextmanager
def busy(count):
    """Beside so many processes that never rest."""
    processes = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
