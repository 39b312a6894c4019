"""Pictures decoded, encoded and resized by OpenCV or Pillow (the extra `image`): the one place that knows them.

Either library alone will do. OpenCV is taken if it is installed, and Pillow for what OpenCV cannot decode; the
environment variable `MINPY_PICTURES`, set to `opencv` or `pillow`, leaves only that one (so that tests see both).
Both let go of Python's lock while they work: threads decode side by side.

What both decode, they decode equally, but for what their libraries of codecs do differently: `decode` says which.
"""

from minpy.pictures.coding import decode, encode, read
from minpy.pictures.libraries import libraries
from minpy.pictures.resizing import mirror, resize

__all__ = ["decode", "encode", "libraries", "mirror", "read", "resize"]
