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
from minpy.core.attributes import REQUIRED as _REQUIRED
from minpy.core.attributes import Attribute, Signature, bind
from minpy.core.errors import ArgumentError
from minpy.core.followed import holds_followed, is_followed
from minpy.namespaces import listing, missing
from minpy.ndarray.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.ops.random.distributions import DISTRIBUTIONS, draw, draw_each, draw_integers, names_of_arrays
from minpy.ops.registry import OPERATORS

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
__dir__ = listing(__all__)
__getattr__ = missing("minpy.nd.random", "name", __all__)

_NULL: Any = None


def _finished(data: numpy.ndarray, context: Context | str | None, out: Any) -> Any:
    if out is None:
        return place(NDArray, data, resolve_context(context or None))
    if out.shape != data.shape:
        raise ArgumentError(
            f"random: out has shape {out.shape}, the result has {data.shape}; leave shape out, or make them equal."
        )
    out._receive(data, None)
    return out


def _written(made: Any, context: Context | str | None, out: Any) -> Any:
    """Return what was drawn with recorded parameters: on the tape, with a gradient of zero, as MXNet has it."""
    if out is not None:
        out[...] = made
        return out
    if context is None or not hasattr(made, "as_in_context"):
        return made
    return made.as_in_context(resolve_context(context))


def _drawn(name: str, parameters: Sequence[Any], shape: Any, dtype: Any, ctx: Any, out: Any) -> Any:
    arrays = [value for value in parameters if isinstance(value, Array)]
    if arrays:
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


def uniform(
    low: Any = 0,
    high: Any = 1,
    shape: Any = _NULL,
    dtype: Any = _NULL,
    ctx: Context | None = None,
    out: Any = None,
    *,
    name: str | None = None,
) -> NDArray:
    """Return numbers drawn uniformly from [low, high).

    Parameters
    ----------
    low, high : float or NDArray
    shape : int or tuple of int, optional
        Of the result; (1,) if left out. With NDArrays: how many for each of their elements.
    dtype : str, optional
        'float32' if left out.
    ctx : Context, optional
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

    Returns
    -------
    NDArray

    Raises
    ------
    ArgumentError
        If `low` is greater than `high`.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.random.uniform(2, 3, shape=(2, 2)).shape
    (2, 2)
    """
    return _drawn("uniform", (low, high), shape, dtype, ctx, out)


def normal(
    loc: Any = 0,
    scale: Any = 1,
    shape: Any = _NULL,
    dtype: Any = _NULL,
    ctx: Context | None = None,
    out: Any = None,
    *,
    name: str | None = None,
) -> NDArray:
    """Return numbers drawn from the normal distribution of mean `loc` and standard deviation `scale`.

    Parameters
    ----------
    loc, scale : float or NDArray
    shape : int or tuple of int, optional
        Of the result; (1,) if left out. With NDArrays: how many for each of their elements.
    dtype : str, optional
        'float32' if left out.
    ctx : Context, optional
        The device; this thread's default if left out.
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

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
    >>> nd.random.normal(0, 1, shape=(2, 3)).shape
    (2, 3)
    """
    return _drawn("normal", (loc, scale), shape, dtype, ctx, out)


