"""Layers: `gluon.nn`."""

__all__: list[str] = []
