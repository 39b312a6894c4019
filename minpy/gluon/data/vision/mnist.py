"""Datasets in the files of the MNIST database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minpy.core.errors import FileFormatError
from minpy.core.families import with_defaults
from minpy.gluon.data.dataset import _DownloadedDataset, default_root, file_of
from minpy.io.mnist import read_idx

__all__ = ["MNIST", "FashionMNIST"]


class MNIST(_DownloadedDataset):
    """Handwritten digits of LeCun, Cortes and Burges, from local files: gray images of 28×28 and their digits.

    An item is an image, an NDArray of uint8 and shape (28, 28, 1), and its label, an int32.

    Parameters
    ----------
    root : str
        The folder that has train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and
        t10k-labels-idx1-ubyte.gz, or the same unpacked. Nothing is downloaded. The default follows `MXNET_HOME`.
    train : bool
        Whether the 60,000 images for training are read, or the 10,000 for tests.
    transform : callable, optional
        Called with image and label, each time; returns an item.

    Raises
    ------
    FileMissingError
        If there is no such file; it says where they come from.
    FileFormatError
        If a file is damaged, or images and labels do not belong together.

    Examples
    --------
    >>> from minpy.gluon.data.vision import MNIST
    >>> MNIST(root='/missing')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: MNIST: there is no train-images-idx3-ubyte.gz and no train-images-idx3-ubyte ...
    """

    _makes_root = False
    _name = "MNIST"
    _origin = "the MNIST database of handwritten digits"

    def __init__(
        self, root: str = default_root("mnist"), train: bool = True, transform: Callable[..., Any] | None = None
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _get_data(self) -> None:
        part = "train" if self._train else "t10k"
        paths = [
            file_of(self._name, self._root, [f"{part}-{name}.gz", f"{part}-{name}"], self._origin)
            for name in ("images-idx3-ubyte", "labels-idx1-ubyte")
        ]
        images, labels = read_idx(self._name, paths[0], 3), read_idx(self._name, paths[1], 1)
        if len(images) != len(labels):
            raise FileFormatError(
                f"{self._name}: {paths[0]!r} has {len(images)} images, and {paths[1]!r} {len(labels)} labels. They do "
                "not belong together, or one was cut."
            )
        self._keep(images[..., None], labels)


@with_defaults(root=default_root("fashion-mnist"))
class FashionMNIST(MNIST):
    """Pieces of clothing by Zalando, in the files and shapes of `MNIST`: gray images of 28×28 of ten kinds.

    Parameters
    ----------
    root : str
        The folder that has the files, which are called as those of `MNIST`.
    train : bool
        Whether the 60,000 images for training are read, or the 10,000 for tests.
    transform : callable, optional
        Called with image and label, each time; returns an item.

    Raises
    ------
    FileMissingError, FileFormatError
        As by `MNIST`.

    Examples
    --------
    >>> from minpy.gluon.data.vision import FashionMNIST
    >>> FashionMNIST(root='/missing')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: FashionMNIST: there is no train-images-idx3-ubyte.gz and no ...
    """

    _name = "FashionMNIST"
    _origin = "Zalando Research's Fashion-MNIST"
