"""`mx.image` beyond its golden cases: errors, what meets what, one library of pictures alone, gradients, properties."""

from __future__ import annotations

import json
import logging
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy import nd
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    DTypeError,
    FileAccessError,
    FileFormatError,
    FileMissingError,
    MissingDependencyError,
    NoGradientError,
    ShapeError,
)
from minpy.pictures import encode

I = mx.image  # noqa: E741
SHAPE = (3, 6, 7)
BOX = [2, 5, 0, 0.1, 0.2, 0.5, 0.6]


def png(height: int, width: int, seed: int = 0) -> bytes:
    return encode(np.random.RandomState(seed).randint(0, 256, (height, width, 3)).astype("uint8"), ".png", 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five pictures, a list of them, and files of records that hold them, with and without objects."""
    place = tmp_path_factory.mktemp("pictures")
    (place / "cut.png").write_bytes(png(20, 20)[:200])
    (place / "words.png").write_bytes(b"no picture")
    lines = []
    with (
        mx.recordio.MXIndexedRecordIO(place / "a.idx", place / "a.rec", "w") as plain,
        mx.recordio.MXIndexedRecordIO(place / "cut.idx", place / "cut.rec", "w") as cut,
        mx.recordio.MXRecordIO(place / "box.rec", "w") as boxes,
    ):
        for i, size in enumerate([(10, 15), (12, 7), (8, 8), (16, 12), (9, 10)]):
            data = png(*size, i)
            (place / f"{i}.png").write_bytes(data)
            lines.append(f"{i}\t{i}\t{i}.png\n")
            plain.write_idx(i, mx.recordio.pack(mx.recordio.IRHeader(0, float(i), i, 0), data))
            cut.write_idx(
                7 * i, mx.recordio.pack(mx.recordio.IRHeader(0, float(i), i, 0), data[: 100 if i == 2 else None])
            )
            boxes.write(mx.recordio.pack(mx.recordio.IRHeader(0, BOX if i != 3 else BOX[:-1], i, 0), data))
    (place / "a.lst").write_text("".join(lines))
    return place


def files(number: int = 5) -> list[list[Any]]:
    return [[i, f"{i}.png"] for i in range(number)]


def batches(folder: Path, **options: Any) -> Any:
    chosen = {"batch_size": 2, "data_shape": SHAPE, "path_root": folder, **options}
    if not {"path_imgrec", "path_imglist", "imglist"} & set(chosen):
        chosen["imglist"] = files()
    return I.ImageIter(**chosen)


def objects(folder: Path, *labels: Any, **options: Any) -> Any:
    chosen = {"batch_size": 2, "data_shape": SHAPE, "path_root": folder, **options}
    if "path_imgrec" not in chosen:
        chosen["imglist"] = [[label, f"{i}.png"] for i, label in enumerate(labels)]
    return I.ImageDetIter(**chosen)


def labels_of(it: Any) -> list[list[float]]:
    return [batch.label[0].asnumpy().tolist() for batch in it]


# -- errors ------------------------------------------------------------------------------------------------------------

IMAGE = np.arange(60).reshape(4, 5, 3).astype("uint8")
FUNCTIONS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: I.imread("no.png"), FileMissingError, "imread: there is no file 'no.png'."),
    (
        lambda x: I.imdecode("text"),
        ArgumentValueError,
        "imdecode: buf is str 'text'; expected bytes, or an array of uint8",
    ),
    (lambda x: I.imdecode(b""), ArgumentError, "imdecode: there are no bytes to decode."),
    (lambda x: I.imdecode(b"text"), ArgumentError, "imdecode: 4 bytes, beginning with b'text', could not be decoded"),
    (lambda x: I.imresize(x, 0, 3), ArgumentError, "to become 0 wide and 3 high"),
    (lambda x: I.imresize([1], 2, 3), ArgumentError, "imresize: src is list of 1.* expected an array of"),
    (lambda x: I.resize_short(x, 0), ArgumentError, r"resize_short: an image of shape \(4, 5, 3\), to size 0"),
    (
        lambda x: I.resize_short(x[0], 3),
        ShapeError,
        r"resize_short: src is uint8 \(5, 3\); expected an array of \(height",
    ),
    (lambda x: I.resize_short(x, 3, 11), ArgumentValueError, "interp is 11; expected 0 .nearest"),
    (lambda x: I.image._get_interp_method(9, (1, 2)), ArgumentValueError, "interp: there are 2 sizes; expected four"),
    (
        lambda x: I.fixed_crop(x, 5, 0, 2, 2),
        ArgumentValueError,
        "fixed_crop: the part at x0=5, y0=0, 2 wide and 2 high",
    ),
    (lambda x: I.fixed_crop(x, 0, 0, 0, 2), ArgumentValueError, "expected a part that has pixels"),
    (
        lambda x: I.random_crop(x, (0, 3)),
        ArgumentValueError,
        r"random_crop: size is \(0, 3\); expected \(width, height\)",
    ),
    (
        lambda x: I.center_crop(x, (100, 1)),
        ArgumentError,
        r"center_crop: an image of shape \(4, 5, 3\) has no part with",
    ),
    (
        lambda x: I.random_size_crop(x, (2, 2), 0.1, (2, 1)),
        ArgumentValueError,
        r"ratio is \(2, 1\); expected two positive",
    ),
    (lambda x: I.random_size_crop(x, (2, 2), 0.1, (1, 1), part=1), ArgumentError, "there is no argument 'part'"),
    (lambda x: I.imrotate(x, 3), DTypeError, r"imrotate: src is uint8 \(4, 5, 3\); expected an NDArray of float32"),
    (
        lambda x: I.imrotate(x.astype("float32"), nd.array([3, 4])),
        ArgumentError,
        r"rotation_degrees is float32 \(2,\) for one image; expected a number",
    ),
    (
        lambda x: I.ColorNormalizeAug([1, 2, 3], None)(x),
        DTypeError,
        r"color_normalize: src has dtype uint8; expected floats.* Put CastAug\(\) before it",
    ),
    (lambda x: I.BrightnessJitterAug(0.5)(x), DTypeError, "BrightnessJitterAug: src has dtype uint8; expected floats"),
    (
        lambda x: I.ContrastJitterAug(0.5)(x[:, :, :1].astype("float32")),
        ShapeError,
        r"ContrastJitterAug: src has shape \(4, 5, 1\); expected \(height, width, 3\), as it takes colours",
    ),
    (lambda x: I.Augmenter()(x), NotImplementedError, r"Augmenter does not define __call__\(self, src\)"),
    (
        lambda x: I.DetAugmenter()(x, 0),
        NotImplementedError,
        r"DetAugmenter does not define __call__\(self, src, label\)",
    ),
    (lambda x: I.DetBorrowAug(3), ArgumentError, "DetBorrowAug: augmenter is int 3; expected an Augmenter."),
    (lambda x: I.DetRandomSelectAug([I.CastAug()]), ArgumentValueError, "Put DetBorrowAug around an Augmenter"),
    (lambda x: I.DetRandomCropAug(area_range="all"), ArgumentError, "area_range is str 'all'; expected a number, or"),
    (lambda x: I.DetRandomPadAug(pad_val="red"), ArgumentError, "pad_val is str 'red'; expected one or three numbers"),
    (
        lambda x: I.CreateAugmenter((3, 6)),
        ArgumentValueError,
        r"CreateAugmenter: data_shape is \(3, 6\); expected \(chann",
    ),
    (lambda x: I.CreateAugmenter(SHAPE, rand_resize=True), ArgumentError, "Add rand_crop=True"),
    (
        lambda x: I.CreateAugmenter(SHAPE, mean=[1, 2]),
        ArgumentError,
        r"mean is float32 \(2,\); expected True for ImageNet",
    ),
    (
        lambda x: I.CreateMultiRandCropAugmenter([0.1, 0.2, 0.3], [(1, 1), (1, 2)]),
        ArgumentError,
        "the longest has 3, and aspect_ratio_range 2; expected equal lengths, or one value",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), FUNCTIONS)
def test_errors_of_functions(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(nd.array(IMAGE, dtype="uint8"))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"imglist": []}, ArgumentError, r"ImageIter: imglist is empty; expected at least one \[label, file name\]"),
        ({"imglist": [["0.png"]]}, ArgumentError, r"imglist\[0\] is list of 1.*; expected \[label, file name\]"),
        (
            {"imglist": [[0, "0.png"], ["x", "1.png"]]},
            ArgumentError,
            r"ImageIter: imglist\[1\] is .*; expected \[label, file",
        ),
        (
            {"imglist": [[0, "no.png"]]},
            FileMissingError,
            r"there is no file '.*no.png', which the list names. path_root is",
        ),
        (
            {"imglist": [*files(1), [1, "cut.png"]]},
            ArgumentError,
            "ImageIter: the picture 'cut.png', number 2 of the list is damaged, or no picture. imdecode: 200 bytes",
        ),
        ({"imglist": [[1, "words.png"]]}, ArgumentError, "the picture 'words.png', number 1 of the list is damaged"),
        ({"path_imgrec": "cut.rec"}, ArgumentError, "ImageIter: record 2 of '.*cut.rec' is damaged, or no picture"),
        (
            {"path_imgrec": "cut.rec", "path_imgidx": "cut.idx"},
            ArgumentError,
            "ImageIter: the record with key 14 of '.*cut.rec' is damaged, or no picture",
        ),
        (
            {"path_imgrec": "a.rec", "shuffle": True},
            ArgumentError,
            "take the index of the record file. Give path_imgidx",
        ),
        (
            {"path_imgrec": "cut.rec", "path_imgidx": "cut.idx", "path_imglist": "a.lst"},
            ArgumentError,
            "the list has no labels for 4 of 5 records of '.*cut.rec': with keys 7, 14, 21, 28.",
        ),
        ({"path_imglist": "none.lst"}, FileMissingError, "ImageIter: there is no list '.*none.lst'"),
        ({"path_imglist": "0.png"}, FileFormatError, "ImageIter: the list '.*0.png' is no text"),
        ({"imglist": None}, ArgumentError, "there are no pictures: give path_imgrec, path_imglist or imglist"),
        ({"batch_size": 0}, ArgumentValueError, "batch_size is int 0; expected an integer above 0"),
        (
            {"data_shape": (6, 7)},
            ArgumentValueError,
            r"ImageIter: data_shape is \(6, 7\); expected \(channels, height, wid",
        ),
        ({"data_shape": (3, -6, 7)}, ArgumentValueError, "all positive"),
        ({"data_shape": (1, 6, 7)}, ArgumentValueError, "expected 3 channels"),
        ({"dtype": "uint8"}, ArgumentValueError, "dtype is 'uint8'; expected one of int32, float32, int64, float64"),
        ({"num_parts": 2, "part_index": 2}, ArgumentValueError, "part_index is 2; expected 0 to 1"),
        ({"num_parts": 6}, ArgumentValueError, "5 pictures in 6 parts: these would be empty"),
        ({"rand_rotate": 1}, TypeError, "rand_rotate"),
        ({"aug_list": []}, ShapeError, r"number 1 of the list has shape \(3, 10, 15\) after the augmenters"),
        (
            {"imglist": [[0, "0.png"], [1, 2, "1.png"]]},
            ShapeError,
            "the picture '1.png', number 2 of the list has 2 labels; expected label_width=1",
        ),
    ],
)
def test_errors_of_iterators(folder: Path, options: dict[str, Any], error: type[Exception], text: str) -> None:
    options = {k: folder / v if k.startswith("path_im") else v for k, v in options.items()}
    with pytest.raises(error, match=text):
        list(
            batches(folder, **{"imglist": None, **options}) if "path_imgrec" in options else batches(folder, **options)
        )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("x\t1\ta.png", "line 2 of '.*' is 'x.t1.ta.png'; expected a key that is an integer"),
        ("3\tx\ta.png", "could not convert string to float: 'x'"),
        ("3\ta.png", r"expected a key that is an integer, one or more labels that are numbers.*\(2 fields\)"),
        ("3 1 a.png", r"\(1 fields\)"),
    ],
)
def test_lines_of_a_list(tmp_path: Path, line: str, text: str) -> None:
    (tmp_path / "bad.lst").write_text(f"0\t1\ta.png\n{line}\n")
    with pytest.raises(FileFormatError, match=text):
        batches(tmp_path, path_imglist=tmp_path / "bad.lst")


def test_a_list_without_pictures_and_one_with_a_key_twice(tmp_path: Path) -> None:
    (tmp_path / "a.lst").write_text("\n")
    with pytest.raises(FileFormatError, match=r"the list '.*a.lst' names no pictures"):
        batches(tmp_path, path_imglist=tmp_path / "a.lst")
    (tmp_path / "a.lst").write_text("1\t0\ta.png\n1\t2\tb.png\n")
    with pytest.warns(UserWarning, match=r"line 2 .* has the key 1 once more: .*'b.png'. take the place of 'a.png'"):
        batches(tmp_path, path_imglist=tmp_path / "a.lst")


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ([2, 5, 0, 0.1], "the picture '0.png', number 1 of the list has a label of 4 numbers; expected 7 or more"),
        ([2, 4, 0, 0.1, 0.2, 0.5, 0.6], "has a label that begins with 2, 4; expected how long the header is"),
        ([1, 5, 0, 0.1, 0.2, 0.5, 0.6], "has a label that begins with 1, 5"),
        ([2.5, 5, 0, 0.1, 0.2, 0.5, 0.6], "has a label that begins with 2.5, 5"),
        ([99, 5, 0, 0.1, 0.2, 0.5, 0.6], "has a label that begins with 99, 5"),
        ([*BOX, 1], "has a label of 8 numbers, 2 of them a header, and the others are no objects of 5 numbers"),
        ([2, 5, -1, -1, -1, -1, -1], "has no object with an area: .* Leave it out of the list"),
        ([2, 5, 0, 0.5, 0.5, 0.2, 0.2], "has no object with an area"),
        (7, "has a label of 1 numbers"),
    ],
)
def test_labels_of_objects(folder: Path, label: Any, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        objects(folder, label)


def test_labels_of_objects_in_records(folder: Path) -> None:
    with pytest.raises(ShapeError, match=r"ImageDetIter: record 3 of '.*box.rec' has a label of 6 numbers"):
        objects(folder, path_imgrec=folder / "box.rec")
    with pytest.raises(
        ShapeError,
        match=r"objects have 6 numbers in the picture '1.png', number 2 of the list, and 5 in the picture '0.png'",
    ):
        objects(folder, BOX, [2, 6, *BOX[2:], 1])
    with mx.recordio.MXRecordIO(folder / "empty.rec", "w"):
        pass
    with pytest.raises(FileFormatError, match=r"there are no pictures: '.*empty.rec' has no records"):
        objects(folder, path_imgrec=folder / "empty.rec")


def test_a_record_that_is_cut_short(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "short.rec").write_bytes((folder / "a.rec").read_bytes()[:-40])
    with pytest.raises(FileFormatError, match=r"record 4"):
        list(batches(folder, path_imgrec=tmp_path / "short.rec"))
    with mx.recordio.MXRecordIO(tmp_path / "odd.rec", "w") as writer:
        writer.write(b"short")
    with pytest.raises(
        FileFormatError, match=r"ImageIter: record 0 of '.*odd.rec': recordio.unpack: a record of 5 bytes"
    ):
        list(batches(folder, path_imgrec=tmp_path / "odd.rec"))


def test_warnings(folder: Path) -> None:
    with pytest.warns(
        UserWarning, match="last_batch_handle is 'keep'; expected 'pad', 'discard' or 'roll_over', and taken"
    ):
        assert len(labels_of(batches(folder, last_batch_handle="keep"))) == 3
    with pytest.warns(UserWarning, match="rand_crop do nothing, as aug_list is given"):
        batches(folder, aug_list=[], rand_crop=True)
    with pytest.warns(
        UserWarning, match="the picture '0.png', number 1 of the list has one label, which is taken 2 times"
    ):
        assert labels_of(batches(folder, label_width=2))[1] == [[2, 2], [3, 3]]
    with pytest.warns(DeprecationWarning, match="random_size_crop: min_area is the old name of area"):
        I.random_size_crop(nd.zeros((9, 9, 3)), (2, 2), 0.1, (1, 1), min_area=0.5)
    with pytest.warns(
        UserWarning, match=r"DetRandomPadAug: area_range \(0.5, 0.9\) holds no larger areas. It leaves all"
    ):
        assert not I.DetRandomPadAug(area_range=(0.5, 0.9)).enabled
    with pytest.warns(UserWarning, match=r"aspect_ratio_range \(2, 1\) holds no ratios"):
        assert not I.DetRandomCropAug(aspect_ratio_range=(2, 1)).enabled


# -- iterators ---------------------------------------------------------------------------------------------------------


def test_what_fails_does_not_stop_what_follows(folder: Path) -> None:
    it = batches(folder, imglist=[*files(2), [2, "cut.png"], *files(2)])
    assert next(it).label[0].asnumpy().tolist() == [0, 1]
    with pytest.raises(ArgumentError, match=r"cut\.png"):
        next(it)
    assert next(it).label[0].asnumpy().tolist() == [0, 1]
    it.reset()
    assert next(it).label[0].asnumpy().tolist() == [0, 1]


def test_batches_have_memory_of_their_own(folder: Path) -> None:
    it = batches(folder)
    first = next(it)
    before = first.data[0].asnumpy()
    next(it)
    np.testing.assert_array_equal(first.data[0].asnumpy(), before)
    source = nd.array(IMAGE, dtype="uint8")
    for aug in (I.CenterCropAug((5, 4)), I.HorizontalFlipAug(1), I.CastAug("uint8"), I.RandomCropAug((5, 4))):
        answer = aug(source)
        answer[:] = 0
        np.testing.assert_array_equal(source.asnumpy(), IMAGE)


def test_parts_are_all_pictures_and_no_picture_twice(folder: Path) -> None:
    indexed = {"path_imgrec": folder / "a.rec", "path_imgidx": folder / "a.idx", "batch_size": 1}
    parts = [labels_of(batches(folder, num_parts=5, part_index=i, **indexed)) for i in range(5)]
    assert parts == [[[0]], [[1]], [[2]], [[3]], [[4]]]


def test_early_break_and_reset_of_records(folder: Path) -> None:
    it = batches(folder, path_imgrec=folder / "a.rec", last_batch_handle="roll_over")
    for batch in it:
        assert batch.label[0].asnumpy().tolist() == [0, 1]
        break
    it.reset()
    assert labels_of(it) == [[0, 1], [2, 3]]
    it.reset()
    assert labels_of(it) == [[4, 0], [1, 2], [3, 4]]


def test_a_class_of_ones_own(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Own(I.ImageIter):
        def next_sample(self) -> tuple[Any, bytes]:
            label, data = super().next_sample()
            return label + 10, data

        def imdecode(self, s: bytes) -> Any:
            self.seen = len(s)
            return super().imdecode(s)

        def check_valid_image(self, data: Any) -> None:
            if data[0].shape[0] == 8:
                raise RuntimeError("eight high")

        def postprocess_data(self, datum: Any) -> Any:
            return 255 - super().postprocess_data(datum)

    options = {"batch_size": 2, "data_shape": SHAPE, "imglist": files(), "path_root": folder}
    with caplog.at_level(logging.DEBUG):
        own = list(Own(**options))
    assert [batch.label[0].asnumpy().tolist() for batch in own] == [[10, 11], [13, 14]]
    assert "Invalid image, skipping:  eight high" in caplog.text
    usual = next(I.ImageIter(**options)).data[0].asnumpy()
    np.testing.assert_array_equal(own[0].data[0].asnumpy(), 255 - usual)

    class Empty(Own):
        def check_valid_image(self, data: Any) -> None:
            raise RuntimeError("never")

    assert list(Empty(**options)) == []


def test_objects_that_go_are_skipped_and_errors_are_not(folder: Path) -> None:
    class Drop(I.DetAugmenter):
        def __call__(self, src: Any, label: Any) -> Any:
            return src, label[label[:, 0] != 1]

    class Fail(I.DetAugmenter):
        def __call__(self, src: Any, label: Any) -> Any:
            return I.imresize(src, 0, 0), label

    two = [2, 5, 1, *BOX[3:]]
    resize = I.DetBorrowAug(I.ForceResizeAug((7, 6), 1))
    it = objects(folder, BOX, two, BOX, aug_list=[Drop(), resize])
    assert [batch.label[0].shape for batch in it] == [(2, 1, 5)]
    with pytest.raises(ArgumentError, match="imresize"):
        next(objects(folder, BOX, aug_list=[Fail()]))
    it = objects(folder, BOX, two, aug_list=[lambda src, label: (src, np.repeat(label, 3, axis=0)), resize])
    with pytest.raises(
        ShapeError, match=r"has objects of shape \(3, 5\) after the augmenters; expected at most label_shape"
    ):
        next(it)


def test_labels_are_estimated_without_reading_pictures(folder: Path) -> None:
    it = I.ImageDetIter(2, SHAPE, imglist=[[BOX, "none.png"]], path_root=folder)
    assert it.label_shape == (1, 5)
    with pytest.raises(FileMissingError, match=r"ImageDetIter: there is no file '.*none.png'"):
        next(it)


def test_reshaped_iterators_make_pictures_of_the_new_shape(folder: Path) -> None:
    it = objects(folder, BOX, BOX, rand_mirror=True, inter_method=1)
    it.reshape(data_shape=[3, 4, 5], label_shape=[3, 5])
    batch = next(it)
    assert (batch.data[0].shape, batch.label[0].shape) == ((2, 3, 4, 5), (2, 3, 5))
    assert it.provide_data == [("data", (2, 3, 4, 5))]
    assert it.provide_label == [("label", (2, 3, 5))]
    assert batch.label[0].asnumpy()[0, 1:].tolist() == [[-1] * 5] * 2


def test_sync_label_shape(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, two = objects(folder, BOX), objects(folder, [*BOX, *BOX[2:]])
    with caplog.at_level(logging.INFO):
        assert one.sync_label_shape(two, verbose=True) is two
    assert "Resized label_shape to (2, 5)." in caplog.text
    assert one.label_shape == two.label_shape == (2, 5)
    with pytest.raises(ArgumentError, match="sync_label_shape: it is int 3; expected an ImageDetIter"):
        one.sync_label_shape(3)
    with pytest.raises(ArgumentError, match="objects have 5 numbers here, and 6 there"):
        one.sync_label_shape(objects(folder, [2, 6, *BOX[2:], 1]))


def test_numpy_arrays(folder: Path) -> None:
    with mx.util.np_array(True):
        batch = next(batches(folder, mean=True, rand_mirror=True, rand_crop=True, brightness=0.1))
        assert type(batch.data[0]) is type(batch.label[0]) is mx.np.ndarray
        assert type(I.imdecode(png(3, 4))) is mx.np.ndarray
        assert type(I.imread(folder / "0.png")) is mx.np.ndarray
        image = mx.np.ones((2, 4, 4), dtype="float32")
        assert type(I.imrotate(image, 30)) is mx.np.ndarray
    assert type(I.imdecode(png(3, 4))) is mx.nd.NDArray
    assert type(I.ResizeAug(3)(IMAGE)) is mx.nd.NDArray


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_either_library_gives_the_same_pictures(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cv2")
    pytest.importorskip("PIL")
    found = []
    for library in ("opencv", "pillow"):
        monkeypatch.setenv("MINPY_PICTURES", library)
        random.seed(1)
        it = batches(folder, rand_crop=True, rand_mirror=True, resize=8, inter_method=1, mean=True, std=True)
        found.append(np.concatenate([batch.data[0].asnumpy() for batch in it]))
        assert found[-1].shape == (6, *SHAPE)
    np.testing.assert_array_equal(*found)


def test_boxes_are_drawn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cv2 = pytest.importorskip("cv2")
    label = [2, 5, 1, 0.25, 0.25, 0.75, 0.75]
    it = I.ImageDetIter(1, (3, 40, 40), imglist=[[label, "0.png"]], path_root=folder, mean=True, std=True)
    plain, named = objects_drawn(it, color=(255, 100, 0), thickness=1), None
    assert (plain.dtype, plain.shape) == (np.uint8, (40, 40, 3))
    assert plain[10, 20].tolist() == plain[20, 30].tolist() == [0, 100, 255]  # blue first
    source = next(I.ImageDetIter(1, (3, 40, 40), imglist=[[label, "0.png"]], path_root=folder)).data[0].asnumpy()[0]
    inside = (slice(11, 29), slice(11, 29))
    assert np.abs(plain[inside][..., ::-1] - np.clip(source.transpose(1, 2, 0), 0, 255)[inside]).max() <= 1
    shown: list[Any] = []
    monkeypatch.setattr(cv2, "imshow", lambda window, image: shown.append((window, image)))
    monkeypatch.setattr(cv2, "waitKey", shown.append)
    named = objects_drawn(it, color=(255, 100, 0), thickness=1, id2labels={1: "a"}, waitKey=5, window_name="w")
    assert (named != plain).any()
    assert shown[0][0] == "w"
    assert shown[1] == 5
    it.reset()
    assert len(list(it.draw_next())) == 1
    monkeypatch.setenv("MINPY_PICTURES", "pillow")
    with pytest.raises(
        MissingDependencyError, match=r"draw_next draws with OpenCV, .*pip install opencv-python-headless"
    ):
        next(it.draw_next())


def objects_drawn(it: Any, **options: Any) -> Any:
    it.reset()
    return next(it.draw_next(mean=True, std=True, **options))


def test_a_padded_picture_has_one_colour_in_all_channels() -> None:
    for value, expected in ((7, [7, 7, 7]), ((7,), [7, 7, 7]), ((1, 2, 3), [1, 2, 3])):
        random.seed(0)
        image, _ = I.DetRandomPadAug(area_range=(4, 4), pad_val=value)(
            nd.zeros((9, 9, 3)), np.array([[0, 0.0, 0, 1, 1]])
        )
        border = image.asnumpy().reshape(-1, 3)
        assert len(border) > 81
        assert (border.any(axis=1).sum(), border.max(axis=0).tolist()) == (len(border) - 81, expected)


def test_no_gradient_is_lost() -> None:
    x = nd.array(IMAGE, dtype="float32")
    x.attach_grad()
    with mx.autograd.record():
        y = I.color_normalize(I.HorizontalFlipAug(1)(I.fixed_crop(x * 1, 1, 1, 3, 2)), 1.0, 2.0)
        (y * nd.arange(y.size).reshape(y.shape)).sum().backward()
    expected = np.zeros(IMAGE.shape)
    expected[1:3, 1:4] = np.arange(18).reshape(2, 3, 3)[:, ::-1] / 2
    np.testing.assert_allclose(x.grad.asnumpy(), expected)
    with mx.autograd.record():
        I.fixed_crop(x * 1, 1, 1, 3, 2, size=(6, 4), interp=1).sum().backward()
    assert x.grad.asnumpy()[1:3, 1:4].sum() == pytest.approx(72)
    with (
        mx.autograd.record(),
        pytest.raises(NoGradientError, match="HueJitterAug: src is recorded, and this has no gradi"),
    ):
        I.HueJitterAug(0.5)(x * 1)


@given(
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    size=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_parts_lie_within_and_have_their_size(height: int, width: int, size: tuple[int, int], seed: int) -> None:
    image = nd.array(np.random.RandomState(seed).randint(0, 256, (height, width, 3)), dtype="uint8")
    part_size = I.scale_down((width, height), size)
    if not all(part_size):
        with pytest.raises(ArgumentError, match="less than a pixel"):
            I.center_crop(image, size)
        return
    random.seed(seed)
    for part, (x0, y0, w, h) in (
        I.random_crop(image, size, 0),
        I.center_crop(image, size, 0),
        I.random_size_crop(image, size, (0.05, 1.0), (0.5, 2.0), 0),
    ):
        assert part.shape == (size[1], size[0], 3)
        assert 0 <= x0 <= x0 + w <= width
        assert 0 <= y0 <= y0 + h <= height
        if (w, h) == size:
            np.testing.assert_array_equal(part.asnumpy(), image.asnumpy()[y0 : y0 + h, x0 : x0 + w])


@given(
    boxes=st.lists(
        st.tuples(*[st.floats(0, 0.9), st.floats(0, 0.9), st.floats(0.05, 1), st.floats(0.05, 1)]),
        min_size=1,
        max_size=4,
    ),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_boxes_follow_their_objects(boxes: list[tuple[float, ...]], seed: int) -> None:
    """An object is one colour on black: where its box says it is after all changes, that colour is."""
    x, y, w, h = boxes[0]
    label = np.array([[3, x, y, min(1.0, x + w), min(1.0, y + h)]])
    height, width = 48, 64
    image = np.zeros((height, width, 3), "uint8")
    left, upper, right, lower = (label[0, 1:] * [width, height, width, height]).round().astype(int)
    image[upper : max(lower, upper + 1), left : max(right, left + 1)] = 200
    random.seed(seed)
    augmenters = I.CreateDetAugmenter((3, 96, 96), rand_crop=0.8, rand_pad=0.8, rand_mirror=True, inter_method=0)
    changed, objects_left = nd.array(image, dtype="uint8"), label.copy()
    for one in augmenters:
        changed, objects_left = one(changed, objects_left)
    assert objects_left.shape == (1, 5)
    assert (objects_left[:, 1:] >= 0).all()
    assert (objects_left[:, 1:] <= 1).all()
    box = objects_left[0, 1:] * 96
    middle = changed.asnumpy()[int((box[1] + box[3]) / 2), int((box[0] + box[2]) / 2)]
    if min(box[2] - box[0], box[3] - box[1]) > 8:  # else rounding decides
        assert middle.tolist() == [200, 200, 200]


@given(
    data=st.one_of(
        st.binary(max_size=60), st.from_regex(r"(-?[0-9e.]{1,9}[\t ]){0,4}[\x00a-z.]{0,4}\n?").map(str.encode)
    )
)
@settings(max_examples=150, deadline=None)
def test_any_list_is_read_or_refused(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.getbasetemp()
    (place / "any.lst").write_bytes(data)
    refused: list[str] = []
    for dtype in ("float32", "int32"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # keys that are there twice
                it = batches(place, path_imglist=place / "any.lst", dtype=dtype)
        except FileFormatError as error:
            refused.append(str(error))
            continue
        with pytest.raises((FileAccessError, ArgumentValueError)):  # no such picture
            next(it)
    assert all("any.lst" in text for text in refused)


def test_dumps_are_json() -> None:
    for one in I.CreateAugmenter(
        SHAPE, mean=nd.array([1, 2, 3]), std=np.array([1.0, 2, 3]), brightness=0.1, pca_noise=0.1
    ):
        assert json.dumps(one.dumps())
    assert I.Augmenter(a=nd.array([1, 2]), b=(3, 4)).dumps() == '["augmenter", {"a": [1.0, 2.0], "b": [3, 4]}]'


def test_iterators_make_no_noise(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(labels_of(batches(folder, rand_crop=True))) == 3
