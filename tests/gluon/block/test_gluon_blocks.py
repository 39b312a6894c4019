"""Blocks: names, what is inside, hooks, the table of `summary`, files, copies."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from collections import deque
from typing import Any

import numpy
import pytest

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.errors import ArgumentError, DTypeError, FileFormatError, MXNetError, ShapeError
from minpy.gluon import nn


class Tied(gluon.HybridBlock):
    """Two layers with the same parameters, a parameter of its own, and a block outside of the scope."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.first = nn.Dense(3, in_units=3)
            self.second = nn.Dense(3, in_units=3, params=self.first.params)
            self.shift = self.params.get("shift", shape=(2,), grad_req="null", init="ones")

    def hybrid_forward(self, F: Any, x: Any, shift: Any) -> Any:
        return self.second(self.first(self.first(x))), [x, self.first(x)]


def mlp(**options: Any) -> Any:
    net = nn.HybridSequential(**options)
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu", in_units=5), nn.Dense(3, in_units=4))
    return net


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_in_threads_do_not_mix() -> None:
    names: dict[int, list[str]] = {}
    barrier = threading.Barrier(4)

    def build(number: int) -> None:
        barrier.wait()
        found = []
        for _ in range(20):
            net = nn.HybridSequential(prefix=f"t{number}_")
            with net.name_scope():
                net.add(nn.Dense(2), nn.Dense(2))
            found += [one.prefix for one in net]
        names[number] = found

    threads = [threading.Thread(target=build, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == {number: [f"t{number}_dense0_", f"t{number}_dense1_"] * 20 for number in range(4)}


def test_a_scope_ends_with_an_exception() -> None:
    net = nn.Sequential(prefix="net_")
    with pytest.raises(KeyError), net.name_scope():
        raise KeyError
    assert not nn.Dense(2).prefix.startswith("net_")
    with net.name_scope(), net.name_scope():
        assert nn.Dense(2).prefix == "net_dense0_"


# -- what is inside ----------------------------------------------------------------------------------------------------


def test_blocks_that_are_replaced_and_deleted() -> None:
    net = Tied(prefix="net_")
    net.second = nn.Dense(7, in_units=3, prefix="other_")
    assert [*net._collect_params_with_prefix()] == [
        "shift",
        "first.weight",
        "first.bias",
        "second.weight",
        "second.bias",
    ]
    assert "other_weight" in net.collect_params()
    del net.second
    assert "other_weight" not in net.collect_params()
    assert [*net._children] == ["first"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda net: setattr(net, "first", 3),
            r"Tied\.first is a Block, Dense\(.*cannot become int 3\. Give it another",
        ),
        (lambda net: setattr(net, "shift", "x"), r"Tied\.shift is a Parameter, .* cannot become str 'x'"),
        (lambda net: setattr(net, "shift", gluon.Parameter("y")), r"Tied\.shift is a parameter already"),
        (lambda net: net.register_child(nn.Sequential()), r"net: a child of a HybridBlock must be a HybridBlock"),
        (lambda net: nn.Sequential(prefix="s_").add(print), r"s\.register_child: got .*print.*use gluon\.nn\.Lambda"),
    ],
)
def test_what_is_no_child(change: Any, words: str) -> None:
    net = Tied(prefix="net_")
    with pytest.raises(ArgumentError, match=words):
        change(net)
    assert [*net._children] == ["first", "second"]


def test_attributes_before_init() -> None:
    class Hasty(gluon.Block):
        def __init__(self) -> None:
            self.dense = nn.Dense(2)

    with pytest.raises(
        MXNetError, match=r"Hasty\.dense = \.\.\.: call super\(\)\.__init__\(\) before blocks and param"
    ):
        Hasty()


def test_blocks_in_lists_are_warned_of() -> None:
    class Hiding(gluon.Block):
        def __init__(self) -> None:
            super().__init__(prefix="hiding_")
            self.blocks = {"a": [nn.Dense(2, prefix="lost_")]}

    net = Hiding()
    with pytest.warns(UserWarning, match=r"hiding\.blocks holds blocks that are not registered \(lost, \.\.\.\)"):
        assert not len(net.collect_params())
    net.register_child(net.blocks["a"][0])
    assert "lost_weight" in net.collect_params()


def test_apply_goes_through_all() -> None:
    seen: list[str] = []
    net = mlp(prefix="net_")
    assert net.apply(lambda block: seen.append(block.name)) is net
    assert seen == ["net_dense0_relu", "net_dense0", "net_dense1", "net"]


