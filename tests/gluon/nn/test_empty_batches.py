"""Batches without examples: every layer runs, and its backward leaves zeros of the right shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import nd, sym
from minpy.core.errors import ShapeError

IMAGE = (0, 4, 4, 4)
VECTORS = ((4,), (4,))


def pooling(**options: Any) -> Any:
    options = {"kernel": (4, 4), **options}
    return lambda x: nd.Pooling(x, **options)


CASES: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    **{
        f"Pooling {kind} {label}": (
            pooling(pool_type=kind, **{"p_value": 2} if kind == "lp" else {}, **options),
            (IMAGE,),
        )
        for kind in ("max", "avg", "sum", "lp")
        for label, options in (
            ("covering", {}),
            ("global", {"global_pool": True}),
            ("windows", {"kernel": (2, 2)}),
            ("strided", {"kernel": (2, 2), "stride": (2, 2)}),
        )
    },
    "Pooling without channels": (pooling(pool_type="max"), ((2, 0, 4, 4),)),
    "GroupNorm": (lambda x, gamma, beta: nd.GroupNorm(x, gamma, beta, num_groups=2), (IMAGE, (2,), (2,))),
    "InstanceNorm": (lambda x, gamma, beta: nd.InstanceNorm(x, gamma, beta), (IMAGE, *VECTORS)),
    "LayerNorm": (lambda x, gamma, beta: nd.LayerNorm(x, gamma, beta), ((0, 4), *VECTORS)),
    "BatchNorm": (
        lambda x, gamma, beta: nd.BatchNorm(x, gamma, beta, nd.zeros((4,)), nd.ones((4,)), fix_gamma=False),
        (IMAGE, *VECTORS),
    ),
    "L2Normalization": (lambda x: nd.L2Normalization(x), (IMAGE,)),
    "LRN": (lambda x: nd.LRN(x, nsize=3), (IMAGE,)),
    "Convolution": (
        lambda x, w, b: nd.Convolution(x, w, b, kernel=(3, 3), num_filter=2),
        (IMAGE, (2, 4, 3, 3), (2,)),
    ),
    "Deconvolution": (lambda x, w: nd.Deconvolution(x, w, kernel=(3, 3), num_filter=2), (IMAGE, (4, 2, 3, 3))),
    "FullyConnected": (lambda x, w, b: nd.FullyConnected(x, w, b, num_hidden=2), (IMAGE, (2, 64), (2,))),
    "softmax": (lambda x: nd.softmax(x), ((0, 4),)),
    "diag of no rows": (lambda x: nd.diag(x), ((0, 3),)),
    "diag of no columns": (lambda x: nd.diag(x), ((3, 0),)),
    "diag of no matrices": (lambda x: nd.diag(x, axis1=1, axis2=2), ((0, 3, 3),)),
    "diag of a vector": (lambda x: nd.diag(x), ((0,),)),
    "diag beside the main one": (lambda x: nd.diag(x, k=1), ((0,),)),
    "diag at the edge": (lambda x: nd.diag(x, k=3), ((2, 3),)),
    "prod": (lambda x: nd.prod(x, axis=0), ((0, 3),)),
}


@pytest.mark.parametrize("name", CASES)
def test_backward_of_empty_batches(name: str) -> None:
    function, shapes = CASES[name]
    inputs = [nd.ones(shape) for shape in shapes]
    for value in inputs:
        value.attach_grad()
    with mx.autograd.record():
        answer = function(*inputs)
    answer.backward()
    for value in inputs:
        assert value.grad.shape == value.shape
        assert not value.grad.asnumpy().any()


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (_, shapes) in CASES.items()
        if len(shapes[0]) > 1 and not shapes[0][0] and name != "diag of no rows"
    ],
)
def test_empty_batches_have_the_shapes_of_others(name: str) -> None:
    function, shapes = CASES[name]
    others = [nd.ones((3, *shapes[0][1:])), *map(nd.ones, shapes[1:])]
    without = function(*map(nd.zeros, shapes))
    one = function(*others)
    assert without.shape in ((0, *one.shape[1:]), one.shape)


@pytest.mark.parametrize(
    ("shape", "options"), [((2, 3), {"k": 4}), ((2, 3), {"k": -3}), ((0, 3), {"k": -1}), ((0, 3), {"k": 4})]
)
def test_diagonals_that_do_not_exist(shape: tuple[int, ...], options: dict[str, int]) -> None:
    with pytest.raises(ShapeError, match=rf"diag: data \({shape[0]}, {shape[1]}\) has no diagonal k={options['k']} "):
        nd.diag(nd.zeros(shape), **options)


def test_simple_bind_says_how_to_give_a_length_of_0() -> None:
    symbol = sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc")
    with pytest.raises(ShapeError) as caught:
        symbol.simple_bind(mx.cpu(), x=(0, 3))
    assert str(caught.value) == (
        "simple_bind: not all shapes follow from what is given; not known: x (?, 3). Give shapes by name, as in "
        "data=(32, 784). The 0 in x=(0, 3) stands for a length that is not known. For an array that has none, give the "
        "arrays themselves: symbol.bind(ctx, {'x': nd.zeros((0, 3)), ...})."
    )
    arrays = {"x": nd.zeros((0, 3)), "fc_weight": nd.zeros((2, 3)), "fc_bias": nd.zeros((2,))}
    assert symbol.bind(mx.cpu(), arrays).forward()[0].shape == (0, 2)


# -- products of zeros -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "hessian_times_ones"),
    [([2, 0, 3], [3, 5, 2]), ([2, 0, 0], [0, 2, 2]), ([2, 5, 3], [8, 5, 7]), ([0, 0, 0, 0], [0] * 4), ([3, 0], [1, 1])],
)
def test_the_hessian_of_a_product_with_zeros(values: list[float], hessian_times_ones: list[float]) -> None:
    x = nd.array(values)
    x.attach_grad()
    with mx.autograd.record():
        (gradient,) = mx.autograd.grad(nd.prod(x), [x], create_graph=True)
        total = gradient.sum()
    total.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), hessian_times_ones, rtol=1e-6)


def test_third_derivatives_of_a_product_with_zeros() -> None:
    def product(x: Any) -> Any:
        return x.prod()

    third = mx.jacobian(mx.jacobian(mx.jacobian(product)))(np.array([2.0, 0.0, 3.0, 0.0]))
    expected = np.zeros((4, 4, 4))
    for i, j, k in np.ndindex(4, 4, 4):
        if len({i, j, k}) == 3:
            expected[i, j, k] = [2.0, 0.0, 3.0, 0.0][6 - i - j - k]
    np.testing.assert_allclose(third, expected)
