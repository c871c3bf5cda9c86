# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces of real runs beside their plans: trace.py SOURCE FOLDER, which runs ranks as trace.py --rank PLAN [LOST]"""
import collections
import glob
import json
import os
import socket
import subprocess
import sys

import steps
from bagua.runtime import Error, Plan, Role, Session, Type, World

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from commands import run

RANKS, STEPS, KEPT = 4, 11, 8
SIZES = {"Float32": 4, "Float16": 2, "BFloat16": 2, "Float64": 8, "Int8": 1, "Int32": 4, "Int64": 8}
COLLECTIVES = {"AllReduce", "ReduceScatter", "AllGather", "Reduce", "Broadcast", "AllToAll", "Exchange", "Push", "Pull", "Permute"}


def train(path, lost=None):
    """One rank. Rank `lost` fails in step 5."""
    plan, world = Plan(path), World.launched()
    warned = []
    session = Session(plan, world, on_warning=warned.append)
    memory = steps.start(session, plan)  # noqa: F841, is kept
    try:
        for step in range(STEPS):
            session.begin_step()
            if step == 5 and world.rank == lost:
                raise RuntimeError("out of data")
            steps.finish_one(session, plan)
        session.finish()
    except (Error, RuntimeError):
        # As a program that dies: nothing is closed.
        if world.rank == lost:
            session.abort("out of data")
        print(json.dumps({"rank": world.rank, "step": session.step}), flush=True)
        os._exit(1)
    print(json.dumps({"rank": world.rank, "warned": warned, "figures": session.step_figures()}))


