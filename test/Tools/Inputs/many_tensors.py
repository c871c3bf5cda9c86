# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes a table of many tensors from import to a plan, some to a checked run: many_tensors.py FOLDER TENSORS STRATEGY...

Each tool has 30 s of CPU, or 60 s for more than 20,000 tensors. That is no measure of speed but a guard: what looks at all tensors for each of
them takes minutes, what does not some seconds."""
import resource
import subprocess
import sys

# In a few messages, and in one for each tensor.
CHECKED = ("ddp", "wfbp-a2a")


def run(limit, *command):
    result = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {result.returncode}, of at most {limit} s of CPU: {result.stderr[-500:]}")
    return result.stdout


def main(folder, tensors, *strategies):
    count = int(tensors)
    limit = 30 if count <= 20000 else 60
    with open(f"{folder}/table.csv", "w") as table:
        table.write("name,tensors,forward_ns,backward_ns,ready\n")
        table.writelines(f"l{i},w=4xf32,1000,1000,{count - 1 - i}\n" for i in range(count))
    run(limit, "bagua-translate", "--import-layers", f"{folder}/table.csv", "--cluster=node=2", "-o", f"{folder}/step.mlir")
    run(limit, "bagua-translate", "--import-layers", f"{folder}/table.csv", "--cluster=tcp-10g+servers", "-o",
        f"{folder}/served.mlir")
    for strategy in strategies:
        served = strategy in ("byteps", "p3", "bsp-ps", "wfbp-ps", "bytescheduler-ps")
        run(limit, "bagua-opt", f"--bagua-strategy={strategy}", f"{folder}/{'served' if served else 'step'}.mlir", "-o",
            f"{folder}/scheduled.mlir")
        run(limit, "bagua-translate", "--export-plan", f"{folder}/scheduled.mlir", "-o", f"{folder}/plan.bagua")
        if strategy in CHECKED:
            print(strategy, run(limit, "bagua-run", f"{folder}/plan.bagua", "--ranks=2", "--check", "--steps=1",
                                "--time-scale=0").splitlines()[-1])
        else:
            print(strategy, "compiled")


if __name__ == "__main__":
    main(*sys.argv[1:])
