"""`ImageRecordIter` and its like: threads, seeds, distributions, both libraries of pictures, and bad input."""

from __future__ import annotations

import gc
import struct
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy.core.errors import ArgumentError, FileFormatError, FileMissingError, MXNetError, ShapeError
from minpy.pictures.transforming import from_hls, to_hls, warped
from minpy.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO, pack, pack_img

RNG = np.random.RandomState(3)
PICTURES = [RNG.randint(0, 256, (10 + number % 3, 12, 3)).astype("uint8") for number in range(9)]
# Colours that say where a pixel was: red counts columns, green rows.
ROWS, COLUMNS = np.mgrid[:100, :200]
PLACES = np.stack([np.full_like(ROWS, 100), 2 * ROWS, COLUMNS], 2).astype("uint8")


def write(path, pictures=PICTURES, labels=None, extension=".png"):
    with MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w") as file:
        for number, picture in enumerate(pictures):
            label = float(number) if labels is None else labels[number]
            quality = 3 if extension == ".png" else 95
            file.write_idx(number, pack_img(IRHeader(0, label, number + 50, 0), picture, quality, extension))
    return str(path)


@pytest.fixture(scope="module")
def nine(tmp_path_factory):
    return write(tmp_path_factory.mktemp("pictures") / "nine.rec")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return write(tmp_path_factory.mktemp("pictures") / "places.rec", [PLACES] * 400)


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    return write(
        tmp_path_factory.mktemp("pictures") / "boxes.rec", [PLACES] * 300, [[2, 5, 3, 0.4, 0.3, 0.6, 0.7]] * 300
    )


def records(path, **options):
    return mx.io.ImageRecordIter(**{"path_imgrec": path, "data_shape": (3, 8, 8), "batch_size": 4, **options})


def everything(batches, epochs=3):
    found = []
    for _ in range(epochs):
        found += [(b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad, b.index.tolist()) for b in batches]
        batches.reset()
    return found


def equal(one, other):
    assert len(one) == len(other)
    return all(
        (a[0] == b[0]).all() and (a[1] == b[1]).all() and a[2:] == b[2:] for a, b in zip(one, other, strict=True)
    )


ALL_AT_ONCE = {
    "shuffle": True,
    "resize": 9,
    "max_rotate_angle": 10,
    "max_shear_ratio": 0.1,
    "max_random_scale": 1.2,
    "min_random_scale": 0.9,
    "pad": 1,
    "rand_crop": True,
    "rand_mirror": True,
    "brightness": 0.2,
    "contrast": 0.2,
    "saturation": 0.2,
    "pca_noise": 0.1,
    "random_h": 20,
    "random_s": 20,
    "random_l": 20,
    "max_random_contrast": 0.1,
    "max_random_illumination": 5,
    "inter_method": 10,
    "mean_r": 100,
    "std_g": 3,
}


@pytest.mark.parametrize("options", [{}, ALL_AT_ONCE, {"random_resized_crop": True, "min_random_area": 0.1}])
def test_threads_and_batches_ahead_make_no_difference(nine, options):
    expected = everything(records(nine, preprocess_threads=1, prefetch_buffer=1, **options))
    for threads, ahead in ((2, 1), (4, 7)):
        assert equal(expected, everything(records(nine, preprocess_threads=threads, prefetch_buffer=ahead, **options)))


def test_a_reset_amid_an_epoch_makes_no_difference_to_the_next(nine):
    results = []
    for ahead in (1, 6):
        batches = records(nine, prefetch_buffer=ahead, **ALL_AT_ONCE)
        batches.next()
        batches.reset()
        results.append(everything(batches, 2))
    assert equal(*results)


