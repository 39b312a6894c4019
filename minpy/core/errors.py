"""Every error that minpy raises, and the words that describe values in messages.

A message says what happened, where (operator, argument, mode), what was got and expected, and what to do next.
Each class also derives from the built-in exception that callers already catch (a `ShapeError` is a `ValueError`).
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

__all__ = [
    "AbsentContextError",
    "ArgumentError",
    "ArgumentValueError",
    "BuildError",
    "CheckError",
    "ContextError",
    "DTypeError",
    "FileAccessError",
    "FileFormatError",
    "FileMissingError",
    "FileModeError",
    "GradientError",
    "GraphFreedError",
    "InternalError",
    "KeyMissingError",
    "LibraryError",
    "MXNetError",
    "MissingCompilerError",
    "MissingDependencyError",
    "MissingPartError",
    "MutationError",
    "NoGradientError",
    "NoValueError",
    "NotImplementedForSymbol",
    "NotReadyError",
    "NotRecordedError",
    "NotScalarError",
    "NotTraceableError",
    "OperatorError",
    "OutOfRangeError",
    "ParametersError",
    "PicklingError",
    "ShapeError",
    "StaleGradientError",
    "UnknownContextError",
    "UnknownShapeError",
    "UnknownWordError",
    "WorkerError",
]


class MXNetError(RuntimeError):
    """The root of all errors of minpy (named as in MXNet, so that existing `except` clauses keep working)."""

    # Whether the text already names the custom operator in which it happened.
    located = False
    # The exception that this one replaces: see `in_place_of`.
    original: BaseException | None = None


class ArgumentError(MXNetError, TypeError, AssertionError):
    """A call that does not fit an operator's signature, or an argument of the wrong kind.

    MXNet refuses much of this by `assert`: programs that catch an `AssertionError` catch this, too.
    """


class ArgumentValueError(ArgumentError, ValueError):
    """An argument of the right kind, with a value that cannot be taken."""


class UnknownWordError(ArgumentValueError, KeyError):
    """A word that is not known, where MXNet looks it up in a dict."""

    __str__ = Exception.__str__  # KeyError's shows its quotes


class InternalError(MXNetError):
    """A mistake of the library itself, which no program should have to catch."""


class NotImplementedForSymbol(MXNetError):
    """A function of arrays that was called on a symbol.

    Parameters
    ----------
    function : callable
    alias : str or None
        Its name as an operator.
    *args
        The arguments of the call.
    """

    def __init__(self, function: Callable[..., Any], alias: str | None, *args: Any) -> None:
        super().__init__(unsupported(function, alias, args, "symbols"))


class NoValueError(NotImplementedForSymbol, ArgumentError, AttributeError):
    """A symbol is asked for what only arrays have: values, or a shape."""

    def __init__(self, *texts: str) -> None:
        Exception.__init__(self, *texts)


class NotTraceableError(ArgumentError):
    """What a hybridized block does cannot become a graph: it depends on values, or changes arrays."""


class OutOfRangeError(ArgumentValueError, IndexError):
    """An index, given as the value of an array or attribute, that lies beyond an axis."""


class ShapeError(MXNetError, ValueError, AssertionError):
    """Shapes that do not fit together; an `AssertionError`, too, as an `ArgumentError` is."""


class NotScalarError(ShapeError, TypeError):
    """A Python number is asked for, from an array that does not have exactly one element."""


class UnknownShapeError(ShapeError):
    """The shape of a value in a graph does not follow from those of the inputs: it may depend on values."""


class DTypeError(MXNetError, TypeError):
    """A dtype that the operation does not take."""


class ContextError(MXNetError, ValueError):
    """A device that does not exist, or arrays on different devices in one operation."""


class UnknownContextError(ContextError, KeyError):
    """A type of device that does not exist."""

    __str__ = Exception.__str__  # KeyError's shows its quotes


class AbsentContextError(ContextError, AssertionError):
    """A device that training was to run on, and that is not there."""


class NoGradientError(MXNetError, NotImplementedError):
    """A gradient was asked for where none is defined."""


class GradientError(MXNetError, ValueError):
    """A gradient rule returned something that cannot be the gradient of its argument."""


class NotRecordedError(MXNetError):
    """`backward` or `grad` on an array that no recorded operation produced."""


class GraphFreedError(MXNetError):
    """A second `backward` through a graph that the first one has freed."""


class MissingDependencyError(MXNetError, ImportError):
    """An optional package that an operator needs is not installed."""


class MissingPartError(MXNetError, ModuleNotFoundError):
    """A part of MXNet that is not there yet.

    Attributes
    ----------
    name : str or None
        The module that was to be imported, as in Python's own ModuleNotFoundError: functions that look up a dotted
        name by importing its parts (`pydoc.locate`) tell by it that there is no such module.
    """

    def __init__(self, *texts: object, name: str | None = None) -> None:
        ModuleNotFoundError.__init__(self, *texts, name=name)


class BuildError(MXNetError):
    """A native library that cannot be built.

    Attributes
    ----------
    command : tuple of str
        The command that failed; empty where none was run.
    output : str
        The whole output of the compiler.
    filename, lineno : str and int, or None
        Where the first error is.
    """

    command: tuple[str, ...] = ()
    output: str = ""
    filename: str | None = None
    lineno: int | None = None


class MissingCompilerError(BuildError, MissingDependencyError):
    """There is no compiler to build a native library with."""


class PicklingError(MXNetError, pickle.PicklingError):
    """An operator that cannot be pickled: it is not found under its name."""


class FileFormatError(MXNetError, ValueError):
    """A file that is damaged, incomplete, or of another format than was asked for."""


class FileAccessError(MXNetError, OSError):
    """A file that the operating system does not let us read or write; `errno` and `filename` are as in an OSError."""

    __str__ = Exception.__str__  # OSError's shows no more than its number once `errno` is set


class FileMissingError(FileAccessError, FileNotFoundError):
    """A file or folder that does not exist."""


class LibraryError(MXNetError, OSError):
    """A native library that cannot be loaded, or does not keep to the interface that it was built for."""

    __str__ = Exception.__str__  # OSError's shows no more than its number once `errno` is set


class WorkerError(MXNetError):
    """A worker of a loader that has ended, hangs, or raised what cannot be raised again."""


class FileModeError(MXNetError, AssertionError):
    """A file that is read though it was opened to be written, or the other way round, or used though it is closed."""


class KeyMissingError(MXNetError, KeyError):
    """A key that is not there."""

    __str__ = Exception.__str__  # KeyError's shows its quotes


class StaleGradientError(MXNetError, UserWarning):
    """A step of a Trainer for which `backward` has not computed all gradients."""


class MutationError(MXNetError, ValueError):
    """An in-place change of something whose old value the tape (or the caller) still needs."""


class NotReadyError(MXNetError, AssertionError):
    """A call at a time when it cannot be made: before one that it needs, such as `forward` before `bind`."""


class ParametersError(MXNetError, ValueError, AssertionError):
    """Parameters that do not fit a model: missing, superfluous, or of other shapes; the text is a table of them."""


class CheckError(MXNetError, AssertionError):
    """`op.check` found an operator that does not do what it says; `report` is the table of everything checked."""

    report: Any = None


class OperatorError(MXNetError):
    """An exception inside a user's forward or rule; `original` is the one that was raised there.

    Its traceback continues to the user's line, where debuggers then enter it.

    What is raised is a subclass of this and of the original's class, so `except ZeroDivisionError` still catches
    a division by zero inside an operator.
    """


_combined: dict[type, type[OperatorError]] = {}


def _combined_class(kind: type[BaseException]) -> type[OperatorError]:
    """Return a class that is an `OperatorError` and a `kind`; cached only for built-in kinds."""
    if kind in _combined:
        return _combined[kind]
    members = {
        "__str__": _own_text,
        "__reduce__": lambda self: (_restored, (kind, self.args, str(self), _fields(self))),
    }
    try:
        combined = type(f"OperatorError[{kind.__name__}]", (OperatorError, kind), members)
    except TypeError:  # two built-in layouts that cannot be combined
        combined = OperatorError
    if kind.__module__ == "builtins":
        _combined[kind] = combined
    return combined


def _own_text(error: Any) -> str:
    return error.text


def _fields(error: BaseException) -> dict[str, Any]:
    return {name: value for name, value in vars(error).items() if name not in ("text", "original")}


def _restored(
    kind: type[BaseException], arguments: tuple[Any, ...], text: str, fields: dict[str, Any]
) -> OperatorError:
    """Return an error with the arguments and attributes of a `kind`, and a text of its own."""
    cls = _combined_class(kind)
    error: Any = None
    for make in (kind.__new__, cls.__new__):  # either may be "not safe" for a built-in kind
        try:
            error = make(cls, *arguments)
            if kind.__module__ == "builtins":  # some keep what they are given in fields of their own
                kind.__init__(error, *arguments)
            break
        except Exception:
            continue
    if error is None or cls is OperatorError:
        return OperatorError(text)
    error.__dict__.update(fields, text=text)
    return error


def unsupported(function: Callable[..., Any], alias: str | None, arguments: Sequence[Any], operands: str) -> str:
    """Return the error text for a function of dense arrays that was called on something else."""
    name = getattr(function, "__name__", str(function))
    operator_name = f" ({alias} as an operator)" if alias else ""
    types = f" It was given {', '.join(type(value).__name__ for value in arguments)}." if arguments else ""
    return f"{name}{operator_name} is not defined for {operands}, only for dense arrays.{types}"


def operator_error(original: Exception, line: str, advice: str = "") -> Exception:
    """Return an `OperatorError` whose text is `line`, then the original exception's kind and text, and an advice.

    It has the original's arguments and attributes.
    """
    if isinstance(original, OperatorError) or is_quitting(original):  # for nested operators, the innermost line
        return original
    text = f"{line}\n  {type(original).__name__}: {original}" + (f"\n  {advice}" if advice else "")
    return _restored(type(original), original.args, text, _fields(original))


def is_quitting(error: BaseException) -> bool:
    """Tell whether an error is that of quitting a debugger inside a user's function, which ends the program."""
    debugging = sys.modules.get("bdb")
    return debugging is not None and isinstance(error, debugging.BdbQuit)


