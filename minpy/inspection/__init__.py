"""`python -m minpy model`: what a model in files is, whether it is complete, and what it predicts."""

from __future__ import annotations

from minpy.inspection.report import Input, Layer, Output, Report, report

__all__ = ["Input", "Layer", "Output", "Report", "report"]
