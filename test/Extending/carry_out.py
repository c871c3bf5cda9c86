#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Carries out the worked examples of docs/Extending.md: carry_out.py compile|run SOURCE WORK

Copies the tree, as git has it, to WORK, does what the document says, and holds the op, the pass, the strategy, the encoding, the backend and the optimizer to what
it promises: how many files each touches, and with `compile` that these files compile; with `run` that nothing lacks anything, that they
run, and that `auto` rates the strategy right and never sends 16 bits unasked. Prints a line for each.
"""
import json
import os
import pathlib
import re
import shutil
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from commands import run

STEP = re.compile(r"(?:[Ii]n `([^`]+)`, (before|after) `([^`]+)`|New file `([^`]+)`):\n\n```[\w+]*\n(.*?)^```$", re.M | re.S)
MOST_FILES_OF_OP = 5
# Holds the C++ that the definitions of ops have in them.
FILE_OF_OPS = "lib/Dialect/Bagua/BaguaOps.cpp"
STRATEGY = "ddp-rails"
# Its number, its row, its kernel, the kernel's line in the table, and CMake's.
FILES_OF_ENCODING = ["include/bagua/Support/Encodings.h", "lib/Support/Encodings.cpp", "lib/Runtime/Kernels/Encodings/HalfByte.cpp",
                     "lib/Runtime/Kernels/Encodings/EncodingKernels.cpp", "lib/Runtime/CMakeLists.txt"]
# Its folder, its row, and a line of CMake.
FILES_OF_BACKEND = ["lib/Runtime/Communication/Board/BoardBackend.h", "lib/Runtime/Communication/Board/BoardBackend.cpp",
                    "lib/Runtime/Communication/Backends.cpp", "lib/Runtime/CMakeLists.txt"]
WIRE = "half_byte<block=32>"
# Its number, its row; its kernel and its check, and for each the line in the table and CMake's.
FILES_OF_OPTIMIZER = ["include/bagua/Support/UpdateRules.h", "lib/Support/UpdateRules.cpp",
                      "lib/Runtime/Kernels/Updates/Lion.cpp", "lib/Runtime/Kernels/Updates/UpdateKernels.cpp",
                      "lib/Runtime/CMakeLists.txt", "lib/Replay/Updates/LionCheck.cpp", "lib/Replay/Updates/UpdateChecks.cpp",
                      "lib/Replay/CMakeLists.txt"]
# Gradients that are clipped by value before sgd uses them.
CLAMPED = """
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>]
    device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
bagua.step @train on @pod data [node] (batch %x "x" : tensor<32xf32>, param %w "w" : tensor<4096xf32>) {
  %a = bagua.compute forward "l"(%x, %w) cost_ns 1000 measured : (tensor<32xf32>, tensor<4096xf32>) -> (tensor<32xf32>)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 1000 measured : (tensor<32xf32>, tensor<4096xf32>) -> (tensor<4096xf32> grad "w")
  %c = bagua.clamp %g min -1.0 max 1.0 : tensor<4096xf32>
  %n = bagua.sgd (%w) grad %c lr 0.1 : tensor<4096xf32>
  bagua.yield %n : tensor<4096xf32>
}
"""

# An update by the new row.
UPDATED = """
bagua.cluster @pod axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000>]
    device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
