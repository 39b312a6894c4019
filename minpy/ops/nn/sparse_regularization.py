"""`IdentityAttachKLSparseReg`: activations that are pushed towards being sparse, in the backward pass only."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.buffers import note_write
from minpy.core.errors import ShapeError
from minpy.core.sums import mean_over
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, merge_shapes
from minpy.ops.inference.rule_parts import replace_length, with_followers
from minpy.ops.registry import operator

__all__ = ["identity_attach_kl_sparse_reg"]


@operator(
    name="IdentityAttachKLSparseReg", auxiliary=("moving_avg",), visible_outputs=1, shape_only=(0,), outputs_read=(1,)
)
def identity_attach_kl_sparse_reg(
    data: np.ndarray,
    moving_avg: np.ndarray,
    *,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    training: bool | None = None,
) -> Any:
    """Return the data; the gradient of a penalty on dense activations is added to its gradient.

    The penalty is the divergence of a unit's mean activation from a target, as of two coins: with target ρ and mean m
    its gradient is penalty · ((1 - ρ) / (1 - m) - ρ / m) (Ng, "Sparse autoencoder", 2011).

    {data_parameter}
        Activations between 0 and 1, of shape (batch, units, ...).
    moving_avg : NDArray
        The moving means of the units' activations, of shape (units,). Training changes them.
    sparseness_target : float
        The mean that is aimed at.
    penalty : float
        Weight of the penalty.
    momentum : float
        How much of the moving means stays.
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    {returns_like_data}

    {raises_shape_error}
        If there is not one mean for each unit.
    {or_integers}

    {recorded_examples}
    >>> x, mean = nd.array([[0.1], [0.9]]), nd.array([0.5])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = nd.IdentityAttachKLSparseReg(x, mean, sparseness_target=0.25, penalty=1)
    >>> y.backward()
    >>> x.grad.asnumpy().ravel()  # 1 + 0.75 / 0.5 - 0.25 / 0.5
    array([2., 2.], dtype=float32)
    """
    require_floats("IdentityAttachKLSparseReg", data)
    if data.ndim < 2 or moving_avg.shape != data.shape[1:2]:
        raise ShapeError(
            f"IdentityAttachKLSparseReg: data has shape {data.shape}, moving_avg {moving_avg.shape}; expected (batch, "
            "units, ...) and (units,)."
        )
    if training and data.size:
        moving_avg *= momentum
        moving_avg += (1 - momentum) * mean_over(data, (0, *range(2, data.ndim)))
        note_write(moving_avg)
    return data.copy(), moving_avg.copy()


@identity_attach_kl_sparse_reg.def_grad()
def _sparse_gradient(ans: Any, data: Any, moving_avg: Any, *, sparseness_target: float, penalty: float) -> Any:
    def gradient(g: Any) -> Any:
        mean = np.reshape(ans[1], (-1, *(1,) * (np.ndim(data) - 2)))
        push = (1 - sparseness_target) / (1 - mean) - sparseness_target / mean
        return g[0] + np.dtype(data.dtype).type(penalty) * push

    return gradient


@identity_attach_kl_sparse_reg.def_infer_shape
def _sparse_shapes(inputs: Any, outputs: Any) -> Any:
    data = merge_shapes(inputs[0], outputs[0])
    if data is None or len(data) < 2:
        return inputs, outputs
    vector = merge_shapes(merge_shapes(inputs[1], (UNKNOWN,)), data[1:2]) or ()
    data = replace_length(data, 1, *vector)
    return [data, vector], [data]


identity_attach_kl_sparse_reg.def_infer_type(with_followers)
identity_attach_kl_sparse_reg.initializers = {"moving_avg": '["zero", {}]'}
identity_attach_kl_sparse_reg.category = "normalization"
