# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime for programs in Python: the calls of bagua.h, for one rank of a training program.

    plan = Plan("step.bagua")
    world = World.launched()            # started by torchrun, mpirun or srun
    session = Session(plan, world)
    gradient = session.find("l1.weight.grad")
    session.start()
    for batch in batches:
        session.begin_step()
        ...                             # backward makes the gradient at `address`
        session.mark_ready(gradient, address, size)
        ...                             # more backward, overlapped
        session.wait(gradient)          # now the mean over all ranks
        session.end_step()
    session.finish()

Addresses are integers, as `tensor.data_ptr()` returns them; sizes are in bytes, counts in elements. bagua/bagua.h and
bagua/Runtime/Session.h say what a call does and which errors it raises. Calls that wait let other threads run.

The environment variable BAGUA_LIBRARY names the library; without it the loader looks for libbagua.so.1.
"""
from __future__ import annotations

import array
import ctypes
import enum
import itertools
import os
import queue
import threading
import traceback
import typing
import weakref
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p

from bagua import _library as c
from bagua._library import Code as Code, Error as Error, OnWarning as OnWarning, Path as Path


class Store(typing.Protocol):
    """A store that a program implements, by which its ranks find each other. `get` returns None if the name has no text yet."""

    def set(self, name: str, text: str) -> None: ...

    def get(self, name: str) -> str | bytes | None: ...


class Type(enum.IntEnum):
    FLOAT32 = 0
    FLOAT16 = 1
    BFLOAT16 = 2
    FLOAT64 = 3
    INT8 = 4
    INT32 = 5
    INT64 = 6


class Kind(enum.IntEnum):
    SUM = 0
    MEAN = 1
    MIN = 2
    MAX = 3


class Role(enum.IntEnum):
    BATCH = 0
    INPUT = 1
    PARAM = 2
    OPTIMIZER = 3
    BUFFER = 4
    RESIDUAL = 5
    REPLICA = 6
    GRADIENT = 7
    VALUE = 8


class Tensor(typing.NamedTuple):
    """What a plan says of a tensor. The tensor's number is its index in Plan.tensors."""
    name: str
    role: Role
    type: Type
    shape: tuple[int, ...]
    is_given: bool
    is_optional: bool
    is_in_arena: bool


class StepFigures(typing.NamedTuple):
    """The figures of a step, as measured on this rank or as predicted for a plan: `seconds` from its beginning to the next one's (or to
    the end of finish), `exposed_seconds` of them in which the program waited for communication, and the bytes that the step's
    instructions sent."""
    step: int
    seconds: float
    exposed_seconds: float
    bytes_sent: int


def _named(found: c.StepFigures) -> StepFigures:
    return StepFigures(found.step, found.seconds, found.exposed_seconds, found.bytes_sent)


_Self = typing.TypeVar("_Self", bound="_Object")


