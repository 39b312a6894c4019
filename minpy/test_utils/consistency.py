"""Whether a symbol computes the same in several dtypes and contexts; how fast it is; its derivatives by differences."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, CheckError, describe
from minpy.ndarray.ndarray import NDArray
from minpy.symbol.symbol import Symbol
from minpy.test_utils.comparing import difference
from minpy.test_utils.tolerances import get_tols

__all__ = ["check_consistency", "check_speed", "numeric_grad", "same_symbol_structure"]


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Tell whether two symbols are of the same operators, composed in the same way, whatever their names.

    Examples
    --------
    >>> import minpy as mx
    >>> a, b = mx.sym.var('a'), mx.sym.var('b')
    >>> same_symbol_structure(a + b, b + a), same_symbol_structure(a + b, a * b)
    (True, False)
    """
    first, second = (json.loads(sym.tojson()) for sym in (sym1, sym2))
    shapes = [[(node["op"], node["inputs"]) for node in graph["nodes"]] for graph in (first, second)]
    return shapes[0] == shapes[1] and first["heads"] == second["heads"]


def numeric_grad(
    executor: Any,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = numpy.float32,
) -> dict[str, numpy.ndarray]:
    """Return the derivatives of the sum of an executor's first output, by central differences.

    Parameters
    ----------
    executor : Executor
        Bound to arrays whose values are replaced.
    location : dict of str to array_like
        The values of its arguments.
    aux_states : dict of str to array_like, optional
        The values of its auxiliary states, set anew before each run.
    eps : float
        The step; it should be a good deal larger than the rounding errors of `dtype`.
    use_forward_train : bool
        Whether operators run as in training.
    dtype : str or type
        Of the derivatives.

    Returns
    -------
    dict of str to numpy.ndarray

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.array([1, 2], dtype='float64')
    >>> executor = mx.sym.square(mx.sym.var('x')).bind(mx.cpu(), {'x': x})
    >>> numeric_grad(executor, {'x': [1.0, 2.0]}, dtype='float64')['x'].round(6)
    array([2., 4.])
    """

    def value(name: str, moved: numpy.ndarray) -> float:
        executor.arg_dict[name][:] = moved
        for state_name, state in (aux_states or {}).items():
            executor.aux_dict[state_name][:] = state
        return float(executor.forward(is_train=use_forward_train)[0].asnumpy().sum(dtype=numpy.float64))

    numbers = {name: numpy.array(as_numpy(given), numpy.float64) for name, given in location.items()}
    for name, number in numbers.items():
        executor.arg_dict[name][:] = number
    results = {}
    for name, number in numbers.items():
        results[name] = central_differences(partial(value, name), number, eps).astype(dtype)
        executor.arg_dict[name][:] = number
    return results


def central_differences(value: Callable[[numpy.ndarray], float], at: numpy.ndarray, eps: float) -> numpy.ndarray:
    """Return the gradient of a function at an array; each element is moved by half of `eps` to both sides."""
    slopes = numpy.zeros(at.shape, numpy.float64)
    for index in numpy.ndindex(at.shape):
        ends = []
        for step in (eps / 2, -eps / 2):
            moved = at.copy()
            moved[index] += step
            # The step that was taken: what is left of the one that was meant, after rounding.
            ends.append((value(moved), float(moved[index])))
        (above, right), (below, left) = ends
        slopes[index] = (above - below) / (right - left) if right != left else 0.0
    return slopes


