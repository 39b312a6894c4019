"""Iterators over pictures in RecordIO files, with labels or with boxes of objects, and their arguments."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, ShapeError
from minpy.io.augmenting import Augmenter, Normalizer, saved_mean
from minpy.io.box_augmenting import LOWER_LIMITS, UPPER_LIMITS, BoxAugmenter
from minpy.io.mxdata_iter import ITERATOR, REQUIRED, MXDataIter, arguments, parsed
from minpy.io.picture_batches import LabelReader, PictureBatches
from minpy.io.record_files import RecordFiles, label_list
from minpy.ndarray.creation import array
from minpy.ndarray.saving import save

__all__ = [
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
]

# The arguments of all iterators over pictures.
_SHARED = {
    **arguments("str", path_imglist="", path_imgrec="", aug_seq="", mean_img=""),
    **arguments("str", data_name="data", label_name="softmax_label"),
    **arguments("shape", data_shape=REQUIRED),
    **arguments("count", batch_size=REQUIRED, shuffle_chunk_size=0, prefetch_buffer=4),
    **arguments("int", label_width=1, preprocess_threads=4, num_parts=1, part_index=0),
    **arguments("int", shuffle_chunk_seed=0, seed=0, resize=-1, inter_method=1),
    **arguments("bool", verbose=True, shuffle=False, round_batch=True),
    **arguments("float", mean_r=0.0, mean_g=0.0, mean_b=0.0, mean_a=0.0),
    **arguments("float", std_r=1.0, std_g=1.0, std_b=1.0, std_a=1.0, scale=1.0),
    **arguments("any", ctx="cpu", name=None),
    **arguments("dtype", dtype=None),
}

_CLASSIFICATION = {
    **_SHARED,
    **arguments("str", path_imgidx=""),
    **arguments("int", device_id=0, random_h=0, random_s=0, random_l=0, rotate=-1, max_rotate_angle=0),
    **arguments("int", max_crop_size=-1, min_crop_size=-1, fill_value=255, pad=0),
    **arguments("int?", seed_aug=None),
    **arguments("bool", rand_crop=False, random_resized_crop=False, mirror=False, rand_mirror=False),
    **arguments("float", max_aspect_ratio=0.0, max_shear_ratio=0.0, max_random_scale=1.0, min_random_scale=1.0),
    **arguments("float", max_random_area=1.0, min_random_area=1.0, max_img_size=1e10, min_img_size=0.0),
    **arguments("float", brightness=0.0, contrast=0.0, saturation=0.0, pca_noise=0.0),
    **arguments("float", max_random_contrast=0.0, max_random_illumination=0.0),
    **arguments("float?", min_aspect_ratio=None),
}


def _require_picture_shape(function: str, shape: tuple[int, ...]) -> None:
    """Raise an error unless a shape is that of a picture."""
    if len(shape) != 3 or shape[0] not in (1, 3, 4):
        raise ShapeError(
            f"{function}: data_shape is {shape}; expected (channels, height, width), of 1, 3 or 4 channels."
        )


def _records_and_labels(function: str, options: SimpleNamespace) -> tuple[RecordFiles, LabelReader]:
    """Return the records of an iterator and the reader of their labels."""
    if not options.path_imgrec:
        raise ArgumentValueError(f"{function}: path_imgrec is empty; expected the name of a RecordIO file.")
    listed_labels = label_list(function, options.path_imglist) if options.path_imglist else None
    records = RecordFiles(function, options.path_imgrec, getattr(options, "path_imgidx", ""))
    return records, LabelReader(function, records, listed_labels, options.label_width, options.path_imglist)


def _with_mean(function: str, options: SimpleNamespace, normalizer: Normalizer, source: PictureBatches) -> None:
    """Give a normalizer the mean picture in a file, which is written first if it does not exist."""
    if not options.mean_img:
        return
    if not os.path.exists(options.mean_img):
        save(options.mean_img, {"mean_img": array(source.mean_picture())})
    normalizer.mean_picture = saved_mean(function, options.mean_img, options.data_shape)


def _record_iterator(function: str, args: tuple[Any, ...], kwargs: dict[str, Any], dtype: str) -> MXDataIter:
    options = parsed(function, _CLASSIFICATION, args, kwargs)
    _require_picture_shape(function, options.data_shape)
    if options.label_width < 1:
        raise ArgumentValueError(f"{function}: label_width is {options.label_width}; expected at least 1.")
    normalizer = Normalizer(options, options.dtype or dtype)
    augmenter = Augmenter(function, options)
    records, labels = _records_and_labels(function, options)
    source = PictureBatches(function, options, records, labels, augmenter, normalizer, (options.label_width,))
    _with_mean(function, options, normalizer, source)
    return MXDataIter(source, options.data_name, options.label_name)


@documented(iterator=ITERATOR)
def ImageRecordIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Return an iterator over pictures in a RecordIO file, as `im2rec` or `recordio.pack_img` write them.

    Threads decode and augment pictures ahead of the reader; their order is kept. Random choices depend on the seed
    alone, not on the threads. A picture is resized, rotated, padded, cropped to the target's size, its colours are
    changed, it is mirrored, and its values are normalized: each step only if its arguments are set.

    Parameters
    ----------
    path_imgrec : str
        The file, or a folder, all of whose files `*.rec` are read.
    path_imgidx : str
        Its index, without which the whole file is scanned for records.
    path_imglist : str
        A list of labels by the pictures' ids, which replace those in the records.
    data_shape : tuple of int
        (channels, height, width) of a picture: of 1 channel (gray), 3, or 4.
    label_width : int
        How many labels a picture has.
    batch_size : int
    round_batch : bool
        Whether the last batch is filled up with the first pictures, with which the next epoch does not begin then.
        Else it is filled up with zeros. `pad` says how many that are.
    shuffle : bool
        Whether each epoch has another random order.
    seed, seed_aug : int
        Seeds of the orders, and of the augmentations (`seed` by default).
    num_parts, part_index : int
        Into how many parts the data is divided, and which one is read: for several machines.
    preprocess_threads : int
        How many threads decode.
    prefetch_buffer : int
        How many batches are prepared ahead.
    dtype : {'float32', 'int8', 'uint8'}
        Of the data.
    resize : int
        The length that the shorter edge is first resized to.
    rand_crop : bool
        Whether the crop is at a random place, not in the middle.
    random_resized_crop : bool
        Whether a crop of random area (`min_random_area` to `max_random_area` of the picture) and ratio
        (`min_aspect_ratio` to `max_aspect_ratio`, or `1 - max_aspect_ratio` to `1 + max_aspect_ratio`) is resized to
        the target's size.
    min_crop_size, max_crop_size : int
        Limits of the side of a square crop, which is then resized.
    max_rotate_angle, rotate : int
        The largest angle of rotation in degrees, or the exact one.
    max_aspect_ratio, min_aspect_ratio, max_shear_ratio, max_random_scale, min_random_scale : float
        Limits of stretching, shearing and scaling.
    max_img_size, min_img_size : float
        Limits of width and height after that.
    pad, fill_value : int
        How many pixels are added at each side, and their colour; rotation fills corners with it, too.
    inter_method : int
        0 (nearest), 1 (bilinear), 2 (cubic), 3 (area), 4 (Lanczos), 9 (by the sizes), 10 (at random).
    brightness, contrast, saturation, pca_noise : float
        The largest relative change of each; the standard deviation of the noise.
    random_h, random_s, random_l : int
        The largest change of hue (of 180), saturation and lightness (of 255).
    mirror, rand_mirror : bool
        Whether pictures are mirrored: all, or half of them.
    mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale : float
        A value becomes `(value - mean) * scale / std`.
    mean_img : str
        The file of a mean picture that is subtracted instead; it is written if it does not exist.
    max_random_contrast, max_random_illumination : float
        The largest distances of contrast from 1 and illumination from 0 in `(value - mean) * contrast + illumination`,
        before scaling.
    data_name, label_name : str
    verbose, device_id, ctx, aug_seq, shuffle_chunk_size, shuffle_chunk_seed, name
        Without effect.

    {iterator}
    FileFormatError
        If a record or its picture is damaged, or has not `label_width` labels; also by `next`.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from minpy import io, recordio
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, 'squares.rec')
    >>> with recordio.MXRecordIO(path, 'w') as file:
    ...     for label in range(3):
    ...         picture = np.full((8, 8, 3), 80 * label, 'uint8')
    ...         file.write(recordio.pack_img(recordio.IRHeader(0, label, label, 0), picture, 3, '.png'))
    >>> batches = io.ImageRecordIter(path_imgrec=path, data_shape=(3, 6, 6), batch_size=2, scale=0.5)
    >>> batch = batches.next()
    >>> batch.data[0].shape, batch.data[0][:, 0, 0, 0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()
    ((2, 3, 6, 6), [0.0, 40.0], [0.0, 1.0])
    >>> folder.cleanup()
    """
    return _record_iterator("ImageRecordIter", args, kwargs, "float32")


