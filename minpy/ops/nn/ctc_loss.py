"""Connectionist temporal classification: the loss of label sequences that are not aligned with the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, ShapeError
from minpy.core.sums import sum_over
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.rule_parts import merge_lengths, with_axes, with_followers
from minpy.ops.kernels.matrix_products import widened
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import truncated, unindex

__all__ = ["ctc_loss"]

# The logarithm of what is impossible: finite, so that differences of two of them are numbers.
_LOG_ZERO = -1e30


@operator(
    name="CTCLoss",
    aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"),
    outputs=("output0",),
    optional_inputs={
        "data_lengths": lambda attributes: bool(attributes.get("use_data_lengths", False)),
        "label_lengths": lambda attributes: bool(attributes.get("use_label_lengths", False)),
    },
    zero=(1, 2, 3),
    dtypes=with_followers,
    saved_outputs=lambda attributes: 2,
    category="loss",
)
def ctc_loss(
    data: np.ndarray,
    label: np.ndarray,
    data_lengths: np.ndarray | None = None,
    label_lengths: np.ndarray | None = None,
    *,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
) -> np.ndarray:
    """Return -log of the probability of each label sequence, summed over all its alignments with the data.

    {data_parameter}
        Floating point, of shape (time, batch, alphabet): activations, before the softmax.
    label : NDArray
        Whole numbers, of shape (batch, labels): each row a sequence, and what follows its end is padding. With
        `blank_label='first'` labels are 1 to alphabet - 1, and 0 (or less) is padding; with 'last' labels are 0 to
        alphabet - 2, and -1 (or less) is padding. A blank among the labels is one more blank on the way, as in MXNet.
    data_lengths : NDArray, optional
        How many steps of each example are valid, of shape (batch,), with `use_data_lengths`. What stands after them is
        not looked at, and has the gradient 0.
    label_lengths : NDArray, optional
        How many labels each sequence has, of shape (batch,), with `use_label_lengths`; else up to the padding.
    use_data_lengths, use_label_lengths : bool
        Whether they are given.
    blank_label : {'first', 'last'}
        Which element of the alphabet stands for no label.

    {returns_array}
        Of shape (batch,). Where no alignment is possible (too few steps for the labels) it is 0, and so is its
        gradient.

    {raises_shape_error}
        If the shapes do not fit, or there are more labels than steps.
    ArgumentError
        If a label or a length is out of range, or for another `blank_label`.
    {or_integers}

    Notes
    -----
    Graves, Fernández, Gomez and Schmidhuber, "Connectionist temporal classification", 2006: the forward variables are
    equations 6 to 8, the gradient is equation 16, computed in logarithms.

    {examples}
    >>> x = nd.zeros((2, 1, 3))  # two steps, of which each has three equal chances
    >>> nd.CTCLoss(x, nd.array([[1]])).exp().asnumpy()  # 11, 01 and 10 of nine paths
    array([3.], dtype=float32)
    """
    paths = _paths(data, label, data_lengths, label_lengths, use_data_lengths, use_label_lengths, blank_label)
    scores = _log_softmax(_without_padding(data, paths))
    last = _forward(scores, paths)[-1]
    loss = np.where(paths.possible, -_total(last, paths), 0.0)
    return loss.astype(data.dtype, copy=False)


class _Paths(NamedTuple):
    """The labels with blanks between and around them: places that a path visits in order, at most two on per step."""

    key: tuple[Any, ...]  # of the score of each place at each step, in (time, batch, alphabet)
    first: Any  # where a path may begin, (batch, places)
    inside: Any  # which places the sequence has
    skips: Any  # which places may be reached from the last but one
    last: Any  # where a path may end
    valid: Any  # which steps lie inside, (time, batch, 1)
    ends: Any  # which steps are the last ones
    possible: Any  # whether there is a path, (batch,)


def _paths(
    data: Any,
    label: Any,
    data_lengths: Any,
    label_lengths: Any,
    use_data_lengths: bool,
    use_label_lengths: bool,
    blank_label: str,
) -> _Paths:
    require_floats("CTCLoss", data)
    if blank_label not in ("first", "last"):
        raise ArgumentError(f"CTCLoss: blank_label is {blank_label!r}; expected 'first' or 'last'.")
    if np.ndim(data) != 3 or np.ndim(label) != 2 or np.shape(data)[1] != np.shape(label)[0]:
        raise ShapeError(
            f"CTCLoss: data has shape {np.shape(data)}, label {np.shape(label)}; expected (time, batch, alphabet) and "
            "(batch, labels)."
        )
    steps, batch, alphabet = np.shape(data)
    if np.shape(label)[1] > steps:
        raise ShapeError(
            f"CTCLoss: label has shape {np.shape(label)} and data {np.shape(data)}; a sequence cannot have more labels "
            f"({np.shape(label)[1]}) than there are steps ({steps})."
        )
    if use_label_lengths and not use_data_lengths and label_lengths is None:
        data_lengths, label_lengths = None, data_lengths  # inputs that are not used leave no gap
    labels = truncated(raw_of(label))
    blank, least = (0, 1) if blank_label == "first" else (alphabet - 1, 0)
    padding = np.concatenate([labels < least, np.ones((batch, 1), bool)], axis=1)
    counts = padding.argmax(axis=1)
    if use_label_lengths:
        counts = _lengths("label_lengths", label_lengths, labels.shape)
    ends = np.full(batch, steps)
    if use_data_lengths:
        ends = _lengths("data_lengths", data_lengths, (batch, steps))
    used = np.arange(labels.shape[1]) < counts[:, None]
    wrong = labels[used & ((labels < 0) | (labels >= alphabet))]
    if wrong.size:
        raise ArgumentError(
            f"CTCLoss: label holds {wrong[0]}; expected {least} to {alphabet - 2 + least}, as the alphabet has "
            f"{alphabet} elements and blank_label is {blank_label!r}."
        )
    path_labels = np.full((batch, 2 * labels.shape[1] + 1), blank)
    path_labels[:, 1::2] = np.where(used, labels, blank)
    repeated = np.zeros(path_labels.shape, bool)
    repeated[:, 3::2] = (labels[:, 1:] == labels[:, :-1]) & used[:, 1:]
    # A repeated label, and one that is the blank, need a blank step before them, which cannot be skipped.
    needs_blank = used[:, 1:] & ((labels[:, 1:] == labels[:, :-1]) | (labels[:, 1:] == blank))
    skips = (path_labels != blank) & ~repeated
    skips[:, :2] = False
    places = np.arange(path_labels.shape[1])
    inside = places < 2 * counts[:, None] + 1
    valid = np.arange(steps)[:, None] < ends
    return _Paths(
        (np.arange(steps)[:, None, None], np.arange(batch)[None, :, None], path_labels[None]),
        inside & (places < 2),
        inside,
        skips,
        inside & (places >= 2 * counts[:, None] - 1),
        valid[:, :, None],
        (np.arange(steps)[:, None] == ends - 1)[:, :, None],
        (counts + needs_blank.sum(axis=1) <= ends) & (ends > 0),
    )


def _lengths(name: str, lengths: Any, bounds: tuple[int, ...]) -> Any:
    """Return lengths as integers, one for each row of (batch, most)."""
    if lengths is None:
        raise ArgumentError(f"CTCLoss: use_{name}=True, but {name} is missing.")
    integers = truncated(raw_of(lengths))
    if integers.shape != bounds[:1]:
        raise ShapeError(f"CTCLoss: {name} has shape {integers.shape}; expected {bounds[:1]}, the batch.")
    if integers.size and (integers.min() < 0 or integers.max() > bounds[1]):
        wrong = integers.max() if integers.max() > bounds[1] else integers.min()
        raise ArgumentError(f"CTCLoss: {name} holds {wrong}; expected lengths from 0 to {bounds[1]}.")
    return integers


def _without_padding(data: Any, paths: _Paths) -> Any:
    """Return the data with zeros after the end of each example: that padding, perhaps NaN, is not read."""
    return data if paths.valid.all() else np.where(paths.valid, data, data.dtype.type(0))


def _log_softmax(data: Any) -> Any:
    values = widened(data)
    shifted = values - np.max(values, axis=2, keepdims=True)
    return shifted - np.log(sum_over(np.exp(shifted), axis=2, keepdims=True))


def _log_sum(*values: Any) -> Any:
    """Return log(exp(a) + exp(b) + ...)."""
    top = values[0]
    for part in values[1:]:
        top = np.maximum(top, part)
    total = np.exp(values[0] - top)
    for part in values[1:]:
        total = total + np.exp(part - top)
    return top + np.log(total)


def _shifted(scores: Any, count: int) -> Any:
    """Return the scores of places shifted forward by `count`; backward if it is negative."""
    missing = np.full((scores.shape[0], min(abs(count), scores.shape[1])), _LOG_ZERO, scores.dtype)
    if count > 0:
        return np.concatenate([missing, scores[:, :-count]], axis=1)
    return np.concatenate([scores[:, -count:], missing], axis=1)


def _forward(scores: Any, paths: _Paths) -> list[Any]:
    """Return for each step the log probability of having come to each place, alpha; (batch, places)."""
    label_scores = scores[paths.key]
    log_zero = scores.dtype.type(_LOG_ZERO)
    # Before the first step a path stands in front of the places where it may begin.
    states = [np.where(paths.first, log_zero * 0, log_zero)]
    for step in range(label_scores.shape[0]):
        before = states[-1]
        if step:
            skipped = np.where(paths.skips, _shifted(before, 2), log_zero)
            before = _log_sum(before, _shifted(before, 1), skipped)
        now = np.where(paths.inside, before + label_scores[step], log_zero)
        states.append(np.where(paths.valid[step], now, states[-1]))
    return states


def _backward(scores: Any, paths: _Paths) -> list[Any]:
    """Return for each step the log probability of reaching an end from each place, beta, without the step itself."""
    label_scores = scores[paths.key]
    log_zero = scores.dtype.type(_LOG_ZERO)
    last = np.where(paths.last, log_zero * 0, log_zero)
    after, states = last, []
    for step in reversed(range(label_scores.shape[0])):
        if step + 1 < label_scores.shape[0]:
            ahead = after + label_scores[step + 1]
            skipped = _shifted(np.where(paths.skips, ahead, log_zero), -2)
            after = np.where(paths.inside, _log_sum(ahead, _shifted(ahead, -1), skipped), log_zero)
        after = np.where(paths.ends[step], last, after)
        states.append(after)
    return states[::-1]


def _total(last: Any, paths: _Paths) -> Any:
    """Return the log probability of all paths, (batch,)."""
    ended = np.where(paths.last, last, last.dtype.type(_LOG_ZERO))
    top = np.max(ended, axis=1, keepdims=True)
    return top[:, 0] + np.log(sum_over(np.exp(ended - top), axis=1))


@ctc_loss.def_grad()
def _ctc_gradient(ans: Any, data: Any, label: Any, data_lengths: Any, label_lengths: Any, **attributes: Any) -> Any:
    paths = _paths(data, label, data_lengths, label_lengths, **attributes)
    return lambda g: _gradient(
        data, paths, g, lambda part, visits: part - unindex(visits, key=paths.key, shape=part.shape)
    )


@ctc_loss.def_grad_kernel()
def _raw_ctc_gradient(ans: Any, data: Any, label: Any, data_lengths: Any, label_lengths: Any, **attributes: Any) -> Any:
    paths = _paths(data, label, data_lengths, label_lengths, **attributes)

    def subtract_visits(part: Any, visits: Any) -> Any:
        flat = np.ravel_multi_index(np.broadcast_arrays(*paths.key), part.shape)
        part = np.ascontiguousarray(part)
        np.subtract.at(part.reshape(-1), flat.reshape(-1), visits.reshape(-1))
        return part

    return lambda g: _gradient(data, paths, g, subtract_visits)


def _gradient(data: Any, paths: _Paths, g: Any, subtract_visits: Callable[[Any, Any], Any]) -> Any:
    """Return the gradient of the data: softmax - the expected number of visits, for each element of the alphabet."""
    shape = np.shape(data)
    if not shape[0] or not shape[1]:
        return np.zeros(shape, data.dtype)
    scores = _log_softmax(_without_padding(data, paths))
    alphas = _forward(scores, paths)
    total = np.expand_dims(_total(alphas[-1], paths), 1)
    visits = np.stack([alpha + beta - total for alpha, beta in zip(alphas[1:], _backward(scores, paths), strict=True)])
    seen = paths.valid & np.expand_dims(paths.possible, 1)
    visits = np.exp(np.where(seen & paths.inside, visits, scores.dtype.type(_LOG_ZERO)))
    return subtract_visits(np.exp(scores) * seen, visits) * np.reshape(g, (1, shape[1], 1))


@ctc_loss.def_infer_shape
def _ctc_shapes(inputs: Any, outputs: Any) -> Any:
    data, label = with_axes(inputs[0], 3), with_axes(inputs[1], 2)
    lengths = [with_axes(shape, 1) for shape in (*inputs[2:], *outputs)]
    batch = merge_lengths(data[1], label[0], *(stated[0] for stated in lengths))
    data, label = (data[0], batch, data[2]), (batch, label[1])
    return [data, label, *[(batch,)] * (len(inputs) - 2)], [(batch,)]
