"""Images and pictures beyond the operator table: decoding, files, sizes, chance, errors."""

from __future__ import annotations

import builtins
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy import nd, pictures, sym
from minpy.core.errors import (
    ArgumentError,
    DTypeError,
    FileMissingError,
    MissingDependencyError,
    ShapeError,
)

PICTURES = GOLDEN / "pictures"
I = nd.image  # noqa: E741
internal = nd._internal


def test_a_file_is_read_as_its_bytes_are_decoded() -> None:
    path = PICTURES / "noise.png"
    image = internal._cvimread(path)
    assert (image.shape, image.dtype) == ((5, 7, 3), np.uint8)
    np.testing.assert_array_equal(image.asnumpy(), internal._cvimdecode(path.read_bytes()).asnumpy())
    np.testing.assert_array_equal(image.asnumpy()[..., ::-1], internal._cvimread(str(path), to_rgb=False).asnumpy())
    np.testing.assert_array_equal(image.asnumpy(), internal._cvimread(PICTURES / "noise.bmp").asnumpy())
    out = nd.zeros((5, 7, 3), dtype="uint8")
    assert internal._cvimread(path, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), image.asnumpy())


def test_imdecode_into_parts_of_a_batch() -> None:
    data = (PICTURES / "noise.png").read_bytes()
    image = internal._cvimdecode(data).asnumpy().transpose(2, 0, 1)
    batch = nd.zeros((2, 3, 3, 4))
    assert nd.imdecode(data, clip_rect=(1, 2, 5, 5), out=batch, index=1, mean=nd.ones((3, 3, 4))) is batch
    np.testing.assert_array_equal(batch[1].asnumpy(), image[:, 2:5, 1:5] - 1.0)
    assert not batch[0].asnumpy().any()
    assert nd.imdecode(data, channels=1).shape == (1, 5, 7)


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Let packages be as if they were not installed."""
    found = builtins.__import__

    def importing(name: str, *arguments: Any) -> Any:
        if name.partition(".")[0] in packages:
            raise ImportError(name)
        return found(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", importing)


def test_without_any_library(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "PIL", "cv2")
    with pytest.raises(
        MissingDependencyError,
        match=r"decoding pictures needs OpenCV or Pillow, neither of which is installed. Install one with: "
        r"python -m pip install pillow",
    ):
        internal._cvimread(PICTURES / "noise.png")
    assert internal._cvimresize(nd.zeros((2, 2, 1)), w=3, h=4).shape == (4, 3, 1)  # which takes neither
    assert pictures.libraries() == []


def test_importing_minpy_imports_no_library_of_pictures() -> None:
    import subprocess

    code = "import sys, minpy; minpy.nd.image.resize; sys.exit(bool({'PIL', 'cv2'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: internal._cvimread("no.png"), FileMissingError, "imread: there is no file 'no.png'."),
        (
            lambda: internal._cvimdecode(b"picture"),
            ArgumentError,
            "imdecode: 7 bytes, beginning with b'picture', could not be decoded as a picture: cannot identify",
        ),
        (
            lambda: internal._cvimdecode((PICTURES / "slope.jpg").read_bytes()[:300]),
            ArgumentError,
            "imdecode: 300 bytes, .* could not be decoded as a picture: (?i:.*truncated)",
        ),
        (lambda: internal._cvimdecode(b""), ArgumentError, "imdecode: there are no bytes to decode."),
        (
            lambda: internal._cvimdecode(nd.zeros((2, 2))),
            ArgumentError,
            r"imdecode: the bytes have shape \(2, 2\); expected one axis.",
        ),
        (
            lambda: internal._cvimresize(nd.zeros((2, 2)), w=2, h=2),
            ArgumentError,
            r"imresize: src has shape \(2, 2\), to become 2 wide and 2 high; expected \(height, width, channels\)",
        ),
        (
            lambda: internal._cvcopyMakeBorder(nd.zeros((2, 2)), 1, 1, 1, 1),
            ShapeError,
            r"copyMakeBorder: src has shape \(2, 2\); expected \(height, width, channels\).",
        ),
        (
            lambda: internal._cvcopyMakeBorder(nd.zeros((2, 2, 1)), 1, 1, 1, -1),
            ArgumentError,
            r"copyMakeBorder: widths are \(1, 1, 1, -1\); expected 0 or more.",
        ),
        (
            lambda: internal._cvcopyMakeBorder(nd.zeros((2, 2, 1)), 1, 1, 1, 1, type=9),
            ArgumentError,
            "copyMakeBorder: type is 9; expected 0 to 4.",
        ),
        (
            lambda: I.crop(nd.zeros((2, 3, 1)), x=1, y=0, width=3, height=1),
            ArgumentError,
            r"crop: x is 1 and width 3, of data \(2, 3, 1\); expected x >= 0, width > 0 and x \+ width <= 3.",
        ),
        (
            lambda: I.crop(nd.zeros((2, 3, 1)), x=0, y=-1, width=3, height=1),
            ArgumentError,
            r"crop: y is -1 and height 1, of data \(2, 3, 1\); expected y >= 0",
        ),
        (
            lambda: I.normalize(nd.zeros((3, 2, 2)), mean=(1, 2)),
            ArgumentError,
            r"normalize: mean has 2 numbers; expected one, or one for each of the 3 channels of data \(3, 2, 2\).",
        ),
        (
            lambda: I.to_tensor(nd.zeros((2, 2))),
            ShapeError,
            r"to_tensor: data has shape \(2, 2\); expected \(height, width, channels\) or \(n, height, width,",
        ),
        (
            lambda: I.random_hue(nd.zeros((2, 2, 2)), min_factor=0, max_factor=1),
            ShapeError,
            r"random_hue: data has shape \(2, 2, 2\); expected one channel or three.",
        ),
        (
            lambda: I.random_contrast(nd.zeros((2, 2, 3)), min_factor=-1, max_factor=1),
            ArgumentError,
            "random_contrast: min_factor is -1.*; expected 0 or more.",
        ),
        (
            lambda: I.random_color_jitter(nd.zeros((2, 2, 3)), brightness=0, contrast=0, saturation=-1, hue=0),
            ArgumentError,
            "random_color_jitter: saturation is -1.*; expected 0 or more.",
        ),
        (
            lambda: I.adjust_lighting(nd.zeros((2, 2, 3)), alpha=(1, 2)),
            ArgumentError,
            r"adjust_lighting: alpha is \(1.*, 2.*\); expected three numbers.",
        ),
        (
            lambda: I.resize(nd.zeros((2, 2, 3))),
            ArgumentError,
            r"resize: size is \(\); expected a positive number, or \(width, height\).",
        ),
        (
            lambda: I.resize(nd.zeros((2, 2, 3)), size=2, interp=9),
            ArgumentError,
            r"resize: interp is 9; expected 0 \(nearest\), 1 \(bilinear\), 2 \(bicubic\), 3 \(area\) or 4 \(Lanczos\).",
        ),
        (
            lambda: I.resize(nd.zeros((2, 2, 3), dtype="bool"), size=2),
            DTypeError,
            "resize: data has dtype bool; expected numbers.",
        ),
    ],
)
def test_what_is_said_of_bad_input(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("interp", range(5))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int8", "int32"])
def test_a_constant_image_stays_constant_in_any_size(interp: int, dtype: str) -> None:
    for size in ((3, 2), (11, 13), (7, 5), (1, 1), (4, 20)):
        resized = I.resize(nd.full((5, 7, 3), 77, dtype=dtype), size=size, interp=interp)
        assert (resized.shape, resized.dtype) == ((size[1], size[0], 3), np.dtype(dtype).type)
        np.testing.assert_allclose(resized.asnumpy(), 77, rtol=1e-3)


@pytest.mark.parametrize("interp", range(5))
def test_flipping_and_resizing_commute(interp: int) -> None:
    """But for the nearest pixel, which is the one to the left."""
    image = nd.array(np.random.RandomState(0).uniform(0, 255, (9, 14, 3)), dtype="float64")
    one = I.flip_left_right(I.resize(image, size=(6, 4), interp=interp)).asnumpy()
    other = I.resize(I.flip_left_right(image), size=(6, 4), interp=interp).asnumpy()
    assert np.allclose(one, other, atol=1e-3) == (interp != 0)


def test_chance_follows_the_seed() -> None:
    image = nd.array(np.random.RandomState(0).uniform(0, 255, (4, 5, 3)))
    calls = {
        "random_flip_left_right": {},
        "random_flip_top_bottom": {},
        "random_brightness": {"min_factor": 0.5, "max_factor": 1.5},
        "random_contrast": {"min_factor": 0.5, "max_factor": 1.5},
        "random_saturation": {"min_factor": 0.5, "max_factor": 1.5},
        "random_hue": {"min_factor": 0.5, "max_factor": 1.5},
        "random_color_jitter": {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.3},
        "random_lighting": {"alpha_std": 0.5},
    }
    for name, options in calls.items():
        mx.random.seed(5)
        answers = [getattr(I, name)(image, **options).asnumpy() for _ in range(12)]
        mx.random.seed(5)
        for answer in answers:
            np.testing.assert_array_equal(getattr(I, name)(image, **options).asnumpy(), answer)
        assert len({answer.tobytes() for answer in answers}) == (2 if "flip" in name else 12), name


def test_hues_of_a_whole_turn_in_steps() -> None:
    image = nd.array(np.random.RandomState(0).randint(0, 256, (4, 5, 3)), dtype="float64")
    turned = image
    for _ in range(8):
        turned = I.random_hue(turned, min_factor=0.125, max_factor=0.125)
    np.testing.assert_allclose(turned.asnumpy(), image.asnumpy(), atol=1e-9)
    gray = nd.full((2, 2, 3), 50)
    np.testing.assert_array_equal(I.random_hue(gray, min_factor=0.3, max_factor=0.3).asnumpy(), gray.asnumpy())


def test_images_of_one_channel_keep_their_colours() -> None:
    image = nd.array(np.random.RandomState(0).randint(0, 256, (3, 3, 1)), dtype="uint8")
    for answer in (
        I.random_hue(image, min_factor=0.3, max_factor=0.3),
        I.random_saturation(image, min_factor=0.3, max_factor=0.3),
        I.adjust_lighting(image, alpha=(1, 1, 1)),
        I.random_lighting(image, alpha_std=3),
    ):
        np.testing.assert_array_equal(answer.asnumpy(), image.asnumpy())


def test_integers_are_cut_off_at_their_ends() -> None:
    image = nd.array([[[100, 200, 255]]], dtype="uint8")
    assert I.random_brightness(image, min_factor=2, max_factor=2).asnumpy().ravel().tolist() == [200, 255, 255]
    assert I.adjust_lighting(image, alpha=(9, 0, 0)).asnumpy().ravel().tolist() == [0, 0, 0]


def test_a_pipeline_as_a_symbol() -> None:
    data = sym.var("data")
    net = sym.image.resize(data, size=(4, 3))
    net = sym.image.normalize(sym.image.to_tensor(net), mean=(0.4, 0.5, 0.6), std=(0.1, 0.2, 0.3))
    image = nd.array(np.random.RandomState(0).randint(0, 256, (6, 8, 3)), dtype="uint8")
    expected = I.normalize(I.to_tensor(I.resize(image, size=(4, 3))), mean=(0.4, 0.5, 0.6), std=(0.1, 0.2, 0.3))
    loaded = sym.load_json(net.tojson())
    assert loaded.infer_shape(data=(6, 8, 3))[1] == [(3, 3, 4)]
    np.testing.assert_allclose(loaded.eval(data=image)[0].asnumpy(), expected.asnumpy(), rtol=1e-6)


# -- the libraries -----------------------------------------------------------------------------------------------------

MODULES = {"opencv": "cv2", "pillow": "PIL"}
BOTH = [name for name, module in MODULES.items() if find_spec(module)]
compared = pytest.mark.skipif(len(BOTH) < 2, reason="OpenCV and Pillow are compared")
# Of what comes out of the two libraries in colours, gray, and as it is in the file.
UNITS = {"cmyk.jpg": (1, 2, 1), "deep_colors.png": (0, 1, None)}


@compared
@pytest.mark.parametrize("path", sorted(PICTURES.iterdir()), ids=lambda path: path.name)
@pytest.mark.parametrize("rotate", [False, True])
def test_both_libraries_decode_alike(path: Path, rotate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for flag, units in zip((1, 0, -1), UNITS.get(path.name, (0, 0, 0)), strict=True):
        found = []
        for library in BOTH:
            monkeypatch.setenv("MINPY_PICTURES", library)
            assert pictures.libraries() == [library]
            found.append(pictures.read(path, flag, rotate=rotate))
        if units is None:  # 16 bits a colour, which Pillow has not
            assert [one.dtype.name for one in found] == ["uint16", "uint8"]
            continue
        assert found[0].dtype == found[1].dtype
        np.testing.assert_allclose(*(one.astype(int) for one in found), rtol=0, atol=units)


@pytest.mark.parametrize("library", BOTH)
def test_what_comes_out_of_which_picture(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_PICTURES", library)

    def shape(name: str, flag: int = 1, rotate: bool = False) -> tuple[int, ...]:
        return pictures.read(PICTURES / name, flag, rotate=rotate).shape

    assert shape("exif6.jpg") == (11, 17, 3)
    assert shape("exif6.jpg", rotate=True) == (17, 11, 3)
    assert shape("exif6.jpg", -1, rotate=True) == (11, 17, 3)
    assert [shape("alpha.png", flag) for flag in (1, 0, -1)] == [(11, 17, 3), (11, 17, 1), (11, 17, 4)]
    assert [shape("deep_gray.png", flag) for flag in (1, 0, -1)] == [(11, 17, 3), (11, 17, 1), (11, 17, 1)]
    assert pictures.read(PICTURES / "deep_gray.png", -1).dtype == np.uint16
    red = pictures.read(PICTURES / "alpha.png", -1)
    blue = pictures.read(PICTURES / "alpha.png", -1, to_rgb=False)
    np.testing.assert_array_equal(red, blue[..., [2, 1, 0, 3]])


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1), (5, 7, 3), (5, 7, 4)])
@pytest.mark.parametrize("to_rgb", [False, True])
def test_png_gives_back_what_was_encoded(
    library: str, shape: tuple[int, ...], to_rgb: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINPY_PICTURES", library)
    image = np.random.RandomState(0).randint(0, 256, shape).astype(np.uint8)
    data = pictures.encode(image, ".PNG", 9, to_rgb=to_rgb)
    np.testing.assert_array_equal(pictures.decode(data, -1, to_rgb).reshape(shape), image)
    deep = image.astype(np.uint16) * 257
    if library == "opencv" or deep.ndim == 2:
        data = pictures.encode(deep, ".png", 1, to_rgb=to_rgb)
        np.testing.assert_array_equal(pictures.decode(data, -1, to_rgb).reshape(shape), deep)


@pytest.mark.parametrize("library", BOTH)
def test_jpeg_in_its_qualities(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_PICTURES", library)
    rows, columns = np.mgrid[:32, :48]
    image = np.stack([rows * 4, columns * 4, rows + columns], -1).astype(np.uint8)
    sizes, errors = [], []
    for quality in (10, 60, 95):
        data = pictures.encode(image, ".jpg", quality)
        assert data[:2] == b"\xff\xd8"
        sizes.append(len(data))
        errors.append(np.abs(pictures.decode(data, to_rgb=False).astype(int) - image).mean())
    assert sizes == sorted(sizes)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 3
    assert pictures.decode(pictures.encode(image[..., 0], ".jpeg"), -1).shape == (32, 48, 1)
    assert pictures.encode(image, ".jpg", 100) == pictures.encode(image, ".jpg", 200)


@pytest.mark.parametrize("library", BOTH)
@pytest.mark.parametrize("extension", [".bmp", ".tif", ".tiff", ".webp"])
def test_other_kinds_of_files(library: str, extension: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_PICTURES", library)
    image = np.random.RandomState(0).randint(0, 9, (16, 16, 3)).astype(np.uint8)
    found = pictures.decode(pictures.encode(image, extension), to_rgb=False)
    np.testing.assert_allclose(found.astype(int), image, atol=9 if extension == ".webp" else 0)


@compared
@pytest.mark.parametrize("interp", [0, 1, 3, 4])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_opencv_and_numpy_resize_alike(interp: int, channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.RandomState(0).randint(0, 256, (24, 34, channels)).astype(np.uint8)
    for width, height in ((17, 12), (7, 5), (68, 48), (34, 24), (9, 40), (1, 1)):
        found = []
        for library in BOTH:
            monkeypatch.setenv("MINPY_PICTURES", library)
            found.append(pictures.resize(image, width, height, interp))
        np.testing.assert_array_equal(*found)


@compared
def test_bicubic_ones_differ_by_a_unit_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.RandomState(0).randint(0, 256, (24, 34, 3)).astype(np.uint8)
    found = []
    for library in BOTH:
        monkeypatch.setenv("MINPY_PICTURES", library)
        found.append(pictures.resize(image, 20, 15, 2).astype(int))
    assert np.abs(found[0] - found[1]).max() <= 1


@compared
@pytest.mark.parametrize("dtype", ["uint16", "int16", "float32", "float64", "float16", "int8", "int32"])
def test_resizing_what_is_not_of_8_bits(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.RandomState(0).uniform(0, 100, (24, 34, 3)).astype(dtype)
    for interp in range(5):
        found = []
        for library in BOTH:
            monkeypatch.setenv("MINPY_PICTURES", library)
            found.append(pictures.resize(image, 20, 15, interp))
            assert (found[-1].shape, found[-1].dtype) == ((15, 20, 3), image.dtype)
        atol = 1e-2 if np.dtype(dtype).kind == "f" else 1
        np.testing.assert_allclose(*(one.astype(float) for one in found), rtol=0, atol=atol)


def test_threads_decode_side_by_side() -> None:
    from concurrent.futures import ThreadPoolExecutor

    data = [path.read_bytes() for path in sorted(PICTURES.iterdir())] * 8
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(pictures.decode, data))
    for one, other in zip(found, map(pictures.decode, data), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("library", BOTH)
def test_damaged_pictures_by_their_files(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_PICTURES", library)
    path = tmp_path / "half.png"
    path.write_bytes((PICTURES / "noise.png").read_bytes()[:100])
    with pytest.raises(ArgumentError, match=rf"imread of '{path}': 100 bytes, beginning with b'\\x89PNG.*could not be"):
        pictures.read(path)
    huge = bytearray((PICTURES / "noise.bmp").read_bytes())
    huge[18:26] = (2**30).to_bytes(4, "little") * 2
    with pytest.raises(ArgumentError, match="could not be decoded as a picture"):
        pictures.decode(bytes(huge))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: pictures.decode(b"x", 2),
            ArgumentError,
            r"imdecode: flag is 2; expected 1 \(colours\), 0 \(gray\) or",
        ),
        (
            lambda: pictures.encode(np.zeros((2, 2), "u1"), ".gif"),
            ArgumentError,
            "imencode: the format is '.gif'; expected one of .jpg, .jpeg, .png, .bmp, .tif, .tiff, .webp.",
        ),
        (
            lambda: pictures.encode(np.zeros((2, 2, 4), "u1"), ".jpg"),
            ShapeError,
            r"imencode: the image has shape \(2, 2, 4\); expected .*\(height, width, 1\) or \(height, width, 3\).$",
        ),
        (
            lambda: pictures.encode(np.zeros((2, 2))),
            DTypeError,
            r"imencode: the image is float64 \(2, 2\); expected uint8. Use image.astype\('uint8'\).",
        ),
    ],
)
def test_what_is_said_of_wrong_arguments(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_the_variable_that_chooses_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINPY_PICTURES", "pilow")
    with pytest.raises(ArgumentError, match=r"MINPY_PICTURES is 'pilow'; expected .* Did you mean 'pillow'\?"):
        pictures.libraries()
    monkeypatch.setenv("MINPY_PICTURES", "pillow")
    without(monkeypatch, "PIL")
    with pytest.raises(
        MissingDependencyError, match="needs Pillow, which is not installed, and the environment variable"
    ):
        pictures.decode(b"picture")