def _variant(name: str, dtype: str, summary: str) -> Callable[..., MXDataIter]:
    """Return an iterator that differs from `ImageRecordIter` in its name and dtype."""

    def iterator(*args: Any, **kwargs: Any) -> MXDataIter:
        return _record_iterator(name, args, kwargs, dtype)

    iterator.__name__ = iterator.__qualname__ = name
    iterator.__doc__ = f"""{summary}

    Parameters
    ----------
    *args, **kwargs
        As those of `ImageRecordIter`.

    Returns
    -------
    MXDataIter
    """
    return iterator


_DTYPE_SUMMARY = "Return an iterator as `ImageRecordIter` does, whose data are of {0}: `ImageRecordIter(dtype='{0}')`."
_ALIAS_SUMMARY = "Return what `{}` returns: the name of an older iterator."
ImageRecordUInt8Iter = _variant("ImageRecordUInt8Iter", "uint8", _DTYPE_SUMMARY.format("uint8"))
ImageRecordInt8Iter = _variant("ImageRecordInt8Iter", "int8", _DTYPE_SUMMARY.format("int8"))
ImageRecordIter_v1 = _variant("ImageRecordIter_v1", "float32", _ALIAS_SUMMARY.format("ImageRecordIter"))
ImageRecordUInt8Iter_v1 = _variant("ImageRecordUInt8Iter_v1", "uint8", _ALIAS_SUMMARY.format("ImageRecordUInt8Iter"))


