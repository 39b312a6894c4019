"""One call of an operator for many examples: by its batch rule, elementwise, or a call for each example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.errors import GradientError, describe, in_place_of, operator_error
from minpy.differentiation import recorded_run

__all__ = ["align", "batch_way", "call_batched", "call_each", "casts_by_value", "pull_batched", "stacked"]

_CASTS_BY_VALUE = numpy.lib.NumpyVersion(numpy.__version__) < "2.0.0"


def call_batched(
    operator: Any, batch_size: int, in_axes: Sequence[int | None], inputs: Sequence[Any], attributes: dict[str, Any]
) -> Any:
    """Return what an operator returns for many examples: an array, or a tuple, with a leading axis for the examples.

    Parameters
    ----------
    operator : BaseOperator
        Of any kind.
    batch_size : int
        The number of examples.
    in_axes : sequence
        For each input the axis along which the examples stand, None if it is the same for all of them.
    inputs : sequence
        Arrays of any kind, recorded ones too. At least one has an axis of examples.
    attributes : dict
        As for a call.

    Raises
    ------
    GradientError
        If the operator's batch rule returns something else than it is to, or an operator that is said to be
        elementwise gives no leading axis.

    Examples
    --------
    >>> from minpy.core import Operator
    >>> negative = Operator(numpy.negative, name='negative')
    >>> call_batched(negative, 2, [1], [numpy.ones((3, 2))], {}).shape
    (2, 3)
    """
    inputs = [
        value if axis in (0, None) else numpy.moveaxis(value, axis, 0)
        for value, axis in zip(inputs, in_axes, strict=True)
    ]
    axes = tuple(None if axis is None else 0 for axis in in_axes)
    way = batch_way(operator)
    if way == "elementwise" and not casts_by_value(axes, inputs):
        outputs = operator(*align(axes, inputs), **attributes)
        for output in outputs if isinstance(outputs, (tuple, list)) else (outputs,):
            if numpy.shape(output)[:1] != (batch_size,):
                raise GradientError(
                    f"{operator.__name__}: it is said to be elementwise (def_batch), and gave {describe(output)} for "
                    f"{batch_size} examples along a leading axis; expected an output with that axis. Give def_batch a "
                    "rule, or leave it out."
                )
        return outputs
    if way == "rule":
        return _by_rule(operator, batch_size, axes, inputs, attributes)
    return call_each(lambda *rows: operator(*rows, **attributes), batch_size, axes, inputs)


def pull_batched(
    operator: Any,
    batch_size: int,
    in_axes: Sequence[int | None],
    inputs: Sequence[Any],
    attributes: dict[str, Any],
    cotangents: Sequence[Any],
    argnums: Sequence[int],
) -> list[Any]:
    """Return the gradients of an operator's inputs for many examples, each with a leading axis for the examples.

    Parameters
    ----------
    operator, batch_size, in_axes, inputs, attributes
        As for `call_batched`.
    cotangents : sequence of arrays
        One for each output, with a leading axis for the examples.
    argnums : sequence of int
        The inputs to differentiate with respect to. Those without an axis of examples get one: their gradient differs
        from example to example.

    Examples
    --------
    >>> from minpy.core import Operator
    >>> product = Operator(numpy.multiply, name='product')
    >>> product.def_multiple_grad(lambda ans, x, y: lambda g: (g * y, g * x))
    <Operator product(x1, x2), gradients: x1, x2>
    >>> x, y, g = numpy.arange(3.0), numpy.array(5.0), numpy.ones(3)
    >>> pull_batched(product, 3, [0, None], [x, y], {}, [g], [0, 1])
    [array([5., 5., 5.]), array([0., 1., 2.])]
    """
    axes: list[Any] = list(in_axes)
    values = list(inputs)
    for argnum in argnums:
        if axes[argnum] is None:
            values[argnum] = numpy.broadcast_to(values[argnum], (batch_size, *numpy.shape(values[argnum])))
            axes[argnum] = 0

    def outputs(*arrays: Any) -> Any:
        return call_batched(operator, batch_size, axes, arrays, attributes)

    result, pull = recorded_run.vjp(outputs, values, argnums)
    gradients = pull(list(cotangents) if isinstance(result, (tuple, list)) else cotangents[0])
    return [
        gradient if axes[argnum] in (0, None) else numpy.moveaxis(gradient, axes[argnum], 0)
        for gradient, argnum in zip(gradients, argnums, strict=True)
    ]


def batch_way(operator: Any) -> str:
    """Return how `call_batched` computes a call: 'elementwise', 'rule', or 'loop'."""
    rule = operator.batch_rule
    if rule is None:
        return "elementwise" if operator.elementwise and not operator.random else "loop"
    return "elementwise" if isinstance(rule, str) else "rule"


def align(in_axes: Sequence[int | None], inputs: Sequence[Any]) -> list[Any]:
    """Return inputs with axes of length 1 behind the leading axis, so that they are broadcast as single examples are.

    >>> [each.shape for each in align([0, None], [numpy.ones((5, 3)), numpy.ones((4, 3))])]
    [(5, 1, 3), (4, 3)]
    """
    deepest = max(numpy.ndim(value) - (axis is not None) for value, axis in zip(inputs, in_axes, strict=True))
    aligned = []
    for value, axis in zip(inputs, in_axes, strict=True):
        missing = 0 if axis is None else deepest - (numpy.ndim(value) - 1)
        shape = numpy.shape(value)
        aligned.append(numpy.reshape(value, (shape[0], *(1,) * missing, *shape[1:])) if missing else value)
    return aligned


def casts_by_value(in_axes: Sequence[int | None], inputs: Sequence[Any]) -> bool:
    """Tell whether the dtype of a result may depend on an example having no axes: where NumPy 1 casts by values."""
    if not _CASTS_BY_VALUE:
        return False
    dtypes, depths = set(), set()
    for value, axis in zip(inputs, in_axes, strict=True):
        if hasattr(value, "dtype"):
            dtypes.add(value.dtype)
            depths.add(value.ndim == (axis is not None))
    return len(dtypes) > 1 and len(depths) > 1


def call_each(
    function: Callable[..., Any], batch_size: int, in_axes: Sequence[int | None], inputs: Sequence[Any]
) -> Any:
    """Return the stacked results of a function that is called with the inputs of each example.

    >>> call_each(numpy.outer, 2, [0, None], [numpy.ones((2, 3)), numpy.ones(4)]).shape
    (2, 3, 4)
    """
    results = [
        function(*(value if axis is None else value[number, ...] for value, axis in zip(inputs, in_axes, strict=True)))
        for number in range(batch_size)
    ]
    if not results:  # nobody says of what shape an example's result is: one made of zeros does
        examples = [
            value if axis is None else numpy.zeros(numpy.shape(value)[1:], value.dtype)
            for value, axis in zip(inputs, in_axes, strict=True)
        ]
        whole = function(*examples)
        return _map_outputs(lambda output: numpy.zeros((0, *numpy.shape(output)), numpy.asarray(output).dtype), whole)
    if not isinstance(results[0], (tuple, list)):
        return stacked(results)
    return _map_outputs(lambda *outputs: stacked(outputs), *results)


def _map_outputs(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    if not isinstance(first, (tuple, list)):
        return function(first, *others)
    return tuple(function(*outputs) for outputs in zip(first, *others, strict=True))


def stacked(results: Sequence[Any]) -> Any:
    """Return the results of several examples along a new leading axis: in the kind of array that they are."""
    if any(hasattr(type(result), "__array_function__") for result in results):
        return numpy.stack(results)
    return numpy.array(results)


def _by_rule(
    operator: Any, batch_size: int, in_axes: tuple[int | None, ...], inputs: Sequence[Any], attributes: dict[str, Any]
) -> Any:
    subject = f"{operator.__name__}: the batch rule"
    if operator.kind == "mxnet":
        inputs = [operator.wrap_raw(value) for value in inputs]
    try:
        returned = operator.batch_rule(batch_size, in_axes, *inputs, **attributes)
    except Exception as error:
        raise in_place_of(operator_error(error, f"{subject} failed"), error) from None
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise GradientError(
            f"{subject} returned {describe(returned)}; expected (outputs, out_axes): "
            "def rule(batch_size, in_axes, *inputs): return outputs, 0"
        )
    outputs, out_axes = returned
    several = isinstance(outputs, (tuple, list))
    if not several:
        return _leading(outputs, out_axes, batch_size, subject)
    if not isinstance(out_axes, (tuple, list)):
        out_axes = (out_axes,) * len(outputs)
    if len(out_axes) != len(outputs):
        raise GradientError(
            f"{subject} returned {len(outputs)} outputs, and {len(out_axes)} out_axes; expected one for each."
        )
    return tuple(_leading(output, axis, batch_size, subject) for output, axis in zip(outputs, out_axes, strict=True))


def _leading(output: Any, axis: Any, batch_size: int, subject: str) -> Any:
    """Return an output with its examples along the first axis."""
    if not isinstance(output, (Array, numpy.ndarray, numpy.generic)) and not hasattr(output, "shape"):
        output = numpy.asarray(output)
    shape = output.shape
    if axis is None:
        return numpy.broadcast_to(output, (batch_size, *shape))
    if not isinstance(axis, (int, numpy.integer)) or not -len(shape) <= axis < len(shape):
        raise GradientError(
            f"{subject} returned the out_axes {axis!r} for an output of shape {shape}; expected one of its axes, or "
            "None if the output is the same for all examples."
        )
    if shape[axis] != batch_size:
        raise GradientError(
            f"{subject} returned an output of shape {shape} with the examples along axis {axis}; expected "
            f"{batch_size} of them."
        )
    return output if axis == 0 else numpy.moveaxis(output, axis, 0)
