"""`_split_v2`: how symbol files write `split_v2`, with positions and a number of parts as separate attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.base import Shapes
from minpy.core.errors import ArgumentError
from minpy.ops.inference.rules import numbered
from minpy.ops.registry import operator
from minpy.ops.tensor.joining import split_v2, split_v2_shapes

__all__ = ["split_at"]


def _cuts(indices: Any, sections: int) -> int | tuple[int, ...]:
    """Return what `split_v2` takes: the positions of files begin with the first part's, 0."""
    if sections:
        return sections
    indices = (indices,) if isinstance(indices, int) else tuple(indices)
    if not indices:
        raise ArgumentError("_split_v2: indices is empty, and sections is 0; give one of them.")
    return indices[1:]


def _output_names(attributes: dict[str, Any]) -> list[str]:
    cuts = _cuts(attributes.get("indices", ()), attributes.get("sections", 0))
    count = cuts if isinstance(cuts, int) else len(cuts) + 1
    return ["output"] if count == 1 else list(numbered(count))


@operator(name="_split_v2", outputs=_output_names)
def split_at(
    data: np.ndarray, *, indices: tuple[int, ...] = (), axis: int = 1, squeeze_axis: bool = False, sections: int = 0
) -> Any:
    """Return an array cut at given positions, or into parts of equal length, along an axis.

    Parameters
    ----------
    data : NDArray
    indices : tuple of int
        Where the parts begin: a first 0, and the position of each part but the first.
    axis : int
    squeeze_axis : bool
        Whether to remove the axis, if all parts have length 1.
    sections : int
        How many parts of equal length; 0 to cut at `indices`.

    Returns
    -------
    tuple of NDArray
        One NDArray if there is one part.

    Raises
    ------
    ShapeError
        If the axis cannot be divided, or removed, or does not exist.
    ArgumentError
        If neither `indices` nor `sections` is given.

    Examples
    --------
    >>> from minpy import nd
    >>> [part.asnumpy().tolist() for part in nd._split_v2(nd.array([1, 2, 3, 4]), indices=(0, 1, 2), axis=0)]
    [[1.0], [2.0], [3.0, 4.0]]
    """
    return split_v2.forward(data, indices_or_sections=_cuts(indices, sections), axis=axis, squeeze_axis=squeeze_axis)


@split_at.def_grad()
def _split_at_gradient(ans: Any, data: Any, *, axis: int, squeeze_axis: bool) -> Any:
    if type(ans) is not tuple:
        return lambda g: np.reshape(g, np.shape(data))
    axis %= np.ndim(data)
    return lambda g: np.stack(g, axis) if squeeze_axis else np.concatenate(g, axis)


@split_at.def_infer_shape
def _split_at_shapes(
    inputs: Shapes, outputs: Shapes, *, indices: Any, axis: int, squeeze_axis: bool, sections: int
) -> tuple[Shapes, Shapes]:
    cuts = _cuts(indices, sections)
    return split_v2_shapes(inputs, outputs, indices_or_sections=cuts, axis=axis, squeeze_axis=squeeze_axis)
