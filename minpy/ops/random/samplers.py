"""Random arrays as operators, by the names that symbols and their files have: `_random_normal`, `_sample_normal`, ...

Functions for programs are in `minpy.nd.random`. `_random_X` takes numbers and no inputs, and returns a NumPy array when
it is called by itself; `_random_X_like` takes shape and dtype from an array; `_sample_X` draws for each element of
arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minpy.core.base_operator import DTypes, Shapes
from minpy.core.operator import Operator
from minpy.ops.inference.partial_shapes import merge_shapes, same_shape
from minpy.ops.random.distributions import DISTRIBUTIONS, as_shape, draw, draw_each, draw_integers
from minpy.ops.registry import operator
from minpy.ops.tensor.creation import fill_in, shape_of_attribute

__all__ = ["SAMPLERS", "randint"]

_INPUT, _ATTRIBUTE = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
_ALIASES = {"uniform": ("uniform",), "normal": ("normal",)}

_RANDOM_DOC = """Return an array drawn as by `nd.random_{name}`.

Parameters
----------
{parameters} : float
    Of the distribution.
shape : tuple of int
    Of the result; (1,) if left out.
ctx : str
    Accepted and not used.
dtype : str
    'float32' if left out.

Returns
-------
numpy.ndarray

Raises
------
ArgumentError
    For parameters that the distribution does not have.

Examples
--------
>>> from minpy.ops.registry import OPERATORS
>>> OPERATORS['_random_{name}'](shape=(2, 3)).shape
(2, 3)
"""

_LIKE_DOC = """Return an array of the shape and dtype of `data`, drawn as by `nd.random_{name}`.

Parameters
----------
data : NDArray
    Floating point. Its gradient is zero.
{parameters} : float
    Of the distribution.

Returns
-------
NDArray

Raises
------
ArgumentError
    For parameters that the distribution does not have.

Examples
--------
>>> from minpy import nd
>>> nd._random_{name}_like(nd.ones((2, 3))).shape
(2, 3)
"""

_SAMPLE_DOC = """Return, for each element of the parameters, numbers drawn as by `nd.random_{name}`.

Parameters
----------
{parameters} : NDArray
    Parameters of the distribution, of equal shapes. Their gradient is zero.
shape : tuple of int
    How many numbers are drawn for each element; one if left out.
dtype : str
    'float32' if left out.

Returns
-------
NDArray
    Of the parameters' shape, followed by `shape`.

Raises
------
ShapeError
    If the parameters' shapes differ.
ArgumentError
    For parameters that the distribution does not have.

