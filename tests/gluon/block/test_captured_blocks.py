"""Hybridized blocks that define `forward`, while things change between calls: they do what they do unhybridized.

And what their captures are asked for: why there were several, how many, and what runs as it is written.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import minpy as mx
from minpy import autograd, gluon, np, npx
from minpy.gluon import nn

COMPILES = True


class Scaled(gluon.HybridBlock):
    """Of a user's: attributes, a list of them, layers of ours, one of the first generation, and draws of none."""

    offset = 0.5

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.first = nn.Dense(4, in_units=3, activation="tanh")
            self.inner = First()
            self.rest = nn.HybridSequential()
            self.rest.add(nn.Dense(3, in_units=4), nn.LayerNorm(in_channels=3))
            self.weight = gluon.Parameter("weight", shape=(3,), init=mx.init.Constant(0.5))
        self.factor, self.factors = 2.0, [1.0, {"a": 3.0}]

    def forward(self, x: Any) -> Any:
        for layer in self.rest:
            x = layer(self.inner(self.first(x)) if layer is self.rest[0] else x)
        return (x * self.factor + self.factors[0]) * self.factors[1]["a"] * self.weight.data() + self.shifted()

    def shifted(self) -> Any:
        return self.offset


class First(gluon.HybridBlock):
    """Of the first generation."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.power = 1.5

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * self.power


class Other(Scaled):
    def shifted(self) -> Any:
        return -7.0


class OtherFirst(First):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * -4


def _set(path: str, value: Callable[[], Any]) -> Callable[[Any], None]:
    def change(net: Any) -> None:
        *owners, name = path.split(".")
        for owner in owners:
            net = getattr(net, owner)
        setattr(net, name, value())

    return change


def _hooked(net: Any) -> None:
    net.first.register_forward_hook(lambda block, inputs, output: output.__imul__(0))


def _longer(net: Any) -> None:
    net.rest.add(nn.Activation("relu"))


def _replaced(net: Any) -> None:
    layer = nn.Dense(4, in_units=3)
    layer.initialize(mx.init.One())
    net.first = layer


CHANGES: dict[str, Callable[[Any], None]] = {
    "an attribute": _set("factor", lambda: 5.0),
    "an attribute of another type": _set("factor", lambda: np.ones(3) * 3),
    "an attribute through vars": lambda net: vars(net).__setitem__("factor", 5.0),
    "an attribute through object": lambda net: object.__setattr__(net, "factor", 5.0),
    "an attribute that hides one of the class": _set("offset", lambda: -3.0),
    "an attribute of the class": lambda net: setattr(type(net), "offset", -3.0),
    "a method": _set("shifted", lambda: lambda: 11.0),
    "a method of the class": lambda net: setattr(type(net), "shifted", lambda self: 11.0),
    "forward of the class": lambda net: setattr(type(net), "forward", lambda self, x: x * 3),
    "its class": lambda net: setattr(net, "__class__", Other),
    "a list": lambda net: net.factors.__setitem__(0, 6.0),
    "a dict in a list": lambda net: net.factors[1].update(a=6.0),
    "a list that is longer": lambda net: net.factors.append(6.0),
    "a parameter": lambda net: net.weight.set_data(np.arange(3.0)),
    "a parameter in place": lambda net: net.weight.data().__imul__(3),
    "a parameter of a layer": lambda net: net.first.weight.set_data(net.first.weight.data() * 2),
    "parameters that are initialized again": lambda net: net.initialize(mx.init.One(), force_reinit=True),
    "an attribute of a layer": lambda net: setattr(net.rest[1], "_epsilon", 10.0),
    "an attribute of a block of the first generation": _set("inner.power", lambda: 7.0),
    "hybrid_forward of its class": lambda net: setattr(type(net.inner), "hybrid_forward", lambda self, F, x: x * 9),
    "the class of a block of the first generation": lambda net: setattr(net.inner, "__class__", OtherFirst),
    "a layer": _replaced,
    "a layer more": _longer,
    "a layer less": lambda net: net.rest._children.popitem(),
    "a hook": _hooked,
}


def _fresh() -> Any:
    """Return a block of classes of its own, which a change may change."""
    first = type("First", (First,), {"hybrid_forward": First.hybrid_forward})
    kind = type("Scaled", (Scaled,), {"forward": Scaled.forward, "shifted": Scaled.shifted})
    mx.random.seed(1)
    net = kind(prefix="net_")
    net.inner = first()
    net.initialize(mx.init.Uniform(1.0))
    return net


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("case", CHANGES)
def test_changes_between_calls_are_seen(case: str, recorded: bool) -> None:
    answers: list[list[Any]] = []
    for active in (False, True):
        net = _fresh()
        net.hybridize(active)
        x = np.linspace(-1, 1, 12).reshape(4, 3)
        x.attach_grad()
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it runs as it is written
            for number in range(6):
                if number == 3:
                    CHANGES[case](net)
                if recorded:
                    with autograd.record():
                        y = net(x)
                    y.backward()
                    found.append(x.grad.asnumpy())
                else:
                    y = net(x)
                found.append(y.asnumpy())
        answers.append(found)
    for one, other in zip(*answers, strict=True):
        numpy.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-5)


def test_dtypes_of_parameters_that_are_cast() -> None:
    net = _fresh()
    net.hybridize()
    x = np.ones((2, 3))
    assert net(x).dtype == numpy.float32
    net.cast("float64")
    assert net(x.astype("float64")).dtype == numpy.float64


def test_one_capture_serves_calls_that_differ_in_nothing_it_asks_for() -> None:
    net = _fresh()
    net.hybridize()
    for _ in range(3):
        net(np.ones((2, 3)))
        with autograd.record():
            net(np.zeros((2, 3)))
    assert "1 specialization, 1 capture" in net.explain_retraces()


class Moded(gluon.HybridBlock):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.drop, self.norm = nn.Dropout(0.5), nn.BatchNorm(in_channels=4)

    def forward(self, x: Any) -> Any:
        x = self.norm(self.drop(x))
        return x * 2 if autograd.is_training() else x


def test_modes_states_and_draws() -> None:
    net = Moded()
    net.initialize()
    net.hybridize()
    x = np.random.normal(size=(64, 4)) + 3
    for _ in range(3):
        with autograd.record():
            answers = [net(x).asnumpy() for _ in range(2)]
    assert not numpy.array_equal(*answers)  # it draws anew
    assert float(net.norm.running_mean.data().min()) > 1  # the state has moved
    predicted = [net(x).asnumpy() for _ in range(2)]
    numpy.testing.assert_array_equal(*predicted)
    net.hybridize(False)
    numpy.testing.assert_allclose(net(x).asnumpy(), predicted[0], rtol=1e-5)
    net.hybridize()
    net(x)
    with autograd.record():
        net(x)
    assert "2  `is_training()` was False, is True" in net.explain_retraces()


def test_reasons() -> None:
    net = _fresh()
    net.hybridize()
    net(np.ones((2, 3)))
    net.factor = 3.0
    net(np.ones((2, 3)))
    net.factor = 4.0
    net(np.ones((2, 3)))
    net.inner.power = 4.0
    net(np.ones((2, 3)))
    text = net.explain_retraces()
    assert "net: " in text
    assert "`net.factor` was 2.0, is 3.0 (" in text
    lines = text.splitlines()
    if int(numpy.__version__.partition(".")[0]) >= 2:  # before, what a number does to a dtype depends on its value
        assert "→ dynamic" in text
        assert len([line for line in lines if "net.factor" in line]) == 1  # it is a number that changes from then on
    assert f"`{net.inner.name}.power` was 1.5, is 4.0" in lines[-1]


def test_what_has_no_reason_to_tell() -> None:
    net = nn.Dense(2, in_units=3, prefix="dense_")
    with pytest.raises(mx.base.MXNetError, match=r"^dense.explain_retraces: it was not captured"):
        net.explain_retraces()


def test_a_sequence_of_written_blocks_is_one_graph() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=3), Scaled(), nn.HybridSequential())
    net[2].add(Scaled(), nn.Dense(2, in_units=3))
    mx.random.seed(1)  # weights that do not make layer norm's variances small, which would lose digits
    net.initialize(mx.init.Uniform(1.0))
    x = np.linspace(-1, 1, 6).reshape(2, 3)
    expected = net(x).asnumpy()
    net.hybridize()
    for _ in range(3):
        numpy.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-5)
    assert "1 specialization, 1 capture" in net.explain_retraces()
    assert all(block._specialized is None for block in (net[1], net[2][0]))


class Shown(gluon.HybridBlock):
    """As textbooks write attention: the weights are kept to be looked at."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.inner, self.attention_weights = _fresh(), None

    def forward(self, x: Any) -> Any:
        y = self.inner(x)
        self.attention_weights = npx.softmax(y)
        return y * self.attention_weights


