"""`op.infer`: the shapes and dtypes of an operator's outputs, without running it where that can be told.

Rules of inference are asked first; a user's function without them is captured, which runs it on stand-ins that have a
shape and a dtype, and no values. What cannot be captured is run, on arrays of ones: what comes of that is a guess, as
shapes may hang on values.
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from minpy.capture.abstract_evaluation import invertible
from minpy.capture.forwards import facts_of, is_customop
from minpy.capture.places import CaptureRefused
from minpy.capture.reads import Reads
from minpy.core import dispatch
from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, ShapeError, describe
from minpy.core.output_counts import returns_tuple_of_one
from minpy.core.signatures import bind
from minpy.frameworks.requests import visible_count
from minpy.graph.ir import Node, constant, variable
from minpy.ops.inference.partial_shapes import complete, show_shape

__all__ = ["ArraySpec", "InferredOutputs", "infer", "infer_outputs", "returned_dtypes", "spec_of"]


class ArraySpec(NamedTuple):
    """The shape and the dtype of an array.

    A length is -1 where it hangs on values: rules of inference may say that.
    """

    shape: tuple[int, ...]
    dtype: numpy.dtype

    def __str__(self) -> str:
        return f"{self.dtype.name} {show_shape(self.shape)}"


@dataclass(frozen=True)
class InferredOutputs(Sequence[ArraySpec]):
    """What an operator returns, output by output: a sequence of `ArraySpec`s.

    `returns_tuple`: whether callers get a tuple; there may be one output in it. `source`: 'rule', 'capture' or 'run'.
    `is_guess`: whether other values may lead to other shapes, as the operator was run on arrays of ones.
    """

    outputs: tuple[ArraySpec, ...]
    returns_tuple: bool
    source: str
    is_guess: bool = False

    def __getitem__(self, index: Any) -> Any:
        return self.outputs[index]

    def __len__(self) -> int:
        return len(self.outputs)

    def __iter__(self) -> Iterator[ArraySpec]:
        return iter(self.outputs)

    def __str__(self) -> str:
        mark = ", a guess: it was run on ones" if self.is_guess else ""
        return f"({', '.join(map(str, self.outputs))}), by {self.source}{mark}"


def spec_of(value: Any) -> Any:
    """Return the `ArraySpec` of an array, or of a pair of a shape and a dtype; a number, or None, as it is.

    Examples
    --------
    >>> print(spec_of(((2, 3), 'float32')), spec_of(numpy.ones(4)))
    float32 (2, 3) float64 (4,)
    """
    if isinstance(value, ArraySpec) or value is None or isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], (tuple, list)):
        shape, dtype = value
        try:
            return ArraySpec(tuple(map(python_operator.index, shape)), numpy.dtype(dtype))
        except TypeError:
            raise _no_spec(value) from None
    value = raw_of(value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        try:
            return ArraySpec(tuple(value.shape), _numpy_dtype(value.dtype))
        except TypeError:
            raise ArgumentError(
                f"{describe(value)} has a dtype that NumPy does not have; expected one of NumPy's, as in "
                "((2, 3), 'float32')."
            ) from None
    if isinstance(value, tuple) and value and all(type(length) is int for length in value):
        raise ArgumentError(
            f"{value!r} says no dtype; expected a pair of shape and dtype, such as ({value!r}, 'float32'). "
            "Make an array of numbers with numpy.array."
        )
    if isinstance(value, (list, tuple)):
        array = numpy.asarray(value)
        if array.dtype.kind in "fciub":
            return ArraySpec(array.shape, array.dtype)
    raise _no_spec(value)


def _numpy_dtype(dtype: Any) -> numpy.dtype:
    """Return NumPy's dtype for another library's of the same name; raise a TypeError where there is none."""
    try:
        return numpy.dtype(dtype)
    except TypeError:
        namesake = numpy.dtype(str(dtype).rpartition(".")[2])  # 'torch.float32'
        if namesake.isbuiltin != 1:  # others' packages add some, as ml_dtypes does bfloat16
            raise
        return namesake


def _no_spec(value: Any) -> ArgumentError:
    return ArgumentError(
        f"{describe(value)} says no shape and dtype; expected an array, or a pair of both, such as ((2, 3), 'float32')."
    )


def infer(operator: Any, arguments: Sequence[Any], attributes: Mapping[str, Any]) -> InferredOutputs:
    """Return the shapes and dtypes of what a call returns. This is `op.infer`: see `BaseOperator.infer`."""
    inputs, named = bind(operator.__name__, operator.signature, tuple(arguments), dict(attributes), operator.builtin)
    inferred = infer_outputs(operator, [spec_of(value) for value in inputs], named)
    if operator.visible_outputs is None:
        return inferred
    count = visible_count(operator, named, len(inferred))
    return InferredOutputs(inferred.outputs[:count], count > 1, inferred.source, inferred.is_guess)


def infer_outputs(operator: Any, specs: Sequence[Any], attributes: dict[str, Any]) -> InferredOutputs:
    """Return the shapes and dtypes of what `forward` returns, outputs that callers do not see included.

    `specs`: an `ArraySpec`, a number or None for each input.
    """
    if operator.uses_training and attributes.get("training") is None:
        attributes = {**attributes, "training": False}
    without_mode = {
        name: value for name, value in attributes.items() if name != "training" or not operator.uses_training
    }
    ruled = _by_rules(operator, specs, without_mode) or _by_itself(operator, specs, attributes)
    if ruled is not None:
        return ruled
    captured = _by_capture(operator, specs, attributes)
    return captured if captured is not None else _by_run(operator, specs, attributes)


# -- by rules ----------------------------------------------------------------------------------------------------------


def _by_rules(operator: Any, specs: Sequence[Any], attributes: dict[str, Any]) -> InferredOutputs | None:
    """Return what the operator's own rules of inference say; None where they leave something open."""
    if operator.visible_outputs is not None:  # rules are about what callers see
        return None
    if operator.shape_rule is None and operator.shape_inference is None:
        return None
    if operator.shape_inference is not None and operator.type_inference is None and operator.builtin:
        return None  # on NumPy's arrays, dtypes are NumPy's
    if not all(isinstance(spec, ArraySpec) for spec in specs):
        return None
    names = operator.output_names(attributes)
    shapes = _ruled_shapes(operator, [spec.shape for spec in specs], attributes, len(names))
    if shapes is None:
        return None
    dtypes = _ruled_dtypes(operator, [spec.dtype for spec in specs], attributes, len(names))
    if dtypes is None:
        dtypes = returned_dtypes(operator, specs, attributes)
        if dtypes is None or len(dtypes) != len(shapes):
            return None
    outputs = tuple(map(ArraySpec, shapes, dtypes))
    return InferredOutputs(outputs, len(outputs) > 1 or returns_tuple_of_one(operator, attributes), "rule")


