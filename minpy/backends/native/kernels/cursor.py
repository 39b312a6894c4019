"""`Cursor`: where a nest's loops are, and what is known there: pointers to elements, and values that have been read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from minpy.backends.native.kernels.function_writer import Writer, memory_type
from minpy.backends.native.kernels.nest_geometry import Access, Dim

__all__ = ["Cursor"]


@dataclass(eq=False)
class _Frame:
    """What is known inside one loop, and not outside."""

    dim: Dim | None
    variable: str
    tile: bool
    pointers: dict[Access, str] = field(default_factory=dict)
    values: dict[Hashable, str] = field(default_factory=dict)


class Cursor:
    """Follows the loops of a nest while they are written.

    `reads`: what is read as soon as no further loop moves it.
    """

    def __init__(self, writer: Writer, reads: Sequence[Access]) -> None:
        self.writer = writer
        self.reads = reads
        self._frames = [_Frame(None, "0", False)]
        self._local: set[Access] = set()

    def start(self, access: Access, pointer: str, local: bool = False) -> None:
        """Set the pointer to the first element. `local` memory holds one tile only, and does not move with tiles."""
        self._frames[0].pointers[access] = pointer
        if local:
            self._local.add(access)

    def read_constants(self, deeper: Sequence[Dim]) -> None:
        """Read what no loop moves."""
        self._read_ahead(deeper)

    def _read_ahead(self, deeper: Sequence[Dim]) -> None:
        for access in self.reads:
            if not access.moves(deeper):
                self.read(access)

    @contextmanager
    def inside(self, dim: Dim | None, variable: str, deeper: Sequence[Dim], tile: bool = False) -> Iterator[None]:
        """Be inside a loop, around further ones; `variable` counts elements along it."""
        self._frames.append(_Frame(dim, variable, tile))
        if deeper:
            for access in self._frames[0].pointers:
                self.at(access)
            self._read_ahead(deeper)
        yield
        self._frames.pop()

    def at(self, access: Access) -> str:
        """Return a pointer to the element, or, of what has no pointer, its index."""
        pending: list[_Frame] = []
        for frame in reversed(self._frames):
            if access in frame.pointers:
                result = frame.pointers[access]
                break
            pending.append(frame)
        else:
            raise AssertionError("an access that was not started")
        for frame in reversed(pending):
            stride = access.strides.get(frame.dim.axis, 0) if frame.dim is not None else 0
            if stride and not (frame.tile and access in self._local):
                result = self._offset(access, result, frame.variable, stride)
        self._frames[-1].pointers[access] = result
        return result

    def _offset(self, access: Access, base: str, variable: str, stride: int) -> str:
        w = self.writer
        if not variable.startswith("%"):
            step = str(int(variable) * stride)
        else:
            step = variable if stride == 1 else w.put(f"mul nsw i64 {variable}, {stride}")
        if access.is_index:
            return step if base == "0" else base if step == "0" else w.put(f"add nsw i64 {base}, {step}")
        return w.offset(base, memory_type(access.dtype), step)

    def read(self, access: Access) -> str:
        """Return the element as a value."""
        return self.cached(access, lambda: self.writer.load(self.at(access), access.dtype))

    def read_if(self, condition: str | None, accesses: Iterable[Access]) -> None:
        """Read elements that are not known yet, all at once; under a condition, if there is one."""
        todo = [item for item in dict.fromkeys(accesses) if not any(item in frame.values for frame in self._frames)]
        places = [(self.at(item), item.dtype) for item in todo]
        for access, value in zip(todo, self.writer.load_if(condition, places), strict=True):
            self.remember(access, value)

    def cached(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return a value that is known here, or make it."""
        for frame in reversed(self._frames):
            if key in frame.values:
                return frame.values[key]
        value = make()
        self.remember(key, value)
        return value

    def remember(self, key: Hashable, value: str) -> None:
        """Keep a value for as long as the innermost loop's iteration lasts."""
        self._frames[-1].values[key] = value
