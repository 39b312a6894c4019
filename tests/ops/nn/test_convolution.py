"""What the operator table's rows cannot say of Convolution, Deconvolution, Pooling and BatchNorm."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import minpy as mx
from minpy import nd
from minpy.ops.kernels import im2col


def normal(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    return np.random.RandomState(seed).normal(size=shape).astype(dtype)


def gradients(function: Any, *values: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the value of `function`, and the gradients of its sum weighted by 1, 2, 3, ..."""
    arrays = [nd.array(value, dtype=value.dtype) for value in values]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        y = function(*arrays)
    y.backward(nd.array(np.arange(1.0, y.size + 1).reshape(y.shape), dtype=y.dtype))
    return y.asnumpy(), [array.grad.asnumpy() for array in arrays]


# -- convolution -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 500, 3000])
@pytest.mark.parametrize(
    "options", [{}, {"stride": (2, 1), "pad": (1, 2), "dilate": (2, 1)}, {"num_group": 2}], ids=str
)
def test_blocks_of_columns_do_not_change_the_answer(
    block: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w, b = normal(3, 4, 9, 7), normal(6, 4 // options.get("num_group", 1), 3, 2, seed=1), normal(6, seed=2)

    def convolve(*inputs: Any) -> Any:
        return nd.Convolution(*inputs, kernel=(3, 2), num_filter=6, **options)

    answer, parts = gradients(convolve, x, w, b)
    monkeypatch.setattr(im2col, "BLOCK", block)
    again, parts_again = gradients(convolve, x, w, b)
    for got, expected in zip([again, *parts_again], [answer, *parts], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_several_blocks_of_a_large_convolution() -> None:
    x, w = normal(8, 16, 40, 40, dtype="float32"), normal(8, 16, 3, 3, seed=1, dtype="float32")
    assert w[0].size * 8 * 38 * 38 * 4 > im2col.BLOCK
    expected = np.einsum("nchwij,fcij->nfhw", sliding_window_view(x, (3, 3), (2, 3)), w, optimize=True)
    got = nd.Convolution(x, w, kernel=(3, 3), num_filter=8, no_bias=True)
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


def test_threads_have_columns_of_their_own() -> None:
    x, w = normal(4, 3, 20, 20), normal(5, 3, 3, 3)
    expected = [nd.Convolution(x * k, w, kernel=(3, 3), num_filter=5, no_bias=True) for k in range(4)]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(20):
            got = nd.Convolution(x * k, w, kernel=(3, 3), num_filter=5, no_bias=True)
            if not np.array_equal(got, expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_order_of_memory_does_not_matter() -> None:
    x, w = normal(2, 3, 5, 6), normal(4, 3, 3, 3)
    turned = np.ascontiguousarray(x.transpose(1, 2, 3, 0)).transpose(3, 0, 1, 2)
    for kernel in (w, w.transpose(3, 2, 1, 0).copy().transpose(3, 2, 1, 0)):
        np.testing.assert_allclose(
            nd.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True),
            nd.Convolution(turned, kernel, kernel=(3, 3), num_filter=4, no_bias=True),
            rtol=1e-12,
        )


def test_what_a_convolution_returns_can_be_reshaped_and_written() -> None:
    y = nd.Convolution(nd.ones((3, 1, 4, 4)), nd.ones((2, 1, 3, 3)), kernel=(3, 3), num_filter=2, no_bias=True)
    y[1, 0, 0, 0] = 5
    assert y.reshape((3, -1)).asnumpy().tolist() == [[9] * 8, [5, *[9] * 7], [9] * 8]
    assert y.asnumpy().flags.c_contiguous


def test_an_empty_batch() -> None:
    x, w = nd.zeros((0, 2, 4, 4)), nd.ones((3, 2, 2, 2))
    for value in (x, w):
        value.attach_grad()
    with mx.autograd.record():
        y = nd.Convolution(x, w, kernel=(2, 2), num_filter=3, no_bias=True)
        y = nd.Pooling(y, kernel=(2, 2), pool_type="avg")
        y = nd.Deconvolution(y, nd.ones((3, 1, 2, 2)), kernel=(2, 2), num_filter=1)
    y.backward()
    assert y.shape == (0, 1, 3, 3)
    assert x.grad.shape == x.shape
    assert not w.grad.asnumpy().any()


def test_float16_is_computed_in_float32() -> None:
    x = np.full((1, 64, 3, 3), 10, "float16")
    w = np.full((1, 64, 3, 3), 0.1, "float16")
    y = nd.Convolution(
        nd.array(x, dtype="float16"), nd.array(w, dtype="float16"), kernel=(3, 3), num_filter=1, no_bias=True
    )
    assert y.dtype == np.float16
    exact = float((x.astype("float64") * w.astype("float64")).sum())
    assert abs(float(y.asnumpy().item()) - exact) <= 0.5


def test_a_deconvolution_undoes_the_shape_of_a_convolution() -> None:
    x = nd.ones((1, 2, 11, 8))
    options = {"kernel": (4, 3), "stride": (3, 2), "pad": (1, 0), "dilate": (1, 2)}
    y = nd.Convolution(x, nd.ones((5, 2, 4, 3)), num_filter=5, no_bias=True, **options)
    back = nd.Deconvolution(y, nd.ones((5, 2, 4, 3)), num_filter=2, adj=(0, 1), **options)
    assert back.shape == x.shape


X, W = np.ones((1, 2, 4, 4)), np.ones((3, 2, 2, 2))
MESSAGES: list[tuple[str, Any, str]] = [
    (
        "weight",
        lambda: nd.Convolution(X, W, kernel=(3, 3), num_filter=3, no_bias=True),
        (
            "Convolution: weight has shape (3, 2, 2, 2); expected (3, 2, 3, 3), which is (num_filter, channels / "
            "num_group, *kernel), for data of shape (1, 2, 4, 4) with num_filter=3 and num_group=1."
        ),
    ),
    (
        "group",
        lambda: nd.Convolution(X, W, kernel=(2, 2), num_filter=3, num_group=2, no_bias=True),
        "Convolution: num_group is 2; it must divide the 2 channels of data (1, 2, 4, 4) and num_filter=3.",
    ),
    (
        "rank",
        lambda: nd.Convolution(X, W, kernel=(2,), num_filter=3, no_bias=True),
        "Convolution: data has shape (1, 2, 4, 4) and kernel is (2,); expected a kernel of 1 to 3 numbers, and data",
    ),
    (
        "stride",
        lambda: nd.Convolution(X, W, kernel=(2, 2), stride=(0, 1), num_filter=3, no_bias=True),
        "Convolution: stride is (0, 1); expected 2 whole number(s) >= 1, one for each axis.",
    ),
    (
        "fit",
        lambda: nd.Convolution(X, W, kernel=(2, 2), dilate=(4, 1), num_filter=3, no_bias=True),
        "Convolution: kernel (2, 2) with dilate=(4, 1) does not fit into data of shape (1, 2, 4, 4) with pad=(0, 0).",
    ),
    (
        "bias",
        lambda: nd.Convolution(X, W, np.ones(2), kernel=(2, 2), num_filter=3),
        "Convolution: bias has shape (2,); expected (3,), (num_filter,).",
    ),
    (
        "layout",
        lambda: nd.Convolution(X, W, kernel=(2, 2), num_filter=3, no_bias=True, layout="NHWC"),
        "Convolution: layout 'NHWC' is not supported for a kernel of 2 axes; expected 'NCHW'. Transpose the data",
    ),
    (
        "adj",
        lambda: nd.Deconvolution(X, W[:2], kernel=(2, 2), adj=(1, 1), num_filter=2),
        "Deconvolution: adj=(1, 1) with stride=(1, 1); each number of adj must be smaller than the stride.",
    ),
    (
        "target_shape",
        lambda: nd.Deconvolution(X, W[:2], kernel=(2, 2), target_shape=(6, 5), num_filter=2),
        "Deconvolution: target_shape is (6, 5); expected between 1 and (5, 5), which is the result without pad for",
    ),
    (
        "pad",
        lambda: nd.Deconvolution(X, W[:2], kernel=(2, 2), pad=(3, 3), num_filter=2),
        "Deconvolution: pad=(3, 3) leaves nothing of data (1, 2, 4, 4) with kernel=(2, 2): the result would have",
    ),
    (
        "pooling kernel",
        lambda: nd.Pooling(X, kernel=(5, 5)),
        "Pooling: kernel=(5, 5), pad=(0, 0) for data of shape (1, 2, 4, 4); each length of kernel must be larger than",
    ),
    (
        "pooling type",
        lambda: nd.Pooling(X, kernel=(2, 2), pool_type="median"),
        "Pooling: unknown pool_type 'median'; expected 'max', 'avg', 'sum' or 'lp'.",
    ),
    ("pooling without kernel", lambda: nd.Pooling(X), "Pooling: kernel is missing; give the lengths of a window, or"),
    (
        "pooling rank",
        lambda: nd.Pooling(X[0, 0], kernel=(2,)),
        "Pooling: data has shape (4, 4); expected (batch, channels, width)",
    ),
    (
        "pooling integers",
        lambda: nd.Pooling(X.astype("int32"), kernel=(2, 2), pool_type="avg"),
        "Pooling: data has dtype int32; pool_type='avg' needs a floating-point dtype.",
    ),
    (
        "pooling same",
        lambda: nd.Pooling(X, kernel=(2, 2), pad=(1, 1), pooling_convention="same"),
        "Pooling: pad is (1, 1); pooling_convention='same' finds the padding itself.",
    ),
    (
        "gamma",
        lambda: nd.BatchNorm(X, np.ones(3), *[np.ones(2)] * 3),
        "BatchNorm: gamma has shape (3,); expected (2,), the length of axis 1 of data (1, 2, 4, 4).",
    ),
    (
        "batch norm integers",
        lambda: nd.BatchNorm(X.astype("int32"), *[np.ones(2)] * 4),
        "BatchNorm: data has dtype int32; expected a floating-point dtype. Use data.astype('float32').",
    ),
]


@pytest.mark.parametrize(("call", "message"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_errors_say_what_and_where(call: Any, message: str) -> None:
    with pytest.raises(mx.MXNetError, match="^" + re.escape(message)):
        call()


# -- pooling -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"kernel": (2, 2), "stride": (2, 2)}, [[1, 0, 2, 0], [0, 0, 0, 0], [3, 0, 4, 0], [0, 0, 0, 0]]),
        ({"kernel": (3, 3)}, [[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
        ({"global_pool": True}, [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    ],
    ids=str,
)
def test_the_first_of_equal_elements_gets_the_gradient(options: dict[str, Any], expected: list[list[int]]) -> None:
    for _ in range(2):
        (gradient,) = gradients(lambda x: nd.Pooling(x, **options), np.zeros((1, 1, 4, 4)))[1]
        assert gradient[0, 0].tolist() == expected


@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_pooling_keeps_the_order_of_memory(kind: str) -> None:
    x = normal(5, 3, 6, 6)
    turned = np.ascontiguousarray(x.transpose(1, 2, 3, 0)).transpose(3, 0, 1, 2)
    options = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": kind}
    np.testing.assert_allclose(nd.Pooling(turned, **options), nd.Pooling(x, **options), rtol=1e-12)
    assert nd.Pooling(turned, **options).strides[0] == 8


def test_nan_is_seen() -> None:
    y = nd.Pooling(nd.array([[[np.nan, 1, 2, 3]]]), kernel=(2,), stride=(2,)).asnumpy()
    np.testing.assert_array_equal(y, [[[np.nan, 3]]])


# -- batch normalization -----------------------------------------------------------------------------------------------


def states() -> tuple[nd.NDArray, nd.NDArray]:
    return nd.array([0.5, -1]), nd.array([2, 0.25])


def test_training_moves_the_statistics_in_place() -> None:
    x, (mean, variance) = normal(6, 2, 3), states()
    others = mean[:], variance[:]
    with mx.autograd.record():
        nd.BatchNorm(nd.array(x), nd.ones((2,)), nd.zeros((2,)), mean, variance, momentum=0.75)
    np.testing.assert_allclose(mean.asnumpy(), 0.75 * np.array([0.5, -1]) + 0.25 * x.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(variance.asnumpy(), 0.75 * np.array([2, 0.25]) + 0.25 * x.var((0, 2)), rtol=1e-5)
    for state, other in zip((mean, variance), others, strict=True):
        np.testing.assert_array_equal(state.asnumpy(), other.asnumpy())


@pytest.mark.parametrize("options", [{"use_global_stats": True}, {}], ids=str)
def test_otherwise_the_statistics_stay(options: dict[str, Any]) -> None:
    x, (mean, variance) = nd.array(normal(6, 2, 3)), states()
    with mx.autograd.record(train_mode=bool(options)):
        nd.BatchNorm(x, nd.ones((2,)), nd.zeros((2,)), mean, variance, **options)
    assert mean.asnumpy().tolist() == [0.5, -1]
    assert variance.asnumpy().tolist() == [2, 0.25]


def test_statistics_may_move_again_before_backward() -> None:
    """Several calls share states: what the first one recorded does not need their old values."""
    x, gamma, beta, (mean, variance) = nd.array(normal(4, 2)), nd.ones((2,)), nd.zeros((2,)), states()
    x.attach_grad()
    with mx.autograd.record():
        y = nd.BatchNorm(x, gamma, beta, mean, variance, use_global_stats=True)
        y = nd.BatchNorm(y, gamma, beta, mean, variance)
        y = (nd.BatchNorm(y * y, gamma, beta, mean, variance) * x).sum()
    y.backward()
    assert np.isfinite(x.grad.asnumpy()).all()


def test_a_change_of_the_states_is_seen_by_others() -> None:
    """A state that another operation recorded, and whose old value it needs, is an error and not a wrong number."""
    x, (mean, variance) = nd.array(normal(4, 2)), states()
    w = nd.ones((2,))
    w.attach_grad()
    with mx.autograd.record():
        y = w * mean
        nd.BatchNorm(x, nd.ones((2,)), nd.zeros((2,)), mean, variance)
    with pytest.raises(mx.core.errors.MutationError, match="was changed in place"):
        y.backward()


def test_auxiliary_states_are_declared() -> None:
    assert nd.BatchNorm.auxiliary == ("moving_mean", "moving_var")
    assert nd.Convolution.auxiliary == ()
    assert nd.BatchNorm.is_zero(3)
    assert nd.BatchNorm.is_zero(4)


def test_an_empty_batch_leaves_the_statistics() -> None:
    mean, variance = states()
    with mx.autograd.train_mode():
        y = nd.BatchNorm(nd.zeros((0, 2)), nd.ones((2,)), nd.zeros((2,)), mean, variance)
    assert y.shape == (0, 2)
    assert mean.asnumpy().tolist() == [0.5, -1]


def test_float16_data_with_float32_statistics() -> None:
    x = (1000 + 10 * normal(64, 2, 8)).astype("float16")
    parameters = [nd.ones((2,)), nd.zeros((2,)), nd.zeros((2,)), nd.ones((2,))]
    with mx.autograd.train_mode():
        y = nd.BatchNorm(nd.array(x, dtype="float16"), *parameters, momentum=0)
    assert y.dtype == np.float16
    np.testing.assert_allclose(parameters[2].asnumpy(), x.astype("float64").mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(y.asnumpy().astype("float64").std((0, 2)), 1, atol=1e-2)


def test_gradients_of_half_precision_data_have_its_dtype() -> None:
    x = nd.array(normal(8, 2), dtype="float16")
    x.attach_grad()
    with mx.autograd.record():
        y = nd.BatchNorm(x, nd.ones((2,)), nd.zeros((2,)), nd.zeros((2,)), nd.ones((2,)))
        z = (y * y * y).sum()
    z.backward()
    assert x.grad.dtype == np.float16