def test_seeds(nine):
    def orders(**options):
        return [index for _, _, _, index in everything(records(nine, shuffle=True, **options))]

    def pixels(**options):
        return everything(records(nine, rand_crop=True, rand_mirror=True, **options))

    assert orders(seed=1) == orders(seed=1) != orders(seed=2)
    assert equal(pixels(seed=1), pixels(seed=1))
    assert not equal(pixels(seed=1), pixels(seed=2))
    assert not equal(pixels(seed_aug=1), pixels(seed_aug=2))
    assert orders(seed=1, seed_aug=2) == orders(seed=1)
    assert equal(pixels(seed=-1), pixels(seed=-1))


def test_every_round_has_every_picture_once(nine):
    ids = [identity for _, _, _, index in everything(records(nine, shuffle=True), 8) for identity in index]
    for start in range(0, 63, 9):
        assert sorted(ids[start : start + 9]) == list(range(50, 59))


def test_parts_share_the_pictures(nine):
    for options in ({}, {"path_imgidx": nine.replace(".rec", ".idx")}):
        found = []
        for part in range(3):
            batches = records(nine, batch_size=1, num_parts=3, part_index=part, **options)
            found += [index[0] for _, _, _, index in everything(batches, 1)]
        assert found == list(range(50, 59))


def test_a_folder_of_files(tmp_path):
    write(tmp_path / "b.rec", PICTURES[:2], [20.0, 21.0])
    write(tmp_path / "a.rec", PICTURES[:1], [10.0])
    assert records(str(tmp_path), batch_size=3).next().label[0].asnumpy().tolist() == [10, 20, 21]


def test_a_record_in_parts(tmp_path):
    magic = struct.pack("<I", 0xCED7230A)
    path = str(tmp_path / "parts.rec")
    with MXRecordIO(path, "w") as file:
        picture = pack_img(IRHeader(0, 1.0, 5, 0), PICTURES[0], 3, ".png")
        file.write(pack(IRHeader(0, 1.0, 5, 0), picture[24:] + b"\0" * (-len(picture) % 4) + magic))
        file.write(pack_img(IRHeader(0, 2.0, 6, 0), PICTURES[1], 3, ".png"))
    batch = records(path, batch_size=2).next()
    assert batch.index.tolist() == [5, 6]
    assert (batch.data[0][0].asnumpy() == PICTURES[0][1:9, 2:10, ::-1].transpose(2, 0, 1)).all()


def test_jpeg_files_differ_little_from_the_picture(tmp_path):
    smooth = [np.clip(PLACES[:40:2, :60:3], 0, 250)] * 3
    path = write(tmp_path / "jpeg.rec", smooth, extension=".jpg")
    data = records(path, data_shape=(3, 20, 20), batch_size=3).next().data[0].asnumpy()
    assert abs(data[0] - smooth[0][..., ::-1].transpose(2, 0, 1)).max() < 12


@pytest.mark.parametrize("library", ["opencv", "pillow"])
def test_either_library_will_do(nine, library, monkeypatch):
    monkeypatch.setenv("MINPY_PICTURES", "opencv")
    pytest.importorskip("cv2")
    expected = everything(records(nine, resize=9, random_h=10, pad=1))
    monkeypatch.setenv("MINPY_PICTURES", library)
    found = everything(records(nine, resize=9, random_h=10, pad=1))
    assert all(abs(a[0] - b[0]).max() <= 8 for a, b in zip(expected, found, strict=True))


def test_without_opencv_images_are_transformed_alike(monkeypatch):
    pytest.importorskip("cv2")
    matrix = np.array([[0.9, 0.3, 2.0], [-0.3, 0.9, 5.0]], "float32")
    hls = to_hls(PICTURES[0])
    smooth = np.ascontiguousarray(PLACES[:40, :50])
    found = []
    for library in ("opencv", "pillow"):
        monkeypatch.setenv("MINPY_PICTURES", library)
        found.append([warped(smooth, matrix, 50, 40, interp, 7).astype(int) for interp in (0, 1)])
        found[-1] += [to_hls(PICTURES[0]).astype(int), from_hls(hls).astype(int)]
    for one, other, most in zip(*found, (0, 6, 1, 2), strict=True):
        assert np.quantile(abs(one - other), 0.99) <= most


