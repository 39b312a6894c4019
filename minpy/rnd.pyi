"""`minpy.rnd` is `minpy.random`. Written by tools/make_stubs.py."""

from minpy.random import *
