"""Metrics of evaluation."""

__all__: list[str] = []
