"""Tools for the command line: `python -m minpy.tools.im2rec`."""

from __future__ import annotations

__all__: list[str] = []
