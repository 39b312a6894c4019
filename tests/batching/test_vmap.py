"""`minpy.vmap` is what stacking the results of calls for each example is."""

from __future__ import annotations

import copy
import gc
from collections import namedtuple

import autograd
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import customop, grad, vmap
from minpy.batching.levels import LIVING
from minpy.core.errors import ArgumentError, ShapeError


def each(function, *arrays):
    """Return the stacked results of calls for the examples along the first axis."""
    return np.stack([function(*rows) for rows in zip(*arrays, strict=True)])


def values(*shape, low=0.25):
    return low + np.random.default_rng(3).random(shape)


WEIGHT = values(2, 5)
# Functions of one matrix (3, 2), and whether every call inside has a rule.
OF_MATRIX = {
    "elementwise": (lambda x: np.tanh(x) * 2 + np.exp(-x) / x, True),
    "broadcast": (lambda x: x - x[0] + np.arange(2.0), True),
    "sum": (lambda x: np.sum(x), True),
    "sum along": (lambda x: x.sum(axis=-1) + np.sum(x, 1), True),
    "kept": (lambda x: x / np.sum(x, axis=(0, 1), keepdims=True), True),
    "kept whole": (lambda x: np.sum(x, keepdims=True), False),
    "moments": (lambda x: (x.mean(0) + np.var(x, axis=0), x.std())[0], True),
    "extremes": (lambda x: np.max(x, 0) - x.min(axis=0), True),
    "position": (lambda x: np.argmax(x), True),
    "running": (lambda x: np.cumsum(x) + np.cumprod(x, axis=0).ravel(), True),
    "sorted": (lambda x: np.sort(x, axis=0) + np.flip(x) + np.flip(x, 1), True),
    "differences": (lambda x: np.diff(x, axis=0), True),
    "shape": (lambda x: x.reshape(2, -1).T, True),
    "axes": (lambda x: np.swapaxes(x, 0, 1) + np.moveaxis(x, -1, 0) + x.transpose(1, 0), True),
    "new axes": (lambda x: np.squeeze(np.expand_dims(x, (0, -1))) + np.broadcast_to(x[0], (3, 2)), True),
    "joined": (lambda x: np.concatenate([x, np.ones((1, 2))]) + np.stack([x[0], x[1], x[2], x[0]]), True),
    "side by side": (lambda x: np.hstack([x, x]) + np.vstack([x[:, 0], x[:, 1]]).sum(), True),
    "basic index": (lambda x: x[0, ..., None] + x[::-2, 1:] + x[-1], True),
    "list as index": (lambda x: x[np.array([2, 0])] + x[np.array([True, False, True])], True),
    "two lists": (lambda x: x[np.array([2, 0]), np.array([0, 1])], False),
    "chosen": (lambda x: np.where(x > 0.5, x, 0.0) + np.clip(x, 0.3, 0.6), True),
    "product": (lambda x: np.tanh(x @ WEIGHT) @ np.ones(5), True),
    "vectors": (lambda x: x[0] @ x[1] + np.dot(x[0], x[2]) + x[:, 0] @ x, True),
    "from the left": (lambda x: WEIGHT.T @ x[0] + np.matmul(WEIGHT.T, x.T)[:, 0], True),
    "outer": (lambda x: np.outer(x, x[0]), True),
    "einsum": (lambda x: np.einsum("ij,kj->ik", x, x) + np.einsum("ij,kj", x, x), True),
    "tensordot": (lambda x: np.tensordot(x, WEIGHT, 1) + np.tensordot(x, WEIGHT, ([1], [0])), True),
    "inverse": (lambda x: np.linalg.inv(x.T @ x + np.eye(2)), True),
    "solution": (lambda x: np.linalg.solve(x.T @ x + np.eye(2), x[0]) + np.linalg.det(x.T @ x), True),
    "shared matrix": (lambda x: np.linalg.solve(np.eye(3) * 2, x), True),
    "norm": (lambda x: np.linalg.norm(x), False),
    "kron": (lambda x: np.kron(x[0], x[1]), False),
    "like": (lambda x: np.zeros_like(x) + np.shape(x)[0] + x.size + len(x), True),
    "rows": (lambda x: sum(row[0] for row in x), True),
    "constant": (lambda x: np.arange(3.0), True),
    "if": (lambda x: x if x.sum() > 4 else -x, False),
    "float": (lambda x: x * float(x[0, 0]), False),
    "loop": (lambda x: x[: int(x[0, 0] * 0 + 2)], False),
}


