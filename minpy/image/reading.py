"""Pictures read from files and decoded from bytes."""

from __future__ import annotations

from typing import Any

from minpy.core.array import Array
from minpy.core.docstrings import documented
from minpy.core.errors import ArgumentValueError, describe
from minpy.core.numpy_semantics import is_np_array
from minpy.ndarray.decoding import _cvimdecode, _cvimread

__all__ = ["imdecode", "imread"]

_OPTIONS = """
    flag : {1, 0}, optional
        Colours, or gray.
    to_rgb : bool, optional
        Whether red comes first (the default), or blue.
    out : NDArray, optional
        Where it is written to.

    Returns
    -------
    NDArray
        Of dtype uint8 and shape (height, width, 3), or (height, width, 1) in gray. (`mx.np.ndarray` where NumPy's
        arrays are used: `set_np`.)
    """


def _answer(image: Any, out: Any) -> Any:
    return image.as_np_ndarray() if out is None and is_np_array() else image


@documented(options=_OPTIONS)
def imread(filename: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a picture that is read from a file.

    Parameters
    ----------
    filename : str or path
    {options}

    Raises
    ------
    FileMissingError, FileAccessError
        If the file is not there, or cannot be read.
    ArgumentError
        If it holds no picture, or a damaged one.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed: `pip install pillow`.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.image.imread('missing.png')
    Traceback (most recent call last):
        ...
    minpy.core.errors.FileMissingError: imread: there is no file 'missing.png'.
    """
    return _answer(_cvimread(filename, *args, **kwargs), kwargs.get("out"))


@documented(options=_OPTIONS)
def imdecode(buf: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a picture that is decoded from the bytes of a PNG, JPEG, ... file.

    Parameters
    ----------
    buf : bytes, bytearray, numpy.ndarray or NDArray
    {options}

    Raises
    ------
    ArgumentError
        If it is no picture, or a damaged one.
    MissingDependencyError
        If neither OpenCV nor Pillow is installed: `pip install pillow`.

    Examples
    --------
    >>> import minpy as mx
    >>> bitmap = bytes.fromhex('424d3a000000000000003600000028000000010000000100000001001800'
    ...                        '000000000400000000000000000000000000000000000000ff336600')
    >>> mx.image.imdecode(bitmap).asnumpy()
    array([[[102,  51, 255]]], dtype=uint8)
    """
    if not isinstance(buf, (bytes, bytearray, memoryview, Array)) and not hasattr(buf, "__array_interface__"):
        raise ArgumentValueError(
            f"imdecode: buf is {describe(buf)}; expected bytes, or an array of uint8. Read the file in the mode 'rb'."
        )
    return _answer(_cvimdecode(buf, *args, **kwargs), kwargs.get("out"))
