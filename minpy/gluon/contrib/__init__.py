"""Layers and cells of `gluon.contrib`."""

__all__: list[str] = []