def in_place_of(error: Exception, original: Exception) -> Exception:
    """Return an error to raise `from None` in place of another: its traceback continues to where that was raised."""
    if error is not original:
        tail = original.__traceback__
        error.original = original  # type: ignore[attr-defined]
        error.with_traceback(tail.tb_next if tail is not None else None)
    return error


def named(error: MXNetError, name: str, whole: bool = False) -> MXNetError:
    """Return an error as it is if its text names the operator `name`; else with the name in front of its text.

    Operators are named as they are registered or, unless the `whole` name is asked for, as they are called:
    `_linalg_det`, 'linalg.det' or 'det'.

    Examples
    --------
    >>> named(ShapeError('data has shape (2,).'), 'flatten')
    ShapeError('flatten: data has shape (2,).')
    """
    text = str(error)
    if text.startswith(f"{name}:") if whole else name in text or any(f"{alias}: " in text for alias in _called(name)):
        return error
    text = f"{name}: {text}"
    if isinstance(error, OperatorError) and hasattr(error, "text"):
        error.text = text
    elif len(error.args) == 1:
        error.args = (text,)
    return error


def _called(name: str) -> list[str]:
    """Return the name of an operator in its namespace, with and without the namespace."""
    parts = name.lstrip("_").split("_", 1)
    return [] if not name.startswith("_") else [".".join(parts), parts[-1]]


