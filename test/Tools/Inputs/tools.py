#!/usr/bin/env python3
"""What the scripts beside this one share."""
import subprocess
import sys

# So many times the time of the fastest plan count as as fast, with fewer collectives (kAsFast in PlanSearch.h).
AS_FAST = 1.002


def run(*command):
    """The output of a command that must succeed."""
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout
