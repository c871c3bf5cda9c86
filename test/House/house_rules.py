#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the tree to the rules that docs/Architecture.md gives: house_rules.py SOURCE

Includes between rooms, with a room for each file of lib/; a licence and one name a file; no lists of op kinds and no chains of opcodes; functions of 60 lines at most;
libraries that do not print; no wait without a limit in the runtime, and no thread that is detached late; no unit test that goes by the
clock; a bagua-run that only reads its command line and prints.
"""
import collections
import pathlib
import re
import sys

# Room of a file (by the longest prefix), and the rooms that it may include. Every room may include itself.
ROOMS = {
    "Support": ["lib/Support/", "include/bagua/Support/"],
    "Dialect": ["lib/Dialect/", "include/bagua/Dialect/"],
    "Prices": ["lib/Scheduling/Prices/", "include/bagua/Scheduling/Prices/"],
    "Proof": ["lib/Scheduling/Proof/", "include/bagua/Scheduling/Proof/"],
    "Search": ["lib/Scheduling/Search/", "include/bagua/Scheduling/Search/"],
    "Transforms": ["lib/Transforms/", "include/bagua/Transforms/"],
    "Utils": ["lib/Transforms/Utils/", "include/bagua/Transforms/Utils/"],
    "Algorithms": ["lib/Transforms/Algorithms/", "include/bagua/Transforms/Algorithms/"],
    "Bridge": ["lib/Transforms/Bridge/", "include/bagua/Transforms/Bridge/"],
    "Target": ["lib/Target/", "include/bagua/Target/"],
    "Reading": ["lib/Target/StableHLO/Reading/"],
    "Graph": ["lib/Target/StableHLO/Graph/"],
    "Recognition": ["lib/Target/StableHLO/Recognition/"],
    "Writing": ["lib/Target/StableHLO/Writing/"],
    "Replay": ["lib/Replay/", "include/bagua/Replay/"],
    "RuntimeApi": ["include/bagua/Runtime/"],
    "Files": ["lib/Runtime/Files/"],
    "Plan": ["lib/Runtime/Plan/"],
    "Kernels": ["lib/Runtime/Kernels/"],
    "Device": ["lib/Runtime/Device/"],
    "Communication": ["lib/Runtime/Communication/"],
    "Transport": ["lib/Runtime/Communication/Transport/"],
    "Session": ["lib/Runtime/Session/"],
    "CApi": ["lib/CApi/", "include/bagua/bagua.h"],
}
MAY_INCLUDE = {
    "Support": [],
    "Dialect": ["Support"],
    "Prices": ["Support"],
    "Proof": ["Support"],
    "Search": ["Prices", "Support"],
    "Utils": ["Dialect", "Support"],
    "Algorithms": ["Utils", "Dialect", "Prices", "Search", "Support"],
    # Passes.h: a pipeline begins with RecordStrategy, which is created by its function.
    "Bridge": ["Algorithms", "Utils", "Dialect", "Prices", "Search", "Support", "Passes.h"],
    "Transforms": ["Algorithms", "Bridge", "Utils", "Dialect", "Prices", "Proof", "Search", "Support"],
    # Each stage of the import knows those before it.
    "Reading": ["Dialect", "Support"],
    # Traffic.h: what ops do with memory.
    "Graph": ["Reading", "Dialect", "Support", "Traffic.h"],
    "Recognition": ["Reading", "Graph", "Dialect", "Support"],
    # StableHLOImport.h: the options of an import.
    "Writing": ["Reading", "Graph", "Recognition", "Dialect", "Support", "Clusters.h", "SizeScale.h", "StableHLOImport.h"],
    "Target": ["Reading", "Graph", "Recognition", "Writing", "Algorithms", "Bridge", "Utils", "Dialect", "Prices", "Proof", "Search",
               "Support", "RuntimeApi"],
    "Replay": ["RuntimeApi", "Plan", "Support"],
    "RuntimeApi": ["Support"],
    "Files": ["RuntimeApi", "Support"],
    "Plan": ["Files", "RuntimeApi", "Support"],
    "Kernels": ["RuntimeApi", "Support"],
    "Device": ["Kernels", "RuntimeApi", "Support"],
    "Transport": ["RuntimeApi", "Support"],
    "Communication": ["Transport", "Files", "Kernels", "Device", "RuntimeApi", "Support"],
    "Session": ["Files", "Plan", "Kernels", "Device", "Communication", "RuntimeApi", "Support"],
    "CApi": ["RuntimeApi", "Support"],
}
# Pairs that once depended on each other.
FORBIDDEN = [("lib/Runtime/Session/Executor.h", "/Session.h"), ("lib/Dialect/Bagua/FactAnalysis.cpp", "Provenance.h"),
             ("lib/Scheduling/Prices/TaskGraph.cpp", "Simulator.h")]
NO_LLVM = {"Support", "Prices", "Proof", "Search", "Replay", "RuntimeApi", "Files", "Plan", "Kernels", "Device",
           "Communication", "Transport", "Session", "CApi"}
# What programs build against: nothing of plans' format, which they would need then, too.
INSTALLED, INTERNAL = {"RuntimeApi"}, r"^flatbuffers/|Generated\.h$"
# Where ops are asked, not told apart; verifiers, folders and syntax of ops are their own.
ASKS_OPS = ["lib/Transforms/", "lib/Target/Plan/", "lib/Target/StepSummary.cpp", "lib/Dialect/Bagua/FactAnalysis.cpp",
            "lib/Dialect/Bagua/FactRules.cpp", "lib/Dialect/Bagua/GraphProof.cpp", "lib/Dialect/Bagua/Meaning.cpp",
            "lib/Dialect/Bagua/Provenance.cpp", "lib/Dialect/Bagua/StepVerifier.cpp"]
ASKS = r"(?:isa|isa_and_nonnull|isa_and_present|dyn_cast|dyn_cast_or_null|getDefiningOp|Case)\s*<\s*(?:\w+::)*"
LISTS_OPS = re.compile(ASKS + r"\w+Op\s*,|TypeSwitch|\"bagua\.\w+\"\s*==|==\s*\"bagua\.[a-z_]+\"")
# An op that a file may know by itself: what the program runs, what frames a step, and what the file is about.
KNOWS_OP = re.compile(ASKS + r"(\w+Op)\s*>")
EVERYWHERE = {"ComputeOp", "YieldOp", "StepOp", "ModuleOp", "ClusterOp", "PhaseOp"}
ABOUT = {
    "Transforms/Decouple.cpp": {"CastOp", "SplitOp", "ConcatOp"}, "Transforms/FindUnused.cpp": {"CastOp"},
    "Bridge/BoundReader.cpp": {"AllReduceOp"}, "Algorithms/GradientReduces.cpp": {"AllReduceOp", "ConcatOp", "SquaredNormOp"},
    "Algorithms/CuttableUpdates.cpp": {"UpdateOp", "DirectionOp", "SquaredNormOp"},
    "Algorithms/Contract.cpp": {"AllReduceOp", "CastOp"}, "StepSummary.cpp": {"AllReduceOp"},
    "Algorithms/StateChanges.cpp": {"LinearOp", "SliceOp", "BroadcastOp"},
}
# Opcodes are known where a row or a kernel is theirs, and where a plan is made by hand.
KNOWS_OPCODES = ("Plan/Opcodes.cpp", "Kernels/Arithmetic.cpp", "Replay/CalibrationPlan.cpp")
# What only a tool may do; replay prints the warnings of bagua-run's sessions for it.
PRINTS_FOR_A_TOOL = "lib/Replay/Replay.cpp"
PRINTS = re.compile(r"\b(?:llvm|std)::(?:errs|outs|dbgs|cerr|cout|clog)\b|\bf?printf\s*\(|\bf?puts\s*\(")
# A wait that ends only when somebody else does something. How many a file may have, and why each ends all the same.
ENDLESS = re.compile(r"(?:\.|->)wait\(\s*(?:\w+\s*\)|(?:\w*Lock|lock|guard)\w*\s*,)|\bstd::(?:future|shared_future|latch|barrier|\w+_semaphore)\b|"
                     r"\b(?:sleep|waitRecv|waitSend)\([^;]*\bk(?:NoLimit|Never)\b|"
                     r"\.join\(\)|\bpthread_join\(|\bpoll\([^;]*,\s*-1\)|\bepoll_wait\([^;]*,\s*-1\)|FUTEX_WAIT\b[^;]*expected,\s*nullptr|"
                     r"\bflock\([^;]*LOCK_(?:EX|SH)\)|F_(?:OFD_)?SETLKW|\bwaitpid\([^;]*,\s*0\)|\bpause\(\)|\bsem_wait\(|"
                     r"WaitForNotification\(\)|\.Await\(|\bgetaddrinfo\(")
ENDS_ALL_THE_SAME = {
    "lib/Runtime/Session/Executor.cpp": (3, "a stream has nothing to do, or its program takes its time, which a failed run ends; who joins "
                                            "a stream's thread gives its memory to the program, which must not be written to then"),
    "lib/Runtime/Communication/Hosts/Alarm.cpp": (2, "nothing is due; rings are quick, so the thread that is joined ends"),
    "lib/Runtime/Communication/Gloo/GlooNetwork.cpp": (3, "a limit of Gloo's ends all connections: alarms and aborts interrupt it"),
    "lib/Runtime/Communication/Gloo/RestingDevice.cpp": (2, "Gloo's thread has nothing to do; handlers don't block, so it comes when it is called"),
    "lib/Runtime/Communication/Transport/MemoryNetwork.cpp": (1, "alarms and aborts interrupt it"),
    "lib/Runtime/Communication/Control/ControlPlane.cpp": (1, "rank 0 hands on what others say until each has left or is lost, and a failed "
                                                              "run ends it in time"),
    "lib/Runtime/Communication/Rendezvous/Sockets.cpp": (1, "the resolver has limits of its own"),
}
# The C library looks at a thread once more after it has detached it, and the memory of one that has ended may be gone. `std::thread(...).detach()` is early enough.
DETACHES_LATE = re.compile(r"\b\w+\s*(?:\.|->)\s*detach\(\)|\bpthread_detach\(")
# In unit tests: a bound on the time that something takes, and a sleep that is more than a pause between two looks. How many sleeps a file may have, and what for.
BOUNDS_TIME = re.compile(r"\b(?:EXPECT|ASSERT)_L[TE]\([^;]*\bnow\(\)\s*-")
SLEEPS = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|sleep)\((?!(?:std::chrono::)?(?:1ms|milliseconds\((?:1|10)\)|10'000)\))")
SLEEPS_ALL_THE_SAME = {
    "unittests/Runtime/StepFiguresTest.cpp": (1, "a rank is late by what others' figures are to show"),
    "unittests/Runtime/CheckpointTest.cpp": (1, "a writer is killed at any moment"),
    "unittests/Runtime/CommunicatorFailureTest.cpp": (2, "an abort, or the last member, comes at any moment"),
    "unittests/Runtime/ControlPlaneTest.cpp": (2, "nothing more is to come in a patience"),
    "unittests/Runtime/FarDevice.cpp": (1, "work comes late"),
    "unittests/Runtime/GlooPathTest.cpp": (1, "a connection is silent for longer than the patience"),
    "unittests/Runtime/QueueTest.cpp": (3, "a timeline's own, which a signal ends"),
    "unittests/Runtime/RendezvousTest.cpp": (1, "a rank stands still for longer than ranks that meet wait"),
    "unittests/Runtime/SessionFailureTest.cpp": (2, "a program is slow; an idle session is watched"),
}
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
MOST_LINES = 60
MOST_LINES_OF_BAGUA_RUN = 500


def room_of(path):
    found = [(len(prefix), room) for room, prefixes in ROOMS.items() for prefix in prefixes if path.startswith(prefix)]
    return max(found)[1] if found else None


def check_includes(path, text, source):
    room = room_of(path)
    if not room:
        if path.startswith("lib/"):
            yield f"{path}: is in no room"
        return
    for included in re.findall(r'#include [<"]([^">]+)[">]', text):
        if room in NO_LLVM and included.startswith(("llvm/", "mlir/")):
            yield f"{path}: a room without LLVM includes {included}"
        if included.startswith("gloo/") and not path.startswith("lib/Runtime/Communication/Gloo/"):
            yield f"{path}: Gloo is known in Communication/Gloo alone, found {included}"
        if room in INSTALLED and re.search(INTERNAL, included):
            yield f"{path}: an installed header includes {included}"
        if ".." in included:
            yield f"{path}: includes by a way round, {included}"
        beside = f"{pathlib.PurePosixPath(path).parent}/{included}"
        candidates = [f"lib/Runtime/{included}", f"lib/Target/{included}", beside]
        # A generated header is of the room that its path names.
        target = f"include/{included}" if included.startswith("bagua/") else \
            next((c for c in candidates if (source / c).exists()), None)
        other = room_of(target) if target else None
        if other and other != room and other not in MAY_INCLUDE[room] and \
                pathlib.Path(included).name not in MAY_INCLUDE[room]:
            yield f"{path}: {room} may not include {other}, found {included}"


def blocks(text):
    """(header, line, lines, body) of each function: braces that open outside of any other function."""
    code = re.sub(r'R"\w*\(.*?\)\w*"', lambda m: '""' + "\n" * m[0].count("\n"), text, flags=re.S)
    code = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'|//[^\n]*', "", re.sub(r"/\*.*?\*/", "", code, flags=re.S))
    stack = []
    for match in re.finditer(r"[{}]", code):
        if match[0] == "{":
            header = re.sub(r"alignas\(\w+\)", "", re.split(r"[;{}]", code[:match.start()])[-1])
            isScope = re.search(r"\b(?:namespace|class|struct|enum|union)\b", header) and ")" not in header
            stack.append((bool(isScope) or "(" not in header or header.endswith("extern"), header.strip(), match.start()))
        elif stack:
            isScope, header, start = stack.pop()
            if not isScope and all(outer[0] for outer in stack):
                body = code[start:match.end()]
                yield header, body.count("\n") + header.count("\n") + 1, body


def check_functions(path, text):
    for header, lines, body in blocks(text):
        if lines > MOST_LINES:
            yield f"{path}: expected functions of at most {MOST_LINES} lines, found {lines} of '{header.splitlines()[0]}'"
        for switch in re.finditer(r"switch \(([^{]*)\) \{", body):
            if not re.search(r"[oO]pcode|\bkind\(\)|\bkindOf|[cC]ollective|InstructionKind|[rR]elation|ruleOf|\*rule", switch[1]):
                continue
            depth, end = 1, switch.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(body[end], 0)
                end += 1
            if re.search(r"\bdefault:", body[switch.end():end]):
                yield f"{path}: a switch over {switch[1]} has a default: what is forgotten would go there"


def check_text(path, text):
    if any(path.startswith(prefix) for prefix in ASKS_OPS):
        for match in LISTS_OPS.finditer(text):
            line = text[:match.start()].count("\n") + 1
            yield f"{path}:{line}: lists op kinds: ask the op ({match[0]})"
        about = next((ops for name, ops in ABOUT.items() if path.endswith(name)), set())
        for match in KNOWS_OP.finditer(text):
            if match[1] not in EVERYWHERE | about:
                line = text[:match.start()].count("\n") + 1
                yield f"{path}:{line}: knows {match[1]}: ask the op"
    if re.search(r"[<>]=?\s*fb::Opcode::(?!MAX)", text):
        yield f"{path}: compares opcodes by their order"
    if path.startswith(("lib/Runtime/", "lib/Replay/", "lib/Target/")) and not path.endswith(KNOWS_OPCODES) and \
            re.search(r"(?:==|!=)\s*fb::Opcode::\w+|case fb::Opcode::", text):
        yield f"{path}: knows an opcode: ask Opcodes.h"
    if path.startswith("lib/") and path != PRINTS_FOR_A_TOOL and (match := PRINTS.search(text)):
        line = text[:match.start()].count("\n") + 1
        yield f"{path}:{line}: a library prints: {match[0]}"
    if path.startswith("lib/Runtime/"):
        found = len(ENDLESS.findall(re.sub(r"//[^\n]*", "", text)))
        expected, why = ENDS_ALL_THE_SAME.get(path, (0, "none is known to end"))
        if found != expected:
            yield f"{path}: expected {expected} waits without a limit ({why}), found {found}"
    if path.startswith("lib/") and (match := DETACHES_LATE.search(text)):
        yield f"{path}: detaches a thread that may have ended: detach it where it is made ({match[0]})"
    for file, header in FORBIDDEN:
        if path == file and re.search(r'#include "[^"]*' + header + '"', text):
            yield f"{path}: may not include {header}"


def check_test(path, text):
    code = re.sub(r"//[^\n]*", "", text)
    for match in BOUNDS_TIME.finditer(code):
        yield f"{path}: bounds the time that something takes, which this machine decides: {match[0]}"
    expected, what_for = SLEEPS_ALL_THE_SAME.get(path, (0, "others wait for events, as in AwaitSleep.h"))
    if (found := len(SLEEPS.findall(code))) != expected:
        yield f"{path}: expected {expected} sleeps ({what_for}), found {found}"


def check_licences(source):
    """Of code in all languages, within the first lines."""
    suffixes = (".h", ".cpp", ".c", ".td", ".fbs", ".py", ".js")
    for folder in ("bench", "examples", "include", "lib", "python", "test", "tools", "unittests"):
        for file in sorted((source / folder).rglob("*")):
            path = file.relative_to(source)
            if file.suffix in suffixes and "build" not in path.parts and \
                    LICENCE not in "\n".join(file.read_text(encoding="utf-8").split("\n", 2)[:2]):
                yield f"{path.as_posix()}: expected its licence in the first two lines"


def main(source):
    source = pathlib.Path(source)
    wrong, names = [], collections.defaultdict(list)
    files = sorted(p for folder in ("lib", "include", "tools") for p in (source / folder).rglob("*") if p.is_file())
    lines_of_run = 0
    for file in files:
        path = file.relative_to(source).as_posix()
        if path.startswith("lib/") and file.name != "CMakeLists.txt":
            names[file.name].append(path)
        if file.suffix == ".h" and path.startswith("include/"):
            names[file.name].append(path)
        if file.suffix not in (".h", ".cpp"):
            continue
        text = file.read_text(encoding="utf-8")
        wrong += [*check_includes(path, text, source), *check_functions(path, text), *check_text(path, text)]
        if path.startswith("tools/bagua-run/"):
            lines_of_run += text.count("\n") - text.count(LICENCE)
    tests = sorted(p for p in (source / "unittests").rglob("*") if p.suffix in (".h", ".cpp"))
    for file in tests:
        wrong += check_test(file.relative_to(source).as_posix(), file.read_text(encoding="utf-8"))
    wrong += check_licences(source)
    wrong += [f"one name for {' and '.join(paths)}" for paths in names.values() if len(paths) > 1]
    if lines_of_run > MOST_LINES_OF_BAGUA_RUN:
        wrong.append(f"tools/bagua-run: expected at most {MOST_LINES_OF_BAGUA_RUN} lines, found {lines_of_run}")
    print("\n".join(wrong))
    print(f"{len(files) + len(tests)} files, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
