"""Files of records, read and written one after the other."""

from __future__ import annotations

import os
from typing import Any

from minpy.core.errors import ArgumentValueError, FileModeError
from minpy.files import WholeFile, access_error, accessing, checked_path
from minpy.recordio.framing import RecordSource, checked_record, framed

__all__ = ["MXRecordIO", "commit_or_discard"]


def commit_or_discard(writer: WholeFile, keeps: bool, function: str, path: str) -> None:
    """Let a file that was written be there, if it is to be kept and can be; else what was there before stays."""
    try:
        if keeps:
            with accessing(function, "write", path):
                writer.commit()
    except BaseException:
        writer.discard()
        raise
    if not keeps:
        writer.discard()


class MXRecordIO:
    """A RecordIO file that is read or written one record after the other.

    What is written is there once `close` was called, or the object is gone: until then it stands under a temporary
    name, and a file that was there before stays as it was; so it does where a `with` statement ends by an exception.
    A reader may be used by a forked process, and be pickled
    (the copy begins with the first record).

    Parameters
    ----------
    uri : str or path
        The file.
    flag : {'r', 'w'}
        Whether it is read or written.

    Attributes
    ----------
    uri, flag : str
        As given.
    is_open, writable : bool
        Whether it is open, and to be written.

    Raises
    ------
    ArgumentValueError
        For another flag.
    FileMissingError, FileAccessError
        If the file is not there, or cannot be read or written.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), 'words.rec')
    >>> writer = MXRecordIO(path, 'w')
    >>> for word in (b'one', b'two'):
    ...     writer.write(word)
    >>> writer.close()
    >>> reader = MXRecordIO(path, 'r')
    >>> reader.read(), reader.read(), reader.read()
    (b'one', b'two', None)
    >>> reader.close()
    """

    is_open = False
    writable = False
    pid: int | None = None
    _source: RecordSource | None = None
    _writer: WholeFile | None = None

    def __init__(self, uri: Any, flag: str) -> None:
        self.uri = checked_path(type(self).__name__, uri)
        self.flag = flag
        self.open()

    def open(self) -> None:
        """Open the file, at its first record; of an indexed one both files.

        Raises
        ------
        ArgumentValueError
            If the flag is neither 'r' nor 'w'.
        FileMissingError, FileAccessError
            If the file is not there, or cannot be read or written.
        FileFormatError
            If an index is damaged.

        Examples
        --------
        >>> MXRecordIO('missing.rec', 'r')
        Traceback (most recent call last):
            ...
        minpy.core.errors.FileMissingError: MXRecordIO: cannot read 'missing.rec': No such file or directory.
        """
        if self.flag == "w":
            with accessing("MXRecordIO", "write", self.uri):
                self._writer = WholeFile(self.uri)
            self.writable = True
        elif self.flag == "r":
            self._source = RecordSource(self.uri)
            self.writable = False
        else:
            raise ArgumentValueError(
                f"MXRecordIO of {self.uri!r}: Invalid flag {self.flag!r}; expected 'r' to read, or 'w' to write."
            )
        self.pid = os.getpid()
        self.is_open = True
        # Where the next record begins, and its number, unless it was reached by an offset.
        self._offset = 0
        self._number: int | None = 0

    def close(self) -> None:
        """Close the file, of an indexed one both. What was written is there then, as a whole.

        Raises
        ------
        FileAccessError
            If it cannot be written: the disk is full.

        Examples
        --------
        >>> import tempfile
        >>> from minpy.recordio import MXIndexedRecordIO
        >>> path = tempfile.mkdtemp() + '/words'
        >>> writer = MXIndexedRecordIO(path + '.idx', path + '.rec', 'w')
        >>> writer.close()
        >>> writer.open()
        >>> writer.close()
        >>> writer.is_open
        False
        """
        if self.is_open:
            self._finish(keeps=True)

    def _finish(self, keeps: bool) -> None:
        """Close the file; unless it `keeps` what was written, a file that was there before stays."""
        self.is_open = False
        source, self._source = self._source, None
        writer, self._writer = self._writer, None
        own = self._owned()
        self.pid = None
        if source is not None:
            source.close()
        if writer is not None and own:  # in a forked process, it is the parent's
            commit_or_discard(writer, keeps, "MXRecordIO.close", self.uri)

    def _owned(self) -> bool:
        """Tell whether this process opened the file, and not the one from which it was forked."""
        return self.pid == os.getpid()

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the file's name.

        Raises
        ------
        FileModeError
            For a file that is being written.
        """
        if self.is_open and self.writable:
            raise FileModeError(f"{type(self).__name__} of {self.uri!r} is being written: close it to pickle it.")
        state = dict(self.__dict__)
        for name in ("_source", "_writer", "pid"):
            state.pop(name, None)
        return state

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__.update(d)
        self.pid = None
        if d.get("is_open"):
            self.is_open = False
            self.open()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self.writable:
            self._finish(keeps=False)
        self.close()

    def reset(self) -> None:
        """Go back to the first record; a file that is written becomes empty.

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + '/words.rec'
        >>> with MXRecordIO(path, 'w') as writer:
        ...     writer.write(b'one')
        >>> reader = MXRecordIO(path, 'r')
        >>> reader.read(), reader.reset(), reader.read()
        (b'one', None, b'one')
        >>> reader.close()
        """
        self.close()
        self.open()

    def write(self, buf: bytes) -> None:
        """Write a record.

        Parameters
        ----------
        buf : bytes
            At most 512 MiB.

        Raises
        ------
        FileModeError
            If the file is read, is closed, or was opened by another process.
        ArgumentError, ArgumentValueError
            If these are no bytes, or too many.

        Examples
        --------
        >>> import tempfile
        >>> with MXRecordIO(tempfile.mkdtemp() + '/words.rec', 'w') as writer:
        ...     writer.write(b'one')
        """
        writer = self._writer
        if writer is None or not self.is_open:
            raise self._unusable("written", "w")
        if not self._owned():
            raise FileModeError(
                f"MXRecordIO of {self.uri!r} is being written by process {self.pid}, and cannot be by another that was "
                "forked from it. Forbidden operation in multiple processes."
            )
        chunks = framed(checked_record(buf))
        try:
            writer.file.writelines(chunks)
        except OSError as error:  # half a record
            self._finish(keeps=False)
            raise access_error("MXRecordIO.write", "write", self.uri, error) from error
        self._offset += sum(map(len, chunks))

    def read(self) -> bytes | None:
        """Return the next record, or None after the last one.

        Raises
        ------
        FileModeError
            If the file is written, or closed.
        FileFormatError
            If the file is damaged: which record, and where.

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + '/words.rec'
        >>> with MXRecordIO(path, 'w') as writer:
        ...     writer.write(b'one')
        >>> with MXRecordIO(path, 'r') as reader:
        ...     reader.read(), reader.read()
        (b'one', None)
        """
        source = self._source
        if source is None:
            raise self._unusable("read", "r")
        number = self._number
        record_and_end = source.record(self._offset, "a record" if number is None else f"record {number}")
        if record_and_end is None:
            return None
        record, self._offset = record_and_end
        if number is not None:
            self._number = number + 1
        return record

    def _unusable(self, done: str, flag: str) -> FileModeError:
        state = f"opened with flag {self.flag!r}" if self.is_open else "closed"
        advice = f"Open it with flag {flag!r}" if self.is_open else "Open it again with `open`"
        return FileModeError(f"{type(self).__name__} of {self.uri!r} is {state} and cannot be {done}. {advice}.")
