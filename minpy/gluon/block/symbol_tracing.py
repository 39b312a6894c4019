"""One trace of a block, from the state of things before it to the graph: what a call does for which there is none.

What the block refers to is noted first, so that a later change is seen; the scopes that a trace needs are entered; and
what it has drawn once is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from minpy.core.source_lines import warn_at_program
from minpy.core.state import Scope, questions, state
from minpy.gluon.block.argument_specs import functions_in
from minpy.gluon.block.attribute_guards import Guards
from minpy.gluon.block.autograd_scopes import Modes
from minpy.gluon.block.cached_op import CachedOp
from minpy.gluon.block.internal_attributes import INTERNAL
from minpy.gluon.block.traced_draws import Draws

__all__ = ["traced", "warn_of_frozen"]


def traced(block: Any, leaves: Sequence[Any], form: Any) -> tuple[CachedOp, Guards]:
    """Return the graph of a block, and what it holds for; the block's `Graphs` note what the trace has asked for.

    Parameters
    ----------
    block : HybridBlock
    leaves : sequence of NDArray or None
        The arguments, in a flat list.
    form
        How they are nested.
    """
    blocks: dict[int, Any] = {}
    block.apply(lambda child: blocks.setdefault(id(child), child))
    # As things are before the trace: what that changes is seen at the next call.
    if block._graphs.guards is not None and block._graphs.guards.are_full:
        block._clear_cached_op()
    guards = block._graphs.guards or Guards(blocks.values(), INTERNAL)
    if block._is_written_as_forward:
        guards.note_given(functions_in(form))
    before = questions.training, questions.recording
    questions.training = questions.recording = False
    recording = 1 if state.recording == 1 else 2
    draws = Draws(_functions_of(blocks.values()), blocks.values())
    try:
        with Scope(recording, int(state.training)), Modes(block.name), draws:  # type: ignore[arg-type]
            graph: CachedOp = block._trace(leaves, form)
        _heed(draws, block)
        if not block._is_written_as_forward:
            warn_of_frozen(block, guards)
        training, recorded = questions.training, questions.recording
    finally:
        questions.training = before[0] or questions.training
        questions.recording = before[1] or questions.recording
    block._graphs.note_asked(training=training, recording=recorded)
    return graph, guards


def _functions_of(blocks: Iterable[Any]) -> Iterator[Callable[..., Any]]:
    """Return what users have written of some blocks."""
    for block in blocks:
        yield type(block).forward
        if hasattr(type(block), "hybrid_forward"):
            yield type(block).hybrid_forward


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


def _heed(draws: Draws, block: Any) -> None:
    """Warn that a trace holds numbers that were drawn once."""
    if draws.found:
        warn_at_program(
            f"{block.name} is hybridized, and its forward {draws.found}: every call uses the numbers that were "
            "drawn when it was traced. Draw with mx.np.random (F.random in hybrid_forward), give the numbers as an "
            "argument, or leave the block that does it unhybridized: call hybridize(False) on it."
        )
