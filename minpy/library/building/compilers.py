"""The C++ compiler of the system: which one it is, and what it is told."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from minpy.core.errors import BuildError, MissingCompilerError
from minpy.library.building.flags import for_language
from minpy.library.building.processes import how_to_install, run, shown

__all__ = ["SUFFIX", "Compiler", "find_compiler"]

# MXNet loads files of these names only, on macOS, too.
SUFFIX = ".dll" if sys.platform == "win32" else ".so"

_NAMES = ("g++", "clang++", "c++") if sys.platform == "win32" else ("c++", "g++", "clang++")


@dataclass(frozen=True)
class Compiler:
    """A compiler that answers."""

    command: tuple[str, ...]  # the program, as a path, and the arguments that it always gets
    version: str  # what it says of itself
    target: str  # what it makes programs for: "x86_64-linux-gnu"
    # What it defines by itself, with the flags that it was asked with: its standard, the processor's instructions.
    macros: dict[str, str]

    @property
    def name(self) -> str:
        """What to call it in messages."""
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
    version = _answer([*command, "--version"])
    target = _answer([*command, "-dumpmachine"]).strip()
    # Flags that it does not take are reported when it compiles.
    defined = run([*command, "-std=c++17", *flags, "-dM", "-E", "-x", "c++", os.devnull])
    lines = defined.output.splitlines() if defined.status == 0 else []
    words = [line.split(" ", 2) for line in lines if line.startswith("#define ")]
    macros = {name: rest[0] if rest else "" for _, name, *rest in words}
    return Compiler(tuple(command), version, target, macros)


def _command() -> list[str]:
    variable = os.environ.get("CXX", "").strip()
    if not variable:
        for name in _NAMES:
            path = shutil.which(name)
            if path is not None:
                return [path]
        raise MissingCompilerError(
            f"library.compile: there is no C++ compiler: none of {', '.join(_NAMES)} is on the PATH. {how_to_install()}"
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
            f"{', '.join(_NAMES)}. {how_to_install()}"
        )
    return [path, *words[1:]]


def _answer(command: Sequence[str]) -> str:
    ran = run(command)
    if ran.status != 0:
        error = BuildError(
            f"library.compile: {command[0]} does not answer as a C++ compiler does: {shown(command)} returned "
            f"{ran.status}, and said:\n{ran.output.strip() or '(nothing)'}\n"
            f"Set the environment variable CXX to a compiler: GCC or Clang. {how_to_install()}"
        )
        error.command, error.output = ran.command, ran.output
        raise error
    return ran.output
