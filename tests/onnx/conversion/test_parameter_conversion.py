"""Parameters from one kind of file to another: every bit, name and order; damaged and hostile files."""

from __future__ import annotations

import io
import json
import random
import struct
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minpy import nd
from minpy.core.errors import ArgumentError, FileFormatError, MXNetError
from minpy.ndarray.array_files import StoredArray
from minpy.onnx.conversion.command_line import main
from minpy.onnx.conversion.parameter_files import convert_parameters, read_parameters, write_parameters
from minpy.onnx.conversion.tensors import DTYPES_OF

ENDINGS = list(DTYPES_OF)
IN_ALL = [dtype for dtype in DTYPES_OF[".params"] if all(dtype in dtypes for dtypes in DTYPES_OF.values())]


def tensor(dtype: str, shape: tuple[int, ...], seed: int = 0) -> StoredArray:
    """Return any bits, NaN among them, of a dtype."""
    stored = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    content = random.Random(seed).randbytes(int(np.prod(shape)) * stored.itemsize)
    if dtype == "bool":
        content = bytes(byte & 1 for byte in content)
    return StoredArray(dtype, np.frombuffer(content, stored).reshape(shape))


def bits(tensors: dict[str, StoredArray]) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    return [(name, array.dtype, array.data.shape, array.data.tobytes()) for name, array in tensors.items()]


def various() -> dict[str, StoredArray]:
    shapes = [(2, 3), (), (0, 4), (5,), (1, 1, 1, 1)]
    entries = [(dtype, shape) for dtype in IN_ALL for shape in shapes]
    return {f"arg:{dtype}/{number}.é": tensor(dtype, shape, number) for number, (dtype, shape) in enumerate(entries)}


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12).filter(
    lambda name: name != "__metadata__"
)
arrays = st.builds(tensor, st.sampled_from(IN_ALL), st.lists(st.integers(0, 3), max_size=4).map(tuple), st.integers())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(names, arrays, max_size=6), st.permutations(ENDINGS))
def test_every_bit_name_and_order_is_kept(tmp_path: Path, tensors: dict[str, StoredArray], order: list[str]) -> None:
    paths = [tmp_path / f"net{ending}" for ending in order]
    write_parameters(paths[0], tensors)
    expected = bits(tensors)
    for source, target in zip(paths, [*paths[1:], paths[0]], strict=True):
        before = source.read_bytes()
        assert bits(read_parameters(source)) == expected
        convert_parameters(source, target, force=True)
        assert source.read_bytes() == before
    assert bits(read_parameters(paths[0])) == expected


@pytest.mark.parametrize("ending", ENDINGS)
def test_dtypes_that_a_file_does_not_know_are_named(ending: str, tmp_path: Path) -> None:
    for dtype in DTYPES_OF[".npz"]:
        path = tmp_path / f"{dtype}{ending}"
        tensors = {"w": tensor(dtype, (2,))}
        if dtype in DTYPES_OF[ending]:
            write_parameters(path, tensors)
            assert bits(read_parameters(path)) == bits(tensors)
            continue
        with pytest.raises(ArgumentError, match=rf"{ending} files do not know the dtypes of 'w' \({dtype}\).*\.npz"):
            write_parameters(path, tensors)
        assert not path.exists()


def test_a_file_of_parameters_comes_back_byte_for_byte(tmp_path: Path) -> None:
    before = tmp_path / "before.params"
    nd.save(str(before), {"arg:w": nd.array(np.arange(6).reshape(2, 3)), "aux:m": nd.ones(3, dtype="int8")})
    convert_parameters(before, tmp_path / "a.safetensors")
    convert_parameters(tmp_path / "a.safetensors", tmp_path / "a.npz")
    convert_parameters(tmp_path / "a.npz", tmp_path / "after.params")
    assert (tmp_path / "after.params").read_bytes() == before.read_bytes()


def test_numpy_reads_what_is_written_and_the_other_way_round(tmp_path: Path) -> None:
    tensors = {name: array for name, array in various().items() if array.dtype != "bfloat16"}
    write_parameters(tmp_path / "a.npz", tensors)
    with np.load(tmp_path / "a.npz") as loaded:
        assert [(n, loaded[n].dtype.name, loaded[n].shape, loaded[n].tobytes()) for n in loaded.files] == bits(tensors)
    written = {
        "big": np.arange(6, dtype=">f4").reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6, dtype="int16").reshape(2, 3)),
        "scalar": np.float64(3),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "b.npz", **written)
        for name, array in read_parameters(tmp_path / "b.npz").items():
            assert array.data.tolist() == written[name].tolist()
            assert array.data.dtype == written[name].dtype.newbyteorder("=")
            assert array.data.flags.c_contiguous


