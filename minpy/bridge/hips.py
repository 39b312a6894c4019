"""The bridge to HIPS autograd, in both directions.

Under `autograd.grad` and its kin, an operator is one primitive. Its first-order rules run on raw arrays. At higher
order autograd traces the rules themselves; they are plain NumPy and may not know autograd's boxes, so a rule becomes
a primitive in its turn, differentiated by our own tape, and so on to any order.

In the other direction a NumPy or SciPy function that has no operator here, but a rule in autograd's tables, is
recorded on our tape as one node whose gradient autograd computes (`AutogradCall`), again to any order.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Any

import autograd.builtins
import numpy
from autograd.core import VJPNode, add_outgrads, defjvp_argnums, defvjp_argnums, sum_outgrads, vspace
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import getval, isbox, new_box, primitive, trace_stack
from autograd.util import toposort

from minpy.bridge.composition_values import value_of
from minpy.core import dispatch
from minpy.core.array import Array, raw_of
from minpy.core.base_operator import BaseOperator
from minpy.core.buffers import share_with
from minpy.core.errors import ArgumentError, NoGradientError
from minpy.core.nodes import attach_outputs, record_node
from minpy.core.state import state
from minpy.differentiation import recorded_run
from minpy.differentiation.rules_as_functions import pull_back, push_forward
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.numpy_table.table import ROWS

__all__ = [
    "AutogradCall",
    "box_of_array",
    "call_on_boxes",
    "call_through_autograd",
    "no_gradient",
    "through_boxes",
    "wrap_result",
]


# -- our operators under autograd --------------------------------------------------------------------------------------


def call_on_boxes(operator: Any, inputs: Sequence[Any], attributes: dict[str, Any], name: str | None) -> Any:
    """Call an operator as one primitive of autograd's. (What `minpy.core.dispatch` does with its boxes.)"""
    if operator.uses_training and attributes.get("training") is None:
        attributes["training"] = state.training
    values = _without_arrays(operator, inputs)
    if operator.all_zero:
        result = dispatch.run(operator, [getval(value) for value in values], attributes)
    else:
        result = _operator_call(operator, attributes, *values)
    return dispatch.visible(operator, result, attributes)


