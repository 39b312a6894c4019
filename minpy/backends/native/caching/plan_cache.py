"""Native programs, built now or by an earlier process: what runs a program is kept on disk beside its machine code.

A program is always translated, and users' functions traced anew: the key of its plan is made from the result
(`cache_key.identity`). All that follows, simplifying, fusing, printing, compiling, takes ten times as long, and is
skipped where a plan is cached. What reports need of it is built when somebody asks.

A plan is a pickle in a file of `machine.code_cache`, as well guarded as machine code is. Nodes and functions that it
calls are numbers of calls in the translated program, which is there when a plan is read.
"""

from __future__ import annotations

import gc
import io
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.native.caching.cache_key import MAX_CONSTANT_BYTES, identity
from minpy.backends.native.language import Call
from minpy.backends.native.machine import llvm
from minpy.backends.native.machine.code_cache import Store
from minpy.backends.native.runtime.native_executable import NativeExecutable
from minpy.backends.native.runtime.program_plan import Plan
from minpy.backends.native.translating import Translation, translate
from minpy.backends.protocol import ArrayFact
from minpy.graph.ir import Node
from minpy.graph.schedule import Steps

if TYPE_CHECKING:
    from minpy.backends.native.codegen.program_builder import Build

__all__ = ["native_program"]


def native_program(steps: Steps, facts: Mapping[Node, ArrayFact], **options: Any) -> NativeExecutable:
    """Return a program as native code, by its cached plan if there is one.

    Parameters and errors are those of `program_builder.build`; all options are part of the plan's key.
    """
    with _without_garbage_collection():
        began = time.perf_counter()
        translation = translate(steps, facts)
        translated = time.perf_counter()
        key = identity(steps, translation, options)

        def build_now() -> Build:
            # What it takes to build is imported with this: most of what an import of it takes.
            from minpy.backends.native.codegen.program_builder import build

            built = build(steps, facts, translation=translation, **options)
            built.seconds["translating"] = translated - began
            return built

        plan = None if key is None else _cached_plan(key, translation)
        if plan is not None:
            loaded = None if plan.code is None else llvm.find(plan.code)
            if loaded is not None and set(plan.functions) <= set(loaded.names):
                seconds = {"translating": translated - began, "recalling": time.perf_counter() - translated}
                return NativeExecutable(plan, steps, loaded, build_now, seconds)
        built = build_now()
        if key is not None and built.loaded is not None:
            _store(key, built.plan, translation)
        return NativeExecutable(built.plan, steps, built.loaded, lambda: built)


def _cached_plan(key: str, translation: Translation) -> Plan | None:
    """Return the cached plan of a translated program; None, if there is none, or it is damaged."""
    entry = Store(kind="plan").find(key)
    try:
        plan = None if entry is None else _Unpickler(entry[0], translation).load()
    except Exception:  # whatever a file holds that is not as it was written
        return None
    return plan if isinstance(plan, Plan) and "forward" in plan.parts else None


def _store(key: str, plan: Plan, translation: Translation) -> None:
    """Cache the plan of a program, if it can be pickled."""
    file = io.BytesIO()
    try:
        _Pickler(file, translation).dump(plan)
    except (pickle.PicklingError, TypeError, AttributeError):
        return
    Store(kind="plan").keep(key, file.getvalue(), ())


def _calls(translation: Translation) -> Sequence[Call]:
    return [step for step in translation.routine.steps if isinstance(step, Call)]


class _Pickler(pickle.Pickler):
    """Writes a plan: nodes and functions of calls by the numbers of these, other functions by their names."""

    def __init__(self, file: io.BytesIO, translation: Translation) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        calls = _calls(translation)
        self._nodes = {call.node: number for number, call in enumerate(calls) if call.node is not None}
        self._functions = {id(call.function): number for number, call in enumerate(calls) if call.function is not None}

    def persistent_id(self, value: Any) -> tuple[str, Any] | None:
        if isinstance(value, Node):
            if value not in self._nodes:
                raise pickle.PicklingError(f"{value} is called by no step.")
            return "node", self._nodes[value]
        if id(value) in self._functions:
            return "function", self._functions[id(value)]
        if isinstance(value, numpy.ufunc):  # pickled by itself, its module would be searched for
            return "ufunc", value.__name__
        if isinstance(value, numpy.ndarray) and (
            value.nbytes > MAX_CONSTANT_BYTES or value.dtype.hasobject or not value.flags.c_contiguous
        ):
            raise pickle.PicklingError("an array is too large, or of a kind that is not kept.")
        return None


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote."""

    def __init__(self, content: bytes, translation: Translation) -> None:
        super().__init__(io.BytesIO(content))
        self._calls = _calls(translation)

    def persistent_load(self, reference: tuple[str, Any]) -> Any:
        kind, key = reference
        return getattr(numpy, key) if kind == "ufunc" else getattr(self._calls[key], kind)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: planning makes many small objects, and collecting would take a third of the time."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()
