# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a rank may do that others don't, one kind a function; as a program, one rank of all: disagreements.py WORK RANK

A kind is called on each rank with what it may use, makes rank 1 differ, and says what the error must have. Where it names none,
or where no error comes, gradients must be those of one process with all batches."""
import contextlib
import copy
import io
import pathlib
import sys
import threading
import time

import torch
from torch import nn
from torch._dynamo import compiled_autograd

import bagua.torch
from bagua import runtime

STEPS = 3
KINDS = {}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.images = nn.Conv2d(2, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.out = nn.Linear(12, 4)
        self.register_buffer("scale", torch.ones(4), persistent=False)
        self.register_buffer("count", torch.zeros(4, dtype=torch.int32), persistent=False)

    def forward(self, x):
        x = self.norm(self.images(x.view(-1, 2, 2, 2)))
        return self.out(x.flatten(1)) * self.scale


def batch(rank, step):
    generator = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randn(4, 8, generator=generator)


class Rank:
    """One rank's training in one run."""

    def __init__(self, work, rank, way, kind):
        self.work, self.rank, self.way, self.kind = work, rank, way, kind
        torch.manual_seed(0)
        self.model = Net()
        self.world = runtime.World.connect(rank, 2, rendezvous=f"{work}/{kind.__name__}.{way}", patience=60, timeout=600)
        self.parallel = None

    def is_other(self):
        return self.rank == 1

    def wrap(self, **options):
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        ways = {"views": dict(gradient_as_bucket_view=True), "step": dict(overlap="step", optimizer=self.optimizer)}
        updates = "late" if self.way == "step" else "program"
        self.parallel = bagua.torch.DataParallel(self.model, f"{self.work}/net.{updates}.bagua", world=self.world, timeout=300,
                                                 **{**ways.get(self.way, {}), **options})
        return self.parallel

    def loss(self, step):
        return self.parallel(batch(self.rank, step)).square().mean()

    def train(self, steps=range(STEPS), between=lambda step: None):
        for step in steps:
            between(step)
            self.loss(step).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def check(self, had=lambda rank, step: True, steps=STEPS, rounding=0):
        """Params are those of one process in which `had` says which ranks' batches reached a step's loss, in every bit or but
        for `rounding`."""
        self.parallel.synchronize()
        torch.manual_seed(0)
        alone = Net()
        optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
        for step in range(steps):
            # Each rank normalises its own batch.
            sums = [torch.zeros_like(param) for param in alone.parameters()]
            for rank in range(2):
                if had(rank, step):
                    gradients = torch.autograd.grad(alone(batch(rank, step)).square().mean(), list(alone.parameters()))
                    sums = [total + gradient for total, gradient in zip(sums, gradients)]
            for param, total in zip(alone.parameters(), sums):
                param.grad = total / 2
            optimizer.step()
        for (name, own), expected in zip(self.model.named_parameters(), alone.parameters()):
            if not (own - expected).abs().max() <= rounding:
                raise AssertionError(f"{name} is off by {(own - expected).abs().max():.1e}")


def kind(*expected):
    def add(function):
        KINDS[function.__name__] = function
        function.expected = expected
        return function
    return add


@kind()
def nothing_differs(rank):
    rank.wrap()
    rank.train()
    rank.check()


@kind()
def a_gradient_in_another_layout(rank):
    """By autograd.grad from images that lie otherwise."""
    rank.wrap(find_unused_parameters=True)
    params = list(rank.model.parameters())
    for step in range(STEPS):
        images = batch(rank.rank, step).view(-1, 2, 2, 2)
        if rank.is_other():
            images = images.contiguous(memory_format=torch.channels_last)
        with rank.parallel.no_sync():
            gradients = torch.autograd.grad(rank.model(images).square().mean(), params)
        for param, gradient in zip(params, gradients):
            param.grad = gradient
        (rank.parallel(batch(rank.rank, step)) * 0).sum().backward()
        rank.optimizer.step()
        rank.optimizer.zero_grad()
    rank.check(rounding=1e-6)  # convolutions of the other layout round otherwise


