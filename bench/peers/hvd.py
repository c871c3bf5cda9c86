# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Horovod's DistributedOptimizer with compute that sleeps, one rank: hvd.py LAYERS.json STEPS JITTER FOLDER

As ddp.py; ranks find each other's rendezvous in FOLDER. Horovod's variables (HOROVOD_FUSION_THRESHOLD, HOROVOD_CYCLE_TIME) hold.
"""
import json
import os
import subprocess
import sys
import time

import torch

from sleeping import Device, Model, timed

WARM_UP = 2
# Lives as long as rank 0 holds the pipe.
SERVER = """
import sys
from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
from horovod.runner.http.http_server import RendezvousServer
ranks = int(sys.argv[1])
server = RendezvousServer(0)
port = server.start()
server.init(get_host_assignments(parse_hosts(",".join(f"host{rank}:1" for rank in range(ranks))), ranks))
print(port, flush=True)
sys.stdin.read()
"""


def join(rank, ranks, folder):
    note, server = f"{folder}/horovod-port", None
    if rank == 0:
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(ranks)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with open(f"{note}.new", "w", encoding="ascii") as file:
            file.write(server.stdout.readline())
        os.rename(f"{note}.new", note)
    while not os.path.exists(note):
        time.sleep(0.05)
    with open(note, encoding="ascii") as file:
        port = file.read().strip()
    os.environ.update(HOROVOD_HOSTNAME=f"host{rank}", HOROVOD_RANK=str(rank), HOROVOD_SIZE=str(ranks), HOROVOD_LOCAL_RANK="0",
                      HOROVOD_LOCAL_SIZE="1", HOROVOD_CROSS_RANK=str(rank), HOROVOD_CROSS_SIZE=str(ranks),
                      HOROVOD_GLOO_RENDEZVOUS_ADDR=os.environ["MASTER_ADDR"], HOROVOD_GLOO_RENDEZVOUS_PORT=port,
                      HOROVOD_CONTROLLER="gloo", HOROVOD_CPU_OPERATIONS="gloo")
    import horovod.torch as hvd
    hvd.init()
    return hvd, server


def main(path, steps, jitter, folder):
    torch.set_num_threads(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    hvd, server = join(rank, ranks, folder)
    if rank == 0:
        os.remove(f"{folder}/horovod-port")  # all have come
    with open(path, encoding="utf-8") as file:
        layers = json.load(file)
    model, values = Model(layers, Device(rank, float(jitter)), rank), torch.zeros(1, requires_grad=True)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.params, lr=0.0), named_parameters=model.named_parameters())

    def step():
        for param in model.params:
            param.grad = None
        model(values).backward()
        optimizer.synchronize()

    step()
    for param in model.params:
        if not torch.equal(param.grad, torch.full_like(param, (ranks + 1) / 2)):
            sys.exit(f"expected gradients of {(ranks + 1) / 2}, found {param.grad}")
    for _ in range(WARM_UP):
        step()
    hvd.allreduce(torch.zeros(1), name="barrier")
    seconds = hvd.allgather_object(timed(step, int(steps)))
    if rank == 0:
        print(json.dumps({"step_s": [max(of) for of in zip(*seconds)], "torch": torch.__version__}))
    hvd.shutdown()
    if server:
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
