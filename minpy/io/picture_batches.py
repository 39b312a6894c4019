"""Batches of pictures from records, decoded and augmented by threads ahead of the reader, in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy

from minpy.core.errors import ArgumentError, ArgumentValueError, FileFormatError, MXNetError
from minpy.io.augmenting import Augmenter, Normalizer
from minpy.io.box_augmenting import BoxAugmenter
from minpy.io.data_iter import require_process
from minpy.io.mxdata_iter import Batch, Plan, Schedule, Start
from minpy.io.record_files import RecordFiles
from minpy.io.text_files import require_batch_size, require_part
from minpy.pictures import decode
from minpy.pictures.coding import decoder

__all__ = ["LabelReader", "PictureBatches"]

# The flags of `decode` by the number of channels.
_DECODE_FLAGS = {1: 0, 3: 1, 4: -1}
# The least number of pixels of a thread's task: small pictures are grouped.
_TASK_PIXELS = 1 << 16
# Streams of random numbers for different purposes.
_ORDERS, _PICTURES = 1, 2


class LabelReader:
    """The labels of pictures: from a list, by ids, or from their records."""

    def __init__(
        self, function: str, records: RecordFiles, listed: dict[int, numpy.ndarray] | None, width: int, list_path: str
    ) -> None:
        self.function, self.records, self.listed_labels, self.width = function, records, listed, width
        self.list_path = list_path

    def __call__(self, number: int, label: Any, identity: int) -> Any:
        """Return the labels of a record, which itself has `label`: an array, or a float."""
        if self.listed_labels is None and self.width == 1 and isinstance(label, float):
            return label
        label = numpy.atleast_1d(label)
        source = "the record has"
        if self.listed_labels is not None:
            listed_label = self.listed_labels.get(identity)
            if listed_label is None:
                raise FileFormatError(
                    f"{self.function}: {self.records.name(number)} has the id {identity}, for which there is no label "
                    f"in {self.list_path!r}."
                )
            label, source = listed_label, f"{self.list_path!r} has"
        if self.width >= 0 and len(label) != self.width:
            raise FileFormatError(
                f"{self.function}: {self.records.name(number)}: {source} {len(label)} labels; label_width is "
                f"{self.width}."
            )
        return label


class PictureBatches:
    """The source of the iterators over pictures."""

    def __init__(
        self,
        function: str,
        options: SimpleNamespace,
        records: RecordFiles,
        labels: LabelReader,
        augmenter: Augmenter | BoxAugmenter,
        normalizer: Normalizer,
        label_shape: tuple[int, ...],
    ) -> None:
        require_part(function, options.num_parts, options.part_index)
        self.function, self.options, self.records = function, options, records
        self.batch_size = options.batch_size
        self._labels, self._augmenter, self._normalizer = labels, augmenter, normalizer
        self._numbers = records.part(options.num_parts, options.part_index)
        require_batch_size(function, self.batch_size, len(self._numbers), options.round_batch)
        if options.preprocess_threads < 1:
            raise ArgumentValueError(
                f"{function}: preprocess_threads is {options.preprocess_threads}; expected at least 1."
            )
        self._decode_flag = _DECODE_FLAGS[options.data_shape[0]]
        self._label_shape = label_shape
        self._seed = options.seed % 2**63
        seed_aug = getattr(options, "seed_aug", None)
        self._picture_seed = self._seed if seed_aug is None else seed_aug % 2**63
        self._schedule = Schedule(
            len(self._numbers), self.batch_size, options.round_batch, self._shuffled if options.shuffle else None
        )
        self.data = (self.batch_size, *options.data_shape), normalizer.dtype.type
        self.label = (self.batch_size, *(() if label_shape == (1,) else label_shape)), numpy.float32
        self._threads = min(options.preprocess_threads, os.cpu_count() or 1)
        self._pid = os.getpid()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix=function)
        pixels = options.data_shape[1] * options.data_shape[2]
        self._group = max(-(-self.batch_size // (2 * self._threads)), min(self.batch_size, _TASK_PIXELS // pixels), 1)

    def close(self) -> None:
        """Stop the threads; the files are closed with the last reference to them."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _shuffled(self, number: int) -> numpy.ndarray:
        return numpy.random.Generator(numpy.random.PCG64([self._seed, _ORDERS, number])).permutation(len(self._numbers))

    def epoch(self, begin: Start) -> Generator[Batch, None, None]:
        """Yield the batches of an epoch."""
        ahead: deque[tuple[Plan, Any, list[Future[None]]]] = deque()
        plans = enumerate(self._schedule.epoch(begin))
        max_ahead = max(self.options.prefetch_buffer, 1)
        try:
            while True:
                while len(ahead) < max_ahead:
                    ordinal, plan = next(plans, (0, None))
                    if plan is None:
                        break
                    ahead.append(self._start_batch(plan, (*begin, ordinal)))
                if not ahead:
                    return
                require_process(self.function, self._pid)
                plan, arrays, futures = ahead.popleft()
                for future in futures:
                    future.result()
                data, label, index = arrays
                yield Batch(data, label.reshape(self.label[0]), plan.pad, index, plan.next_start)
        finally:
            for _, _, futures in ahead:
                for future in futures:
                    future.cancel()

    def _start_batch(self, plan: Plan, stream_key: tuple[int, ...]) -> tuple[Plan, Any, list[Future[None]]]:
        """Start the tasks that fill a batch; return it with their futures."""
        size = self.batch_size
        count = len(plan.instances)
        data = numpy.zeros(*self.data) if count < size else numpy.empty(*self.data)
        label = numpy.zeros((size, *self._label_shape), "float32")
        index = numpy.zeros(size, "uint64")
        stream = numpy.random.PCG64([self._picture_seed, _PICTURES, *stream_key])
        draws = numpy.random.Generator(stream).random((count, self._augmenter.draw_count), "float32")
        numbers = self._numbers[plan.instances].tolist()
        futures = []
        for start in range(0, count, self._group):
            part = slice(start, min(start + self._group, count))
            futures.append(
                self._pool.submit(self._filled, numbers[part], draws[part], data[part], label[part], index[part])
            )
        return plan, (data, label, index), futures

    def _filled(
        self, numbers: list[int], draws: numpy.ndarray, data: numpy.ndarray, label: numpy.ndarray, index: numpy.ndarray
    ) -> None:
        """Fill a part of a batch."""
        pixels = numpy.empty(data.shape, "uint8")
        by_pixel = pixels.transpose(0, 2, 3, 1)  # a view, blue first as pictures are
        by_pixel = by_pixel[..., ::-1] if data.shape[1] == 3 else by_pixel
        full_shape: tuple[int, ...] = by_pixel.shape[1:]
        is_smaller = []
        all_labels: list[Any] = []
        identities: list[int] = []
        decoded, is_decided = decoder(self._decode_flag, to_rgb=False), self._decode_flag >= 0
        labels_of, picture = self._labels, self._augmenter.augment
        records = self.records.unpacked(numbers)
        for number, chances, target, (recorded_label, identity, content) in zip(
            numbers, draws.tolist(), by_pixel, records, strict=True
        ):
            image = decoded(content)
            if image is None or not is_decided:
                image = self.decoded(number, content)
            labels = labels_of(number, recorded_label, identity)
            try:
                image, labels = picture(image, labels, chances)
            except ArgumentError as error:
                raise ArgumentValueError(f"{self.function}: {self.records.name(number)}: {error}.") from error
            if full_shape[2] == 4:
                image = image[..., [2, 1, 0, 3]]
            if image.shape == full_shape:
                target[...] = image
            else:
                height, width = image.shape[:2]
                is_smaller.append((len(identities), height, width))
                target[:height, :width] = image
            all_labels.append(labels)
            identities.append(identity)
        label[...] = numpy.array(all_labels, "float32").reshape(label.shape)
        index[...] = identities
        self._normalizer(pixels, draws, data)
        for position, height, width in is_smaller:
            data[position, :, height:] = 0
            data[position, :, :, width:] = 0

    def decoded(self, number: int, content: Any) -> numpy.ndarray:
        """Return the picture of a record, blue first."""
        try:
            image = decode(content, self._decode_flag, to_rgb=False)
        except ArgumentError as error:
            raise FileFormatError(
                f"{self.function}: {self.records.name(number)}: its picture is damaged: {error}"
            ) from error
        if self._decode_flag < 0 and image.shape[2] != 4:
            raise FileFormatError(
                f"{self.function}: {self.records.name(number)}: its picture has {image.shape[2]} channels; data_shape "
                "asks for 4."
            )
        return image if image.dtype == numpy.uint8 else (image >> 8).astype("uint8")

    def mean_picture(self) -> numpy.ndarray:
        """Return the mean of all pictures before normalization."""
        total = numpy.zeros(self.options.data_shape, "float64")
        count = len(self._numbers)
        if not count:
            raise MXNetError(f"{self.function}: there are no pictures of which mean_img could be the mean.")
        stream = numpy.random.PCG64([self._picture_seed, _PICTURES])
        draws = numpy.random.Generator(stream).random((count, self._augmenter.draw_count), "float32")
        numbers = self._numbers.tolist()
        for position, (label, identity, content) in enumerate(self.records.unpacked(numbers)):
            number = numbers[position]
            labels = self._labels(number, label, identity)
            image, _ = self._augmenter.augment(self.decoded(number, content), labels, draws[position].tolist())
            planes = image.transpose(2, 0, 1)
            order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[len(planes)]
            total[:, : planes.shape[1], : planes.shape[2]] += planes[order]
        return (total / count).astype("float32")
