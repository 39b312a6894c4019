"""Draws from distributions under MXNet's names for NumPy's functions; parameters are numbers or arrays.

Where a draw can be written as a function of the parameters and of noise that does not depend on them, its gradients are
those of that function (reparameterization).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.sums import sum_to
from minpy.ops.inference.partial_shapes import as_dtype, broadcast_shapes
from minpy.ops.numpy.named import named
from minpy.ops.numpy.named_creation import shape_of
from minpy.ops.random.generator import generator

__all__ = ["PARAMETERS"]

Partials = Callable[..., Mapping[str, Any]]


def _of_inputs(names: tuple[str, ...], inputs: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by name: those that are no number are the inputs, in order."""
    remaining = iter(inputs)
    return {name: attributes[name] if attributes.get(name) is not None else next(remaining) for name in names}


def _output_dtype(*dtypes: np.dtype, **attributes: Any) -> np.dtype:
    return as_dtype(attributes.get("dtype")) or np.dtype("float32")


def _define(name: str, names: tuple[str, ...], partials: Partials | None, batched: bool) -> None:
    method = name.removeprefix("_npi_").removesuffix("_n").replace("powerd", "power")

    def missing(count: int) -> Callable[[dict[str, Any]], bool]:
        return lambda attributes: sum(attributes.get(name) is None for name in names) >= count

    def size_of(size: Any, shapes: Any) -> Any:
        common = np.broadcast_shapes(*shapes)
        return (*shape_of(size), *common) if batched else common if size is None else shape_of(size)

    def definition(
        input1: Any = None, input2: Any = None, *, size: Any = None, ctx: Any = None, dtype: Any = None, **numbers: Any
    ) -> Any:
        values = _of_inputs(names, [parameter for parameter in (input1, input2) if parameter is not None], numbers)
        shape = size_of(size, map(np.shape, values.values()))
        return np.asarray(getattr(generator(), method)(*values.values(), shape)).astype(as_dtype(dtype) or np.float32)

    def shapes(inputs: Shapes, outputs: Shapes, *, size: Any, **attributes: Any) -> tuple[Shapes, Shapes]:
        if size is not None and not batched:
            return inputs, [shape_of(size)]
        common = broadcast_shapes(*inputs) if inputs else ()
        return inputs, [None if common is None else (*shape_of(size), *common)]

    definition.__doc__ = f"Return draws from the distribution `{name}`."
    op = named(
        name,
        dtype=_output_dtype,
        shape=shapes,
        random=True,
        zero=partials is None,
        own_rules=partials is not None,
        optional_inputs={"input1": missing(1), "input2": missing(2)},
    )(definition)
    if partials is None:
        return

    @op.def_multiple_grad()
    def gradients(ans: Any, *inputs: Any, **attributes: Any) -> Callable[[Any], Any]:
        arrays = [array for array in inputs if array is not None]
        values = _of_inputs(names, arrays, attributes)
        slopes = partials(ans, **values)
        array_parameters = [name for name in names if attributes.get(name) is None]

        def pullback(g: Any) -> tuple[Any, ...]:
            gradients = [sum_to(g * slopes[name], np.shape(values[name])) for name in array_parameters]
            return (*gradients, *[None] * (len(inputs) - len(gradients)))

        return pullback


def _location_scale_partials(ans: Any, loc: Any, scale: Any) -> Mapping[str, Any]:
    return {"loc": 1.0, "scale": (ans - loc) / scale}


def _uniform_partials(ans: Any, low: Any, high: Any) -> Mapping[str, Any]:
    share = (ans - low) / (high - low)
    return {"low": 1.0 - share, "high": share}


def _scale_partials(ans: Any, scale: Any) -> Mapping[str, Any]:
    return {"scale": ans / scale}


def _power_partials(ans: Any, a: Any) -> Mapping[str, Any]:
    return {"a": -ans * np.log(ans) / a}


def _pareto_partials(ans: Any, a: Any) -> Mapping[str, Any]:
    return {"a": -(ans + 1.0) * np.log(ans + 1.0) / a}


