"""The cache key of a translated program: a digest of everything that its plan depends on.

Everything is written out: the steps with all their fields, constants with their bytes, what callers ask for,
the processor, versions, and when each file that plans are made with was changed. What cannot be written out, such as a
function that closes over something, has no digest, and is planned anew in every process. Nothing is left out because it
seems not to matter: a plan of something else would compute that.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import pickle
import sys
from collections.abc import Mapping
from functools import cache, partial
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy

from minpy import core
from minpy.backends.native.language import Array, Call, Origin, Part, Step
from minpy.backends.native.machine import helper_thread, llvm, numpy_blas
from minpy.backends.native.machine.python_builtins import offsets
from minpy.core import IMPORTED
from minpy.graph.schedule import is_trusted

if TYPE_CHECKING:
    from minpy.backends.native.translating import Translation
    from minpy.graph.schedule import Steps

__all__ = ["MAX_CONSTANT_BYTES", "identity"]

# Programs with constants of more bytes are not cached.
MAX_CONSTANT_BYTES = 2**20


def identity(steps: Steps, translation: Translation, options: Mapping[str, Any]) -> str | None:
    """Return the digest of all that decides what is planned; None where something cannot be told.

    `options` say how the program is to be compiled.

    Raises
    ------
    MissingDependencyError
        If llvmlite is not installed.
    """
    sources = _sources()
    if sources is None:
        return None
    try:
        content = written((
            _environment(), sources, sorted(options.items()), _requested(steps, translation),
            described(translation.routine.parts),
        ))  # fmt: skip
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return hashlib.sha256(content).hexdigest()


# -- what is the same for all programs of a process ------------------------------------------------------------------


def _environment() -> tuple[Any, ...]:
    library = numpy_blas.find()
    return (
        sys.implementation.cache_tag,
        sys.version_info[:3],
        getattr(sys, "abiflags", ""),
        numpy.__version__,
        offsets(),
        library and (library.integer, library.is_openblas, library.has_more_threads),
        helper_thread.count(),
        llvm.toolchain(),
    )


_PACKAGE = os.path.dirname(os.path.dirname(core.__file__))
# The folders of the package with whose modules a plan is made.
_PLANNED_WITH = ("backends", "capture", "core", "graph", os.path.join("ops", "kernels"))


@cache
def _sources() -> tuple[Any, ...] | None:
    """Return which files are planned with, how long they are, and when they were changed.

    None where that does not tell what was planned with: a file was changed after this package was imported, so that
    this process may run what it was before; or there are no files. Times of modification can be set to what they
    were; those of the last change of any kind, which are looked at as well, cannot.
    """
    files: list[tuple[str, int, int, int]] = []
    folders = [os.path.join(_PACKAGE, name) for name in _PLANNED_WITH]
    try:
        for folder in folders:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        status = entry.stat()
                        if max(status.st_ctime_ns, status.st_mtime_ns) > IMPORTED:
                            return None
                        files.append((entry.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
                    elif entry.name != "__pycache__" and entry.is_dir():
                        folders.append(entry.path)
    except OSError:
        return None
    return tuple(sorted(files)) or None


def _requested(steps: Steps, translation: Translation) -> tuple[Any, ...]:
    """Return what callers give and ask for, beside the routine itself."""
    positions = {node: position for position, node in enumerate(steps.variables)}
    numbers = {node: number for number, node in enumerate(steps.forward)}
    return (
        steps.training, steps.num_inputs, len(steps.outputs), len(steps.cotangents), sorted(steps.states),
        [(positions[node], steps.grad_req[node]) for node in steps.gradients], len(steps.grad_req),
        [(numbers[node], width) for node, width in translation.saved_for_replay], sorted(steps.stored.items()),
    )  # fmt: skip


# -- the routine -----------------------------------------------------------------------------------------------------

_COMMON = {field.name for field in dataclasses.fields(Step)}


def described(parts: list[Part]) -> list[Any]:
    """Return all that is in the parts of a routine, arrays as numbers in the order in which they are given."""
    numbers: dict[Array, int] = {}

    def facts(arrays: Any) -> list[Any]:
        return [(numbers.setdefault(array, len(numbers)), array.name, array.shape, array.dtype) for array in arrays]

    def read(value: Any) -> Any:
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(map(read, value))
        if not isinstance(value, Array):
            return ("value", value)
        if value.value is not None:
            return value.value
        if value not in numbers:
            raise pickle.PicklingError(f"{value} is given by no step before.")
        return numbers[value]

    def entry(step: Step) -> Any:
        fields = {
            field.name: getattr(step, field.name)
            for field in dataclasses.fields(step)
            if field.name not in _COMMON and field.name != "arguments"
        }
        if isinstance(step, Call):
            fields |= {"arguments": read(step.arguments), "form": step.form}
            if step.node is not None:
                # Python's function of a node runs as it is now, whatever was planned.
                fields["function"] = type(step.function).__name__
                fields["node"] = (step.node.described(), step.node.kind, is_trusted(step.node))
        return type(step), read(step.operands), facts(step.outputs), fields, step.origin

    return [
        (part.name, facts(part.inputs), [*map(entry, part.steps)], read(tuple(part.outputs)), read(tuple(part.updates)))
        for part in parts
    ]


# What is written by its name, if that leads to it.
_NAMED = (type, FunctionType, BuiltinFunctionType, type(numpy.sum))


class _Writer(pickle.Pickler):
    """Writes values so that equal ones give equal bytes in all processes; refuses what has no such form."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Origin):
            return Origin, (value.nodes,)
        if isinstance(value, numpy.ufunc):
            name = str(value.__name__)
            if vars(numpy).get(name) is not value:
                raise pickle.PicklingError(f"{value} is none of NumPy's.")
            return str, (name,)
        if isinstance(value, (numpy.generic, numpy.ndarray)):
            if value.dtype.hasobject or value.nbytes > MAX_CONSTANT_BYTES:
                raise pickle.PicklingError("an array is too large, or of objects.")
        elif isinstance(value, _NAMED):
            if str(value.__module__).partition(".")[0] not in ("minpy", "numpy", "builtins", "functools"):
                raise pickle.PicklingError(f"{value} is not part of minpy.")
        elif not isinstance(value, (tuple, partial, numpy.dtype)) and not dataclasses.is_dataclass(value):
            raise pickle.PicklingError(f"there is no form for {type(value)}.")
        return NotImplemented


def written(value: Any) -> bytes:
    """Return a value written out.

    Raises
    ------
    PicklingError, TypeError, AttributeError
        If something in it cannot be.

    Examples
    --------
    >>> written(0.0) == written(-0.0), written((1, numpy.add)) == written((1, numpy.add))
    (False, True)
    """
    file = io.BytesIO()
    writer = _Writer(file, 4)
    writer.fast = True  # without references to what was written before: equal objects may be one, or two
    writer.dump(value)
    return file.getvalue()
