"""What MinPy had in `minpy.core`: gradients, symbols as functions, and conversions of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

import minpy.numpy as np
from minpy import array, functional, tape
from minpy.bridge.hips_boxes import is_box
from minpy.core.array import Array, as_raw
from minpy.core.errors import ArgumentError, nearest
from minpy.core.state import Scope
from minpy.differentiation.nested import Call, ones_like
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.graph.compiled import Compiled
from minpy.graph.recording import GraphOperator
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
        self._operator = GraphOperator(self._compiled, name)
        self.is_train = True
        self._inputs: set[str] = set()
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._param_shapes: dict[str, tuple[int, ...]] = {}
        self._aux_shapes: dict[str, tuple[int, ...]] = {}
        self._out_shapes: dict[str, tuple[int, ...]] = {}
        if input_shapes is not None:
            self._inputs = {*dict(input_shapes)}
            self._infer(dict(input_shapes))

    def __call__(self, **kwargs: Any) -> Any:
        """Return the output for arrays by the variables' names; a tuple of several. Labels may be left out.

        Names that the symbol has no variable of are ignored: a model's whole dict of parameters may be given. That is
        an error if they are like the name of a variable that is left out, or if there are no others.

        Raises
        ------
        ArgumentError
            For such names.
        """
        names = [node.name for node in self._compiled.variables]
        shapes = {name: numpy.shape(value) for name, value in kwargs.items() if name in names and value is not None}
        missing = [name for name in names if name not in kwargs]
        for name in kwargs:
            if name not in names and (not shapes or nearest(name, missing)):
                raise ArgumentError(
                    f"{self._name} has no variable {name!r}; its variables are {', '.join(names)}."
                    + nearest(name, missing)
                )
        if not self._shapes or any(self._shapes[name] != shape for name, shape in shapes.items()):
            self._infer(shapes)
        arrays = []
        for name in names:
            value = kwargs.get(name)
            arrays.append(
                np.zeros(self._shapes[name])
                if value is None
                else value
                if isinstance(value, Array)
                else np.array(value)
            )
        with Scope(None, self.is_train):
            results = self._operator.call(arrays, arrays[0])
        return results[0] if len(results) == 1 else tuple(results)

    def get_params(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """Return the shapes of the variables beside `input_shapes`, as `ModelBase.add_params` takes them."""
        return {name: {"shape": shape} for name, shape in self._param_shapes.items()}

    def get_output_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the outputs, by name."""
        return dict(self._out_shapes)

    def get_one_output_shape(self) -> tuple[int, ...]:
        """Return the shape of the only output.

        Raises
        ------
        ArgumentError
            If there are several.
        """
        if len(self._out_shapes) != 1:
            raise ArgumentError(
                f"{self._name} has {len(self._out_shapes)} outputs with known shapes; see get_output_shapes."
            )
        return next(iter(self._out_shapes.values()))

    def _infer(self, shapes: dict[str, tuple[int, ...]]) -> None:
        arguments, outputs, states = self._symbol.infer_shape(**shapes)
        of_arguments = dict(zip(self._symbol.list_arguments(), arguments, strict=True))
        self._param_shapes = {
            name: shape for name, shape in of_arguments.items() if name not in (self._inputs or shapes)
        }
        self._aux_shapes = dict(zip(self._symbol.list_auxiliary_states(), states, strict=True))
        self._out_shapes = dict(zip(self._symbol.list_outputs(), outputs, strict=True))
        self._shapes = {**of_arguments, **self._aux_shapes}


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


def grad(func: Callable[..., Any], argnum: int | Iterable[int] = 0) -> Callable[..., Any]:
    """Return a function that computes the gradient of a function, as MinPy's did: it takes what `minpy.grad` refuses.

    Integers are differentiated as the floats that they are equal to; a result that is no single number as the sum of
    its elements, a tuple of results as the sum of all. Where these are mistakes nobody is told: `minpy.grad` tells.

    Parameters
    ----------
    func : callable
        Returns an array or a number, or several. Arrays among its arguments are given to it as `minpy.array.Array`s.
    argnum : int or iterable of int
        The positions of the arguments to differentiate with respect to.

    Returns
    -------
    callable
        Takes what `func` takes, and returns the gradient: an `Array` for an array, a `Number` for a number. For
        several positions a list of these; for a single one in a list the gradient itself.

    Raises
    ------
    DTypeError, ArgumentError
        As `minpy.grad`.

    Examples
    --------
    >>> import numpy
    >>> import minpy
    >>> minpy.core.grad(lambda x: x * x, [0])(3), minpy.core.grad(lambda x, y: x * y, range(2))(2, 3)
    (6.0, [3.0, 2.0])
    >>> minpy.core.grad(lambda x: x ** 2)(numpy.arange(3)).asnumpy()
    array([0., 2., 4.])
    """
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[0]

    return gradient


