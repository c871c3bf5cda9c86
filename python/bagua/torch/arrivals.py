# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which gradients are given to the runtime together, as backward makes them."""
from __future__ import annotations

import time
import typing

import torch

from bagua.torch.slot import Slot

# Giving gradients costs more than a small one takes to compute, so what comes is given together: until a message is complete, or copying
# what has come would hold it up, which so many bytes do, a gradient by itself being as dear as some more.
_ROOM, _ROOM_OF_EACH = 4 << 20, 64 << 10
# Messages that are complete within so many seconds go together, too, unless the last one waited longer for another gradient in the last
# backward.
_TOGETHER = 3e-4
_now = time.perf_counter
# The number of the backward that this thread runs, also where that is within another one.
current_backward = torch._C._current_graph_task_id


class _Message:
    """How many gradients an instruction waits for, and how many of them are still to come in the step of this number."""
    __slots__ = "size", "missing", "step"

    def __init__(self) -> None:
        self.size = self.missing = self.step = 0


class Arrivals:
    """Slots whose gradients have come and are not given yet. Where gradients are views, none makes anything start before a message is
    complete; elsewhere they are the program's own, and given at once. Not the wrapper's attributes, which are slow to set."""
    __slots__ = "slots", "room", "holds", "has_message", "until", "last", "time", "step", "is_new", "backward"
    slots: list[Slot]
    room: int
    has_message: bool
    until: float
    last: Slot | None
    time: float
    backward: int | None

    def __init__(self, holds: bool) -> None:
        self.slots, self.holds, self.last, self.time, self.step = [], holds, None, 0, 0
        self.end()

    @staticmethod
    def learn(slots: typing.Iterable[Slot], session: typing.Any) -> None:
        """Which gradients are communicated together."""
        messages: dict[int, _Message] = {}
        for slot in slots:
            slot.message = messages.setdefault(session.first_waiter(slot.number), _Message())
            slot.message.size += 1
            slot.room = slot.bytes + _ROOM_OF_EACH

    def note(self, slot: Slot) -> bool:
        """Whether to give what has come."""
        last = self.last
        if last is not None:
            last.is_followed = _now() - self.time < _TOGETHER
            self.last = None
        self.slots.append(slot)
        backward = current_backward()
        if backward != self.backward:
            # Its end is to be heard of.
            self.backward, self.has_message, self.until = backward, True, 0
        self.room = room = self.room - slot.room
        message = slot.message
        if self.is_new:
            self.step += 1
        if message.step != self.step:
            message.step, message.missing = self.step, message.size
        message.missing = missing = message.missing - 1
        if missing and not self.has_message:
            return room <= 0
        self.last, self.time, self.has_message = slot, _now(), True
        return self.time >= self.until or not slot.is_followed

    def take(self) -> list[Slot]:
        slots, self.slots = self.slots, []
        return slots

    def begin_next(self) -> None:
        """What has come is given, in a step."""
        self.room, self.has_message, self.until, self.is_new = _ROOM, not self.holds, _now() + _TOGETHER, False

    def end(self) -> None:
        """Of a backward: the next gradient begins a step."""
        if self.last is not None:
            self.last.is_followed = False
        self.slots.clear()
        self.room, self.last, self.is_new, self.backward = _ROOM, None, True, None
