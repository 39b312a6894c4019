"""`mx.library.load`: a compiled library becomes operators, partitioners and passes. All of it, or nothing.

Operators are then found as `nd.<name>`, `sym.<name>`, or below, by what their names begin with.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from minpy.core.configured import FAMILIES, OperatorFamily
from minpy.core.errors import FileMissingError, LibraryError
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES
from minpy.importing import import_module
from minpy.library.binary import Binary
from minpy.library.native_operator import NativeFamily
from minpy.library.partitioners import NativePartitioner
from minpy.library.passes import NativePass
from minpy.library.subgraphs import NativeSubgraphFamily
from minpy.namespaces import add_names
from minpy.ops.registry import PREFIXES, known_operator
from minpy.symbol.composition import compose_family
from minpy.symbol.symbol import Symbol

__all__ = ["Library", "export", "is_taken", "load", "loaded", "withdraw"]

_locks = [threading.RLock()]
if hasattr(os, "register_at_fork"):  # it is free in a forked child, whoever held it
    os.register_at_fork(after_in_child=lambda: _locks.__setitem__(0, threading.RLock()))
_PLURALS = {"operator": "operators", "partitioner": "partitioners", "pass": "passes"}
_TABLES: dict[str, dict[str, Any]] = {"operator": FAMILIES, "partitioner": PARTITIONERS, "pass": PASSES}
# By the real path of the file.
_LIBRARIES: dict[str, Library] = {}
# Device, inode, size and time of the last change of each file that has been opened.
_OPENED: dict[str, tuple[int, ...]] = {}


@dataclass(frozen=True, eq=False)
class Library:
    """A library that is loaded.

    Attributes
    ----------
    path : str
    version : int
        The version of the interface that it was built for: 7, 10 or 11.
    operators, partitioners, passes : tuple of str
        The names of its operators, partitioners and passes.
    """

    path: str
    version: int
    operators: tuple[str, ...]
    partitioners: tuple[str, ...]
    passes: tuple[str, ...]
    _stamp: tuple[int, ...]
    _report: tuple[str, ...]

    def __repr__(self) -> str:
        parts = [f"{kinds}: {', '.join(names)}" for kinds in _PLURALS.values() if (names := getattr(self, kinds))]
        return f"<Library {os.path.basename(self.path)}{'; '.join(['', *parts])}>"


def load(path: str | os.PathLike[str], verbose: bool = True, *, replace: bool | Library = False) -> Library:
    """Load a native library: its operators are then found as `nd.<name>` and `sym.<name>`, in every mode.

    It may have been built with the header of MXNet 1.7, 1.8 or 1.9, or with minpy's own (`library.include_dir()`).
    Loading the same file again changes nothing.

    Parameters
    ----------
    path : str or path-like
        Of the shared library (`.so`, on macOS `.dylib`).
    verbose : bool
        Whether to print the contents of the library to the standard error stream.
    replace : bool or Library
        Whether operators, partitioners and passes of the same names, of libraries loaded before, are replaced.
        Built-in ones are not. Or an older version of this library: only its names are replaced, and all of them are
        removed.

    Returns
    -------
    Library

    Raises
    ------
    FileMissingError
        If there is no such file.
    LibraryError
        If it is no shared library, lacks a function, was built for another version of the interface, refuses to be
        initialized, defines an operator incompletely, or has a name that exists already. Nothing of it is there then.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.library.load('libmissing.so')
    Traceback (most recent call last):
      ...
    minpy.core.errors.FileMissingError: library.load: there is no file libmissing.so. Give the path of a compiled \
library, or compile one with mx.library.compile.
    """
    name = os.fsdecode(path)
    if not os.path.isfile(name):
        problem = "is a folder" if os.path.isdir(name) else None
        raise FileMissingError(
            (f"library.load: {name} {problem}." if problem else f"library.load: there is no file {name}.")
            + " Give the path of a compiled library, or compile one with mx.library.compile."
        )
    real = os.path.realpath(name)
    with _locks[0]:
        status = os.stat(real)
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        previous = _LIBRARIES.get(real)
        if previous is not None and previous._stamp == stamp and (not replace or _is_active(previous)):
            library = previous
        else:
            if previous is not None and not replace:
                raise LibraryError(
                    f"library.load: {name} was loaded before, and has changed since. Start Python anew, or replace "
                    "what it has by load(path, replace=True)."
                )
            library = _register(real, _opened(real, stamp), replace, stamp)
    if verbose:
        for line in library._report:
            print(line, file=sys.stderr)
    return library


def loaded() -> list[Library]:
    """Return the libraries that are loaded, in the order in which they were: their operators, partitioners and passes.

    Returns
    -------
    list of Library

    Examples
    --------
    >>> import minpy as mx
    >>> [library.operators for library in mx.library.loaded()]  # doctest: +SKIP
    [('my_gemm', 'state_gemm')]
    """
    return [*_LIBRARIES.values()]


def _opened(path: str, stamp: tuple[int, ...]) -> Binary:
    # For the dynamic linker a path that has been opened, even if the library was refused, stays the old file: a new one
    # is opened under another name.
    if _OPENED.setdefault(path, stamp) == stamp:
        return Binary(path)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / os.path.basename(path)
        copy.write_bytes(Path(path).read_bytes())
        return Binary(path, str(copy))


def _register(path: str, binary: Binary, replace: bool | Library, stamp: tuple[int, ...]) -> Library:
    families: list[OperatorFamily] = []
    for entry in binary.operators:
        make = NativeSubgraphFamily if entry.is_subgraph else NativeFamily
        families.append(make(binary, entry))
    _require_free("operator", [family.__name__ for family in families], replace, path)
    by_name = {family.__name__: family for family in families}
    partitioners = [NativePartitioner(binary, entry, by_name) for entry in binary.partitioners]
    passes = [NativePass(binary, entry) for entry in binary.passes]
    _require_free("partitioner", [partitioner.name for partitioner in partitioners], replace, path)
    _require_free("pass", [graph_pass.name for graph_pass in passes], replace, path)
    library = Library(
        path,
        binary.version,
        tuple(by_name),
        tuple(partitioner.name for partitioner in partitioners),
        tuple(graph_pass.name for graph_pass in passes),
        stamp,
        tuple(_report(binary)),
    )
    if isinstance(replace, Library):
        _unload(replace)
    elif replace:
        withdraw([name for name in by_name if name in FAMILIES])
    for family in families:
        export(family)
    PARTITIONERS.update((partitioner.name, partitioner) for partitioner in partitioners)
    PASSES.update((graph_pass.name, graph_pass) for graph_pass in passes)
    _LIBRARIES.pop(path, None)
    _LIBRARIES[path] = library
    return library


def _is_active(library: Library) -> bool:
    """Tell whether a library's partitioners and passes are the ones registered under their names now."""
    return all(isinstance(PARTITIONERS.get(name), NativePartitioner) for name in library.partitioners) and all(
        isinstance(PASSES.get(name), NativePass) for name in library.passes
    )