def test_a_block_that_keeps_what_it_computes_runs_as_written_with_graphs_inside() -> None:
    net = Shown(prefix="shown_")
    net.hybridize()
    with pytest.warns(UserWarning, match=r"it sets an attribute: shown.attention_weights"):
        net(np.ones((2, 3)))
    for number in (2, 3):  # without a further warning, which would be an error
        net(np.ones((2, 3)) * number)
        assert net.attention_weights.shape == (2, 3)
    assert "1 specialization, 1 capture" in net.inner.explain_retraces()
    assert "as written since call 1" in net.explain_retraces()


@npx.use_np
class Decorated(gluon.HybridBlock):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.dense = nn.Dense(3)

    def forward(self, x: Any) -> Any:
        return self.dense(x) + np.zeros(()) if npx.is_np_array() else None


def test_classes_with_numpys_semantics() -> None:
    net = Decorated()
    net.initialize()
    x = np.ones((2, 4))
    expected = net(x).asnumpy()
    net.hybridize()
    for _ in range(2):
        numpy.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-6)


def test_copies_and_pickles_are_captured_by_themselves() -> None:
    net = Scaled(prefix="net_")
    mx.random.seed(1)  # as above
    net.initialize(mx.init.Uniform(1.0))
    net.hybridize()
    x = np.ones((2, 3))
    expected = net(x).asnumpy()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        numpy.testing.assert_allclose(other(x).asnumpy(), expected, rtol=1e-6)
        other.factor = 0.0
        assert not numpy.allclose(other(x).asnumpy(), expected)
        numpy.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-6)