# MXNet's answers: the pixels of the first row of a smooth picture, turned and scaled; red, then green.
@pytest.mark.parametrize(
    ("options", "lowest", "highest"),
    [
        ({"data_shape": (3, 10, 20)}, (90, 90), (109, 108)),
        ({"data_shape": (3, 10, 20), "min_random_scale": 0.5, "max_random_scale": 0.5}, (80, 80), (119, 119)),
        ({"data_shape": (3, 10, 20), "rotate": 180, "fill_value": 0}, (90, 90), (110, 110)),
    ],
)
def test_what_is_turned_and_scaled_stays_in_the_middle(places, options, lowest, highest):
    data = records(places, batch_size=1, **options).next().data[0].asnumpy()[0]
    assert np.allclose([data[0].min(), data[1].min()], lowest, atol=3.5)
    assert np.allclose([data[0].max(), data[1].max()], highest, atol=3.5)


def corners(data):
    """Return left, top, width and height of the pieces that pictures show, of 200 by 100 pixels."""
    left, right = data[:, 0, 0, 0], data[:, 0, 0, -1]
    top, bottom = data[:, 1, 0, 0] / 2, data[:, 1, -1, 0] / 2
    return left, top, (right - left) * 20 / 19, (bottom - top) * 10 / 9


def pieces(path, **options):
    batches = records(path, data_shape=(3, 10, 20), batch_size=400, inter_method=0, **options)
    return corners(batches.next().data[0].asnumpy())


