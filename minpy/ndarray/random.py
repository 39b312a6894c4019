"""`minpy.nd.random`: NDArrays drawn from distributions, by minpy's own generator (`minpy.random.seed`).

Parameters are numbers, with `shape` the result's shape; or NDArrays, and then an array of `shape` is drawn for each of
their elements. What is drawn has a gradient of zero with respect to them, as in MXNet; `minpy.np.random` has others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from minpy.context import Context, resolve_context
from minpy.core.array import Array
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError
from minpy.core.followed import holds_followed, is_followed
from minpy.core.signatures import REQUIRED as _REQUIRED
from minpy.core.signatures import Attribute, Signature, bind
from minpy.namespaces import module_functions
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.ops.random.distributions import DISTRIBUTIONS, draw, draw_each, draw_integers
from minpy.ops.registry import OPERATORS
from minpy.ops.shared_docstrings import with_shared_texts

__all__ = [
    "exponential",
    "exponential_like",
    "gamma",
    "gamma_like",
    "generalized_negative_binomial",
    "generalized_negative_binomial_like",
    "multinomial",
    "negative_binomial",
    "negative_binomial_like",
    "normal",
    "normal_like",
    "poisson",
    "poisson_like",
    "randint",
    "randn",
    "shuffle",
    "uniform",
    "uniform_like",
]
__dir__, __getattr__ = module_functions("minpy.nd.random", __all__)

_OPTIONS = """
    ctx : Context, optional
        The device; this thread's default if left out.
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

    Returns
    -------
    NDArray
    """
_DISTRIBUTION = """Return {result}.

Parameters
----------
{parameters}
shape : int or tuple of int, optional
    Of the result; (1,) if left out. With NDArrays: how many for each of their elements.
dtype : str, optional
    'float32' if left out.
{options}

Raises
------
ArgumentError
    {error}

Examples
--------
>>> from minpy import nd
>>> nd.random.{name}({example}, shape=(2, 3)).shape
(2, 3)
"""


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def function_of(
    where: str,
    name: str,
    parameters: Mapping[str, Any],
    function: Callable[..., Any],
    doc: str,
    keyword_only: Sequence[str] = (),
    returns: str = "NDArray",
) -> Callable[..., Any]:
    """Return a function of parameters with defaults, which calls another with their values, in order.

    `where` is the namespace, for messages; the parameters in `keyword_only` are the last ones.
    """
    names = [key for key in parameters if key not in keyword_only]
    most = len(names)
    after = [dict([*parameters.items()][count:]) for count in range(most + 1)]
    required = [{key for key, default in left.items() if default is _REQUIRED} for left in after]
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    annotations = {"ctx": "Context | None", "name": "str | None"}
    signature = inspect.Signature(
        [
            inspect.Parameter(
                key,
                kinds[key in keyword_only],
                default=inspect.Parameter.empty if default is _REQUIRED else default,
                annotation=annotations.get(key, "Any"),
            )
            for key, default in parameters.items()
        ],
        return_annotation=returns,
    )

    def call(*arguments: Any, **keywords: Any) -> Any:
        count = len(arguments)
        if count <= most:
            left = after[count]
            values = {**left, **keywords} if keywords else left
            if len(values) == len(left) and not (required[count] and required[count] - keywords.keys()):
                return function(*arguments, *values.values())
        try:
            signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise ArgumentError(f"{where}.{name}: {error}; it takes {', '.join(parameters)}.") from None
        raise AssertionError("arguments that a signature takes are bound above")

    vars(call)["__signature__"] = signature
    return _named(call, name, doc)


def _finished(data: numpy.ndarray, context: Context | str | None, out: Any) -> Any:
    if out is None:
        return place(NDArray, data, resolve_context(context or None))
    if out.shape != data.shape:
        raise ArgumentError(
            f"random: out has shape {out.shape}, the result has {data.shape}; leave shape out, or make them equal."
        )
    out._receive(data, None)
    return out


def _written(samples: Any, context: Context | str | None, out: Any) -> Any:
    """Return what was drawn with recorded parameters: on the tape, with a gradient of zero, as MXNet has it."""
    if out is not None:
        out[...] = samples
        return out
    if context is None or not hasattr(samples, "as_in_context"):
        return samples
    return samples.as_in_context(resolve_context(context))


def _drawn(name: str, parameters: Sequence[Any], shape: Any, dtype: Any, ctx: Any, out: Any) -> Any:
    if isinstance(parameters[0], Array) or isinstance(parameters[-1], Array):  # of one or two
        arrays = [value for value in parameters if isinstance(value, Array)]
        raws = [value._data if isinstance(value, Array) else value for value in parameters]
        if len(arrays) < len(raws):
            raise ArgumentError(f"random.{name}: its parameters must be all numbers, or all NDArrays.")
        if holds_followed(arrays):
            options = {"shape": () if shape is None else shape, "dtype": dtype or "float32"}
            return _written(OPERATORS[f"_sample_{name}"](*parameters, **options), ctx, out)
        data = draw_each(name, raws, shape, dtype)
        return _finished(data, ctx or arrays[0].context, out)
    if isinstance(shape, str):
        raise ArgumentError(f"random.{name}: shape is {shape!r}; expected a whole number, or a tuple of them: (2, 3).")
    if shape is None and out is not None:
        shape = out.shape
    return _finished(draw(name, parameters, shape, dtype if dtype is not None or out is None else out.dtype), ctx, out)


def _distribution(name: str) -> Callable[..., Any]:
    distribution = DISTRIBUTIONS[name]

    count = len(distribution.parameters)

    def draw_distribution(*values: Any) -> NDArray:
        shape, dtype, ctx, out, _ = values[count:]
        parameters = _rates(*values[:count]) if name == "exponential" else values[:count]
        return _drawn(name, parameters, shape, dtype, ctx, out)

    doc = _DISTRIBUTION.format(
        name=name,
        result=distribution.result,
        parameters=distribution.documented,
        options=inspect.cleandoc(_OPTIONS),
        error=distribution.error,
        example=distribution.example,
    )
    options = {"shape": None, "dtype": None, "ctx": None, "out": None, "name": None}
    parameters = {**distribution.arguments, **options}
    return function_of("random", name, parameters, draw_distribution, doc, keyword_only=["name"])


def _rates(scale: Any) -> tuple[Any]:
    """Return the parameter of the exponential distribution's operators, in the place of its mean."""
    if isinstance(scale, Array) and not is_followed(scale):
        return (scale._like(numpy.true_divide(1, scale._data)),)
    return (1 / scale,)


