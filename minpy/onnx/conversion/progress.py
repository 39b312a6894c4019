"""A bar of how far a conversion is: on a terminal, where tqdm is installed; quiet otherwise."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

__all__ = ["Progress"]


class Progress:
    """A bar of bytes or steps, to be used in a `with` statement.

    Parameters
    ----------
    total : int
        How much is to be done.
    title : str
    unit : str
        'B' for bytes, which are shown in larger units.
    """

    def __init__(self, total: int, title: str, unit: str = "B") -> None:
        self._bar: Any = None
        if not sys.stderr.isatty():
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        self._bar = tqdm(
            total=total, desc=title, unit=unit, unit_scale=unit == "B", unit_divisor=1024, leave=False, file=sys.stderr
        )

    def advance(self, count: int = 1) -> None:
        """Say that this much more is done."""
        if self._bar is not None:
            self._bar.update(count)

    def counted(self, file: Any) -> Any:
        """Return a file for writing whose bytes advance the bar."""
        return file if self._bar is None else _CountedFile(file, self)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class _CountedFile:
    """A file whose writes advance a bar."""

    def __init__(self, file: Any, progress: Progress) -> None:
        self._file, self._progress = file, progress

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, content: Any) -> int:
        self._progress.advance(memoryview(content).nbytes)
        count: int = self._file.write(content)
        return count

    def writelines(self, chunks: Any) -> None:
        for chunk in chunks:
            self.write(chunk)
