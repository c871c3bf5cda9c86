#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of published profiles on four emulated hosts, by PyTorch's DDP, by Horovod and by a plan of auto's that updates late, in turns:

    emulated-cluster.py BUILD [ROUNDS [STEPS [PROFILE...]]]

Compute sleeps as long as the profile says, communication is real (Gloo's connections, 1 Gbit/s a host). Sizes are scaled
and times dilated, so that a cell stands for a network of 1 Gbit/s * dilation / scale; times below are divided by the
dilation. Runs with the Python that has torch (scripts/setup --full; ~/.cache/bagua/torch/bin/python), and without Horovod
where there is none (scripts/setup --peers).

The bound is what no exact synchronous step over flat all_reduces can beat at the rate that one all_reduce of all gradients
had in the same cell: a gradient has to be sent, and with it those of all layers before its own, which come later, between
its backward and its layer's next forward; and all of it in each step. A step is from its start to the next one's; the plan's
"whole" divides the time of all timed steps, with the last one's communication, by their number. Exits with 1 where a limit of
docs/Performance.md is missed.
"""
import json
import os
import re
import statistics
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(f"{ROOT}/bench/cluster")
from hosts import Hosts, command

HOSTS, RATE, GBIT_PER_S = 4, "1gbit", 1
# Profile, dilation, scale, standard deviation of the factor on each duration.
CELLS = [("vgg16", 1, 0.1, 0), ("vgg16", 1, 0.1, 0.2), ("vgg16", 1, 0.04, 0), ("alexnet", 2, 0.2, 0), ("gnmt", 1, 0.1, 0),
         ("gnmt", 2.5, 0.1, 0), ("gnmt", 8, 0.08, 0), ("resnet50", 1.5, 0.15, 0), ("resnet50", 2, 0.02, 0)]
REAL_TIME = ["chrt", "-r", "1"]
HOROVOD = os.path.expanduser("~/.cache/bagua/horovod/bin/python")
# What it takes by default.
FUSION_BYTES, CYCLE_MS = 64 << 20, 1
STRATEGY = "auto{updates=late}"
ALL_REDUCE_BYTES = (4096, 64 << 20)
# Of the bound, of a peer and of the prediction; of DDP where durations have noise.
MOST_OF_BOUND, MOST_OF_PEER, MOST_OF_PREDICTION, MOST_OF_DDP_WITH_NOISE = 1.03, 1.01, 1.10, 0.82


def scaled(profile, dilation, scale):
    """The profile's text, and [seconds of forward, of backward, elements] of its layers in their order."""
    layers = []

    def number(text, key):
        return float(re.search(rf"{key}=([\d.]+)", text).group(1))

    def rewritten(line):
        if line.startswith("\t") or line.count(" -- ") < 2:
            return line
        name, kind, numbers = line.split(" -- ", 2)
        forward, backward = (number(numbers, f"{key}_compute_time") * dilation for key in ("forward", "backward"))
        elements = int(number(numbers, "parameter_size") / 4 * scale)
        # Reading input is not the step's.
        layers.append((int(name[len("node"):]), [0 if kind.startswith("Input") else forward / 1e3, backward / 1e3, elements]))
        for key, value in (("forward_compute_time", forward), ("backward_compute_time", backward),
                           ("parameter_size", 4 * elements)):
            numbers = re.sub(rf"{key}=[\d.]+", f"{key}={value:.6f}", numbers)
        return " -- ".join((name, kind, numbers))

    with open(f"{ROOT}/test/profiles/pipedream_{profile}.graph.txt", encoding="utf-8") as file:
        text = "".join(rewritten(line) for line in file)
    return text, [layer for _, layer in sorted(layers)]


def bound(layers, seconds_per_element):
    compute = sum(forward + backward for forward, backward, _ in layers)
    least = max(compute, sum(elements for *_, elements in layers) * seconds_per_element)
    before, until_ready, sent = 0.0, compute, 0.0
    for forward, backward, elements in layers:
        sent += elements * seconds_per_element
        if elements:
            least = max(least, until_ready - before + sent)
        before += forward
        until_ready -= backward
    return least


def cluster(hosts, tools, folder):
    """A bagua.cluster by what its all_reduces take."""
    text = hosts.run([*REAL_TIME, f"{tools}/bagua-bench-host-all-reduce", folder, hosts.INTERFACE,
                      *map(str, ALL_REDUCE_BYTES), "7"], HOSTS)
    times = {}
    for line in text.split():
        contender, _, size, microseconds, *_ = line.split(",")
        if contender == "bagua":
            times.setdefault(int(size), []).append(float(microseconds) * 1e3)
    medians = {size: int(statistics.median(of)) for size, of in times.items()}
    smallest, largest = min(medians), max(medians)
    hops = 2 * (HOSTS - 1)
    rate = hops / HOSTS * (largest - smallest) / (medians[largest] - medians[smallest]) * 1e9
    table = ", ".join(f"{size}, {ns}" for size, ns in sorted(medians.items()))
    return (f'bagua.cluster @emulated axes [#bagua.axis<"host", size = {HOSTS}, latency_ns = {medians[smallest] // hops}, '
            f"bytes_per_s = {int(rate)}, table = {{all_reduce = array<i64: {table}>}}>]\n")


class Cell:
    """A profile as it is run, its plan, and what was measured: seconds of each step by contender."""

    def __init__(self, tools, folder, number, cell):
        self.profile, self.dilation, self.scale, self.jitter = cell
        path = f"{folder}/{number}"
        text, self.layers = scaled(self.profile, self.dilation, self.scale)
        for name, content in ((f"{path}.graph.txt", text), (f"{path}.json", json.dumps(self.layers))):
            with open(name, "w", encoding="utf-8") as file:
                file.write(content)
        command(f"{tools}/bagua-translate", "--import-layers", f"{path}.graph.txt", f"--cluster={folder}/cluster.mlir",
                "-o", f"{path}.mlir")
        command(f"{tools}/bagua-opt", f"--bagua-strategy={STRATEGY}", f"{path}.mlir", "-o", f"{path}.planned.mlir")
        command(f"{tools}/bagua-translate", "--export-plan", f"{path}.planned.mlir", "-o", f"{path}.bagua")
        self.predicted = json.loads(command(f"{tools}/bagua-sim", f"{path}.mlir", f"--strategy={STRATEGY}",
                                            "--json"))["step_ns"] / 1e9
        self.ours = [f"{tools}/bagua-run", f"{path}.bagua", "--communicator=gloo", "--json", f"--jitter={self.jitter}"]
        self.ddp = [sys.executable, f"{ROOT}/bench/peers/ddp.py", f"{path}.json"]
        self.horovod = [HOROVOD, f"{ROOT}/bench/peers/hvd.py", f"{path}.json"] if os.path.exists(HOROVOD) else None
        self.folder = folder
        self.steps, self.flat, self.whole, self.cores = {"DDP": [], "Horovod": [], "plan": []}, [], [], []

    def check(self, hosts):
        result = json.loads(hosts.run([*self.ours, "--check", "--time-scale=0", "--steps=1"], HOSTS))
        if not result["check"]["passed"]:
            sys.exit(f"{self.profile}: {result['check']['failures']}")

    def measure(self, hosts, steps):
        ddp = json.loads(hosts.run([*REAL_TIME, *self.ddp, str(steps), str(self.jitter), str(self.scale)], HOSTS,
                                   GLOO_SOCKET_IFNAME=hosts.INTERFACE))
        self.steps["DDP"].append(ddp["step_s"])
        self.flat += ddp["flat_s"]
        if self.horovod:
            text = hosts.run([*REAL_TIME, *self.horovod, str(steps), str(self.jitter), self.folder], HOSTS,
                             HOROVOD_GLOO_IFACE=hosts.INTERFACE, HOROVOD_CYCLE_TIME=str(CYCLE_MS * self.dilation),
                             HOROVOD_FUSION_THRESHOLD=str(int(FUSION_BYTES * self.scale)))
            self.steps["Horovod"].append(json.loads(text.splitlines()[-1])["step_s"])
        begin, busy = time.monotonic(), busy_seconds()
        ours = json.loads(hosts.run([*REAL_TIME, *self.ours, f"--steps={steps}"], HOSTS))["step_ns"]["of_each"]
        self.cores.append((busy_seconds() - busy) / (time.monotonic() - begin))
        # The last step waits for what its successor would have waited for.
        self.steps["plan"].append([ns / 1e9 for ns in ours[:-1]])
        self.whole.append(sum(ours) / len(ours) / 1e9)

    def ratio(self, peer):
        """The plan's step to a peer's; None without one."""
        ratios = [statistics.median(plan) / statistics.median(of)
                  for plan, of in zip(self.steps["plan"], self.steps[peer])]
        return statistics.median(ratios) if ratios else None

    def bound(self):
        elements = sum(elements for *_, elements in self.layers)
        return bound(self.layers, statistics.median(self.flat) / elements)

    def median(self):
        return statistics.median(sum(self.steps["plan"], []))

    def name(self):
        return f"{self.profile}{f', jitter {self.jitter}' if self.jitter else ''}"

    def row(self):
        ms = 1e3 / self.dilation
        peers = [f"{ratio:.3f}" if (ratio := self.ratio(peer)) else "-" for peer in ("DDP", "Horovod")]
        spread = {name: " / ".join(f"{of(sum(runs, [])) * ms:.1f}" for of in (min, statistics.median, max)) if runs else "-"
                  for name, runs in self.steps.items()}
        return (f"| {self.name()} | {GBIT_PER_S * self.dilation / self.scale:.0f} | {spread['DDP']} | {spread['Horovod']} | "
                f"{spread['plan']} | {statistics.median(self.whole) * ms:.1f} | {peers[0]} | {peers[1]} | {self.bound() * ms:.1f} | "
                f"{self.median() / self.bound():.3f} | {self.predicted * ms:.1f} | {self.median() / self.predicted:.3f} | "
                f"{statistics.median(self.cores):.2f} |")

    def misses(self):
        """A limit."""
        if self.jitter:
            return self.ratio("DDP") > MOST_OF_DDP_WITH_NOISE
        return (self.median() > MOST_OF_BOUND * self.bound() or
                not 1 / MOST_OF_PREDICTION <= self.median() / self.predicted <= MOST_OF_PREDICTION or
                any((self.ratio(peer) or 0) > MOST_OF_PEER for peer in ("DDP", "Horovod")))


def busy_seconds():
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, interrupts, soft = map(int, file.readline().split()[1:8])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def main(build, rounds="3", steps="12", *profiles):
    tools = os.path.abspath(f"{build}/bin")
    with tempfile.TemporaryDirectory() as folder, Hosts(HOSTS, RATE) as hosts:
        with open(f"{folder}/cluster.mlir", "w", encoding="utf-8") as file:
            file.write(cluster(hosts, tools, folder))
        cells = [Cell(tools, folder, number, cell) for number, cell in enumerate(CELLS)
                 if not profiles or cell[0] in profiles]
        for cell in cells:
            cell.check(hosts)
        for turn in range(int(rounds)):
            for cell in cells:
                cell.measure(hosts, int(steps))
            print(f"round {turn + 1} of {rounds}", file=sys.stderr)
    print(f"{HOSTS} hosts, {rounds} rounds of {steps} steps, emulated milliseconds (min / median / max)")
    print("| profile | Gbit/s | DDP | Horovod | plan | whole | to DDP | to Horovod | bound | to bound | predicted | to predicted | cores at work |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for cell in cells:
        print(cell.row())
    missed = [cell.name() for cell in cells if cell.misses()]
    print(f"limits missed: {'; '.join(missed)}" if missed else "all limits met")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
