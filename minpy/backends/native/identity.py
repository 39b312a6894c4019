"""What decides what becomes of a translated program, as one digest: by it, what was planned once is found again.

Everything in it is written out: the steps with all that they are, constants with their bytes, what callers ask for,
the processor, versions, and when each file that plans are made with was changed. What cannot be written out, such as a
function that closes over something, has no digest, and is planned anew in every process. Nothing is left out because it
seems not to matter: a plan of something else would compute that.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import struct
import sys
from collections.abc import Hashable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy

from minpy.backends.native.arguments import offsets
from minpy.backends.native.language import (
    Array,
    Assembly,
    Call,
    Elementwise,
    Origin,
    Part,
    Product,
    Reduce,
    Step,
    View,
)  # fmt: skip
from minpy.backends.native.machine import blas, llvm, threads
from minpy.backends.native.plans import MOST_BYTES
from minpy.core import IMPORTED
from minpy.graph.steps import is_trusted

if TYPE_CHECKING:
    from minpy.backends.native.translating import Translation
    from minpy.graph.steps import Steps

__all__ = ["identity"]

_PLAIN = (type(None), bool, int, complex, str, bytes)


class _Unknown(Exception):
    """Something cannot be written out."""


def identity(steps: Steps, translation: Translation, options: Mapping[str, Any]) -> str | None:
    """Return the digest of all that decides what is planned; None where something cannot be told.

    Parameters
    ----------
    steps : Steps
    translation : Translation
        What they are in the step language.
    options : mapping of str to object
        How they are to be compiled.

    Raises
    ------
    MissingDependencyError
        If llvmlite is not installed.
    """
    sources = _sources()
    if sources is None:
        return None
    try:
        told = (
            _surroundings(), sources, tuple(sorted((name, _told(value)) for name, value in options.items())),
            _asked(steps, translation), _Writer().routine(translation.routine.parts),
        )  # fmt: skip
    except _Unknown:
        return None
    return hashlib.sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()


# -- what is the same for all programs of a process ------------------------------------------------------------------


def _surroundings() -> tuple[Any, ...]:
    found = blas.find()
    build = (sys.implementation.cache_tag, sys.version_info[:3], getattr(sys, "abiflags", ""))
    at = dataclasses.astuple(offsets())
    return (
        *build,
        numpy.__version__,
        at,
        found and (found.integer, found.is_openblas, found.has_more_threads),
        threads.count(),
        llvm.toolchain(),
    )


# The folders of the package with whose modules a plan is made.
_PLANNED_WITH = ("backends", "capture", "core", "graph", os.path.join("ops", "kernels"))


@cache
def _sources() -> tuple[Any, ...] | None:
    """Return which files are planned with, how long they are, and when they were changed.

    None where that does not tell what was planned with: a file was changed after this package was imported, so that
    this process may run what it was before; or there are no files. Times of modification can be set to what they
    were; those of the last change of any kind, which are looked at as well, cannot.
    """
    found: list[tuple[str, int, int, int]] = []
    root = __file__
    for _ in range(3):
        root = os.path.dirname(root)
    folders = [os.path.join(root, name) for name in _PLANNED_WITH]
    try:
        for folder in folders:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        about = entry.stat()
                        if max(about.st_ctime_ns, about.st_mtime_ns) > IMPORTED:
                            return None
                        found.append((entry.path, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
                    elif entry.name != "__pycache__" and entry.is_dir():
                        folders.append(entry.path)
    except OSError:
        return None
    return tuple(sorted(found)) or None


def _asked(steps: Steps, translation: Translation) -> tuple[Any, ...]:
    """Return what callers give and ask for, beside the routine itself."""
    positions = {node: position for position, node in enumerate(steps.variables)}
    numbers = {node: number for number, node in enumerate(steps.forward)}
    gradients = [(positions[node], steps.grad_req[node]) for node in steps.gradients]
    return (
        steps.training, steps.num_inputs, len(steps.outputs), len(steps.cotangents), tuple(sorted(steps.states)),
        tuple(gradients), len(steps.grad_req),
        tuple((numbers[node], width) for node, width in translation.saved_for_replay),
        tuple(sorted(steps.stored.items())),
    )  # fmt: skip


# -- the routine -----------------------------------------------------------------------------------------------------


class _Writer:
    """Writes routines out: arrays as numbers, in the order in which they are given."""

    def __init__(self) -> None:
        self._numbers: dict[Array, int] = {}

    def routine(self, parts: list[Part]) -> tuple[Any, ...]:
        return tuple(map(self._part, parts))

    def _part(self, part: Part) -> tuple[Any, ...]:
        inputs = tuple((self._given(one), one.name, one.shape, one.dtype.str) for one in part.inputs)
        steps = tuple(map(self._step, part.steps))
        outputs = tuple(map(self._array, part.outputs))
        updates = tuple((self._array(target), self._array(source)) for target, source in part.updates)
        return part.name, inputs, steps, outputs, updates

    def _given(self, array: Array) -> int:
        return self._numbers.setdefault(array, len(self._numbers))

    def _array(self, array: Array) -> Any:
        if array.value is not None:
            return _told(array.value)
        number = self._numbers.get(array)
        if number is None:
            raise _Unknown
        return number

    def _step(self, step: Step) -> tuple[Any, ...]:
        operands = tuple(map(self._array, step.operands))
        outputs = tuple((self._given(one), one.shape, one.dtype.str) for one in step.outputs)
        about: tuple[Any, ...]
        if isinstance(step, Call):
            node = step.node
            of = None if node is None else (node.described(), node.kind, is_trusted(node))
            arguments = tuple(map(self._argument, step.arguments))
            about = (_function(step.function, node is not None), arguments, of, step.reason, _told(step.form))
        else:
            about = tuple(_told(getattr(step, name)) for name in _OWN[type(step)])
        return type(step).__name__, operands, outputs, about, step.origin.nodes

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(map(self._argument, argument))
        return ("array", self._array(argument)) if isinstance(argument, Array) else ("value", _told(argument))


_COMMON = {one.name for one in dataclasses.fields(Step)}
# What steps of each kind have beside operands, outputs and origin.
_OWN: dict[type[Step], tuple[str, ...]] = {
    kind: tuple(one.name for one in dataclasses.fields(kind) if one.name not in _COMMON)
    for kind in (Elementwise, Reduce, View, Assembly, Product)
}


def _told(value: Any) -> Hashable:
    """Return a value written out, as tuples of plain objects whose `repr` says all."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return ("float", struct.pack("d", value))  # NaN with its sign, too
    if kind is tuple or kind is list:
        return (kind.__name__, *map(_told, value))
    if isinstance(value, numpy.dtype):
        return ("dtype", value.str, value.descr if value.names else None)
    if isinstance(value, numpy.generic) or kind is numpy.ndarray:
        if value.dtype.hasobject or value.nbytes > MOST_BYTES:
            raise _Unknown
        return ("array", value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, type):
        return ("class", _named(value))
    if isinstance(value, Origin):
        return ("origin", value.nodes)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return (_named(kind), *map(_told, value))
    if dataclasses.is_dataclass(value):
        return (_named(kind), *(_told(getattr(value, one.name)) for one in dataclasses.fields(value)))
    return _function(value, False)


