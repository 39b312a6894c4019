"""NumPy's functions that join a list of arrays: concatenate, stack and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.ops.registry import FUNCTIONS, operator
from minpy.ops.tensor.joining import concat_gradient, stack_gradient

__all__ = ["numpy_concatenate", "numpy_stack"]


@operator(name="_numpy_concatenate", public=False)
def numpy_concatenate(*arrays: Any, axis: int | None = 0) -> Any:
    """Return `numpy.concatenate` of the arrays."""
    return np.concatenate(arrays, axis=axis)


def _numpy_concatenate_gradient(ans: Any, *arrays: Any, axis: int | None) -> Any:
    if axis is not None:
        return concat_gradient(ans, *arrays, dim=axis)
    ends = np.cumsum([0] + [np.size(array) for array in arrays])
    shapes = [np.shape(array) for array in arrays]
    return lambda g: tuple(
        np.reshape(g[start:stop], shape) for start, stop, shape in zip(ends[:-1], ends[1:], shapes, strict=True)
    )


numpy_concatenate.def_multiple_grad(_numpy_concatenate_gradient)


@operator(name="_numpy_stack", public=False)
def numpy_stack(*arrays: Any, axis: int = 0) -> Any:
    """Return `numpy.stack` of the arrays."""
    return np.stack(arrays, axis=axis)


numpy_stack.def_multiple_grad(lambda ans, *arrays, axis: stack_gradient(ans, *arrays, axis=axis))

FUNCTIONS[np.concatenate] = lambda arrays, axis=0: numpy_concatenate(*arrays, axis=axis)
FUNCTIONS[np.stack] = lambda arrays, axis=0: numpy_stack(*arrays, axis=axis)
