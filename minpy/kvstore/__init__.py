"""Stores of parameters and gradients: `mx.kv`."""

__all__: list[str] = []