class TestDistributions:
    """The limits and means are those of MXNet's pictures, 400 for each setting."""

    def test_crops_are_anywhere(self, places):
        left, top, _, _ = pieces(places, rand_crop=True)
        assert (left.min(), top.min()) == (0, 0)
        assert left.max() == 180
        assert top.max() == 90
        assert abs(left.mean() - 90) < 8
        assert abs(top.mean() - 45) < 4
        assert abs(np.corrcoef(left, top)[0, 1]) < 0.15

    def test_half_are_mirrored(self, places):
        _, _, width, _ = pieces(places, rand_mirror=True)
        assert 0.4 < (width < 0).mean() < 0.6

    def test_random_pieces(self, places):
        _, _, width, height = pieces(places, random_resized_crop=True, min_random_area=0.08)
        area, ratio = width * height / 20000, width / height
        assert np.allclose(ratio, 1, atol=0.05)
        assert 0.075 < area.min() < 0.11
        assert 0.47 < area.max() < 0.51  # a square is no larger
        assert abs(area.mean() - 0.29) < 0.03

    def test_random_pieces_of_any_ratio(self, places):
        options = {"min_random_area": 0.08, "max_random_area": 0.5, "max_aspect_ratio": 0.25}
        left, top, width, height = pieces(places, random_resized_crop=True, **options)
        ratio = width / height
        assert 0.72 < ratio.min() < 0.78
        assert 1.28 < ratio.max() < 1.38
        assert abs(np.log(ratio).mean()) < 0.03
        assert abs(left.mean() - 64) < 8
        assert abs(top.mean() - 13.8) < 3

    def test_random_pieces_that_never_fit_are_the_middle(self, places):
        left, top, width, height = pieces(places, random_resized_crop=True, min_random_area=4, max_random_area=4)
        assert set(left) == {90}
        assert set(top) == {45}
        assert np.allclose([width, height], [[20], [10]])

    @pytest.mark.parametrize(("anywhere", "least"), [(False, 70), (True, 0)])
    def test_squares(self, places, anywhere, least):
        left, _, width, height = pieces(places, min_crop_size=40, max_crop_size=60, rand_crop=anywhere)
        assert width.min() == pytest.approx(40, abs=2)
        assert width.max() == pytest.approx(60, abs=2)
        assert np.allclose(width, height, atol=3)
        assert left.min() == pytest.approx(least, abs=3)

    def test_stretched(self, places):
        _, _, width, height = pieces(places, max_random_scale=1.5, min_random_scale=0.5)
        assert abs((20 / width).mean() - 1) < 0.06
        assert (20 / width).min() == pytest.approx(0.5, abs=0.05)
        assert (20 / width).max() == pytest.approx(1.5, abs=0.15)
        assert np.allclose(height * 2, width, rtol=0.3)

    @pytest.mark.parametrize(
        ("name", "column", "deviation"), [("random_h", 0, 9.3), ("random_l", 1, 9.3), ("random_s", 2, 9.3)]
    )
    def test_colours(self, tmp_path, name, column, deviation):
        gray = np.tile(np.array([[[50, 120, 200]]], "uint8"), (2, 2, 1))
        path = write(tmp_path / "gray.rec", [gray] * 400)
        data = records(path, data_shape=(3, 2, 2), batch_size=400, **{name: 20}).next().data[0].asnumpy()
        hls = to_hls(np.ascontiguousarray(data[:, ::-1, 0, 0].astype("uint8")[None]))[0].astype(int)
        change = (hls - to_hls(gray)[0, 0])[:, column]
        assert -20 <= change.min() < -12
        assert 12 < change.max() <= 20
        assert change.std() == pytest.approx(deviation, abs=1)

    @pytest.mark.parametrize(
        ("options", "least", "most"),
        [
            ({"brightness": 0.4}, 0.6, 1.4),
            ({"max_random_contrast": 0.3}, 0.7, 1.3),
        ],
    )
    def test_factors(self, places, options, least, most):
        data = records(places, data_shape=(3, 10, 20), batch_size=400, **options).next().data[0].asnumpy()
        factors = data[:, 0].mean((1, 2)) / 99.5
        assert factors.min() == pytest.approx(least, abs=0.03)
        assert factors.max() == pytest.approx(most, abs=0.03)
        assert factors.mean() == pytest.approx(1, abs=0.04)

    def test_contrast_and_saturation_keep_the_mean_brightness(self, places):
        weights = np.array([0.114, 0.587, 0.299]).reshape(3, 1, 1)  # MXNet's, of red, green and blue
        plain = records(places, data_shape=(3, 10, 20), batch_size=400).next().data[0].asnumpy()
        for options in ({"contrast": 0.4}, {"saturation": 0.4}):
            data = records(places, data_shape=(3, 10, 20), batch_size=400, **options).next().data[0].asnumpy()
            assert np.allclose((data * weights).sum(1).mean((1, 2)), (plain * weights).sum(1).mean((1, 2)), atol=0.7)
            assert abs(data - plain).max() > 1

    def test_noise_along_the_principal_components(self, places):
        plain = records(places, data_shape=(3, 10, 20), batch_size=400).next().data[0].asnumpy()
        data = records(places, data_shape=(3, 10, 20), batch_size=400, pca_noise=0.1).next().data[0].asnumpy()
        green = (data - plain)[:, 1].mean((1, 2))
        assert green.std() == pytest.approx(3.2, abs=0.4)  # 0.1 * 55.46 * 0.5808
        assert green.mean() == pytest.approx(0, abs=0.6)


