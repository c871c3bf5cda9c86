"""A rank that runs many training loops by one way of training: loops.py FOLDER WAY

Each loop is what programs are found to do around DDP. Run by check_loops.py, with torchrun's variables; rank 0 writes the params
of each loop to FOLDER/LOOP.WAY. A way is DDP, or the strategy of a plan, the overlap, and whether gradients are views:
ddp.backward.False, say."""
import collections
import copy
import io
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint

WIDTH, STEPS = 8, 6
# Where a program may have its tensors made by default; an address there is null.
ELSEWHERE = "meta"
LOOPS = {}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


class Optional(nn.Module):
    """With a layer, and a param of transposed strides, that a batch may leave out."""

    def __init__(self):
        super().__init__()
        self.a, self.extra = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.turned = nn.Parameter(torch.randn(WIDTH, WIDTH).t())

    def forward(self, x, uses_all=True):
        x = self.a(x)
        return self.extra(x) @ self.turned if uses_all else x


class Checkpointed(Net):
    def forward(self, x):
        for layer in (self.a, self.b, self.c):
            x = checkpoint(layer, x, use_reentrant=False)
        return x


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.norm, self.f = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(16, WIDTH)
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        return self.f(self.norm(self.c(x.view(16, 2, 2, 2))).flatten(1))


def sgd(params):
    return torch.optim.SGD(params, lr=0.1, momentum=0.9)


def pruned():
    model = Net()
    prune.random_unstructured(model.b, "weight", 0.5)
    return model


def normed():
    model = Net()
    nn.utils.parametrizations.weight_norm(model.b)
    return model


def compiled():
    model = Net()
    model.b = torch.compile(model.b, backend="eager")
    return model


def compiled_as_one():
    return torch.compile(Net(), backend="eager")


class Slow(torch.autograd.Function):
    """Hands its gradient on when those that are given meanwhile have been summed up."""

    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        time.sleep(0.1)
        return gradient.clone()


class Sharing(nn.Module):
    """Its places' gradient is a view of one that backward still needs."""

    def __init__(self):
        super().__init__()
        self.a, self.c = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.places = nn.Parameter(torch.randn(16, WIDTH))

    def forward(self, x):
        return self.c(Slow.apply(self.a(x))[None] + self.places[None])[0]


class Ignored(torch.autograd.Function):
    """Has no gradient of its second argument, and says so."""

    @staticmethod
    def forward(_, x, param):
        return x + param

    @staticmethod
    def backward(_, gradient):
        return gradient, None


class Ignoring(Net):
    def __init__(self):
        super().__init__()
        self.ignored = nn.Parameter(torch.randn(WIDTH))

    def forward(self, x):
        return super().forward(Ignored.apply(x, self.ignored))


class Scaling(Net):
    """By what its forward has seen so far."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        if self.training:
            self.scale.mul_(0.9).add_(0.1 * x.detach().abs().mean())
        return super().forward(x * self.scale)


class Borrowing(nn.Module):
    """Uses params of a module whose forward it never calls."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return nn.functional.linear(self.a(x), self.b.weight, self.b.bias)


class Loop:
    """One loop: a model, an optimizer of its params, and what is done with them."""

    def __init__(self, train, make=Net, optimizer=sgd, unused=False):
        self.train, self.make_model, self.make_optimizer, self.unused = train, make, optimizer, unused

    def make(self):
        torch.manual_seed(0)
        return self.make_model()


def loop(**options):
    def add(train):
        LOOPS[train.__name__] = Loop(train, **options)
        return train
    return add


class Run:
    """What a loop has: the wrapped model, the model, its optimizer, this rank, and a sum over all ranks, in place."""

    def __init__(self, parallel, model, optimizer, rank, add_up=dist.all_reduce):
        self.parallel, self.model, self.optimizer, self.rank, self.add_up = parallel, model, optimizer, rank, add_up

    def batch(self, step):
        generator = torch.Generator().manual_seed(1000 * self.rank + step)
        dtype = next(self.model.parameters()).dtype
        return torch.randn(16, WIDTH, generator=generator).to(dtype), torch.randn(16, WIDTH, generator=generator).to(dtype)

    def loss(self, step, *options):
        x, y = self.batch(step)
        return ((self.parallel(x, *options) - y) ** 2).mean()

    def backward(self, step, *options):
        self.loss(step, *options).backward()

    def update(self, **options):
        self.optimizer.step()
        self.optimizer.zero_grad(**options)