def _function(function: Any, is_of_node: bool) -> Hashable:
    """Return what a function is, written out.

    That of a node runs as it is now, whatever was planned: only which one it is counts.
    """
    if function is None:
        return None
    name = str(getattr(function, "__name__", ""))
    if isinstance(function, numpy.ufunc) and vars(numpy).get(name) is function:
        return ("ufunc", name)
    if isinstance(function, partial):
        keywords = tuple(sorted((name, _told(value)) for name, value in function.keywords.items()))
        return ("partial", _function(function.func, is_of_node), _told(function.args), keywords)
    if dataclasses.is_dataclass(function) and not isinstance(function, type):
        return (_named(type(function)), *(_told(getattr(function, one.name)) for one in dataclasses.fields(function)))
    if is_of_node:
        return ("of the node", type(function).__name__)
    return ("function", _named(function))


def _named(thing: Any) -> str:
    """Return the name of a class or function that is one of this package's, or of NumPy's, or Python's own."""
    module, name = str(getattr(thing, "__module__", "")), str(getattr(thing, "__qualname__", ""))
    if module.partition(".")[0] not in ("minpy", "numpy", "builtins") or "<" in name:
        raise _Unknown
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not thing:  # another one of that name
        raise _Unknown
    return f"{module}.{name}"
