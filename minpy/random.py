"""`mx.random`: the seed of minpy's own random numbers, and the functions of `minpy.nd.random`."""

from minpy.namespaces import public
from minpy.ndarray.random import (
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)
from minpy.ops.random.generator import seed

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "seed",
    "shuffle",
    "uniform",
]
__dir__, __getattr__ = public("minpy.random", "name", __all__)
