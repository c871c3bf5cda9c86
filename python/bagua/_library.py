# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C library as `bagua.runtime` calls it: the functions and structures of bagua.h for ctypes, and how errors and exceptions pass."""
from __future__ import annotations

import ctypes
import enum
import functools
import numbers
import os
import threading
import typing
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

API_VERSION = 1

# A handle, or an address: ctypes has no type that says so.
Pointer = typing.Any
Path = typing.Union[str, "os.PathLike[str]"]
OnWarning = typing.Callable[[str], object]


class Error(RuntimeError):
    """The error of a call of the runtime; `code` is the name of its code, such as "ABORTED".

    `rank` is the one at fault, as far as is known; `tensor` and `instruction` are numbers of the plan, `step` is the session's. Each
    is None if the error names none."""
    __module__ = "bagua.runtime"  # where programs find it, and what tracebacks show

    def __init__(self, code: str, message: str, rank: int | None = None, tensor: int | None = None, instruction: int | None = None,
                 step: int | None = None) -> None:
        super().__init__(message)
        self.code, self.rank, self.tensor, self.instruction, self.step = code, rank, tensor, instruction, step


class Code(enum.IntEnum):
    __module__ = "bagua.runtime"
    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


def unsigned(what: str, number: int, limit: int = 2**63) -> int:
    """The number, checked: ctypes would wrap others around."""
    if not 0 <= number < limit:
        raise OverflowError(f"expected {what} from 0 to {limit - 1}, found {number}")
    return number


class TensorNumber(c_uint32):
    """A tensor's number. The range is checked here, since ctypes would take 2**32 for 0."""
    @classmethod
    def from_param(cls, number: int) -> c_uint32:
        return c_uint32(unsigned("a tensor's number,", number, 2**32))


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("role", c_int), ("type", c_int), ("shape", POINTER(c_int64)),
                ("dimensions", c_size_t), ("is_given", c_int), ("is_optional", c_int), ("is_in_arena", c_int)]


OnWarningOfC = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
StoreSet = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p)
StoreGet = ctypes.CFUNCTYPE(c_int64, c_void_p, c_char_p, c_void_p, c_size_t)


class WorldOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("rank", c_int), ("size", c_int), ("rendezvous", c_char_p),
                ("address", c_char_p), ("host", c_char_p), ("interface_name", c_char_p), ("timeout_seconds", c_double),
                ("patience_seconds", c_double), ("shared_bytes", c_size_t), ("store_set", StoreSet),
                ("store_get", StoreGet), ("store_user", c_void_p)]


OnDone = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class WaitOptions(ctypes.Structure):
    """The options of communicators, with which those of sessions begin."""
    _fields_ = [("struct_size", c_size_t), ("timeout_seconds", c_double), ("on_warning", OnWarningOfC), ("user", c_void_p)]


class SessionOptions(ctypes.Structure):
    _fields_ = [("waiting", WaitOptions), ("backend", c_char_p), ("first_step", c_int64)]


class StepFigures(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("step", c_int64), ("seconds", c_double), ("exposed_seconds", c_double),
                ("bytes_sent", c_int64)]


