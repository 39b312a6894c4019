"""`foreach`, `while_loop` and `cond` on arrays: Python's own loops and branches, with MXNet's structured arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minpy.core.array import Array
from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe
from minpy.ops.registry import OPERATORS

__all__ = ["checked_iterations", "cond", "flattened", "foreach", "pair", "regrouped", "while_loop"]

_split, _stack = OPERATORS["SliceChannel"], OPERATORS["stack"]


def flattened(value: Any, kind: type, role: str) -> list[Any]:
    """Return the leaves of nested lists (or tuples), which must be of one kind."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flattened(part, kind, role)]
    raise ArgumentError(
        f"{role} is {describe(value)}; expected {'an ' if kind is Array else 'a '}"
        f"{'NDArray' if kind is Array else kind.__name__}, or nested lists of them."
    )


def regrouped(form: Any, leaves: Iterator[Any]) -> Any:
    """Return leaves in the nested lists that others were in."""
    if isinstance(form, (list, tuple)):
        return [regrouped(part, leaves) for part in form]
    return next(leaves)


def pair(returned: Any, role: str) -> tuple[Any, Any]:
    """Return what a user's function has to return two of."""
    if not isinstance(returned, (list, tuple)) or len(returned) != 2:
        raise ArgumentValueError(f"{role} returned {describe(returned)}; expected two things, as in (outputs, states).")
    return returned[0], returned[1]


def checked_iterations(most: Any, function: str) -> int:
    """Return the number of iterations that a loop has at most."""
    if most is None:
        raise ArgumentValueError(f"{function}: max_iterations is missing; say how often the loop runs at most.")
    try:
        return int(most)
    except (TypeError, ValueError):
        raise ArgumentValueError(
            f"{function}: max_iterations is {describe(most)}; expected a number, such as 10."
        ) from None


def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any) -> tuple[Any, Any]:
    """Call a function on each slice of some arrays along their first axis, handing states from call to call.

    Parameters
    ----------
    body : callable
        `body(slices, states)`, which returns `(outputs, states)`: outputs are arrays, in nested lists or not, or [].
    data : NDArray or nested lists of NDArrays
        All of one length along the first axis. The body gets slices in the same lists.
    init_states : NDArray or nested lists of NDArrays
        The states of the first call; [] for none.

    Returns
    -------
    (outputs, states)
        The outputs of all calls, stacked along a new first axis, in the lists of the body ([] if there was no call);
        and what the last call returned as states.

    Raises
    ------
    ArgumentError
        If data, states or outputs are no arrays, or the body does not return two things.
    ShapeError
        If data has no axis, or several lengths.

    Examples
    --------
    >>> import minpy as mx
    >>> data = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> outputs, state = foreach(lambda row, total: (row + total, row + total), data, mx.nd.zeros(2))
    >>> print(outputs.asnumpy(), state.asnumpy())
    [[ 1.  2.]
     [ 4.  6.]
     [ 9. 12.]] [ 9. 12.]
    """
    arrays = flattened(data, Array, "foreach: data")
    flattened(init_states, Array, "foreach: init_states")
    lengths = {array.shape[:1] for array in arrays}
    if len(lengths) != 1 or () in lengths:
        shown = ", ".join(str(array.shape) for array in arrays) or "no arrays"
        raise ShapeError(f"foreach: data is of shapes {shown}; expected arrays of one length along the first axis.")
    (length,) = lengths.pop()
    steps = zip(*(_slices(array, length) for array in arrays), strict=True)
    states, form, rows = init_states, None, []
    for number, slices in enumerate(steps):
        outputs, states = pair(body(regrouped(data, iter(slices)), states), "foreach: body")
        flattened(states, Array, "foreach: the body's states")
        rows.append(flattened(outputs, Array, "foreach: the body's output"))
        if number == 0:
            form = outputs
        elif len(rows[0]) != len(rows[-1]):
            raise ArgumentValueError(
                f"foreach: the body returned {len(rows[-1])} output(s) in step {number}, and {len(rows[0])} in the "
                "first; expected as many in each."
            )
    if not rows:
        return [], states
    return regrouped(form, iter([_stack(*column, axis=0) for column in zip(*rows, strict=True)])), states


