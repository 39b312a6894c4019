"""Rows of `minpy.ops.image`."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np

from operator_table.row import Row, real

KINDS_OF_STEPS = {
    "elementwise": "_image_adjust_lighting _image_normalize",
    "elementwise call": "_image_resize",
    "elementwise view": "_image_to_tensor",
    "view": "_image_crop _image_flip_left_right _image_flip_top_bottom",
}

_GRAY = np.array([0.299, 0.587, 0.114])
_IMAGE = real(3, 4, 3, low=5, high=250, distinct=True)


def _contrast(x: np.ndarray, factor: float) -> np.ndarray:
    return x * factor + (1 - factor) * (x @ _GRAY).mean()


def _turned(x: np.ndarray, factor: float) -> np.ndarray:
    result = np.empty_like(x)
    for position in np.ndindex(*x.shape[:2]):
        hue, light, saturation = colorsys.rgb_to_hls(*(x[position] / 255))
        result[position] = np.array(colorsys.hls_to_rgb((hue + factor) % 1, light, saturation)) * 255
    return result


def _resized(x: np.ndarray, size: Any, interp: int = 1) -> np.ndarray:
    """Bilinear, pixel by pixel; or means over areas, by pixels repeated."""
    height, width = x.shape[-3:-1]
    if interp == 3:
        fine = x.repeat(size[1], -3).repeat(size[0], -2)
        fine = fine.reshape(*x.shape[:-3], size[1], height, size[0], width, -1)
        return fine.mean((-4, -2))
    result = np.zeros((*x.shape[:-3], size[1], size[0], x.shape[-1]))
    for i, j in np.ndindex(size[1], size[0]):
        y, z = (i + 0.5) * height / size[1] - 0.5, (j + 0.5) * width / size[0] - 0.5
        y, z = np.float32(y), np.float32(z)
        for at_y, at_z in np.ndindex(2, 2):
            row, column = int(np.floor(y)) + at_y, int(np.floor(z)) + at_z
            weight = (1 - abs(float(y) - row)) * (1 - abs(float(z) - column))
            result[..., i, j, :] += weight * x[..., np.clip(row, 0, height - 1), np.clip(column, 0, width - 1), :]
    return result


def _changed(name: str, factor: float, reference: Any, shape: tuple[int, ...] = (3, 4, 3)) -> Row:
    return Row(
        f"_image_random_{name}",
        real(*shape, low=5, high=250, distinct=True),
        {"min_factor": factor, "max_factor": factor},
        random=True,
        label="gray" if shape[2] == 1 else "",
        tolerance=1e-5,
    )


ROWS = (
    Row(
        "_image_to_tensor",
        real(2, 3, 2, low=0, high=255),
        {},
        lambda x: x.transpose(2, 0, 1) / 255,
        dtypes=("float32",),
        tolerance=1e-5,
    ),
    Row(
        "_image_normalize",
        real(3, 2, 2),
        {"mean": (1.0, 2.0, 3.0), "std": (2.0, 3.0, 4.0)},
        lambda x, mean, std: (x - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1)),
    ),
    Row(
        "_image_normalize",
        real(2, 3, 2, 2),
        {"mean": (1.0,), "std": (2.0,)},
        lambda x, mean, std: (x - 1) / 2,
        label="batch",
    ),
    Row(
        "_image_crop", real(2, 3, 4, 1), {"x": 1, "y": 0, "width": 2, "height": 3}, lambda image, **_: image[:, :3, 1:3]
    ),
    Row("_image_flip_left_right", real(2, 3, 1), {}, lambda x: x[:, ::-1]),
    Row("_image_flip_top_bottom", real(3, 2, 1), {}, lambda x: x[::-1]),
    Row("_image_random_flip_left_right", real(2, 3, 1), random=True),
    Row("_image_random_flip_top_bottom", real(3, 2, 1), random=True),
    Row("_image_adjust_lighting", _IMAGE, {"alpha": (0.1, 0.2, 0.3)}, lambda x, alpha: x + _lighting(alpha)),
    Row("_image_random_lighting", _IMAGE, {"alpha_std": 0.1}, random=True),
    Row(
        "_image_random_color_jitter",
        _IMAGE,
        {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.2},
        random=True,
        tolerance=1e-5,
    ),
    _changed("brightness", 0.3, None),
    _changed("contrast", 0.3, None),
    _changed("contrast", 0.3, None, (3, 4, 1)),
    _changed("saturation", 0.3, None),
    _changed("hue", 0.3, None),
    Row("_image_resize", real(2, 3, 2), {"size": (4, 5)}, _resized, tolerance=1e-5),
    Row("_image_resize", real(2, 4, 5, 1), {"size": (2, 3), "interp": 3}, _resized, label="area", tolerance=1e-5),
)


def _lighting(alpha: Any) -> np.ndarray:
    values = np.array([55.46, 4.794, 1.148])
    vectors = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
    return vectors @ (values * alpha)
