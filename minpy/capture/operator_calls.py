"""Operators called on proxies: nodes like those that symbols make."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.capture import own_functions
from minpy.capture.abstract_evaluation import Fact, fact_of, invertible, large
from minpy.capture.noting import front_of, operand, output_proxy, value_of
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.capture.recorder import Recorder
from minpy.capture.scalars import pinned
from minpy.capture.steps import Slot
from minpy.capture.values import BaseArrayProxy
from minpy.capture.view_or_copy import viewed
from minpy.core import dispatch
from minpy.core.output_counts import returns_tuple_of_one
from minpy.ops.inference.partial_shapes import complete

__all__ = ["call_operator"]


def call_operator(
    operator: Any, inputs: list[Any], attributes: dict[str, Any], name: str | None, as_ndarrays: bool = False
) -> Any:
    """Handle a call of an operator with proxies among its inputs: `dispatch` leads here.

    `as_ndarrays` says that they stand for NDArrays: results have memory of their own, and of integers are integers.
    """
    inputs, attributes = pinned(list(inputs)), pinned(attributes)
    recorder: Recorder = next(value.recorder for value in inputs if isinstance(value, BaseArrayProxy))
    if not operator.builtin and recorder.facts_of_user is None:
        raise recorder.refuse(f"it calls {operator.__name__}, an operator of a user")
    handler = own_functions.with_states(recorder, operator)
    if handler is not None:
        return handler(*inputs, **attributes)
    if not recorder.draws and (operator.random or operator.auxiliary or operator.uses_training):
        raise recorder.refuse(f"it calls {operator.__name__}, which draws numbers, has states, or acts as in training")
    values = [value if value is None else operand(recorder, value) for value in inputs]
    while values[-1] is None:  # optional inputs that are not given are no inputs of a node
        values.pop()
    arrays = [value for value in values if isinstance(value, BaseArrayProxy)]
    if operator.keeps_dtype and not as_ndarrays and any(array.dtype.kind in "biu" or array.scalar for array in arrays):
        raise recorder.refuse(f"it calls {operator.__name__} on arrays of integers")
    inputs = [value_of(recorder, value) for value in values]
    if operator.builtin:
        try:
            facts = _facts(operator, values, attributes)
        except Exception as error:
            if not recorder.shadowed:
                raise
            raise recorder.refuse(f"{type(error).__name__}: {error}") from None  # also where the function catches it
        node = recorder.node(operator, inputs, attributes)
    else:
        node = recorder.node(operator, inputs, attributes)
        facts = _facts_of_user(recorder, node, values)
    front = None if as_ndarrays else front_of(arrays)
    results = tuple(output_proxy(recorder, node, fact, index, front) for index, fact in enumerate(facts))
    if operator.builtin and operator.may_alias and not as_ndarrays:
        numbers = iter(range(len(arrays)))
        slots = tuple(Slot(next(numbers)) if isinstance(value, BaseArrayProxy) else value for value in values)
        results = viewed(recorder, operator, (slots, attributes), arrays, results, [0] * len(results))
    if len(results) > 1:
        return dispatch.visible(operator, results, attributes)
    return results if returns_tuple_of_one(operator, attributes) else results[0]


def _facts(operator: Any, values: Sequence[Any], attributes: dict[str, Any]) -> list[Fact]:
    """Return the facts of an operator's outputs: by its rule for shapes, if all have one float dtype; or by a run."""
    arrays = [value for value in values if isinstance(value, BaseArrayProxy)]
    dtypes = {array.dtype for array in arrays}
    is_product = getattr(operator.forward, "signature", None) is not None and isinstance(operator.forward, numpy.ufunc)
    has_rule = operator.shape_inference is not None and operator.type_inference is None
    if has_rule and not is_product and len(dtypes) == 1:
        (dtype,) = dtypes
        shapes = [numpy.shape(value) for value in values]
        outputs = len(operator.output_names(attributes))
        _, output_shapes = operator.shape_inference(shapes, [None] * outputs, **attributes)
        if dtype.kind == "f" and complete(output_shapes) and operator.visible_outputs is None:
            return [Fact(tuple(shape), dtype, False) for shape in output_shapes]
    if operator.uses_training and attributes.get("training") is None:
        attributes = {**attributes, "training": False}
    with numpy.errstate(all="ignore"):
        samples = [large(value) if isinstance(value, BaseArrayProxy) else value for value in values]
        try:
            result = operator.forward(*samples, **attributes)
        except Exception:  # matrices of ones have no inverse
            result = operator.forward(*(invertible(sample, "regular") for sample in samples), **attributes)
    return [fact_of(output) for output in (result if isinstance(result, tuple) else (result,))]


def _facts_of_user(recorder: Recorder, node: Any, values: Sequence[Any]) -> list[Fact]:
    """Return the facts of the outputs of a user's operator, which is not run for them.

    What its function computes is captured for that. Where it cannot be, the operator's rules for shapes and dtypes say
    what it gives, and it is called as it is; without such rules the capture is refused.
    """
    operator = node.operator
    input_facts = [
        (value.shape, value.dtype) if isinstance(value, BaseArrayProxy) else fact_of(value)[:2] for value in values
    ]
    try:
        facts = recorder.facts_of_user(node, input_facts)
    except CaptureRefused as error:
        declared = _declared_facts(operator, node.attributes, input_facts)
        if declared is not None:
            recorder.declared.append(node)
            return declared
        line = "" if error.place is None else f" (line {error.place.line} of {os.path.basename(error.place.file)})"
        raise recorder.refuse(
            f"it calls {operator.__name__}, an operator of a user: what it gives is not known without a call, because "
            f"{error.reason}{line}. Say it with {operator.__name__}.def_shape, and def_infer_type where dtypes differ"
        ) from None
    return [fact._replace(scalar=False) for fact in facts]


def _declared_facts(operator: Any, attributes: dict[str, Any], inputs: Sequence[Any]) -> list[Fact] | None:
    """Return the facts of an operator's outputs by its own rules, or what it tells itself; None: not known."""
    told = operator.output_facts(inputs, attributes)
    if told is not None:
        return [Fact(tuple(shape), numpy.dtype(dtype), False) for shape, dtype in told]
    input_shapes, input_dtypes = [[*column] for column in zip(*inputs, strict=True)]
    count = len(operator.output_names(attributes))
    if operator.shape_rule is not None:
        shapes = operator.shape_rule(*input_shapes, **attributes)
        shapes = list(shapes) if isinstance(shapes, list) else [shapes] * count
    elif operator.shape_inference is not None:
        shapes = operator.shape_inference(input_shapes, [None] * count, **attributes)[1]
    else:
        return None
    dtypes: Sequence[Any]
    if operator.type_inference is not None:
        dtypes = operator.type_inference(input_dtypes, [None] * len(shapes), **attributes)[1]
    else:
        dtypes = [input_dtypes[0] if len(set(input_dtypes)) == 1 else None] * len(shapes)
    if not complete(shapes) or any(dtype is None for dtype in dtypes):
        return None
    return [Fact(tuple(shape), numpy.dtype(dtype), False) for shape, dtype in zip(shapes, dtypes, strict=True)]


dispatch.register_tracer(ArrayProxy, call_operator, "a proxy of a capture")
