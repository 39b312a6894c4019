"""Checks of symbols against numbers: outputs, gradients, and central differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy

from minpy.checking.differences import repeats
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, CheckError, describe, nearest
from minpy.ndarray.creation import array
from minpy.ndarray.ndarray import NDArray
from minpy.symbol.symbol import Symbol
from minpy.test_utils.comparing import difference, raw_value
from minpy.test_utils.consistency import central_differences
from minpy.test_utils.defaults import EPS, default_numeric_eps
from minpy.test_utils.random_arrays import require_dense

__all__ = ["check_numeric_gradient", "check_symbolic_backward", "check_symbolic_forward", "simple_forward"]


# Texts that the docstrings below share.
_LOCATION = """
    sym : Symbol
    location : list or dict of array_like
        The values of all arguments, in the order of `list_arguments` or by name.
    """
_TOLERANCES = """
    rtol, atol : float, optional
        The tolerances; by default those of the dtypes, as for `assert_almost_equal`.
    aux_states : list or dict of array_like, optional
        The values of all auxiliary states.
    ctx : Context, optional
    """
_GRADIENT_ERRORS = """
    CheckError
        An AssertionError that names the arguments whose gradients are wrong, with their worst elements and the
        tolerances.
    """


def simple_forward(sym: Symbol, ctx: Any = None, is_train: bool = False, **inputs: Any) -> Any:
    """Compute a symbol from arrays given by name.

    Parameters
    ----------
    sym : Symbol
    ctx : Context, optional
    is_train : bool
        Whether operators run as in training.
    **inputs : array_like
        The values of its arguments and auxiliary states.

    Returns
    -------
    numpy.ndarray or list of numpy.ndarray
        The output; a list of them if there are several.

    Examples
    --------
    >>> import minpy as mx
    >>> simple_forward(mx.sym.square(mx.sym.var('x')), x=[2.0, 3.0])
    array([4., 9.], dtype=float32)
    """
    _require_symbol(sym, "simple_forward")
    states = {name: array(inputs.pop(name), ctx) for name in sym.list_auxiliary_states() if name in inputs}
    arguments = {name: array(value, ctx) for name, value in inputs.items()}
    executor = sym.bind(ctx, arguments, grad_req="null", aux_states=states)
    outputs = [output.asnumpy() for output in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


@documented(location=_LOCATION, tolerances=_TOLERANCES)
def check_symbolic_forward(
    sym: Symbol,
    location: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Any = None,
    ctx: Any = None,
    equal_nan: bool = False,
    dtype: Any = numpy.float32,
) -> list[NDArray]:
    """Raise an AssertionError unless a symbol computes what is expected, outside of training.

    Parameters
    ----------
    {location}
    expected : list or dict of array_like
        The values of all outputs, in the order of `list_outputs` or by name. None: not checked.
    {tolerances}
    equal_nan : bool
        Whether NaN equals NaN.
    dtype : str or type, optional
        The dtype of arguments; None: their own dtypes.

    Returns
    -------
    list of NDArray
        The outputs.

    Raises
    ------
    CheckError
        An AssertionError that names the outputs that are wrong, with their worst elements and the tolerances.
    ArgumentError
        If values are missing, or of what the symbol does not have.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.sym.var('x')
    >>> outputs = check_symbolic_forward(x * 2 + 1, [[1.0, 2.0]], [[3.0, 5.0]])
    >>> check_symbolic_forward(x * 2 + 1, {'x': [1.0, 2.0]}, [[3.0, 6.0]])
    Traceback (most recent call last):
        ...
    minpy.core.errors.CheckError: check_symbolic_forward: ... EXPECTED_... and FORWARD_... differ in 1 of 2 elements
    (50%), at worst at (1,): ...
    """
    method = "check_symbolic_forward"
    arguments, states = _bound_values(sym, location, aux_states, ctx, dtype, method)
    expected_values = _by_name(expected, sym.list_outputs(), "expected", "output", method)
    executor = sym.bind(ctx, arguments, grad_req="null", aux_states=states)
    outputs: list[NDArray] = executor.forward(is_train=False)
    problems = []
    for name, output in zip(sym.list_outputs(), outputs, strict=True):
        if expected_values[name] is not None:
            names = f"EXPECTED_{name}", f"FORWARD_{name}"
            problems.append((name, difference(expected_values[name], output, rtol, atol, names, equal_nan)))
    _raise_problems(f"{method}: output", "is wrong", problems)
    return outputs


@documented(location=_LOCATION, tolerances=_TOLERANCES, errors=_GRADIENT_ERRORS)
def check_symbolic_backward(
    sym: Symbol,
    location: Any,
    out_grads: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Any = None,
    grad_req: Any = "write",
    ctx: Any = None,
    grad_stypes: Any = None,
    equal_nan: bool = False,
    dtype: Any = numpy.float32,
) -> dict[str, NDArray]:
    """Raise an AssertionError unless a symbol has the expected gradients.

    The arrays that gradients go to hold random numbers at first: with 'add' the gradient must be added to them, with
    'null' they must stay.

    Parameters
    ----------
    {location}
    out_grads : list or dict of array_like, or None
        The gradients of all outputs, in the order of `list_outputs` or by name.
    expected : list or dict of array_like
        The gradients of all arguments in the order of `list_arguments`, or of some by name. None: not checked.
    {tolerances}
    grad_req : str, or list or dict of str
        'write', 'add' or 'null', for all arguments or for each.
    grad_stypes : dict of str to str, optional
        Storages of gradients: 'default'.
    equal_nan : bool
        Whether NaN equals NaN.
    dtype : str or type, optional
        The dtype of arguments and gradients; None: their own dtypes.

    Returns
    -------
    dict of str to NDArray
        The arrays of the gradients, by the names of the arguments.

    Raises
    ------
    {errors}
    ArgumentError
        If values are missing, or of what the symbol does not have.

    Examples
    --------
    >>> import minpy as mx
    >>> x, y = mx.sym.var('x'), mx.sym.var('y')
    >>> gradients = check_symbolic_backward(x * y, [[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0]], {'y': [1.0, 2.0]})
    >>> gradients['y'].asnumpy()
    array([1., 2.], dtype=float32)
    """
    method = "check_symbolic_backward"
    require_dense(grad_stypes, method)
    arguments, states = _bound_values(sym, location, aux_states, ctx, dtype, method)
    names = list(arguments)
    is_partial = isinstance(expected, Mapping)
    expected_values = _by_name(expected, names, "expected", "argument", method, optional=is_partial)
    requests = _requests(grad_req, names, "grad_req", method)
    heads = None
    if out_grads is not None:
        upstream = _by_name(out_grads, sym.list_outputs(), "out_grads", "output", method)
        heads = [
            None if value is None else array(raw_value(value), ctx, _dtype(value, dtype)) for value in upstream.values()
        ]
    gradients, before = _random_gradients(
        [name for name in expected_values if expected_values[name] is not None], arguments
    )
    executor = sym.bind(ctx, arguments, gradients, requests, states)
    executor.forward(is_train=True)
    executor.backward(heads)
    problems = []
    for name, gradient in gradients.items():
        computed, expected_value, request = gradient.asnumpy(), expected_values[name], requests[name]
        if request == "add":
            computed = computed - before[name]
        elif request == "null":
            expected_value = before[name]
        labels = f"EXPECTED_{name}", f"BACKWARD_{name}"
        problem = difference(expected_value, computed, rtol, atol, labels, equal_nan)
        problems.append((name, problem + _request_note(request) if problem else ""))
    _raise_problems(f"{method}: the gradient of", "is wrong", problems)
    return gradients


@documented(location=_LOCATION)
def check_numeric_gradient(
    sym: Symbol,
    location: Any,
    aux_states: Any = None,
    numeric_eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Any = None,
    grad_stype_dict: Any = None,
    dtype: Any = numpy.float32,
) -> None:
    """Raise an AssertionError unless the gradients of a symbol are those that central differences give.

    What is differentiated is the sum of all outputs, each multiplied by random numbers. Every element of every argument
    is moved by half of `numeric_eps` to both sides. The differences are computed in float64 if the operators take it.

    Parameters
    ----------
    {location}
    aux_states : list or dict of array_like, optional
        The values of all auxiliary states; they are the same in every run.
    numeric_eps : float, optional
        By default 2**-6 in float16, 2**-9 in float32 and 2**-14 in float64.
    rtol, atol : float, optional
        The tolerances; by default those of the dtype, as for `assert_almost_equal`.
    grad_nodes : list of str, or dict of str to str, optional
        Whose gradients to check, or also how they are written: 'write', 'add' or 'null'. By default all arguments'.
    use_forward_train : bool
        Whether the differences are those of training. Gradients always are.
    ctx : Context, optional
    grad_stype_dict : dict of str to str, optional
        Storages of gradients: 'default'.
    dtype : str or type
        'float16', 'float32' or 'float64', in which the gradients are computed.

    Raises
    ------
    CheckError
        An AssertionError that names the arguments whose gradients are wrong, with their worst elements and the
        tolerances; or says that the outputs are not the same in every run: that they differ by more than rounding.
    ArgumentError
        If values are missing, or of what the symbol does not have; or for another dtype.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.sym.var('x')
    >>> check_numeric_gradient(mx.sym.tanh(x), [[0.5, 1.0]], dtype='float64')
    >>> check_numeric_gradient(x * mx.sym.BlockGrad(x), {'x': [0.5, 1.0]})
    Traceback (most recent call last):
        ...
    minpy.core.errors.CheckError: check_numeric_gradient: the gradient of 'x' is wrong: NUMERICAL_x and BACKWARD_x
    differ in 2 of 2 elements (100%), ...
    """
    method = "check_numeric_gradient"
    require_dense(grad_stype_dict, method)
    try:
        eps = default_numeric_eps(dtype) if numeric_eps is None else float(numeric_eps)
        default_numeric_eps(dtype)
    except (KeyError, TypeError):
        raise ArgumentError(f"{method}: dtype is {dtype!r}; expected one of {', '.join(EPS)}.") from None
    arguments, states = _bound_values(sym, location, aux_states, ctx, dtype, method)
    names = list(arguments)
    checked = dict.fromkeys(names if grad_nodes is None else grad_nodes, "write")
    if isinstance(grad_nodes, Mapping):
        checked.update(grad_nodes)
    if isinstance(grad_nodes, str):
        raise ArgumentError(f"{method}: grad_nodes is {grad_nodes!r}; expected a list or dict: [{grad_nodes!r}].")
    requests = _requests(checked, names, "grad_nodes", method)
    gradients, before = _random_gradients(checked, arguments)
    executor = sym.bind(ctx, arguments, gradients, requests, {name: state.copy() for name, state in states.items()})
    outputs = executor.forward(is_train=True)
    heads = [array(numpy.random.uniform(0.1, 1.1, output.shape), ctx, output.dtype) for output in outputs]
    executor.backward(heads)
    weighted = _Weighted(sym, ctx, arguments, states, [head.asnumpy() for head in heads], use_forward_train)
    if not repeats(weighted.outputs):
        first, second = weighted.value(), weighted.value()
        raise CheckError(
            f"{method}: the outputs are not the same in every run: {first!r}, then {second!r}. Finite differences of "
            "random outputs mean nothing: check without the random operators, or with use_forward_train=False."
        )
    problems = []
    for name, gradient in gradients.items():
        computed, request = gradient.asnumpy(), requests[name]
        if request == "null":
            labels = f"BEFORE_{name}", f"BACKWARD_{name}"
            problem = difference(before[name], computed, rtol, atol, labels, False)
        else:
            labels = f"NUMERICAL_{name}", f"BACKWARD_{name}"
            numerical = weighted.central_differences(name, eps).astype(computed.dtype)
            computed = computed - before[name] if request == "add" else computed
            problem = difference(numerical, computed, rtol, atol, labels, False)
        problems.append((name, problem + _request_note(request) if problem else ""))
    _raise_problems(f"{method}: the gradient of", "is wrong", problems)


class _Weighted:
    """The sum of a symbol's outputs times weights, as a function of its arguments.

    It is computed in float64 if the symbol can be: the rounding of float32 would drown small differences. Operators
    of native libraries that know float32 alone, and do not report that, give wrong numbers then: those are not used.
    """

    def __init__(
        self,
        sym: Symbol,
        ctx: Any,
        arguments: Mapping[str, NDArray],
        states: Mapping[str, NDArray],
        weights: Sequence[numpy.ndarray],
        is_train: bool,
    ) -> None:
        self._weights = [weight.astype(numpy.float64) for weight in weights]
        self._is_train = is_train
        self._bind(sym, ctx, arguments, states, None)
        computed = self.outputs()
        try:
            self._bind(sym, ctx, arguments, states, numpy.float64)
            agrees = all(map(_mostly_equal, self.outputs(), computed))
        except Exception:  # an operator does not take the dtype
            agrees = False
        if not agrees:
            self._bind(sym, ctx, arguments, states, None)

    def _bind(
        self, sym: Symbol, ctx: Any, arguments: Mapping[str, NDArray], states: Mapping[str, NDArray], dtype: Any
    ) -> None:
        def copies(arrays: Mapping[str, NDArray]) -> dict[str, NDArray]:
            return {name: array(value.asnumpy(), ctx, dtype or value.dtype) for name, value in arrays.items()}

        self._arguments, self._states = copies(arguments), copies(states)
        self._initial = {name: state.asnumpy().copy() for name, state in self._states.items()}
        self._executor = sym.bind(ctx, self._arguments, grad_req="null", aux_states=self._states)

    def value(self, **moved: numpy.ndarray) -> float:
        """Return the sum, with some arguments moved; they stay there."""
        pairs = zip(self._weights, self.outputs(**moved), strict=True)
        return sum(float(numpy.vdot(weight, output.astype(numpy.float64))) for weight, output in pairs)

    def outputs(self, **moved: numpy.ndarray) -> list[numpy.ndarray]:
        """Return the outputs, with some arguments moved; they stay there."""
        for name, value in self._initial.items():
            self._states[name][:] = value
        return [output.asnumpy() for output in self._executor.forward(is_train=self._is_train, **moved)]

    def central_differences(self, name: str, eps: float) -> numpy.ndarray:
        """Return the gradient with respect to an argument."""
        centre = self._arguments[name].asnumpy().copy()
        slopes = central_differences(lambda moved: self.value(**{name: moved}), centre, eps)
        self.value(**{name: centre})
        return slopes


def _mostly_equal(exact: numpy.ndarray, computed: numpy.ndarray) -> bool:
    """Whether most numbers are the same but for rounding, which may move some of them over a step."""
    scale = numpy.abs(computed, where=numpy.isfinite(computed), out=numpy.zeros(computed.shape)).max(initial=0.0)
    close = numpy.isclose(exact, computed, rtol=0.05, atol=0.05 * scale, equal_nan=True)
    return bool(close.mean() > 0.75) if close.size else True


def _require_symbol(sym: Any, method: str) -> None:
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"{method}: the symbol is {describe(sym)}; expected a Symbol.")


def _bound_values(
    sym: Any, location: Any, aux_states: Any, ctx: Any, dtype: Any, method: str
) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Return arrays for the arguments and auxiliary states of a symbol, by their names."""
    _require_symbol(sym, method)
    arguments = _by_name(location, sym.list_arguments(), "location", "argument", method)
    states = _by_name(
        [] if aux_states is None else aux_states, sym.list_auxiliary_states(), "aux_states", "auxiliary state", method
    )

    def arrays(values: Mapping[str, Any]) -> dict[str, NDArray]:
        return {name: array(raw_value(value, name), ctx, _dtype(value, dtype)) for name, value in values.items()}

    return arrays(arguments), arrays(states)


