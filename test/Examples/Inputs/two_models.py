#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds two-models against an installed Bagua and runs it on plans of several strategies: two_models.py SOURCE BUILD FOLDER"""
import os
import shutil
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from commands import run

STRATEGIES = [f"{name}{{updates={kind}}}" for kind in ["program", "late"]
              for name in ["ddp", "bytescheduler-a2a", "dear", "auto"]]
RUNS = "100" if os.environ.get("BAGUA_FULL_TESTS") else "3"


def compile_plan(step, strategy, plan):
    scheduled = run("bagua-opt", f"--bagua-strategy={strategy}", step)
    run("bagua-translate", "--export-plan", "-o", plan, input=scheduled)


def main(source, build, folder):
    here = f"{source}/test/Examples/Inputs/two-models"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run("cmake", "--install", build, "--prefix", f"{folder}/install")
    run("cmake", "-S", here, "-B", f"{folder}/build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={folder}/install")
    run("cmake", "--build", f"{folder}/build")
    for model in ["network", "line"]:
        run("bagua-translate", "--import-layers", f"{here}/{model}.csv", "--cluster=node=4", "-o",
            f"{folder}/{model}.mlir")
    run("bagua-opt", "--pass-pipeline=builtin.module(bagua.step(bagua-accumulate{micro-batches=2}))",
        f"{folder}/network.mlir", "-o", f"{folder}/batches.mlir")
    for strategy in STRATEGIES:
        compile_plan(f"{folder}/batches.mlir", strategy, f"{folder}/network.bagua")
        compile_plan(f"{folder}/line.mlir", strategy, f"{folder}/line.bagua")
        result = run(f"{folder}/build/two-models", f"{folder}/network.bagua", f"{folder}/line.bagua", RUNS)
        print(f"{strategy}: {result}", end="")


main(*sys.argv[1:])