# For each function of bagua.h: the type that it returns (None for a code, which is checked), then those of its arguments.
_HANDLE = POINTER(c_void_p)
_FUNCTIONS: dict[str, tuple[typing.Any, ...]] = {
    "plan_read": (None, c_char_p, _HANDLE),
    "plan_from_bytes": (None, c_char_p, c_size_t, _HANDLE),
    "plan_fingerprint": (c_uint64, c_void_p),
    "plan_ranks": (c_int, c_void_p),
    "plan_servers": (c_int, c_void_p),
    "plan_tensor_count": (c_size_t, c_void_p),
    "plan_has_late_updates": (c_int, c_void_p),
    "plan_tensor": (None, c_void_p, TensorNumber, POINTER(Tensor)),
    "plan_predicted_figures": (None, c_void_p, POINTER(StepFigures)),
    "world_connect": (None, POINTER(WorldOptions), _HANDLE),
    "is_launched": (c_int,),
    "world_launched": (None, POINTER(WorldOptions), _HANDLE),
    "worlds_in_process": (None, c_int, c_double, _HANDLE),
    "world_rank": (c_int, c_void_p),
    "world_size": (c_int, c_void_p),
    "world_hosts": (c_int, c_void_p),
    "world_next_number": (c_int, c_void_p),
    "communicator_create_with": (None, c_void_p, POINTER(c_int), c_int, c_char_p, POINTER(WaitOptions), _HANDLE),
    "communicator_agree_on": (None, c_void_p, c_char_p, c_uint64, c_char_p),
    "all_reduce": (None, c_void_p, c_void_p, c_void_p, c_int64, c_int, c_int),
    "all_gather": (None, c_void_p, c_void_p, c_void_p, c_int64, c_int),
    "broadcast": (None, c_void_p, c_void_p, c_int64, c_int, c_int),
    "barrier": (None, c_void_p),
    "queue_create": (None, c_void_p, c_char_p, _HANDLE),
    "queue_copy": (None, c_void_p, c_void_p, c_void_p, c_size_t),
    "queue_zero": (None, c_void_p, c_void_p, c_size_t),
    "queue_drain": (None, c_void_p, c_double),
    "session_create": (None, c_void_p, c_void_p, POINTER(SessionOptions), _HANDLE),
    "session_find": (None, c_void_p, c_char_p, POINTER(c_uint32)),
    "session_local_bytes": (c_int64, c_void_p, TensorNumber),
    "session_bind": (None, c_void_p, TensorNumber, c_void_p, c_size_t),
    "session_address": (None, c_void_p, TensorNumber, c_size_t, _HANDLE),
    "session_hold": (None, c_void_p, TensorNumber, c_size_t, _HANDLE, _HANDLE),
    "session_bind_or_locate": (None, c_void_p, TensorNumber, c_void_p, c_size_t, _HANDLE),
    "session_program_updates": (c_int, c_void_p, c_char_p),
    "session_start": (None, c_void_p),
    "session_first_waiter": (c_int64, c_void_p, TensorNumber),
    "session_agree_on": (None, c_void_p, c_char_p, c_uint64, c_char_p),
    "session_agree_on_tensor": (None, c_void_p, TensorNumber, c_uint64, c_char_p),
    "session_begin_step": (None, c_void_p),
    "session_mark_ready": (None, c_void_p, TensorNumber),
    "session_mark_ready_at": (None, c_void_p, TensorNumber, c_void_p, c_size_t),
    "session_mark_each_ready": (None, c_void_p, POINTER(c_uint32), POINTER(c_void_p), POINTER(c_size_t), c_size_t),
    "session_mark_absent": (None, c_void_p, TensorNumber),
    "session_mark_absent_at": (None, c_void_p, TensorNumber, c_void_p, c_size_t),
    "session_mark_ready_after": (None, c_void_p, TensorNumber, c_void_p, c_size_t, c_void_p),
    "session_mark_absent_after": (None, c_void_p, TensorNumber, c_void_p, c_size_t, c_void_p),
    "session_wait": (None, c_void_p, TensorNumber),
    "session_wait_before": (None, c_void_p, TensorNumber, c_void_p),
    "session_wait_for_each": (None, c_void_p, POINTER(c_uint32), c_size_t),
    "session_step_uses": (c_int, c_void_p, TensorNumber),
    "session_is_ready": (c_int, c_void_p, TensorNumber),
    "session_on_done": (None, c_void_p, TensorNumber, OnDone, c_void_p),
    "session_end_step": (None, c_void_p),
    "session_barrier": (None, c_void_p),
    "session_finish": (None, c_void_p),
    "session_step": (c_int64, c_void_p),
    "session_bytes_sent": (c_int64, c_void_p),
    "session_arena_bytes": (c_int64, c_void_p),
    "session_step_figures": (None, c_void_p, c_int64, POINTER(StepFigures)),
    "describe_waits": (None, _HANDLE, POINTER(c_size_t)),
    "session_save_state": (None, c_void_p, _HANDLE, POINTER(c_size_t)),
    "session_load_state": (None, c_void_p, c_char_p, c_size_t),
    "write_checkpoint": (None, c_char_p, c_char_p, c_size_t),
    "find_newest_checkpoint": (None, c_void_p, POINTER(c_char_p), c_size_t, POINTER(c_int), POINTER(c_size_t)),
}
# These return nothing.
_VOID_FUNCTIONS: dict[str, tuple[typing.Any, ...]] = {
    "last_error_place": (POINTER(c_int64),) * 4,
    "plan_free": (c_void_p,),
    "world_free": (c_void_p,),
    "world_limit_stay": (c_void_p,),
    "world_abort": (c_void_p, c_char_p),
    "communicator_free": (c_void_p,),
    "queue_free": (c_void_p,),
    "session_free": (c_void_p,),
    "session_abort": (c_void_p, c_char_p),
    "memory_free": (c_void_p,),
    "bytes_free": (c_void_p,),
}


