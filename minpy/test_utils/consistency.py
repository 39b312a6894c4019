"""Whether symbols, Gluon blocks and optimizers compute the same in several ways.

Beside that, how fast a symbol is, and its derivatives by differences.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, CheckError, describe
from minpy.core.numpy_semantics import use_np
from minpy.core.state import Scope
from minpy.ndarray.creation import array
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import require_dense
from minpy.symbol.symbol import Symbol
from minpy.test_utils.comparing import assert_almost_equal, difference
from minpy.test_utils.defaults import get_tols
from minpy.test_utils.random_arrays import rand_ndarray

__all__ = [
    "check_consistency",
    "check_gluon_hybridize_consistency",
    "check_speed",
    "compare_optimizer",
    "numeric_grad",
    "same_symbol_structure",
]


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

    numbers = {name: numpy.array(as_numpy(argument), numpy.float64) for name, argument in location.items()}
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
            # The step after rounding.
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
    for name, target in executor.arg_dict.items():
        target[:] = numpy.random.standard_normal(target.shape) if location is None else as_numpy(location[name])

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
        Values with which all ways are compared.
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
    for another in symbols[1:]:
        if (another.list_arguments(), another.list_outputs()) != (names, outputs):
            raise ArgumentError(
                f"check_consistency: the symbols have other arguments or outputs: {names}, {outputs}; "
                f"{another.list_arguments()}, {another.list_outputs()}."
            )
    executors = [symbol.simple_bind(grad_req=grad_req, **way) for symbol, way in zip(symbols, ctx_list, strict=True)]
    values = {name: as_numpy(value) for name, value in (arg_params or {}).items()}
    for name, data in executors[0].arg_dict.items():
        if name not in values:
            draw = numpy.random.uniform(-1, 1, data.shape) if use_uniform else numpy.random.standard_normal(data.shape)
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
    for name, target in executor.arg_dict.items():
        target[:] = values[name].astype(target.dtype)
    for name, target in executor.aux_dict.items():
        target[:] = states.get(name, 0)
    executor.forward(is_train=grad_req != "null")
    results: dict[str, NDArray] = {name: output.copy() for name, output in executor.output_dict.items()}
    if grad_req != "null":
        executor.backward(executor.outputs)
        results.update({name: grad.copy() for name, grad in executor.grad_dict.items() if grad is not None})
    return results


@use_np
def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: Sequence[Any],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Check that a block gives the same outputs and input gradients as written and hybridized.

    The block must not draw random numbers.

    Parameters
    ----------
    net_builder : callable
        `net_builder(prefix=...)` returns the block, with parameters that are not initialized.
    data_l : list of minpy.np.ndarray
        The inputs of the block.
    numpy_func : callable, optional
        The function of NumPy arrays that it should compute.
    test_grad : bool
        Whether gradients by `data_l` are compared, too; the outputs are their own head gradients.
    rtol, atol : float
        How much numbers may differ.

    Raises
    ------
    AssertionError
        If outputs or gradients differ.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.test_utils import check_gluon_hybridize_consistency
    >>> build = lambda prefix: mx.gluon.nn.Dense(3, activation='tanh', prefix=prefix)
    >>> check_gluon_hybridize_consistency(build, [mx.np.ones((2, 4))])
    """
    values: dict[str, numpy.ndarray] = {}
    expected: numpy.ndarray | None = None
    gradients: list[numpy.ndarray] | None = None
    for hybridize in (False, True):
        for records in (False, True) if test_grad else (False,):
            net = net_builder(prefix="net_")
            net.initialize()
            inputs = [data.copy() for data in data_l]
            if values:
                net(*inputs)  # this initializes parameters whose shapes follow from it
                for name, parameter in net.collect_params().items():
                    parameter.set_data(array(values[name], dtype=values[name].dtype))
            if hybridize:
                net.hybridize()
            output = _outputs(net, inputs, records)
            values = values or {name: parameter.data().asnumpy() for name, parameter in net.collect_params().items()}
            if expected is None:
                expected = output
            assert_almost_equal(output, expected, rtol, atol)
            if records:
                computed = [data.grad.asnumpy() for data in inputs]
                gradients = computed if gradients is None else gradients
                for gradient, first in zip(computed, gradients, strict=True):
                    assert_almost_equal(gradient, first, rtol, atol)
    if numpy_func is not None:
        assert_almost_equal(expected, numpy_func(*[data.asnumpy() for data in data_l]), rtol, atol)


