# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that read or write params, and their state, between steps."""
import collections
import contextlib
import copy
import io
import os
import signal
import threading
import time

import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.optim.optimizer import register_optimizer_step_pre_hook

from bagua.torch.overlap import AcrossSteps
from loop import STEPS, loop, put, report


@loop()
def params_averaged(run):
    average = [param.detach().clone() for param in run.model.parameters()]
    for step in range(STEPS):
        run.backward(step)
        run.update()
        with torch.no_grad():
            for own, param in zip(average, run.model.parameters()):
                own.lerp_(param, 0.1)
    put(run, average)


@loop()
def params_averaged_at_once(run):
    average = [param.detach().clone() for param in run.model.parameters()]
    for step in range(STEPS):
        run.backward(step)
        run.update()
        with torch.no_grad():
            torch._foreach_lerp_(average, list(run.model.parameters()), 0.1)
    put(run, average)


@loop()
def params_averaged_by_a_model(run):
    average = torch.optim.swa_utils.AveragedModel(run.model)
    for step in range(STEPS):
        run.backward(step)
        run.update()
        average.update_parameters(run.model)
    put(run, average.module.parameters())


@loop()
def params_copied_with_their_model(run):
    sums = [torch.zeros_like(param) for param in run.model.parameters()]
    for step in range(STEPS):
        run.backward(step)
        run.update()
        for total, param in zip(sums, copy.deepcopy(run.model).parameters()):
            total += param.detach()
    put(run, sums)


@loop()
def params_as_a_vector(run):
    total = 0
    for step in range(STEPS):
        run.backward(step)
        run.update()
        total = total + nn.utils.parameters_to_vector(run.model.parameters()).detach()
    nn.utils.vector_to_parameters(total / STEPS, run.model.parameters())


