"""Users' functions captured: what they compute, read and change is what they do as written, or they are refused."""

from __future__ import annotations

import operator
import weakref
from typing import Any

import numpy as np
import pytest
from captures import captured, require_as_written

import minpy as mx
from minpy import customop
from minpy.capture.capture import Capture
from minpy.capture.places import CaptureRefused

X = np.linspace(0.5, 1.5, 12).reshape(3, 4)


def arrays(*shapes: tuple[int, ...], dtype: Any = "float64") -> Any:
    def make(seed: int) -> list[np.ndarray]:
        draw = np.random.RandomState(seed)
        return [draw.uniform(0.5, 2, shape).astype(dtype) for shape in shapes]

    return make


def ours(*shapes: tuple[int, ...], dtype: Any = "float32", front: Any = mx.np) -> Any:
    return lambda seed: [front.array(one, dtype=dtype) for one in arrays(*shapes, dtype=dtype)(seed)]


def mxnets(*shapes: tuple[int, ...], dtype: Any = "float32") -> Any:
    return ours(*shapes, dtype=dtype, front=mx.nd)


# -- views and stores ----------------------------------------------------------------------------------------------


def view_before_a_change(x):
    part = x[1:]
    x *= 2
    part += 1
    return x, part, part[0]


def change_through_views(x):
    x.T[0] = 7
    x[::-1][0, 1:] += 1
    np.swapaxes(x, 0, 1)[1] *= 3
    x[..., None][:, 2, 0] = -1
    np.flip(x, 0)[0] = 5
    return x.sum()


def flat_view(x):
    flat = x.reshape(-1)
    flat[::5] = 0
    rows = x.ravel()
    rows += 1
    return flat * 2


def reshaped_again(x):
    cube = x.reshape(3, 2, 2)
    cube[:, 1] = 9
    cube.transpose(2, 0, 1)[1] += 1
    return cube, x[0]


def pieces(x):
    first, second = np.split(x, 2, axis=1)
    first += second
    second[...] = 1
    return first * 1


def out_into_parts(x, y):
    np.add(x, y, out=y)
    np.multiply(x[0], 2, out=x[1])
    np.copyto(x[2], y[0])
    x[x > 1] = 0
    return y


def own_array(x):
    y = np.zeros(x.shape)
    y[1:] = x[:-1]
    whole = y.reshape(-1)
    whole[0] = 3
    z = y.copy()
    y += 1
    return y, z, whole


def scalars_and_arrays_without_axes(x):
    total = x.sum()
    before = total
    total += 1
    corner = x[0, 0]
    corner += 1
    cell = x[0, 0, ...]
    cell += 1
    return total, before, corner, cell, x


def complex_parts(x):
    z = np.zeros(x.shape, complex)
    z.real[...] = x
    z.imag[1:] = 2
    return z


def swapped(x, y):
    kept = x.copy()
    x[...] = y
    y[...] = kept


def sorted_in_place(x):
    x.sort(axis=0)
    x[0].partition(2)
    x[1].sort()
    np.add.at(x, (np.array([0, 0]), np.array([1, 1])), 2.0)
    np.put(x, [0, 5], [8.0, 9.0])


def filled(x):
    np.nan_to_num(x, copy=False)
    x[0].fill(2)
    np.fill_diagonal(x, 4)


def chosen_rows(x):
    x[[2, 0]] = 0
    rows = x[[0, 1]]
    rows += 5
    x[np.arange(3) > 1] = 7
    return rows, x


def views_of_views(x):
    block = x[:, 1:3]
    column = block[:, 0]
    corner = block.T[1:, :2]
    x += 1
    column *= 10
    corner -= 3
    return block * 1, column * 1, corner * 1


def broadcast_operand(x, y):
    x += y[0]
    x -= x.mean(axis=0)


STORES = [
    view_before_a_change, change_through_views, flat_view, reshaped_again, pieces, own_array,
    scalars_and_arrays_without_axes, complex_parts, sorted_in_place, filled, chosen_rows, views_of_views,
]  # fmt: skip


@pytest.mark.parametrize("function", STORES, ids=lambda function: function.__name__)
def test_stores_into_views_and_arguments(function: Any) -> None:
    require_as_written(function, arrays((3, 4)))


@pytest.mark.parametrize("function", [out_into_parts, swapped, broadcast_operand], ids=lambda one: one.__name__)
def test_stores_of_two_arguments(function: Any) -> None:
    run = require_as_written(function, arrays((3, 4), (3, 4)))
    assert run.writes


def test_what_must_lie_in_the_order_of_c_is_said() -> None:
    assert require_as_written(flat_view, arrays((3, 4))).contiguous == {0}
    assert require_as_written(view_before_a_change, arrays((3, 4))).contiguous == frozenset()
    with pytest.raises(CaptureRefused, match=r"may be a view of an array or a copy"):
        captured(flat_view, [np.asfortranarray(X)])
    assert (
        require_as_written(lambda x: x.reshape(-1) * 2, lambda seed: [np.asfortranarray(X)]).contiguous == frozenset()
    )


