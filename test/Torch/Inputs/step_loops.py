# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops around gradients, backwards, optimizers and buffers."""
import copy

import torch
from torch import nn

from loop import ELSEWHERE, LOOPS, Loop, STEPS, loop, report
from loop_models import (Borrowing, Checkpointed, Convolution, Ignoring, Net, Optional, PartsFirst, Scaling, SharedWithBlocks, Sharing,
                         compiled, compiled_as_one, compiled_in_place_as_one, compiled_whole, normed, pruned)


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
def accumulated_by_an_attribute(run):
    for step in range(STEPS):
        for micro_batch in range(3):
            run.parallel.require_backward_grad_sync = micro_batch == 2
            run.backward(step + 10 * micro_batch)
        run.update()


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
                   ("blocks_compiled_whole", compiled_whole), ("compiled_as_one", compiled_as_one),
                   ("compiled_in_place_as_one", compiled_in_place_as_one), ("compiled_with_its_wrapper", Net),
                   ("compiled_blocks_parts_first", PartsFirst), ("compiled_blocks_that_share", SharedWithBlocks),
                   ("checkpointed", Checkpointed), ("a_gradient_that_is_none", Ignoring), ("channels_last", Convolution), ("double", lambda: Net().double())]:
    LOOPS[name] = Loop(plain, make)
