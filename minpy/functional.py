"""The functional interface: functions that return the derivatives of a function.

The function is run under the tape. Arrays it is differentiated with respect to are given to it as `NDArray`s if they
are `NDArray`s, and as `minpy.numpy.ndarray`s otherwise; what comes back is of the kind that went in. Everything
nests: in itself, in `autograd.record()`, and inside HIPS autograd's own `grad` and its kin.

Examples
--------
>>> import numpy as np
>>> import minpy
>>> minpy.grad(lambda x: np.sum(np.tanh(x) ** 2))(np.zeros(2))
array([0., 0.])
>>> minpy.grad(minpy.grad(lambda x: x ** 3))(2.0)
12.0
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
from autograd.tracer import isbox

from minpy.core import hips, tracing
from minpy.core.array import FRONT_ENDS, Array
from minpy.core.dispatch import require_differentiable
from minpy.core.errors import ArgumentError, DTypeError, ShapeError, describe
from minpy.core.trees import leaves_of, map_tree

__all__ = ["elementwise_grad", "grad", "grad_and_loss", "hessian", "jacobian", "jvp", "value_and_grad", "vjp"]

Function = Callable[..., Any]
Argnum = int | Sequence[int]


# -- gradients ---------------------------------------------------------------------------------------------------------


def grad(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of a function whose result is one number.

    Parameters
    ----------
    function : callable
        Takes arrays (or nested dicts, lists and tuples of arrays) by position, and anything by keyword; returns one
        real number: an array of one element.
    argnum : int or sequence of int
        The positions of the arguments to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `function` takes, and returns the gradient, or a tuple of gradients if `argnum` is a sequence. A
        gradient has its argument's structure, shapes, dtypes and kind of array; it is zero where the result does not
        depend on the argument. If it depends on arrays that are recorded around it, it is recorded too.

    Raises
    ------
    ShapeError
        If the result is not one number; `jacobian` and `elementwise_grad` are for those.
    DTypeError
        If an argument to differentiate with respect to is not floating point, or the result is not real.
    ArgumentError
        If there is no such argument, or the result is no array.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> loss = lambda w, x: np.sum((x @ w) ** 2)
    >>> minpy.grad(loss)(np.array([1.0, 2.0]), np.eye(2))
    array([2., 4.])
    >>> minpy.grad(lambda p: p['a'] * p['b'])({'a': 2.0, 'b': 3.0})
    {'a': 3.0, 'b': 2.0}
    """

    def gradient(call: _Call) -> Any:
        return call.gradients(call.one_number())

    return _derivative(function, argnum, "grad", gradient)


