"""Writes into arrays and through views: what reaches memory, which gradients follow, what is refused, what warns.

Random programs against a model are in `test_writes_state_machine.py`; MXNet's answers in `golden/writes_cases.py`.
"""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd
from minpy.core.buffers import memory_of
from minpy.core.errors import GraphFreedError, MutationError, NotRecordedError, ShapeError

WARNING = (
    "backward passes through an array (float32 (3,)) that was changed in place after it was recorded, where nothing "
    "was recorded (outside record(), or in pause()). As in MXNet, the gradient is that of the recorded computation, "
    "as if the array had not been changed."
)


def variable(values: object = (1.0, 2.0), kind: str = "nd") -> nd.NDArray:
    x = (nd.array if kind == "nd" else mx.numpy.array)(values)
    x.attach_grad()
    return x


# -- what a write through a view does to the array, and to its gradient -----------------------------------------------


@pytest.mark.parametrize("kind", ["nd", "np"])
@pytest.mark.parametrize(
    ("write", "written", "gradient"),
    [
        ("c[0][0:2] = x * x", [[1, 4, 0], [0, 0, 0]], [2, 4]),
        ("c[0:1][0][0:2][:] = x * x", [[1, 4, 0], [0, 0, 0]], [2, 4]),
        ("c[:, 1:][1][:] = x * x", [[0, 0, 0], [0, 1, 4]], [2, 4]),
        ("c[1, ::-2][:] = x * x", [[0, 0, 0], [4, 0, 1]], [2, 4]),
        ("c.reshape((6,))[4:] = x * x", [[0, 0, 0], [0, 1, 4]], [2, 4]),
        ("c.reshape((3, 2))[:] = x * x", [[1, 4, 1], [4, 1, 4]], [6, 12]),
        ("c.reshape((3, 2))[1] += x", [[0, 0, 1], [2, 0, 0]], [1, 1]),
        ("c[0][[2, 0]] = x * x", [[4, 0, 1], [0, 0, 0]], [2, 4]),
        ("c[0][[1, 1]] = x * x", [[0, 4, 0], [0, 0, 0]], [0, 4]),  # the last value stays
        ("c[0][:] = x[1]", [[2, 2, 2], [0, 0, 0]], [0, 3]),
        ("c[0, 0] = x[1] * 3; c[0][1] = x[0]", [[6, 1, 0], [0, 0, 0]], [1, 3]),
        ("c[0:1, 1:2] = x[1:].reshape((1, 1)) * 3", [[0, 6, 0], [0, 0, 0]], [0, 3]),
        ("c[0:1][:] = x[1:].reshape((1, 1)) * 3", [[6, 6, 6], [0, 0, 0]], [0, 9]),
        ("c[[0]] = x[1:].reshape((1, 1, 1)) * 3", [[6, 6, 6], [0, 0, 0]], [0, 9]),
        ("c[:, :2][:] = x; c[0][0:2][:] = 7", [[7, 7, 0], [1, 2, 0]], [1, 1]),
        ("c[:, :2] = x; c *= 2; c[0][1:2] *= 5", [[2, 20, 0], [2, 4, 0]], [4, 12]),
        ("a = c.as_np_ndarray() if kind == 'nd' else c.as_nd_ndarray(); a[0, :2] = x", [[1, 2, 0], [0, 0, 0]], [1, 1]),
        ("d = c.detach(); d[1, 1:] = x * x", [[0, 0, 0], [0, 1, 4]], [2, 4]),
        ("a, b = np.split(c.as_np_ndarray(), 2); b[0, :2] = x", [[0, 0, 0], [1, 2, 0]], [1, 1]),
        ("np.transpose(c.as_np_ndarray())[1] = x * x", [[0, 1, 0], [0, 4, 0]], [2, 4]),
        ("np.squeeze(c.as_np_ndarray())[0, :2] = x", [[1, 2, 0], [0, 0, 0]], [1, 1]),
        ("np.multiply(x.as_np_ndarray(), 3, out=c.as_np_ndarray()[0, 1:])", [[0, 3, 6], [0, 0, 0]], [3, 3]),
    ],
)
def test_recorded_writes_through_views(kind, write, written, gradient):
    x, c = variable(kind=kind), nd.zeros((2, 3)) if kind == "nd" else mx.numpy.zeros((2, 3))
    with autograd.record():
        exec(write, {"x": x, "c": c, "np": np, "kind": kind})
        total = c.sum()
    assert c.asnumpy().tolist() == written
    total.backward()
    assert x.grad.asnumpy().tolist() == gradient


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_of_written_arrays_have_every_order(order):
    x = variable([1.0, 2.0])
    with autograd.record():
        c = nd.zeros((2, 3))
        c[:, 1:][:] = x * x * x
        c[1][[2, 0]] = x * x
        c[0][0:1][:] = x[1] ** 3
        y = (c * c).sum()
        if order == 2:
            [g] = autograd.grad(y, x, create_graph=True)
            y = g.sum()
    y.backward()
    a, b = 1.0, 2.0
    # c = [[b^3, a^3, b^3], [b^2, a^3, a^2]], so y = 2 b^6 + 2 a^6 + b^4 + a^4
    expected = [[12 * a**5 + 4 * a**3, 12 * b**5 + 4 * b**3], [60 * a**4 + 12 * a**2, 60 * b**4 + 12 * b**2]][order - 1]
    np.testing.assert_allclose(x.grad.asnumpy(), expected)