def _slices(array: Any, length: int) -> Any:
    """Return the slices along the first axis; one operator for all, whose gradient is made once."""
    if length == 0:
        return []
    squeezed = array.ndim > 1 or not array._copies_views  # NDArrays have an axis, those of NumPy's semantics need not
    parts = _split(array, num_outputs=length, axis=0, squeeze_axis=squeezed)
    return parts if isinstance(parts, (list, tuple)) else [parts]


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., tuple[Any, Any]],
    loop_vars: Any,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """Call a function as long as a condition of its variables holds.

    Parameters
    ----------
    cond : callable
        `cond(*loop_vars)`: an array of one element, or what Python takes for true or false.
    func : callable
        `func(*loop_vars)`, which returns `(outputs, loop_vars)`: arrays, in nested lists or not; no outputs are [] or
        None.
    loop_vars : NDArray or nested lists of NDArrays
    max_iterations : int
        How often `func` is called at most.

    Returns
    -------
    (outputs, loop_vars)
        The outputs of all calls, stacked along a new first axis of length `max_iterations`, the rest of which is zeros
        ([] if there was no call); and the variables of the end.

    Raises
    ------
    ArgumentError
        If `max_iterations` is missing, variables or outputs are no arrays, their number changes, or `func` does not
        return two things.

    Examples
    --------
    >>> import minpy as mx
    >>> outputs, (number, total) = while_loop(
    ...     lambda number, total: number < 3,
    ...     lambda number, total: (total * 10, [number + 1, total + number]),
    ...     [mx.nd.array([1]), mx.nd.array([0])], max_iterations=4)
    >>> print(outputs.asnumpy().tolist(), total.asnumpy())
    [[0.0], [10.0], [0.0], [0.0]] [3.]
    """
    most = checked_iterations(max_iterations, "while_loop")
    count = len(flattened(loop_vars, Array, "while_loop: loop_vars"))
    if not count:
        raise ArgumentValueError("while_loop: loop_vars is empty; expected at least one array.")
    form: Any = None
    rows: list[list[Any]] = []
    while len(rows) < most and _holds(cond(*_listed(loop_vars))):
        outputs, new = pair(func(*_listed(loop_vars)), "while_loop: func")
        outputs = [] if outputs is None else outputs
        returned = len(flattened(new, Array, "while_loop: the new loop_vars"))
        if returned != count:
            raise ArgumentValueError(
                f"while_loop: func returned {returned} loop variable(s), and was given {count}; expected as many."
            )
        loop_vars = regrouped(loop_vars, iter(flattened(new, Array, "while_loop: the new loop_vars")))
        rows.append(flattened(outputs, Array, "while_loop: the output"))
        if len(rows) == 1:
            form = outputs
        elif len(rows[0]) != len(rows[-1]):
            raise ArgumentValueError(
                f"while_loop: func returned {len(rows[-1])} output(s) in step {len(rows) - 1}, and {len(rows[0])} in "
                "the first; expected as many in each."
            )
    if not rows:
        return [], loop_vars
    padding = most - len(rows)
    stacked = []
    for column in zip(*rows, strict=True):
        zeros = [OPERATORS["zeros_like"](column[0])] * padding
        stacked.append(_stack(*column, *zeros, axis=0))
    return regrouped(form, iter(stacked)), loop_vars


def _listed(loop_vars: Any) -> Any:
    return loop_vars if isinstance(loop_vars, (list, tuple)) else [loop_vars]


def _holds(value: Any) -> bool:
    if not isinstance(value, Array):
        return bool(value)
    array: Any = value
    return bool(array.asscalar())


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """Call one of two functions, as a condition says.

    Parameters
    ----------
    pred : NDArray of one element, or callable
        What decides; a function is called for it.
    then_func, else_func : callable
        Called without arguments.

    Returns
    -------
    object
        What the function that was called returned.

    Examples
    --------
    >>> import minpy as mx
    >>> a, b = mx.nd.array([1]), mx.nd.array([2])
    >>> float(cond(a * b < 5, lambda: (a + 5) * (b + 5), lambda: (a - 5) * (b - 5)).asscalar())
    42.0
    """
    value = pred() if callable(pred) and not isinstance(pred, Array) else pred
    return then_func() if _holds(value) else else_func()
