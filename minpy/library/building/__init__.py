"""`library.compile`: C++ sources made into a library of operators by the system's compiler, and loaded."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterable
from typing import Any

from minpy.core.errors import MXNetError
from minpy.files import access_error, checked_path
from minpy.libinfo import find_include_path
from minpy.library.building.cache import CACHE_VARIABLE, Cache, default_root, temporary_root
from minpy.library.building.compilers import checked_flags
from minpy.library.building.recipe import Recipe, checked_name, checked_sources, default_name
from minpy.library.loading import Library, load

__all__ = ["compile", "include_dir"]

_lock = threading.RLock()
# What was compiled under a name, and is loaded: what is compiled under it next takes its place.
_compiled: dict[tuple[str, ...], Library] = {}


def include_dir() -> str:
    """Return the folder of `lib_api.h`, for a compiler's -I.

    Sources include it as "lib_api.h" or as "mxnet/lib_api.h".

    Returns
    -------
    str
        An absolute path.

    Examples
    --------
    >>> import os
    >>> import minpy as mx
    >>> os.path.exists(os.path.join(mx.library.include_dir(), 'mxnet', 'lib_api.h'))
    True
    """
    return find_include_path()


def compile(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    name: str | None = None,
    extra_flags: Iterable[str] = (),
    build_dir: str | os.PathLike[str] | None = None,
    verbose: bool = False,
) -> Library:
    r"""Build operators written in C++ with the system's compiler, and load them.

    What was built before is loaded again without compiling, as long as nothing has changed: the sources, every file
    that they include, the flags, the header, the compiler. After an edit the new operators take the place of those
    that were compiled under the same name before; what was made with the old ones (graphs, recorded arrays) keeps
    them.

    Parameters
    ----------
    sources : str or path-like, or a list of these
        Paths of .cc, .cpp, .cxx and .c files; or C++ itself: a str with a line break or with a `REGISTER_OP(...)` is
        taken as text. Texts include files relative to the current folder.
    name : str, optional
        What to call the library; by default as the first file, or as the first operator that a text registers.
    extra_flags : list of str
        Further flags for the compiler and the linker: `['-std=c++11', '-Ifolder', '-lblas']`. They come last, after
        -std=c++17 -O3 -Wall -fPIC, and those in $CPPFLAGS, $CXXFLAGS ($CFLAGS for C) and $LDFLAGS. `'-march=native'`
        uses all that this processor can do: what it builds is kept for processors of its kind.
    build_dir : str or path-like, optional
        The folder to keep what is built in, from which nothing is removed. By default `native` in $MINPY_CACHE, or in
        the user's cache (~/.cache/minpy, on macOS ~/Library/Caches/minpy), which keeps 256 MiB of libraries, those used
        last.
    verbose : bool
        Whether to print, to the standard error stream, what is run, what the compiler warns of, and what the library
        has, as `load` does.

    Returns
    -------
    Library
        What is loaded, as from `load`: `.operators` are the names, `.path` is the file, which `load` takes, too.

    Raises
    ------
    BuildError
        If the compiler refuses: the first error is on top, with file and line (`.filename`, `.lineno`), then all that
        it said (`.output`). Operators compiled before stay.
    MissingCompilerError
        If there is no compiler: neither what $CXX names, nor c++, g++ or clang++.
    LibraryError
        If what was built cannot be loaded: it has an operator that another library has, or refuses to initialize.
    FileMissingError, ArgumentError
        If a source is not there, is empty, or is nothing that can be compiled.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.library.compile('gemm.cc', extra_flags=['-march=native'])  # doctest: +SKIP
    <Library gemm.so; operators: my_gemm, state_gemm>
    >>> mx.nd.my_gemm(mx.nd.ones((2, 3)), mx.nd.ones((3, 2)))  # doctest: +SKIP
    [[3. 3.]
     [3. 3.]]
    <NDArray 2x2 @cpu(0)>
    """
    checked = checked_sources(sources)
    flags = checked_flags(extra_flags)
    called = default_name(checked) if name is None else checked_name(name)
    # Two files of the same name in different folders are not two versions of one library.
    identity = (called,) if name is not None else (called, *(source.path or "" for source in checked))
    recipe = Recipe(called, checked, flags, include_dir())
    path = _in_cache(recipe, build_dir, verbose)
    with _lock:
        library = load(path, verbose=verbose, replace=_compiled.get(identity, False))
        _compiled[identity] = library
    return library


def _in_cache(recipe: Recipe, build_dir: Any, verbose: bool) -> str:
    """Return the path of a library in the cache, where it is built if it is not there."""
    root = default_root()
    if build_dir is not None:
        root = os.path.abspath(os.path.expanduser(checked_path("library.compile", build_dir)))
    try:
        return _cached_or_built(Cache(root, bounded=build_dir is None), recipe, verbose)
    except MXNetError:  # of a source
        raise
    except OSError as error:
        if build_dir is not None:
            raise access_error("library.compile", "write", error.filename or root, error) from error
        warnings.warn(
            f"library.compile: nothing can be kept in {root} ({error.strerror or error}): {recipe.name} is built in a "
            "temporary folder, and will be built again next time. Set the environment variable "
            f"{CACHE_VARIABLE} to a folder that can be written, or give build_dir.",
            stacklevel=3,
        )
    return _cached_or_built(Cache(temporary_root(), bounded=False), recipe, verbose)


def _cached_or_built(cache: Cache, recipe: Recipe, verbose: bool) -> str:
    def say(text: str) -> None:
        if verbose and text:
            print(text, file=sys.stderr)

    while True:
        order = recipe.order(cache)
        cached = cache.find(recipe.name, order.key)
        if cached is None:
            with cache.locked(order.key, lambda: say(f"{recipe.name} is being built already: waiting")) as alone:
                cached = cache.find(recipe.name, order.key)
                if cached is None:
                    with cache.building(order.key, alone) as folder:
                        built, record = order.build(folder, say)
                        if not order.is_current():
                            say("a source has changed meanwhile: building again")
                            continue
                        return cache.keep(recipe.name, order.key, built, record)
        path, record = cached
        say(f"{path} is up to date")
        say(str(record.get("warnings", "")))
        return path
