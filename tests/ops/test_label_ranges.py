"""Labels that are no class: losses refuse them in every mode, and operators that MXNet lets clip do so as it does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import OutOfRangeError

SCORES = np.array([[1, 2, 3], [4, 5, 7]], "float32")
WRONG = ([0, 3], [-1, 2], [0, np.nan], [7, -3])


def recorded(loss: Any, label: Any) -> tuple[np.ndarray, np.ndarray]:
    scores = nd.array(SCORES)
    scores.attach_grad()
    with autograd.record():
        answer = loss(scores, nd.array(label))
    answer.backward()
    return answer.asnumpy(), scores.grad.asnumpy()


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("options", [{}, {"from_logits": True}, {"axis": 1}], ids=str)
def test_cross_entropy_refuses_labels_that_are_no_class(options: dict[str, Any], hybridized: bool) -> None:
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss(**options)
    if hybridized:
        loss.hybridize()
    right = recorded(loss, [2, 0])
    for _ in range(3):
        for label in WRONG:
            with pytest.raises(OutOfRangeError, match=r"\[[01]\] is .*; expected .*0 <= (label|index) < 3"):
                recorded(loss, label)
        for got, expected in zip(recorded(loss, [2, 0]), right, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("hybridized", [False, True])
def test_cross_entropy_along_another_axis_refuses_them(hybridized: bool) -> None:
    loss = mx.gluon.loss.SoftmaxCELoss(axis=1)
    if hybridized:
        loss.hybridize()
    scores, label = nd.array(np.arange(24).reshape(2, 3, 4)), np.zeros((2, 4))
    for _ in range(4):
        assert loss(scores, nd.array(label)).shape == (2,)
        label[1, 2] = 3
        with pytest.raises(OutOfRangeError, match=r"index\[1, 2\] is 3.0; expected 0 <= index < 3"):
            loss(scores, nd.array(label))
        label[1, 2] = 2


def test_the_error_says_how_to_leave_a_label_out() -> None:
    with pytest.raises(OutOfRangeError, match="A label that stands for nothing needs a sample_weight of 0"):
        mx.gluon.loss.SoftmaxCELoss()(nd.array(SCORES), nd.array([-1, 2]))


@pytest.mark.parametrize("hybridized", [False, True])
def test_labels_with_weights_may_stand_for_nothing(hybridized: bool) -> None:
    """Programs mark what is to be left out with -1, and give it the weight 0."""
    loss = mx.gluon.loss.SoftmaxCELoss()
    if hybridized:
        loss.hybridize()
    for _ in range(4):
        label = nd.array([-1, 2])
        got = loss(nd.array(SCORES), label, nd.expand_dims(label >= 0, 1)).asnumpy()
        np.testing.assert_allclose(got, [0, 0.16984603], rtol=1e-5)


PADDING = (-1, 3, 7, -1e30, np.nan, np.inf)
# By name: options, the shape of the scores, and the shape of weights that say which labels count.
WEIGHTED: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, ...]]] = {
    "a weight for each sample": ({}, (4, 3), (4, 1)),
    "a weight for each place": ({}, (4, 5, 3), (4, 5, 1)),
    "a weight for each sample of several places": ({}, (4, 5, 3), (4, 1, 1)),
    "a weight for each place of all samples": ({}, (4, 5, 3), (5, 1)),
    "classes along another axis": ({"axis": 1}, (4, 3, 5), (4, 1, 5)),
    "classes along another axis, a weight for each class": ({"axis": 1}, (4, 3, 5), (4, 3, 1)),
    "logarithms of probabilities": ({"from_logits": True}, (4, 3), (4, 1)),
    "one weight": ({}, (4, 3), (1,)),
}


@pytest.mark.parametrize("form", ["eager", "hybridized", "compiled"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_labels_that_are_no_class_need_a_weight_of_0(name: str, form: str) -> None:
    """Whatever stands where the weight is 0 changes nothing; where it is not, it is an error."""
    options, shape, weighing = WEIGHTED[name]
    axis = range(len(shape))[options.get("axis", -1)]
    block = mx.gluon.loss.SoftmaxCELoss(**options)
    if form == "hybridized":
        block.hybridize()
    loss = mx.compile(lambda *arguments: block(*arguments)) if form == "compiled" else block
    draw = np.random.RandomState(0)
    scores, label = draw.normal(size=shape), draw.randint(0, 3, (*shape[:axis], *shape[axis + 1 :])).astype(float)
    weight = draw.uniform(0.5, 2, weighing)
    weight[0] = 0
    counts = np.broadcast_to(weight, shape).any(axis)

    def computed(label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        data = nd.array(scores)
        data.attach_grad()
        with autograd.record():
            answer = loss(data, nd.array(label), nd.array(weight))
        answer.backward()
        return answer.asnumpy(), data.grad.asnumpy()

    right = computed(label)
    for wrong in PADDING:
        padded = np.where(counts, label, wrong)
        for got, expected in zip(computed(padded), right, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)
        if counts.any():
            padded[tuple(np.argwhere(counts)[-1])] = wrong
            with pytest.raises(OutOfRangeError, match=r"expected .*0 <= (label|index) < 3"):
                computed(padded)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16"])
def test_weighted_labels_keep_their_dtype(dtype: str) -> None:
    scores, label = nd.zeros((2, 300)), nd.array([255, 3], dtype=dtype)
    loss = mx.gluon.loss.SoftmaxCELoss()(scores, label, nd.array([[0], [1]]))
    np.testing.assert_allclose(loss.asnumpy(), [0, np.log(300)], rtol=1e-5)


def test_the_score_of_a_class_that_is_left_out_stays_the_one_that_is_read() -> None:
    """A mask of -inf elsewhere does not come in: 0 times infinity is NaN."""
    scores = nd.array([[-np.inf, 1, 2], [1, 2, 3]])
    loss = mx.gluon.loss.SoftmaxCELoss()(scores, nd.array([2, 1]), nd.array([[0], [1]]))
    assert np.isfinite(loss.asnumpy()).all()


def test_saved_graphs_of_the_weighted_loss_are_those_of_mxnet() -> None:
    graph = mx.gluon.loss.SoftmaxCELoss()(*map(mx.sym.var, ("data", "label", "weight")))
    nodes = json.loads(graph.tojson())["nodes"]
    operators = [node["op"] for node in nodes if node["op"] != "null"]
    assert operators == ["log_softmax", "pick", "_mul_scalar", "broadcast_mul", "mean"]
    executor = mx.sym.load_json(graph.tojson()).bind(
        mx.cpu(), {"data": nd.array(SCORES), "label": nd.array([2, 0]), "weight": nd.array([[1], [2]])}
    )
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), [0.40760595, 2 * 3.169846], rtol=1e-5)


def test_functions_that_are_compiled_refuse_them() -> None:
    loss = mx.gluon.loss.SoftmaxCELoss()
    step = mx.compile(lambda scores, label: loss(scores, label) * 2)
    for _ in range(4):
        step(nd.array(SCORES), nd.array([0, 1]))
        with pytest.raises(OutOfRangeError, match=r"label|index"):
            step(nd.array(SCORES), nd.array([0, 3]))


def test_numpy_arrays_are_refused_too() -> None:
    loss = mx.gluon.loss.SoftmaxCELoss()
    with pytest.raises(OutOfRangeError, match="label"):
        loss(mx.np.array(SCORES), mx.np.array([0, 3]))


def test_saved_graphs_of_the_loss_are_those_of_mxnet() -> None:
    graph = mx.gluon.loss.SoftmaxCELoss()(mx.sym.var("data"), mx.sym.var("label"))
    [pick] = [node for node in json.loads(graph.tojson())["nodes"] if node["op"] == "pick"]
    assert pick["attrs"] == {"axis": "-1", "keepdims": "True", "mode": "clip"}


@pytest.mark.parametrize("index", [[0, 3], [-1, 2]])
def test_pick_refuses_what_is_out_of_range_where_it_is_asked_to(index: list[int]) -> None:
    with pytest.raises(OutOfRangeError, match=r"pick: index\[[01]\] is"):
        nd.pick(nd.array(SCORES), nd.array(index), mode="raise")
    np.testing.assert_array_equal(nd.pick(nd.array(SCORES), nd.array([2, 0]), mode="raise").asnumpy(), [3, 4])


@pytest.mark.parametrize("index", [[0, 3], [-1, 2]])
def test_softmax_cross_entropy_refuses_them(index: list[int]) -> None:
    with pytest.raises(OutOfRangeError, match=r"softmax_cross_entropy: label\[[01]\] is .*; expected a class"):
        nd.softmax_cross_entropy(nd.array(SCORES), nd.array(index))
