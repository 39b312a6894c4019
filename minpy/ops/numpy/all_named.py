"""All operators of `minpy.ops.numpy.named`, imported for what they register."""

from __future__ import annotations

from minpy.ops.numpy import (
    named_creation,
    named_elementwise,
    named_joining,
    named_linalg,
    named_random,
    named_reductions,
    named_shapes,
    unnamed_functions,
)

__all__ = ["MODULES"]

MODULES = (
    unnamed_functions,
    named_creation,
    named_elementwise,
    named_joining,
    named_linalg,
    named_random,
    named_reductions,
    named_shapes,
)