def as_numpy(value: Any) -> numpy.ndarray:
    """Return an array of any kind as one of NumPy."""
    return value.asnumpy() if isinstance(value, NDArray) else numpy.asarray(value)


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Any = None,
    N: int = 20,
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Return the seconds that one run of a symbol takes, the mean of N after a first one.

    Parameters
    ----------
    sym : Symbol
    location : dict of str to array_like, optional
        The values of all arguments; by default they are drawn, of shapes that are given as `name=shape`.
    ctx : Context, optional
    N : int
        How many runs.
    grad_req : str, or list or dict of str, optional
        'write' by default.
    typ : {'whole', 'forward'}
        Forward and backward, or forward alone.
    **kwargs : tuple of int
        Shapes of inputs.

    Raises
    ------
    ArgumentError
        For another `typ`.

    Examples
    --------
    >>> import minpy as mx
    >>> check_speed(mx.sym.var('x') * 2, N=2, x=(3, 4)) > 0
    True
    """
    if typ not in ("whole", "forward"):
        raise ArgumentError(f"check_speed: unknown typ {typ!r}; expected 'whole' or 'forward'.")
    unknown = [name for name in kwargs if name not in sym.list_arguments()]
    if unknown:
        raise ArgumentError(
            f"check_speed: the symbol has no argument {unknown[0]!r}; it has {', '.join(sym.list_arguments())}."
        )
    if location is not None:
        kwargs = {name: as_numpy(value).shape for name, value in location.items()}
    executor = sym.simple_bind(ctx, grad_req or "write", **kwargs)
    for name, held in executor.arg_dict.items():
        held[:] = numpy.random.standard_normal(held.shape) if location is None else as_numpy(location[name])

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(executor.outputs)

    run()
    start = time.perf_counter()
    for _ in range(N):
        run()
    return (time.perf_counter() - start) / N


def check_consistency(
    sym: Any,
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: Mapping[str, Any] | None = None,
    aux_params: Mapping[str, Any] | None = None,
    rtol: Any = None,
    atol: Any = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, Any] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = numpy.float64,
) -> dict[str, NDArray]:
    """Raise an AssertionError unless a symbol computes the same, forward and backward, in several ways.

    Parameters
    ----------
    sym : Symbol or list of Symbol
        One for all ways, or one for each.
    ctx_list : list of dict
        The ways: for each its `ctx`, shapes of inputs by name, and `type_dict`, their dtypes. The one with the widest
        dtype is what the others are compared with.
    scale : float
        Standard deviation of the random inputs; their bound, with `use_uniform`.
    grad_req : str, or list or dict of str
        With 'null' only the outputs are compared.
    arg_params, aux_params : dict of str to array_like, optional
        Values of some arguments and auxiliary states.
    rtol, atol : float or dict of dtype to float, optional
        By default those of the dtypes.
    raise_on_err : bool
        Whether a difference is an error, or a text on the standard output.
    ground_truth : dict of str to array_like, optional
        What to compare all ways with.
    equal_nan : bool
        Whether NaN equals NaN.
    use_uniform : bool
        Whether inputs are drawn uniformly from [-scale, scale).
    rand_type : dtype
        Of the random inputs, before each way rounds them.

    Returns
    -------
    dict of str to NDArray
        The outputs, and gradients by arguments' names, of the widest way.

    Raises
    ------
    CheckError
        With the ways that differ, their worst elements and the tolerances.

    Examples
    --------
    >>> import minpy as mx
    >>> ways = [{'ctx': mx.cpu(), 'x': (2, 3), 'type_dict': {'x': dtype}} for dtype in ('float64', 'float32')]
    >>> sorted(check_consistency(mx.sym.tanh(mx.sym.var('x'), name='y'), ways))
    ['x', 'y_output']
    """
    symbols = list(sym) if isinstance(sym, (list, tuple)) else [sym] * len(ctx_list)
    if len(symbols) != len(ctx_list) or len(ctx_list) < (2 if ground_truth is None else 1):
        raise ArgumentError(
            f"check_consistency: {len(symbols)} symbols, {len(ctx_list)} ways; expected one for each, and two or more."
        )
    names, outputs = symbols[0].list_arguments(), symbols[0].list_outputs()
    for other in symbols[1:]:
        if (other.list_arguments(), other.list_outputs()) != (names, outputs):
            raise ArgumentError(
                f"check_consistency: the symbols have other arguments or outputs: {names}, {outputs}; "
                f"{other.list_arguments()}, {other.list_outputs()}."
            )
    executors = [symbol.simple_bind(grad_req=grad_req, **way) for symbol, way in zip(symbols, ctx_list, strict=True)]
    values = {name: as_numpy(value) for name, value in (arg_params or {}).items()}
    for name, held in executors[0].arg_dict.items():
        if name not in values:
            draw = numpy.random.uniform(-1, 1, held.shape) if use_uniform else numpy.random.standard_normal(held.shape)
            values[name] = (draw * scale).astype(rand_type)
    states = {name: as_numpy(value) for name, value in (aux_params or {}).items()}
    results = [_run(executor, values, states, grad_req) for executor in executors]
    widths = [max(array.asnumpy().dtype.itemsize for array in way.values()) for way in results]
    widest = widths.index(max(widths))
    truth = ground_truth or results[widest]
    problems = []
    for number, way in enumerate(results):
        if ground_truth is None and number == widest:
            continue
        for name, value in way.items():
            if name in truth:
                relative, absolute = get_tols(value, as_numpy(truth[name]), rtol, atol)
                called = f"{name} of {describe_way(ctx_list[number])}", f"that of {describe_way(ctx_list[widest])}"
                problems.append(difference(value, truth[name], relative, absolute, called, equal_nan))
    problems = [problem for problem in problems if problem]
    if problems and raise_on_err:
        raise CheckError("check_consistency: " + "\n".join(problems))
    for problem in problems:
        print(f"check_consistency: {problem}")
    return results[widest]


def describe_way(way: Mapping[str, Any]) -> str:
    """Return a short text for one of the ways of `check_consistency`: its context and dtypes."""
    dtypes = {numpy.dtype(dtype).name for dtype in way.get("type_dict", {}).values()}
    return " ".join([str(way.get("ctx", "cpu(0)")), *sorted(dtypes)]) or describe(way)


def _run(executor: Any, values: Mapping[str, Any], states: Mapping[str, Any], grad_req: Any) -> dict[str, NDArray]:
    for name, held in executor.arg_dict.items():
        held[:] = values[name].astype(held.dtype)
    for name, held in executor.aux_dict.items():
        held[:] = states.get(name, 0)
    executor.forward(is_train=grad_req != "null")
    results: dict[str, NDArray] = {name: output.copy() for name, output in executor.output_dict.items()}
    if grad_req != "null":
        executor.backward(executor.outputs)
        results.update({name: grad.copy() for name, grad in executor.grad_dict.items() if grad is not None})
    return results