class TestBoxes:
    def iterator(self, path, **options):
        options = {"data_shape": (3, 100, 200), "batch_size": 300, "fill_value": 0, **options}
        batch = mx.io.ImageDetRecordIter(path_imgrec=path, **options).next()
        return batch.data[0].asnumpy(), batch.label[0].asnumpy()

    @pytest.mark.parametrize(
        "options",
        [
            {"rand_crop_prob": 1.0, "min_crop_scales": (0.5,)},
            {"rand_crop_prob": 1.0, "min_crop_scales": (0.2,), "min_crop_object_coverages": (0.99,)},
            {"rand_pad_prob": 1.0, "max_pad_scale": 3.0},
            {"rand_mirror_prob": 0.5, "rand_pad_prob": 0.5, "max_pad_scale": 2.0, "rand_crop_prob": 0.7},
        ],
    )
    def test_boxes_stay_on_what_they_were_on(self, boxes, options):
        data, label = self.iterator(boxes, **options)
        assert (label[:, 3] == 7).all()
        for image, (left, top, right, bottom) in zip(data, label[:, 7:], strict=True):
            x, y = int((left + right) / 2 * 199.9), int((top + bottom) / 2 * 99.9)
            if left > 0 and right < 1:
                assert image[0, y, x] == pytest.approx(99.5, abs=4)
            if top > 0 and bottom < 1:
                assert image[1, y, x] == pytest.approx(99, abs=5)

    def test_pieces_that_a_sampler_takes(self, boxes):
        # Shares, means and limits as MXNet's, of 400 pictures.
        _data, label = self.iterator(boxes, rand_crop_prob=1.0, min_crop_scales=(0.1,), max_crop_scales=(0.5,))
        areas = np.sqrt(0.08 / ((label[:, 9] - label[:, 7]) * (label[:, 10] - label[:, 8])))
        whole = (label[:, 7:] > 0).all(1) & (label[:, 7:] < 1).all(1)
        assert areas[whole].min() > 0.28
        assert areas[whole].max() < 0.52
        _, label = self.iterator(
            boxes, rand_crop_prob=1.0, min_crop_scales=(0.1,), max_crop_scales=(0.5,), min_crop_object_coverages=(0.99,)
        )
        unchanged = (abs(label[:, 7] - 0.4) < 1e-6).mean()
        assert 0.25 < unchanged < 0.45

    def test_how_many_are_padded_and_mirrored(self, boxes):
        _, label = self.iterator(boxes, rand_pad_prob=0.4, max_pad_scale=3.0)
        scales = 0.2 / (label[:, 9] - label[:, 7])
        assert 0.3 < (scales > 1.001).mean() < 0.5
        assert scales.max() < 3.01
        data, _ = self.iterator(boxes, rand_mirror_prob=0.3)
        assert 0.2 < (data[:, 0, 0, 0] > 100).mean() < 0.4

    def test_several_samplers(self, boxes):
        _, label = self.iterator(
            boxes, rand_crop_prob=1.0, num_crop_sampler=2, min_crop_scales=(0.1, 0.7), max_crop_scales=(0.2, 0.8)
        )
        assert 0.5 < (label[:, 9] - label[:, 7] < 0.5).mean() < 0.9

    def test_threads_make_no_difference(self, boxes):
        options = {"rand_crop_prob": 0.8, "max_random_hue": 10, "random_hue_prob": 0.5, "data_shape": (3, 20, 20)}
        results = [self.iterator(boxes, preprocess_threads=threads, **options) for threads in (1, 4)]
        assert all((one == other).all() for one, other in zip(*results, strict=True))


def threads_of(name):
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]


def test_threads_end_with_their_iterator(nine):
    batches = records(nine)
    batches.next()
    mine = threads_of("ImageRecordIter")
    assert mine
    del batches
    gc.collect()
    for thread in mine:
        thread.join(10)
        assert not thread.is_alive()


def damaged(path, change):
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(bytes(content))


def offsets(path):
    return [int(line.split()[1]) for line in path.with_suffix(".idx").read_text().splitlines()]


