"""`minpy.npx` is `minpy.numpy_extension`. Written by tools/make_stubs.py."""

from typing import Any

from minpy.numpy_extension import *

def __getattr__(name: str) -> Any: ...
