"""Rows of `minpy.ops.random.pdf`. The references are SciPy's distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from operator_table.row import Row, Spec, integers, real


def _reference(density: Callable[..., Any]) -> Callable[..., Any]:
    """Return a density as a function of parameters whose shape the sample's begins with."""

    def of_arrays(x: Any, *parameters: Any, is_log: bool = False) -> Any:
        placed = [np.reshape(value, value.shape + (1,) * (x.ndim - value.ndim)) for value in parameters]
        return np.log(density(x, *placed)) if is_log else density(x, *placed)

    return of_arrays


def _dirichlet(x: Any, alpha: Any, is_log: bool = False) -> Any:
    places = np.ndindex(x.shape[:-1])
    vectors = np.broadcast_to(
        alpha.reshape(alpha.shape[:-1] + (1,) * (x.ndim - alpha.ndim) + alpha.shape[-1:]), x.shape
    )
    normal = scipy.special.gamma(vectors.sum(-1)) / scipy.special.gamma(vectors).prod(-1)
    found = np.array([np.prod(x[place] ** (vectors[place] - 1)) for place in places]).reshape(x.shape[:-1]) * normal
    return np.log(found) if is_log else found


def _positive(*shape: int) -> Spec:
    return real(*shape, low=0.6, high=2.5)


def _counts(*shape: int) -> Spec:
    return integers(*shape, high=5)


_FRACTION = real(2, low=0.2, high=0.8)
_DENSITIES: list[tuple[str, Spec, tuple[Spec, ...], Callable[..., Any]]] = [
    (
        "uniform",
        real(2, 3, low=1.0),
        (real(2, low=-1.0, high=0.5), real(2, low=2.5, high=3.0)),
        lambda x, low, high: scipy.stats.uniform.pdf(x, low, high - low),
    ),
    ("normal", real(2, 3), (real(2), _positive(2)), scipy.stats.norm.pdf),
    ("gamma", _positive(2, 3), (_positive(2), _positive(2)), lambda x, a, b: scipy.stats.gamma.pdf(x, a, scale=1 / b)),
    ("exponential", _positive(2, 3), (_positive(2),), lambda x, lam: scipy.stats.expon.pdf(x, scale=1 / lam)),
    ("poisson", _counts(2, 3), (_positive(2),), scipy.stats.poisson.pmf),
    ("negative_binomial", _counts(2, 3), (_positive(2), _FRACTION), scipy.stats.nbinom.pmf),
    (
        "generalized_negative_binomial",
        _counts(2, 3),
        (_positive(2), _positive(2)),
        lambda x, mu, alpha: scipy.stats.nbinom.pmf(x, 1 / alpha, 1 / (1 + mu * alpha)),
    ),
]

ROWS = [
    Row(f"_random_pdf_{name}", (sample, *parameters), attributes, _reference(density), label=label)
    for name, sample, parameters, density in _DENSITIES
    for label, attributes in (("", {}), ("log", {"is_log": True}))
]
ROWS += [
    Row("_random_pdf_normal", (real(2, 2), real(2, 2), _positive(2, 2)), {}, scipy.stats.norm.pdf, label="one_each"),
    *[
        Row(
            "_random_pdf_dirichlet",
            (real(*sample, low=0.2, high=0.9), _positive(*alpha)),
            {"is_log": is_log},
            _dirichlet,
            label=f"{label}_log" if is_log else label,
        )
        for label, sample, alpha in (
            ("several", (2, 3, 2), (2, 2)),
            ("one", (3, 2), (2,)),
            ("one_each", (2, 3), (2, 3)),
        )
        for is_log in (False, True)
    ],
]
ROWS += [
    Row(
        "_sample_unique_zipfian",
        (),
        {"range_max": 9, "shape": (2, 4)},
        order=0,
        reason="drawn at random",
        dtypes=(),
        random=True,
    ),
]

KINDS_OF_STEPS = {
    "elementwise reduce view": "_random_pdf_dirichlet",
    "elementwise view": (
        "_random_pdf_exponential _random_pdf_gamma _random_pdf_generalized_negative_binomial "
        "_random_pdf_negative_binomial _random_pdf_normal _random_pdf_poisson _random_pdf_uniform"
    ),
}