BOX = [2, 5, 0, 0.1, 0.2, 0.5, 0.6]
BAD = {
    "missing": ({"path_imgrec": "none.rec"}, FileMissingError, "ImageRecordIter: cannot read 'none.rec'"),
    "missing index": ({"path_imgidx": "none.idx"}, FileMissingError, "cannot read 'none.idx'"),
    "missing list": ({"path_imglist": "none.lst"}, FileMissingError, "cannot read 'none.lst'"),
    "no name": ({"path_imgrec": ""}, ArgumentError, "path_imgrec is empty; expected the name of a RecordIO file"),
    "shape": ({"data_shape": (8, 8)}, ShapeError, "data_shape is (8, 8); expected (channels, height, width)"),
    "channels": ({"data_shape": (2, 8, 8)}, ShapeError, "of 1, 3 or 4 channels"),
    "four channels": (
        {"data_shape": (4, 8, 8)},
        FileFormatError,
        "record 0 (at offset 0) of 'nine.rec': its picture has 3 channels; data_shape asks for 4",
    ),
    "batch": ({"batch_size": 10}, ArgumentError, "batch_size 10 is larger than the data, which has 9 instances"),
    "width": (
        {"label_width": 2},
        FileFormatError,
        "record 0 (at offset 0) of 'nine.rec': the record has 1 labels; label_width is 2",
    ),
    "no width": ({"label_width": 0}, ArgumentError, "label_width is 0; expected at least 1"),
    "threads": ({"preprocess_threads": 0}, ArgumentError, "preprocess_threads is 0; expected at least 1"),
    "interpolation": ({"inter_method": 7}, ArgumentError, "inter_method is 7; expected 0 (nearest), 1 (bilinear)"),
    "part": ({"num_parts": 2, "part_index": -1}, ArgumentError, "part_index -1 of num_parts 2"),
    "deviation": ({"std_r": -1}, ArgumentError, "expected positive numbers"),
    "areas": ({"min_random_area": 2}, ArgumentError, "min_random_area 2.0 is larger than max_random_area 1.0"),
    "one crop size": ({"max_crop_size": 5}, ArgumentError, "min_crop_size is -1 and max_crop_size 5; expected 0 <"),
    "crop size": (
        {"min_crop_size": 5, "max_crop_size": 50},
        ArgumentError,
        "record 0 (at offset 0) of 'nine.rec': it is 12 wide and 10 high, and max_crop_size is 50",
    ),
}


@pytest.mark.parametrize(("options", "kind", "text"), BAD.values(), ids=BAD)
def test_bad_arguments(nine, options, kind, text):
    with pytest.raises(kind) as caught:
        records(nine, **options)
    assert text in str(caught.value).replace(nine, "nine.rec")


def test_unknown_arguments_are_ignored_with_a_warning(nine):
    with pytest.warns(UserWarning, match=r"ignores rand_mirored=.*Did you mean 'rand_mirror'"):
        records(nine, rand_mirored=True)


