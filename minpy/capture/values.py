"""The data of an array's proxy: a storage, seen through a chain of views; shape, dtype, and a value of the graph."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from minpy.capture.abstract_evaluation import Fact
from minpy.capture.recorder import Recorder
from minpy.graph.ir import Value

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ARGUMENT", "NEW", "OUTSIDE", "BaseArrayProxy", "Storage", "ViewStep", "latched"]

# Who made an array: the captured function, its caller, or somebody else.
NEW, ARGUMENT, OUTSIDE = "new", "argument", "outside"


class Storage:
    """The memory that several proxies may be views of: its value now, and who may write to it."""

    __slots__ = ("assumed", "contiguous", "fact", "known", "origin", "value", "version")

    def __init__(
        self, value: Value, known: Any, fact: Fact, origin: str = NEW, contiguous: frozenset[int] | None = None
    ) -> None:
        self.value, self.known, self.fact = value, known, fact  # of the array that is all of it
        self.origin = origin
        is_known = isinstance(known, numpy.ndarray) and known.flags.c_contiguous
        if contiguous is None and origin == NEW and (len(fact.shape) < 2 or is_known):
            contiguous = frozenset()
        # The elements lie in the order of C, if those of these arguments do; None: nobody knows.
        self.contiguous = contiguous
        # The arguments whose elements must lie in the order of C for a write to be what it is taken for.
        self.assumed: set[int] = set()
        self.version = 0  # how often it was written to


class ViewStep(NamedTuple):
    """One step of a chain of views: a call of a function, or of an operator, of which one result is the view."""

    function: Any
    arguments: Any  # with a `Slot(0)` in the place of the array, and of nothing else; so are keywords
    keywords: Any
    index: int  # type: ignore[assignment]  # which of several results it is; hides the method of tuples
    fact: Fact  # of the view
    is_certain: bool | None  # whether it is a view for any strides of the array; None: nobody has looked


class BaseArrayProxy:
    """A value of a graph in the place of an array: the data of an `ArrayProxy`, which adds what arrays can do."""

    if TYPE_CHECKING:
        recorder: Recorder
        storage: Storage
        chain: tuple[ViewStep, ...]  # leads from the storage to it
        fact: Fact  # whether NumPy's result would be a scalar, too: in-place operators then make a new one
        front: Any  # the class of ours that it is the proxy of an instance of; None: `numpy.ndarray`
        _value: Value
        _known: Any
        _version: int
        # what `ArrayProxy` has
        __getitem__: Any
        __index__: Any
        astype: Any
        copy: Any
        reshape: Any

    __slots__ = ("_known", "_value", "_version", "chain", "fact", "front", "recorder", "storage")

    def __init__(
        self,
        recorder: Recorder,
        value: Value,
        fact: Fact,
        storage: Storage | None = None,
        known: Any = None,
        chain: tuple[ViewStep, ...] = (),
        front: Any = None,
    ) -> None:
        put = object.__setattr__
        put(self, "recorder", recorder)
        put(self, "storage", Storage(value, known, fact) if storage is None else storage)
        put(self, "chain", chain)
        put(self, "fact", fact)
        put(self, "front", front)
        put(self, "_value", value)
        put(self, "_known", known)
        put(self, "_version", self.storage.version)

    def __setattr__(self, name: str, value: Any) -> None:
        raise self.recorder.refuse(f"it sets the attribute {name!r} of an array")

    @classmethod
    def from_outside(
        cls, recorder: Recorder, value: Value, shape: Sequence[int], dtype: Any, front: Any = None
    ) -> Self:
        """Return the proxy of an array that comes from outside: it may not be written to."""
        fact = Fact(tuple(shape), numpy.dtype(dtype), False)
        recorder.outputs[value] = fact.shape, fact.dtype
        return cls(recorder, value, fact, Storage(value, None, fact, OUTSIDE), front=front)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.fact.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.fact.dtype

    @property
    def scalar(self) -> bool:
        """Whether NumPy's result would be a scalar."""
        return self.fact.scalar

    @property
    def is_view(self) -> bool:
        """Whether somebody else may have its memory: it is a view, or comes from outside."""
        return bool(self.chain) or self.storage.origin != NEW

    @property
    def value(self) -> Value:
        """The value of the graph, as it is now; refused where only strides tell what has changed with others."""
        self._refresh()
        return self._value

    @property
    def known(self) -> Any:
        """The elements, if they depend on no input; else None."""
        self._refresh()
        return self._known

    def _refresh(self) -> None:
        if self._version != self.storage.version:
            self.hold(*self._replayed())

    def _replayed(self) -> tuple[Value, Any]:
        """Return (the value now, the elements if known) of a view whose storage has changed since it was looked at."""
        raise NotImplementedError

    def hold(self, value: Value, elements: Any) -> None:
        """Have a value as of now."""
        put = object.__setattr__
        put(self, "_value", value)
        put(self, "_known", elements)
        put(self, "_version", self.storage.version)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize


def latched(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let errors of a method of a proxy end the capture, also where the user's function catches them.

    They may come from the samples by which shapes are found, and say nothing of the arrays that will be there.
    """

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return method(self, *arguments, **keywords)
        except Exception as error:
            if not self.recorder.shadowed or self.recorder.ended:
                raise
            refusal = self.recorder.refuse(f"{type(error).__name__}: {error}")
            raise refusal from error.with_traceback(None)  # which knows all proxies

    return call
