#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes each fault that house_rules.py is to find in a copy of the sources: house_faults.py SOURCE WORK"""
import os
import pathlib
import shutil
import subprocess
import sys

FAULTS = [
    ("Scheduling includes a pass's header", "lib/Scheduling/Search/Merging.cpp",
     '#include "bagua/Transforms/Utils/Names.h"\n', "may not include"),
    ("Kernels include the session", "lib/Runtime/Kernels/UpdateKernels.cpp",
     '#include "Session/Executor.h"\n', "may not include"),
    ("the runtime includes LLVM", "lib/Runtime/Session/Session.cpp", '#include "llvm/ADT/StringRef.h"\n', "without LLVM"),
    ("a pass lists op kinds", "lib/Transforms/Place.cpp",
     "bool f(Operation *op) { return isa<SgdOp, AdamOp>(op); }\n", "lists op kinds"),
    ("a pass switches over op kinds", "lib/Transforms/Place.cpp",
     "void f(Operation *op) { llvm::TypeSwitch<Operation *>(op); }\n", "lists op kinds"),
    ("opcodes in order", "lib/Runtime/Plan/PlanText.cpp",
     "bool f(const fb::Instruction &op) { return op.opcode() <= fb::Opcode::Pull; }\n", "by their order"),
    ("a default among opcodes", "lib/Runtime/Plan/PlanText.cpp",
     "int f(fb::Opcode opcode) {\n  switch (opcode) {\n  default:\n    return 0;\n  }\n}\n", "has a default"),
    ("a pass asks kind by kind", "lib/Transforms/Place.cpp",
     "bool f(Operation *op) { return isa<bagua::SgdOp>(op) || isa<bagua::AdamOp>(op); }\n", "knows SgdOp"),
    ("a pass goes by an op's name", "lib/Transforms/Place.cpp",
     'bool f(Operation *op) { return op->getName().getStringRef() == "bagua.sgd"; }\n', "lists op kinds"),
    ("a chain of opcodes", "lib/Replay/Gifts.cpp",
     "bool f(const fb::Instruction &op) { return op.opcode() == fb::Opcode::Sgd; }\n", "knows an opcode"),
    ("a way round", "lib/Scheduling/Search/Merging.cpp", '#include "../Transforms/Utils/Names.h"\n', "by a way round"),
    ("a generated header of another room", "lib/Scheduling/Search/Merging.cpp", '#include "bagua/Transforms/Passes.h.inc"\n',
     "may not include"),
    ("the executor includes the session's header", "lib/Runtime/Session/Executor.h",
     '#include "bagua/Runtime/Session.h"\n', "may not include /Session.h"),
    ("an installed header knows the format of plans", "include/bagua/Runtime/Session.h", '#include "PlanGenerated.h"\n',
     "an installed header includes"),
    ("an installed header includes FlatBuffers", "include/bagua/Runtime/Plan.h", '#include <flatbuffers/flatbuffers.h>\n',
     "an installed header includes"),
    ("a long function", "lib/Scheduling/Search/Merging.cpp", "void f() {\n" + "  f();\n" * 60 + "}\n", "at most 60 lines"),
    ("a library prints", "lib/Transforms/Place.cpp", 'void f() { llvm::errs() << "placed\\n"; }\n', "a library prints"),
    ("a condition is waited for without a limit", "lib/Runtime/Communication/Memory/Gate.cpp",
     "void f() { changed.wait(lock); }\n", "waits without a limit"),
    ("a condition behind a pointer, too", "lib/Runtime/Communication/Memory/Gate.cpp",
     "void f() { state->changed.wait(guard, isOver); }\n", "waits without a limit"),
    ("a number is waited for without a limit", "lib/Runtime/Communication/Memory/Gate.cpp",
     "void f(std::atomic<int> &state) { state.wait(0); }\n", "waits without a limit"),
    ("a result is waited for without a limit", "lib/Runtime/Session/Session.cpp",
     "void f(std::future<int> &result) { result.get(); }\n", "waits without a limit"),
    ("a futex is waited for without a limit", "lib/Runtime/Communication/Memory/Gate.cpp",
     "void f() { syscall(SYS_futex, at, FUTEX_WAIT, expected, nullptr, nullptr, 0); }\n", "waits without a limit"),
    ("one more wait where some are known to end", "lib/Runtime/Session/Executor.cpp",
     "void f() { timeline.sleep(target, kNoLimit); }\n", "expected 3 waits without a limit"),
    ("a thread is detached late", "lib/Runtime/Communication/Hosts/Alarm.cpp", "void f(std::thread &thread) { thread.detach(); }\n",
     "detaches a thread that may have ended"),
    ("a test bounds the time that something takes", "unittests/Runtime/QueueTest.cpp",
     "void f() { EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s); }\n", "bounds the time"),
    ("a test sleeps in the place of an event", "unittests/Runtime/RankPlaceTest.cpp",
     "void f() { std::this_thread::sleep_for(100ms); }\n", "expected 0 sleeps"),
    ("a file of lib/ without a room", "lib/Codecs/Row.h", "", "is in no room"),
    ("a room of the runtime knows those above it", "lib/Runtime/Files/ReadFile.cpp", '#include "Session/Executor.h"\n', "may not include"),
    ("a transport knows of hosts", "lib/Runtime/Communication/Transport/Tag.h", '#include "Communication/Hosts/HostLayout.h"\n',
     "may not include"),
    ("a stage of the import knows the next one", "lib/Target/StableHLO/Graph/Graph.cpp",
     '#include "StableHLO/Recognition/ImportedStep.h"\n', "Graph may not include Recognition"),
    ("a file without a licence", "lib/Scheduling/Rows.cpp", "int rows = 0;\n", "expected its licence"),
    ("two files of one name", "lib/Scheduling/Place.cpp", "", "one name for"),
]


def main(source, work):
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("lib", "include", "tools", "unittests"):
        shutil.copytree(f"{source}/{folder}", f"{work}/{folder}")
    rules = pathlib.Path(__file__).with_name("house_rules.py")
    for what, path, text, message in FAULTS:
        file = pathlib.Path(work, path)
        before = file.read_text() if file.exists() else None
        file.parent.mkdir(exist_ok=True)
        file.write_text((before or "") + text)
        found = subprocess.run([sys.executable, rules, work], capture_output=True, text=True).stdout
        if message not in found:
            sys.exit(f"{what}: expected '{message}', found {found}")
        if before is None:
            os.remove(file)
        else:
            file.write_text(before)
    print(f"{len(FAULTS)} faults, all found")


if __name__ == "__main__":
    main(*sys.argv[1:])
