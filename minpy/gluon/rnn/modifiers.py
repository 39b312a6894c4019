"""Cells that change what another cell does, or come between two: dropout, zoneout, residual connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy

from minpy import ndarray as nd
from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, describe
from minpy.gluon.rnn.bidirectional import BidirectionalCell
from minpy.gluon.rnn.recurrent_cell import HybridRecurrentCell, RecurrentCell, StateInfo
from minpy.gluon.rnn.sequences import functions_of, in_mode, is_merged, masked, merged, merged_or_split, steps_of
from minpy.gluon.rnn.step_memory import recalled

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell", "require_rate"]


def require_rate(class_name: str, **rates: Any) -> None:
    """Raise the error for what is no probability."""
    for name, rate in rates.items():
        if not isinstance(rate, (int, float, numpy.number)):
            raise ArgumentError(f"{class_name}: {name} is {describe(rate)}; expected a number, a probability.")
        if not 0 <= rate < 1:
            raise ArgumentValueError(f"{class_name}: {name} is {rate}; expected a probability p, 0 <= p < 1.")


class DropoutCell(HybridRecurrentCell):
    """Dropout of its inputs, in training; it has no states. It stands between other cells.

    Parameters
    ----------
    rate : float
        The probability with which an element is set to zero.
    axes : tuple of int
        The axes along which the mask is the same.
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.rnn.DropoutCell(0.5)
    >>> outputs, states = cell.unroll(2, mx.nd.ones((1, 2, 3)))
    >>> outputs.shape, states
    ((1, 2, 3), [])
    """

    def __init__(self, rate: float, axes: Sequence[int] = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        require_rate("DropoutCell", rate=rate)
        self._rate = rate
        self._axes = axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def _alias(self) -> str:
        return "dropout"

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return an empty list: there are no states."""
        return []

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Return the inputs with some elements set to zero, and the states as they are."""
        if self._rate > 0:
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def _unroll(
        self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any
    ) -> tuple[Any, list[Any]]:
        inputs = merged_or_split(length, inputs, layout, merge_outputs, self.name)
        if not is_merged(inputs):
            # `valid_length` does not matter: the steps after the end are passed on like all others.
            return super()._unroll(length, inputs, begin_state, layout, merge_outputs, None)
        states = [] if begin_state is None else list(begin_state)
        outputs, states = self.hybrid_forward(functions_of(inputs), inputs, states)
        return in_mode(outputs), states


class ModifierCell(HybridRecurrentCell):
    """The base of cells that change what another cell does. That one is not used alone any more.

    Parameters
    ----------
    base_cell : RecurrentCell

    Raises
    ------
    MXNetError
        If the cell is modified already.

    Examples
    --------
    >>> import minpy as mx
    >>> class Doubled(mx.gluon.rnn.ModifierCell):
    ...     def hybrid_forward(self, F, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return output * 2, states
    >>> cell = Doubled(mx.gluon.rnn.RNNCell(2, 'relu', input_size=3))
    >>> cell.initialize(mx.init.One())
    >>> cell(mx.nd.ones((1, 3)), cell.begin_state(batch_size=1))[0].asnumpy().tolist()
    [[6.0, 6.0]]
    """

    def __init__(self, base_cell: Any) -> None:
        if not isinstance(base_cell, RecurrentCell):
            raise ArgumentError(f"{type(self).__name__}: base_cell is {describe(base_cell)}; expected a cell.")
        if base_cell._modified:
            raise MXNetError(
                f"{type(self).__name__}: the cell {base_cell.name} is inside a modifier already, and cannot be in two. "
                "Modify that one, or make another cell."
            )
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        """Its own parameters: those of the cell inside."""
        return self.base_cell.params if "base_cell" in vars(self) else self._params

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states of the cell inside are; see `RecurrentCell.state_info`."""
        return list(self.base_cell.state_info(batch_size))

    def begin_state(  # type: ignore[override]
        self, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> list[Any]:
        """Return states to begin a sequence with, of the cell inside; see `RecurrentCell.begin_state`.

        Parameters
        ----------
        func : callable
            What makes a state.
        **kwargs
            `batch_size`, and what `func` takes.

        Raises
        ------
        ArgumentError
            If `func` is a number.
        """
        self._require_unmodified("begin_state")
        if not callable(func):
            raise ArgumentError(
                f"{self.name}.begin_state: func, the first argument, is {describe(func)}. Give batch_size={func!r}."
            )
        self.base_cell._modified = False
        try:
            return list(self.base_cell.begin_state(func=func, **kwargs))
        finally:
            self.base_cell._modified = True

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Return the output, and the list of new states. Subclasses define it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no hybrid_forward: define `def hybrid_forward(self, F, inputs, states)` in the "
            "class."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell!r})"


