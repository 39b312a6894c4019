"""AdaGrad with one rate for each row of a weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minpy.core.base_operator import Shapes
from minpy.core.errors import ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN, PartialShape, merge_shapes
from minpy.ops.optimizer.declaring import update
from minpy.ops.optimizer.updates import Update, arithmetic_dtype, clipped

__all__ = ["group_adagrad_update"]


class _RowUpdate(Update):
    """An update whose state has one number for each row."""

    def shape_of(self, name: str, weight: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of an input beside a weight of some shape."""
        return weight if name != "history" else (*weight[:1], *(1,) * (len(weight) - 1))

    def shapes_wanted(self, name: str) -> str:
        """Return what messages say of the shape of an input."""
        return "history has one number a row, as in (rows, 1)" if name == "history" else "shapes must be equal"

    def apply(self, out: np.ndarray, raws: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Write the new weight into `out`, and move the state."""
        self._run_formula([], out, *raws, **attributes)


@update(
    name="_contrib_group_adagrad_update",
    states=("history",),
    kind=_RowUpdate,
    arrays="""weight, grad : NDArray
    Of equal shapes, with rows along the first axis.
history : NDArray
    One number a row, of shape (rows, 1); changed in place.""",
)
def group_adagrad_update(
    weight: np.ndarray,
    grad: np.ndarray,
    history: np.ndarray,
    *,
    lr: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-5,
) -> np.ndarray:
    """Return the weight after a step of AdaGrad that has one rate for each row, as of embeddings.

    g = clip(rescale_grad · grad); history += mean of g² over each row; weight - lr · g / √(history + epsilon).

    References
    ----------
    Duchi, Hazan and Singer, Adaptive Subgradient Methods, JMLR 12, 2011; here a row has one rate.

    Examples
    --------
    >>> from minpy import nd
    >>> weight, history = nd.ones((2, 2)), nd.zeros((2, 1))
    >>> nd.contrib.group_adagrad_update(weight, nd.array([[2, 2], [0, 0]]), history, lr=0.5, out=weight).asnumpy()
    array([[0.5000006, 0.5000006],
           [1.       , 1.       ]], dtype=float32)
    """
    if weight.ndim < 2:
        raise ShapeError(
            f"_contrib_group_adagrad_update: weight has shape {weight.shape}; expected rows, two axes or more."
        )
    dtype = arithmetic_dtype(weight.dtype)
    grad = clipped(grad.astype(dtype) * rescale_grad, clip_gradient)
    history += np.mean(np.square(grad), axis=tuple(range(1, weight.ndim)), keepdims=True)
    return (weight - grad * (lr / np.sqrt(history.astype(dtype) + epsilon))).astype(weight.dtype)


@group_adagrad_update.def_infer_shape
def _shapes(inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
    weight, grad, history = inputs
    shape = merge_shapes(merge_shapes(weight, grad), outputs[0])
    if history is not None and history[0] != UNKNOWN and shape is not None:
        shape = merge_shapes(shape, (history[0], *(UNKNOWN,) * (len(shape) - 1)))
    rows: PartialShape = None if shape is None else (*shape[:1], *(1,) * (len(shape) - 1))
    return [shape, shape, rows], [shape]