class Library:
    """bagua.h's functions without their prefix. A function that returns a code raises Error if it fails."""

    def __init__(self) -> None:
        path = os.environ.get("BAGUA_LIBRARY") or "libbagua.so.1"
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            raise ImportError(f"{path} can't be loaded: {error}" if os.path.exists(path) else
                              f"{error}; expected BAGUA_LIBRARY to name Bagua's shared library, libbagua.so") from None
        if not hasattr(loaded, "bagua_api_version"):
            raise ImportError(f"{path} is not Bagua's library")
        version = loaded.bagua_api_version()
        if version != API_VERSION:
            raise ImportError(f"{path} has interface {version}, expected {API_VERSION}")
        self._last_error = loaded.bagua_last_error
        self._last_error.restype = c_char_p
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(loaded, "bagua_" + name)
            function.argtypes = arguments
            function.restype = result or c_int
            setattr(self, name, function if result else functools.partial(self._checked, function))
        for name, taken in _VOID_FUNCTIONS.items():
            function = getattr(loaded, "bagua_" + name)
            function.argtypes = taken
            function.restype = None
            setattr(self, name, function)

    if typing.TYPE_CHECKING:
        def __getattr__(self, name: str) -> typing.Callable[..., typing.Any]: ...

    def _checked(self, function: typing.Callable[..., int], *arguments: typing.Any) -> None:
        code = function(*arguments)
        if _RAISED:
            _raise_own()
        if code:
            raise self.error(code)

    def error(self, code: int) -> Error:
        """The last error of this thread."""
        place = [c_int64() for _ in range(4)]
        self.last_error_place(*map(byref, place))
        return Error(Code(code).name, self._last_error().decode(errors="replace"),
                     *(number.value if number.value >= 0 else None for number in place))


@functools.cache
def library() -> Library:
    return Library()


def bytes_of(text: Path | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def taken_bytes(call: typing.Callable[..., typing.Any], *arguments: typing.Any) -> bytes:
    """The bytes that a call returns; frees the library's copy."""
    data, size = c_void_p(), c_size_t()
    call(*arguments, byref(data), byref(size))
    try:
        return ctypes.string_at(data, size.value)
    finally:
        library().bytes_free(data)


# Exceptions of callbacks, which can't pass through the library. The key is the thread of the callback, which raises its exception when
# the call that it is in returns. If a thread of the library ran the callback, the key is None, and the next call of any thread raises it.
_RAISED: dict[int | None, BaseException] = {}


def keep(failure: BaseException) -> None:
    own = threading.get_ident()
    _RAISED[own if any(thread.ident == own for thread in threading.enumerate()) else None] = failure


def _raise_own() -> None:
    failure = _RAISED.pop(threading.get_ident(), None) or _RAISED.pop(None, None)
    if failure:
        raise failure


def warning(tell: OnWarning | None) -> typing.Any:
    if tell is None:
        return OnWarningOfC()

    def warn(_: object, text: bytes) -> None:
        try:
            tell(text.decode())
        except BaseException as failure:
            keep(failure)
    return OnWarningOfC(warn)


def wait_options(timeout: float, warning: typing.Any) -> WaitOptions:
    if not isinstance(timeout, numbers.Real):
        raise TypeError(f"timeout: expected seconds, found {timeout!r}")
    return WaitOptions(ctypes.sizeof(WaitOptions), timeout, warning, None)