def _outputs(net: Any, inputs: Sequence[Any], records: bool) -> numpy.ndarray:
    if records:
        for data in inputs:
            data.attach_grad()
        with Scope(True, True):
            out = net(*inputs)
        out.backward(out)
    else:
        out = net(*inputs)
    output: numpy.ndarray = out.asnumpy()
    return output


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Check that two optimizers make the same step of random weights, and have the same states before and after.

    Parameters
    ----------
    opt1, opt2 : Optimizer
    shape : tuple of int, or a list of them
        The shape of the weight, or of each of `ntensors` weights.
    dtype : str or type
        Of weights and gradients.
    w_stype, g_stype : str
        'default': arrays are dense.
    rtol, atol : float
        How much weights and states may differ.
    compare_states : bool
        Whether states are compared; they are not if they are of different kinds.
    ntensors : int
        With more than one, both are given lists.

    Raises
    ------
    AssertionError
        If weights or states differ.
    ArgumentError
        If there are not as many shapes as weights, or for sparse storage types.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.test_utils import compare_optimizer
    >>> compare_optimizer(mx.optimizer.SGD(), mx.optimizer.NAG(), (2, 3), 'float32')
    """
    require_dense("compare_optimizer", w_stype)
    require_dense("compare_optimizer", g_stype)
    shapes = list(shape) if isinstance(shape, list) else [shape] * ntensors
    if len(shapes) != ntensors:
        raise ArgumentError(
            f"compare_optimizer: shape is {describe(shape)}, with {len(shapes)} shapes; ntensors={ntensors} weights "
            "need one each."
        )
    first = [rand_ndarray(weight_shape, dtype=dtype) for weight_shape in shapes]
    grads = [rand_ndarray(weight_shape, dtype=dtype) for weight_shape in shapes]
    # An optimizer may change gradients in place, as when it clips them: each has its own.
    second, second_grads = ([array.copy() for array in arrays] for arrays in (first, grads))
    states = [
        [optimizer.create_state_multi_precision(index, weight) for index, weight in enumerate(weights)]
        for optimizer, weights in ((opt1, first), (opt2, second))
    ]
    if compare_states:
        _assert_equal_states(states[0], states[1], rtol, atol)
    for optimizer, weights, gradients, own in (
        (opt1, first, grads, states[0]),
        (opt2, second, second_grads, states[1]),
    ):
        if ntensors == 1:
            optimizer.update_multi_precision(0, weights[0], gradients[0], own[0])
        else:
            optimizer.update_multi_precision(list(range(ntensors)), weights, gradients, own)
    if compare_states:
        _assert_equal_states(states[0], states[1], rtol, atol)
    for weight1, weight2 in zip(first, second, strict=True):
        assert_almost_equal(weight1, weight2, rtol=rtol, atol=atol)


def _assert_equal_states(first: Any, second: Any, rtol: float, atol: float) -> None:
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)) and len(first) == len(second):
        for state1, state2 in zip(first, second, strict=True):
            _assert_equal_states(state1, state2, rtol, atol)
    elif isinstance(first, NDArray) and isinstance(second, NDArray):
        assert_almost_equal(first, second, rtol=rtol, atol=atol)
    elif first is not None or second is not None:
        numbers = isinstance(first, (int, float, numpy.number)) and isinstance(second, (int, float, numpy.number))
        if not numbers or first != second:
            raise AssertionError(f"compare_optimizer: states are {describe(first)} and {describe(second)}.")
