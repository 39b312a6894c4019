"""What computes in memory that is there already gives what the definitions give: dtypes, empty batches, odd labels."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from many import each

import minpy as mx
from minpy import autograd, nd, sym
from minpy.core.errors import ArgumentError, DTypeError
from minpy.ops.registry import OPERATORS

RUNS = 3  # step by step, then compiled


SCALARS = sorted(name for name in OPERATORS if name.endswith("_scalar") and "assign" not in name)
BINARY = ["broadcast_add", "broadcast_div", "broadcast_maximum", "elemwise_mul", "elemwise_div", "_power", "_hypot"]
UNARY = ["relu", "tanh", "exp", "square", "negative", "sigmoid"]


@pytest.mark.stays_python
@each(
    {
        f"{name}-{dtype}": (name, dtype)
        for name in (*SCALARS, *BINARY, *UNARY)
        for dtype in ("float16", "float32", "float64", "int32", "uint8")
    }
)
def test_every_run_gives_the_eager_answer(name: str, dtype: str) -> None:
    arrays = [nd.array([1, 2, 5], dtype=dtype), nd.array([3, 2, 1], dtype=dtype)][: 2 if name in BINARY else 1]
    attributes = {"scalar": 2} if name in SCALARS else {}
    with np.errstate(all="ignore"):
        expected = OPERATORS[name](*arrays, **attributes)
        names = ["x", "y"][: len(arrays)]
        symbol = sym.identity(OPERATORS[name](*map(sym.var, names), **attributes))  # heads are not planned
        executor = symbol.bind(mx.cpu(), dict(zip(names, arrays, strict=True)))
        for _ in range(RUNS):
            (got,) = executor.forward()
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got.asnumpy(), expected.asnumpy())


@pytest.mark.parametrize("width", [10, 100, 200])
@pytest.mark.parametrize(("data_dtype", "weight_dtype"), [("float64", "float32"), ("float32", "float64")])
def test_products_of_mixed_dtypes(width: int, data_dtype: str, weight_dtype: str) -> None:
    random = np.random.RandomState(0)
    x = nd.array(random.rand(8, 100), dtype=data_dtype)
    w = nd.array(random.rand(width, 100), dtype=weight_dtype)
    b = nd.array(random.rand(width), dtype=weight_dtype)
    for array in (x, w, b):
        array.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = nd.FullyConnected(x, w, b, num_hidden=width)
        y.backward()
    ones = np.ones((8, width))
    wanted = {"x": ones @ w.asnumpy(), "w": ones.T @ x.asnumpy(), "b": ones.sum(axis=0)}
    symbol = sym.identity(sym.FullyConnected(sym.var("x"), sym.var("w"), sym.var("b"), num_hidden=width))
    arrays = {"x": x, "w": w, "b": b}
    gradients = {name: nd.zeros(array.shape, dtype=array.dtype) for name, array in arrays.items()}
    executor = symbol.bind(mx.cpu(), arrays, gradients)
    for _ in range(RUNS):
        executor.forward(is_train=True)
        executor.backward()
    for name, array in arrays.items():
        assert array.grad.dtype == gradients[name].dtype == array.dtype
        np.testing.assert_allclose(array.grad.asnumpy(), wanted[name], rtol=1e-5)
        np.testing.assert_allclose(gradients[name].asnumpy(), wanted[name], rtol=1e-5)


LABELS = [[0, 2, 1], [0, 5, -1], [0.0, 1.7, 2.2], [np.nan, 1, np.inf], [1e30, -0.5, 2], [69, 70, -1]]


@pytest.mark.parametrize("normalization", ["null", "batch", "valid"])
@pytest.mark.parametrize("labels", LABELS, ids=str)
@pytest.mark.parametrize("classes", [3, 70])  # compared with all classes, and looked up
def test_labels_of_a_softmax_output(normalization: str, labels: list[float], classes: int) -> None:
    x = nd.array(np.random.RandomState(0).randn(3, classes))
    x.attach_grad()
    attributes = {"normalization": normalization, "grad_scale": 0.5}
    with autograd.record():
        y = nd.SoftmaxOutput(x, nd.array(labels), **attributes)
    y.backward()
    symbol = sym.identity(sym.SoftmaxOutput(sym.var("x"), sym.var("labels"), **attributes))
    executor = symbol.bind(mx.cpu(), {"x": x, "labels": nd.array(labels)}, {"x": nd.zeros((3, classes))})
    for _ in range(RUNS):
        executor.forward(is_train=True)
        executor.backward()
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), x.grad.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("normalization", ["null", "batch", "valid"])
def test_an_empty_batch_has_an_empty_gradient(normalization: str) -> None:
    x = nd.zeros((0, 4))
    x.attach_grad()
    with autograd.record():
        y = nd.SoftmaxOutput(x, nd.zeros((0,)), normalization=normalization)
    y.backward()
    assert x.grad.shape == (0, 4)


def test_two_threads_run_one_symbol_of_gradients() -> None:
    x = sym.var("x")
    gradient = sym.sum(sym.tanh(x) * sym.exp(x) * sym.sin(x)).gradient(["x"])
    wrong: list[int] = []

    def run(value: float) -> None:
        executor = gradient.bind(mx.cpu(), {"x": nd.full((100, 100), value)})
        first = executor.forward()[0].asnumpy()
        # The program becomes native on the way, in a call that depends on how the threads meet: rounding may change.
        wrong.extend(
            turn for turn in range(30) if not np.allclose(executor.forward()[0].asnumpy(), first, rtol=1e-5, atol=0)
        )

    threads = [threading.Thread(target=run, args=(value,)) for value in (0.1, 0.7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_gradient_of_a_graph_leaves_its_states() -> None:
    gradient = sym.BatchNorm(sym.var("x"), name="bn", fix_gamma=False).gradient(["x"])
    assert gradient.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    executor = gradient.simple_bind(mx.cpu(), x=(4, 2), grad_req="null")
    executor.aux_dict["bn_moving_var"][:] = 1
    for _ in range(RUNS):
        executor.forward()
    np.testing.assert_array_equal(executor.aux_dict["bn_moving_var"].asnumpy(), [1, 1])


def test_gradients_have_memory_of_their_own() -> None:
    a = nd.ones((2, 2))
    with pytest.raises(ArgumentError) as caught:
        (sym.var("a") * sym.var("b")).bind(mx.cpu(), {"a": a, "b": nd.ones((2, 2))}, {"b": a})
    assert str(caught.value) == (
        "bind: the gradient of 'b' shares memory with the argument 'a', which backward still reads. Give the gradient "
        "an array of its own, such as mx.nd.zeros(shape)."
    )


def test_an_update_of_integers_names_the_operator() -> None:
    weight = nd.array([1, 2], dtype="int32")
    with pytest.raises(
        DTypeError, match=r"^sgd_update: weight has dtype int32; expected a floating-point dtype\. Use weigh"
    ):
        nd.sgd_update(weight, nd.ones((2,)), lr=0.1, out=weight)