def test_the_package_safetensors_reads_what_is_written_and_the_other_way_round(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy", reason="compares with the package safetensors")
    tensors = {name: array for name, array in various().items() if array.dtype != "bfloat16"}
    write_parameters(tmp_path / "a.safetensors", tensors)
    loaded = library.load_file(tmp_path / "a.safetensors")
    assert sorted(bits({n: StoredArray(a.dtype.name, a) for n, a in loaded.items()})) == sorted(bits(tensors))
    library.save_file({name: array.data for name, array in tensors.items()}, tmp_path / "b.safetensors")
    assert sorted(bits(read_parameters(tmp_path / "b.safetensors"))) == sorted(bits(tensors))
    safetensors = pytest.importorskip("safetensors", reason="compares with the package safetensors")
    write_parameters(tmp_path / "c.safetensors", various())
    [(_, entry)] = [
        item
        for item in safetensors.deserialize((tmp_path / "c.safetensors").read_bytes())
        if item[1]["dtype"] == "BF16" and list(item[1]["shape"]) == [2, 3]
    ]
    [expected] = [a for a in various().values() if a.dtype == "bfloat16" and a.data.shape == (2, 3)]
    assert bytes(entry["data"]) == expected.data.tobytes()


def test_bfloat16_of_a_file_is_what_nd_load_widens(tmp_path: Path) -> None:
    values = np.float32([1.5, -2, 0.125])
    stored = {"w": StoredArray("bfloat16", (values.view(np.uint32) >> 16).astype(np.uint16))}
    write_parameters(tmp_path / "a.safetensors", stored)
    convert_parameters(tmp_path / "a.safetensors", tmp_path / "a.params")
    loaded = nd.load(str(tmp_path / "a.params"))["w"]
    assert loaded.dtype == np.float32
    assert loaded.asnumpy().tolist() == values.tolist()


def test_plain_names_are_remembered(tmp_path: Path) -> None:
    tensors = {"arg:w": tensor("float32", (2,)), "aux:m": tensor("float32", (3,)), "x": tensor("int8", (1,))}
    write_parameters(tmp_path / "a.params", tensors)
    written = convert_parameters(tmp_path / "a.params", tmp_path / "a.safetensors", plain_names=True)
    assert list(written) == ["w", "m", "x"]
    convert_parameters(tmp_path / "a.safetensors", tmp_path / "b.params")
    assert bits(read_parameters(tmp_path / "b.params")) == bits(tensors)
    write_parameters(tmp_path / "c.params", {"arg:w": tensor("int8", (1,)), "aux:w": tensor("int8", (1,))})
    with pytest.raises(ArgumentError, match=r"would give 'arg:w' and 'aux:w' one name, 'w'"):
        convert_parameters(tmp_path / "c.params", tmp_path / "c.npz", plain_names=True)
    assert not (tmp_path / "c.npz").exists()


# -- damaged and hostile files -----------------------------------------------------------------------------------------


def safetensors_file(header: Any, values: bytes = b"", length: int | None = None) -> bytes:
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(content) if length is None else length) + content + values


def entry(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def npz_file(members: dict[str, bytes], **options: Any) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def npy(array: Any, **header: Any) -> bytes:
    file = io.BytesIO()
    if header:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (1,), **header})
    else:
        np.save(file, array, allow_pickle=True)
    return file.getvalue()


