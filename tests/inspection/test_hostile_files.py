"""Files that mean harm, or were damaged: an error of minpy that says where, no crash, and no memory beyond their size."""

# ruff: noqa: E501 - one case is one line of text

from __future__ import annotations

import copy
import functools
import gzip
import io
import json
import os
import pickle
import random
import struct
import sys
import tarfile
import threading
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import gluon, nd, recordio
from minpy.base import MXNetError
from minpy.core.errors import FileFormatError, ParametersError, ShapeError, WorkerError
from minpy.gluon import data
from minpy.inspection.command_line import main
from minpy.tools import im2rec

LARGE = 1 << 20  # of one megabyte of zeros come about 1 kB, packed


def _records(folder: Path, label: Callable[[int], Any] = float) -> tuple[bytes, bytes]:
    writer = recordio.MXIndexedRecordIO(folder / "w.idx", folder / "w.rec", "w")
    for number in range(4):
        image = np.random.RandomState(number).randint(0, 255, (12, 12, 3)).astype("uint8")
        writer.write_idx(number, recordio.pack_img(recordio.IRHeader(0, label(number), number, 0), image, 3, ".png"))
    writer.close()
    return (folder / "w.rec").read_bytes(), (folder / "w.idx").read_bytes()


def _boxes(number: int) -> list[float]:
    return [2, 5, number, 0.1, 0.1, 0.6, 0.7]


def _idx(shape: tuple[int, ...], there: int | None = None) -> bytes:
    size = int(np.prod(shape)) if there is None else there
    return struct.pack(f">4B{len(shape)}I", 0, 0, 8, len(shape), *shape) + bytes(size)


def _archive(*sizes: int, sparse: int = 0) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for size in sizes:
            member = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
            member.size = size
            archive.addfile(member, io.BytesIO(bytes(size)))
    if not sparse:
        return file.getvalue()
    member = tarfile.TarInfo("test_batch.bin")
    member.size, member.type = 512, tarfile.GNUTYPE_SPARSE
    head = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    head[386:410] = b"%011o\0%011o\0" % (0, 512)
    head[483:495] = b"%011o\0" % sparse
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return gzip.compress(bytes(head) + bytes(512 * 20))


def _drain(batches: Any) -> None:
    for _ in range(20):
        try:
            batches.next()
        except StopIteration:
            return
        except MXNetError:
            continue


