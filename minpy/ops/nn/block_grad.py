"""`BlockGrad`: the data itself, without a gradient."""

from __future__ import annotations

import numpy as np

from minpy.ops.inference.partial_shapes import same_shape
from minpy.ops.registry import operator

__all__ = ["block_grad"]


@operator(name="BlockGrad", aliases=("stop_gradient",), zero="all", shapes=same_shape)
def block_grad(data: np.ndarray) -> np.ndarray:
    """Return the data, and let no gradient through.

    {data_parameter}

    {returns_array}
        A copy.

    {recorded_examples}
    >>> x = nd.array([3])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x * nd.BlockGrad(x)
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([3.], dtype=float32)
    """
    return data.copy()
