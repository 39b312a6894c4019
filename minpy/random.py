"""`mx.random`: the seed of minpy's own random numbers, and the functions of `minpy.nd.random`."""

from minpy.namespaces import module_functions
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
__dir__, __getattr__ = module_functions(__name__, __all__)
