"""Updates of weights as one native loop, in place, where NumPy makes several passes over memory.

The definition of an update is traced once for all lengths: the loop is made for one that no array has, and is run as
far as an array reaches, in whole units; what is left of a weight is copied into memory of a unit's length, and back.
The rate, which schedules change, and which weights may have their own of, is read from memory; all other numbers are
part of the code. One call makes the steps of any number of weights: it looks at all arrays before it writes to any,
those of one weight share no memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.backends.switches import is_enabled
from minpy.ops.optimizer.updates import Update

__all__ = ["run"]

# Calls with the same numbers before a loop is made, of however many weights: what is trained for a few steps only, or
# whose numbers change with every step, is not worth it.
_CALLS_BEFORE_COMPILING = 16
# Sets of numbers that are counted for one update: if its numbers change with every step, it stays in NumPy.
_MAX_ENTRIES = 64
# The length that loops are made for, in elements.
_LENGTH = 1 << 40


class _Entry:
    """One update with some numbers: how often it was called, and its loop once that is compiled."""

    __slots__ = ("calls", "is_decided", "loop")

    def __init__(self) -> None:
        self.calls = 0
        self.loop: Callable[..., Any] | None = None
        self.is_decided = False


_entries: dict[Update, dict[Any, _Entry]] = {}
_compile_lock = threading.Lock()


def run(
    update: Update, raws: Sequence[numpy.ndarray], attributes: dict[str, Any], rates: Sequence[float] | None = None
) -> bool:
    """Make a step of some weights natively, in place, and tell whether that was done; if not, nothing has been.

    Parameters
    ----------
    update : Update
    raws : sequence of numpy.ndarray
        What the update takes, for one weight after the other: the weight, its gradient, and the states.
    attributes : dict
        All of its numbers, the same for all weights.
    rates : sequence of float, optional
        Of each weight. Without it there is one weight, whose rate is `lr`.

    Examples
    --------
    >>> from minpy.ops.optimizer.sgd import sgd_update
    >>> run(sgd_update, [numpy.ones(4), numpy.ones(4)], {"lr": 0.5, "wd": 0.0})  # not the first time
    False
    """
    dtype = raws[0].dtype
    if rates is None:
        rates = (attributes.get("lr", 0.0),)
    if not (update.is_one_loop and dtype.char in "fd" and dtype.isnative and is_enabled()):
        return False
    try:
        key = (dtype, *[item for item in attributes.items() if item[0] != "lr"])
        entries = _entries.setdefault(update, {})
        entry = entries.get(key)
        if entry is None:
            if len(entries) >= _MAX_ENTRIES:
                return False
            entry = entries.setdefault(key, _Entry())
    except TypeError:  # some of them cannot be compared
        return False
    if not entry.is_decided:
        entry.calls += 1
        # Without waiting: in a forked child there may be nobody to wait for.
        if entry.calls < _CALLS_BEFORE_COMPILING or not _compile_lock.acquire(blocking=False):
            return False
        try:
            if not entry.is_decided:
                entry.loop = _find_loop(update, dtype, attributes)
                entry.is_decided = True
        finally:
            _compile_lock.release()
    return entry.loop is not None and entry.loop(numpy.array(rates, dtype), *raws) is None


# -- making loops ------------------------------------------------------------------------------------------------------


def _find_loop(update: Update, dtype: numpy.dtype, attributes: dict[str, Any]) -> Callable[..., Any] | None:
    """Return the loop of an update with some numbers, see `update_loop`; None where there is none."""
    from minpy.backends.native.machine import llvm

    if not llvm.available():
        return None
    from minpy.backends.native.translating.results import NotLowered
    from minpy.core.errors import MXNetError

    try:
        return _compile_loop(update, dtype, attributes)
    except (MXNetError, NotLowered, NotImplementedError):  # it stays NumPy's, as it is without llvmlite
        return None


def _compile_loop(update: Update, dtype: numpy.dtype, attributes: dict[str, Any]) -> Callable[..., Any] | None:
    from minpy.backends.native.codegen.launch_sequences import task_text
    from minpy.backends.native.codegen.update_loop import loop_text
    from minpy.backends.native.fusing.fuser import scheduled
    from minpy.backends.native.fusing.loop_nest import Nest, Place
    from minpy.backends.native.kernels.codegen import kernel_of
    from minpy.backends.native.kernels.ir_module import module_text
    from minpy.backends.native.kernels.kernel import is_long, seconds
    from minpy.backends.native.language import Array, Elementwise, Layout, Part, Routine
    from minpy.backends.native.machine import helper_thread, llvm
    from minpy.backends.native.machine.python_builtins import builtin
    from minpy.backends.native.passes import optimized
    from minpy.backends.native.runtime.address_table import Table
    from minpy.backends.native.translating.operator_lowering import Operators
    from minpy.backends.native.translating.step_builder import Emitter

    arrays = [Array((_LENGTH,), dtype, name=name) for name in map(update.signature.inputs.__getitem__, update.blocked)]
    rate = Array((), dtype, name="lr")
    emitter = Emitter()
    results = Operators(emitter).defined(_step_function(update, attributes), rate, *arrays)
    routine = optimized(Routine([Part("update", [rate, *arrays], emitter.steps, list(results))]))
    targets = [arrays[index] for index in update.moved]
    outputs = routine.parts[0].outputs
    (schedule,) = scheduled(routine)
    if len(schedule.items) != 1:
        return None
    (nest,) = schedule.items
    if not isinstance(nest, Nest) or set(outputs) != set(nest.stored) or len(set(outputs)) != len(targets):
        return None
    if not all(isinstance(step, Elementwise) for step in nest.steps):  # of all lengths alike are these only
        return None
    nest.stored = {output: Place(target, Layout(0, (1,))) for output, target in zip(outputs, targets, strict=True)}
    kernel = kernel_of(nest)
    if kernel.scratch or kernel.splits == 1:
        return None
    body, names = module_text([kernel])
    name, unit = names[kernel], _LENGTH // kernel.splits
    least_shared = None
    if helper_thread.find() is not None:
        each = seconds(kernel.flops, kernel.bytes_moved) / kernel.splits
        least_shared = next(units for units in (1 << power for power in range(64)) if is_long(units * each))
    pointers = [None if pointer.array is rate else arrays.index(pointer.array) for pointer in kernel.pointers]
    table = Table()
    text = loop_text(f"{name}_task", pointers, len(arrays), update.moved, dtype, unit, least_shared, table)
    loaded = llvm.compile(body + task_text(kernel, name) + text)
    return builtin(loaded.address("update"), "update", table.filled(), loaded)


def _step_function(update: Update, attributes: dict[str, Any]) -> Callable[..., Any]:
    """Return the function that computes what an update writes: the new weight and states."""
    fixed: dict[str, Any] = {name: value for name, value in attributes.items() if name != "lr"}
    if not fixed.get("wd", 1):
        fixed["wd"] = _NoDecay()
    has_rate = "lr" in attributes

    def stepped(rate: Any, weight: Any, gradient: Any, *states: Any) -> Any:
        moving = [state.copy() for state in states]
        new = update.definition(weight, gradient, *moving, **fixed, **({"lr": rate} if has_rate else {}))
        return (new, *[moving[index - 2] for index in update.changed])

    return stepped


class _NoDecay:
    """A weight decay of 0 that adds no steps: 0 · weight would be NaN for an infinite weight."""

    __array_ufunc__ = None  # arrays leave sums and products with it to it

    def __bool__(self) -> bool:
        return False

    def __mul__(self, other: Any) -> _NoDecay:
        return self

    def __radd__(self, other: Any) -> Any:
        return other

    __rmul__ = __mul__
    __add__ = __rsub__ = __radd__