def _without_arrays(operator: Any, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs of a call under HIPS autograd with plain buffers in place of `Array`s."""
    for value in inputs:
        if isinstance(value, Array) and value._node is not None and state.recording:
            raise ArgumentError(
                f"{operator.__name__}: an argument is traced by HIPS autograd and another is recorded by "
                "minpy.autograd; one call can follow one of them. Use .detach() on the recorded array."
            )
    return [raw_of(value) for value in inputs]


@primitive
def _operator_call(operator: Any, attributes: dict[str, Any], *arguments: Any) -> Any:
    result = dispatch.run(operator, arguments, attributes)
    return tuple(map(_boxable, result)) if isinstance(result, (tuple, list)) else _boxable(result)


def _boxable(value: Any) -> Any:
    """Return a raw value in a type that autograd can box: it has none for integer scalars."""
    return value if isinstance(value, (numpy.ndarray, numpy.inexact, float, complex)) else numpy.asarray(value)


def _operator_vjp(argnums: Sequence[int], result: Any, arguments: Sequence[Any], _: Any) -> Callable[[Any], Any]:
    operator, attributes, *inputs = arguments
    indices = [argnum - 2 for argnum in argnums]
    if _differentiable(result):
        for index in indices:
            if not operator.has_rule(index):
                raise operator.missing_rule(index)

    def vjp(gradient: Any) -> tuple[Any, ...]:
        live = tuple(index for index in indices if not operator.is_zero(index)) if _differentiable(result) else ()
        parts = _gradients(operator, attributes, live, gradient, result, inputs) if live else {}
        return tuple(parts[index] if index in parts else vspace(inputs[index]).zeros() for index in indices)

    return vjp


def _operator_jvp(
    argnums: Sequence[int], tangents: Sequence[Any], result: Any, arguments: Sequence[Any], _: Any
) -> Any:
    operator, attributes, *inputs = arguments
    outputs = _outputs(result)
    parts = []
    for argnum, tangent in zip(argnums, tangents, strict=True):
        if operator.is_zero(argnum - 2) or not _differentiable(result):
            parts.append(vspace(result).zeros())
        else:
            function = partial(_push, operator, attributes, argnum - 2, len(outputs), _is_tuple(result))
            parts.append(_apply(function, tangent, *outputs, *inputs))
    return sum_outgrads(parts)


defvjp_argnums(_operator_call, _operator_vjp)
defjvp_argnums(_operator_call, _operator_jvp)


def _is_tuple(result: Any) -> bool:
    return isinstance(getval(result), tuple)


def _outputs(result: Any) -> list[Any]:
    return [result[index] for index in range(len(result))] if _is_tuple(result) else [result]


def _differentiable(result: Any) -> bool:
    return any(numpy.result_type(getval(value)).kind in "fc" for value in _outputs(result))


def _gradients(
    operator: Any, attributes: dict[str, Any], indices: tuple[int, ...], gradient: Any, result: Any, inputs: Any
) -> dict[int, Any]:
    """Return the gradients of several arguments, from one run of the operator's rules."""
    outputs = _outputs(result)
    if not operator.values_read(indices)[1]:  # the gradient does not depend on the result: not even by zero
        outputs = [value_of(output) for output in outputs]
    upstream = [gradient[number] for number in range(len(outputs))] if _is_tuple(result) else [gradient]
    function = partial(_pull, operator, attributes, indices, len(outputs), _is_tuple(result))
    parts = _apply(function, *upstream, *outputs, *inputs)
    if len(indices) == 1:
        return {indices[0]: parts}
    return {index: parts[number] for number, index in enumerate(indices)}


def _pull(
    operator: Any, attributes: dict[str, Any], indices: tuple[int, ...], count: int, several: bool, *values: Any
) -> Any:
    """Return the gradients of arguments as a plain function of (upstream gradients, outputs, inputs)."""
    with _bridging():
        gradients = pull_back(operator, attributes, indices, count, several, *values)
    return gradients if len(gradients) > 1 else gradients[0]


def _push(
    operator: Any, attributes: dict[str, Any], index: int, count: int, several: bool, tangent: Any, *values: Any
) -> Any:
    """Return one argument's contribution to the outputs' tangents."""
    with _bridging():
        tangents = push_forward(operator, attributes, index, count, several, tangent, *values)
    return tangents if several else tangents[0]


@contextmanager
def _bridging() -> Iterator[None]:
    """Let errors in rules say that autograd has called them."""
    bridging, state.bridging = state.bridging, True
    try:
        yield
    finally:
        state.bridging = bridging


@primitive
def _apply(function: Callable[..., Any], *inputs: Any) -> Any:
    """Call a function of arrays; to autograd one primitive, which our tape differentiates."""
    result = function(*inputs)
    return tuple(map(_unwrapped, result)) if isinstance(result, (tuple, list)) else _unwrapped(result)


def _unwrapped(value: Any) -> Any:
    value = _boxable(raw_of(value))
    return value[()] if isinstance(value, numpy.ndarray) and not value.ndim and value.dtype.kind in "fc" else value


def _gradient_of(function: Callable[..., Any], index: int, count: int, several: bool, *values: Any) -> Any:
    upstream, inputs = values[:count], values[count:]
    return recorded_run.vjp(function, inputs, [index])[1](upstream if several else upstream[0])[0]


def _tangent_of(function: Callable[..., Any], index: int, tangent: Any, *inputs: Any) -> Any:
    return recorded_run.jvp(function, inputs, [index], [tangent])[1]


def _apply_vjp(argnums: Sequence[int], result: Any, arguments: Sequence[Any], _: Any) -> Callable[[Any], Any]:
    function, *inputs = arguments
    several = _is_tuple(result)
    count = len(_outputs(result))

    def vjp(gradient: Any) -> tuple[Any, ...]:
        upstream = [gradient[number] for number in range(count)] if several else [gradient]
        return tuple(
            _apply(partial(_gradient_of, function, argnum - 1, count, several), *upstream, *inputs)
            for argnum in argnums
        )

    return vjp


def _apply_jvp(argnums: Sequence[int], tangents: Sequence[Any], result: Any, arguments: Sequence[Any], _: Any) -> Any:
    function, *inputs = arguments
    return sum_outgrads(
        _apply(partial(_tangent_of, function, argnum - 1), tangent, *inputs)
        for argnum, tangent in zip(argnums, tangents, strict=True)
    )


defvjp_argnums(_apply, _apply_vjp)
defjvp_argnums(_apply, _apply_jvp)


def through_boxes(function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call a function whose arguments are nests of arrays, some of them autograd's boxes.

    To autograd the call is one primitive, which our tape differentiates. It is how our functional interface works
    inside autograd's.
    """
    call = map_tree(lambda leaf, _: _opened(leaf) if isbox(leaf) else leaf, (tuple(arguments), dict(keywords)))
    boxes = list(filter(isbox, leaves_of(call)))
    structure: Any = None

    def flat(*values: Any) -> tuple[Any, ...]:
        nonlocal structure
        remaining = iter(values)
        positional, named = map_tree(lambda leaf, _: next(remaining) if isbox(leaf) else leaf, call)
        structure = function(*positional, **named)
        return tuple(leaves_of(structure))

    result = _apply(flat, *boxes)
    results = iter([result[index] for index in range(len(result))])
    return map_tree(lambda _, __: next(results), structure)


def _opened(box: Any) -> Any:
    """Return a box around a container as a container of boxes."""
    value = getval(box)
    if isinstance(value, dict):
        return {key: _opened(box[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return type(value)([_opened(box[index]) for index in range(len(value))])
    return box


# -- our arrays as arguments of autograd's functions -------------------------------------------------------------------


def box_of_array(array: Array, level: int, node: Any) -> Any:
    """Return the box of an array's buffer, where autograd differentiates with respect to the array.

    Raises a TypeError if it is a constant inside of a function that autograd follows, a NoGradientError if it is
    recorded.
    """
    cls = type(array)
    if type(node) is not VJPNode or node.parents:
        raise TypeError(
            f"HIPS autograd cannot follow a function of an array it traces and of a {cls.__module__}.{cls.__name__}"
            ". Convert that one with .asnumpy()."
        )
    if array._node is not None and state.recording:
        raise NoGradientError(
            "HIPS autograd was asked for a gradient with respect to an array that minpy.autograd records; the "
            "result could not be recorded. Use minpy.grad and its kin, which nest, or x.detach()."
        )
    return ArrayBox(array._data, level, node)


# -- autograd's functions on our tape ----------------------------------------------------------------------------------


class AutogradCall(BaseOperator):
    """The operator of one recorded call whose gradient HIPS autograd computes.

    `function`: of all arguments, written for autograd. `positions`: the arguments that are differentiated with respect
    to; the others may be indices, or anything. `pull`: from the upstream gradient to those arguments' gradients, as
    autograd traced them at the call.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], positions: Sequence[int], pull: Callable[[Any], Sequence[Any]]
    ) -> None:
        self.__name__ = name
        self._function = function
        self._positions = positions
        self._pull = pull

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what the gradients read: nothing, if the function only arranges what it is given."""
        return (frozenset(), False) if _moves(self.__name__) else super().values_read(indices)

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
    ) -> list[Any]:
        """Return the gradients at the positions `requires_grad`; recorded ones if a value is recorded."""
        several = type(gradient) is tuple
        values = [*(gradient if several else (gradient,)), *arguments]
        if not any(isinstance(value, Array) for value in values):
            parts = dict(zip(self._positions, self._pull(gradient), strict=True))
            return [parts[index] for index in requires_grad]
        count = len(values) - len(arguments)

        def gradient_of(index: int, *values: Any) -> Any:
            _, pull = _trace(self._function, values[count:], self._positions)
            if pull is None:
                return numpy.zeros_like(getval(values[count + index]))
            return pull(values[:count] if several else values[0])[self._positions.index(index)]

        return [
            call_through_autograd(f"the gradient of {self.__name__}", partial(gradient_of, index), values)
            for index in requires_grad
        ]


def _moves(name: str) -> bool:
    """Tell whether a function's gradient depends on shapes only: what it was given may be changed afterwards."""
    row = ROWS.get(name.removeprefix("numpy."))
    return row is not None and row.moves


