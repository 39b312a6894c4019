"""The types of `minpy.sym.contrib`, written by tools/make_stubs.py. Inputs that are left out become variables."""

from collections.abc import Sequence
from typing import Any

from minpy.symbol.control_flow import cond as cond
from minpy.symbol.control_flow import foreach as foreach
from minpy.symbol.control_flow import while_loop as while_loop


