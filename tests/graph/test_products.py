"""Products of matrices and rectifiers in all the ways in which they are computed, against NumPy's plain expressions."""

from __future__ import annotations

from pathlib import Path

import autograd as hips
import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd
from minpy.ops.kernels.matrix_products import linear, matrix_product
from minpy.ops.registry import OPERATORS

# (rows, inner, columns): small; many rows; wide results in blocks, of equal and of unequal lengths; nothing to sum.
PRODUCTS = [(3, 4, 5), (300, 40, 200), (512, 100, 512), (513, 256, 1201), (512, 257, 600), (600, 0, 700), (0, 3, 4)]
# (rows, width, outputs): the transposed way from 8 rows and a width of 256 on, the plain one elsewhere.
LINEAR = [(2, 300, 40), (8, 256, 8), (32, 256, 100), (33, 256, 100), (64, 512, 128), (128, 600, 130), (129, 600, 130)]


def matrix(rows: int, columns: int, dtype: str, layout: str = "C") -> np.ndarray:
    scale = 1 if np.dtype(dtype).kind == "f" else 10
    values = np.random.default_rng(rows * 1000 + columns).uniform(-scale, scale, (rows, columns)).astype(dtype)
    if layout == "strided":
        wide = np.zeros((rows, 2 * columns), dtype)
        wide[:, ::2] = values
        return wide[:, ::2]
    return np.asarray(values, order=layout)  # type: ignore[call-overload]


def close(found: np.ndarray, expected: np.ndarray, precision: str = "") -> None:
    tolerance = {"float32": 1e-4, "float64": 1e-12}[precision or expected.dtype.name]
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("shape", PRODUCTS, ids=str)
def test_products_are_those_of_numpy(shape: tuple[int, int, int], layout: str) -> None:
    rows, inner, columns = shape
    for dtype in ("float32", "float64"):
        left, right = matrix(rows, inner, dtype, layout), matrix(inner, columns, dtype, layout)
        expected = np.dot(left, right)
        close(matrix_product(left, right), expected)
        out = np.full_like(expected, np.nan)
        assert matrix_product(left, right, out) is out
        close(out, expected)


@pytest.mark.parametrize("size", [10, 200])
@pytest.mark.parametrize("dtypes", [("float16", "float16"), ("int32", "int32"), ("float32", "float64"), (">f4", ">f4")])
def test_products_of_other_dtypes(dtypes: tuple[str, str], size: int) -> None:
    left, right = (matrix(size, size, dtype) for dtype in dtypes)
    for factor in (right, left.T):
        expected, found = np.dot(left, factor), matrix_product(left, factor)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.astype("d"), expected.astype("d"), rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("size", [10, 200])
@pytest.mark.parametrize("of", [np.matrix, np.memmap, np.ndarray])
def test_products_are_written_where_they_are_asked_for(of: type, size: int) -> None:
    left, right = matrix(size, size, "float32"), matrix(size, size, "float32").T
    reversed_, repeated = right[::-1], np.broadcast_to(right[:1], right.shape)
    for factor in (right, reversed_, repeated):
        out = np.full((size, size), np.nan, "float32")
        matrix_product(left.view(of), factor.view(of), out)
        close(out, left @ factor)


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("shape", LINEAR, ids=str)
def test_linear_is_a_product_and_a_bias(shape: tuple[int, int, int], layout: str) -> None:
    count, width, outputs = shape
    for dtype in ("float32", "float64"):
        rows, weight = matrix(count, width, dtype, layout), matrix(outputs, width, dtype, layout)
        for bias in (None, matrix(1, outputs, dtype)[0], matrix(1, outputs, "float64")[0]):
            product = np.dot(rows, weight.T)
            expected = product if bias is None else product + bias
            close(linear(rows, weight, bias), expected, dtype)
            out = np.full(expected.shape, np.nan, dtype)
            assert linear(rows, weight, bias, out) is out
            close(out, expected.astype(dtype))


@pytest.mark.parametrize("shape", LINEAR, ids=str)
def test_a_layer_of_any_size_has_the_gradients_of_its_products(shape: tuple[int, int, int]) -> None:
    count, width, outputs = shape
    values = [matrix(count, width, "float64"), matrix(outputs, width, "float64"), matrix(1, outputs, "float64")[0]]
    data, weight, bias = arrays = [nd.array(value, dtype="float64") for value in values]
    for array in arrays:
        array.attach_grad()
    upstream = matrix(count, outputs, "float64")
    with autograd.record():
        result = nd.FullyConnected(data, weight, bias, num_hidden=outputs)
    result.backward(nd.array(upstream, dtype="float64"))
    close(result.asnumpy(), values[0] @ values[1].T + values[2])
    close(data.grad.asnumpy(), upstream @ values[1])
    close(weight.grad.asnumpy(), upstream.T @ values[0])
    close(bias.grad.asnumpy(), upstream.sum(0))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8", "bool", ">f4"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 4096), (3, 4097), (90, 100), (4, 5, 1000)], ids=str)