@kind("ranks differ in tensor 'images.weight.grad'", "on rank 0", "on rank 1")
def a_param_in_another_layout(rank):
    """From the second step on; gradients that are views stay where they were."""
    def change(step):
        rank.parallel.synchronize()
        if step == 1 and rank.is_other():
            rank.model.to(memory_format=torch.channels_last)
    rank.wrap()
    rank.train(between=change)
    rank.check(rounding=1e-6)


@kind("ranks differ in the model", "param images.weight", "strides")
def another_layout_at_the_start(rank):
    if rank.is_other():
        rank.model.to(memory_format=torch.channels_last)
    rank.wrap()


@kind("ranks differ in the model", "buffer scale: float32 [4] on rank 0", "buffer count: int32 [4] on rank 1")
def buffers_in_another_order(rank):
    if rank.is_other():
        del rank.model.scale
        rank.model.register_buffer("scale", torch.ones(4), persistent=False)
    rank.wrap()


@kind("ranks differ in the model", "buffer count: int32 [4] on rank 0; buffer count: float32 [4] on rank 1")
def a_buffer_of_another_type(rank):
    if rank.is_other():
        rank.model.count = rank.model.count.float()
    rank.wrap()


@kind("ranks differ in the model", "on rank 0; buffer norm.late: float32 [3] on rank 1")
def a_buffer_that_comes_late(rank):
    def add(step):
        if step == 1 and rank.is_other():
            rank.model.norm.register_buffer("late", torch.zeros(3))
    rank.wrap()
    rank.train(between=add)


@kind("ranks differ in the bytes of params and buffers that are broadcast", "on rank 0", "on rank 1")
def a_buffer_that_is_gone_in_evaluation(rank):
    """Of three that go in two pieces, the first of which is alike."""
    for name in ("first", "second"):
        rank.model.norm.register_buffer(name, torch.zeros(20 << 20, dtype=torch.uint8))
    rank.wrap()
    rank.train(range(1))
    if rank.is_other():
        del rank.model.norm.second
    with torch.no_grad():
        rank.parallel(batch(rank.rank, 1))


@kind()
def buffers_of_all_types(rank):
    """Of sizes that let the next one begin anywhere; rank 1 has other values until rank 0's come."""
    kinds = [torch.bool, torch.complex128, torch.uint8, torch.float64, torch.float16, torch.complex64, torch.int64, torch.bfloat16]
    for number, dtype in enumerate(kinds):
        rank.model.norm.register_buffer(f"further{number}", torch.zeros(2 * number + 1, dtype=dtype))

    def change(step):
        for number in range(len(kinds)):
            rank.model.norm.get_buffer(f"further{number}").fill_((number + step + rank.rank) % 2)
    change(0)
    rank.wrap()
    for step in range(STEPS):
        rank.train([step], between=change)
        rank.parallel.synchronize()
        for number, dtype in enumerate(kinds):
            own = rank.model.norm.get_buffer(f"further{number}")
            if own.dtype != dtype or not torch.equal(own, torch.full_like(own, (number + step) % 2)):
                raise AssertionError(f"a buffer of {dtype} has {own}")
    rank.check()


@kind("ranks differ in the model", "buffer count: float32 [4] on rank 1")
def a_buffer_that_becomes_another_type(rank):
    def change(step):
        if step == 1 and rank.is_other():
            rank.model.count = rank.model.count.float()
    rank.wrap()
    rank.train(between=change)


@kind("ranks differ in the model", "param norm.weight: float32 [3], strides [1]")
def a_param_that_is_frozen(rank):
    def freeze(step):
        if step == 1 and rank.is_other():
            rank.model.norm.weight.requires_grad_(False)
    rank.wrap(find_unused_parameters=True)
    rank.train(between=freeze)


