"""The log likelihood of Hawkes processes with exponential decay, several to a sample and many samples at once.

An event of process k at time t raises its intensity by α β exp(-β (t' - t)) at all later times t'. How far the sum of
these has decayed at each event is a recurrence along the events. It is a scan of an associative operation, and taken
as one: log2(T) steps on whole arrays (Hillis and Steele, "Data parallel algorithms", 1986), and not one step an event.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import OutOfRangeError, ShapeError
from minpy.core.sums import sum_over
from minpy.differentiation import recorded_run
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.rule_parts import merge_lengths, with_axes
from minpy.ops.registry import operator

__all__ = ["hawkesll"]


def _memories(beta: Any, state: Any, gaps: Any, belongs: Any) -> Any:
    """Return what is left at each event of those before it, the sum of exp(-β (t - t')): (samples, events, processes).

    `gaps`, (samples, events, 1), are the times between events; `belongs` says whether an event counts, and is
    one of the process.
    """
    # The state counts as an event at time 0.
    times = np.cumsum(np.concatenate([np.zeros_like(gaps[:, :1]), gaps], axis=1), axis=1)
    memory = np.concatenate([np.expand_dims(state, 1), belongs.astype(state.dtype)], axis=1)
    step, events = 1, np.shape(gaps)[1]
    while step <= events:
        decay = np.exp(-beta * (times[:, step:] - times[:, :-step]))
        memory = np.concatenate([memory[:, :step], memory[:, step:] + decay * memory[:, :-step]], axis=1)
        step *= 2
    return np.exp(-beta * gaps) * memory[:, :-1]


def _likelihood(
    lda: Any, alpha: Any, beta: Any, state: Any, lags: Any, marks: Any, valid_length: Any, max_time: Any
) -> tuple[Any, Any]:
    valid = np.arange(np.shape(lags)[1]) < np.expand_dims(raw_of(valid_length), 1)
    belongs = np.expand_dims(valid, 2) & (np.expand_dims(raw_of(marks), 2) == np.arange(np.shape(state)[1]))
    gaps = np.expand_dims(np.where(valid, lags, 0), 2)
    end = np.expand_dims(max_time, 1)
    intensity = np.expand_dims(lda, 1) + alpha * beta * _memories(beta, state, gaps, belongs)
    logarithms = sum_over(np.log(np.where(belongs, intensity, 1)), axis=(1, 2))
    remaining = np.where(belongs, np.expand_dims(end, 2) - np.cumsum(gaps, axis=1), 0)
    decay = np.where(belongs, np.exp(-beta * remaining), 0)
    final_decay = np.exp(-beta * end)
    # How many events the state and the events are expected to set off, for a branching ratio of 1.
    expected_events = state * (1 - final_decay) + sum_over(belongs - decay, axis=1)
    return logarithms - sum_over(lda * end + alpha * expected_events, axis=1), state * final_decay + sum_over(
        decay, axis=1
    )


@operator(name="_contrib_hawkesll", outputs=("output", "out_state"), zero=(3, 5, 6))
def hawkesll(
    lda: np.ndarray,
    alpha: np.ndarray,
    beta: np.ndarray,
    state: np.ndarray,
    lags: np.ndarray,
    marks: np.ndarray,
    valid_length: np.ndarray,
    max_time: np.ndarray,
) -> Any:
    """Return the log likelihood of events under Hawkes processes, and the processes' state at the end.

    Parameters
    ----------
    lda : NDArray
        Of shape (N, K): the background intensities of K processes, for each of N samples.
    alpha : NDArray
        Of shape (K,): the branching ratios, how many events one event sets off.
    beta : NDArray
        Of shape (K,): the rates at which that decays.
    state : NDArray
        Of shape (N, K): what is left of earlier events at time 0.
    lags : NDArray
        Of shape (N, T): the times between events.
    marks : NDArray
        Of shape (N, T): whole numbers, 0 <= mark < K, the process of each event.
    valid_length : NDArray
        Of shape (N,): how many events count.
    max_time : NDArray
        Of shape (N,): the ends of the samples.

    Returns
    -------
    output : NDArray
        Of shape (N,): the log likelihoods.
    out_state : NDArray
        Of shape (N, K): what is left of events at the end. To gradients it is a constant, and `state` too, as in MXNet.

    {raises_unless_shapes_fit}
    DTypeError
        If an array other than `marks` and `valid_length` does not hold floating-point numbers.
    OutOfRangeError
        If a mark of an event that counts is no process, or more events count than there are.

    Notes
    -----
    The intensity of process k is λ_k + α_k β_k Σ exp(-β_k (t - t_i)) over its events t_i < t (Bacry, Mastromatteo and
    Muzy, "Hawkes processes in finance", 2015).

    {examples}
    >>> one, none = nd.ones((1,)), nd.zeros((1, 1))
    >>> found, state = nd.contrib.hawkesll(nd.ones((1, 1)), one / 2, one, none, nd.array([[1, 1]]), none.tile((1, 2)),
    ...     2 * one, 3 * one)
    >>> found.asnumpy().round(4), state.asnumpy().round(4)
    (array([-3.5795], dtype=float32), array([[0.5032]], dtype=float32))
    """
    _check_shapes(lda, alpha, beta, state, lags, marks, valid_length, max_time)
    _check_values(raw_of(marks), raw_of(valid_length), lda.shape[1])
    return _likelihood(lda, alpha, beta, state, lags, marks, valid_length, max_time)


_SHAPES = {
    "lda": "NK",
    "alpha": "K",
    "beta": "K",
    "state": "NK",
    "lags": "NT",
    "marks": "NT",
    "valid_length": "N",
    "max_time": "N",
}


def _check_shapes(*arrays: Any) -> None:
    lda, lags = arrays[0], arrays[4]
    for name, array in zip(_SHAPES, arrays, strict=True):
        if name not in ("marks", "valid_length"):
            require_floats("contrib.hawkesll", array, argument=name)
    if lda.ndim != 2 or lags.ndim != 2:
        raise ShapeError(
            f"contrib.hawkesll: lda has shape {lda.shape}, lags {lags.shape}; expected (samples, processes) and "
            "(samples, events)."
        )
    lengths = {"N": lda.shape[0], "K": lda.shape[1], "T": lags.shape[1]}
    for (name, axes), array in zip(_SHAPES.items(), arrays, strict=True):
        expected = tuple(lengths[axis] for axis in axes)
        if array.shape != expected:
            raise ShapeError(
                f"contrib.hawkesll: {name} has shape {array.shape}; expected {expected} with lda {lda.shape} "
                f"(samples, processes) and lags {lags.shape} (samples, events)."
            )


def _check_values(marks: np.ndarray, valid_length: np.ndarray, processes: int) -> None:
    events = marks.shape[1]
    if (valid_length > events).any():
        raise OutOfRangeError(
            f"contrib.hawkesll: valid_length holds {valid_length.max():g}; expected at most {events}, the events that "
            "there are."
        )
    wrong = (np.arange(events) < valid_length[:, None]) & ((marks < 0) | (marks >= processes))
    if wrong.any():
        raise OutOfRangeError(
            f"contrib.hawkesll: marks holds {marks[wrong][0]:g}; expected 0 <= mark < {processes}, a process of lda."
        )


@hawkesll.def_multiple_grad(argnums=(0, 1, 2, 4, 7))
def _likelihood_gradients(
    ans: Any, lda: Any, alpha: Any, beta: Any, state: Any, lags: Any, marks: Any, valid_length: Any, max_time: Any
) -> Any:
    def likelihood(lda: Any, alpha: Any, beta: Any, lags: Any, max_time: Any) -> Any:
        return _likelihood(lda, alpha, beta, state, lags, marks, valid_length, max_time)[0]

    def gradient(g: Any) -> Any:
        _, pullback = recorded_run.vjp(likelihood, (lda, alpha, beta, lags, max_time), range(5))
        return tuple(pullback(g[0]))

    return gradient


@hawkesll.def_infer_shape
def _hawkesll_shapes(inputs: Any, outputs: Any) -> Any:
    lengths = dict.fromkeys("NKT", -1)
    for axes, shape in zip([*_SHAPES.values(), "N", "NK"], [*inputs, *outputs], strict=True):
        for axis, length in zip(axes, with_axes(shape, len(axes)), strict=True):
            lengths[axis] = merge_lengths(lengths[axis], length)
    shapes = [tuple(lengths[axis] for axis in axes) for axes in [*_SHAPES.values(), "N", "NK"]]
    return shapes[:8], shapes[8:]


@hawkesll.def_infer_type
def _hawkesll_dtypes(inputs: Any, outputs: Any) -> Any:
    floats = [dtype for position, dtype in enumerate(inputs) if position != 5 and dtype is not None] + [
        dtype for dtype in outputs if dtype is not None
    ]
    common = floats[0] if floats else None
    marks = np.dtype(np.int32) if inputs[5] is None else inputs[5]
    dtypes = [common if dtype is None else dtype for dtype in inputs]
    return [*dtypes[:5], marks, *dtypes[6:]], [common if dtype is None else dtype for dtype in outputs]
