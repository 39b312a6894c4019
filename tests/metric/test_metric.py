"""Metrics: pieces and wholes, what is local and global, several at once, MXNet 2's in `gluon.metric`, bad input.

Values of `mx.metric` are compared with MXNet's in tests/golden/metric_cases.py.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import metric, nd
from minpy.gluon import metric as gluon_metric

NAN = float("nan")


def same(value, other):
    return value == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)


def batch(kind, seed, rows):
    """Return labels and predictions: of two classes, of four, numbers, or vectors."""
    draw = np.random.default_rng(seed)
    if kind in ("two", "four"):
        classes = {"two": 2, "four": 4}[kind]
        scores = draw.random((rows, classes)) + 0.01
        return draw.integers(classes, size=rows), scores / scores.sum(1, keepdims=True)
    if kind == "probabilities":
        return draw.integers(2, size=rows), draw.random(rows)
    if kind == "flags":
        return draw.integers(2, size=(rows, 3)), draw.random((rows, 3))
    if kind == "vectors":
        return draw.normal(size=(rows, 3)), draw.normal(size=(rows, 3))
    label = draw.normal(size=rows)
    return label, label + draw.normal(size=rows)


# Metrics whose value is that of all examples, whatever the batches.
OF_EXAMPLES = {
    "accuracy": (metric.Accuracy, "four"),
    "top_k": (lambda: metric.TopKAccuracy(2), "four"),
    "f1": (lambda: metric.F1(average="micro"), "two"),
    "mcc": (lambda: metric.MCC(average="micro"), "two"),
    "pcc": (metric.PCC, "four"),
    "cross-entropy": (metric.CrossEntropy, "four"),
    "nll": (metric.NegativeLogLikelihood, "four"),
    "perplexity": (lambda: metric.Perplexity(2), "four"),
    "pearson": (lambda: metric.PearsonCorrelation(average="micro"), "numbers"),
    "loss": (metric.Loss, "vectors"),
    "custom": (lambda: metric.np(lambda label, pred: (abs(label - pred).sum(), label.size)), "vectors"),
    "gluon accuracy": (gluon_metric.Accuracy, "four"),
    "gluon top_k": (lambda: gluon_metric.TopKAccuracy(3), "four"),
    "gluon binary accuracy": (gluon_metric.BinaryAccuracy, "probabilities"),
    "gluon f1": (gluon_metric.F1, "probabilities"),
    "gluon f1 of both": (gluon_metric.F1, "two"),
    "gluon f1 macro": (lambda: gluon_metric.F1(class_type="multiclass", average="macro"), "four"),
    "gluon f1 labels": (lambda: gluon_metric.F1(class_type="multilabel"), "flags"),
    "gluon fbeta": (lambda: gluon_metric.Fbeta(class_type="multiclass", beta=2), "four"),
    "gluon mcc": (gluon_metric.MCC, "probabilities"),
    "gluon pcc": (gluon_metric.PCC, "four"),
    "gluon mae": (gluon_metric.MAE, "vectors"),
    "gluon mse": (gluon_metric.MSE, "numbers"),
    "gluon rmse": (gluon_metric.RMSE, "vectors"),
    "gluon distance": (lambda: gluon_metric.MeanPairwiseDistance(p=3), "vectors"),
    "gluon cosine": (gluon_metric.MeanCosineSimilarity, "vectors"),
    "gluon cross-entropy": (lambda: gluon_metric.CrossEntropy(from_logits=True, ignore_label=1), "four"),
    "gluon perplexity": (gluon_metric.Perplexity, "four"),
    "gluon pearson": (gluon_metric.PearsonCorrelation, "numbers"),
}
# And those that are means of batches.
OF_BATCHES = {
    "f1": (metric.F1, "two"),
    "mcc": (metric.MCC, "two"),
    "mae": (metric.MAE, "vectors"),
    "mse": (metric.MSE, "numbers"),
    "rmse": (metric.RMSE, "vectors"),
    "pearson": (metric.PearsonCorrelation, "vectors"),
}
ALL = {**OF_EXAMPLES, **{f"{name} of batches": value for name, value in OF_BATCHES.items()}}


@pytest.mark.parametrize("name", OF_EXAMPLES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(1, 19), max_size=3, unique=True))
def test_pieces_are_the_whole(name, seed, cuts):
    make, kind = OF_EXAMPLES[name]
    label, pred = batch(kind, seed, 20)
    whole, pieces, listed = make(), make(), make()
    whole.update([nd.array(label, dtype="float64")], [nd.array(pred, dtype="float64")])
    parts = [*zip(np.split(label, sorted(cuts)), np.split(pred, sorted(cuts)), strict=True)]
    for part in parts:
        pieces.update(*part)
    listed.update([part[0] for part in parts], [part[1] for part in parts])
    assert same(pieces.get()[1], whole.get()[1])
    assert same(listed.get()[1], whole.get()[1])
    assert same(pieces.get_global()[1], whole.get()[1])


@pytest.mark.parametrize("name", OF_BATCHES)
@settings(max_examples=15, deadline=None)
@given(seeds=st.lists(st.integers(0, 10**6), min_size=1, max_size=4))
def test_means_of_batches(name, seeds):
    make, kind = OF_BATCHES[name]
    all_of_them, values = make(), []
    for seed in seeds:
        one = make()
        one.update(*batch(kind, seed, 12))
        values.append(one.get()[1])
        all_of_them.update(*batch(kind, seed, 12))
    assert same(all_of_them.get()[1], np.mean(values))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=10, deadline=None)
@given(seeds=st.lists(st.integers(0, 10**6), min_size=1, max_size=3), local=st.lists(st.integers(0, 10**6), max_size=2))
def test_local_and_global(name, seeds, local):
    make, kind = ALL[name]
    both, later, everything = make(), make(), make()
    for seed in seeds:
        both.update(*batch(kind, seed, 9))
        everything.update(*batch(kind, seed, 9))
    both.reset_local()
    assert math.isnan(both.get()[1])
    for seed in local:
        for one in (both, later, everything):
            one.update(*batch(kind, seed, 9))
    assert same(both.get()[1], later.get()[1])
    assert same(both.get_global()[1], everything.get()[1])
    assert both.get_name_value()[0][0] == both.name
    both.reset()
    assert math.isnan(both.get()[1])
    assert math.isnan(both.get_global()[1])


@pytest.mark.parametrize("name", ALL)
def test_arrays_of_every_kind(name):
    make, kind = ALL[name]
    label, pred = (value.astype("float32") for value in batch(kind, 3, 8))
    values = []
    for array in (nd.array, mx.np.array, np.asarray, lambda value: nd.array(value, ctx=mx.cpu(1))):
        for wrap in (lambda value: value, lambda value: [value], lambda value: (value,)):
            one = make()
            one.update(wrap(array(label)), wrap(array(pred)))
            values.append(one.get()[1])
    assert not math.isnan(values[0])
    assert values == [values[0]] * len(values)


@pytest.mark.parametrize("name", [name for name in ALL if "custom" not in name])
def test_copies_and_configs(name):
    make, kind = ALL[name]
    one = make()
    one.update(*batch(kind, 5, 8))
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        other.update(*batch(kind, 6, 8))
        twin = make()
        twin.update(*batch(kind, 5, 8))
        twin.update(*batch(kind, 6, 8))
        assert same(other.get()[1], twin.get()[1])
    create = gluon_metric.create if "gluon" in name else metric.create
    for config in (one.get_config(), json.dumps(one.get_config())):
        again = create(config)
        again.update(*batch(kind, 5, 8))
        assert (type(again), again.name) == (type(one), one.name)
        assert same(again.get()[1], one.get()[1])


@pytest.mark.parametrize("composite", [metric.CompositeEvalMetric, gluon_metric.CompositeEvalMetric])
def test_a_composite_is_each_alone(composite):
    made = [metric.Accuracy(), metric.CrossEntropy(), metric.CompositeEvalMetric(["f1", "mcc"])]
    alone = [metric.Accuracy(), metric.CrossEntropy(), metric.F1(), metric.MCC()]
    together = composite(made)
    for seed in range(3):
        label, pred = batch("two", seed, 10)
        together.update([label], [pred])
        for one in alone:
            one.update([label], [pred])
        if seed == 1:
            together.reset_local()
            for one in alone:
                one.reset_local()
    assert together.get() == ([one.name for one in alone], [one.get()[1] for one in alone])
    assert together.get_global_name_value() == [one.get_global() for one in alone]
    again = metric.create(together.get_config())
    assert again.get()[0] == together.get()[0]


# -- values, by their definitions -------------------------------------------------------------------------------------


def values_of(made, *batches):
    for label, pred in batches:
        made.update([np.asarray(label)], [np.asarray(pred)])
    return made.get()[1]


def by_definition(right, said, beta=1.0):
    hits = sum(1 for a, b in zip(right, said, strict=True) if a and b)
    precision, recall = hits / max(sum(said), 1), hits / max(sum(right), 1)
    below = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / below if below else 0.0


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_fbeta(beta):
    label, pred = batch("four", 1, 50)
    each = [by_definition(label == c, pred.argmax(1) == c, beta) for c in range(4)]
    for average, expected in (("macro", np.mean(each)), ("micro", (label == pred.argmax(1)).mean()), (None, each)):
        made = gluon_metric.Fbeta(class_type="multiclass", beta=beta, average=average)
        np.testing.assert_allclose(values_of(made, (label, pred)), expected)
    label, pred = batch("probabilities", 2, 50)
    made = gluon_metric.Fbeta(beta=beta, threshold=0.3)
    assert same(values_of(made, (label, pred)), by_definition(label == 1, pred > 0.3, beta))
    label, pred = batch("flags", 2, 50)
    made = gluon_metric.Fbeta(class_type="multilabel", beta=beta, average=None)
    each = [by_definition(label[:, c] == 1, pred[:, c] > 0.5, beta) for c in range(3)]
    np.testing.assert_allclose(values_of(made, (label, pred)), each)


def test_correlations():
    label, pred = batch("numbers", 1, 40)
    expected = np.corrcoef(label, pred)[0, 1]
    assert values_of(metric.PearsonCorrelation(average="micro"), (label + 1e6, pred)) == pytest.approx(expected)
    assert same(values_of(metric.PearsonCorrelation(), (label, pred)), expected)
    label, pred = batch("probabilities", 1, 40)
    expected = np.corrcoef(label, pred > 0.5)[0, 1]
    for made in (gluon_metric.MCC(), metric.MCC(average="micro"), metric.PCC()):
        scores = pred if isinstance(made, gluon_metric.MCC) else np.stack([1 - pred, pred], 1)
        assert same(values_of(made, (label, scores)), expected)
    label, pred = batch("four", 3, 60)
    flags = [(values[:, None] == np.arange(4)).astype(float) for values in (label, pred.argmax(1))]
    centred = [flag - flag.mean(0) for flag in flags]
    covariances = [[(one * other).sum() for other in centred] for one in centred]
    expected = covariances[0][1] / (covariances[0][0] * covariances[1][1]) ** 0.5
    assert same(values_of(metric.PCC(), (label, pred)), expected)


def test_distances():
    label, pred = batch("vectors", 4, 30)
    batches = [(label[:7], pred[:7]), (label[7:], pred[7:])]
    difference = label - pred
    assert same(values_of(gluon_metric.MAE(), *batches), abs(difference).mean())
    assert same(values_of(gluon_metric.MSE(), *batches), (difference**2).mean())
    assert same(values_of(gluon_metric.RMSE(), *batches), (difference**2).mean() ** 0.5)
    for p in (1, 2, 3.5, np.inf):
        expected = np.linalg.norm(difference, p, axis=1).mean()
        assert same(values_of(gluon_metric.MeanPairwiseDistance(p=p), *batches), expected)
    lengths = np.linalg.norm(label, axis=1) * np.linalg.norm(pred, axis=1)
    assert same(values_of(gluon_metric.MeanCosineSimilarity(), *batches), ((label * pred).sum(1) / lengths).mean())
    assert values_of(gluon_metric.MeanCosineSimilarity(), (np.zeros((2, 3)), np.ones((2, 3)))) == 0
    assert values_of(gluon_metric.F1(), ([[0], [1]], [0.2, 0.7])) == 1
    assert values_of(gluon_metric.MAE(), ([1, 2], [[1], [4]])) == 1  # a column of predictions is no outer product


def test_likelihoods_of_any_shape():
    draw = np.random.default_rng(0)
    label, logits = draw.integers(4, size=(5, 3, 2)), draw.normal(size=(5, 3, 2, 4)) * 5
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    own = np.take_along_axis(probabilities, label[..., None], -1)[..., 0]
    counted = label != 2
    for made, values in (
        (gluon_metric.CrossEntropy(), probabilities),
        (gluon_metric.CrossEntropy(from_logits=True), logits),
        (gluon_metric.CrossEntropy(from_logits=True), logits + 1000),
        (gluon_metric.CrossEntropy(axis=1), np.moveaxis(probabilities, -1, 1)),
        (metric.CrossEntropy(), probabilities),
    ):
        assert values_of(made, (label, values)) == pytest.approx(-np.log(own).mean(), rel=1e-6)
    expected = np.exp(-np.log(own[counted]).mean())
    assert same(values_of(gluon_metric.Perplexity(ignore_label=2), (label, probabilities)), expected)
    assert same(values_of(metric.Perplexity(2), (label, probabilities)), expected)
    assert same(values_of(metric.Perplexity(2, axis=1), (label, np.moveaxis(probabilities, -1, 1))), expected)
    assert values_of(gluon_metric.CrossEntropy(eps=1e-3), ([0], [[0.0, 1.0]])) == pytest.approx(-np.log(1e-3))
    assert values_of(gluon_metric.CrossEntropy(1e-3, None, -1, True), ([0], [[0, 1e4]])) == pytest.approx(-np.log(1e-3))
    assert math.isnan(values_of(gluon_metric.CrossEntropy(ignore_label=0, from_logits=True), ([0], [[1, 2]])))


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=6),
    right=st.integers(0, 4),
    top_k=st.integers(2, 6),
)
def test_top_k_takes_the_first_of_a_stable_order(scores, right, top_k):
    first = [sorted(range(5), key=lambda c: -row[c])[:top_k] for row in scores]
    expected = np.mean([right in classes for classes in first])
    assert same(values_of(metric.TopKAccuracy(top_k), ([right] * len(scores), scores)), expected)


def test_outputs_that_are_nan_are_no_hits():
    scores = np.full((3, 4), np.nan)
    assert values_of(metric.TopKAccuracy(2), ([0, 1, 3], scores)) == 0
    assert math.isnan(values_of(metric.CrossEntropy(), ([0, 1, 3], scores)))


def test_integers_do_not_wrap_and_halves_do_not_overflow():
    assert values_of(metric.MAE(), (np.array([1], "uint8"), np.array([3], "uint8"))) == 2
    assert values_of(metric.MSE(), (np.array([0], "float16"), np.array([300], "float16"))) == 90000
    loss = metric.Loss()
    loss.update(None, nd.full((1000,), 600, dtype="float16"))
    assert loss.get()[1] == 600


def test_functions_get_arrays_of_their_own():
    def clearing(label, pred):
        assert type(label) is type(pred) is np.ndarray
        label[:] = 0
        return float(pred.sum())

    label = nd.array([1, 2])
    made = metric.CustomMetric(clearing)
    made.update([label], [nd.array([3, 4])])
    assert made.get() == ("clearing", 7.0)
    assert label.asnumpy().tolist() == [1, 2]


def test_classes_of_ones_own():
    @metric.register
    @metric.alias("largest_of_all")
    class Largest(metric.EvalMetric):
        def __init__(self, name="largest", output_names=None, label_names=None):
            super().__init__(name, output_names, label_names)

        def update(self, labels, preds):
            for pred in preds:
                self.sum_metric += pred.max().asscalar()
                self.num_inst += 1

    for create in (metric.create, gluon_metric.create):
        both = create(["largest", "largest_of_all"])
        both.update([], [nd.array([1, 5]), nd.array([2, 3])])
        assert both.get() == (["largest", "largest"], [4.0, 4.0])
        assert both.get_global() == both.get()


def test_names_mean_the_classes_of_each_generation():
    assert type(metric.create("f1")) is metric.F1
    assert type(gluon_metric.create("f1")) is gluon_metric.F1
    assert type(gluon_metric.create(["f1"]).metrics[0]) is gluon_metric.F1
    assert type(gluon_metric.CompositeEvalMetric(["RMSE"]).metrics[0]) is gluon_metric.RMSE
    assert type(gluon_metric.create("acc")) is metric.Accuracy is gluon_metric.Accuracy
    for name in ("CrossEntropy", "Perplexity", "MCC", "MAE", "MSE", "RMSE", "PearsonCorrelation", "TopKAccuracy"):
        assert getattr(gluon_metric, name) is not getattr(metric, name)
        assert issubclass(getattr(gluon_metric, name), metric.EvalMetric)


# -- bad input ---------------------------------------------------------------------------------------------------------

L2, L3, P2, P3 = nd.array([0, 1]), nd.array([0, 1, 1]), nd.ones((2, 2)), nd.ones((3, 2))

REFUSED = {
    "unknown": (
        lambda: metric.create("acuracy"),
        ValueError,
        "create: there is no metric 'acuracy'. Did you mean 'accuracy' or ",
    ),
    "unknown in gluon": (
        lambda: gluon_metric.create("perplexty"),
        ValueError,
        "create: there is no metric 'perplexty'. Did you mean 'perplexity'",
    ),
    "no name": (
        lambda: metric.create(3),
        TypeError,
        "create: expected the name of a metric, or an EvalMetric; got int 3.",
    ),
    "no JSON": (
        lambda: gluon_metric.create("{f1}"),
        ValueError,
        "create: '{f1}' is no JSON that names a metric: ",
    ),
    "no class": (
        lambda: metric.register(int),
        TypeError,
        "register: expected a class derived from EvalMetric, to be a metric; got",
    ),
    "no update": (
        lambda: metric.EvalMetric("x").update([], []),
        NotImplementedError,
        (
            "EvalMetric does not say how to update it: define update(self, labels, preds), which adds to "
            "self.sum_metric and self.num_inst."
        ),
    ),
    "a custom one's config": (
        lambda: metric.np(lambda label, pred: 1, "mine").get_config(),
        NotImplementedError,
        "mine: a CustomMetric cannot be written, as it is a function.",
    ),
    "check_label_shapes": (
        lambda: metric.check_label_shapes([L2], [L2, L3]),
        ValueError,
        "Shape of labels 1 does not match shape of predictions 2.",
    ),
    "check_label_shapes with shapes": (
        lambda: metric.check_label_shapes(L2, P2, shape=True),
        ValueError,
        "Shape of labels (2,) does not match shape of predictions (2, 2).",
    ),
    "no arrays": (
        lambda: metric.Accuracy().update(3, 4),
        TypeError,
        "labels and predictions of metrics must be arrays, or lists of arrays; got int 3.",
    ),
    "numbers": (
        lambda: metric.Accuracy().update([L2], [P2, P2]),
        ValueError,
        (
            "accuracy: 1 label(s) for 2 prediction(s); there must be one for each. output_names and label_names choose "
            "those of update_dict."
        ),
    ),
    "accuracy": (
        lambda: metric.Accuracy().update([L3], [P2]),
        ValueError,
        (
            "accuracy: Shape of labels (3,) does not match shape of predictions: there are 3 labels for 2 predicted "
            "classes (2,)."
        ),
    ),
    "accuracy's axis": (
        lambda: metric.Accuracy(axis=2).update([L3], [P2]),
        ValueError,
        "accuracy: predictions of shape (2, 2) have no axis 2 along which the scores of classes could stand.",
    ),
    "top_k": (
        lambda: metric.TopKAccuracy(1),
        ValueError,
        "TopKAccuracy: top_k must be an integer of at least 2, got int 1; for 1 use Accuracy.",
    ),
    "top_k's axes": (
        lambda: metric.TopKAccuracy(2).update([L2], [nd.ones((2, 2, 3))]),
        ValueError,
        "top_k_accuracy_2: predictions must have the shape (batch, classes), or (batch,); got (2, 2, 3).",
    ),
    "top_k's classes": (
        lambda: metric.TopKAccuracy(2).update([nd.array([0, 7])], [P2]),
        IndexError,
        "top_k_accuracy_2: label 7 is no class: predictions of shape (2, 2) have the scores of classes 0 to 1.",
    ),
    "f1's classes": (
        lambda: metric.F1().update([nd.array([0, 1, 2])], [P3]),
        ValueError,
        "f1: it is of two classes, 0 and 1; the labels are 0, 1, 2.",
    ),
    "f1's scores": (
        lambda: metric.F1().update([L2], [L2]),
        ValueError,
        "f1: predictions of shape (2,) have no axis 1 along which the scores of classes could stand.",
    ),
    "mcc's average": (
        lambda: metric.MCC(average="weighted"),
        ValueError,
        "MCC: average must be 'macro' or 'micro', got str 'weighted'.",
    ),
    "pcc's classes": (
        lambda: metric.PCC().update([nd.array([0, -1])], [L2]),
        IndexError,
        "pcc: -1 is no class: classes are numbered from 0.",
    ),
    "mae": (
        lambda: metric.MAE().update([L2], [P3]),
        ValueError,
        "mae: Shape of labels (2, 1) does not match shape of predictions (3, 2).",
    ),
    "mse's columns": (
        lambda: metric.MSE().update([nd.ones((2, 3))], [P2]),
        ValueError,
        "mse: Shape of labels (2, 3) does not match shape of predictions (2, 2).",
    ),
    "pearson": (
        lambda: metric.PearsonCorrelation().update([L2], [P2]),
        ValueError,
        "pearsonr: Shape of labels (2,) does not match shape of predictions (2, 2).",
    ),
    "cross-entropy": (
        lambda: metric.CrossEntropy().update([L3], [P2]),
        ValueError,
        (
            "cross-entropy: labels of shape (3,) do not fit predictions of shape (2, 2); there must be one for each "
            "vector of probabilities along axis -1."
        ),
    ),
    "cross-entropy's classes": (
        lambda: metric.CrossEntropy().update([nd.array([0, 7])], [P2]),
        IndexError,
        "cross-entropy: labels are from 0 to 7; predictions of shape (2, 2) have probabilities of classes 0 to 1.",
    ),
    "perplexity": (
        lambda: metric.Perplexity(None, axis=3).update([L2], [P2]),
        ValueError,
        (
            "perplexity: labels of shape (2,) do not fit predictions of shape (2, 2); there must be one for each "
            "vector of probabilities along axis 3."
        ),
    ),
    "custom": (
        lambda: metric.CustomMetric(3),
        TypeError,
        "CustomMetric: expected a function of label and prediction, got int 3.",
    ),
    "custom's result": (
        lambda: metric.np(lambda label, pred: None, "mine").update([L2], [L2]),
        TypeError,
        "mine: the function must return a number, or a sum and a number of instances; it returned NoneType None.",
    ),
    "composite": (
        lambda: metric.CompositeEvalMetric("acc"),
        TypeError,
        "CompositeEvalMetric: metrics must be a list, got str 'acc'.",
    ),
    "composite's metric": (
        lambda: metric.create(["acc"]).get_metric(1),
        IndexError,
        "composite: there is no metric 1; there are 1, numbered from 0.",
    ),
    "update_dict": (
        lambda: metric.Accuracy(output_names=["sofmax"]).update_dict({"label": L2}, {"softmax": P2}),
        ValueError,
        "accuracy: there is no prediction 'sofmax'. Did you mean 'softmax'? There are 'softmax'.",
    ),
    "gluon f1's kind": (
        lambda: gluon_metric.F1(class_type="multi"),
        ValueError,
        "F1: class_type must be 'binary', 'multiclass' or 'multilabel', got str 'multi'.",
    ),
    "gluon f1's average": (
        lambda: gluon_metric.F1(average="weighted"),
        ValueError,
        "F1: average must be 'micro', 'macro' or None, got str 'weighted'.",
    ),
    "gluon f1's classes": (
        lambda: gluon_metric.F1().update([nd.array([0, 2])], [L2]),
        ValueError,
        "f1: labels of two classes are 0 and 1; there is 2.0.",
    ),
    "gluon f1's labels": (
        lambda: gluon_metric.F1().update([L3], [L2]),
        ValueError,
        "f1: labels of shape (3,) do not fit predictions of shape (2,); a binary metric needs one for each.",
    ),
    "gluon f1's flags": (
        lambda: gluon_metric.F1(class_type="multilabel").update([L2], [P2]),
        ValueError,
        "f1: labels of shape (2,) do not fit predictions of shape (2, 2); a multilabel metric needs one for each.",
    ),
    "gluon fbeta's classes": (
        lambda: gluon_metric.Fbeta(class_type="multiclass").update([nd.array([0, 7])], [P2]),
        IndexError,
        "fbeta: labels are from 0 to 7; predictions of shape (2, 2) have the scores of classes 0 to 1.",
    ),
    "gluon f1's other classes": (
        lambda: values_of(gluon_metric.F1(class_type="multiclass"), ([0, 1], np.eye(2)), ([0, 1], np.eye(2, 3))),
        ValueError,
        "f1: predictions of shape (2, 3) have 3 classes, those before had 2.",
    ),
    "gluon mae": (
        lambda: gluon_metric.MAE().update([L2], [P2]),
        ValueError,
        "mae: Shape of labels (2,) does not match shape of predictions (2, 2).",
    ),
    "gluon binary accuracy": (
        lambda: gluon_metric.BinaryAccuracy().update([L3], [L2]),
        ValueError,
        "binary_accuracy: Shape of labels (3,) does not match shape of predictions (2,).",
    ),
    "gluon cross-entropy": (
        lambda: gluon_metric.CrossEntropy().update([nd.array([0, -1])], [P2]),
        IndexError,
        (
            "cross-entropy: labels are from -1 to 0; predictions of shape (2, 2) have classes 0 to 1 along axis -1. "
            "ignore_label= leaves one label out."
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input(case):
    call, kind, text = REFUSED[case]
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    assert isinstance(caught.value, (mx.MXNetError, NotImplementedError))


def test_programs_import_modules_of_mxnet_from_here() -> None:
    from minpy.metric import ndarray, numpy, registry

    assert (ndarray, numpy, registry) == (mx.nd, np, mx.registry)
    assert not {"ndarray", "numpy", "registry"} & set(dir(metric))


@pytest.mark.parametrize("name", ["MAE", "MSE", "RMSE", "Loss", "Torch", "Caffe"])
def test_unknown_arguments_name_the_metric(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\.__init__\(\) got an unexpected keyword argument 'foo'$"):
        getattr(mx.metric, name)(foo=1)
