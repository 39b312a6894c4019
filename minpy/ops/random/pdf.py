"""Probability densities: of samples, under distributions whose parameters are arrays.

Each distribution is the logarithm of its density, and the derivatives of that, as plain functions of the sample and the
parameters; `_define` makes operators of them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minpy.core.base_operator import DTypes, Shapes
from minpy.core.errors import ShapeError
from minpy.core.operator import Operator
from minpy.core.sums import sum_over
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import promoted
from minpy.ops.registry import operator
from minpy.ops.tensor.special import gammaln, polygamma

__all__ = ["DENSITIES"]

# Operators by the names of the distributions.
DENSITIES: dict[str, Operator] = {}

_DOC = """Return the {density} of samples under {law}.

Parameters
----------
sample : NDArray
    {kinds}: the shape of the parameters, and any further axes after these{vector}. Samples outside of the
    support are not looked for.
{names} : NDArray
    {meanings} Of equal shapes.
is_log : bool
    Whether to return the logarithm.

Returns
-------
NDArray
    Of the shape of `sample`{less}.{gradient}

Raises
------
ShapeError
    If the shape of `sample` does not begin with that of the parameters, or those differ.
DTypeError
    If an array does not hold floating-point numbers.

Notes
-----
{formula}{needs}

Examples
--------
>>> from minpy import nd
>>> nd.random_pdf_{name}({call}).asnumpy().round(4)
{result}
"""
_NEEDS_SCIPY = " It needs SciPy: `pip install scipy`."


def _digamma(x: Any) -> Any:
    return polygamma(x, n=0)


def _times_log(factor: Any, x: Any) -> Any:
    """Return factor · log(x), which is 0 where the factor is."""
    return np.where(factor == 0, 0, factor * np.log(np.where(factor == 0, 1, x)))


# -- logarithms of densities and their derivatives, by the sample first ------------------------------------------------


def _normal(x: Any, mu: Any, sigma: Any) -> Any:
    scaled = (x - mu) / sigma
    return scaled * scaled / -2 - np.log(sigma) - math.log(2 * math.pi) / 2


def _generalized_negative_binomial(x: Any, mu: Any, alpha: Any) -> Any:
    k, spread = 1 / alpha, np.log1p(mu * alpha)
    return gammaln(x + k) - gammaln(x + 1) - gammaln(k) - k * spread + _times_log(x, mu * alpha) - x * spread


def _by_dispersion(x: Any, mu: Any, alpha: Any) -> Any:
    k = 1 / alpha
    change = np.log1p(mu * alpha) - _digamma(x + k) + _digamma(k)
    return k * k * change + (x - mu) / (alpha * (1 + mu * alpha))


def _aligned_parameter(sample: Any, parameter: Any, lead: int, vectors: int) -> Any:
    """Return a parameter with axes of length 1 for those that only the sample has."""
    shape = np.shape(parameter)
    further = np.ndim(sample) - lead - vectors
    return np.reshape(parameter, (*shape[:lead], *(1,) * further, *shape[lead:]))


def _define(
    name: str,
    logarithm: Callable[..., Any],
    derivatives: Mapping[str, Callable[..., Any] | None],
    *,
    law: str,
    meanings: str,
    formula: str,
    call: str,
    result: str,
) -> None:
    """Define the operator of a distribution, of the logarithm of its density and the derivatives of that.

    These are functions of (sample, *parameters) that broadcast, by the names of sample and parameters; a derivative is
    None where there is none, as of counts. What follows is for the docstring.
    """
    title = f"random_pdf_{name}"
    names = list(derivatives)
    vectors = 1 if name == "dirichlet" else 0

    def aligned(sample: Any, parameters: Sequence[Any]) -> tuple[Any, ...]:
        lead = np.ndim(parameters[0]) - vectors
        return (sample, *(_aligned_parameter(sample, parameter, lead, vectors) for parameter in parameters))

    def forward(sample: Any, *parameters: Any, is_log: bool = False) -> Any:
        _check(title, names, sample, parameters, vectors, counts)
        dtype = np.result_type(*(array for array in (sample, *parameters) if array.dtype.kind == "f"))
        wide = [array.astype(np.promote_types(dtype, np.float32), copy=False) for array in (sample, *parameters)]
        log_density = logarithm(*aligned(wide[0], wide[1:]))
        return (log_density if is_log else np.exp(log_density)).astype(dtype, copy=False)

    counts = derivatives["sample"] is None
    vars(forward)["__signature__"] = inspect.Signature(
        [
            *(inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD) for key in names),
            inspect.Parameter("is_log", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool),
        ]
    )
    forward.__doc__ = _DOC.format(
        name=name,
        law=law,
        density="probabilities" if counts else "probability density",
        names=", ".join(names[1:]),
        meanings=meanings,
        formula=formula,
        call=call,
        result=result,
        kinds="Counts, of any dtype" if counts else "Floating point",
        vector="; then one for the vectors" if vectors else "",
        less=" without its last axis" if vectors else "",
        gradient=" The gradient of `sample` is zero: it holds counts." if counts else "",
        needs="" if name in ("uniform", "normal", "exponential") else _NEEDS_SCIPY,
    )
    op: Operator = operator(forward, name=f"_{title}", aliases=(title,))
    for position, derivative in enumerate(derivatives.values()):
        if derivative is None:
            op.def_grad_zero(position)
        else:
            make = _parameter_rule if position else _rule
            op.def_grad(make(derivative, aligned, vectors), position)

    @op.def_infer_shape
    def shapes(inputs: Shapes, outputs: Shapes, **_: Any) -> tuple[Shapes, Shapes]:
        return _density_shapes(inputs, outputs, vectors)

    op.def_infer_type(_density_dtypes if counts else promoted)
    DENSITIES[name] = op


def _rule(derivative: Callable[..., Any], aligned: Callable[..., Any], vectors: int) -> Callable[..., Any]:
    """Return the gradient rule of an argument by which the logarithm has a derivative."""

    def rule(ans: Any, sample: Any, *parameters: Any, is_log: bool) -> Any:
        def gradient(g: Any) -> Any:
            values = aligned(sample, parameters)
            density, g = (np.expand_dims(value, -1) if vectors else value for value in (ans, g))
            if is_log:
                return g * derivative(*values)
            # Where a density is 0, the derivative of its logarithm may be infinite: it is taken somewhere else.
            is_zero = density == 0
            part = derivative(*(np.where(is_zero, 0.5, value) for value in values))
            return g * np.where(is_zero, 0, density * part)

        return gradient

    return rule


def _parameter_rule(derivative: Callable[..., Any], aligned: Callable[..., Any], vectors: int) -> Callable[..., Any]:
    """Return the same for a parameter: what its samples give is added up."""
    sample_rule = _rule(derivative, aligned, vectors)

    def rule(ans: Any, sample: Any, *parameters: Any, is_log: bool) -> Any:
        shape = np.shape(parameters[0])
        lead = len(shape) - vectors
        further = tuple(range(lead, np.ndim(sample) - vectors))
        gradient = sample_rule(ans, sample, *parameters, is_log=is_log)
        return lambda g: np.reshape(sum_over(gradient(g), axis=further), shape)

    return rule


def _check(
    title: str, names: Sequence[str], sample: Any, parameters: Sequence[Any], vectors: int, counts: bool
) -> None:
    for name, array in zip(names, (sample, *parameters), strict=True):
        require_floats(title, array, "fiu" if counts and array is sample else "f", argument=name)
    first = parameters[0].shape
    for name, array in zip(names[2:], parameters[1:], strict=True):
        if array.shape != first:
            raise ShapeError(f"{title}: {name} has shape {array.shape}, {names[1]} has {first}; they must be equal.")
    lead = len(first) - vectors
    begins = sample.shape[:lead] == first[:lead] and sample.ndim >= len(first)
    if not begins or lead < 0 or (vectors and sample.shape[-1] != first[-1]):
        expected = f"({', '.join([*map(str, first[:lead]), '...', *map(str, first[lead:])])})"
        raise ShapeError(
            f"{title}: sample has shape {sample.shape}; expected {expected}, as {names[1]} has shape {first}."
        )


def _density_shapes(inputs: Shapes, outputs: Shapes, vectors: int) -> tuple[Shapes, Shapes]:
    sample, parameter = inputs[0], merge_shapes(*inputs[1:])
    parameters = [parameter] * (len(inputs) - 1)
    if sample is None or len(sample) < vectors:
        return [sample, *parameters], outputs
    if parameter is not None:
        lead = len(parameter) - vectors
        if lead < 0 or len(parameter) > len(sample):
            raise ShapeError("the shape of the sample must begin with that of the parameters.")
        end = len(sample) - vectors
        between = (UNKNOWN,) * (end - lead)
        sample = merge_shapes(sample, (*parameter[:lead], *between, *parameter[lead:])) or ()
        parameter = (*sample[:lead], *sample[end:])
    result = merge_shapes(sample[: len(sample) - vectors], outputs[0]) or ()
    return [(*result, *sample[len(sample) - vectors :]), *[parameter] * len(parameters)], [result]


def _density_dtypes(inputs: DTypes, outputs: DTypes, **_: Any) -> tuple[DTypes, DTypes]:
    """Infer dtypes where the sample may be of integers: then the density is of the parameters' dtype."""
    sample, *parameters = inputs
    if sample is None or sample.kind == "f":
        return promoted(inputs, outputs)
    dtypes, outputs = promoted(parameters, outputs)
    return [sample, *dtypes], outputs


