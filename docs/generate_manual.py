#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the reference manual: docs/Dialect.md and docs/Passes.md from the .td files, docs/Strategies.md from the table.

    generate_manual.py            renews all
    generate_manual.py --check    says whether they are current, and changes nothing

`cmake --build build --target bagua-doc` calls it. Needs mlir-tblgen and bagua-sim on the PATH.
"""
import difflib
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
NOTICE = "<!-- Generated from the .td files by `cmake --build build --target bagua-doc`: change those. -->\n"
PASSES = """What `bagua-opt` runs. An example stands behind

```
bagua.cluster @pod
    axes [#bagua.axis<"node", size = 4, latency_ns = 25000, bytes_per_s = 12500000000, sharers = 8>,
          #bagua.axis<"gpu", size = 8, latency_ns = 3000, bytes_per_s = 200000000000>]
    device #bagua.device<flop_per_s = 120000000000000, bytes_per_s = 900000000000, launch_ns = 5000>
```

and a test runs the pass on what stands before `becomes`, with default options unless the line above says others.
"""
STRATEGIES = """A strategy says how a step's gradients are bucketed, sent and scheduled. The methods of published systems are
strategies of this one compiler. Ask for one by its name, with the options to change in braces, separated by spaces:
`bagua-opt --bagua-strategy='ddp{cap-bytes=8388608 wire=bf16}' step.mlir`. The second table below has every strategy
with its options and their defaults. `bagua-sim --compare` predicts the step time under each, except `custom`.

