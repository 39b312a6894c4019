"""Definitions of updates as chains of calls with reused memory: for the blocks of large weights.

A definition makes an array for each of its operations, which on large blocks costs a sixth of its time. Here it is run
once on array proxies, which record the calls. Then each block is computed by these calls, with a few arrays that take
the results in turns, and numbers that have the arrays' dtype already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["ElementwiseChain"]

_COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}


class _ArrayProxy(NDArrayOperatorsMixin):
    """A one-dimensional array of some dtype, of which `calls` record what is computed: function, inputs, target."""

    ndim = 1
    __hash__ = object.__hash__  # of the object: `==` is recorded, too

    def __init__(self, dtype: np.dtype, calls: list[tuple[Any, Sequence[Any], _ArrayProxy]]) -> None:
        self.dtype = dtype
        self.calls = calls

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Sequence[Any] = (None,)) -> _ArrayProxy:
        return self._record(ufunc, inputs, out[0])

    def __array_function__(self, function: Any, types: Any, inputs: Sequence[Any], keywords: Any) -> _ArrayProxy:
        return self._record(function, inputs)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._record(*_copy_of(value), self)

    def __bool__(self) -> bool:
        raise TypeError("An update's definition chooses by the values of an array; expected np.where.")

    def astype(self, dtype: Any) -> _ArrayProxy:
        """Return itself: all arrays of a chain have the dtype that is computed in."""
        return self

    def copy(self) -> _ArrayProxy:
        return self._record(*_copy_of(self))

    def _record(self, function: Any, inputs: Sequence[Any], out: _ArrayProxy | None = None) -> _ArrayProxy:
        target = _ArrayProxy(self.dtype, self.calls) if out is None else out
        self.calls.append((function, inputs, target))
        return target


class ElementwiseChain:
    """A definition of `num_arrays` arrays of one dtype as a sequence of calls that write into given memory.

    `num_temporaries` is the number of further arrays that `run` needs.
    """

    def __init__(
        self, definition: Callable[..., Any], num_arrays: int, dtype: np.dtype, attributes: dict[str, Any]
    ) -> None:
        calls: list[tuple[Any, Sequence[Any], _ArrayProxy]] = []
        arrays = [_ArrayProxy(dtype, calls) for _ in range(num_arrays)]
        result = definition(*arrays, **attributes)
        if not calls or calls[-1][2] is not result or any(target is result for *_, target in calls[:-1]):
            result = result.copy()  # `out` may be the weight: only the last call writes there, when all is read
        last_reads = {item: position for position, (_, inputs, _) in enumerate(calls) for item in _proxies(inputs)}
        slots: dict[Any, int] = {proxy: slot for slot, proxy in enumerate([*arrays, result])}
        num_slots = len(slots)
        reusable: set[_ArrayProxy] = set()  # results whose memory others may take afterwards
        free_slots: list[int] = []
        self._calls: list[tuple[Any, list[Any], int, bool]] = []
        for position, (function, inputs, target) in enumerate(calls):
            operands = [slots[item] if isinstance(item, _ArrayProxy) else np.array(item, dtype) for item in inputs]
            free_slots += [
                slots[item] for item in reusable.intersection(_proxies(inputs)) if last_reads[item] == position
            ]
            takes_out = isinstance(function, np.ufunc) and function not in _COMPARISONS
            if target not in slots and takes_out and free_slots:
                slots[target] = free_slots.pop()
            elif target not in slots:
                slots[target] = num_slots
                num_slots += 1
            if takes_out and slots[target] > num_arrays:
                reusable.add(target)
            self._calls.append((function, operands, slots[target], takes_out))
        self.num_temporaries = num_slots - num_arrays - 1

    def run(self, temporaries: Sequence[Any], out: np.ndarray, *arrays: np.ndarray, **attributes: Any) -> None:
        """Compute one block: move the states among its `arrays`, and write the result into `out`."""
        memory = [*arrays, out, *temporaries]
        for function, operands, slot, takes_out in self._calls:
            inputs = [memory[item] if type(item) is int else item for item in operands]
            if takes_out:
                function(*inputs, out=memory[slot])
            else:
                memory[slot] = function(*inputs)


def _copy_of(value: Any) -> tuple[Any, Sequence[Any]]:
    return np.multiply, [value, 1.0]  # np.positive takes three times as long


def _proxies(inputs: Sequence[Any]) -> list[Any]:
    return [item for item in inputs if isinstance(item, _ArrayProxy)]