def value_and_grad(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes (value, gradient) of a function whose result is one number.

    Parameters, gradient and errors are those of `grad`; `grad_and_loss` returns the pair the other way around.

    Examples
    --------
    >>> import minpy
    >>> minpy.value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """

    def both(call: _Call) -> Any:
        gradients = call.gradients(call.one_number())
        return call.result(), gradients

    return _derivative(function, argnum, "value_and_grad", both)


def grad_and_loss(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes (gradient, loss): the order that MinPy and MXNet have.

    Parameters, gradient and errors are those of `grad`.

    Examples
    --------
    >>> import minpy
    >>> minpy.grad_and_loss(lambda x: x * x)(3.0)
    (6.0, 9.0)
    """

    def both(call: _Call) -> Any:
        gradients = call.gradients(call.one_number())
        return gradients, call.result()

    return _derivative(function, argnum, "grad_and_loss", both)


def elementwise_grad(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of the sum of a function's results.

    Where each element of the result depends only on the same element of the argument, that is the derivative of
    each. Parameters and errors are those of `grad`, but the result has any shape.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.elementwise_grad(np.exp)(np.array([0.0, 1.0]))
    array([1.        , 2.71828183])
    """

    def gradient(call: _Call) -> Any:
        return call.gradients([_ones(output) for output in call.real_outputs()])

    return _derivative(function, argnum, "elementwise_grad", gradient)


def jacobian(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative of every element of the result.

    Parameters
    ----------
    function : callable
        As for `grad`, with a result of any shape; also a nest of arrays.
    argnum : int or sequence of int
        As for `grad`.

    Returns
    -------
    callable
        Takes what `function` takes, and returns an array of the result's shape followed by the argument's. If the
        result or the argument is a nest of arrays, a nest like the result, of nests like the argument.

    Raises
    ------
    DTypeError, ArgumentError
        As for `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.jacobian(lambda x: x ** 2)(np.array([1.0, 3.0]))
    array([[2., 0.],
           [0., 6.]])
    """
    return _derivative(function, argnum, "jacobian", _Call.jacobians)


def hessian(function: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the second derivatives of a function whose result is one number.

    It is the Jacobian of the gradient: an array of the argument's shape twice. For several arguments, or nests of
    arrays, a nest of nests like them.

    Raises
    ------
    ShapeError, DTypeError, ArgumentError
        As for `grad`; of other results take `jacobian(jacobian(function))`.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    inner = _derivative(function, argnum, "hessian", lambda call: call.gradients(call.one_number()))
    outer = jacobian(inner, argnum)
    _name(outer, "hessian", function)
    return outer


def vjp(function: Function, *primals: Any, **keywords: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Return (result, pull): a function's result, and the function that takes a gradient of it back to the arguments.

    The signature is JAX's. (HIPS autograd's `make_vjp(function, argnum)(*primals)` returns the pair the other way
    around, and for one argument.)

    Parameters
    ----------
    function : callable
        As for `jacobian`.
    *primals : arrays, or nests of arrays
        The arguments; all are differentiated with respect to.
    **keywords
        Passed to `function`.

    Returns
    -------
    result
        What `function` returned.
    pull : callable
        Takes a gradient like the result, and returns a tuple of gradients, one for each of `primals`. It may be
        called any number of times.

    Raises
    ------
    DTypeError, ArgumentError
        As for `grad`.
    ShapeError
        By `pull`, if its argument is not like the result.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> result, pull = minpy.vjp(np.multiply, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> result
    array([3., 8.])
    >>> pull(np.ones(2))
    (array([3., 4.]), array([1., 2.]))
    """
    if any(map(isbox, leaves_of((primals, keywords)))):
        raise ArgumentError(
            "vjp: an argument is traced by HIPS autograd, which cannot follow the function that vjp returns. Call "
            "minpy.grad or minpy.jacobian there, or autograd.make_vjp."
        )
    call = _Call("vjp", function, tuple(range(len(primals))), False, primals, keywords)

    def pull(gradient: Any) -> tuple[Any, ...]:
        return call.gradients(_matching("vjp: the gradient", gradient, call.structure, call.outputs))

    return call.result(), pull


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any], **keywords: Any) -> tuple[Any, Any]:
    """Return (result, tangent): a function's result, and its derivative along a direction: forward mode.

    The signature is JAX's. An operator's `def_jvp` rule is used where it has one, else the transpose of its gradient
    rule, so every function that has a gradient has a `jvp`.

    Parameters
    ----------
    function : callable
        As for `jacobian`.
    primals : sequence
        The arguments; all are differentiated with respect to.
    tangents : sequence
        The direction: for each argument an array of its shape, or a nest like it.
    **keywords
        Passed to `function`.

    Returns
    -------
    result
        What `function` returned.
    tangent
        The derivative; like the result.

    Raises
    ------
    DTypeError, ArgumentError
        As for `grad`.
    ShapeError
        If the tangents are not like the primals.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> minpy.jvp(np.sin, (np.array([0.0, 0.0]),), (np.array([1.0, 2.0]),))
    (array([0., 0.]), array([1., 2.]))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise ArgumentError(
            f"jvp: primals and tangents are tuples with one entry for each argument, got {describe(primals)} and "
            f"{describe(tangents)}. Write jvp(function, (x,), (t,))."
        )
    if any(map(isbox, leaves_of((primals, tangents, keywords)))):
        return hips.through_boxes(
            lambda primals, tangents: jvp(function, primals, tangents, **keywords), (primals, tangents), {}
        )
    call = _Call("jvp", function, tuple(range(len(primals))), False, primals, keywords, run=False)
    given = _matching("jvp: the tangent", tuple(tangents), tuple(primals), call.variables)
    call.outputs, pushed = tracing.jvp(call.flat, call.variables, range(len(call.variables)), given)
    return call.result(), call.like_result(pushed)


# -- how it is done ----------------------------------------------------------------------------------------------------


def _derivative(function: Function, argnum: Argnum, what: str, finish: Callable[[_Call], Any]) -> Function:
    """Return a function that runs `function` under the tape, and gives the run to `finish`."""
    if not callable(function):
        raise ArgumentError(
            f"{what}: the first argument is the function to differentiate, got {describe(function)}. Write "
            f"{what}(f)(x), not {what}(f(x))."
        )
    single = isinstance(argnum, (int, numpy.integer)) and not isinstance(argnum, bool)
    argnums: tuple[Any, ...] = (argnum,) if single else tuple(argnum) if isinstance(argnum, (tuple, list)) else ()
    if not argnums or not all(
        isinstance(each, (int, numpy.integer)) and not isinstance(each, bool) for each in argnums
    ):
        raise ArgumentError(f"{what}: argnum is a position (0, 1, ...) or a tuple of positions, got {argnum!r}.")

    def derivative(*arguments: Any, **keywords: Any) -> Any:
        if any(map(isbox, leaves_of((arguments, keywords)))):
            return hips.through_boxes(derivative, arguments, keywords)
        return finish(_Call(what, function, argnums, single, arguments, keywords))

    _name(derivative, what, function)
    return derivative


def _name(derivative: Any, what: str, function: Function) -> None:
    functools.update_wrapper(derivative, function, updated=())
    inner = getattr(function, "__name__", type(function).__name__)
    derivative.__name__ = derivative.__qualname__ = f"{what}_of_{inner}"
    derivative.__doc__ = f"Return what minpy.{what} computes of {inner}.\n\n{getattr(function, '__doc__', None) or ''}"


class _Call:
    """One run of a function under the tape: nests of arrays flattened on the way in, and restored on the way out."""

    def __init__(
        self,
        what: str,
        function: Function,
        argnums: Sequence[int],
        single: bool,
        arguments: Sequence[Any],
        keywords: dict[str, Any],
        run: bool = True,
    ) -> None:
        self.what = what
        self.function = function
        self.single = single
        self.argnums = _positions(what, function, argnums, len(arguments))
        self.arguments = arguments
        self.keywords = keywords
        self.variables: list[Any] = []
        for argnum in self.argnums:
            map_tree(functools.partial(self._add_variable, argnum), arguments[argnum])
        # NumPy's arrays came in, so NumPy's go out; whoever gave minpy.numpy's gets those.
        self.plain = not any(type(leaf) is FRONT_ENDS["numpy"] for leaf in leaves_of((arguments, keywords)))
        self.structure: Any = None
        self.outputs: Sequence[Any] = ()
        if run:
            self.outputs, self.pull = tracing.vjp(self.flat, self.variables, range(len(self.variables)))

    def flat(self, *values: Any) -> tuple[Any, ...]:
        """Call the function on a flat list of variables, and return a flat tuple of results."""
        inputs = list(self.arguments)
        rest = iter(values)
        for argnum in self.argnums:
            inputs[argnum] = map_tree(lambda leaf, _: leaf if leaf is None else next(rest), inputs[argnum])
        self.structure = self.function(*inputs, **self.keywords)
        outputs = leaves_of(self.structure)
        for output in outputs:
            if not isinstance(output, (Array, numpy.ndarray, numpy.generic, float, int, complex)):
                name = getattr(self.function, "__name__", "the function")
                raise ArgumentError(
                    f"{self.what}: {name} returned {describe(output)}; expected an array or a number"
                    f"{' (or a nest of them)' if len(outputs) > 1 else ''}. Does every path of it return its result?"
                )
        return tuple(outputs)

    def real_outputs(self) -> Sequence[Any]:
        """Return the results, none of which is complex."""
        for output in self.outputs:
            if _raw(output).dtype.kind == "c":
                raise DTypeError(
                    f"{self.what}: the result is complex ({describe(_raw(output))}); a gradient is of a real function. "
                    "Take numpy.real, numpy.imag or numpy.abs of the result."
                )
        return self.outputs

    def one_number(self) -> Sequence[Any]:
        """Return the gradient to start with at a result that is one number."""
        outputs = self.real_outputs()
        if len(outputs) != 1 or _raw(outputs[0]).size != 1:
            got = describe(_raw(outputs[0])) if len(outputs) == 1 else f"a nest of {len(outputs)} arrays"
            raise ShapeError(
                f"{self.what} differentiates a function whose result is one number, got {got}. Sum it up, or use "
                "jacobian (every element's derivative) or elementwise_grad (the derivative of the sum)."
            )
        return [_ones(outputs[0])]

    def gradients(self, starts: Sequence[Any]) -> Any:
        """Return the arguments' gradients: for one argument its own, else a tuple."""
        parts = self.pull(starts)
        seen: set[int] = set()
        for position, part in enumerate(parts):
            if isinstance(part, numpy.ndarray):
                if (
                    part.base is not None
                    or not part.flags.writeable
                    or id(part) in seen
                    or part is self._given(position)
                ):
                    parts[position] = part = part.copy()
                seen.add(id(part))
        return self._restore(iter(parts))

    def jacobians(self) -> Any:
        """Return a nest like the result, of nests like the arguments, of derivatives."""
        found: list[Any] = []
        for position, output in enumerate(self.outputs):
            shape, size = _raw(output).shape, _raw(output).size
            rows: list[list[Any]] = []
            for element in range(size):
                start = numpy.zeros(shape, _raw(output).dtype)
                start.reshape(-1)[element] = 1
                starts: list[Any] = [None] * len(self.outputs)
                starts[position] = start
                rows.append(self.pull(starts))
            columns = [
                _stacked([row[number] for row in rows], shape, _raw(variable))
                for number, variable in enumerate(self.variables)
            ]
            found.append(self._restore(iter(columns), whole=False))
        rest = iter(found)
        return map_tree(lambda _, __: next(rest), self.structure)

    def result(self) -> Any:
        """Return what the function returned, in the kind of array that was given."""
        return self.like_result(
            [self.pull.cut(output) for output in self.outputs] if hasattr(self, "pull") else self.outputs
        )

    def like_result(self, values: Sequence[Any]) -> Any:
        """Return arrays in the structure of the function's result."""
        rest = iter(values)
        return map_tree(lambda leaf, _: self._result_leaf(leaf, next(rest)), self.structure)

    def _result_leaf(self, output: Any, value: Any) -> Any:
        if isinstance(output, Array) and value is not output:
            value = output._like(_raw(value), getattr(value, "_node", None))
        if not isinstance(value, Array):
            return value
        if value._node is not None or not self.plain or not isinstance(value, FRONT_ENDS["numpy"]):
            return value
        if value._data.ndim:
            return value._data
        return (
            value._data.item() if all(type(given) in (float, complex) for given in self.variables) else value._data[()]
        )

    def _restore(self, parts: Iterator[Any], whole: bool = True) -> Any:
        """Return gradients in the structure, and the kind of array, of the arguments."""

        def leaf(given: Any, _: Any) -> Any:
            return None if given is None else _in_kind_of(given, next(parts))

        restored = tuple(map_tree(leaf, self.arguments[argnum]) for argnum in self.argnums)
        return restored[0] if self.single else restored

    def _given(self, position: int) -> Any:
        return _raw(self.variables[position])

    def _add_variable(self, argnum: int, leaf: Any, path: str) -> Any:
        if leaf is None and path:
            return
        what = f"{self.what}: argument {argnum}{path}"
        if isinstance(leaf, (bool, int)) and not isinstance(leaf, numpy.generic):
            raise DTypeError(
                f"{what} is {describe(leaf)}, and integers have no gradient. Give a float ({float(leaf)}), or choose "
                "another argument with argnum."
            )
        if not isinstance(leaf, (Array, numpy.ndarray, numpy.generic, float, complex)):
            raise DTypeError(
                f"{what} is {describe(leaf)}, which has no gradient: only floating-point arrays and numbers do, and "
                "dicts, lists and tuples of them. Choose another argument with argnum."
            )
        require_differentiable(_raw(leaf).dtype, what)
        self.variables.append(leaf)


def _positions(what: str, function: Any, argnums: Sequence[int], count: int) -> tuple[int, ...]:
    """Return argnums as positions from the left, all of which exist in a call of `count` arguments."""
    for argnum in argnums:
        if not -count <= argnum < count:
            raise ArgumentError(
                f"{what}: there is no argument {argnum}: {getattr(function, '__name__', 'the function')} was called "
                f"with {count} positional argument{'s' if count != 1 else ''}. What is differentiated is given by "
                "position."
            )
    return tuple(int(argnum) % count for argnum in argnums)


def _raw(value: Any) -> Any:
    return value._data if isinstance(value, Array) else numpy.asarray(value)


def _ones(output: Any) -> numpy.ndarray:
    data = _raw(output)
    return numpy.ones(data.shape, data.dtype)


def _in_kind_of(given: Any, part: Any) -> Any:
    """Return a derivative as the kind of array that an argument was; recorded ones stay on the tape."""
    if isinstance(part, Array):
        return given._like(part._data, part._node) if isinstance(given, Array) else part
    if isinstance(given, Array):
        return given._like(part)
    if isinstance(given, numpy.ndarray) or part.ndim:
        return part
    return part[()] if isinstance(given, numpy.generic) else part.item()


def _stacked(rows: Sequence[Any], shape: tuple[int, ...], variable: numpy.ndarray) -> Any:
    """Return derivatives of single elements as one array of the result's shape followed by the variable's."""
    whole = shape + variable.shape
    if not any(isinstance(row, Array) for row in rows):
        return numpy.array(rows, variable.dtype).reshape(whole) if rows else numpy.zeros(whole, variable.dtype)
    return numpy.reshape(numpy.stack(rows), whole)


def _matching(what: str, given: Any, like: Any, leaves: Sequence[Any]) -> list[Any]:
    """Return the leaves of `given`, a nest like `like` whose leaves are `leaves`.

    Raises
    ------
    ShapeError
        If structures or shapes differ.
    """
    found: list[Any] = []
    paths: list[str] = []

    def collect(leaf: Any, path: str) -> None:
        if leaf is not None:
            found.append(leaf)
            paths.append(path)

    map_tree(collect, given)
    expected: list[str] = []
    map_tree(lambda leaf, path: expected.append(path) if leaf is not None else None, like)
    if paths != expected:
        raise ShapeError(
            f"{what} must have the structure of what it belongs to: expected arrays at {_listed(expected)}, got them "
            f"at {_listed(paths)}."
        )
    for leaf, path, value in zip(leaves, paths, found, strict=True):
        if numpy.shape(_raw(leaf)) != numpy.shape(_raw(value)):
            raise ShapeError(f"{what}{path} has shape {_raw(value).shape}, expected {_raw(leaf).shape}.")
    return found


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(path or "the top" for path in paths) or "no place"
