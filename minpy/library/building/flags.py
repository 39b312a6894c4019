"""Flags of a compiler: those given by users checked, and told apart into those for compiling and those for linking."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe

__all__ = ["checked_flags", "files_among", "for_language", "from_environment", "split_flags"]

# Flags whose value may stand in a word of its own.
_LINKING_PAIRS = frozenset({"-L", "-T", "-Xlinker", "-framework", "-l", "-rpath", "-u", "-weak_framework", "-z"})
_PAIRS = _LINKING_PAIRS.union(
    """
    -D -I -U -Xassembler -Xclang -Xpreprocessor -arch -idirafter -imacros -include -iquote -isysroot -isystem
    -target -x --param --sysroot
    """.split()  # noqa: SIM905
)
_LINKING = ("-L", "-Wl,", "-fuse-ld", "-l", "-rdynamic", "-static-")
_OBJECTS = (".a", ".dll", ".dylib", ".lib", ".o", ".obj", ".so", ".tbd")
_SOURCES = (".c", ".cc", ".cpp", ".cxx")

# What `compile` says itself: with these a compiler makes something else, or puts it somewhere else.
_OWN = frozenset({"-E", "-M", "-MD", "-MF", "-MG", "-MJ", "-MM", "-MMD", "-MP", "-MQ", "-MT", "-S", "-c", "-o"})


def checked_flags(flags: Any) -> list[str]:
    """Return `extra_flags` as a list."""
    if isinstance(flags, (str, bytes)):
        text = os.fsdecode(flags)
        try:
            words = shlex.split(text)
        except ValueError:
            words = [text]
        raise ArgumentError(f"library.compile: extra_flags is a list of flags, got {text!r}; write {words}.")
    if flags is None:
        return []
    if isinstance(flags, (dict, set, frozenset)) or not isinstance(flags, Iterable):
        raise ArgumentError(f"library.compile: extra_flags is a list of flags, such as ['-g'], got {describe(flags)}.")
    checked = [os.fspath(flag) if isinstance(flag, os.PathLike) else flag for flag in flags]
    for position, flag in enumerate(checked):
        if not isinstance(flag, str):
            raise ArgumentError(f"library.compile: extra_flags[{position}] must be a str, got {describe(flag)}.")
        if not flag.strip() or "\0" in flag:
            raise ArgumentValueError(f"library.compile: extra_flags[{position}] is {flag!r}, which is no flag.")
    for _, words in _grouped(checked):
        _check_one(words[0])
    return checked


def _check_one(flag: str) -> None:
    if flag in _OWN or (flag.startswith("-o") and not flag.startswith(("-openmp", "-objc"))):
        raise ArgumentValueError(
            f"library.compile: extra_flags has {flag!r}, which compile says itself: it makes a shared library in its "
            "cache, and returns the path. build_dir says where the cache is."
        )
    if flag.endswith(_SOURCES) and not flag.startswith("-"):
        raise ArgumentValueError(f"library.compile: extra_flags has {flag!r}; source files belong into sources.")
    if " " in flag.strip() and flag.startswith("-") and not any(mark in flag for mark in "=,\"'/\\"):
        raise ArgumentValueError(
            f"library.compile: extra_flags has {flag!r}, one word for the compiler; write {shlex.split(flag)}."
        )


def from_environment(name: str) -> list[str]:
    """Return the flags in an environment variable, such as CXXFLAGS."""
    try:
        return shlex.split(os.environ.get(name, ""))
    except ValueError as error:
        raise ArgumentValueError(
            f"library.compile: the environment variable {name} is {os.environ[name]!r}, which cannot be split into "
            f"flags: {error}."
        ) from None


def split_flags(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the flags for compiling (and linking), and those for linking only, each in their order.

    Libraries stand after the objects that need them, so that the latter come last.

    Examples
    --------
    >>> split_flags(['-O2', '-lm', '-I', 'include', '-Wl,-s', '-fopenmp', '-framework', 'Accelerate', 'made.o'])
    (['-O2', '-I', 'include', '-fopenmp'], ['-lm', '-Wl,-s', '-framework', 'Accelerate', 'made.o'])
    """
    compiling: list[str] = []
    linking: list[str] = []
    for is_linking, words in _grouped(flags):
        (linking if is_linking else compiling).extend(words)
    return compiling, linking


def _grouped(flags: Sequence[str]) -> list[tuple[bool, list[str]]]:
    """Return flags with the words that belong to them, and whether they are for the linker only."""
    groups = []
    position = 0
    while position < len(flags):
        flag = flags[position]
        length = 2 if flag in _PAIRS else 1
        words = list(flags[position : position + length])
        is_file = not flag.startswith(("-", "@")) and flag.lower().endswith(_OBJECTS)
        groups.append((flag in _LINKING_PAIRS or flag.startswith(_LINKING) or is_file, words))
        position += length
    return groups


def files_among(flags: Iterable[str]) -> list[str]:
    """Return the files that flags name: objects, archives, and files of further flags (`@more`)."""
    named = (flag.removeprefix("@") for flag in flags if not flag.startswith("-"))
    return [name for name in named if os.path.isfile(name)]


def for_language(flags: Sequence[str], language: str) -> list[str]:
    """Return the flags that a language takes: none of a standard of C++ for C."""
    if language == "c++":
        return list(flags)
    return [flag for flag in flags if not flag.startswith(("-std=c++", "-std=gnu++", "-Weffc++", "-fno-rtti"))]
