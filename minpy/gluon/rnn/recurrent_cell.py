"""Cells: blocks of one step in time, which `unroll` repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy

from minpy import ndarray as nd
from minpy import numpy as np
from minpy.context import Context
from minpy.core.errors import ArgumentError, NotReadyError, ShapeError, describe
from minpy.core.numpy_semantics import is_np_array, is_np_shape
from minpy.gluon.block import Block, HybridBlock
from minpy.gluon.rnn.sequences import in_mode, last_valid_states, masked, merged_or_split, require_lengths, steps_of
from minpy.gluon.rnn.step_memory import Stepper, remembering_cells
from minpy.ndarray import NDArray

__all__ = ["CombinedCell", "HybridRecurrentCell", "RecurrentCell"]

StateInfo = dict[str, Any]


class RecurrentCell(Block):
    """One step in time: from an input and states to an output and new states. The base of all cells.

    A subclass says in `state_info` what its states are, and in `forward(inputs, states)` what it computes: the output,
    and the list of new states.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> class Sum(mx.gluon.rnn.RecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{'shape': (batch_size, 1), '__layout__': 'NC'}]
    ...     def forward(self, inputs, states):
    ...         total = states[0] + inputs
    ...         return total, [total]
    >>> outputs, states = Sum().unroll(3, mx.nd.array([[[1], [2], [3]]]), merge_outputs=True)
    >>> outputs.asnumpy().ravel().tolist()
    [1.0, 3.0, 6.0]
    """

    # The attributes that a cell keeps from one step to the next, beside its states.
    _memory: ClassVar[tuple[str, ...]] = ()
    _counter: int
    _init_counter: int

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Forget what was kept from the steps before, so that the cell can begin another sequence."""
        # Not as attributes are set: what is computed does not depend on these.
        vars(self).update(dict.fromkeys(self._memory), _init_counter=-1, _counter=-1)
        for cell in self._children.values():
            if hasattr(cell, "reset"):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states are: for each its 'shape', and its '__layout__'. Subclasses define it.

        Parameters
        ----------
        batch_size : int
            0: not known yet.

        Returns
        -------
        list of dict
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no state_info: define `def state_info(self, batch_size=0)` in the class, which "
            "returns [{'shape': (batch_size, ...), '__layout__': 'NC'}, ...]."
        )

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any) -> list[Any]:
        """Return states to begin a sequence with.

        Parameters
        ----------
        batch_size : int
            How many sequences.
        func : callable
            What makes a state: `mx.nd.zeros`, `mx.nd.ones`, `mx.sym.zeros`, `mx.sym.var`, ...
        **kwargs
            Given to `func`, with the 'shape' of the state: `ctx`, `dtype`.

        Returns
        -------
        list of NDArray or Symbol

        Raises
        ------
        MXNetError
            If the cell is inside a modifier, whose states are to be asked for.
        """
        self._require_unmodified("begin_state")
        states = []
        for info in self.state_info(batch_size):
            vars(self)["_init_counter"] += 1
            states.append(
                make_state(
                    func, f"{self._prefix}begin_state_{self._init_counter}", {**self._dtype_of_states(), **info}, kwargs
                )
            )
        return states

    def _dtype_of_states(self) -> StateInfo:
        """Return the dtype of the cell's parameters, unless it is the usual one."""
        for parameter in self._reg_params.values():
            if numpy.dtype(parameter.dtype) != numpy.float32:
                return {"dtype": parameter.dtype}
        return {}

    def _require_unmodified(self, method: str) -> None:
        if self._modified:
            raise NotReadyError(
                f"{self.name}.{method}: the cell is inside a modifier, such as ZoneoutCell or ResidualCell, and is not "
                "used alone any more. Call the modifier instead."
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do one step.

        Parameters
        ----------
        inputs : NDArray or Symbol
            Of shape (batch, inputs).
        states : list of NDArray or Symbol
            Those of the step before, or `begin_state()`.

        Returns
        -------
        output : NDArray or Symbol
        states : list of NDArray or Symbol

        Raises
        ------
        ArgumentError
            If there are more or fewer states than `state_info` says.
        ShapeError
            If the shapes do not fit.
        """
        vars(self)["_counter"] += 1
        states = args[1] if len(args) > 1 else kwargs.get("states", ())
        count = self._state_count()
        if not isinstance(states, (list, tuple)) or len(states) != count:
            got = f"{len(states)}" if isinstance(states, (list, tuple)) else describe(states)
            raise ArgumentError(
                f"{self.name}: states is a list of {count} array(s), as state_info() says; got {got}. Give what the "
                "step before returned, or begin_state(batch_size)."
            )
        try:
            return in_mode(super().__call__(*args, **kwargs))
        except ShapeError:
            self._require_states(args[0] if args else kwargs.get("inputs"), states)
            raise

    def _require_states(self, inputs: Any, states: Sequence[Any]) -> None:
        if not isinstance(inputs, NDArray):
            return
        batch_size = inputs.shape[0]
        for info, state in zip(self.state_info(batch_size), states, strict=True):
            if isinstance(state, NDArray) and state.shape != tuple(info["shape"]):
                raise ShapeError(
                    f"{self.name}: a state has shape {state.shape}; expected {tuple(info['shape'])} for inputs of "
                    f"shape {inputs.shape}. Give what the step before returned, or begin_state(batch_size="
                    f"{batch_size})."
                )

    def _state_count(self) -> int:
        return len(self.state_info())

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Go through a sequence, step by step.

        Parameters
        ----------
        length : int
            How many steps.
        inputs : NDArray or Symbol, or list of them
            One array with a time axis, or one of shape (batch, inputs) for each step.
        begin_state : list of NDArray or Symbol, optional
            The first states; zeros.
        layout : {'NTC', 'TNC'}
            The axes of a merged array.
        merge_outputs : bool, optional
            Whether the outputs are one array, or a list; left out: what they are easier made of.
        valid_length : NDArray or Symbol, optional
            How many steps of each sequence are valid, of shape (batch,).

        Returns
        -------
        outputs : NDArray or Symbol, or list of them
            With `valid_length`, zeros after the end of each sequence.
        states : list of NDArray or Symbol
            The last; with `valid_length`, those at the end of each sequence: the first ones, if it is empty.

        Raises
        ------
        ShapeError
            If there are more or fewer steps.
        ArgumentError
            For another layout, or inputs or states of another kind.
        """
        self.reset()
        return self._unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)

    def _unroll(
        self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None, valid_length: Any
    ) -> tuple[Any, list[Any]]:
        """Implement `unroll`; subclasses override this method."""
        steps, functions, batch_size = steps_of(length, inputs, layout, self.name)
        require_lengths(valid_length, length, batch_size, self.name)
        first = states = first_states(self, functions, begin_state, steps, batch_size)
        outputs: Any = []
        later = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
            later.append(states)
        if valid_length is not None:
            states = last_valid_states(first, later, valid_length)
            outputs = masked(outputs, valid_length, layout, self.name)
        outputs = merged_or_split(length, outputs, layout, merge_outputs, self.name)
        return in_mode(outputs), in_mode(list(states))

    def _get_activation(self, F: Any, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """Return the activation of values; it is given by name or as a block."""
        if activation in _FUNCTIONS:
            return getattr(F, activation)(inputs, **kwargs)
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs)


