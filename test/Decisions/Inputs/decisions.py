#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every strategy decides, as hashes: decisions.py check|write TABLE GRAPHS PROFILES FOLDER [PART/PARTS]

A row of the table is a case, a step on a cluster by a strategy, with four hashes: of the scheduled IR, of the report, of the simulation
and of the plan's contents. `check` makes each case, or each PARTS-th from PART on, and prints what differs from the table. A case that is
refused has the word `refused` four times, as messages may be rewritten."""
import concurrent.futures
import csv
import hashlib
import json
import os
import subprocess
import sys

COLUMNS = ("ir", "report", "simulation", "plan")
FORMS = ("flat", "leader", "rail", "multilevel")
SERVER_FORMS = ("servers", "rail-servers")
WIRES = ("f16", "bf16")
UPDATES = ("program", "late", "runtime")

# By strategy, options that are tried beside the defaults, one set at a time.
VARIANTS = {
    "bagua-allreduce": ["fusion=none", "fusion=ddp", "fusion=mg-wfbp", "fusion=optimal", "overlap=bsp", "overlap=priority"],
    "blueconnect": [],
    "bsp-a2a": [],
    "bsp-ps": ["servers=balanced", "servers=balanced wire=bf16"],
    "byteps": ["servers=balanced", "partition-bytes=100000", "credit-bytes=0", "partition-bytes=1000 credit-bytes=3000 wire=f16"],
    "bytescheduler-a2a": ["partition-bytes=100000", "credit-bytes=100000", "partition-bytes=4000 form=multilevel"],
    "bytescheduler-ps": ["servers=balanced", "partition-bytes=100000"],
    "ddp": ["first-bytes=1000", "cap-bytes=4000", "first-bytes=0 cap-bytes=100000 wire=bf16", "cap-bytes=100000 form=leader wire=f16"],
    "dear": ["update=shard", "update=shard form=multilevel", "update=shard wire=bf16", "cap-bytes=20000", "cap-bytes=0 update=shard"],
    "horovod": ["buffer-bytes=40000", "cycle-ns=50000000", "cycle-ns=1000 form=leader"],
    "mg-wfbp": ["form=leader wire=bf16"],
    "p3": ["servers=balanced", "partition-bytes=40000", "credit-bytes=100000", "partition-bytes=1000 wire=f16"],
    "wfbp-a2a": [],
    "wfbp-ps": ["servers=balanced"],
}
WITH_SERVERS = {"bsp-ps", "byteps", "bytescheduler-ps", "p3", "wfbp-ps"}
TAKE_FORMS = {"bagua-allreduce", "blueconnect", "bsp-a2a", "bytescheduler-a2a", "ddp", "horovod", "mg-wfbp", "wfbp-a2a"}

# How a step comes in, and from where.
STEPS = {
    "mlp": ("--import-stablehlo", "GRAPHS/mlp.mlir"),
    "moe": ("--import-stablehlo", "GRAPHS/transformer_moe.mlir"),
    "lstm": ("--import-stablehlo", "GRAPHS/lstm.mlir"),
    "vgg16": ("--import-stablehlo", "GRAPHS/vgg16.mlir"),
    "resnet50": ("--import-stablehlo", "GRAPHS/resnet50.mlir"),
    "bert_base": ("--import-stablehlo", "GRAPHS/bert_base.mlir"),
    "bert_large_bf16": ("--import-stablehlo", "GRAPHS/bert_large_bf16.mlir"),
    "mlp_shardy": ("--import-stablehlo", "GRAPHS/mlp_shardy.mlir"),
    "mlp_shard_map": ("--import-stablehlo", "GRAPHS/mlp_shard_map.mlir"),
    "alexnet": ("--import-layers", "PROFILES/pipedream_alexnet.graph.txt"),
    "gnmt": ("--import-layers", "PROFILES/pipedream_gnmt.graph.txt"),
    "resnet101": ("--import-layers", "PROFILES/pipedream_resnet101.graph.txt"),
}
# Every variant on these; the defaults on the others.
VARIED = (("mlp", "node=2,gpu=2"), ("mlp", "v100-nvlink-100g+servers"), ("alexnet", "node=4,gpu=2"), ("alexnet", "tcp-10g+servers"))
PLAIN = (("mlp_shardy", ""), ("mlp_shard_map", ""), ("moe", ""), ("lstm", "tcp-1g"), ("vgg16", "tcp-25g"), ("vgg16", "rtx2080ti-ib100+servers"),
         ("resnet50", "v100-nvlink-100g"), ("resnet50", "tcp-10g+servers"), ("bert_base", "rtx2080ti-ib100+servers"),
         ("bert_large_bf16", "h100-nvlink-400g"), ("gnmt", "tcp-100m"), ("gnmt", "v100-nvlink-100g+servers"), ("resnet101", "tcp-100g+servers"))
# Decisions that are found by search, and some that are spelt out.
SEARCHED = [(step, cluster, "auto") for step, cluster in (*VARIED, *PLAIN) if step not in ("resnet50", "bert_base")] + [
    ("mlp", "node=2,gpu=2", "auto{wire=bf16}"), ("alexnet", "node=4,gpu=2", "auto{updates=program}"), ("mlp", "node=2,gpu=2", "auto{memory=1000000}"),
    ("alexnet", "tcp-10g+servers", "auto{wire=f16 updates=late}")]
# The mean of the loss is a bucket by itself.
SPELT = [(step, cluster, f"custom{{{options}}}") for step, cluster in VARIED[:2] for options in (
    "buckets=7", "buckets=1,6", "buckets=7*1", "buckets=1,2,4:multilevel policy=priority credit-bytes=100000", "buckets=1,1,5:leader:bf16",
    "buckets=1,3,3/4:rail updates=late", "buckets=1,6/8:flat+rail", "buckets=1,6:halves policy=decoupled updates=runtime")]


def list_cases():
    """Of (step, cluster, strategy)."""
    def variants(name):
        yield name
        for options in VARIANTS[name]:
            yield f"{name}{{{options}}}"
        for option, values in (("wire", WIRES), ("updates", UPDATES), ("form", FORMS if name in TAKE_FORMS else ())):
            yield from (f"{name}{{{option}={value}}}" for value in values)
        if name == "byteps":
            yield from (f"{name}{{form={value}}}" for value in SERVER_FORMS)
    for step, cluster in VARIED:
        for name in VARIANTS:
            if name not in WITH_SERVERS or cluster.endswith("+servers"):
                yield from ((step, cluster, strategy) for strategy in variants(name))
    for step, cluster in PLAIN:
        yield from ((step, cluster, name) for name in VARIANTS if name not in WITH_SERVERS or cluster.endswith("+servers"))
    yield from SEARCHED
    yield from SPELT


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def contents(plan):
    """A plan's JSON as far as it says what is to be done, whatever the format's version: in the form of 1.x, whose root was a step."""
    plan = json.loads(plan)
    step = plan.pop("steps")[0]
    uses = {use["tensor"]: use["instructions"] for use in step.pop("uses")}
    for number, tensor in enumerate(plan["tensors"]):
        tensor["users"] = uses.get(number, [])
    for relation in step["contract"]:
        del relation["coefficient"]
    plan = {**step, **plan}
    for key in ("version", "minor_version", "fingerprint", "features", "phases"):
        del plan[key]
    return json.dumps(plan, sort_keys=True)


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return None if done.returncode else done.stdout


def name_of_step(step, cluster):
    return f"{step}-{cluster or 'as-exported'}.mlir"


def write_steps(cases, graphs, profiles, folder):
    os.makedirs(folder, exist_ok=True)
    for step, cluster in dict.fromkeys(case[:2] for case in cases):
        how, path = STEPS[step]
        path = path.replace("GRAPHS", graphs).replace("PROFILES", profiles)
        made = run("bagua-translate", how, path, *([f"--cluster={cluster}"] if cluster else []))
        if made is None:
            sys.exit(f"{step} on {cluster or 'its own mesh'} can't be imported")
        with open(f"{folder}/{name_of_step(step, cluster)}", "w", encoding="utf-8") as file:
            file.write(made)


def hash_case(folder, number, case):
    step, cluster, strategy = case
    path, made = f"{folder}/{name_of_step(step, cluster)}", f"{folder}/{number}"
    ir = run("bagua-opt", f"--bagua-strategy={strategy}", f"--bagua-report={made}.json", path)
    if ir is None:
        return ("refused",) * len(COLUMNS)
    with open(f"{made}.json", encoding="utf-8") as file:
        report = file.read()
    simulation = run("bagua-sim", path, f"--strategy={strategy}", "--json")
    plan = "refused"
    if run("bagua-translate", "--export-plan", "-o", f"{made}.bagua", text=ir) is not None:
        plan = contents(run("bagua-translate", "--plan-to-json", f"{made}.bagua"))
        os.remove(f"{made}.bagua")
    os.remove(f"{made}.json")
    return tuple(digest(text) for text in (ir, report, simulation or "refused", plan))


def main(what, table, graphs, profiles, folder, part="0/1"):
    cases = list(dict.fromkeys(list_cases()))
    first, parts = map(int, part.split("/"))
    chosen = list(enumerate(cases))[first::parts]
    write_steps([case for _, case in chosen], graphs, profiles, folder)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip((case for _, case in chosen), pool.map(lambda case: hash_case(folder, *case), chosen)))
    if what == "write":
        with open(table, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("step", "cluster", "strategy", *COLUMNS))
            writer.writerows((*case, *hashes) for case, hashes in found.items())
        return
    with open(table, encoding="utf-8", newline="") as file:
        expected = {tuple(row[:3]): tuple(row[3:]) for row in list(csv.reader(file))[1:]}
    if list(expected) != cases:
        sys.exit(f"{table}: expected the {len(cases)} cases that are listed here, found {len(expected)} others")
    different = 0
    for case, hashes in found.items():
        names = [name for name, one, other in zip(COLUMNS, hashes, expected[case]) if one != other]
        different += bool(names)
        if names:
            print(f"{' on '.join(filter(None, case[:2]))} by {case[2]}: another {', '.join(names)}")
    print(f"{len(found)} cases: {different} decided otherwise")


if __name__ == "__main__":
    main(*sys.argv[1:])
