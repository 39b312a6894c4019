"""One trace of a block to a graph of symbols, for a call for which there is none.

What the block refers to is noted first, so that a later change is seen; the scopes that a trace needs are entered; and
random numbers that were drawn once are warned of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minpy.core.source_lines import warn_at_program
from minpy.core.state import Scope, questions, state
from minpy.gluon.block.argument_specs import functions_in
from minpy.gluon.block.attribute_guards import Guards
from minpy.gluon.block.autograd_scopes import Modes
from minpy.gluon.block.cached_op import CachedOp
from minpy.gluon.block.internal_attributes import INTERNAL
from minpy.gluon.block.traced_draws import DrawDetector

__all__ = ["blocks_in", "traced", "warn_of_frozen"]


def blocks_in(block: Any) -> list[Any]:
    """Return a block and all inside, each once, inner ones first."""
    blocks: dict[int, Any] = {}
    block.apply(lambda child: blocks.setdefault(id(child), child))
    return [*blocks.values()]


def traced(block: Any, leaves: Sequence[Any], form: Any) -> tuple[CachedOp, Guards]:
    """Return the graph of a block for arguments (a flat list, and its form), and what it is valid for.

    The block's `Graphs` note what the trace has asked for.
    """
    # As things are before the trace: what that changes is seen at the next call.
    if block._graphs.guards is not None and block._graphs.guards.are_full:
        block._clear_cached_op()
    guards = block._graphs.guards or Guards(blocks_in(block), INTERNAL)
    if block._is_written_as_forward:
        guards.note_arguments(functions_in(form))
    before = questions.training, questions.recording
    questions.training = questions.recording = False
    recording = 1 if state.recording == 1 else 2
    draws = DrawDetector(guards.generators)
    try:
        with Scope(recording, int(state.training)), Modes(block.name):  # type: ignore[arg-type]
            graph: CachedOp = block._trace(leaves, form)
        drawn = draws.drawn()
        if drawn is not None:
            warn_at_program(
                f"{block.name} is hybridized, and its forward {drawn}: every call uses the numbers that were "
                "drawn when it was traced. Draw with mx.np.random (F.random in hybrid_forward), give the numbers as an "
                "argument, or leave the block that does it unhybridized: call hybridize(False) on it."
            )
        if not block._is_written_as_forward:
            warn_of_frozen(block, guards)
        training, recorded = questions.training, questions.recording
    finally:
        questions.training = before[0] or questions.training
        questions.recording = before[1] or questions.recording
    block._graphs.note_dependency(training=training, recording=recorded)
    return graph, guards


def warn_of_frozen(block: Any, guards: Guards) -> None:
    """Warn once of what `hybrid_forward` names and nobody can see change: a graph holds what it was."""
    new = {name: kind for name, kind in guards.frozen.items() if name not in block._graphs.frozen}
    if new:
        block._graphs.frozen |= new.keys()
        named = ", ".join(f"{name} ({kind})" for name, kind in new.items())
        warn_at_program(
            f"{block.name} is hybridized, and its hybrid_forward refers to {named}, of which no changes are noticed: "
            "its graph holds what was there when it was traced. Give it as an argument, keep it as a list or a dict; "
            "or leave the block unhybridized: call hybridize(False) on it."
        )
