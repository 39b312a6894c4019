"""Gluon: blocks, parameters, layers, losses, trainers."""

__all__: list[str] = []
