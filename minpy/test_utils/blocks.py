"""Whether a Gluon block computes the same as written and hybridized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from minpy.core.numpy_semantics import use_np
from minpy.core.state import Scope
from minpy.ndarray import array
from minpy.test_utils.comparing import assert_almost_equal

__all__ = ["check_gluon_hybridize_consistency"]


@use_np
def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: Sequence[Any],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Check that a block gives the same outputs and input gradients as written and hybridized.

    The block must not draw random numbers.

    Parameters
    ----------
    net_builder : callable
        `net_builder(prefix=...)` returns the block, with parameters that are not initialized.
    data_l : list of minpy.np.ndarray
        What the block is called with.
    numpy_func : callable, optional
        What it should compute, of NumPy arrays.
    test_grad : bool
        Whether gradients by `data_l` are compared, too; the outputs are their own head gradients.
    rtol, atol : float
        How much numbers may differ.

    Raises
    ------
    AssertionError
        If outputs or gradients differ.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.test_utils import check_gluon_hybridize_consistency
    >>> build = lambda prefix: mx.gluon.nn.Dense(3, activation='tanh', prefix=prefix)
    >>> check_gluon_hybridize_consistency(build, [mx.np.ones((2, 4))])
    """
    values: dict[str, numpy.ndarray] = {}
    expected: numpy.ndarray | None = None
    gradients: list[numpy.ndarray] | None = None
    for hybridize in (False, True):
        for records in (False, True) if test_grad else (False,):
            net = net_builder(prefix="net_")
            net.initialize()
            inputs = [data.copy() for data in data_l]
            if values:
                net(*inputs)  # which makes parameters whose shapes follow from it
                for name, parameter in net.collect_params().items():
                    parameter.set_data(array(values[name], dtype=values[name].dtype))
            if hybridize:
                net.hybridize()
            output = _outputs(net, inputs, records)
            values = values or {name: parameter.data().asnumpy() for name, parameter in net.collect_params().items()}
            if expected is None:
                expected = output
            assert_almost_equal(output, expected, rtol, atol)
            if records:
                computed = [data.grad.asnumpy() for data in inputs]
                gradients = computed if gradients is None else gradients
                for gradient, first in zip(computed, gradients, strict=True):
                    assert_almost_equal(gradient, first, rtol, atol)
    if numpy_func is not None:
        assert_almost_equal(expected, numpy_func(*[data.asnumpy() for data in data_l]), rtol, atol)


def _outputs(net: Any, inputs: Sequence[Any], records: bool) -> numpy.ndarray:
    if records:
        for data in inputs:
            data.attach_grad()
        with Scope(True, True):
            out = net(*inputs)
        out.backward(out)
    else:
        out = net(*inputs)
    output: numpy.ndarray = out.asnumpy()
    return output
