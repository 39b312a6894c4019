"""`minpy.mod` is `minpy.module`. Written by tools/make_stubs.py."""

from minpy.module import *
