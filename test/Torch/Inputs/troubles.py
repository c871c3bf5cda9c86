# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One thing at a time in which a rank differs from the others, whatever loop it is in: what it does at its start, or in one of its forwards.

A trouble says what an error must have where one may come. Without an error every rank has the numbers of DistributedDataParallel: of the
same loop without the trouble, or, where it changes numbers there, too (`changes_numbers`), with it."""
import contextlib
import copy
import time

import torch
from torch import nn
from torch._dynamo import compiled_autograd

# Which forward with gradients, outside of no_sync(), it happens in.
AT = 2
TROUBLES = {}


class Trouble:
    """On the rank that has it."""
    # Of which one has to be in an error; without any there must be none.
    errors = ()
    changes_numbers = False
    # Loops in which it means something else.
    not_in = ()
    # Options of DataParallel that differ.
    options = {}

    def __init__(self):
        self.count, self.stack = 0, contextlib.ExitStack()

    def before_wrap(self, model, is_other):
        """On all ranks, before the optimizer is made."""

    def in_forward(self, parallel, model, inputs):
        """Before it."""

    def after_forward(self, output):
        return output

    def watch(self, parallel, model):
        """Of the rank that differs."""
        @torch.compiler.disable
        def before(_, inputs):
            is_counted = torch.is_grad_enabled() and parallel.require_backward_grad_sync
            self.count += is_counted
            self.is_now = is_counted and self.count == AT + 1
            if self.is_now:
                self.count += 1  # what it calls itself is not counted
                self.in_forward(parallel, model, inputs)
                self.is_now = True

        @torch.compiler.disable
        def after(_, inputs, output):
            is_now, self.is_now = self.is_now, False
            return self.after_forward(output) if is_now else output
        parallel.register_forward_pre_hook(before, prepend=True)
        parallel.register_forward_hook(after)


def trouble(cls):
    TROUBLES[cls.__name__] = cls
    return cls


def turn(model):
    """The memory of a param's elements."""
    param = next(param for param in model.parameters() if param.dim() >= 2)
    order = list(range(param.dim()))[::-1]
    param.data = param.data.permute(order).contiguous().permute(order)


COUNTED = ("ranks differ in the number of",)
PARAM = "ranks differ in the model: param "


@trouble
class nothing(Trouble):
    pass


@trouble
class a_forward_too_many(Trouble):
    errors = COUNTED

    def in_forward(self, parallel, model, inputs):
        parallel.forward(*inputs)


@trouble
class a_backward_too_many(Trouble):
    errors = (*COUNTED, PARAM, "expected forward and backward both within no_sync() or both outside",
              "expected hooks of its gradient to be there before forward")

    def in_forward(self, parallel, model, inputs):
        (model(*inputs).sum() * 0).backward()


@trouble
class a_loss_without_params(Trouble):
    """Where params may be unused the numbers are those of a loss that is multiplied by 0."""
    errors = (*COUNTED, "ranks differ in whether")
    changes_numbers = True
    # A rank that is ahead waits in a collective of the program's own, which nothing tells from one that is early.
    not_in = ("params_exchanged_to_evaluate", "params_of_a_function")

    def after_forward(self, output):
        return output.detach().requires_grad_()

    class InDDP(Trouble):
        def after_forward(self, output):
            return output * 0 + output.detach()


@trouble
class a_gradient_in_another_layout(Trouble):
    changes_numbers = True

    def in_forward(self, parallel, model, inputs):
        for param in model.parameters():
            if param.requires_grad and param.grad is None and param.dim() == 2:
                param.grad = torch.zeros_like(param.t()).t()


@trouble
class a_param_in_another_layout(Trouble):
    errors = ("ranks differ in tensor", PARAM)
    # Other names keep the memory that it had.
    not_in = ("params_of_other_names",)

    def in_forward(self, parallel, model, inputs):
        turn(model)


@trouble
class another_layout_at_the_start(Trouble):
    errors = (PARAM,)

    def before_wrap(self, model, is_other):
        if is_other:
            turn(model)


@trouble
class buffers_in_another_order(Trouble):
    errors = ("buffer one", "buffer other")

    def before_wrap(self, model, is_other):
        for name in ("one", "other")[::-1 if is_other else 1]:
            model.register_buffer(name, torch.zeros(4), persistent=False)


@trouble
class a_buffer_of_another_type(Trouble):
    errors = ("buffer further: int32 [4]",)

    def before_wrap(self, model, is_other):
        model.register_buffer("further", torch.zeros(4, dtype=torch.int32 if is_other else torch.float32), persistent=False)


@trouble
class a_buffer_that_comes_late(Trouble):
    errors = ("buffer further: float32 [4]",)

    def in_forward(self, parallel, model, inputs):
        model.register_buffer("further", torch.zeros(4), persistent=False)


@trouble
class a_buffer_that_goes(Trouble):
    errors = ("buffer further: float32 [4]",)

    def before_wrap(self, model, is_other):
        model.register_buffer("further", torch.zeros(4), persistent=False)

    def in_forward(self, parallel, model, inputs):
        del model.further


@trouble
class a_param_that_is_frozen(Trouble):
    errors = (PARAM, "backward made no gradient")

    def in_forward(self, parallel, model, inputs):
        next(param for param in model.parameters() if param.requires_grad).requires_grad_(False)


@trouble
class a_frozen_param_more(Trouble):
    errors = ("param further: float32 [4]",)

    def before_wrap(self, model, is_other):
        if is_other:
            model.register_parameter("further", nn.Parameter(torch.zeros(4), requires_grad=False))


@trouble
class no_buffers_sent(Trouble):
    errors = ("broadcast_buffers=False on rank",)
    options = {"broadcast_buffers": False}


@trouble
class unused_params_sought(Trouble):
    errors = ("find_unused_parameters=True on rank",)
    options = {"find_unused_parameters": lambda usual: not usual}


@trouble
class views_or_not(Trouble):
    errors = ("gradient_as_bucket_view=True on rank",)
    options = {"gradient_as_bucket_view": lambda usual: not usual}


@trouble
class a_compiled_backward(Trouble):
    errors = ("found one that torch compiles",)

    def in_forward(self, parallel, model, inputs):
        # As captured: to compile what is captured takes seconds, and changes nothing of what is captured (disagreements.test does it).
        self.stack.enter_context(compiled_autograd._enable(lambda graph: graph))


@trouble
class an_evaluation_of_the_model(Trouble):
    def in_forward(self, parallel, model, inputs):
        is_training = model.training
        model.eval()
        with torch.no_grad():
            model(*inputs)
        model.train(is_training)


@trouble
class an_evaluation_of_the_wrapper(Trouble):
    def in_forward(self, parallel, model, inputs):
        is_training = model.training
        model.eval()
        with torch.no_grad():
            parallel.forward(*inputs)
        model.train(is_training)


@trouble
class a_micro_batch_more(Trouble):
    changes_numbers = True

    def in_forward(self, parallel, model, inputs):
        with parallel.no_sync():
            (parallel.forward(*inputs).sum() * 0).backward()


@trouble
class gradients_of_its_own(Trouble):
    changes_numbers = True

    def in_forward(self, parallel, model, inputs):
        for param in model.parameters():
            if param.requires_grad and param.grad is None:
                param.grad = torch.full_like(param, 0.01)


@trouble
class a_copy_of_the_model(Trouble):
    def in_forward(self, parallel, model, inputs):
        copy.deepcopy(model)(*inputs)


@trouble
class a_rank_that_is_late(Trouble):
    def in_forward(self, parallel, model, inputs):
        time.sleep(0.03)
