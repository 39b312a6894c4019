"""How a library is built: its sources and their includes, the commands, and a key computed from all of them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, BuildError, describe
from minpy.files import access_error, checked_path
from minpy.library.building.cache import Cache, digest
from minpy.library.building.compilers import SUFFIX, Compiler, files_among, find_compiler, from_environment, split_flags
from minpy.library.building.diagnostics import build_error, has_warnings, plain
from minpy.library.building.processes import command_line, run_all

__all__ = ["BuildPlan", "Recipe", "Source", "checked_name", "checked_sources", "default_name", "included", "key_of"]

LANGUAGES = {".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".c": "c"}

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_REGISTRATION = re.compile(r"\bREGISTER_(?:OP|PARTITIONER|PASS)\s*\(\s*(\w+)")
_RESERVED_NAMES = frozenset({"aux", "con", "nul", "prn", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))})


@dataclass(frozen=True)
class Source:
    """A source that has been read."""

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
        read = _text(source) if _is_text(source) else _file(source)
        if read.path is not None and any(read.path == earlier.path for earlier in checked):
            raise ArgumentValueError(f"library.compile: the source {read.path!r} is given twice.")
        checked.append(read)
    if not checked:
        raise ArgumentValueError("library.compile: sources is empty; give the path of a C++ file, or C++ text.")
    return checked


def _is_text(source: Any) -> bool:
    return isinstance(source, str) and ("\n" in source or _REGISTRATION.search(source) is not None)


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
        raise ArgumentValueError(f"library.compile: the source {name!r} {_suffix_advice(suffix)}.")
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


def _suffix_advice(suffix: str) -> str:
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
    if not _NAME.fullmatch(name) or name.split(".")[0].lower() in _RESERVED_NAMES or name.endswith("."):
        raise ArgumentValueError(
            f"library.compile: name {name!r} cannot be the name of a library: letters, digits and _ - + . of ASCII, "
            f"the first no - + or ., at most 100; {default_name_of(name)!r} would do."
        )
    return name


def default_name(sources: Iterable[Source]) -> str:
    """Return a library's default name: that of its first file, or of the first operator that its text registers."""
    first, *_ = sources
    if first.path is not None:
        return default_name_of(os.path.splitext(os.path.basename(first.path))[0])
    registered = _REGISTRATION.search(first.content.decode("utf-8", "replace"))
    return registered[1] if registered else "operators"


def default_name_of(text: str) -> str:
    """Return a valid library name that resembles a text."""
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "_", text).lstrip(".+-").rstrip(".")[:100]
    return f"{name}_" if name.split(".")[0].lower() in _RESERVED_NAMES else name or "operators"