_DETECTION = {
    **_SHARED,
    **arguments("str", path_imgrec="./data/imgrec.rec", crop_emit_mode="center", resize_mode="force"),
    **arguments("int", label_width=-1, label_pad_width=0, fill_value=127),
    **arguments("int", max_random_hue=0, max_random_saturation=0, max_random_illumination=0),
    **arguments("float", random_hue_prob=0.0, random_saturation_prob=0.0, random_illumination_prob=0.0),
    **arguments("float", max_random_contrast=0.0, random_contrast_prob=0.0, label_pad_value=-1.0),
    **arguments("float", rand_mirror_prob=0.0, rand_crop_prob=0.0, emit_overlap_thresh=0.3),
    **arguments("float", rand_pad_prob=0.0, max_pad_scale=1.0, std_r=0.0, std_g=0.0, std_b=0.0, std_a=0.0),
    **arguments("count", num_crop_sampler=1),
    **dict.fromkeys(LOWER_LIMITS, ("floats", (0.0,))),
    **dict.fromkeys(UPPER_LIMITS, ("floats", (1.0,))),
    **arguments("floats", min_crop_aspect_ratios=(1.0,), max_crop_trials=(25.0,)),
}


def _longest_label(function: str, options: SimpleNamespace, records: RecordFiles, labels: LabelReader) -> int:
    """Return the length that labels are padded to."""
    if options.label_width > 0:
        longest = options.label_width
    elif labels.listed_labels is not None:
        longest = max((len(label) for label in labels.listed_labels.values()), default=0)
    else:
        longest = max(records.label_count(number) for number in range(len(records)))
    if 0 < options.label_pad_width < longest:
        raise ArgumentValueError(
            f"{function}: label_pad_width is {options.label_pad_width}; the longest label has {longest} numbers. Give "
            "at least that, or -1."
        )
    return max(longest, options.label_pad_width)


