"""What became of a native program: which operators are which kernel, what stayed a call and why, what it costs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from minpy.backends.explanation import ExplainedItem, ExplainedPart, Explanation, shortened
from minpy.backends.native.blocked.kernels import BLOCKED
from minpy.backends.native.fusing.nest import Nest
from minpy.backends.native.kernels.kernel import Kernel
from minpy.backends.native.language import Assembly, Call, Origin, Product, Reduce, Step

if TYPE_CHECKING:
    from minpy.backends.native.works import Work

__all__ = ["described_work", "explained"]


def explained(title: str, found: Any) -> Explanation:
    """Return what became of a program, for a report under a title."""
    native = found.planned()
    givers: dict[object, int] = {}
    count = itertools.count()
    parts = [
        ExplainedPart(part.name, tuple(_item(work, native, next(count), givers) for work in works))
        for part, works in zip(native.routine.parts, native.works, strict=True)
    ]
    memory = native.memory
    goes_back = native.routine.parts[-1].name == "backward"
    kept = 0
    if goes_back:  # each part before it ends with what copies its outputs
        kept = memory.kept_bytes(sum(len(works) + 1 for works in native.works[:-1]) - 1)
    return Explanation(
        title, True, "", tuple(parts), memory.nbytes, memory.unshared_bytes, kept, dict(found.seconds),
        found.is_cached, memory.prepared_bytes,
    )  # fmt: skip


def _item(work: Work, native: Any, number: int, givers: dict[object, int]) -> ExplainedItem:
    """Return what there is to say of an item; `givers` are the items by the owners of the memory that they fill."""
    item = work.item
    reads = {givers[owner] for array in work.uses.reads if (owner := native.memory.owner(array)) in givers}
    givers.update((native.memory.owner(array), number) for array in work.uses.writes)
    origin = _origin(item.steps if isinstance(item, Nest) else [item])
    kind, what, reason = _described(work)
    flops = sum(run.flops for run in work.runs)
    nbytes = sum(run.bytes_moved for run in work.runs)
    place = None
    if kind == "call":
        places = [one.place for one in native.translation.report if isinstance(item, Call) and one.node is item.node]
        place = next(filter(None, places), origin.place)
    return ExplainedItem(kind, origin.nodes, what, flops, nbytes, reason, place, tuple(sorted(reads)), number)


def described_work(work: Work) -> tuple[tuple[str, ...], str]:
    """Return the names of the operators that a work does, or a part of them, and what it does."""
    kind, what, _ = _described(work)
    origin = _origin(work.item.steps if isinstance(work.item, Nest) else [work.item])
    return origin.nodes, f"{kind} {what}"


def _described(work: Work) -> tuple[str, str, str]:
    """Return the kind of an item, what it does, and why it is a call."""
    item = work.item
    if isinstance(item, Nest):
        functions = [step.label() if isinstance(step, Reduce) else step.function for step in item.steps]
        return "kernel", f"{_times(item.shape)}: {shortened(functions)}", ""
    if isinstance(item, Product):
        first, second = item.operands[:2]
        what = f"{_times(first.shape)} by {_times(second.shape)}{', added' if len(item.operands) > 2 else ''}"
        if any(isinstance(run, Kernel) and run.name == BLOCKED for run in work.runs):
            what += ", a kernel"
        reason = "" if work.is_native else "NumPy's BLAS has no address that is known"
        return ("product" if work.is_native else "call"), what, reason
    if isinstance(item, Assembly):
        return "copy", f"{item.label()} to {_times(item.shape)}", ""
    assert isinstance(item, Call)
    return ("native" if work.is_native else "call"), item.label(), "" if work.is_native else item.reason


def _origin(steps: Sequence[Step]) -> Origin:
    found = Origin()
    for step in steps:
        found = found + step.origin
    return found


def _times(shape: Iterable[int]) -> str:
    return "x".join(map(str, shape)) or "a number"