def launch(plan, *arguments, fails=False, **variables):
    """What each rank prints."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    launcher = {"WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": f"{os.getpid()}"}
    ranks = [subprocess.Popen([sys.executable, __file__, "--rank", plan, *arguments], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              env={**os.environ, **launcher, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)})
             for rank in range(RANKS)]
    printed = []
    for rank in ranks:
        output, errors = rank.communicate(timeout=300)
        if bool(rank.returncode) != fails:
            sys.exit(f"ended with {rank.returncode}: {output}{errors}")
        printed.append(json.loads(output))
    return printed


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: expected {expected}, found {found}")


def events_of(folder, rank):
    files = glob.glob(f"{folder}/*-rank{rank}.json")
    expect(len(files), 1, f"files of rank {rank}")
    with open(files[0]) as file:
        events = json.load(file)["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    events = [event for event in events if event["ph"] != "M"]
    expect({event["pid"] for event in events}, {rank}, "processes")
    return events, names


def check_nesting(events):
    for thread in {event["tid"] for event in events}:
        ends = []
        for event in sorted((e for e in events if e["tid"] == thread), key=lambda e: (e["ts"], -e.get("dur", 0))):
            start, end = round(event["ts"] * 1000), round((event["ts"] + event.get("dur", 0)) * 1000)
            while ends and ends[-1] <= start:
                ends.pop()
            if ends and end > ends[-1]:
                sys.exit(f"{event} lies across the end of another one")
            ends.append(end)


def check_step(plan, step, events):
    """What a step has on a rank: collectives exactly as the plan, in its order; gifts of all tensors; and no other instruction twice."""
    ran = sorted((e for e in events if "instruction" in e["args"]), key=lambda e: e["ts"])
    for stream in range(len(plan["streams"])):
        numbers = [e["args"]["instruction"] for e in ran if e["tid"] == stream + 1]
        expect(numbers, sorted(set(numbers)), f"step {step}, the order of stream {plan['streams'][stream]}")
    for event in ran:
        instruction = plan["instructions"][event["args"]["instruction"]]
        expect((event["name"], event["tid"] - 1, event["args"]["op"]),
               (instruction["name"], instruction["stream"], instruction["opcode"]), "an instruction")
        if instruction["opcode"] in COLLECTIVES:
            axes = ",".join(plan["cluster"]["axes"][axis]["name"] for axis in instruction["axes"])
            expect(event["args"]["over"], axes, "its axes")
            values = [plan["values"][value] for value in instruction["inputs"] + instruction["outputs"]]
            if not any(value["layout"] for value in values):
                expect(event["args"]["bytes"], max(v["count"] * SIZES[v["type"]] for v in values), "its bytes")
    # A rank that has no part of a tensor of few elements has nothing to send.
    few = {number for number, i in enumerate(plan["instructions"]) if plan["values"][i["inputs"][0]]["count"] < RANKS}
    expect(sorted({e["args"]["instruction"] for e in ran if e["args"]["op"] in COLLECTIVES} | few),
           sorted({number for number, i in enumerate(plan["instructions"]) if i["opcode"] in COLLECTIVES} | few),
           f"collectives of step {step}")
    gifts = collections.Counter(e["name"] for e in events if e["ph"] == "i")
    expect(gifts, collections.Counter(f"give '{t['name']}'" for t in plan["tensors"] if t["given_by_program"]), "gifts")
    return {e["args"]["instruction"] for e in ran}


def check_rank(plan, folder, printed):
    rank, figures = printed["rank"], {step: rest for step, *rest in printed["figures"]}
    events, names = events_of(folder, rank)
    expect(names, {0: "program", **{i + 1: name for i, name in enumerate(plan["streams"])}}, "threads")
    check_nesting(events)
    expect(sorted(figures), list(range(STEPS)), "steps with figures")
    kept = range(STEPS - KEPT, STEPS)
    expect(sorted(e["name"] for e in events if e["name"].startswith("step ")), sorted(f"step {step}" for step in kept), "steps")
    expect([e for e in events if "unfinished" in e["args"]], [], "what has not ended")
    for step in kept:
        of_step = [e for e in events if e["args"]["step"] == step]
        ran = check_step(plan, step, of_step)
        _, exposed, sent = figures[step]
        expect(sum(e["args"].get("bytes_sent", 0) for e in of_step), sent, f"bytes sent in step {step}")
        waits = [e["dur"] for e in of_step if e["tid"] == 0 and e["name"].split()[0] in ("wait", "beginStep", "finish")]
        if not 0 <= exposed * 1e6 <= sum(waits) + 0.01:
            sys.exit(f"step {step}: {exposed * 1e6} us are exposed, the program's waits are {sum(waits)} us")
    return ran


def main(source, folder):
    run("bagua-translate", "--import-stablehlo", f"{source}/test/graphs/mlp.mlir", "--cluster=node=2,gpu=2", "-o",
        f"{folder}/mlp.mlir")
    for number, strategy in enumerate(["ddp{updates=program}", "blueconnect{updates=runtime}", "bytescheduler-a2a{updates=runtime}",
                                       "wfbp-a2a{updates=late}"]):
        path, traces = f"{folder}/{number}.bagua", f"{folder}/{number}"
        os.mkdir(traces)
        scheduled = run("bagua-opt", f"--bagua-strategy={strategy}", f"{folder}/mlp.mlir")
        run("bagua-translate", "--export-plan", "-o", path, input=scheduled)
        plan = json.loads(run("bagua-translate", "--plan-to-json", path))
        plan["instructions"] = plan["steps"][0]["instructions"]
        ran = set()
        for printed in launch(path, BAGUA_TRACE=traces):
            expect(printed["warned"], [], "warnings")
            ran |= check_rank(plan, traces, printed)
        expect({number for number, i in enumerate(plan["instructions"]) if i["opcode"] in COLLECTIVES} - ran, set(),
               "collectives that no rank ran")
        print(f"{strategy}: {RANKS} ranks, {KEPT} of {STEPS} steps as the plan has them")

    os.mkdir(f"{folder}/lost")
    launch(path, "2", fails=True, BAGUA_TRACE=f"{folder}/lost")
    for rank in range(RANKS):
        events, _ = events_of(f"{folder}/lost", rank)
        check_nesting(events)
        steps = [(e["name"], "unfinished" in e["args"]) for e in events if e["name"].startswith("step ")]
        # The others may be behind, in the step before, or between the two.
        expected = [[(f"step {i}", i == last) for i in range(5)] + [("step 5", True)] * (last == 5) for last in (4, None, 5)]
        if steps not in (expected[2:] if rank == 2 else expected):
            sys.exit(f"steps of rank {rank}: {steps}")
    print(f"rank 2 ended the run: {RANKS} ranks say where they were")

    for printed in launch(path, BAGUA_TRACE=f"{folder}/missing"):
        expect(printed["warned"], [f"rank {printed['rank']}: no trace is written: BAGUA_TRACE='{folder}/missing': expected a folder, "
                                   "found No such file or directory"], "warnings")
    print(f"no folder: {RANKS} ranks warned, and trained")
    before = set(os.listdir(folder))
    launch(path, BAGUA_TRACE="")
    expect(set(os.listdir(folder)), before, "files")
    print("nobody asked: no file")


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        train(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
    else:
        main(*sys.argv[1:])
