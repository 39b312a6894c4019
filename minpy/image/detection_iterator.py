"""Batches of pictures with objects in them; these pictures with the objects' boxes drawn into them, by OpenCV."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minpy.core.array import as_raw, raw_of
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    FileFormatError,
    MissingDependencyError,
    MXNetError,
    ShapeError,
    describe,
)
from minpy.image.creating import MEAN, STD, CreateDetAugmenter
from minpy.image.iterator import ImageIter
from minpy.pictures.libraries import opencv

__all__ = ["ImageDetIter", "denormalized", "draw_boxes", "require_opencv"]

_FONT_SCALE, _FONT_THICKNESS, _GAP = 0.5, 2, 5
_WHITE = (255, 255, 255)


def require_opencv(name: str) -> Any:
    """Return OpenCV, or raise."""
    cv2 = opencv()
    if cv2 is None:
        raise MissingDependencyError(
            f"{name} draws with OpenCV, which is not installed. Install it with: "
            "python -m pip install opencv-python-headless"
        )
    return cv2


def denormalized(image: np.ndarray, mean: Any, std: Any, clip: bool) -> np.ndarray:
    """Return an image as it was before its colours were normalized: of uint8, blue first, as OpenCV shows it."""
    pixels = image.astype(np.float32)
    if std is not None and std is not False:
        pixels *= np.asarray(STD if std is True else std, np.float32)
    if mean is not None and mean is not False:
        pixels += np.asarray(MEAN if mean is True else mean, np.float32)
    pixels = pixels[:, :, ::-1]
    if clip:
        pixels = np.clip(pixels, 0, 255)
    return np.ascontiguousarray(pixels.astype(np.int32).astype(np.uint8))


def draw_boxes(
    cv2: Any,
    image: np.ndarray,
    label: np.ndarray,
    color: Sequence[float] | None,
    thickness: int,
    names: Mapping[int, str] | None,
) -> np.ndarray:
    """Draw the boxes of objects, and the names of their classes, into an image; default colours come from
    `numpy.random`.
    """
    height, width = image.shape[:2]
    for number, left, upper, right, lower in label[:, :5]:
        x1, y1, x2, y2 = int(left * width), int(upper * height), int(right * width), int(lower * height)
        ink = np.random.rand(3) * 255 if not color else tuple(color)[::-1]
        cv2.rectangle(image, (x1, y1), (x2, y2), ink, thickness)
        if names is not None and int(number) in names:
            text = names[int(number)]
            font = cv2.FONT_HERSHEY_SIMPLEX
            text_height = cv2.getTextSize(text, font, _FONT_SCALE, _FONT_THICKNESS)[0][1]
            place = (x1 + _GAP, y1 + text_height + _GAP)
            cv2.putText(image, text, place, font, _FONT_SCALE, _WHITE, _FONT_THICKNESS)
    return image


# A label's header says how long it is itself, and how many numbers an object has: two; and an object at least five.
_HEADER, _OBJECT = 2, 5


class _NoObjectError(ShapeError):
    """No object is left of a picture: it is skipped."""


class ImageDetIter(ImageIter):
    """Batches of pictures with objects in them, whose places change with the pictures.

    A picture's label is a row of numbers: how many numbers the header has (2 or more, this one and the next included),
    how many an object has (5 or more), what else is in the header, and then the objects: class, left, upper, right and
    lower border as parts of the picture's width and height, and what else they have. Objects without an area, as those
    of -1, do not count. In a batch each picture has as many objects as the one with most, filled up with -1.

    Parameters
    ----------
    batch_size : int
    data_shape : tuple of three ints
        (channels, height, width) of the pictures in a batch: three channels.
    path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index, num_parts, imglist
        As for `ImageIter`.
    aug_list : list of DetAugmenter, optional
        What changes a picture and its objects; by default `CreateDetAugmenter(data_shape, **kwargs)`.
    data_name, label_name : str
        The names of the inputs of a network.
    last_batch_handle : {'pad', 'discard', 'roll_over'}
        As for `ImageIter`.
    **kwargs
        For `CreateDetAugmenter`: rand_crop, rand_pad, rand_mirror, mean, std, ...

    Attributes
    ----------
    label_shape : tuple of two ints
        The objects of a picture in a batch, and the numbers of each.

    Raises
    ------
    ArgumentError
        As by `ImageIter`, and for a label that is malformed: of which picture.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import minpy as mx
    >>> from minpy.pictures import encode
    >>> folder = tempfile.mkdtemp()
    >>> with open(f'{folder}/a.png', 'wb') as file:
    ...     _ = file.write(encode(np.zeros((40, 50, 3), 'uint8'), '.png', 3))
    >>> label = [2, 5,  0, 0.1, 0.1, 0.4, 0.4,  3, 0.5, 0.5, 1.0, 1.0]
    >>> batches = mx.image.ImageDetIter(batch_size=1, data_shape=(3, 32, 32), imglist=[[label, 'a.png']],
    ...                                 path_root=folder)
    >>> batches.provide_label
    [('label', (1, 2, 5))]
    >>> next(batches).label[0].asnumpy()[0, 1]
    array([3. , 0.5, 0.5, 1. , 1. ], dtype=float32)
    """

    _empty_label = -1

    def __init__(
        self,
        batch_size: int,
        data_shape: Any,
        path_imgrec: Any = None,
        path_imglist: Any = None,
        path_root: Any = None,
        path_imgidx: Any = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Any = None,
        imglist: Any = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        shared = {name: value for name, value in locals().items() if name not in ("self", "aug_list", "kwargs")}
        shared.pop("__class__", None)
        super().__init__(aug_list=[], **shared)
        # The options to make the augmenters from for another shape.
        self._options = kwargs if aug_list is None else None
        self.auglist = [*CreateDetAugmenter(data_shape, **kwargs)] if aug_list is None else aug_list
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    # -- labels --------------------------------------------------------------------------------------------------------

    def _parse_label(self, label: Any) -> np.ndarray:
        """Return the objects of a label, an array of shape (objects, 5 or more)."""
        row = as_raw(label).reshape(-1)
        if row.size < _HEADER + _OBJECT:
            raise ShapeError(
                f"{self._prefix()} has a label of {row.size} numbers; expected 7 or more: how long "
                "the header is (2), how many numbers an object has (5), and the objects."
            )
        header, width = float(row[0]), float(row[1])
        whole = header.is_integer() and width.is_integer()
        if not whole or not _HEADER <= header <= row.size or width < _OBJECT:
            raise ShapeError(
                f"{self._prefix()} has a label that begins with {header:g}, {width:g}; expected how "
                "long the header is, 2 or more, and how many numbers an object has, 5 or more."
            )
        objects = row[int(header) :]
        if objects.size % int(width):
            raise ShapeError(
                f"{self._prefix()} has a label of {row.size} numbers, {int(header)} of them a "
                f"header, and the others are no objects of {int(width)} numbers."
            )
        objects = objects.reshape(-1, int(width))
        valid = (objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])
        if not valid.any():
            raise ShapeError(
                f"{self._prefix()} has no object with an area: {objects[:3].tolist()}. Leave it out of the list."
            )
        return np.asarray(objects[valid])

    def _labels(self) -> Iterator[Any]:
        """Yield the labels of an epoch; pictures in files are not read."""
        if self.imglist is not None and self.seq is not None and type(self).next_sample is ImageIter.next_sample:
            for position, key in enumerate(self.seq, 1):
                self.cur = position
                yield self.imglist[key][0]
            return
        while True:
            try:
                label, _ = self.next_sample()
            except StopIteration:
                return
            yield label

    def _estimate_label_shape(self) -> tuple[int, int]:
        """Return the largest number of objects of a picture, and how many numbers each has."""
        max_objects, width, first = 0, 0, ""
        self.reset()
        for label in self._labels():
            objects = self._parse_label(label)
            if width and objects.shape[1] != width:
                raise ShapeError(
                    f"{type(self).__name__}: objects have {objects.shape[1]} numbers in {self._sample()}, and {width} "
                    f"in {first}; expected the same in all."
                )
            if not width:
                width, first = objects.shape[1], self._sample()
            max_objects = max(max_objects, len(objects))
        if not max_objects:
            raise FileFormatError(f"{type(self).__name__}: there are no pictures: {self.imgrec.uri!r} has no records.")
        self.reset()
        return max_objects, width

    def _check_valid_label(self, label: np.ndarray) -> None:
        """Raise, if no object is left: the picture is skipped then."""
        if label.ndim != 2 or label.shape[1] < _OBJECT:
            raise _NoObjectError(f"{self._prefix()} has a label of shape {label.shape}; expected (objects, 5 or more).")
        valid = (label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])
        if not valid.any():
            raise _NoObjectError(f"{self._prefix()} has no object left.")

    # -- shapes --------------------------------------------------------------------------------------------------------

    def reshape(self, data_shape: Any = None, label_shape: Any = None) -> None:
        """Give the batches that follow other shapes.

        Parameters
        ----------
        data_shape : tuple of three ints, optional
            (3, height, width). Augmenters that were made by this iterator are made again for it.
        label_shape : tuple of two ints, optional
            The objects of a picture, at least as many as now, and the numbers of each.

        Raises
        ------
        ArgumentValueError
            For other numbers.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = tuple(data_shape)
            self.provide_data = [(self._data_name, (self.batch_size, *self.data_shape))]
            if self._options is not None:
                self.auglist = [*CreateDetAugmenter(self.data_shape, **self._options)]
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.label_shape = tuple(label_shape)
            self.provide_label = [(self._label_name, (self.batch_size, *self.label_shape))]

    def check_label_shape(self, label_shape: Any) -> None:
        """Raise, unless labels may have a shape: as many numbers an object, and as many objects or more.

        Parameters
        ----------
        label_shape : tuple of two ints

        Raises
        ------
        ArgumentValueError
        """
        name = type(self).__name__
        if len(label_shape) != 2:
            raise ArgumentValueError(
                f"{name}: label_shape is {label_shape}; it should have length 2: (objects, numbers of each)."
            )
        if label_shape[0] < self.label_shape[0]:
            raise ArgumentValueError(
                f"{name}: label_shape is {tuple(label_shape)}; attempts to reduce the label count from "
                f"{self.label_shape[0]} to {label_shape[0]} are not allowed."
            )
        if label_shape[1] != self.label_shape[1]:
            raise ArgumentValueError(
                f"{name}: label_shape is {tuple(label_shape)}; the objects' width is inconsistent: "
                f"{self.label_shape[1]} vs {label_shape[1]}."
            )

    def sync_label_shape(self, it: Any, verbose: bool = False) -> Any:
        """Give this iterator and another the same label shape, the larger one: of training and validation.

        Parameters
        ----------
        it : ImageDetIter
        verbose : bool
            Whether a change is logged.

        Returns
        -------
        ImageDetIter
            `it`.

        Raises
        ------
        ArgumentError
            If that is no ImageDetIter, or its objects have another number of numbers.
        """
        if not isinstance(it, ImageDetIter):
            raise ArgumentError(f"sync_label_shape: it is {describe(it)}; expected an ImageDetIter.")
        (count, width), (their_count, their_width) = self.label_shape, it.label_shape
        if width != their_width:
            raise ArgumentError(
                f"sync_label_shape: objects have {width} numbers here, and {their_width} there; expected the same."
            )
        larger = max(count, their_count), width
        for iterator in (self, it):
            if iterator.label_shape != larger:
                iterator.reshape(None, larger)
        if verbose and count != their_count:
            logging.info("Resized label_shape to (%d, %d).", *larger)
        return it

    # -- batches -------------------------------------------------------------------------------------------------------

    def _next_picture(self) -> tuple[Any, np.ndarray] | None:
        """Return the next picture and its objects, changed; None if no object is left of it."""
        label, encoded = self.next_sample()
        data = self._decoded(encoded)
        try:
            self.check_valid_image([data])
            data, objects = self.augmentation_transform(data, self._parse_label(label))
            self._check_valid_label(objects)
        except RuntimeError as error:
            if isinstance(error, MXNetError) and not isinstance(error, _NoObjectError):
                raise
            logging.debug("Invalid image, skipping:  %s", error)
            return None
        return data, objects

    def _put_label(self, batch: np.ndarray, position: int, label: Any) -> None:
        if len(label) > batch.shape[1] or label.shape[1] != batch.shape[2]:
            raise ShapeError(
                f"{self._prefix()} has objects of shape {label.shape} after the augmenters; "
                f"expected at most label_shape {self.label_shape}. Use reshape(label_shape=...)."
            )
        batch[position, : len(label)] = label
        batch[position, len(label) :] = -1

    def augmentation_transform(self, data: Any, label: Any) -> tuple[Any, np.ndarray]:  # type: ignore[override]
        """Return a picture and its objects, changed by all augmenters.

        Parameters
        ----------
        data : NDArray
        label : numpy.ndarray
            Of shape (objects, 5 or more).

        Returns
        -------
        NDArray
        numpy.ndarray
        """
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def draw_next(
        self,
        color: Any = None,
        thickness: int = 2,
        mean: Any = None,
        std: Any = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: Any = None,
    ) -> Iterator[np.ndarray]:
        """Yield the pictures that follow, changed, with boxes drawn around their objects by OpenCV.

        Parameters
        ----------
        color : tuple of three ints, optional
            Of the boxes, red first; by default drawn by chance.
        thickness : int
            Of their lines, in pixels.
        mean, std : True, array, or None
            What the augmenters subtract and divide by: undone before.
        clip : bool
            Whether what is below 0 or above 255 is cut off.
        waitKey : int, optional
            For how many milliseconds each picture is shown in a window; by default in none.
        window_name : str
        id2labels : dict, optional
            The names of classes, which are written beside the boxes.

        Yields
        ------
        numpy.ndarray
            Of dtype uint8 and shape (height, width, 3), blue first.

        Raises
        ------
        MissingDependencyError
            If OpenCV is not installed.
        """
        cv2 = require_opencv("draw_next")
        while True:
            try:
                picture = self._next_picture()
            except StopIteration:
                return
            if picture is None:
                continue
            data, objects = picture
            image = denormalized(np.asarray(raw_of(data)), raw_of(mean), raw_of(std), clip)
            image = draw_boxes(cv2, image, objects, color, thickness, id2labels)
            if waitKey is not None:
                cv2.imshow(window_name, image)
                cv2.waitKey(waitKey)
            yield image