def _require_free(kind: str, names: list[str], replace: bool | Library, path: str) -> None:
    """Raise `LibraryError` if a name is registered already."""
    registered = _TABLES[kind]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise LibraryError(
                f"library.load: {path} has two {_PLURALS[kind]} named {name!r}. Rename one, and build it again."
            )
        if kind == "operator" and is_taken(name):
            raise LibraryError(
                f"library.load: {path} has an operator {name!r}, which is the name of a built-in one. Rename it in its "
                "REGISTER_OP, and build it again."
            )
        owner = _owner(kind, name) if name in registered else None
        if name in registered and (owner is not replace if isinstance(replace, Library) else not replace):
            raise LibraryError(
                f"library.load: {path} has {'an' if kind == 'operator' else 'a'} {kind} {name!r}, which "
                f"{f'{owner.path} has' if owner else 'is registered'} already. Rename one of them, or let the new one "
                "take its place: load(path, replace=True)."
            )


def _owner(kind: str, name: str) -> Library | None:
    """Return the library that registered an operator, a partitioner or a pass last."""
    return next(
        (library for library in reversed(_LIBRARIES.values()) if name in getattr(library, _PLURALS[kind])), None
    )


def _unload(library: Library) -> None:
    """Remove all that a library registered and no other library has replaced."""
    withdraw([name for name in library.operators if _owner("operator", name) is library])
    for kind in ("partitioner", "pass"):
        for name in getattr(library, _PLURALS[kind]):
            if _owner(kind, name) is library:
                del _TABLES[kind][name]
    if _LIBRARIES.get(library.path) is library:
        del _LIBRARIES[library.path]


def _report(binary: Binary) -> Iterator[str]:
    """Yield the lines that MXNet prints for a library."""
    yield f"Found {len(binary.operators)} operators in library"
    for number, entry in enumerate(binary.operators):
        yield f"\tOp[{number}] {entry.name}"
        if entry.is_subgraph:
            yield "\t\tisSubgraphOp"
    yield f"Found {len(binary.partitioners)} partitioners in library"
    for number, partitioner in enumerate(binary.partitioners):
        yield f"\tPartitioner[{number}] {partitioner.name}"
        for position, strategy in enumerate(partitioner.strategies):
            yield f"\t\tStrategy[{position}] {strategy.name} subgraphOp: '{strategy.operator}'"
    yield f"Found {len(binary.passes)} graph passes in library"
    for number, graph_pass in enumerate(binary.passes):
        yield f"\tGraph Pass [{number}] {graph_pass.name}"


def is_taken(name: str) -> bool:
    """Tell whether a name in `nd` or `sym` belongs to anything but a library's operator."""
    if name in FAMILIES:
        return False
    if known_operator(name) is not None:
        return True
    places, local_name = _modules_of(name)
    if local_name.startswith("__") and local_name.endswith("__"):  # modules have such names for Python's sake
        return True
    return any(local_name in vars(place) or local_name in dir(place) for place in places)


def export(family: OperatorFamily) -> None:
    """Make a family of operators known to graphs, and callable in `nd` and `sym`."""
    FAMILIES[family.__name__] = family
    if family.is_function:
        places, local_name = _modules_of(family.__name__)
        function = _function_of(family, local_name, places[-1].__name__)
        for place in places:
            add_names(place, {local_name: family if place.__name__.startswith("minpy.ndarray") else function})


def withdraw(names: Iterable[str]) -> None:
    """Remove families of operators; nodes of graphs keep theirs."""
    for name in names:
        family = FAMILIES.pop(name, None)
        if family is not None and family.is_function:
            places, local_name = _modules_of(name)
            for place in places:
                add_names(place, {local_name: None})


def _modules_of(name: str) -> tuple[list[ModuleType], str]:
    """Return the modules that a name is found in, and its name there."""
    for prefix in PREFIXES:
        if name.startswith(prefix) and len(name) > len(prefix):
            below = f".{prefix.strip('_')}"
            return [import_module(f"minpy.{kind}{below}") for kind in ("ndarray", "symbol")], name.removeprefix(prefix)
    submodules = ("._internal",) if name.startswith("_") else (".op", "")
    return [import_module(f"minpy.{kind}{below}") for kind in ("ndarray", "symbol") for below in submodules], name


def _function_of(family: OperatorFamily, name: str, module: str) -> Callable[..., Symbol]:
    hint = name.lower()

    def function(*data: Any, **attributes: Any) -> Symbol:
        return compose_family(family, data, attributes, hint)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = family.__doc__
    return function
