#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that BaguaCompletenessTests names what is missing: remove.py SOURCE WORK

Takes one thing of each kind from a copy of the tree, each from another op, opcode or strategy, so that none hides
another, and looks for each in what the walk says.
"""
import os
import pathlib
import subprocess
import sys

from carry_out import copy_tree, run

DIALECT, TABLEGEN = "lib/Dialect/Bagua", "include/bagua/Dialect/Bagua"
# What, where, what stands there, what is left of it, what is to be said.
REMOVALS = [
    ("facts", f"{DIALECT}/UpdateOps.cpp", "  results.push_back(inferMultilinear(context, operands));\n", "",
     "bagua.matmul lacks facts"),
    ("meaning", f"{DIALECT}/UpdateOps.cpp", "void OrthonormalizeOp::defineMeaning(MeaningAnalysis &meanings) {\n"
     "  meanings.defineOpaque(*this);\n", "void OrthonormalizeOp::defineMeaning(MeaningAnalysis &) {\n",
     "bagua.orthonormalize lacks a meaning"),
    ("price", f"{TABLEGEN}/BaguaCollectiveOps.td", '0, "::bagua::Collective::Broadcast", [],', '0, "std::nullopt", [],',
     "bagua.broadcast lacks a price"),
    ("placement", f"{TABLEGEN}/BaguaUpdateOps.td",
     "        std::optional<unsigned> getInPlaceOperand(unsigned) { return 0; }\n", "", "bagua.linear lacks a placement"),
    ("writer", f"{DIALECT}/UpdateOps.cpp", "  fields.constants = {getEps().convertToFloat()};\n", "",
     "bagua.adam_apply lacks a writer: makes a plan that the runtime would refuse"),
    ("relation", f"{TABLEGEN}/BaguaCollectiveOps.td",
     "      std::optional<::bagua::RelationKind> getRelation() { return ::bagua::RelationKind::AllToAll; }\n", "",
     "bagua.all_to_all lacks a relation"),
    ("verifier", "lib/Runtime/Plan/Opcodes.cpp", "{Kind::Arithmetic, {0, 0, std::nullopt, refuseLinear}}",
     "{Kind::Arithmetic}", "opcode Linear lacks a verifier"),
    ("kernel", "lib/Runtime/Kernels/Arithmetic.cpp", "    return bindSgd(binding);\n", "    return nullptr;\n",
     "opcode Sgd lacks a kernel"),
    ("an op's docs", "docs/Dialect.md", "### `bagua.cast`", "### `bagua.convert`", "bagua.cast lacks docs"),
    ("an opcode's docs", "include/bagua/Runtime/Plan.fbs", "  // bucket -> tensors: as Concat.\n", "",
     "opcode Split lacks docs"),
    ("a strategy's docs", "docs/Strategies.md", "| `p3` |", "| `p2` |", "strategy p3 lacks docs"),
    ("a strategy's relaxation", "lib/Scheduling/Search/Strategy.cpp", '"Sergeev and Del Balso, Horovod, 2018",\n',
     '"Sergeev and Del Balso, Horovod, 2018",\n     .relaxation = "none",\n', "strategy horovod lacks a relaxation"),
]
# Left without a user, which is a warning.
UNUSED = [("lib/Runtime/Plan/Opcodes.cpp", "std::string refuseLinear(", "[[maybe_unused]] std::string refuseLinear("),
          ("lib/Runtime/Kernels/Arithmetic.cpp", "BoundKernel bindSgd(", "[[maybe_unused]] BoundKernel bindSgd(")]


def replace(tree, path, old, new):
    file = pathlib.Path(tree, path)
    text = file.read_text()
    if text.count(old) != 1:
        sys.exit(f"{path}: expected once, found {text.count(old)} times: {old}")
    file.write_text(text.replace(old, new))


def main(source, work):
    tree = f"{work}/tree"
    os.makedirs(work, exist_ok=True)
    copy_tree(source, tree)
    for path, old, new in UNUSED:
        replace(tree, path, old, new)
    for _, path, old, new, _ in REMOVALS:
        replace(tree, path, old, new)
    run("cmake", "--preset", "release", "-DBAGUA_BUILD_BENCHMARKS=OFF", cwd=tree)
    run("cmake", "--build", "--preset", "release", "--target", "BaguaCompletenessTests", cwd=tree)
    walk = subprocess.run(["build/bin/BaguaCompletenessTests"], cwd=tree, capture_output=True, text=True)
    if walk.returncode == 0:
        sys.exit("expected the walk to fail")
    for what, _, _, _, said in REMOVALS:
        if said not in walk.stdout:
            sys.exit(f"without {what}: expected '{said}', found {walk.stdout[-6000:]}{walk.stderr[-2000:]}")
        print(f"without {what}: {said}")
    print(f"{len(REMOVALS)} removals, all named")


if __name__ == "__main__":
    main(*map(os.path.abspath, sys.argv[1:]))
