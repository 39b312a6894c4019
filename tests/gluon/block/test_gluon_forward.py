"""Blocks that define `forward`, as MXNet 2's Gluon has them: hybridized they do what they do as they are written."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import minpy as mx
from minpy import autograd, gluon, nd, np, npx
from minpy.core.errors import ArgumentError, MXNetError
from minpy.core.state import TRACES, state, tracing
from minpy.gluon import nn

FACTOR = 2.0


def block_of(forward: Callable[..., Any], **attributes: Any) -> Any:
    kind = type("Layer", (gluon.HybridBlock,), {"forward": forward})
    block = kind(prefix="layer_")
    for name, value in attributes.items():
        setattr(block, name, value)
    return block


class Affine(gluon.HybridBlock):
    """Parameters as attributes, with a name and without; shapes by `infer_shape`."""

    def __init__(self, units: int, **options: Any) -> None:
        super().__init__(**options)
        self.units = units
        self.weight = gluon.Parameter("weight", shape=(0, units), init=mx.init.Constant(0.5), allow_deferred_init=True)
        self.shift = gluon.Parameter(shape=(units,), init="ones")

    def infer_shape(self, x: Any, *_: Any) -> None:
        self.weight.shape = (x.shape[-1], self.units)

    def forward(self, x: Any) -> Any:
        return np.dot(x, self.weight.data()) + self.shift.data()


def assert_both_ways(block: Any, call: Callable[[], Any], times: int = 2) -> Any:
    """Assert that a function gives the same with a block as it is written, and hybridized."""
    block.hybridize(False)
    expected = call()
    block.hybridize()
    for _ in range(times):
        numpy.testing.assert_allclose(numpy.asarray(call()), numpy.asarray(expected), rtol=1e-6)
    assert block._specialized is None or block._specialized.specializations or block._graphs  # captured
    assert block._cached_graph
    return expected


def test_parameters_that_are_attributes() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(Affine(3), Affine(2))
    net.initialize()
    net.hybridize()
    out = net(np.ones((1, 4)))
    assert out.tolist() == [[5.5, 5.5]]
    assert type(out) is np.ndarray
    shapes = {name: parameter.shape for name, parameter in net.collect_params().items()}
    assert shapes == {
        "net_affine0_weight": (4, 3),
        "net_affine0_shift": (3,),
        "net_affine1_weight": (3, 2),
        "net_affine1_shift": (2,),
    }
    with autograd.record():
        loss = net(np.ones((2, 4))).sum()
    loss.backward()
    assert net[0].shift.grad().tolist() == [2.0, 2.0, 2.0]
    assert net[1].weight.grad().tolist() == [[6.0, 6.0]] * 3


@pytest.mark.parametrize("outer_is_written", [False, True])
def test_generations_inside_each_other(outer_is_written: bool) -> None:
    class First(gluon.HybridBlock):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner
            self.scale = self.params.get("scale", shape=(1,), init=mx.init.Constant(3))

        def hybrid_forward(self, F: Any, x: Any, scale: Any) -> Any:
            return F.broadcast_mul(self.inner(x) * 2, scale)

    class Second(gluon.HybridBlock):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner
            self.scale = gluon.Parameter("scale", shape=(1,), init=mx.init.Constant(3))

        def forward(self, x: Any) -> Any:
            return np.exp(self.inner(x)) * self.scale.data() * x.shape[0]

    inner: Any = nn.Dense(2)
    net = Second(First(Second(inner))) if outer_is_written else First(Second(First(inner)))
    net.initialize()
    x = np.full((2, 3), 0.01)
    x.attach_grad()

    def step() -> Any:
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        return [loss.item(), inner.weight.grad().asnumpy().sum(), x.grad.asnumpy().sum()]

    step()
    assert_both_ways(net, step)
    assert net(np.full((4, 3), 0.01)).shape == (4, 2)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [((), {}), ((), {"scale": 3.0}), ((), {"y": True}), ((True,), {"scale": -1.0}), ((None,), {"scale": 0.0})],
)
def test_arguments_by_name(arguments: Any, keywords: Any) -> None:
    def forward(self: Any, x: Any, y: Any = None, *, scale: float = 2.0) -> Any:
        return x * scale if y is None else x * scale + y

    x = np.array([1.0, 2.0])
    arguments = [x * 5 if one is True else one for one in arguments]
    keywords = {name: x * 7 if one is True else one for name, one in keywords.items()}
    block = block_of(forward)
    assert_both_ways(block, lambda: block(x, *arguments, **keywords).asnumpy())


def test_numbers_among_the_arguments_make_graphs_of_their_own() -> None:
    block = block_of(lambda self, x, n, label="a": x * n + len(label))
    block.hybridize()
    x = np.ones(1)
    found = [block(x, *rest).item() for rest in [(2,), (3,), (2.0, "abc"), (float("inf"),), (2,)]]
    assert found == [3.0, 4.0, 5.0, float("inf"), 3.0]
    for values in ([1.0, 2.0], [3.0, 4.0]):  # these may change without its being seen: the block runs as it is written
        assert block(x, numpy.array(values)).tolist() == [values[0] + 1, values[1] + 1]


def test_branches_on_mode_and_shape() -> None:
    def forward(self: Any, x: Any) -> Any:
        x = x * 2 if autograd.is_training() else x * 3
        x = x + 100 if autograd.is_recording() else x
        return x.sum(axis=0) if x.shape[0] > 2 else x[0]

    block = block_of(forward)
    for length in (2, 3, 2):
        for mode in (autograd.record(), autograd.record(train_mode=False), autograd.train_mode(), autograd.pause()):

            def call(length: int = length, mode: Any = mode) -> Any:
                with mode:
                    return block(np.ones((length, 2))).asnumpy()

            assert_both_ways(block, call)


# -- arrays that it refers to ----------------------------------------------------------------------------------------

REFERRING = {
    "itself": lambda self, x: x * self.table,
    "computed": lambda self, x: x * (self.table * 2 + 1),
    "sliced": lambda self, x: x * self.table[1:2],
    "in a list": lambda self, x: x * self.tables[0] + self.tables[1]["b"],
    "computed of one in a list": lambda self, x: x * np.exp(self.tables[0]),
    "foreign": lambda self, x: x * self.foreign,
}


@pytest.mark.parametrize("case", REFERRING)
def test_arrays_that_change(case: str) -> None:
    table = np.array([1.0, 2.0, 3.0])
    block = block_of(REFERRING[case], table=table, tables=[table, {"b": table}], foreign=numpy.array([1.0, 2.0, 3.0]))
    block.hybridize()
    x = np.ones(3)

    def check() -> None:
        numpy.testing.assert_allclose(block(x).asnumpy(), REFERRING[case](block, x).asnumpy(), rtol=1e-6)

    check()
    table *= 3
    check()
    table[1] = 7
    check()
    block.table = np.array([5.0, 6.0, 7.0])
    check()
    block.tables = [np.zeros(3), {"b": table}]
    check()
    block.foreign[:] = 4
    check()


def test_gradients_of_arrays_that_it_refers_to() -> None:
    table = np.array([1.0, 2.0])
    table.attach_grad()
    block = block_of(lambda self, x: x * self.table, table=table)
    block.hybridize()
    for _ in range(2):
        with autograd.record():
            loss = block(np.array([3.0, 4.0])).sum()
        loss.backward()
        assert table.grad.tolist() == [3.0, 4.0]
    computed = block_of(lambda self, x: x * (self.table * 2), table=table)
    computed.hybridize()
    with autograd.record():
        loss = computed(np.array([3.0, 4.0])).sum()
    loss.backward()
    assert table.grad.tolist() == [6.0, 8.0]
    nothing = block_of(lambda self, x: x * (self.table.detach() * 2) * np.arange(2), table=table)
    assert_both_ways(nothing, lambda: nothing(np.ones(2)).asnumpy())


def test_numbers_of_helpers_and_closures(monkeypatch: Any) -> None:
    offset = 1.0

    class Layer(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return self.helped(x) + offset

        def helped(self, x: Any) -> Any:
            return scaled(x)

    block = Layer()
    block.hybridize()
    assert block(np.ones(1)).item() == 3
    monkeypatch.setitem(globals(), "FACTOR", 7.0)
    assert block(np.ones(1)).item() == 8
    offset = 2.0
    assert block(np.ones(1)).item() == 9
    captures = block.explain_retraces()
    assert block(np.ones(1)).item() == 9
    assert block.explain_retraces() == captures


def scaled(x: Any) -> Any:
    return x * FACTOR


# -- what a graph is -------------------------------------------------------------------------------------------------


def test_random_numbers() -> None:
    block = block_of(lambda self, x: x + np.random.uniform(size=x.shape))
    block.hybridize()
    x = np.zeros((50,))
    first = block(x).asnumpy()
    assert not (block(x).asnumpy() == first).any()
    mx.random.seed(4)
    first = block(x).asnumpy()
    mx.random.seed(4)
    numpy.testing.assert_array_equal(block(x).asnumpy(), first)


def test_what_is_paused_has_no_gradient() -> None:
    def forward(self: Any, x: Any) -> Any:
        with autograd.pause():
            factor = x * x
        return x * factor

    block = block_of(forward)
    x = np.array([3.0])
    x.attach_grad()

    def slope() -> float:
        with autograd.record():
            y = block(x)
        y.backward()
        return float(x.grad.item())

    assert assert_both_ways(block, slope) == 9


def test_in_place_operators_on_what_it_has_made() -> None:
    def forward(self: Any, x: Any) -> Any:
        y = x * 2
        z = y
        y += 1
        y *= x
        return z - y + y

    block = block_of(forward)
    assert_both_ways(block, lambda: block(np.array([1.0, 5.0])).asnumpy())


def test_second_order() -> None:
    block = block_of(lambda self, x: np.sin(x) * x * x)
    x = np.array([0.3, 0.7])
    x.attach_grad()

    def curvature() -> Any:
        with autograd.record():
            [slope] = autograd.grad(block(x), [x], create_graph=True)
            total = slope.sum()
        total.backward()
        return x.grad.asnumpy()

    assert_both_ways(block, curvature)


def test_exports_with_the_arrays_that_it_refers_to(tmp_path: Any) -> None:
    class Layer(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.weight = gluon.Parameter("weight", shape=(3,), init=mx.init.Constant(2))
            self.table = np.array([1.0, 2.0, 3.0])

        def forward(self, x: Any) -> Any:
            return x * self.weight.data() + self.table

    block = Layer()
    block.initialize()
    block.hybridize()
    wanted = block(np.ones(3))
    symbols, values = block.export(tmp_path / "layer")
    loaded = gluon.SymbolBlock.imports(symbols, ["data"], values)
    assert loaded(np.ones(3)).asnumpy().tolist() == wanted.tolist() == [3.0, 4.0, 5.0]


def test_threads_that_trace_at_once() -> None:
    blocks = [block_of(lambda self, x: np.exp(x) * self.factor, factor=float(number)) for number in range(8)]
    for block in blocks:
        block.hybridize()
    found: dict[int, float] = {}
    barrier = threading.Barrier(len(blocks))

    def run(number: int) -> None:
        barrier.wait()
        for length in range(1, 6):
            found[number] = float(blocks[number](np.zeros((length,)))[0].item())

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(blocks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: float(number) for number in range(len(blocks))}
    assert not TRACES


# -- what runs as it is written --------------------------------------------------------------------------------------


def helper_that_asks(x: Any) -> Any:
    return float(x.sum())


def _stored(self: Any, x: Any) -> Any:
    x = x * 1
    x[0] = 3
    return x


def _changed_while_viewed(view: Callable[[Any], Any]) -> Callable[..., Any]:
    def forward(self: Any, x: Any) -> Any:
        y = x * 2
        z = view(y)
        y += 1
        return z

    return forward


def _argument_changed(self: Any, x: Any) -> Any:
    x += 1
    return x


def _noted_in_an_attribute(self: Any, x: Any) -> Any:
    self.table = x * 2
    return self.table + 1


REFUSED: dict[str, tuple[Any, str]] = {
    "bool": (lambda self, x: x if x.sum() > 0 else -x, "it chooses by values"),
    "asnumpy": (lambda self, x: np.array(x.asnumpy()), r"asnumpy"),
    "in a helper": (lambda self, x: x * helper_that_asks(x), "it makes a Python number of an array"),
    "an attribute": (_noted_in_an_attribute, r"it sets an attribute: \S+\.table"),
    "random": (lambda self, x: x * 0 + (mx.nd.random.uniform(shape=(2,)).as_np_ndarray() < 2), r"mx\.nd\.random"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_graph_cannot(case: str) -> None:
    forward, words = REFUSED[case]
    block = block_of(forward, table=np.ones(2))
    expected = block(np.ones(2)).asnumpy()
    block.hybridize()
    with pytest.warns(UserWarning, match=words) as warned:
        found = [block(np.ones(2)).asnumpy() for _ in range(3)]
    (warning,) = warned
    assert str(warning.message).startswith(
        "layer is hybridized, and runs as it is written, because it cannot become a graph: "
    )
    assert re.search(r"\(test_gluon_forward.py:[0-9]+\)", str(warning.message))
    assert "call hybridize(False) on the block that does it" in str(warning.message)
    for answer in found:
        numpy.testing.assert_array_equal(answer, expected)
    assert tracing.trace is None
    assert not TRACES
    assert not state.recording
    with pytest.raises(ArgumentError, match="the block has no graph"):
        block.explain()
    assert re.search(rf"as written since call 1: .*{words}.*\(test_gluon_forward.py:[0-9]+\)", block.explain_retraces())


CHANGING: dict[str, Any] = {
    "store": _stored,
    "an argument": _argument_changed,
    "semantics": _changed_while_viewed(lambda y: y.as_nd_ndarray()),
    "a slice": _changed_while_viewed(lambda y: y[0:1]),
    "no copy": _changed_while_viewed(lambda y: y.astype("float32", copy=False)),
}


@pytest.mark.parametrize("case", CHANGING)
def test_changes_in_place_are_those_of_the_block_as_written(case: str) -> None:
    block = block_of(CHANGING[case])
    expected, given = [np.arange(2.0), np.ones(2)], [np.arange(2.0), np.ones(2)]
    answers = [block(x).asnumpy() for x in expected]
    block.hybridize()
    for x, before, answer in zip(given, expected, answers, strict=True):
        numpy.testing.assert_array_equal(block(x).asnumpy(), answer)
        numpy.testing.assert_array_equal(x.asnumpy(), before.asnumpy())
    assert "1 specialization, 1 capture" in block.explain_retraces()


@pytest.mark.parametrize("view", [lambda y: y[0:1], lambda y: y.reshape((-1,)), lambda y: y.as_np_ndarray()])
def test_views_of_mxnet_s_arrays(view: Any) -> None:
    block = block_of(_changed_while_viewed(view))
    expected = block(nd.ones((2,))).asnumpy()
    block.hybridize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may run as it is written
        numpy.testing.assert_array_equal(block(nd.ones((2,))).asnumpy(), expected)


def test_errors_of_forward_come_out_as_they_are() -> None:
    def forward(self: Any, x: Any) -> Any:
        raise KeyError("own")

    block = block_of(forward)
    block.hybridize()
    with pytest.raises(KeyError, match="own"):
        block(np.ones(2))
    assert tracing.trace is None
    assert not TRACES
    assert npx.relu(np.ones(1)).item() == 1


def test_unknown_shapes_without_infer_shape() -> None:
    block = block_of(lambda self, x: x * self.weight.data())
    block.weight = gluon.Parameter(shape=(0,), allow_deferred_init=True)
    block.initialize()
    with pytest.raises(MXNetError, match=r"layer_weight \(0,\).* in a method: `def infer_shape\(self, x\)"):
        block(np.ones((2,)))
