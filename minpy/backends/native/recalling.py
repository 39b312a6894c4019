"""Programs as native code, planned now or by an earlier process.

A program is translated in any case, users' functions traced anew: what they come to says which plan is theirs. All that
follows, simplifying, fusing, printing, compiling, takes ten times as long, and is left out where a plan was kept. What
it would have told, for reports, is found out when somebody asks.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minpy.backends.native import plans
from minpy.backends.native.executable import NativeExecutable
from minpy.backends.native.identity import identity
from minpy.backends.native.machine import llvm
from minpy.backends.native.prepared import Preparation
from minpy.backends.native.running import ContextMemory
from minpy.backends.native.source import NativePart
from minpy.backends.native.translating import Translation, translate
from minpy.backends.protocol import ArrayFact
from minpy.graph.ir import Node
from minpy.graph.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minpy.backends.native.building import NativeProgram

__all__ = ["RecalledProgram", "native_program"]


class RecalledProgram(NativeExecutable):
    """A program as native code that an earlier process has planned: what `NativeProgram` is to those who run it.

    Attributes
    ----------
    prepare : NativePart or None
    preparation : Preparation or None
    forward : NativePart
    backward : NativePart or None
    segments : tuple of str
        The names of the functions of native code.
    seconds : dict of str to float
        How long it took to find it.
    """

    is_cached = True

    def __init__(
        self, plan: plans.Plan, loaded: llvm.Loaded, plan_anew: Callable[[], NativeProgram], computes_in_place: bool
    ) -> None:
        self.prepare: NativePart | None = plan.parts.get("prepare")
        self.forward: NativePart = plan.parts["forward"]
        self.backward: NativePart | None = plan.parts.get("backward")
        self.preparation = None if plan.preparation is None else Preparation(*plan.preparation)
        self.segments = plan.segments
        self.arguments = plan.arguments
        self.computes_in_place = computes_in_place
        self.seconds: dict[str, float] = {}
        self._plan = plan
        self._loaded = loaded
        self._plan_anew = plan_anew
        self._planned: NativeProgram | None = None

    def planned(self) -> NativeProgram:
        """Return the program with all that is known of it, for reports: it is planned again."""
        if self._planned is None:
            self._planned = self._plan_anew()
        return self._planned

    def text(self) -> str:
        """Return the source of both parts, and what memory they take."""
        return self.planned().text()

    def read_by_backward(self) -> frozenset[Node]:
        """Return the variables that the backward part reads."""
        return self._plan.reads

    def new_memory(self) -> ContextMemory:
        """Return memory for one call at a time."""
        plan = self._plan
        return ContextMemory.made(plan.nbytes, plan.table, self._loaded, plan.segments)


def native_program(steps: Steps, facts: Mapping[Node, ArrayFact], **options: Any) -> NativeProgram | RecalledProgram:
    """Return a program as native code, by the plan that was kept of it if there is one.

    Parameters and errors are those of `building.build`; all options are part of what a plan is found by.
    """
    with _without_collecting():
        began = time.perf_counter()
        translation = translate(steps, facts)
        translated = time.perf_counter()
        key = identity(steps, translation, options)

        def plan_anew() -> NativeProgram:
            # What it takes to plan is imported with this: most of what an import of it takes.
            from minpy.backends.native.building import build

            program = build(steps, facts, translation=translation, **options)
            program.seconds["translating"] = translated - began
            return program

        found = None if key is None else _recalled(key, steps, translation, plan_anew)
        if found is not None:
            found.seconds = {"translating": translated - began, "recalling": time.perf_counter() - translated}
            return found
        program = plan_anew()
        if key is not None:
            plans.keep(key, program, steps, translation.routine)
        return program


def _recalled(
    key: str, steps: Steps, translation: Translation, plan_anew: Callable[[], NativeProgram]
) -> RecalledProgram | None:
    plan = plans.find(key, steps, translation.routine)
    loaded = None if plan is None else llvm.find(plan.code)
    if plan is None or loaded is None or not set(plan.segments) <= set(loaded.names):
        return None
    return RecalledProgram(plan, loaded, plan_anew, bool(steps.stored))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Let nobody look for garbage: planning makes many small things, hardly any of them garbage.

    Looking would take a third of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
