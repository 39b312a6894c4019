"""The types of `minpy.sym.linalg`, written by tools/make_stubs.py. Inputs that are left out become variables."""

from collections.abc import Sequence
from typing import Any




