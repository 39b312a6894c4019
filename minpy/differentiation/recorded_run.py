"""Functions differentiated by running them under the tape: reverse mode (`vjp`) and forward mode (`jvp`).

The functional interface and the bridge to HIPS autograd stand on these two. Both nest: inside a recorded function
the inputs become aliases of the recorded ones, and the rules themselves are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.array import Array, as_raw, new_array, now
from minpy.core.base_operator import BaseOperator
from minpy.core.errors import GradientError, describe, in_place_of, operator_error
from minpy.core.nodes import Leaf, Node, Output, connect, record_node
from minpy.core.state import Scope, state
from minpy.core.tape_walk import conform, gradients, reachable

__all__ = ["Pull", "apply_jvp_rule", "jvp", "variable", "vjp"]


class _Alias(BaseOperator):
    """The operator of a node that repeats its parent: a variable of an inner differentiation."""

    __name__ = "alias"
    direct = True
    jvp_rules: dict[int, Any] = {0: lambda answer, value: lambda tangent: tangent}
    raw_rules = (lambda answer, value: lambda gradient: gradient,)

    def vjp(self, result: Any, arguments: Any, attributes: Any, gradient: Any, requires_grad: Any) -> list[Any]:
        return [gradient]


_ALIAS = _Alias()


def variable(value: Any) -> Array:
    """Return a fresh variable of the tape with the value and kind of an array.

    An `Array` that is already recorded is aliased, so that an outer differentiation sees through; a NumPy array or a
    number becomes an array with NumPy's semantics.
    """
    if not isinstance(value, Array):
        data = numpy.asarray(value)
        return connect(data, Leaf(data))
    data = value._data
    if value._node is None or not state.recording:
        return new_array(type(value), data, Leaf(data))
    node = record_node(_ALIAS, (None,), None, {}, (value._node,))
    node.shape = data.shape
    node.dtype = data.dtype
    return value._like(data, node)


class Pull:
    """Takes an output's gradient back to a function's variables, as often as it is called.

    `variables`: what the function was given, made by `variable`. `output`: what it returned: an Array, or a tuple or
    list of Arrays and others. `since`: the sequence number before which nothing of the function was recorded.
    """

    def __init__(self, variables: Sequence[Array], output: Any, since: int) -> None:
        self._variables = variables
        self._own = {array._node for array in variables if type(array._node) is Leaf}
        self._several = isinstance(output, (tuple, list))
        self._outputs = output if self._several else (output,)
        self._since = since

    def __call__(self, gradient: Any) -> list[Any]:
        """Return the variables' gradients: numpy.ndarrays, or `Array`s that an outer differentiation recorded.

        `gradient`: an array, or sequence of arrays (and None for zero), like what the function returned.
        """
        heads, starts = [], []
        nested = state.recording
        for head, start in zip(self._outputs, gradient if self._several else (gradient,), strict=True):
            node = head._node if isinstance(head, Array) else None
            if node is not None and node.sequence >= self._since and start is not None:
                heads.append(node)
                starts.append(_start(start, head, nested))
        targets = [array._node for array in self._variables]
        reached = gradients(heads, starts, targets, retain_graph=True, create_graph=nested, since=self._since)
        results = [reached.get(node) for node in targets]
        return [
            numpy.zeros(array._data.shape, array._data.dtype) if part is None else self.settle(part)
            for array, part in zip(self._variables, results, strict=True)
        ]

    def settle(self, value: Any) -> Any:
        """Return an array that depends on nothing but the function's own variables as a numpy.ndarray.

        An `Array` that depends on something recorded elsewhere is returned as it is.
        """
        if not isinstance(value, Array):
            return value
        return value if state.recording and self._depends_on_others(value._node) else value._data

    def cut(self, value: Any) -> Any:
        """Return an array as `settle` does, but of its own class."""
        settled = self.settle(value)
        return settled if settled is value else value._like(settled)

    def _depends_on_others(self, node: Any) -> bool:
        seen = set()
        stack = [node] if node is not None else []
        while stack:
            node = stack.pop()
            if node in seen or node in self._own:
                continue
            seen.add(node)
            if node.sequence < self._since or type(node) is Leaf:
                return True
            stack.extend(parent for parent in node.parents or () if parent is not None)
        return False


def vjp(function: Callable[..., Any], arguments: Sequence[Any], argnums: Sequence[int]) -> tuple[Any, Pull]:
    """Run a function under the tape, and return (output, pull).

    The function takes arrays of any kind, and returns one array or a tuple of arrays. The output has `Array`s where it
    depends on the arguments at `argnums`; the pull takes its gradient (for a tuple: a sequence) back to these.
    """
    since, inputs, output = _recorded(function, arguments, argnums)
    return output, Pull([inputs[argnum] for argnum in argnums], output, since)


def _recorded(
    function: Callable[..., Any], arguments: Sequence[Any], argnums: Sequence[int]
) -> tuple[int, list[Any], Any]:
    """Run a function with some arguments as variables; return (when it began, the arguments, its result)."""
    since = now()
    inputs = list(arguments)
    for argnum in argnums:
        inputs[argnum] = variable(inputs[argnum])
    with Scope(True, None):
        return since, inputs, function(*inputs)


def _start(gradient: Any, head: Array, nested: bool) -> Any:
    if nested:
        if isinstance(gradient, Array):
            if gradient._data.dtype != head._data.dtype:
                gradient = gradient.astype(head._data.dtype)
            return connect(gradient._data, gradient._node)
        return connect(numpy.asarray(gradient, head._data.dtype), None)
    data = as_raw(gradient)
    return data.astype(head._data.dtype, copy=False)


def jvp(
    function: Callable[..., Any], arguments: Sequence[Any], argnums: Sequence[int], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """Run a function under the tape, and return (output, the output's tangent): forward mode.

    Each recorded call is pushed forward by its operator's JVP rule, or, where it has none, by the transpose of its
    gradient rule: a gradient is linear in its upstream gradient u, so d/du pull(u) applied to a tangent is the JVP
    (Townsend, "A new trick for calculating Jacobian vector products", 2017).
    """
    if state.recording:
        return _jvp_recorded(function, arguments, argnums, tangents)
    since, inputs, output = _recorded(function, arguments, argnums)
    several = isinstance(output, (tuple, list))
    outputs = output if several else (output,)
    heads = [head._node for head in outputs if isinstance(head, Array) and head._node is not None]
    pushed: dict[Any, Any] = {}
    for argnum, tangent in zip(argnums, tangents, strict=True):
        raw = as_raw(tangent)
        pushed[inputs[argnum]._node] = raw.astype(inputs[argnum]._data.dtype, copy=False)
    for node in reversed(reachable(heads, since)):
        if type(node) is Node:
            tangent = _push(node, pushed)
            if tangent is not None:
                pushed[node] = tangent
        elif type(node) is Output and node.parents[0] in pushed:  # type: ignore[index]
            pushed[node] = pushed[node.parents[0]][node.index]  # type: ignore[index]
    results = [
        pushed[head._node]
        if isinstance(head, Array) and head._node in pushed
        else numpy.zeros_like(head._data if isinstance(head, Array) else head)
        for head in outputs
    ]
    outputs = [head._like(head._data) if isinstance(head, Array) else head for head in outputs]
    return tuple(outputs) if several else outputs[0], tuple(results) if several else results[0]


def _push(node: Node, pushed: dict[Any, Any]) -> Any:
    total: Any = None
    for index, parent in enumerate(node.parents or ()):
        if parent is None or parent not in pushed or node.operator.is_zero(index):
            continue
        if node.operator.jvp_rules.get(index) is not None:
            part = apply_jvp_rule(
                node.operator,
                index,
                node.result,
                node.arguments,
                node.attributes,
                pushed[parent],
                node.shape,
                node.dtype,
            )
        else:
            part = _transpose(node, index, parent, pushed[parent])
        if total is None:
            total = part
        elif type(total) is tuple:
            total = tuple(a + b for a, b in zip(total, part, strict=True))
        else:
            total = total + part
    return total


def apply_jvp_rule(
    operator: Any,
    index: int,
    output: Any,
    arguments: Sequence[Any],
    attributes: dict[str, Any],
    tangent: Any,
    shape: Any,
    dtype: Any,
) -> Any:
    """Return what the forward-mode rule of one argument says, broadcast and cast to the output(s)."""
    subject = f"{operator.__name__}: the forward-mode rule of argument {operator.argument_name(index)}"
    wrap = operator.wrap_raw if operator.kind == "mxnet" else _same
    try:
        function = operator.jvp_rules[index](
            tuple(map(wrap, output)) if type(output) is tuple else wrap(output), *map(wrap, arguments), **attributes
        )
        result = function(wrap(tangent)) if callable(function) else None
    except Exception as error:
        raise in_place_of(operator_error(error, f"{subject} failed"), error) from None
    if not callable(function):
        raise GradientError(
            f"{subject} returned {describe(function)}; expected a function of the argument's tangent: "
            "def rule(ans, *args): return lambda t: ..."
        )
    if type(shape) is not tuple or not shape or type(shape[0]) is not tuple:
        return _tangent(result, shape, dtype, subject)
    if not isinstance(result, (tuple, list)) or len(result) != len(shape):
        raise GradientError(
            f"{subject} returned {describe(result)}; expected a tuple of {len(shape)} tangents, one an output."
        )
    return tuple(_tangent(*each, subject) for each in zip(result, shape, dtype, strict=True))


def _same(value: Any) -> Any:
    return value


def _tangent(value: Any, shape: tuple[int, ...], dtype: numpy.dtype, subject: str) -> Any:
    """Return what a forward-mode rule returned as a tangent of an output's shape and dtype."""
    if isinstance(value, Array):
        value = connect(value._data, value._node)
    else:
        value = numpy.asarray(value)
        if value.dtype.kind not in "fciub":
            raise GradientError(
                f"{subject} returned {describe(value)}; expected the tangent of its output, shape {shape}."
            )
    if value.shape != shape:
        try:
            value = numpy.broadcast_to(value, shape)
        except ValueError:
            raise GradientError(f"{subject} returned a tangent of shape {value.shape}; expected {shape}.") from None
    return value if value.dtype == dtype or dtype.kind not in "fc" else value.astype(dtype)


def _transpose(node: Node, index: int, parent: Any, tangent: Any) -> Any:
    """Return J·tangent of one recorded call from its gradient rule u -> uᵀJ."""
    several = type(node.dtype) is tuple
    shapes, dtypes = (node.shape, node.dtype) if several else ((node.shape,), (node.dtype,))
    zeros = [numpy.zeros(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    upstream = [connect(zero, Leaf(zero)) for zero in zeros]
    node.operator.require_rules(node)
    with Scope(True, None):
        [part] = node.operator.vjp(
            node.result, node.arguments, node.attributes, tuple(upstream) if several else upstream[0], [index]
        )
        part = conform(part, node.operator, index, node, parent)
    results: Sequence[Any] = zeros
    if isinstance(part, Array) and part._node is not None:
        reached = gradients([part._node], [tangent], retain_graph=True)
        results = [reached.get(u._node, zero) for u, zero in zip(upstream, zeros, strict=True)]
    return tuple(results) if several else results[0]


def _jvp_recorded(
    function: Callable[..., Any], arguments: Sequence[Any], argnums: Sequence[int], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """Forward mode inside an outer differentiation: the transpose of the whole pull, which is recorded."""
    output, pull = vjp(function, arguments, argnums)
    several = isinstance(output, (tuple, list))
    outputs = output if several else (output,)
    zeros = [numpy.zeros_like(head._data if isinstance(head, Array) else head) for head in outputs]

    def pulled(*upstream: Any) -> tuple[Any, ...]:
        return tuple(pull(upstream if several else upstream[0]))

    _, push = vjp(pulled, zeros, range(len(zeros)))
    pull._own |= push._own
    results = [pull.settle(result) for result in push(tangents)]
    outputs = [pull.cut(head) for head in outputs]
    return tuple(outputs) if several else outputs[0], tuple(results) if several else results[0]
