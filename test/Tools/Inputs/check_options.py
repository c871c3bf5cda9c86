#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that each option of each strategy changes what is compiled: check_options.py STEP OUTPUT"""
import json
import os
import re
import subprocess
import sys

from tools import run

# For each option a value that no strategy has by default.
OTHER = {"buffer-bytes": "1000000", "cap-bytes": "1000000", "credit-bytes": "20000000", "cycle-ns": "50000000",
         "evaluations": "1", "first-bytes": "8000000", "form": "multilevel", "fusion": "none", "memory": "1", "overlap": "bsp",
         "partition-bytes": "1000000", "servers": "balanced", "update": "shard", "updates": "runtime", "wire": "bf16"}
# Where another value is needed to differ from the strategy's own.
OTHER_OF = {("blueconnect", "form"): "leader"}
OTHER_OF |= {(name, "updates"): "program" for name in ["bytescheduler-a2a", "bytescheduler-ps", "dear", "p3"]}


def refusal(strategy):
    return subprocess.run(["bagua-opt", f"--bagua-strategy={strategy}", "-"], input="", capture_output=True,
                          text=True).stderr


def obeys_limit(name, step):
    """With one byte allowed: compiles where no memory is needed, else says how much is."""
    needed = json.loads(run("bagua-sim", step, f"--strategy={name}", "--json"))["peak_bytes"]
    limited = subprocess.run(["bagua-opt", f"--bagua-strategy={name}{{memory=1}}", step, "-o", os.devnull],
                             capture_output=True, text=True)
    if limited.returncode == 0:
        return needed == 0 or name == "auto"
    found = re.search(r"expected at most 1 bytes of runtime memory, found (\d+), (\d+) too many", limited.stderr)
    return found and int(found.group(1)) == int(found.group(2)) + 1 >= needed > 0


def main(step, output):
    names = re.search(r"expected a strategy \((.*?)\)", refusal("nonsense")).group(1).split(", ")
    # Not a published strategy but a plan, spelt out.
    names.remove("custom")
    count = 0
    for name in names:
        options = re.search(r"its options are (.*)", refusal(f"{name}{{nonsense=1}}")).group(1).split(", ")

        def compiled(strategy):
            run("bagua-opt", f"--bagua-strategy={strategy}", step, "-o", output)
            text = open(output, encoding="utf-8").read()
            # The strategy's own name apart.
            return re.sub(r'bagua\.strategy = "[^"]*"', "", text)

        default = compiled(name)
        for option in options:
            value = OTHER_OF.get((name, option), OTHER.get(option))
            if value is None:
                sys.exit(f"{name} has an option {option}, for which this test has no value")
            if option == "memory":
                # A limit changes nothing but what is refused, or what auto chooses.
                if not obeys_limit(name, step):
                    sys.exit(f"{name}{{memory=1}} does not do as it should")
                count += 1
                continue
            if compiled(f"{name}{{{option}={value}}}") == default:
                sys.exit(f"{name}{{{option}={value}}} compiles to the same as {name}")
            count += 1
    print(f"{count} options of {len(names)} strategies, each changes the schedule")


main(*sys.argv[1:])
