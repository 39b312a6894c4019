"""Hybridized blocks: what runs is a graph, and nobody can tell but by the time it takes."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, customop, gluon, nd
from minpy.core.errors import ArgumentError, MXNetError, NotTraceableError, ShapeError
from minpy.gluon import nn

FACTOR = 2.0


def data(*shape: int, seed: int = 0) -> Any:
    return nd.array(np.random.default_rng(seed).normal(size=shape).astype("float32"))


def mlp(**options: Any) -> Any:
    net = nn.HybridSequential(**options)
    with net.name_scope():
        net.add(nn.Dense(4, activation="tanh"), nn.Dense(3))
    net.initialize(mx.init.Xavier())
    return net


class WithBatchNorm(gluon.HybridBlock):
    """A layer with states, of operators only."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        with self.name_scope():
            self.gamma = self.params.get("gamma", shape=(3,), init="ones")
            self.beta = self.params.get("beta", shape=(3,), init="zeros")
            self.mean = self.params.get("running_mean", shape=(3,), init="zeros", differentiable=False)
            self.var = self.params.get("running_var", shape=(3,), init="ones", differentiable=False)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
        return F.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False, momentum=0.5)


class Noisy(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Dropout(x, p=0.5) + F.random.uniform_like(x)


class Nested(gluon.HybridBlock):
    """Takes and returns nested lists, dicts and None."""

    def hybrid_forward(self, F: Any, pair: Any, extra: Any = None, more: Any = None) -> Any:
        first, (second, third) = pair
        total = first + second * third
        if extra is not None:
            total = total + extra
        if more is not None:
            total = total * more["scale"]
        return {"total": total, "parts": [first, (second, None)]}, total * 2


def step(call: Any, parameters: Any, *inputs: Any) -> list[np.ndarray]:
    """Return the output of a step of training, and all gradients."""
    for one in inputs:
        one.attach_grad()
    with autograd.record():
        out = call(*inputs)
        loss = (out * out).sum()
    loss.backward()
    grads = [parameter.grad().asnumpy().copy() for parameter in parameters if parameter.grad_req != "null"]
    return [out.asnumpy(), *grads, *(one.grad.asnumpy() for one in inputs)]


def assert_equal(found: Any, expected: Any) -> None:
    """Compare arrays, in units of their own largest number: sums of numbers of both signs are off by so much."""
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6 * max(1, np.abs(other).max(initial=0)))


def both_ways(net: Any, function: Any) -> tuple[Any, Any]:
    """Return what a function gives with a block as it is written, and hybridized, the second time it runs."""
    net.hybridize(False)
    eager = function()
    net.hybridize()
    function()
    return function(), eager


# -- calls ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [[(5, 6)], [(5, 6), (2, 6), (5, 6), (1, 6)]])
def test_steps_are_those_of_the_block_as_it_is_written(shapes: Any) -> None:
    net = mlp()
    net(data(1, 6))
    parameters = net.collect_params().values()
    for seed, shape in enumerate(shapes):
        assert_equal(*both_ways(net, lambda shape=shape, seed=seed: step(net, parameters, data(*shape, seed=seed))))


def test_several_calls_before_one_backward() -> None:
    net = mlp()
    net(data(1, 6))

    def siamese(x: Any, y: Any) -> Any:
        return net(x) - net(y) * net(x + y)

    assert_equal(*both_ways(net, lambda: step(siamese, net.collect_params().values(), data(4, 6), data(4, 6, seed=1))))


def test_a_cell_at_every_time_step() -> None:
    cell = nn.Dense(4, activation="tanh", in_units=4)
    cell.initialize(mx.init.Xavier())

    def unrolled(x: Any) -> Any:
        for _ in range(12):
            x = cell(x) + x
        return x

    assert_equal(*both_ways(cell, lambda: step(unrolled, cell.collect_params().values(), data(3, 4))))