class _Object:
    """The owner of a handle. A process that this one forks can neither use the handle nor frees it."""

    def _own(self, handle: c.Pointer, free: typing.Callable[[c.Pointer], object]) -> None:
        owner = self._owner = os.getpid()
        self._open_handle = handle
        self._close = weakref.finalize(self, lambda: free(handle) if os.getpid() == owner else None)

    @property
    def _handle(self) -> c.Pointer:
        if not self._close.alive:
            raise ValueError(f"expected {type(self).__name__} to be open, found it closed")
        if os.getpid() != self._owner:
            raise ValueError(f"expected process {self._owner}, which made the {type(self).__name__}, found {os.getpid()}")
        return self._open_handle

    def close(self) -> None:
        """Frees the handle now, and not only when the object is collected. Using the object afterwards is a ValueError. No other thread
        may be in a call of the object."""
        self._close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Plan(_Object):
    """A compiled plan, read from a file or from its bytes."""

    def __init__(self, source: Path | bytes) -> None:
        library, handle = c.library(), c_void_p()
        if isinstance(source, bytes):
            library.plan_from_bytes(source, len(source), byref(handle))
        else:
            library.plan_read(c.bytes_of(source), byref(handle))
        self._own(handle, library.plan_free)
        self.ranks: int = library.plan_ranks(handle)
        self.servers: int = library.plan_servers(handle)
        self.fingerprint: int = library.plan_fingerprint(handle)
        self.has_late_updates = bool(library.plan_has_late_updates(handle))
        self.tensors: list[Tensor] = []
        for number in range(library.plan_tensor_count(handle)):
            found = c.Tensor()
            library.plan_tensor(handle, number, byref(found))
            self.tensors.append(
                Tensor(found.name.decode(), Role(found.role), Type(found.type), tuple(found.shape[:found.dimensions]),
                       bool(found.is_given), bool(found.is_optional), bool(found.is_in_arena)))

    @property
    def predicted(self) -> StepFigures | None:
        """The prediction for a step, with step number -1: of several steps, for the one that iteration 0 runs. None if the plan holds
        none."""
        found = c.StepFigures(struct_size=ctypes.sizeof(c.StepFigures))
        try:
            c.library().plan_predicted_figures(self._handle, byref(found))
        except Error as error:
            if error.code != "NOT_FOUND":
                raise
            return None
        return _named(found)


def is_launched() -> bool:
    """Whether torchrun, mpirun or srun has started this process."""
    return bool(c.library().is_launched())


class World(_Object):
    """One rank's membership in all ranks of a run."""

    def __init__(self, handle: c.Pointer, is_in_process: bool = False) -> None:
        library = c.library()
        self._own(handle, library.world_free)
        self.is_in_process = is_in_process
        self.rank: int = library.world_rank(handle)
        self.size: int = library.world_size(handle)
        self.hosts: int = library.world_hosts(handle)

    @staticmethod
    def _callbacks(store: Store, failures: list[BaseException]) -> dict[str, typing.Any]:
        """The functions that C calls. An exception is appended to `failures`, and the function returns failure."""
        def set_text(_: object, name: bytes, text: bytes) -> int:
            try:
                store.set(name.decode(), text.decode())
                return 0
            except BaseException as failure:
                failures.append(failure)
                return 1

        def get_text(_: object, name: bytes, text: int, capacity: int) -> int:
            try:
                found = store.get(name.decode())
                if found is None:
                    return -1
                found = found.encode() if isinstance(found, str) else found
                if len(found) <= capacity:
                    ctypes.memmove(text, found, len(found))
                return len(found)
            except BaseException as failure:
                failures.append(failure)
                return -2

        return {"store_set": c.StoreSet(set_text), "store_get": c.StoreGet(get_text)}

    @classmethod
    def _made(cls, function: typing.Callable[..., typing.Any], options: dict[str, typing.Any]) -> World:
        store = options.pop("store")
        known = {"timeout": "timeout_seconds", "patience": "patience_seconds", "interface": "interface_name"}
        given = {known.get(name, name): c.bytes_of(value) if isinstance(value, (str, os.PathLike)) else value
                 for name, value in options.items() if value is not None}
        handle = c_void_p()
        failures: list[BaseException] = []
        given.update(cls._callbacks(store, failures) if store is not None else {})
        try:
            function(byref(c.WorldOptions(struct_size=ctypes.sizeof(c.WorldOptions), **given)), byref(handle))
        except Error:
            if failures:
                raise failures[0] from None
            raise
        return cls(handle)

    @classmethod
    def launched(cls, *, rendezvous: Path | None = None, address: str | None = None, store: Store | None = None, host: str | None = None,
                 interface: str | None = None, timeout: float | None = None, patience: float | None = None,
                 shared_bytes: int | None = None) -> World:
        """Connects a rank that torchrun, mpirun or srun has started. Times are in seconds.

        A `store` of the program has set(name, text), and get(name), which returns None if there is no text yet."""
        return cls._made(c.library().world_launched,
                         dict(rendezvous=rendezvous, address=address, store=store, host=host, interface=interface,
                              timeout=timeout, patience=patience, shared_bytes=shared_bytes))

    @classmethod
    def connect(cls, rank: int, size: int, *, rendezvous: Path | None = None, address: str | None = None, store: Store | None = None,
                host: str | None = None, interface: str | None = None, timeout: float | None = None, patience: float | None = None,
                shared_bytes: int | None = None) -> World:
        """Connects a rank whose number the program knows. Times are in seconds."""
        return cls._made(c.library().world_connect,
                         dict(rank=rank, size=size, rendezvous=rendezvous, address=address, store=store, host=host,
                              interface=interface, timeout=timeout, patience=patience, shared_bytes=shared_bytes))

    @classmethod
    def in_process(cls, size: int, timeout: float = 0) -> list[World]:
        """Creates ranks that are threads of this process: a list of `size` worlds."""
        handles = (c_void_p * size)()
        c.library().worlds_in_process(size, timeout, handles)
        return [cls(c_void_p(handle), is_in_process=True) for handle in handles]

    def next_number(self) -> int:
        """The number of the next object that all ranks create in the same order. Names of communicators are made from it."""
        return c.library().world_next_number(self._handle)

    def newest_checkpoint(self, paths: typing.Iterable[Path]) -> Path | None:
        """The one of `paths` that has the newest state that every rank has; None if there is none. Collective over the world."""
        own = list(paths)
        is_found, newest = c_int(), c_size_t()
        c.library().find_newest_checkpoint(self._handle, (c_char_p * len(own))(*map(c.bytes_of, own)), len(own), byref(is_found),
                                          byref(newest))
        return own[newest.value] if is_found.value else None

    def communicator(self, name: str, members: typing.Sequence[int] | None = None, *, timeout: float = 0,
                     on_warning: OnWarning | None = None) -> Communicator:
        return Communicator(self, name, members, timeout=timeout, on_warning=on_warning)

    def limit_stay(self) -> None:
        """Limits how long rank 0's process waits for others to leave, after its world is closed, to the patience. By default it waits
        until all have left, which is too long if the program ends after a failure."""
        c.library().world_limit_stay(self._handle)

    def abort(self, why: str = "") -> None:
        """Ends the run on all ranks. May be called from any thread."""
        c.library().world_abort(self._handle, why.encode())


