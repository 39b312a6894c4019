"""Hybridized blocks around which things change, or whose forward does what graphs cannot: right numbers or an error."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.errors import NotTraceableError
from minpy.core.state import TRACES, tracing
from minpy.gluon import nn

TABLE: Any = None
FACTOR = 2.0


def scaled(x: Any) -> Any:
    """A helper of blocks, which refers to a global."""
    return x * FACTOR


def block(forward: Callable[..., Any], **attributes: Any) -> Any:
    """Return a block with this `forward`, or `hybrid_forward` if its second argument is `F`, and attributes."""
    name = "hybrid_forward" if forward.__code__.co_varnames[1] == "F" else "forward"
    net = type("Made", (gluon.HybridBlock,), {name: forward, "__module__": __name__})(prefix="made_")
    for key, value in attributes.items():
        setattr(net, key, value)
    return net


# -- what changes between calls --------------------------------------------------------------------------------------


def replace(name: str, value: Any) -> Callable[[Any], None]:
    return lambda net: setattr(net, name, value)


CHANGED: dict[str, tuple[Any, dict[str, Callable[[], Any]], Callable[[Any], Any]]] = {
    "array": (lambda self, x: x + self.t, {"t": lambda: mx.np.ones(3)}, replace("t", mx.np.ones(3) * 5)),
    "array in place": (lambda self, x: x + self.t, {"t": lambda: mx.np.ones(3)}, lambda net: net.t.__iadd__(2)),
    "computed array in place": (
        lambda self, x: x + mx.np.exp(self.t),
        {"t": lambda: mx.np.ones(3)},
        lambda net: net.t.__iadd__(2),
    ),
    "numpy array": (lambda self, x: x + self.t, {"t": lambda: np.ones(3, "f")}, replace("t", np.full(3, 7, "f"))),
    "numpy array in place": (
        lambda self, x: x + self.t,
        {"t": lambda: np.ones(3, "f")},
        lambda net: net.t.__iadd__(2),
    ),
    "list": (lambda self, F, x: x * self.t[0], {"t": lambda: [2.0]}, lambda net: net.t.__setitem__(0, 5.0)),
    "dict": (lambda self, F, x: x * self.t["a"], {"t": lambda: {"a": 2.0}}, lambda net: net.t.update(a=5.0)),
    "dict anew": (lambda self, F, x: x * self.t["a"], {"t": lambda: {"a": 2.0}}, replace("t", {"a": 5.0})),
    "nested": (
        lambda self, F, x: x * self.t["a"][1],
        {"t": lambda: {"a": [1, 2.0]}},
        lambda net: net.t["a"].__setitem__(1, 5.0),
    ),
    "function": (
        lambda self, F, x: self.t(x),
        {"t": lambda: lambda x: x * 2},
        replace("t", lambda x: x * 5),
    ),
    "int for float": (lambda self, x: x * self.t, {"t": lambda: 2}, replace("t", -2)),
}


COUNTED: dict[str, tuple[Any, Any, str]] = {
    "number": (lambda self, x: _counted(self, x), lambda: 0, "it sets an attribute: made.t"),
    "array": (lambda self, x: _summed(self, x), lambda: mx.np.zeros(1), "it stores into an array that it was given"),
}


def _counted(self: Any, x: Any) -> Any:
    self.t += 1
    return x * self.t


def _summed(self: Any, x: Any) -> Any:
    self.t += 1
    return x * self.t


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("case", COUNTED)
def test_a_block_that_counts_its_calls_runs_as_it_is_written(case: str, inside: bool) -> None:
    forward, start, words = COUNTED[case]
    net = block(forward, t=start())
    called = net
    if inside:
        called = nn.HybridSequential()
        called.add(net)
    called.hybridize()
    with pytest.warns(UserWarning, match=words) as warned:
        answers = [float(called(mx.np.ones(1))[0]) for _ in range(5)]
    assert answers == [1, 2, 3, 4, 5]
    assert len(warned) == 1


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("case", CHANGED)
def test_changes_are_seen(case: str, inside: bool) -> None:
    forward, attributes, change = CHANGED[case]
    found = []
    for active in (False, True):
        net = block(forward, **{name: make() for name, make in attributes.items()})
        called = net
        if inside:
            called = nn.HybridSequential()
            called.add(net)
        called.hybridize(active)
        x = mx.np.arange(1.0, 4.0)
        answers = [called(x).asnumpy()]
        answers.append(called(x).asnumpy())
        change(net)
        found.append([*answers, called(x).asnumpy(), called(x).asnumpy()])
    for eager, hybridized in zip(*found, strict=True):
        np.testing.assert_allclose(hybridized, eager, rtol=1e-6)


def test_globals_and_closures_that_change(monkeypatch: Any) -> None:
    factor = 2.0

    def forward(self: Any, x: Any) -> Any:
        return scaled(x) * factor + TABLE

    monkeypatch.setitem(globals(), "TABLE", mx.np.ones(2))
    net = block(forward)
    net.hybridize()
    x = mx.np.ones(2)
    assert net(x)[0] == 5
    factor = 3.0
    assert net(x)[0] == 7
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert net(x)[0] == 13
    monkeypatch.setitem(globals(), "TABLE", mx.np.zeros(2))
    assert net(x)[0] == 12
    TABLE[:] = 1
    assert net(x)[0] == 13


def test_what_does_not_change_is_not_traced_again() -> None:
    def forward(self: Any, x: Any) -> Any:
        return x * self.t["a"] + self.u + self.v[0]

    net = block(forward, t={"a": 2.0}, u=mx.np.ones(2), v=[1, [2]])
    net.hybridize()
    net(mx.np.ones(2))
    graph = net._cached_op
    other = mx.np.ones(2)
    other[:] = 2
    net.w = object()
    assert net(other)[0] == 6
    assert net._cached_op is graph


def test_a_cast_of_one_parameter_is_seen_from_outside() -> None:
    class Inner(gluon.HybridBlock):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.w = gluon.Parameter("w", shape=(2,), init="ones")

        def forward(self, x: Any) -> Any:
            return x.astype(self.w.data().dtype) * self.w.data()

    net = nn.HybridSequential()
    net.add(Inner())
    net.initialize()
    net.hybridize()
    for dtype in ("float32", "float64", "float16"):
        net[0].w.cast(dtype)
        assert net(mx.np.ones(2)).dtype == dtype


def test_values_set_before_a_cast_and_the_first_call() -> None:
    net = nn.Dense(2)
    net.initialize()
    net.weight.set_data(nd.ones((2, 3)))
    net.cast("float64")
    assert net(nd.ones((1, 3), dtype="float64")).dtype == np.float64
    assert net.weight.data().dtype == np.float64


# -- what a forward asks and does ------------------------------------------------------------------------------------


def by_recording(F: Any, x: Any) -> Any:
    return x * (2 if autograd.is_recording() else 3)


def paused(F: Any, x: Any) -> Any:
    with autograd.pause():
        y = F.exp(x)
    return x * y


def either(function: Callable[[Any, Any], Any], written: bool) -> Any:
    if written:
        return block(lambda self, x: function(nd, x))
    return block(lambda self, F, x: function(F, x))


@pytest.mark.parametrize("written", [False, True])
def test_a_branch_on_recording(written: bool) -> None:
    net = either(by_recording, written)
    net.hybridize()
    x = nd.ones((1,))
    for _ in range(2):
        assert net(x).asscalar() == 3
        with autograd.record():
            assert net(x).asscalar() == 2
            with autograd.pause():
                assert net(x).asscalar() == 3


@pytest.mark.parametrize("called_before", [False, True])
@pytest.mark.parametrize("written", [False, True])
def test_what_is_computed_in_a_pause_has_no_gradient(written: bool, called_before: bool) -> None:
    net = either(paused, written)
    net.hybridize()
    x = nd.ones((1,))
    x.attach_grad()
    if called_before:
        net(x)
    with autograd.record():
        y = net(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.e, rtol=1e-6)


@pytest.mark.parametrize("written", [False, True])
def test_operators_in_a_scope_of_another_mode(written: bool) -> None:
    def dropped(F: Any, x: Any) -> Any:
        with autograd.predict_mode():
            return F.Dropout(F.relu(x), p=0.5)

    net = either(dropped, written)
    net.hybridize()
    x = nd.ones((20,))
    assert net(x).asnumpy().tolist() == [1] * 20
    if written:  # it runs as it is written
        with autograd.record(), pytest.warns(UserWarning, match="runs as it is written") as warned:
            answers = [net(x).asnumpy().tolist() for _ in range(2)]
        assert answers == [[1] * 20] * 2
        (text,) = [str(warning.message) for warning in warned]
    else:
        with autograd.record(), pytest.raises(NotTraceableError) as caught:
            net(x)
        text = str(caught.value)
    assert "made is hybridized, and at " in text
    assert "`return F.Dropout(F.relu(x), p=0.5)` Dropout is called inside autograd.predict_mode()" in text
    assert net(x).asnumpy().tolist() == [1] * 20


def test_arguments_by_keyword_only() -> None:
    net = block(lambda self, x, *, k=2, y=None: x * k if y is None else x * k + y)
    net.hybridize()
    x = mx.np.ones(1)
    assert [net(x)[0], net(x, k=3)[0], net(x, k=3, y=x)[0], net(x, y=x)[0]] == [2, 3, 4, 3]


def test_numpy_arrays_as_arguments() -> None:
    net = block(lambda self, x, t: x + t)
    net.hybridize()
    x, table = mx.np.zeros(3000), np.zeros(3000, "f")
    assert not net(x, table).any()
    table[1500] = 7  # in the part that `repr` leaves out
    assert net(x, table)[1500] == 7


def test_arguments_that_may_change_unseen_let_it_run_as_written() -> None:
    class Options:
        factor = 2.0

    net = block(lambda self, x, options: x * options.factor)
    net.hybridize()
    options = Options()
    assert net(mx.np.ones(1), options)[0] == 2
    options.factor = 3.0
    assert net(mx.np.ones(1), options)[0] == 3


def test_plain_arguments_are_told_apart_by_their_types() -> None:
    net = block(lambda self, x, k: x * k)
    net.hybridize()
    x = mx.np.ones(2, dtype="int32")
    for k in (1, True, 1.0, -0.0, 0.0, 2):
        assert net(x, k).dtype == (x * k).dtype
        np.testing.assert_array_equal(net(x, k).asnumpy(), (x * k).asnumpy())


def test_deferred_parameters_wait_for_the_first_call_only() -> None:
    class Deferred(gluon.HybridBlock):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.w = gluon.Parameter("w", shape=(0,), init="ones", allow_deferred_init=True)

        def infer_shape(self, x: Any) -> None:
            self.w.shape = (x.shape[1],)

        def forward(self, x: Any) -> Any:
            return x * self.w.data()

    net = Deferred()
    net.initialize()
    net.hybridize()
    for count in (1, 2, 3, 2, 3):
        assert net(mx.np.ones((count, 2))).shape == (count, 2)
    assert "2 specializations, 2 captures" in net.explain_retraces()


# -- both generations in one -----------------------------------------------------------------------------------------


class Second(gluon.HybridBlock):
    """Of the second generation, with a parameter whose shape follows, and a branch on the shape."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.w = gluon.Parameter("w", shape=(0,), init=mx.init.Constant(0.5), allow_deferred_init=True)

    def infer_shape(self, x: Any) -> None:
        self.w.shape = (x.shape[1],)

    def forward(self, x: Any) -> Any:
        return mx.np.tanh(x) * self.w.data() * (2 if x.shape[0] > 2 else 1)


