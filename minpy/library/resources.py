"""What a library's function may request: working memory, generators of random numbers, the states of operators.

Working memory is asked for through a callback; each request is a block of its own, aligned for vector loads, which
lives until the call returns. Generators are 1024 states of the Mersenne Twister, as `std::mt19937` of the GNU C++
library lays them out on 64-bit machines. They follow from the number given to `mx.random.seed`, as in MXNet: state k
is seeded with `127 * seed + k`. They live on between calls. Calls that go on at the same time have sets of generators
of their own, so that no two draw from the same one. States are objects of the library, destroyed when unused.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Callable
from ctypes import c_ubyte, c_void_p, cast
from typing import Any
from weakref import WeakValueDictionary

import numpy

from minpy.library.abi import RANDOM_STATES, SPARSE_ALLOCATION, WORKSPACE_ALLOCATION
from minpy.library.binary import Binary
from minpy.ops.random.generator import SOURCE, seed_sequence

__all__ = ["GENERATORS", "RESOURCES", "Generators", "KeptState", "State", "Workspace"]

_ALIGNMENT = 64
_WORDS = 624  # of a Mersenne Twister
_number = itertools.count(1).__next__


class Workspace:
    """The blocks that one call has requested. The library's callback finds them by `handle`."""

    __slots__ = ("__weakref__", "_blocks", "handle", "interrupt", "problems", "used")

    def __init__(self) -> None:
        self.handle = _number()
        self._blocks: list[numpy.ndarray] = []
        self.problems: list[str] = []  # why requests were refused
        self.interrupt: BaseException | None = None
        self.used = False  # whether anything was asked for
        _WORKSPACES[self.handle] = self

    def allocate(self, size: int) -> int | None:
        """Return the address of a new block of so many bytes, or None where there can be none."""
        self.used = True
        if size < 0:
            self.problems.append(
                f"a workspace of {size} bytes was asked for; sizes are 32-bit numbers, of at most 2147483647 bytes"
            )
            return None
        try:
            block = numpy.empty(size + _ALIGNMENT, numpy.uint8)
        except MemoryError:
            self.problems.append(f"a workspace of {size} bytes was asked for, and there is not so much memory")
            return None
        self._blocks.append(block)
        address: int = block.ctypes.data
        return address + -address % _ALIGNMENT

    def clear(self) -> None:
        """Free all blocks, and raise an interrupt that came while the library waited for one."""
        interrupt, self.interrupt = self.interrupt, None
        self.used = False
        self._blocks.clear()
        self.problems.clear()
        if interrupt is not None:
            raise interrupt


_WORKSPACES: WeakValueDictionary[int, Workspace] = WeakValueDictionary()


def _allocate(handle: int | None, size: int) -> int | None:
    workspace = None
    while True:  # an exception here would be lost, and the library would go on with no memory
        try:
            workspace = workspace or _WORKSPACES.get(handle or 0)
            return None if workspace is None else workspace.allocate(size)
        except BaseException as error:
            if workspace is not None:
                workspace.used, workspace.interrupt = True, error


def _refuse(handle: int | None, problem: str) -> None:
    workspace = _WORKSPACES.get(handle or 0)
    if workspace is not None:
        workspace.used = True
        workspace.problems.append(problem)


def _allocate_on_gpu(handle: int | None, size: int) -> None:
    _refuse(handle, f"{size} bytes of GPU memory were asked for, and there is no GPU: ask alloc_cpu")


def _allocate_sparse(handle: int | None, output: int, *_: Any) -> None:
    _refuse(
        handle, f"sparse memory was asked for output {output} (alloc_sparse), which is dense: minpy's arrays all are"
    )


# Kept for good: libraries may be given them at any time.
_CALLBACKS = (
    WORKSPACE_ALLOCATION(_allocate),
    WORKSPACE_ALLOCATION(_allocate_on_gpu),
    SPARSE_ALLOCATION(_allocate_sparse),
)
# The addresses of the three callbacks: of memory, of GPU memory, and of sparse outputs.
RESOURCES = tuple(cast(callback, c_void_p) for callback in _CALLBACKS)


class Generators:
    """One set of random generators, in memory that libraries draw from."""

    __slots__ = ("address", "number", "sequence", "states")

    def __init__(self, sequence: Any, number: int) -> None:
        self.sequence = sequence
        self.number = number
        self.states = _seeded(_seed_of(sequence), number)
        self.address: int = self.states.ctypes.data


