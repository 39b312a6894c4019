"""`Updater`: an optimizer with the states of all its weights, kept by the indices of the parameters."""

from __future__ import annotations

from typing import Any

from minpy.core.buffers import share
from minpy.core.errors import ArgumentError, FileFormatError, describe
from minpy.ndarray import NDArray
from minpy.ndarray.placement import place
from minpy.optimizer.optimizer_base import Optimizer, kind_of
from minpy.optimizer.state_bytes import dump_states, load_states

__all__ = ["Updater", "get_updater", "states_with_progress"]

# The key, among the states, of what an optimizer knows besides: how many updates it has made. MXNet, which forgets that
# when training goes on from a file, does not look at it.
_PROGRESS = "__progress__"
# What every optimizer has, so that one that was read lacks none of it.
_REQUIRED = ("aggregate_num", "lr", "wd", "num_update", "_index_update_count")
_PROGRESS_NAMES = ("num_update", "m_schedule", "last_lr", "cur_lr")


class Updater:
    """Updates weights with an optimizer, and keeps their states.

    Parameters
    ----------
    optimizer : Optimizer

    Attributes
    ----------
    optimizer : Optimizer
    states : dict
        The states of each parameter, by its index.
    states_synced : dict
        Whether states are known to be on the device of their weight: not after they were loaded.
    aggregate_updates : bool
        Whether several weights are updated at once.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.Updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.array([1, -1]), weight)
    >>> weight.asnumpy()
    array([0.5, 1.5], dtype=float32)
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            advice = f" Make one first: optimizer.create({optimizer!r})." if isinstance(optimizer, str) else ""
            raise ArgumentError(f"Updater: optimizer is {describe(optimizer)}; expected an Optimizer.{advice}")
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update a weight, or several, in place.

        Parameters
        ----------
        index : int or str, or a list of them
            Which parameter it is. Its states are made at the first update.
        grad, weight : NDArray, or lists of them
        """
        if isinstance(index, (list, tuple)):
            if not len(index) == len(grad) == len(weight):
                raise ArgumentError(
                    f"Updater: {len(index)} indices, {len(grad)} gradients and {len(weight)} weights are given; "
                    "expected as many of each."
                )
            indices, grads, weights = index, grad, weight
        else:
            indices, grads, weights = (index,), (grad,), (weight,)
        if not indices:
            return
        for array in weights:
            if type(array) is not NDArray:
                grads, weights = [_classic(array) for array in grads], [_classic(array) for array in weights]
                break
        optimizer, states = self.optimizer, self.states
        optimizer._set_current_context(weights[0].context.device_id)
        synced, dtype, alike = self.states_synced, weights[0]._data.dtype, True
        for key, array in zip(indices, weights, strict=True):
            if key not in synced or not synced[key]:
                self._prepare(key, array)
            if array._data.dtype is not dtype:
                alike = False
        size = optimizer.aggregate_num
        if not (self.aggregate_updates and size):
            optimizer._update_each(indices, weights, grads, [states[key] for key in indices])
            return
        if optimizer._takes_all():
            size = len(indices)
        everything = (tuple(indices), tuple(weights), tuple(grads))
        for keys, arrays, gradients in [everything] if alike else _by_dtype(*everything):
            for start in range(0, len(keys), size):
                part = slice(start, start + size)
                own_states = [states[key] for key in keys[part]]
                optimizer.update_multi_precision(keys[part], arrays[part], gradients[part], own_states)

    def _prepare(self, index: Any, weight: NDArray) -> None:
        """Make the states of a parameter, or move those that were loaded to its weight's device."""
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        else:
            self.states[index] = self.sync_state_context(self.states[index], weight.context)
        self.states_synced[index] = True

    def sync_state_context(self, state: Any, context: Any) -> Any:
        """Return states with their arrays on a device; what is no array, and in no list or tuple, as it is.

        Parameters
        ----------
        state : object
            An array, or a list or tuple of states.
        context : Context

        Returns
        -------
        object

        Examples
        --------
        >>> import minpy as mx
        >>> update = mx.optimizer.get_updater(mx.optimizer.SGD())
        >>> mean, var = update.sync_state_context((mx.nd.ones(2), mx.nd.ones(2)), mx.cpu(1))
        >>> mean.context
        cpu(1)
        """
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if type(state) in (tuple, list):
            return type(state)(self.sync_state_context(member, context) for member in state)
        return state

    def set_states(self, states: bytes | bytearray) -> None:
        """Take over what `get_states` returned, here or in MXNet: the optimizer as well, if it was included.

        Nothing is run that a file says: see `minpy.optimizer.state_bytes`.

        Parameters
        ----------
        states : bytes

        Raises
        ------
        FileFormatError
            For what are no states, or states of classes that do not belong there.

        Examples
        --------
        >>> import minpy as mx
        >>> update, again = [mx.optimizer.get_updater(mx.optimizer.Adam()) for _ in range(2)]
        >>> update(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> again.set_states(update.get_states())
        >>> again.states[0][0].asnumpy()
        array([0.1, 0.1], dtype=float32)
        """
        loaded = load_states(states)
        optimizer = self.optimizer
        if isinstance(loaded, tuple) and len(loaded) == 2:
            loaded, optimizer = loaded
        if not isinstance(loaded, dict) or not isinstance(optimizer, Optimizer):
            raise FileFormatError(
                f"set_states: expected a pickle of a dict of states, or of that and an Optimizer; got "
                f"{describe(loaded)}{'' if isinstance(loaded, dict) else ', and no states'}. Give what "
                "Updater.get_states, or Trainer.save_states, has written."
            )
        lacking = [name for name in _REQUIRED if not hasattr(optimizer, name)]
        if lacking:
            raise FileFormatError(
                f"set_states: the {type(optimizer).__name__} that comes with the states has no {', '.join(lacking)}. "
                "They are damaged."
            )
        progress = loaded.pop(_PROGRESS, None)
        if progress is not None:
            _take_progress(optimizer, progress)
        self.states, self.optimizer = loaded, optimizer
        self.aggregate_updates = optimizer.aggregate_num > 0
        self.states_synced = dict.fromkeys(loaded, False)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Return the states as bytes, which MXNet reads as well.

        Parameters
        ----------
        dump_optimizer : bool
            Whether the optimizer is included, with its rates and counts.

        Returns
        -------
        bytes

        Examples
        --------
        >>> import minpy as mx
        >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.5))
        >>> update(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> again = mx.optimizer.get_updater(mx.optimizer.SGD())
        >>> again.set_states(update.get_states(dump_optimizer=True))
        >>> again.optimizer.momentum
        0.5
        """
        return dump_states((self.states, self.optimizer) if dump_optimizer else self.states)


def states_with_progress(updater: Updater) -> bytes:
    """Return the states of an updater, with the counts of its optimizer: training goes on as if it had not stopped.

    MXNet reads them as well, without the counts, as those that `Updater.get_states` returns.
    """
    optimizer = updater.optimizer
    progress: dict[str, Any] = {name: getattr(optimizer, name) for name in _PROGRESS_NAMES if hasattr(optimizer, name)}
    progress["counts"] = optimizer._all_index_update_counts
    return dump_states({**updater.states, _PROGRESS: progress})


def _take_progress(optimizer: Optimizer, progress: Any) -> None:
    """Let an optimizer count on from where another one was."""
    counts = progress.get("counts") if isinstance(progress, dict) else None
    if not isinstance(counts, dict) or not all(
        isinstance(device, int)
        and isinstance(each, dict)
        and all(isinstance(count, int) and not isinstance(count, bool) for count in each.values())
        for device, each in counts.items()
    ):
        raise FileFormatError(
            f"set_states: the counts of updates are {describe(progress)}; expected a dict of devices to dicts of "
            "indices to integers. The states are damaged."
        )
    for name in _PROGRESS_NAMES:
        value = progress.get(name)
        if name in progress and hasattr(optimizer, name) and (value is None or isinstance(value, (int, float))):
            setattr(optimizer, name, value)
    counts.setdefault(0, {})
    optimizer._all_index_update_counts = counts
    optimizer._index_update_count = counts[0]


def _classic(array: Any) -> Any:
    """Return an array that has NumPy's semantics as one that has MXNet's, over the same memory."""
    if not isinstance(array, NDArray):
        raise ArgumentError(f"Updater: got {kind_of(array)}; expected an NDArray, as weight and as gradient.")
    if array._keeps_dtype:
        return array
    classic = place(NDArray, array._data, array.context, array._node)
    share(array, classic)
    return classic


def _by_dtype(indices: Any, weights: Any, grads: Any) -> list[tuple[Any, ...]]:
    """Return the indices, weights and gradients of the weights of each dtype."""
    groups: dict[Any, list[Any]] = {}
    for parts in zip(indices, weights, grads, strict=True):
        groups.setdefault(parts[1]._data.dtype, []).append(parts)
    return [tuple(zip(*group, strict=True)) for group in groups.values()]


def get_updater(optimizer: Optimizer) -> Updater:
    """Return a function of (index, gradient, weight) that updates weights with an optimizer.

    Parameters
    ----------
    optimizer : Optimizer

    Returns
    -------
    Updater

    Raises
    ------
    ArgumentError
        For what is no optimizer.

    Examples
    --------
    >>> import minpy as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = mx.nd.ones(2)
    >>> update(0, mx.nd.ones(2), weight)
    >>> weight.asnumpy()
    array([0.5, 0.5], dtype=float32)
    """
    return Updater(optimizer)