class First(gluon.HybridBlock):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.inner = Second()
            self.bias = self.params.get("bias", shape=(1,), init="ones")

    def hybrid_forward(self, F: Any, x: Any, bias: Any) -> Any:
        return F.broadcast_add(self.inner(x) + self.inner(x * 2), bias)


@pytest.mark.parametrize("numpy_mode", [False, True])
def test_blocks_that_define_forward_inside_of_those_that_do_not(numpy_mode: bool) -> None:
    def steps() -> list[Any]:
        net = nn.HybridSequential()
        net.add(Second(), nn.Dense(3), First(), nn.BatchNorm(), Second())
        net.initialize(mx.init.Constant(0.25))
        found: list[Any] = []
        for active in (False, True):
            net.hybridize(active)
            for count in (2, 3, 2):
                data = np.linspace(-1, 1, count * 4).reshape(count, 4).astype("float32")
                x = mx.np.array(data) if numpy_mode else nd.array(data)
                x.attach_grad()
                with autograd.record():
                    out = net(x)
                    loss = (out * out).sum()
                loss.backward()
                gradients = [one.grad().asnumpy().copy() for one in net.collect_params(".*w|.*bias").values()]
                found.append([out.asnumpy(), x.grad.asnumpy(), *gradients])
        return found

    if numpy_mode:
        with mx.util.np_array(True), mx.util.np_shape(True):
            found = steps()
    else:
        found = steps()
    for eager, hybridized in zip(found[:3], found[3:], strict=True):
        for one, other in zip(eager, hybridized, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


UNSEEN: dict[str, Any] = {
    "deque": lambda: __import__("collections").deque([2.0]),
    "iterator": lambda: iter([2.0, 3.0]),
    "bytearray": lambda: bytearray([2]),
    "mappingproxy": lambda: types.MappingProxyType({0: 2.0}),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", UNSEEN)
def test_what_hybrid_forward_names_and_nobody_sees_change_is_frozen_with_one_warning(kind: str, inside: bool) -> None:
    net = block(lambda self, F, x: x * (next(self.t) if kind == "iterator" else self.t[0]), t=UNSEEN[kind]())
    called = net
    if inside:
        called = block(lambda self, x: self.net(x) + 1, net=net)
    called.hybridize()
    x = mx.np.ones(2)
    words = rf"made is hybridized, and its hybrid_forward refers to t \(.*{kind}"
    with pytest.warns(UserWarning, match=words) as warned:
        called(x)
    assert len(warned) == 1
    assert called(x).tolist() == [2 + inside] * 2  # without a further warning, which would be an error


# -- what is refused -------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, str]] = {
    "attribute": ("self.h = mx.np.tanh(x + self.h); return self.h", "it sets an attribute: made.h"),
    "list": ("self.l = [x * 2]; return x", "it sets an attribute: made.l"),
    "in place": ("self.h += x; return x + self.h", "it stores into an array that it was given"),
    "out": ("return mx.np.add(x, 1, out=self.h)", "it stores into an array that it was given"),
    "random": ("return x + (mx.nd.random.uniform(shape=(2,)).as_np_ndarray() < 2)", "mx.nd.random"),
}


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_what_a_graph_cannot_do_is_done_as_written(case: str, outside: bool) -> None:
    line, words = REFUSED[case]
    scope: dict[str, Any] = {"mx": mx, "__name__": __name__}
    exec(f"def forward(self, x): {line}", scope)
    states = []
    for active in (False, True):
        net = block(scope["forward"], h=mx.np.zeros(2), l=None)
        called = net
        if outside:
            called = nn.HybridSequential(prefix="outer_")
            called.add(net)
        called.hybridize(active)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            answers = [called(mx.np.ones(2)).tolist() for _ in range(3)]
        states.append((answers, net.h.tolist(), None if net.l is None else net.l[0].tolist()))
        assert [
            "made is hybridized, and runs as it is written, because it cannot become a graph: " in str(warning.message)
            and f"{words}" in str(warning.message)
            and "(<string>:1)" in str(warning.message)
            for warning in warned
        ] == [True] * active
        assert not TRACES
        assert (tracing.trace, tracing.modes) == (None, None)
    assert states[0] == states[1]


def test_arrays_that_need_gradients_get_them() -> None:
    net = block(lambda self, x: x * mx.np.exp(self.g), g=mx.np.zeros(2))
    net.g.attach_grad()
    net.hybridize()
    for _ in range(2):
        with autograd.record():
            net(mx.np.ones(2) * 3).sum().backward()
        assert net.g.grad.tolist() == [3, 3]


def test_errors_in_the_middle_of_a_trace_leave_nothing() -> None:
    def forward(self: Any, x: Any) -> Any:
        self.h = x * 2
        with self.name_scope(), autograd.pause():
            raise LookupError

    net = block(forward, h=None)
    net.hybridize()
    for _ in range(2):
        with autograd.record(), pytest.raises(LookupError):
            net(mx.np.ones(2))
    assert not TRACES
    assert net.h.tolist() == [2, 2]  # as written
    assert not autograd.is_recording()
    assert nn.Dense(1, prefix="free_").weight.name == "free_weight"