def test_numpy_sees_what_is_written_into_its_memory():
    x, b = variable(), np.zeros(4, "float32")
    c, twin = nd.from_numpy(b), nd.from_numpy(b)
    with autograd.record():
        c[1:3] = x * x
        c[0:1] += 1
        total = twin.sum()
    assert b.tolist() == c.asnumpy().tolist() == twin.asnumpy().tolist() == [1, 1, 4, 0]
    total.backward()
    assert x.grad.asnumpy().tolist() == [2, 4]
    c = nd.zeros(4)
    seen = np.from_dlpack(c)
    with autograd.record():
        c[1:3] = x * x
        c += 1
    assert seen.tolist() == [1, 2, 5, 1]


def test_views_and_their_array_stay_one_memory():
    x, w = variable(), nd.zeros((2, 2))
    row, same, detached = w[1], w.reshape((4,)), w.detach()
    with autograd.record():
        w[1] = x * 3
    w[1] = 7
    assert row.asnumpy().tolist() == [7, 7]
    same[3] = 8
    detached[0] = 5
    assert w.asnumpy().tolist() == [[5, 5], [7, 8]]
    with autograd.record():
        row[:] = x
        row[0] = x[1]
        y = (row * row).sum()
    assert same.asnumpy().tolist() == [5, 5, 2, 2]
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 8]


def test_an_array_that_nobody_shares_keeps_what_rules_saved():
    x, c = variable(), nd.ones(2)
    with autograd.record():
        y = x * c
        c[:] = x * x
        z = (y * c).sum()
    z.backward()
    assert x.grad.asnumpy().tolist() == [3, 12]
    c = nd.ones(2)
    view = c[0:1]
    with autograd.record():
        y = x * c
        c[:] = x * x
        z = (y * c).sum()
    text = r"broadcast_mul: rhs \(float32 \(2,\)\) was changed in place after it was recorded, and the gradient needs"
    with pytest.raises(MutationError, match=text):
        z.backward()
    assert view.asscalar() == 1


def test_a_buffer_may_be_filled_in_every_iteration():
    x, c = variable(), nd.zeros(4)
    total, parts = nd.zeros(1), c[2:4]
    for _ in range(3):
        with autograd.record():
            c[0:2] = x * x
            parts[:] = c[0:2] * x
            total[:] = 0
            for part in c:
                total += part
        total.backward()
        assert x.grad.asnumpy().tolist() == [5, 16]
    with autograd.record():
        y = c * 2  # the buffer is that of a freed graph now
    with pytest.raises(GraphFreedError):
        y.backward()
    with autograd.record():
        y = c * x[0]  # and a constant
    y.backward()
    assert x.grad.asnumpy().tolist() == [float(c.sum().asscalar()), 0]
    with autograd.record():
        c[:] = 0
        y = c * x[0]
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 0]


def test_integers_are_written_but_not_recorded():
    x, c = variable(), nd.zeros(2, dtype="int32")
    with autograd.record():
        c[:] = x * x
        c[0:1][:] = x[1] * 1.5
    assert c.asnumpy().tolist() == [3, 4]
    with pytest.raises(NotRecordedError):
        c.backward()


def test_bounds_in_arrays_may_be_changed():
    x, stop = variable([1.0, 2.0, 3.0]), nd.array([2], dtype="int32")
    with autograd.record():
        y = x[0:stop].sum()
    stop[:] = 1
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 1, 0]