def included(rule: str) -> list[str]:
    """Return the files in a make rule, in which compilers write a file's dependencies.

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
    def unescape(match: re.Match[str]) -> str:
        backslashes, mark = match.groups()
        return "\\" * (len(backslashes) // 2) + mark

    word = re.sub(r"(\\+)([ \t])", unescape, word)
    return word.replace("\\#", "#").replace("$$", "$")


_FORMAT = 1  # of keys, and of the cache

# Environment variables that compilers read.
_VARIABLES = (
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "DEVELOPER_DIR",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
    "MACOSX_DEPLOYMENT_TARGET",
    "SDKROOT",
    "SOURCE_DATE_EPOCH",
)


def key_of(ingredients: Mapping[str, Any]) -> str:
    """Return the key of a library: a digest of all its ingredients, in which the order of lists counts.

    Examples
    --------
    >>> key_of({'flags': ['-O2', '-g']}) == key_of({'flags': ['-g', '-O2']})
    False
    """
    return digest(json.dumps(ingredients, sort_keys=True).encode())


@dataclass(frozen=True)
class Recipe:
    """A user's request: a library's name, its sources, further flags; `include` is the folder of the header."""

    name: str
    sources: Sequence[Source]
    flags: Sequence[str]
    include: str

    def order(self, cache: Cache) -> BuildPlan:
        """Return the plan of the build, with the present files and compiler; texts go into the cache."""
        compiling, linking = split_flags(self.flags)
        flags = {
            language: [*from_environment("CPPFLAGS"), *from_environment(variable), *compiling]
            for language, variable in (("c++", "CXXFLAGS"), ("c", "CFLAGS"))
        }
        includes = ["-I", self.include]
        if any(source.path is None for source in self.sources):
            includes += ["-iquote", os.getcwd()]
        linking = [*from_environment("LDFLAGS"), *linking]
        compiler = find_compiler(flags["c++"])
        texts = 0
        files = []
        for source in self.sources:
            path = source.path
            if path is None:
                path = cache.text(self.name + (f"_{texts}" if texts else ""), source.content)
                texts += 1
            files.append((path, source.language))
        return BuildPlan(self.name, self.flags, files, flags, includes, linking, compiler)


class BuildPlan:
    """The commands that build a library, and the files that they read."""

    def __init__(
        self,
        name: str,
        user_flags: Sequence[str],
        files: Sequence[tuple[str, str]],
        flags: Mapping[str, Sequence[str]],
        includes: Sequence[str],
        linking: Sequence[str],
        compiler: Compiler,
    ) -> None:
        self._name = name
        self._files = files
        self._linking = linking
        self._compiler = compiler
        self._flags = flags
        self._commands = [
            [*compiler.compiling(language, flags[language]), *includes, "-x", language, path]
            for path, language in files
        ]
        named = files_among([*flags["c++"], *flags["c"], *linking])
        self._input_files = [*self._dependencies(), *named, *_files_below(includes[1])]
        self._digests = _contents(self._input_files)
        self._ingredients: dict[str, Any] = {
            "format": _FORMAT,
            "name": name,
            "given": list(user_flags),
            "sources": [*files],
            "files": self._digests,
            "commands": self._commands,
            "linking": self._link([], ""),
            "version": compiler.version,
            "target": compiler.target,
            "macros": compiler.macros,
            "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        }
        self.key = key_of(self._ingredients)

    def is_current(self) -> bool:
        """Tell whether all files are as they were when the key was computed."""
        return _contents(self._input_files) == self._digests

    def build(self, folder: str, say: Callable[[str], None]) -> tuple[str, dict[str, Any]]:
        """Compile and link."""
        objects = [os.path.join(folder, f"{number}.o") for number in range(len(self._files))]
        commands = [[*command, "-c", "-o", target] for command, target in zip(self._commands, objects, strict=True)]
        built = os.path.join(folder, self._name + SUFFIX)
        link = self._link(objects, built)
        outputs = []
        for step in (commands, [link]):
            for command in step:
                say(command_line(command))
            finished = run_all(step, folder)
            failed = [ran for ran in finished if ran.status != 0]
            if failed:
                action = f"link {self._name}" if step[0] is link else f"compile {_names(self._files)}"
                raise build_error(self._compiler, action, failed)
            outputs += [plain(ran.output).rstrip() for ran in finished]
        text = "\n".join(filter(None, outputs))
        say(text)
        if not os.path.isfile(built) or not os.path.getsize(built):
            raise BuildError(
                f"library.compile: {self._compiler.name} has reported no error, and has made no library. The command:\n"
                f"{command_line(link)}"
            )
        ingredients = {name: value for name, value in self._ingredients.items() if name != "macros"}
        return built, {"warnings": text if has_warnings(text) else "", "made of": ingredients}

    def _dependencies(self) -> list[str]:
        """Return the files that the sources include, themselves among them."""
        commands = [[*command, "-M", "-MT", "key"] for command in self._commands]
        finished = run_all(commands)
        failed = [ran for ran in finished if ran.status != 0]
        if failed:
            raise build_error(self._compiler, f"compile {_names(self._files)}", failed)
        dependencies = dict.fromkeys(path for path, _ in self._files)
        for ran in finished:
            _, _, rule = ran.output.rpartition("key:")  # after warnings
            dependencies.update(dict.fromkeys(os.path.abspath(path) for path in included(f"key:{rule}")))
        return [*dependencies]

    def _link(self, objects: Sequence[str], built: str) -> list[str]:
        # Many flags (-fopenmp, -fsanitize=address, -flto, -m32) are for both; those for compiling only do no harm.
        return [*self._compiler.linking(self._flags["c++"]), "-o", built, *objects, *self._linking]


def _names(files: Sequence[tuple[str, str]]) -> str:
    return ", ".join(os.path.basename(path) for path, _ in files)


def _files_below(folder: str) -> list[str]:
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)


def _contents(paths: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return digests of files; None for one that cannot be read."""
    return [(path, _content(path)) for path in dict.fromkeys(paths)]


def _content(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return digest(file.read())
    except OSError:
        return None
