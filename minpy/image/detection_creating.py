"""The usual augmenters of a detector's pictures, from a few numbers."""

from __future__ import annotations

from typing import Any

from minpy.base import numeric_types
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentError
from minpy.image.augmenters import CastAug, ForceResizeAug, ResizeAug
from minpy.image.creating import COLOURS, INTER_METHOD, color_augmenters, require_data_shape
from minpy.image.detection_augmenters import (
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
)

__all__ = ["CreateDetAugmenter", "CreateMultiRandCropAugmenter"]


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
    values = {
        "min_object_covered": min_object_covered,
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "min_eject_coverage": min_eject_coverage,
        "max_attempts": max_attempts,
    }
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


def _widest(value: Any) -> Any:
    """Return the range that holds all ranges of a list; a single one as it is."""
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
        augmenters.append(
            CreateMultiRandCropAugmenter(
                min_object_covered,
                aspect_ratio_range,
                area_range,
                min_eject_coverage,
                max_attempts,
                skip_prob=1 - rand_crop,
            )
        )
    if rand_mirror:
        augmenters.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        attempts = max(max_attempts) if isinstance(max_attempts, list) else max_attempts
        areas = (1.0, _widest(area_range)[1])
        pad = DetRandomPadAug(_widest(aspect_ratio_range), areas, attempts, pad_val)
        augmenters.append(DetRandomSelectAug([pad], 1 - rand_pad))
    augmenters.append(DetBorrowAug(ForceResizeAug((width, height), inter_method)))
    augmenters.append(DetBorrowAug(CastAug()))
    augmenters.extend(
        DetBorrowAug(augmenter) for augmenter in color_augmenters("CreateDetAugmenter", options, exact=True)
    )
    return augmenters
