"""NumPy's functions called on proxies: a handler for each kind of `minpy.numpy_table`, whose rows say the rest.

A function that is an operator (`minpy.ops.registry.FUNCTIONS`) becomes a node of that operator. What has no row is not
captured.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy

from minpy.capture.abstract_evaluation import VALUE_BASED, Fact, fact_of, large, tiny
from minpy.capture.noting import (
    FUNCTION_HANDLERS,
    call_function,
    constant,
    is_known,
    known_of,
    operand,
    require_order,
    steps_of,
)
from minpy.capture.recorder import Recorder
from minpy.capture.storage import require_apart, require_writable, store, store_all
from minpy.capture.values import BaseArrayProxy
from minpy.core.operator import Operator
from minpy.differentiation.trees import leaves_of
from minpy.numpy_table.row import Row
from minpy.numpy_table.table import ROWS, functions, row_of
from minpy.ops.registry import FUNCTIONS

__all__ = ["bound_arguments", "changed", "filled", "full_like"]

_NO_VALUE = vars(numpy)["_NoValue"]


@functools.lru_cache(None)
def _signature(function: Any) -> inspect.Signature:
    row = row_of(function)
    if row is None or not row.parameters:
        return inspect.signature(function)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind, default=_NO_VALUE) for name in row.parameters.split()])


def bound_arguments(function: Any, arguments: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, without those that are not given or given as their default."""
    signature = _signature(function)
    by_name = dict(signature.bind(*arguments, **keywords).arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            by_name.update(by_name.pop(name, {}))
    return {
        name: value
        for name, value in by_name.items()
        if value is not _NO_VALUE
        and not (name in signature.parameters and _is_default(value, signature.parameters[name].default))
    }


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and type(value) in (int, str, bool) and value == default)


def _checked_arguments(
    recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Return (arguments by name, `out`), of which only those that the row says may hold what is captured."""
    named = bound_arguments(function, arguments, keywords)
    out = named.pop("out", None)
    if named.get("copy") is False and function is numpy.nan_to_num and isinstance(named["x"], BaseArrayProxy):
        del named["copy"]
        out = named["x"]
    if named.get("copy") is False:
        raise recorder.refuse(f"{function.__name__} with copy=False changes an array, or answers with a part of it")
    if named.get("overwrite_input"):
        raise recorder.refuse(f"{function.__name__} changes an array in place: overwrite_input=")
    if function in (numpy.ravel, numpy.reshape):
        require_order(recorder, function.__name__, named.get("order", "C"))
    for position, name in enumerate(_signature(function).parameters):
        if name in named and not row.may_capture(position):
            for value in leaves_of(named[name]):
                if not is_known(value):
                    raise recorder.refuse(f"{function.__name__} with an array as {name}= cannot be captured")
            named[name] = _known_values(named[name])
            if any(callable(value) and not isinstance(value, type) for value in leaves_of(named[name])):
                raise recorder.refuse(f"{function.__name__} calls a function: {name}=")
    return named, out


def _known_values(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return list(map(_known_values, value)) if isinstance(value, list) else tuple(map(_known_values, value))
    return known_of(value)


def _split(row: Row, function: Any, named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return (arguments by position, by keyword): those up to the last one captured, if none is missing."""
    signature = list(_signature(function).parameters.items())
    count = row.captured if isinstance(row.captured, int) else max(row.captured) + 1
    variadic = [place for place, (_, parameter) in enumerate(signature) if parameter.kind is parameter.VAR_POSITIONAL]
    if variadic and signature[variadic[0]][0] in named:
        count = max(count, variadic[0] + 1)
    positional: list[Any] = []
    by_keyword = dict(named)
    for name, parameter in signature[:count]:
        if name not in by_keyword:
            break
        value = by_keyword.pop(name)
        positional += value if parameter.kind is parameter.VAR_POSITIONAL else [value]
    if "newshape" in by_keyword and len(positional) == 1:  # NumPy 1's name of it, which gradients do not know
        positional.append(by_keyword.pop("newshape"))
    return tuple(positional), by_keyword


def _operator_of(
    recorder: Recorder, function: Any, named: dict[str, Any]
) -> tuple[Operator, list[Any], dict[str, Any]] | None:
    """Return (operator, inputs, attributes) if the call is one of an operator."""
    operator = FUNCTIONS.get(function)
    if not isinstance(operator, Operator) or operator.keeps_dtype:
        return None
    if recorder.of_user and function in (numpy.sum, numpy.mean):  # ours lose fewer digits
        return None
    names = operator.signature.inputs[: len([name for name in operator.signature.inputs if name in named])]
    attributes = {name: value for name, value in named.items() if name not in names}
    inputs = [named.get(name) for name in names]
    if attributes.keys() - operator.signature.attributes.keys():
        return None
    if any(value is None or type(value) in (list, tuple) for value in inputs):
        return None
    return operator, inputs, attributes


# -- one step ----------------------------------------------------------------------------------------------------------


def _step(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any], kind: str = "") -> Any:
    """Handle a call as one step of the kind that its row says, or of another one."""
    named, out = _checked_arguments(recorder, row, function, arguments, keywords)
    positional, by_keyword = _split(row, function, named)
    operator = _operator_of(recorder, function, named)
    result = steps_of(recorder, function, positional, by_keyword, kind or row.kind, operator=operator)
    return store_all(recorder, out, result)


