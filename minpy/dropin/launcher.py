"""Runs a script, module or command as the interpreter does, with `import mxnet` finding minpy.

The program's `__main__`, `sys.argv` and `sys.path` are as Python sets them, its exit status is that of this process,
and tracebacks begin with its own code.
"""

from __future__ import annotations

import atexit
import builtins
import importlib.util
import io
import linecache
import os
import platform
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, ModuleType
from typing import Any

import minpy
from minpy.dropin.old_numpy import restore
from minpy.namespaces import MXNET_VERSION

__all__ = ["HELP", "about", "main"]

HELP = """\
usage: python -m minpy [--old-numpy] script.py [argument ...]
       python -m minpy [--old-numpy] -m module [argument ...]
       python -m minpy [--old-numpy] -c command [argument ...]
       python -m minpy model FILE-symbol.json [FILE-0000.params] [option ...]
       python -m minpy convert IN OUT [option ...]
       python -m minpy compile-cache [clear]
       python -m minpy [--version | --help]

Runs a program written for MXNet as Python does, with `import mxnet` finding minpy.

  script.py      a file, or a folder or archive that holds __main__.py; - for standard input
  -m module      a module or package, as for python -m
  -c command     a program given as text, as for python -c
  model          says what a model in MXNet's files is, whether it is whole, and what it answers to a picture or an
                 array; `python -m minpy model --help` says more. (A script that is called `model` runs if it is
                 there; ./model is always a script.)
  convert        writes a model of MXNet's as ONNX, or ONNX as MXNet's files; and parameters as .safetensors or .npz,
                 and back; `python -m minpy convert --help` says more
  compile-cache  shows what is kept of compiled graphs, or removes it
  --old-numpy    give NumPy the names back that it has removed (np.float, np.int, np.object, np.product, ...), and
                 keyword arguments and methods (np.reshape(newshape=), x.ptp()), for programs written for NumPy 1.23
                 and older; says on standard error which these are
  --version      print the versions of minpy, and of the MXNet that it stands in for
  --help         print this
"""

# Packages whose versions are shown; some parts of minpy need the optional ones.
_OPTIONAL = (
    "opencv-python-headless", "pillow", "tqdm", "scipy", "tensorboardX", "pandas", "bokeh", "graphviz", "llvmlite"
)  # fmt: skip
_PACKAGES = ("numpy", "autograd", *_OPTIONAL, "torch")
_USED_VARIABLES = ("MXNET_HOME", "MXNET_PROFILER_AUTOSTART")


def _version_of(package: str) -> str:
    for name in (package, package.removesuffix("-headless")):  # OpenCV comes with and without windows
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return f"not installed (pip install {package})" if package in _OPTIONAL else "not installed"


def about() -> str:
    """Return versions, features, and environment variables, as text."""
    features = minpy.runtime.feature_list()
    lines = [
        f"minpy {minpy.__version__}, in {os.path.dirname(os.path.abspath(minpy.__file__))}",
        f"stands in for MXNet {MXNET_VERSION}",
        f"Python {platform.python_version()} on {platform.platform()}",
        *(f"{package} {_version_of(package)}" for package in _PACKAGES),
        "",
        f"there are: {' '.join(feature.name for feature in features if feature.enabled)}",
        f"there are not: {' '.join(feature.name for feature in features if not feature.enabled)}",
    ]
    for name in sorted(name for name in os.environ if name.startswith("MXNET_")):
        lines.append(f"{name}={os.environ[name]}" + ("" if name in _USED_VARIABLES else " (means nothing here)"))
    return "\n".join([*lines, "", HELP.rstrip()])


class UsageError(Exception):
    """An invalid command line."""


def main(arguments: Sequence[str]) -> int:
    """Execute the command line after `python -m minpy`, and return the exit status."""
    command_line = list(arguments)
    try:
        old_numpy, kind = _options(command_line)
    except UsageError as error:
        print(f"python -m minpy: {error}\n\n{HELP}", end="", file=sys.stderr)
        return 2
    if kind in ("about", "help", "version"):
        texts = {"help": HELP.rstrip(), "version": f"minpy {minpy.__version__} (MXNet {MXNET_VERSION})"}
        print(texts[kind] if kind in texts else about())
        return 0
    if kind == "script" and command_line[0] == "model" and not _is_program("model"):
        from minpy.inspection.command_line import main as inspect_model

        return inspect_model(command_line[1:])
    if kind == "script" and command_line[0] == "convert" and not _is_program("convert"):
        from minpy.onnx.conversion.command_line import main as convert

        return convert(command_line[1:])
    if kind == "script" and command_line[0] == "compile-cache" and not _is_program("compile-cache"):
        from minpy.backends.native.machine.cache_command import main as manage_cache

        return manage_cache(command_line[1:])
    if old_numpy:
        restored = restore()
        message = (
            f"names that NumPy has removed are there again: {', '.join(restored)}" if restored else "nothing to restore"
        )
        print(f"minpy --old-numpy: {message}", file=sys.stderr)
    minpy.install_as_mxnet()
    atexit.register(_die_of_interrupt)
    # Processes that multiprocessing spawns inherit this path, and import the program.
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "children"))
    if kind == "-m":
        sys.argv = ["-m", *command_line[1:]]  # while a package is imported
        return _run_module(command_line[0], command_line[0])
    if kind == "-c":
        command, sys.argv = command_line[0], ["-c", *command_line[1:]]
        if sys.version_info >= (3, 13):  # from where on tracebacks show the lines of a command
            linecache.cache["<string>"] = (len(command), None, command.splitlines(keepends=True), "<string>")
        _set_first_path("")
        return _run(compile(command, "<string>", "exec", dont_inherit=True), {})
    return _run_script(command_line)


