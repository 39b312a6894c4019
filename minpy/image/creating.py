"""The usual augmenters of a classifier's and of a detector's pictures, from a few numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from minpy.base import numeric_types
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.image.augmenters import (
    Augmenter,
    CastAug,
    CenterCropAug,
    ForceResizeAug,
    HorizontalFlipAug,
    RandomCropAug,
    RandomSizedCropAug,
    ResizeAug,
)
from minpy.image.color_augmenters import ColorJitterAug, ColorNormalizeAug, HueJitterAug, LightingAug, RandomGrayAug
from minpy.image.detection_augmenters import (
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
)

__all__ = [
    "COLOURS",
    "INTER_METHOD",
    "MEAN",
    "STD",
    "CreateAugmenter",
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "color_augmenters",
    "require_data_shape",
]

# Of ImageNet's pictures, of red, green and blue.
MEAN = (123.68, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
# The principal axes of the colours of ImageNet's pictures: Krizhevsky et al., 2012, section 4.1.
EIGENVALUES = (55.46, 4.794, 1.148)
EIGENVECTORS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))


def require_data_shape(name: str, data_shape: Any) -> tuple[int, int, int]:
    """Return the shape of a picture, (channels, height, width), or raise."""
    try:
        shape = tuple(int(length) for length in data_shape)
    except (TypeError, ValueError):
        shape = ()
    if len(shape) != 3 or min(shape) <= 0:
        raise ArgumentValueError(
            f"{name}: data_shape is {data_shape!r}; expected (channels, height, width), all positive: (3, 224, 224)."
        )
    return shape


def _channel_values(name: str, option: str, value: Any, imagenet_values: tuple[float, ...], exact: bool) -> Any:
    """Return an option's mean or deviation; True means that of ImageNet."""
    if value is None or value is False:
        return None
    if value is True:
        numbers = np.array(imagenet_values)
        return numbers if exact else new_array(FRONT_ENDS["mxnet"], numbers.astype(np.float32))
    if not isinstance(value, (Array, np.ndarray)):
        value = np.array(value, np.float32)
    if value.ndim < 1 or value.shape[0] not in (1, 3):
        raise ArgumentError(
            f"{name}: {option} is {describe(value)}; expected True for ImageNet's, or an array of one or three numbers."
        )
    return value


def color_augmenters(name: str, options: dict[str, Any], exact: bool) -> list[Augmenter]:
    """Return the augmenters of colours with which both functions below end.

    `exact`: whether ImageNet's mean is of float64, as MXNet's is in detection.
    """
    augmenters: list[Augmenter] = []
    jitter = [options[option] for option in ("brightness", "contrast", "saturation")]
    if any(jitter):
        augmenters.append(ColorJitterAug(*jitter))
    if options["hue"]:
        augmenters.append(HueJitterAug(options["hue"]))
    if options["pca_noise"] > 0:
        augmenters.append(LightingAug(options["pca_noise"], np.array(EIGENVALUES), np.array(EIGENVECTORS)))
    if options["rand_gray"] > 0:
        augmenters.append(RandomGrayAug(options["rand_gray"]))
    mean = _channel_values(name, "mean", options["mean"], MEAN, exact)
    std = _channel_values(name, "std", options["std"], STD, exact)
    if mean is not None or std is not None:
        augmenters.append(ColorNormalizeAug(mean, std))
    return augmenters


COLOURS = """
    rand_mirror : bool
        Whether half of the pictures have left and right exchanged.
    mean, std : True, array of one or three numbers, or None
        What is subtracted, and divided by; True for ImageNet's.
    brightness, contrast, saturation, hue : float
        How much these are changed, up to.
    pca_noise : float
        The standard deviation of a colour that is added: see `LightingAug`.
    """
INTER_METHOD = """
    inter_method : int
        How pictures are resized: 0 to 4 (nearest pixel, bilinear, bicubic, areas, Lanczos), 9 (by the sizes), 10 (by
        chance).
    """


