# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What steps take, beside what their plan was predicted to take."""
from __future__ import annotations

import contextlib
import statistics
import threading
import time
import typing

from bagua import runtime

# Steps after which compute is compared, and by how much it may differ: what is tight for another compute leaves the network idle.
COMPARED_AFTER, MOST_TIMES = 20, 2


def _line(what: str, figures: typing.Sequence[runtime.StepFigures]) -> str:
    steps, exposed = [each.seconds for each in figures], [each.exposed_seconds for each in figures]
    spread = f" ({1e3 * min(steps):.1f} to {1e3 * max(steps):.1f})" if len(steps) > 1 else ""
    return (f"{what}: {1e3 * statistics.median(steps):.1f} ms a step{spread}, {1e3 * statistics.median(exposed):.1f} ms of it exposed "
            f"communication; {figures[-1].bytes_sent / 2**20:.2f} MiB sent")


def describe(predicted: runtime.StepFigures | None, measured: typing.Sequence[runtime.StepFigures]) -> str:
    """Two lines of text: medians of the steps that were measured."""
    lines = [_line(f"steps {measured[0].step} to {measured[-1].step}", measured)] if measured else ["no step is done yet"]
    return "\n".join(lines + [_line("predicted", [predicted]) if predicted else "the plan holds no prediction"])


def describe_start(plan: runtime.Plan, gradients: int, world: runtime.World) -> str:
    """One line, for a log."""
    predicted = plan.predicted
    return (f"trains on {world.size} ranks of {world.hosts} host{'s' if world.hosts > 1 else ''}: {gradients} gradients" +
            (f", {_line('predicted', [predicted])}" if predicted else ""))


def other_mode(plan: runtime.Plan, overlap: str) -> str | None:
    """Why the plan's order of communication is another than the mode wants; None where it isn't."""
    if overlap == "step" and not plan.has_late_updates:
        return ('overlap="step": the plan has updates right after backward: expected one that was made with updates=late, which sends '
                "first what the next forward needs first")
    if overlap == "backward" and plan.has_late_updates:
        return ('the plan was made with updates=late, for overlap="step": expected overlap="step", or a plan that was made with '
                "updates=program")
    return None


class Compute:
    """How long the program computes in a step: in the forward and backward whose gradients are reduced, where it doesn't wait, and in the
    optimizer's update. Not what else it does, reading data, evaluating or adding up micro-batches, of which no plan knows."""

    _BACKWARD, _UPDATE = 0, 1
    _ELSE = None

    def __init__(self, predicted: runtime.StepFigures | None, now: typing.Callable[[], float] = time.perf_counter) -> None:
        self.planned = predicted.seconds - predicted.exposed_seconds if predicted else 0
        self._now, self._begun = now, 0.0
        self._doing: int | None = self._ELSE
        self._behind_backward: int | None = self._ELSE
        # Seconds of this step (forward with backward, update), and those of the steps before it.
        self._totals: list[float] = [0, 0]
        self._found: list[list[float]] = []
        # The program's; others may read params, and so update and wait.
        self._thread: int | None = None

    def _go_on(self, doing: int | None) -> int | None:
        now, before = self._now(), self._doing
        if before is not None:
            self._totals[before] += now - self._begun
        self._begun, self._doing = now, doing
        return before

    def begin_forward(self) -> None:
        self._thread = threading.get_ident()
        self._go_on(self._BACKWARD)

    def begin_update(self) -> None:
        """Of all params, in which the program may make a step."""
        self._go_on(self._UPDATE)
        self._behind_backward = self._UPDATE

    def end_update(self) -> None:
        self._behind_backward = self._ELSE
        self._go_on(self._ELSE)

    @contextlib.contextmanager
    def _within(self, doing: int | None) -> typing.Iterator[None]:
        if threading.get_ident() != self._thread:
            yield
            return
        before = self._go_on(doing)
        try:
            yield
        finally:
            self._go_on(before)

    def update(self) -> contextlib.AbstractContextManager[None]:
        """Of some params, within a forward or not."""
        return self._within(self._UPDATE)

    def wait(self) -> contextlib.AbstractContextManager[None]:
        return self._within(self._ELSE)

    def end_backward(self) -> str | None:
        """Why the plan is of another compute than steps have, once, when that is known."""
        self._go_on(self._behind_backward)
        totals, self._totals = self._totals, [0, 0]
        if len(self._found) == COMPARED_AFTER:
            return None
        self._found.append(totals)
        if len(self._found) < COMPARED_AFTER:
            return None
        found, update = map(statistics.median, zip(*self._found))
        # A plan by a table has no update in its compute, a plan of an exported step has.
        if self.planned <= 0 or found <= 0 or (found <= self.planned * MOST_TIMES and found + update >= self.planned / MOST_TIMES):
            return None
        return (f"a step computes for {1e3 * found:.1f} ms and updates params for {1e3 * update:.1f} ms, and the plan was made for "
                f"{1e3 * self.planned:.1f} ms: expected a plan by a table (bagua.torch.step_table) that was measured on these machines, "
                "by all ranks of a host at once")