@kind("ranks differ in the model", "broadcast_buffers=True on rank 0; broadcast_buffers=False on rank 1")
def other_options(rank):
    rank.wrap(broadcast_buffers=not rank.is_other())


@kind("ranks differ in the number of forwards", ": 2 on rank 0; 3 on rank 1")
def a_backward_that_is_skipped(rank):
    """The next forward would wait for buffers of a rank that waits for gradients."""
    rank.wrap()
    for step in range(STEPS):
        loss = rank.loss(step)
        if step == 1 and rank.is_other():
            continue
        loss.backward()
        rank.optimizer.step()
        rank.optimizer.zero_grad()
    rank.parallel.close()


@kind("ranks differ in the number of forwards that no backward followed", ": 0 on rank 0; 1 on rank 1")
def a_backward_that_is_skipped_before_evaluation(rank):
    rank.wrap()
    loss = rank.loss(0)
    if not rank.is_other():
        loss.backward()
    with torch.no_grad():
        rank.loss(1)
    rank.parallel.close()


@kind("ranks differ in the number of backwards that no forward preceded", ": 0 on rank 0; 1 on rank 1")
def a_second_backward(rank):
    rank.wrap()
    second_backward(rank)


@kind("ranks differ in the number of forwards", ": 2 on rank 0; 1 on rank 1")
def a_second_backward_without_buffers(rank):
    rank.wrap(broadcast_buffers=False)
    second_backward(rank)


def second_backward(rank):
    for step in range(STEPS):
        loss = rank.loss(step)
        loss.backward(retain_graph=True)
        if step == 0 and rank.is_other():
            loss.backward()
    rank.parallel.close()


@kind("ranks differ in the number of forwards", ": 2 on rank 0; 3 on rank 1")
def a_forward_too_many(rank):
    rank.wrap()
    for step in range(STEPS):
        if step == 1 and rank.is_other():
            rank.loss(step)
        rank.loss(step).backward()
    rank.parallel.close()


@kind()
def gradients_dropped_between_backwards(rank):
    """Of two forwards one behind the other; DistributedDataParallel has its own in place of the last one's mean."""
    rank.wrap()
    for step in range(STEPS):
        dropped, kept = rank.loss(step + 10), rank.loss(step)
        dropped.backward()
        if step % 2:
            rank.model.zero_grad()
        else:
            for param in rank.model.parameters():
                param.grad = None
        kept.backward()
        rank.optimizer.step()
        rank.optimizer.zero_grad()
    rank.check()


@kind()
def buffers_that_are_not_sent(rank):
    """Are each rank's own from the start."""
    rank.model.scale.fill_(2 + rank.rank)
    rank.wrap(broadcast_buffers=False)
    rank.train()
    if not torch.equal(rank.model.scale, torch.full((4,), 2.0 + rank.rank)):
        raise AssertionError(f"its own buffer is {rank.model.scale}")


@kind()
def a_forward_without_gradients_too_many(rank):
    def look(step):
        if rank.is_other():
            rank.parallel.eval()
            with torch.no_grad():
                rank.model(batch(0, step))
            rank.parallel.train()
    rank.wrap()
    rank.train(between=look)
    rank.check()


@kind("ranks differ in the number of steps of optimizers", ": 2 on rank 0; 1 on rank 1")
def a_step_that_is_skipped(rank):
    """By a guard of the rank's own loss, say."""
    rank.wrap()
    for step in range(STEPS):
        rank.loss(step).backward()
        if step != 1 or not rank.is_other():
            rank.optimizer.step()
        rank.optimizer.zero_grad()
    rank.parallel.close()


@kind("expected the last backward to complete before forward, found it incomplete")
def an_error_in_backward_that_is_passed_over(rank):
    def fail(_):
        raise ArithmeticError("for a test")
    rank.wrap()
    for step in range(STEPS):
        loss = rank.loss(step)
        if step == 1 and rank.is_other():
            handle = rank.model.norm.weight.register_hook(fail)
            with contextlib.suppress(ArithmeticError):
                loss.backward()
            handle.remove()
            continue
        loss.backward()
        rank.optimizer.step()
        rank.optimizer.zero_grad()


