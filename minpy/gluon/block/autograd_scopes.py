"""The scopes of `autograd` that a trace of a block begins in."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

from minpy.core.errors import NotTraceableError
from minpy.core.source_lines import place_in_program
from minpy.core.state import leaving, state, tracing

__all__ = ["EagerBlocks", "Modes"]


class Modes:
    """Notes, in a `with` statement, in which mode a block is traced; see `minpy.symbol.autograd_scopes`."""

    facts: Any = None  # what is known of the values of the graph, once that is

    def __init__(self, block_name: str) -> None:
        self.name = block_name
        self.training = bool(state.training)

    def __enter__(self) -> Modes:
        values = vars(tracing)
        leave = partial(values.update, {"modes": tracing.modes, "leave": tracing.leave})
        values |= {"modes": self, "leave": leave}
        return self

    __exit__ = leaving(tracing)

    def refuse(self, operator: str) -> NoReturn:
        """Raise the error for an operator in a scope of another mode."""
        scope, mode = ("predict_mode", "training") if self.training else ("train_mode", "prediction")
        raise NotTraceableError(
            f"{self.name} is hybridized, and at {place_in_program()} {operator} is called inside autograd.{scope}(), "
            f"while the block is called for {mode}: a graph has one mode for all operators. Leave the block that does "
            "it unhybridized: call hybridize(False) on it (for dropout in both modes: mode='always')."
        )


class EagerBlocks:
    """Lets hybridized blocks run as they are written, in this thread, in a `with` statement."""

    def __enter__(self) -> None:
        values = vars(tracing)
        leave = partial(values.update, {"eager": tracing.eager, "leave": tracing.leave})
        values |= {"eager": True, "leave": leave}

    __exit__ = leaving(tracing)
