"""`KVStoreBase`, the base class of stores of parameters, and `create`, which makes stores by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from minpy.core.errors import ArgumentError, ArgumentValueError, MissingPartError, describe, nearest
from minpy.namespaces import module_functions
from minpy.registry import enter_class

__all__ = ["KVStoreBase", "create"]
__dir__, __getattr__ = module_functions(__name__, __all__)

_C = TypeVar("_C", bound=type)


class KVStoreBase:
    """The base of stores that sum gradients, and may update parameters with them.

    A `gluon.Trainer` accepts a registered subclass by its name in lower case, or an instance of one. It calls
    `broadcast` once for each parameter, and `pushpull` at each step; a store that `is_capable` of `OPTIMIZER` gets the
    optimizer, and returns parameters in the place of gradients.

    Examples
    --------
    >>> import minpy as mx
    >>> @mx.kv.KVStoreBase.register
    ... class MeanStore(mx.kv.KVStoreBase):
    ...     def broadcast(self, key, value, out, priority=0):
    ...         for array in out:
    ...             value.copyto(array)
    ...     def pushpull(self, key, value, out=None, priority=0):
    ...         mean = sum(array.as_in_context(mx.cpu()) for array in value) / len(value)
    ...         for array in value if out is None else out:
    ...             mean.copyto(array)
    >>> gradients = [mx.nd.array([1, 2]), mx.nd.array([3, 4])]
    >>> mx.kv.create('meanstore').pushpull(0, gradients)
    >>> gradients[1].asnumpy()
    array([2., 3.], dtype=float32)
    """

    OPTIMIZER: ClassVar[str] = "optimizer"
    kv_registry: ClassVar[dict[str, type]] = {}

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Give all copies of a parameter the same values.

        Parameters
        ----------
        key : str or int
        value : NDArray
        out : NDArray or list of NDArray
            One on each context.
        priority : int
            Keys of higher priority may go first.

        Raises
        ------
        NotImplementedError
            If the class does not override it.
        """
        raise self._missing_member("broadcast(key, value, out, priority)")

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sum gradients, and write the sum, or the parameter that was updated with it, into all of `out`.

        Parameters
        ----------
        key : str or int
        value : NDArray or list of NDArray
            One of each context.
        out : NDArray or list of NDArray, optional
            The arrays to write; by default `value`.
        priority : int
            Keys of higher priority may go first.

        Raises
        ------
        NotImplementedError
            If the class does not override it.
        """
        raise self._missing_member("pushpull(key, value, out, priority)")

    def set_optimizer(self, optimizer: Any) -> None:
        """Set the optimizer that updates parameters.

        Parameters
        ----------
        optimizer : Optimizer

        Raises
        ------
        NotImplementedError
            If the class does not override it.
        """
        raise self._missing_member("set_optimizer(optimizer)")

    def is_capable(self, capability: str) -> bool:
        """Tell whether the store can do more than sum.

        Parameters
        ----------
        capability : str
            `KVStoreBase.OPTIMIZER`: to update parameters.

        Returns
        -------
        bool

        Raises
        ------
        NotImplementedError
            If the class does not override it.
        """
        raise self._missing_member("is_capable(capability)")

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer to a file.

        Parameters
        ----------
        fname : str
        dump_optimizer : bool
            Whether the optimizer is written, too.

        Raises
        ------
        NotImplementedError
            If the class does not override it.
        """
        raise self._missing_member("save_optimizer_states(fname, dump_optimizer)")

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the optimizer from a file.

        Parameters
        ----------
        fname : str

        Raises
        ------
        NotImplementedError
            If the class does not override it.
        """
        raise self._missing_member("load_optimizer_states(fname)")

    @property
    def type(self) -> str:
        """The name of this kind of store."""
        raise self._missing_member("the property type")

    @property
    def rank(self) -> int:
        """The number of this process among those that train together."""
        raise self._missing_member("the property rank")

    @property
    def num_workers(self) -> int:
        """How many processes train together."""
        raise self._missing_member("the property num_workers")

    def _missing_member(self, member: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {member}: write one, or use mx.kv.create('device').")

    @staticmethod
    def register(klass: _C) -> _C:
        """Register a class under its name in lower case; use it as a decorator.

        Parameters
        ----------
        klass : type
            It replaces a registered class of the same name, with a warning.

        Returns
        -------
        type
            The class.

        Raises
        ------
        ArgumentError
            If it is not a class.
        """
        if not isinstance(klass, type):
            raise ArgumentError(f"KVStoreBase.register: expected a class, got {describe(klass)}.")
        return enter_class(KVStoreBase.kv_registry, klass, "store")


# Constructors of stores of one process, by name: `minpy.kvstore.kvstore` registers itself here.
LOCAL: dict[str, Callable[[str], KVStoreBase]] = {}

_DISTRIBUTED = ("dist", "horovod", "byteps", "p3", "nccl")


def create(name: str = "local") -> KVStoreBase:
    """Make a store of parameters.

    Parameters
    ----------
    name : str
        'local' or 'device', which are the same here and sum arrays of several contexts of this process; or the name, in
        lower or upper case, of a class registered by `KVStoreBase.register`.

    Returns
    -------
    KVStoreBase

    Raises
    ------
    ArgumentError
        If the name is not a string.
    ArgumentValueError
        If there is no such store.
    MissingPartError
        For stores that train in several processes.

    Examples
    --------
    >>> import minpy as mx
    >>> store = mx.kv.create('local')
    >>> store.init('weight', mx.nd.ones(2))
    >>> store.push('weight', [mx.nd.array([1, 2]), mx.nd.array([3, 4])])
    >>> out = mx.nd.zeros(2)
    >>> store.pull('weight', out=out)
    >>> out.asnumpy()
    array([4., 6.], dtype=float32)
    """
    if not isinstance(name, str):
        raise ArgumentError(f"kvstore.create: name must be a string, such as 'device', got {describe(name)}.")
    key = name.lower()
    registered = KVStoreBase.kv_registry.get(key)
    if registered is not None:
        return registered()
    if key in LOCAL:
        return LOCAL[key](key)
    if key.startswith(_DISTRIBUTED):
        raise MissingPartError(
            f"kvstore.create: there is no {name!r}: one process trains here, on the CPU. Use 'device', or register a "
            "class of your own that derives from KVStoreBase and sums over processes."
        )
    names = [*LOCAL, *KVStoreBase.kv_registry]
    raise ArgumentValueError(
        f"kvstore.create: there is no store {name!r}.{nearest(key, names)} There are {', '.join(map(repr, names))}. "
        "Others have to be registered first, with KVStoreBase.register."
    )
