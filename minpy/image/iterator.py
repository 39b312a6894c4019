"""Batches of pictures, out of record files or lists of files, each changed by augmenters."""

from __future__ import annotations

import logging
import os
import random
import warnings
from typing import Any

import numpy as np

from minpy.core.array import Array, raw_of
from minpy.core.errors import (
    ArgumentError,
    ArgumentValueError,
    FileMissingError,
    MissingDependencyError,
    MXNetError,
    ShapeError,
    describe,
    nearest,
)
from minpy.files import read_file
from minpy.image.creating import CreateAugmenter, require_data_shape
from minpy.image.pixels import array_of
from minpy.image.reading import checked_list, imdecode, read_list
from minpy.io import DataBatch, DataIter
from minpy.recordio import MXIndexedRecordIO, MXRecordIO, unpack

__all__ = ["ImageIter"]

_HANDLES = ("pad", "discard", "roll_over")
_DTYPES = ("int32", "float32", "int64", "float64")


class ImageIter(DataIter):
    """Batches of pictures, out of a record file, or of files that a list names.

    Parameters
    ----------
    batch_size : int
    data_shape : tuple of three ints
        (channels, height, width) of the pictures in a batch: three channels.
    label_width : int
        How many labels a picture has.
    path_imgrec : str, optional
        A record file, as `python -m minpy.tools.im2rec` makes it.
    path_imglist : str, optional
        A list of pictures: lines of key, labels and file name, with tabs between. With a record file, the labels are
        these and not those in the file; it takes an index.
    path_root : str, optional
        The folder in which the files of a list are; by default the current one.
    path_imgidx : str, optional
        The record file's index, by which it can be shuffled and divided.
    shuffle : bool
        Whether each epoch has another order, drawn from Python's `random`.
    part_index, num_parts : int
        Into how many equal parts the pictures are divided, and which is taken: for several workers.
    aug_list : list of callables, optional
        What changes a picture, one after another; by default `CreateAugmenter(data_shape, **kwargs)`.
    imglist : list, optional
        A list in memory: of [label, file name], where the label is a number or several.
    data_name, label_name : str
        The names of the inputs of a network.
    dtype : {'float32', 'int32', 'int64', 'float64'}
        In which the labels of a list are held. Batches are of float32.
    last_batch_handle : {'pad', 'discard', 'roll_over'}
        What happens to the last pictures if they are too few for a batch: padded with the first ones (`batch.pad` is
        their number), left out, or moved to the next epoch.
    **kwargs
        For `CreateAugmenter`: resize, rand_crop, rand_mirror, mean, std, ...

    Raises
    ------
    ArgumentError
        If there are no pictures, or fewer than parts, for arguments that do not fit together, an unknown
        `CreateAugmenter` option, or a damaged picture (named), or one whose label has not `label_width` numbers.
    FileFormatError
        For a damaged record file, index or list: which record or line.
    FileMissingError, FileAccessError
        If a file is not there, or cannot be read.
    ShapeError
        If the augmenters do not give pictures of `data_shape`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import minpy as mx
    >>> from minpy.pictures import encode
    >>> folder = tempfile.mkdtemp()
    >>> for name in ('a.png', 'b.png', 'c.png'):
    ...     with open(f'{folder}/{name}', 'wb') as file:
    ...         _ = file.write(encode(np.zeros((40, 50, 3), 'uint8'), '.png', 3))
    >>> batches = mx.image.ImageIter(
    ...     batch_size=2, data_shape=(3, 32, 32), imglist=[[0, 'a.png'], [1, 'b.png'], [2, 'c.png']], path_root=folder,
    ...     rand_crop=True, rand_mirror=True, mean=True)
    >>> for batch in batches:
    ...     print(batch.data[0].shape, batch.label[0].asnumpy(), batch.pad)
    (2, 3, 32, 32) [0. 1.] 0
    (2, 3, 32, 32) [2. 0.] 1
    """

    _empty_label = 0

    def __init__(
        self,
        batch_size: int,
        data_shape: Any,
        label_width: int = 1,
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
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        for argument, number in (("batch_size", batch_size), ("label_width", label_width), ("num_parts", num_parts)):
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
                raise ArgumentValueError(f"{name}: {argument} is {describe(number)}; expected an integer above 0.")
        if dtype not in _DTYPES:
            raise ArgumentValueError(f"{name}: dtype is {dtype!r}; expected one of {', '.join(_DTYPES)}, for labels.")
        if not path_imgrec and not path_imglist and imglist is None:
            raise ArgumentError(f"{name}: there are no pictures: give path_imgrec, path_imglist or imglist.")
        self.check_data_shape(data_shape)
        self._data_name, self._label_name = data_name, label_name
        self.imgrec: Any = None
        self.imgidx: list[Any] | None = None
        self.imglist: dict[Any, tuple[Any, str]] | None = None
        keys: list[Any] | None = None
        if path_imgrec:
            logging.info("%s: loading recordio %s...", name, path_imgrec)
            if path_imgidx:
                self.imgrec = MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
                self.imgidx = list(self.imgrec.keys)
            else:
                self.imgrec = MXRecordIO(path_imgrec, "r")
        if path_imglist:
            logging.info("%s: loading image list %s...", name, path_imglist)
            self.imglist, keys = read_list(name, path_imglist, dtype)
        elif imglist is not None:
            logging.info("%s: loading image list...", name)
            self.imglist, keys = checked_list(name, imglist, dtype)
        self.path_root = path_root
        self.batch_size = batch_size
        self.data_shape = tuple(data_shape)
        self.label_width = label_width
        self.provide_data: list[Any] = [(data_name, (batch_size, *self.data_shape))]
        self.provide_label: list[Any] = [(label_name, (batch_size, label_width) if label_width > 1 else (batch_size,))]
        self.shuffle = shuffle
        self.seq = self._sequence(keys, part_index, num_parts)
        self.num_image = None if self.seq is None else len(self.seq)
        self.auglist: list[Any] = list(CreateAugmenter(data_shape, **kwargs)) if aug_list is None else aug_list
        if aug_list is not None and kwargs:
            warnings.warn(f"{name}: {', '.join(kwargs)} do nothing, as aug_list is given.", UserWarning, stacklevel=2)
        self.cur = 0
        self._allow_read = True
        if last_batch_handle not in _HANDLES:
            warnings.warn(
                f"{name}: last_batch_handle is {last_batch_handle!r}; expected 'pad', 'discard' or 'roll_over', and "
                f"taken as 'pad'.{nearest(str(last_batch_handle), _HANDLES)}",
                UserWarning,
                stacklevel=2,
            )
            last_batch_handle = "pad"
        self.last_batch_handle = last_batch_handle
        self._rolled_over: tuple[Any, Any, int] | None = None  # data and label of an unfinished batch, and its length
        self._records_read = 0
        self._warned_of_labels = False
        self.reset()

    def _sequence(self, keys: list[Any] | None, part_index: int, num_parts: int) -> list[Any] | None:
        """Return the keys of the pictures in their order, those of one part; None if a record file is read as it is."""
        name = type(self).__name__
        sequence = keys if self.imgrec is None else self.imgidx
        if sequence is None:
            if self.shuffle or num_parts > 1:
                raise ArgumentError(
                    f"{name}: shuffle and num_parts take the index of the record file. Give path_imgidx; "
                    "minpy.tools.im2rec writes it beside the records."
                )
            return None
        if self.imgrec is not None and self.imglist is not None:
            lacking = [key for key in sequence if key not in self.imglist]
            if lacking:
                raise ArgumentError(
                    f"{name}: the list has no labels for {len(lacking)} of {len(sequence)} records of "
                    f"{self.imgrec.uri!r}: with keys {', '.join(map(repr, lacking[:5]))}"
                    f"{', ...' if len(lacking) > 5 else ''}."
                )
        if not sequence:
            raise ArgumentError(f"{name}: there are no pictures: the index of {self.imgrec.uri!r} is empty.")
        sequence = list(sequence)
        if num_parts > 1 or part_index:
            if not 0 <= part_index < num_parts:
                raise ArgumentValueError(f"{name}: part_index is {part_index}; expected 0 to {num_parts - 1}.")
            length = len(sequence) // num_parts
            if not length:
                raise ArgumentValueError(
                    f"{name}: {len(sequence)} pictures in {num_parts} parts: these would be empty."
                )
            sequence = sequence[part_index * length : (part_index + 1) * length]
        return sequence

    # -- the order -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start the next epoch."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over" or self._rolled_over is None:
            self._rewind()
            self._allow_read = True

    def hard_reset(self) -> None:
        """Start at the first picture; pictures rolled over are left out."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._rewind()
        self._allow_read = True
        self._rolled_over = None

    def _rewind(self) -> None:
        if self.imgrec is not None and self.seq is None:
            self.imgrec.reset()
            self._records_read = 0
        self.cur = 0

    def next_sample(self) -> tuple[Any, bytes]:
        """Return the label and the bytes of the next picture.

        Returns
        -------
        label : NDArray, numpy.ndarray or float
        s : bytes

        Raises
        ------
        StopIteration
            At the end of the epoch.
        FileFormatError, FileMissingError, FileAccessError
            If the picture cannot be read.
        """
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                if self.last_batch_handle != "discard":
                    self._rewind()
                raise StopIteration
            self._records_read += 1
            header, data = self._unpacked(record)
            return header.label, data
        if self.cur >= len(self.seq):
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            assert self.imglist is not None
            label, file_name = self.imglist[key]
            return label, self.read_image(file_name)
        header, data = self._unpacked(self.imgrec.read_idx(key))
        return header.label if self.imglist is None else self.imglist[key][0], data

    def _unpacked(self, record: Any) -> Any:
        try:
            return unpack(record)
        except MXNetError as error:
            raise type(error)(f"{self._prefix()}: {error}") from error

    def _prefix(self) -> str:
        """Return the beginning of a message: the class, and the picture that was read last."""
        return f"{type(self).__name__}: {self._sample()}"

    def _sample(self) -> str:
        """Return the name of the picture that was read last."""
        if self.seq is None:
            return f"record {self._records_read - 1} of {self.imgrec.uri!r}"
        key = self.seq[min(self.cur, len(self.seq)) - 1]
        if self.imgrec is not None:
            return f"the record with key {key!r} of {self.imgrec.uri!r}"
        assert self.imglist is not None
        return f"the picture {self.imglist[key][1]!r}, number {key} of the list"

    # -- batches -------------------------------------------------------------------------------------------------------

    def next(self) -> DataBatch:
        """Return the next batch.

        Returns
        -------
        DataBatch

        Raises
        ------
        StopIteration
            At the end of the epoch.
        ArgumentError, FileFormatError, ShapeError
            For a damaged picture, a label of another width, or a picture of another shape: which it is.
        """
        rolled_over, self._rolled_over = self._rolled_over, None
        if rolled_over is not None:
            data, label, filled = rolled_over
        else:
            data = array_of(np.zeros(self.provide_data[0][1], np.float32))
            label = array_of(np.full(self.provide_label[0][1], self._empty_label, np.float32))
            filled = self._batchify(data, label)
            if not filled:
                raise StopIteration
        pad = self.batch_size - filled
        if pad:
            if self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over" and rolled_over is None:
                self._rolled_over = data, label, filled
                raise StopIteration
            while filled < self.batch_size:
                new_filled = self._batchify(data, label, filled)
                if new_filled == filled:
                    raise MXNetError(
                        f"{type(self).__name__}: there is no picture to fill up a batch with: all that were read were "
                        "skipped. The log (logging.DEBUG) says why."
                    )
                filled = new_filled
            if self.last_batch_handle == "pad":
                self._allow_read = False
        return DataBatch([data], [label], pad=pad)

    def _batchify(self, batch_data: Any, batch_label: Any, start: int = 0) -> int:
        """Fill a batch from `start` on, and return its new length, below the batch size at the end of the epoch."""
        position = start
        while position < self.batch_size:
            try:
                picture = self._next_picture()
            except StopIteration:
                break
            if picture is not None:
                self._put_picture(batch_data._data, position, picture[0])
                self._put_label(batch_label._data, position, picture[1])
                position += 1
        return position

    def _next_picture(self) -> tuple[Any, Any] | None:
        """Return the next picture, changed, and its label; None if it is skipped."""
        label, encoded = self.next_sample()
        data = self._decoded(encoded)
        try:
            self.check_valid_image([data])
        except RuntimeError as error:
            logging.debug("Invalid image, skipping:  %s", error)
            return None
        return self.augmentation_transform(data), label

    def _decoded(self, encoded: bytes) -> Any:
        try:
            return self.imdecode(encoded)
        except MissingDependencyError:
            raise
        except MXNetError as error:
            raise ArgumentError(f"{self._prefix()} is damaged, or no picture. {error}") from error

    def _put_picture(self, batch: np.ndarray, position: int, data: Any) -> None:
        if type(self).postprocess_data is ImageIter.postprocess_data and isinstance(data, Array):
            raw = data._data
            picture = raw.transpose(2, 0, 1) if raw.ndim == 3 else raw
        else:
            picture = np.asarray(raw_of(self.postprocess_data(data)))
        try:
            batch[position] = picture
        except ValueError as error:
            raise ShapeError(
                f"{self._prefix()} has shape {picture.shape} after the augmenters, channels first; expected "
                f"data_shape {self.data_shape}. Does the aug_list end with pictures of that size?"
            ) from error

    def _put_label(self, batch: np.ndarray, position: int, label: Any) -> None:
        values = np.asarray(raw_of(label))
        if values.size != self.label_width:
            if values.size != 1:
                raise ShapeError(f"{self._prefix()} has {values.size} labels; expected label_width={self.label_width}.")
            if not self._warned_of_labels:
                self._warned_of_labels = True
                message = f"has one label, which is taken {self.label_width} times, as label_width={self.label_width}."
                warnings.warn(f"{self._prefix()} {message}", UserWarning, stacklevel=5)
        batch[position] = values.reshape(-1) if batch.ndim > 1 else values.reshape(-1)[0]

    # -- methods for subclasses to override ----------------------------------------------------------------------------

    def check_data_shape(self, data_shape: Any) -> None:
        """Raise, unless a shape is that of pictures in colours, (3, height, width).

        Parameters
        ----------
        data_shape : tuple of three ints

        Raises
        ------
        ArgumentValueError
        """
        channels = require_data_shape(type(self).__name__, data_shape)[0]
        if channels != 3:
            raise ArgumentValueError(
                f"{type(self).__name__}: data_shape is {tuple(data_shape)}; expected 3 channels: (3, height, width)."
            )

    def check_valid_image(self, data: Any) -> None:
        """Raise, if a picture has no shape: it is skipped then.

        Parameters
        ----------
        data : list of one NDArray

        Raises
        ------
        MXNetError
        """
        if len(data[0].shape) == 0:
            raise ShapeError(f"{type(self).__name__}: Data shape is wrong: {self._sample()} is {describe(data[0])}.")

    def imdecode(self, s: bytes) -> Any:
        """Return the picture in bytes.

        Parameters
        ----------
        s : bytes

        Returns
        -------
        NDArray
            Of dtype uint8 and shape (height, width, 3).
        """
        return imdecode(s)

    def read_image(self, fname: str) -> bytes:
        """Return the bytes of a file that a list names.

        Parameters
        ----------
        fname : str
            Within `path_root`.

        Returns
        -------
        bytes

        Raises
        ------
        FileMissingError, FileAccessError
            If it is not there, or cannot be read.
        """
        path = os.path.join(self.path_root or "", fname)
        name = type(self).__name__
        try:
            return read_file(name, path)
        except FileMissingError as error:
            raise FileMissingError(
                f"{name}: there is no file {path!r}, which the list names. path_root is {self.path_root!r}."
            ) from error
        except ValueError as error:  # a zero byte
            raise ArgumentValueError(f"{name}: {path!r} cannot be the name of a file: {error}.") from error

    def augmentation_transform(self, data: Any) -> Any:
        """Return a picture, changed by all augmenters.

        Parameters
        ----------
        data : NDArray

        Returns
        -------
        NDArray
        """
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: Any) -> Any:
        """Return a picture with its channels first, as it stands in a batch.

        Parameters
        ----------
        datum : NDArray
            Of shape (height, width, channels).

        Returns
        -------
        NDArray
            Of shape (channels, height, width).
        """
        return datum.transpose((2, 0, 1))
