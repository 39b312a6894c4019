"""NumPy's ufuncs and their methods, called on proxies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from minpy.capture.abstract_evaluation import Fact, fact_of, tiny
from minpy.capture.noting import call_function, elementwise, operand, steps_of
from minpy.capture.recorder import Recorder
from minpy.capture.storage import plain_index, require_apart, require_writable, store
from minpy.capture.values import BaseArrayProxy
from minpy.differentiation.trees import leaves_of
from minpy.numpy_table.table import row_of

__all__ = ["add_at", "call_ufunc", "computed_at", "computed_where", "is_default", "masked"]


def is_default(key: str, value: Any) -> bool:
    """Tell whether an option of a call of a ufunc says nothing."""
    return (
        (key in ("where", "subok") and value is True)
        or (key == "casting" and value == "same_kind")
        or (key == "order" and value == "K")
        or (key == "dtype" and value is None)
    )


def call_ufunc(recorder: Recorder, ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Handle a call of a ufunc, or of a method of it, without `out=` and `where=`."""
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if row_of(ufunc) is None and all("O" in loop for loop in ufunc.types):
        raise recorder.refuse(f"{name} calls a function of Python: numpy.frompyfunc made it")
    if method == "__call__":
        if ufunc.signature is not None:
            if row_of(ufunc) is None or options:
                raise recorder.refuse(f"{name} cannot be captured")
            values = tuple(operand(recorder, value) for value in inputs)
            return steps_of(recorder, ufunc, values, {}, "product")
        if options.keys() - {"dtype"}:
            raise recorder.refuse(f"{name} with {', '.join(options)}= cannot be captured")
        return elementwise(recorder, ufunc, inputs, options.get("dtype"))
    if method == "outer" and not options:
        first, second = (operand(recorder, value) for value in inputs)
        lengths = numpy.shape(first) + (1,) * numpy.ndim(second)
        return elementwise(recorder, ufunc, (call_function(recorder, numpy.reshape, (first, lengths), {}), second))
    array, *positional = inputs
    named = dict(zip(("axis", "dtype"), positional[: 2 if method != "reduceat" else 0], strict=False)) | options
    if any(isinstance(value, BaseArrayProxy) for value in leaves_of(named)) or len(positional) > 2:
        raise recorder.refuse(f"{name} with an array as an option cannot be captured")
    function = getattr(ufunc, method)
    if method == "reduce":
        return steps_of(recorder, function, (array,), {"axis": 0} | named, "reduce")
    if method == "accumulate":
        sample = fact_of(function(tiny(array), **named))
        return steps_of(
            recorder, function, (array,), named, "call", fact=Fact(array.shape, sample.dtype, sample.scalar)
        )
    raise recorder.refuse(f"{name} cannot be captured")


def masked(
    recorder: Recorder, ufunc: Any, method: str, inputs: Sequence[Any], where: Any, out: Any, options: dict[str, Any]
) -> Any:
    """Handle `ufunc(..., out=y, where=mask)`: where the mask is False, `y` stays, and nothing is computed."""
    target = out[0] if out is not None and len(out) == 1 else None
    if method != "__call__" or ufunc.signature is not None or not isinstance(target, BaseArrayProxy):
        called = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise recorder.refuse(f"{called} with where=, and without an out= made by the function, cannot be captured")
    require_writable(target)
    values = tuple(operand(recorder, value) for value in (*inputs, where))
    fact = target.fact
    result = steps_of(recorder, computed_where, (ufunc, target, values, options), {}, "elementwise", fact=fact)
    return store(target, result)


def add_at(recorder: Recorder, ufunc: Any, target: Any, index: Any, *values: Any) -> None:
    """Handle `ufunc.at(target, index, values)`."""
    if not isinstance(target, BaseArrayProxy):
        raise recorder.refuse(f"{ufunc.__name__}.at of an array that is not captured")
    require_writable(target)
    index, _ = plain_index(recorder, target, index)
    operands = tuple(operand(recorder, value) for value in values)
    require_apart(target, operands)
    store(target, steps_of(recorder, computed_at, (ufunc, target, index, operands), {}, "call", fact=target.fact))


def computed_where(ufunc: Any, target: Any, values: Any, options: dict[str, Any]) -> Any:
    """Return `target` with what a ufunc of `values` gives, but the last of them, where the last is True."""
    target = numpy.array(target)
    return ufunc(*values[:-1], out=target, where=values[-1], **options)


def computed_at(ufunc: Any, target: Any, index: Any, values: Any) -> Any:
    """Return a copy of an array after `ufunc.at(target, index, *values)`."""
    target = numpy.array(target)
    ufunc.at(target, index, *values)
    return target