def test_a_view_that_is_a_copy_stays_what_it_was() -> None:
    def function(x):
        copy = x.T.ravel()
        x += 1
        copy *= 2
        return copy

    assert require_as_written(function, arrays((3, 4))).contiguous == {0}


def test_the_same_array_given_twice_is_one() -> None:
    def function(a, b):
        return a * 2 if a is b else a + b

    value = X.copy()
    capture = Capture("function")
    a, b = capture.argument(value), capture.argument(value)
    assert a is b
    assert len(capture.run(function, a, b).inputs) == 1
    require_as_written(function, arrays((3,), (3,)))


def test_an_argument_that_it_refers_to_is_that_argument() -> None:
    def function(a):
        return a * 2 if a is X else a

    capture = Capture("function")
    run = capture.run(function, capture.argument(X))
    assert run.outputs._value.node is not run.inputs[0].node
    assert captured(function, [X.copy()]).outputs.is_view


def test_stores_are_refused_where_arguments_may_not_change() -> None:
    with pytest.raises(CaptureRefused, match="it stores into an array that it was given"):
        captured(lambda x: operator.iadd(x, 1), [X], writes=False)
    with pytest.raises(CaptureRefused, match="it stores into an array that it was given"):
        captured(lambda x: operator.setitem(X, 0, x[0]), [X.copy()])
    with pytest.raises(CaptureRefused, match="the imaginary part of real numbers, which is read-only"):
        captured(lambda x: operator.setitem(x.imag, 0, 1), [X.copy()])
    for read_only in (lambda x: np.broadcast_to(x, (2, 3, 4)), lambda x: np.diagonal(x)):
        with pytest.raises(CaptureRefused, match=r"NumPy makes read-only"):
            captured(lambda x, view=read_only: operator.setitem(view(x), 0, 1), [X.copy()])


# -- arrays of ours ------------------------------------------------------------------------------------------------

