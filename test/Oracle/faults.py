#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows that the oracle finds faults of the importer: faults.py SOURCE WORK

Makes one fault after another in a copy of the tree, each in its own build of bagua-translate, and checks texts whose
import goes through the line, of the suite: names of gradients, a replay, a plan written back, XLA beside the original; or
of Inputs, as check_texts.py does. All texts must pass without a fault and one of them fail with it. Prints a line for each fault. Needs JAX (sys.executable).
"""
import os
import pathlib
import shutil
import subprocess
import sys

import check_texts

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Extending"))
from carry_out import copy_tree, run  # noqa: E402

LIB = "lib/Target/StableHLO"
# What, in which file, what stands there, what takes its place, and texts that show it.
FAULTS = [
    ("a division is the step's and the mean's", "Recognition/GradientSum.cpp", "    sum.divisor = sum.divisorOfMeans;\n", "",
     "sum-divided-by-another-number.mlir"),
    ("a divisor is left", "Recognition/GradientRecognition.cpp", "    removeDivision(graph, division, replacements);\n",
     "    (void)division;\n", "own_sgd.pmap"),
    ("a factor is dropped", "Recognition/GradientSum.h", "  double factor() const { return size / divisor; }\n",
     "  double factor() const { return 1; }\n", "mixture_of_experts.shardy"),
    ("a chain loses an axis", "Recognition/GradientSum.cpp", "  sum.axes |= op.collective.axes;\n",
     "  sum.axes = op.collective.axes;\n", "means_in_a_chain.shardy"),
    ("another's reduction is taken for a gradient's", "Recognition/GradientRecognition.cpp",
     "      if (isNext[operand])\n        continue;\n", "", "target_network.pmap"),
    ("a mean's divisor is left", "Recognition/FoldReductions.cpp", "      removeDivision(graph, *division, replacements);\n", "",
     "own_sgd.pmap"),
    ("a maximum is a sum", "Graph/Collectives.cpp", '.Case("maximum", ReduceKind::Max)', '.Case("maximum", ReduceKind::Sum)',
     "several_metrics.pmap"),
    ("an all_to_all cuts another dimension", "Graph/Collectives.cpp", "readDimension(op, \"split_dimension\",",
     "readDimension(op, \"concat_dimension\",", "mixture_of_experts.shardy"),
    ("a gather puts pieces along another dimension", "Graph/Collectives.cpp",
     "readDimension(op, \"all_gather_dim\", collective.concatDimension)",
     "readDimension(op, \"all_gather_dim\", collective.splitDimension)", "fully_sharded.shardy"),
    ("two states are swapped", "Recognition/StateRecognition.cpp", "  nameArguments(graph, model.arguments);\n", """  [&] {
    for (StepArgument &a : model.arguments)
      for (StepArgument &b : model.arguments)
        if (&a < &b && a.isState() && b.isState() &&
            graph.values[graph.arguments[a.argument].value].type ==
                graph.values[graph.arguments[b.argument].value].type)
          return std::swap(a.output, b.output);
  }();
  nameArguments(graph, model.arguments);
