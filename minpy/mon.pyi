"""`minpy.mon` is `minpy.monitor`. Written by tools/make_stubs.py."""

from minpy.monitor import *