@kind()
def a_gradient_that_a_thread_reads_within_backward(rank):
    """One that waits for the others', which are still to come. The run goes on."""
    rank.wrap()
    errors = []

    def read():
        try:
            rank.model.out.weight.grad.norm()
        except RuntimeError as error:
            errors.append(str(error))

    def read_beside(_):
        if rank.is_other():
            thread = threading.Thread(target=read)
            thread.start()
            thread.join()
    rank.model.images.weight.register_hook(read_beside)
    rank.train()
    rank.check()
    expected = ["out.weight: expected threads to read gradients after backward has returned, found a thread that reads them earlier"] * STEPS
    if errors != (expected if rank.is_other() and rank.way == "step" else []):
        raise AssertionError(f"found the errors {errors}")


@kind()
def a_report_while_the_other_rank_is_late(rank):
    """By a thread, as one that looks why nothing goes on: here the other rank goes on once it has said so."""
    rank.wrap()
    mark = pathlib.Path(f"{rank.work}/{rank.kind.__name__}.{rank.way}.reported")

    def report():
        time.sleep(0.1)  # by then the rank waits
        rank.parallel.report()
        mark.touch()
    thread = threading.Thread(target=report)
    if rank.is_other():
        while not mark.exists():
            time.sleep(0.01)
    else:
        thread.start()
    rank.train()
    if not rank.is_other():
        thread.join()
    rank.check()


@kind()
def gradients_that_one_rank_looks_at(rank):
    rank.wrap(find_unused_parameters=True)
    for step in range(STEPS):
        rank.loss(step).backward()
        if not rank.is_other():
            sum(param.grad.norm() for param in rank.model.parameters()).item()
        rank.optimizer.step()
        rank.optimizer.zero_grad()
    rank.check()


@kind("ranks differ in whether the program changes gradients", "yes on rank 0; no on rank 1")
def gradients_that_one_rank_clips(rank):
    """Once all have been through a step."""
    rank.wrap(find_unused_parameters=True)
    for step in range(STEPS + 1):
        rank.loss(step).backward()
        if step > 0 and not rank.is_other():
            nn.utils.clip_grad_norm_(rank.model.parameters(), 1e-3)
        rank.optimizer.step()
        rank.optimizer.zero_grad()
    rank.parallel.close()


@kind()
def two_forwards_on_all_ranks(rank):
    """Before one backward, of the second one; and in one step two backwards of one forward."""
    rank.wrap()
    for step in range(STEPS):
        rank.loss(step)
        loss = rank.loss(step)
        if step == 1:
            (loss * 0).backward(retain_graph=True)
            rank.optimizer.zero_grad()
        loss.backward()
        rank.optimizer.step()
        rank.optimizer.zero_grad()
    rank.check()


@kind()
def more_micro_batches(rank):
    rank.wrap()

    def add(step):
        if rank.is_other():
            with rank.parallel.no_sync():
                (rank.loss(step) * 0).backward()
    rank.train(between=add)
    rank.check()


def train_without_params(rank):
    """In one step the other rank's loss reaches none."""
    for step in range(STEPS):
        loss = rank.loss(step)
        if step == 1 and rank.is_other():
            loss = torch.zeros((), requires_grad=True) * 1
        loss.backward()
        rank.optimizer.step()
        rank.optimizer.zero_grad()


@kind()
def a_loss_without_params(rank):
    """The step is made before the optimizer's, and all are absent."""
    rank.wrap(find_unused_parameters=True)
    train_without_params(rank)
    rank.check(had=lambda rank, step: (rank, step) != (1, 1))