@pytest.mark.parametrize("name", OF_MATRIX)
def test_it_is_what_stacking_is(name):
    function, is_batched = OF_MATRIX[name]
    x = values(4, 3, 2)
    expected = each(function, x)
    result = vmap(function)(x)
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert (type(result), result.dtype) == (np.ndarray, expected.dtype)
    assert ("looped" in vmap(function).report(x)) == (not is_batched), vmap(function).report(x)


@pytest.mark.parametrize(
    "name",
    sorted(OF_MATRIX.keys() - {"position", "like", "constant", "float", "loop"}),
)
def test_gradients_go_through_it_and_it_goes_over_gradients(name):
    function, _ = OF_MATRIX[name]
    x = values(3, 3, 2)

    def loss(row):
        return np.sum(np.sin(function(row)))

    expected = each(grad(loss), x)
    np.testing.assert_allclose(grad(lambda x: np.sum(vmap(loss)(x)))(x), expected, rtol=1e-10)
    np.testing.assert_allclose(vmap(grad(loss))(x), expected, rtol=1e-10)


STEPS = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "sine": lambda x, y: np.sin(x),
    "sum": lambda x, y: np.sum(x, axis=-1) if np.ndim(x) else x,
    "mean": lambda x, y: np.mean(x),
    "outer": lambda x, y: np.outer(x, y)[:3, :2],
    "new axis": lambda x, y: x[None],
    "flat": lambda x, y: np.ravel(x),
    "swap": lambda x, y: x.T,
    "largest": lambda x, y: np.max(x, axis=0) if np.ndim(x) else y,
    "choose": lambda x, y: np.where(x > y, x, y),
    "running": lambda x, y: np.cumsum(x),
    "reverse": lambda x, y: x[::-1] if np.ndim(x) else x,
    "clip": lambda x, y: np.clip(x, -1.0, 1.0),
}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.booleans()), min_size=1, max_size=5),
    st.sampled_from([(), (2,), (3, 2), (1, 2), (2, 1, 3)]),
    st.sampled_from([(), (2,), (3, 1)]),
    st.sampled_from([(0, 0), (0, None), (None, 0), (-1, 0), (0, -1), (1, None)]),
    st.sampled_from(["float64", "float32", "int64"]),
    st.sampled_from([1, 3]),
)
def test_random_programs(program, first_shape, second_shape, in_axes, dtype, count):
    generator = np.random.default_rng(7)
    arrays, rows = [], []
    for shape, axis, kind in zip((first_shape, second_shape), in_axes, (dtype, "float64"), strict=True):
        axis = 0 if axis == 1 and not shape else axis
        example = (generator.random((count, *shape)) * 8 - 4).astype(kind)
        rows.append([example[0]] * count if axis is None else list(example))
        arrays.append(example[0] if axis is None else np.moveaxis(example, 0, axis))
    in_axes = tuple(0 if axis == 1 and not first_shape else axis for axis in in_axes)

    def function(x, y):
        for name, swapped in program:
            try:
                x = STEPS[name](y, x) if swapped else STEPS[name](x, y)
            except (ValueError, IndexError):  # shapes that do not go together: the same for all examples
                continue
        return x

    expected = np.stack([function(*each_row) for each_row in zip(*rows, strict=True)])
    result = vmap(function, in_axes)(*arrays)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-5)


# -- nesting -----------------------------------------------------------------------------------------------------------

MATRIX = values(3, 3)


def vector_of(x):
    return np.tanh(MATRIX @ x) * x


def number_of(x):
    return np.sum(vector_of(x))