class Communicator(_Object):
    """Collectives outside a plan, over `members` or, if None, all ranks. Times are in seconds; 0 means the world's."""

    def __init__(self, world: World, name: str, members: typing.Sequence[int] | None = None, *, timeout: float = 0,
                 on_warning: OnWarning | None = None) -> None:
        library, handle = c.library(), c_void_p()
        ranks = None if members is None else (c_int * len(members))(*members)
        # The communicator calls it, so it must live as long.
        self._on_warning = c.warning(on_warning)
        library.communicator_create_with(world._handle, ranks, len(members or []), name.encode(),
                                         byref(c.wait_options(timeout, self._on_warning)), byref(handle))
        self._own(handle, library.communicator_free)

    def agree_on(self, fact: str, value: int, meaning: str | None = None) -> None:
        """States a fact, a number of 64 bits, that all members must state alike in later calls; `meaning` says what it stands for."""
        c.library().communicator_agree_on(self._handle, fact.encode(), c.unsigned("a number", value, 2**64), meaning and meaning.encode())

    def all_reduce(self, source: int, target: int, count: int, type: Type, kind: Kind = Kind.SUM) -> None:
        c.library().all_reduce(self._handle, source, target, count, type, kind)

    def all_gather(self, source: int, target: int, count: int, type: Type) -> None:
        """Gathers `count` elements of each member, in the order of members."""
        c.library().all_gather(self._handle, source, target, count, type)

    def broadcast(self, address: int, count: int, type: Type, root: int = 0) -> None:
        c.library().broadcast(self._handle, address, count, type, root)

    def barrier(self) -> None:
        c.library().barrier(self._handle)


