"""`NDArray` where the golden answers do not reach (contexts, errors, views, protocols); `minpy.numpy.ndarray`."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import ArgumentError, ContextError, DTypeError, MutationError, ShapeError


def on(device: int, values: object = (1.0, 2.0)) -> nd.NDArray:
    return nd.array(values, ctx=mx.cpu(device))


# -- contexts ----------------------------------------------------------------------------------------------------------


def test_results_are_where_their_operands_are() -> None:
    x = on(1)
    results = [x + 1, 1 - x, x * x, x > 1, -x, x.exp(), nd.dot(x, x), x[0], x[1:], x[[0, 1]], x.reshape((2, 1)), x.T]
    results += [x.sum(), x.astype("int32"), x.copy(), x.detach(), nd.concat(x, x, dim=0), nd.zeros_like(x), abs(x)]
    assert {str(result.context) for result in results} == {"cpu(1)"}
    assert isinstance(x, nd.NDArray)
    assert type(x).__name__ == "NDArray"
    assert (x + np.ones(2, "float32")).context == mx.cpu(1)


def test_gradients_are_where_their_variables_are() -> None:
    x = on(2)
    x.attach_grad()
    assert x.grad.context == mx.cpu(2)
    with autograd.record():
        y = (x * x).sum()
    [gradient] = autograd.grad(y, [x], retain_graph=True, create_graph=True)
    assert gradient.context == mx.cpu(2)
    y.backward()
    assert x.grad.context == mx.cpu(2)
    assert x.grad.asnumpy().tolist() == [2, 4]


def test_a_gradient_crosses_contexts() -> None:
    x = on(0)
    x.attach_grad()
    with autograd.record():
        y = x.as_in_context(mx.cpu(1)) * on(1, [3.0, 4.0])
    assert y.context == mx.cpu(1)
    y.backward()
    assert x.grad.context == mx.cpu(0)
    assert x.grad.asnumpy().tolist() == [3, 4]


@pytest.mark.parametrize(
    "operation",
    [lambda x, y: x + y, lambda x, y: x > y, nd.dot, lambda x, y: x.__iadd__(y), lambda x, y: nd.concat(x, y, dim=0)],
)
def test_operands_on_different_contexts(operation: object) -> None:
    x = on(1)
    with pytest.raises(ContextError, match=r"inputs are on different contexts, cpu\(1\) and cpu\(0\)\. Move one with "):
        operation(x, on(0))  # type: ignore[operator]
    assert x.asnumpy().tolist() == [1, 2]


def test_the_default_context() -> None:
    with mx.cpu(3):
        assert nd.array([1]).context == nd.zeros(2).context == nd.arange(2).context == mx.cpu(3)
        with mx.Context("cpu", 1):
            assert nd.ones(1).context == mx.cpu(1)
        assert mx.current_context() == mx.cpu(3)
    assert nd.array([1]).context == mx.cpu(0)


@pytest.mark.parametrize(
    "allocate",
    [
        lambda: nd.array([1], ctx=mx.gpu(1)),
        lambda: nd.zeros((2, 2), ctx=mx.gpu(1)),
        lambda: nd.ones(1).as_in_context(mx.gpu(1)),
        lambda: nd.ones(1).copyto(mx.gpu(1)),
    ],
)
def test_allocating_on_a_gpu(allocate: object) -> None:
    text = r"cannot allocate on gpu\(1\): minpy\.context\.num_gpus\(\) is 0\. Use ctx=minpy\.cpu\(\), or choose with "
    with pytest.raises(ContextError, match=text):
        allocate()  # type: ignore[operator]


def test_unknown_contexts() -> None:
    with pytest.raises(ContextError, match=r"unknown context 'gpuu': known device types are .* Did you mean 'gpu'"):
        mx.Context("gpuu")
    with pytest.raises(ContextError, match=r"unknown context 3 of type int: pass minpy\.cpu\(\) or leave ctx out"):
        nd.zeros(2, ctx=3)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ([[1, 2], [3]], r"source\[0\] has length 2, source\[1\] has length 1\. Make all rows equally long"),
        ([[[1], [2]], [[3], [4, 5]]], r"source\[1\]\[0\] has length 1, source\[1\]\[1\] has length 2"),
        ([[1, 2], 3], r"source\[0\] has length 2, source\[1\] is no list"),
    ],
)
def test_ragged_input(source: object, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        nd.array(source)


@pytest.mark.parametrize("source", ["abc", [object()], [1, "a"], {"a": 1}, np.array([None, "x"], dtype=object)])
def test_input_that_is_no_number(source: object) -> None:
    with pytest.raises(DTypeError, match=r"nd\.array: (the value|element .*) is .*, which is no float32 number"):
        nd.array(source)


def test_dtypes_that_hold_no_numbers() -> None:
    with pytest.raises(DTypeError, match=r"dtype object does not hold numbers; give a numeric dtype such as 'float32'"):
        nd.array([1], dtype="object")


@pytest.mark.parametrize(
    ("operation", "name", "axis"),
    [
        (lambda x, y: x + y, "broadcast_add", r"lhs \(2, 3\) and rhs \(4, 3\) differ in axis -2 \(2 against 4\)"),
        (lambda x, y: y * x, "broadcast_mul", r"lhs \(4, 3\) and rhs \(2, 3\) differ in axis -2 \(4 against 2\)"),
        (lambda x, y: x < y, "broadcast_lesser", r"lhs \(2, 3\) and rhs \(4, 3\)"),
        (lambda x, y: nd.maximum(x, y), "broadcast_maximum", r"lhs \(2, 3\) and rhs \(4, 3\)"),
    ],
)
def test_shapes_that_do_not_broadcast(operation: object, name: str, axis: str) -> None:
    with pytest.raises(ShapeError, match=rf"{name}: shapes do not broadcast: {axis}.*reshape or expand_dims"):
        operation(nd.zeros((2, 3)), nd.zeros((4, 3)))  # type: ignore[operator]


def test_in_place_results_that_do_not_fit() -> None:
    x = nd.ones((1, 2))
    with pytest.raises(
        ShapeError, match=r"the result has shape \(2, 2\), x has \(1, 2\); an array cannot grow in place"
    ):
        x += nd.ones((2, 2))
    assert x.shape == (1, 2)


def test_assignments_that_do_not_fit() -> None:
    x = nd.zeros((2, 3))
    with pytest.raises(ShapeError, match=r"cannot assign float32 \(2,\) to x\[0\], which has shape \(3,\)"):
        x[0] = nd.zeros(2)
    with pytest.raises(ShapeError, match=r"to x\[1:2, \.\.\.\], which has shape \(1, 3\)"):
        x[1:2, ...] = [1, 2]
    with pytest.raises(DTypeError, match=r"cannot assign str 'a' to x\[0\]; expected an array or a number"):
        x[0] = "a"
    assert not x.asnumpy().any()


def test_operands_that_are_no_arrays() -> None:
    x = nd.array([1, 2])
    for operation in (lambda: x + [1, 2], lambda: [1, 2] + x, lambda: x == [1, 2], lambda: x < (1, 2)):
        with pytest.raises(ArgumentError, match=r"cannot be operands of one operation\. Convert it with nd\.array\(\)"):
            operation()
    for value in (None, "a", {}, object()):
        with pytest.raises(TypeError):
            x + value


def test_arrays_of_several_elements_where_one_is_needed() -> None:
    x = nd.array([[1, 2], [3, 4]])
    for what, function in (("asscalar", x.asscalar), ("item", x.item), ("float", x.__float__), ("int", x.__int__)):
        with pytest.raises(ShapeError, match=rf"{what}.* needs an array of one element, got shape \(2, 2\) with 4"):
            function()
    with pytest.raises(
        ShapeError, match=r"truth of an array of shape \(2, 2\) is ambiguous: it has 4 elements\. Reduce"
    ):
        bool(x)
    with pytest.raises(ShapeError, match=r"the format '\.2f' needs an array of one element"):
        format(x, ".2f")
    with pytest.raises(TypeError, match="only integer arrays of one element index, got float32"):
        range(nd.array([3]))


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match=r"minpy\.nd has no operator 'sigmod'\. Did you mean 'sigmoid'"):
        nd.sigmod  # noqa: B018
    with pytest.raises(AttributeError):
        nd.array([1]).no_such_method()


# -- views and writes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", [0, -1, slice(1, None), (slice(None), 0), (..., 1), (1, 2), (slice(None, None, 2),), None]
)
def test_basic_slices_write_through(key: object) -> None:
    x, expected = nd.zeros((2, 3)), np.zeros((2, 3), "float32")
    part = x[key]
    part += 5
    expected[key] += 5
    np.testing.assert_array_equal(x.asnumpy(), expected)
    x[:] = 7
    assert (part.asnumpy() == 7).all()


@pytest.mark.parametrize("key", [[0, 1], np.array([True, False]), (slice(None), [0, 2])])
def test_advanced_indices_copy(key: object) -> None:
    x = nd.zeros((2, 3))
    x[key][:] = 5
    assert not x.asnumpy().any()


def test_reshaped_arrays_write_through_and_results_do_not() -> None:
    x = nd.zeros((2, 3))
    x.reshape((6,))[4] = 1
    x[None][0, 0, 0] = 2
    assert x.asnumpy().tolist() == [[2, 0, 0], [0, 1, 0]]
    for result in (
        x.T,
        x.expand_dims(0),
        nd.reshape(x, shape=(6,)),
        x.flatten(),
        nd.transpose(x),
        x.astype("float32"),
        x.copy(),
        +x,
    ):
        if result is not x:
            result[:] = 9
    assert x.asnumpy().tolist() == [[2, 0, 0], [0, 1, 0]]


def test_masks() -> None:
    x = nd.array([[1, 5], [7, 2]])
    assert x[x.asnumpy() > 3].asnumpy().tolist() == [5, 7]
    assert x[(x > 3).astype("bool")].asnumpy().tolist() == [5, 7]
    x[x.asnumpy() > 3] = 0
    assert x.asnumpy().tolist() == [[1, 0], [0, 2]]


def test_iteration_gives_views() -> None:
    x = nd.array([[1, 2], [3, 4]])
    for row in x:
        row *= 2
    assert [row.asnumpy().tolist() for row in x] == [[2, 4], [6, 8]]
    assert [list(pair) for pair in itertools.pairwise(nd.arange(3))] != []
    with pytest.raises(TypeError, match=r"iteration over a zero-dimensional array: it has no axis\. Use \.item\(\)"):
        iter(nd.array(3))
    with pytest.raises(TypeError, match=r"len\(\) of a zero-dimensional array"):
        len(nd.array(3))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: x.__iadd__(1), r"in-place change \(x \+= y\)"),
        (lambda x: x.__ipow__(2), r"in-place change \(x \*\*= y\)"),
        (lambda x: x.__ifloordiv__(2), r"in-place change \(x //= y\)"),
        (lambda x: x.__setitem__(0, 1), r"in-place change \(x\[\.\.\.\] = value\)"),
        (lambda x: nd.exp(x, out=x), r"in-place change \(out=x\)"),
    ],
)
def test_in_place_changes_under_record(change: object, text: str) -> None:
    x = nd.array([1, 2])
    x.attach_grad()
    with autograd.record():
        y = x * 2
        for array, kind in ((x, r"a variable \(attach_grad\)"), (y, "recorded")):
            with pytest.raises(MutationError, match=rf"{text} of an array that is {kind}, inside.*Write y = x \+ 1"):
                change(array)  # type: ignore[operator]
    assert y.asnumpy().tolist() == [2, 4]
    with autograd.pause():
        change(x)  # type: ignore[operator]


# -- scalars and dtypes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scalar", [2, 2.0, True, np.float64(2), np.int64(2), np.float32(2), np.bool_(True), np.uint8(2)]
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_scalars_keep_the_dtype(scalar: object, dtype: str) -> None:
    x = nd.array([1, 2, 3], dtype=dtype)
    results = [x + scalar, scalar + x, x * scalar, scalar - x, x / scalar, x**scalar, x % scalar, x > scalar]
    assert {np.dtype(result.dtype).name for result in results} == {dtype}
    assert all(type(result) is nd.NDArray for result in results)


def test_scalars_beside_integers_are_truncated() -> None:
    x = nd.array([1, 2, 3], dtype="int32")
    assert (x * 1.5).asnumpy().tolist() == [1, 2, 3]
    x += 1.5
    assert x.asnumpy().tolist() == [2, 3, 4]
    assert (x / 2).asnumpy().tolist() == [1, 1, 2]


def test_booleans() -> None:
    x = nd.array([0, 1], dtype="bool")
    assert ((x + 1).dtype, (x * 2.5).dtype, (x + True).dtype) == (np.int64, np.float32, np.bool_)
    assert (x * 2.5).asnumpy().tolist() == [0, 2.5]


def test_signs_that_mxnet_does_not_have() -> None:
    x = nd.array([7, -7])
    quotient, remainder = divmod(x, 2)
    assert (quotient.asnumpy().tolist(), remainder.asnumpy().tolist()) == ([3, -4], [1, 1])
    assert [part.asnumpy().tolist() for part in divmod(7, x)] == [[1, -1], [0, 0]]
    x //= 2
    assert x.asnumpy().tolist() == [3, -4]
    assert (x // nd.array([2, 3], dtype="int32")).dtype == np.float64
    assert (x @ x).shape == (1,)
    assert (nd.ones((2, 3)) @ nd.ones((3, 1))).asnumpy().tolist() == [[3], [3]]
    assert (np.ones((2, 2), "float32") @ nd.ones((2, 1))).shape == (2, 1)
    assert (+x).asnumpy().tolist() == [3, -4]


# -- Python's and NumPy's protocols ------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", [0, 1])
def test_pickling(device: int) -> None:
    x = on(device, [[1, 2], [3, 4]])
    x.attach_grad()
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        loaded = pickle.loads(pickle.dumps(x[1], protocol))
        assert type(loaded) is type(x)
        assert (loaded.context, loaded.dtype, loaded.grad) == (mx.cpu(device), np.float32, None)
        assert loaded.asnumpy().tolist() == [3, 4]


def test_copies() -> None:
    x = nd.array([1, 2])
    for made in (copy.copy(x), copy.deepcopy(x), x.copy(), nd.array(x), copy.deepcopy([x])[0]):
        made[:] = 0
    assert x.asnumpy().tolist() == [1, 2]


def test_dlpack() -> None:
    x = nd.arange(6).reshape((2, 3))
    shared = np.from_dlpack(x)
    assert shared.dtype == np.float32
    np.testing.assert_array_equal(shared, x.asnumpy())
    x[0, 1] = 50
    assert shared[0, 1] == 50
    assert np.from_dlpack(x.T.reshape((3, 2))[::2]).tolist() == [[0, 3], [2, 5]]


def test_numpy_sees_an_array() -> None:
    x = nd.array([[1, 2], [3, 4]])
    made = np.asarray(x)
    assert (type(made), made.dtype) == (np.ndarray, np.float32)
    assert np.array(x, dtype="int64").tolist() == [[1, 2], [3, 4]]
    np.testing.assert_allclose(x, [[1, 2], [3, 4]])
    assert isinstance(np.exp(x), nd.NDArray)
    assert isinstance(np.ones((2, 2)) * x, nd.NDArray)


def test_hash_and_equality() -> None:
    x, y = nd.array([1]), nd.array([1])
    assert len({x, y, x}) == 2
    assert [x, y].index(x) == 0
    assert (x == y).asnumpy().tolist() == [1]
    assert (x == None, x != None, x == "a") == (False, True, False)  # noqa: E711
    assert 1 in nd.array([1, 2])
    assert 3 not in nd.array([1, 2])


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (nd.array([[1, 2, 3], [4, 5, 6]]), "\n[[1. 2. 3.]\n [4. 5. 6.]]\n<NDArray 2x3 @cpu(0)>"),
        (nd.array([1], dtype="int32"), "\n[1]\n<NDArray 1 @cpu(0)>"),
        (nd.zeros((0, 2)), "\n[]\n<NDArray 0x2 @cpu(0)>"),
        (nd.array(3), "\n3.0\n<NDArray  @cpu(0)>"),
        (nd.array([1], ctx=mx.cpu(1)), "\n[1.]\n<NDArray 1 @cpu(1)>"),
    ],
)
def test_printing(array: nd.NDArray, text: str) -> None:
    assert repr(array) == str(array) == f"{array}" == text


def test_formatting() -> None:
    assert f"{nd.array([1.25]):.1f} {nd.array([[2]], dtype='int32'):>3}" == "1.2   2"
    assert f"{nd.array([1.5]).sum():08.3f}" == "0001.500"


# -- NumPy's semantics -------------------------------------------------------------------------------------------------


def numpy_variable(values: object = (1.0, 2.0, 3.0)) -> mx.numpy.ndarray:
    x = mx.numpy.array(values)
    x.attach_grad()
    return x


def test_numpy_semantics() -> None:
    x = mx.numpy.array([[1.0, 2.0], [3.0, 4.0]], dtype="float64")
    assert isinstance(x, mx.numpy.ndarray)
    assert [result.shape for result in (x.sum(), x[0, 0], x.mean(), x.max(), x[0] @ x[1], x.reshape(-1)[0])] == [()] * 6
    assert [(x > 2).dtype, (x == x).dtype, (x > 2).sum().dtype] == [np.dtype(bool), np.dtype(bool), np.dtype(int)]
    assert (x[x > 2].tolist(), (x > 2).any().item(), (~(x > 2)).tolist()) == (
        [3, 4],
        True,
        [[True, True], [False, False]],
    )
    assert (x == [1, 2]).tolist() == [[True, True], [False, False]]
    assert (x + [1, 2]).tolist() == [[2, 4], [4, 6]]
    assert x.dtype == np.dtype("float64")
    assert (x.astype("int32") / 2).dtype == np.dtype("float64")
    assert (x.astype("float32") * np.float64(2)).dtype == np.result_type(np.float32([1]), np.float64(2))
    assert x.T.shape == x.transpose().shape == (2, 2)
    assert repr(x.sum()) == "array(10.)"
    assert str(x[0]) == "[1. 2.]"
    assert float(x.sum()) == 10
    assert x[:] is not x


def test_numpy_views_write_through() -> None:
    x = mx.numpy.zeros((2, 3))
    x.T[0] = 1
    x.reshape(-1)[5] = 2
    np.ravel(x)[1] = 3
    assert x.tolist() == [[1, 3, 0], [1, 0, 2]]


def test_recorded_in_place_changes_are_recorded() -> None:
    x = numpy_variable()
    with autograd.record():
        y = x * 2
        y[0] = x[2] * 5
        y += x
        y *= y
        y[1:] = 0
        total = y.sum()
    assert y.tolist() == [256, 0, 0]
    total.backward()
    assert x.grad.tolist() == [32, 0, 160]  # (5 x[2] + x[0]) ** 2


def test_a_copy_may_be_changed_where_the_array_may_not() -> None:
    x = numpy_variable()
    with autograd.record():
        for change in (lambda: x.__setitem__(0, 1), lambda: x.__iadd__(1), lambda: np.exp(x, out=x)):
            with pytest.raises(MutationError, match=r"changes a variable \(attach_grad\) in place, inside a recorded"):
                change()
        y = x.copy()
        y[0] = 0
        y = (y * y).sum()
    y.backward()
    assert x.grad.tolist() == [0, 4, 6]


def test_front_ends_meet() -> None:
    x, y = nd.array([1, 2]), mx.numpy.array([1.0, 2.0])
    assert type(x + y) is type(y + x) is mx.numpy.ndarray
    assert type(x.as_np_ndarray()) is mx.numpy.ndarray
    assert type(y.as_nd_ndarray()) is nd.NDArray
    assert x.as_np_ndarray().sum().as_nd_ndarray().shape == (1,)
    x.as_np_ndarray()[0] = 5
    assert x.asnumpy().tolist() == [5, 2]
    x.attach_grad()
    with autograd.record():
        z = (x.as_np_ndarray() * y).as_nd_ndarray()
    z.backward()
    assert x.grad.asnumpy().tolist() == [1, 2]
    assert type(x.grad) is nd.NDArray
