"""MinPy's light profiler: how often functions, and parts of a program, ran, and how long that took.

Operators are timed by `minpy.profiler`. This one times what it is put around:

>>> from minpy.utils.minprof import minprof
>>> @minprof
... def square(x):
...     return x * x
>>> square(3)
9
>>> with minprof('the loop'):
...     total = sum(range(10))
>>> [name for _, _, name in minprof.get_stats().timings]
['square', 'the loop']

With `MINPROF_FLAG` set to False, functions are returned as they are. `python -m minpy.utils.minprof -v script.py` runs
a script, and shows what its decorated functions took.
"""

from __future__ import annotations

import argparse
import functools
import os
import pickle
import runpy
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, TextIO

from minpy.namespaces import module_functions

__all__ = [
    "MINPROF_FLAG",
    "FuncCallProfiler",
    "FuncCallStats",
    "find_script",
    "label",
    "main",
    "minprof",
    "read_lines",
    "show_func",
    "show_text",
]
__dir__, __getattr__ = module_functions(__name__, __all__)

MINPROF_FLAG = True

Label = tuple[str, int, str]
Timings = dict[Label, list[tuple[int, float, float]]]


def label(code: CodeType | str | Label) -> Label:
    """Return where code stands: (file, first line, name).

    Examples
    --------
    >>> label('a part')
    ('~', 0, 'a part')
    """
    if isinstance(code, str):
        return ("~", 0, code)
    return code if isinstance(code, tuple) else (code.co_filename, code.co_firstlineno, code.co_name)


class FuncCallStats:
    """What was measured.

    Attributes
    ----------
    timings : dict
        By (file, first line, name) a list with (1, when it began, when it ended) for each run, in seconds.

    Examples
    --------
    >>> FuncCallStats({('a.py', 1, 'f'): [(1, 0.0, 0.5)]}).timings
    {('a.py', 1, 'f'): [(1, 0.0, 0.5)]}
    """

    def __init__(self, timings: Timings) -> None:
        self.timings = timings


def read_lines(filename: str, begin_lineno: int, end_lineno: int) -> list[str]:
    """Return the lines of a file after `begin_lineno`, up to `end_lineno`, without the spaces at their ends."""
    with open(filename, encoding="utf-8") as file:
        return [line.rstrip() for line in file.readlines()[begin_lineno:end_lineno]]