@loop()
def params_from_a_vector(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        vector = nn.utils.parameters_to_vector(run.model.parameters()).detach()
        nn.utils.vector_to_parameters(vector * 0.9, run.model.parameters())


@loop()
def model_traced(run):
    """What is traced is the model, and not the update that its params were due."""
    for step in range(STEPS):
        run.backward(step)
        run.update()
        x, _ = run.batch(step)
        with torch.no_grad():
            traced = torch.jit.trace(run.model, x)
            report(run, traced(x), traced(x))
        if step % 2:
            report(run, make_fx(run.model)(x)(x).detach())


@loop()
def norms_of_params_logged(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        report(run, *[param.detach().norm() for param in run.parallel.parameters()],
               *torch._foreach_norm([param.detach() for param in run.model.parameters()]))


@loop()
def params_written_out(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        weight = run.model.b.weight
        report(run, weight.detach().numpy().copy(), weight.tolist(), weight[0, 0].item(), float(str(weight).split(",")[1]))


@loop()
def params_saved_by_themselves(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        file = io.BytesIO()
        torch.save([run.model.b.weight, dict(run.model.c.named_parameters())], file)
        file.seek(0)
        weight, others = torch.load(file, weights_only=False)
        report(run, weight, *others.values())


@loop()
def a_penalty_before_forward(run):
    for step in range(STEPS):
        penalty = sum(param.pow(2).sum() for param in run.model.parameters())
        (run.loss(step) + 0.01 * penalty).backward()
        run.update()


@loop()
def params_decayed_by_hand(run):
    for step in range(STEPS):
        run.backward(step)
        run.optimizer.step()
        for param in run.model.parameters():
            param.data.mul_(0.9)
        run.optimizer.zero_grad()


@loop()
def params_clamped(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        with torch.no_grad():
            for param in run.model.parameters():
                param.clamp_(-0.2, 0.2)


@loop()
def params_clamped_by_a_function_of_modules(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        run.model.apply(lambda module: module.weight.data.clamp_(-0.2, 0.2) if isinstance(module, nn.Linear) else None)


@loop()
def slow_weights(run):
    slow = [param.detach().clone() for param in run.model.parameters()]
    for step in range(STEPS):
        run.backward(step)
        run.update()
        if step % 2:
            with torch.no_grad():
                for own, param in zip(slow, run.model.parameters()):
                    param.copy_(own.add_(param - own, alpha=0.5))


@loop()
def params_exchanged_to_evaluate(run):
    average = [param.detach().clone() for param in run.model.parameters()]
    for step in range(STEPS):
        run.backward(step)
        run.update()
        kept = [param.data.clone() for param in run.model.parameters()]
        for own, param in zip(average, run.model.parameters()):
            own.mul_(0.5).add_(param.data, alpha=0.5)
            param.data.copy_(own)
        with torch.no_grad():
            found = run.model(run.batch(0)[0])
            run.add_up(found)
        for own, param in zip(kept, run.model.parameters()):
            param.data = own
        report(run, found)


@loop()
def params_of_other_names(run):
    """Which the program has kept from before."""
    names = [param.data for param in run.model.a.parameters()] + list(run.model.c.state_dict().values())
    for step in range(STEPS):
        run.backward(step)
        run.update()
        report(run, *names)


@loop()
def params_of_a_function(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        with torch.no_grad():
            found = torch.func.functional_call(run.model, dict(run.model.named_parameters()), run.batch(step)[0])
            run.add_up(found)
        report(run, found)


@loop()
def params_rounded_with_their_model(run):
    """DistributedDataParallel reduces nothing any more where params were of another type; of it these are rounded one by one."""
    for step in range(STEPS):
        run.backward(step)
        run.update()
        if isinstance(run.parallel, nn.parallel.DistributedDataParallel):
            put(run, [param.detach().to(torch.bfloat16) for param in run.model.parameters()])
        else:
            run.model.to(torch.bfloat16).to(torch.float32)


@loop()
def moments_started_anew(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        run.optimizer.state[run.model.a.weight]["momentum_buffer"].zero_()
        if step == 3:
            for state in run.optimizer.state.values():
                state["momentum_buffer"].mul_(0.5)


@loop()
def moments_replaced(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        if step % 2:
            run.optimizer.state = collections.defaultdict(dict)


@loop()
def params_within_a_transformation(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        x = run.batch(0)[0].abs()
        report(run, *torch.func.grad(lambda params: torch.func.functional_call(run.model, params, x).sum())(
            dict(run.model.named_parameters())).values())


@loop()
def a_compiled_penalty(run):
    penalty = torch.compile(lambda params: sum(param.pow(2).sum() for param in params), backend="eager")
    for step in range(STEPS):
        loss = 0.01 * penalty(list(run.model.parameters()))
        (run.loss(step) + loss).backward()
        run.update()


@contextlib.contextmanager
def beside(work):
    """Done by another thread, whose error is raised in the end where there is no other."""
    errors = []

    def do():
        try:
            work()
        except Exception as error:
            errors.append(error)
    thread = threading.Thread(target=do)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if errors:
        raise errors[0]


@loop()
def params_read_by_another_thread(run):
    """A log's, which waits for a rank that is late, while the program clears gradients and begins the next forward."""
    loss = run.loss(0)
    for step in range(STEPS):
        if run.rank != 0:
            time.sleep(0.03)
        loss.backward()
        run.optimizer.step()
        is_read = run.rank == 0
        with beside(lambda: [param.norm().item() for param in run.model.parameters()]) if is_read else contextlib.nullcontext():
            time.sleep(0.01 * is_read)
            if step % 3 == 0:
                run.model.zero_grad()
            run.optimizer.zero_grad(set_to_none=step % 2 == 0)
            if step < STEPS - 1:
                loss = run.loss(step + 1)


def look_slowly(updates):
    """At what is due, where another thread than the program's does."""
    program, is_due = threading.get_ident(), updates.is_due

    def slow(slot):
        found = is_due(slot)
        time.sleep(0.02 * (threading.get_ident() != program))
        return found
    updates.is_due = slow


@loop()
def gradients_read_by_another_thread(run):
    """A log's, behind backward, while the program makes its step and clears them."""
    training = getattr(run.parallel, "_training", None)
    if training and isinstance(training.overlap, AcrossSteps):
        look_slowly(training.overlap.updates)
    for step in range(STEPS):
        run.backward(step)
        gradients = [param.grad for param in run.model.parameters()]
        with beside(lambda: [gradient.norm().item() for gradient in gradients]):
            time.sleep(0.01)
            run.optimizer.step()
            time.sleep(0.03)
            run.optimizer.zero_grad()


@loop()
def state_saved_by_another_thread(run):
    """At any time: in a forward, within a backward, between a step and the next."""
    is_over = threading.Event()

    def save():
        while not is_over.wait(0.001):
            {name: value.clone() for name, value in run.parallel.state_dict().items()}
    with beside(save):
        try:
            for step in range(5 * STEPS):
                run.backward(step)
                run.update()
        finally:
            is_over.set()


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


def interrupt_once_it_waits(thread, is_over):
    """It sleeps, and has not run for a while; who computes, or waits for a core or the interpreter, soon has."""
    ran, looks = None, 0
    while looks < 5 and not is_over.wait(0.001):
        with open(f"/proc/self/task/{thread}/stat", encoding="ascii") as stat, open(f"/proc/self/task/{thread}/schedstat", encoding="ascii") as times:
            state, now = stat.read().rpartition(")")[2].split()[0], times.read().split()[0]
        ran, looks = now, looks + 1 if state == "S" and ran == now else 0
    if not is_over.is_set():
        os.kill(os.getpid(), signal.SIGUSR2)


@contextlib.contextmanager
def signalled(run):
    """On rank 0, once it waits in here."""
    is_over = threading.Event()
    watch = threading.Thread(target=interrupt_once_it_waits, args=(threading.get_native_id(), is_over))
    if run.rank == 0:
        watch.start()
    try:
        yield
    finally:
        is_over.set()
        if run.rank == 0:
            watch.join()


@contextlib.contextmanager
def interrupted(run):
    """On rank 0, while it waits for the others, or behind what is done in here."""
    with contextlib.suppress(Interrupted), signalled(run):
        yield
        if run.rank == 0:
            threading.Event().wait()


@contextlib.contextmanager
def handled_by(handler):
    signal.signal(signal.SIGUSR2, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)


def losses_of_late_ranks(run):
    """Each step's number and loss, behind which rank 0 waits for the others."""
    for step in range(STEPS):
        loss = run.loss(step)
        if run.rank != 0:
            time.sleep(0.03)
        yield step, loss


@loop()
def interrupted_while_it_waits(run):
    """By a signal, as those that tell of a preemption; the program notes it, and goes on."""
    with handled_by(interrupt):
        for step, loss in losses_of_late_ranks(run):
            with interrupted(run) if step % 2 else contextlib.nullcontext():
                loss.backward()
            run.update()
            with contextlib.nullcontext() if step % 2 else interrupted(run):
                [param.norm() for param in run.model.parameters()]
            if step % 2:
                getattr(run.parallel, "synchronize", lambda: None)()


@loop()
def state_read_by_hooks_of_all_optimizers(run):
    """Which come within each update."""
    def read(*_):
        run.parallel.state_dict()
        run.optimizer.state_dict()
    hook = register_optimizer_step_pre_hook(read)
    try:
        for step in range(STEPS):
            run.backward(step)
            run.optimizer.step()
            next(iter(run.model.parameters())).norm()
            run.optimizer.zero_grad()
    finally:
        hook.remove()


@loop()
def saved_by_a_handler(run):
    """Of a signal that comes while the rank waits, for the others or for an update."""
    saved = []

    def save(*_):
        saved.append(copy.deepcopy(run.parallel.module))
        saved.append(copy.deepcopy(run.parallel) if step % 3 else run.parallel.state_dict())
    with handled_by(save):
        for step, loss in losses_of_late_ranks(run):
            with signalled(run):
                loss.backward()
                if step % 2:
                    run.update()
                    [param.norm() for param in run.model.parameters()]
            if step % 2 == 0:
                run.update()
