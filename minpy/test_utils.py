"""What tests of networks and operators use: comparisons, random arrays, and checks of symbols against numbers.

The names, defaults and tolerances are those of `mxnet.test_utils`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.context import Context, current_context, num_gpus, resolve_context
from minpy.core.errors import ArgumentError, CheckError, FileAccessError, describe, nearest
from minpy.files import write_whole
from minpy.ndarray.creation import array
from minpy.ndarray.ndarray import NDArray
from minpy.symbol.symbol import Symbol

__all__ = [
    "almost_equal",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_exception",
    "check_numeric_gradient",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "download",
    "get_atol",
    "get_rtol",
    "list_gpus",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "same",
    "same_array",
    "set_default_context",
    "simple_forward",
]

_RTOL = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-5}
_ATOL = {"float16": 1e-1, "float32": 1e-3, "float64": 1e-20}
_EPS = {"float16": 2.0**-6, "float32": 2.0**-9, "float64": 2.0**-14}
_PRECISION = {"complex64": "float32", "complex128": "float64", "longdouble": "float64"}


# -- defaults ----------------------------------------------------------------------------------------------------------


def default_context() -> Context:
    """Return the context that new arrays get when none is given.

    Examples
    --------
    >>> default_context()
    cpu(0)
    """
    return current_context()


def set_default_context(ctx: Context | str) -> None:
    """Set the context that new arrays of this thread get when none is given.

    Parameters
    ----------
    ctx : Context or str

    Raises
    ------
    ContextError
        If it is no context on which arrays can be made.

    Examples
    --------
    >>> import minpy as mx
    >>> set_default_context(mx.cpu(1))
    >>> mx.nd.zeros(2).context
    cpu(1)
    >>> set_default_context(mx.cpu(0))
    """
    Context(resolve_context(ctx)).__enter__()  # and nobody leaves it


def default_dtype() -> type:
    """Return the dtype of new arrays.

    Examples
    --------
    >>> default_dtype().__name__
    'float32'
    """
    return numpy.float32


def default_numeric_eps(dtype: Any = None) -> Any:
    """Return the step that finite differences take in a dtype; without one, those of all as a dict.

    Examples
    --------
    >>> default_numeric_eps('float32')
    0.001953125
    """
    table = {numpy.dtype(name): eps for name, eps in _EPS.items()}
    return table if dtype is None else table[numpy.dtype(dtype)]


def list_gpus() -> range:
    """Return the numbers of the GPUs that arrays can be made on.

    Examples
    --------
    >>> list(list_gpus())
    []
    """
    return range(num_gpus())


def get_rtol(rtol: float | None = None, dtype: Any = numpy.float64) -> float:
    """Return a relative tolerance: the given one, or else that of a dtype, which is 0 for integers.

    Examples
    --------
    >>> get_rtol(), get_rtol(dtype='float32'), get_rtol(1e-3), get_rtol(dtype='int32')
    (1e-05, 0.0001, 0.001, 0.0)
    """
    return rtol if rtol is not None else _tolerance(_RTOL, dtype)


def get_atol(atol: float | None = None, dtype: Any = numpy.float64) -> float:
    """Return an absolute tolerance: the given one, or else that of a dtype, which is 0 for integers.

    Examples
    --------
    >>> get_atol(), get_atol(dtype='float32'), get_atol(1e-3), get_atol(dtype='int32')
    (1e-20, 0.001, 0.001, 0.0)
    """
    return atol if atol is not None else _tolerance(_ATOL, dtype)


def _tolerance(table: Mapping[str, float], dtype: Any) -> float:
    name = numpy.dtype(dtype).name
    return table.get(_PRECISION.get(name, name), 0.0)


# -- comparisons -------------------------------------------------------------------------------------------------------


def _raw(value: Any, name: str = "a") -> numpy.ndarray:
    raw = value._data if isinstance(value, Array) else numpy.asarray(value)
    if raw.dtype.kind not in "biufc":
        raise ArgumentError(f"{name} is {describe(value)}; expected an array of numbers.")
    return raw


def same(a: Any, b: Any) -> bool:
    """Tell whether two arrays have the same shape and equal elements.

    Examples
    --------
    >>> import minpy as mx
    >>> same(mx.nd.ones((2,)), [1, 1]), same([1, 1], [1])
    (True, False)
    """
    return numpy.array_equal(_raw(a), _raw(b, "b"))


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Tell whether two arrays of the same shape share memory.

    Examples
    --------
    >>> import minpy as mx
    >>> x = mx.nd.zeros((3,))
    >>> same_array(x, x[:]), same_array(x, x.copy())
    (True, False)
    """
    return array1.shape == array2.shape and numpy.shares_memory(array1._data, array2._data)


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Tell whether two arrays are equal up to a tolerance; see `assert_almost_equal`.

    Returns
    -------
    bool
        False also where the shapes do not fit.

    Examples
    --------
    >>> almost_equal([1.0, 2.0], [1.0, 2.000001]), almost_equal([1.0, 2.0], [1.0, 2.1])
    (True, False)
    """
    return not _difference(a, b, rtol, atol, ("a", "b"), equal_nan, use_broadcast)


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise an AssertionError unless two arrays are equal up to a tolerance: |a - b| <= atol + rtol * |b|.

    Parameters
    ----------
    a, b : array_like
    rtol, atol : float, optional
        By default the larger ones of the two dtypes: 1e-2 and 1e-1 for float16, 1e-4 and 1e-3 for float32, 1e-5 and
        1e-20 for float64, 0 for integers.
    names : pair of str
        What the message calls the arrays.
    equal_nan : bool
        Whether NaN equals NaN.
    use_broadcast : bool
        Whether shapes may differ where they broadcast.
    mismatches : pair of int
        How many elements the message lists. All are counted, so the second number does nothing.

    Raises
    ------
    CheckError
        An AssertionError with the worst elements, their indices, and the tolerance.
    ArgumentError
        For what is no array of numbers.

    Examples
    --------
    >>> assert_almost_equal([1.0, 2.0], [1.0, 2.5], rtol=1e-3, atol=0)
    Traceback (most recent call last):
        ...
    minpy.core.errors.CheckError: a and b differ in 1 of 2 elements (50%), at worst at (1,): a is 2.0, b is 2.5. The
    difference of 0.5 exceeds the tolerance atol 0 + rtol 0.001 * |b| = 0.0025 by a factor of 200.
      a: array([1., 2.])
      b: array([1. , 2.5])
    """
    problem = _difference(a, b, rtol, atol, names, equal_nan, use_broadcast, mismatches[0])
    if problem:
        raise CheckError(problem)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, names: Sequence[str] = ("a", "b")
) -> None:
    """Raise an AssertionError unless two arrays are equal up to a tolerance wherever neither is NaN.

    Parameters are those of `assert_almost_equal`.

    Examples
    --------
    >>> assert_almost_equal_ignore_nan([1.0, float('nan')], [1.0, 2.0])
    """
    first, second = _raw(a, names[0]), _raw(b, names[1])
    unknown = numpy.isnan(first) | numpy.isnan(second)
    assert_almost_equal(numpy.where(unknown, 0, first), numpy.where(unknown, 0, second), rtol, atol, names)


