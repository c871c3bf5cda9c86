# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A rank that runs many training loops by one way of training: loops.py FOLDER WAY

Each loop is what programs are found to do around DDP (step_loops.py, param_loops.py). Run by check_loops.py, with torchrun's variables; rank 0 writes the params
of each loop to FOLDER/LOOP.WAY. A way is DDP, or the strategy of a plan, the overlap, and whether gradients are views:
ddp.backward.False, say."""
import functools
import sys
import threading

import torch
import torch.distributed as dist
from torch import nn

import param_loops  # noqa: F401, is among LOOPS
import step_loops  # noqa: F401, is among LOOPS
from loop import ELSEWHERE, LOOPS, Run
from loop_models import WIDTH


def prepare(name):
    """The model of a loop, and its optimizer."""
    model = LOOPS[name].make()
    if name == "a_block_compiled_and_run_before":
        model.b.compile(backend="eager")
        model(torch.zeros(1, WIDTH)).sum().backward()
        with torch.no_grad():
            model(torch.zeros(1, WIDTH))
        model.zero_grad()
    return model, LOOPS[name].make_optimizer(model.parameters())


def wrap_by_ddp(name, model):
    parallel = nn.parallel.DistributedDataParallel(model, find_unused_parameters=LOOPS[name].unused)
    parallel.synchronize = parallel.close = lambda: None
    return parallel


def train(name, parallel, run):
    """Returns all values of the model, whose wrapper is `parallel`, which is left open."""
    if name == "compiled_with_its_wrapper":
        run.parallel = torch.compile(parallel, backend="eager")
    LOOPS[name].train(run)
    parallel.synchronize()
    return {key: value.clone() for key, value in run.model.state_dict().items()}


def watch_calls(session, found):
    """Notes in `found` which calls of sessions come while another thread is in one of the same session's; abort() and step_figures() may."""
    def watched(call):
        @functools.wraps(call)
        def within(self, *arguments, **named):
            lock = self.__dict__.setdefault("in_call", threading.RLock())
            is_free = lock.acquire(blocking=False)
            if not is_free:
                found.append(call.__name__)
            try:
                return call(self, *arguments, **named)
            finally:
                if is_free:
                    lock.release()
        return within
    for name, call in list(vars(session).items()):
        if callable(call) and not name.startswith("_") and name not in ("abort", "step_figures"):
            setattr(session, name, watched(call))


def train_by(name, way, folder, rank):
    model, optimizer = prepare(name)
    if way == "DDP":
        parallel = wrap_by_ddp(name, model)
    else:
        import bagua.torch
        from bagua import runtime
        strategy, overlap, views = way.split(".")
        deferred = {"overlap": "step", "optimizer": optimizer} if overlap == "step" else {}
        store = dist.PrefixStore(f"bagua/{name}", dist.distributed_c10d._get_default_store())
        world = runtime.World.launched(store=bagua.torch.Store(store))
        with torch.device(ELSEWHERE):
            parallel = bagua.torch.DataParallel(model, f"{folder}/{name}.{strategy}.{overlap}.bagua", world=world,
                                                find_unused_parameters=LOOPS[name].unused, gradient_as_bucket_view=views == "True",
                                                timeout=60, **deferred)
    values = train(name, parallel, Run(parallel, model, optimizer, rank))
    if rank == 0:
        torch.save(values, f"{folder}/{name}.{way}")
    parallel.close()


def main(folder, way):
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False  # some kernels use instructions that some virtual machines lack
    dist.init_process_group("gloo")
    beside = []
    if way != "DDP":
        from bagua import runtime
        watch_calls(runtime.Session, beside)
    for name in LOOPS:
        train_by(name, way, folder, dist.get_rank())
        if beside:
            sys.exit(f"{name}: two threads call a session at once, one of them {beside[0]}()")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