_FUNCTIONS = ("tanh", "relu", "sigmoid", "softsign")


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A cell that can be hybridized. A subclass defines `hybrid_forward(F, inputs, states, **parameters)`.

    What a cell keeps between steps beside its states (the outputs of a ZoneoutCell, the masks of a
    VariationalDropoutCell) goes in and out of the graph with them.

    Parameters
    ----------
    prefix, params
        See `Block`.

    Examples
    --------
    >>> import minpy as mx
    >>> class Sum(mx.gluon.rnn.HybridRecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{'shape': (batch_size, 1), '__layout__': 'NC'}]
    ...     def hybrid_forward(self, F, inputs, states):
    ...         total = F.elemwise_add(states[0], inputs)
    ...         return total, [total]
    >>> cell = Sum()
    >>> cell.hybridize()
    >>> outputs, states = cell.unroll(3, mx.nd.array([[[1], [2], [3]]]), merge_outputs=True)
    >>> outputs.asnumpy().ravel().tolist()
    [1.0, 3.0, 6.0]
    """

    _not_compared: ClassVar[frozenset[str]] = frozenset(["_counter", "_init_counter", "_modified"])

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._not_compared = cls._not_compared | frozenset(cls._memory)

    def _clear_cached_op(self) -> None:
        super()._clear_cached_op()
        vars(self).pop("_stepper", None)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_stepper", None)
        return state

    def _call_cached_op(self, *args: Any) -> Any:
        """Call the graph that the cell has become, with what cells inside remember."""
        cells = remembering_cells(self)
        if not cells:
            return super()._call_cached_op(*args)
        return self._steps_of(cells).step(*args)

    def _optimize(self, args: Sequence[Any]) -> Any:
        """Return the graph that goes through the backends, with what cells inside remember."""
        cells = remembering_cells(self)
        return self._steps_of(cells).optimize(*args) if cells else super()._optimize(args)

    def _hybridize_itself(self, *args: Any) -> None:
        super()._hybridize_itself(*args)
        vars(self).pop("_stepper", None)

    def _steps_of(self, cells: list[Any]) -> Stepper:
        stepper: Stepper | None = vars(self).get("_stepper")
        if stepper is None:
            vars(self)["_stepper"] = stepper = Stepper(self, cells)
            stepper._optimizations = self._optimizations
        return stepper

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the output, and the list of new states. Subclasses define it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no hybrid_forward: define `def hybrid_forward(self, F, inputs, states)` in the "
            "class."
        )


class CombinedCell(RecurrentCell):
    """A cell made of others, whose states are theirs."""

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Return what the states of all cells are; see `RecurrentCell.state_info`."""
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, batch_size: int = 0, *args: Any, **kwargs: Any) -> list[Any]:
        """Return states to begin a sequence with, of all cells; see `RecurrentCell.begin_state`."""
        self._require_unmodified("begin_state")
        if args:
            kwargs["func"] = args[0]
        return [
            state for cell in self._children.values() for state in cell.begin_state(batch_size=batch_size, **kwargs)
        ]