class FuncCallProfiler:
    """Times functions that it decorates, and the bodies of `with` statements.

    Parameters
    ----------
    *funcs : callable
        Functions to list from the beginning.

    Examples
    --------
    >>> profiler = FuncCallProfiler()
    >>> double = profiler(lambda x: 2 * x)
    >>> double(1), double(2)
    (2, 4)
    >>> [len(runs) for runs in profiler.get_stats().timings.values()]
    [2]
    """

    class Timer:
        """Times the body of a `with` statement.

        Parameters
        ----------
        profiler : FuncCallProfiler
            What gets the time.
        info : str, optional
            What the body is called; its first line if left out.
        """

        def __init__(self, profiler: FuncCallProfiler, info: str | None = None) -> None:
            self.profiler, self.info = profiler, info
            self._place: Label = ("~", 0, info or "")
            self._began = 0.0

        def __enter__(self) -> FuncCallProfiler.Timer:
            frame = sys._getframe(1)
            name = self.info or f"line {frame.f_lineno}"
            self._place = (frame.f_code.co_filename, frame.f_lineno, name)
            self._began = time.time()
            return self

        def __exit__(self, *_: object) -> None:
            runs = self.profiler.code_map.setdefault(self._place, [])
            runs.append((1, self._began, time.time()))

    def __init__(self, *funcs: Callable[..., Any]) -> None:
        self.functions: list[Callable[..., Any]] = []
        self.code_map: dict[Any, list[tuple[int, float, float]]] = {}
        for func in funcs:
            self.add_function(func)

    def __call__(self, func: Callable[..., Any] | str | None = None) -> Any:
        """Return a function that is timed; for a name, or nothing, what times the body of a `with` statement."""
        if func is None or isinstance(func, str):
            return self.Timer(self, func)
        self.add_function(func)
        return self.wrap_function(func)

    def extract_code(self, func: Callable[..., Any], stackdepth: int = 1) -> CodeType | Label:
        """Return a function's code; for one that is not written in Python the line of a caller, and its name."""
        code = getattr(func, "__code__", None)
        if code is not None:
            return code
        frame = sys._getframe(stackdepth)
        return (frame.f_code.co_filename, frame.f_lineno, getattr(func, "__name__", type(func).__name__))

    def add_function(self, func: Callable[..., Any]) -> None:
        """List a function."""
        self.functions.append(func)
        self.code_map.setdefault(self.extract_code(func, 3), [])

    def wrap_function(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is timed; with `MINPROF_FLAG` False the function itself."""
        if not MINPROF_FLAG:
            return func
        code = self.extract_code(func, 3)

        @functools.wraps(func)
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.time()
            try:
                return func(*args, **kwargs)
            finally:
                self.code_map.setdefault(code, []).append((1, began, time.time()))

        return timed

    def get_stats(self) -> FuncCallStats:
        """Return what was measured."""
        return FuncCallStats({label(code): list(runs) for code, runs in self.code_map.items()})

    def dump_stats(self, filename: str) -> None:
        """Write what was measured to a file, as a pickle of `FuncCallStats`."""
        with open(filename, "wb") as file:
            pickle.dump(self.get_stats(), file)

    def print_stats(self, stream: TextIO | None = None) -> None:
        """Write what was measured as a table, to standard output if `stream` is left out."""
        show_text(self.get_stats().timings, stream)

    def runctx(self, cmd: str, globals_env: dict[str, Any], locals_env: Mapping[str, Any]) -> None:
        """Run a statement with global and local names."""
        exec(cmd, globals_env, locals_env)


def show_func(
    filename: str,
    first_lineno: int,
    func_name: str,
    timings: list[tuple[int, float, float]],
    stream: TextIO | None = None,
) -> None:
    """Write one function's line of the table; none if it has not run."""
    if not timings:
        return
    total = sum(ended - began for _, began, ended in timings) * 1000
    where = filename if len(filename) <= 40 else f"...{filename[-40:]}"
    line = f"{len(timings):10d} {total:10.4f} {total / len(timings):10.4f}    {where}:{first_lineno}({func_name})\n"
    (stream or sys.stdout).write(line)


def show_text(stats: Timings, stream: TextIO | None = None) -> None:
    """Write a table: how often functions ran, the milliseconds of all runs and of one, and where they stand."""
    out = stream or sys.stdout
    if not MINPROF_FLAG:
        out.write("MINPROF_FLAG is False: nothing is timed.\n")
        return
    out.write(f"{'calls':>10} {'total ms':>10} {'each ms':>10}    file:line(function)\n")
    for place in sorted(stats):
        show_func(*place, stats[place], out)


def find_script(script_name: str) -> str:
    """Return the path of a script: as it is, or found where the system looks for programs.

    Raises
    ------
    SystemExit
        If there is none.
    """
    if os.path.isfile(script_name):
        return script_name
    path = shutil.which(script_name)
    if path is None:
        sys.exit(f"minprof: there is no script {script_name!r}, neither here nor where the system looks for programs.")
    return path


minprof = FuncCallProfiler()


def main(args: list[str] | None = None) -> None:
    """Run a script, and write what `minprof` measured in it to a file.

    Parameters
    ----------
    args : list of str, optional
        The command line without the program's name: `[-o FILE] [-v] script [its arguments]`.
    """
    parser = argparse.ArgumentParser(prog="python -m minpy.utils.minprof", description="Run a script, timed.")
    parser.add_argument("-f", "--function-call", action="store_true", help="time functions (the only way there is)")
    parser.add_argument("-o", "--outfile", help="where to write the measurements; script.fprof if left out")
    parser.add_argument("-v", "--view", action="store_true", help="print them, too")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(args)
    script = find_script(options.script)
    before, sys.argv = sys.argv, [script, *options.arguments]
    sys.path.insert(0, str(Path(script).parent))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.argv = before
        sys.path.remove(str(Path(script).parent))
        target = options.outfile or f"{Path(script).name}.fprof"
        minprof.dump_stats(target)
        print(f"The measurements are in {target}.")
        if options.view:
            minprof.print_stats()


if __name__ == "__main__":
    # As the module that the script imports: what is run here is another copy, with a `minprof` of its own.
    import_module("minpy.utils.minprof").main()
