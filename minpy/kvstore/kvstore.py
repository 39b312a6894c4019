"""`KVStore`: the store of one process, which sums arrays of several contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy

from minpy import ndarray as nd
from minpy import optimizer as opt
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DTypeError,
    MissingPartError,
    NotReadyError,
    ShapeError,
    describe,
    nearest,
)
from minpy.files import checked_path, read_file, write_file
from minpy.kvstore.base import LOCAL, KVStoreBase
from minpy.namespaces import module_functions

__all__ = ["KVStore"]
__dir__, __getattr__ = module_functions(__name__, __all__)


class KVStore(KVStoreBase):
    """Arrays by key, into which gradients of several contexts are summed. Use `kvstore.create` to make one.

    A pushed array replaces the stored one or, once there is an optimizer or an updater, updates it. Keys are all
    strings or all integers.

    Parameters
    ----------
    handle : str
        The name of the kind of store.

    Examples
    --------
    >>> import minpy as mx
    >>> store = mx.kv.create('device')
    >>> store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    >>> store.init(0, mx.nd.ones(2))
    >>> out = mx.nd.zeros(2)
    >>> store.pushpull(0, [mx.nd.ones(2), mx.nd.ones(2)], out=out)
    >>> out.asnumpy()
    array([0., 0.], dtype=float32)
    """

    def __init__(self, handle: str = "local") -> None:
        self.handle = handle
        self._stored: dict[Any, Any] = {}
        self._updater: Any = None
        self._updater_func: Any = None

    # -- properties ------------------------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        """The name of its kind."""
        return self.handle

    @property
    def rank(self) -> int:
        """The number of this process among those that train together: 0."""
        return 0

    @property
    def num_workers(self) -> int:
        """How many processes train together: 1."""
        return 1

    def is_capable(self, capability: str) -> bool:
        """Tell whether the store can do more than sum.

        Parameters
        ----------
        capability : str
            `KVStoreBase.OPTIMIZER`: to update parameters, in lower or upper case.

        Returns
        -------
        bool

        Raises
        ------
        ArgumentValueError
            For unknown capabilities.
        """
        if str(capability).lower() != KVStoreBase.OPTIMIZER:
            raise ArgumentValueError(
                f"is_capable: unknown capability {capability!r}; there is {KVStoreBase.OPTIMIZER!r}."
            )
        return True

    # -- arrays by key ---------------------------------------------------------------------------------------------

    def init(self, key: Any, value: Any) -> None:
        """Store first values.

        Parameters
        ----------
        key : str or int, or a list of them
        value : NDArray, or a list of as many
            It is copied.

        Raises
        ------
        ArgumentError
            If a key exists already, or is of another kind than the existing ones.
        """
        for own_key, values in self._pairs("init", key, value):
            if own_key in self._stored:
                raise ArgumentValueError(
                    f"init: the key {own_key!r} is there already. push and pull change and read it; to begin anew, "
                    "make another store."
                )
            self._check_kind("init", own_key)
            self._stored[own_key] = values[0].copy()

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sum arrays; the sum replaces the stored array, or updates it if there is an updater.

        Parameters
        ----------
        key : str or int, or a list of them
        value : NDArray or list of NDArray; for several keys a list of as many
        priority : int
            Not used: keys are pushed in order.

        Raises
        ------
        ArgumentError
            If there is no such key.
        ShapeError, DTypeError
            If a shape is not that of the stored array, or dtypes differ.
        """
        for own_key, values in self._pairs("push", key, value):
            stored = self._stored_at("push", own_key)
            for pushed in values:
                if pushed.shape != stored.shape:
                    raise ShapeError(
                        f"push: the key {own_key!r} has shape {stored.shape}, and what is pushed {pushed.shape}; they "
                        "must be equal."
                    )
            total = _sum(own_key, values, stored.context)
            if self._updater is not None:
                self._updater(own_key, total, stored)
            else:
                self._stored[own_key] = total.copy() if total is values[0] else total

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy stored arrays into others.

        Parameters
        ----------
        key : str or int, or a list of them
        out : NDArray or list of NDArray; for several keys a list of as many
            Converted to their dtypes, on any contexts.
        priority : int
            Not used: keys are pulled in order.
        ignore_sparse : bool
            Not used: arrays are dense.

        Raises
        ------
        ArgumentError
            If there is no such key, or no array to write into.
        ShapeError
            If shapes differ.
        """
        if out is None:
            raise ArgumentError("pull: out is missing: give the array, or the list of arrays, to write into.")
        for own_key, arrays in self._pairs("pull", key, out):
            stored = self._stored_at("pull", own_key)
            for array in arrays:
                if array.shape != stored.shape:
                    raise ShapeError(
                        f"pull: the key {own_key!r} has shape {stored.shape}, and the array to write into "
                        f"{array.shape}; they must be equal."
                    )
                stored.copyto(array)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Push, and then pull.

        Parameters
        ----------
        key : str or int, or a list of them
        value : NDArray or list of NDArray; for several keys a list of as many
        out : the same, optional
            By default `value` itself.
        priority : int
            Not used: one comes after the other.

        Raises
        ------
        ArgumentError
            If there is no such key.
        ShapeError, DTypeError
            If shapes or dtypes do not fit.
        """
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Store first values, and write them into arrays.

        Parameters
        ----------
        key : str or int, or a list of them
        value : NDArray, or a list of as many
        out : NDArray or list of NDArray; for several keys a list of as many
        priority : int
            Not used: one comes after the other.

        Raises
        ------
        ArgumentError
            If a key is there already.
        """
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> NoReturn:
        """Refuse: there are no sparse arrays.

        Raises
        ------
        MissingPartError
            Always.
        """
        raise MissingPartError(
            "row_sparse_pull: there are no sparse arrays here. Use pull, and take the rows: out.take(row_ids)."
        )

    def _replace(self, key: Any, value: Any) -> None:
        """Replace a stored array; states of the optimizer stay."""
        self._stored[key] = value.copy()

    def _pairs(self, function: str, key: Any, value: Any) -> Iterable[tuple[Any, list[Any]]]:
        """Return keys with the arrays of each."""
        if not isinstance(key, (list, tuple)):
            return [(_checked_key(function, key), _arrays(function, key, value))]
        if not isinstance(value, (list, tuple)) or len(value) != len(key):
            count = len(value) if isinstance(value, (list, tuple)) else 1
            raise ArgumentError(
                f"{function}: {len(key)} keys need a list of {len(key)} arrays, or of lists of arrays; got {count}."
            )
        arrays: dict[Any, list[Any]] = {}
        for own_key, values in zip(key, value, strict=True):
            arrays.setdefault(_checked_key(function, own_key), []).extend(_arrays(function, own_key, values))
        return arrays.items()

    def _stored_at(self, function: str, key: Any) -> Any:
        try:
            return self._stored[key]
        except KeyError:
            self._check_kind(function, key)
            advice = nearest(key, self._stored) if isinstance(key, str) else ""
            raise ArgumentValueError(
                f"{function}: there is no key {key!r}.{advice} Call init({key!r}, value) first."
            ) from None

    def _check_kind(self, function: str, key: Any) -> None:
        stored = next(iter(self._stored), key)
        if isinstance(stored, str) != isinstance(key, str):
            raise ArgumentError(
                f"{function}: the key {key!r} is {'a string' if isinstance(key, str) else 'an integer'}, and those "
                f"that are there, such as {stored!r}, are not: all must be of one kind."
            )

    # -- updates ---------------------------------------------------------------------------------------------------

    def set_optimizer(self, optimizer: Any) -> None:
        """Let an optimizer update the stored arrays whenever gradients are pushed.

        Parameters
        ----------
        optimizer : Optimizer

        Raises
        ------
        ArgumentError
            If it is none.

        Examples
        --------
        >>> import minpy as mx
        >>> store = mx.kv.create()
        >>> store.init('weight', mx.nd.ones(2))
        >>> store.set_optimizer(mx.optimizer.SGD(learning_rate=0.25))
        >>> store.push('weight', mx.nd.ones(2))
        >>> out = mx.nd.zeros(2)
        >>> store.pull('weight', out=out)
        >>> out.asnumpy()
        array([0.75, 0.75], dtype=float32)
        """
        if not isinstance(optimizer, opt.Optimizer):
            advice = f" Make one: mx.optimizer.create({optimizer!r})." if isinstance(optimizer, str) else ""
            raise ArgumentError(f"set_optimizer: expected an Optimizer, got {describe(optimizer)}.{advice}")
        self._set_updater(opt.get_updater(optimizer))

    def _set_updater(self, updater: Callable[[Any, Any, Any], None] | None) -> None:
        """Let `updater(key, gradient, stored)` change the stored array in place whenever gradients are pushed."""
        if updater is not None and not callable(updater):
            raise ArgumentError(
                f"_set_updater: expected a function of (key, gradient, stored), got {describe(updater)}."
            )
        self._updater = self._updater_func = updater

    set_updater = _set_updater

    def set_gradient_compression(self, compression_params: Any) -> NoReturn:
        """Refuse: gradients of one process are not sent, and need no compression.

        Raises
        ------
        MissingPartError
            Always.
        """
        raise MissingPartError(
            "set_gradient_compression: gradients are summed in the memory of one process, and none is sent: there is "
            "nothing to compress. Leave compression_params out."
        )

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer to a file, which MXNet reads, too.

        Parameters
        ----------
        fname : str
        dump_optimizer : bool
            Whether the optimizer is written, too.

        Raises
        ------
        MXNetError
            If there is no optimizer.
        FileAccessError
            If the file cannot be written; an existing file stays.
        """
        updater = self._stateful_updater("save_optimizer_states")
        path = checked_path("save_optimizer_states", fname)
        content = updater.get_states(dump_optimizer)
        write_file("save_optimizer_states", path, [content])

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the optimizer from a file, which MXNet may have written.

        Parameters
        ----------
        fname : str

        Raises
        ------
        MXNetError
            If there is no optimizer.
        FileAccessError
            If the file cannot be read.
        FileFormatError
            If it holds no such states.
        """
        updater = self._stateful_updater("load_optimizer_states")
        path = checked_path("load_optimizer_states", fname)
        content = read_file("load_optimizer_states", path)
        updater.set_states(content)

    def _stateful_updater(self, function: str) -> Any:
        if not hasattr(self._updater, "get_states"):
            raise NotReadyError(f"{function}: this store has no optimizer, and no states. Call set_optimizer first.")
        return self._updater

    # -- other processes -------------------------------------------------------------------------------------------

    def _barrier(self) -> None:
        """Wait for the other processes, of which there are none."""

    def _send_command_to_servers(self, head: int, body: str) -> NoReturn:
        """Refuse: there are no servers."""
        raise MissingPartError(
            "_send_command_to_servers: one process trains here, and there are no servers to send commands to."
        )


def _checked_key(function: str, key: Any) -> Any:
    if isinstance(key, bool) or not isinstance(key, (str, int, numpy.integer)):
        raise ArgumentError(f"{function}: keys are strings or integers, got {describe(key)}.")
    return key


def _arrays(function: str, key: Any, value: Any) -> list[Any]:
    """Return the arrays of one key."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    for array in values:
        if not isinstance(array, nd.NDArray):
            raise ArgumentError(f"{function}: for the key {key!r}, expected an NDArray, got {describe(array)}.")
    if not values:
        raise ArgumentError(f"{function}: for the key {key!r} there are no arrays.")
    return values


def _sum(key: Any, values: list[Any], context: Any) -> Any:
    """Return the sum of arrays on a context; a single array that is there already is returned itself."""
    first = values[0].as_in_context(context)
    if len(values) == 1:
        return first
    total = first._data.copy()
    for value in values[1:]:
        if value._data.dtype != total.dtype:
            raise DTypeError(
                f"push: for the key {key!r}, arrays of {total.dtype.name} and {value._data.dtype.name} are to be "
                "summed; cast them to one dtype first."
            )
        total += value._data
    return first._like(total)


LOCAL.update(
    dict.fromkeys(("local", "device", "local_update_cpu", "local_allreduce_cpu", "local_allreduce_device"), KVStore)
)
