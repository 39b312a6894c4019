"""Sources of a library: files, or texts; what they include; the name of what they make."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, describe
from minpy.files import access_error, checked_path

__all__ = ["Source", "checked_name", "checked_sources", "default_name", "included"]

LANGUAGES = {".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".c": "c"}

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_REGISTERS = re.compile(r"\bREGISTER_(?:OP|PARTITIONER|PASS)\s*\(\s*(\w+)")
_WINDOWS = frozenset({"aux", "con", "nul", "prn", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))})


@dataclass(frozen=True)
class Source:
    """A source, which has been read."""

    path: str | None  # absolute, of a file; None for a text
    language: str  # "c++" or "c"
    content: bytes


def checked_sources(sources: Any) -> list[Source]:
    """Return the sources of a library, read."""
    if isinstance(sources, (str, bytes, os.PathLike)):
        sources = [sources]
    if isinstance(sources, (dict, set, frozenset)) or not isinstance(sources, Iterable):
        raise ArgumentError(
            f"library.compile: sources is the path of a C++ file, C++ text, or a list of such, got {describe(sources)}."
        )
    checked: list[Source] = []
    for source in sources:
        made = _text(source) if _is_text(source) else _file(source)
        if made.path is not None and any(made.path == other.path for other in checked):
            raise ArgumentValueError(f"library.compile: the source {made.path!r} is given twice.")
        checked.append(made)
    if not checked:
        raise ArgumentValueError("library.compile: sources is empty; give the path of a C++ file, or C++ text.")
    return checked


def _is_text(source: Any) -> bool:
    return isinstance(source, str) and ("\n" in source or _REGISTERS.search(source) is not None)


def _text(source: str) -> Source:
    if not source.strip():
        raise ArgumentValueError("library.compile: a source is given as text, and is empty.")
    return Source(None, "c++", (source if source.endswith("\n") else source + "\n").encode())


def _file(source: Any) -> Source:
    name = checked_path("library.compile", source)
    path = os.path.abspath(os.path.expanduser(name))
    suffix = os.path.splitext(path)[1]
    if os.path.isdir(path):
        raise ArgumentValueError(f"library.compile: the source {name!r} is a folder; list its files{_files_in(path)}.")
    if suffix.lower() not in LANGUAGES and os.path.exists(path):
        raise ArgumentValueError(f"library.compile: the source {name!r} {_of_suffix(suffix)}.")
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        failure = access_error("library.compile", "read", name, error)
        if isinstance(source, str) and not suffix:
            failure.args = (f"{failure} (A str with a line break, or with REGISTER_OP, is C++ text.)",)
        raise failure from None
    if not content.strip():
        raise ArgumentValueError(f"library.compile: the source {name!r} is empty.")
    return Source(path, LANGUAGES[suffix.lower()], content)


def _files_in(folder: str) -> str:
    try:
        names = sorted(name for name in os.listdir(folder) if os.path.splitext(name)[1].lower() in LANGUAGES)
    except OSError:
        names = []
    return f": {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}" if names else ""


def _of_suffix(suffix: str) -> str:
    if suffix in (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc"):
        return "is a header: name the files that include it; it is found, and watched, through them"
    if suffix in (".so", ".dylib", ".dll"):
        return "is a library already: load it with library.load(path)"
    if suffix in (".o", ".a", ".obj", ".lib"):
        return "is compiled already: name it in extra_flags, beside the sources"
    if suffix == ".cu":
        return "is CUDA's, which compile does not build: build a library by hand, and load it with library.load(path)"
    return (
        f"has {f'the suffix {suffix!r}' if suffix else 'no suffix'}; C++ files end in .cc, .cpp or .cxx, C files in .c"
    )


def checked_name(name: Any) -> str:
    """Return the name of a library."""
    if not isinstance(name, str):
        raise ArgumentError(f"library.compile: name must be a str, got {describe(name)}.")
    if not _NAME.fullmatch(name) or name.split(".")[0].lower() in _WINDOWS or name.endswith("."):
        raise ArgumentValueError(
            f"library.compile: name {name!r} cannot be the name of a library: letters, digits and _ - + . of ASCII, "
            f"the first no - + or ., at most 100; {default_name_of(name)!r} would do."
        )
    return name


def default_name(sources: Iterable[Source]) -> str:
    """Return what to call a library: as its first file, or else as the first thing that its text registers."""
    first, *_ = sources
    if first.path is not None:
        return default_name_of(os.path.splitext(os.path.basename(first.path))[0])
    registered = _REGISTERS.search(first.content.decode("utf-8", "replace"))
    return registered[1] if registered else "operators"


def default_name_of(text: str) -> str:
    """Return a name of a library that is like a text."""
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "_", text).lstrip(".+-").rstrip(".")[:100]
    return f"{name}_" if name.split(".")[0].lower() in _WINDOWS else name or "operators"


def included(rule: str) -> list[str]:
    """Return the files in a rule of make, as compilers write what a file depends on.

    Compilers escape blanks, # and $ only; a backslash before anything else is a part of a name.

    Examples
    --------
    >>> included('key: /a/gemm.cc \\\\\\n /a/my\\\\ own.h /a/c$$.h /a/d\\\\#.h')
    ['/a/gemm.cc', '/a/my own.h', '/a/c$.h', '/a/d#.h']
    """
    _, _, text = rule.partition(":")
    text = re.sub(r"\\\r?\n", " ", text)
    words = re.findall(r"(?:\\.|[^\s\\]|\\(?=\s*$))+", text)
    return [_unescaped(word) for word in words]


def _unescaped(word: str) -> str:
    def one(match: re.Match[str]) -> str:
        backslashes, mark = match.groups()
        return "\\" * (len(backslashes) // 2) + mark

    word = re.sub(r"(\\+)([ \t])", one, word)
    return word.replace("\\#", "#").replace("$$", "$")