bagua.step @train on @pod data [node] (batch %x "x" : tensor<32xf32>, param %w "w" : tensor<4099xf32>, optimizer %m "m" : tensor<4099xf32>) {
  %a = bagua.compute forward "l"(%x, %w) cost_ns 1000 measured : (tensor<32xf32>, tensor<4099xf32>) -> (tensor<32xf32>)
  %g = bagua.compute backward "l"(%a, %w) cost_ns 1000 measured : (tensor<32xf32>, tensor<4099xf32>) -> (tensor<4099xf32> grad "w")
  %n, %k = bagua.update (%w, %m) by lion [0.9, 0.99, 0.1] grad %g lr 0.01 : tensor<4099xf32>
  bagua.yield %n, %k : tensor<4099xf32>, tensor<4099xf32>
}
"""


def layers(count=6, tensor="tensor<750000xf32>"):
    """A step whose gradients are best merged, and sent on rails: far nodes of many devices."""
    ops, previous = [], "%x"
    for i in range(count):
        ops.append(f'%a{i} = bagua.compute forward "l{i}"({previous}, %w{i}) cost_ns 100000 measured : '
                   f"(tensor<32xf32>, {tensor}) -> (tensor<32xf32>)")
        previous = f"%a{i}"
    for i in reversed(range(count)):
        ops.append(f'%d{i}, %g{i} = bagua.compute backward "l{i}"({previous}, %w{i}) cost_ns 200000 measured : '
                   f'(tensor<32xf32>, {tensor}) -> (tensor<32xf32>, {tensor} grad "w{i}")')
        previous = f"%d{i}"
    for i in range(count):
        ops.append(f'%n{i} = bagua.compute update "o{i}"(%w{i}, %g{i}) cost_ns 1000 measured : '
                   f"({tensor}, {tensor}) -> ({tensor})")
    each = lambda text: ", ".join(text.format(i) for i in range(count))
    return f"""bagua.cluster @pod
    axes [#bagua.axis<"node", size = 4, latency_ns = 200000, bytes_per_s = 12500000000>,
          #bagua.axis<"gpu", size = 8, latency_ns = 2000, bytes_per_s = 200000000000>]
    device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
bagua.step @train on @pod data [node, gpu] (batch %x "x" : tensor<32xf32>, {each('param %w{0} "w{0}" : ' + tensor)}) {{
  {(chr(10) + '  ').join(ops)}
  bagua.yield {each('%n{0}')} : {each(tensor)}
}}
"""


def copy_tree(source, tree):
    """What git has or would take: no builds."""
    shutil.rmtree(tree, ignore_errors=True)
    names = run("git", "-C", source, "ls-files", "-co", "--exclude-standard").split("\n")
    for name in filter(None, names):
        if not os.path.exists(f"{source}/{name}"):
            continue
        target = pathlib.Path(tree, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(f"{source}/{name}", target)


def insert(tree, path, where, anchor, text):
    lines = pathlib.Path(tree, path).read_text().split("\n")
    at = [i for i, line in enumerate(lines) if line == anchor]
    if len(at) != 1:
        sys.exit(f"{path}: expected one line '{anchor}', found {len(at)}")
    begin = at[0] + (where == "after")
    lines[begin:begin] = text.rstrip("\n").split("\n") + ([""] if text.endswith("\n\n") else [])
    pathlib.Path(tree, path).write_text("\n".join(lines))


def carry_out(tree):
    """Does what the document says; returns the files that each example touches."""
    touched = {}
    document = pathlib.Path(tree, "docs/Extending.md").read_text()
    for section in re.split(r"^### Worked example: ", document, flags=re.M)[1:]:
        section = re.split(r"^## ", section, flags=re.M)[0]
        title = section.split("\n", 1)[0].strip("`")
        files = touched.setdefault(title, [])
        for path, where, anchor, new, text in STEP.findall(section):
            if new:
                pathlib.Path(tree, new).parent.mkdir(exist_ok=True)
                pathlib.Path(tree, new).write_text(text)
            else:
                insert(tree, path, where, anchor, text)
            if (new or path) not in files:
                files.append(new or path)
    return touched


def check_counts(touched):
    isTest = lambda path: path.startswith(("test/", "unittests/"))
    (op, op_files), (_, pass_files), (strategy, strategy_files), (encoding, encoding_files), (optimizer, optimizer_files), (backend, backend_files) = touched.items()
    # The manual is renewed, and counts.
    files = [path for path in op_files if not isTest(path)] + ["docs/Dialect.md"]
    if len(files) > MOST_FILES_OF_OP:
        sys.exit(f"{op}: expected at most {MOST_FILES_OF_OP} files besides its tests, found {files}")
    print(f"{op}: {len(files)} files besides its tests: {', '.join(files)}")
    files = [path for path in pass_files if not isTest(path)]
    if files != ["include/bagua/Transforms/Passes.td", "lib/Transforms/ScaleCosts.cpp", "lib/Transforms/CMakeLists.txt"]:
        sys.exit(f"pass: expected its definition, its file and a line of CMake, found {files}")
    print(f"pass: {', '.join(files)}")
    if strategy_files != ["lib/Scheduling/Search/Strategy.cpp"]:
        sys.exit(f"{strategy}: expected one row, found changes of {strategy_files}")
    print(f"{strategy}: one row of {strategy_files[0]}")
    files = [path for path in encoding_files if not isTest(path)]
    if files != FILES_OF_ENCODING:
        sys.exit(f"{encoding}: expected its number, its row, its kernel and where that registers, found {files}")
    print(f"{encoding}: {len(files)} files besides its tests: {', '.join(files)}")
    if backend_files != FILES_OF_BACKEND:
        sys.exit(f"{backend}: expected its folder, its row and a line of CMake, found {backend_files}")
    print(f"{backend}: a folder and a row: {', '.join(backend_files)}")

    if optimizer_files != FILES_OF_OPTIMIZER:
        sys.exit(f"{optimizer}: expected its number, its row, its kernel, its check and where they register, found {optimizer_files}")
    print(f"{optimizer}: {len(optimizer_files)} files: {', '.join(optimizer_files)}")


def configure(tree):
    run("cmake", "--preset", "release", "-DBAGUA_BUILD_BENCHMARKS=OFF", cwd=tree)


def compile_files(tree, touched):
    """Those of C++, and the file that holds the C++ of the op's definition."""
    files = [path for paths in touched.values() for path in paths if path.endswith(".cpp")] + [FILE_OF_OPS]
    run("ninja", "-C", "build", *(f"{tree}/{path}^" for path in files), cwd=tree)
    print(f"{len(files)} files compile: {', '.join(files)}")


def build(tree):
    run("cmake", "--build", "--preset", "release", "--target", "bagua-opt", "bagua-translate", "bagua-run", "bagua-sim",
        "BaguaCompletenessTests", "BaguaSessionTests", "BaguaRuntimeTests", "BaguaSupportTests", cwd=tree)
    run("cmake", "--build", "--preset", "release", "--target", "bagua-doc", cwd=tree)


def check_op(tree, work):
    run("build/bin/BaguaCompletenessTests", "--gtest_brief=1", cwd=tree)
    found = run("build/bin/BaguaSessionTests", "--gtest_filter=*Clamp*", "--gtest_brief=1", cwd=tree)
    if "[  PASSED  ] 5 tests." not in found:
        sys.exit(f"expected the op's five cases to pass, found {found}")
    step, plan = f"{work}/clamped.mlir", f"{work}/clamped.bagua"
    pathlib.Path(step).write_text(CLAMPED)
    for strategy in ("ddp", "bytescheduler-a2a"):
        scheduled = run("bagua-opt", f"--bagua-strategy={strategy}", step)
        # No contract speaks of a clipped gradient, so its update is the program's, whoever could run it.
        if "bagua.clamp" in scheduled:
            sys.exit(f"{strategy}: expected the program to run the clamp")
        run("bagua-translate", "--export-plan", "-o", plan, input=scheduled)
        run("bagua-run", plan, "--check", "--time-scale=0")
    print("op: lacks nothing; runs by the program, and in its cases by the runtime")


def check_pass(tree):
    os.environ["LIT_FILTER"] = "scale-costs|pass-examples|op-examples|manual-is-current"
    run("cmake", "--build", "--preset", "release", cwd=tree)
    found = run(sys.executable, "/usr/lib/llvm-19/build/utils/lit/lit.py", "-v", f"{tree}/build/test")
    if not re.search(r"Passed *: *4", found):
        sys.exit(f"expected the pass's test and the manual's three to pass, found {found}")
    print("pass: its test and the manual's pass")


def names_of(report):
    return {entry["name"]: entry for entry in json.loads(report)["strategies"]}


def check_strategy(work):
    step = f"{work}/step.mlir"
    pathlib.Path(step).write_text(layers())
    if STRATEGY in names_of(run("bagua-sim", step, "--compare", "--json")):
        sys.exit(f"{STRATEGY}: expected no lossy strategy where nobody allows one")
    shown = names_of(run("bagua-sim", step, "--compare", "--allow=lossless,lossy", "--json"))
    if "step_ns" not in shown.get(STRATEGY, {}):
        sys.exit(f"{STRATEGY}: expected a row of the comparison, found {shown.get(STRATEGY)}")
    # The least evaluations end with the best that is published, which here is this one in 32 bits.
    for wire, text in (("none", f"{STRATEGY}{{wire=none}}"), ("bf16", STRATEGY)):
        report = f"{work}/report.json"
        made = run("bagua-opt", f"--bagua-strategy=auto{{evaluations=1 wire={wire}}}", f"--bagua-report={report}", step)
        decided = next(d for d in json.loads(pathlib.Path(report).read_text())["decisions"] if d["pass"] == "bagua-auto")
        rated = {entry["name"]: entry["step_ns"] for entry in decided["presets"]}
        alone = json.loads(run("bagua-sim", step, f"--strategy={text}", "--json"))["step_ns"]
        if abs(rated[STRATEGY] / alone - 1) > 1e-6:
            sys.exit(f"{STRATEGY}: auto takes it for {rated[STRATEGY]} ns with wire={wire}, it is {alone}")
        if ("bf16" in made) != (wire == "bf16"):
            sys.exit(f"auto with wire={wire} chose {decided['chosen']}, and {'no' if wire == 'bf16' else ''} 16 bits")
        print(f"strategy: wire={wire}: auto rates it at {rated[STRATEGY]:.0f} ns, alone {alone:.0f}; chosen {decided['chosen']}")
        if wire == "none" and decided["chosen"] != text:
            sys.exit(f"expected the choice of {text}, found {decided['chosen']}")


def check_encoding(tree, work):
    """From the option to a run: passes, prediction, plan, ranks."""
    run("build/bin/BaguaSupportTests", "--gtest_filter=Encodings*", "--gtest_brief=1", cwd=tree)
    found = run("build/bin/BaguaRuntimeTests", "--gtest_filter=HalfByte*:EncodingKernels*", "--gtest_brief=1", cwd=tree)
    if "[  PASSED  ] 8 tests." not in found:
        sys.exit(f"expected the encoding's test and those of all encodings to pass, found {found}")
    step, plan = f"{work}/wire.mlir", f"{work}/wire.bagua"
    pathlib.Path(step).write_text(layers(2, "tensor<5001xf32>"))
    scheduled = run("bagua-opt", f"--bagua-strategy=ddp{{wire={WIRE}}}", step)
    if "#bagua.half_byte<block = 32>" not in scheduled:
        sys.exit("expected encoded values in the scheduled step")
    sent = {wire: json.loads(run("bagua-sim", step, f"--strategy=ddp{{wire={wire}}}", "--json"))["bytes_sent"]
            for wire in ("none", "minmax_uint8", WIRE)}
    if not sent[WIRE] < sent["minmax_uint8"] < sent["none"]:
        sys.exit(f"expected fewer bytes by fewer bits, found {sent}")
    run("bagua-translate", "--export-plan", "-o", plan, input=scheduled)
    if "half_byte<block=32> parts" not in run("bagua-translate", "--print-plan", plan):
        sys.exit("expected the encoding in the plan's text")
    checked = json.loads(run("bagua-run", plan, "--check", "--json", "--time-scale=0"))["check"]
    if not checked["passed"] or checked["max_error"] == 0:
        sys.exit(f"expected results within the encoding's bound and not exact, found {checked}")
    print(f"encoding: in 4 bits {sent[WIRE]} bytes, in 8 {sent['minmax_uint8']}, in 32 {sent['none']}; off by {checked['max_error']:.3f}")


def check_backend(tree):
    """The suites run on the row because it is in the table."""
    found = run("build/bin/BaguaRuntimeTests", "--gtest_filter=CommunicatorConformanceTest*board*:CommunicatorFailureTest*board*:"
                "CommunicatorMisuseTest*board*", "--gtest_brief=1", cwd=tree)
    passed = re.search(r"\[  PASSED  \] (\d+) tests?", found)
    conforming = run("build/bin/BaguaRuntimeTests", "--gtest_filter=CommunicatorConformanceTest*board*", "--gtest_list_tests", cwd=tree)
    if not passed or conforming.count("board") < 20:
        sys.exit(f"expected the suites of communicators to pass on the backend, found {found} of {conforming}")
    print(f"backend: {passed[1]} tests of communicators, {conforming.count('board')} of conformance")


def check_optimizer(work):
    """Whole and on shards, by the contract alone."""
    step, plan = f"{work}/updated.mlir", f"{work}/updated.bagua"
    pathlib.Path(step).write_text(UPDATED)
    for strategy in ("dear", "dear{update=shard}"):
        scheduled = run("bagua-opt", f"--bagua-strategy={strategy}", step)
        run("bagua-translate", "--export-plan", "-o", plan, input=scheduled)
        if "update.lion" not in run("bagua-translate", "--plan-to-json", plan):
            sys.exit("expected the optimizer among the plan's features")
        checked = json.loads(run("bagua-run", plan, "--check", "--json", "--time-scale=0"))["check"]
        if not checked["passed"] or checked["max_error"] != 0:
            sys.exit(f"{strategy}: expected every bit as the contract says, found {checked}")
    print("optimizer: runs whole and on shards, every bit as the contract says")


def main(what, source, work):
    source, work = os.path.abspath(source), os.path.abspath(work)
    tree = f"{work}/tree"
    os.makedirs(work, exist_ok=True)
    copy_tree(source, tree)
    touched = carry_out(tree)
    check_counts(touched)
    configure(tree)
    if what == "compile":
        return compile_files(tree, touched)
    build(tree)
    os.environ["PATH"] = f"{tree}/build/bin:{os.environ['PATH']}"
    check_op(tree, work)
    check_pass(tree)
    check_strategy(work)
    check_encoding(tree, work)
    check_backend(tree)
    check_optimizer(work)


if __name__ == "__main__":
    main(*sys.argv[1:])
