"""Recurrent layers, CTC, attention, and what training in mixed precision asks: messages, and what tables do not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd, sym
from minpy.ops.nn.rnn import rnn
from minpy.ops.registry import OPERATORS

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def numbers(*shape: int, dtype: str = "float32") -> nd.NDArray:
    return nd.array(np.sin(np.arange(int(np.prod(shape))) * 1.3 + len(shape)).reshape(shape), dtype=dtype)


def gru(**options: Any) -> dict[str, Any]:
    return {"state_size": 2, "num_layers": 1, "mode": "gru", **options}


# -- what is refused, and in which words -------------------------------------------------------------------------------

X, P, H, C = numbers(3, 2, 2), numbers(36), numbers(1, 2, 2), numbers(1, 2, 2)
REFUSED = {
    "mode": (lambda: nd.RNN(X, P, H, **gru(mode="gruu")), "unknown mode 'gruu'; expected .*'gru'"),
    "axes": (lambda: nd.RNN(X[0], P, H, **gru()), r"data has shape \(2, 2\); expected \(time, batch, inputs\)"),
    "parameters": (lambda: nd.RNN(X, P[1:], H, **gru()), r"parameters has shape \(35,\); expected \(36,\), the number"),
    "state": (lambda: nd.RNN(X, P, H[:, :1], **gru()), r"state has shape \(1, 1, 2\); expected \(1, 2, 2\), \(num_la"),
    "cell": (lambda: nd.RNN(X, numbers(48), H, **gru(mode="lstm")), "state_cell is missing, which mode='lstm' needs"),
    "projection": (lambda: nd.RNN(X, P, H, **gru(projection_size=1)), "projection_size is given with mode 'gru'"),
    "clip": (
        lambda: nd.RNN(X, numbers(48), H, C, **gru(mode="lstm", lstm_state_clip_min=0.0)),
        "lstm_state_clip_min is 0.0, lstm_state_clip_max None; give both",
    ),
    "layers": (lambda: nd.RNN(X, P, H, **gru(num_layers=0)), "num_layers 0; both must be 1 or more"),
    "dropout": (lambda: nd.RNN(X, P, H, **gru(p=1.0)), "p is 1.0; expected the probability"),
    "length": (
        lambda: nd.RNN(X, P, H, sequence_length=nd.array([4, 1]), **gru(use_sequence_length=True)),
        "sequence_length holds 4; expected lengths from 0 to 3, the time",
    ),
    "integers": (lambda: nd.RNN(X.astype("int32"), P, H, **gru()), "data has dtype int32; expected a floating-point"),
    "label": (lambda: nd.CTCLoss(X, nd.array([[1], [2]])), "label holds 2; expected 1 to 1, as the alphabet has 2"),
    "blank": (
        lambda: nd.CTCLoss(X, nd.array([[1], [1]]), blank_label="none"),
        "unknown blank_label 'none'; expected 'first'",
    ),
    "labels": (lambda: nd.CTCLoss(X, nd.zeros((2, 4))), r"more labels \(4\) than there are steps \(3\)"),
    "steps": (
        lambda: nd.CTCLoss(X, nd.ones((2, 1)), nd.array([3, 5]), use_data_lengths=True),
        "data_lengths holds 5; expected lengths from 0 to 3",
    ),
    "heads": (
        lambda: nd.contrib.interleaved_matmul_selfatt_qk(numbers(2, 1, 8), heads=2),
        r"queries_keys_values has shape \(2, 1, 8\); expected .* divided by 6",
    ),
    "attention": (
        lambda: nd.contrib.interleaved_matmul_selfatt_valatt(numbers(3, 2, 12), numbers(4, 2, 2), heads=2),
        r"attention has shape \(4, 2, 2\); expected \(4, queries, 3\)",
    ),
    "queries": (
        lambda: nd.contrib.interleaved_matmul_encdec_qk(numbers(3, 2, 4), numbers(3, 1, 8), heads=2),
        r"queries \(3, 2, 4\) and keys_values \(3, 1, 8\)",
    ),
    "kernel": (lambda: nd.im2col(numbers(1, 1, 2, 2), kernel=(3, 3)), r"im2col: kernel \(3, 3\) .* does not fit"),
    "columns": (
        lambda: nd.col2im(numbers(1, 8, 4), kernel=(2, 2), output_size=(3, 4)),
        r"data has shape \(1, 8, 4\); expected \(batch, channels \* 4, 6\)",
    ),
    "part": (
        lambda: nd._internal._slice_assign(numbers(3, 2), numbers(2, 2), begin=(0,), end=(1,)),
        r"rhs has shape \(2, 2\); expected \(1, 2\), the part of lhs \(3, 2\)",
    ),
    "finite": (lambda: nd.all_finite(nd.ones(2, dtype="int32")), "all_finite: data has dtype int32"),
    "count": (lambda: nd.multi_sum_sq(X, num_arrays=2), r"num_arrays is 2, but 1 array\(s\) are given"),
    "reset": (lambda: nd.reset_arrays(X, num_arrays=2), r"num_arrays is 2, but 1 array\(s\) are given"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(mx.MXNetError, match=words):
        call()


# -- recurrent layers --------------------------------------------------------------------------------------------------


def parts(mode: str, dtype: str = "float64") -> tuple[list[nd.NDArray], dict[str, Any]]:
    """Return the inputs and attributes of two layers in two directions, of sequences of different lengths."""
    gates = GATES[mode]
    size = 2 * gates * 3 * (2 + 3 + 2) + 2 * gates * 3 * (6 + 3 + 2)
    inputs = [numbers(4, 2, 2, dtype=dtype), numbers(size, dtype=dtype) / 2, numbers(4, 2, 3, dtype=dtype)]
    inputs += [numbers(4, 2, 3, dtype=dtype)] if mode == "lstm" else []
    attributes = {"state_size": 3, "num_layers": 2, "mode": mode, "bidirectional": True, "state_outputs": True}
    return inputs, attributes


@pytest.mark.parametrize("mode", GATES)
def test_lengths_are_sequences_by_themselves(mode: str) -> None:
    """What follows the end of a sequence changes nothing; neither outputs nor gradients are different from without."""
    inputs, attributes = parts(mode)
    found = []
    for batch in (slice(0, 2), slice(1, 2)):
        given = [one[:, batch].copy() if one.ndim == 3 else one.copy() for one in inputs]
        given[0] = given[0] if batch.start == 0 else given[0][:2].copy()
        for one in given:
            one.attach_grad()
        options = {"sequence_length": nd.array([4, 2]), "use_sequence_length": True} if batch.start == 0 else {}
        with autograd.record():
            outputs = nd.RNN(*given, **attributes, **options)
            total = sum((one[:, -1] ** 2).sum() for one in outputs)
        total.backward()
        found.append(([one.asnumpy() for one in outputs], [one.grad.asnumpy() for one in given]))
    (both, both_gradients), (alone, alone_gradients) = found
    np.testing.assert_allclose(both[0][:2, 1:], alone[0], rtol=1e-12)
    assert not both[0][2:, 1].any()
    for one, other in zip(both[1:], alone[1:], strict=True):
        np.testing.assert_allclose(one[:, 1:], other, rtol=1e-12)
    np.testing.assert_allclose(both_gradients[0][:2, 1:], alone_gradients[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(both_gradients[1], alone_gradients[1], rtol=1e-10, atol=1e-12)
    assert not both_gradients[0][2:, 1].any()
    assert not both_gradients[0][:, 0].any()


@pytest.mark.stays_python
@pytest.mark.parametrize("mode", ["gru", "lstm"])
def test_lengths_in_symbols(mode: str) -> None:
    """A symbol of a GRU with lengths has four inputs: it is saved, loaded, bound and trained with them."""
    inputs, attributes = parts(mode, "float32")
    names = ["data", "parameters", "state", *(["state_cell"] if mode == "lstm" else []), "sequence_length"]
    symbol = sym.RNN(**{name: sym.var(name) for name in names}, **attributes, use_sequence_length=True)
    symbol = sym.load_json(symbol.tojson())
    assert symbol.list_arguments() == names
    shapes, results, _ = symbol.infer_shape(data=(4, 2, 2))
    assert shapes == [one.shape for one in inputs] + [(2,)]
    assert results[0] == (4, 2, 6)
    given = dict(zip(names, [*inputs, nd.array([4, 2])], strict=True))
    gradients = {"data": nd.zeros((4, 2, 2)), "parameters": nd.zeros(inputs[1].shape)}
    executor = symbol.bind(mx.cpu(), given, args_grad=gradients)
    inputs[0].attach_grad()
    inputs[1].attach_grad()
    with autograd.record():
        expected = nd.RNN(*inputs, sequence_length=nd.array([4, 2]), use_sequence_length=True, **attributes)
    autograd.backward(expected)
    for _ in range(3):
        outputs = executor.forward(is_train=True)
        executor.backward([nd.ones(one.shape) for one in outputs])
        for one, other in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
        for name, one in zip(("data", "parameters"), inputs, strict=False):
            np.testing.assert_allclose(gradients[name].asnumpy(), one.grad.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("mode", GATES)
def test_large_layers_are_computed_as_their_definition(mode: str) -> None:
    """At sizes where BLAS takes other ways, in float32: the kernels' answers and gradients are the definition's."""
    gates, size, inputs = GATES[mode], 40, 30
    count = gates * size * (inputs + size + 2)
    random = np.random.RandomState(0)
    arrays = [random.normal(size=shape).astype("float32") for shape in ((20, 8, inputs), (count,), (1, 8, size))]
    arrays += [random.normal(size=(1, 8, size)).astype("float32")] if mode == "lstm" else []
    arrays[1] *= 0.2
    options = {"state_size": size, "num_layers": 1, "mode": mode, "p": 0.0, "training": False}
    expected, got = rnn.definition(*arrays, **options), rnn.forward(*arrays, **options)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)
    [(_, rule)] = rnn.multiple_rules
    g = tuple(random.normal(size=one.shape).astype("float32") for one in got)
    padded = [*arrays, *[None] * (5 - len(arrays))]
    for one, other in zip(
        rnn.gradients.several_raw[rule](got, *padded, **options)(g), rule(got, *padded, **options)(g), strict=True
    ):
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4 * np.abs(other).max())


def test_no_steps_and_no_sequences() -> None:
    for shape in ((0, 2, 2), (3, 0, 2)):
        out, state = nd.RNN(nd.zeros(shape), P, H[:, : shape[1]], **gru(state_outputs=True))
        assert out.shape == (*shape[:2], 2)
        np.testing.assert_array_equal(state.asnumpy(), H[:, : shape[1]].asnumpy())


def test_nan_is_clipped_where_that_is_asked_for() -> None:
    """It becomes the lower bound; without `lstm_state_clip_nan` it stays."""
    weights = nd.zeros(48)
    cell = nd.array([[[np.nan, 0.0], [5.0, 0.0]]])
    options = gru(mode="lstm", state_outputs=True, lstm_state_clip_min=-1.0, lstm_state_clip_max=1.0)
    ended = nd.RNN(X[:1], weights, H, cell, **options, lstm_state_clip_nan=True)[2].asnumpy()
    np.testing.assert_array_equal(ended, [[[-1, 0], [1, 0]]])
    assert np.isnan(nd.RNN(X[:1], weights, H, cell, **options)[2].asnumpy()[0, 0, 0])


def test_dropout_is_between_layers_and_in_training_only() -> None:
    inputs, attributes = parts("gru")
    plain = nd.RNN(*inputs, **attributes)[0].asnumpy()
    np.testing.assert_array_equal(nd.RNN(*inputs, **attributes, p=0.5)[0].asnumpy(), plain)
    mx.random.seed(1)
    with autograd.train_mode():
        dropped = nd.RNN(*inputs, **attributes, p=0.5)
    assert (dropped[0].asnumpy() != plain).any()
    np.testing.assert_array_equal(dropped[1][:2].asnumpy(), nd.RNN(*inputs, **attributes)[1][:2].asnumpy())


def test_parameters_are_inferred_from_the_data_and_shared_out() -> None:
    """Of the parts of the vector of parameters, one that is not known follows from the others."""
    variables = [sym.var(name) for name in ("wi", "wh", "bi", "bh")]
    vector = sym._internal._rnn_param_concat(*variables, dim=0, num_args=4)
    symbol = sym.RNN(sym.var("x"), vector, sym.var("h"), **gru())
    shapes, _, _ = symbol.infer_shape(x=(5, 2, 7), wh=(12,), bi=(6,), bh=(6,))
    assert dict(zip(symbol.list_arguments(), shapes, strict=True))["wi"] == (42,)


# -- CTC, sparse activations, many arrays ------------------------------------------------------------------------------


def test_what_has_no_alignment_costs_nothing_and_teaches_nothing() -> None:
    x = numbers(2, 2, 3)
    x.attach_grad()
    with autograd.record():
        loss = nd.CTCLoss(x, nd.array([[1, 1], [2, 0]]))
    loss.backward()
    assert loss[0].asscalar() == 0 < loss[1].asscalar()
    assert not x.grad[:, 0].asnumpy().any()
    assert x.grad[:, 1].asnumpy().any()


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_long_sequences_do_not_underflow(dtype: str, tolerance: float) -> None:
    """Probabilities of 2,000 steps are far below what a float holds; their logarithms are not."""
    loss = nd.CTCLoss(nd.zeros((2000, 1, 11), dtype=dtype), nd.array([[1]])).asscalar()
    paths = 2000 * 2001 / 2  # where a run of the label may begin and end
    assert loss == pytest.approx(2000 * np.log(11) - np.log(paths), rel=tolerance)


def test_sparse_activations_are_asked_for_on_the_way_back() -> None:
    x, mean = nd.array([[0.1, 0.5], [0.9, 0.3]]), nd.array([0.2, 0.4])
    x.attach_grad()
    with autograd.record():
        y = nd.IdentityAttachKLSparseReg(x, mean, penalty=0.5, sparseness_target=0.25, momentum=0.5)
    y.backward(nd.array([[1.0, 2.0], [3.0, 4.0]]))
    moved = np.array([0.35, 0.4])
    np.testing.assert_allclose(mean.asnumpy(), moved, rtol=1e-6)
    push = 0.5 * (0.75 / (1 - moved) - 0.25 / moved)
    np.testing.assert_allclose(x.grad.asnumpy(), [[1, 2], [3, 4]] + push, rtol=1e-6)
    np.testing.assert_array_equal(y.asnumpy(), x.asnumpy())


def test_an_infinity_is_remembered_over_several_calls() -> None:
    """As loops over the gradients of several devices do it."""
    finite = nd.zeros(1)
    for number, arrays in enumerate(([nd.ones(2)], [nd.array([np.inf])], [nd.ones(3), nd.ones(1)])):
        nd.multi_all_finite(*arrays, num_arrays=len(arrays), init_output=number == 0, out=finite)
        assert finite.asscalar() == (number == 0)


def test_casting_to_a_common_dtype() -> None:
    given = [nd.ones(2, dtype=dtype) for dtype in ("float16", "float32", "int32")]
    dtypes = [[np.dtype(one.dtype).name for one in nd.amp_multicast(*given, num_outputs=3, cast_narrow=narrow)]
              for narrow in (False, True)]  # fmt: skip
    assert dtypes == [["float32", "float32", "int32"], ["float16", "float16", "int32"]]
    given[0].attach_grad()
    with autograd.record():
        one, other = nd.amp_multicast(*given[:2], num_outputs=2)
        total = one * other * 3
    total.backward()
    assert given[0].grad.dtype == np.float16
    np.testing.assert_array_equal(given[0].grad.asnumpy(), [3, 3])


def test_assignments_write_where_out_is_the_array() -> None:
    x = nd.zeros((2, 3))
    assert nd._internal._slice_assign_scalar(x, scalar=2, begin=(0, 1), end=(2, 2), out=x) is x
    assert x.slice_assign(nd.ones((1, 3)), begin=(1,), end=(2,)) is x
    assert x.slice_assign_scalar(5, (0, 0), (1, 1), (1, 1)) is x
    np.testing.assert_array_equal(x.asnumpy(), [[5, 2, 0], [1, 1, 1]])


def test_ties_of_the_first_form_of_pooling_share_the_gradient_whole() -> None:
    x = nd.ones((1, 1, 2, 2))
    for pool, expected in ((nd.Pooling, [[1, 0], [0, 0]]), (nd.Pooling_v1, [[1, 1], [1, 1]])):
        x.attach_grad()
        with autograd.record():
            y = pool(x, kernel=(2, 2))
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy()[0, 0], expected)


def test_a_blank_among_the_labels_takes_the_steps_of_the_blanks_around_it() -> None:
    """With fewer steps there is no path: the loss is 0, not the logarithm of nothing; with enough it is a number."""
    x = nd.array(np.random.RandomState(0).normal(size=(4, 3, 3)))
    x.attach_grad()
    lengths = nd.array([2, 3, 4])
    with autograd.record():
        loss = nd.CTCLoss(x, nd.array([[0, 2]] * 3), lengths, use_data_lengths=True, blank_label="last")
    loss.backward()
    assert [value > 0 for value in loss.asnumpy()] == [False, True, True]
    np.testing.assert_array_equal(x.grad[:, 0].asnumpy(), 0)
    # From place to place a path says 0, blank, blank.
    np.testing.assert_allclose(loss[1].asscalar(), -sum(nd.log_softmax(x).asnumpy()[range(3), 1, [0, 2, 2]]), rtol=1e-5)
    np.testing.assert_allclose(x.grad.sum(axis=2).asnumpy(), 0, atol=1e-5)


@pytest.mark.parametrize("spoiled", [np.nan, np.inf, -np.inf, 1e30])
def test_what_ctc_is_given_after_the_end_of_an_example_does_not_matter(spoiled: float) -> None:
    draw = np.random.default_rng(2).normal(size=(6, 2, 4)).astype("float32")
    wasted = draw.copy()
    wasted[4:, 0], wasted[3:, 1] = spoiled, spoiled
    label, lengths = nd.array([[1, 2], [3, 0]]), nd.array([4, 3])
    loss = mx.gluon.loss.CTCLoss(layout="TNC")
    for hybridized in (False, True):
        if hybridized:
            loss.hybridize()
        for _ in range(3):
            found = []
            for values in (draw, wasted):
                x = nd.array(values)
                x.attach_grad()
                with autograd.record():
                    answer = loss(x, label, lengths)
                answer.backward()
                found.append((answer.asnumpy(), x.grad.asnumpy()))
            np.testing.assert_array_equal(found[0][0], found[1][0])
            np.testing.assert_array_equal(found[0][1], found[1][1])
            assert not found[1][1][4:, 0].any()


def test_the_gradient_of_ctc_with_a_blank_among_the_labels_is_that_of_the_loss() -> None:
    """MXNet's loss is this one; its gradient is another function's."""
    x = np.random.default_rng(4).normal(size=(5, 2, 4))
    label, lengths = np.array([[1.0, 0, 2], [0, 3, 3]]), np.array([3.0, 2.0])
    OPERATORS["CTCLoss"].check(x, label, np.array([5.0, 5.0]), lengths, use_data_lengths=True, use_label_lengths=True)
    OPERATORS["CTCLoss"].check(x, np.array([[1.0, 3, 2], [3, 0, -1]]), blank_label="last")
