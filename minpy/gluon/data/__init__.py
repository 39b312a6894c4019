"""Datasets and loaders: `gluon.data`."""

__all__: list[str] = []