@pytest.mark.parametrize(
    "derivative",
    [
        grad(number_of),
        mx.jacobian(vector_of),
        mx.hessian(number_of),
        mx.elementwise_grad(vector_of),
        lambda x: mx.value_and_grad(number_of)(x)[0],
        lambda x: mx.jvp(vector_of, (x,), (2 * x,))[1],
        lambda x: mx.jvp(vector_of, (x,), (np.ones(3),))[1],
        lambda x: mx.vjp(vector_of, x)[1](np.ones(3))[0],
        lambda x: mx.vjp(vector_of, x)[1](x)[0],
        lambda x: mx.make_vjp(vector_of)(x)[0](x),
        lambda x: mx.make_jvp(lambda w: np.tanh(w * x))(np.ones(3))(x)[1],
        lambda x: mx.make_hvp(number_of)(x)[0](x),
        lambda x: mx.make_jvp_reversemode(vector_of)(x)(np.ones(3)),
        lambda x: mx.make_ggnvp(vector_of)(x)(np.ones(3)),
        lambda x: mx.deriv(vector_of)(x),
        lambda x: mx.grad_and_aux(lambda x: (number_of(x), x * 2))(x)[0],
        lambda x: mx.grad_and_aux(lambda x: (number_of(x), x * 2))(x)[1],
        lambda x: grad(mx.checkpoint(number_of))(x),
        lambda x: grad(lambda w: np.sum(np.tanh(w * x)))(np.ones(3)),  # what is differentiated is no example's
        lambda x: grad(lambda p: np.sum(p["w"] * x) * p["b"])({"w": x, "b": 2.0})["w"],
        grad(lambda x: np.sum(x) ** 2 if np.sum(x) > 2 else np.sum(x) * 3),
        grad(lambda x: grad(lambda t: np.sum(t**3))(x)[0]),
    ],
)
def test_derivatives_inside(derivative):
    x = values(4, 3)
    np.testing.assert_allclose(vmap(derivative)(x), each(derivative, x), rtol=1e-10)


def test_derivatives_inside_take_one_run_for_all_examples():
    calls = []

    def counted(x):
        calls.append(np.shape(x))
        return np.sum(np.tanh(x))

    vmap(grad(counted))(values(50, 3))
    assert calls == [(3,)]


def test_maps_inside_of_maps():
    weights, x = values(5, 3), values(4, 3)

    def loss(w, x):
        return np.sum(np.tanh(w * x))

    for function in (loss, grad(loss), grad(loss, 1)):
        expected = np.stack([[function(w, row) for row in x] for w in weights])
        np.testing.assert_allclose(vmap(vmap(function, (None, 0)), (0, None))(weights, x), expected)
        other = vmap(vmap(function, (0, None), out_axes=0), (None, 0), out_axes=1)(weights, x)
        np.testing.assert_allclose(other, expected)
    both = vmap(lambda w: vmap(lambda row: grad(lambda q: np.sum(q * w * row) ** 2)(np.ones(3)))(x))(weights)
    expected = [[grad(lambda q, w=w, row=row: np.sum(q * w * row) ** 2)(np.ones(3)) for row in x] for w in weights]
    np.testing.assert_allclose(both, expected)


def test_jacobians_and_second_derivatives_of_maps():
    x = values(2, 3)
    np.testing.assert_allclose(
        mx.jacobian(vmap(vector_of))(x), mx.jacobian(lambda x: np.stack([vector_of(r) for r in x]))(x)
    )
    twice = grad(lambda x: np.sum(vmap(grad(number_of))(x) ** 2))(x)
    np.testing.assert_allclose(twice, each(grad(lambda row: np.sum(grad(number_of)(row) ** 2)), x))


def test_it_nests_in_hips_autograd():
    x = values(4, 3)
    np.testing.assert_allclose(autograd.grad(lambda x: np.sum(vmap(vector_of)(x)))(x), each(grad(number_of), x))


@pytest.mark.parametrize(
    "function",
    [
        lambda w, row: np.concatenate([w, row]),
        lambda w, row: np.concatenate([row, w]),
        lambda w, row: np.multiply(w, row) + row / w,
        lambda w, row: w @ row,
        lambda w, row: np.where(w > 0.5, w, row),
        lambda w, row: np.hypot(w, row),
        lambda w, row: np.kron(w, row),
        lambda w, row: w[0] * float(row[0]) + row,
    ],
)
def test_recorded_arrays_from_outside(function):
    w, x = values(3), values(4, 3, low=0.1)
    mapped = grad(lambda w: np.sum(np.sin(vmap(lambda row: function(w, row))(x))))(w)
    np.testing.assert_allclose(mapped, grad(lambda w: np.sum(np.sin(np.stack([function(w, row) for row in x]))))(w))


def test_under_record():
    x = mx.np.array(values(4, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = vmap(vector_of)(x).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), each(grad(number_of), values(4, 3)), rtol=1e-5)


# -- operators ---------------------------------------------------------------------------------------------------------


def test_operators_are_called_once_by_their_rules_and_else_for_each_example():
    shapes = []

    @customop("numpy")
    def total(x):
        shapes.append(x.shape)
        return np.sum(x * x)

    total.def_grad(lambda ans, x: lambda g: 2 * x * g)
    x = values(4, 3)
    expected = each(lambda row: np.sum(row * row), x)
    np.testing.assert_allclose(vmap(total)(x), expected)
    assert shapes == [(3,)] * 4
    assert vmap(total).report(x) == "total: looped"
    np.testing.assert_allclose(vmap(grad(total))(x), 2 * x)

    total.def_batch(lambda batch_size, in_axes, x: (np.sum(x * x, axis=tuple(range(1, x.ndim))), 0))
    shapes.clear()
    np.testing.assert_allclose(vmap(total)(x), expected)
    np.testing.assert_allclose(vmap(grad(total))(x), 2 * x)
    assert shapes == []
    assert vmap(total).report(x) == "total: batched"


