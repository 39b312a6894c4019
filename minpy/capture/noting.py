"""What is done to proxies becomes steps: nodes of a graph, with the facts of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.capture import steps
from minpy.capture.abstract_evaluation import VALUE_BASED, Fact, fact_of, invertible, large, reduced, shrunken, tiny
from minpy.capture.recorder import Recorder
from minpy.capture.values import BaseArrayProxy
from minpy.capture.view_or_copy import in_container, note_order, viewed
from minpy.core.array import Array
from minpy.core.dtypes import ARRAY_KINDS
from minpy.differentiation.trees import leaves_of
from minpy.graph.ir import Node, Value
from minpy.numpy_table.row import Row
from minpy.numpy_table.table import row_of
from minpy.ops.registry import OPERATORS

__all__ = [
    "FUNCTION_HANDLERS",
    "as_array",
    "call_function",
    "constant",
    "elementwise",
    "front_of",
    "in_container",
    "is_known",
    "known_of",
    "operand",
    "output_proxy",
    "require_order",
    "steps_of",
    "value_of",
]

# By NumPy function: (`handler(recorder, row, function, arguments, keywords)`, its row). Filled in `functions`.
FUNCTION_HANDLERS: dict[Any, tuple[Callable[..., Any], Row]] = {}

# What NumPy warns of, where a sample has few elements; the dtype of the result does not depend on it.
_OF_COUNTS = ("correction", "ddof")
_NUMBERS = (bool, int, float, complex, numpy.generic)


def front_of(arrays: Sequence[BaseArrayProxy]) -> Any:
    """Return the class of ours that the result of a call has; None: NumPy's."""
    return next((array.front for array in arrays if array.front is not None), None)


def output_proxy(recorder: Recorder, node: Node, fact: Fact, index: int = 0, front: Any = None) -> Any:
    """Return the proxy for an output of a node, in a storage of its own: of a class of ours, that has no scalars."""
    if front is not None:
        fact = fact._replace(scalar=False)
    if recorder.paused and fact.dtype.kind in "fc":  # what a scope leaves without a gradient
        recorder.outputs[Value(node, index)] = (fact.shape, fact.dtype)
        recorder.facts.setdefault(node, (fact.shape, fact.dtype))
        node, index = recorder.node(OPERATORS["BlockGrad"], [Value(node, index)]), 0
    recorder.facts.setdefault(node, (fact.shape, fact.dtype))
    recorder.outputs[Value(node, index)] = (fact.shape, fact.dtype)
    return recorder.proxy_class(recorder, Value(node, index), fact, front=front)


def constant(recorder: Recorder, value: Any) -> Any:
    """Return a proxy for an array or scalar that depends on no input, in memory of its own."""
    data = value if isinstance(value, numpy.generic) else numpy.array(value)
    if data.dtype.kind not in ARRAY_KINDS:
        raise recorder.refuse(f"an array of dtype {data.dtype}")
    return recorder.proxy_class(recorder, recorder.constant(data), fact_of(data), None, data)


def operand(recorder: Recorder, value: Any) -> Any:
    """Return an operand as a proxy or a number; arrays and lists of numbers become constants."""
    if isinstance(value, (BaseArrayProxy, *_NUMBERS)):
        return value
    if hasattr(type(value), "pin"):
        return value.pin()
    if hasattr(type(value), "inner"):  # in an NDArray's place
        return value.inner
    if recorder.freezes and isinstance(value, Array):  # what somebody else's function gave
        return constant(recorder, value._data)
    if isinstance(value, (list, tuple)):
        if any(isinstance(leaf, BaseArrayProxy) for leaf in leaves_of(value)):
            return stacked(recorder, value)
        value = numpy.array(value)
    if type(value) is numpy.ndarray:
        return constant(recorder, value)
    raise recorder.refuse(f"an operand is a {type(value).__name__}")


def stacked(recorder: Recorder, values: Any) -> Any:
    """Return what `numpy.array` makes of a list with proxies in it."""
    parts = [operand(recorder, value) for value in values]
    return call_function(recorder, numpy.stack, (parts,), {})


def as_array(recorder: Recorder, scalar: Any) -> Any:
    """Return a scalar as an array without axes: operators of Python do not always do the same to both."""
    return steps_of(recorder, numpy.array, (scalar,), {}, "call", scalar.fact._replace(scalar=False))


def value_of(recorder: Recorder, value: Any) -> Value:
    """Return the value of the graph for an operand."""
    return value.value if isinstance(value, BaseArrayProxy) else recorder.constant(value)