def _peak(function: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        function()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


# -- single cases ------------------------------------------------------------------------------------------------------


def _detection(folder: Path, count: int) -> Any:
    content = bytearray(_records(folder, _boxes)[0])
    content[8:12] = struct.pack("<I", count)
    (folder / "a.rec").write_bytes(content)
    return mx.io.ImageDetRecordIter(path_imgrec=str(folder / "a.rec"), data_shape=(3, 8, 8), batch_size=2)


def _long_offset(folder: Path) -> Any:
    content, _ = _records(folder)
    (folder / "a.rec").write_bytes(content)
    (folder / "a.idx").write_bytes(b"0\t0\n1\t" + b"9" * 5000)
    paths = {"path_imgrec": str(folder / "a.rec"), "path_imgidx": str(folder / "a.idx")}
    return mx.io.ImageRecordIter(**paths, data_shape=(3, 8, 8), batch_size=2)


def _listed(folder: Path) -> Any:
    (folder / "a.lst").write_bytes(b"0\t0.0\ta\0b.png\n")
    return gluon.data.vision.ImageListDataset(str(folder), "a.lst")[0]


def _det_label(folder: Path, *label: float) -> Any:
    content, _ = _records(folder, lambda number: list(label))
    (folder / "a.rec").write_bytes(content)
    return mx.image.ImageDetIter(2, (3, 8, 8), path_imgrec=str(folder / "a.rec"))


def _mnist_iter(folder: Path, images: bytes) -> Any:
    (folder / "i").write_bytes(images)
    (folder / "l").write_bytes(_idx((4,)))
    return mx.io.MNISTIter(image=str(folder / "i"), label=str(folder / "l"), batch_size=2)


def _mnist(folder: Path, images: bytes) -> Any:
    (folder / "train-images-idx3-ubyte.gz").write_bytes(images)
    (folder / "train-labels-idx1-ubyte").write_bytes(_idx((4,)))
    return gluon.data.vision.MNIST(str(folder))


def _cifar(folder: Path, archive: bytes) -> Any:
    (folder / "cifar-10-binary.tar.gz").write_bytes(archive)
    return gluon.data.vision.CIFAR10(str(folder), train=False)


_CLAIMS = gzip.compress(_idx((900 << 10, 32, 32), 1 << 20))
CASES: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "labels that a record has no room for": (lambda folder: _detection(folder, 2**32 - 1), FileFormatError, r"record 0 \(at offset 0\) of '.*a\.rec' says that it has 4294967295 labels"),
    "an offset of 5000 digits": (_long_offset, FileFormatError, r"a\.idx', line 2: .*expected a key, a tab and an offset"),
    "a file name with a zero byte": (_listed, MXNetError, r"'.*a\\x00b\.png' is no name of a file"),
    "a head that is no number": (lambda folder: _det_label(folder, float("nan"), 5, 0, 0, 0, 1, 1), ShapeError, "a label that begins with nan, 5"),
    "an endless head": (lambda folder: _det_label(folder, 2, float("inf"), 0, 0, 0, 1, 1), ShapeError, "a label that begins with 2, inf"),
    "MNISTIter: a packed file with less than it says": (lambda folder: _mnist_iter(folder, _CLAIMS), FileFormatError, r"takes 943718400 bytes; behind its header are"),
    "MNIST: a packed file with less than it says": (lambda folder: _mnist(folder, _CLAIMS), FileFormatError, "takes 943718400 bytes; behind its header are"),
    "CIFAR10: a longer file than there is": (lambda folder: _cifar(folder, _archive(3073 * 50001)), FileFormatError, r"test_batch\.bin has 153653073 bytes .* 153650000 is the most"),
    "CIFAR10: a file with holes": (lambda folder: _cifar(folder, _archive(sparse=3073 * 10**6)), FileFormatError, "has 3073000000 bytes by the archive's table"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CASES if "longer" not in name])
def test_what_is_claimed_takes_no_memory(name: str, tmp_path: Path) -> None:
    make, kind, text = CASES[name]

    def refused() -> None:
        with pytest.raises(kind, match=text):
            make(tmp_path)

    assert _peak(refused) < 8 << 20


def test_archives_are_measured_before_they_are_unpacked(tmp_path: Path) -> None:
    make, kind, text = CASES["CIFAR10: a longer file than there is"]
    with pytest.raises(kind, match=text):
        make(tmp_path)


def test_no_more_is_unpacked_than_the_header_says(tmp_path: Path) -> None:
    bomb = gzip.compress(_idx((4, 5, 5)) + bytes(40 * LARGE))
    assert _peak(lambda: _mnist_iter(tmp_path, bomb)) < 8 << 20
    assert _peak(lambda: _mnist(tmp_path, bomb)) < 8 << 20


def test_warnings_of_pillow_are_no_other_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    monkeypatch.setenv("MINPY_PICTURES", "pillow")
    image = np.random.RandomState(0).randint(0, 255, (32, 32, 3)).astype("uint8")
    whole = mx.recordio.pack_img((0, 0.0, 0, 0), image, 90, ".tiff")[24:]
    for place in range(8, len(whole), 97):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(MXNetError, match="could not be decoded as a picture"):
                mx.image.imdecode(whole[:place])


def test_lists_of_im2rec_leave_out_names_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.lst").write_bytes(b"0\t0.0\ta\0b.png\n")
    im2rec.main([str(tmp_path / "a"), str(tmp_path)])
    assert "0 pictures, 1 left out" in capsys.readouterr().out


# -- any bytes ---------------------------------------------------------------------------------------------------------