def test_values_that_do_not_fit():
    x, c = variable(), nd.zeros((2, 3))
    with autograd.record():
        text = r"cannot assign float32 \(2,\) to x\[1\], which has shape \(3,\): could not broadcast"
        with pytest.raises(ShapeError, match=text):
            c[1] = x
        with pytest.raises(IndexError):
            c[[2]] = x[0]
    assert not c.asnumpy().any()


@pytest.mark.parametrize("axis", [0, 1])
def test_steps_that_read_what_earlier_ones_wrote(axis):
    x = variable([0.5, 0.25])
    for keep in (False, True):
        states = nd.zeros((5, 2) if axis == 0 else (2, 5))
        views = [states[t] if axis == 0 else states[:, t] for t in range(5)] if keep else []
        with autograd.record():
            states[0 if axis == 0 else (slice(None), 0)] = x
            for t in range(1, 5):
                if axis == 0:
                    states[t] = states[t - 1] * x
                else:
                    states[:, t] = states[:, t - 1] * x
            total = states.sum()
        total.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), sum(n * np.array([0.5, 0.25]) ** (n - 1) for n in range(1, 6)))
        assert len(views) == 5 * keep
    big = nd.zeros((200, 2))
    views = list(big)
    with autograd.record():
        big[0] = x
        for t in range(1, 200):
            views[t][:] = views[t - 1] * 1 + x
        total = big[-1].sum()
    total.backward()
    assert x.grad.asnumpy().tolist() == [200, 200]


# -- writes that are refused -------------------------------------------------------------------------------------------

SHARED = (
    "of memory that {} shares, inside autograd.record(), through a view or a detached array (float32 {}): the gradient "
    "would be of a value that no longer exists. Write into a copy (v = x[0:2].copy(), or x.detach().copy())."
)


@pytest.mark.parametrize(
    ("write", "what", "whose", "shape"),
    [
        ("x[0:1][:] = x[1:2]", "x[...] = value", None, "(1,)"),
        ("outside[:] = x[1:2]", "x[...] = value", "a variable (attach_grad) (float32 (3,))", "(1,)"),
        ("outside += x[1:2]", "x += y", "a variable (attach_grad) (float32 (3,))", "(1,)"),
        ("nd.square(x[1:2], out=outside)", "out=x", "a variable (attach_grad) (float32 (3,))", "(1,)"),
        ("h[0:1][:] = 0", "x[...] = value", None, "(1,)"),
        ("h.detach()[:] = x", "x[...] = value", "a recorded array (float32 (3,))", "(3,)"),
    ],
)
def test_refused_writes(write, what, whose, shape):
    x = variable([1.0, 2.0, 3.0])
    outside = x[0:1]
    with autograd.record():
        h = x * x
        text = f"in-place change ({what}) of an array that is recorded, inside autograd.record(): float32 {shape}"
        if whose is not None:
            text = f"in-place change ({what}) {SHARED.format(whose, shape)}"
        with pytest.raises(MutationError, match=re.escape(text)):
            exec(write, {"x": x, "h": h, "nd": nd, "outside": outside})
    h.backward()
    assert x.grad.asnumpy().tolist() == [2, 4, 6]


def test_numpy_functions_that_write_into_parts():
    x, c = variable(kind="np"), mx.numpy.zeros(4)
    outside = c[0:2]
    with autograd.record():
        c[1:3] = x * x
    view = c[0:2]
    text = "numpy.put changes memory in place that a recorded array shares, which cannot be recorded. Write x[...] = v"
    with autograd.record(), pytest.raises(MutationError, match=re.escape(text)):
        np.put(view, [0], [5.0])
    with autograd.record(), pytest.raises(MutationError, match=r"numpy.add changes memory in place"):
        np.add(view, 1.0, out=view, where=[True, False])
    assert outside.tolist() == [0, 1]
    with autograd.record():
        np.copyto(view, 0)
        total = c.sum()
    total.backward()
    assert x.grad.tolist() == [0, 4]
    np.put(view, [0], [5.0])
    assert c.tolist() == [5, 0, 4, 0]


