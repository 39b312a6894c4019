"""Devices: where an array lives. This build computes on the CPU; the other names exist to be refused clearly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from minpy.core.errors import ContextError, UnknownContextError, nearest
from minpy.core.state import ThreadValues, leaving
from minpy.namespaces import module_functions

__all__ = [
    "Context",
    "cpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "gpu",
    "gpu_memory_info",
    "num_gpus",
    "set_context",
]
__dir__, __getattr__ = module_functions(__name__, __all__)


class _Default(ThreadValues):
    context: Context | None


_default = _Default(context=None)


class _HasDefault(type):
    @property
    def default_ctx(cls) -> Context:
        """The context of this thread. It can be set; `with context:` undoes that, and is better."""
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, context: Context) -> None:
        _default.context = Context(context)


class Context(metaclass=_HasDefault):
    """A device type and number, usable in a `with` statement to set the default of this thread.

    Parameters
    ----------
    device_type : str or Context
        'cpu', 'gpu', 'cpu_pinned' or 'cpu_shared'; a Context is copied.
    device_id : int
        Number of the device among its type.

    Raises
    ------
    ContextError
        For an unknown device type.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.Context('cpu', 0) == mx.cpu()
    True
    >>> with mx.cpu(1):
    ...     mx.current_context()
    cpu(1)
    """

    __slots__ = ("device_id", "device_type")

    device_id: int
    device_type: str

    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {name: number for number, name in devtype2str.items()}

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            device_id = device_type.device_id
            device_type = device_type.device_type
        if not isinstance(device_type, str) or device_type not in self.devstr2type:
            raise UnknownContextError(
                f"unknown context {device_type!r}: known device types are {', '.join(map(repr, self.devstr2type))}."
                + nearest(str(device_type), self.devstr2type)
            )
        self.device_type = device_type
        self.device_id = int(device_id)

    @property
    def device_typeid(self) -> int:
        """MXNet's number of the device type, as files store it."""
        return self.devstr2type[self.device_type]

    def empty_cache(self) -> None:
        """Release cached device memory. NumPy keeps none, so nothing happens."""

    def as_mxnet_context(self) -> Context:
        """Return the context itself: MinPy's and MXNet's are one here."""
        return self

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Context):
            return NotImplemented
        return self.device_type == other.device_type and self.device_id == other.device_id

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __reduce__(self) -> tuple[Callable[[str, int], Context], tuple[str, int]]:
        return rebuild_context, (self.device_type, self.device_id)

    def __setstate__(self, state: dict[str, int]) -> None:
        """Take over what a pickle written by MXNet holds."""
        self.device_type = self.devtype2str[state["device_typeid"]]
        self.device_id = state["device_id"]

    def __enter__(self) -> Context:
        values = vars(_default)
        values |= {"context": self, "leave": partial(values.update, values.copy())}
        return self

    __exit__ = leaving(_default)


def rebuild_context(device_type: str, device_id: int) -> Context:
    """Return a context from what a pickle holds: by a name that is there whether or not minpy stands in for MXNet."""
    return Context(device_type, device_id)


CPU = Context("cpu", 0)


def current_context() -> Context:
    """Return the context that new arrays of this thread get when none is given.

    Returns
    -------
    Context

    Examples
    --------
    >>> import minpy as mx
    >>> mx.current_context()
    cpu(0)
    """
    return _default.context or CPU


def set_current_context(context: Context) -> None:
    """Make a context that of new arrays of this thread for which none is given, until the scope around this is left."""
    _default.context = context


def set_context(context: Context) -> None:
    """Make a context that of new arrays of this thread, as MinPy had it; `with context:` undoes that, and is better.

    Examples
    --------
    >>> import minpy as mx
    >>> set_context(mx.cpu())
    """
    set_current_context(Context(context))


def _device(kind: str, summary: str, code: str, result: str) -> Callable[..., Context]:
    """Return the function that makes contexts of a type of devices."""

    def device(device_id: int = 0) -> Context:
        return Context(kind, device_id)

    device.__name__ = device.__qualname__ = kind
    device.__doc__ = f"""{summary}

    Parameters
    ----------
    device_id : int
        The number of the device among its type.

    Returns
    -------
    Context

    Examples
    --------
    >>> import minpy as mx
    >>> {code}
    {result}
    """
    return device


_ONE_MEMORY = "Return the CPU context. All CPU numbers share one memory; they are told apart as MXNet does."
_REFUSED = "Return a GPU context. It can be named and compared; allocating on it raises `ContextError`."
_PINNED = "Return the context of page-locked CPU memory (here: ordinary memory)."
_SHARED = "Return the context of shared CPU memory (here: ordinary memory)."
cpu = _device("cpu", _ONE_MEMORY, "mx.nd.zeros(2, ctx=mx.cpu(1)).context", "cpu(1)")
cpu_pinned = _device("cpu_pinned", _PINNED, "mx.cpu_pinned()", "cpu_pinned(0)")
cpu_shared = _device("cpu_shared", _SHARED, "mx.cpu_shared()", "cpu_shared(0)")
gpu = _device("gpu", _REFUSED, "mx.gpu(1) == mx.gpu()", "False")


def num_gpus() -> int:
    """Return how many GPUs arrays can be allocated on: 0, as this build computes on the CPU.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.gpu() if mx.num_gpus() else mx.cpu()
    cpu(0)
    """
    return 0


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Raise: there are no GPUs whose memory could be told.

    Parameters
    ----------
    device_id : int
        The GPU's number.

    Returns
    -------
    tuple of int
        The free and the total bytes, where there is a GPU.

    Raises
    ------
    ContextError
        Always.
    """
    raise ContextError(
        f"gpu_memory_info: there is no gpu({device_id}): this build computes on the CPU, and minpy.num_gpus() is 0. "
        "Ask `if minpy.num_gpus()` first."
    )


def resolve_context(context: Context | str | None) -> Context:
    """Return the context to allocate on: the given one or this thread's default."""
    if context is None:
        context = current_context()
    if isinstance(context, str):
        device, _, number = context.partition("(")  # also as files and `repr` write it: cpu(0)
        context = Context(device, int(number[:-1])) if number[:-1].isdigit() else Context(context)
    if not isinstance(context, Context):
        raise ContextError(
            f"unknown context {context!r} of type {type(context).__name__}: pass minpy.cpu() or leave ctx out."
        )
    if context.device_type == "gpu":
        raise ContextError(
            f"cannot allocate on {context}: minpy.context.num_gpus() is {num_gpus()}. Use ctx=minpy.cpu(), "
            "or choose with `minpy.gpu() if minpy.context.num_gpus() else minpy.cpu()`."
        )
    return context
