#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loses one gradient's reduction after each pass of a strategy in turn.

For every pass: the pipeline up to it runs, the first all_reduce of a gradient is taken out of the text, the rest of the
pipeline runs (without the proofs), and then
  - at graph level bagua-verify-graph must refuse the step,
  - bagua-run --check must fail on the exported plan, naming the check.
The unharmed step must pass both. Prints one line a pass; exits non-zero if anything harmful was accepted.
"""
import re
import subprocess
import sys

PASSES = ["bagua-coarsen", "bagua-annotate-costs", "bagua-relax", "bagua-bucketize{policy=%s}",
          "bagua-schedule{policy=%s}", "bagua-place"]


def opt(text, passes):
    pipeline = "builtin.module(" + ",".join(p if p == "bagua-verify-graph" else f"bagua.step({p})" for p in passes) + ")"
    return subprocess.run(["bagua-opt", f"--pass-pipeline={pipeline}"], input=text, capture_output=True, text=True)


def lose(text):
    """Takes out the first all_reduce of float data that is no scalar; its users get the operand."""
    for match in re.finditer(r"^ *(%\w+) = bagua\.all_reduce mean (%[\w#.]+) over .* : tensor<\d+.*\n", text, re.M):
        result, operand = match.group(1), match.group(2)
        text = text[:match.start()] + text[match.end():]
        return re.sub(re.escape(result) + r"(?![\w#.])", operand, text)
    return None


def checked(text, ranks, directory):
    plan = f"{directory}/lost.bagua"
    export = subprocess.run(["bagua-translate", "--export-plan", "-o", plan], input=text, capture_output=True, text=True)
    if export.returncode:
        sys.exit("export failed: " + export.stderr)
    run = subprocess.run(["bagua-run", plan, f"--ranks={ranks}", "--check"], capture_output=True, text=True)
    return run.returncode == 0


def main(step, bucketize, schedule, ranks, directory):
    passes = [PASSES[0], PASSES[1], PASSES[2], PASSES[3] % bucketize, PASSES[4] % schedule, PASSES[5]]
    text = open(step).read()
    whole = opt(text, passes)
    if whole.returncode or not checked(whole.stdout, ranks, directory):
        sys.exit("the unharmed step fails: " + whole.stderr)
    print("nothing lost: accepted")
    accepted = 0
    for count in range(3, len(passes) + 1):  # before relax there is nothing to lose
        text = opt(open(step).read(), passes[:count]).stdout
        harmed = lose(text)
        if harmed is None:
            sys.exit(f"found no all_reduce after {passes[count - 1]}")
        proof = "not at graph level"
        if count <= 4:
            refused = opt(harmed, ["bagua-verify-graph"]).returncode != 0
            proof = "refused" if refused else "ACCEPTED"
            accepted += not refused
        rest = opt(harmed, passes[count:]) if count < len(passes) else None
        passes_check = checked(rest.stdout if rest else harmed, ranks, directory)
        accepted += passes_check
        print(f"lost after {passes[count - 1].split('{')[0]}: graph proof {proof}, "
              f"check {'ACCEPTED' if passes_check else 'failed'}")
    sys.exit(1 if accepted else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
