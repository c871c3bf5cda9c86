#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the scripts beside this one share."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from commands import run  # noqa: F401, of those that import this

# So many times the time of the fastest plan count as as fast, with fewer collectives (kAsFast in PlanSearch.h).
AS_FAST = 1.002