A module of several steps is compiled by one strategy for all, or by one for each:
`bagua-opt --bagua-strategy='@warmup=ddp{wire=bf16} @compressed=ddp{wire=minmax_uint8} @freeze=ddp'`. Such a list names
each step once, and has no strategy that searches. `bagua-sim` takes the same list; it predicts each row of the phase
table and, with `--iterations=10000`, the time of that many iterations. What steps need in common is in
[UseInYourProgram.md](UseInYourProgram.md#several-steps-in-one-run).

The class says what a strategy does to the numbers by default. A *lossless* one computes the step's own numbers, up to
the order of sums. A *lossy* one rounds gradients on their way. A *relaxed* one is another algorithm than synchronous
data parallelism. Options do not change the class: with `wire=`, gradients are rounded under a lossless strategy, too.

A strategy whose option `servers` is not `none` needs a cluster with servers. A preset has a server more for each node
if `+servers` follows its name (`--cluster=tcp-10g+servers`); a `bagua.cluster` of your own has servers if it states
`servers` or `servers_on` ([Scheduling.md](Scheduling.md#what-a-cluster-is)). On a cluster without servers the strategy
is refused, and `bagua-sim --compare` prints `refused` in its row. With `servers=none` the ranks sum the gradients.

| option | meaning |
|---|---|
| `wire` | how float32 gradients are sent: `none` (as they are), in 16 bits as `f16` or `bf16`, or in 8 bits as `minmax_uint8` or `minmax_uint8<eps=1e-07>` ([Semantics.md](Semantics.md#encodings)); 8 bits are refused where servers sum |
| `updates` | who runs the optimizer's updates of whole tensors: `program` (the program, at the end of its step), `late` (the program, right before its next step needs them), `runtime` (the runtime, where it can); for `auto` also `any`: it chooses between `program` and `runtime` |
| `update` | on what a rank runs an update: `whole` (on the whole param, after the all_reduce) or `shard` (on its part, between the reduce_scatter and the all_gather into which the all_reduce is split). `shard` is refused unless `updates=runtime` |
| `memory` | limit in bytes of the runtime's own memory on a rank (its arenas), in which tensors that share a message lie; memory that the program binds does not count. 0 is no limit. A plan that needs more is refused; `auto` keeps the fastest plan that fits |
| `form` | form of an all_reduce ([Semantics.md](Semantics.md#hierarchies)): `flat`, `leader`, `rail`, `multilevel` or `cheapest` (the one with the least predicted time); for `dear`, of its two halves: `flat`, `multilevel` or `cheapest` |
| `servers` | the sums that servers compute: `none`, `spread` (each server a part of every gradient), `balanced` (each server whole gradients) |
| `fusion` | which gradients share a bucket: `none`, `size`, `ddp`, `cycle`, `mg-wfbp` or `optimal` ([bagua-bucketize](Passes.md#-bagua-bucketize)) |
| `cap-bytes` | a bucket is closed once it has reached so many bytes, so its last gradient may take it beyond |
| `first-bytes` | the same for the first bucket; 0 sends the first gradient by itself |
| `buffer-bytes` | most bytes of a bucket of several gradients |
| `cycle-ns` | time between two looks at which gradients are ready, in ns |
| `partition-bytes` | larger gradients are cut into parts of at most so many bytes |
| `overlap`, `policy` | order of communication (`overlap` of `bagua-allreduce`, `policy` of `custom`): `bsp` (after backward), `wfbp` (as gradients become ready), `priority` (what the next forward needs first), `decoupled` (gathers and pulls last) |
| `credit-bytes` | with `priority`, the most bytes that may be in flight at once; 0 is one message at a time |
| `buckets` | of `custom`, a list of all buckets: of gradients and statistics that are reduced, in the order in which they become ready. For example, `3*1,12:rail:bf16,1/8:servers+flat` is three buckets of one gradient each; a bucket of twelve gradients, in form `rail` and in bf16; and one gradient in eight parts, which take the forms `servers` (pushed to servers) and `flat` by turns. Forms: `flat`, `leader`, `rail`, `multilevel`, `halves`, `servers`, `rail-servers` |
| `others` | of `custom`, the same for each all_reduce that is in no bucket, in the order of the step; empty is `flat` |
| `evaluations` | of `auto`, after how many simulated plans the search ends ([Scheduling.md](Scheduling.md#the-search-for-a-plan)) |
"""
TBLGEN_NOTICE = "<!-- Autogenerated by mlir-tblgen; don't manually edit -->\n"


def tblgen(generator, file):
    tool = shutil.which("mlir-tblgen")
    if not tool:
        sys.exit("expected mlir-tblgen on the PATH, found none")
    llvm = pathlib.Path(tool).resolve().parent.parent / "include"
    command = [tool, *generator, f"-I{SOURCE}/include", f"-I{llvm}", f"{SOURCE}/include/bagua/{file}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return text.replace(TBLGEN_NOTICE, "")


def dialect():
    text = tblgen(["-gen-dialect-doc", "-dialect=bagua"], "Dialect/Bagua/BaguaOps.td")
    text = text.replace("# 'bagua' Dialect\n\n", "", 1).replace("[TOC]\n\n", "", 1)
    summary, rest = text.split("\n", 1)
    return f"# The bagua dialect\n\n{NOTICE}\n_{summary}_\n\n{rest.rstrip()}\n"


def passes():
    text = tblgen(["-gen-pass-doc"], "Transforms/Passes.td").replace("\n### ", "\n\n## ")
    if text.startswith("### "):
        text = text[1:]
    text = text.replace("\n#### Options\n", "\n### Options\n\n")
    return f"# Passes\n\n{NOTICE}\n{PASSES}\n{text.rstrip()}\n"


def strategies():
    tool = shutil.which("bagua-sim")
    if not tool:
        sys.exit("expected bagua-sim on the PATH, found none")
    table = subprocess.run([tool, "--list-strategies"], check=True, capture_output=True, text=True).stdout
    notice = ("<!-- Generated by `cmake --build build --target bagua-doc` from docs/generate_manual.py (text, first table) and\n"
              "     lib/Scheduling/Search/Strategy.cpp (second table): change those. -->\n")
    return f"# Strategies\n\n{notice}\n{STRATEGIES}\n{table}"


def main(check):
    current = True
    for name, generate in (("Dialect.md", dialect), ("Passes.md", passes), ("Strategies.md", strategies)):
        path = SOURCE / "docs" / name
        wanted = generate()
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if found == wanted:
            continue
        if not check:
            path.write_text(wanted, encoding="utf-8")
            continue
        current = False
        print(f"docs/{name} is out of date: run `cmake --build build --target bagua-doc`. What would change:")
        print("".join(difflib.unified_diff(found.splitlines(True), wanted.splitlines(True), "found", "wanted", n=1)))
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