class _Level(threading.local):
    top: int = -1


# autograd numbers its nested traces in one place for all threads; ours are numbered per thread.
_level = _Level()


def _trace(
    function: Callable[..., Any], values: Sequence[Any], positions: Sequence[int]
) -> tuple[Any, Callable[[Any], list[Any]] | None]:
    """Run a function under autograd; return (its result, its vjp to the values at `positions`, or None without any)."""
    previous = _level.top
    _level.top = level = max(previous, trace_stack.top) + 1
    roots = [VJPNode.new_root() for _ in positions]
    inputs = list(values)
    try:
        for position, root in zip(positions, roots, strict=True):
            inputs[position] = new_box(inputs[position], level, root)
        end = function(*inputs)
        if isinstance(end, (tuple, list)) and any(isbox(value) for value in end):
            end = autograd.builtins.tuple(tuple(end))
    finally:
        _level.top = previous
    if not isbox(end) or end._trace != level:
        return end, None
    end_node = end._node
    starts = [inputs[position] for position in positions]

    def pull(gradient: Any) -> list[Any]:
        results: dict[Any, Any] = {}
        pending = {end_node: (gradient, False)}
        for node in toposort(end_node):
            upstream = pending.pop(node)
            if not node.parents:
                results[node] = upstream[0]
            for parent, part in zip(node.parents, node.vjp(upstream[0]), strict=True):
                pending[parent] = add_outgrads(pending.get(parent), part)
        return [
            results[root] if root in results else vspace(start._value).zeros()
            for root, start in zip(roots, starts, strict=True)
        ]

    return end._value, pull


