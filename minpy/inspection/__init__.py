"""`python -m minpy model`: what a model in files is, whether it is whole, and what it answers."""

from __future__ import annotations

__all__: list[str] = []