def _by_itself(operator: Any, specs: Sequence[Any], attributes: dict[str, Any]) -> InferredOutputs | None:
    """Return what the operator tells without rules; None where it does not."""
    if not all(isinstance(spec, ArraySpec) for spec in specs):
        return None
    told = operator.output_facts([tuple(spec) for spec in specs], attributes)
    if told is None:
        return None
    outputs = tuple(ArraySpec(tuple(shape), numpy.dtype(dtype)) for shape, dtype in told)
    return InferredOutputs(outputs, len(outputs) > 1 or returns_tuple_of_one(operator, attributes), "rule")


def _ruled_shapes(
    operator: Any, shapes: Sequence[tuple[int, ...]], attributes: dict[str, Any], count: int
) -> list[tuple[int, ...]] | None:
    if operator.shape_rule is not None:
        ruled = operator.shape_rule(*shapes, **attributes)
        several = isinstance(ruled, list) or (
            isinstance(ruled, tuple) and ruled and isinstance(ruled[0], (tuple, list))
        )
        outputs = [tuple(shape) for shape in ruled] if several else [tuple(ruled)] * count
        if len(outputs) != count:
            raise ShapeError(
                f"{operator.__name__}: the rule of def_shape returned {len(outputs)} shapes, and it has {count} "
                f"output(s): {', '.join(operator.output_names(attributes))}. Return a list with one shape for each; "
                "say outputs= where it is defined, if there are others."
            )
        return outputs
    _, inferred = operator.shape_inference(list(shapes), [None] * count, **attributes)
    return [tuple(shape) for shape in inferred] if complete(inferred) else None