# -- the distributions -------------------------------------------------------------------------------------------------

_define(
    "uniform",
    lambda x, low, high: -np.log(high - low) + 0 * x,
    {
        "sample": lambda x, low, high: 0 * x,
        "low": lambda x, low, high: 1 / (high - low) + 0 * x,
        "high": lambda x, low, high: -1 / (high - low) + 0 * x,
    },
    law="uniform distributions",
    meanings="The limits.",
    formula="1 / (high - low), wherever the samples are.",
    call="nd.array([[1, 2]]), nd.array([0]), nd.array([10])",
    result="array([[0.1, 0.1]], dtype=float32)",
)
_define(
    "normal",
    _normal,
    {
        "sample": lambda x, mu, sigma: (mu - x) / (sigma * sigma),
        "mu": lambda x, mu, sigma: (x - mu) / (sigma * sigma),
        "sigma": lambda x, mu, sigma: (((x - mu) / sigma) ** 2 - 1) / sigma,
    },
    law="normal distributions",
    meanings="Means and standard deviations.",
    formula="exp(-((x - mu) / sigma)² / 2) / (sigma · sqrt(2 pi)).",
    call="nd.array([[-2, -1, 0]]), nd.array([0]), nd.array([1])",
    result="array([[0.054 , 0.242 , 0.3989]], dtype=float32)",
)
_define(
    "gamma",
    lambda x, alpha, beta: alpha * np.log(beta) + _times_log(alpha - 1, x) - beta * x - gammaln(alpha),
    {
        "sample": lambda x, alpha, beta: (alpha - 1) / x - beta,
        "alpha": lambda x, alpha, beta: np.log(beta) + np.log(x) - _digamma(alpha),
        "beta": lambda x, alpha, beta: alpha / beta - x,
    },
    law="gamma distributions",
    meanings="Shapes and rates: the mean is alpha / beta. (In `nd.random.gamma` beta is the inverse of the rate.)",
    formula="beta^alpha · x^(alpha - 1) · exp(-beta x) / gamma(alpha).",
    call="nd.array([[1, 2, 3]]), nd.array([5]), nd.array([1])",
    result="array([[0.0153, 0.0902, 0.168 ]], dtype=float32)",
)
_define(
    "exponential",
    lambda x, lam: np.log(lam) - lam * x,
    {"sample": lambda x, lam: -lam + 0 * x, "lam": lambda x, lam: 1 / lam - x},
    law="exponential distributions",
    meanings="Rates.",
    formula="lam · exp(-lam x).",
    call="nd.array([[1, 2, 3]]), nd.array([1])",
    result="array([[0.3679, 0.1353, 0.0498]], dtype=float32)",
)
_define(
    "poisson",
    lambda x, lam: _times_log(x, lam) - lam - gammaln(x + 1),
    {"sample": None, "lam": lambda x, lam: x / lam - 1},
    law="Poisson distributions",
    meanings="Rates.",
    formula="lam^x · exp(-lam) / x!.",
    call="nd.array([[0, 1, 2]]), nd.array([1])",
    result="array([[0.3679, 0.3679, 0.1839]], dtype=float32)",
)
_define(
    "negative_binomial",
    lambda x, k, p: gammaln(x + k) - gammaln(x + 1) - gammaln(k) + k * np.log(p) + _times_log(x, 1 - p),
    {
        "sample": None,
        "k": lambda x, k, p: _digamma(x + k) - _digamma(k) + np.log(p),
        "p": lambda x, k, p: k / p - x / (1 - p),
    },
    law="negative binomial distributions",
    meanings="How many failures end the experiment, any positive number, and their probability.",
    formula="gamma(x + k) / (x! · gamma(k)) · p^k · (1 - p)^x.",
    call="nd.array([[1, 2, 3]]), nd.array([1]), nd.array([0.5])",
    result="array([[0.25  , 0.125 , 0.0625]], dtype=float32)",
)
_define(
    "generalized_negative_binomial",
    _generalized_negative_binomial,
    {
        "sample": None,
        "mu": lambda x, mu, alpha: (x - mu) / (mu * (1 + mu * alpha)),
        "alpha": _by_dispersion,
    },
    law="negative binomial distributions, by mean and dispersion",
    meanings="Means and dispersions: the variance is mu + alpha · mu².",
    formula="The density of `random_pdf_negative_binomial`, with k = 1 / alpha and p = 1 / (1 + mu · alpha).",
    call="nd.array([[1, 2, 3]]), nd.array([1]), nd.array([1])",
    result="array([[0.25  , 0.125 , 0.0625]], dtype=float32)",
)
_define(
    "dirichlet",
    lambda x, alpha: (
        np.sum(_times_log(alpha - 1, x), axis=-1) + gammaln(np.sum(alpha, axis=-1)) - np.sum(gammaln(alpha), axis=-1)
    ),
    {
        "sample": lambda x, alpha: (alpha - 1) / x,
        "alpha": lambda x, alpha: np.log(x) + _digamma(np.sum(alpha, axis=-1, keepdims=True)) - _digamma(alpha),
    },
    law="Dirichlet distributions",
    meanings="Concentrations, vectors along the last axis.",
    formula="The product of x_i^(alpha_i - 1) / gamma(alpha_i), times gamma of the sum of all alpha_i.",
    call="nd.array([[0.2, 0.8], [0.5, 0.5]]), nd.array([2, 1])",
    result="array([0.4, 1. ], dtype=float32)",
)
