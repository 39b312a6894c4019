"""Operators whose gradients are not those of what they compute: straight-through estimators, scaled gradients.

Bengio, Léonard and Courville, "Estimating or propagating gradients through stochastic neurons for conditional
computation" (2013).
"""

from __future__ import annotations

import numpy as np

from minpy.ops.inference.partial_shapes import same_dtype, same_shape
from minpy.ops.registry import operator
from minpy.ops.tensor.rounding import round as round_halves_away

__all__ = ["gradientmultiplier", "round_ste", "sign_ste"]


@operator(name="_contrib_round_ste", elementwise=True, shapes=same_shape, dtypes=same_dtype)
def round_ste(data: np.ndarray) -> np.ndarray:
    """Return the nearest whole numbers, halves rounded away from zero, with the gradient of the identity.

    {data_parameter}
        Of any shape and dtype.

    {returns_array}
        Of the shape and dtype of `data`. The upstream gradient is passed on as it is.

    {examples}
    >>> nd.contrib.round_ste(nd.array([-1.5, 0.4, 2.5])).asnumpy()
    array([-2.,  0.,  3.], dtype=float32)
    """
    return round_halves_away.definition(data)


@operator(name="_contrib_sign_ste", elementwise=True, shapes=same_shape, dtypes=same_dtype)
def sign_ste(data: np.ndarray) -> np.ndarray:
    """Return the signs, -1, 0 or 1, with the gradient of the identity.

    {data_parameter}
        Of any shape and dtype.

    {returns_array}
        Of the shape and dtype of `data`. The upstream gradient is passed on as it is.

    {examples}
    >>> nd.contrib.sign_ste(nd.array([-2, 0, 3])).asnumpy()
    array([-1.,  0.,  1.], dtype=float32)
    """
    return data.copy() if data.dtype.kind == "b" else np.sign(data)


for _operator in (round_ste, sign_ste):
    _operator.def_grad(lambda ans, data: lambda g: g)


@operator(name="_contrib_gradientmultiplier", elementwise=True, shapes=same_shape, dtypes=same_dtype)
def gradientmultiplier(data: np.ndarray, *, scalar: float = 1.0, is_int: bool = True) -> np.ndarray:
    """Return the data; its gradient is multiplied by a number. A negative one reverses it.

    {data_parameter}
        Of any shape and dtype.
    scalar : float
        The factor.
    is_int : bool
        Accepted and not used: MXNet notes here whether the factor was written as a whole number.

    {returns_array}
        A copy.

    Notes
    -----
    With a negative factor this is the gradient reversal layer of Ganin and Lempitsky, "Unsupervised domain adaptation
    by backpropagation" (2015).

    {recorded_examples}
    >>> x = nd.array([3])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.contrib.gradientmultiplier(x, scalar=-0.5)
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([-0.5], dtype=float32)
    """
    return data.copy()


gradientmultiplier.def_grad(lambda ans, data, *, scalar: lambda g: g * scalar)