def _array_of(kind: typing.Any, code: str, values: typing.Iterable[int]) -> typing.Any:
    """An array for C; several times as fast as ctypes makes one. A list is made first, since array.array would copy the raw memory of
    bytes and not take their numbers."""
    taken = array.array(code, values if isinstance(values, list) else list(values))
    return (kind * len(taken)).from_buffer(taken)


def _check_place(address: int | None, size: int | None) -> None:
    if (address is None) != (size is None):
        raise TypeError("expected an address and a size, or neither")
    if size is not None:
        c.unsigned("a size", size)


def _queue_handle(name: str, given: object) -> c.Pointer:
    if not isinstance(given, Queue):
        raise TypeError(f"{name}: expected a Queue, found {given!r}")
    return given._handle


def buffer_at(address: int, size: int, owner: object) -> typing.Any:
    """A buffer over memory of `owner`. The buffer keeps the owner alive, and views of the buffer do, too."""
    buffer = (ctypes.c_char * size).from_address(address)
    buffer.owner = owner  # type: ignore[attr-defined]
    return buffer


class _Memory(_Object):
    """The memory of a tensor in an arena."""

    def __init__(self, session: Session, tensor: int, size: int) -> None:
        library, place, handle = c.library(), c_void_p(), c_void_p()
        library.session_hold(session._handle, tensor, size, byref(place), byref(handle))
        self._own(handle, library.memory_free)
        self.address: int = place.value or 0
        self._close.atexit = False  # views of it may be used until the process ends


class _Pending:
    """Callbacks that sessions will call, by number.

    A callback may hold the last reference to its session, and a session must not be freed on one of its own threads. So a separate
    thread drops callbacks that were called."""

    callbacks: dict[int, typing.Callable[[Error | None], object]] = {}
    numbers = itertools.count(1)
    called: queue.SimpleQueue[object] = queue.SimpleQueue()
    thread: threading.Thread | None = None
    lock = threading.Lock()

    @classmethod
    def add(cls, callback: typing.Callable[[Error | None], object]) -> int:
        with cls.lock:
            if cls.thread is None or not cls.thread.is_alive():
                cls.thread = threading.Thread(target=cls._let_go, name="bagua callbacks", daemon=True)
                cls.thread.start()
            number = next(cls.numbers)
            cls.callbacks[number] = callback
        return number

    @classmethod
    def _let_go(cls) -> None:
        while True:
            cls.called.get()


@c.OnDone  # type: ignore[untyped-decorator]
def _call_pending(number: int, code: int, _: object) -> None:
    callback = _Pending.callbacks.pop(number)
    kept: list[object] = [callback]
    try:
        callback(c.library().error(code) if code else None)
    except BaseException as failure:
        traceback.print_exception(type(failure), failure, failure.__traceback__)
        if not isinstance(failure, Exception):
            c.keep(failure)
        kept.append(failure)
    del callback
    _Pending.called.put(kept)


class Queue(_Object):
    """Work in order on the device of a backend, the CPU if it is None; the CPU's queue runs work at once."""

    def __init__(self, world: World, backend: str | None = None) -> None:
        library, handle = c.library(), c_void_p()
        library.queue_create(world._handle, None if backend is None else backend.encode(), byref(handle))
        self._own(handle, library.queue_free)

    def copy(self, target: int, source: int, size: int) -> None:
        c.library().queue_copy(self._handle, c.unsigned("an address", target, 2**64), c.unsigned("an address", source, 2**64),
                               c.unsigned("a size", size))

    def zero(self, target: int, size: int) -> None:
        c.library().queue_zero(self._handle, c.unsigned("an address", target, 2**64), c.unsigned("a size", size))

    def drain(self, limit: float = 0) -> None:
        """Waits until all work is done, for at most `limit` seconds; 0: the world's timeout."""
        c.library().queue_drain(self._handle, limit)


