"""`minpy.np_symbol` is `minpy.symbol.numpy`. Written by tools/make_stubs.py."""

from minpy.symbol.numpy import *
