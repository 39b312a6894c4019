"""Files that mean harm, or were damaged: an error of minpy that says where, no crash, and no memory beyond their size."""

# ruff: noqa: E501 - one case is one line of text

from __future__ import annotations

import gzip
import io
import random
import struct
import tarfile
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
        updater.set_states(mx.optimizer.states.dump_states(({}, other)))
    assert updater.states is before


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