def call_through_autograd(name: str, function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """Call a function written for autograd on `Array`s and others, and record it as one node.

    Raises a NoGradientError if an input needs a gradient, and autograd knows no rule.
    """
    raws = [raw_of(value) for value in inputs]
    like = _leading(inputs)
    parents = [value._node if isinstance(value, Array) else None for value in inputs]
    positions = [index for index, parent in enumerate(parents) if parent is not None]
    if not state.recording or not positions:
        return _sharing(_wrapped(function(*raws), like), inputs)
    try:
        result, pull = _trace(function, raws, positions)
    except (NotImplementedError, KeyError) as error:  # autograd looks up rules of three arguments in a bare dict
        reason = str(error) if isinstance(error, NotImplementedError) else f"no rule for argument {error}"
        raise no_gradient(name, f" ({reason})" if reason else "") from error
    except TypeError as error:
        keyword = _UNEXPECTED.search(str(error))
        if keyword is None:
            raise
        raise no_gradient(name, f" with the keyword {keyword[1]}=") from error
    if pull is None:
        if numpy.asarray(result).dtype == object:  # boxes went where autograd does not look
            raise no_gradient(name)
        return _sharing(_wrapped(result, like), inputs)
    kind = type(result) if isinstance(result, (tuple, list)) else None
    arrays = [numpy.asarray(value) for value in (result if kind else (result,))]
    node = record_node(AutogradCall(name, function, positions, pull), raws, None, {}, parents)
    if kind is None:
        node.result, node.shape, node.dtype = arrays[0], arrays[0].shape, arrays[0].dtype
        return _sharing(like._like(arrays[0], node), inputs)
    node.result = tuple(arrays)
    outputs = [
        like._like(array, output if array.dtype.kind in "fc" else None)
        for array, output in zip(arrays, attach_outputs(node, arrays), strict=True)
    ]
    _sharing(outputs, inputs)
    return kind(*outputs) if hasattr(kind, "_fields") else kind(outputs)


_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def no_gradient(name: str, reason: str = "") -> NoGradientError:
    """Return the error for a function without a gradient, called on a recorded array."""
    return NoGradientError(
        f"{name} has no gradient{reason}, and was called on a recorded array. Write it as an operator with "
        "@customop('numpy') and def_grad, or call it on x.detach() if no gradient shall flow."
    )


def _leading(values: Sequence[Any]) -> Array:
    return max((value for value in values if isinstance(value, Array)), key=attrgetter("_precedence"))


def wrap_result(result: Any, arrays: Sequence[Array]) -> Any:
    """Return raw results of a call as arrays like its arguments, not recorded."""
    return _sharing(_wrapped(result, _leading(arrays)), arrays)


def _sharing(result: Any, inputs: Sequence[Any]) -> Any:
    """Return a result, an array or a list or tuple with arrays, having noted which inputs it shares its memory with."""
    if isinstance(result, Array):
        share_with(result, inputs)
    elif isinstance(result, (tuple, list)):
        for array in result:
            _sharing(array, inputs)
    return result


def _wrapped(result: Any, like: Array) -> Any:
    if isinstance(result, (numpy.ndarray, numpy.generic)):
        return result if result.dtype.kind in "OSU" else like._like(numpy.asarray(result))  # objects and texts
    if isinstance(result, (tuple, list)):
        kind = type(result)
        values = [_wrapped(value, like) for value in result]
        return kind(*values) if hasattr(kind, "_fields") else kind(values)
    return result