@documented(iterator=ITERATOR)
def ImageDetRecordIter(*args: Any, **kwargs: Any) -> MXDataIter:
    """Return an iterator over pictures in a RecordIO file whose labels are boxes.

    A label in a record is the length of its header (2 or more), the length of an object (5 or more), the rest of the
    header, and the objects: class, left, top, right, bottom as fractions of the picture, and further numbers. In a
    batch, the channels, height and width of the picture and the count of the numbers that follow come before it, and
    all labels are padded to the length of the longest.

    Parameters
    ----------
    path_imgrec, path_imglist, batch_size, round_batch, shuffle, seed, num_parts, part_index, preprocess_threads
        As of `ImageRecordIter`.
    data_shape : tuple of int
        (channels, height, width) of a picture.
    label_width : int
        How many numbers each label has; -1 for labels of different lengths.
    label_pad_width : int
        The least length that labels are padded to.
    label_pad_value : float
        The number that they are padded with.
    resize : int
        The length that the shorter edge is first resized to.
    resize_mode : {'force', 'shrink', 'fit'}
        Whether a picture is stretched to the target's size, or keeps its ratio and is only reduced, or reduced or
        enlarged, to fit into it; the remaining pixels are 0.
    rand_mirror_prob, rand_pad_prob, rand_crop_prob : float
        The probabilities that a picture is mirrored, put into a frame of up to `max_pad_scale` times its size, or
        cropped.
    max_pad_scale : float
    fill_value : int
        The colour of the frame.
    num_crop_sampler : int
        How many samplers of crops there are; they are tried in random order.
    min_crop_scales, max_crop_scales, min_crop_aspect_ratios, max_crop_aspect_ratios : tuple of float
        For each sampler: the square root of the crop's share of the picture's area, and the crop's aspect ratio.
    min_crop_overlaps, max_crop_overlaps : tuple of float
        Limits of the intersection of the crop and an object's box over their union. One object has to be within all
        limits.
    min_crop_sample_coverages, max_crop_sample_coverages : tuple of float
        Limits of the share of the crop that an object covers.
    min_crop_object_coverages, max_crop_object_coverages : tuple of float
        Limits of the share of an object that is in the crop.
    max_crop_trials : tuple of int
        After how many rejected crops the next sampler is tried.
    crop_emit_mode : {'center', 'overlap'}
        Whether an object stays if its centre is in the crop, or if more of it than `emit_overlap_thresh` is.
    emit_overlap_thresh : float
    max_random_hue, max_random_saturation, max_random_illumination : int
        The largest changes of hue, saturation and lightness.
    max_random_contrast : float
        The largest relative change of all values.
    random_hue_prob, random_saturation_prob, random_illumination_prob, random_contrast_prob : float
        The probabilities of these changes.
    inter_method, mean_img, mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a, scale, dtype, prefetch_buffer
        As of `ImageRecordIter`; a standard deviation of 0 is 1.
    data_name, label_name : str
    verbose, ctx, aug_seq, shuffle_chunk_size, shuffle_chunk_seed, name
        Without effect.

    {iterator}
    FileFormatError
        If a record or its picture is damaged; also by `next`, which raises an ArgumentError for a label without boxes.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from minpy import io, recordio
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, 'boxes.rec')
    >>> with recordio.MXRecordIO(path, 'w') as file:
    ...     label = [2, 5, 1, 0.25, 0.25, 0.5, 0.75]
    ...     picture = np.zeros((8, 8, 3), 'uint8')
    ...     file.write(recordio.pack_img(recordio.IRHeader(0, label, 0, 0), picture, 3, '.png'))
    >>> batches = io.ImageDetRecordIter(path_imgrec=path, data_shape=(3, 4, 4), batch_size=1, rand_mirror_prob=1)
    >>> batches.next().label[0].asnumpy().tolist()
    [[3.0, 4.0, 4.0, 7.0, 2.0, 5.0, 1.0, 0.5, 0.25, 0.75, 0.75]]
    >>> folder.cleanup()
    """
    function = "ImageDetRecordIter"
    options = parsed(function, _DETECTION, args, kwargs)
    _require_picture_shape(function, options.data_shape)
    normalizer = Normalizer(options, options.dtype or "float32", is_random=False)  # contrast is the boxes' augmenter's
    records, labels = _records_and_labels(function, options)
    width = _longest_label(function, options, records, labels)
    source = PictureBatches(
        function, options, records, labels, BoxAugmenter(function, options, width), normalizer, (width + 4,)
    )
    _with_mean(function, options, normalizer, source)
    return MXDataIter(source, options.data_name, options.label_name)
