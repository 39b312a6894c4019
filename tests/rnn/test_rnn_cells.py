"""`mx.rnn`: what it says of mistakes, and what golden cases do not show. The graphs and numbers are golden."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy.core.errors import MXNetError

R = mx.rnn
var = mx.sym.var


ERRORS = [
    (lambda: R.RNNCell(3).unroll(3, [var("a")] * 2), "unroll: inputs has 2 symbols; expected 3, one for each step."),
    (lambda: R.RNNCell(3).unroll(2, None), "unroll(inputs=None): give a symbol for the whole sequence"),
    (lambda: R.RNNCell(3).unroll(2, 3), "unroll: inputs is int 3; expected a Symbol or a list of them."),
    (lambda: R.RNNCell(3).unroll(2, var("x"), layout="NC"), "the layout 'NC' has no axis of time"),
    (
        lambda: R.RNNCell(3).unroll(2, mx.sym.split(var("a"), num_outputs=2, name="s")),
        "it has the outputs s_output0, s_output1. Convert it to a list with list(inputs) first",
    ),
    (
        lambda: R.LSTMCell(2, prefix="a_").unpack_weights({"a_i2h_wait": mx.nd.ones(2)}),
        "LSTMCell.unpack_weights: there is no 'a_i2h_weight' among the parameters. Did you mean 'a_i2h_wait'?",
    ),
    (
        lambda: R.FusedRNNCell(2, prefix="a_").pack_weights({}),
        "FusedRNNCell.pack_weights: there is no 'a_l0_i2h_i_weight' among the parameters.",
    ),
    (
        lambda: R.FusedRNNCell(2, prefix="a_").unpack_weights({"a_parameters": mx.nd.ones(3)}),
        "'a_parameters' has 3 elements; 1 layer(s) of lstm with 2 units in 1 direction(s) need 32 + 8 for each input.",
    ),
    (lambda: R.FusedRNNCell(2, mode="lstn"), "there is no mode 'lstn'. Did you mean 'lstm'?"),
    (lambda: R.DropoutCell("a"), "DropoutCell: dropout probability must be a number, got str 'a'."),
    (lambda: R.ZoneoutCell(R.FusedRNNCell(3)), "FusedRNNCell doesn't support zoneout since it doesn't support step"),
    (
        lambda: R.SequentialRNNCell(params=R.RNNParams("p_")).add(R.RNNCell(3)),
        "Either specify params for SequentialRNNCell or child cells, not both: a RNNCell has its own.",
    ),
    (lambda: R.encode_sentences([["a"], ["b"]], {"a": 1}), "Unknown token 'b' in sentence 1: vocab does not have it."),
    (
        lambda: R.BucketSentenceIter([[1, 2, 3]], 1, buckets=[2]),
        "none of 1 sentence(s) fits a bucket; the buckets are [2].",
    ),
    (lambda: R.ConvRNNCell((1, 1, 4, 4), 2, h2h_kernel=(2, 2)), "only support odd number, get h2h_kernel= (2, 2)"),
]


@pytest.mark.parametrize(("call", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors_say_what_is_wrong(call, text: str) -> None:
    with pytest.raises(MXNetError, match=re.escape(text)):
        call()


@settings(max_examples=25, deadline=None)
@given(
    mode=st.sampled_from(["rnn_relu", "rnn_tanh", "lstm", "gru"]),
    hidden=st.integers(1, 3),
    layers=st.integers(1, 3),
    both=st.booleans(),
    width=st.integers(1, 4),
)
def test_fused_and_unfused_cells_compute_the_same(mode: str, hidden: int, layers: int, both: bool, width: int) -> None:
    fused = R.FusedRNNCell(hidden, layers, mode, bidirectional=both, prefix="f_")
    one, _ = fused.unroll(3, var("data"), layout="TNC", merge_outputs=True)
    unfused = fused.unfuse()
    other, _ = unfused.unroll(3, var("data"), layout="TNC", merge_outputs=True)
    data = mx.nd.array(np.random.default_rng(1).normal(size=(3, 2, width)))
    (size,) = one.infer_shape(data=data.shape)[0][1]
    parameters = mx.nd.array(np.random.default_rng(2).normal(size=size))
    apart = fused.unpack_weights({"f_parameters": parameters})
    np.testing.assert_array_equal(fused.pack_weights(apart)["f_parameters"].asnumpy(), parameters.asnumpy())
    expected = one.bind(mx.cpu(), {"data": data, "f_parameters": parameters}, grad_req="null").forward()[0]
    arguments = {"data": data, **unfused.pack_weights(apart)}
    got = other.bind(mx.cpu(), arguments, grad_req="null").forward()[0]
    np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


def test_zoneout_over_cells_in_sequence() -> None:
    stack = R.SequentialRNNCell()
    stack.add(R.RNNCell(3, prefix="a_"))
    stack.add(R.RNNCell(3, prefix="b_"))
    outputs, _ = R.ZoneoutCell(stack, 0.1).unroll(2, var("data"), merge_outputs=True)
    assert outputs.infer_shape(data=(2, 2, 4))[1] == [(2, 2, 3)]
    below = R.SequentialRNNCell()
    below.add(R.BidirectionalCell(R.RNNCell(3, prefix="l_"), R.RNNCell(3, prefix="r_")))
    with pytest.raises(MXNetError, match="Please add ZoneoutCell to the cells underneath instead"):
        R.ZoneoutCell(below)


def test_begin_state_of_modifiers_takes_both_names() -> None:
    cell = R.ResidualCell(R.ZoneoutCell(R.RNNCell(2, prefix="a_"), 0.1))
    for options in ({"init_sym": mx.sym.ones}, {"func": mx.sym.ones}):
        (state,) = cell.begin_state(**options)
        assert state.get_internals().values[-1].node.kind == "_ones"


def test_a_base_cell_that_fails_stays_modified() -> None:
    base = R.RNNCell(2)
    cell = R.ResidualCell(base)
    with pytest.raises(MXNetError):
        cell.unroll(3, [var("a")])
    assert base._modified
    with pytest.raises(MXNetError, match="Call the modifier cell instead"):
        base.begin_state()


def test_a_language_model_in_buckets_learns(capsys) -> None:
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)
    sentences = [[(start + step) % 7 + 1 for step in range(length)] for length in (4, 6) for start in range(24)]
    train = R.BucketSentenceIter(sentences, 8, buckets=[4, 6], invalid_label=0)
    assert capsys.readouterr().out == "WARNING: discarded 0 sentences longer than the largest bucket.\n"
    stack = R.SequentialRNNCell()
    stack.add(R.LSTMCell(16, prefix="lstm_"))

    def network(length: int) -> tuple[mx.sym.Symbol, tuple[str], tuple[str]]:
        embedded = mx.sym.Embedding(var("data"), input_dim=8, output_dim=8, name="embed")
        stack.reset()
        outputs, _ = stack.unroll(length, inputs=embedded, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, shape=(-1, 16)), num_hidden=8, name="scores")
        label = mx.sym.reshape(var("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(network, default_bucket_key=train.default_bucket_key)
    metric = mx.metric.Perplexity(0)
    module.fit(
        train,
        eval_metric=metric,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        initializer=mx.init.Xavier(),
        num_epoch=12,
    )
    assert metric.get()[1] < 1.6
