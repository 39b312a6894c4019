"""`Constant`: a parameter that nobody trains."""

from __future__ import annotations

from typing import Any

from minpy import initializer
from minpy import ndarray as nd
from minpy import numpy as np
from minpy.core.errors import ArgumentValueError
from minpy.core.numpy_semantics import is_np_array
from minpy.gluon.parameter.parameter import Parameter
from minpy.ndarray import NDArray

__all__ = ["Constant"]


class Constant(Parameter):
    """A parameter with given values and without a gradient.

    Parameters
    ----------
    name : str
    value : NDArray, or what an array is made of

    Examples
    --------
    >>> import minpy as mx
    >>> table = mx.gluon.Constant('table', [[1, 2], [3, 4]])
    >>> table.initialize()
    >>> table.data().asnumpy().tolist(), table.grad_req
    ([[1.0, 2.0], [3.0, 4.0]], 'null')
    """

    def __init__(self, name: str, value: Any) -> None:
        if not isinstance(value, NDArray):
            value = (np if is_np_array() else nd).array(value)
        self.value = value
        super().__init__(
            name,
            grad_req="null",
            shape=value.shape,
            dtype=value.dtype,
            init=initializer.Constant(value),
            differentiable=False,
        )

    @property
    def grad_req(self) -> str:
        """What backward does with the gradient: always 'null'."""
        return "null"

    @grad_req.setter
    def grad_req(self, request: str) -> None:
        if request not in ("write", "add", "null"):
            raise ArgumentValueError(f"Constant {self.name!r}: grad_req is {request!r}; it can only be 'null'.")
        self._grad_req = "null"