def make_state(func: Callable[..., Any], name: str, info: StateInfo, options: StateInfo) -> Any:
    """Return one of the first states, made by a function of `mx.nd`, `mx.sym` or `mx.np`."""
    info = {**info, **options}
    module = getattr(func, "__module__", "") or ""
    if is_np_array() and func is nd.zeros:
        func, module = np.zeros, np.__name__
    if module.startswith(np.__name__):  # these functions take what NumPy's take
        info.pop("__layout__", None)
        return func(**info)
    if module.startswith("minpy.symbol") and is_np_shape():  # 0 is a length there
        info["shape"] = tuple(length or -1 for length in info["shape"])
    if module.startswith(nd.__name__):  # and arrays have no attributes
        info.pop("__layout__", None)
    return func(name=name, **info)


def first_states(cell: Any, functions: Any, begin_state: Any, steps: Sequence[Any], batch_size: int) -> list[Any]:
    """Return the states to begin with: those that are given, or zeros where the inputs are."""
    if begin_state is not None:
        return begin_state
    if functions is nd and steps:
        first: NDArray = steps[0]
        context: Context = first.context
        return cell.begin_state(batch_size=batch_size, func=nd.zeros, ctx=context, dtype=first.dtype)
    return cell.begin_state(batch_size=batch_size, func=functions.zeros)


def cells_with_states(cells: Iterable[Any], states: Sequence[Any]) -> Iterable[tuple[Any, Sequence[Any]]]:
    """Yield each cell with its part of the states."""
    begin = 0
    for cell in cells:
        count = len(cell.state_info())
        yield cell, states[begin : begin + count]
        begin += count
