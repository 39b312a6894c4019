"""What MinPy had in `minpy.core`: gradients, symbols as functions, and conversions of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

import minpy.numpy as np
from minpy import functional
from minpy.core.array import Array
from minpy.core.errors import ArgumentError, nearest
from minpy.core.state import Scope
from minpy.graph.compiled import Compiled
from minpy.graph.recording import call_graph
from minpy.namespaces import listing
from minpy.symbol.symbol import Symbol

__all__ = [
    "Function",
    "MXNetSymbolError",
    "convert_args",
    "function",
    "grad",
    "grad_and_loss",
    "minpy_to_numpy",
    "numpy_to_minpy",
    "return_numpy",
]
__dir__ = listing(__all__)

Shapes = Mapping[str, tuple[int, ...]] | Sequence[tuple[str, tuple[int, ...]]]


class MXNetSymbolError(ArgumentError, ValueError):
    """A symbol that cannot become a function.

    Examples
    --------
    >>> issubclass(MXNetSymbolError, ValueError)
    True
    """


class Function:
    """A symbol as a differentiable function of arrays that are given by name.

    Parameters
    ----------
    symbol : Symbol
    input_shapes : mapping of str to tuple, optional
        The shapes of its data: `get_params` then tells those of the other variables. Without, they are known after the
        first call.
    name : str
        What messages call the function.

    Attributes
    ----------
    is_train : bool
        Whether operators behave as in training; True at first.

    Raises
    ------
    MXNetSymbolError
        If it is given no symbol.

    Examples
    --------
    >>> import minpy
    >>> from minpy import sym
    >>> net = sym.FullyConnected(sym.var('x'), name='fc', num_hidden=2)
    >>> f = minpy.core.Function(net, {'x': (3, 4)})
    >>> f.get_params()
    {'fc_weight': {'shape': (2, 4)}, 'fc_bias': {'shape': (2,)}}
    >>> x, w, b = np.ones((3, 4)), np.ones((2, 4)), np.zeros(2)
    >>> minpy.core.grad(lambda w: f(x=x, fc_weight=w, fc_bias=b).sum())(w)[0]
    array([3., 3., 3., 3.], dtype=float32)
    """

    def __init__(self, symbol: Symbol, input_shapes: Shapes | None = None, name: str = "mxnet_symbol") -> None:
        if not isinstance(symbol, Symbol):
            raise MXNetSymbolError(
                f"Function: {type(symbol).__name__} is no symbol; give what mx.sym's functions return."
            )
        self._symbol, self._name = symbol, name
        self._compiled = Compiled(symbol.values)
        self.is_train = True
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._inputs: set[str] = set()
        self._outputs: dict[str, tuple[int, ...]] = {}
        if input_shapes is not None:
            self._infer(dict(input_shapes))

    def __call__(self, **kwargs: Any) -> Any:
        """Return the output for arrays by the variables' names; a tuple of several. Labels may be left out."""
        known = {name: array.shape for name, array in kwargs.items()}
        names = [node.name for node in self._compiled.variables]
        unknown = [name for name in known if name not in names]
        if unknown:
            raise ArgumentError(
                f"{self._name} has no variable {unknown[0]!r}; its variables are {', '.join(names)}."
                + nearest(unknown[0], names)
            )
        if not self._shapes or any(self._shapes[name] != shape for name, shape in known.items()):
            self._infer(known)
        arrays = []
        for name in names:
            value = kwargs.get(name)
            arrays.append(np.zeros(self._shapes[name]) if value is None else _wrapped(value))
        with Scope(None, self.is_train):
            found = call_graph(self._compiled, arrays, self._name)
        return found[0] if len(found) == 1 else tuple(found)

    def get_params(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Return the shapes of the variables beside `input_shapes`, as `ModelBase.add_params` takes them."""
        arguments = self._symbol.list_arguments()
        return {name: {"shape": self._shapes[name]} for name in arguments if name not in self._inputs}

    def get_output_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the outputs, by name."""
        return dict(self._outputs)

    def get_one_output_shape(self) -> tuple[int, ...]:
        """Return the shape of the only output.

        Raises
        ------
        ArgumentError
            If there are several.
        """
        if len(self._outputs) != 1:
            raise ArgumentError(
                f"{self._name} has {len(self._outputs)} outputs with known shapes; see get_output_shapes."
            )
        return next(iter(self._outputs.values()))

    def _infer(self, shapes: dict[str, tuple[int, ...]]) -> None:
        arguments, outputs, states = self._symbol.infer_shape(**shapes)
        found = zip(self._symbol.list_arguments(), arguments, strict=True)
        self._shapes = {**dict(found), **dict(zip(self._symbol.list_auxiliary_states(), states, strict=True))}
        self._outputs = dict(zip(self._symbol.list_outputs(), outputs, strict=True))
        self._inputs = set(shapes)


def function(symbol: Symbol, input_shapes: Shapes | None = None, name: str = "mxnet_symbol") -> Function:
    """Return a symbol as a differentiable function: see `Function`.

    Examples
    --------
    >>> from minpy import sym
    >>> function(sym.var('x') * 2)(x=np.ones(2))
    array([2., 2.], dtype=float32)
    """
    return Function(symbol, input_shapes, name)


# -- gradients ---------------------------------------------------------------------------------------------------------


def grad(func: Callable[..., Any], argnum: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return a function that computes the gradient of a function: `minpy.grad`, but for one argument in a sequence.

    Parameters
    ----------
    func : callable
        Returns one number.
    argnum : int or sequence of int
        The positions of the arguments to differentiate with respect to. As in MinPy, of a single one in a sequence the
        gradient comes back itself, not in a tuple.

    Returns
    -------
    callable
        Takes what `func` takes, and returns the gradient, or a tuple of several.

    Examples
    --------
    >>> import minpy
    >>> minpy.core.grad(lambda x: x * x, [0])(3.0), minpy.grad(lambda x: x * x, [0])(3.0)
    (6.0, (6.0,))
    """
    return functional.grad(func, _unwrapped_argnum(argnum))


def grad_and_loss(func: Callable[..., Any], argnum: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return a function that computes (gradient, loss); arguments and gradient are those of `minpy.core.grad`.

    Examples
    --------
    >>> import minpy
    >>> minpy.core.grad_and_loss(lambda x: x * x, [0])(3.0)
    (6.0, 9.0)
    """
    return functional.grad_and_loss(func, _unwrapped_argnum(argnum))


def _unwrapped_argnum(argnum: int | Sequence[int]) -> int | Sequence[int]:
    return argnum if isinstance(argnum, int) or len(argnum) != 1 else argnum[0]


# -- arrays ------------------------------------------------------------------------------------------------------------


def _wrapped(value: Any) -> Any:
    return value if isinstance(value, Array) else np.array(value)


def _mapped(convert: Callable[[Any], Any], values: Any) -> Any:
    if isinstance(values, dict):
        return {key: _mapped(convert, value) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return type(values)(_mapped(convert, value) for value in values)
    return convert(values)


def numpy_to_minpy(var: Any) -> Any:
    """Return a NumPy array as an array of `minpy.numpy`; lists, tuples and dicts of them likewise.

    Examples
    --------
    >>> import numpy
    >>> type(numpy_to_minpy([numpy.ones(2)])[0]) is np.ndarray
    True
    """
    return _mapped(lambda value: np.array(value) if isinstance(value, numpy.ndarray) else value, var)


def minpy_to_numpy(var: Any) -> Any:
    """Return an array as a NumPy array; lists, tuples and dicts of them likewise.

    Examples
    --------
    >>> minpy_to_numpy({'x': np.ones(2)})
    {'x': array([1., 1.], dtype=float32)}
    """
    return _mapped(lambda value: value._data.copy() if isinstance(value, Array) else value, var)


def convert_args(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with NumPy arrays among its arguments made arrays of `minpy.numpy`.

    Examples
    --------
    >>> import numpy
    >>> convert_args(lambda x: type(x) is np.ndarray)(numpy.ones(2))
    True
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*numpy_to_minpy(args), **numpy_to_minpy(kwargs))

    return call


def return_numpy(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with what it returns made NumPy arrays.

    Examples
    --------
    >>> return_numpy(lambda: np.ones(2))()
    array([1., 1.], dtype=float32)
    """

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return minpy_to_numpy(func(*args, **kwargs))

    return call