def _mutated(content: bytes, generator: random.Random) -> bytes:
    found = bytearray(content)
    place = generator.randrange(len(found))
    how = generator.randrange(5)
    if how == 0:
        found[place] ^= 1 << generator.randrange(8)
    elif how == 1:
        del found[place:]
    elif how == 2:
        del found[place : place + generator.randint(1, 16)]
    elif how == 3:
        found[place:place] = found[place : place + 32]
    else:
        word = generator.choice([0, 1, 2**29 - 1, 2**31 - 1, 2**31, 2**32 - 1])
        found[place & ~3 : (place & ~3) + 4] = struct.pack("<I", word)
    return bytes(found)


def _states(content: bytes) -> None:
    mx.optimizer.get_updater(mx.optimizer.Adam()).set_states(content)


def _iterators(folder: Path) -> dict[str, tuple[bytes, Callable[[bytes], Any]]]:
    records, index = _records(folder)
    boxes, _ = _records(folder, _boxes)
    given: dict[str, Any] = {"data_shape": (3, 8, 8), "batch_size": 2, "preprocess_threads": 1}

    def read(name: str, function: Callable[[str], Any]) -> Callable[[bytes], Any]:
        def reader(content: bytes) -> Any:
            (folder / name).write_bytes(content)
            return function(str(folder / name))

        return reader

    def indexed(path: str) -> None:
        (folder / "b.rec").write_bytes(records)
        _drain(mx.io.ImageRecordIter(path_imgrec=str(folder / "b.rec"), path_imgidx=path, **given))

    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    updater(0, nd.ones(3), nd.ones(3))
    return {
        "ImageRecordIter": (records, read("a.rec", lambda path: _drain(mx.io.ImageRecordIter(path_imgrec=path, **given)))),
        "an index": (index, read("a.idx", indexed)),
        "ImageDetRecordIter": (boxes, read("a.rec", lambda path: _drain(mx.io.ImageDetRecordIter(path_imgrec=path, **given)))),
        "ImageDetIter": (boxes, read("a.rec", lambda path: _drain(mx.image.ImageDetIter(2, (3, 8, 8), path_imgrec=path)))),
        "MNISTIter": (_idx((4, 5, 5)), lambda content: _mnist_iter(folder, content).next()),
        "MNISTIter, packed": (gzip.compress(_idx((4, 5, 5))), lambda content: _mnist_iter(folder, content).next()),
        "CIFAR10": (_archive(3073), lambda content: _cifar(folder, content)),
        "states": (updater.get_states(dump_optimizer=True), _states),
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "ImageRecordIter",
        "an index",
        "ImageDetRecordIter",
        "ImageDetIter",
        "MNISTIter",
        "MNISTIter, packed",
        "CIFAR10",
        "states",
    ],
)
def test_any_bytes_are_read_or_refused(name: str, tmp_path: Path) -> None:
    whole, read = _iterators(tmp_path)[name]
    read(whole)
    generator, refused = random.Random(name), 0
    for _ in range(60):
        try:
            read(_mutated(whole, generator))
        except MXNetError:
            refused += 1
    assert refused, "some of these files are damaged"


def test_an_optimizer_that_lacks_something_changes_nothing() -> None:
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    updater(0, nd.ones(2), nd.ones(2))
    other = mx.optimizer.Adam()
    del other.aggregate_num
    before = updater.states
    with pytest.raises(FileFormatError, match="the Adam that comes with the states has no aggregate_num"):
        updater.set_states(mx.optimizer.state_bytes.dump_states(({}, other)))
    assert updater.states is before


# -- optimizer states that unfold ----------------------------------------------------------------------------------------


def _doubled(levels: int, before: bytes = b"", after: bytes = b".") -> bytes:
    """Return a pickle of a tuple that holds the one before twice, levels deep, between what stands around it."""
    return (
        b"\x80\x03)q\x00"
        + b"".join(b"h%ch%c\x86q%c" % (level, level, level + 1) for level in range(levels))
        + before
        + b"h%c" % levels
        + after
    )