class _Pool:
    """Sets of generators that no call uses at the moment, of the latest seed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._idle: list[Generators] = []
        self._sequence: Any = None
        self._count = 0

    def acquire(self) -> Generators:
        """Return a set that no other call uses: the first one if it is free."""
        sequence = SOURCE.sequence or seed_sequence()
        if sequence is self._sequence:
            try:
                return self._idle.pop()
            except IndexError:
                return self._new_set(sequence)
        return self._new_set(sequence)

    def _new_set(self, sequence: Any) -> Generators:
        with self._lock:
            if sequence is not self._sequence:
                self._idle, self._count, self._sequence = [], 0, sequence
            number, self._count = self._count, self._count + 1
        return Generators(sequence, number)

    def release(self, generators: Generators) -> None:
        """Return a set to the pool after a call; sets of an earlier seed are dropped."""
        if generators.sequence is self._sequence:
            if generators.number:
                self._idle.insert(0, generators)
            else:
                self._idle.append(generators)

    def read(self) -> tuple[Any, list[tuple[Generators, numpy.ndarray]]]:
        """Return the seed sequence, and the states of the sets that no call uses."""
        with self._lock:
            return self._sequence, [(generators, generators.states.copy()) for generators in self._idle]

    def restore(self, saved_states: tuple[Any, list[tuple[Generators, numpy.ndarray]]]) -> None:
        """Restore what `read` has returned; if no set was in the pool then, the next call starts with a new one."""
        with self._lock:
            self._sequence = saved_states[0] if saved_states[1] else None
            for generators, values in saved_states[1]:
                generators.states[...] = values
            self._idle = [generators for generators, _ in saved_states[1]]


def _seed_of(sequence: Any) -> int:
    """Return the number passed to `mx.random.seed`; in forks, and without a seed, one drawn from the sequence."""
    if sequence.spawn_key or sequence.entropy > 0xFFFFFFFFFFFFFFFF:
        return int(sequence.generate_state(1)[0])
    return int(sequence.entropy)


def _seeded(seed: int, number: int) -> numpy.ndarray:
    """Return seeded states: each of 624 words and a position, all of 8 bytes.

    The recurrence is that of `std::mt19937`: Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998, with
    the initialization of 2002. Every set but the first is seeded with other numbers.
    """
    seeds = (127 * seed + numpy.arange(RANDOM_STATES, dtype=object)) & 0xFFFFFFFF
    word = seeds.astype(numpy.uint32) ^ numpy.uint32(number * 0x9E3779B9 & 0xFFFFFFFF)
    words = numpy.empty((_WORDS, RANDOM_STATES), numpy.uint32)
    words[0] = word
    for index in range(1, _WORDS):
        word = numpy.uint32(1812433253) * (word ^ (word >> numpy.uint32(30))) + numpy.uint32(index)
        words[index] = word
    states = numpy.empty((RANDOM_STATES, _WORDS + 1), numpy.uint64)
    states[:, :_WORDS] = words.T
    states[:, _WORDS] = _WORDS
    return states


GENERATORS = _Pool()


# Where the objects of version 11 say that they were made by `CustomStatefulOp::create`, or that this does not matter.
_IGNORES_WARNING, _WAS_CREATED = 8, 9
_warned: set[tuple[str, str]] = set()


class State:
    """A state, which is destroyed with this object. Versions before 11 have no function for that: it then stays.

    Attributes
    ----------
    pointer : int
    lock : lock
        Held during calls: two must not use a state at once.
    """

    __slots__ = ("_destroy", "lock", "pointer")

    def __init__(self, binary: Binary, pointer: int, name: str) -> None:
        self._destroy: Callable[[int], None] | None = binary.functions.get("_opCallDestroyOpState")
        self.pointer = pointer
        self.lock = threading.RLock()
        if binary.version >= 11:
            _warn_about_creation(pointer, name, binary.path)

    def __del__(self) -> None:
        try:
            destroy, self._destroy = self._destroy, None
        except AttributeError:  # interrupted before it had one
            return
        if destroy is not None:
            destroy(self.pointer)


def _warn_about_creation(pointer: int, name: str, path: str) -> None:
    flags = (c_ubyte * 16).from_address(pointer)
    if flags[_IGNORES_WARNING] or flags[_WAS_CREATED] or (path, name) in _warned:
        return
    _warned.add((path, name))
    warnings.warn(
        f"{name}: its state was made without CustomStatefulOp::create<...>(), so that MXNet warns: an object made by "
        "another runtime library than the one that destroys it may not survive that. Make it with create, or set "
        "ignore_warn.",
        stacklevel=2,
    )


class KeptState:
    """A state that is kept between calls for inputs of one kind; inputs of another kind replace it."""

    __slots__ = ("_key", "_lock", "_state")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._key: Any = None
        self._state: State | None = None

    def get(self, key: Any, make: Callable[[Any], State]) -> State:
        """Return the state for inputs of a kind, which `make(key)` makes if there is none."""
        with self._lock:
            if self._state is None or key != self._key:
                self._state = None
                self._state = make(key)
                self._key = key
            return self._state
