"""`minpy.kv` is `minpy.kvstore`. Written by tools/make_stubs.py."""

from minpy.kvstore import *