UNFOLDING = {
    "what is returned": _doubled(60),
    "a key": _doubled(60, b"}", b"Ns."),
    "keys": _doubled(60, b"}(", b"Nu."),
    "members of a set": _doubled(60, b"cbuiltins\nset\n]", b"a\x85R."),
    "members that are added": _doubled(60, b"\x8f(", b"\x90."),
    "a frozen set": _doubled(60, b"(", b"\x91."),
    "what is printed": _doubled(60, b"cbuiltins\nstr\n", b"\x85R."),
    "what an error tells": _doubled(60, b"cmxnet.context\nContext\n", b"\x85R."),
    "a dtype": _doubled(60, b"cnumpy\ndtype\n", b"\x85R."),
    "arguments of an instance": _doubled(60, b"cmxnet.optimizer.optimizer\nSGD\n", b"\x85\x81."),
    "what an instance holds": _doubled(60, b"cmxnet.optimizer.optimizer\nSGD\n)\x81}X\x01\x00\x00\x00a", b"sb."),
    "ranges": b"\x80\x03cbuiltins\nrange\nJ\x00\x00\x08\x00\x85Rq\x00](" + b"cbuiltins\nlist\nh\x00\x85R" * 9 + b"e.",
    "copies": b"\x80\x03](" + b"K\x01" * 2000 + b"eq\x00](" + b"cbuiltins\nlist\nh\x00\x85R" * 300 + b"e.",
}


@pytest.mark.parametrize("name", UNFOLDING)
def test_states_that_unfold_are_refused(name: str) -> None:
    content = UNFOLDING[name]
    with pytest.raises(FileFormatError, match=f"{len(content)} bytes that would unfold to more than .* means harm"):
        _states(content)


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x03]q\x00h\x00a.",
        b"\x80\x03}q\x00K\x00h\x00s.",
        b"\x80\x03}q\x00K\x00](h\x00\x85ess.".replace(b"ess.", b"es."),
        b"\x80\x03cbuiltins\nstr\n]q\x00h\x00a\x85R.",
        b"\x80\x03)" + b"\x85" * 100_000 + b".",
        b"\x80\x03})" + b"\x85" * 100_000 + b"Ns.",
        b"\x80\x03" + b"]" * 100_000 + b"a" * 99_999 + b".",
    ],
    ids=["list", "dict", "dict and list", "printed", "tuples", "key", "lists"],
)
def test_states_that_hold_themselves_or_are_too_deep_are_refused(content: bytes) -> None:
    with pytest.raises(FileFormatError, match="nested more than 100 deep, or hold themselves"):
        _states(content)


def test_optimizers_may_hold_themselves() -> None:
    optimizer = mx.optimizer.Adam()
    optimizer.best = [optimizer, {"again": optimizer}]
    updater = mx.optimizer.get_updater(optimizer)
    updater(0, nd.ones(2), nd.ones(2))
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(updater.get_states(dump_optimizer=True))
    assert other.optimizer.best[1]["again"] is other.optimizer


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x03cbuiltins\nbytes\nJ\x00\x00\x00\x70\x85R.",
        b"\x80\x03cbuiltins\nbytearray\nJ\x00\x00\x00\x70\x85R.",
        b"\x80\x03cbuiltins\nbytearray\nJ\x00\x00\x00\x70\x85\x81.",
        b"\x80\x03ccopyreg\n_reconstructor\ncbuiltins\nbytes\ncbuiltins\nbytes\nJ\x00\x00\x00\x70\x87R.",
        b"\x80\x03(J\x00\x00\x00\x70ibuiltins\nbytearray\n.",
        b"\x80\x03cnumpy\nbytes_\nJ\x00\x00\x00\x70\x85R.",
        b"\x80\x05\x96\x00\x00\x00\x70\x00\x00\x00\x00ab.",
        b"\x80\x03cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX\x0a\x00\x00\x00U400000000\x85RC\x00\x86R.",
    ],
    ids=["bytes", "bytearray", "instance", "reconstructed", "inst", "numpy", "bytearray8", "scalar"],
)
def test_states_take_no_memory_for_a_number(content: bytes) -> None:
    def refused() -> None:
        with pytest.raises(FileFormatError):
            _states(content)

    assert _peak(refused) < 32 << 20


