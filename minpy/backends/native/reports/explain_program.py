"""Explanations of native programs: the operators of each kernel, which steps are calls and why, and their costs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from minpy.backends.explanation import ExplainedItem, ExplainedPart, Explanation, shortened
from minpy.backends.native.codegen.matrix_products import Gemm
from minpy.backends.native.fusing.loop_nest import Item, Nest
from minpy.backends.native.language import Assembly, Call, Origin, Product, Reduce

if TYPE_CHECKING:
    from minpy.backends.native.codegen.launches import Launch
    from minpy.backends.native.codegen.program_builder import Build

__all__ = ["described_launch", "explained"]


def explained(title: str, build: Build, seconds: Mapping[str, float], is_cached: bool) -> Explanation:
    """Return the explanation of a program, under a title."""
    writers: dict[object, int] = {}
    count = itertools.count()
    parts = [
        ExplainedPart(part.name, tuple(_item(launch, build, next(count), writers) for launch in launches))
        for part, launches in zip(build.routine.parts, build.launches, strict=True)
    ]
    memory = build.memory
    has_backward = build.routine.parts[-1].name == "backward"
    kept_bytes = 0
    if has_backward:  # each part before it ends with what copies its outputs
        kept_bytes = memory.kept_bytes(sum(len(launches) + 1 for launches in build.launches[:-1]) - 1)
    return Explanation(
        title, True, "", tuple(parts), memory.nbytes, memory.unshared_bytes, kept_bytes, dict(seconds),
        is_cached, memory.prepared_bytes,
    )  # fmt: skip


def _item(launch: Launch, build: Build, number: int, writers: dict[object, int]) -> ExplainedItem:
    """Return the explanation of a launch; `writers` are the items by the owners of the memory that they write."""
    item, owner = launch.item, build.memory.owner
    reads = {writers[owner(array)] for array in launch.uses.reads if owner(array) in writers}
    writers.update((owner(array), number) for array in launch.uses.writes)
    origin = _origin(item)
    kind, description, reason = _described(launch)
    flops = sum(run.flops for run in launch.runs)
    nbytes = sum(run.bytes_moved for run in launch.runs)
    place = None
    if kind == "call":
        places = [row.place for row in build.translation.report if isinstance(item, Call) and row.node is item.node]
        place = next(filter(None, places), origin.place)
    return ExplainedItem(kind, origin.nodes, description, flops, nbytes, reason, place, tuple(sorted(reads)), number)


def described_launch(launch: Launch) -> tuple[tuple[str, ...], str]:
    """Return the names of the operators that a launch does, or a part of them, and what it does."""
    kind, description, _ = _described(launch)
    return _origin(launch.item).nodes, f"{kind} {description}"


def _described(launch: Launch) -> tuple[str, str, str]:
    """Return the kind of an item, what it does, and why it is a call."""
    item = launch.item
    if isinstance(item, Nest):
        functions = [step.label() if isinstance(step, Reduce) else step.function for step in item.steps]
        return "kernel", f"{_times(item.shape)}: {shortened(functions)}", ""
    if isinstance(item, Product):
        first, second = item.operands[:2]
        description = f"{_times(first.shape)} by {_times(second.shape)}{', added' if len(item.operands) > 2 else ''}"
        if launch.runs and not any(isinstance(run, Gemm) for run in launch.runs):
            description += ", a kernel"
        reason = "" if launch.is_native else "NumPy's BLAS has no address that is known"
        return ("product" if launch.is_native else "call"), description, reason
    if isinstance(item, Assembly):
        return "copy", f"{item.label()} to {_times(item.shape)}", ""
    assert isinstance(item, Call)
    return ("native" if launch.is_native else "call"), item.label(), "" if launch.is_native else item.reason


def _origin(item: Item) -> Origin:
    return sum((step.origin for step in (item.steps if isinstance(item, Nest) else [item])), Origin())


def _times(shape: Iterable[int]) -> str:
    return "x".join(map(str, shape)) or "a number"