class Session(_Object):
    """One rank's execution of a plan. Times are in seconds; 0: the world's. `backend` names the one whose device has the tensors.
    `first_step` is for a program that resumes and keeps all state itself, where load_state() does not say it."""

    def __init__(self, plan: Plan, world: World, *, timeout: float = 0, on_warning: OnWarning | None = None,
                 backend: str | None = None, first_step: int = 0) -> None:
        library, handle = c.library(), c_void_p()
        # The threads of the session call it, so it must live as long.
        self._on_warning = c.warning(on_warning)
        options = c.SessionOptions(c.wait_options(timeout, self._on_warning), None if backend is None else backend.encode(),
                                   c.unsigned("a first step", first_step))
        options.waiting.struct_size = ctypes.sizeof(c.SessionOptions)
        library.session_create(plan._handle, world._handle, byref(options), byref(handle))
        self._own(handle, library.session_free)

    def find(self, name: str) -> int:
        number = c_uint32()
        c.library().session_find(self._handle, name.encode(), byref(number))
        return number.value

    def local_bytes(self, tensor: int) -> int:
        return c.library().session_local_bytes(self._handle, tensor)

    def bind(self, tensor: int, address: int, size: int) -> None:
        c.library().session_bind(self._handle, tensor, address, size)

    def address(self, tensor: int, size: int) -> int | None:
        place = c_void_p()
        c.library().session_address(self._handle, tensor, size, byref(place))
        return place.value

    def hold(self, tensor: int, size: int) -> typing.Any:
        """The memory of a tensor that lives in an arena, as a buffer. Views of it (memoryview, numpy's and torch's frombuffer) keep
        the memory alive, even after the session is closed."""
        memory = _Memory(self, tensor, size)
        return buffer_at(memory.address, size, owner=memory)

    def bind_or_locate(self, tensor: int, address: int, size: int) -> int | None:
        place = c_void_p()
        c.library().session_bind_or_locate(self._handle, tensor, address, size, byref(place))
        return place.value

    def program_updates(self, name: str) -> bool:
        return bool(c.library().session_program_updates(self._handle, name.encode()))

    def start(self) -> None:
        c.library().session_start(self._handle)

    def first_waiter(self, tensor: int) -> int:
        """The number of the first instruction that waits for the tensor to be given; -1 if none does, and before start(). Of several
        tensors with the same number, only the last one given lets the instruction start."""
        return c.library().session_first_waiter(self._handle, tensor)

    def agree_on(self, fact: str, value: int, meaning: str | None = None) -> None:
        """States a fact, a number of 64 bits, that all ranks must state alike for the steps that begin after this call."""
        c.library().session_agree_on(self._handle, fact.encode(), c.unsigned("a number", value, 2**64), meaning and meaning.encode())

    def agree_on_tensor(self, tensor: int, value: int, meaning: str | None = None) -> None:
        """The same for a fact of a tensor, from the next time the tensor is given."""
        c.library().session_agree_on_tensor(self._handle, tensor, c.unsigned("a number", value, 2**64), meaning and meaning.encode())

    def begin_step(self) -> None:
        c.library().session_begin_step(self._handle)

    def mark_ready(self, tensor: int, address: int | None = None, size: int | None = None, *, after: Queue | None = None) -> None:
        """Gives a tensor, which is complete when the work that `after` has so far is done."""
        _check_place(address, size)
        if after is not None:
            c.library().session_mark_ready_after(self._handle, tensor, address, size or 0, _queue_handle("after", after))
        elif size is None:
            c.library().session_mark_ready(self._handle, tensor)
        else:
            c.library().session_mark_ready_at(self._handle, tensor, address, size)

    def mark_each_ready(self, tensors: typing.Iterable[int], addresses: typing.Iterable[int] | None = None,
                        sizes: typing.Iterable[int] | None = None) -> None:
        """Gives several tensors in this order: all at addresses, or each where it is bound or lives in an arena."""
        numbers = _array_of(c_uint32, "I", tensors)
        places = lengths = None
        if addresses is not None:
            places, lengths = _array_of(c_void_p, "Q", addresses), _array_of(c_size_t, "Q", sizes or [])
            if not len(numbers) == len(places) == len(lengths):
                raise TypeError(f"expected an address and a size of each tensor, found {len(numbers)} tensors, {len(places)} addresses and "
                                f"{len(lengths)} sizes")
        c.library().session_mark_each_ready(self._handle, numbers, places, lengths, len(numbers))

    def mark_absent(self, tensor: int, address: int | None = None, size: int | None = None, *, after: Queue | None = None) -> None:
        _check_place(address, size)
        if after is not None:
            c.library().session_mark_absent_after(self._handle, tensor, address, size or 0, _queue_handle("after", after))
        elif size is None:
            c.library().session_mark_absent(self._handle, tensor)
        else:
            c.library().session_mark_absent_at(self._handle, tensor, address, size)

    def wait(self, tensor: int, *, before: Queue | None = None) -> None:
        """Takes a tensor back. With a queue this may return before the runtime is done with the tensor: later work there finds it done."""
        if before is None:
            c.library().session_wait(self._handle, tensor)
        else:
            c.library().session_wait_before(self._handle, tensor, _queue_handle("before", before))

    def wait_for_each(self, tensors: typing.Iterable[int]) -> None:
        numbers = _array_of(c_uint32, "I", tensors)
        c.library().session_wait_for_each(self._handle, numbers, len(numbers))

    def step_uses(self, tensor: int) -> bool:
        """Whether the step of the open iteration, or of the next one between iterations, has instructions that use the tensor or wait
        for it. If a plan has several steps, the program gives only what the iteration's step uses."""
        return bool(c.library().session_step_uses(self._handle, tensor))

    def is_ready(self, tensor: int) -> bool:
        return bool(c.library().session_is_ready(self._handle, tensor))

    def on_done(self, tensor: int, callback: typing.Callable[[Error | None], object]) -> None:
        """Calls `callback` once, when wait() would return, with None or the Error that wait() would raise. The callback may call abort,
        nothing else."""
        c.library().session_on_done(self._handle, tensor, _call_pending, _Pending.add(callback))

    def end_step(self) -> None:
        c.library().session_end_step(self._handle)

    def barrier(self) -> None:
        """Between steps: waits until all workers with which this one communicates have called barrier. An error if one has begun a step
        instead."""
        c.library().session_barrier(self._handle)

    def finish(self) -> None:
        c.library().session_finish(self._handle)

    def abort(self, why: str = "") -> None:
        """Ends the run on all ranks. May be called from any thread."""
        c.library().session_abort(self._handle, why.encode())

    @property
    def step(self) -> int:
        return c.library().session_step(self._handle)

    @property
    def bytes_sent(self) -> int:
        return c.library().session_bytes_sent(self._handle)

    @property
    def arena_bytes(self) -> int:
        return c.library().session_arena_bytes(self._handle)

    def step_figures(self) -> list[StepFigures]:
        """The figures of the last steps that are done (64 at most), the oldest first. A step is certainly done when the next but one
        begins, and after finish."""
        figures: list[StepFigures] = []
        found = c.StepFigures(struct_size=ctypes.sizeof(c.StepFigures))
        try:
            for back in itertools.count():
                c.library().session_step_figures(self._handle, back, byref(found))
                figures.insert(0, _named(found))
        except Error as error:
            if error.code != "OUT_OF_RANGE":
                raise
        return figures

    def save_state(self) -> bytes:
        return c.taken_bytes(c.library().session_save_state, self._handle)

    def load_state(self, state: bytes) -> None:
        c.library().session_load_state(self._handle, state, len(state))


def describe_waits() -> str:
    """For each world and session of this process, as text: which rank waits where, for what and since when. May be called on any thread,
    while others hang."""
    return c.taken_bytes(c.library().describe_waits).decode(errors="replace")


def write_checkpoint(path: Path, state: bytes) -> None:
    """Replaces the file. After a crash at any time it holds either its old contents or `state`."""
    c.library().write_checkpoint(c.bytes_of(path), state, len(state))