def test_a_block_shared_and_nested() -> None:
    inner = nn.Dense(6, in_units=6, activation="sigmoid")
    outer = nn.HybridSequential()
    outer.add(inner, nn.Dense(6, in_units=6), inner)
    top = nn.Sequential()
    top.add(outer, inner)
    top.initialize(mx.init.Xavier())
    parameters = top.collect_params().values()
    with pytest.warns(UserWarning, match="All blocks inside"):
        assert_equal(*both_ways(top, lambda: step(top, parameters, data(2, 6))))


def test_gradients_are_added() -> None:
    net = mlp()
    net(data(1, 6))
    net.collect_params().setattr("grad_req", "add")

    def twice() -> list[np.ndarray]:
        net.collect_params().zero_grad()
        for seed in range(3):
            with autograd.record():
                loss = net(data(2, 6, seed=seed)).sum()
            loss.backward()
        return [parameter.grad().asnumpy().copy() for parameter in net.collect_params().values()]

    assert_equal(*both_ways(net, twice))


def test_second_order() -> None:
    net = mlp()
    net(data(1, 6))

    def penalty() -> list[np.ndarray]:
        x = data(3, 6)
        x.attach_grad()
        with autograd.record():
            out = (net(x) ** 2).sum()
            [slope] = autograd.grad(out, [x], create_graph=True)
            loss = (slope**2).sum() + out
        loss.backward()
        return [x.grad.asnumpy(), *(one.grad().asnumpy().copy() for one in net.collect_params().values())]

    assert_equal(*both_ways(net, penalty))


