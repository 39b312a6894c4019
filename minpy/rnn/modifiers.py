"""Cells that change others: `DropoutCell`, `ZoneoutCell`, `ResidualCell`."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from minpy import symbol
from minpy.core.errors import ArgumentError, describe
from minpy.ndarray import NDArray
from minpy.rnn.base_rnn_cell import BaseRNNCell, Weights, normalized
from minpy.rnn.combined import BidirectionalCell, SequentialRNNCell
from minpy.rnn.params import RNNParams
from minpy.symbol import Symbol

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(BaseRNNCell):
    """Sets part of its inputs to zero in training: between the layers of a `SequentialRNNCell`.

    Parameters
    ----------
    dropout : float
        Which part.
    prefix : str
    params : RNNParams, optional

    Raises
    ------
    ArgumentError
        If `dropout` is no number.

    Examples
    --------
    >>> import minpy as mx
    >>> outputs, states = mx.rnn.DropoutCell(0.5).unroll(3, mx.sym.var('data'))
    >>> outputs.infer_shape(data=(2, 3, 5))[1], states
    ([(2, 3, 5)], [])
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(dropout, Number):
            raise ArgumentError(f"DropoutCell: dropout probability must be a number, got {describe(dropout)}.")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return []

    def __call__(self, inputs: Any, states: Any) -> Any:
        if self.dropout > 0:
            inputs = symbol.Dropout(data=inputs, p=self.dropout)
        return inputs, states

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        inputs, _ = normalized(length, inputs, layout, merge_outputs)
        if isinstance(inputs, Symbol):
            return self(inputs, [])
        return super()._unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """The base of cells that change what another one does: that is called through them from then on.

    Parameters
    ----------
    base_cell : BaseRNNCell
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return self.base_cell.state_info

    def begin_state(self, init_sym: Callable[..., Symbol] = symbol.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]  # as MXNet's
        if self._modified:
            return super().begin_state(init_sym, **kwargs)  # which says so
        init_sym = kwargs.pop("func", init_sym)
        self.base_cell._modified = False
        try:
            if isinstance(self.base_cell, ModifierCell):
                return self.base_cell.begin_state(init_sym=init_sym, **kwargs)
            return self.base_cell.begin_state(func=init_sym, **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Weights) -> dict[str, NDArray]:
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Weights) -> dict[str, NDArray]:
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Keeps part of the outputs and states of the step before, in training (Krueger et al., "Zoneout", 2016).

    Parameters
    ----------
    base_cell : BaseRNNCell
    zoneout_outputs, zoneout_states : float
        Which part of the outputs and of the states.

    Raises
    ------
    ArgumentError
        For a cell that cannot be stepped.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(4), zoneout_states=0.1)
    >>> outputs, states = cell.unroll(3, mx.sym.var('data'), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 4)]
    """

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if not _can_step(base_cell):
            advice = (
                "Please unfuse first."
                if hasattr(base_cell, "unfuse")
                else "Please add ZoneoutCell to the cells underneath instead."
            )
            raise ArgumentError(
                f"{type(base_cell).__name__} doesn't support zoneout since it doesn't support step. {advice}"
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self.prev_output: Symbol | None = None

    def reset(self) -> None:
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Any, states: Any) -> Any:
        output, after = self.base_cell(inputs, states)

        def chosen(rate: float, new: Symbol, old: Symbol) -> Symbol:
            return symbol.where(symbol.Dropout(symbol.ones_like(new), p=rate), new, old)

        before = self.prev_output
        if self.zoneout_outputs != 0.0:
            mask = symbol.Dropout(symbol.ones_like(output), p=self.zoneout_outputs)
            output = symbol.where(mask, output, symbol.zeros((0, 0)) if before is None else before)
        if self.zoneout_states != 0.0:
            after = [chosen(self.zoneout_states, new, old) for new, old in zip(after, states, strict=True)]
        self.prev_output = output
        return output, after


def _can_step(cell: BaseRNNCell) -> bool:
    if isinstance(cell, SequentialRNNCell):
        return all(map(_can_step, cell._cells))
    if isinstance(cell, ModifierCell):
        return _can_step(cell.base_cell)
    return not isinstance(cell, BidirectionalCell) and not hasattr(cell, "unfuse")


class ResidualCell(ModifierCell):
    """Adds the inputs to the outputs of a cell, which must be as long (Wu et al., "Google's neural machine
    translation system", 2016).

    Parameters
    ----------
    base_cell : BaseRNNCell

    Examples
    --------
    >>> import minpy as mx
    >>> outputs, states = mx.rnn.ResidualCell(mx.rnn.GRUCell(5)).unroll(2, mx.sym.var('data'))
    >>> [one.name for one in outputs]
    ['gru_t0_out_plus_residual', 'gru_t1_out_plus_residual']
    """

    def __call__(self, inputs: Any, states: Any) -> Any:
        output, states = self.base_cell(inputs, states)
        return _added(output, inputs), states

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs=inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs
            )
        finally:
            self.base_cell._modified = True
        merge = isinstance(outputs, Symbol) if merge_outputs is None else merge_outputs
        inputs, _ = normalized(length, inputs, layout, merge)
        if merge:
            return _added(outputs, inputs), states
        return [_added(output, step) for output, step in zip(outputs, inputs, strict=True)], states


def _added(output: Symbol, inputs: Symbol) -> Symbol:
    return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
