"""Batches of pictures from records: decoded and augmented by threads, ahead of who reads them, and in order."""

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
from minpy.io.mxdata_iter import Loaded, Place, Rounds, Turn
from minpy.io.record_files import RecordFiles
from minpy.io.text_files import require_batch_size, require_part
from minpy.pictures import decode
from minpy.pictures.coding import decoder

__all__ = ["LabelReader", "PictureBatches"]

# How `decode` is to treat pictures of so many channels.
_FLAGS = {1: 0, 3: 1, 4: -1}
# How many pixels one task of a thread has at least: small pictures go in larger groups.
_PIXELS = 1 << 16
# Numbers drawn for another purpose come from another stream.
_ORDERS, _PICTURES = 1, 2


class LabelReader:
    """The labels of pictures: from a list, by ids, or from their records."""

    def __init__(
        self, function: str, records: RecordFiles, listed: dict[int, numpy.ndarray] | None, width: int, list_path: str
    ) -> None:
        self.function, self.records, self.listed, self.width = function, records, listed, width
        self.list_path = list_path

    def __call__(self, number: int, label: Any, identity: int) -> Any:
        """Return the labels of a record that says that they are `label`: an array, or a float."""
        if self.listed is None and self.width == 1 and isinstance(label, float):
            return label
        label = numpy.atleast_1d(label)
        source = "the record has"
        if self.listed is not None:
            listed_label = self.listed.get(identity)
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
        self._flag = _FLAGS[options.data_shape[0]]
        self._label_shape = label_shape
        self._seed = options.seed % 2**63
        seed_aug = getattr(options, "seed_aug", None)
        self._picture_seed = self._seed if seed_aug is None else seed_aug % 2**63
        self._rounds = Rounds(
            len(self._numbers), self.batch_size, options.round_batch, self._shuffled if options.shuffle else None
        )
        self.data = (self.batch_size, *options.data_shape), normalizer.dtype.type
        self.label = (self.batch_size, *(() if label_shape == (1,) else label_shape)), numpy.float32
        self._threads = min(options.preprocess_threads, os.cpu_count() or 1)
        self._pid = os.getpid()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix=function)
        pixels = options.data_shape[1] * options.data_shape[2]
        self._group = max(-(-self.batch_size // (2 * self._threads)), min(self.batch_size, _PIXELS // pixels), 1)

    def close(self) -> None:
        """Stop the threads. The files are closed when the last of them is done, as nobody refers to them then."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _shuffled(self, number: int) -> numpy.ndarray:
        return numpy.random.Generator(numpy.random.PCG64([self._seed, _ORDERS, number])).permutation(len(self._numbers))

    def epoch(self, place: Place) -> Generator[Loaded, None, None]:
        """Yield the batches of an epoch."""
        ahead: deque[tuple[Turn, Any, list[Future[None]]]] = deque()
        turns = enumerate(self._rounds.epoch(place))
        most = max(self.options.prefetch_buffer, 1)
        try:
            while True:
                while len(ahead) < most:
                    ordinal, turn = next(turns, (0, None))
                    if turn is None:
                        break
                    ahead.append(self._begun(turn, (*place, ordinal)))
                if not ahead:
                    return
                require_process(self.function, self._pid)
                turn, arrays, futures = ahead.popleft()
                for future in futures:
                    future.result()
                data, label, index = arrays
                yield Loaded(data, label.reshape(self.label[0]), turn.pad, index, turn.following)
        finally:
            for _, _, futures in ahead:
                for future in futures:
                    future.cancel()

    def _begun(self, turn: Turn, which: tuple[int, ...]) -> tuple[Turn, Any, list[Future[None]]]:
        """Return a batch on which the threads are at work."""
        size = self.batch_size
        count = len(turn.instances)
        data = numpy.zeros(*self.data) if count < size else numpy.empty(*self.data)
        label = numpy.zeros((size, *self._label_shape), "float32")
        index = numpy.zeros(size, "uint64")
        stream = numpy.random.PCG64([self._picture_seed, _PICTURES, *which])
        u = numpy.random.Generator(stream).random((count, self._augmenter.numbers), "float32")
        numbers = self._numbers[turn.instances].tolist()
        futures = []
        for start in range(0, count, self._group):
            part = slice(start, min(start + self._group, count))
            futures.append(
                self._pool.submit(self._filled, numbers[part], u[part], data[part], label[part], index[part])
            )
        return turn, (data, label, index), futures

    def _filled(
        self, numbers: list[int], u: numpy.ndarray, data: numpy.ndarray, label: numpy.ndarray, index: numpy.ndarray
    ) -> None:
        """Fill a part of a batch."""
        pixels = numpy.empty(data.shape, "uint8")
        by_pixel = pixels.transpose(0, 2, 3, 1)  # seen as pictures are, blue first
        by_pixel = by_pixel[..., ::-1] if data.shape[1] == 3 else by_pixel
        whole: tuple[int, ...] = by_pixel.shape[1:]
        is_smaller = []
        all_labels: list[Any] = []
        identities: list[int] = []
        decoded, is_decided = decoder(self._flag, to_rgb=False), self._flag >= 0
        labels_of, picture = self._labels, self._augmenter.picture
        records = self.records.unpacked(numbers)
        for number, chances, place, (said, identity, content) in zip(
            numbers, u.tolist(), by_pixel, records, strict=True
        ):
            image = decoded(content)
            if image is None or not is_decided:
                image = self.decoded(number, content)
            labels = labels_of(number, said, identity)
            try:
                image, labels = picture(image, labels, chances)
            except ArgumentError as error:
                raise ArgumentValueError(f"{self.function}: {self.records.name(number)}: {error}.") from error
            if whole[2] == 4:
                image = image[..., [2, 1, 0, 3]]
            if image.shape == whole:
                place[...] = image
            else:
                height, width = image.shape[:2]
                is_smaller.append((len(identities), height, width))
                place[:height, :width] = image
            all_labels.append(labels)
            identities.append(identity)
        label[...] = numpy.array(all_labels, "float32").reshape(label.shape)
        index[...] = identities
        self._normalizer(pixels, u, data)
        for position, height, width in is_smaller:
            data[position, :, height:] = 0
            data[position, :, :, width:] = 0

    def decoded(self, number: int, content: Any) -> numpy.ndarray:
        """Return the picture of a record, blue first."""
        try:
            image = decode(content, self._flag, to_rgb=False)
        except ArgumentError as error:
            raise FileFormatError(
                f"{self.function}: {self.records.name(number)}: its picture is damaged: {error}"
            ) from error
        if self._flag < 0 and image.shape[2] != 4:
            raise FileFormatError(
                f"{self.function}: {self.records.name(number)}: its picture has {image.shape[2]} channels; data_shape "
                "asks for 4."
            )
        return image if image.dtype == numpy.uint8 else (image >> 8).astype("uint8")

    def mean_picture(self) -> numpy.ndarray:
        """Return the mean of all pictures as they are before numbers are subtracted."""
        total = numpy.zeros(self.options.data_shape, "float64")
        count = len(self._numbers)
        if not count:
            raise MXNetError(f"{self.function}: there are no pictures of which mean_img could be the mean.")
        stream = numpy.random.PCG64([self._picture_seed, _PICTURES])
        u = numpy.random.Generator(stream).random((count, self._augmenter.numbers), "float32")
        numbers = self._numbers.tolist()
        for position, (label, identity, content) in enumerate(self.records.unpacked(numbers)):
            number = numbers[position]
            labels = self._labels(number, label, identity)
            image, _ = self._augmenter.picture(self.decoded(number, content), labels, u[position].tolist())
            planes = image.transpose(2, 0, 1)
            order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[len(planes)]
            total[:, : planes.shape[1], : planes.shape[2]] += planes[order]
        return (total / count).astype("float32")
