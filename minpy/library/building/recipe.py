"""How a library is built: what goes into it, a key made of all that, and the commands."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minpy.core.errors import BuildError
from minpy.library.building.cache import Cache, digest
from minpy.library.building.compilers import SUFFIX, Compiler, find_compiler
from minpy.library.building.diagnostics import build_error, has_warnings, plain
from minpy.library.building.flags import files_among, from_environment, split_flags
from minpy.library.building.processes import run_all, shown
from minpy.library.building.source_files import Source, included

__all__ = ["Order", "Recipe", "key_of"]

_FORMAT = 1  # of what a key is made of, and of what the cache holds

# What compilers heed besides their arguments.
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
    """Return the key of a library: a digest of all that goes into it, in which the order of lists counts.

    Examples
    --------
    >>> key_of({'flags': ['-O2', '-g']}) == key_of({'flags': ['-g', '-O2']})
    False
    """
    return digest(json.dumps(ingredients, sort_keys=True).encode())


@dataclass(frozen=True)
class Recipe:
    """What a user asks for: a library's name, its sources, further flags; `include` is the folder of the header."""

    name: str
    sources: Sequence[Source]
    flags: Sequence[str]
    include: str

    def order(self, cache: Cache) -> Order:
        """Return what is to be done, with the files and the compiler as they are now; texts go into the cache."""
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
        return Order(self.name, self.flags, files, flags, includes, linking, compiler)


class Order:
    """A library to be built."""

    def __init__(
        self,
        name: str,
        given: Sequence[str],
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
        self._read = [*self._dependencies(), *named, *_within(includes[1])]
        self._contents = _contents(self._read)
        self._ingredients: dict[str, Any] = {
            "format": _FORMAT,
            "name": name,
            "given": list(given),
            "sources": [*files],
            "files": self._contents,
            "commands": self._commands,
            "linking": self._link([], ""),
            "version": compiler.version,
            "target": compiler.target,
            "macros": compiler.macros,
            "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        }
        self.key = key_of(self._ingredients)

    def is_current(self) -> bool:
        """Tell whether all files say still what they said when the key was made."""
        return _contents(self._read) == self._contents

    def build(self, folder: str, say: Callable[[str], None]) -> tuple[str, dict[str, Any]]:
        """Compile and link."""
        objects = [os.path.join(folder, f"{number}.o") for number in range(len(self._files))]
        commands = [[*command, "-c", "-o", made] for command, made in zip(self._commands, objects, strict=True)]
        built = os.path.join(folder, self._name + SUFFIX)
        link = self._link(objects, built)
        said = []
        for step in (commands, [link]):
            for command in step:
                say(shown(command))
            ended = run_all(step, folder)
            failed = [ran for ran in ended if ran.status != 0]
            if failed:
                what = f"link {self._name}" if step[0] is link else f"compile {_names(self._files)}"
                raise build_error(self._compiler, what, failed)
            said += [plain(ran.output).rstrip() for ran in ended]
        text = "\n".join(filter(None, said))
        say(text)
        if not os.path.isfile(built) or not os.path.getsize(built):
            raise BuildError(
                f"library.compile: {self._compiler.name} has reported no error, and has made no library. The command:\n"
                f"{shown(link)}"
            )
        ingredients = {name: value for name, value in self._ingredients.items() if name != "macros"}
        return built, {"warnings": text if has_warnings(text) else "", "made of": ingredients}

    def _dependencies(self) -> list[str]:
        """Return the files that the sources include, themselves among them."""
        commands = [[*command, "-M", "-MT", "key"] for command in self._commands]
        ended = run_all(commands)
        failed = [ran for ran in ended if ran.status != 0]
        if failed:
            raise build_error(self._compiler, f"compile {_names(self._files)}", failed)
        dependencies = dict.fromkeys(path for path, _ in self._files)
        for ran in ended:
            _, _, rule = ran.output.rpartition("key:")  # below what it may warn of
            dependencies.update(dict.fromkeys(os.path.abspath(path) for path in included(f"key:{rule}")))
        return [*dependencies]

    def _link(self, objects: Sequence[str], built: str) -> list[str]:
        # Many flags (-fopenmp, -fsanitize=address, -flto, -m32) are for both; those for compiling only do no harm.
        return [*self._compiler.linking(self._flags["c++"]), "-o", built, *objects, *self._linking]


def _names(files: Sequence[tuple[str, str]]) -> str:
    return ", ".join(os.path.basename(path) for path, _ in files)


def _within(folder: str) -> list[str]:
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
