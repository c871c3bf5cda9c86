# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training a PyTorch model on several ranks, its gradients reduced by a plan."""
from __future__ import annotations

import contextlib
import copy
import os
import types
import typing
import warnings

import torch

from bagua import runtime
from bagua.torch import distributed, report
from bagua.torch.compiled import is_compiled, uncompiled, warn_of_compiled
from bagua.torch.matching import match
from bagua.torch.options import Options
from bagua.torch.training import Training, retire_former


def _itself(module: torch.nn.Module) -> torch.nn.Module:
    return module


def _check_alone() -> None:
    """Others may wait for a process that has lost one of its launcher's variables."""
    for one, other in (("RANK", "WORLD_SIZE"), ("WORLD_SIZE", "RANK")):
        if one in os.environ and other not in os.environ:
            raise ValueError(f"{one} is set and {other} is not: expected both, as launchers set them, or neither where a process trains "
                             "by itself")


class DataParallel(torch.nn.Module):
    """`module`, whose gradients are the means over all ranks when `backward()` returns, as with DistributedDataParallel.

    `plan` is a file, or a runtime.Plan: one whose gradients are named as `module.named_parameters()` before it was
    compiled, with `.grad` behind, and whose updates are the program's. `world` is by default the launcher's (torchrun,
    mpirun, srun). At the start all ranks get the params of rank 0, and its buffers with `broadcast_buffers`, these also before each
    forward that follows one with gradients outside of `no_sync()`. State is the module's own: `state_dict` has no prefix. Where backward
    may leave params out, say `find_unused_parameters=True`: those that no rank used keep what they had. A param that several modules share is one. Sparse gradients are refused.

    With `gradient_as_bucket_view`, gradients lie in the plan's memory, as with DistributedDataParallel, which spares a copy, and
    the memory of what backward makes. What the program keeps of `param.grad` is that of the next backward after it, a
    process that is forked can't look at it, and backward(create_graph=True) is refused.

    With `overlap="step"` and the `optimizer`, backward() waits for nothing. The optimizer's step() and zero_grad() are noted,
    and carried out param by param, right before the forward of the module that owns the param, where its gradient is waited
    for, or of an earlier one where it has come. Compile such a plan with updates=late. Who computes with `param.grad` (clipping, a
    scaler, a report) waits for it, and gets the mean, and who reads a param or its state in the optimizer has its update carried out first. After `synchronize()`,
    `state_dict()` or `optimizer.state_dict()` all updates are done. Where the program keeps another name of a param's memory, it
    is updated within step(); of a gradient's, it is waited for within backward().

    A step is a backward outside of `no_sync()`. A program that resumes with a plan of several steps says by `first_step` how many it had
    made. In each step backward makes the gradients that the step of the plan has, no others. `close()`, leaving `with`, or a program that ends, ends the run in order. A rank that leaves
    `with` by an exception, or whose program ends by one or within a backward, ends the others, with an error; what overlap="step" has not
    carried out by then is not carried out any more. A param that is not to be trained yet has no
    gradient in the plan: make another DataParallel once it is.

    A process that no launcher has started, in a notebook or a debugger, trains by itself, with a warning; where only one of RANK and
    WORLD_SIZE is set it is an error. Options of
    DistributedDataParallel that change nothing here are taken, others are refused with what to do instead; its checkpoints, whose
    names begin with "module.", are loaded as the model's own."""

    def __init__(self, module: torch.nn.Module, plan: runtime.Plan | runtime.Path, *, world: runtime.World | None = None,
                 overlap: str = "backward", optimizer: torch.optim.Optimizer | None = None, find_unused_parameters: bool = False,
                 broadcast_buffers: bool = True, gradient_as_bucket_view: bool = False, timeout: float = 0, first_step: int = 0, **options: object) -> None:
        super().__init__()
        distributed.check_options(options)
        self._options = Options(overlap, optimizer, find_unused_parameters, broadcast_buffers, gradient_as_bucket_view, timeout, first_step)
        distributed.refuse_within(module)
        retire_former(module)
        self.module = module
        self._has_warned = is_compiled(module)
        if self._has_warned:
            warn_of_compiled()
        self._syncs = True
        # None where this process trains by itself.
        self._training: Training | None = None
        plan = plan if isinstance(plan, runtime.Plan) else runtime.Plan(os.fspath(plan))
        slots = match(plan, module)
        if world is None and not runtime.is_launched():
            _check_alone()
            warnings.warn("no launcher has started this process: it trains by itself, and nothing is reduced; expected torchrun, "
                          "mpirun or srun, or world=", stacklevel=2)
            return
        self._training = Training(module, plan, slots, world, self._options)
        self._training.handles.append(torch.nn.Module.register_load_state_dict_pre_hook(self, lambda *_: self._settle()))

    @property
    def _open(self) -> Training | None:
        return self._training if self._training and self._training.is_open else None

    @property
    def find_unused_parameters(self) -> bool:
        return self._options.find_unused_parameters

    @find_unused_parameters.setter
    def find_unused_parameters(self, seeks: bool) -> None:
        self._options.find_unused_parameters = seeks

    @property
    def broadcast_buffers(self) -> bool:
        return self._options.broadcast_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, sends: bool) -> None:
        self._options.broadcast_buffers = sends

    @property
    def require_backward_grad_sync(self) -> bool:
        """As DistributedDataParallel's: False is no_sync(), until it is True again."""
        return self._syncs

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, syncs: bool) -> None:
        self._syncs = bool(syncs)
        if self._training:
            self._training.order.syncs = self._syncs

    @contextlib.contextmanager
    def no_sync(self) -> typing.Iterator[None]:
        """Forward and backward in here add to this rank's own gradients; the next backward outside reduces what has come together."""
        before, self.require_backward_grad_sync = self._syncs, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def forward(self, *inputs: typing.Any, **named: typing.Any) -> typing.Any:
        if self._training is not None and (torch.is_grad_enabled() or self._training.acts_before_forward()):
            self._before_forward(torch.compiler.is_compiling())
        return self.module(*inputs, **named)

    @uncompiled
    def _before_forward(self, is_being_compiled: bool) -> None:
        assert self._training
        self._training.check_forward()
        has_gradients = torch.is_grad_enabled()
        if has_gradients and not self._has_warned and (is_being_compiled or is_compiled(self) or is_compiled(self.module)):
            self._has_warned = True
            warn_of_compiled()
        self._training.before_forward(has_gradients)

    def report(self) -> str:
        """What the last steps took on this rank (64 at most), beside what the plan was predicted to take, as text."""
        if not self._open:
            return "no report: this DataParallel trains by itself, or is closed"
        return report.describe(self._open.predicted, self._open.session.step_figures())

    def synchronize(self) -> None:
        """Carries out what is left to do of steps."""
        if self._open:
            self._open.overlap.synchronize()

    def zero_grad(self, set_to_none: bool = True) -> None:
        if self._open:
            self._open.overlap.zero_grad(set_to_none)
        else:
            super().zero_grad(set_to_none)

    def _settle(self) -> None:
        if self._open:
            self._open.overlap.settle()

    def state_dict(self, *arguments: typing.Any, **named: typing.Any) -> typing.Any:
        self._settle()
        # A module that this one is a part of asks for it as for any other part.
        if arguments or named.get("destination") is not None:
            return super().state_dict(*arguments, **named)
        return self.module.state_dict(**named)

    def load_state_dict(self, state_dict: typing.Mapping[str, typing.Any], *arguments: typing.Any, **named: typing.Any) -> typing.Any:
        self._settle()
        return self.module.load_state_dict(distributed.without_prefix(state_dict, self.module), *arguments, **named)

    def __getattr__(self, name: str) -> typing.Any:
        instead = distributed.instead_of(name)
        if instead:
            raise AttributeError(f"DataParallel has no {name}: {instead}")
        return super().__getattr__(name)

    def __deepcopy__(self, memo: dict[int, typing.Any]) -> torch.nn.Module:
        """The model alone, to keep beside this one, as AveragedModel does."""
        self.synchronize()
        return copy.deepcopy(self.module, memo)

    def __reduce_ex__(self, _: typing.SupportsIndex) -> tuple[typing.Any, ...]:
        """The model alone is saved; what loads it has no other ranks."""
        if self._open:
            self._open.overlap.check_saved()
        self.synchronize()
        return _itself, (self.module,)

    def close(self) -> None:
        """Waits for all steps and leaves; others that go on are told. Where the run has failed it says why once more, and leaves
        all the same: the model may get another DataParallel."""
        if self._training:
            self._training.close()

    def __enter__(self) -> DataParallel:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: types.TracebackType | None) -> None:
        if kind is None:
            self.close()
        elif self._training:
            self._training.abort(f"{kind.__name__}: {error}")
