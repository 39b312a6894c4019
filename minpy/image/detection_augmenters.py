"""Augmenters of pictures with objects in them: those that move pixels move the objects' boxes as well.

A label is an array of shape (objects, 5 or more): class, left, upper, right and lower border, as fractions of the
picture's width and height; further columns are free. Random numbers come from Python's `random`, in MXNet's order.
"""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np

from minpy.base import numeric_types
from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.image.augmenters import Augmenter, Described, flipped
from minpy.image.cropping import fixed_crop
from minpy.image.pixels import height_and_width
from minpy.image.sizes import copyMakeBorder

__all__ = [
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
]

# Just below a half, so that a size rounded afterwards stays within the picture.
_BELOW_HALF = 0.4999999
# Boxes and crops of no more pixels than this are ignored.
_MIN_PIXELS = 2


class DetAugmenter(Described):
    """What changes a picture and its label. One of your own derives from it and defines `__call__(self, src, label)`.

    Parameters
    ----------
    **kwargs
        What `dumps` shows.

    Examples
    --------
    >>> import minpy as mx
    >>> class OneClass(mx.image.DetAugmenter):
    ...     def __call__(self, src, label):
    ...         label[:, 0] = 0
    ...         return src, label
    >>> OneClass().dumps()
    '["oneclass", {}]'
    """

    def __call__(self, src: Any, label: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __call__(self, src, label), which returns a picture and a label."
        )