# -- what is no regular file -------------------------------------------------------------------------------------------

_READERS: dict[str, Callable[[str], Any]] = {
    "nd.load": nd.load,
    "sym.load": mx.sym.load,
    "inspect": lambda path: _inspected([path]),
    "parameters to inspect": lambda path: _inspected([_symbol_file(path), path]),
    "labels to inspect": lambda path: _inspected([_symbol_file(path), "--data", "1,2", "--run", _array_file(path), "--labels", path]),
    "MXRecordIO": lambda path: recordio.MXRecordIO(path, "r").read(),
    "ImageRecordIter": lambda path: mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=2),
    "MNISTIter": lambda path: mx.io.MNISTIter(image=path, label=path, batch_size=2),
    "CSVIter": lambda path: mx.io.CSVIter(data_csv=path, data_shape=(1,), batch_size=1),
    "imread": mx.image.imread,
    "ImageIter": lambda path: mx.image.ImageIter(1, (3, 8, 8), path_imglist=path, path_root="."),
    "ImageListDataset": lambda path: gluon.data.vision.ImageListDataset("/", path),
    "load_optimizer_states": lambda path: _store().load_optimizer_states(path),
    "embedding": lambda path: mx.contrib.text.embedding.CustomEmbedding(path),
}  # fmt: skip


def _symbol_file(beside: str) -> str:
    path = f"{beside}.beside.json"
    mx.sym.relu(mx.sym.var("data")).save(path)
    return path


def _array_file(beside: str) -> str:
    np.save(f"{beside}.npy", np.ones((1, 2), "float32"))
    return f"{beside}.npy"


def _inspected(arguments: list[str]) -> None:
    if main(arguments):
        raise MXNetError("it was refused")


def _store() -> Any:
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.SGD())
    return store


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="there is no device without end")
@pytest.mark.parametrize("name", _READERS)
def test_devices_are_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "endless.json"
    path.symlink_to("/dev/zero")
    with pytest.raises(MXNetError) as caught:
        _READERS[name](str(path))
    text = " ".join(f"{caught.value} {' '.join(capsys.readouterr())}".split())
    assert "It is a device, which may have no end; give a regular file." in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", [name for name in _READERS if "inspect" in name or name == "MNISTIter"])