# -- hooks -------------------------------------------------------------------------------------------------------------


def test_hooks_are_called_in_order_and_detached() -> None:
    seen: list[Any] = []
    net = mlp()
    net.initialize()
    first = net.register_forward_pre_hook(lambda block, inputs: seen.append(("before", block is net, len(inputs))))
    with net.register_forward_hook(lambda block, inputs, out: seen.append(("after", out.shape))):
        net(nd.ones((2, 5)))
    net(nd.ones((2, 5)))
    first.detach()
    first.detach()
    net(nd.ones((2, 5)))
    assert seen == [("before", True, 1), ("after", (2, 3)), ("before", True, 1)]
    with pytest.raises(ArgumentError, match=r"a hook must be callable, got int 3"):
        net.register_forward_hook(3)


def test_op_hooks_with_inputs() -> None:
    seen: list[Any] = []
    top = nn.Sequential()
    net = nn.Dense(2, in_units=3, prefix="d_")
    top.add(net)
    top.initialize()
    net.hybridize()
    top.register_op_hook(lambda name, kind, array: seen.append((name, kind, array.shape)), monitor_all=True)
    top(nd.ones((1, 3)))
    assert seen == [
        ("d_fwd_data", "FullyConnected", (1, 3)),
        ("d_fwd_weight", "FullyConnected", (2, 3)),
        ("d_fwd_bias", "FullyConnected", (2,)),
        ("d_fwd_output", "FullyConnected", (1, 2)),
    ]


# -- summary -----------------------------------------------------------------------------------------------------------