def test_third_order_through_a_block_called_twice() -> None:
    class Cube(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x * x * F.sin(x)

    net = Cube()

    def third() -> list[np.ndarray]:
        x = data(4)
        x.attach_grad()
        with autograd.record():
            first = autograd.grad(net(net(x)), [x], create_graph=True)[0]
            second = autograd.grad(first.sum(), [x], create_graph=True)[0]
        second.backward()
        return [first.asnumpy(), second.asnumpy(), x.grad.asnumpy()]

    assert_equal(*both_ways(net, third))


def test_second_order_draws_no_other_numbers() -> None:
    net = Noisy()
    net.hybridize()
    x = data(50)
    x.attach_grad()
    with autograd.record():
        out = net(x) * x
        [slope] = autograd.grad(out, [x], create_graph=True)
        total = slope.sum()
    total.backward()
    mask = (out / x).asnumpy() > 1.0  # dropped are those to which only the noise was added
    kept = np.isclose(x.grad.asnumpy(), 4)
    assert set(np.unique(x.grad.asnumpy().round(4))) <= {0.0, 4.0}
    assert (mask & kept).any() or kept.any()


def test_states_move_once_a_step() -> None:
    found = []
    for active in (False, True):
        net = WithBatchNorm()
        net.initialize()
        net.hybridize(active)
        for seed in range(4):
            step(net, net.collect_params().values(), data(5, 3, seed=seed))
        predicted = net(data(5, 3)).asnumpy()
        found.append([net.mean.data().asnumpy(), net.var.data().asnumpy(), predicted])
    assert_equal(*found)
    assert np.abs(found[0][0]).max() > 0.01


def test_random_numbers_differ_from_call_to_call_and_follow_the_seed() -> None:
    net = Noisy()
    net.hybridize()
    x = nd.ones((40,))

    def draws() -> list[np.ndarray]:
        with autograd.record():
            return [net(x).asnumpy() for _ in range(3)]

    draws()
    mx.random.seed(3)
    first = draws()
    mx.random.seed(3)
    assert_equal(draws(), first)
    assert not np.allclose(first[0], first[1])
    assert not np.allclose(first[1], first[2])
    assert net(x).asnumpy().min() >= 1  # nothing is dropped in prediction


@pytest.mark.parametrize("given", ["pair", "extra", "more", "all"])
def test_nested_arguments_and_outputs(given: str) -> None:
    net = Nested()
    pair = [data(3), (data(3, seed=1), data(3, seed=2))]
    arguments: dict[str, Any] = {
        "pair": [pair],
        "extra": [pair, data(3, seed=3)],
        "more": [pair, None, {"scale": data(3, seed=4)}],
        "all": [pair, data(3, seed=3), {"scale": data(3, seed=4)}],
    }
    hybridized, eager = both_ways(net, lambda: net(*arguments[given]))
    assert type(hybridized) is type(eager) is tuple
    assert list(hybridized[0]) == ["total", "parts"]
    assert type(hybridized[0]["parts"]) is list
    assert type(hybridized[0]["parts"][1]) is tuple
    assert hybridized[0]["parts"][1][1] is None
    assert_equal(
        [hybridized[0]["total"].asnumpy(), hybridized[1].asnumpy(), hybridized[0]["parts"][0].asnumpy()],
        [eager[0]["total"].asnumpy(), eager[1].asnumpy(), eager[0]["parts"][0].asnumpy()],
    )


def test_outputs_are_the_users_to_keep() -> None:
    class Same(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x, F.reshape(x, (-1,)), x

    net = Same()
    net.hybridize(static_alloc=True, static_shape=True)
    x = data(2, 3)
    outs = [net(x) for _ in range(3)]
    kept = x.asnumpy()
    for out in outs:
        for one in out:
            one[:] = 7
    np.testing.assert_array_equal(x.asnumpy(), kept)
    first = net(x)
    first[0][:] = 0
    np.testing.assert_array_equal(first[2].asnumpy(), kept)
    for later in net(x):
        np.testing.assert_array_equal(later.asnumpy().ravel(), kept.ravel())


def test_what_is_kept_is_not_overwritten_by_later_calls() -> None:
    net = mlp()
    net.hybridize(static_alloc=True)
    outs = [net(data(2, 6, seed=seed)) for seed in range(4)]
    for seed, out in enumerate(outs):
        np.testing.assert_allclose(out.asnumpy(), net(data(2, 6, seed=seed)).asnumpy(), rtol=1e-6)


# -- programs --------------------------------------------------------------------------------------------------------


def test_new_shapes_dtypes_and_modes_get_programs_of_their_own() -> None:
    net = mlp()
    net.hybridize()
    for shape in [(1, 6), (2, 6), (1, 6)]:
        net(data(*shape))
    assert len(net._cached_op.compiled) == 2
    with autograd.record():
        net(data(1, 6))
    assert len(net._cached_op.compiled) == 3
    net.cast("float64")
    assert net(data(1, 6).astype("float64")).dtype == np.float64


def test_the_cache_is_bounded() -> None:
    net = mlp()
    net.hybridize()
    for length in range(1, 90):
        net(data(length, 6))
    assert len(net._cached_op.compiled) <= 32
    assert net(data(3, 6)).shape == (3, 3)


def test_two_threads() -> None:
    net = mlp()
    net(data(1, 6))
    net.hybridize()
    inputs = [data(4, 6, seed=seed) for seed in range(16)]
    net.hybridize(False)
    expected = [net(x).asnumpy() for x in inputs]
    net.hybridize()
    found: list[Any] = [None] * len(inputs)
    slopes: list[Any] = [None] * len(inputs)

    def run(start: int) -> None:
        for index in range(start, len(inputs), 2):
            x = inputs[index]
            x.attach_grad()
            with autograd.record():
                out = net(x)
                loss = out.sum()
            found[index] = out.asnumpy()
            slopes[index] = autograd.grad(loss, [x])[0].asnumpy()

    threads = [threading.Thread(target=run, args=(start,)) for start in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_equal(found, expected)
    net.hybridize(False)
    for x, slope in zip(inputs, slopes, strict=True):
        with autograd.record():
            loss = net(x).sum()
        np.testing.assert_allclose(autograd.grad(loss, [x])[0].asnumpy(), slope, rtol=1e-5, atol=1e-6)


def test_frames_go_with_their_calls() -> None:
    net = mlp()
    net.hybridize()
    x = data(4, 6)
    net(x)
    gc.disable()
    try:
        with autograd.record():
            out = net(x)
        frame = weakref.ref(out._node.arguments[-1])
        assert frame() is not None
        del out
        assert frame() is None
    finally:
        gc.enable()


# -- what takes effect at the next call ------------------------------------------------------------------------------


def test_parameters_changed_from_outside(tmp_path: Any) -> None:
    net = mlp(prefix="n_")
    net.hybridize()
    x = data(2, 6)
    net(x)
    net[0].weight.set_data(nd.zeros((4, 6)))
    constant = net(x).asnumpy()
    np.testing.assert_allclose(constant[0], constant[1])
    other = mlp()
    wanted = other(x).asnumpy()
    other.save_parameters(tmp_path / "other.params")
    net.load_parameters(tmp_path / "other.params")
    np.testing.assert_allclose(net(x).asnumpy(), wanted, rtol=1e-6, atol=1e-7)
    net.collect_params().reset_ctx(mx.cpu(1))
    assert net(x.as_in_context(mx.cpu(1))).context == mx.cpu(1)
    with pytest.raises(MXNetError, match="is not on cpu\\(0\\): it was initialized on cpu\\(1\\)"):
        net(x)
    net.cast("float64")
    assert net(x.astype("float64").as_in_context(mx.cpu(1))).dtype == np.float64
    net.initialize(mx.init.Zero(), ctx=mx.cpu(0), force_reinit=True)
    assert not net(x.astype("float64")).asnumpy().any()


class Scaled(gluon.HybridBlock):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.scale = 3.0
        self.steps = [1, 2]

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * self.scale * FACTOR + self.steps[0]


def test_plain_attributes_and_globals_that_change(monkeypatch: Any) -> None:
    outer = nn.HybridSequential()
    outer.add(Scaled(), Scaled())
    outer.hybridize()
    x = nd.ones((1,))

    def expected() -> float:
        value = 1.0
        for block in outer:
            value = value * block.scale * FACTOR + block.steps[0]
        return value

    assert outer(x).asscalar() == expected()
    outer[1].scale = 5.0
    assert outer(x).asscalar() == expected()
    outer[0].steps = [4]
    assert outer(x).asscalar() == expected()
    monkeypatch.setitem(globals(), "FACTOR", 7.0)
    assert outer(x).asscalar() == expected()
    graph = outer._cached_op
    outer[0].unrelated = object()
    assert outer(x).asscalar() == expected()
    assert outer._cached_op is graph  # traced again only where something has changed that counts


def test_blocks_added_inside_later() -> None:
    inner = nn.HybridSequential()
    inner.add(nn.Dense(3, in_units=3))
    outer = nn.HybridSequential()
    outer.add(inner)
    outer.initialize(mx.init.One())
    outer.hybridize()
    assert outer(nd.ones((1, 3))).asnumpy().tolist() == [[3.0, 3.0, 3.0]]
    inner.add(nn.Dense(2, in_units=3))
    inner[1].initialize(mx.init.One())
    assert outer(nd.ones((1, 3))).asnumpy().tolist() == [[9.0, 9.0]]


def test_a_branch_on_the_mode_is_traced_for_each() -> None:
    class ByMode(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x * 2 if autograd.is_training() else x * 3

    net = nn.HybridSequential()
    net.add(ByMode())
    net.hybridize()
    for _ in range(2):
        assert net(nd.ones((1,))).asscalar() == 3
        with autograd.record():
            assert net(nd.ones((1,))).asscalar() == 2
        with autograd.record(train_mode=False):
            assert net(nd.ones((1,))).asscalar() == 3


def test_shapes_that_depend_on_values_run_as_written() -> None:
    class Masked(gluon.HybridBlock):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.dense = nn.Dense(2, flatten=False)

        def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:
            return self.dense(F.contrib.boolean_mask(x, mask))

    net = Masked()
    net.initialize()
    net.hybridize()
    x = data(4, 3)
    for mask in ([1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]):
        assert net(x, nd.array(mask)).shape == (sum(mask), 2)
    assert net._active


# -- operators of users ----------------------------------------------------------------------------------------------


def test_custom_operators_inside() -> None:
    @customop("numpy")
    def softsign(x):
        return x / (1 + np.abs(x))

    softsign.def_grad(lambda ans, x: lambda g: g / (1 + np.abs(x)) ** 2)

    class Layer(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return softsign(x) * 2

    net = Layer()
    assert_equal(*both_ways(net, lambda: step(net, [], data(5))))


# -- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_have_parameters_of_their_own(make: Any) -> None:
    net = mlp()
    net.hybridize()
    x = data(2, 6)
    before = net(x).asnumpy()
    copied = make(net)
    np.testing.assert_allclose(copied(x).asnumpy(), before, rtol=1e-6)
    copied[0].weight.set_data(nd.zeros((4, 6)))
    with autograd.record():
        loss = copied(x).sum()
    loss.backward()
    assert copied[1].bias.grad().asnumpy().any()
    assert not net[1].bias.grad().asnumpy().any()
    np.testing.assert_allclose(net(x).asnumpy(), before)


# -- what is refused -------------------------------------------------------------------------------------------------

REFUSED = {
    "if": ("if x.sum() > 0:\n            x = -x", "is neither true nor false"),
    "asnumpy": ("x = nd.array(x.asnumpy())", r"asnumpy: a symbol has no values"),
    "shape": ("x = x.reshape((x.shape[0], -1))", r"shape: a symbol has no shape"),
    "float": ("x = x * float(x.sum())", "has no value that could become a number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_values_that_are_not_there_while_tracing(case: str, tmp_path: Any) -> None:
    line, words = REFUSED[case]
    source = f"class Layer(gluon.HybridBlock):\n    def hybrid_forward(self, F, x):\n        {line}\n        return x\n"
    path = tmp_path / "layer.py"
    path.write_text(source)
    scope: dict[str, Any] = {"gluon": gluon, "nd": nd, "__name__": "layer"}
    exec(compile(source, str(path), "exec"), scope)
    net = scope["Layer"](prefix="net_")
    net(data(2, 3))
    net.hybridize()
    with pytest.raises(NotTraceableError, match=words) as caught:
        net(data(2, 3))
    text = str(caught.value)
    assert text.startswith(f"net is hybridized, and at {path}:3, `{line.splitlines()[0]}` it asks for what only arrays")
    assert text.endswith("call hybridize(False) on it, or derive it from Block.")


def test_bad_arguments_and_children() -> None:
    net = mlp(prefix="net_")
    with pytest.raises(ArgumentError, match=r"An input of a block is int 3; expected an NDArray, a Symbol or None"):
        net(3)
    with pytest.raises(ArgumentError, match="net: no argument is an NDArray or a Symbol"):
        net(None)
    with pytest.raises(ArgumentError, match=r"child of a HybridBlock must be a HybridBlock, got .*HybridLambda"):
        net.add(print)
    with pytest.raises(MXNetError, match=r"net\.export: there is no graph yet\. Call hybridize\(\)"):
        net.export("nowhere")
    unfit = nn.HybridSequential(prefix="unfit_")
    unfit.add(nn.Dense(4), nn.Dense(3, in_units=7))
    unfit.initialize()
    unfit.hybridize()
    with pytest.raises(
        ShapeError, match=r"^unfit: parameters cannot be initialized, as their shapes cannot be inf.*dense"
    ):
        unfit(data(2, 6))


def test_a_forward_of_ones_own_that_calls_the_library_s() -> None:
    class Both(nn.HybridSequential):
        def forward(self, x: Any) -> Any:
            return super().forward(x * float(x.asnumpy().max()))

    net = Both()
    net.add(nn.Dense(2, in_units=3))
    net.initialize(mx.init.One())
    net.hybridize()
    assert net(nd.array([[1, 2, 3]])).asnumpy().tolist() == [[18.0, 18.0]]


def test_op_hooks_see_what_operators_compute() -> None:
    seen = []
    net = mlp(prefix="net_")
    net(data(1, 6))
    net.hybridize()
    net.register_op_hook(lambda name, kind, array: seen.append((name, kind, array.shape)))
    out = net(data(2, 6))
    assert seen == [
        ("net_dense0_fwd_output", "FullyConnected", (2, 4)),
        ("net_dense0_tanh_fwd_output", "Activation", (2, 4)),
        ("net_dense1_fwd_output", "FullyConnected", (2, 3)),
    ]
    assert out.shape == (2, 3)


def test_hooks_are_called_once_where_no_graph_is_for_the_arguments() -> None:
    class Doubled(gluon.HybridBlock):
        __module__ = "__main__"  # a program's own block

        def forward(self, x: Any, option: object) -> Any:
            return x * 2

    net = Doubled()
    net.hybridize()
    net.register_op_hook(lambda *_: None)  # which asks for a graph of symbols
    calls: list[Any] = []
    net.register_forward_pre_hook(lambda block, inputs: calls.append(len(inputs)))
    net.register_forward_hook(lambda block, inputs, outputs: calls.append(outputs.asnumpy().tolist()))
    net(mx.np.ones(2), object())  # an object may change without its being seen
    assert calls == [2, [2.0, 2.0]]


def test_hooks_around_a_hybridized_block() -> None:
    seen: list[Any] = []
    net = mlp()
    net.register_forward_pre_hook(lambda block, inputs: seen.append(inputs[0].shape))
    net.register_forward_hook(lambda block, inputs, out: seen.append(out.shape))
    with pytest.warns(UserWarning, match="is hybridized and has hooks"):
        net.hybridize()
    for _ in range(2):
        net(data(2, 6))
    assert seen == [(2, 6), (2, 3)] * 2


class DrawsOnce(gluon.HybridBlock):
    def forward(self, x: Any) -> Any:
        return x * float(np.random.rand())


class DrawsOnceOfSymbols(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * float(np.random.rand())


def _with_hook(block: Any) -> Any:
    block.register_forward_hook(lambda *_: None)
    return block


def _hybridized(block: Any) -> Any:
    block.hybridize()
    return block


def _inside(block: Any) -> Any:
    net = gluon.nn.HybridSequential()
    net.add(block)
    return net


@pytest.mark.parametrize(
    ("block", "use"),
    [
        (_hybridized(DrawsOnce()), lambda block: block(nd.ones((2,)))),
        (_hybridized(DrawsOnceOfSymbols()), lambda block: block(nd.ones((2,)))),
        (_hybridized(_inside(DrawsOnce())), lambda block: block(nd.ones((2,)))),
        (_hybridized(DrawsOnce()), lambda block: block._get_graph(nd.ones((2,)))),
        (_with_hook(DrawsOnceOfSymbols()), lambda block: block.hybridize()),
        (_inside(_with_hook(DrawsOnceOfSymbols())), lambda block: block.hybridize()),
        (_with_hook(gluon.rnn.RNNCell(2)), lambda block: block.hybridize()),
    ],
    ids=["forward", "hybrid_forward", "inside", "graph alone", "hooks", "hooks inside", "hooks of a cell"],
)
def test_warnings_are_of_the_line_of_the_program(block, use):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        use(block)
    assert [(one.filename, one.lineno) for one in seen] == [(__file__, use.__code__.co_firstlineno)]


def test_blocks_that_earlier_versions_pickled_are_read():
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    net.hybridize()
    net(nd.ones((1, 3)))
    other = gluon.nn.Dense.__new__(gluon.nn.Dense)
    other.__setstate__({**net.__getstate__(), "_graphs": {}, "_guards": None, "_retraced": 0})
    assert other(nd.ones((1, 3))).asnumpy().tolist() == [[3, 3]]