def _dtype(value: Any, dtype: Any) -> Any:
    if dtype is None or (isinstance(dtype, str) and dtype == "asnumpy"):  # MXNet's word for it
        return raw_value(value).dtype
    return dtype


def _by_name(
    values: Any, names: Sequence[str], subject: str, kind: str, method: str, optional: bool = False
) -> dict[str, Any]:
    """Return values by `names`, in their order; `optional`: only those that are given."""
    if isinstance(values, Mapping):
        unknown = [name for name in values if name not in names]
        missing = [name for name in names if name not in values]
        if unknown or (missing and not optional):
            problem = f"{subject} has {unknown[0]!r}" if unknown else f"{subject} lacks {', '.join(map(repr, missing))}"
            raise ArgumentError(
                f"{method}: {problem}; the symbol's {kind}s are {', '.join(names) or 'none'}."
                + (nearest(unknown[0], names) if unknown else "")
            )
        return {name: values[name] for name in names if name in values}
    if not isinstance(values, (list, tuple)):
        raise ArgumentError(f"{method}: {subject} is {describe(values)}; expected a list or a dict of arrays.")
    if len(values) != len(names):
        raise ArgumentError(
            f"{method}: {subject} has {len(values)} values; the symbol has {len(names)} {kind}s: {', '.join(names)}."
        )
    return dict(zip(names, values, strict=True))


