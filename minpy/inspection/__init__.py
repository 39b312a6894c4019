"""`python -m minpy model`: what a model in files is, whether it is whole, and what it answers."""

from __future__ import annotations

from minpy.inspection.report import Input, Layer, Output, Report, report

__all__ = ["Input", "Layer", "Output", "Report", "report"]
