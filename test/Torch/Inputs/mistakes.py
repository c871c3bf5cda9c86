# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What DataParallel says to mistakes, one rank each: mistakes.py FOLDER, after check_training.py has made plans there."""
import contextlib
import copy
import gc
import os
import signal
import sys
import threading
import warnings

import torch
from torch import nn

import bagua.torch
import train
from bagua import runtime


def say(what, attempt):
    try:
        attempt()
        print(f"{what}: no error")
    except (TypeError, ValueError, RuntimeError) as error:
        print(f"{what}: {type(error).__name__}: {error}")


def parallel(model, plan, **options):
    return bagua.torch.DataParallel(model, plan, world=runtime.World.in_process(1)[0], **options)


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4, sparse=True)

    def forward(self, x):
        return self.table(x)


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.w


class Listed(nn.Module):
    """Without params."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Tanh()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Frozen(nn.Module):
    """In part."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))
        self.v = nn.Parameter(torch.ones(4), requires_grad=False)

    def forward(self, x):
        return x * self.w + self.v


class Replacing(nn.Module):
    """Its buffer, in each forward."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        self.seen = 0.9 * self.seen + x.detach().mean(0)
        return x


def leave_by_exception(model, plan):
    with parallel(model, plan) as both:
        both(torch.ones(4, 32)).sum().backward()
        raise ValueError("by the program")


def main(folder):
    plan = f"{folder}/one.bagua"
    say("another model", lambda: parallel(nn.Linear(3, 3), plan))
    say("another shape", lambda: parallel(nn.ParameterDict({"w": torch.zeros(5)}), f"{folder}/w.bagua"))
    say("another type", lambda: parallel(nn.ParameterDict({"w": torch.zeros(4, dtype=torch.float64)}), f"{folder}/w.bagua"))
    say("no plan", lambda: parallel(nn.Linear(3, 3), f"{folder}/none.bagua"))
    say("a plan for more ranks", lambda: parallel(train.make("momentum")[0], f"{folder}/momentum.bagua"))

    def leave_out():
        model = parallel(train.Net(unused=True), f"{folder}/unused1.bagua")
        model(torch.ones(4, 32)).sum().backward()
    say("unused", leave_out)

    def backward(both):
        both(torch.ones(4, 32)).sum().backward()

    def compiled(name, before=lambda model: model, after=lambda both, model: both, use=backward):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = before(train.Net())
            both = after(parallel(model, plan), model)
            for _ in range(2):
                use(both)
        said = [warning for warning in said if "compiled" in str(warning.message)]
        print(f"{name}:", *(warning.message for warning in said))
        return said

    def in_place(module, result):
        module.compile(backend="eager")
        return result
    said = compiled("compiled as one", lambda model: torch.compile(model, backend="eager"))
    print("said at", os.path.basename(said[0].filename))

    def compile_forward(model):
        model.forward = torch.compile(model.forward, backend="eager")
        return model
    compiled("forward compiled", compile_forward)
    compiled("compiled in place", lambda model: in_place(model, model))
    compiled("compiled in place once wrapped", after=lambda both, model: in_place(model, both))
    compiled("compiled with its wrapper", after=lambda both, _: torch.compile(both, backend="eager"))
    compiled("wrapper compiled in place", after=lambda both, _: in_place(both, both))

    def compile_blocks(model):
        for block in model.layers:
            block.compile(backend="eager")
        return model
    compiled("compiled by blocks", compile_blocks)

    def evaluate(both, _):
        with torch.no_grad():
            both(torch.ones(4, 32))
            return torch.compile(both, backend="eager", fullgraph=True)
    with torch.no_grad():
        compiled("evaluated", after=evaluate, use=lambda both: both(torch.ones(4, 32)))

    def sparse():
        model = parallel(Sparse(), f"{folder}/sparse.bagua")
        model(torch.tensor([1, 2])).sum().backward()
    say("sparse", sparse)

    def forward_after_error():
        model = parallel(train.Net(), plan)

        class Fails(torch.autograd.Function):
            @staticmethod
            def forward(_, x):
                return x.clone()

            @staticmethod
            def backward(_, gradient):
                raise ArithmeticError("in backward")
        model.module.layers[0].register_forward_hook(lambda *a: Fails.apply(a[2]))
        try:
            model(torch.ones(4, 32)).sum().backward()
        except ArithmeticError:
            pass
        model(torch.ones(4, 32))
    say("after an error in backward", forward_after_error)

    class Scripted(nn.Module):
        """Uses a param by what was compiled of its module, which reads it without Python."""

        def __init__(self):
            super().__init__()
            self.inner = Product()
            self.compiled = [torch.jit.script(self.inner)]

        def forward(self, x):
            return self.compiled[0](x)

    def borrow():
        model = Scripted()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        both = parallel(model, f"{folder}/inner.bagua", overlap="step", optimizer=optimizer)
        for _ in range(2):
            both(torch.ones(4)).sum().backward()
            optimizer.step()
    say("used without its module", borrow)

    def train_later():
        model = Frozen()
        both = parallel(model, f"{folder}/w.bagua")
        both(torch.ones(4)).sum().backward()
        model.v.requires_grad_(True)
        both(torch.ones(4))
    say("trained later", train_later)

    def replace():
        model = parallel(train.Net(), plan)
        model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()}, assign=True)
        model(torch.ones(4, 32))
    say("replaced", replace)

    def other_type():
        model = train.Net()
        model.scale.grad_dtype = torch.bfloat16
        parallel(model, plan)(torch.ones(4, 32)).sum().backward()
    say("a gradient of another type", other_type)

    def convert(**options):
        model = parallel(train.Net(), plan, **options)
        model(torch.ones(4, 32)).sum().backward()
        model.double()
        model(torch.ones(4, 32, dtype=torch.float64)).sum().backward()
    say("a model of another type", convert)
    say("a model of another type, of views", lambda: convert(gradient_as_bucket_view=True))

    def keep_graph():
        parallel(train.Net(), plan, gradient_as_bucket_view=True)(torch.ones(4, 32)).sum().backward(create_graph=True)
    say("a graph of views", keep_graph)

    def hook_late():
        model = parallel(train.Net(), plan)
        loss = model(torch.ones(4, 32)).sum()
        model.module.scale.register_post_accumulate_grad_hook(lambda param: None)
        loss.backward()
    say("a hook between forward and backward", hook_late)

    def sync_apart():
        model = parallel(train.Net(), plan)
        loss = model(torch.ones(4, 32)).sum()
        with model.no_sync():
            loss.backward()
    say("no_sync around backward alone", sync_apart)

    def strides():
        errors = {}

        def rank(number, world):
            model = train.make("momentum")[0]
            if number == 2:
                weight = model.layers[0].weight
                weight.data = weight.data.t().contiguous().t()
            try:
                bagua.torch.DataParallel(model, f"{folder}/momentum.bagua", world=world)
            except RuntimeError as error:
                errors[number] = error
        ranks = [threading.Thread(target=rank, args=pair) for pair in enumerate(runtime.World.in_process(4))]
        for thread in ranks:
            thread.start()
        for thread in ranks:
            thread.join()
        raise errors[0] if len(errors) == 4 else KeyError(errors)
    say("other strides on a rank", strides)

    # Who leaves by an exception, or after an error, leaves the model to another one.
    model = train.Net()
    say("an exception in a run", lambda: leave_by_exception(model, plan))
    failed = parallel(model, plan)
    failed._training.session.abort("for a test")
    say("closed after an error", failed.close)
    with parallel(model, plan) as again:
        again(torch.ones(4, 32)).sum().backward()
    print("again:", "has a gradient" if model.scale.grad is not None else "has none")

    # A backward has failed, and the program saves its model.
    def leave(_):
        raise ArithmeticError("in backward")

    def save_after_error():
        model = train.Net()
        both = parallel(model, plan)
        both(torch.ones(4, 32)).sum().backward()
        model.layers[0].weight.register_hook(leave)
        try:
            both(torch.ones(4, 32)).sum().backward()
        except ArithmeticError:
            same = all(torch.equal(*pair) for pair in zip(both.state_dict().values(), model.state_dict().values()))
            print("saved after an error:", "equal" if same else "differs")
        with contextlib.suppress(runtime.Error):
            both.close()
    save_after_error()

    # Also with updates that are still to come.
    model = train.Net()
    model.layers[0].compile(backend="eager")
    compiled = model.layers[0]._compiled_call_impl
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        with parallel(model, plan, overlap="step", optimizer=optimizer) as both:
            both(torch.ones(4, 32)).sum().backward()
            optimizer.step()
            raise KeyError("by the program")
    except KeyError:
        print("left by an exception:", "gradients are none" if all(p.grad is None for p in model.parameters()) else "has gradients")
    with parallel(model, plan, overlap="step", optimizer=optimizer) as both:
        both(torch.ones(4, 32)).sum().backward()
        optimizer.step()
    print("closed:", "a block's call is its own" if model.layers[0]._compiled_call_impl is compiled else "a block's call is another")

    # Gradients in the plan's memory, which they keep.
    places, model = set(), train.Net()
    with parallel(model, plan, gradient_as_bucket_view=True) as both:
        for _ in range(2):
            model.zero_grad()
            both(torch.ones(4, 32)).sum().backward()
            places.add(model.scale.grad.data_ptr())
        kept = model.scale.grad.clone()
    del both
    gc.collect()
    print("gradients as views:", f"{len(places)} place,", "equal" if torch.equal(model.scale.grad, kept) else "different")

    # A part of another module, like any other one.
    with parallel(train.Net(), plan) as part:
        outer = nn.ModuleDict({"part": part})
        outer.load_state_dict(outer.state_dict())
        print("a part's state:", "part.module.scale" in outer.state_dict())

    # Measured is not changed.
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), Replacing())
    before, torch_state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    bagua.torch.step_table(model, lambda model, x: model(x).sum(), (torch.randn(8, 4, generator=torch.Generator().manual_seed(1)),))
    same = all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    print("measured:", "not changed" if same and torch.equal(torch_state, torch.get_rng_state()) else "changed")

    def step_of(make_optimizer):
        model = train.Net()
        return parallel(model, plan, overlap="step", optimizer=make_optimizer(model))
    def evaluate_closed():
        both = step_of(lambda model: torch.optim.SGD(model.parameters(), lr=0.1))
        both(torch.ones(4, 32)).sum().backward()
        both.close()
        both.close()
        with torch.no_grad():
            same = torch.equal(both(torch.ones(4, 32)), both.module(torch.ones(4, 32)))
        print("evaluated when closed:", "equal" if same else "differs")
    evaluate_closed()
    def fork():
        """While another thread updates params; the child is not to wait for it."""
        model = train.Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        both = parallel(model, plan, overlap="step", optimizer=optimizer)
        both(torch.ones(4, 32)).sum().backward()
        optimizer.step()
        is_held, is_over = threading.Event(), threading.Event()

        def hold():
            with both._training.gradients.lock:
                is_held.set()
                is_over.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        is_held.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                model.state_dict()
            except ValueError as error:
                os._exit(7 if "which made the Session, found" in str(error) else 8)
            os._exit(9)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        is_over.set()
        thread.join()
        both.close()
        print("forked while another thread updates:", "an error of the child's" if status == 7 else f"the child ended with {status}", flush=True)
    sys.stdout.flush()
    fork()
    scripted = torch.jit.script(Product())
    say("scripted", lambda: parallel(scripted, f"{folder}/w.bagua", overlap="step",
                                     optimizer=torch.optim.SGD(scripted.parameters(), lr=0.1)))
    model = train.Net()
    model.layers[3] = torch.jit.script(model.layers[3])
    model.compile(backend="eager")
    say("scripted in a compiled model", lambda: parallel(model, plan, overlap="step", optimizer=torch.optim.SGD(model.parameters(), lr=0.1)))
    print("refused:", f"{sum(len(part._forward_pre_hooks) for part in model.modules())} hooks are left")
    partly = Product()
    partly.scripted = torch.jit.script(Listed())
    say("scripted without params", lambda: parallel(partly, f"{folder}/w.bagua", overlap="step",
                                                    optimizer=torch.optim.SGD(partly.parameters(), lr=0.1)).close())
    say("a limit that is none", lambda: parallel(train.Net(), plan, timeout=None))
    say("no optimizer", lambda: parallel(train.Net(), plan, overlap="step"))
    say("an optimizer of everything at once", lambda: step_of(lambda model: torch.optim.LBFGS(model.parameters())))
    say("an optimizer of a part", lambda: step_of(lambda model: torch.optim.SGD([model.scale], lr=0.1)))

    def keep_names():
        model = train.Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        both, kept = parallel(model, plan, overlap="step", optimizer=optimizer), model.state_dict()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                both(torch.ones(4, 32)).sum().backward()
                optimizer.step()
        print("other names:", *(warning.message for warning in said), "equal" if torch.equal(kept["scale"], model.scale) else "differs")
    keep_names()

    # Reading is no mistake: it waits.
    model = train.Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    both = parallel(model, plan, overlap="step", optimizer=optimizer)
    both(torch.ones(4, 32)).sum().backward()
    norm = float(model.scale.grad.norm())
    print("a gradient that is read:", "is there" if norm > 0 and type(model.scale.grad) is torch.Tensor else "is not there")
    both.close()


main(*sys.argv[1:])
