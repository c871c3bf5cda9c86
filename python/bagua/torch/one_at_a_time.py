# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A session that several threads call: those that train, and those that read what is updated."""
from __future__ import annotations

import functools
import os
import threading
import typing
import weakref

from bagua import runtime

_LOCKS: weakref.WeakSet[typing.Any] = weakref.WeakSet()
# A process that another one has forked lacks the threads that may have one.
os.register_at_fork(after_in_child=lambda: [lock._at_fork_reinit() for lock in _LOCKS])

_FROM_ANY_THREAD = ("abort", "step_figures")


def forkable_lock() -> typing.Any:
    """A threading.RLock, which nobody has in a process that is forked."""
    lock = threading.RLock()
    _LOCKS.add(lock)
    return lock


class OneAtATime:
    """What runtime.Session has, whose calls come one at a time: who comes while another thread is in a call waits for its end. No call takes
    another lock in turn."""

    if typing.TYPE_CHECKING:
        def __getattr__(self, name: str) -> typing.Callable[..., typing.Any]: ...

    def __init__(self, session: runtime.Session) -> None:
        lock = forkable_lock()
        for name in dir(runtime.Session):
            if not name.startswith("_") and callable(getattr(runtime.Session, name)):
                call = getattr(session, name)
                setattr(self, name, call if name in _FROM_ANY_THREAD else self._within(lock, call))

    @staticmethod
    def _within(lock: typing.Any, call: typing.Callable[..., typing.Any]) -> typing.Callable[..., typing.Any]:
        @functools.wraps(call)
        def within(*arguments: typing.Any, **named: typing.Any) -> typing.Any:
            with lock:
                return call(*arguments, **named)
        return within