def _ruled_dtypes(
    operator: Any, dtypes: Sequence[numpy.dtype], attributes: dict[str, Any], count: int
) -> list[numpy.dtype] | None:
    if operator.type_inference is None:
        return None
    _, inferred = operator.type_inference(list(dtypes), [None] * count, **attributes)
    return None if any(dtype is None for dtype in inferred) else [numpy.dtype(dtype) for dtype in inferred]


def returned_dtypes(operator: Any, specs: Sequence[ArraySpec], attributes: dict[str, Any]) -> list[numpy.dtype] | None:
    """Return the dtypes of what `forward` returns, which do not hang on lengths: it is captured, or run on few numbers.

    None if that fails.
    """
    captured = _by_capture(operator, specs, attributes)
    if captured is not None:
        return [spec.dtype for spec in captured]
    try:
        return [spec.dtype for spec in _by_run(operator, specs, attributes)]
    except Exception as error:
        if not isinstance(error, (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)):
            raise
        return None


# -- by capture --------------------------------------------------------------------------------------------------------


def _by_capture(operator: Any, specs: Sequence[Any], attributes: dict[str, Any]) -> InferredOutputs | None:
    if not is_customop(operator):
        return None
    values = [variable("argument") if isinstance(spec, ArraySpec) else constant(spec) for spec in specs]
    facts: list[tuple[Any, Any]] = [
        (spec.shape, spec.dtype) if isinstance(spec, ArraySpec) else (None, None) for spec in specs
    ]
    node = Node(operator, values, attributes, operator.__name__)
    try:
        results = facts_of(node, facts, Reads())
    except CaptureRefused:
        return None
    outputs = tuple(ArraySpec(fact.shape, fact.dtype) for fact in results)
    return InferredOutputs(outputs, len(outputs) > 1 or returns_tuple_of_one(operator, attributes), "capture")


# -- by a run ----------------------------------------------------------------------------------------------------------


def _by_run(operator: Any, specs: Sequence[Any], attributes: dict[str, Any]) -> InferredOutputs:
    """Return what a run on ones returns; for positions on zeros, for matrices that need an inverse on regular ones."""
    ones = [_filled(spec, 1) for spec in specs]
    samples = [ones, [_filled(spec, 0) if _is_integer(spec) else one for spec, one in zip(specs, ones, strict=True)]]
    samples.append([invertible(sample, "regular") for sample in samples[1]])
    first_error: Exception | None = None
    for sample in samples:
        try:
            with numpy.errstate(all="ignore"):
                result = dispatch.run(operator, sample, attributes)
        except Exception as error:
            first_error = first_error or error
            continue
        several = isinstance(result, (tuple, list))
        arrays = [numpy.asarray(value) for value in (result if several else (result,))]
        is_guess = not _shapes_are_certain(operator)
        return InferredOutputs(tuple(ArraySpec(array.shape, array.dtype) for array in arrays), several, "run", is_guess)
    assert first_error is not None
    raise first_error


def _filled(spec: Any, value: int) -> Any:
    return numpy.full(spec.shape, value, spec.dtype) if isinstance(spec, ArraySpec) else spec


def _is_integer(spec: Any) -> bool:
    return isinstance(spec, ArraySpec) and spec.dtype.kind in "iu"


def _shapes_are_certain(operator: Any) -> bool:
    """Tell whether the operator has rules about shapes: then they do not hang on values."""
    return operator.shape_rule is not None or operator.shape_inference is not None