class DetBorrowAug(DetAugmenter):
    """Changes the picture by an augmenter that moves no pixels; the label stays.

    Parameters
    ----------
    augmenter : Augmenter

    Examples
    --------
    >>> import minpy as mx
    >>> import numpy as np
    >>> image, label = mx.image.DetBorrowAug(mx.image.CastAug())(mx.nd.zeros((4, 4, 3), dtype='uint8'), np.ones((1, 5)))
    >>> image.dtype
    <class 'numpy.float32'>
    """

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise ArgumentError(f"DetBorrowAug: augmenter is {describe(augmenter)}; expected an Augmenter.")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> list[Any]:
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: Any, label: Any) -> Any:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, drawn each time; or none.

    Parameters
    ----------
    aug_list : list of DetAugmenter
    skip_prob : float
        The probability that none is applied.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.DetRandomSelectAug([mx.image.DetHorizontalFlipAug(1)], skip_prob=0.5).dumps()
    ['detrandomselectaug', ['["dethorizontalflipaug", {"p": 1}]']]
    """

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        if not isinstance(aug_list, (list, tuple)):
            aug_list = [aug_list]
        for augmenter in aug_list:
            if not isinstance(augmenter, DetAugmenter):
                raise ArgumentValueError(
                    f"DetRandomSelectAug: aug_list holds {describe(augmenter)}; expected DetAugmenters. Put "
                    "DetBorrowAug around an Augmenter."
                )
        self.aug_list = list(aug_list)
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> list[Any]:
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src: Any, label: Any) -> Any:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Exchanges left and right of a picture, and of its boxes, in place.

    Parameters
    ----------
    p : float
        The probability of a flip.

    Examples
    --------
    >>> import minpy as mx
    >>> import numpy as np
    >>> mx.image.DetHorizontalFlipAug(1)(mx.nd.zeros((4, 4, 3)), np.array([[0, 0.25, 0.5, 0.5, 1]]))[1]
    array([[0.  , 0.5 , 0.5 , 0.75, 1.  ]])
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: Any, label: Any) -> Any:
        if random.random() < self.p:
            src = flipped(src)
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label


def areas(boxes: np.ndarray) -> np.ndarray:
    """Return the areas of boxes, an array of shape (n, 4); 0 for those whose borders are in the wrong order."""
    sides = np.maximum(boxes[:, 2:4] - boxes[:, :2], 0)
    return np.asarray(sides[:, 0] * sides[:, 1])


def _read_range(name: str, field: str, value: Any) -> tuple[float, float]:
    """Return a pair of limits; a single number is both."""
    if isinstance(value, numeric_types):
        return value, value  # type: ignore[return-value]
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ArgumentError(
            f"{name}: {field} is {describe(value)}; expected a number, or the smallest and the largest."
        )
    return tuple(value)


class _RandomBox(DetAugmenter):
    """An augmenter that draws a box with a ratio and an area within limits, in up to `max_attempts` attempts."""

    _area_noun, _min_area = "areas", 0.0  # what messages call the areas, which have to be larger than this
    aspect_ratio_range: tuple[float, float]
    area_range: tuple[float, float]
    max_attempts: int

    def __init__(self, **kwargs: Any) -> None:
        name = type(self).__name__
        for limits in ("aspect_ratio_range", "area_range"):
            kwargs[limits] = _read_range(name, limits, kwargs[limits])
        super().__init__(**kwargs)
        vars(self).update(kwargs)
        problem = ""
        if self.area_range[1] <= self._min_area or not 0 <= self.area_range[0] <= self.area_range[1]:
            problem = f"area_range {self.area_range} holds no {self._area_noun}"
        elif not 0 < self.aspect_ratio_range[0] <= self.aspect_ratio_range[1]:
            problem = f"aspect_ratio_range {self.aspect_ratio_range} holds no ratios"
        self.enabled = not problem
        if problem:
            warnings.warn(f"{name}: {problem}. It leaves all pictures as they are.", UserWarning, stacklevel=3)

    def _limits(self, height: int, width: int) -> tuple[float, float]:
        """Return the smallest and largest area of a box, in pixels."""
        return self.area_range[0] * height * width, self.area_range[1] * height * width


class DetRandomCropAug(_RandomBox):
    """Takes a part of a picture that covers objects well enough; objects of which little is left go.

    Parts are drawn as by TensorFlow's `sample_distorted_bounding_box`: a ratio, a height, a position, until one meets
    the conditions. If none does, the picture stays as it is.

    Parameters
    ----------
    min_object_covered : float
        The part has to hold more than this fraction of each object that it touches.
    aspect_ratio_range : tuple of two floats
        The smallest and largest ratio of width to height of the part.
    area_range : tuple of two floats
        The smallest and largest part of the picture's area.
    min_eject_coverage : float
        Objects of which no more than this fraction is left are removed.
    max_attempts : int
        How many parts are drawn.

    Examples
    --------
    >>> import minpy as mx
    >>> import numpy as np
    >>> crop = mx.image.DetRandomCropAug(min_object_covered=0.5, area_range=(0.5, 1))
    >>> image, label = crop(mx.nd.zeros((40, 60, 3)), np.array([[3, 0.25, 0.25, 0.75, 0.75]]))
    >>> float(label[0, 0]), label.shape
    (3.0, (1, 5))
    """

    min_object_covered: float
    min_eject_coverage: float

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )

    def __call__(self, src: Any, label: Any) -> Any:
        height, width = height_and_width("DetRandomCropAug", src)
        proposal = self._random_crop_proposal(label, height, width)
        if not proposal:
            return src, label
        x, y, part_width, part_height, label = proposal
        return fixed_crop(src, x, y, part_width, part_height, None), label

    def _intersect(self, label: np.ndarray, xmin: float, ymin: float, xmax: float, ymax: float) -> np.ndarray:
        """Return the boxes within another; those that do not touch it become zeros."""
        lower = np.maximum(label[:, :2], (xmin, ymin))
        upper = np.minimum(label[:, 2:4], (xmax, ymax))
        boxes = np.concatenate([lower, upper], axis=1)
        boxes[(lower >= upper).any(axis=1)] = 0
        return boxes

    def _check_satisfy_constraints(
        self, label: np.ndarray, xmin: float, ymin: float, xmax: float, ymax: float, width: int, height: int
    ) -> bool:
        """Tell whether a part, given in pixels, covers enough of every object that it touches, and touches one."""
        if (xmax - xmin) * (ymax - ymin) < _MIN_PIXELS:
            return False
        boxes = label[:, 1:5]
        full_areas = areas(boxes)
        large = full_areas * (width * height) > _MIN_PIXELS
        if not large.any():
            return False
        overlaps = self._intersect(boxes[large], xmin / width, ymin / height, xmax / width, ymax / height)
        coverages = areas(overlaps) / full_areas[large]
        coverages = coverages[coverages > 0]
        return bool(coverages.size > 0 and coverages.min() > self.min_object_covered)

    def _update_labels(
        self, label: np.ndarray, crop_box: tuple[int, int, int, int], height: int, width: int
    ) -> np.ndarray | None:
        """Return the objects as they lie in a part (x, y, width, height, in pixels), or None if none is left."""
        x, y, part_width, part_height = crop_box[0], crop_box[1], crop_box[2], crop_box[3]
        corner = np.array([x / width, y / height] * 2)
        size = np.array([part_width / width, part_height / height] * 2)
        result = label.copy()
        result[:, 1:5] = np.clip((result[:, 1:5] - corner) / size, 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # objects without an area
            coverage = areas(result[:, 1:5]) * size[0] * size[1] / areas(label[:, 1:5])
        visible = (result[:, 3] > result[:, 1]) & (result[:, 4] > result[:, 2]) & (coverage > self.min_eject_coverage)
        return result[visible] if visible.any() else None

    def _random_crop_proposal(self, label: np.ndarray, height: int, width: int) -> tuple[Any, ...]:
        """Return x, y, width, height and the label of a part that meets the conditions; or nothing."""
        if not self.enabled or height <= 0 or width <= 0:
            return ()
        smallest, largest = self._limits(height, width)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            max_height = round(math.sqrt(largest / ratio))
            if round(max_height * ratio) > width:
                max_height = int((width + _BELOW_HALF) / ratio)
            max_height = min(max_height, height)
            part_height = min(round(math.sqrt(smallest / ratio)), max_height)
            if part_height < max_height:
                part_height = random.randint(part_height, max_height)
            part_width = round(part_height * ratio)
            if part_width * part_height < smallest:
                part_height += 1
                part_width = round(part_height * ratio)
            if part_width * part_height > largest:
                part_height -= 1
                part_width = round(part_height * ratio)
            within = smallest <= part_width * part_height <= largest
            if not (within and 0 <= part_width <= width and 0 <= part_height <= height):
                continue
            y = random.randint(0, max(0, height - part_height))
            x = random.randint(0, max(0, width - part_width))
            if self._check_satisfy_constraints(label, x, y, x + part_width, y + part_height, width, height):
                result = self._update_labels(label, (x, y, part_width, part_height), height, width)
                if result is not None:
                    return x, y, part_width, part_height, result
        return ()


class DetRandomPadAug(_RandomBox):
    """Puts a picture somewhere on a larger one of one colour: objects become smaller.

    Parameters
    ----------
    aspect_ratio_range : tuple of two floats
        The smallest and largest ratio of width to height of the larger picture.
    area_range : tuple of two floats
        Its smallest and largest area, as multiples of the picture's.
    max_attempts : int
        How many sizes are drawn; if none will do, the picture stays as it is.
    pad_val : tuple of three floats, or float
        Its colour.

    Examples
    --------
    >>> import minpy as mx
    >>> import numpy as np
    >>> pad = mx.image.DetRandomPadAug(area_range=(4, 4))
    >>> image, label = pad(mx.nd.zeros((40, 40, 3)), np.array([[3, 0.0, 0.0, 1.0, 1.0]]))
    >>> image.size > 6000 and bool(label[0, 3] - label[0, 1] < 0.75)
    True
    """

    _area_noun, _min_area = "larger areas", 1.0
    pad_val: Any

    def __init__(
        self,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:
        if not isinstance(pad_val, (list, tuple)) and not isinstance(pad_val, numeric_types):
            raise ArgumentError(f"DetRandomPadAug: pad_val is {describe(pad_val)}; expected one or three numbers.")
        super().__init__(
            aspect_ratio_range=aspect_ratio_range, area_range=area_range, max_attempts=max_attempts, pad_val=pad_val
        )

    def __call__(self, src: Any, label: Any) -> Any:
        height, width = height_and_width("DetRandomPadAug", src)
        proposal = self._random_pad_proposal(label, height, width)
        if not proposal:
            return src, label
        x, y, new_width, new_height, label = proposal
        color = self.pad_val if isinstance(self.pad_val, (list, tuple)) else (self.pad_val,)
        if len(color) == 1:
            color = tuple(color) * int(src.shape[2])
        src = copyMakeBorder(src, y, new_height - y - height, x, new_width - x - width, type=0, values=color)
        return src, label

    def _update_labels(
        self, label: np.ndarray, pad_box: tuple[int, int, int, int], height: int, width: int
    ) -> np.ndarray:
        """Return the objects as they lie in a larger picture; `pad_box` is x, y, width and height, in pixels."""
        x, y, new_width, new_height = pad_box
        result = label.copy()
        result[:, 1:5] = (result[:, 1:5] * ([width, height] * 2) + [x, y] * 2) / ([new_width, new_height] * 2)
        return result

    def _random_pad_proposal(self, label: np.ndarray, height: int, width: int) -> tuple[Any, ...]:
        """Return x, y, width, height of a larger picture and the label in it; or nothing."""
        if not self.enabled or height <= 0 or width <= 0:
            return ()
        smallest, largest = self._limits(height, width)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            new_height = round(math.sqrt(smallest / ratio))
            max_height = round(math.sqrt(largest / ratio))
            if round(new_height * ratio) < width:
                new_height = int((width + _BELOW_HALF) / ratio)
            new_height = min(max(new_height, height), max_height)
            if new_height < max_height:
                new_height = random.randint(new_height, max_height)
            new_width = round(new_height * ratio)
            if new_height - height < _MIN_PIXELS or new_width - width < _MIN_PIXELS:
                continue
            y = random.randint(0, max(0, new_height - height))
            x = random.randint(0, max(0, new_width - width))
            return x, y, new_width, new_height, self._update_labels(label, (x, y, new_width, new_height), height, width)
        return ()
