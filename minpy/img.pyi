"""`minpy.img` is `minpy.image`. Written by tools/make_stubs.py."""

from minpy.image import *