def test_an_elementwise_operator_with_an_attribute():
    @customop("numpy")
    def powered(x, *, exponent=2.0):
        return x**exponent

    powered.def_grad(lambda ans, x, *, exponent: lambda g: g * exponent * x ** (exponent - 1))
    powered.def_batch("elementwise")
    x = values(4, 3)
    np.testing.assert_allclose(vmap(lambda row: powered(row, exponent=3.0))(x), x**3)
    np.testing.assert_allclose(vmap(grad(lambda row: np.sum(powered(row, exponent=3.0))))(x), 3 * x**2)
    # An attribute that differs from example to example.
    exponents = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(vmap(lambda row, e: powered(row, exponent=e))(x, exponents), x ** exponents[:, None])


def test_ndarrays_are_taken_one_example_after_the_other():
    x = mx.nd.array(values(4, 3))
    result = vmap(lambda row: mx.nd.softmax(row) + row.sum())(x)
    expected = mx.nd.stack(*[mx.nd.softmax(x[i]) + x[i].sum() for i in range(4)])
    assert type(result) is mx.nd.NDArray
    np.testing.assert_allclose(result.asnumpy(), expected.asnumpy())
    assert "looped as a whole: it is given NDArrays" in vmap(lambda row: row).report(x)


def test_blocks_and_compiled_functions_inside():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    x = values(4, 3).astype("float32")
    result = vmap(lambda row: net(row.reshape(1, 3))[0])(mx.np.array(x))
    np.testing.assert_allclose(result.asnumpy(), net(mx.nd.array(x)).asnumpy(), rtol=1e-5)
    compiled = mx.compile(number_of)
    for _ in range(3):
        np.testing.assert_allclose(vmap(compiled)(x), each(number_of, x), rtol=1e-5)
        np.testing.assert_allclose(vmap(grad(compiled))(x), each(grad(number_of), x), rtol=1e-4)


def test_an_error_is_that_of_an_example():
    def wrong(row):
        raise LookupError(f"no row of shape {row.shape}")

    with pytest.raises(LookupError, match=r"no row of shape \(3,\)") as caught:
        vmap(wrong)(values(4, 3))
    assert caught.value.__context__ is None


# -- arguments and results ---------------------------------------------------------------------------------------------

Point = namedtuple("Point", "x y")


def test_nests_of_arguments_and_results():
    w, b = values(4, 3), values(3, 4)
    result = vmap(
        lambda p, point, scale: {"sum": p["w"] + p["b"][0], "point": Point(point.x * scale, 1.0), "none": None},
        in_axes=({"w": 0, "b": 1}, (0, None), None),
    )({"w": w, "b": [b]}, Point(w, 2.0), 3.0)
    np.testing.assert_allclose(result["sum"], w + b.T)
    np.testing.assert_allclose(result["point"].x, 3 * w)
    np.testing.assert_array_equal(result["point"].y, np.ones(4))
    assert result["none"] is None
    assert type(result["point"]) is Point


def test_axes_of_results():
    x = values(4, 3)
    first, second = vmap(lambda row: (row, np.outer(row, row)), out_axes=(1, -1))(x)
    np.testing.assert_array_equal(first, x.T)
    np.testing.assert_allclose(second, np.moveaxis(each(np.outer, x, x), 0, -1))


def test_what_is_the_same_for_all_examples_is_repeated():
    result = vmap(lambda row: (np.arange(2.0), 5))(np.ones((3, 1)))
    np.testing.assert_array_equal(result[0], [[0.0, 1.0]] * 3)
    result[0][0] = 7.0  # memory of its own
    np.testing.assert_array_equal(result[1], [5, 5, 5])


def test_keywords_are_the_same_for_all_examples():
    np.testing.assert_array_equal(vmap(lambda row, by: row * by)(np.ones((2, 3)), by=np.arange(3.0)), [[0, 1, 2]] * 2)


def test_no_examples():
    assert vmap(np.sin)(np.ones((0, 3))).shape == (0, 3)
    assert vmap(lambda row: float(row[0]) + row)(np.ones((0, 3))).shape == (0, 3)
    assert vmap(np.linalg.norm)(np.ones((0, 3))).shape == (0,)