exponential = _distribution("exponential")
gamma = _distribution("gamma")
generalized_negative_binomial = _distribution("generalized_negative_binomial")
negative_binomial = _distribution("negative_binomial")
normal = _distribution("normal")
poisson = _distribution("poisson")
uniform = _distribution("uniform")


@with_shared_texts
def randn(
    *shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, ctx: Context | None = None, out: Any = None
) -> NDArray:
    """Return numbers drawn from a normal distribution; the shape is given as separate numbers.

    Parameters
    ----------
    *shape : int
    loc, scale : float or NDArray
        The mean and the standard deviation.
    dtype : str, optional
    ctx : Context, optional
        The device; this thread's default if left out.
    out : NDArray, optional

    {returns_array}

    {examples}
    >>> nd.random.randn(2, 3).shape
    (2, 3)
    """
    return _drawn("normal", (loc, scale), shape or None, dtype, ctx, out)


@with_shared_texts
@documented(options=_OPTIONS)
def randint(
    low: int,
    high: int,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: Any = None,
    *,
    name: str | None = None,
) -> NDArray:
    """Return integers drawn uniformly from [low, high).

    Parameters
    ----------
    low, high : int
    shape : int or tuple of int, optional
        (1,) if left out.
    dtype : str, optional
        'int32' if left out.
    {options}

    {raises_argument_error}
        If `low` is not below `high`.

    {examples}
    >>> nd.random.randint(5, 6, shape=(3,)).asnumpy()
    array([5, 5, 5], dtype=int32)
    """
    if shape is None and out is not None:
        shape = out.shape
    return _finished(draw_integers(low, high, shape, dtype), ctx, out)


@with_shared_texts
def multinomial(
    data: NDArray,
    shape: Any = None,
    get_prob: bool = False,
    out: Any = None,
    dtype: Any = "int32",
    *,
    name: str | None = None,
) -> Any:
    """Return category numbers drawn with given probabilities; see `nd.sample_multinomial`.

    {data_parameter}
        Probabilities; along the last axis they are those of one distribution.
    shape : int or tuple of int, optional
        How many numbers to draw from each.
    get_prob : bool
        Whether to return the logarithms of their probabilities too.
    out : NDArray, optional
    dtype : str
    name : str, optional
        Accepted and not used.

    Returns
    -------
    NDArray, or list of two

    {examples}
    >>> nd.random.multinomial(nd.array([0, 0, 1]), shape=3).asnumpy()
    array([2, 2, 2], dtype=int32)
    """
    options = {} if out is None else {"out": out}
    inner = () if shape is None else shape
    return OPERATORS["sample_multinomial"](data, shape=inner, get_prob=get_prob, dtype=dtype, **options)


