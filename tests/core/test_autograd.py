"""The imperative interface: flags, backward, gradients of gradients, and what goes wrong."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import (
    ArgumentError,
    GradientError,
    GraphFreedError,
    MutationError,
    NoGradientError,
    NotRecordedError,
    ShapeError,
)


def variable(values: object = (1.0, 2.0, 3.0), request: str = "write", dtype: str = "float32") -> nd.NDArray:
    x = nd.array(values, dtype=dtype)
    x.attach_grad(request)
    return x


def flags() -> tuple[bool, bool]:
    return autograd.is_recording(), autograd.is_training()


@mx.customop("numpy")
def failing(x: np.ndarray) -> np.ndarray:
    """Return x; its rule fails."""
    return x * 1


@failing.def_grad()
def _failing_gradient(ans: np.ndarray, x: np.ndarray) -> object:
    raise ZeroDivisionError("the rule fails")


# -- flags -------------------------------------------------------------------------------------------------------------


def test_scopes() -> None:
    assert flags() == (False, False)
    with autograd.record():
        assert flags() == (True, True)
        with autograd.predict_mode():
            assert flags() == (True, False)
            with autograd.pause(train_mode=True):
                assert flags() == (False, True)
            assert flags() == (True, False)
        with autograd.record(train_mode=False):
            assert flags() == (True, False)
        assert flags() == (True, True)
    with autograd.train_mode():
        assert flags() == (False, True)
    assert flags() == (False, False)


def test_a_scope_may_be_entered_again_and_inside_itself() -> None:
    scope = autograd.record()
    with scope, autograd.pause(), scope:
        assert flags() == (True, True)
    assert flags() == (False, False)
    with scope:
        pass
    assert flags() == (False, False)


@pytest.mark.parametrize("scope", [autograd.record, autograd.pause, autograd.train_mode, autograd.predict_mode])
def test_exceptions_restore_the_flags(scope: object) -> None:
    def enter_and_fail() -> None:
        with scope():  # type: ignore[operator]
            raise KeyError("inside")

    for outer in (autograd.record, autograd.pause):
        with outer():
            before = flags()
            with pytest.raises(KeyError):
                enter_and_fail()
            assert flags() == before
    assert flags() == (False, False)


def test_scopes_restore_what_they_set_and_nothing_else() -> None:
    with autograd.train_mode():
        autograd.set_recording(True)
    assert (autograd.is_recording(), autograd.is_training()) == (True, False)
    with autograd.pause():
        autograd.set_training(True)
    assert (autograd.is_recording(), autograd.is_training()) == (True, False)
    with autograd.predict_mode():
        autograd.set_recording(False)
    assert (autograd.is_recording(), autograd.is_training()) == (False, False)


def test_setters_return_what_was() -> None:
    assert autograd.set_recording(True) is False
    assert autograd.set_training(True) is False
    assert flags() == (True, True)
    assert (autograd.set_recording(False), autograd.set_training(False)) == (True, True)


def test_backward_sets_training_for_the_rules_and_restores_the_flags() -> None:
    seen = []
    looking = mx.customop("numpy")(lambda x: x * 2)
    looking.def_grad(lambda ans, x: lambda g: seen.append(flags()) or g * 2)
    x = variable()
    for train_mode in (True, False):
        with autograd.record():
            y = looking(x)
            y.backward(train_mode=train_mode)
            assert flags() == (True, True)
    assert seen == [(False, True), (False, False)]
    with autograd.record(train_mode=False):
        y = failing(x)
        with pytest.raises(ZeroDivisionError):
            y.backward(train_mode=True)
        assert flags() == (True, False)


def test_flags_are_per_thread() -> None:
    seen = []
    with autograd.record():
        thread = threading.Thread(target=lambda: seen.append(flags()))
        thread.start()
        thread.join()
    assert seen == [(False, False)]


# -- backward ----------------------------------------------------------------------------------------------------------


def test_requests() -> None:
    x, w, frozen = variable(), variable(request="add"), nd.array([1, 1, 1])
    frozen.attach_grad("null")
    assert frozen.grad is None
    for _ in range(2):
        with autograd.record():
            y = x * w * frozen
        y.backward()
    assert x.grad.asnumpy().tolist() == [1, 2, 3]
    assert w.grad.asnumpy().tolist() == [2, 4, 6]
    w.zero_grad()
    assert w.grad.asnumpy().tolist() == [0, 0, 0]


def test_nothing_is_recorded_for_frozen_arrays() -> None:
    x = nd.array([1.0])
    x.attach_grad("null")
    with autograd.record():
        assert (x * x)._node is None


@pytest.mark.parametrize("request_", ["write", "add"])
def test_a_gradient_kept_across_backward_sees_updates(request_: str) -> None:
    x = variable(np.ones(1000), request_)
    kept, part, raw = x.grad, x.grad[:2], x.grad.detach()
    borrowed = np.from_dlpack(x.grad)
    for step in (1, 2, 3):
        with autograd.record():
            y = nd.exp(x * 0) * step * x
        y.backward()
        expected = step if request_ == "write" else step * (step + 1) / 2
        assert x.grad is kept
        for seen in (kept.asnumpy(), part.asnumpy(), raw.asnumpy(), borrowed):
            assert (seen == expected).all()


def test_gradients_do_not_share_memory() -> None:
    x, w = variable(), variable()
    head = nd.array([1.0, 1.0, 1.0])
    with autograd.record():
        y = x + w
    y.backward(head)
    x.grad[:] = 5
    assert w.grad.asnumpy().tolist() == head.asnumpy().tolist() == [1, 1, 1]
    x.backward(head)
    x.grad[:] = 7
    assert head.asnumpy().tolist() == [1, 1, 1]


def test_mark_variables() -> None:
    x, w, gx, gw = nd.array([2.0]), nd.array([3.0]), nd.ones(1), nd.ones(1)
    autograd.mark_variables([x, w], [gx, gw], ["add", "write"])
    with autograd.record():
        y = x * w
    y.backward()
    assert (gx.asscalar(), gw.asscalar()) == (4, 2)
    assert x.grad is gx
    autograd.mark_variables(x, gx, "null")
    assert x.grad is None


def test_mark_variables_errors() -> None:
    x = nd.array([1.0, 2.0])
    with pytest.raises(ArgumentError, match="got 1 variables, 2 gradients and 1 grad_reqs; give one of each"):
        autograd.mark_variables([x], [x, x])
    with pytest.raises(ShapeError, match=r"the gradient has shape \(3,\), its variable \(2,\); they must be equal"):
        autograd.mark_variables(x, nd.zeros(3))
    with pytest.raises(ArgumentError, match=r"unknown grad_req 'sum': expected 'write', 'add' or 'null'"):
        autograd.mark_variables(x, nd.zeros(2), "sum")
    with pytest.raises(ArgumentError, match=r"variables must be an NDArray or a list of NDArrays, got int 3"):
        autograd.mark_variables(3, nd.zeros(2))  # type: ignore[arg-type]
    assert x.grad is None


def test_heads_and_head_gradients() -> None:
    x = variable()
    with autograd.record():
        y, z = x * x, x * 3
    autograd.backward([y, z, y], [None, np.array([10.0, 0, 1]), nd.array([1, 0, 0], dtype="float64")])
    assert x.grad.asnumpy().tolist() == [2 + 30 + 2, 4, 6 + 3]
    with autograd.record():
        y = x * x
    with pytest.raises(GradientError, match=r"head gradient of shape \(2,\) for a head of shape \(3,\)"):
        y.backward(nd.ones(2))
    with pytest.raises(ArgumentError, match="got 1 heads and 2 head gradients; give one"):
        autograd.backward([y], [None, None])
    with pytest.raises(ArgumentError, match="heads is empty; give the arrays to differentiate"):
        autograd.backward([])
    with pytest.raises(ArgumentError, match="heads must be an NDArray or a list of NDArrays, got float"):
        autograd.backward(1.5)  # type: ignore[arg-type]


def test_retain_graph() -> None:
    x = variable([2.0], "add")
    with autograd.record():
        y = x * x
        z = y * 3
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.asscalar() == 24
    freed = (
        r"the graph of this array was freed by an earlier backward \(at operator broadcast_mul\)\. Pass retain_graph"
    )
    for again in (z, y):
        with pytest.raises(GraphFreedError, match=freed):
            again.backward()
    with pytest.raises(GraphFreedError, match=freed):
        autograd.grad(z, x)
    with autograd.record():
        w = y * 2
    with pytest.raises(GraphFreedError, match=freed):
        w.backward()
    assert x.grad.asscalar() == 24


def test_arrays_of_a_freed_graph_are_constants_to_what_is_recorded_next() -> None:
    """As the state of a recurrent network that goes on from batch to batch."""
    x, w = variable([2.0], "write"), variable([3.0], "write")
    with autograd.record():
        state, rest = nd.split(nd.concat(x * w, x, dim=0), num_outputs=2, axis=0)
        early = state * w
        rest.sum().backward()
        late = state * w  # also an output of several of the freed graph
        both = late + early
    late.backward(retain_graph=True)
    assert (x.grad.asscalar(), w.grad.asscalar()) == (1, 6)  # of x it is what the first backward wrote
    (gradient,) = autograd.grad(late, [w], retain_graph=True)
    assert gradient.asscalar() == 6
    for head in (early, both):  # recorded before the graph was freed
        with pytest.raises(GraphFreedError, match="was freed by an earlier backward"):
            head.backward()
    for step in range(1, 4):
        with autograd.record():
            state = state * w
        state.backward()
        assert w.grad.asscalar() == 6 * 3 ** (step - 1)


def test_not_recorded() -> None:
    x = variable()
    outside = x * x
    with autograd.record():
        constant = nd.array([1.0]) * 2
        with autograd.pause():
            paused = x * x
        y = x * 2
    text = r"was not computed under autograd\.record\(\) from an array that needs a gradient\. Call x\.attach_grad\(\)"
    for head in (outside, constant, paused, nd.array([1.0])):
        with pytest.raises(NotRecordedError, match=rf"backward: this array \(float32 \(\d,\)\) {text}"):
            head.backward()
    y[:] = 0
    with pytest.raises(
        NotRecordedError, match=r"\(An array that was changed in place outside record\(\) afterwards is no"
    ):
        y.backward()
    with pytest.raises(NotRecordedError, match=rf"grad: this array \(float32 \(3,\)\) {text}"):
        autograd.grad(outside, x)


@pytest.mark.parametrize(
    "change", ["x[:] = 0", "x += 1", "x[0] = 5", "nd.exp(x, out=x)", "x[1:] *= 2", "np.copyto(x, 0)"]
)
def test_changed_in_place(change: str) -> None:
    x = variable()
    with autograd.record():
        y = nd.sin(x)
        z = y * 2
    exec(change, {"x": x, "nd": nd, "np": np})
    text = (
        r"sin: data \(float32 \(3,\)\) was changed in place after it was recorded, and the gradient needs its old value"
    )
    with pytest.raises(MutationError, match=text + r"\. Change a copy \(x = x\.copy\(\)\), or make the change after"):
        z.backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_changes_that_the_gradient_does_not_notice() -> None:
    x, w, data = variable(), variable(), nd.array([1, 2, 3])
    with autograd.record():
        y = x * 2 + w - data
        y = nd.exp(y * 0) * 3
    x[:] = 10
    w += 1
    data[:] = 0
    y.backward()
    with autograd.record():
        y = x * data  # only the gradient of x is asked for, which does not depend on x
    x[:] = 20
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 0]
    with autograd.record():
        y = x * data
    data[:] = 1
    with pytest.raises(MutationError, match="broadcast_mul: rhs"):
        y.backward()


def test_exceptions_in_the_middle() -> None:
    x, w = variable(request="add"), variable()
    with pytest.raises(KeyError), autograd.record():  # noqa: PT012
        y = x * w
        raise KeyError
    with autograd.record():
        z = y + failing(w)
    with pytest.raises(ZeroDivisionError, match="failing: gradient rule of x failed"):
        z.backward()
    assert not x.grad.asnumpy().any()
    assert not w.grad.asnumpy().any()
    y.backward()  # nothing was freed either
    assert x.grad.asnumpy().tolist() == w.grad.asnumpy().tolist() == [1, 2, 3]


def test_operators_whose_gradient_is_zero() -> None:
    x = variable()
    x.grad[:] = 9
    with autograd.record():
        y = nd.round(x) + (x > 1)
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_a_missing_rule_is_an_error_before_anything_is_written() -> None:
    half = mx.customop("numpy")(lambda x: x / 2)
    x = variable()
    with autograd.record():
        y = half(x) + x
    with pytest.raises(NoGradientError, match=r"has no gradient for argument 0 \(x\)"):
        y.backward()
    assert not x.grad.asnumpy().any()


# -- gradients of gradients --------------------------------------------------------------------------------------------


def test_grad_returns_a_list_and_writes_nothing() -> None:
    x, w, unused = variable([2.0]), variable([3.0]), variable([5.0])
    with autograd.record():
        a = x * w
        y = a * a
    found = autograd.grad(y, [x, w, unused, a, y], retain_graph=True)
    assert [g.asscalar() for g in found] == [36, 24, 0, 12, 1]
    [single] = autograd.grad([y, a], x, head_grads=[nd.array([1.0]), None])
    assert single.asscalar() == 39
    assert not any(v.grad.asnumpy().any() for v in (x, w, unused))


def test_grad_errors() -> None:
    x, plain = variable(), nd.array([1.0])
    with autograd.record():
        y = x * x
    with pytest.raises(ArgumentError, match="variables is empty; give the arrays to differentiate with respect to"):
        autograd.grad(y, [])
    with pytest.raises(ArgumentError, match="variables must be an NDArray or a list of NDArrays, got int 3"):
        autograd.grad(y, 3)  # type: ignore[arg-type]
    with pytest.raises(
        NotRecordedError, match=r"grad: variable 1 \(float32 \(1,\)\) is not on the tape\. Call attach_grad"
    ):
        autograd.grad(y, [x, plain])


def derivatives(function: object, values: object, order: int) -> list[np.ndarray]:
    """Return the first derivatives of sum(function(x) * weights) in turn, each of the sum of the one before."""
    x = variable(values, dtype="float64")
    found = []
    with autograd.record():
        y = function(x)  # type: ignore[operator]
        y = (y * nd.arange(1, y.size + 1, dtype="float64").reshape(y.shape)).sum()
        for _ in range(order):
            [g] = autograd.grad(y, x, create_graph=True)
            found.append(g.asnumpy())
            y = (g * g).sum() if len(found) < order else g
    g.backward()
    return [*found, x.grad.asnumpy()]


def numeric(function: object, values: object, order: int, step: float = 1e-5) -> np.ndarray:
    """Return the derivative after `order` of `derivatives`, by central differences of the last."""
    values = np.array(values, dtype="float64")
    result = np.zeros_like(values)
    for index in np.ndindex(values.shape):
        up, down = values.copy(), values.copy()
        up[index] += step
        down[index] -= step
        difference = derivatives(function, up, order)[-2] - derivatives(function, down, order)[-2]
        result[index] = difference.sum() / (2 * step)
    return result


MATRIX = [[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x * x / (x * x + 2) - 3 * x,
        lambda x: nd.dot(x, x.T * x.sum()),
        lambda x: nd.softmax(x * 2),
        lambda x: nd.log_softmax(x * x),
        lambda x: x[0] * x[1, ::-1] * x[:, 1:2].sum(),
        lambda x: nd.concat(x, x * x, dim=0) ** 2,
        lambda x: nd.tanh(x).reshape((3, 2)) * nd.sigmoid(x).transpose(),
        lambda x: (x.exp() + 1).log().mean(axis=1),
        lambda x: nd.FullyConnected(x, x * x, num_hidden=2, no_bias=True),
        lambda x: nd.LayerNorm(x, x[0], x[1]),
    ],
    ids=[
        "arithmetic",
        "dot",
        "softmax",
        "log_softmax",
        "slices",
        "concat",
        "reshape",
        "log_sum_exp",
        "fully_connected",
        "layer_norm",
    ],
)
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_to_third_order(function: object, order: int) -> None:
    np.testing.assert_allclose(derivatives(function, MATRIX, order)[-1], numeric(function, MATRIX, order), 1e-4, 1e-5)


def test_gradients_of_constant_gradients_are_zero() -> None:
    x = variable()
    with autograd.record():
        [first] = autograd.grad(nd.relu(x) * 2, x, create_graph=True)
        [second] = autograd.grad(first, x, create_graph=True)
        [third] = autograd.grad(second, x, create_graph=True)
    assert (first.asnumpy().tolist(), second.asnumpy().tolist(), third.asnumpy().tolist()) == (
        [2] * 3,
        [0] * 3,
        [0] * 3,
    )
    x.grad[:] = 9
    third.backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_gradients_are_recorded_outside_record_too() -> None:
    x = variable([2.0])
    with autograd.record():
        y = x * x * x
    [g] = autograd.grad(y, x, create_graph=True)
    assert flags() == (False, False)
    g.backward()
    assert x.grad.asscalar() == 12


def test_a_head_gradient_may_be_recorded() -> None:
    x, v = variable([2.0]), variable([3.0])
    with autograd.record():
        y = x * x
        [g] = autograd.grad(y, x, head_grads=v * v, create_graph=True)
    g.backward()  # g = 2 x v^2
    assert (x.grad.asscalar(), v.grad.asscalar()) == (18, 24)