def _options(command_line: list[str]) -> tuple[bool, str]:
    """Remove the options from the command line; return whether to restore old names, and the kind of program."""
    old_numpy = False
    while command_line and command_line[0].startswith("-") and command_line[0] != "-":
        option = command_line.pop(0)
        if option == "--old-numpy":
            old_numpy = True
        elif option in ("-h", "--help"):
            return old_numpy, "help"
        elif option in ("-V", "--version"):
            return old_numpy, "version"
        elif option in ("-m", "-c"):
            if not command_line:
                raise UsageError(f"{option} needs {'a module' if option == '-m' else 'a command'}.")
            return old_numpy, option
        else:
            raise UsageError(f"there is no option {option!r}; options of the script follow its name.")
    if not command_line and old_numpy:
        raise UsageError("--old-numpy needs a program to run.")
    return old_numpy, "script" if command_line else "about"


# -- programs ------------------------------------------------------------------------------------------------------


def _run_script(command_line: list[str]) -> int:
    path = command_line[0]
    sys.argv = command_line
    if path == "-":
        _set_first_path("")
        return _run(compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True), {})
    if os.path.isdir(path) or _is_archive(path):
        _set_first_path(os.path.abspath(path))
        return _run_module("__main__", os.path.abspath(path))
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        print(
            f"{sys.executable}: can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        return 2
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    full = os.path.abspath(path)
    globals_ = {"__file__": full, "__cached__": None, "__loader__": SourceFileLoader("__main__", full)}
    try:
        code = compile(source, full, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return _report(error.with_traceback(None))
    return _run(code, globals_)


def _is_program(path: str) -> bool:
    """Tell whether a path can be run: a file, or a folder with `__main__.py`."""
    return os.path.isfile(path) or os.path.isfile(os.path.join(path, "__main__.py"))


def _is_archive(path: str) -> bool:
    from zipfile import is_zipfile

    return os.path.isfile(path) and is_zipfile(path)


def _run_module(name: str, shown: str) -> int:
    """Run a module on Python's path; of a package, its `__main__.py`."""
    try:
        spec = _spec_of(name)
    except Exception as error:  # of a package that holds it, while it was imported
        return _report(error)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _spec_of(f"{name}.__main__")
        if spec is None:
            problem = f"No module named {name}.__main__; {name!r} is a package and cannot be directly executed"
            print(f"{sys.executable}: {problem}", file=sys.stderr)
            return 1
    loader: Any = None if spec is None else spec.loader
    if spec is None or loader is None or not hasattr(loader, "get_code"):
        problem = f"can't find '__main__' module in {shown!r}" if name == "__main__" else f"No module named {name}"
        print(f"{sys.executable}: {problem}", file=sys.stderr)
        return 1
    try:
        code = loader.get_code(spec.name)
    except SyntaxError as error:
        return _report(error.with_traceback(None))
    if name != "__main__":
        sys.argv[0] = spec.origin or name
    globals_ = {
        "__cached__": spec.cached,
        "__file__": spec.origin,
        "__loader__": loader,
        "__package__": spec.parent,
        "__spec__": spec,
    }
    return _run(code, globals_)


def _spec_of(name: str) -> ModuleSpec | None:
    # `__main__` in sys.modules is this program, not the one to find.
    this_program = sys.modules.pop("__main__", None) if name == "__main__" else None
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            return None
        raise
    except ValueError:  # something in sys.modules that was not imported
        return None
    finally:
        if this_program is not None:
            sys.modules["__main__"] = this_program


def _set_first_path(folder: str) -> None:
    """Put the script's folder first on the path, in place of the working directory that `python -m` puts there."""
    if getattr(sys.flags, "safe_path", False):
        return
    if sys.path and sys.path[0] == os.getcwd():
        sys.path[0] = folder
    else:
        sys.path.insert(0, folder)


# -- running -------------------------------------------------------------------------------------------------------


def _run(code: CodeType, globals_: dict[str, Any]) -> int:
    """Run code as `__main__`, and return the exit status."""
    module = ModuleType("__main__")
    vars(module).update({"__builtins__": builtins, "__annotations__": {}, **globals_})
    sys.modules["__main__"] = module
    try:
        exec(code, vars(module))
    except SystemExit:
        raise
    except BaseException as error:
        own = error.__traceback__
        return _report(error.with_traceback(own.tb_next if own is not None else None))
    return 0


def _report(error: BaseException) -> int:
    """Show an uncaught error as Python does, and return its exit status."""
    trace = error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit:
        raise
    except BaseException as hook_error:
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(hook_error)
        print("\nOriginal exception was:", file=sys.stderr)
        traceback.print_exception(type(error), error, trace)
    _Ending.interrupted = isinstance(error, KeyboardInterrupt) and os.name == "posix"
    return 1


class _Ending:
    interrupted = False


def _die_of_interrupt() -> None:
    """After an uncaught interrupt, end by that signal, so that the shell sees it."""
    if _Ending.interrupted:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
