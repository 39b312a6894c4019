"""Optimizers: how weights follow their gradients."""

__all__: list[str] = []