def test_relu_is_the_maximum_with_zero(shape: tuple[int, ...], dtype: str) -> None:
    rectified, into = OPERATORS["relu"].forward, OPERATORS["relu"].into
    data = np.random.default_rng(1).uniform(-5, 5, shape).astype(dtype)
    turned = data.transpose(*range(1, data.ndim), 0) if shape else data
    for array in (data, data.T, turned, data[..., ::-1] if shape else data):
        expected = np.maximum(array, 0)
        found = rectified(array)
        assert found.dtype == expected.dtype
        assert found is not array
        np.testing.assert_array_equal(found, expected)
        for out in (np.empty_like(expected), np.empty(expected.shape, expected.dtype)):
            into(out, array)
            np.testing.assert_array_equal(out, expected)
        own = array.astype(expected.dtype)
        into(own, own)
        np.testing.assert_array_equal(own, expected)


def test_rectifiers_take_numbers_lists_and_subclasses() -> None:
    assert nd.relu(-3.0) == nd.Activation(-3.0, act_type="relu") == 0
    assert nd.relu([1.0, -2.0]).tolist() == [1, 0]
    assert hips.grad(nd.relu)(3.0) == 1
    many = np.linspace(-1, 1, 10000).reshape(100, 100)
    np.testing.assert_array_equal(nd.relu(many.view(np.matrix)), np.maximum(many, 0))


def test_layers_read_arrays_that_lie_in_files(tmp_path: Path) -> None:
    values, weights = matrix(64, 100, "float32"), matrix(300, 100, "float32")
    file = np.memmap(tmp_path / "values", "float32", "w+", shape=values.shape)
    file[:] = values
    inputs = {"x": nd.from_numpy(file), "w": nd.array(weights)}
    gradient = nd.full(weights.shape, 7)
    layer = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w"), no_bias=True, num_hidden=300)
    executor = mx.sym.tanh(layer).bind(mx.cpu(), inputs, {"w": gradient})
    expected = np.tanh(values @ weights.T)
    for _ in range(3):  # step by step, and compiled
        np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), expected, rtol=1e-4, atol=1e-5)
        executor.backward(nd.ones(expected.shape))
        np.testing.assert_allclose(gradient.asnumpy(), (1 - expected**2).T @ values, rtol=1e-3, atol=1e-4)
    weight = inputs["w"]
    weight.attach_grad()
    weight.grad[:] = 7
    with autograd.record():
        result = nd.tanh(nd.FullyConnected(inputs["x"], weight, no_bias=True, num_hidden=300))
    result.backward()
    np.testing.assert_allclose(weight.grad.asnumpy(), (1 - expected**2).T @ values, rtol=1e-3, atol=1e-4)


def test_relu_keeps_nan() -> None:
    data = np.full((100, 100), np.nan, "float32")
    assert np.isnan(nd.relu(nd.array(data)).asnumpy()).all()
    assert np.isnan(mx.nd.Activation(mx.nd.array(data), act_type="relu").asnumpy()).all()


@pytest.mark.parametrize("classes", [3, 64, 65, 200])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
def test_labels_of_any_dtype_in_a_bound_output_layer(classes: int, dtype: str) -> None:
    scores = np.random.default_rng(2).uniform(-2, 2, (5, classes)).astype("float32")
    label = np.array([0, 1, 1, 2, 1]).astype(dtype)
    executor = mx.sym.identity(mx.sym.SoftmaxOutput(mx.sym.var("x"), mx.sym.var("l"))).bind(
        mx.cpu(), {"x": nd.array(scores), "l": nd.array(label, dtype=dtype)}, {"x": nd.zeros(scores.shape)}
    )
    for _ in range(3):  # step by step, and compiled
        probabilities = executor.forward(is_train=True)[0].asnumpy()
        executor.backward()
        expected = probabilities.copy()
        expected[np.arange(5), label.astype(int)] -= 1
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), expected, rtol=1e-6, atol=1e-7)