# -- writes that are not recorded --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", ["h[0] = 0", "h[0:1][:] = 0", "h += 1", "h.reshape((3, 1))[1:] *= 2", "np.put(h, 0, 5)"]
)
def test_a_gradient_through_a_changed_array_warns(change):
    x = variable([1.0, 2.0, 3.0])
    with autograd.record():
        h = x * x
    exec(change, {"h": h, "np": np})
    with autograd.record():
        y = h.sum() + x.sum()
    with pytest.warns(UserWarning, match=re.escape(WARNING)):
        y.backward()
    assert x.grad.asnumpy().tolist() == [3, 5, 7]
    with autograd.record():
        h = x * x
    exec(change, {"h": h, "np": np})
    with pytest.warns(UserWarning, match=re.escape(WARNING)):
        h.backward()
    assert x.grad.asnumpy().tolist() == [2, 4, 6]


def test_changes_that_no_gradient_passes_do_not_warn():
    x = variable([1.0, 2.0, 3.0])
    with autograd.record():
        h = x * 2
        y = h + 1
    h[0] = 5  # after y was computed
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 2, 2]
    with autograd.record():
        h = x * 2
    h[1] = 5
    with autograd.record():
        z = h.detach() * x
    z.backward()
    assert x.grad.asnumpy().tolist() == [2, 5, 6]
    state = (x * 0) + 1
    with autograd.record():
        state = state * x
    state.backward()
    state[0] = 7  # of a freed graph: a constant from then on
    with autograd.record():
        y = (state * x).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [7, 2, 3]


def test_what_is_replaced_as_a_whole_is_a_constant():
    x = variable([1.0, 2.0, 3.0])
    with autograd.record():
        h = x * x
        with autograd.pause():
            h[:] = 4
        y = (h * x).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [4, 4, 4]
    with pytest.raises(NotRecordedError):
        h.backward()


def test_slices_of_recorded_arrays_share_memory():
    x = variable([1.0, 2.0, 3.0])
    with autograd.record():
        h = x * x
        v, column = h[0:1], h.reshape((3, 1))
        with autograd.pause():
            v[:] = 100
            column[1] = 50
        y = (h * h).sum()
    assert h.asnumpy().tolist() == [100, 50, 9]
    with pytest.warns(UserWarning, match="changed in place"):
        y.backward()
    assert x.grad.asnumpy().tolist() == [400, 400, 108]  # as in MXNet


# -- what it costs -----------------------------------------------------------------------------------------------------


def test_views_are_forgotten():
    c = nd.zeros((1000, 2))
    for position in range(1000):
        c[position]
    assert len(memory_of(c._data)._arrays) < 50
    rows = list(c)
    assert len(memory_of(c._data).others(c)) == 1000
    del rows
    memory = memory_of(c._data)
    del c
    assert memory.owner() is None
    gc.collect()


def test_a_view_does_not_keep_a_graph_alive():
    x = variable()
    with autograd.record():
        h = x * x
    kept, node = h[0:1], weakref.ref(h._node)
    del h
    assert node() is None
    assert kept.asscalar() == 1


def test_an_array_written_into_itself_is_read_first():
    for key in ([-1, 0], np.array([1, 0]), np.array([False, True, True])):
        x = nd.array(np.arange(6.0).reshape(3, 2))
        values = x.asnumpy()
        expected = values.copy()
        part = values[:2]
        expected[key] = part
        x[key] = x[:2]
        np.testing.assert_array_equal(x.asnumpy(), expected)


@pytest.mark.parametrize("operator", ["Convolution", "FullyConnected"])
def test_a_result_that_does_not_lie_in_order_is_reshaped_in_place(operator: str) -> None:
    if operator == "Convolution":
        inputs = nd.ones((4, 3, 8, 8)), nd.ones((16, 3, 3, 3))
        options: dict[str, Any] = {"kernel": (3, 3), "num_filter": 16, "no_bias": True}
    else:
        inputs = nd.ones((64, 512)), nd.ones((300, 512))
        options = {"num_hidden": 300, "no_bias": True}
    result = getattr(nd, operator)(*inputs, **options)
    assert not result._data.flags.c_contiguous
    flat = result.reshape((-1,))
    flat[:5] = 7
    assert (result.asnumpy().ravel()[:5] == 7).all()
    result[:] = 3
    assert (flat.asnumpy() == 3).all()
    for one in inputs:
        one.attach_grad()
    with mx.autograd.record():
        flat = getattr(nd, operator)(*inputs, **options).reshape((-1,))
        total = (flat * flat).sum()
    total.backward()
    assert inputs[0].grad.asnumpy().any()