@loop()
def plain(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()


@loop()
def grads_to_none_by_hand(run):
    for step in range(STEPS):
        run.backward(step)
        run.optimizer.step()
        for param in run.model.parameters():
            param.grad = None


@loop()
def grads_moved_elsewhere(run):
    for step in range(STEPS):
        run.backward(step)
        run.optimizer.step()
        run.parallel.synchronize()
        for param in run.model.parameters():
            param.grad.data = param.grad.clone()
        run.optimizer.zero_grad(set_to_none=step % 2 == 0)


@loop()
def grads_zeroed_in_place_on_the_model(run):
    for step in range(STEPS):
        run.backward(step)
        run.optimizer.step()
        run.model.zero_grad(set_to_none=False)


@loop()
def grads_cancelled_before_the_step(run):
    for step in range(STEPS):
        run.backward(step)
        if step < 3:
            for param in run.model.c.parameters():
                param.grad = None
        run.update()


@loop()
def grads_replaced(run):
    for step in range(STEPS):
        run.backward(step)
        for param in run.model.c.parameters():
            param.grad = torch.ones_like(param)
        run.update()


@loop()
def grads_scaled_in_place(run):
    for step in range(STEPS):
        run.backward(step)
        for param in run.model.parameters():
            param.grad.mul_(0.5)
        run.update()


@loop()
def grads_read_after_the_step(run):
    for step in range(STEPS):
        run.backward(step)
        run.optimizer.step()
        sum(param.grad.norm() for param in run.model.parameters()).item()
        run.optimizer.zero_grad()


@loop()
def two_steps_of_one_backward(run):
    for step in range(STEPS):
        run.backward(step)
        run.optimizer.step()
        run.update()


@loop()
def a_step_without_gradients(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        run.optimizer.step()


@loop()
def two_backwards_of_one_step(run):
    for step in range(STEPS):
        run.backward(step)
        run.backward(step + 50)
        run.update()


@loop()
def zeroed_between_forward_and_backward(run):
    for step in range(STEPS):
        loss = run.loss(step)
        run.optimizer.zero_grad()
        loss.backward()
        run.optimizer.step()


@loop()
def clipped(run):
    for step in range(STEPS):
        run.backward(step)
        nn.utils.clip_grad_norm_(run.parallel.parameters(), 0.05)
        run.update()


@loop()
def scaled_loss_with_an_overflow(run):
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    for step in range(STEPS):
        loss = run.loss(step) * (float("inf") if step == 3 else 1)
        scaler.scale(loss).backward()
        scaler.unscale_(run.optimizer)
        scaler.step(run.optimizer)
        scaler.update()
        run.optimizer.zero_grad()


@loop()
def evaluated_in_between(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        run.parallel.eval()
        with torch.inference_mode() if step % 2 else torch.no_grad():
            run.parallel(run.batch(0)[0])
        run.parallel.train()


@loop()
def optimizer_and_model_loaded(run):
    holder = run.parallel if hasattr(run.parallel, "synchronize") else run.model
    for step in range(STEPS):
        run.backward(step)
        run.update()
        if step == 2:
            saved = copy.deepcopy(run.optimizer.state_dict()), copy.deepcopy(holder.state_dict())
        if step == 4:
            run.optimizer.load_state_dict(copy.deepcopy(saved[0]))
            holder.load_state_dict(saved[1])


@loop(optimizer=lambda params: torch.optim.Adam(params, lr=0.01))
def moments_looked_at(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        for param in run.model.parameters():
            run.optimizer.state[param].get("exp_avg")


@loop()
def accumulated(run):
    for step in range(STEPS):
        with run.parallel.no_sync():
            run.backward(step)
            run.backward(step + 10)
        run.backward(step + 20)
        run.update(set_to_none=step % 2 == 0)


@loop()
def grads_divided_in_place(run):
    for step in range(STEPS):
        run.backward(step)
        for param in run.model.parameters():
            param.grad /= 2
        run.update(set_to_none=False)


@loop()
def grads_scaled_and_added_to(run):
    for step in range(STEPS):
        run.backward(step)
        for param in run.model.parameters():
            param.grad *= 0.5
        run.backward(step + 50)
        run.update()


@loop()
def hooked_later(run):
    def clamp(param):
        param.grad.clamp_(-0.01, 0.01)
    for param in run.model.parameters():
        param.register_post_accumulate_grad_hook(clamp)
    plain(run)


@loop()
def a_part_saved_and_loaded(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        if step == 2:
            saved = copy.deepcopy(run.model.a.state_dict())
        if step == 4:
            run.model.a.load_state_dict(saved)


def report_evaluation(run):
    """To all ranks, and into the params, where it is compared."""
    run.parallel.eval()
    with torch.no_grad():
        found = run.parallel(run.batch(7)[0]).mean(0)
        run.add_up(found)
        list(run.model.parameters())[-1].add_(found)
    run.parallel.train()


@loop(make=Convolution)
def statistics_in_evaluation(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        report_evaluation(run)


@loop(make=Scaling)
def buffers_and_micro_batches(run):
    for step in range(STEPS):
        with run.parallel.no_sync():
            run.backward(step)
        run.backward(step + 10)
        run.update()


@loop(make=Scaling)
def buffers_where_nothing_trains(run):
    for step in range(STEPS):
        run.parallel.train(step % 2 == 0)
        run.backward(step)
        run.update()


@loop(make=Scaling)
def a_block_compiled_and_run_before(run):
    for step in range(STEPS):
        run.backward(step)
        run.update()
        report_evaluation(run)


@loop(make=Optional, unused=True)
def left_out_by_a_rank(run):
    for step in range(STEPS):
        run.backward(step, run.rank == 0 or step % 2 == 0)
        run.update()


@loop(make=Optional, unused=True)
def tensors_are_made_elsewhere_by_default(run):
    for step in range(STEPS):
        loss = run.loss(step, run.rank == 0 or step % 2 == 0)
        with torch.device(ELSEWHERE):
            loss.backward()
            run.update()


@loop()
def a_hook_is_put_back(run):
    """As after a pause: behind the others that there are."""
    def double(param):
        param.grad.mul_(2)
    weight = run.model.a.weight
    handle = weight.register_post_accumulate_grad_hook(double)
    for step in range(STEPS):
        hooks = weight._post_accumulate_grad_hooks
        hooks[handle.id] = hooks.pop(handle.id)
        run.backward(step)
        run.update()


@loop()
def all_hooks_are_cleared(run):
    for step in range(STEPS):
        run.backward(step)
        for param in run.model.parameters():
            if param._post_accumulate_grad_hooks:
                param._post_accumulate_grad_hooks.clear()
        run.update()


@loop(make=Optional, unused=True)
def left_out_by_all(run):
    for step in range(STEPS):
        run.backward(step, step % 3 == 0)
        run.update()


@loop(make=Optional, unused=True)
def left_out_by_all_where_gradients_stay(run):
    for step in range(STEPS):
        run.backward(step, step % 3 == 0)
        run.optimizer.step()


@loop(make=Optional, unused=True)
def left_out_by_all_where_each_rank_has_its_own(run):
    for step in range(STEPS):
        run.backward(step, step % 3 == 0)
        run.optimizer.step()
        for param in run.model.parameters():
            param.grad = (param.grad * (2 - run.rank) if step % 3 == 0 else param.grad).detach()


@loop(make=Optional, unused=True)
def left_out_by_all_where_ranks_scale_what_is_there(run):
    for step in range(STEPS):
        run.backward(step, step % 3 == 0)
        run.optimizer.step()
        run.parallel.synchronize()
        for param in run.model.parameters():
            param.grad = param.grad.mul_((2 - run.rank) / 2).detach()


@loop(make=Optional, unused=True)
def left_out_and_clipped(run):
    for step in range(STEPS):
        run.backward(step, (run.rank + step) % 2 == 0)
        nn.utils.clip_grad_norm_(run.parallel.parameters(), 0.05)
        run.update(set_to_none=False)


@loop(make=Optional, unused=True, optimizer=lambda params: torch.optim.SGD(params, lr=0.1))
def used_before_the_last_micro_batch_alone(run):
    for step in range(STEPS):
        with run.parallel.no_sync():
            run.backward(step, True)
        run.backward(step + 10, False)
        run.update()


@loop()
def a_micro_batch_that_fails(run):
    """A hook raises in the middle of its backward; the program leaves it out."""
    for step in range(STEPS):
        with run.parallel.no_sync():
            failing = next(run.model.parameters()).register_hook(fail)
            try:
                run.backward(step)
            except FloatingPointError:
                pass
            failing.remove()
        run.optimizer.zero_grad()
        run.backward(step + 10)
        run.update()


def fail(_):
    raise FloatingPointError("an overflow")


@loop(unused=True)
def frozen_for_a_while(run):
    for step in range(STEPS):
        run.model.a.requires_grad_(not 2 <= step < 4)
        run.backward(step)
        run.update()


@loop(optimizer=lambda params: torch.optim.SGD(params, lr=torch.tensor(0.1)))
def rate_that_is_a_tensor(run):
    for step in range(STEPS):
        run.backward(step)
        run.optimizer.step()
        run.optimizer.param_groups[0]["lr"].mul_(0.5)
        run.optimizer.zero_grad()


@loop(optimizer=lambda params: torch.optim.NAdam(params, lr=0.01))
def rate_of_a_schedule(run):
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(run.optimizer, STEPS)
    for step in range(STEPS):
        run.backward(step)
        run.optimizer.step()
        schedule.step()
        run.optimizer.zero_grad()


@loop(make=Sharing)
def grads_scaled_where_they_share_memory(run):
    for step in range(STEPS):
        run.backward(step)
        for param in run.model.parameters():
            param.grad.mul_(0.5)
        nn.utils.clip_grad_value_(run.model.parameters(), 0.01)
        run.update()


# Of params between the optimizer's step() and the next forward.


@torch.no_grad()
def report(run, *values):
    """In the params, where it is compared."""
    last = list(run.model.parameters())[-1]
    last.add_(sum(torch.as_tensor(value, dtype=last.dtype).sum() for value in values) / 100)


@torch.no_grad()
def put(run, values):
    for param, value in zip(run.model.parameters(), values):
        param.copy_(value)


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


@loop()
def steps_with_a_closure(run):
    def closure():
        run.optimizer.zero_grad()
        loss = run.loss(step)
        loss.backward()
        return loss
    for step in range(STEPS):
        report(run, run.optimizer.step(closure).detach() * 0)


@loop()
def grads_written_out(run):
    for step in range(STEPS):
        run.backward(step)
        found = [param.grad.numpy().sum() + sum(copy.deepcopy(param.grad).flatten().tolist()) for param in run.model.parameters()]
        run.update()
        report(run, sum(found))


@loop(make=Convolution)
def two_forwards_of_one_backward(run):
    for step in range(STEPS):
        (run.loss(step) + run.loss(step + 10)).backward()
        run.update()


LOOPS["params_of_a_module_that_is_not_called"] = Loop(plain, Borrowing)
LOOPS["gradient_that_is_a_view"] = Loop(plain, Sharing)
for name, make in [("pruned", pruned), ("weights_normed", normed), ("a_compiled_block", compiled),
                   ("compiled_as_one", compiled_as_one), ("compiled_with_its_wrapper", Net),
                   ("checkpointed", Checkpointed), ("a_gradient_that_is_none", Ignoring), ("channels_last", Convolution), ("double", lambda: Net().double())]:
    LOOPS[name] = Loop(plain, make)


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
    for name in LOOPS:
        train_by(name, way, folder, dist.get_rank())
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
