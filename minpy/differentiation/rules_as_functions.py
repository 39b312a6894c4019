"""The rules of one operator as plain functions of arrays: what its gradients and tangents are, whoever asks.

Bridges to other libraries stand on these. Given arrays that the tape records, the rules are recorded, too, so that
functions of any order follow by differentiating these (`minpy.differentiation.recorded_run`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy

from minpy.core import user_functions
from minpy.core.array import Array, raw_of
from minpy.core.state import Scope, state
from minpy.core.tape_walk import conform
from minpy.differentiation import recorded_run

__all__ = ["pull_back", "push_forward"]


def pull_back(
    operator: Any, attributes: dict[str, Any], indices: Sequence[int], count: int, several: bool, *values: Any
) -> tuple[Any, ...]:
    """Return the gradients of the inputs at the positions `indices`.

    `values`: the gradients of `count` outputs, these outputs, and the inputs. `several`: whether the operator returns
    a tuple, also of one output.
    """
    arrays: list[Any] = [value if isinstance(value, Array) else numpy.asarray(value) for value in values[: 2 * count]]
    upstream, outputs, inputs = tuple(arrays[:count]), tuple(arrays[count:]), values[2 * count :]
    node: Any = SimpleNamespace(shape=None if several else outputs[0].shape)
    if operator.guarded:
        outputs, inputs = tuple(map(user_functions.read_only, outputs)), tuple(map(user_functions.read_only, inputs))
    with Scope(state.recording and any(isinstance(value, Array) for value in values), None):
        parts = operator.vjp(
            outputs if several else outputs[0], inputs, attributes, upstream if several else upstream[0], indices
        )
        likes = [
            inputs[index] if isinstance(inputs[index], Array) else numpy.asarray(inputs[index]) for index in indices
        ]
        return tuple(
            conform(part, operator, index, node, like) for part, index, like in zip(parts, indices, likes, strict=True)
        )


def push_forward(
    operator: Any, attributes: dict[str, Any], index: int, count: int, several: bool, tangent: Any, *values: Any
) -> tuple[Any, ...]:
    """Return what the tangent of the input at a position contributes to the outputs' tangents.

    `values`: the `count` outputs, and the inputs. Without a forward-mode rule it is the transpose of the gradient rule.
    """
    outputs, inputs = values[:count], values[count:]
    raws = [numpy.asarray(raw_of(output)) for output in outputs]
    if operator.jvp_rules.get(index) is not None:
        shapes, dtypes = tuple(raw.shape for raw in raws), tuple(raw.dtype for raw in raws)
        result = recorded_run.apply_jvp_rule(
            operator,
            index,
            tuple(outputs) if several else outputs[0],
            inputs,
            attributes,
            tangent,
            shapes if several else shapes[0],
            dtypes if several else dtypes[0],
        )
        return result if several else (result,)
    if not operator.has_rule(index):
        raise operator.missing_rule(index)

    def pulled(*upstream: Any) -> Any:
        return pull_back(operator, attributes, (index,), count, several, *upstream, *values)[0]

    _, transpose = recorded_run.vjp(pulled, [numpy.zeros_like(raw) for raw in raws], range(count))
    return tuple(transpose(tangent))