@kind("ranks differ in the number of forwards", ": 2 on rank 0; 3 on rank 1")
def a_loss_without_params_that_is_not_expected(rank):
    rank.wrap()
    train_without_params(rank)
    rank.parallel.close()


@kind("found one that torch compiles")
def a_compiled_backward(rank):
    rank.wrap()
    for step in range(STEPS):
        loss = rank.loss(step)
        with (compiled_autograd._enable(torch.compile(backend="eager")) if rank.is_other() else contextlib.nullcontext()):
            loss.backward()
        if rank.is_other():
            raise AssertionError("its backward came to an end, and the optimizer has gradients of this rank alone")
        rank.optimizer.step()
        rank.optimizer.zero_grad()
    rank.parallel.close()


@kind()
def wrapped_anew(rank):
    """On rank 1 the former wrapper is closed, on rank 0 it is dropped."""
    rank.wrap()
    rank.train(range(1))
    if rank.is_other():
        rank.parallel.close()
    rank.wrap()
    rank.train(range(1, STEPS))
    rank.check()


@kind()
def other_weights_for_a_call(rank):
    """Of functional_call, made of the params: gradients flow through to these."""
    rank.wrap()
    for step in range(STEPS):
        weights = {f"module.{name}": param * 1 for name, param in rank.model.named_parameters()}
        torch.func.functional_call(rank.parallel, weights, batch(rank.rank, step)).square().mean().backward()
        rank.optimizer.step()
        rank.optimizer.zero_grad()
        rank.parallel.synchronize()
    rank.check()


@kind()
def copies_of_the_model(rank):
    rank.wrap()
    average = torch.optim.swa_utils.AveragedModel(rank.parallel)
    seen = [[param.detach().clone() for param in rank.model.parameters()]]
    for step in range(STEPS):
        rank.train(range(1))
        average.update_parameters(copy.deepcopy(rank.parallel))
        rank.parallel.synchronize()
        seen.append([param.detach().clone() for param in rank.model.parameters()])
    for own, *values in zip(average.module.parameters(), *seen[1:]):
        if not torch.allclose(own, sum(values) / STEPS, rtol=1e-5, atol=1e-6):
            raise AssertionError("the average is another one")
    file = io.BytesIO()
    if rank.way == "step":
        with contextlib.suppress(TypeError):
            torch.save(rank.parallel, file)
            raise AssertionError("expected a model with hooks not to be saved")
        return
    torch.save(rank.parallel, file)
    file.seek(0)
    for own, loaded in zip(rank.model.parameters(), torch.load(file, weights_only=False).parameters()):
        if not torch.equal(own, loaded):
            raise AssertionError("what is loaded differs from what was saved")


def run(work, rank, way, kind):
    begin = time.monotonic()
    said = "no error"
    own = Rank(work, rank, way, kind)
    try:
        kind(own)
        if own.parallel:
            own.parallel.close()
    except (RuntimeError, ValueError) as error:
        said = str(error)
    except AssertionError as error:
        print(f"wrong: rank {rank}, {kind.__name__}, {way}: {error}", flush=True)
        return
    finally:
        if own.parallel:
            with contextlib.suppress(RuntimeError, ValueError):
                own.parallel.close()
        own.world.close()
    is_right = said == "no error" and kind in UNCHANGED.get(way, ()) or (
        all(part in said for part in kind.expected) if kind.expected else said == "no error")
    if not is_right:
        print(f"wrong: rank {rank}, {kind.__name__}, {way}: {said}", flush=True)
    print(f"{kind.__name__}, {way}: {time.monotonic() - begin:.1f} s: {said}", flush=True)


# Where what differs makes no difference, and numbers are right.
UNCHANGED = {"views": [KINDS["a_param_in_another_layout"]]}


def main(work, rank):
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False
    for way in ("backward", "views", "step"):
        for kind in KINDS.values():
            run(work, int(rank), way, kind)


if __name__ == "__main__":
    main(*sys.argv[1:])
