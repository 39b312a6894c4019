"""RecordIO files whose records are read by keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from minpy.core.errors import FileFormatError, KeyMissingError, describe
from minpy.files import WholeFile, accessing, checked_path, read_file
from minpy.recordio.records import MXRecordIO, commit_or_discard

__all__ = ["MXIndexedRecordIO"]

# Bytes to read at once of the last record, whose length is unknown.
_LAST_READ = 1 << 15


class MXIndexedRecordIO(MXRecordIO):
    """A RecordIO file with an index: records are read by their keys.

    Written files appear when they are closed, as with `MXRecordIO`. `read_idx` may be called by several threads.

    Parameters
    ----------
    idx_path : str or path
        The index: a text file.
    uri : str or path
        The file of the records.
    flag : {'r', 'w'}
        Whether they are read or written.
    key_type : callable
        It converts the text of a key in the index.

    Attributes
    ----------
    keys : list
        The keys, in the order of the index.
    idx : dict
        The offsets of the records, by key.

    Raises
    ------
    ArgumentValueError
        For another flag.
    FileMissingError, FileAccessError
        If a file does not exist, or cannot be read or written.
    FileFormatError
        If the index is damaged: in which line.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + '/words'
    >>> with MXIndexedRecordIO(path + '.idx', path + '.rec', 'w') as writer:
    ...     for key, word in enumerate([b'one', b'two', b'three']):
    ...         writer.write_idx(key, word)
    >>> with MXIndexedRecordIO(path + '.idx', path + '.rec', 'r') as reader:
    ...     reader.keys, reader.read_idx(2), reader.read_idx(0)
    ([0, 1, 2], b'three', b'one')
    """

    _index_writer: WholeFile | None = None
    # The offsets of all records, ascending, once one is read by its key.
    _offsets: list[int] | None = None

    def __init__(self, idx_path: Any, uri: Any, flag: str, key_type: Callable[[str], Any] = int) -> None:
        self.idx_path = checked_path(type(self).__name__, idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        super().__init__(uri, flag)

    def open(self) -> None:
        super().open()
        self.idx = {}
        self.keys = []
        self._offsets = None
        try:
            if self.writable:
                with accessing(type(self).__name__, "write", self.idx_path):
                    self._index_writer = WholeFile(self.idx_path)
            else:
                self._read_index()
        except BaseException:
            self._finish(keeps=False)
            raise

    def _finish(self, keeps: bool) -> None:
        index, self._index_writer = self._index_writer, None
        own = self._is_owner()
        try:
            super()._finish(keeps)
        except BaseException:
            keeps = False
            raise
        finally:
            if index is not None and own:
                commit_or_discard(index, keeps, "MXIndexedRecordIO.close", self.idx_path)

    def _read_index(self) -> None:
        lines = read_file(type(self).__name__, self.idx_path).split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, 1):
            fields = line.rstrip(b"\r").split(b"\t")
            try:
                key = self.key_type(fields[0].decode())
                offset = int(fields[1])
                if offset < 0:
                    raise ValueError
            except (ValueError, IndexError) as error:
                raise FileFormatError(
                    f"{type(self).__name__}: {self.idx_path!r}, line {number}: {line[:60]!r}; expected a key that is "
                    f"{getattr(self.key_type, '__name__', self.key_type)}, a tab, and an offset."
                ) from error
            self.idx[key] = offset
            self.keys.append(key)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_index_writer", None)
        state.pop("_offsets", None)
        return state

    def seek(self, idx: Any) -> None:
        """Go to the record with a key: the next `read` returns it.

        Parameters
        ----------
        idx : object
            The key.

        Raises
        ------
        FileModeError
            If the file is written, or closed.
        KeyMissingError
            If the index has no such key.

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + '/words'
        >>> with MXIndexedRecordIO(path + '.idx', path + '.rec', 'w') as writer:
        ...     for key, word in enumerate([b'one', b'two', b'three']):
        ...         writer.write_idx(key, word)
        >>> with MXIndexedRecordIO(path + '.idx', path + '.rec', 'r') as reader:
        ...     reader.seek(1)
        ...     reader.read(), reader.read()
        (b'two', b'three')
        """
        if self._source is None:
            raise self._mode_error("read", "r")
        self._offset, self._number = self._offset_of(idx), None

    def _offset_of(self, key: Any) -> int:
        try:
            return self.idx[key]
        except (KeyError, TypeError):
            raise KeyMissingError(
                f"{type(self).__name__}: {self.idx_path!r} has no record with the key {describe(key)}; it has "
                f"{len(self.idx)}" + (f", from {self.keys[0]!r} to {self.keys[-1]!r}." if self.keys else ".")
            ) from None

    def _span(self, offset: int) -> int:
        """Return the number of bytes up to the next record of the index."""
        offsets = self._offsets
        if offsets is None:
            offsets = self._offsets = sorted(self.idx.values())
        place = bisect_right(offsets, offset)
        return offsets[place] - offset if place < len(offsets) else _LAST_READ

    def tell(self) -> int:
        """Return the offset at which the next record is written, or read.

        Raises
        ------
        FileModeError
            If the file is closed.

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + '/words'
        >>> with MXIndexedRecordIO(path + '.idx', path + '.rec', 'w') as writer:
        ...     writer.write_idx(0, b'one')
        ...     writer.tell()
        12
        """
        if not self.is_open:
            raise self._mode_error("used", self.flag)
        return self._offset

    def read_idx(self, idx: Any) -> bytes | None:
        """Return the record with a key; `read` continues after it.

        Parameters
        ----------
        idx : object
            The key.

        Raises
        ------
        FileModeError
            If the file is written, or closed.
        KeyMissingError
            If the index has no such key.
        FileFormatError
            If there is no record at the offset in the index, or a damaged one.

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + '/words'
        >>> with MXIndexedRecordIO(path + '.idx', path + '.rec', 'w') as writer:
        ...     writer.write_idx(7, b'seven')
        >>> with MXIndexedRecordIO(path + '.idx', path + '.rec', 'r') as reader:
        ...     reader.read_idx(7)
        b'seven'
        """
        source = self._source
        if source is None:
            raise self._mode_error("read", "r")
        offset = self._offset_of(idx)
        record_and_end = source.record(offset, f"the record with key {idx!r}", self._span(offset))
        if record_and_end is None:
            size = source.size()
            raise FileFormatError(
                f"{type(self).__name__}: {self.idx_path!r} says that the record with key {idx!r} begins at offset "
                f"{offset}, and {self.uri!r} has {size} bytes. The two files do not belong together, or one is cut."
            )
        record, self._offset = record_and_end
        self._number = None
        return record

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Write a record with a key.

        Parameters
        ----------
        idx : object
            The key, of the type `key_type`; its text is written to the index.
        buf : bytes
            The record.

        Raises
        ------
        FileModeError, ArgumentError
            As `write` does.

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + '/words'
        >>> with MXIndexedRecordIO(path + '.idx', path + '.rec', 'w') as writer:
        ...     writer.write_idx(0, b'one')
        ...     writer.idx
        {0: 0}
        """
        key = self.key_type(idx)
        offset = self._offset
        self.write(buf)
        writer = self._index_writer
        assert writer is not None  # as the records' is open
        writer.file.write(f"{key}\t{offset}\n".encode())
        self.idx[key] = offset
        self.keys.append(key)
