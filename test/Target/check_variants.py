#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports the variants of one step, or of every step in a folder, with bagua-translate.

    check_variants.py STEP.mlir|FOLDER SCRATCH

Names, types, bytes and flops of gradients must agree with the original's; where a
variant has lost its names, everything else must.
"""
import pathlib
import re
import subprocess
import sys


def gradients(step):
    """(name, type) of every gradient, and all flops."""
    run = subprocess.run(["bagua-translate", "--import-stablehlo", str(step)], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{step}: refused\n{run.stderr[:2000]}")
    found = re.findall(r'(tensor<[^ ]*>) grad "([^"]*)"', run.stdout)
    flops = sum(map(int, re.findall(r" flops (\d+) ", run.stdout)))
    remarks = re.findall(r"remark: (.*)", run.stderr)
    return sorted((name, kind) for kind, name in found), flops, remarks


def main():
    source, scratch = map(pathlib.Path, sys.argv[1:])
    maker = pathlib.Path(__file__).with_name("make_variants.py")
    for step in sorted(source.glob("*.mlir")) if source.is_dir() else [source]:
        folder = scratch / step.stem
        subprocess.run([sys.executable, maker, step, folder], check=True)
        expected, flops, _ = gradients(step)
        for variant in sorted(folder.glob("*.mlir")):
            found, found_flops, remarks = gradients(variant)
            has_names = variant.stem not in ("nameless", "worst")
            if not has_names:
                found, wanted = (sorted(kind for _, kind in pairs) for pairs in (found, expected))
            else:
                wanted = expected
            if found != wanted or found_flops != flops:
                sys.exit(f"{variant}: {len(found)} gradients and {found_flops} flops, expected {len(wanted)} and {flops}")
            if variant.stem in ("unknown", "all") and not any("elsewhere.unknown" in remark for remark in remarks):
                sys.exit(f"{variant}: no remark names the unknown op")
        print(f"{step.stem}: {len(expected)} gradients in {len(list(folder.glob('*.mlir')))} variants")


if __name__ == "__main__":
    main()