Examples
--------
>>> from minpy import nd
>>> nd._sample_{name}({arguments}, shape=(3,)).shape
(2, 3)
"""

_SHAPE = inspect.Parameter("shape", _ATTRIBUTE, default=None, annotation=tuple[int, ...])
_CTX = inspect.Parameter("ctx", _ATTRIBUTE, default="", annotation=str)
_DTYPE = inspect.Parameter("dtype", _ATTRIBUTE, default="None", annotation=str)


def _define(
    forward: Callable[..., Any], name: str, aliases: tuple[str, ...], parameters: list[Any], doc: str
) -> Operator:
    vars(forward)["__signature__"] = inspect.Signature(parameters)
    forward.__doc__ = doc
    op: Operator = operator(forward, name=name, aliases=aliases, random=True)
    op.may_alias = False
    return op.def_grad_zero()


def _numbers(defaults: dict[str, float]) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(key, _ATTRIBUTE, default=value, annotation=type(value)) for key, value in defaults.items()
    ]


def _dtype_or(default: str) -> Callable[..., tuple[DTypes, DTypes]]:
    """Return the rule that the output has the dtype which the attribute says, or the default."""

    def rule(inputs: DTypes, outputs: DTypes, *, dtype: Any) -> tuple[DTypes, DTypes]:
        return inputs, [np.dtype(default if dtype is None or dtype == "None" else dtype)]

    return rule


def _random(name: str) -> Operator:
    """Define `_random_X`: numbers as parameters."""
    defaults = DISTRIBUTIONS[name].parameters

    def forward(*, shape: Any = None, ctx: str = "", dtype: Any = None, **parameters: Any) -> Any:
        return draw(name, [parameters.get(key, value) for key, value in defaults.items()], shape, dtype)

    aliases = (f"random_{name}", *_ALIASES.get(name, ()))
    doc = _RANDOM_DOC.format(name=name, parameters=", ".join(defaults))
    op = _define(forward, f"_random_{name}", aliases, [*_numbers(defaults), _SHAPE, _CTX, _DTYPE], doc)
    op.def_infer_shape(shape_of_attribute)
    op.def_infer_type(_dtype_or("float32"))
    return op


def _random_like(name: str) -> Operator:
    """Define `_random_X_like`: shape and dtype of an array."""
    defaults = DISTRIBUTIONS[name].parameters

    def forward(data: Any, **passed: Any) -> Any:
        return draw(name, [passed.get(key, value) for key, value in defaults.items()], data.shape, data.dtype.name)

    doc = _LIKE_DOC.format(name=name, parameters=", ".join(defaults))
    parameters = [inspect.Parameter("data", _INPUT), *_numbers(defaults)]
    op = _define(forward, f"_random_{name}_like", (), parameters, doc)
    op.def_infer_shape(same_shape)
    return op


def _sample(name: str) -> Operator:
    """Define `_sample_X`: arrays as parameters."""
    names = DISTRIBUTIONS[name].names_of_arrays

    def forward(*parameters: Any, shape: Any = None, dtype: Any = None) -> Any:
        return draw_each(name, parameters, shape, dtype)

    def shapes(inputs: Shapes, outputs: Shapes, *, shape: Any) -> tuple[Shapes, Shapes]:
        inner = () if shape is None else as_shape(shape)
        outer = merge_shapes(*inputs)
        if outputs[0] is not None:
            outer = merge_shapes(outer, outputs[0][: len(outputs[0]) - len(inner)])
        return [outer] * len(inputs), [None if outer is None else (*outer, *inner)]

    arguments = ", ".join(["nd.array([0.5, 1])"] * len(names))
    doc = _SAMPLE_DOC.format(name=name, parameters=", ".join(names), arguments=arguments)
    inputs = [inspect.Parameter(key, _INPUT) for key in names]
    op = _define(forward, f"_sample_{name}", (f"sample_{name}",), [*inputs, _SHAPE, _DTYPE], doc)
    op.def_infer_shape(shapes)
    op.def_infer_type(_dtype_or("float32"))
    return op


# By MXNet's names.
SAMPLERS: dict[str, Operator] = {
    op.__name__: op for name in DISTRIBUTIONS for op in (_random(name), _random_like(name), _sample(name))
}


@operator(name="_random_randint", aliases=("random_randint",), random=True, zero="all", shapes=shape_of_attribute)
def randint(
    *, low: int, high: int, shape: tuple[int, ...] | None = None, ctx: str = "", dtype: str = "None"
) -> np.ndarray:
    """Return integers drawn uniformly from [low, high).

    Parameters
    ----------
    low, high : int
    shape : tuple of int
        Of the result; (1,) if left out.
    ctx : str
        Accepted and not used.
    dtype : str
        'int32' if left out.

    Returns
    -------
    numpy.ndarray

    {raises_argument_error}
        If `low` is not below `high`.

    Examples
    --------
    >>> from minpy.ops.registry import OPERATORS
    >>> OPERATORS['_random_randint'](low=5, high=6, shape=(3,))
    array([5, 5, 5], dtype=int32)
    """
    return draw_integers(low, high, shape, dtype)


randint.def_infer_type(_dtype_or("int32"))

for _operator in (*SAMPLERS.values(), randint):
    if not _operator.signature.inputs:
        _operator.completed = partial(fill_in, _operator)