@with_shared_texts
def shuffle(data: NDArray, **options: Any) -> NDArray:
    """Return the data with its elements along the first axis in random order.

    {data_parameter}

    {returns_array}

    {examples}
    >>> sorted(nd.random.shuffle(nd.array([3, 1, 2])).asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """
    return OPERATORS["shuffle"](data, **options)


def _operator_function(
    name: str, parameters: Mapping[str, Any], function: Callable[..., Any], doc: str
) -> Callable[..., Any]:
    """Return a function of an operator's parameters, which calls another with their values, in order.

    It takes `name=` beside them, as operators do, and does not use it.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    described = {
        key: Attribute(key, type(value) if isinstance(value, (int, float)) else None, value)
        for key, value in {**parameters, "name": None}.items()
    }
    signature = Signature((), {}, described)
    shown = [inspect.Parameter(key, kind, default=attribute.default) for key, attribute in described.items()]

    def call(*arguments: Any, **keywords: Any) -> Any:
        _, attributes = bind(name, signature, arguments, keywords, positional_attributes=True)
        attributes.pop("name", None)
        return function(*{**parameters, **attributes}.values())

    vars(call)["__signature__"] = inspect.Signature(shown)
    return _named(call, name, doc)


def _like(name: str) -> Callable[..., Any]:
    """Return MXNet's `nd.random.X_like`: shape, dtype and device are those of an NDArray."""

    def draw_like(data: NDArray, *values: Any) -> NDArray:
        *parameters, out = values
        return _finished(draw(name, parameters, data.shape, data.dtype), data.context, out)

    doc = f"Return an array of the shape and dtype of `data`, drawn as by `random.{name}`."
    parameters = {"data": _REQUIRED, **DISTRIBUTIONS[name].parameters, "out": None}
    return _operator_function(f"{name}_like", parameters, draw_like, doc)


exponential_like = _like("exponential")
gamma_like = _like("gamma")
generalized_negative_binomial_like = _like("generalized_negative_binomial")
negative_binomial_like = _like("negative_binomial")
normal_like = _like("normal")
poisson_like = _like("poisson")
uniform_like = _like("uniform")


def _functions(name: str) -> dict[str, Callable[..., Any]]:
    """Return MXNet's `nd.random_X`, whose parameters are numbers, and `nd.sample_X`, whose are NDArrays."""

    def draw_numbers(*values: Any) -> NDArray:
        *parameters, shape, ctx, dtype, out = values
        return _drawn(name, parameters, shape, dtype, ctx, out)

    def draw_samples(*values: Any) -> NDArray:
        *parameters, shape, dtype, out = values
        return _drawn(name, parameters, shape, dtype, None, out)

    numbers = {**DISTRIBUTIONS[name].parameters, "shape": None, "ctx": None, "dtype": None, "out": None}
    samples = {
        **dict.fromkeys(DISTRIBUTIONS[name].names_of_arrays, _REQUIRED),
        "shape": None,
        "dtype": None,
        "out": None,
    }
    of_numbers = f"Return an array drawn as by `random.{name}`, from numbers as parameters."
    of_arrays = f"Return, for each element of the parameters, numbers drawn as by `random.{name}`."
    return {
        f"random_{name}": _operator_function(f"random_{name}", numbers, draw_numbers, of_numbers),
        f"sample_{name}": _operator_function(f"sample_{name}", samples, draw_samples, of_arrays),
    }


# What `minpy.nd` offers beside this module: random_uniform, sample_uniform, ... (the first also as uniform and normal).
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "random_randint": _operator_function(
        "random_randint",
        {"low": _REQUIRED, "high": _REQUIRED, "shape": None, "ctx": None, "dtype": None, "out": None},
        lambda low, high, shape, ctx, dtype, out: randint(low, high, shape, dtype, ctx, out),
        "Return integers drawn as by `random.randint`.",
    )
}
for _name in DISTRIBUTIONS:
    FUNCTIONS.update(_functions(_name))
FUNCTIONS["uniform"] = FUNCTIONS["random_uniform"]
FUNCTIONS["normal"] = FUNCTIONS["random_normal"]
for _function in FUNCTIONS.values():
    _function.__module__ = "minpy.ndarray"  # where pickle finds them
