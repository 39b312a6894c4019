"""How `ImageDetRecordIter` changes a picture together with the boxes of the objects in it."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy

from minpy.core.errors import ArgumentValueError
from minpy.io.augmenting import chosen_interpolation, require_interpolation, resize_shorter_edge, shift_hls
from minpy.pictures import resize

__all__ = ["LOWER_LIMITS", "UPPER_LIMITS", "BoxAugmenter", "require_boxes"]

# The quantities that each sampler of crops limits.
_LIMITED_QUANTITIES = ("scales", "aspect_ratios", "overlaps", "sample_coverages", "object_coverages")
LOWER_LIMITS, UPPER_LIMITS = ([f"{end}_crop_{quantity}" for quantity in _LIMITED_QUANTITIES] for end in ("min", "max"))
# Indices of a picture's random draws, which are between 0 and 1.
_INTERPOLATION, _MIRROR, _PAD, _PAD_SCALE, _PAD_X, _PAD_Y, _CROP, _SEED = range(8)
_COLOURS = 8  # probability and amount of hue, light, saturation, contrast
_DRAW_COUNT = 16
# A label is a header of two or more numbers, its own length and that of an object, and then objects: class, left, top,
# right, bottom, and further numbers.
_SHORTEST, _HEAD, _OBJECT = 7, 2, 5


def require_boxes(label: numpy.ndarray) -> tuple[int, int]:
    """Return the lengths of a label's header and of an object in it."""
    if len(label) < _SHORTEST:
        raise ArgumentValueError(
            f"its label has {len(label)} numbers; expected at least {_SHORTEST}: 2 (the length of the head), the "
            "length of an object, and objects (class, left, top, right, bottom)"
        )
    head, width = (int(number) if 0 <= number < 2**24 else 0 for number in label[:2])
    if head < _HEAD or width < _OBJECT or (len(label) - head) % width or len(label) < head:
        raise ArgumentValueError(
            f"its label of {len(label)} numbers says that its head has {head} and an object {width}; expected at least "
            f"{_HEAD} and {_OBJECT}, and a whole number of objects"
        )
    return head, width


def _ratio(part: numpy.ndarray, whole: Any) -> numpy.ndarray:
    return numpy.divide(part, whole, out=numpy.zeros_like(part), where=numpy.asarray(whole) > 0)