def elementwise(recorder: Recorder, function: Any, operands: Sequence[Any], dtype: Any = None) -> Any:
    """Return the proxy for a ufunc (or a function like one) of operands."""
    values = [operand(recorder, value) for value in operands]
    keywords = {} if dtype is None else {"dtype": numpy.dtype(dtype)}
    if all(is_known(value) for value in values):
        with numpy.errstate(all="ignore"):
            return _constants(recorder, function(*map(known_of, values), **keywords))
    arrays = [value for value in values if isinstance(value, BaseArrayProxy)]
    with numpy.errstate(all="ignore"):
        sample = function(*map(_sample, values), **keywords)
    facts = [fact_of(output) for output in sample] if isinstance(sample, tuple) else [fact_of(sample)]
    shape = numpy.broadcast_shapes(*(value.shape for value in arrays))
    facts = [fact._replace(shape=shape) for fact in facts]
    if VALUE_BASED:
        _refuse_value_based(recorder, function, values, keywords)
    inputs = [value_of(recorder, value) for value in values]
    operator: Any
    if isinstance(function, numpy.ufunc) and not keywords and not isinstance(sample, tuple) and not facts[0].scalar:
        harmless = all(value.dtype.kind not in "biu" and not value.scalar for value in arrays)
        operator = steps.ufunc_operator(function, harmless)
    else:
        slots = tuple(steps.Slot(index) for index in range(len(values)))
        operator = steps.make_step(function, slots, keywords, len(facts) if isinstance(sample, tuple) else 0)
    node = recorder.node(operator, inputs, kind="elementwise")
    recorder.functions.setdefault(node, function)
    front = front_of(arrays)
    results = tuple(output_proxy(recorder, node, fact, index, front) for index, fact in enumerate(facts))
    note_order(arrays, results)
    return results if isinstance(sample, tuple) else results[0]


def require_order(recorder: Recorder, function: str, order: Any) -> None:
    """Refuse an order of elements that depends on how an array lies in memory, which may be another at each call."""
    if order not in ("C", "F"):
        raise recorder.refuse(
            f"{function} with order={order!r} depends on how the array lies in memory: take order='C' or order='F'"
        )


def is_known(value: Any) -> bool:
    """Tell whether an operand depends on no input."""
    return not isinstance(value, BaseArrayProxy) or value.known is not None


def known_of(value: Any) -> Any:
    """Return the values of an operand that depends on no input."""
    if not isinstance(value, BaseArrayProxy):
        return value
    return value.known


