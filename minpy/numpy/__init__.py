"""`minpy.numpy`: NumPy's functions on arrays of the tape, with NumPy's semantics."""

from minpy.numpy.ndarray import ndarray

__all__ = ["ndarray"]