def assert_exception(f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any) -> None:
    """Raise an AssertionError unless `f(*args, **kwargs)` raises an exception of a type.

    Examples
    --------
    >>> assert_exception(int, ValueError, 'one')
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise CheckError(f"{getattr(f, '__name__', f)} did not raise {exception_type.__name__}.")


def _difference(
    a: Any,
    b: Any,
    rtol: float | None,
    atol: float | None,
    names: Sequence[str],
    equal_nan: bool,
    use_broadcast: bool = True,
    listed: int = 10,
) -> str:
    """Return in words how two arrays differ; an empty text if they do not."""
    name, other = names
    first, second = _raw(a, name), _raw(b, other)
    shapes = f"{name} has shape {first.shape}, {other} has shape {second.shape}"
    if not use_broadcast and first.shape != second.shape:
        return f"{shapes}; they must be equal, as use_broadcast is False."
    rtol = rtol if rtol is not None else max(get_rtol(dtype=first.dtype), get_rtol(dtype=second.dtype))
    atol = atol if atol is not None else max(get_atol(dtype=first.dtype), get_atol(dtype=second.dtype))
    if rtol == atol == 0 and first.shape == second.shape and numpy.array_equal(first, second, equal_nan):
        return ""
    exact = [raw if raw.dtype.kind in "fc" else raw.astype(numpy.float64) for raw in (first, second)]
    wide = numpy.result_type(*exact, numpy.float64)
    try:
        left, right = numpy.broadcast_arrays(*(raw.astype(wide) for raw in exact))
    except ValueError:
        return f"{shapes}; these do not broadcast."
    with numpy.errstate(all="ignore"):
        error = numpy.abs(left - right)
        allowed = atol + rtol * numpy.abs(right)
        equal = (left == right) | (equal_nan & numpy.isnan(left) & numpy.isnan(right))
        wrong = ~(equal | (numpy.isfinite(left) & numpy.isfinite(right) & (error <= allowed)))
        excess = error / allowed
    count = int(wrong.sum())
    if not count:
        return ""
    # Worst first: by how far the tolerance is exceeded, and where that is infinite, by how much.
    excess = numpy.where(numpy.isnan(excess), numpy.inf, excess)
    ranks = [numpy.where(wrong, one, -1.0).ravel() for one in (numpy.nan_to_num(error, nan=numpy.inf), excess)]
    worst = numpy.lexsort([-rank for rank in ranks])[: max(1, min(count, listed))]
    indices = [tuple(map(int, numpy.unravel_index(position, wrong.shape))) for position in worst]
    full = [numpy.broadcast_to(raw, wrong.shape) for raw in (first, second)]
    index = indices[0]
    factor = f" by a factor of {excess[index]:.3g}" if numpy.isfinite(excess[index]) else ""
    where = f" at worst at {index}:" if index else ""
    text = (
        f"{name} and {other} differ in {count} of {wrong.size} elements ({_percent(count, wrong.size)}),{where} "
        f"{name} is {full[0][index].item()!r}, {other} is {full[1][index].item()!r}. The difference of "
        f"{error[index]:.6g} exceeds the tolerance atol {atol:g} + rtol {rtol:g} * |{other}| = {allowed[index]:.6g}"
        f"{factor}."
    )
    rows = [f"  {at}: {name} {full[0][at].item()!r}, {other} {full[1][at].item()!r}" for at in indices]
    arrays = [f"  {one}: {_array_text(raw)}" for one, raw in ((name, first), (other, second))]
    return "\n".join([text, *(rows if len(rows) > 1 else []), *arrays])


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g}%"


def _array_text(raw: numpy.ndarray) -> str:
    with numpy.printoptions(threshold=60, edgeitems=3):
        return repr(raw).replace("\n", "\n    ")


# -- random arrays -----------------------------------------------------------------------------------------------------


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Return a random shape with `num_dim` lengths from 1 (or 0) to `dim`.

    Examples
    --------
    >>> len(rand_shape_nd(4)), max(rand_shape_nd(100, dim=2))
    (4, 2)
    """
    return _random_shape([dim] * num_dim, allow_zero_size)


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """Return a random shape of two axes, with lengths from 1 (or 0) to `dim0` and `dim1`.

    Examples
    --------
    >>> rand_shape_2d(1, 1)
    (1, 1)
    """
    return _random_shape([dim0, dim1], allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, int, int]:
    """Return a random shape of three axes, with lengths from 1 (or 0) to `dim0`, `dim1` and `dim2`.

    Examples
    --------
    >>> rand_shape_3d(1, 1, 1)
    (1, 1, 1)
    """
    return _random_shape([dim0, dim1, dim2], allow_zero_size)


