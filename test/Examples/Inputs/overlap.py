#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the steps in which a collective began before its rank had given its last gradient: overlap.py TRACE"""
import collections
import json
import sys

trace = json.load(open(sys.argv[1]))
events = [e for e in (trace["traceEvents"] if isinstance(trace, dict) else trace) if e["ph"] == "X"]
last_gift = collections.defaultdict(float)
first_collective = {}
for event in events:
    key = (event["pid"], event["args"]["step"])
    if event["name"].startswith("give"):
        last_gift[key] = max(last_gift[key], event["ts"])
    elif event["tid"] > 0:
        first_collective[key] = min(first_collective.get(key, event["ts"]), event["ts"])
overlapping = sum(first_collective[key] < last_gift[key] for key in first_collective)
print(f"communication overlaps backward in {overlapping} of {len(first_collective)} steps")
sys.exit(0 if overlapping else 1)