class ZoneoutCell(ModifierCell):
    """Zoneout: in training, some elements of the output and of the states stay what they were at the step before.

    Krueger et al., "Zoneout: regularizing RNNs by randomly preserving hidden activations", 2017. Outside training the
    cell does what the one inside does.

    Parameters
    ----------
    base_cell : RecurrentCell
    zoneout_outputs, zoneout_states : float
        The probability with which an element stays what it was.

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.LSTMCell(3), zoneout_states=0.2)
    >>> cell
    ZoneoutCell(p_out=0.0, p_state=0.2, LSTMCell(None -> 12))
    """

    _memory: ClassVar[tuple[str, ...]] = ("_prev_output",)
    _prev_output: Any

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        require_rate("ZoneoutCell", zoneout_outputs=zoneout_outputs, zoneout_states=zoneout_states)
        if isinstance(base_cell, BidirectionalCell):
            raise ArgumentError(
                "ZoneoutCell: a BidirectionalCell has no single steps to change. Put a ZoneoutCell around each of the "
                "cells inside it."
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell!r})"

    def _alias(self) -> str:
        return "zoneout"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Return the output and the states, some elements as they were."""

        def mixed(rate: float, new: Any, old: Any) -> Any:
            return F.where(F.Dropout(F.ones_like(new), p=rate), new, old)

        output, after = self.base_cell(inputs, states)
        if self.zoneout_outputs:
            before = recalled(self._prev_output, output)
            output = mixed(self.zoneout_outputs, output, F.zeros_like(output) if before is None else before)
        if self.zoneout_states:
            after = [mixed(self.zoneout_states, new, old) for new, old in zip(after, states, strict=True)]
        if self.zoneout_outputs:
            vars(self)["_prev_output"] = output
        return output, after


class ResidualCell(ModifierCell):
    """A residual connection: the input is added to the output, so that both have the same length.

    Wu et al., "Google's neural machine translation system", 2016, section 3.1.

    Parameters
    ----------
    base_cell : RecurrentCell

    Examples
    --------
    >>> import minpy as mx
    >>> cell = mx.gluon.rnn.ResidualCell(mx.gluon.rnn.RNNCell(2, 'relu', input_size=2))
    >>> cell.initialize(mx.init.One())
    >>> cell(mx.nd.ones((1, 2)), cell.begin_state(batch_size=1))[0].asnumpy().tolist()
    [[3.0, 3.0]]
    """

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Return the output plus the input, and the states."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def _unroll(
        self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any
    ) -> tuple[Any, list[Any]]:
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs, begin_state, layout, merge_outputs, valid_length=valid_length
            )
        finally:
            self.base_cell._modified = True
        merge = is_merged(outputs) if merge_outputs is None else merge_outputs
        if valid_length is not None:
            inputs = masked(inputs, valid_length, layout, self.name)
        if merge:
            inputs = merged(inputs, layout, self.name)
            return in_mode(functions_of(inputs).elemwise_add(outputs, inputs)), states
        steps = steps_of(length, inputs, layout, self.name)[0]
        return in_mode(
            [functions_of(output).elemwise_add(output, step) for output, step in zip(outputs, steps, strict=True)]
        ), states
