"""`minpy.sym` is `minpy.symbol`. Written by tools/make_stubs.py."""

from minpy.symbol import *
