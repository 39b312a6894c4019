"""Layers and losses as functions of arrays."""

from __future__ import annotations

from typing import Any

import minpy.numpy as np
from minpy.core.errors import ArgumentError
from minpy.namespaces import listing

__all__ = [
    "affine",
    "batchnorm",
    "dropout",
    "gru_step",
    "l2_loss",
    "lstm_step",
    "lstm_temporal",
    "relu",
    "rnn_step",
    "rnn_temporal",
    "sigmoid",
    "softmax_cross_entropy",
    "softmax_loss",
    "svm_loss",
    "temporal_affine",
    "temporal_softmax_loss",
]
__dir__ = listing(__all__)


def _require_mode(layer: str, mode: str) -> None:
    if mode not in ("train", "test"):
        raise ArgumentError(f"{layer}: mode is {mode!r}; expected 'train' or 'test'.")


def _one_hot(label: Any, like: Any) -> Any:
    """Return labels as rows with a 1 each: class numbers, or such rows already."""
    if label.ndim > 1:
        return label
    classes = np.arange(like.shape[1])
    return (label.reshape(-1, 1) == classes).astype(like.dtype)


def affine(x: Any, w: Any, b: Any) -> Any:
    """Return x · w + b, for `x` of shape (N, D), `w` (D, M) and `b` (M,).

    Examples
    --------
    >>> affine(np.ones((1, 2)), np.ones((2, 3)), np.zeros(3))
    array([[2., 2., 2.]], dtype=float32)
    """
    return np.dot(x, w) + b