class BoxAugmenter:
    """Changes colours, mirrors, pads, crops and resizes each picture with its boxes."""

    draw_count = _DRAW_COUNT

    def __init__(self, function: str, options: SimpleNamespace, label_width: int) -> None:
        require_interpolation(function, options.inter_method)
        self.options = options
        self.label_width = label_width
        for name, modes in (("resize_mode", ("force", "shrink", "fit")), ("crop_emit_mode", ("center", "overlap"))):
            mode = getattr(options, name)
            if mode not in modes:
                *firsts, last = map(repr, modes)
                raise ArgumentValueError(f"{function}: {name} is {mode!r}; expected {', '.join(firsts)} or {last}.")
        self.samplers = []
        for position in range(options.num_crop_sampler if options.rand_crop_prob > 0 else 0):
            values = {}
            for name in (*LOWER_LIMITS, *UPPER_LIMITS, "max_crop_trials"):
                column = getattr(options, name)
                if len(column) not in (1, options.num_crop_sampler):
                    raise ArgumentValueError(
                        f"{function}: {name} has {len(column)} values; expected one, or one for each of the "
                        f"{options.num_crop_sampler} samplers."
                    )
                values[name] = column[0] if len(column) == 1 else column[position]
            for lower, upper in zip(LOWER_LIMITS, UPPER_LIMITS, strict=True):
                if values[lower] > values[upper]:
                    raise ArgumentValueError(
                        f"{function}: {lower} {values[lower]} is larger than {upper} {values[upper]}."
                    )
            self.samplers.append(SimpleNamespace(**values))

    def augment(
        self, image: numpy.ndarray, label: numpy.ndarray, draws: list[float]
    ) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Return a picture and its label."""
        options = self.options
        head, width = require_boxes(label)
        objects = label[head:].reshape(-1, width).copy()
        boxes = objects[:, 1:5]
        # Boxes without an area are no objects.
        objects = objects[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])]
        if options.resize > 0:
            image = resize_shorter_edge(image, options.resize, options.inter_method, draws[_INTERPOLATION])
        image = self._recoloured(image, draws)
        if draws[_MIRROR] < options.rand_mirror_prob:
            image = image[:, ::-1]
            objects[:, [1, 3]] = 1 - objects[:, [3, 1]]
        if options.max_pad_scale > 1 and draws[_PAD] < options.rand_pad_prob:
            image, objects = self._padded(image, objects, draws)
        if draws[_CROP] < options.rand_crop_prob:
            image, objects = self._cropped(image, objects, draws)
        image = self._resized_to_target(image, draws[_INTERPOLATION])
        changed = numpy.concatenate([label[:head], objects.ravel()])
        full = numpy.full(self.label_width + 4, options.label_pad_value, "float32")
        full[:4] = options.data_shape[0], image.shape[0], image.shape[1], len(changed)
        full[4 : 4 + len(changed)] = changed
        return image, full

    def _recoloured(self, image: numpy.ndarray, draws: list[float]) -> numpy.ndarray:
        options = self.options
        amounts = []
        for position, name in enumerate(("hue", "illumination", "saturation", "contrast")):
            chance, amount = draws[_COLOURS + 2 * position : _COLOURS + 2 * position + 2]
            max_amount = getattr(options, f"max_random_{name}")
            is_changed = max_amount and chance < getattr(options, f"random_{name}_prob")
            amounts.append((2 * amount - 1) * max_amount if is_changed else 0.0)
        hue, light, saturation = (int(amount) for amount in amounts[:3])
        if (hue or light or saturation) and image.shape[2] == 3:
            image = shift_hls(image, (hue, light, saturation))
        if amounts[3]:
            image = numpy.rint(image * numpy.float32(1 + amounts[3])).clip(0, 255).astype("uint8")
        return image

    def _padded(
        self, image: numpy.ndarray, objects: numpy.ndarray, draws: list[float]
    ) -> tuple[numpy.ndarray, numpy.ndarray]:
        height, width, channels = image.shape
        scale = 1 + draws[_PAD_SCALE] * (self.options.max_pad_scale - 1)
        new_height, new_width = int(height * scale), int(width * scale)
        x, y = int((new_width - width) * draws[_PAD_X]), int((new_height - height) * draws[_PAD_Y])
        framed = numpy.full((new_height, new_width, channels), self.options.fill_value, "uint8")
        framed[y : y + height, x : x + width] = image
        objects[:, [1, 3]] = (objects[:, [1, 3]] * width + x) / new_width
        objects[:, [2, 4]] = (objects[:, [2, 4]] * height + y) / new_height
        return framed, objects

    def _cropped(
        self, image: numpy.ndarray, objects: numpy.ndarray, draws: list[float]
    ) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Return the first crop that a sampler accepts, or the whole picture: Liu et al., SSD, 2016, section 2.2."""
        height, width = image.shape[:2]
        generator = numpy.random.RandomState(int(draws[_SEED] * 2**24))
        for position in generator.permutation(len(self.samplers)):
            sampler = self.samplers[position]
            for _ in range(int(sampler.max_crop_trials)):
                box = self._random_box(sampler, width / height, generator)
                remaining = self._objects_in(sampler, objects, box)
                if remaining is None:
                    continue
                left, top, right, bottom = box
                x, y = int(left * width), int(top * height)
                piece = image[y : max(int(bottom * height), y + 1), x : max(int(right * width), x + 1)]
                remaining[:, [1, 3]] = ((remaining[:, [1, 3]] - left) / (right - left)).clip(0, 1)
                remaining[:, [2, 4]] = ((remaining[:, [2, 4]] - top) / (bottom - top)).clip(0, 1)
                return piece, remaining
        return image, objects

    @staticmethod
    def _random_box(sampler: SimpleNamespace, shape: float, generator: Any) -> tuple[float, float, float, float]:
        """Return a box, in fractions of the picture."""
        scale = max(generator.uniform(sampler.min_crop_scales, sampler.max_crop_scales), 1e-3)
        low = max(sampler.min_crop_aspect_ratios / shape, scale**2)
        high = min(sampler.max_crop_aspect_ratios / shape, 1 / scale**2)
        ratio = math.sqrt(generator.uniform(low, high) if high > low else low)
        width, height = min(scale * ratio, 1.0), min(scale / ratio, 1.0)
        left, top = generator.uniform(0, 1 - width), generator.uniform(0, 1 - height)
        return left, top, left + width, top + height

    def _objects_in(
        self, sampler: SimpleNamespace, objects: numpy.ndarray, box: tuple[float, float, float, float]
    ) -> numpy.ndarray | None:
        """Return the objects that are in a crop, or None if the sampler rejects it."""
        left, top, right, bottom = box
        boxes = objects[:, 1:5]
        common_width = (numpy.minimum(boxes[:, 2], right) - numpy.maximum(boxes[:, 0], left)).clip(0)
        common_height = (numpy.minimum(boxes[:, 3], bottom) - numpy.maximum(boxes[:, 1], top)).clip(0)
        common_area = common_width * common_height
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        crop_area = (right - left) * (bottom - top)
        coverage = _ratio(common_area, areas)
        fits = numpy.ones(len(objects), bool)
        for name, values in (
            ("overlaps", _ratio(common_area, areas + crop_area - common_area)),
            ("sample_coverages", common_area / crop_area),
            ("object_coverages", coverage),
        ):
            low, high = getattr(sampler, f"min_crop_{name}"), getattr(sampler, f"max_crop_{name}")
            if low > 0 or high < 1:
                fits &= (values >= low) & (values <= high)
        if not fits.any():
            return None
        if self.options.crop_emit_mode == "center":
            x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
            inside = (x >= left) & (x <= right) & (y >= top) & (y <= bottom)
        else:
            inside = coverage > self.options.emit_overlap_thresh
        remaining: numpy.ndarray = objects[inside]
        return remaining if len(remaining) else None

    def _resized_to_target(self, image: numpy.ndarray, number: float) -> numpy.ndarray:
        options = self.options
        _, target_height, target_width = options.data_shape
        height, width = image.shape[:2]
        new_width, new_height = target_width, target_height
        if options.resize_mode != "force":
            share = min(target_width / width, target_height / height)
            if options.resize_mode == "shrink":
                share = min(share, 1.0)
            new_width = min(max(int(width * share + 1e-6), 1), target_width)
            new_height = min(max(int(height * share + 1e-6), 1), target_height)
        if (new_width, new_height) == (width, height):
            return image
        method = chosen_interpolation(options.inter_method, number, (width, height), (new_width, new_height))
        return resize(image, new_width, new_height, method)
