"""`RNN`: recurrent layers over whole sequences.

The definition goes step by step (`rnn_steps`); the kernel (`minpy.ops.kernels.recurrent_layers`) computes the same in
memory that is allocated once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from minpy.core.array import raw_of
from minpy.core.errors import ArgumentError, ShapeError, nearest
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import UNKNOWN, same_dtype
from minpy.ops.inference.rule_parts import derived, merge_lengths, promoted, with_axes
from minpy.ops.kernels.recurrent_layers import GATES, Layers, run, vjp, weights_of
from minpy.ops.nn.rnn_steps import Call, pulled, unrolled
from minpy.ops.random.generator import generator
from minpy.ops.registry import operator
from minpy.ops.tensor.indexing import truncated
from minpy.ops.tensor.joining import concat, concat_gradient, concat_shapes

__all__ = ["drawn_masks", "rnn", "rnn_param_concat", "valid_steps"]


def _visible(attributes: dict[str, Any]) -> int:
    if not attributes.get("state_outputs"):
        return 1
    return 3 if attributes.get("mode") == "lstm" else 2


def _by_steps(call: Call, masks: Any) -> tuple[Any, ...]:
    """Return (outputs, last states, last cells, what a kernel would reserve)."""
    result, last, last_cell, reserved, _ = unrolled(call, masks)
    return result, last, last_cell, np.concatenate([np.ravel(part) for part in reserved])


@operator(
    name="RNN",
    visible_outputs=_visible,
    outputs=lambda attributes: ("output", "state_output", "statecell_output")[: _visible(attributes)],
    optional_inputs={
        "state_cell": lambda attributes: attributes.get("mode") == "lstm",
        "sequence_length": lambda attributes: bool(attributes.get("use_sequence_length", False)),
    },
    random=True,
    kernel={"_computed": lambda call, masks: run(*call, masks)},  # type: ignore[call-arg]
    draws=lambda attributes: float(attributes.get("p") or 0) != 0 and attributes.get("training") is not False,
    zero=(4,),
    may_alias=False,
    category="product",
    caption=lambda attributes: f"{attributes['mode']}, {attributes['num_layers']} x {attributes['state_size']}",
)
def rnn(
    data: np.ndarray,
    parameters: np.ndarray,
    state: np.ndarray,
    state_cell: np.ndarray | None = None,
    sequence_length: np.ndarray | None = None,
    *,
    state_size: int,
    num_layers: int,
    bidirectional: bool = False,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"],
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    training: bool | None = None,
    _computed: Callable[..., Any] = _by_steps,
) -> Any:
    """Return what recurrent layers make of sequences: the outputs of the last layer at every step.

    {data_parameter}
        Floating point, of shape (time, batch, inputs).
    parameters : NDArray
        All weights and biases in one vector. First the weights of every cell, layer by layer, in each layer those of
        the forward direction first: input to hidden, (gates * state_size, inputs of the layer); hidden to hidden,
        (gates * state_size, length of an output); and, with a projection, (projection_size, state_size). Then two
        biases of length gates * state_size for each cell, in the same order. The gates are i, f, g, o (LSTM), and
        r, z, n (GRU).
    state : NDArray
        The first states, of shape (num_layers * directions, batch, length of an output).
    state_cell : NDArray, optional
        The first cells of an LSTM, of shape (num_layers * directions, batch, state_size).
    sequence_length : NDArray, optional
        How many steps of each sequence are valid, of shape (batch,), with `use_sequence_length`.
    state_size : int
        Length of a state.
    num_layers : int
        How many layers; each is given the outputs of the one before.
    bidirectional : bool
        Whether each layer has a second cell, which goes backwards; outputs of both are concatenated.
    mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    p : float
        In training, the probability with which each output of a layer (but the last) is set to 0.
    state_outputs : bool
        Whether to return the last states (and the last cells of an LSTM) too.
    projection_size : int, optional
        Of an LSTM: the length to which its outputs are projected.
    lstm_state_clip_min, lstm_state_clip_max : float, optional
        The bounds between which the cells of an LSTM are kept at every step; both or none.
    lstm_state_clip_nan : bool
        Whether NaN in a cell becomes the lower bound.
    use_sequence_length : bool
        Whether sequences may end earlier: then outputs after the end are 0, the last states are those at the end, and
        the backward direction begins there.
    training : bool, optional
        Whether this is training; by default what `autograd.is_training()` says.

    Returns
    -------
    NDArray, or two or three of them
        Of shape (time, batch, directions * length of an output), where that length is `projection_size` or
        `state_size`; states (and cells) in the shapes of the first ones.

    {raises_unless_shapes_fit}
    ArgumentError
        For another mode, a projection or bounds that do not belong to it, a length out of range, or a missing input.
    {or_integers}

    Notes
    -----
    With x the input, h the state before, and W, R, b, c the parameters of each gate:
    Elman, "Finding structure in time", 1990: h' = f(W x + b + R h + c), f being tanh or relu.
    Hochreiter and Schmidhuber, "Long short-term memory", 1997, with forget gates (Gers, 2000): i, f, o = σ(...), g =
    tanh(...), cell' = f · cell + i · g, h' = o · tanh(cell'); projected, P h' (Sak, Senior and Beaufays, 2014).
    Cho et al., 2014: r, z = σ(...), n = tanh(W x + b + r · (R h + c)), h' = (1 - z) · n + z · h.
    The gradient is that of backpropagation through time (Werbos, 1990).

    {examples}
    >>> x, weights = nd.array([[[1]], [[2]], [[3]]]), nd.array([1, 0.5, 0, 0])
    >>> out, state = nd.RNN(x, weights, nd.zeros((1, 1, 1)), state_size=1, num_layers=1, mode='rnn_relu',
    ...                     state_outputs=True)
    >>> out.asnumpy().ravel(), state.asnumpy().ravel()
    (array([1.  , 2.5 , 4.25], dtype=float32), array([4.25], dtype=float32))
    """
    call = _call(
        data,
        parameters,
        state,
        state_cell,
        sequence_length,
        state_size=state_size,
        num_layers=num_layers,
        bidirectional=bidirectional,
        mode=mode,
        p=p,
        projection_size=projection_size,
        lstm_state_clip_min=lstm_state_clip_min,
        lstm_state_clip_max=lstm_state_clip_max,
        lstm_state_clip_nan=lstm_state_clip_nan,
        use_sequence_length=use_sequence_length,
    )
    masks = _masks(call, p if training else 0.0)
    result, last, last_cell, reserve = _computed(call, masks)
    seen = [result, last] if last_cell is None else [result, last, last_cell]
    return (*(value.astype(data.dtype, copy=False) for value in seen), masks, reserve)  # the last two: for the gradient


def _layers(
    mode: str,
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    projection_size: int | None,
    inputs: int,
    clip: tuple[float, float, bool] | None = None,
) -> Layers:
    if mode not in GATES:
        raise ArgumentError(f"RNN: unknown mode {mode!r}; expected one of {', '.join(GATES)}.{nearest(mode, GATES)}")
    if state_size < 1 or num_layers < 1:
        raise ArgumentError(f"RNN: state_size is {state_size}, num_layers {num_layers}; both must be 1 or more.")
    if mode != "lstm" and (projection_size is not None or clip is not None):
        attribute = "projection_size" if projection_size is not None else "lstm_state_clip_min"
        raise ArgumentError(f"RNN: {attribute} is given with mode {mode!r}; only 'lstm' has one.")
    if projection_size is not None and projection_size < 1:
        raise ArgumentError(f"RNN: projection_size is {projection_size}; expected 1 or more, or None.")
    return Layers(mode, state_size, num_layers, 2 if bidirectional else 1, inputs, projection_size, clip)


def _call(
    data: Any,
    parameters: Any,
    state: Any,
    state_cell: Any,
    sequence_length: Any,
    *,
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    mode: str,
    p: float,
    projection_size: int | None,
    lstm_state_clip_min: float | None,
    lstm_state_clip_max: float | None,
    lstm_state_clip_nan: bool,
    use_sequence_length: bool,
    **unused: Any,
) -> Call:
    """Return the inputs of a call with these attributes, or raise if they do not fit."""
    require_floats("RNN", data)
    least, most = lstm_state_clip_min, lstm_state_clip_max
    if data.ndim != 3:
        raise ShapeError(f"RNN: data has shape {data.shape}; expected (time, batch, inputs).")
    if (least is None) != (most is None) or (least is not None and most is not None and least > most):
        raise ArgumentError(
            f"RNN: lstm_state_clip_min is {least}, lstm_state_clip_max {most}; give both, the smaller first, or none."
        )
    if not 0 <= p < 1:
        raise ArgumentError(f"RNN: p is {p}; expected the probability of an output to be dropped, 0 <= p < 1.")
    clip = None if least is None or most is None else (least, most, lstm_state_clip_nan)
    layers = _layers(mode, state_size, num_layers, bidirectional, projection_size, data.shape[2], clip)
    if mode != "lstm" and sequence_length is None and use_sequence_length:
        state_cell, sequence_length = None, state_cell  # inputs that are not used leave no gap
    cells = layers.count * layers.directions
    expected_inputs: list[tuple[str, Any, tuple[int, ...], str]] = [
        ("parameters", parameters, (layers.parameters(),), "the number of all weights and biases"),
        ("state", state, (cells, data.shape[1], layers.results), "(num_layers * directions, batch, length of outputs)"),
    ]
    if mode == "lstm":
        shape = (cells, data.shape[1], state_size)
        expected_inputs.append(("state_cell", state_cell, shape, "(num_layers * directions, batch, state_size)"))
    if use_sequence_length:
        expected_inputs.append(("sequence_length", sequence_length, (data.shape[1],), "one length for each sequence"))
    for name, value, expected, meaning in expected_inputs:
        if value is None:
            raise ArgumentError(f"RNN: {name} is missing, which mode={mode!r} needs; expected shape {expected}.")
        if value.shape != expected:
            raise ShapeError(
                f"RNN: {name} has shape {value.shape}; expected {expected}, {meaning}, for data of shape {data.shape} "
                f"with mode={mode!r}, state_size={state_size}, num_layers={num_layers}, "
                f"bidirectional={bidirectional}, projection_size={projection_size}."
            )
    valid = valid_steps(sequence_length, data.shape[0]) if use_sequence_length else None
    dtype = np.dtype("float32" if data.dtype.itemsize == 2 else data.dtype)
    wide = [value.astype(dtype, copy=False) for value in (data, parameters, state)]
    cell = state_cell.astype(dtype, copy=False) if mode == "lstm" else None
    return Call(wide[0], weights_of(wide[1], layers), wide[2], cell, layers, valid)


def valid_steps(lengths: Any, steps: int) -> Any:
    """Return which steps lie inside their sequence, (time, batch, 1). Lengths may be whole numbers in floats."""
    lengths = truncated(raw_of(lengths))
    if lengths.size and not (lengths.min() >= 0 and lengths.max() <= steps):
        wrong = lengths.max() if lengths.max() > steps else lengths.min()
        raise ArgumentError(f"RNN: sequence_length holds {wrong}; expected lengths from 0 to {steps}, the time.")
    return (np.arange(steps)[:, None] < lengths)[:, :, None]


def drawn_masks(shape: tuple[int, ...], dtype: Any, p: float) -> np.ndarray:
    """Return what outputs are multiplied by: 0 with probability p, and else what keeps their mean."""
    is_kept = np.less(generator().random(shape, np.float32), 1 - p)
    return is_kept / dtype.type(1 - p)


def _masks(call: Call, p: float) -> np.ndarray:
    """Return what the outputs of each layer but the last are multiplied by; empty: nothing."""
    layers, (steps, batch) = call.layers, call.data.shape[:2]
    width = layers.directions * layers.results
    if not p or layers.count == 1:
        return np.ones((0, steps, batch, width), call.data.dtype)
    return drawn_masks((layers.count - 1, steps, batch, width), call.data.dtype, p)


def _upstream(call: Call, g: Any) -> tuple[Any, Any, Any]:
    """Return the upstream gradients of outputs, states and cells, in the dtype to compute in."""
    dtype = call.data.dtype
    seen = [value.astype(dtype, copy=False) for value in g[: 2 + (call.cell is not None)]]
    return seen[0], seen[1], seen[2] if len(seen) == 3 else None


@rnn.def_multiple_grad(argnums=(0, 1, 2, 3))
def _rnn_gradients(
    ans: Any,
    data: Any,
    parameters: Any,
    state: Any,
    state_cell: Any,
    sequence_length: Any,
    *,
    mode: str,
    **attributes: Any,
) -> Any:
    call = _call(data, parameters, state, state_cell, sequence_length, mode=mode, **attributes)
    forward = unrolled(call, ans[-2])[-1]
    return lambda g: _with_lengths(pulled(call, forward, *_upstream(call, g)), mode, state_cell)


@rnn.def_multiple_grad_kernel
def _raw_rnn_gradients(
    ans: Any,
    data: Any,
    parameters: Any,
    state: Any,
    state_cell: Any,
    sequence_length: Any,
    *,
    mode: str,
    **attributes: Any,
) -> Any:
    call = _call(data, parameters, state, state_cell, sequence_length, mode=mode, **attributes)

    def gradients(g: Any) -> Any:
        result = ans[0].astype(call.data.dtype, copy=False)
        return _with_lengths(vjp(*call, ans[-2], result, ans[-1], *_upstream(call, g)), mode, state_cell)

    return gradients


def _with_lengths(parts: tuple[Any, ...], mode: str, state_cell: Any) -> tuple[Any, ...]:
    """Return gradients where, without cells, lengths of sequences may stand in the place of the cells."""
    if mode == "lstm" or state_cell is None:
        return parts
    return (*parts[:3], np.zeros(np.shape(state_cell), state_cell.dtype))


@rnn.def_infer_shape
def _rnn_shapes(
    inputs: Any,
    outputs: Any,
    *,
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    mode: str,
    projection_size: int | None,
    use_sequence_length: bool,
) -> Any:
    layers = _layers(mode, state_size, num_layers, bidirectional, projection_size, 0)
    cells = layers.count * layers.directions
    data, result = with_axes(inputs[0], 3), with_axes(outputs[0], 3)
    states = [with_axes(stated, 3) for stated in (*inputs[2 : 3 + (mode == "lstm")], *outputs[1:])]
    lengths = [with_axes(inputs[-1], 1)] if use_sequence_length else []
    steps = merge_lengths(data[0], result[0])
    batch = merge_lengths(data[1], result[1], *(shape[1] for shape in states), *(shape[0] for shape in lengths))
    data = (steps, batch, data[2])
    size = derived(
        lambda width: _layers(mode, state_size, num_layers, bidirectional, projection_size, width).parameters(), data[2]
    )
    state = (cells, batch, layers.results)
    memory = [(cells, batch, layers.size)] if mode == "lstm" else []
    input_shapes = [data, (size,), state, *memory, *([(batch,)] if use_sequence_length else [])]
    return input_shapes, [(steps, batch, layers.directions * layers.results), state, *memory][: len(outputs)]


@rnn.def_infer_type
def _rnn_dtypes(inputs: Any, outputs: Any, *, mode: str) -> Any:
    count = 4 if mode == "lstm" else 3
    shared, outputs = same_dtype(inputs[:count], outputs)
    remaining = [shared[0] if dtype is None else dtype for dtype in inputs[count:]]
    return [*shared, *remaining], outputs


@operator(name="_rnn_param_concat", dtypes=promoted)
def rnn_param_concat(*data: np.ndarray, dim: int = 1, num_args: int | None = None) -> np.ndarray:
    """Return the parameters of recurrent layers as one vector: arrays joined along an axis, as `concat` does.

    Parameters
    ----------
    *data : NDArray
        The weights and biases, flat, in the order in which `RNN` takes them.
    dim : int
        The axis.
    num_args : int, optional
        Accepted and not used: the number of arrays.

    {returns_array}

    {raises_shape_error}
        If the arrays differ in another axis, or there is no such axis.

    {examples}
    >>> nd._internal._rnn_param_concat(nd.array([1, 2]), nd.array([3]), dim=0).asnumpy()
    array([1., 2., 3.], dtype=float32)
    """
    return concat.definition(*data, dim=dim)


rnn_param_concat.def_multiple_grad(concat_gradient)


@rnn_param_concat.def_infer_shape
def _parameter_shapes(inputs: Any, outputs: Any, *, dim: int) -> Any:
    """Infer as `concat` does; several unknown lengths are equal: of what both directions make of the inputs."""
    inputs, outputs = concat_shapes(inputs, outputs, dim=dim)
    if any(shape is None or len(shape) != 1 for shape in (*inputs, *outputs)):
        return inputs, outputs
    unknown = [shape for shape in inputs if shape == (UNKNOWN,)]
    remaining_length = outputs[0][0] - sum(shape[0] for shape in inputs if shape != (UNKNOWN,))
    if unknown and outputs[0] != (UNKNOWN,) and remaining_length >= 0 and remaining_length % len(unknown) == 0:
        inputs = [(remaining_length // len(unknown),) if shape == (UNKNOWN,) else shape for shape in inputs]
    return inputs, outputs