def relu(x: Any) -> Any:
    """Return what is positive, and 0 elsewhere.

    Examples
    --------
    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.], dtype=float32)
    """
    return np.maximum(x, 0)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), without overflow.

    Examples
    --------
    >>> sigmoid(np.array([0.0, 1000.0]))
    array([0.5, 1. ], dtype=float32)
    """
    return 0.5 * (1 + np.tanh(0.5 * x))


def batchnorm(
    x: Any,
    gamma: Any,
    beta: Any,
    mode: str = "train",
    eps: float = 1e-5,
    momentum: float = 0.9,
    running_mean: Any = None,
    running_var: Any = None,
) -> tuple[Any, Any, Any]:
    """Return batch normalization over the first axis, and the new running mean and variance.

    Parameters
    ----------
    x : array
        Of shape (N, D).
    gamma, beta, running_mean, running_var : array
        Of shape (D,); the running statistics begin at 0.
    mode : str
        'train': normalized by the batch's mean and variance; 'test': by the running ones.
    eps, momentum : float

    Raises
    ------
    ArgumentError
        For another mode.

    References
    ----------
    Ioffe and Szegedy, Batch Normalization, ICML 2015, algorithm 1.

    Examples
    --------
    >>> out, mean, var = batchnorm(np.array([[1.0], [3.0]]), np.ones(1), np.zeros(1))
    >>> out.round(3), mean
    (array([[-1.],
           [ 1.]], dtype=float32), array([0.2], dtype=float32))
    """
    _require_mode("batchnorm", mode)
    mean = np.zeros_like(x[0]) if running_mean is None else running_mean
    variance = np.zeros_like(x[0]) if running_var is None else running_var
    if mode == "test":
        return gamma * (x - mean) / np.sqrt(variance + eps) + beta, mean, variance
    batch_mean = np.mean(x, axis=0)
    batch_variance = np.mean((x - batch_mean) ** 2, axis=0)
    out = gamma * (x - batch_mean) / np.sqrt(batch_variance + eps) + beta
    return out, momentum * mean + (1 - momentum) * batch_mean, momentum * variance + (1 - momentum) * batch_variance


def dropout(x: Any, prob: float, mode: str = "train", seed: int | None = None) -> Any:
    """Return `x` with elements dropped at random in training, and scaled to their mean in 'test' mode.

    Parameters
    ----------
    x : array
    prob : float
        The probability with which an element is dropped.
    mode : str
        'train' or 'test'.
    seed : int, optional
        Of the random numbers, set before.

    Examples
    --------
    >>> dropout(np.ones(2), 0.25, mode='test')
    array([0.75, 0.75], dtype=float32)
    """
    _require_mode("dropout", mode)
    if mode == "test":
        return x * (1 - prob)
    if seed is not None:
        np.random.seed(seed)
    return x * (np.random.uniform(0.0, 1.0, x.shape) > prob).astype(x.dtype)


def svm_loss(x: Any, y: Any) -> Any:
    """Return the hinge loss of class scores `x` (N, C) for class numbers `y` (N,), averaged over the examples.

    Weston and Watkins' form: the sum over the other classes of max(0, score - right score + 1).

    Examples
    --------
    >>> float(svm_loss(np.array([[1.0, 3.0]]), np.array([0])))
    3.0
    """
    right = _one_hot(y, x)
    scores = np.sum(right * x, axis=1, keepdims=True)
    return np.sum(np.maximum(x - scores + 1.0, 0) * (1 - right)) / x.shape[0]


def softmax_cross_entropy(prob: Any, label: Any) -> Any:
    """Return the cross entropy of probabilities (N, C), averaged over the examples.

    Parameters
    ----------
    prob : array
    label : array
        Class numbers, of shape (N,), or a row of probabilities for each example.

    Examples
    --------
    >>> round(float(softmax_cross_entropy(np.array([[0.5, 0.5]]), np.array([1]))), 4)
    0.6931
    """
    return -np.sum(np.log(prob) * _one_hot(label, prob)) / prob.shape[0]


def softmax_loss(x: Any, label: Any) -> Any:
    """Return the cross entropy of the softmax of scores (N, C), averaged over the examples.

    Parameters
    ----------
    x : array
    label : array
        Class numbers, of shape (N,), or a row of probabilities for each example.

    Examples
    --------
    >>> round(float(softmax_loss(np.array([[1.0, 1.0]]), np.array([1]))), 4)
    0.6931
    """
    shifted = x - x.max(axis=1, keepdims=True)
    logarithms = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.sum(logarithms * _one_hot(label, x)) / x.shape[0]


def l2_loss(x: Any, label: Any) -> Any:
    """Return the sum of squared differences, over the number of examples; class numbers count as rows with a 1 each.

    Examples
    --------
    >>> float(l2_loss(np.array([[1.0, 3.0]]), np.array([[0.0, 1.0]])))
    5.0
    """
    return np.sum((x - _one_hot(label, x)) ** 2) / x.shape[0]


# -- recurrent layers --------------------------------------------------------------------------------------------------


def rnn_step(x: Any, prev_h: Any, Wx: Any, Wh: Any, b: Any) -> Any:
    """Return the next state of a plain recurrent layer: tanh(x · Wx + prev_h · Wh + b), of shape (N, H).

    Examples
    --------
    >>> rnn_step(np.zeros((1, 2)), np.zeros((1, 3)), np.ones((2, 3)), np.ones((3, 3)), np.zeros(3)).shape
    (1, 3)
    """
    return np.tanh(np.dot(x, Wx) + np.dot(prev_h, Wh) + b)


def rnn_temporal(x: Any, h0: Any, Wx: Any, Wh: Any, b: Any) -> Any:
    """Return the states (N, T, H) of a plain recurrent layer along sequences `x` of shape (N, T, D).

    Examples
    --------
    >>> rnn_temporal(np.zeros((1, 4, 2)), np.zeros((1, 3)), np.ones((2, 3)), np.ones((3, 3)), np.zeros(3)).shape
    (1, 4, 3)
    """
    states, state = [], h0
    for step in range(x.shape[1]):
        state = rnn_step(x[:, step], state, Wx, Wh, b)
        states.append(state)
    return np.stack(states, axis=1)


def gru_step(x: Any, prev_h: Any, Wx: Any, Wh: Any, b: Any, Wxh: Any, Whh: Any, bh: Any) -> Any:
    """Return the next state of a gated recurrent unit, of shape (N, H).

    Parameters
    ----------
    x, prev_h : array
        Of shapes (N, D) and (N, H).
    Wx, Wh, b : array
        Of the reset gate, then the update gate: (D, 2H), (H, 2H), (2H,).
    Wxh, Whh, bh : array
        Of the candidate: (D, H), (H, H), (H,).

    References
    ----------
    Cho et al., Learning Phrase Representations using RNN Encoder-Decoder, EMNLP 2014, eq. 5-8.

    Examples
    --------
    >>> w = [np.ones(shape) for shape in ((2, 6), (3, 6), (6,), (2, 3), (3, 3), (3,))]
    >>> gru_step(np.zeros((1, 2)), np.zeros((1, 3)), *w).shape
    (1, 3)
    """
    size = prev_h.shape[1]
    gates = sigmoid(np.dot(x, Wx) + np.dot(prev_h, Wh) + b)
    reset, update = gates[:, :size], gates[:, size:]
    candidate = np.tanh(np.dot(x, Wxh) + np.dot(reset * prev_h, Whh) + bh)
    return update * prev_h + (1 - update) * candidate


def lstm_step(x: Any, prev_h: Any, prev_c: Any, Wx: Any, Wh: Any, b: Any) -> tuple[Any, Any]:
    """Return the next state and cell of an LSTM, each of shape (N, H).

    Parameters
    ----------
    x, prev_h, prev_c : array
        Of shapes (N, D), (N, H) and (N, H).
    Wx, Wh, b : array
        Of the input, forget and output gates, then of the candidate: (D, 4H), (H, 4H), (4H,).

    References
    ----------
    Gers, Schmidhuber and Cummins, Learning to Forget: Continual Prediction with LSTM, 2000.

    Examples
    --------
    >>> h, c = lstm_step(np.zeros((1, 2)), np.zeros((1, 3)), np.ones((1, 3)), *map(np.ones, ((2, 12), (3, 12), 12)))
    >>> h.shape, c.shape
    ((1, 3), (1, 3))
    """
    size = prev_c.shape[1]
    sums = np.dot(x, Wx) + np.dot(prev_h, Wh) + b
    gates = sigmoid(sums[:, : 3 * size])
    enter, keep, leave = gates[:, :size], gates[:, size : 2 * size], gates[:, 2 * size :]
    cell = keep * prev_c + enter * np.tanh(sums[:, 3 * size :])
    return leave * np.tanh(cell), cell


def lstm_temporal(x: Any, h0: Any, Wx: Any, Wh: Any, b: Any) -> Any:
    """Return the states (N, T, H) of an LSTM along sequences `x` of shape (N, T, D); its cell begins at 0.

    Examples
    --------
    >>> lstm_temporal(np.zeros((1, 4, 2)), np.zeros((1, 3)), *map(np.ones, ((2, 12), (3, 12), 12))).shape
    (1, 4, 3)
    """
    states, state, cell = [], h0, np.zeros_like(h0)
    for step in range(x.shape[1]):
        state, cell = lstm_step(x[:, step], state, cell, Wx, Wh, b)
        states.append(state)
    return np.stack(states, axis=1)


def temporal_affine(x: Any, w: Any, b: Any) -> Any:
    """Return x · w + b at each time, for `x` of shape (N, T, D).

    Examples
    --------
    >>> temporal_affine(np.ones((1, 4, 2)), np.ones((2, 3)), np.zeros(3)).shape
    (1, 4, 3)
    """
    count, length, _ = x.shape
    return np.dot(x.reshape(count * length, -1), w).reshape(count, length, -1) + b


def temporal_softmax_loss(x: Any, y: Any, mask: Any) -> Any:
    """Return the cross entropy of the softmax of scores (N, T, V) at each time, summed over times, averaged over N.

    Parameters
    ----------
    x : array
        Scores, of shape (N, T, V).
    y, mask : array
        Class numbers, and what each counts (0 for padding), of shape (N, T).

    Examples
    --------
    >>> round(float(temporal_softmax_loss(np.zeros((1, 2, 2)), np.zeros((1, 2)), np.array([[1, 0]]))), 4)
    0.6931
    """
    count, length, size = x.shape
    flat = x.reshape(count * length, size)
    weights = _one_hot(y.reshape(-1), flat) * mask.reshape(-1, 1)
    return softmax_loss(flat, weights) * length
