"""Operators without rules of their own: their gradient is that of what their definition is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.gradient_rules import Plan
from minpy.core.operator import Operator
from minpy.differentiation.recorded_run import vjp

__all__ = ["Composed"]


class Composed(Operator):
    """An operator whose gradient is that of what its definition is made of: the definition runs under the tape.

    Graphs replace it by what the definition computes.
    """

    expands = True

    def has_rule(self, index: int) -> bool:
        """Tell whether the gradient of the input at a position is known: it always is."""
        return True

    def values_read(self, indices: Sequence[int]) -> tuple[frozenset[int] | None, bool]:
        """Return what gradients read: all arguments, not the result."""
        return None, False

    def plan(self) -> Plan:
        """Return what recording a call has to keep."""
        return Plan(None, False)

    def vjp(
        self,
        result: Any,
        arguments: Sequence[Any],
        attributes: dict[str, Any],
        gradient: Any,
        requires_grad: Sequence[int],
        targets: Any = None,
    ) -> list[Any]:
        """Return the gradients of the inputs at the positions `requires_grad`, in order, in new arrays."""

        def function(*inputs: Any) -> Any:
            outputs = self.definition(*inputs, **attributes)
            return tuple(outputs) if isinstance(outputs, list) else outputs

        _, pull = vjp(function, arguments, requires_grad)
        return pull(gradient)

    def _rules_changed(self) -> None:
        super()._rules_changed()
        self.direct = False