OF_NP = {
    "functions": lambda x: (mx.np.tanh(x) + x.sum(), mx.np.dot(x, x.T), mx.np.concatenate([x, x])),
    "numpy's functions": lambda x: (np.tanh(x), np.sum(x, axis=0), np.maximum(x, 1.0), x @ x.T, x[0], x[0, 1]),
    "npx": lambda x: (mx.npx.relu(x), mx.npx.softmax(x, axis=-1), mx.npx.one_hot(x.astype("int32"), 3)),
    "made inside": lambda x: x * mx.np.ones((3,)) + mx.np.arange(3) + mx.np.full((3,), 2.0) + mx.np.zeros_like(x),
    "of numbers and arrays": lambda x: mx.np.array([x[0, 0], 1.0]),
    "linalg": lambda x: mx.np.linalg.norm(x),
    "kinds": lambda x: (isinstance(x, np.ndarray), isinstance(x, mx.np.ndarray), type(x) is mx.np.ndarray),
    "semantics": lambda x: (x.as_nd_ndarray() * 2, x.as_np_ndarray(), x.detach() * 2, x.copy(), x.flatten()),
    "device": lambda x: x * 2 if x.context == mx.cpu() else x,
    "facts": lambda x: (x.shape, x.ndim, x.size, len(x), x.dtype.name),
    "methods": lambda x: (x.mean(axis=0), x.max(), x.astype("float64"), x.reshape(-1), x.T, x.clip(0.6, 0.9)),
    "an element is an array": lambda x: operator.iadd(x.sum(), 1),
    "a view of an element": lambda x: (operator.iadd(x[0, 1], 5), x)[1],
    "iterated": lambda x: [row * 2 for row in x],
    "numpy's own": lambda x: (np.asarray(x), np.array(x) * 2, np.asarray(x) + x),
}
OF_ND = {
    "arithmetic": lambda x: (x * 2 + 1, 2 - x, x / x, x > 1, x**2, -x, abs(x), x % 2, x @ x.T, 3 // x),
    "methods": lambda x: (x.sum(), x.mean(axis=0), x.norm(), x.exp(), x.T, x.slice_axis(axis=0, begin=0, end=1)),
    "functions": lambda x: (mx.nd.dot(x, x.T), mx.nd.relu(x), mx.nd.concat(x, x, dim=1), mx.nd.zeros((2, 3)) + x),
    "shapes": lambda x: (x.reshape((-1,)), x.expand_dims(0), x.flatten(), x.reshape((0, -1)), x.squeeze()),
    "indices": lambda x: (x[0], x[0:1], x[:, 1], x[mx.nd.array([1, 0])], x[0, 1]),
    "stores": lambda x: (operator.setitem(x, 0, 5), operator.iadd(x, 1), operator.setitem(x, slice(None), x * 2), x)[3],
    "a view is changed": lambda x: (operator.iadd(x[0], 3), x.reshape((-1,)), x)[2],
    "integers": lambda x: (x.astype("int32") + 1, x.astype("int32") * 2, x.astype("int32") / 2),
    "kinds": lambda x: (isinstance(x, mx.nd.NDArray), isinstance(x, np.ndarray), x.shape, x.ndim, x.stype),
    "semantics": lambda x: (x.as_np_ndarray().sum(), x.detach() * 1, x.copy()),
    "copied to": lambda x: x.copyto(mx.nd.zeros((2, 3))),
}


@pytest.mark.parametrize("which", OF_NP)
def test_arrays_of_np(which: str) -> None:
    require_as_written(OF_NP[which], ours((2, 3)))


@pytest.mark.parametrize("which", OF_ND)
def test_arrays_of_nd(which: str) -> None:
    require_as_written(OF_ND[which], mxnets((2, 3)))


REFUSED_OF_OURS = {
    "values": (lambda x: x.asnumpy(), "asnumpy"),
    "gradients": (lambda x: x.attach_grad(), "attach_grad"),
    "draws": (lambda x: x + mx.nd.random.uniform(shape=(2, 3)), "mx.nd.random is not known to be free of effects"),
    "marks": (lambda x: mx.autograd.mark_variables([x], [x]), r"mark_variables\) is not known to be free of effects"),
    "choices": (lambda x: x if x.sum() > 1 else -x, "it asks for the values of an NDArray"),
}


@pytest.mark.parametrize("which", REFUSED_OF_OURS)
def test_what_ours_refuse(which: str) -> None:
    function, message = REFUSED_OF_OURS[which]
    with pytest.raises(CaptureRefused, match=message):
        captured(function, mxnets((2, 3))(0))


REFERENCE, PROXY = weakref.ref(Capture), weakref.proxy(Capture)


@pytest.mark.parametrize("function", [lambda x: x if REFERENCE() else -x, lambda x: x if PROXY.run else -x])
def test_weak_references_are_not_followed(function: Any) -> None:
    with pytest.raises(CaptureRefused, match=r"REFERENCE is a weakref\.\w+, changes|PROXY is not known to be free"):
        captured(function, [X])


def test_labels_of_einsum_are_numbers_up_to_51() -> None:
    expected = np.einsum(X, [51, 2], X, [0, 2])
    assert captured(lambda x: np.einsum(x, [51, 2], x, [0, 2]), [X]).outputs.shape == expected.shape == (3, 3)
    compiled = mx.compile(lambda x: (np.einsum(x, [51, 2], x[:2], [0, 2]), np.einsum(x, [..., 0])))
    for _ in range(3):
        for found, wanted in zip(compiled(X), (np.einsum(X, [51, 2], X[:2], [0, 2]), X), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert compiled.reason is None
    with pytest.raises(CaptureRefused, match="labels that are not lists of numbers from 0 to 51"):
        captured(lambda x: np.einsum(x, [0, 52]), [X])


def test_operators_that_draw_and_scopes_of_autograd_are_captured() -> None:
    def scoped(x: Any) -> Any:
        with mx.autograd.pause():
            scale = x * 2
        return mx.nd.Dropout(x, p=0.5) * scale

    (x,) = mxnets((2, 3))(0)
    compiled = mx.compile(scoped)
    for _ in range(3):
        found = compiled(x)  # nothing trains: Dropout gives what it is given
        assert type(found) is mx.nd.NDArray
        np.testing.assert_array_equal(found.asnumpy(), x.asnumpy() * (x.asnumpy() * 2))
    assert compiled.reason is None
    names = [node.operator.__name__ for node in captured(scoped, mxnets((2, 3))(0)).recorder.nodes if node.operator]
    assert {"Dropout", "BlockGrad"} <= {*names}


def test_operators_that_draw_are_nodes_where_that_is_asked_for() -> None:
    run = captured(lambda x: mx.nd.Dropout(x, p=0.5) * 2, mxnets((2, 3))(0), draws=True)
    names = [node.operator.__name__ for node in run.recorder.nodes if node.operator is not None]
    assert "Dropout" in names


def test_operators_of_users_are_nodes_with_rules_of_their_own() -> None:
    @customop("numpy")
    def doubled(x):
        return x * 2

    @customop("numpy")
    def choosing(x):
        return x * 2 if x.sum() > 0 else x

    run = captured(lambda x: doubled(x) + 1, [X])
    assert any(node.operator is doubled for node in run.recorder.nodes)
    with pytest.raises(CaptureRefused, match="choosing, an operator of a user: what it gives is not known"):
        captured(lambda x: choosing(x) + 1, [X])