def test_changes_in_place_are_those_of_each_example():
    def changed(row):
        other = row
        other += 1
        row[0] = 5.0
        return other

    x = values(4, 3)
    before = x.copy()
    np.testing.assert_array_equal(vmap(changed)(x), each(changed, x.copy()))
    np.testing.assert_array_equal(x, before)


def test_an_exception_handler_of_the_function_does_not_see_how_it_is_run():
    def cautious(row):
        try:
            return row * float(row[0])
        except Exception:
            return row * 0

    x = values(4, 3)
    np.testing.assert_allclose(vmap(cautious)(x), each(cautious, x))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vmap(3), ArgumentError, r"vmap: the first argument is the function of one example, got int 3"),
        (lambda: vmap(np.sin)(1.0), ShapeError, r"argument 0 of sin has the shape \(\), and no axis 0"),
        (lambda: vmap(np.sin, 2)(np.ones((4, 3))), ShapeError, r"shape \(4, 3\), and no axis 2 along which.*in_axes"),
        (
            lambda: vmap(np.add)(np.ones(3), np.ones(4)),
            ShapeError,
            "of add differ in the number of examples: argument 0 has 3, argument 1 has 4",
        ),
        (lambda: vmap(np.sin, None)(np.ones(3)), ArgumentError, "no argument of sin has an axis of examples"),
        (lambda: vmap(np.sin, (0, 1))(np.ones(3)), ArgumentError, "in_axes has 2 entries, .* called with 1 positional"),
        (lambda: vmap(np.sin, ("a",))(np.ones(3)), ArgumentError, "in_axes of sin is 'a' for float64"),
        (lambda: vmap(np.sin, 0, 3)(np.ones((4, 3))), ShapeError, r"returned an array of shape \(3,\), .*no axis 3"),
        (lambda: vmap(np.sin, 0, None)(np.ones((4, 3))), ArgumentError, "out_axes of sin is None for a result"),
        (lambda: vmap(lambda row: "text")(np.ones(3)), ArgumentError, "returned str 'text'; expected an array"),
        (
            lambda: vmap(lambda n: np.ones(int(n)))(np.array([1, 2])),
            ShapeError,
            r"returned arrays of the shapes \(1,\), \(2,\) for examples, which cannot be stacked",
        ),
        (lambda: vmap(lambda row: row @ np.ones((4, 4)))(np.ones((2, 3))), ValueError, "size 4 is different from 3"),
        (
            lambda: vmap(lambda row: row.sum(axis=3))(np.ones((2, 3))),
            ValueError,
            "axis 3 is out of bounds for array of",
        ),
        (lambda: vmap(lambda row: row.nosuch)(np.ones((2, 3))), AttributeError, "nosuch"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_array_that_outlives_its_function_says_so():
    kept = []
    vmap(lambda row: kept.append(row) or row)(np.ones((2, 3)))
    with pytest.raises(ArgumentError, match="is used after the function has returned that it was given to"):
        kept[0] + 1


def test_derivatives_look_for_batches_while_there_are_any():
    gc.collect()  # arrays that a test before this one kept
    kept = []

    def function(row):
        assert LIVING
        kept.append(row)
        return np.sum(row * row)

    before = set(LIVING)
    vmap(function)(np.ones((2, 3)))
    assert len(LIVING - before) == 1  # of the array that is kept
    np.testing.assert_array_equal(grad(np.sum)(np.ones(3)), np.ones(3))
    with pytest.raises(ArgumentError, match="is used after the function has returned that it was given to"):
        grad(lambda x: np.sum(x * kept[0]))(np.ones(3))
    kept.clear()
    np.testing.assert_array_equal(vmap(grad(function))(np.ones((2, 3))), np.full((2, 3), 2.0))
    kept.clear()
    gc.collect()
    assert set(LIVING) <= before
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(np.ones(3)), np.full(3, 2.0))


def test_a_deep_copy_is_of_the_same_examples():
    def function(row):
        again = copy.deepcopy(row)
        del row
        gc.collect()
        return grad(lambda x: np.sum(x * x * again))(again)

    matrix = values(4, 3)
    np.testing.assert_allclose(vmap(function)(matrix), 2 * matrix**2)


def test_names_and_docstrings():
    mapped = vmap(number_of)
    assert mapped.__name__ == "vmap_of_number_of"
    assert "minpy.vmap" in mapped.__doc__