@documented(colours=COLOURS, inter_method=INTER_METHOD)
def CreateAugmenter(
    data_shape: Any,
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """Return the augmenters that make pictures of one shape, of float32, out of pictures of any size.

    Parameters
    ----------
    data_shape : tuple of three ints
        (channels, height, width) of the pictures that are made.
    resize : int
        The size of the shorter side, before a part is taken; 0 for as it is.
    rand_crop : bool
        Whether the part is taken at a place drawn by chance, not in the middle.
    rand_resize : bool
        Whether its area and ratio are drawn as well; takes `rand_crop`.
    {colours}
    rand_gray : float
        How many pictures lose their colours: of 1.
    {inter_method}

    Returns
    -------
    list of Augmenter

    Raises
    ------
    ArgumentError
        For a data_shape of other than three numbers, for `rand_resize` without `rand_crop`, or another mean.

    Examples
    --------
    >>> import minpy as mx
    >>> for augmenter in mx.image.CreateAugmenter((3, 224, 224), resize=256, rand_mirror=True):
    ...     print(augmenter.dumps())
    ["resizeaug", {"size": 256, "interp": 2}]
    ["centercropaug", {"size": [224, 224], "interp": 2}]
    ["horizontalflipaug", {"p": 0.5}]
    ["castaug", {"type": "float32"}]
    """
    options = dict(locals())
    _, height, width = require_data_shape("CreateAugmenter", data_shape)
    augmenters: list[Augmenter] = []
    if resize > 0:
        augmenters.append(ResizeAug(resize, inter_method))
    if rand_resize:
        if not rand_crop:
            raise ArgumentError("CreateAugmenter: rand_resize is True and rand_crop is not. Add rand_crop=True.")
        augmenters.append(RandomSizedCropAug((width, height), 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    elif rand_crop:
        augmenters.append(RandomCropAug((width, height), inter_method))
    else:
        augmenters.append(CenterCropAug((width, height), inter_method))
    if rand_mirror:
        augmenters.append(HorizontalFlipAug(0.5))
    augmenters.append(CastAug())
    return augmenters + color_augmenters("CreateAugmenter", options, exact=False)


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Return an augmenter that takes one of several kinds of parts, drawn each time.

    Parameters
    ----------
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        As for `DetRandomCropAug`: one value for all kinds, or a list of one for each.
    skip_prob : float
        How often none is taken: of 1.

    Returns
    -------
    DetRandomSelectAug

    Raises
    ------
    ArgumentError
        For lists of different lengths.

    Examples
    --------
    >>> import minpy as mx
    >>> kinds = mx.image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9], skip_prob=0.25)
    >>> [kind.min_object_covered for kind in kinds.aug_list]
    [0.1, 0.5, 0.9]
    """
    values = {name: value for name, value in locals().items() if name != "skip_prob"}
    columns = {name: value if isinstance(value, list) else [value] for name, value in values.items()}
    number = max(map(len, columns.values()))
    wrong = [f"{name} {len(column)}" for name, column in columns.items() if len(column) not in (1, number)]
    if wrong:
        raise ArgumentError(
            f"CreateMultiRandCropAugmenter: of lists of values, the longest has {number}, and {', '.join(wrong)}; "
            "expected equal lengths, or one value."
        )
    kinds = [
        DetRandomCropAug(**{name: column[index if len(column) > 1 else 0] for name, column in columns.items()})
        for index in range(number)
    ]
    return DetRandomSelectAug(kinds, skip_prob=skip_prob)


def _enclosing_range(value: Any) -> Any:
    """Return the smallest range that contains all ranges of a list, or the range itself if it is one."""
    if not isinstance(value, list) or all(isinstance(limit, numeric_types) for limit in value):
        return value
    return min(limits[0] for limits in value), max(limits[1] for limits in value)


@documented(colours=COLOURS, inter_method=INTER_METHOD)
def CreateDetAugmenter(
    data_shape: Any,
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """Return the augmenters that make pictures of one shape, of float32, with their objects, out of any pictures.

    Parameters
    ----------
    data_shape : tuple of three ints
        (channels, height, width) of the pictures that are made.
    resize : int
        The size of the shorter side at the beginning; 0 for as it is.
    rand_crop : float
        How often a part is taken: of 1.
    rand_pad : float
        How often a picture is put on a larger one: of 1.
    rand_gray : float
        How often a picture loses its colours: of 1.
    {colours}
    {inter_method}
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        As for `CreateMultiRandCropAugmenter`. The areas go up to that of the larger picture.
    pad_val : tuple of three numbers
        The colour of the larger picture.

    Returns
    -------
    list of DetAugmenter

    Raises
    ------
    ArgumentError
        For a data_shape of other than three numbers, or another mean.

    Examples
    --------
    >>> import minpy as mx
    >>> for augmenter in mx.image.CreateDetAugmenter((3, 300, 300), rand_mirror=True, mean=True):
    ...     print(augmenter.dumps())
    ["dethorizontalflipaug", {"p": 0.5}]
    ['detborrowaug', '["forceresizeaug", {"size": [300, 300], "interp": 2}]']
    ['detborrowaug', '["castaug", {"type": "float32"}]']
    ['detborrowaug', '["colornormalizeaug", {"mean": [123.68, 116.28, 103.53], "std": null}]']
    """
    options = dict(locals())
    _, height, width = require_data_shape("CreateDetAugmenter", data_shape)
    augmenters: list[DetAugmenter] = []
    if resize > 0:
        augmenters.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        limits = min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        augmenters.append(CreateMultiRandCropAugmenter(*limits, skip_prob=1 - rand_crop))
    if rand_mirror:
        augmenters.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        attempts = max(max_attempts) if isinstance(max_attempts, list) else max_attempts
        areas = (1.0, _enclosing_range(area_range)[1])
        pad = DetRandomPadAug(_enclosing_range(aspect_ratio_range), areas, attempts, pad_val)
        augmenters.append(DetRandomSelectAug([pad], 1 - rand_pad))
    augmenters.append(DetBorrowAug(ForceResizeAug((width, height), inter_method)))
    augmenters.append(DetBorrowAug(CastAug()))
    augmenters.extend(
        DetBorrowAug(augmenter) for augmenter in color_augmenters("CreateDetAugmenter", options, exact=True)
    )
    return augmenters