def lying_zip() -> bytes:
    """Return an archive of a few bytes that claims 2**32 - 2 of them."""
    content = bytearray(npz_file({"w.npy": npy(np.float32([1]))}))
    directory = content.index(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = struct.pack("<I", 2**32 - 2)
    return bytes(content)


def sparse_file() -> bytes:
    start = struct.pack("<QQQIi", 0x112, 0, 1, 0xF993FAC9, 1)
    shapes = struct.pack("<iqq", 2, 1, 2) + struct.pack("<iqq", 2, 4, 2)
    content = struct.pack("<iii", 1, 0, 0) + struct.pack("<iiq", 6, 1, 1) + bytes(8) + bytes(8)
    return start + shapes + content + struct.pack("<QQ", 1, 1) + b"w"


HOSTILE = {
    "empty.safetensors": (b"", "ends after 0 bytes"),
    "huge-header.safetensors": (safetensors_file({}, length=2**60), "header should have 1152921504606846976 bytes"),
    "no-json.safetensors": (safetensors_file(b"{'w'}"), "its header is no JSON"),
    "nested.safetensors": (safetensors_file(b"[" * 100_000), "its header is no JSON"),
    "list.safetensors": (safetensors_file([]), "its header is no JSON object"),
    "twice.safetensors": (safetensors_file(b'{"w":1,"w":2}'), "a name stands there twice"),
    "number.safetensors": (safetensors_file({"w": 1}), "something else than a dtype, a shape and two offsets"),
    "true.safetensors": (safetensors_file(entry(shape=[True]), bytes(4)), "something else than a dtype"),
    "negative.safetensors": (safetensors_file(entry(shape=[-1]), bytes(4)), "something else than a dtype"),
    "digits.safetensors": (safetensors_file(b'{"w":' + b"9" * 5000 + b"}"), "is no JSON"),
    "float8.safetensors": (safetensors_file(entry("F8_E4M3"), bytes(1)), "'w' is F8_E4M3, a dtype that NumPy does not"),
    "too-long.safetensors": (safetensors_file(entry(offsets=[0, 4]), bytes(3)), "but 3 bytes follow it"),
    "too-short.safetensors": (safetensors_file(entry(offsets=[0, 4]), bytes(9)), "but 9 bytes follow it"),
    "gap.safetensors": (safetensors_file(entry(offsets=[4, 8]), bytes(8)), "begin at byte 4, expected 0"),
    "size.safetensors": (safetensors_file(entry(shape=[2]), bytes(4)), "cannot have 4 bytes of values"),
    "axes.safetensors": (safetensors_file(entry(shape=[1] * 100), bytes(4)), "which NumPy cannot hold"),
    "astronomic.safetensors": (safetensors_file(entry(shape=[2**62, 0, 2**62], offsets=[0, 0])), "NumPy cannot hold"),
    "metadata.safetensors": (safetensors_file({"__metadata__": {"a": 1}}), "__metadata__ is no object of texts"),
    "names.safetensors": (
        safetensors_file({"__metadata__": {"mxnet_names": '{"w": "arg:v"}'}, **entry()}, bytes(4)),
        "'mxnet_names' is not what",
    ),
    "pickle.npz": (npz_file({"w.npy": npy(np.array([{}], object))}), "holds Python objects, in a pickle"),
    "text.npz": (npz_file({"notes.txt": b"x"}), "it holds 'notes.txt', which is no array"),
    "texts.npz": (npz_file({"w.npy": npy(np.array(["a"]))}), "no dtype of numbers"),
    "records.npz": (npz_file({"w.npy": npy(np.zeros(1, "i4,f4"))}), "no dtype of numbers"),
    "bzip2.npz": (npz_file({"w.npy": b""}, compression=zipfile.ZIP_BZIP2), "compressed by method 12"),
    "bomb.npz": (lying_zip(), "cannot have the 4294967294 bytes that it claims"),
    "short.npz": (npz_file({"w.npy": npy(0, shape=(2**40,))}), "needs 4398046511104 bytes of values, got 0"),
    "axis.npz": (npz_file({"w.npy": npy(0, shape=(-1,)) + bytes(4)}), "has the shape (-1,)"),
    "magic.npz": (npz_file({"w.npy": b"hello, this is no array"}), "it cannot be read as .npz"),
    "deep.npz": (npz_file({"w.npy": b"\x93NUMPY\1\0\x88\x13" + b"(" * 5000}), "it cannot be read as .npz"),
    "no-zip.npz": (b"no archive", "it cannot be read as .npz: File is not a zip file"),
    "sparse.params": (sparse_file(), "is sparse (row_sparse), (4, 2). Make it dense first"),
    "nameless.params": (b"", "the file ends after 0 bytes"),
    "page.params": (b"<html>" * 9, "It looks like a web page"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, expected = HOSTILE[name]
    source = tmp_path / name
    source.write_bytes(content)
    target = tmp_path / ("out.npz" if not name.endswith(".npz") else "out.params")
    tracemalloc.start()
    try:
        status = main([str(source), str(target)])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    captured = capsys.readouterr()
    assert status == 2, captured.err
    assert expected in captured.err
    assert captured.err.startswith("python -m minpy convert: ")
    assert captured.err.count("\n") == 1
    assert not captured.out
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert peak < 8 << 20


def test_files_that_expand_beyond_belief_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minpy.onnx.conversion.npz_files._MIN_EXPANDED_BYTES", 1 << 16)
    np.savez_compressed(tmp_path / "zeros.npz", w=np.zeros(1 << 18))
    with pytest.raises(FileFormatError, match=r"its \d+ bytes would become \d+. If that is meant"):
        read_parameters(tmp_path / "zeros.npz")


def test_a_name_twice_in_an_archive(tmp_path: Path) -> None:
    content = npz_file({"v.npy": npy(np.float32([1])), "w.npy": npy(np.float32([1]))})
    (tmp_path / "a.npz").write_bytes(content.replace(b"v.npy", b"w.npy"))
    with pytest.raises(FileFormatError, match=r"it holds 'w.npy' twice"):
        read_parameters(tmp_path / "a.npz")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("seed", range(3))
def test_damage_anywhere_is_an_error_or_harmless(ending: str, seed: int, tmp_path: Path) -> None:
    """Cut off at any byte, or with any byte changed, a file is read, or refused in one line."""
    path = tmp_path / f"net{ending}"
    tensors = {"arg:w": tensor("float32", (2, 3)), "aux:é": tensor("bfloat16", (4,)), "b": tensor("bool", (3,))}
    write_parameters(path, tensors)
    content = path.read_bytes()
    generator = random.Random(seed)
    cuts = [content[:end] for end in range(len(content))] if seed == 0 else []
    for damaged in [*cuts, *(flipped(content, generator) for _ in range(250))]:
        path.write_bytes(damaged)
        assert "\n" not in refusal_of(path)
    for damaged in cuts:
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError):
            read_parameters(path)


def refusal_of(path: Path) -> str:
    try:
        read_parameters(path)
    except FileFormatError as error:
        return str(error)
    return ""


def flipped(content: bytes, generator: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(generator.choice([1, 1, 1, 2, 5])):
        damaged[generator.randrange(len(damaged))] = generator.randrange(256)
    return bytes(damaged)


# -- the command -------------------------------------------------------------------------------------------------------


def test_what_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "a.params", tmp_path / "a.npz"
    write_parameters(source, {"w": tensor("float32", (2,))})
    target.write_bytes(b"mine")
    assert main([str(source), str(target)]) == 2
    assert f"'{target}' is there already. Give another name, or --force to replace it." in capsys.readouterr().err
    assert target.read_bytes() == b"mine"
    assert main([str(source), str(target), "--force"]) == 0
    assert bits(read_parameters(target)) == bits(read_parameters(source))


def test_a_file_is_not_written_onto_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, link = tmp_path / "a.params", tmp_path / "a.npz"
    write_parameters(source, {"w": tensor("float32", (2,))})
    link.symlink_to(source)
    assert main([str(source), str(link), "--force"]) == 2
    assert "is the file that is read. Give another name." in capsys.readouterr().err


def test_nothing_is_left_of_what_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "a.params", tmp_path / "a.safetensors"
    write_parameters(source, {"w": tensor("float32", (2,))})
    target.write_bytes(b"mine")

    def full(*arguments: Any) -> Any:
        yield b"half"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("minpy.onnx.conversion.safetensors_files.chunks", full)
    with pytest.raises(MXNetError, match=r"cannot write .*a\.safetensors': No space left on device"):
        convert_parameters(source, target, force=True)
    assert target.read_bytes() == b"mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.params", "a.safetensors"]


def test_a_line_an_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_parameters(tmp_path / "a.params", {"arg:w": tensor("float32", (2, 3)), "aux:m": tensor("int8", ())})
    assert main([str(tmp_path / "a.params"), str(tmp_path / "a.npz"), "--layers"]) == 0
    lines = [line.split(None, 2) for line in capsys.readouterr().out.splitlines()]
    assert ["arg:w", "float32", "(2, 3)"] in lines
    assert ["aux:m", "int8", "()"] in lines


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tqdm", reason="draws bars")
    write_parameters(tmp_path / "a.params", {"w": tensor("float32", (1 << 18,))})
    expected = bits(read_parameters(tmp_path / "a.params"))
    assert not capsys.readouterr().err
    for ending in (".safetensors", ".npz"):
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        convert_parameters(tmp_path / "a.params", tmp_path / f"a{ending}")
        assert f"writing a{ending}" in terminal.getvalue()
        assert "1.00M" in terminal.getvalue()
        assert bits(read_parameters(tmp_path / f"a{ending}")) == expected
    monkeypatch.setitem(sys.modules, "tqdm", None)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    convert_parameters(tmp_path / "a.npz", tmp_path / "b.params")
    assert not terminal.getvalue()
