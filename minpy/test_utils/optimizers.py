"""Whether two optimizers make the same steps."""

from __future__ import annotations

from typing import Any

import numpy

from minpy.core.errors import ArgumentError, describe
from minpy.ndarray import NDArray
from minpy.ndarray.placement import require_dense
from minpy.test_utils.comparing import assert_almost_equal
from minpy.test_utils.random_arrays import rand_ndarray

__all__ = ["compare_optimizer"]


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Check that two optimizers make the same step of random weights, and have the same states before and after.

    Parameters
    ----------
    opt1, opt2 : Optimizer
    shape : tuple of int, or a list of them
        The shape of the weight, or of each of `ntensors` weights.
    dtype : str or type
        Of weights and gradients.
    w_stype, g_stype : str
        'default': arrays are dense.
    rtol, atol : float
        How much weights and states may differ.
    compare_states : bool
        Whether states are compared; they are not if they are of different kinds.
    ntensors : int
        With more than one, both are given lists.

    Raises
    ------
    AssertionError
        If weights or states differ.
    ArgumentError
        If there are not as many shapes as weights, or for sparse storage types.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.test_utils import compare_optimizer
    >>> compare_optimizer(mx.optimizer.SGD(), mx.optimizer.NAG(), (2, 3), 'float32')
    """
    require_dense("compare_optimizer", w_stype)
    require_dense("compare_optimizer", g_stype)
    shapes = list(shape) if isinstance(shape, list) else [shape] * ntensors
    if len(shapes) != ntensors:
        raise ArgumentError(
            f"compare_optimizer: shape is {describe(shape)}, with {len(shapes)} shapes; ntensors={ntensors} weights "
            "need one each."
        )
    first = [rand_ndarray(weight_shape, dtype=dtype) for weight_shape in shapes]
    grads = [rand_ndarray(weight_shape, dtype=dtype) for weight_shape in shapes]
    # An optimizer may change gradients in place, as when it clips them: each has its own.
    second, second_grads = ([array.copy() for array in arrays] for arrays in (first, grads))
    states = [
        [optimizer.create_state_multi_precision(index, weight) for index, weight in enumerate(weights)]
        for optimizer, weights in ((opt1, first), (opt2, second))
    ]
    if compare_states:
        _assert_equal_states(states[0], states[1], rtol, atol)
    for optimizer, weights, gradients, own in (
        (opt1, first, grads, states[0]),
        (opt2, second, second_grads, states[1]),
    ):
        if ntensors == 1:
            optimizer.update_multi_precision(0, weights[0], gradients[0], own[0])
        else:
            optimizer.update_multi_precision(list(range(ntensors)), weights, gradients, own)
    if compare_states:
        _assert_equal_states(states[0], states[1], rtol, atol)
    for weight1, weight2 in zip(first, second, strict=True):
        assert_almost_equal(weight1, weight2, rtol=rtol, atol=atol)


def _assert_equal_states(first: Any, second: Any, rtol: float, atol: float) -> None:
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)) and len(first) == len(second):
        for state1, state2 in zip(first, second, strict=True):
            _assert_equal_states(state1, state2, rtol, atol)
    elif isinstance(first, NDArray) and isinstance(second, NDArray):
        assert_almost_equal(first, second, rtol=rtol, atol=atol)
    elif first is not None or second is not None:
        numbers = isinstance(first, (int, float, numpy.number)) and isinstance(second, (int, float, numpy.number))
        if not numbers or first != second:
            raise AssertionError(f"compare_optimizer: states are {describe(first)} and {describe(second)}.")