""", "ema.pmap"),
    ("another's part is taken for one's own", "Recognition/FoldReductions.cpp", "    if (start != graph.mesh.placeOf(device, axes) * part[*cut])\n"
     "      return std::nullopt;\n", "    (void)device, (void)start;\n", "mirrored_parts.shardy"),
    ("a reduction is lost", "Graph/Flatten.cpp", "    graph.ids[result] = *value;\n  }\n  return success();\n}\n\n/// The op's name, with the target",
     "    graph.ids[result] = graph.ids.lookup(operand);\n  }\n  return success();\n}\n\n/// The op's name, with the target", "own_sgd.pmap"),
    ("what a branch uses is lost", "Graph/Flatten.cpp", "          flat.operands.push_back(graph.ids.lookup(operand));\n",
     "          (void)operand;\n", "loss_scaling_cond.pmap"),
    ("a multiple is forgotten", "Recognition/StateAgreement.cpp",
     "    op.factor = static_cast<double>(graph.mesh.sizeOf(op.collective.axes));\n", "    op.factor = 1;\n",
     "tensor_parallel.shardy"),
    ("copies that may start equal are taken for one value", "Recognition/StateRecognition.cpp",
     "      argument.own |= std::exchange(argument.sharded, 0);\n", "      argument.sharded = 0;\n",
     "examples_from_keys.stacked"),
    ("what the step keeps alike is taken to start so", "Recognition/StateAgreement.cpp",
     "    unproven[argument.value] |= argument.own;\n", "    (void)argument;\n", "mean_of_params.stacked"),
    ("communication in a custom call is taken for compute", "Graph/CustomCalls.cpp",
     "      kind == CallKind::Communication || carriesCommunication(op) ||\n", "      false &&\n",
     "ragged-of-what-is-alike.mlir"),
    ("a sum leaves a loop that reads it", "Graph/Hoist.cpp",
     "  if (!carried.hasOneUse() || !condition->getArgument(index).use_empty() ||\n"
     "      !def || def != *carried.getUsers().begin() || !next.hasOneUse() ||\n", "  if (!def || !next.hasOneUse() ||\n",
     "loop-that-reads-its-sum.mlir"),
    ("all turns are the first", "Graph/Unroll.cpp", "loop.begin + turn * loop.step", "loop.begin", "zero_three_in_a_scan.shardy"),
    ("a turn begins as the loop does", "Graph/Unroll.cpp", "      value = mapping.lookupOrDefault(next);\n",
     "      (void)value, (void)next;\n", "ring_attention.pmap"),
]


def check(tree, suite, text):
    """What check_suite.py, or check_texts.py, says of the text where it is not handled; empty where it is."""
    if text.endswith(".mlir"):
        os.makedirs(suite, exist_ok=True)
        said = check_texts.check(f"{tree}/build/bin", pathlib.Path(tree, "test/Oracle/Inputs", text), suite)
        return said and f"{text}: {said.splitlines()[0]}"
    exporters = f"{tree}/test/exporters"
    if not os.path.exists(f"{suite}/{text}/suite.json"):
        run(sys.executable, f"{exporters}/export_suite.py", f"{suite}/{text}", f"--only={text}")
    done = subprocess.run([sys.executable, f"{exporters}/check_suite.py", f"{tree}/build/bin", f"{suite}/{text}", "--all",
                           "--strategies=ddp", "--oracle=ddp@8"], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    if done.stderr:
        sys.exit(done.stderr)
    return done.stdout.splitlines()[0]


def main(source, work):
    tree, suite = f"{work}/tree", f"{work}/suite"
    os.makedirs(work, exist_ok=True)
    shutil.rmtree(suite, ignore_errors=True)
    copy_tree(source, tree)
    build = ["cmake", "--build", "--preset", "release", "--target", "bagua-translate"]
    run("cmake", "--preset", "release", "-DBAGUA_BUILD_BENCHMARKS=OFF", cwd=tree)
    run(*build, "bagua-opt", "bagua-run", cwd=tree)
    for text in sorted({fault[-1] for fault in FAULTS}):
        if said := check(tree, suite, text):
            sys.exit(f"without a fault: {said}")
    for what, name, old, new, text in FAULTS:
        file = pathlib.Path(tree, LIB, name)
        right = file.read_text()
        if right.count(old) != 1:
            sys.exit(f"{name}: expected once, found {right.count(old)} times: {old}")
        file.write_text(right.replace(old, new))
        run(*build, cwd=tree)
        said = check(tree, suite, text)
        if not said:
            sys.exit(f"{what}: expected {text} to fail, found nothing")
        print(f"{what}: {said}")
        file.write_text(right)
    print(f"{len(FAULTS)} faults, all found")


if __name__ == "__main__":
    main(*map(os.path.abspath, sys.argv[1:]))
