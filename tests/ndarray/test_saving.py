"""`nd.save` and `nd.load`: MXNet's own files, round trips, damaged files, and what is left after a failure."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import struct
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from places import GOLDEN

import minpy as mx
from minpy import files, nd
from minpy.core.errors import (
    ArgumentError,
    DTypeError,
    FileAccessError,
    FileFormatError,
    FileMissingError,
    MXNetError,
)
from minpy.ndarray import file_reading, saving

sys.path.insert(0, str(GOLDEN))
try:
    golden = importlib.import_module("make_params")
finally:
    sys.path.remove(str(GOLDEN))

WRITTEN = {name: data for name, (data, _) in golden.FILES.items()}
READABLE = {**WRITTEN, **golden.OLDER}


def content_of(name: str) -> bytes:
    return (golden.PARAMS / f"{name}.params").read_bytes()


def arrays_of(data: Any) -> Any:
    """Return NDArrays with the values and dtypes of NumPy arrays."""
    if isinstance(data, dict):
        return {name: arrays_of(array) for name, array in data.items()}
    if isinstance(data, list):
        return [arrays_of(array) for array in data]
    return nd.array(data, dtype=data.dtype)


def saved(data: Any) -> bytes:
    """Return the content of the file that `nd.save` would write."""
    file = io.BytesIO()
    file.writelines(saving._chunks(*saving._entries(data)))
    return file.getvalue()


def assert_equal(got: Any, expected: Any) -> None:
    """Compare what was loaded with NumPy arrays, bit for bit."""
    expected = [expected] if isinstance(expected, np.ndarray) else expected
    if isinstance(expected, dict) and expected:
        assert list(got) == list(expected)
        got, expected = list(got.values()), list(expected.values())
    assert type(got) is list
    assert len(got) == len(expected)
    for array, raw in zip(got, expected, strict=True):
        assert type(array) is nd.NDArray
        assert array.context == mx.cpu(0)
        assert (array.shape, array.dtype) == (raw.shape, raw.dtype)
        assert array.asnumpy().tobytes() == raw.tobytes()


# -- MXNet's files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READABLE)
def test_files_of_mxnet_are_read(name: str) -> None:
    assert_equal(nd.load(golden.PARAMS / f"{name}.params"), READABLE[name])
    assert_equal(nd.load_frombuffer(content_of(name)), READABLE[name])


@pytest.mark.parametrize("name", WRITTEN)
def test_files_are_written_as_mxnet_writes_them(name: str, tmp_path: Path) -> None:
    nd.save(tmp_path / "file", arrays_of(WRITTEN[name]))
    assert (tmp_path / "file").read_bytes() == content_of(name)


@pytest.mark.parametrize("kind", golden.SPARSE)
def test_sparse_arrays_become_dense(kind: str) -> None:
    path = golden.PARAMS / f"{kind}.params"
    with pytest.warns(UserWarning, match=r"1 of 2 arrays are sparse in the file; they are dense here\.$"):
        loaded = nd.load(path)
    assert_equal([loaded["sparse"]], [loaded["dense"].asnumpy()])


def test_devices_are_written_and_all_arrays_are_read_to_cpu_0() -> None:
    content = saved(nd.ones((2,), ctx=mx.Context("cpu_shared", 3)))
    assert content[44:52] == struct.pack("<ii", 5, 3)
    assert_equal(nd.load_frombuffer(content), np.ones(2, "float32"))
    gpu = content[:44] + struct.pack("<ii", 2, 0) + content[52:]
    assert_equal(nd.load_frombuffer(gpu), np.ones(2, "float32"))


def test_bfloat16_is_read_as_float32() -> None:
    values = np.array([1.5, -np.inf, 3e38, 0.0], "float32")
    content = file_of(array_of(shape=(4,), dtype=12, values=(values.view("uint32") >> 16).astype("uint16").tobytes()))
    truncated = (values.view("uint32") >> 16 << 16).view("float32")
    assert_equal(nd.load_frombuffer(content), truncated)


def test_bools_other_than_0_and_1_are_normalized() -> None:
    content = file_of(array_of(shape=(4,), dtype=7, values=b"\x00\x01\x02\xff"))
    assert_equal(nd.load_frombuffer(content), np.array([False, True, True, True]))


def test_what_follows_the_names_is_ignored_as_in_mxnet() -> None:
    assert_equal(nd.load_frombuffer(content_of("list") + b"more"), WRITTEN["list"])


def test_of_equal_names_the_last_counts_as_in_mxnet() -> None:
    content = file_of(array_of(values=b"\x01"), array_of(values=b"\x02"), names=(b"a", b"a"))
    assert_equal(nd.load_frombuffer(content), {"a": np.array([2], "uint8")})


# -- round trips -----------------------------------------------------------------------------------------------------

raw_arrays = hnp.arrays(
    st.sampled_from(golden.DTYPES),
    hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4),
)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        raw_arrays,
        st.lists(raw_arrays, max_size=4),
        st.dictionaries(st.text(st.characters(exclude_characters="\0", codec="utf-8")), raw_arrays, max_size=4),
    )
)
def test_what_is_saved_is_loaded(data: Any) -> None:
    content = saved(arrays_of(data))
    assert_equal(nd.load_frombuffer(content), data)
    assert saved(nd.load_frombuffer(content)) == content


@settings(max_examples=30, deadline=None)
@given(st.data(), hnp.arrays("float32", hnp.array_shapes(max_dims=3, max_side=5)))
def test_views_are_saved_by_their_values(data: Any, raw: np.ndarray) -> None:
    key = data.draw(hnp.basic_indices(raw.shape, allow_newaxis=False))
    view = mx.nd.array(raw)[key]
    assert_equal(nd.load_frombuffer(saved([view])), [view.asnumpy()])


def test_any_kind_of_path_and_buffer(tmp_path: Path) -> None:
    array = nd.arange(3)
    for path in (tmp_path / "a", str(tmp_path / "b"), os.fsencode(tmp_path / "c")):
        assert nd.save(path, array) is None
        assert_equal(nd.load(path), array.asnumpy())
    for buffer in (bytearray(saved(array)), memoryview(saved(array))):
        assert_equal(nd.load_frombuffer(buffer), array.asnumpy())


def test_numpy_arrays_of_the_tape_and_recorded_arrays_are_saved() -> None:
    x = nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
    content = saved({"x": x, "y": y, "z": mx.numpy.array([3.0])})
    assert_equal(
        nd.load_frombuffer(content),
        {key: np.array(values, "float32") for key, values in {"x": [1, 2], "y": [2, 4], "z": [3]}.items()},
    )


def test_byte_order_is_little_endian_whatever_the_array_has() -> None:
    raw = np.array([[1, 2], [3, 4]], ">i4")
    swapped = nd.array(raw, dtype=raw.dtype)
    assert saved(swapped) == saved(nd.array(raw, dtype="int32"))


def test_loaded_arrays_own_writable_memory() -> None:
    array = nd.load_frombuffer(content_of("single"))[0]
    array[:] = 5
    assert array._data.base is None
    assert array.asnumpy().tolist() == [[5, 5, 5], [5, 5, 5]]


# -- what cannot be saved --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("x", r"data must be an NDArray, a list of NDArrays, or a dict of str to NDArray, got str 'x'\."),
        (None, r"got NoneType None\."),
        (np.zeros(2), r"got float64 \(2,\)\."),
        ((nd.ones(1),), r"Make it a list: list\(data\)\."),
        ([nd.ones(1), np.zeros(2)], r"data\[1\] must be an NDArray, got float64 \(2,\)\. Convert it with nd\.array\."),
        ([[nd.ones(1)]], r"data\[0\] must be an NDArray, got list of 1: \[float32 \(1,\)\]"),
        ({"a": nd.ones(1), "b": 5}, r"data\['b'\] must be an NDArray, got int 5\."),
        ({1: nd.ones(1)}, r"the keys of data must be str, got int 1\."),
        ({"a\0b": nd.ones(1)}, r"the key 'a\\x00b' contains '\\0', where MXNet would cut it off"),
        ({"\ud800": nd.ones(1)}, r"the key '\\ud800' cannot be written in UTF-8: surrogates not allowed"),
    ],
)
def test_other_data_is_an_error_that_names_the_entry(data: Any, text: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=text):
        nd.save(tmp_path / "file", data)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", ["int16", "uint16", "uint32", "uint64", "complex64"])
def test_dtypes_that_mxnet_does_not_know_are_an_error(dtype: str) -> None:
    text = rf"data\['w'\] is {dtype} \(2,\), a dtype that MXNet's files do not know; they know float32, .*astype"
    with pytest.raises(DTypeError, match=text):
        nd.save("never-written", {"w": nd.zeros((2,), dtype=dtype)})


@pytest.mark.parametrize("function", [lambda name: nd.save(name, nd.ones(1)), nd.load])
def test_names_of_files_are_checked(function: Any) -> None:
    with pytest.raises(ArgumentError, match="fname must be a str or PathLike, got int 5"):
        function(5)
    with pytest.raises(ArgumentError, match="fname '' is no name of a file"):
        function("")


def test_buffers_are_checked() -> None:
    with pytest.raises(ArgumentError, match=r"buf must be bytes-like, .*got str 'net.params'\. Use nd\.load"):
        nd.load_frombuffer("net.params")
    with pytest.raises(ArgumentError, match="buf must be bytes-like"):
        nd.load_frombuffer(None)


# -- files and folders -----------------------------------------------------------------------------------------------


def test_a_missing_file_is_an_error_that_knows_its_neighbours(tmp_path: Path) -> None:
    nd.save(tmp_path / "net-0001.params", nd.ones(1))
    with pytest.raises(FileMissingError, match=r"No such file or directory\. Did you mean 'net-0001\.params'\?") as e:
        nd.load(tmp_path / "net-001.params")
    assert isinstance(e.value, (FileNotFoundError, MXNetError))
    assert (e.value.errno, e.value.filename) == (errno.ENOENT, str(tmp_path / "net-001.params"))


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    for function in (lambda path: nd.save(path, nd.ones(1)), nd.load):
        with pytest.raises(FileMissingError, match=r"The folder '.*no' does not exist: .*os\.makedirs"):
            function(tmp_path / "no" / "file")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    for function in (lambda path: nd.save(path, nd.ones(1)), nd.load):
        with pytest.raises(FileAccessError, match="Is a directory"):
            function(tmp_path)
    assert not list(tmp_path.iterdir())


class Failing:
    """A file that takes a few bytes and then fails."""

    def __init__(self, path: str, mode: str, error: BaseException) -> None:
        self.file, self.error = open(path, mode), error  # noqa: SIM115

    def close(self) -> None:
        self.file.close()

    def writelines(self, chunks: Iterator[Any]) -> None:
        self.file.write(next(iter(chunks)))
        self.file.flush()
        raise self.error


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
def test_after_a_failure_the_old_file_is_there_and_nothing_else(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.params"
    nd.save(path, nd.ones(3))
    before = path.read_bytes()
    monkeypatch.setattr(files, "open", lambda *arguments: Failing(*arguments, error), raising=False)
    expected = FileAccessError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected, match=r"cannot write .*: No space left on device\.$|^$"):
        nd.save(path, nd.zeros(5))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["net.params"]


def test_a_failing_rename_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(*_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(FileAccessError, match=r"Permission denied\. A file is first written beside its final place"):
        nd.save(tmp_path / "net.params", nd.ones(3))
    assert not os.listdir(tmp_path)


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "net.params", tmp_path / "latest.params"
    nd.save(path, nd.ones(3))
    (tmp_path / "plain").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode  # as the umask has it
    path.chmod(0o640)
    link.symlink_to(path.name)
    nd.save(link, nd.zeros(2))
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert nd.load(path)[0].shape == (2,)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_written_and_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=nd.save, args=(pipe, arrays_of(WRITTEN["dtypes"])))
    writer.start()
    assert_equal(nd.load(pipe), WRITTEN["dtypes"])
    writer.join()
    assert pipe.is_fifo()


def test_threads_may_save_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    threads = [threading.Thread(target=nd.save, args=(path, nd.full((100,), i))) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["file"]
    assert len(set(nd.load(path)[0].tolist())) == 1


# -- damaged files ---------------------------------------------------------------------------------------------------


def array_of(
    version: int = saving.VERSION_2,
    storage: int = 0,
    axes: int | None = None,
    shape: tuple[int, ...] = (1,),
    dtype: int = 3,
    values: bytes = b"\x01",
) -> bytes:
    """Return an array as files have it, by default uint8 [1]."""
    axes = len(shape) if axes is None else axes
    return struct.pack(f"<Iii{len(shape)}qiii", version, storage, axes, *shape, 1, 0, dtype) + values


def file_of(*arrays: bytes, count: int | None = None, names: tuple[bytes, ...] = (), named: int | None = None) -> bytes:
    count, named = len(arrays) if count is None else count, len(names) if named is None else named
    parts = [struct.pack("<QQQ", 0x112, 0, count), *arrays, struct.pack("<Q", named)]
    return b"".join([*parts, *(struct.pack("<Q", len(name)) + name for name in names)])


HUGE = 1 << 60
DAMAGED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "byte 0: the file ends after 0 bytes, within the magic number"),
    "short": (b"\x12\x01", "byte 0: the file ends after 2 bytes, within the magic number"),
    "magic": (b"\x13" + bytes(7), "byte 0: .*begins with 13 00 00 00 00 00 00 00, expected 12 01 00 00 00 00 00 00"),
    "zip": (b"PK\x03\x04rest", r"It looks like a zip archive: numpy\.load reads"),
    "npy": (b"\x93NUMPY\x01\x00", r"use nd\.array\(numpy\.load\(file\)\)"),
    "json": (b'{"nodes": []}', "It looks like JSON, such as the -symbol.json"),
    "pickle": (b"\x80\x04\x95rest...", r"use pickle\.load"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
    "page": (b"<!DOCTYPE html>", "web page"),
    "count": (file_of(count=HUGE), rf"byte 16: the number of arrays is {HUGE}, but only 8 bytes follow"),
    "version": (
        file_of(array_of(version=0xF993FACB)),
        "byte 24: array 0 of 1 begins with 0xf993facb, expected 0xf993fac9, 0xf993faca, 0xf993fac8, or a number",
    ),
    "storage": (file_of(array_of(storage=3)), r"byte 28: the storage type of array 0 of 1 is 3, expected 0 \(dense\)"),
    "axes": (file_of(array_of(axes=65)), "byte 32: array 0 of 1 has 65 axes, expected 0 to 64"),
    "negative axes": (file_of(array_of(axes=-1)), "byte 32: array 0 of 1 has -1 axes, expected 0 to 64"),
    "no axes": (file_of(array_of(shape=())), r"byte 32: array 0 of 1 has no shape .*under mx\.util\.np_shape"),
    "negative": (
        file_of(array_of(shape=(2, -1))),
        r"byte 36: array 0 of 1 has shape \(2, -1\), with a negative length",
    ),
    "dtype": (file_of(array_of(dtype=8)), r"byte 52: the dtype of array 0 of 1 is 8, expected one of 0 \(float32\)"),
    "values": (
        file_of(array_of(shape=(HUGE, 3))),
        rf"byte 64: the values of array 0 of 1,.*\({HUGE}, 3\): {3 * HUGE} bytes are needed, but the file ends after 9",
    ),
    "nothing of much": (
        file_of(array_of(shape=(0, HUGE, HUGE), values=b"")),
        r"byte 72: array 0 of 1 is uint8 \(0, .*which NumPy cannot hold",
    ),
    "names": (
        file_of(array_of(), array_of(), names=(b"a",)),
        "there are 1 names for 2 arrays; expected as many, or no",
    ),
    "many names": (file_of(named=HUGE), rf"byte 24: the number of names is {HUGE}, but only 0 bytes follow"),
    "long name": (
        file_of(array_of(), named=1) + struct.pack("<Q", HUGE),
        rf"name 0 of 1: {HUGE} bytes are needed, but the file ends after 0",
    ),
    "utf-8": (file_of(array_of(), names=(b"\xff",)), "byte 73: name 0 of 1 is not UTF-8: invalid start byte 0xff"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_say_where_and_what(case: str, tmp_path: Path) -> None:
    content, text = DAMAGED[case]
    path = tmp_path / "net.params"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=text) as caught:
        nd.load(path)
    assert str(caught.value).startswith(f"nd.load: {str(path)!r}, byte ")
    with pytest.raises(FileFormatError, match=rf"nd\.load_frombuffer: the buffer of {len(content)} bytes, byte "):
        nd.load_frombuffer(content)


@pytest.mark.parametrize("name", READABLE)
def test_files_cut_at_any_byte_are_errors(name: str) -> None:
    content = content_of(name)
    for length in range(len(content)):
        with pytest.raises(FileFormatError, match=r"the file ends after|bytes follow"):
            nd.load_frombuffer(content[:length])


@pytest.mark.parametrize("name", ["list", "names", "np_shape", "version_1", "version_0"])
def test_files_with_a_flipped_byte_are_errors_or_arrays(name: str) -> None:
    content = bytearray(content_of(name))
    nd.load_frombuffer(content_of("dtypes"))
    tracemalloc.start()
    try:
        for position in range(len(content)):
            for flip in (0x01, 0x04, 0x80, 0xFF):
                content[position] ^= flip
                try:
                    result = nd.load_frombuffer(content)
                except FileFormatError:
                    pass
                else:
                    arrays = result if type(result) is list else list(result.values())
                    assert sum(array._data.nbytes for array in arrays) <= 2 * len(content)
                    saved(arrays)
                content[position] ^= flip
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80), st.sampled_from([b"", struct.pack("<Q", 0x112), file_of(count=1)[:24]]))
def test_random_bytes_are_errors_or_arrays(rest: bytes, beginning: bytes) -> None:
    with contextlib.suppress(FileFormatError):
        nd.load_frombuffer(beginning + rest)


def test_a_file_that_shrinks_while_it_is_read_is_an_error() -> None:
    content = content_of("single")
    for length in (30, 70):
        with pytest.raises(FileFormatError, match="the file shrank while it was read"):
            saving.read_arrays(saving.Reader(io.BytesIO(content[:length]), len(content), "nd.load: 'x'"))


@pytest.mark.skipif(sys.platform != "linux", reason="needs sparse files")
def test_a_large_file_with_large_claims_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(file_of(array_of(shape=(HUGE,))))
    os.truncate(path, 1 << 33)
    with pytest.raises(FileFormatError, match=rf": {HUGE} bytes are needed, but the file ends after"):
        nd.load(path)


# -- large files -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray]]:
    """Return a file of 13 MB, small and large arrays by turns, and what it holds."""
    random = np.random.RandomState(0)
    shapes = [(3,), (512, 1024), (7, 5), (640, 1024), (1,), (256, 1024), (2, 3)]
    raw = {f"arg:{number}": random.uniform(-1, 1, shape).astype("float32") for number, shape in enumerate(shapes)}
    raw["aux:half"] = random.uniform(-1, 1, (512, 1024)).astype("float16")
    raw["aux:flags"] = random.uniform(-1, 1, (1024, 1024)) > 0
    raw["aux:wide"] = random.uniform(-1, 1, (400, 1024))
    path = tmp_path_factory.mktemp("large") / "net.params"
    nd.save(path, arrays_of(raw))
    return path, raw


@pytest.mark.parametrize("processors", [1, 4])
def test_large_arrays_are_read_by_several_threads(
    processors: int, large: tuple[Path, dict[str, np.ndarray]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reading, "_processors", lambda: processors)
    path, raw = large
    before = threading.active_count()
    assert_equal(nd.load(path), raw)
    assert_equal(nd.load_frombuffer(path.read_bytes()), raw)
    assert threading.active_count() == before


def test_large_files_are_read_without_a_second_copy(large: tuple[Path, dict[str, np.ndarray]]) -> None:
    path, raw = large
    nd.load(path)
    tracemalloc.start()
    loaded = nd.load(path)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = sum(array.nbytes for array in raw.values())
    assert len(loaded) == len(raw)
    assert size <= held <= peak < 1.02 * size


@pytest.mark.parametrize("processors", [1, 4])
def test_a_large_file_that_shrinks_while_it_is_read_is_an_error(
    processors: int, large: tuple[Path, dict[str, np.ndarray]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "net.params"
    path.write_bytes(large[0].read_bytes())
    fill = file_reading.fill

    def cut(stream: Any, parts: Any) -> Any:
        os.truncate(path, parts[0].offset + 1000)
        return fill(stream, parts)

    monkeypatch.setattr(file_reading, "_processors", lambda: processors)
    monkeypatch.setattr(file_reading, "fill", cut)
    with pytest.raises(
        FileFormatError, match=r"byte \d+: the values of array 1 of 10, float32 \(512, 1024\): 2097152 "
    ):
        nd.load(path)


def test_a_block_takes_what_was_read_and_nothing_else_does(large: tuple[Path, dict[str, np.ndarray]]) -> None:
    """Values from a file are the parameters' own memory; those from a dict are copied."""
    path, _ = large
    names = [f"{number}" for number in range(7)]
    net = mx.gluon.SymbolBlock(mx.sym.Group([mx.sym.var(name) * 1 for name in names]), [])
    tracemalloc.start()
    net.collect_params().load(path, ignore_extra=True)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 1.3 * 2 * sum(net.collect_params()[name].data()._data.nbytes for name in names)  # and gradients
    given = {name: nd.ones(net.collect_params()[name].shape) for name in names}
    other = mx.gluon.SymbolBlock(mx.sym.Group([mx.sym.var(name) * 1 for name in names]), [])
    other.collect_params().load_dict(given)
    given["1"][:] = 7
    assert float(other.collect_params()["1"].data()[0, 0].asscalar()) == 1