TABLES = {
    "sequence": (
        lambda: (mlp(prefix="net_"), nd.ones((2, 5))),
        """
               Input                                      (2, 5)               0
        Activation-1                                      (2, 4)               0
             Dense-2                                      (2, 4)              24
             Dense-3                                      (2, 3)              15
""",
        (39, 39, 0, 0, 39),
    ),
    "shared": (
        lambda: (Tied(), nd.ones((2, 3))),
        """
               Input                                      (2, 3)               0
             Dense-1                                      (2, 3)              12
             Dense-2                                      (2, 3)              12
             Dense-3                                      (2, 3)              12
             Dense-4                                      (2, 3)              12
              Tied-5                    (2, 3), [(2, 3), (2, 3)]               2
""",
        (50, 48, 2, 36, 14),
    ),
    "single": (
        lambda: (nn.Conv2D(3, 2), nd.ones((1, 2, 4, 4))),
        """
               Input                                (1, 2, 4, 4)               0
            Conv2D-1                                (1, 3, 3, 3)              27
""",
        (27, 27, 0, 0, 27),
    ),
    "deferred": (
        lambda: (nn.Dense(4, activation="relu"), nd.ones((2, 5))),
        """
               Input                                      (2, 5)               0
        Activation-1                                      (2, 4)               0
             Dense-2                                      (2, 4)              24
""",
        (24, 24, 0, 0, 24),
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_summary(case: str, capsys: Any) -> None:
    make, rows, (total, trainable, rest, shared, unique) = TABLES[case]
    net, x = make()
    net.initialize()
    net.summary(x)
    line, double = "-" * 80, "=" * 80
    assert capsys.readouterr().out == (
        f"{line}\n        Layer (type)                                Output Shape         Param #\n"
        f"{double}{rows}{double}"
        "\nParameters in forward computation graph, duplicate included\n"
        f"   Total params: {total}\n   Trainable params: {trainable}\n   Non-trainable params: {rest}\n"
        f"Shared params in forward computation graph: {shared}\nUnique parameters in model: {unique}\n{line}\n"
    )
    assert not any(block._forward_hooks for block in [net, *net._children.values()])
    net.hybridize()
    with pytest.raises(MXNetError, match=r"is hybridized, so that the blocks inside are not called one by one\. Call"):
        net.summary(x)
    assert not net._forward_hooks


# -- copies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
@pytest.mark.parametrize("hybridized", [False, True])
def test_copies_keep_what_is_shared(make: Any, hybridized: bool) -> None:
    net = Tied(prefix="net_")
    net.initialize()
    net.hybridize(hybridized)
    x = nd.ones((1, 3))
    wanted = net(x)[0].asnumpy()
    made = make(net)
    assert made.first.weight is made.second.weight is made.first.params["net_dense0_weight"]
    assert made.first.weight is not net.first.weight
    numpy.testing.assert_array_equal(made(x)[0].asnumpy(), wanted)
    assert [*made.collect_params().keys()] == [*net.collect_params().keys()]
    with autograd.record():
        loss = made(x)[0].sum()
    loss.backward()
    assert made.first.weight.grad().asnumpy().any()
    assert not net.first.weight.grad().asnumpy().any()
    made.first.weight.set_data(nd.zeros((3, 3)))
    assert not made.second.weight.data().asnumpy().any()
    numpy.testing.assert_array_equal(net(x)[0].asnumpy(), wanted)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deduplicate", [False, True])
def test_tied_parameters_in_files(deduplicate: bool, tmp_path: Any) -> None:
    net = Tied()
    net.initialize(mx.init.Normal())
    net.save_parameters(tmp_path / "a.params", deduplicate=deduplicate)
    assert len(nd.load(str(tmp_path / "a.params"))) == (3 if deduplicate else 5)
    other = Tied()
    other.load_parameters(tmp_path / "a.params")
    numpy.testing.assert_array_equal(other.second.weight.data().asnumpy(), net.first.weight.data().asnumpy())


def test_nothing_is_loaded_if_something_does_not_fit(tmp_path: Any) -> None:
    net = mlp()
    net.initialize()
    path = tmp_path / "a.params"
    net.save_parameters(path)
    before = path.read_bytes()
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"1.bias": nd.ones((9,))}, ShapeError, r"has shape \(9,\), the block \(3,\)"),
        ({"1.bias": nd.ones((3,), dtype="float64")}, DTypeError, r"has dtype float64, the block float32\. Give cast_d"),
        ({"1.bia": nd.ones((3,))}, MXNetError, r"the dict has 1 name\(s\) that the block has not: '1\.bia'.*'1\.bias'"),
    ]
    for change, error, words in cases:
        other = mlp()
        other.initialize(mx.init.Zero())
        with pytest.raises(error, match=words.replace("the dict", "dict")):
            other.load_dict({**nd.load(str(path)), **change})
        assert not other[0].weight.data().asnumpy().any()
    waiting = nn.Dense(2)
    with pytest.raises(MXNetError, match="is not initialized"):
        waiting.save_parameters(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.params"]


@pytest.mark.parametrize("hybridized", [False, True])
def test_models(hybridized: bool, tmp_path: Any) -> None:
    net = mlp()
    net.initialize()
    net.hybridize(hybridized)
    x = nd.ones((2, 5))
    wanted = net(x).asnumpy()
    base = str(tmp_path / "net")
    net.save(base)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["net-model.json", "net-model.params"]
    other = mlp()
    other.load(base)
    assert other._active is hybridized
    numpy.testing.assert_allclose(other(x).asnumpy(), wanted, rtol=1e-6)
    with pytest.raises(
        MXNetError, match=r"describes .* with 2 block\(s\) inside, and .* has 0\. Build the block as it"
    ):
        nn.HybridSequential().load(base)
    (tmp_path / "net-model.json").write_text("{")
    with pytest.raises(FileFormatError, match=r"Block\.load: .*net-model\.json' is no JSON"):
        other.load(base)


def test_graphs_of_blocks() -> None:
    net = mlp(prefix="net_")
    net.initialize()
    net.hybridize()
    assert net._active
    inputs, out = net._get_graph(nd.ones((2, 5)))
    assert [one.name for one in inputs] == ["data"]
    assert out.list_outputs() == ["net_dense1_fwd_output"]
    assert json.loads(out.tojson())["heads"]


# -- what a changed attribute costs ------------------------------------------------------------------------------------


def test_a_changed_attribute_is_looked_at_where_it_is() -> None:
    looked: deque[str] = deque()

    class Counting(nn.HybridSequential):
        @property
        def _not_compared(self) -> frozenset[str]:  # type: ignore[override]
            looked.append(self.name)
            return frozenset()

    net = Counting(prefix="net_")
    with net.name_scope():
        for number in range(20):
            net.add(Counting(prefix=f"part{number}_"))
            net[number].add(nn.Activation("relu"))
    net.hybridize()
    x = nd.ones((2,))
    net(x)
    net(x)
    looked.clear()
    net[3].unrelated = object()
    net(x)
    assert [*looked] == [net[3].name]
    net(x)
    assert len(looked) == 1