def _choose(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    if len(arguments) + len(keywords) == 1:
        return _sized(recorder, ROWS["nonzero"], numpy.nonzero, arguments, {})
    return _step(recorder, row, function, arguments, keywords, "elementwise")


def _copy(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """A copy of an array that is no view needs no step: nothing is ever written to."""
    array = arguments[0] if arguments else keywords["a"]
    if not isinstance(array, BaseArrayProxy) or array.is_view or array.scalar or array.known is not None:
        return _step(recorder, row, function, arguments, keywords, "elementwise")
    return recorder.proxy_class(recorder, array.value, array.fact)


def _cast(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    named = bound_arguments(function, arguments, keywords)
    if named.keys() - {"x", "dtype", "copy"}:
        raise recorder.refuse(f"numpy.astype with {', '.join(keywords)}= cannot be captured")
    return named["x"].astype(named["dtype"], copy=named.get("copy", True))


def _real(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    array = next(iter(bound_arguments(function, arguments, keywords).values()))
    if array.dtype.kind == "c" and not is_known(array):
        raise recorder.refuse("whether numpy.real_if_close answers with complex numbers depends on values")
    return array if array.dtype.kind != "c" else _step(recorder, row, function, arguments, keywords, "call")


def _spectrum(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    (array,) = bound_arguments(function, arguments, keywords).values()
    if array.dtype.kind != "c" and not is_known(array):
        name = f"numpy.linalg.{function.__name__}"
        raise recorder.refuse(
            f"whether {name} answers with complex numbers depends on values: it does for complex ones"
        )
    return _step(recorder, row, function, arguments, keywords, "call")


def _bins(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    if isinstance(bound_arguments(function, arguments, keywords).get("bins"), str):
        raise recorder.refuse(f"how many bins numpy.{function.__name__} makes depends on values: say how many")
    return _step(recorder, row, function, arguments, keywords, "call")


def _sized(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Handle a call where the shape depends on values that are known."""
    named = bound_arguments(function, arguments, keywords)
    deciding = [
        value for position, value in enumerate(named.values()) if row.captured == 1 or not row.may_capture(position)
    ]
    if not all(is_known(value) for value in leaves_of(deciding)):
        raise recorder.refuse(f"the shape of numpy.{row.name}'s answer depends on values")
    return _step(recorder, row, function, arguments, keywords, "call")


def _accumulate(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    named, out = _checked_arguments(recorder, row, function, arguments, keywords)
    positional, by_keyword = _split(row, function, named)
    (array,) = positional
    sample = fact_of(function(tiny(array), **by_keyword))
    shape = (array.size,) if by_keyword.get("axis") is None or not array.shape else array.shape
    fact = Fact(shape, sample.dtype, False)
    return store_all(recorder, out, steps_of(recorder, function, positional, by_keyword, "call", fact))


# In the order in which `einsum` sorts labels that are numbers, and letters.
_LABELS = ascii_uppercase + ascii_lowercase


def _subscripts_of_lists(recorder: Recorder, arguments: Sequence[Any]) -> list[Any]:
    """Return the arguments of `einsum` with labels in lists as a subscripts text and the operands."""
    *parts, result = arguments if len(arguments) % 2 else (*arguments, None)
    terms = parts[1::2]
    for labels in terms if result is None else [*terms, result]:
        if not isinstance(labels, (list, tuple)) or not all(
            label is Ellipsis or (type(label) is int and 0 <= label < len(_LABELS)) for label in labels
        ):
            raise recorder.refuse("numpy.einsum is given labels that are not lists of numbers from 0 to 51")

    def text(labels: Sequence[Any]) -> str:
        return "".join("..." if label is Ellipsis else _LABELS[label] for label in labels)

    return [",".join(map(text, terms)) + ("" if result is None else f"->{text(result)}"), *parts[::2]]


def _einsum(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    out = keywords.pop("out", None)
    text, *values = arguments if isinstance(arguments[0], str) else _subscripts_of_lists(recorder, arguments)
    operands = [operand(recorder, value) for value in values]
    kind = "product" if len(operands) > 1 else "view"  # of one array it may be a view
    return store_all(recorder, out, steps_of(recorder, function, (text, *operands), keywords, kind))


def _write(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> None:
    """Handle a function that changes its first argument: another one of its kind is made."""
    target, *operands = arguments or [keywords.pop(row.writes, None)]
    if not isinstance(target, BaseArrayProxy):
        raise recorder.refuse(f"numpy.{function.__name__} changes an array that is not captured")
    require_writable(target)
    if function is not numpy.copyto:
        require_apart(target, (operands, keywords))
    store(target, steps_of(recorder, changed, (function, target, tuple(operands), keywords), {}, "call", target.fact))


def changed(function: Any, target: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Return a copy of an array after a function that changes its first argument."""
    target = numpy.array(target)
    function(target, *arguments, **keywords)
    return target


def _like(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    named = bound_arguments(function, arguments, keywords)
    array = next(iter(named.values()))
    shape = named.get("shape", array.shape)
    dtype = numpy.dtype(named.get("dtype") or array.dtype)
    value = named["fill_value"] if function is numpy.full_like else None
    if value is not None and not is_known(value):
        return full_like(recorder, value, shape, dtype)
    numbers = () if value is None else (known_of(value),)
    if recorder.freezes and "shape" not in named:  # the graph is asked for other lengths, too
        typed = {"dtype": dtype} if "dtype" in named else {}
        return steps_of(recorder, function, (array, *numbers), typed, "call", Fact(shape, dtype, False))
    if numbers:
        return constant(recorder, numpy.full(shape, *numbers, dtype))
    return constant(recorder, (numpy.ones if function is numpy.ones_like else numpy.zeros)(shape, dtype))


def full_like(recorder: Recorder, value: Any, shape: Any, dtype: Any) -> Any:
    """Return an array that is filled with a value which is captured."""
    return steps_of(recorder, filled, (value, tuple(shape), dtype), {}, "call", Fact(tuple(shape), dtype, False))


def filled(value: Any, shape: Any, dtype: Any) -> Any:
    """Return `numpy.full`, with its arguments in another order."""
    return numpy.full(shape, value, dtype)


# -- several arrays, each by itself ------------------------------------------------------------------------------------


def _each(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Return a view of each array by itself: a change through it changes no other array."""
    arrays = [operand(recorder, value) for value in arguments]
    if function is numpy.broadcast_arrays:
        shape = numpy.broadcast_shapes(*map(numpy.shape, arrays))
        views = [call_function(recorder, numpy.broadcast_to, (array, shape), {}) for array in arrays]
    elif len(arrays) == 1:
        return _step(recorder, row, function, arrays, keywords, "view")
    else:
        views = [call_function(recorder, function, (array,), {}) for array in arrays]
    return type(function(0.0, 0.0))(views)


def _mesh(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Handle `ix_`: vectors as they index the axes of one array."""
    vectors = [operand(recorder, value) for value in arguments]
    for vector in vectors:
        if not is_known(vector) and vector.dtype.kind == "b":
            raise recorder.refuse("the shape of numpy.ix_'s answer depends on values, those of a mask")
        if numpy.ndim(vector) != 1:
            raise ValueError("Cross index must be 1 dimensional")
    meshes = []
    for place, vector in enumerate(vectors):
        if is_known(vector):
            (vector,) = (constant(recorder, each) for each in numpy.ix_(known_of(vector)))
        meshes.append(vector.reshape((1,) * place + (vector.size,) + (1,) * (len(vectors) - place - 1)))
    return tuple(meshes)


# -- what depends on shapes and dtypes ---------------------------------------------------------------------------------


def _index(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """Return positions in an array of some shape."""
    array, *sizes = bound_arguments(function, arguments, keywords).values()
    return tuple(constant(recorder, each) for each in function(large(array), *map(known_of, sizes)))


def _structure(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    if function is numpy.result_type:
        if VALUE_BASED and any(not is_known(argument) and not argument.shape for argument in arguments):
            raise recorder.refuse("the dtype of the answer depends on a value: NumPy 2 looks at dtypes only")
        return numpy.result_type(
            *(known_of(argument) if is_known(argument) else tiny(argument) for argument in arguments)
        )
    if function in (numpy.can_cast, numpy.common_type, numpy.einsum_path):
        sample = large if function is numpy.einsum_path else tiny
        samples = [sample(value) if isinstance(value, BaseArrayProxy) else value for value in arguments]
        if VALUE_BASED and function is numpy.can_cast and not samples[0].shape:
            raise recorder.refuse("the answer depends on a value: NumPy 2 looks at dtypes only")
        return function(*samples, **keywords)
    array, *axes = bound_arguments(function, arguments, keywords).values()
    array = operand(recorder, array)
    if function is numpy.size and axes:
        return array.shape[axes[0]]
    if function in (numpy.shape, numpy.ndim, numpy.size):
        return getattr(array, function.__name__)
    return (array.dtype.kind == "c") is (function is numpy.iscomplexobj)


def _plain_call(recorder: Recorder, row: Row, function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    raise recorder.refuse(f"numpy.{function.__name__} takes no arrays")


# By kind of row: `handler(recorder, row, function, arguments, keywords)`.
_HANDLERS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("elementwise", "view", "reduce", "product", "call"), _step),
    **dict.fromkeys(("pieces", "range"), functools.partial(_step, kind="call")),
    "accumulate": _accumulate,
    "bins": _bins,
    "cast": _cast,
    "choose": _choose,
    "copy": _copy,
    "each": _each,
    "fact": _structure,
    "imag": functools.partial(_step, kind="elementwise"),
    "index": _index,
    "like": _like,
    "mesh": _mesh,
    "plain": _plain_call,
    "real": _real,
    "sized": _sized,
    "spectrum": _spectrum,
    "subscripts": _einsum,
    "write": _write,
}
FUNCTION_HANDLERS.update(
    (function, (_HANDLERS[row.kind], row))
    for function, row in functions()
    if row.kind in _HANDLERS and not isinstance(function, numpy.ufunc)
)
