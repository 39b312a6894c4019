"""`minpy.nd` is `minpy.ndarray`. Written by tools/make_stubs.py."""

from minpy.ndarray import *
