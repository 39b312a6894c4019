"""Datasets of picture files, and of records that hold pictures."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from minpy import recordio
from minpy.core.errors import ArgumentError, ArgumentValueError, FileAccessError, FileFormatError, describe
from minpy.files import accessing, open_to_read
from minpy.gluon.data.dataset import Dataset, RecordFileDataset
from minpy.image.pixels import array_of
from minpy.pictures import decode, read

__all__ = ["ImageFolderDataset", "ImageListDataset", "ImageRecordDataset"]

_EXTENSIONS = [".jpg", ".jpeg", ".png"]


def _picture(path: str, flag: int, where: str) -> Any:
    """Return a picture file as an array; errors name the item."""
    try:
        return array_of(read(path, flag, name=where))
    except FileAccessError:
        raise
    except ArgumentError as error:
        raise FileFormatError(str(error)) from error


class ImageFolderDataset(Dataset):
    """Pictures in folders, a folder a kind: `root/cat/1.jpg`, `root/dog/1.png`.

    An item is an image, an NDArray of uint8 and shape (height, width, channels), and its label, a number. Folders are
    numbered in the order of their names.

    Parameters
    ----------
    root : str
    flag : {1, 0}
        Whether images have colours, or are gray.
    transform : callable, optional
        Called with image and label, each time; returns an item.

    Attributes
    ----------
    synsets : list of str
        The names of the folders, in the order of labels.
    items : list of tuples
        Path and label of each item.

    Raises
    ------
    FileMissingError
        If there is no such folder.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import minpy as mx
    >>> from minpy.pictures import encode
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> for kind in ('cat', 'dog'):
    ...     (root / kind).mkdir()
    ...     _ = (root / kind / '1.png').write_bytes(encode(mx.nd.zeros((4, 5, 3), dtype='uint8').asnumpy(), '.png'))
    >>> dataset = mx.gluon.data.vision.ImageFolderDataset(root)
    >>> image, label = dataset[1]
    >>> dataset.synsets[label], image.shape
    ('dog', (4, 5, 3))
    """

    def __init__(self, root: Any, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self._exts = _EXTENSIONS
        self._list_images(self._root)

    def _list_images(self, root: str) -> None:
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        no_folders, no_pictures = [], []
        for folder in self._names(root):
            path = os.path.join(root, folder)
            if not os.path.isdir(path):
                no_folders.append(path)
                continue
            label = len(self.synsets)
            self.synsets.append(folder)
            for name in self._names(path):
                file = os.path.join(path, name)
                if os.path.splitext(name)[1].lower() in self._exts:
                    self.items.append((file, label))
                else:
                    no_pictures.append(file)
        hint = "" if self.synsets else f" There is no folder in {root}: give the one that has a folder for each kind."
        self._warn_of(no_folders, "no folders" if len(no_folders) > 1 else "no folder", hint)
        self._warn_of(no_pictures, f"none of {', '.join(self._exts)}", "")

    def _warn_of(self, paths: list[str], reason: str, hint: str) -> None:
        """Warn once of all that is left out, however much it is."""
        if not paths:
            return
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        be, it = ("are", "they are") if len(paths) > 1 else ("is", "it is")
        text = f"ImageFolderDataset: {', '.join(paths[:3])}{more} {be} left out: {it} {reason}.{hint}"
        warnings.warn(text, UserWarning, stacklevel=4)

    def _names(self, folder: str) -> list[str]:
        with accessing("ImageFolderDataset", "read", folder):
            return sorted(os.listdir(folder))

    def __getitem__(self, idx: Any) -> Any:
        path, label = self.items[idx]
        image = _picture(path, self._flag, f"ImageFolderDataset, item {idx}")
        return (image, label) if self._transform is None else self._transform(image, label)

    def __len__(self) -> int:
        return len(self.items)


class ImageRecordDataset(RecordFileDataset):
    """Pictures in a RecordIO file, as `im2rec` writes it, with its index beside it.

    An item is an image, an NDArray of uint8 and shape (height, width, channels), and its label: a float, or an array of
    them.

    Parameters
    ----------
    filename : str
        The `.rec` file; the index is the `.idx` file of the same name.
    flag : {1, 0}
        Whether images have colours, or are gray.
    transform : callable, optional
        Called with image and label, each time; returns an item.

    Raises
    ------
    FileMissingError
        If there is no such file, or no index.

    Examples
    --------
    >>> import tempfile
    >>> import minpy as mx
    >>> path = tempfile.mkdtemp() + '/pictures'
    >>> with mx.recordio.MXIndexedRecordIO(path + '.idx', path + '.rec', 'w') as writer:
    ...     image = mx.nd.zeros((4, 5, 3), dtype='uint8').asnumpy()
    ...     writer.write_idx(0, mx.recordio.pack_img(mx.recordio.IRHeader(0, 7, 0, 0), image, img_fmt='.png'))
    >>> image, label = mx.gluon.data.vision.ImageRecordDataset(path + '.rec')[0]
    >>> image.shape, label
    ((4, 5, 3), 7.0)
    """

    def __init__(self, filename: str, flag: int = 1, transform: Callable[..., Any] | None = None) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: Any) -> Any:
        record = super().__getitem__(idx)
        try:
            header, picture = recordio.unpack(record)
            image = array_of(decode(picture, self._flag, name="the picture"))
        except (ArgumentError, FileFormatError) as error:
            raise FileFormatError(
                f"ImageRecordDataset: item {idx} of {self.filename!r} holds no picture that can be read: {error}"
            ) from error
        return (image, header.label) if self._transform is None else self._transform(image, header.label)


class ImageListDataset(Dataset):
    """Pictures that a list names, as `im2rec --list` writes it; MXNet 2 has it.

    Parameters
    ----------
    root : str
        The folder that paths begin in.
    imglist : str or list
        A file with a line for each picture: a number, labels and a path, with tabs between them. Or a list whose
        entries are labels and path: `[0, 'cat.jpg']`, `[[0.2, 0.3], 'box.jpg']`.
    flag : {1, 0}
        Whether images have colours, or are gray.

    Raises
    ------
    FileMissingError
        If there is no such list.
    FileFormatError
        For a line that is none; it says which.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import minpy as mx
    >>> from minpy.pictures import encode
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (root / 'a.png').write_bytes(encode(mx.nd.zeros((4, 5, 3), dtype='uint8').asnumpy(), '.png'))
    >>> image, label = mx.gluon.data.vision.ImageListDataset(root, [[3, 'a.png']])[0]
    >>> image.shape, label
    ((4, 5, 3), 3)
    """

    def __init__(self, root: Any = ".", imglist: Any = None, flag: int = 1) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        if isinstance(imglist, (str, os.PathLike)):
            self.items = self._listed(os.path.join(self._root, imglist))
        elif isinstance(imglist, (list, tuple)):
            self.items = [self._entry(entry, position) for position, entry in enumerate(imglist)]
        else:
            raise ArgumentError(
                f"ImageListDataset: imglist must be a list, or the name of one, got {describe(imglist)}."
            )

    def _entry(self, entry: Any, position: int) -> tuple[str, Any]:
        if not isinstance(entry, (list, tuple)) or len(entry) < 2 or not isinstance(entry[-1], (str, os.PathLike)):
            raise ArgumentValueError(
                f"ImageListDataset: entry {position} must be labels and a path, got {describe(entry)}."
            )
        return os.path.join(self._root, entry[-1]), entry[0] if len(entry) == 2 else list(entry[:-1])

    def _listed(self, path: str) -> list[tuple[str, Any]]:
        items: list[tuple[str, Any]] = []
        try:
            with accessing("ImageListDataset", "read", path), open_to_read(path, "r", encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if not line.strip():
                        continue
                    parts = line.rstrip("\n").split("\t")
                    try:
                        labels = [float(label) for label in parts[1:-1]]
                    except ValueError:
                        labels = []
                    if not labels:
                        raise FileFormatError(
                            f"ImageListDataset: line {number} of {path!r} is {line[:60]!r}; expected a number, labels "
                            "and a path, with tabs between them."
                        )
                    label: Any = labels[0] if len(labels) == 1 else numpy.array(labels, numpy.float32)
                    items.append((os.path.join(self._root, parts[-1]), label))
        except UnicodeDecodeError as error:
            raise FileFormatError(f"ImageListDataset: {path!r} is no text: {error}.") from error
        return items

    def __getitem__(self, idx: Any) -> Any:
        path, label = self.items[idx]
        return _picture(path, self._flag, f"ImageListDataset, item {idx}"), label

    def __len__(self) -> int:
        return len(self.items)
