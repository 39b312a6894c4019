"""`BaseRNNCell`: one step of a recurrent network as symbols, and the steps unrolled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minpy import symbol
from minpy.core.errors import ArgumentError, ArgumentValueError, describe, nearest
from minpy.ndarray import NDArray, concatenate
from minpy.rnn.params import RNNParams
from minpy.symbol import Symbol

__all__ = ["BaseRNNCell", "normalized", "pop_array"]

Weights = Mapping[str, NDArray]


def pop_array(args: dict[str, NDArray], name: str, method: str) -> NDArray:
    """Take an array out of a dict of parameters."""
    if name not in args:
        raise ArgumentValueError(f"{method}: there is no {name!r} among the parameters.{nearest(name, args)}")
    return args.pop(name)


class BaseRNNCell:
    """The base of cells: symbols for one step, and for all of them.

    A cell is called as `cell(inputs, states)`, which returns the output and the new states of one step. A class of
    one's own has `__call__` and `state_info`; and `_gate_names`, if its weights are those of several gates.

    Parameters
    ----------
    prefix : str
        How the names of nodes and parameters begin.
    params : RNNParams, optional
        The parameters of another cell, to share them.
    """

    _gate_names: Sequence[str] = ()

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._params = RNNParams(prefix) if params is None else params
        self._prefix = prefix
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Begin a new graph: steps are counted from 0 again."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Return what one step computes.

        Parameters
        ----------
        inputs : Symbol
            Of one step: (batch, features).
        states : list of Symbol
            Of the step before, or `begin_state()`.

        Returns
        -------
        output : Symbol
        states : list of Symbol
        """
        raise NotImplementedError(f"{type(self).__name__} has no __call__, which returns (output, states) of a step.")

    @property
    def params(self) -> RNNParams:
        """The parameters; who asks for them may share them."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape (0: the batch) and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__} has no state_info, a list of a dict with 'shape' a state.")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shapes of the states."""
        return [info["shape"] for info in self.state_info]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def begin_state(self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """Return the states before the first step.

        Parameters
        ----------
        func : callable
            Makes them, from `name`, `shape` and `__layout__`: `mx.sym.zeros`, `mx.sym.var`, ...
        **kwargs
            For `func`, too.

        Raises
        ------
        ArgumentError
            For a cell that a modifier has taken over.
        """
        if self._modified:
            raise ArgumentError(
                f"{type(self).__name__}.begin_state: after applying modifier cells (e.g. ZoneoutCell) the base cell "
                "cannot be called directly. Call the modifier cell instead."
            )
        states = []
        for info in self.state_info:
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**kwargs, **(info or {})}))
        return states

    def _step_name(self) -> str:
        """Count a step, and return how the names of its nodes begin."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    # -- weights by gates ----------------------------------------------------------------------------------------------

    def unpack_weights(self, args: Weights) -> dict[str, NDArray]:
        """Return parameters with the weights and biases of each gate apart; see `pack_weights`.

        Parameters
        ----------
        args : dict of str to NDArray
            Parameters, also those of other cells.

        Returns
        -------
        dict of str to NDArray

        Raises
        ------
        ArgumentValueError
            If a parameter of the cell is missing.

        Examples
        --------
        >>> import minpy as mx
        >>> cell = mx.rnn.LSTMCell(2, prefix='lstm_')
        >>> shapes = dict(lstm_i2h_weight=(8, 3), lstm_i2h_bias=8, lstm_h2h_weight=(8, 2), lstm_h2h_bias=8)
        >>> apart = cell.unpack_weights({name: mx.nd.ones(shape) for name, shape in shapes.items()})
        >>> apart['lstm_i2h_f_weight'].shape, cell.pack_weights(apart)['lstm_i2h_weight'].shape
        ((2, 3), (8, 3))
        """
        args = dict(args)
        if not self._gate_names:
            return args
        height = self._num_hidden  # type: ignore[attr-defined]
        for group in ("i2h", "h2h"):
            packed = {
                kind: pop_array(args, f"{self._prefix}{group}_{kind}", f"{type(self).__name__}.unpack_weights")
                for kind in ("weight", "bias")
            }
            for number, gate in enumerate(self._gate_names):
                for kind, array in packed.items():
                    gate_rows = array[number * height : (number + 1) * height].copy()
                    args[f"{self._prefix}{group}{gate}_{kind}"] = gate_rows
        return args

    def pack_weights(self, args: Weights) -> dict[str, NDArray]:
        """Return parameters with the weights and biases of all gates in one array each; see `unpack_weights`.

        Parameters
        ----------
        args : dict of str to NDArray

        Returns
        -------
        dict of str to NDArray

        Raises
        ------
        ArgumentValueError
            If a parameter of a gate is missing.
        """
        args = dict(args)
        if not self._gate_names:
            return args
        for group in ("i2h", "h2h"):
            by_kind: dict[str, list[NDArray]] = {"weight": [], "bias": []}
            for gate in self._gate_names:
                for kind, arrays in by_kind.items():
                    name = f"{self._prefix}{group}{gate}_{kind}"
                    arrays.append(pop_array(args, name, f"{type(self).__name__}.pack_weights"))
            for kind, arrays in by_kind.items():
                args[f"{self._prefix}{group}_{kind}"] = concatenate(arrays)
        return args

    # -- steps ---------------------------------------------------------------------------------------------------------

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: list[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """Return the symbols of all steps.

        Parameters
        ----------
        length : int
            How many steps there are.
        inputs : Symbol or list of Symbol
            The sequence, or one symbol a step of shape (batch, features).
        begin_state : list of Symbol, optional
            The states before the first step; zeros by default.
        layout : {'NTC', 'TNC'}
            The axes of the sequence: batch, time, features.
        merge_outputs : bool, optional
            True: the outputs are one symbol in that layout; False: a list of one a step. By default whatever the cell
            makes without more ado.

        Returns
        -------
        outputs : Symbol or list of Symbol
        states : list of Symbol
            After the last step.

        Raises
        ------
        ArgumentValueError
            If there are not as many inputs as steps, or for a symbol with several outputs.

        Examples
        --------
        >>> import minpy as mx
        >>> outputs, states = mx.rnn.GRUCell(8).unroll(3, mx.sym.var('data'), merge_outputs=True)
        >>> outputs.infer_shape(data=(2, 3, 5))[1]
        [(2, 3, 8)]
        """
        self.reset()
        outputs, states = self._unroll(length, inputs, begin_state, layout, merge_outputs)
        return outputs, states

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        """Implement `unroll`; subclasses override this method."""
        steps, _ = normalized(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return normalized(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, inputs: Symbol, activation: Any, **kwargs: Any) -> Symbol:
        """Return the activation of a symbol; it is given by name or as a function."""
        if isinstance(activation, str):
            kwargs["act_type"] = activation
            return symbol.Activation(inputs, **kwargs)
        result: Symbol = activation(inputs, **kwargs)
        return result


def normalized(
    length: int | None, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Any, int]:
    """Return a sequence as one symbol, as one a step, or as it is; and the axis of time in a layout."""
    if inputs is None:
        raise ArgumentValueError(
            "unroll(inputs=None): give a symbol for the whole sequence, or a list of one symbol a step: "
            f"[mx.sym.var(f't{{i}}_data') for i in range({length})]."
        )
    axis = layout.find("T")
    in_axis = in_layout.find("T") if in_layout is not None else axis
    if axis < 0:
        raise ArgumentValueError(f"unroll: the layout {layout!r} has no axis of time; expected 'NTC' or 'TNC'.")
    if isinstance(inputs, Symbol):
        if merge is False:
            if len(inputs.list_outputs()) != 1:
                raise ArgumentValueError(
                    f"unroll doesn't allow grouped symbol as input: it has the outputs "
                    f"{', '.join(inputs.list_outputs())}. Convert it to a list with list(inputs) first, or let unroll "
                    "split a symbol of one output."
                )
            assert length is not None
            squeezed: Any = 1  # as files of MXNet's have it
            inputs = list(symbol.split(inputs, axis=in_axis, num_outputs=length, squeeze_axis=squeezed))
    else:
        if not isinstance(inputs, Sequence):
            raise ArgumentValueError(f"unroll: inputs is {describe(inputs)}; expected a Symbol or a list of them.")
        if length is not None and len(inputs) != length:
            raise ArgumentValueError(f"unroll: inputs has {len(inputs)} symbols; expected {length}, one for each step.")
        if merge is True:
            inputs = symbol.concat(*[symbol.expand_dims(step, axis=axis) for step in inputs], dim=axis)
            in_axis = axis
    if isinstance(inputs, Symbol) and axis != in_axis:
        inputs = symbol.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis
