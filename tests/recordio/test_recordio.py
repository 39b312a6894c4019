"""Files of records: damaged, cut and hostile ones, several processes and threads, nothing lost on the way."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minpy import recordio
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    FileAccessError,
    FileFormatError,
    FileMissingError,
    FileModeError,
    KeyMissingError,
    MXNetError,
)
from minpy.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO

MAGIC = b"\x0a\x23\xd7\xce"
RECORDS = [b"", b"one", b"four", MAGIC, b"abcd" + MAGIC + b"xyz", bytes(1000)]


def head(length: int, kind: int = 0) -> bytes:
    return MAGIC + struct.pack("<I", kind << 29 | length)


def write(path: Path, records: list[bytes] = RECORDS) -> Path:
    with MXRecordIO(path, "w") as writer:
        for record in records:
            writer.write(record)
    return path


def write_indexed(folder: Path, count: int = 10) -> tuple[Path, Path]:
    index, path = folder / "a.idx", folder / "a.rec"
    with MXIndexedRecordIO(index, path, "w") as writer:
        for key in range(count):
            writer.write_idx(key, b"record %d" % key)
    return index, path


def read_all(path: Path) -> list[bytes]:
    with MXRecordIO(path, "r") as reader:
        return list(iter(reader.read, None))


# -- what was written is read ------------------------------------------------------------------------------------------

pieces = st.lists(st.one_of(st.just(MAGIC), st.binary(max_size=9)), max_size=12).map(b"".join)


@settings(max_examples=100, deadline=None)
@given(st.lists(pieces, max_size=8))
def test_all_records_come_back(tmp_path_factory: pytest.TempPathFactory, records: list[bytes]) -> None:
    path = write(tmp_path_factory.getbasetemp() / "drawn.rec", records)
    assert read_all(path) == records
    assert path.stat().st_size % 4 == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=8), st.data())
def test_records_come_back_by_their_keys(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    with MXIndexedRecordIO(folder / "drawn.idx", folder / "drawn.rec", "w") as writer:
        for key, record in enumerate(records):
            writer.write_idx(key, record)
    with MXIndexedRecordIO(folder / "drawn.idx", folder / "drawn.rec", "r") as reader:
        for key in data.draw(st.lists(st.integers(0, len(records) - 1), max_size=12)):
            assert reader.read_idx(key) == records[key]
            assert reader.read() == (records[key + 1] if key + 1 < len(records) else None)


def test_records_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    records = [generator.bytes(length) for length in (3, 1 << 20, (1 << 15) - 8, 5, 3 << 20, (1 << 20) - 8, 1 << 16)]
    path = write(tmp_path / "large.rec", records)
    assert read_all(path) == records


def test_bytes_of_any_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    with MXRecordIO(path, "w") as writer:
        writer.write(bytearray(b"abc"))
        writer.write(memoryview(b"defg"))
    assert read_all(path) == [b"abc", b"defg"]


# -- nothing is lost ---------------------------------------------------------------------------------------------------


def test_a_file_is_there_once_it_is_closed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.rec", [b"old"])
    writer = MXRecordIO(path, "w")
    writer.write(b"new")
    assert read_all(path) == [b"old"]
    writer.close()
    assert read_all(path) == [b"new"]
    writer.open()
    writer.write(b"newer")
    del writer
    assert read_all(path) == [b"newer"]
    assert os.listdir(tmp_path) == ["a.rec"]


def test_an_exception_keeps_what_was_there(tmp_path: Path) -> None:
    index, path = write_indexed(tmp_path, 3)
    with pytest.raises(ZeroDivisionError):
        write_half(index, path)
    with MXIndexedRecordIO(index, path, "r") as reader:
        assert reader.read_idx(2) == b"record 2"
    assert sorted(os.listdir(tmp_path)) == ["a.idx", "a.rec"]


def write_half(index: Path, path: Path) -> None:
    with MXIndexedRecordIO(index, path, "w") as writer:
        writer.write_idx(0, b"half")
        raise ZeroDivisionError


@pytest.mark.skipif(sys.platform == "win32", reason="no kill")
def test_a_killed_writer_loses_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.rec", [b"old"])
    program = (
        "import os, sys; from minpy.recordio import MXRecordIO; writer = MXRecordIO(sys.argv[1], 'w'); "
        "[writer.write(bytes(1000)) for _ in range(100)]; os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode == -9
    assert read_all(path) == [b"old"]
    write(path, [b"new"])
    assert (read_all(path), os.listdir(tmp_path)) == ([b"new"], ["a.rec"])


def test_a_full_disk_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.rec", [b"old"])
    writer = MXRecordIO(path, "w")

    class Full:
        def writelines(self, chunks: list[bytes]) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            file.close()

    assert writer._writer is not None
    file = writer._writer.file
    monkeypatch.setattr(writer._writer, "file", Full())
    with pytest.raises(FileAccessError, match=rf"MXRecordIO.write: cannot write '{path}': No space left on device"):
        writer.write(b"new")
    assert not writer.is_open
    writer.close()
    assert (read_all(path), os.listdir(tmp_path)) == ([b"old"], ["a.rec"])


# -- processes and threads ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_processes_read_on_by_themselves(tmp_path: Path) -> None:
    index, path = write_indexed(tmp_path, 50)
    reader = MXIndexedRecordIO(index, path, "r")
    assert reader.read_idx(0) == b"record 0"
    program = f"""
import os
from minpy.recordio import MXIndexedRecordIO
reader = MXIndexedRecordIO({str(index)!r}, {str(path)!r}, 'r')
reader.read()
children = []
for child in range(3):
    pid = os.fork()
    if not pid:
        found = [reader.read() for _ in range(20)] + [reader.read_idx(child)]
        expected = [b'record %d' % (1 + i) for i in range(20)] + [b'record %d' % child]
        os._exit(found != expected)
    children.append(pid)
statuses = [os.waitpid(pid, 0)[1] for pid in children]
assert not any(statuses), statuses
assert reader.read() == b'record 1'
writer = MXIndexedRecordIO({str(index)!r}, {str(path)!r}, 'w')
writer.write_idx(0, b'parent')
pid = os.fork()
if not pid:
    try:
        writer.write_idx(1, b'child')
    except RuntimeError as error:
        assert 'Forbidden operation in multiple processes' in str(error)
        writer.close()
        os._exit(0)
    os._exit(1)
assert not os.waitpid(pid, 0)[1]
writer.write_idx(1, b'parent too')
writer.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
    assert read_all(path) == [b"parent", b"parent too"]


def test_threads_read_by_keys(tmp_path: Path) -> None:
    index, path = write_indexed(tmp_path, 100)
    wrong: list[Any] = []
    with MXIndexedRecordIO(index, path, "r") as reader:

        def read(seed: int) -> None:
            for key in np.random.default_rng(seed).integers(0, 100, 500).tolist():
                if reader.read_idx(key) != b"record %d" % key:
                    wrong.append(key)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_pickled_ones_are_opened_again(tmp_path: Path) -> None:
    index, path = write_indexed(tmp_path)
    reader = MXIndexedRecordIO(index, path, "r")
    assert reader.read() == b"record 0"
    other = pickle.loads(pickle.dumps(reader))
    assert [other.read(), other.read_idx(7), reader.read()] == [b"record 0", b"record 7", b"record 1"]
    reader.close()
    other.close()
    assert not pickle.loads(pickle.dumps(other)).is_open
    header = IRHeader(0, 1.0, 2, 3)
    assert pickle.loads(pickle.dumps(header)) == header
    writer = MXRecordIO(tmp_path / "b.rec", "w")
    with pytest.raises(FileModeError, match=r"MXRecordIO of '.*b.rec' is being written: close it to pickle it\."):
        pickle.dumps(writer)


# -- damaged files -----------------------------------------------------------------------------------------------------

GOOD = head(3) + b"one\0"


@pytest.mark.parametrize(
    ("content", "count", "text"),
    [
        (GOOD + b"junk" * 3, 1, "record 1 at offset 12: at 12 stands 0x6b6e756a; expected 0xced7230a"),
        (GOOD + MAGIC, 1, "record 1 at offset 12: the file ends at 16, within the head of a part"),
        (GOOD + GOOD[:-3], 1, "record 1 at offset 12: its part at 12 has 3 bytes, and the file ends after 1"),
        (head((1 << 29) - 1) + b"abc", 0, "record 0 at offset 0: its part at 0 has 536870911 bytes, and the file ends"),
        (head(4, 2) + b"abcd", 0, "record 0 at offset 0: there begins a part from the middle of a record"),
        (head(4, 7) + b"abcd", 0, "record 0 at offset 0: there begins a part from the middle of a record"),
        (GOOD + head(4, 1) + b"abcd", 1, "record 1 at offset 12: the file ends at 24, before the record's last part"),
        (head(4, 1) + b"abcd" + GOOD, 0, "record 0 at offset 0: at 12 begins another record, before its last part"),
        (
            head(4, 1) + b"abcd" + head(9, 3),
            0,
            "record 0 at offset 0: its part at 12 has 9 bytes, and the file ends after 0",
        ),
    ],
)
def test_where_a_file_is_damaged(tmp_path: Path, content: bytes, count: int, text: str) -> None:
    path = tmp_path / "a.rec"
    path.write_bytes(content)
    with MXRecordIO(path, "r") as reader:
        assert [reader.read() for _ in range(count)] == [b"one"] * count
        for _ in range(2):  # it stays where it is
            with pytest.raises(FileFormatError) as caught:
                reader.read()
            assert f"{str(path)!r} is damaged or no RecordIO file: {text}" in str(caught.value)


def test_an_index_that_does_not_fit(tmp_path: Path) -> None:
    index, path = write_indexed(tmp_path, 2)
    with index.open("a") as file:
        file.write("7\t1000\n8\t4\n9\t40\n")
    with MXIndexedRecordIO(index, path, "r") as reader:
        with pytest.raises(
            FileFormatError, match=r"the record with key 7 begins at offset 1000, and '.*' has 32 bytes. The "
        ):
            reader.read_idx(7)
        with pytest.raises(
            FileFormatError, match="the record with key 8 at offset 4: at 4 stands 0x00000008; expected"
        ):
            reader.read_idx(8)
        reader.seek(8)
        with pytest.raises(FileFormatError, match="a record at offset 4: at 4 stands"):
            reader.read()
        assert reader.read_idx(1) == b"record 1"


@pytest.mark.parametrize("line", ["x\t0", "7", "7\t-1", "7\tx", "", "7 0", "\xff\t0"])
def test_lines_of_an_index(tmp_path: Path, line: str) -> None:
    index, path = write_indexed(tmp_path, 2)
    with index.open("ab") as file:
        file.write(line.encode("latin-1") + b"\n")
    with pytest.raises(
        FileFormatError, match=r"a.idx', line 3: b'.*'; expected a key that is int, a tab, and an offset."
    ):
        MXIndexedRecordIO(index, path, "r")


def call(function: Callable[[], Any]) -> Any:
    """Return what a function returns, or None where minpy says that something is wrong; anything else is raised."""
    try:
        return function()
    except MXNetError:
        return None


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_hostile_files_end_in_errors_of_ours(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp()
    kind = data.draw(st.sampled_from(["bytes", "parts", "flipped", "cut"]))
    good = write(folder / "hostile.rec").read_bytes()
    if kind == "bytes":
        content = data.draw(st.binary(max_size=60))
    elif kind == "parts":
        lengths = st.one_of(st.integers(0, 12), st.integers(0, (1 << 29) - 1))
        part = st.tuples(lengths, st.integers(0, 7), st.binary(max_size=12)).map(lambda p: head(p[0], p[1]) + p[2])
        content = b"".join(data.draw(st.lists(part, max_size=5)))
    elif kind == "flipped":
        place = data.draw(st.integers(0, len(good) - 1))
        content = good[:place] + bytes([good[place] ^ data.draw(st.integers(1, 255))]) + good[place + 1 :]
    else:
        content = good[: data.draw(st.integers(0, len(good)))]
    path, index = folder / "hostile.rec", folder / "hostile.idx"
    path.write_bytes(content)
    index.write_bytes(b"0\t0\n1\t%d\n" % data.draw(st.integers(0, 2**70)))
    reader = MXRecordIO(path, "r")
    total = 0
    while (record := call(reader.read)) is not None:
        total += len(record)
        call(lambda: recordio.unpack(record))
    assert total <= len(content)
    reader.close()
    keyed = call(lambda: MXIndexedRecordIO(index, path, "r"))
    for key in (0, 1):
        call(lambda: keyed.read_idx(key))
    keyed.close()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_hostile_records_end_in_errors_of_ours(record: bytes) -> None:
    call(lambda: recordio.unpack(record))
    call(lambda: recordio.unpack_img(record))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_hostile_indices_end_in_errors_of_ours(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    index, path = folder / "hostile.idx", write(folder / "hostile.rec")
    index.write_bytes(content)
    call(lambda: MXIndexedRecordIO(index, path, "r").close())


# -- messages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda path: MXRecordIO(path, "a"), ArgumentValueError, "Invalid flag 'a'; expected 'r' to read, or"),
        (lambda path: MXRecordIO(5, "r"), ArgumentError, "MXRecordIO: fname must be a str or PathLike, got int 5."),
        (
            lambda path: MXRecordIO(path + "x", "r"),
            FileMissingError,
            "MXRecordIO: cannot read '.*a.recx': No such file or directory. Did you mean 'a.rec'",
        ),
        (
            lambda path: MXRecordIO("/nowhere/a.rec", "w"),
            FileMissingError,
            "MXRecordIO: cannot write '/nowhere/a.rec': No such file or directory. The folder '/nowhere' does",
        ),
        (
            lambda path: MXIndexedRecordIO("/nowhere/a.idx", path, "w"),
            FileMissingError,
            "MXIndexedRecordIO: cannot write '/nowhere/a.idx': No such file",
        ),
        (
            lambda path: MXRecordIO(path, "r").write(b"a"),
            FileModeError,
            "MXRecordIO of '.*' is opened with flag 'r' and cannot be written. Open it with flag 'w'.",
        ),
        (
            lambda path: closed(MXRecordIO(path, "r")).read(),
            FileModeError,
            "MXRecordIO of '.*' is closed and cannot be read. Open it again with `open`.",
        ),
        (
            lambda path: MXRecordIO(path + "2", "w").read(),
            FileModeError,
            "MXRecordIO of '.*' is opened with flag 'w' and cannot be read. Open it with flag 'r'.",
        ),
        (
            lambda path: MXRecordIO(path + "2", "w").write("text"),
            ArgumentError,
            "MXRecordIO.write: a record must be bytes, got str 'text'. recordio.pack makes them of labels",
        ),
        (
            lambda path: MXIndexedRecordIO(path[:-3] + "idx", path, "r").read_idx(77),
            KeyMissingError,
            "'.*a.idx' has no record with the key int 77; it has 10, from 0 to 9.",
        ),
        (lambda path: recordio.unpack(b"abc"), FileFormatError, "a record of 3 bytes; its header alone has 24."),
        (
            lambda path: recordio.unpack(struct.pack("<IfQQ", 9, 0, 0, 0) + b"1234"),
            FileFormatError,
            "the header says that there are 9 labels, of 4 bytes each; behind it are 4 bytes. Was it made",
        ),
        (
            lambda path: recordio.pack(IRHeader(0, 1, -1, 0), b""),
            ArgumentValueError,
            r"recordio.pack: label int 1, id -1, id2 0; expected a number of float32, and integers from 0",
        ),
        (
            lambda path: recordio.unpack_img(recordio.pack(IRHeader(0, 1, 7, 0), b"junk")),
            ArgumentError,
            "unpack_img of the record 7: 4 bytes, beginning with b'junk', could not be decoded as a picture",
        ),
    ],
)
def test_what_is_said(tmp_path: Path, use: Callable[[str], Any], error: type[Exception], text: str) -> None:
    _, path = write_indexed(tmp_path)
    with pytest.raises(error, match=text):
        use(str(path))


def closed(file: MXRecordIO) -> MXRecordIO:
    file.close()
    return file