def grad_and_loss(func: Callable[..., Any], argnum: int | Iterable[int] = 0) -> Callable[..., Any]:
    """Return a function that computes (gradient, loss); arguments and gradient are those of `minpy.core.grad`.

    Examples
    --------
    >>> import minpy
    >>> minpy.core.grad_and_loss(lambda x: x * x, [0])(3.0)
    (6.0, 9.0)
    """
    argnums = (argnum,) if isinstance(argnum, (int, numpy.integer)) else tuple(argnum)
    strict = functional.grad_and_loss(func, argnums)

    @functools.wraps(func)
    def gradient_and_loss(*args: Any, **kwargs: Any) -> Any:
        if hasattr(func, "gradients_at_once") or any(map(is_box, leaves_of((args, kwargs)))):
            gradients, loss = strict(*args, **kwargs)  # what is compiled, or traced, takes arrays as they are
            return _one_or_list(gradients), loss
        converted = [_wrapped_array(arg) for arg in args]
        for position in {index for index in argnums if -len(args) <= index < len(args)}:
            converted[position] = map_tree(_as_variable, args[position])

        @functools.wraps(func)
        def recorded(*inner: Any, **keywords: Any) -> Any:
            pairs = [(args[index], inner[index]) for index in argnums]
            with tape.tape() as current, _in_place_of(pairs):
                current.start_recording()
                return func(*inner, **keywords)

        call = Call("grad", recorded, argnums, False, converted, kwargs)
        parts = call.gradients([ones_like(output) for output in call.real_outputs()])
        gradients = [_like_given(args[position], part) for position, part in zip(call.argnums, parts, strict=True)]
        numbers = all(isinstance(args[position], (int, float)) for position in call.argnums)
        loss = map_tree(lambda leaf, _: _result(leaf, numbers), call.result())
        return _one_or_list(gradients), loss

    return gradient_and_loss


@contextmanager
def _in_place_of(pairs: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """Let arrays that were given stand for the variables made of them, on the tape.

    In MinPy they are the same: functions that leave their arguments alone, and read the arrays where they found them
    (`model.params`), are differentiated, too.
    """
    before = []
    for argument, variable in pairs:
        for outer, inner in zip(leaves_of(argument), leaves_of(variable), strict=True):
            if isinstance(outer, Array) and isinstance(inner, Array) and outer is not inner:
                before.append((outer, outer._node))
                outer._node = inner._node
    try:
        yield
    finally:
        for outer, node in reversed(before):
            outer._node = node


def _one_or_list(gradients: Sequence[Any]) -> Any:
    return gradients[0] if len(gradients) == 1 else list(gradients)


def _wrapped_array(value: Any) -> Any:
    """Return arrays as `Array`s, but for those with MXNet's semantics; anything else as it is."""
    return array.wrap(value) if isinstance(value, (numpy.ndarray, np.ndarray)) else value


def _as_variable(value: Any, path: str) -> Any:
    """Return what can be differentiated with respect to for an argument: floats for integers, arrays for numbers."""
    if isinstance(value, (numpy.ndarray, Array)):
        value = value.astype(numpy.float64) if as_raw(value).dtype.kind in "biu" else value
        return _wrapped_array(value)
    if isinstance(value, (bool, int, float, numpy.generic)) and numpy.asarray(value).dtype.kind in "biuf":
        is_floating = isinstance(value, numpy.floating)
        return array.Array(numpy.asarray(value, value.dtype if is_floating else numpy.float64))  # type: ignore[union-attr]
    return value


def _like_given(argument: Any, gradient: Any) -> Any:
    """Return a gradient as MinPy's kinds of values, in the structure of the argument."""
    parts = iter([leaf for leaf in leaves_of(gradient) if leaf is not None])

    def restored(leaf: Any, _: str) -> Any:
        if leaf is None:
            return None
        return _result(next(parts), isinstance(leaf, (bool, int, float)))

    return map_tree(restored, argument)


def _result(value: Any, is_number: bool) -> Any:
    """Return a result as an `Array`, or as a `Number` where numbers came in; one that is recorded stays so."""
    if isinstance(value, Array) and (value._node is not None or not isinstance(value, np.ndarray)):
        return value
    raw = value._data if isinstance(value, Array) else value
    if is_number and isinstance(raw, (numpy.ndarray, numpy.generic)) and not raw.ndim:
        raw = raw.item()
    return array.wrap(numpy.asarray(raw) if isinstance(raw, numpy.generic) else raw)


# -- arrays ------------------------------------------------------------------------------------------------------------


def numpy_to_minpy(var: Any) -> Any:
    """Return a NumPy array as an array of `minpy.numpy`; lists, tuples and dicts of them likewise.

    Examples
    --------
    >>> import numpy
    >>> type(numpy_to_minpy([numpy.ones(2)])[0]) is np.ndarray
    True
    """
    return map_tree(lambda value, _: np.array(value) if isinstance(value, numpy.ndarray) else value, var)


def minpy_to_numpy(var: Any) -> Any:
    """Return an array as a NumPy array; lists, tuples and dicts of them likewise.

    Examples
    --------
    >>> minpy_to_numpy({'x': np.ones(2)})
    {'x': array([1., 1.], dtype=float32)}
    """
    return map_tree(lambda value, _: value._data.copy() if isinstance(value, Array) else value, var)


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