class TestDamage:
    def test_what_is_no_record_file(self, tmp_path):
        path = tmp_path / "text.rec"
        path.write_text("no records at all")
        with pytest.raises(FileFormatError, match=r"text.rec' is damaged or no RecordIO file: record 0 at offset 0: "):
            records(str(path))
        path.write_bytes(b"")
        with pytest.raises(FileFormatError, match=r"text.rec' has no records"):
            records(str(path))

    def test_a_record_whose_head_is_damaged(self, tmp_path):
        path = tmp_path / "a.rec"
        write(path)
        place = offsets(path)[5]
        damaged(path, lambda content: content.__setitem__(place, 0))
        with pytest.raises(FileFormatError, match=rf"record 5 at offset {place}: at {place} stands 0x"):
            records(str(path))
        batches = records(str(path), path_imgidx=str(path.with_suffix(".idx")), prefetch_buffer=1)
        batches.next()
        with pytest.raises(FileFormatError, match=rf"record 5 at offset {place}"):
            batches.next()

    def test_a_file_that_was_cut_short(self, tmp_path):
        path = tmp_path / "a.rec"
        write(path)
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(FileFormatError, match=rf"record 8 at offset {offsets(path)[8]}: its part"):
            records(str(path))
        path.write_bytes(path.read_bytes()[: offsets(path)[8]])
        with pytest.raises(FileFormatError, match=r"a.idx', line 9: offset \d+; '.*a.rec' has \d+ bytes. The index"):
            records(str(path), path_imgidx=str(path.with_suffix(".idx")))

    def test_a_damaged_picture_amid_an_epoch(self, tmp_path):
        path = tmp_path / "a.rec"
        write(path)
        place = offsets(path)[6]
        damaged(path, lambda content: content.__setitem__(slice(place + 32, place + 60), b"\7" * 28))
        batches = records(str(path), batch_size=3)
        for _ in range(2):
            assert [batches.next().pad for _ in range(2)] == [0, 0]
            with pytest.raises(
                FileFormatError, match=rf"record 6 \(at offset {place}\) of '.*a.rec': its picture is damaged: "
            ):
                batches.next()
            batches.reset()

    def test_short_records(self, tmp_path):
        path = str(tmp_path / "a.rec")
        for record, text in (
            (b"few", "has 3 bytes; the header of a picture has 24"),
            (
                struct.pack("<IfQQ", 9, 0, 0, 0) + b"ab",
                "says that it has 9 labels, of 4 bytes each; behind its header are 2",
            ),
            (struct.pack("<IfQQ", 0, 0, 0, 0), "its picture is damaged: imdecode: there are no bytes"),
        ):
            with MXRecordIO(path, "w") as file:
                file.write(record)
            with pytest.raises(FileFormatError) as caught:
                records(path, batch_size=1)
            assert text in str(caught.value)
            assert "record 0 (at offset 0)" in str(caught.value)

    def test_indices_and_lists(self, nine, tmp_path):
        index, listed = tmp_path / "bad.idx", tmp_path / "bad.lst"
        index.write_text("0\t0\n1\tone\n")
        with pytest.raises(FileFormatError, match=r"bad.idx', line 2: b'1\\tone'; expected a key, a tab and an offset"):
            records(nine, path_imgidx=str(index))
        listed.write_text("50\tdog\tx.png\n")
        with pytest.raises(FileFormatError, match=r"bad.lst', line 1: .*; expected an id, labels and a path"):
            records(nine, path_imglist=str(listed))
        listed.write_text("50\t1\tx.png\n")
        with pytest.raises(FileFormatError, match=r"record 1 .* has the id 51, for which there is no label in"):
            records(nine, path_imglist=str(listed))
        listed.write_text("".join(f"{50 + number}\t1\t2\tx.png\n" for number in range(9)))
        with pytest.raises(FileFormatError, match=r"record 0 .*bad.lst' has 2 labels; label_width is 1"):
            records(nine, path_imglist=str(listed))

    def test_mean_pictures(self, nine, tmp_path):
        path = str(tmp_path / "mean.nd")
        mx.nd.save(path, {"mean_img": mx.nd.zeros((3, 8, 9))})
        with pytest.raises(FileFormatError, match=r"has the shape \(3, 8, 9\); data_shape is \(3, 8, 8\)"):
            records(nine, mean_img=path)
        mx.nd.save(path, [])
        with pytest.raises(FileFormatError, match="has no array"):
            records(nine, mean_img=path)

    @pytest.mark.parametrize(
        ("label", "options", "text"),
        [
            ([3.0] * 3, {}, "its label has 3 numbers; expected at least 7"),
            ([1, *BOX[1:]], {}, "its label of 7 numbers says that its head has 1 and an object 5"),
            ([2, 4, *BOX[2:]], {}, "its head has 2 and an object 4"),
            ([*BOX, 1], {}, "and a whole number of objects"),
            ([np.nan, *BOX[1:]], {}, "its head has 0 and an object 5"),
            (BOX, {"label_pad_width": 3}, "label_pad_width is 3; the longest label has 7 numbers"),
            (BOX, {"label_width": 8}, "the record has 7 labels; label_width is 8"),
            (BOX, {"resize_mode": "grow"}, "resize_mode is 'grow'; expected 'force', 'shrink' or 'fit'"),
            (BOX, {"crop_emit_mode": "all"}, "crop_emit_mode is 'all'; expected 'center' or 'overlap'"),
            (
                BOX,
                {"rand_crop_prob": 1, "num_crop_sampler": 3, "min_crop_scales": (0.1, 0.2)},
                "min_crop_scales has 2 values; expected one, or one for each of the 3 samplers",
            ),
            (
                BOX,
                {"rand_crop_prob": 1, "min_crop_scales": 0.9, "max_crop_scales": 0.5},
                "min_crop_scales 0.9 is larger than max_crop_scales 0.5",
            ),
        ],
    )
    def test_bad_boxes(self, tmp_path, label, options, text):
        path = write(tmp_path / "boxes.rec", PICTURES[:1], [label])
        with pytest.raises(MXNetError) as caught:
            mx.io.ImageDetRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1, **options)
        assert text in str(caught.value)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 3000),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=5),
    st.booleans(),
)
def test_whatever_a_record_file_has(tmp_path, length, changes, indexed):
    path = tmp_path / "fuzz.rec"
    write(path, PICTURES[:4])
    content = bytearray(path.read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    path.write_bytes(bytes(content[: max(length, 1)]))
    index = {"path_imgidx": str(path.with_suffix(".idx"))} if indexed else {}
    message = ""
    try:
        found = everything(records(str(path), batch_size=1, **index), 1)
    except MXNetError as error:
        message = str(error)
    if message:
        assert "fuzz" in message
    else:
        assert all(data.shape == (1, 3, 8, 8) for data, _, _, _ in found)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_pictures_of_many_sizes_are_cut_and_mirrored_each_by_itself(tmp_path, channels, dtype):
    """Larger ones, those that fit, and mirrored ones side by side in a batch that several threads fill."""
    rng = np.random.default_rng(5)
    sizes = [(8 + number % 4, 8 + number % 3) for number in range(60)]
    pictures = [rng.integers(0, 256, (*size, channels), "uint8") for size in sizes]
    path = write(tmp_path / "sizes.rec", pictures, [float(number) for number in range(60)])
    options = {"data_shape": (channels, 8, 8), "batch_size": 30, "dtype": dtype, "preprocess_threads": 2}
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]
    cut = []
    for picture in pictures:
        y, x = (picture.shape[0] - 8) // 2, (picture.shape[1] - 8) // 2
        cut.append(picture[y : y + 8, x : x + 8, order].transpose(2, 0, 1))
    straight = np.stack(cut)
    for mirror, found in ((False, straight), (True, straight[..., ::-1])):
        batches = list(records(path, mirror=mirror, **options))
        assert (np.concatenate([batch.data[0].asnumpy() for batch in batches]) == found).all()
        assert np.concatenate([batch.label[0].asnumpy() for batch in batches]).tolist() == list(range(60))
        assert np.concatenate([batch.index for batch in batches]).tolist() == list(range(50, 110))
    chosen = np.concatenate([batch.data[0].asnumpy() for batch in records(path, rand_mirror=True, **options)])
    kinds = [((one == same).all(), (one == same[..., ::-1]).all()) for one, same in zip(chosen, straight, strict=True)]
    assert all(any(kind) for kind in kinds)
    assert {bool(kind[0]) for kind in kinds} == {True, False}


def test_a_record_without_a_picture_behind_its_header(tmp_path):
    with MXRecordIO(str(tmp_path / "empty.rec"), "w") as file:
        file.write(pack(IRHeader(0, 1.0, 5, 0), b""))
    with pytest.raises(FileFormatError, match=r"record 0 \(at offset 0\) of .*: its picture is damaged: .*no bytes"):
        records(str(tmp_path / "empty.rec"), batch_size=1).next()
