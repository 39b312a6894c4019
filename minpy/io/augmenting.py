"""How `ImageRecordIter` augments a picture, and normalizes its values.

All random choices use numbers between 0 and 1 that are drawn for each picture beforehand (`draws`), so that results do
not depend on threads. Pictures have blue first here, as in MXNet, whose weights of colours have that order, too.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError, FileFormatError
from minpy.ndarray.saving import load
from minpy.pictures import resize
from minpy.pictures.transforming import from_hls, to_hls, warped

__all__ = [
    "Augmenter",
    "Normalizer",
    "chosen_interpolation",
    "require_interpolation",
    "resize_shorter_edge",
    "saved_mean",
    "shift_hls",
]

# Indices of a picture's draws. Those from `CROPS` on are for ten attempts of `random_resized_crop`.
SCALE, RATIO, SHEAR, ANGLE, INTERPOLATION, CROP_SIZE, X, Y, MIRROR = range(9)
ORDER, BRIGHTNESS, CONTRAST, SATURATION, HUE, HUE_2, LIGHT, LIGHT_2, SATURATED, SATURATED_2 = range(9, 19)
NOISE, LAST_CONTRAST, ILLUMINATION, CROPS = 19, 25, 26, 27
_ATTEMPTS, _PER_ATTEMPT = 10, 5
DRAW_COUNT = CROPS + _ATTEMPTS * _PER_ATTEMPT

_AUTOMATIC, _RANDOM = 9, 10
# Weights of red, green and blue, applied in this order though blue is first.
_LUMA = numpy.array([0.299, 0.587, 0.114], "float32")
# The principal components of the colours of ImageNet, blue first, with their deviations: Krizhevsky, Sutskever, Hinton,
# ImageNet Classification with Deep Convolutional Neural Networks, 2012, section 4.1.
_DEVIATIONS = numpy.array([55.46, 4.794, 1.148])
_COMPONENTS = numpy.array([[-0.5836, -0.6948, 0.4203], [-0.5808, -0.0045, -0.8140], [-0.5675, 0.7192, 0.4009]])
_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
_LIMITS = numpy.array([180, 255, 255])


def require_interpolation(function: str, method: int) -> None:
    """Raise an error for an unknown method of interpolation."""
    if method not in (0, 1, 2, 3, 4, _AUTOMATIC, _RANDOM):
        raise ArgumentValueError(
            f"{function}: inter_method is {method}; expected 0 (nearest), 1 (bilinear), 2 (cubic), 3 (area), "
            "4 (Lanczos), 9 (by the sizes) or 10 (at random)."
        )


def chosen_interpolation(method: int, number: float, size: tuple[int, int], new: tuple[int, int]) -> int:
    """Return OpenCV's code of the interpolation from one size to another, both (width, height)."""
    if method == _AUTOMATIC:
        if new[0] > size[0] and new[1] > size[1]:
            return 2
        return 3 if new[0] < size[0] and new[1] < size[1] else 1
    return min(int(number * 5), 4) if method == _RANDOM else method