# The names of a distribution's parameters, and the derivatives of what is drawn, by the names of the operators.
_DISTRIBUTIONS: dict[str, tuple[tuple[str, ...], Partials | None]] = {
    "_npi_normal": (("loc", "scale"), _location_scale_partials),
    "_npi_normal_n": (("loc", "scale"), _location_scale_partials),
    "_npi_uniform": (("low", "high"), _uniform_partials),
    "_npi_uniform_n": (("low", "high"), _uniform_partials),
    "_npi_gamma": (("shape", "scale"), None),
    "_npi_exponential": (("scale",), _scale_partials),
    "_npi_gumbel": (("loc", "scale"), _location_scale_partials),
    "_npi_logistic": (("loc", "scale"), _location_scale_partials),
    "_npi_rayleigh": (("scale",), _scale_partials),
    "_npi_pareto": (("a",), _pareto_partials),
    "_npi_powerd": (("a",), _power_partials),
    "_npi_weibull": (("a",), _power_partials),
}
PARAMETERS = {name: parameters for name, (parameters, _) in _DISTRIBUTIONS.items()}

for _name, (_names, _partials) in _DISTRIBUTIONS.items():
    _define(_name, _names, _partials, batched=_name.endswith("_n"))


@named(
    "_npi_bernoulli",
    dtype=_output_dtype,
    shape=lambda inputs, outputs, *, size: (inputs, [shape_of(size) if size is not None else (*inputs, ())[0]]),
    random=True,
    zero=True,
    optional_inputs={"input1": lambda attributes: attributes.get("prob") is None and attributes.get("logit") is None},
)
def npi_bernoulli(
    input1: Any = None,
    *,
    prob: float | None = None,
    logit: float | None = None,
    size: int | tuple[int, ...] | None = None,
    ctx: str | None = None,
    dtype: str | None = "float32",
    is_logit: bool = False,
) -> Any:
    """Return ones with a probability, and zeros; the probability may be given as the logarithm of its odds."""
    value: Any = logit if is_logit and logit is not None else prob if input1 is None else input1
    chance: Any = 1.0 / (1.0 + np.exp(-np.asarray(value, "float64"))) if is_logit else value
    shape = np.shape(chance) if size is None else shape_of(size)
    return np.asarray(generator().random(shape) < chance).astype(as_dtype(dtype) or np.float32)


@named(
    "_npi_choice",
    dtype="int64",
    shape=lambda inputs, outputs, *, size: (inputs, [shape_of(size)]),
    random=True,
    zero=True,
    optional_inputs={
        "input1": lambda attributes: attributes.get("a") is None or bool(attributes.get("weighted")),
        "input2": lambda attributes: attributes.get("a") is None and bool(attributes.get("weighted")),
    },
)
def npi_choice(
    input1: Any = None,
    input2: Any = None,
    *,
    a: int | None = None,
    size: int | tuple[int, ...] | None = None,
    ctx: str | None = None,
    replace: bool = True,
    weighted: bool = False,
) -> Any:
    """Return positions below `a`, or in the first input; with weights by these probabilities."""
    count = len(input1) if a is None else a
    weights = (input1 if a is not None else input2) if weighted else None
    if weights is not None:
        weights = weights.astype("float64")
        weights = weights / weights.sum()
    return np.asarray(generator().choice(count, shape_of(size), replace, weights), np.int64)


def _multinomial_shape(inputs: Shapes, outputs: Shapes, *, size: Any, pvals: Any) -> tuple[Shapes, Shapes]:
    last: Any = (len(pvals),) if pvals is not None else inputs[0]
    return inputs, [None if last is None else (*shape_of(size), *last)]


@named(
    "_npi_multinomial",
    dtype="int64",
    shape=_multinomial_shape,
    random=True,
    zero=True,
    optional_inputs={"a": lambda attributes: attributes.get("pvals") is None},
)
def npi_multinomial(
    a: Any = None,
    *,
    n: int,
    pvals: tuple[float, ...] | None = None,
    size: int | tuple[int, ...] | None = None,
) -> Any:
    """Return how often each of several outcomes occurred in n draws."""
    chances = np.asarray(a if pvals is None else pvals, "float64")
    return generator().multinomial(n, chances / chances.sum(), shape_of(size) or None)
