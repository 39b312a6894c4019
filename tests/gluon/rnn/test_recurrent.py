"""Recurrent layers and cells: fused layers are their cells, lengths are runs alone, hybridized cells, and bad input."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import autograd, nd
from minpy.gluon import contrib, rnn

RESULTS = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture
def numpy_semantics() -> Iterator[None]:
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def filled(net: Any, *calls: Any, seed: int = 0) -> Any:
    """Return an initialized block, called once, with parameters that look random."""
    net.initialize()
    net(*calls)
    return fill(net, seed)


def fill(net: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    for parameter in net.collect_params().values():
        parameter.set_data(nd.array(rng.uniform(-0.6, 0.6, parameter.shape)))
    return net


def waves(*shape: int, seed: int = 0) -> Any:
    return nd.array(np.random.default_rng(seed).normal(size=shape))


def unrolled(cell: Any, x: Any, **options: Any) -> tuple[Any, list[Any]]:
    return cell.unroll(x.shape[1], x, merge_outputs=True, **options)  # type: ignore[no-any-return]


# -- fused layers and cells --------------------------------------------------------------------------------------------

LAYERS: dict[str, Callable[..., Any]] = {
    "relu": rnn.RNN,
    "tanh": lambda *args, **kwargs: rnn.RNN(*args, activation="tanh", **kwargs),
    "lstm": rnn.LSTM,
    "gru": rnn.GRU,
}


@settings(deadline=None, max_examples=30)
@given(
    mode=st.sampled_from(sorted(LAYERS)),
    sizes=st.tuples(*[st.integers(1, 4)] * 4),
    layers=st.integers(1, 3),
    bidirectional=st.booleans(),
    layout=st.sampled_from(["TNC", "NTC"]),
    hybridized=st.booleans(),
    seed=st.integers(0, 99),
)
def test_fused_layers_are_their_cells(
    mode: str,
    sizes: tuple[int, ...],
    layers: int,
    bidirectional: bool,
    layout: str,
    hybridized: bool,
    seed: int,
) -> None:
    time, batch, inputs, size = sizes
    layer = LAYERS[mode](size, layers, layout=layout, bidirectional=bidirectional, dropout=0.3)
    x = waves(time, batch, inputs, seed=seed) if layout == "TNC" else waves(batch, time, inputs, seed=seed)
    filled(layer, x, seed=seed)
    layer.hybridize(hybridized)
    cells = layer._unfuse()
    results = []
    for run in (lambda: layer(x), lambda: cells.unroll(time, x, layout=layout, merge_outputs=True)[0]):
        x.attach_grad()
        with autograd.record(train_mode=False):
            out = run()
            (out * out).sum().backward()
        gradients = [parameter.grad().asnumpy() for parameter in layer.collect_params().values()]
        results.append([out.asnumpy(), x.grad.asnumpy(), *gradients])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


CELLS: dict[str, Callable[[], Any]] = {
    "rnn": lambda: rnn.RNNCell(3),
    "lstm": lambda: rnn.LSTMCell(3),
    "gru": lambda: rnn.GRUCell(3),
    "lstmp": lambda: contrib.rnn.LSTMPCell(4, 3),
    "zoneout": lambda: rnn.ZoneoutCell(rnn.LSTMCell(3), 0.3, 0.2),
    "residual": lambda: rnn.ResidualCell(rnn.LSTMCell(3)),
    "variational": lambda: contrib.rnn.VariationalDropoutCell(rnn.GRUCell(3), 0.2, 0.3, 0.4),
    "variational_outputs": lambda: contrib.rnn.VariationalDropoutCell(rnn.GRUCell(3), 0.2, 0, 0.4),
    "bidirectional": lambda: rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.GRUCell(2)),
    "sequential": lambda: stacked(rnn.HybridSequentialRNNCell(), rnn.LSTMCell(3), rnn.DropoutCell(0.5), rnn.GRUCell(2)),
    "bidirectional_below": lambda: stacked(
        rnn.SequentialRNNCell(), rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2)), rnn.GRUCell(2)
    ),
}
STEPPING = [name for name in CELLS if "bidirectional" not in name]


def stacked(cell: Any, *cells: Any) -> Any:
    for one in cells:
        cell.add(one)
    return cell


def ready(name: str, x: Any) -> Any:
    cell = CELLS[name]()
    cell.initialize()
    unrolled(cell, x)
    return fill(cell)


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(sorted(CELLS)),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    merge=st.sampled_from([None, True, False]),
    as_list=st.booleans(),
    hybridized=st.booleans(),
    seed=st.integers(0, 99),
)
def test_valid_length_is_each_sequence_alone(
    name: str, lengths: list[int], merge: bool | None, as_list: bool, hybridized: bool, seed: int
) -> None:
    x = waves(len(lengths), 4, 3, seed=seed)
    cell = ready(name, x)
    cell.hybridize(hybridized)
    inputs = [x[:, step] for step in range(4)] if as_list else x
    outputs, states = cell.unroll(4, inputs, merge_outputs=merge, valid_length=nd.array(lengths))
    assert merge is None or isinstance(outputs, list) != merge
    found = nd.stack(*outputs, axis=1) if isinstance(outputs, list) else outputs
    for row, length in enumerate(lengths):
        alone, alone_states = unrolled(cell, x[row : row + 1, :length])
        np.testing.assert_allclose(found[row, :length].asnumpy(), alone[0].asnumpy(), **RESULTS)
        assert not found[row, length:].asnumpy().any()
        for state, expected in zip(states, alone_states, strict=True):
            np.testing.assert_allclose(state[row].asnumpy(), expected[0].asnumpy(), **RESULTS)


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("name", sorted(CELLS))
def test_an_empty_sequence_ends_with_its_first_states(name: str, hybridized: bool) -> None:
    x = waves(2, 4, 3)
    cell = ready(name, x)
    cell.hybridize(hybridized)
    first = [waves(*state.shape, seed=index) for index, state in enumerate(cell.begin_state(batch_size=2))]
    outputs, states = cell.unroll(4, x, first, merge_outputs=True, valid_length=nd.array([0, 4]))
    assert not outputs[0].asnumpy().any()
    full, full_states = cell.unroll(4, x, first, merge_outputs=True)
    np.testing.assert_allclose(outputs[1].asnumpy(), full[1].asnumpy(), **RESULTS)
    for state, before, after in zip(states, first, full_states, strict=True):
        np.testing.assert_array_equal(state[0].asnumpy(), before[0].asnumpy())
        np.testing.assert_allclose(state[1].asnumpy(), after[1].asnumpy(), **RESULTS)


@pytest.mark.parametrize("make", [rnn.RNN, rnn.LSTM, rnn.GRU])
def test_an_empty_sequence_leaves_a_layer_its_first_states(make: Any) -> None:
    layer = make(3, 2, bidirectional=True, use_sequence_length=True)
    x, lengths = waves(4, 2, 3), nd.array([0, 4])
    filled(layer, x, None, lengths)
    first = [waves(*state.shape, seed=index) for index, state in enumerate(layer.begin_state(2))]
    outputs, states = layer(x, first, lengths)
    assert not outputs[:, 0].asnumpy().any()
    for state, before in zip(states, first, strict=True):
        np.testing.assert_array_equal(state[:, 0].asnumpy(), before[:, 0].asnumpy())


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("make", [rnn.RNN, rnn.LSTM, rnn.GRU])
def test_layers_with_lengths_are_each_sequence_alone(make: Any, layout: str, hybridized: bool) -> None:
    lengths = [2, 5, 1]
    layer = make(3, 2, layout=layout, bidirectional=True, use_sequence_length=True)
    whole = waves(3, 5, 4)
    arrange = (lambda x: x.swapaxes(0, 1)) if layout == "TNC" else (lambda x: x)
    filled(layer, arrange(whole), None, nd.array(lengths))
    layer.hybridize(hybridized)
    first = layer.begin_state(3)
    out, states = layer(arrange(whole), first, sequence_length=nd.array(lengths))
    for row, length in enumerate(lengths):
        part = arrange(whole[row : row + 1, :length])
        alone, alone_states = layer(part, layer.begin_state(1), nd.array([length]))
        np.testing.assert_allclose(arrange(out)[row, :length].asnumpy(), arrange(alone)[0].asnumpy(), **RESULTS)
        assert not arrange(out)[row, length:].asnumpy().any()
        for state, expected in zip(states, alone_states, strict=True):
            np.testing.assert_allclose(state[:, row].asnumpy(), expected[:, 0].asnumpy(), **RESULTS)


@pytest.mark.parametrize("name", [name for name in CELLS if name != "bidirectional_below"])
def test_a_block_that_unrolls_becomes_a_graph(name: str) -> None:
    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.cell = CELLS[name]()

        def hybrid_forward(self, F: Any, x: Any, lengths: Any) -> Any:
            return self.cell.unroll(4, x, layout="TNC", merge_outputs=False, valid_length=lengths)

    x, lengths = waves(4, 2, 3), nd.array([2, 4])
    net = filled(Net(), x, lengths)
    expected, expected_states = net(x, lengths)
    net.hybridize()
    outputs, states = net(x, lengths)
    assert (len(outputs), len(states)) == (4, len(expected_states))
    for one, other in zip([*outputs, *states], [*expected, *expected_states], strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), **RESULTS)


# -- hybridized cells --------------------------------------------------------------------------------------------------


def trained(cell: Any, x: Any, training: bool) -> list[np.ndarray]:
    """Call a cell at every step, then go back once; return outputs and all gradients."""
    mx.random.seed(7)
    x.attach_grad()
    cell.reset()
    states = cell.begin_state(batch_size=x.shape[1])
    total, outputs = 0, []
    with autograd.record(train_mode=training):
        for step in range(x.shape[0]):
            output, states = cell(x[step], states)
            outputs.append(output.asnumpy())
            total = total + (output * output).sum()
    total.backward()  # type: ignore[attr-defined]
    return [*outputs, x.grad.asnumpy(), *[one.grad().asnumpy() for one in cell.collect_params().values()]]


# A graph draws its masks in another order than a program that makes several of them at a step.
@pytest.mark.parametrize(
    ("name", "training"),
    [(name, False) for name in STEPPING] + [(name, True) for name in STEPPING if name != "variational"],
)
def test_a_hybridized_cell_at_every_step(name: str, training: bool) -> None:
    x = waves(5, 2, 3)
    cell = ready(name, x)
    expected = trained(cell, x, training)
    cell.hybridize()
    for _ in range(2):
        for one, other in zip(trained(cell, x, training), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hybridized", [False, True])
def test_zoneout_keeps_what_was(hybridized: bool) -> None:
    cell = filled(rnn.ZoneoutCell(rnn.RNNCell(50), 0.5, 0.0), waves(2, 3), [nd.zeros((2, 50))])
    cell.hybridize(hybridized)
    cell.reset()
    states, before, kept = cell.begin_state(batch_size=2), np.zeros((2, 50)), 0
    with autograd.train_mode():
        for step in range(6):
            output, states = cell(waves(2, 3, seed=step), states)
            new = states[0].asnumpy()
            same = output.asnumpy() == before
            assert (same | (output.asnumpy() == new)).all()
            kept += same.sum()
            before = output.asnumpy()
    assert 200 < kept < 400


@pytest.mark.parametrize("hybridized", [False, True])
def test_variational_masks_stay_until_reset(hybridized: bool) -> None:
    cell = filled(
        contrib.rnn.VariationalDropoutCell(rnn.LSTMCell(30), 0.0, 0.2, 0.5), waves(2, 3), [nd.zeros((2, 30))] * 2
    )
    cell.hybridize(hybridized)

    def zeros() -> list[np.ndarray]:
        cell.reset()
        states, found = cell.begin_state(batch_size=2), []
        for step in range(3):
            output, states = cell(waves(2, 3, seed=step), states)
            found.append(output.asnumpy() == 0)
        return found

    with autograd.train_mode():
        first, second = zeros(), zeros()
    for found in (first, second):
        assert 10 < found[0].sum() < 50
        assert all((one == found[0]).all() for one in found)
    assert (first[0] != second[0]).any()


def test_hybridized_parts_of_an_eager_stack() -> None:
    x = waves(5, 2, 3)
    stack = stacked(rnn.SequentialRNNCell(), rnn.LSTMCell(3), rnn.ZoneoutCell(rnn.GRUCell(2), 0.4, 0.4))
    stack.initialize()
    unrolled(stack, x)
    expected = trained(fill(stack), x, True)
    stack.hybridize()
    for one, other in zip(trained(stack, x, True), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_remembering_cells_are_copied_pickled_and_cast() -> None:
    x = waves(2, 4, 3)
    cell = ready("zoneout", x)
    cell.hybridize()
    expected = unrolled(cell, x)[0].asnumpy()
    for other in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell))):
        np.testing.assert_array_equal(unrolled(other, x)[0].asnumpy(), expected)
    cell.cast("float64")
    outputs, states = unrolled(cell, x.astype("float64"))
    assert {one.dtype for one in (outputs, *states)} == {np.float64}
    np.testing.assert_allclose(outputs.asnumpy(), expected, **RESULTS)
    assert [state.dtype for state in cell.begin_state(batch_size=1)] == [np.float64] * 2


def test_a_hybridized_cell_is_traced_once() -> None:
    traces = itertools.count()  # an object: a number that a trace changes would be traced anew

    class Counted(rnn.LSTMCell):
        def hybrid_forward(self, F: Any, *args: Any, **kwargs: Any) -> Any:
            next(traces)
            return super().hybrid_forward(F, *args, **kwargs)

    cell = rnn.ZoneoutCell(Counted(3), 0.3)
    cell.initialize()
    cell.hybridize()
    with pytest.warns(UserWarning, match=r"hybrid_forward refers to traces \(.*itertools.count\)") as seen:
        unrolled(cell, waves(2, 4, 3))
    assert len(seen) == 1
    for _ in range(2):
        unrolled(cell, waves(2, 4, 3))
    assert next(traces) == 2  # the first step of a sequence, where nothing is remembered, and the others


# -- layers ------------------------------------------------------------------------------------------------------------


def test_layers_take_states_and_return_them() -> None:
    layer = filled(rnn.LSTM(4), waves(5, 2, 3))
    x = waves(5, 2, 3)
    alone = layer(x)
    outputs, states = layer(x, layer.begin_state(2))
    np.testing.assert_array_equal(outputs.asnumpy(), alone.asnumpy())
    part, between = layer(x[:3], layer.begin_state(2))
    rest, last = layer(x[3:], between)
    np.testing.assert_allclose(nd.concat(part, rest, dim=0).asnumpy(), alone.asnumpy(), **RESULTS)
    np.testing.assert_allclose(last[1].asnumpy(), states[1].asnumpy(), **RESULTS)
    gru = filled(rnn.GRU(4), x)
    outputs, states = gru(x, nd.ones((1, 2, 4)))
    assert isinstance(states, list)


@pytest.mark.parametrize("make", [rnn.RNN, rnn.LSTM, rnn.GRU])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_input_sizes_follow_inside_a_graph(make: Any, bidirectional: bool) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(make(3, 2, bidirectional=bidirectional), make(2, layout="TNC"))
    net.initialize()
    net.hybridize()
    assert net(waves(4, 2, 5)).shape == (4, 2, 2)
    assert net[0].l0_i2h_weight.shape[1] == 5
    assert net[1].l0_i2h_weight.shape[1] == (6 if bidirectional else 3)


def test_layers_and_cells_share_files(tmp_path: Any) -> None:
    layer = filled(rnn.LSTM(3, 2, bidirectional=True), waves(4, 2, 3))
    layer.save_parameters(tmp_path / "layer.params")
    other = rnn.LSTM(3, 2, bidirectional=True)
    other.load_parameters(tmp_path / "layer.params")
    np.testing.assert_array_equal(other(waves(4, 2, 3)).asnumpy(), layer(waves(4, 2, 3)).asnumpy())
    assert "_unfused.1.r_cell.h2h_bias" in nd.load(str(tmp_path / "layer.params"))


def test_twelve_layers_have_names() -> None:
    layer = rnn.GRU(2, 12, input_size=2)
    assert list(layer._collect_params_with_prefix())[-1] == "_unfused.11.h2h_bias"


def test_unfused_cells_are_the_layers_parameters() -> None:
    layer = rnn.GRU(3, 2, input_size=2)
    cells = layer._unfuse()
    assert [*cells.collect_params().values()] == [*layer.collect_params().values()]


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.usefixtures("numpy_semantics")
def test_layers_under_numpy_semantics(hybridized: bool) -> None:
    x = mx.np.ones((5, 2, 3))
    for make in (rnn.RNN, rnn.LSTM, rnn.GRU):
        layer = make(4, bidirectional=True)
        layer.initialize()
        layer.hybridize(hybridized)
        outputs = layer(x)
        again, states = layer(x, layer.begin_state(batch_size=2, ctx=mx.cpu()))
        assert {type(one) for one in (outputs, again, *states)} == {mx.np.ndarray}
        np.testing.assert_array_equal(outputs.asnumpy(), again.asnumpy())
        assert layer.begin_state(2, func=mx.np.ones)[0].sum() == 16


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.usefixtures("numpy_semantics")
def test_blocks_with_forward_hold_layers_and_cells(hybridized: bool) -> None:
    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.layer = rnn.LSTM(4)
            self.cell = rnn.GRUCell(3)

        def forward(self, x: Any) -> Any:
            outputs, states = self.cell.unroll(5, self.layer(x), layout="TNC", merge_outputs=True)
            return mx.np.tanh(outputs), states[0]

    net = Net()
    net.initialize()
    x = mx.np.ones((5, 2, 3))
    expected = net(x)
    net.hybridize(hybridized)
    for one, other in zip(net(x), expected, strict=True):
        assert type(one) is mx.np.ndarray
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), **RESULTS)


@pytest.mark.parametrize("name", STEPPING)
@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.usefixtures("numpy_semantics")
def test_cells_under_numpy_semantics(name: str, hybridized: bool) -> None:
    cell = CELLS[name]()
    cell.initialize()
    cell.hybridize(hybridized)
    outputs, states = cell.unroll(4, mx.np.ones((2, 4, 3)), valid_length=mx.np.array([1, 4]), merge_outputs=True)
    assert {type(one) for one in (outputs, *states)} == {mx.np.ndarray}
    assert outputs[0, 1:].sum() == 0
    output, states = cell(mx.np.ones((2, 3)), cell.begin_state(batch_size=2))
    assert {type(one) for one in (output, *states)} == {mx.np.ndarray}


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_dynamic_unroll_in_a_graph(layout: str) -> None:
    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.cell = rnn.LSTMCell(3, input_size=3)

        def hybrid_forward(self, F: Any, x: Any, lengths: Any, *states: Any) -> Any:
            return contrib.rnn.rnn_cell.dynamic_unroll(self.cell, x, list(states), layout=layout, valid_length=lengths)

    x = waves(4, 2, 3) if layout == "TNC" else waves(2, 4, 3)
    arguments = (x, nd.array([2, 4]), nd.ones((2, 3)), nd.zeros((2, 3)))
    net = filled(Net(), *arguments)
    expected, expected_states = net.cell.unroll(
        4, x, list(arguments[2:]), layout=layout, merge_outputs=True, valid_length=arguments[1]
    )
    for hybridized in (False, True):
        net.hybridize(hybridized)
        outputs, states = net(*arguments)
        for one, other in zip([outputs, *states], [expected, *expected_states], strict=True):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), **RESULTS)


# -- bad input ---------------------------------------------------------------------------------------------------------


def modified_twice() -> None:
    cell = rnn.RNNCell(3, prefix="mine_")
    rnn.ResidualCell(cell)
    rnn.ZoneoutCell(cell)


def begun_inside_a_modifier() -> None:
    cell = rnn.RNNCell(3, prefix="mine_")
    rnn.ResidualCell(cell)
    cell.begin_state(2)


def initialized(cell: Any) -> Any:
    cell.initialize()
    return cell


SEQUENCE = (2, 3, 5)
LSTM_CELL = lambda: initialized(rnn.LSTMCell(3, prefix="mine_"))
LSTM_LAYER = lambda **options: initialized(rnn.LSTM(3, prefix="mine_", **options))
BIDIRECTIONAL = lambda: rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3))

ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "layout": (lambda: rnn.LSTM(3, layout="NCT"), ValueError, "LSTM: layout is 'NCT'; expected 'TNC' (time, batch"),
    "activation": (lambda: rnn.RNN(3, activation="gelu"), ValueError, "RNN: activation is 'gelu'; expected 'relu' or"),
    "hidden_size": (lambda: rnn.GRU(0), ValueError, "GRU: hidden_size is 0; expected an integer of at least 1."),
    "hidden_size_kind": (lambda: rnn.LSTM(2.5), TypeError, "LSTM: hidden_size is float 2.5; expected an integer."),
    "num_layers": (lambda: rnn.LSTM(2, 0), ValueError, "LSTM: num_layers is 0; expected an integer of at least 1."),
    "input_size": (lambda: rnn.RNN(2, input_size=-1), ValueError, "RNN: input_size is -1; expected an integer of at"),
    "cell_size": (lambda: rnn.GRUCell(0), mx.MXNetError, "GRUCell: hidden_size is 0; expected an integer of at least"),
    "cell_inputs": (
        lambda: rnn.GRUCell(2, input_size="3"),
        TypeError,
        "GRUCell: input_size is str '3'; expected an int",
    ),
    "cell_state_shape": (
        lambda: LSTM_CELL()(nd.ones((2, 5)), LSTM_CELL().begin_state()),
        mx.MXNetError,
        (
            "mine: a state has shape (0, 3); expected (2, 3) for inputs of shape (2, 5). Give what the step before "
            "returned, or begin_state(batch_size=2)."
        ),
    ),
    "valid_length_kind": (
        lambda: LSTM_CELL().unroll(3, nd.ones(SEQUENCE), valid_length=[1, 3]),
        mx.MXNetError,
        "mine.unroll: valid_length is list of 2: [int 1, int 3]; expected an array of shape (batch,), the number of",
    ),
    "valid_length_shape": (
        lambda: LSTM_CELL().unroll(3, nd.ones(SEQUENCE), valid_length=nd.array([1])),
        mx.MXNetError,
        "mine.unroll: valid_length has shape (1,); expected (2,), the number of steps of each sequence of the batch.",
    ),
    "valid_length_range": (
        lambda: initialized(BIDIRECTIONAL()).unroll(3, nd.ones(SEQUENCE), valid_length=nd.array([1, 4])),
        mx.MXNetError,
        "BidirectionalCell.unroll: valid_length holds 4.0; expected numbers from 0 to 3, the length.",
    ),
    "valid_length_negative": (
        lambda: LSTM_CELL().unroll(3, nd.ones(SEQUENCE), valid_length=nd.array([-1, 3], dtype="int32")),
        mx.MXNetError,
        "mine.unroll: valid_length holds -1; expected numbers from 0 to 3, the length.",
    ),
    "projection": (lambda: contrib.rnn.LSTMPCell(3, 0), mx.MXNetError, "LSTMPCell: projection_size is 0; expected 1"),
    "dropout": (lambda: rnn.LSTM(3, dropout=1.5), ValueError, "LSTM: dropout is 1.5; expected a probability p, 0 <= p"),
    "rate": (
        lambda: rnn.DropoutCell("a"),
        TypeError,
        "DropoutCell: rate is str 'a'; expected a number, a probability.",
    ),
    "inputs": (
        lambda: LSTM_LAYER(input_size=5)(nd.ones((4, 2, 6))),
        mx.MXNetError,
        "mine: the inputs have shape (4, 2, 6); expected (time, batch, inputs) with 5 inputs, as layout='TNC' says.",
    ),
    "axes": (
        lambda: LSTM_LAYER(layout="NTC")(nd.ones((4, 2))),
        mx.MXNetError,
        "mine: the inputs have shape (4, 2); expected (batch, time, inputs), as layout='NTC' says.",
    ),
    "states": (
        lambda: LSTM_LAYER()(nd.ones((4, 2, 5)), [nd.ones((1, 2, 3))]),
        mx.MXNetError,
        "mine: got 1 state(s); expected 2: the output and the memory of the step before, as begin_state() returns.",
    ),
    "state_shape": (
        lambda: LSTM_LAYER()(nd.ones((4, 2, 5)), [nd.ones((1, 4, 3))] * 2),
        mx.MXNetError,
        "mine: a state has shape (1, 4, 3); expected (1, 2, 3), (num_layers * directions, batch, hidden_size), for",
    ),
    "lengths": (
        lambda: LSTM_LAYER(use_sequence_length=True)(nd.ones((4, 2, 5))),
        mx.MXNetError,
        "mine: sequence_length is missing, which use_sequence_length=True asks for",
    ),
    "unfuse_projection": (
        lambda: LSTM_LAYER(projection_size=2)._unfuse(),
        mx.MXNetError,
        "mine._unfuse: the layer has a projection, which LSTMCell has not.",
    ),
    "unroll_length": (
        lambda: LSTM_CELL().unroll(4, nd.ones(SEQUENCE)),
        ValueError,
        "mine.unroll: length is 4, and the inputs have shape (2, 3, 5) with layout 'NTC', so 3 steps. Give the length",
    ),
    "unroll_list": (
        lambda: LSTM_CELL().unroll(4, [nd.ones((2, 5))] * 3),
        ValueError,
        "mine.unroll: length is 4, and there are 3 inputs; give one for each step.",
    ),
    "unroll_layout": (
        lambda: LSTM_CELL().unroll(3, nd.ones(SEQUENCE), layout="NXC"),
        ValueError,
        "mine: layout is 'NXC'; expected one with T (time) and N (batch), such as 'NTC' or 'TNC'.",
    ),
    "unroll_kind": (
        lambda: LSTM_CELL().unroll(3, "abc"),
        TypeError,
        "mine.unroll: the inputs are str 'abc'; expected an array with a time",
    ),
    "unroll_symbols": (
        lambda: LSTM_CELL().unroll(3, mx.sym.split(mx.sym.var("x"), num_outputs=3)),
        TypeError,
        "mine.unroll: the inputs are a symbol of 3 outputs. Give list(inputs), one symbol for each step",
    ),
    "cell_states": (
        lambda: LSTM_CELL()(nd.ones((2, 5)), [nd.ones((2, 3))]),
        TypeError,
        "mine: states is a list of 2 array(s), as state_info() says; got 1. Give what the step before returned",
    ),
    "cell_no_states": (lambda: LSTM_CELL()(nd.ones((2, 5)), None), TypeError, "as state_info() says; got None"),
    "cell_one_state": (
        lambda: LSTM_CELL()(nd.ones((2, 5)), nd.ones((2, 3))),
        TypeError,
        "mine: states is a list of 2 array(s)",
    ),
    "unroll_states": (
        lambda: LSTM_CELL().unroll(3, nd.ones(SEQUENCE), begin_state=[nd.ones((2, 3))]),
        TypeError,
        "mine: states is a list of 2 array(s), as state_info() says; got 1.",
    ),
    "modified_twice": (
        modified_twice,
        mx.MXNetError,
        "ZoneoutCell: the cell mine is inside a modifier already, and cannot be in two.",
    ),
    "modified": (
        begun_inside_a_modifier,
        mx.MXNetError,
        "mine.begin_state: the cell is inside a modifier, such as ZoneoutCell or ResidualCell, and is not used alone",
    ),
    "modified_what": (lambda: rnn.ResidualCell(3), TypeError, "ResidualCell: base_cell is int 3; expected a cell."),
    "modifier_begin": (
        lambda: rnn.ResidualCell(rnn.RNNCell(3, prefix="mine_")).begin_state(2),
        TypeError,
        "mine_residualcell.begin_state: func, the first argument, is int 2. Give batch_size=2.",
    ),
    "zoneout_bidirectional": (
        lambda: rnn.ZoneoutCell(BIDIRECTIONAL()),
        mx.MXNetError,
        "ZoneoutCell: a BidirectionalCell has no single steps to change. Put a ZoneoutCell around each",
    ),
    "variational_bidirectional": (
        lambda: contrib.rnn.VariationalDropoutCell(BIDIRECTIONAL(), drop_states=0.2),
        mx.MXNetError,
        "VariationalDropoutCell: a BidirectionalCell has no single steps whose states could be dropped.",
    ),
    "bidirectional_step": (
        lambda: BIDIRECTIONAL()(nd.ones((2, 3)), []),
        NotImplementedError,
        "needs the whole sequence, as one of its cells begins at the end; it cannot do one step. Call unroll.",
    ),
    "stacked_bidirectional_step": (
        lambda: stacked(rnn.SequentialRNNCell(prefix="mine_"), BIDIRECTIONAL())(nd.ones((2, 3)), [nd.ones((2, 3))] * 2),
        mx.MXNetError,
        "mine: it has a BidirectionalCell, which needs the whole sequence and cannot do one step. Call unroll.",
    ),
    "added": (
        lambda: rnn.SequentialRNNCell(prefix="mine_").add(rnn.LSTM(3)),
        TypeError,
        "expected a cell, such as LSTMCell. For layers over whole sequences, such as LSTM, use Sequential",
    ),
    "added_eager": (
        lambda: rnn.HybridSequentialRNNCell(prefix="mine_").add(rnn.SequentialRNNCell()),
        TypeError,
        "mine: a child of a HybridBlock must be a HybridBlock",
    ),
    "state_info": (lambda: rnn.RecurrentCell().state_info(), NotImplementedError, "RecurrentCell has no state_info"),
    "hybrid_forward": (
        lambda: rnn.ModifierCell(rnn.RNNCell(3))(nd.ones((2, 3)), [nd.ones((2, 3))]),
        NotImplementedError,
        "ModifierCell has no hybrid_forward: define",
    ),
    "even_kernel": (
        lambda: contrib.rnn.Conv1DRNNCell((3, 5), 4, 3, 2),
        ValueError,
        "Conv1DRNNCell: h2h_kernel is 2; its lengths must be odd, so that a state has the same shape as the one",
    ),
    "kernel": (
        lambda: contrib.rnn.Conv2DRNNCell((3, 5, 5), 4, (3, 3, 3), 3),
        ValueError,
        "Conv2DRNNCell: i2h_kernel is (3, 3, 3); expected a number, or 2 of them.",
    ),
    "conv_layout": (
        lambda: contrib.rnn.Conv1DRNNCell((3, 5), 4, 3, 3, conv_layout="NXX"),
        ValueError,
        "Conv1DRNNCell: conv_layout is 'NXX'; expected 'NCW' or 'NWC'.",
    ),
    "conv_shape": (
        lambda: contrib.rnn.Conv2DGRUCell((3, 5), 4, 3, 3),
        ValueError,
        "Conv2DGRUCell: input_shape is (3, 5); expected 3 lengths, those of 'CHW'.",
    ),
    "conv_too_large": (
        lambda: contrib.rnn.Conv1DLSTMCell((3, 5), 4, 7, 3),
        ValueError,
        "Conv1DLSTMCell: i2h_kernel (7,) with dilation (1,) does not fit into inputs of shape (3, 5), padded by (0,).",
    ),
    "conv_channels": (
        lambda: contrib.rnn.Conv1DLSTMCell((3, 5), 0, 3, 3),
        mx.MXNetError,
        "Conv1DLSTMCell: hidden_channels is 0; expected 1 or more.",
    ),
}


@pytest.mark.parametrize("case", sorted(ERRORS))
def test_bad_input(case: str) -> None:
    run, kind, text = ERRORS[case]
    with pytest.raises(kind, match=re.escape(text)) as caught:
        run()
    assert isinstance(caught.value, (mx.MXNetError, NotImplementedError))