def _random_shape(longest: Sequence[int], allow_zero_size: bool) -> Any:
    return tuple(int(numpy.random.randint(0 if allow_zero_size else 1, length + 1)) for length in longest)


def random_arrays(*shapes: Sequence[int]) -> Any:
    """Return NumPy arrays of normally distributed float32 numbers: one for one shape, else a list.

    The numbers come from `numpy.random`.

    Examples
    --------
    >>> random_arrays((2, 3)).shape, [x.shape for x in random_arrays((2,), ())]
    ((2, 3), [(2,), ()])
    """
    arrays: list[Any] = [numpy.asarray(numpy.random.standard_normal(shape), default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def rand_ndarray(
    shape: Sequence[int],
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Any = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Any = None,
) -> NDArray:
    """Return an NDArray of normally distributed numbers from `numpy.random`.

    Parameters
    ----------
    shape : sequence of int
    stype : str
        'default', which is the only storage that there is.
    dtype : str or type, optional
        float32 by default.
    ctx : Context, optional
    density, modifier_func, shuffle_csr_indices, distribution
        Of sparse arrays: accepted and not used.

    Raises
    ------
    ArgumentError
        For another storage.

    Examples
    --------
    >>> rand_ndarray((2, 3)).shape
    (2, 3)
    """
    _require_dense(stype, "rand_ndarray")
    return array(numpy.random.standard_normal(tuple(shape)), ctx, default_dtype() if dtype is None else dtype)


def _require_dense(stypes: Any, method: str) -> None:
    for stype in stypes.values() if isinstance(stypes, Mapping) else stypes if isinstance(stypes, list) else [stypes]:
        if stype not in (None, "default"):
            raise ArgumentError(f"{method}: storage {stype!r} is not supported; arrays are dense: 'default'.")


# -- checks of symbols -------------------------------------------------------------------------------------------------


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
    sym : Symbol
    location : list or dict of array_like
        The values of all arguments, in the order of `list_arguments` or by name.
    expected : list or dict of array_like
        The values of all outputs, in the order of `list_outputs` or by name. None: not checked.
    rtol, atol : float, optional
        The tolerances; by default those of the dtypes, as for `assert_almost_equal`.
    aux_states : list or dict of array_like, optional
        The values of all auxiliary states.
    ctx : Context, optional
    equal_nan : bool
        Whether NaN equals NaN.
    dtype : str or type, optional
        What arguments are converted to; None: their own dtypes.

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
    wanted = _by_name(expected, sym.list_outputs(), "expected", "output", method)
    executor = sym.bind(ctx, arguments, grad_req="null", aux_states=states)
    outputs: list[NDArray] = executor.forward(is_train=False)
    problems = []
    for name, output in zip(sym.list_outputs(), outputs, strict=True):
        if wanted[name] is not None:
            names = f"EXPECTED_{name}", f"FORWARD_{name}"
            problems.append((name, _difference(wanted[name], output, rtol, atol, names, equal_nan)))
    _raise_problems(f"{method}: output", "is wrong", problems)
    return outputs


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
    sym : Symbol
    location : list or dict of array_like
        The values of all arguments, in the order of `list_arguments` or by name.
    out_grads : list or dict of array_like, or None
        The gradients of all outputs, in the order of `list_outputs` or by name.
    expected : list or dict of array_like
        The gradients of all arguments in the order of `list_arguments`, or of some by name. None: not checked.
    rtol, atol : float, optional
        The tolerances; by default those of the dtypes, as for `assert_almost_equal`.
    aux_states : list or dict of array_like, optional
        The values of all auxiliary states.
    grad_req : str, or list or dict of str
        'write', 'add' or 'null', for all arguments or for each.
    ctx : Context, optional
    grad_stypes : dict of str to str, optional
        Storages of gradients: 'default'.
    equal_nan : bool
        Whether NaN equals NaN.
    dtype : str or type, optional
        What arguments and gradients are converted to; None: their own dtypes.

    Returns
    -------
    dict of str to NDArray
        What the arrays of the gradients hold, by the names of the arguments.

    Raises
    ------
    CheckError
        An AssertionError that names the arguments whose gradients are wrong, with their worst elements and the
        tolerances.
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
    _require_dense(grad_stypes, method)
    arguments, states = _bound_values(sym, location, aux_states, ctx, dtype, method)
    names = list(arguments)
    partly = isinstance(expected, Mapping)
    wanted = _by_name(expected, names, "expected", "argument", method, optional=partly)
    requests = _requests(grad_req, names, "grad_req", method)
    heads = None
    if out_grads is not None:
        given = _by_name(out_grads, sym.list_outputs(), "out_grads", "output", method)
        heads = [None if value is None else array(_raw(value), ctx, _dtype(value, dtype)) for value in given.values()]
    gradients, before = _random_gradients([name for name in wanted if wanted[name] is not None], arguments)
    executor = sym.bind(ctx, arguments, gradients, requests, states)
    executor.forward(is_train=True)
    executor.backward(heads)
    problems = []
    for name, gradient in gradients.items():
        found, meant, request = gradient.asnumpy(), wanted[name], requests[name]
        if request == "add":
            found = found - before[name]
        elif request == "null":
            meant = before[name]
        labels = f"EXPECTED_{name}", f"BACKWARD_{name}"
        problem = _difference(meant, found, rtol, atol, labels, equal_nan)
        problems.append((name, problem + _request_note(request) if problem else ""))
    _raise_problems(f"{method}: the gradient of", "is wrong", problems)
    return gradients


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
    sym : Symbol
    location : list or dict of array_like
        The values of all arguments, in the order of `list_arguments` or by name.
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
        tolerances; or says that the outputs are not the same in every run.
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
    _require_dense(grad_stype_dict, method)
    try:
        eps = default_numeric_eps(dtype) if numeric_eps is None else float(numeric_eps)
        default_numeric_eps(dtype)
    except (KeyError, TypeError):
        raise ArgumentError(f"{method}: dtype is {dtype!r}; expected one of {', '.join(_EPS)}.") from None
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
    first, second = weighted.value(), weighted.value()
    if first != second and not (numpy.isnan(first) and numpy.isnan(second)):
        raise CheckError(
            f"{method}: the outputs are not the same in every run: {first!r}, then {second!r}. Finite differences of "
            "random outputs mean nothing: check without the random operators, or with use_forward_train=False."
        )
    problems = []
    for name, gradient in gradients.items():
        found, request = gradient.asnumpy(), requests[name]
        if request == "null":
            labels = f"BEFORE_{name}", f"BACKWARD_{name}"
            problem = _difference(before[name], found, rtol, atol, labels, False)
        else:
            labels = f"NUMERICAL_{name}", f"BACKWARD_{name}"
            numerical = weighted.central_differences(name, eps).astype(found.dtype)
            found = found - before[name] if request == "add" else found
            problem = _difference(numerical, found, rtol, atol, labels, False)
        problems.append((name, problem + _request_note(request) if problem else ""))
    _raise_problems(f"{method}: the gradient of", "is wrong", problems)


class _Weighted:
    """The sum of a symbol's outputs times numbers, at a place that can be moved.

    It is computed in float64 if the symbol can be: the rounding of float32 would drown small differences.
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
        try:
            self._bind(sym, ctx, arguments, states, numpy.float64)
            self.value()
        except Exception:  # whatever an operator says to a dtype that it does not take
            self._bind(sym, ctx, arguments, states, None)

    def _bind(
        self, sym: Symbol, ctx: Any, arguments: Mapping[str, NDArray], states: Mapping[str, NDArray], dtype: Any
    ) -> None:
        def copies(arrays: Mapping[str, NDArray]) -> dict[str, NDArray]:
            return {name: array(one.asnumpy(), ctx, dtype or one.dtype) for name, one in arrays.items()}

        self._arguments, self._states = copies(arguments), copies(states)
        self._initial = {name: state.asnumpy().copy() for name, state in self._states.items()}
        self._executor = sym.bind(ctx, self._arguments, grad_req="null", aux_states=self._states)

    def value(self, **moved: numpy.ndarray) -> float:
        """Return the sum, with some arguments moved; they stay there."""
        for name, value in self._initial.items():
            self._states[name][:] = value
        outputs = self._executor.forward(is_train=self._is_train, **moved)
        return sum(_dot(weight, output.asnumpy()) for weight, output in zip(self._weights, outputs, strict=True))

    def central_differences(self, name: str, eps: float) -> numpy.ndarray:
        """Return the gradient with respect to an argument; each element is moved by half of `eps` to both sides."""
        at = self._arguments[name].asnumpy().copy()
        result = numpy.zeros(at.shape, numpy.float64)
        for index in numpy.ndindex(at.shape):
            ends = []
            for step in (eps / 2, -eps / 2):
                moved = at.copy()
                moved[index] += step
                # The step that was taken: what is left of the one that was meant, after rounding.
                ends.append((self.value(**{name: moved}), float(moved[index])))
            (above, right), (below, left) = ends
            result[index] = (above - below) / (right - left) if right != left else 0.0
        self.value(**{name: at})
        return result


def _dot(weight: numpy.ndarray, answer: numpy.ndarray) -> float:
    return float(numpy.vdot(weight, answer.astype(numpy.float64)))


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
    return (
        {name: array(_raw(value, name), ctx, _dtype(value, dtype)) for name, value in arguments.items()},
        {name: array(_raw(value, name), ctx, _dtype(value, dtype)) for name, value in states.items()},
    )


def _dtype(value: Any, dtype: Any) -> Any:
    if dtype is None or (isinstance(dtype, str) and dtype == "asnumpy"):  # MXNet's word for it
        return _raw(value).dtype
    return dtype


def _by_name(
    given: Any, names: Sequence[str], what: str, kind: str, method: str, optional: bool = False
) -> dict[str, Any]:
    """Return values by the names of what they are for, in its order; `optional`: those that are given."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        missing = [name for name in names if name not in given]
        if unknown or (missing and not optional):
            problem = f"{what} has {unknown[0]!r}" if unknown else f"{what} lacks {', '.join(map(repr, missing))}"
            raise ArgumentError(
                f"{method}: {problem}; the symbol's {kind}s are {', '.join(names) or 'none'}."
                + (nearest(unknown[0], names) if unknown else "")
            )
        return {name: given[name] for name in names if name in given}
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(f"{method}: {what} is {describe(given)}; expected a list or a dict of arrays.")
    if len(given) != len(names):
        raise ArgumentError(
            f"{method}: {what} has {len(given)} values; the symbol has {len(names)} {kind}s: {', '.join(names)}."
        )
    return dict(zip(names, given, strict=True))


def _requests(grad_req: Any, names: Sequence[str], what: str, method: str) -> dict[str, str]:
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    return {**dict.fromkeys(names, "null"), **_by_name(grad_req, names, what, "argument", method, optional=True)}


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


def _raise_problems(what: str, verdict: str, problems: Sequence[tuple[str, str]]) -> None:
    wrong = [f"{what} {name!r} {verdict}: {problem}" for name, problem in problems if problem]
    if wrong:
        right = [name for name, problem in problems if not problem]
        raise CheckError("\n".join([*wrong, *([f"Right: {', '.join(right)}."] if right else [])]))


# -- files -------------------------------------------------------------------------------------------------------------


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """Fetch a file, and return its path. It appears whole or not at all.

    Parameters
    ----------
    url : str
    fname : str, optional
        What to call it; by default the last part of the URL.
    dirname : str, optional
        The folder to put it into, which is made if it is missing.
    overwrite : bool
        Whether to fetch it if it is there already.
    retries : int
        How often to try.

    Returns
    -------
    str

    Raises
    ------
    FileAccessError
        If it cannot be fetched or written.
    ArgumentError
        If the URL has no last part, and no `fname` is given.
    """
    fname = fname or url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    if not fname:
        raise ArgumentError(f"download: {url!r} does not end in the name of a file; pass fname='...'.")
    path = os.path.join(dirname, fname) if dirname else fname
    if os.path.exists(path) and not overwrite:
        return path
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    for attempt in range(max(retries, 1)):
        if attempt:
            time.sleep(min(2.0 ** (attempt - 1), 10.0))
        try:
            write_whole(path, _chunks(url))
            return path
        except (OSError, ValueError) as error:
            last = error
            if 400 <= getattr(error, "code", 500) < 500:  # the server will not change its mind
                break
    raise FileAccessError(f"download: {url} was not fetched in {attempt + 1} attempt(s): {last}") from last


def _chunks(url: str) -> Iterator[bytes]:
    import urllib.request  # it loads a good part of the standard library

    with urllib.request.urlopen(url, timeout=60) as source:
        while chunk := source.read(1 << 20):
            yield chunk