def randn(
    *shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = _NULL, ctx: Context | None = None, out: Any = None
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

    Returns
    -------
    NDArray

    Examples
    --------
    >>> from minpy import nd
    >>> nd.random.randn(2, 3).shape
    (2, 3)
    """
    return _drawn("normal", (loc, scale), shape or None, dtype, ctx, out)


def gamma(
    alpha: Any = 1,
    beta: Any = 1,
    shape: Any = _NULL,
    dtype: Any = _NULL,
    ctx: Context | None = None,
    out: Any = None,
    *,
    name: str | None = None,
) -> NDArray:
    """Return numbers drawn from the gamma distribution of shape `alpha` and scale `beta`.

    Parameters
    ----------
    alpha, beta : float or NDArray
    shape : int or tuple of int, optional
        Of the result; (1,) if left out. With NDArrays: how many for each of their elements.
    dtype : str, optional
        'float32' if left out.
    ctx : Context, optional
        The device; this thread's default if left out.
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

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
    >>> nd.random.gamma(2, 1, shape=(2, 3)).shape
    (2, 3)
    """
    return _drawn("gamma", (alpha, beta), shape, dtype, ctx, out)


def exponential(
    scale: Any = 1,
    shape: Any = _NULL,
    dtype: Any = _NULL,
    ctx: Context | None = None,
    out: Any = None,
    *,
    name: str | None = None,
) -> NDArray:
    """Return numbers drawn from the exponential distribution of mean `scale`.

    Parameters
    ----------
    scale : float or NDArray
    shape : int or tuple of int, optional
        Of the result; (1,) if left out. With NDArrays: how many for each of their elements.
    dtype : str, optional
        'float32' if left out.
    ctx : Context, optional
        The device; this thread's default if left out.
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

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
    >>> nd.random.exponential(2, shape=(2, 3)).shape
    (2, 3)
    """
    if isinstance(scale, Array) and not is_followed(scale):
        rate = scale._like(numpy.true_divide(1, scale._data))
    else:
        rate = 1 / scale
    return _drawn("exponential", (rate,), shape, dtype, ctx, out)


def poisson(
    lam: Any = 1,
    shape: Any = _NULL,
    dtype: Any = _NULL,
    ctx: Context | None = None,
    out: Any = None,
    *,
    name: str | None = None,
) -> NDArray:
    """Return counts drawn from the Poisson distribution of mean `lam`, in a float dtype.

    Parameters
    ----------
    lam : float or NDArray
    shape : int or tuple of int, optional
        Of the result; (1,) if left out. With NDArrays: how many for each of their elements.
    dtype : str, optional
        'float32' if left out.
    ctx : Context, optional
        The device; this thread's default if left out.
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

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
    >>> nd.random.poisson(3, shape=(2, 3)).shape
    (2, 3)
    """
    return _drawn("poisson", (lam,), shape, dtype, ctx, out)


def negative_binomial(
    k: Any = 1,
    p: Any = 1,
    shape: Any = _NULL,
    dtype: Any = _NULL,
    ctx: Context | None = None,
    out: Any = None,
    *,
    name: str | None = None,
) -> NDArray:
    """Return how many failures come before the k-th success of probability p, in a float dtype.

    Parameters
    ----------
    k : int or NDArray
    p : float or NDArray
    shape : int or tuple of int, optional
        Of the result; (1,) if left out. With NDArrays: how many for each of their elements.
    dtype : str, optional
        'float32' if left out.
    ctx : Context, optional
        The device; this thread's default if left out.
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

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
    >>> nd.random.negative_binomial(3, 0.5, shape=(2, 3)).shape
    (2, 3)
    """
    return _drawn("negative_binomial", (k, p), shape, dtype, ctx, out)


def generalized_negative_binomial(
    mu: Any = 1,
    alpha: Any = 1,
    shape: Any = _NULL,
    dtype: Any = _NULL,
    ctx: Context | None = None,
    out: Any = None,
    *,
    name: str | None = None,
) -> NDArray:
    """Return counts of mean `mu` and variance mu + alpha · mu², in a float dtype.

    Parameters
    ----------
    mu, alpha : float or NDArray
    shape : int or tuple of int, optional
        Of the result; (1,) if left out. With NDArrays: how many for each of their elements.
    dtype : str, optional
        'float32' if left out.
    ctx : Context, optional
        The device; this thread's default if left out.
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

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
    >>> nd.random.generalized_negative_binomial(2, 0.5, shape=(2, 3)).shape
    (2, 3)
    """
    return _drawn("generalized_negative_binomial", (mu, alpha), shape, dtype, ctx, out)


def randint(
    low: int,
    high: int,
    shape: Any = _NULL,
    dtype: Any = _NULL,
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
    ctx : Context, optional
    out : NDArray, optional
        Where to write the result.
    name : str, optional
        Accepted and not used.

    Returns
    -------
    NDArray

    Raises
    ------
    ArgumentError
        If `low` is not below `high`.

    Examples
    --------
    >>> from minpy import nd
    >>> nd.random.randint(5, 6, shape=(3,)).asnumpy()
    array([5, 5, 5], dtype=int32)
    """
    if shape is None and out is not None:
        shape = out.shape
    return _finished(draw_integers(low, high, shape, dtype), ctx, out)


def multinomial(
    data: NDArray,
    shape: Any = _NULL,
    get_prob: bool = False,
    out: Any = None,
    dtype: Any = "int32",
    *,
    name: str | None = None,
) -> Any:
    """Return category numbers drawn with given probabilities; see `nd.sample_multinomial`.

    Parameters
    ----------
    data : NDArray
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

    Examples
    --------
    >>> from minpy import nd
    >>> nd.random.multinomial(nd.array([0, 0, 1]), shape=3).asnumpy()
    array([2, 2, 2], dtype=int32)
    """
    options = {} if out is None else {"out": out}
    inner = () if shape is None else shape
    return OPERATORS["sample_multinomial"](data, shape=inner, get_prob=get_prob, dtype=dtype, **options)


def shuffle(data: NDArray, **options: Any) -> NDArray:
    """Return the data with its elements along the first axis in random order.

    Parameters
    ----------
    data : NDArray

    Returns
    -------
    NDArray

    Examples
    --------
    >>> from minpy import nd
    >>> sorted(nd.random.shuffle(nd.array([3, 1, 2])).asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """
    return OPERATORS["shuffle"](data, **options)


def _like_function(name: str) -> Callable[..., Any]:
    defaults, _ = DISTRIBUTIONS[name]

    def draw_like(data: NDArray, out: Any = None, **parameters: Any) -> NDArray:
        return _finished(draw(name, [*parameters.values()], data.shape, data.dtype), data.context, out)

    doc = f"Return an array of the shape and dtype of `data`, drawn as by `random.{name}`."
    return _with_signature(f"{name}_like", {"data": _REQUIRED, **defaults, "out": None}, draw_like, doc)


def _plain_function(name: str) -> Callable[..., Any]:
    """Return MXNet's `nd.random_X`: parameters are numbers, by MXNet's names."""
    defaults, _ = DISTRIBUTIONS[name]

    def draw_plain(shape: Any, ctx: Any, dtype: Any, out: Any, **parameters: Any) -> NDArray:
        return _drawn(name, [*parameters.values()], shape, dtype, ctx, out)

    doc = f"Return an array drawn as by `random.{name}`, from numbers as parameters."
    options = {"shape": None, "ctx": None, "dtype": None, "out": None}
    return _with_signature(f"random_{name}", {**defaults, **options}, draw_plain, doc)


def _plain_randint() -> Callable[..., Any]:
    """Return MXNet's `nd.random_randint`, whose arguments stand in another order than those of `randint`."""
    options = {"shape": None, "ctx": None, "dtype": None, "out": None}
    signature = {"low": _REQUIRED, "high": _REQUIRED, **options}
    return _with_signature("random_randint", signature, randint, "Return integers drawn as by `random.randint`.")


def _sample_function(name: str) -> Callable[..., Any]:
    """Return MXNet's `nd.sample_X`: parameters are NDArrays."""
    names = dict.fromkeys(names_of_arrays(name), _REQUIRED)

    def draw_samples(shape: Any, dtype: Any, out: Any, **parameters: Any) -> NDArray:
        return _drawn(name, [*parameters.values()], shape, dtype, None, out)

    doc = f"Return, for each element of the parameters, numbers drawn as by `random.{name}`."
    return _with_signature(f"sample_{name}", {**names, "shape": None, "dtype": None, "out": None}, draw_samples, doc)


def _with_signature(
    name: str, parameters: Mapping[str, Any], function: Callable[..., Any], doc: str
) -> Callable[..., Any]:
    """Return a function of parameters with defaults, which calls another with all of them by keyword.

    It takes `name=` beside them, as operators do, and does not use it.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    described = {
        key: Attribute(key, type(value) if isinstance(value, (int, float)) else None, value)
        for key, value in {**parameters, "name": None}.items()
    }
    signature = Signature((), {}, described)
    shown = [inspect.Parameter(key, kind, default=one.default) for key, one in described.items()]

    def call(*arguments: Any, **keywords: Any) -> Any:
        _, given = bind(name, signature, arguments, keywords, positional_attributes=True)
        given.pop("name", None)
        return function(**{key: given.get(key, value) for key, value in parameters.items()})

    vars(call)["__signature__"] = inspect.Signature(shown)
    return _named(call, name, doc)


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


exponential_like = _like_function("exponential")
gamma_like = _like_function("gamma")
generalized_negative_binomial_like = _like_function("generalized_negative_binomial")
negative_binomial_like = _like_function("negative_binomial")
normal_like = _like_function("normal")
poisson_like = _like_function("poisson")
uniform_like = _like_function("uniform")

# What `minpy.nd` offers beside this module: random_uniform, sample_uniform, ... (the last also as uniform and normal).
FUNCTIONS: dict[str, Callable[..., Any]] = {"random_randint": _plain_randint()}
for _name in DISTRIBUTIONS:
    FUNCTIONS[f"random_{_name}"] = _plain_function(_name)
    FUNCTIONS[f"sample_{_name}"] = _sample_function(_name)
FUNCTIONS["uniform"] = FUNCTIONS["random_uniform"]
FUNCTIONS["normal"] = FUNCTIONS["random_normal"]
for _function in FUNCTIONS.values():
    _function.__module__ = "minpy.ndarray"  # where pickle finds them
