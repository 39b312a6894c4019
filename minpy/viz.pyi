"""`minpy.viz` is `minpy.visualization`. Written by tools/make_stubs.py."""

from minpy.visualization import *
