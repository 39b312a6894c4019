"""The C++ compiler of the system, its arguments, and the checks of users' flags."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, BuildError, MissingCompilerError, describe
from minpy.library.building.processes import command_line, install_hint, run

__all__ = [
    "SUFFIX",
    "Compiler",
    "checked_flags",
    "files_among",
    "find_compiler",
    "for_language",
    "from_environment",
    "split_flags",
]

# Flags whose value may stand in a word of its own.
_TWO_WORD_LINKING = frozenset({"-L", "-T", "-Xlinker", "-framework", "-l", "-rpath", "-u", "-weak_framework", "-z"})
_TWO_WORD_FLAGS = _TWO_WORD_LINKING.union(
    """
    -D -I -U -Xassembler -Xclang -Xpreprocessor -arch -idirafter -imacros -include -iquote -isysroot -isystem
    -target -x --param --sysroot
    """.split()  # noqa: SIM905
)
_LINKING = ("-L", "-Wl,", "-fuse-ld", "-l", "-rdynamic", "-static-")
_OBJECTS = (".a", ".dll", ".dylib", ".lib", ".o", ".obj", ".so", ".tbd")
_SOURCES = (".c", ".cc", ".cpp", ".cxx")

# Flags that `compile` sets itself: they change what a compiler writes, and where.
_RESERVED = frozenset({"-E", "-M", "-MD", "-MF", "-MG", "-MJ", "-MM", "-MMD", "-MP", "-MQ", "-MT", "-S", "-c", "-o"})


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
        _check_flag(words[0])
    return checked


def _check_flag(flag: str) -> None:
    if flag in _RESERVED or (flag.startswith("-o") and not flag.startswith(("-openmp", "-objc"))):
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
    """Return the flags in an environment variable such as CXXFLAGS."""
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
    """Return flags with their values, and whether they are for the linker only."""
    groups = []
    position = 0
    while position < len(flags):
        flag = flags[position]
        length = 2 if flag in _TWO_WORD_FLAGS else 1
        words = list(flags[position : position + length])
        is_file = not flag.startswith(("-", "@")) and flag.lower().endswith(_OBJECTS)
        groups.append((flag in _TWO_WORD_LINKING or flag.startswith(_LINKING) or is_file, words))
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


# MXNet loads files of these names only, on macOS, too.
SUFFIX = ".dll" if sys.platform == "win32" else ".so"

_NAMES = ("g++", "clang++", "c++") if sys.platform == "win32" else ("c++", "g++", "clang++")


@dataclass(frozen=True)
class Compiler:
    """A compiler that works."""

    command: tuple[str, ...]  # the program, as a path, and the arguments that it always gets
    version: str  # the output of --version
    target: str  # such as "x86_64-linux-gnu"
    # The macros that it predefines with the flags: of its standard, of the processor's instructions.
    macros: dict[str, str]

    @property
    def name(self) -> str:
        """Its name in messages."""
        programs = [word for word in self.command if not word.startswith("-")]
        return os.path.basename(programs[-1])  # of "ccache g++" the latter

    def compiling(self, language: str, flags: Sequence[str]) -> list[str]:
        """Return the command that compiles a file, up to the names of the files."""
        own = ["-std=c++17", "-O3", "-Wall"]
        if "_WIN32" not in self.macros:
            own.append("-fPIC")
        if self._makes_unique_symbols and language == "c++":
            own.append("-fno-gnu-unique")
        return [*self.command, *for_language([*own, *flags], language)]

    def linking(self, flags: Sequence[str]) -> list[str]:
        """Return the command that makes a shared library, up to the names of the files and what follows them."""
        own = ["-shared"]
        if "__ELF__" in self.macros and not any(flag.startswith("-fsanitize") for flag in flags):
            own.append("-Wl,-z,defs")  # what is not defined is an error now, with a line, as it is elsewhere
        if "_WIN32" in self.macros:
            own += ["-static-libgcc", "-static-libstdc++"]
        return [*self.command, *flags, *own]

    @property
    def _makes_unique_symbols(self) -> bool:
        """Whether variables in inline functions would be one for the whole process.

        Two builds of one library are loaded side by side when a source is edited: each has its own.
        """
        return "__GNUC__" in self.macros and "__clang__" not in self.macros and "__ELF__" in self.macros


def find_compiler(flags: Sequence[str] = ()) -> Compiler:
    """Return the compiler that $CXX names, or the first of c++, g++ and clang++ there is."""
    command = _command()
    version = _output_of([*command, "--version"])
    target = _output_of([*command, "-dumpmachine"]).strip()
    # Unknown flags are reported when it compiles.
    defined = run([*command, "-std=c++17", *flags, "-dM", "-E", "-x", "c++", os.devnull])
    lines = defined.output.splitlines() if defined.status == 0 else []
    words = [line.split(" ", 2) for line in lines if line.startswith("#define ")]
    macros = {name: value[0] if value else "" for _, name, *value in words}
    return Compiler(tuple(command), version, target, macros)


def _command() -> list[str]:
    variable = os.environ.get("CXX", "").strip()
    if not variable:
        for name in _NAMES:
            path = shutil.which(name)
            if path is not None:
                return [path]
        raise MissingCompilerError(
            f"library.compile: there is no C++ compiler: none of {', '.join(_NAMES)} is on the PATH. {install_hint()}"
        )
    path = shutil.which(variable)  # which may have blanks in it
    if path is not None:
        return [path]
    try:
        words = shlex.split(variable, posix=sys.platform != "win32")
    except ValueError as error:
        raise MissingCompilerError(
            f"library.compile: the environment variable CXX is {variable!r}, which is no command: {error}. Write a "
            "program and its arguments, such as 'g++' or 'ccache g++'."
        ) from None
    path = shutil.which(words[0])
    if path is None:
        raise MissingCompilerError(
            f"library.compile: the environment variable CXX is {variable!r}, and there is no program {words[0]!r} "
            f"{'there' if os.path.dirname(words[0]) else 'on the PATH'}. Correct it, or unset it to use the first of "
            f"{', '.join(_NAMES)}. {install_hint()}"
        )
    return [path, *words[1:]]


def _output_of(command: Sequence[str]) -> str:
    ran = run(command)
    if ran.status != 0:
        error = BuildError(
            f"library.compile: {command[0]} does not answer as a C++ compiler does: {command_line(command)} returned "
            f"{ran.status}, and said:\n{ran.output.strip() or '(nothing)'}\n"
            f"Set the environment variable CXX to a compiler: GCC or Clang. {install_hint()}"
        )
        error.command, error.output = ran.command, ran.output
        raise error
    return ran.output