def _requests(grad_req: Any, names: Sequence[str], subject: str, method: str) -> dict[str, str]:
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    return {**dict.fromkeys(names, "null"), **_by_name(grad_req, names, subject, "argument", method, optional=True)}


def _random_gradients(
    names: Iterable[str], arguments: Mapping[str, NDArray]
) -> tuple[dict[str, NDArray], dict[str, numpy.ndarray]]:
    """Return arrays for gradients with random numbers in them, and a copy of these."""
    gradients = {
        name: array(numpy.random.standard_normal(arguments[name].shape), arguments[name].context, arguments[name].dtype)
        for name in names
    }
    return gradients, {name: gradient.asnumpy().copy() for name, gradient in gradients.items()}


def _request_note(request: str) -> str:
    if request == "null":
        return "\n  grad_req is 'null': backward must not write this gradient."
    return "\n  grad_req is 'add': what was there before is subtracted." if request == "add" else ""


def _raise_problems(subject: str, verdict: str, problems: Sequence[tuple[str, str]]) -> None:
    wrong = [f"{subject} {name!r} {verdict}: {problem}" for name, problem in problems if problem]
    if wrong:
        right = [name for name, problem in problems if not problem]
        raise CheckError("\n".join([*wrong, *([f"Right: {', '.join(right)}."] if right else [])]))