def test_pipes_are_not_waited_for(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    with pytest.raises(MXNetError) as caught:
        _READERS[name](str(path))
    text = " ".join(f"{caught.value} {' '.join(capsys.readouterr())}".split())
    assert "It is a pipe, which may have no end; write what comes from it to a regular file." in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_of_a_pipe_no_more_is_read_than_is_needed(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    stopped = threading.Event()

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except BrokenPipeError:
                stopped.set()

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(FileFormatError, match="this is no file of NDArrays: it begins with 00 00"):
        nd.load(pipe)
    writer.join()
    assert stopped.is_set()


# -- long graphs ---------------------------------------------------------------------------------------------------------


def _chain(length: int) -> str:
    """Return a file of nodes in a row, with parameters, states and attributes."""
    nodes: list[dict[str, Any]] = [{"op": "null", "name": "data", "inputs": []}]
    variables, last = [0], 0
    for number in range(length):
        inputs = [[last, 0, 0]]
        if number % 5 == 0:
            inputs += [[len(nodes), 0, 0]]
            variables.append(len(nodes))
            nodes.append({"op": "null", "name": f"v{number}", "inputs": [], "attrs": {"__lr_mult__": "2.0"}})
        op, attrs = ("elemwise_add", {}) if number % 5 == 0 else ("_plus_scalar", {"scalar": "1"})
        last = len(nodes)
        nodes.append({"op": op, "name": f"n{number}", "inputs": inputs, "attrs": attrs})
    document = {"nodes": nodes, "arg_nodes": variables, "heads": [[last, 0, 0]]}
    return json.dumps({**document, "attrs": {"mxnet_version": ["int", 10901]}})


_OF_GRAPHS: dict[str, Callable[[Any], Any]] = {
    "arguments": lambda net: (net.list_arguments(), net.list_auxiliary_states(), net.list_inputs()),
    "attributes": lambda net: net.attr_dict(),
    "copy": copy.deepcopy,
    "pickle": lambda net: pickle.loads(pickle.dumps(net)),
    "tojson": lambda net: net.tojson(),
    "internals": lambda net: net.get_internals()["n7_output"].list_arguments(),
    "call": lambda net: net(data=mx.sym.var("other")).list_arguments(),
    "shapes": lambda net: net.infer_shape(data=(2, 3)),
    "partial shapes": lambda net: net.infer_shape_partial(),
    "types": lambda net: net.infer_type(data="float32"),
    "debug_str": lambda net: net.debug_str(),
    "executor": lambda net: net.simple_bind(mx.cpu(), data=(2, 3)).forward(is_train=True),
    "block": lambda net: gluon.SymbolBlock(net, [mx.sym.var("data")]).collect_params(),
}


def _calls(function: Callable[[], Any]) -> int:
    """Return how many functions are called, of Python and of C."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", ["load_json", *_OF_GRAPHS])
def test_work_on_nodes_in_a_row_grows_with_their_number(name: str) -> None:
    calls = []
    for length in (100, 400):
        text = _chain(length)
        net = mx.sym.load_json(text)
        work = functools.partial(_OF_GRAPHS.get(name, mx.sym.load_json), net if name in _OF_GRAPHS else text)
        work()  # once for what is made only once
        calls.append(_calls(work))
    assert calls[1] < 4.5 * calls[0] + 1000, calls


# -- parameters --------------------------------------------------------------------------------------------------------


def _network() -> tuple[Any, dict[str, Any], dict[str, Any]]:
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="f"), name="b")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    arguments = {"f_weight": nd.ones((3, 4)), "f_bias": nd.ones(3), "b_gamma": nd.ones(3), "b_beta": nd.zeros(3)}
    return net, arguments, {"b_moving_mean": nd.zeros(3), "b_moving_var": nd.ones(3)}


def test_the_first_interface_names_all_parameters_that_do_not_fit() -> None:
    net, arguments, states = _network()
    del arguments["f_bias"], states["b_moving_var"]
    arguments["f_weight"] = nd.ones((3, 5))
    with pytest.raises(ParametersError) as caught:
        mx.model.FeedForward(net, arg_params=arguments, aux_params=states).predict(nd.ones((2, 4)))
    assert str(caught.value).splitlines() == [
        "FeedForward: parameters do not fit the model: 2 missing, 1 of another shape; nothing was changed.",
        "  parameter     got      expected",
        "  f_weight      (3, 5)   (3, 4)",
        "  f_bias        missing  (3,)",
        "  b_moving_var  missing  (3,)",
        "Give the parameters that belong to the symbol, or train it: fit makes those that are missing.",
    ]


def test_executors_copy_all_parameters_or_none() -> None:
    net, arguments, states = _network()
    executor = net.simple_bind(mx.cpu(), data=(2, 4))
    with pytest.raises(ShapeError, match="'f_bias' has shape"):
        executor.copy_params_from({**arguments, "f_bias": nd.ones(7)}, states)
    assert not executor.arg_dict["f_weight"].asnumpy().any()
    executor.copy_params_from(arguments, states)
    assert executor.arg_dict["f_weight"].asnumpy().all()


# -- threads -----------------------------------------------------------------------------------------------------------


class _Leaves(data.Dataset):
    def __getitem__(self, idx: Any) -> Any:
        raise SystemExit(4)

    def __len__(self) -> int:
        return 4


def test_a_thread_that_would_end_is_an_error_at_once() -> None:
    loader = data.DataLoader(_Leaves(), 2, num_workers=2, thread_pool=True)
    with pytest.raises(WorkerError, match="a batch in a thread failed with SystemExit: 4"):
        list(loader)
