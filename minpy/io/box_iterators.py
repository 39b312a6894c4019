"""Iterators over pictures in RecordIO files, with the boxes of what is to be seen in them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError
from minpy.io.augmenting import Normalizer
from minpy.io.box_augmenting import LOWER_LIMITS, UPPER_LIMITS, BoxAugmenter
from minpy.io.mxdata_iter import ITERATOR, MXDataIter, arguments, parsed
from minpy.io.picture_batches import LabelReader, PictureBatches
from minpy.io.picture_iterators import SHARED, opened, require_picture_shape, with_mean
from minpy.io.record_files import RecordFiles

__all__ = ["ImageDetRecordIter"]

_TABLE = {
    **SHARED,
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


def _width(function: str, options: SimpleNamespace, records: RecordFiles, labels: LabelReader) -> int:
    """Return how many numbers labels are filled up to."""
    if options.label_width > 0:
        longest = options.label_width
    elif labels.listed is not None:
        longest = max((len(label) for label in labels.listed.values()), default=0)
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

    A label in a record is the length of its head (2 and more), the length of an object (5 and more), the rest of the
    head, and the objects: class, left, top, right, bottom in shares of the picture, and what else they have. In a batch
    stand before it the number of channels, height and width of the picture, and how many numbers follow; all labels are
    filled up to the length of the longest.

    Parameters
    ----------
    path_imgrec, path_imglist, batch_size, round_batch, shuffle, seed, num_parts, part_index, preprocess_threads
        As of `ImageRecordIter`.
    data_shape : tuple of int
        (channels, height, width) of a picture.
    label_width : int
        How many numbers each label has; -1 for labels of different lengths.
    label_pad_width : int
        What labels are filled up to at least.
    label_pad_value : float
        By what they are filled up.
    resize : int
        How long the shorter edge is made first.
    resize_mode : {'force', 'shrink', 'fit'}
        Whether a picture gets the target's size in any case, or keeps its ratio and is made smaller, or smaller and
        larger, to fit in; the rest is 0 then.
    rand_mirror_prob, rand_pad_prob, rand_crop_prob : float
        How probable it is that a picture is mirrored, is put into a frame of up to `max_pad_scale` times its size, or a
        piece is cut out.
    max_pad_scale : float
    fill_value : int
        The colour of the frame.
    num_crop_sampler : int
        How many samplers of pieces there are, which are asked in random order.
    min_crop_scales, max_crop_scales, min_crop_aspect_ratios, max_crop_aspect_ratios : tuple of float
        For each sampler: the root of the piece's share of the picture, and its ratio.
    min_crop_overlaps, max_crop_overlaps : tuple of float
        Limits of the intersection of the piece and an object's box over their union. One object has to be within all
        limits.
    min_crop_sample_coverages, max_crop_sample_coverages : tuple of float
        Limits of the share of the piece that an object covers.
    min_crop_object_coverages, max_crop_object_coverages : tuple of float
        Limits of the share of an object that is in the piece.
    max_crop_trials : tuple of int
        After how many pieces that do not fit the next sampler is asked.
    crop_emit_mode : {'center', 'overlap'}
        Whether an object stays if its centre is in the piece, or if more of it than `emit_overlap_thresh` is.
    emit_overlap_thresh : float
    max_random_hue, max_random_saturation, max_random_illumination : int
        By how much hue, saturation and lightness are changed at most.
    max_random_contrast : float
        By which share all values are changed at most.
    random_hue_prob, random_saturation_prob, random_illumination_prob, random_contrast_prob : float
        How probable these are.
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
    options = parsed(function, _TABLE, args, kwargs)
    require_picture_shape(function, options.data_shape)
    normalizer = Normalizer(options, options.dtype or "float32", is_random=False)  # contrast is the boxes' augmenter's
    records, labels = opened(function, options)
    width = _width(function, options, records, labels)
    source = PictureBatches(
        function, options, records, labels, BoxAugmenter(function, options, width), normalizer, (width + 4,)
    )
    with_mean(function, options, normalizer, source)
    return MXDataIter(source, options.data_name, options.label_name)