def resize_shorter_edge(image: numpy.ndarray, length: int, method: int, number: float) -> numpy.ndarray:
    """Return an image resized so that its shorter edge has a length."""
    height, width = image.shape[:2]
    new = (length, length * height // width) if height > width else (length * width // height, length)
    return resize(image, new[0], new[1], chosen_interpolation(method, number, (width, height), new))


def shift_hls(image: numpy.ndarray, changes: tuple[int, int, int]) -> numpy.ndarray:
    """Return an image with hue, lightness and saturation changed."""
    hue, light, saturation = changes
    values = to_hls(image).astype("int16") + numpy.array([hue, light, saturation], "int16")
    return from_hls(values.clip(0, _LIMITS).astype("uint8"))


def _lerp(low: float, high: float, number: float) -> float:
    return low + (high - low) * number


def _random_integer(number: float, most: int) -> int:
    """Return an integer from 0 to `most`, all equally probable."""
    return min(int(number * (most + 1)), most)


def _cut_out(image: numpy.ndarray, height: int, width: int, draws: Any) -> numpy.ndarray:
    """Return a crop of an image: at the place that was drawn, or from the middle."""
    y, x = image.shape[0] - height, image.shape[1] - width
    y, x = (y // 2, x // 2) if draws is None else (_random_integer(draws[Y], y), _random_integer(draws[X], x))
    return image[y : y + height, x : x + width]


class Augmenter:
    """Resizes, rotates, pads and crops pictures, changes their colours, and mirrors them."""

    def __init__(self, function: str, options: SimpleNamespace) -> None:
        require_interpolation(function, options.inter_method)
        self.function, self.options = function, options
        self.draw_count = DRAW_COUNT if options.random_resized_crop else CROPS
        _, self.height, self.width = options.data_shape
        self.is_warped = (
            options.max_rotate_angle > 0
            or options.rotate > 0
            or options.max_shear_ratio > 0
            or (options.max_random_scale, options.min_random_scale) != (1, 1)
            or (options.max_aspect_ratio != 0 and not options.random_resized_crop)
            or (options.max_img_size, options.min_img_size) != (1e10, 0)
        )
        self.random_crop = options.rand_crop
        self.mirror_share = 1.0 if options.mirror else 0.5 if options.rand_mirror else 0.0  # the share of pictures
        self.jitters_colours = bool(options.brightness or options.contrast or options.saturation)
        self.jitters_hls = bool(options.random_h or options.random_s or options.random_l)
        for low, high in (("min_random_scale", "max_random_scale"), ("min_random_area", "max_random_area")):
            if getattr(options, low) > getattr(options, high):
                raise ArgumentValueError(
                    f"{function}: {low} {getattr(options, low)} is larger than {high} {getattr(options, high)}."
                )
        self.crop_sizes = None
        if not options.random_resized_crop and (options.max_crop_size > 0 or options.min_crop_size > 0):
            self.crop_sizes = options.min_crop_size, options.max_crop_size
            if not 0 < options.min_crop_size <= options.max_crop_size:
                raise ArgumentValueError(
                    f"{function}: min_crop_size is {options.min_crop_size} and max_crop_size {options.max_crop_size}; "
                    "expected 0 < min_crop_size <= max_crop_size."
                )
        self.only_crops = not (
            self.is_warped
            or self.jitters_colours
            or self.jitters_hls
            or self.crop_sizes
            or options.random_resized_crop
            or options.resize > 0
            or options.pad > 0
            or options.pca_noise > 0
        )

    def _resized_to_target(self, image: numpy.ndarray, draws: Any) -> numpy.ndarray:
        """Return an image in the target's size."""
        size, target = (image.shape[1], image.shape[0]), (self.width, self.height)
        method = chosen_interpolation(self.options.inter_method, draws[INTERPOLATION], size, target)
        return resize(image, self.width, self.height, method)

    def _ratio(self, number: float) -> float:
        options = self.options
        if options.min_aspect_ratio is None:
            return _lerp(1 - options.max_aspect_ratio, 1 + options.max_aspect_ratio, number)
        return _lerp(options.min_aspect_ratio, options.max_aspect_ratio, number)

    def _warped(self, image: numpy.ndarray, draws: Any) -> numpy.ndarray:
        options = self.options
        height, width = image.shape[:2]
        angle = options.rotate
        if angle <= 0:
            angle = _random_integer(draws[ANGLE], 2 * options.max_rotate_angle) - options.max_rotate_angle
        cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        shear = _lerp(-options.max_shear_ratio, options.max_shear_ratio, draws[SHEAR])
        scale = _lerp(options.min_random_scale, options.max_random_scale, draws[SCALE])
        ratio = self._ratio(draws[RATIO]) if options.max_aspect_ratio and not options.random_resized_crop else 1.0
        down = 2 * scale / (1 + ratio)
        across = ratio * down
        new_width, new_height = (
            max(options.min_img_size, min(options.max_img_size, scale * length)) for length in (width, height)
        )
        matrix = numpy.empty((2, 3), "float32")
        matrix[0, :2] = down * cosine - shear * sine * across, down * sine + shear * cosine * across
        matrix[1, :2] = -sine * across, cosine * across
        matrix[0, 2] = (new_width - (matrix[0, 0] * width + matrix[0, 1] * height)) / 2
        matrix[1, 2] = (new_height - (matrix[1, 0] * width + matrix[1, 1] * height)) / 2
        size = max(int(new_width), 1), max(int(new_height), 1)
        method = chosen_interpolation(options.inter_method, draws[INTERPOLATION], (width, height), size)
        return warped(image, matrix, *size, method, options.fill_value)

    def _padded(self, image: numpy.ndarray) -> numpy.ndarray:
        pad, (height, width, channels) = self.options.pad, image.shape
        framed = numpy.full((height + 2 * pad, width + 2 * pad, channels), self.options.fill_value, "uint8")
        framed[pad:-pad, pad:-pad] = image
        return framed

    def _cropped(self, image: numpy.ndarray, draws: Any) -> numpy.ndarray:
        options = self.options
        target = self.width, self.height
        height, width = image.shape[:2]
        if options.random_resized_crop:
            resized = self._random_resized(image, draws)
            if resized is not None:
                return resized
        elif self.crop_sizes is not None:
            low, high = self.crop_sizes
            if min(height, width) < high:
                raise ArgumentValueError(
                    f"it is {width} wide and {height} high, and max_crop_size is {high}. Use resize, or a smaller one"
                )
            side = low + _random_integer(draws[CROP_SIZE], high - low)
            return self._resized_to_target(_cut_out(image, side, side, draws if options.rand_crop else None), draws)
        if height < self.height or width < self.width:
            method = chosen_interpolation(options.inter_method, draws[INTERPOLATION], (width, height), target)
            if height < self.height:
                image = resize(image, int(self.height / height * width), self.height, method)
                height, width = image.shape[:2]
            if width < self.width:
                image = resize(image, self.width, int(self.width / width * height), method)
                height, width = image.shape[:2]
        anywhere = options.rand_crop and not options.random_resized_crop
        return _cut_out(image, self.height, self.width, draws if anywhere else None)

    def _random_resized(self, image: numpy.ndarray, draws: Any) -> numpy.ndarray | None:
        """Return a crop of random area and ratio, resized; None if none of ten attempts fits."""
        options = self.options
        height, width = image.shape[:2]
        for attempt in range(_ATTEMPTS):
            start = CROPS + attempt * _PER_ATTEMPT
            area, ratio, swapped, across, down = draws[start : start + _PER_ATTEMPT]
            pixels = height * width * _lerp(options.min_random_area, options.max_random_area, area)
            shape = max(self._ratio(ratio), 1e-6)
            piece = round(math.sqrt(pixels * shape)), round(math.sqrt(pixels / shape))
            if swapped > 0.5:
                piece = piece[::-1]
            if 0 < piece[0] <= width and 0 < piece[1] <= height:
                x, y = _random_integer(across, width - piece[0]), _random_integer(down, height - piece[1])
                return self._resized_to_target(image[y : y + piece[1], x : x + piece[0]], draws)
        return None

    def _recoloured(self, image: numpy.ndarray, draws: Any) -> numpy.ndarray:
        options = self.options
        is_gray = image.shape[2] == 1
        if self.jitters_colours:
            for kind in _ORDERS[_random_integer(draws[ORDER], 5)]:
                width = (options.brightness, options.contrast, options.saturation)[kind]
                if not width:
                    continue
                factor = numpy.float32(1 + _lerp(-width, width, draws[(BRIGHTNESS, CONTRAST, SATURATION)[kind]]))
                values = image.astype("float32")
                if kind == 0:
                    values *= factor
                elif kind == 1:
                    mean = values.mean() if is_gray else (values[..., :3] @ _LUMA).mean()
                    values = values * factor + (1 - factor) * mean
                elif not is_gray:
                    values = values * factor + (1 - factor) * (values[..., :3] @ _LUMA)[..., None]
                image = numpy.rint(values).clip(0, 255).astype("uint8")
        if self.jitters_hls and not is_gray:
            # Between -1 and 1, less often near these.
            pairs = [(draws[first] - 0.5) * 1.6 + (draws[first + 1] - 0.5) * 0.4 for first in (HUE, LIGHT, SATURATED)]
            widths = options.random_h, options.random_l, options.random_s
            hue, light, saturation = (int(part * width) for part, width in zip(pairs, widths, strict=True))
            image = shift_hls(image, (hue, light, saturation))
        if options.pca_noise > 0 and not is_gray:
            drawn = numpy.array(draws[NOISE : NOISE + 6])
            # Normally distributed: Box and Muller, A Note on the Generation of Random Normal Deviates, 1958.
            normal = numpy.sqrt(-2 * numpy.log1p(-drawn[:3])) * numpy.cos(2 * math.pi * drawn[3:])
            noise = _COMPONENTS @ (normal * options.pca_noise * _DEVIATIONS)
            image = image.copy()
            image[..., :3] = numpy.rint(image[..., :3] + noise).clip(0, 255)
        return image

    def augment(self, image: numpy.ndarray, label: Any, draws: Any) -> tuple[numpy.ndarray, Any]:
        """Return a picture of the target's size and its label, which stays as it is."""
        return self(image, draws), label

    def __call__(self, image: numpy.ndarray, draws: Any) -> numpy.ndarray:
        """Return a picture of the target's size."""
        if self.only_crops:
            height, width, _ = image.shape
            if height >= self.height and width >= self.width:  # as in `_cropped`
                image = _cut_out(image, self.height, self.width, draws if self.random_crop else None)
                return image[:, ::-1] if draws[MIRROR] < self.mirror_share else image
        options = self.options
        if options.resize > 0:
            image = resize_shorter_edge(image, options.resize, options.inter_method, draws[INTERPOLATION])
        if self.is_warped:
            image = self._warped(image, draws)
        if options.pad > 0:
            image = self._padded(image)
        image = self._cropped(image, draws)
        if self.jitters_colours or self.jitters_hls or options.pca_noise > 0:
            image = self._recoloured(image, draws)
        if draws[MIRROR] < self.mirror_share:
            image = image[:, ::-1]
        return image


def saved_mean(function: str, path: str, shape: tuple[int, ...]) -> numpy.ndarray:
    """Return the mean picture in a file: its array `mean_img`, or the first one."""
    content = load(path)
    arrays: Any = content if isinstance(content, dict) else dict(enumerate(content))
    if not arrays:
        raise FileFormatError(f"{function}: mean_img {path!r} has no array.")
    mean = arrays["mean_img"] if "mean_img" in arrays else next(iter(arrays.values()))
    if mean.shape != shape:
        raise FileFormatError(f"{function}: mean_img {path!r} has the shape {mean.shape}; data_shape is {shape}.")
    picture: numpy.ndarray = mean.asnumpy().astype("float32")
    return picture


class Normalizer:
    """`((pixel - mean) * contrast + illumination) * scale / std`, channel by channel, red first.

    int8 gets the pixel without the mean, cut off at its limits; uint8 the pixel as it is, as in MXNet.
    """

    def __init__(self, options: SimpleNamespace, dtype: Any, is_random: bool = True) -> None:
        channels = options.data_shape[0]
        self.dtype = numpy.dtype(dtype)
        names = "rgba"[:channels]
        self.mean_picture: numpy.ndarray | None = None
        mean = numpy.array([getattr(options, f"mean_{name}") for name in names], "float32").reshape(-1, 1, 1)
        std = numpy.array([getattr(options, f"std_{name}") or 1 for name in names], "float32").reshape(-1, 1, 1)
        if (std <= 0).any():
            raise ArgumentValueError(
                f"std_r, std_g, std_b, std_a are {std.ravel().tolist()}; expected positive numbers."
            )
        self.mean = mean if mean.any() else None
        factor = numpy.float32(options.scale) / std
        self.factor = factor if (factor != 1).any() else None
        self.contrast = options.max_random_contrast if is_random else 0.0
        self.illumination = options.max_random_illumination if is_random else 0.0

    def __call__(self, pixels: numpy.ndarray, draws: numpy.ndarray, out: numpy.ndarray) -> None:
        """Write the normalized values of pictures."""
        if self.dtype == numpy.uint8:
            out[...] = pixels
            return
        mean = self.mean if self.mean_picture is None else self.mean_picture
        if self.dtype == numpy.int8:
            out[...] = (pixels if mean is None else numpy.trunc(pixels - mean)).clip(-128, 127)
            return
        values = out if self.dtype == numpy.float32 else numpy.empty(out.shape, "float32")
        if mean is None:
            values[...] = pixels
        else:
            numpy.subtract(pixels, mean, out=values)
        if self.contrast:
            factors = 1 + self.contrast * (2 * draws[:, LAST_CONTRAST] - 1)
            values *= factors.astype("float32").reshape(-1, 1, 1, 1)
        if self.illumination:
            shifts = self.illumination * (2 * draws[:, ILLUMINATION] - 1)
            values += shifts.astype("float32").reshape(-1, 1, 1, 1)
        if self.factor is not None:
            values *= self.factor
        if values is not out:
            out[...] = values
