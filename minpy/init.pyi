"""`minpy.init` is `minpy.initializer`. Written by tools/make_stubs.py."""

from minpy.initializer import *
