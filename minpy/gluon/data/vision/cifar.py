"""The CIFAR datasets, in their binary version."""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy

from minpy.core.errors import FileFormatError
from minpy.files import accessing, read_file
from minpy.gluon.data.dataset import _DownloadedDataset, default_root, file_of

__all__ = ["CIFAR10", "CIFAR100"]

_MOST = 50_000  # images in a file
_PIXELS = 3 * 32 * 32


class CIFAR10(_DownloadedDataset):
    """Colour images of 32×32 of ten kinds, by Krizhevsky, from local files of the binary version.

    An item is an image, an NDArray of uint8 and shape (32, 32, 3), and its label, an int32.

    Parameters
    ----------
    root : str
        The folder that has data_batch_1.bin to data_batch_5.bin and test_batch.bin, or a folder cifar-10-batches-bin
        with them, or cifar-10-binary.tar.gz. Nothing is downloaded. The default follows `MXNET_HOME`.
    train : bool
        Whether the 50,000 images for training are read, or the 10,000 for tests.
    transform : callable, optional
        Called with image and label, each time; returns an item.

    Raises
    ------
    FileMissingError
        If there is no such file; it says where they come from.
    FileFormatError
        If a file is damaged.

    Examples
    --------
    >>> from minpy.gluon.data.vision import CIFAR10
    >>> CIFAR10(root='/missing')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: CIFAR10: there is no data_batch_1.bin and no ...
    """

    _makes_root = False
    _name = "CIFAR10"
    _folder = "cifar-10-batches-bin"
    _archive = "cifar-10-binary.tar.gz"
    _label_bytes = 1
    _label_at = 0

    def __init__(
        self, root: str = default_root("cifar10"), train: bool = True, transform: Callable[..., Any] | None = None
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _files(self) -> list[str]:
        return [f"data_batch_{number}.bin" for number in range(1, 6)] if self._train else ["test_batch.bin"]

    def _read_batch(self, filename: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Return the images and labels of a file, which may lie in the archive."""
        origin = f"{self._name}'s binary version, at the University of Toronto"
        path = file_of(self._name, self._root, [filename, f"{self._folder}/{filename}", self._archive], origin)
        length = self._label_bytes + _PIXELS
        packed = path.endswith(".gz")
        content = (
            _from_archive(path, f"{self._folder}/{filename}", _MOST * length) if packed else read_file("CIFAR10", path)
        )
        if not content or len(content) % length:
            raise FileFormatError(
                f"{self._name}: {filename} of {path!r} has {len(content)} bytes; expected a multiple of {length}, "
                f"which an image takes. Record {len(content) // length} was cut short, or it is another file."
            )
        rows = numpy.frombuffer(content, numpy.uint8).reshape(-1, length)
        images = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return images, rows[:, self._label_at].astype(numpy.int32)

    def _get_data(self) -> None:
        parts = [self._read_batch(name) for name in self._files()]
        self._keep(*map(numpy.concatenate, zip(*parts, strict=True)))


class CIFAR100(CIFAR10):
    """Colour images of 32×32 of a hundred kinds, in twenty groups, by Krizhevsky, from local files.

    Parameters
    ----------
    root : str
        The folder that has train.bin and test.bin, or a folder cifar-100-binary with them, or
        cifar-100-binary.tar.gz.
    fine_label : bool
        Whether labels are the hundred kinds, or the twenty groups.
    train : bool
        Whether the 50,000 images for training are read, or the 10,000 for tests.
    transform : callable, optional
        Called with image and label, each time; returns an item.

    Raises
    ------
    FileMissingError, FileFormatError
        As by `CIFAR10`.

    Examples
    --------
    >>> from minpy.gluon.data.vision import CIFAR100
    >>> CIFAR100(root='/missing')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: CIFAR100: there is no train.bin and no ...
    """

    _name = "CIFAR100"
    _folder = "cifar-100-binary"
    _archive = "cifar-100-binary.tar.gz"
    _label_bytes = 2

    def __init__(
        self,
        root: str = default_root("cifar100"),
        fine_label: bool = False,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._fine_label = fine_label
        self._label_at = int(bool(fine_label))
        super().__init__(root, train, transform)

    def _files(self) -> list[str]:
        return ["train.bin" if self._train else "test.bin"]


def _from_archive(path: str, name: str, limit: int) -> bytes:
    """Return a file of an archive, of which nothing is unpacked into folders."""
    try:
        with accessing("CIFAR10", "read", path), tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and os.path.basename(member.name) == os.path.basename(name):
                    if member.size > limit:
                        raise FileFormatError(
                            f"{path!r}: {member.name} has {member.size} bytes by the archive's table; {limit} is the "
                            "most that it may have. The archive is damaged, or another one."
                        )
                    file = archive.extractfile(member)
                    assert file is not None  # as it is one
                    return file.read()
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path!r} is no tar archive packed by gzip, or damaged: {error}.") from error
    raise FileFormatError(f"{path!r} has no file {name!r}: it is another archive, or was cut short.")
