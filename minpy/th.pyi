"""`minpy.th` is `minpy.torch`. Written by tools/make_stubs.py."""

from minpy.torch import *