def test_exports_what_was_called(tmp_path: Any) -> None:
    net = Scaled(prefix="net_")
    net.initialize(mx.init.Uniform(1.0))
    net.hybridize()
    x = np.ones((2, 3))
    expected = net(x).asnumpy()
    files = net.export(str(tmp_path / "net"))
    read = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    numpy.testing.assert_allclose(read(x).asnumpy(), expected, rtol=1e-5)


def test_options_of_hybridize() -> None:
    net = _fresh()
    net.hybridize(compile=False)
    for _ in range(4):
        net(np.ones((2, 3)))
    assert all("compile=False" in str(one) or "native" not in str(one) for one in net.explain())
    net.hybridize(static_alloc=True, static_shape=True)
    assert net(np.ones((2, 3))).shape == (2, 3)


def test_a_shape_that_is_new_at_each_call_runs_as_written_soon() -> None:
    net = _fresh()
    net.hybridize()
    for count in range(1, 60):
        net(np.ones((count, 3)))
    assert net._specialized.history.count < 20


SET = {
    "LeakyReLU": (lambda: nn.LeakyReLU(0.1), "_alpha", (0.1, 2.0, 0.5)),
    "Dense": (lambda: nn.Dense(3, in_units=4, flatten=False), "_flatten", (False, True)),
    "Activation": (lambda: nn.Activation("relu"), "_act_type", ("relu", "tanh", "sigmoid")),
    "ELU": (lambda: nn.ELU(1.0), "_alpha", (1.0, 3.0)),
}


@pytest.mark.parametrize(("make", "name", "values"), SET.values(), ids=SET)
def test_what_is_set_past_setattr_in_layers_is_noticed(make: Any, name: str, values: tuple[Any, ...]) -> None:
    class Around(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.layer = make()

        def forward(self, x: Any) -> Any:
            return self.layer(x) * 2

    net = Around()
    net.initialize()
    x = np.array(numpy.linspace(-2, 2, 8).reshape(2, 1, 4).astype("float32"))
    expected = {}
    for value in values:
        vars(net.layer)[name] = value
        expected[value] = net(x).asnumpy()
    net.hybridize()
    for value in values * 3:
        vars(net.layer)[name] = value
        result = net(x).asnumpy()
        assert result.shape == expected[value].shape
        numpy.testing.assert_allclose(result, expected[value], rtol=1e-5)
    assert f"{net.layer.name}.{name}` was" in str(net.explain_retraces())
