"""A digest of what an operator computes: of its code, its rules, what these refer to, and the version of minpy.

Other frameworks keep what they have compiled in files, under names of operators, and look no further than these: under
the same name, a rule that has been edited would go on giving its old gradients. So the digest is part of the name.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy

from minpy.core.array import Array
from minpy.core.gradient_rules import codes_of
from minpy.version import __version__

__all__ = ["digest_of"]

_RULES = ("definitions", "raw", "several", "several_raw", "by_keyword", "jvp", "into", "zeros", "all_zero", "zero_rest")
_INFERENCE = ("shape_rule", "shape_inference", "type_inference", "batch_rule")
# Whose functions are told by their version, not by their code: one digest would walk through all of NumPy.
_LIBRARIES = {"autograd", "builtins", "jax", "minpy", "numpy", "pytensor", "scipy", "torch"}
_LENGTH = 12


def digest_of(operator: Any) -> tuple[str, bool]:
    """Return (a short text that is another one if the operator computes something else, whether all of it was read).

    It is the same in every process. What cannot be looked into, as objects of compiled classes, counts by its class.

    Examples
    --------
    >>> import minpy
    >>> def double(factor):
    ...     operator = minpy.customop('numpy')(lambda x: 2 * x)
    ...     return operator.def_grad(lambda ans, x: lambda g: factor * g)
    >>> digest_of(double(2)) == digest_of(double(2)), digest_of(double(2)) == digest_of(double(3))
    (True, False)
    """
    walk = _Walk()
    walk.text(f"minpy {__version__} python {sys.version_info[:2]}")
    walk.operator(operator)
    return walk.digest.hexdigest()[:_LENGTH], walk.is_whole


class _Walk:
    """A walk through what a function refers to, each object once."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.is_whole = True
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # or another object could get the identity of one that was seen

    def text(self, text: str) -> None:
        self.digest.update(f"{len(text)}:{text}".encode(errors="surrogatepass"))

    def operator(self, operator: Any) -> None:
        self.text(f"operator {type(operator).__qualname__} {operator.__name__} {operator.kind} {operator.auxiliary}")
        if getattr(operator, "builtin", False):
            return
        gradients = getattr(operator, "gradients", None)
        if gradients is None:  # a kind whose functions are methods, or in a library
            self.value(type(operator))
            for part in ("prop", "parameters", "annotations"):
                self.value(vars(operator).get(part))
            binary = getattr(getattr(operator, "family", None), "binary", None)
            if binary is not None:
                self.text(_file_digest(binary.path, binary))
            return
        self.value(operator.definition)
        for name in _RULES:
            self.text(name)
            self.value(getattr(gradients, name, None))
        for name in _INFERENCE:
            self.text(name)
            self.value(getattr(operator, name, None))

    def value(self, value: Any) -> None:
        """Add a value, whatever it is."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, range, type(...))):
            self.text(f"{type(value).__name__} {value!r}")
            return
        if id(value) in self._seen:
            self.text(f"again {self._seen[id(value)]}")
            return
        self._seen[id(value)] = len(self._seen)
        self._alive.append(value)
        if isinstance(value, (numpy.ndarray, numpy.generic, Array)):
            array = numpy.asarray(value._data if isinstance(value, Array) else value)
            self.text(f"array {array.shape} {array.dtype.str}")
            if array.dtype == object:
                self.parts(array.ravel().tolist())
            else:
                self.digest.update(numpy.ascontiguousarray(array).tobytes())
        elif isinstance(value, (tuple, list)):
            self.text(f"{type(value).__name__} {len(value)}")
            self.parts(value)
        elif isinstance(value, (set, frozenset)):
            self.text(f"set {sorted(map(repr, value))}")
        elif isinstance(value, Mapping):
            self.text(f"mapping {len(value)}")
            for key, part in value.items():
                self.value(key)
                self.value(part)
        elif isinstance(value, types.CodeType):
            self.code(value)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, types.MethodType):
            self.value(value.__func__)
            self.value(value.__self__)
        elif isinstance(value, functools.partial):
            self.parts((value.func, value.args, value.keywords))
        elif isinstance(value, types.ModuleType):
            self.text(f"module {value.__name__} {getattr(value, '__version__', '')}")
        elif isinstance(value, type):
            self.type(value)
        elif hasattr(value, "signature") and hasattr(value, "vjp"):
            self.operator(value)
        else:
            self.text(f"instance {_full_name(type(value))}")
            if not _is_of_a_library(type(value)):
                self.type(type(value))
                self.value(getattr(value, "__dict__", None))
                self.is_whole = self.is_whole and hasattr(value, "__dict__")
            elif isinstance(value, numpy.dtype):
                self.text(value.str)
            elif callable(value) and hasattr(value, "__name__"):  # a function written in C
                self.text(f"{getattr(value, '__module__', '')}.{value.__name__}")
            else:
                self.is_whole = False

    def parts(self, values: Iterable[Any]) -> None:
        for value in values:
            self.value(value)

    def function(self, function: types.FunctionType) -> None:
        self.text(f"function {_full_name(function)}")
        function = getattr(function, "adapted_from", function)
        if _is_of_a_library(function):
            return
        self.code(function.__code__)
        self.parts((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # it is empty
                content = ...
            self.value(content)
        names = {name for code in codes_of(function.__code__) for name in code.co_names}
        for name in sorted(names & function.__globals__.keys()):
            self.text(name)
            self.value(function.__globals__[name])

    def code(self, code: types.CodeType) -> None:
        self.digest.update(code.co_code)
        self.text(f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_flags}")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant)
            elif isinstance(constant, frozenset):
                self.text(f"set {sorted(map(repr, constant))}")
            else:
                self.text(repr(constant))

    def type(self, cls: type) -> None:
        self.text(f"class {_full_name(cls)}")
        if _is_of_a_library(cls):
            return
        for base in cls.__mro__:
            if _is_of_a_library(base):
                continue
            for name, member in sorted(vars(base).items()):
                function = inspect.unwrap(getattr(member, "__func__", member)) if callable(member) else member
                if isinstance(function, (types.FunctionType, bool, int, float, str, tuple)) and name != "__module__":
                    self.text(name)
                    self.value(function)


@functools.lru_cache(64)
def _file_digest(path: str, binary: Any) -> str:
    """Return the digest of the file that a library was opened from; `binary`: the library that is open."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:  # it is loaded, and its file is gone
        return f"{path} {id(binary)}"


def _is_of_a_library(value: Any) -> bool:
    code = getattr(value, "__code__", None)
    if code is not None and code.co_filename.startswith("<"):  # typed in, or made, whatever module it says it is of
        return False
    return str(getattr(value, "__module__", "")).split(".")[0] in _LIBRARIES


def _full_name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