def _constants(recorder: Recorder, result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return in_container(type(result), [_constants(recorder, each) for each in result])
    return constant(recorder, result) if isinstance(result, (numpy.ndarray, numpy.generic)) else result


def _owner(recorder: Recorder, result: Any, samples: Sequence[Any], arrays: Sequence[BaseArrayProxy]) -> int | None:
    """Return the position of the array in whose memory a result lies, told by samples of all; None: its own."""
    owners = [
        position
        for position, sample in enumerate(samples)
        if isinstance(sample, numpy.ndarray) and numpy.may_share_memory(result, sample)
    ]
    if len({id(arrays[position].storage) for position in owners}) > 1:
        raise recorder.refuse("an answer lies in the memory of several arrays")
    return owners[0] if owners else None


def _sample(value: Any) -> Any:
    if not isinstance(value, BaseArrayProxy):
        return value
    return value.known if value.known is not None and not value.shape else tiny(value)


def _refuse_value_based(recorder: Recorder, function: Any, values: Sequence[Any], keywords: dict[str, Any]) -> None:
    """Refuse operands of no axes whose value would decide about the dtype of the result."""
    unknown = [value for value in values if isinstance(value, BaseArrayProxy) and value.known is None]
    if recorder.freezes or all(value.shape for value in unknown) or not any(value.shape for value in unknown):
        return
    dtypes = set()
    for extreme in (False, True):
        samples = [
            _extreme(value) if extreme and isinstance(value, BaseArrayProxy) and value.known is None else _sample(value)
            for value in values
        ]
        with numpy.errstate(all="ignore"):
            dtypes.add(numpy.asarray(function(*samples, **keywords)).dtype)
    if len(dtypes) > 1:
        raise recorder.refuse("the dtype of the answer depends on a value: NumPy 2 looks at dtypes only")


def _extreme(value: BaseArrayProxy) -> Any:
    limits = numpy.finfo(value.dtype) if value.dtype.kind in "fc" else None
    biggest = limits.max if limits is not None else numpy.iinfo(value.dtype).max if value.dtype.kind in "iu" else 1
    return numpy.full((1,) * value.ndim, biggest, value.dtype)


def steps_of(
    recorder: Recorder,
    function: Any,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    kind: str,
    fact: Fact | None = None,
    operator: tuple[Any, Sequence[Any], dict[str, Any]] | None = None,
) -> Any:
    """Return the result of a call as one step of some kind: a proxy, or a tuple or list of them.

    `operator` is (operator, inputs, attributes) where the call is one of an operator.
    """
    arrays: list[BaseArrayProxy] = []
    spec = _with_slots(recorder, arguments, arrays), _with_slots(recorder, keywords, arrays)
    shares = kind == "view"
    if all(array.known is not None for array in arrays):
        elements = [known_of(array) for array in arrays]
        with numpy.errstate(all="ignore"):
            filled = steps.fill(spec, elements)
            result = function(*filled[0], **filled[1])
        parts = result if isinstance(result, (list, tuple)) else [result]
        owners = [0 if shares else _owner(recorder, part, elements, arrays) for part in parts]
        output = _constants(recorder, result)
        return viewed(recorder, function, spec, arrays, output, owners) if arrays else output
    inputs = [array.value for array in arrays]
    container: Any = None
    if fact is not None:
        facts = [fact]
        owners = [None]
    else:
        container, facts, owners = _facts(recorder, function, spec, arrays, kind)
    if shares:
        owners = [0] * len(facts)
    if operator is not None and container is None:
        replacement, operands, attributes = operator
        values = [value_of(recorder, operand(recorder, value)) for value in operands]
        node = recorder.node(replacement, values, attributes, kind)
        recorder.functions.setdefault(node, function)
    else:
        outputs = len(facts) if container is not None else 0
        node = recorder.node(steps.make_step(function, *spec, outputs), inputs, kind=kind)
    front = front_of(arrays)
    results = [output_proxy(recorder, node, each, index, front) for index, each in enumerate(facts)]
    if kind in ("elementwise", "reduce"):
        note_order(arrays, results)
    output = results[0] if container is None else in_container(container, results)
    return viewed(recorder, function, spec, arrays, output, owners)


def _facts(
    recorder: Recorder, function: Any, spec: Any, arrays: Sequence[BaseArrayProxy], kind: str
) -> tuple[Any, list[Fact], list[int | None]]:
    """Return (class of the results if there are several, their facts, the arrays that they may be views of)."""

    def call(*samples: Any) -> Any:
        positional, keywords = steps.fill(spec, samples)
        return function(*positional, **keywords)

    with numpy.errstate(all="ignore"):
        if kind == "product":
            return None, [shrunken(call, arrays)], [None]
        if kind == "reduce":
            options = spec[1]
            axis, keepdims = options.get("axis"), bool(options.get("keepdims", False))
            spec = spec[0], {key: value for key, value in options.items() if key not in _OF_COUNTS}
            return None, [reduced(call, arrays[0], axis, keepdims)], [None]
        row = row_of(function)
        if kind == "elementwise":
            samples = [_sample(array) for array in arrays]
        else:
            samples = [large(array) if array.known is None else array.known for array in arrays]
            if row is not None and row.sample:
                samples = [
                    invertible(sample, row.sample) if array.known is None else sample
                    for array, sample in zip(arrays, samples, strict=True)
                ]
        result = call(*samples)
        if VALUE_BASED and kind == "elementwise":
            _refuse_value_based(recorder, call, arrays, {})
    container = type(result) if isinstance(result, (tuple, list)) else None
    results = [result] if container is None else result
    facts: list[Fact] = []
    owners: list[int | None] = []
    for each in results:
        if not isinstance(each, (numpy.ndarray, numpy.generic)):
            raise recorder.refuse(f"{_called(function)} answers with a {type(each).__name__}, which depends on values")
        fact = fact_of(each)
        if kind == "elementwise":
            fact = fact._replace(shape=numpy.broadcast_shapes(fact.shape, *(array.shape for array in arrays)))
        facts.append(fact)
        owner = None if fact.scalar else _owner(recorder, each, samples, arrays)
        owners.append(0 if owner is None and _is_read_only(each) else owner)
    return container, facts, owners


def _is_read_only(result: Any) -> bool:
    """Tell whether nothing may be stored into a result: then it is kept as a view is."""
    return isinstance(result, numpy.ndarray) and not result.flags.writeable


def _called(function: Any) -> str:
    row = row_of(function)
    return f"numpy.{row.name}" if row is not None else str(getattr(function, "__name__", function))


def _with_slots(recorder: Recorder, value: Any, arrays: list[BaseArrayProxy]) -> Any:
    """Return a nest with slots in place of proxies and of arrays, which are added to `arrays`."""
    if isinstance(value, numpy.ndarray):
        value = constant(recorder, value)
    if isinstance(value, BaseArrayProxy):
        arrays.append(value)
        return steps.Slot(len(arrays) - 1)
    if isinstance(value, list):
        return [_with_slots(recorder, part, arrays) for part in value]
    if type(value) is tuple:
        return tuple(_with_slots(recorder, part, arrays) for part in value)
    if isinstance(value, dict):
        return {key: _with_slots(recorder, part, arrays) for key, part in value.items()}
    return value


def call_function(recorder: Recorder, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Return what a NumPy function returns."""
    entry = FUNCTION_HANDLERS.get(function)
    if entry is None:
        row = row_of(function)
        name = f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', function)}"
        raise recorder.refuse(
            f"{name} of an array cannot be captured" + (f": {row.reason}" if row is not None and row.reason else "")
        )
    handler, row = entry
    return handler(recorder, row, function, tuple(arguments), dict(keywords))
