"""What NDArrays add to `op.check`: the generator that their operators draw from."""

from __future__ import annotations

from typing import Any

from minpy.checking.case import register_generator
from minpy.ops.random.generator import generator

__all__: list[str] = []


def _state() -> Any:
    return generator().bit_generator.state


def _restore(state: Any) -> None:
    generator().bit_generator.state = state


register_generator(_state, _restore)