def describe(value: Any) -> str:
    """Return dtype and shape of an array, or type and value of anything else, for use in a message.

    Examples
    --------
    >>> import numpy
    >>> describe(numpy.zeros((2, 3), 'float32'))
    'float32 (2, 3)'
    >>> describe(1.5)
    'float 1.5'
    """
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} of {len(value)}: [" + ", ".join(describe(item) for item in value[:6]) + "]"
    shape = getattr(value, "shape", None)
    dtype = getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        try:
            return f"{numpy.dtype(dtype).name} {tuple(shape)}"
        except TypeError:  # of another library's own dtype
            return f"{dtype} {tuple(shape)}"
    if isinstance(shape, tuple):
        return f"{type(value).__name__} {shape}"
    text = " ".join(repr(value).split("\n"))
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def describe_arguments(names: Sequence[str], values: Iterable[Any]) -> str:
    """Return "x float32 (3, 4), y int64 (3,)" for the arguments of a call."""
    names = list(names)
    parts = []
    for position, value in enumerate(values):
        name = names[position] if position < len(names) else f"argument {position}"
        parts.append(f"{name} {describe(value)}")
    return ", ".join(parts)


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return " Did you mean 'a' or 'b'?", or nothing when no candidate is near."""
    import difflib  # only messages need it

    matches = difflib.get_close_matches(name, list(candidates), n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(match) for match in matches)}?" if matches else ""


def broadcast_error(operator_name: str, names: Sequence[str], values: Sequence[Any], cause: Exception) -> Exception:
    """Return the `ShapeError` for operands that do not broadcast, or `cause` itself where they do.

    The message names the operator, the operands' shapes, and the first axis (counted from the right) that differs.
    Where shapes are inferred before there are values, `minpy.ops.inference.partial_shapes` words it.
    """
    shapes = [numpy.shape(value) for value in values]
    for axis in range(1, max((len(shape) for shape in shapes), default=0) + 1):
        lengths = [shape[-axis] for shape in shapes if len(shape) >= axis]
        if len({length for length in lengths if length != 1}) > 1:
            operands = " and ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=False))
            return ShapeError(
                f"{operator_name}: shapes do not broadcast: {operands} differ in axis {-axis} "
                f"({' against '.join(map(str, lengths))}). Each axis must be equal or 1, counted from the right: "
                "reshape or expand_dims one of them."
            )
    return cause
