"""Compilers' messages: the first error comes first, with file and line, and advice for the usual errors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from minpy.core.errors import BuildError
from minpy.library.building.compilers import Compiler
from minpy.library.building.processes import CompletedCommand, command_line

__all__ = ["build_error", "first_error", "has_warnings"]

_COLORS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Of GCC and Clang: gemm.cc:3:5: error: ...
_ERROR = re.compile(r"^(?!collect2:)(?:.+:\d+(?::\d+)?|[^\s:]+): (?:fatal )?error: ", re.IGNORECASE)
_PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: ", re.IGNORECASE)
_WARNING = re.compile(r"(?:^|: )warning: ", re.MULTILINE | re.IGNORECASE)
_SNIPPET = re.compile(r"^\s*\d* \|")
# Errors of linkers.
_LINKER = re.compile(
    r"undefined reference to|undefined symbol|Undefined symbols|multiple definition of|duplicate symbol|cannot find -l"
    r"|unable to find library|library not found for|library '[^']*' not found|recompile with -fPIC"
)

# Advice for the usual errors; the first match counts.
_ADVICE = (
    (r"No space left on device", "Make room there, or set the environment variable MINPY_CACHE to another folder."),
    (
        r"Killed signal terminated program|out of memory|virtual memory exhausted|cannot allocate memory",
        "The compiler ran out of memory: split the source, or compile with extra_flags=['-O1'].",
    ),
    (
        r"lib_api\.h(?:: No such file|['’] file not found)",
        'The header is included as "lib_api.h" or as "mxnet/lib_api.h"; library.include_dir() says where it is.',
    ),
    (
        r"['‘]mxnet['’] has not been declared|use of undeclared identifier 'mxnet'",
        'Begin the source with #include "lib_api.h".',
    ),
    (
        r"['‘](?:MX\w+|OpResource|CustomStatefulOp)['’] (?:does not name a type|was not declared)|name 'MX\w+'",
        'After #include "lib_api.h", the names in it are reached by: using namespace mxnet::ext;',
    ),
    (
        r"error: ['‘]?\w+['’]?(?: file not found|: No such file or directory)|(?:cannot find|library) (?:-l|')stdc\+\+",
        "The compiler's C++ library is not installed: libstdc++-dev (Debian), libstdc++-devel (Fedora).",
    ),
    (
        r"error: ['‘]?[^\s'’]+['’]?(?: file not found|: No such file or directory)",
        "A header is not found: extra_flags=['-Ifolder'] says where to look for it.",
    ),
    (
        r"cannot find -l|unable to find library|library not found for|library '[^']*' not found",
        "A library that is linked to is not found: extra_flags=['-Lfolder'] says where to look for it.",
    ),
    (
        r"recompile with -fPIC|can ?not be used when making a shared object",
        "What becomes part of a shared library is compiled with -fPIC: also objects and archives among the flags.",
    ),
    (
        r"undefined reference to|undefined symbol|Undefined symbols",
        (
            "It is declared, and defined nowhere: add the source file that defines it to sources, or the library to "
            "extra_flags, such as ['-lname'] (or define initialize, which every library of operators has)."
        ),
    ),
    (
        r"multiple definition of|duplicate symbol",
        "It is defined in two sources: leave it in one, or make it `static` or `inline`.",
    ),
    (
        r"-std=c\+\+17.*|invalid value 'c\+\+",
        "Another standard is chosen with extra_flags=['-std=c++11'].",
    ),
    (
        r"unrecognized command[- ]line option|unknown argument|unsupported option",
        "This compiler does not know the flag: it comes from extra_flags, or from CXXFLAGS, CPPFLAGS or LDFLAGS.",
    ),
    (
        r"xcode-select|xcrun: error|license agreement",
        "On macOS, the command line tools are installed with: xcode-select --install",
    ),
    (
        r"ISO C\+\+17 does not allow|ISO C\+\+11 does not allow|is not a member of ['‘]std['’]|removed in C\+\+17",
        "Compiled as C++17, unless extra_flags has another standard, such as '-std=c++11'.",
    ),
)


def first_error(output: str) -> tuple[str, str | None, int | None]:
    """Return the first error in the output of a compiler or linker, with its lines of source, and its file and line.

    Examples
    --------
    >>> first_error("a.cc: In function 'f':\\na.cc:3:5: error: no 'x'\\n    3 |     x;\\nb.cc:1: error: no")
    ("a.cc:3:5: error: no 'x'\\n    3 |     x;", 'a.cc', 3)
    """
    lines = output.splitlines()
    for pattern in (_LINKER, _ERROR):
        for position, line in enumerate(lines):
            if pattern.search(line):
                end = position + 1
                while end < len(lines) and _SNIPPET.match(lines[end]):
                    end += 1
                if "Undefined symbols" in line:
                    end = min(len(lines), end + 2)  # the names come below
                place = _PLACE.match(line)
                text = "\n".join(lines[position:end])
                return (text, place["file"], int(place["line"])) if place else (text, None, None)
    return "", None, None


def has_warnings(output: str) -> bool:
    """Tell whether a compiler warned of something."""
    return _WARNING.search(output) is not None


def plain(output: str) -> str:
    """Return a compiler's output without colors."""
    return _COLORS.sub("", output)


def build_error(compiler: Compiler, action: str, failed: Sequence[CompletedCommand]) -> BuildError:
    """Return the error for commands that failed: the first error, advice, then the whole output."""
    output = "\n".join(text for text in (plain(ran.output).strip() for ran in failed) if text)
    first, file, line = first_error(output)
    parts = [f"library.compile: {compiler.name} cannot {action}."]
    if first:
        parts[0] = f"{parts[0][:-1]}:\n{first}"
    else:
        parts.append(_ending(failed[0]))
    advice = _advice(first) or _advice(output)
    if advice:
        parts.append(advice)
    if output and output != first:
        parts.append(f"\nAll that it said:\n{output}")
    commands = "\n".join(command_line(ran.command) for ran in failed)
    parts.append(f"\nThe command:\n{commands}")
    error = BuildError("\n".join(parts))
    error.output, error.command = output, failed[0].command
    error.filename, error.lineno = file, line
    return error


def _advice(text: str) -> str | None:
    return next((advice for pattern, advice in _ADVICE if re.search(pattern, text)), None)


def _ending(ran: CompletedCommand) -> str:
    if ran.status < 0:
        return f"It was ended by signal {-ran.status}."
    return f"It returned {ran.status}, and named no error."
