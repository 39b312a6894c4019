"""Is a custom operator's method plain arithmetic? Read from its source, against a list of what is known to be pure.

Only what is on the list passes: assignments to local names, arithmetic, `asnumpy`, NumPy functions that return new
arrays (without an `out`), `nd.array`, and `self.assign` to the method's own outputs. Such a method can neither change
an array in place nor keep one.
"""

from __future__ import annotations

import ast
import inspect
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy

__all__ = ["is_plain", "read_by"]

_MISSING = object()
# Types of values that are used as they are. Exactly these: a class derived from one may do anything.
_SCALARS = frozenset(kind for kind in numpy.sctypeDict.values() if issubclass(kind, (numpy.number, numpy.bool_)))
_PLAIN = frozenset((int, float, complex, bool, str, type(None))) | _SCALARS
_NOT_PLAIN = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)

# How many arguments by position a function or method takes at most: those that follow may be an `out`.
_FUNCTIONS: list[tuple[Any, int]] = [(abs, 1), (float, 1), (int, 1), (len, 1), (max, 2), (min, 2)]
_FUNCTIONS += [
    (getattr(numpy, name), count)
    for count, names in {
        1: "argmax argmin diff max mean min prod ravel squeeze std sum transpose zeros_like ones_like",
        2: "dot expand_dims inner outer reshape matmul",
        3: "where clip",
    }.items()
    for name in names.split()
]
_METHODS = {
    "asnumpy": 0,
    "astype": 1,
    "copy": 0,
    "dot": 1,
    "max": 0,
    "mean": 0,
    "min": 0,
    "ravel": 0,
    "reshape": 1,
    "sum": 0,
}
_ATTRIBUTES = {"T", "dtype", "ndim", "shape", "size"}
_SAME = (
    "co_name",
    "co_kwonlyargcount",
    "co_cellvars",
    "co_firstlineno",
    "co_code",
    "co_consts",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_argcount",
)
_KEYWORDS = {"axis", "ddof", "dtype", "keepdims"}
_EXPRESSIONS = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.Constant, ast.IfExp, ast.List, ast.Slice, ast.Subscript, ast.Tuple,
    ast.UnaryOp,
)  # fmt: skip


class _Impure(Exception):
    """Something that is not on the list."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What was read off a function, and of what else that depends: its cells, globals, and members of modules."""

    function: weakref.ref[FunctionType]
    code: CodeType
    parameters: tuple[str, ...]
    # The attributes of `self` that it reads; None if it is not pure, and then the rest does not matter.
    attributes: frozenset[str] | None
    # (a namespace, a name, what was found under it), and (cell, contents).
    names: tuple[tuple[dict[str, Any], str, Any], ...] = ()
    cells: tuple[tuple[CellType, Any], ...] = ()
    modules: tuple[tuple[ModuleType, type], ...] = ()


# By the function's identity: what functions carry along themselves, `functools.wraps` copies to others.
_verdicts: dict[int, _Verdict] = {}


def read_by(
    function: FunctionType, parameters: tuple[str, ...], target: str, converters: tuple[Any, ...]
) -> frozenset[str] | None:
    """Tell whether a method is plain arithmetic now, whose only effect is to assign to its outputs.

    Parameters
    ----------
    function : function
        The method, as its class has it.
    parameters : tuple of str
        The names that its parameters must have, after `self`.
    target : str
        The one of them that lists the outputs.
    converters : tuple of functions
        Those that make an NDArray of one argument.

    Returns
    -------
    frozenset of str or None
        If it is: the attributes of `self` that it reads, and which must be plain numbers or strings (`is_plain`).
    """
    verdict = _verdicts.get(id(function))
    if (
        verdict is None
        or verdict.function() is not function
        or verdict.code is not function.__code__
        or verdict.parameters is not parameters
    ):
        verdict = _judge(function, parameters, target, converters)
    if verdict.attributes is None:
        return None
    for namespace, name, value in verdict.names:
        found = namespace.get(name, _MISSING)
        if found is not value and not (is_plain(found) and is_plain(value)):  # it means something else since
            return None
    for cell, value in verdict.cells:
        try:
            found = cell.cell_contents
        except ValueError:  # it is empty
            return None
        if found is not value and not (is_plain(found) and is_plain(value)):
            return None
    for module, kind in verdict.modules:
        if type(module) is not kind:
            return None
    return verdict.attributes


def is_plain(value: Any) -> bool:
    """Tell whether a value is a number or string that nothing can be hidden in."""
    return type(value) in _PLAIN


def _judge(function: FunctionType, parameters: tuple[str, ...], target: str, converters: tuple[Any, ...]) -> _Verdict:
    code, key = function.__code__, id(function)
    reference = weakref.ref(function, lambda gone: _forget(key, gone))
    try:
        if code.co_cellvars or code.co_kwonlyargcount or code.co_flags & _NOT_PLAIN:
            raise _Impure
        if code.co_varnames[1 : code.co_argcount] != parameters:
            raise _Impure
        reader = _Reader(function, target, converters)
        for statement in _definition(code).body:
            reader.statement(statement)
        cells = tuple((cell, cell.cell_contents) for cell in function.__closure__ or ())
    except Exception:  # there is no source, it is not this code's, or it does something else
        verdict = _Verdict(reference, code, parameters, None)
    else:
        verdict = _Verdict(
            reference,
            code,
            parameters,
            frozenset(reader.attributes),
            tuple(reader.names.values()),
            cells,
            tuple(reader.modules.values()),
        )
    _verdicts[key] = verdict
    return verdict


def _forget(key: int, gone: Any) -> None:
    verdict = _verdicts.get(key)
    if verdict is not None and verdict.function is gone:
        del _verdicts[key]


# By the code's identity, as functions are made anew from the same code.
_definitions: dict[int, tuple[CodeType, Any]] = {}


def _definition(code: CodeType) -> Any:
    """Return the syntax tree of a function, from source that compiles to the very same instructions."""
    known = _definitions.get(id(code))
    if known is None or known[0] is not code:
        if len(_definitions) > 1000:
            _definitions.clear()
        known = _definitions[id(code)] = code, _find_definition(code)
    return known[1]


def _find_definition(code: CodeType) -> Any:
    lines, _ = inspect.findsource(code)
    tree = ast.parse("".join(lines))
    # All of it is compiled: the instructions of a function depend on the imports of its module.
    compiled = compile(tree, code.co_filename, "exec", dont_inherit=True)
    if not any(all(getattr(twin, name) == getattr(code, name) for name in _SAME) for twin in _codes(compiled)):
        raise _Impure
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = node.decorator_list[0] if node.decorator_list else node
            if first.lineno == code.co_firstlineno:
                return node
    raise _Impure


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class _Reader:
    """Goes through a function's syntax tree; raises `_Impure` at the first thing that is not on the list."""

    def __init__(self, method: Any, target: str, converters: tuple[Any, ...]) -> None:
        code = method.__code__
        self.parameters = code.co_varnames[: code.co_argcount]
        self.locals = set(code.co_varnames)
        self.target = target
        self.converters = converters
        self.scope = method.__globals__
        if type(self.scope) is not dict:
            raise _Impure
        self.cells = dict(zip(code.co_freevars, method.__closure__ or (), strict=True))
        self.builtins: dict[str, Any] = method.__builtins__
        self.names: dict[tuple[int, str], tuple[dict[str, Any], str, Any]] = {}
        self.modules: dict[int, tuple[ModuleType, type]] = {}
        self.attributes: set[str] = set()

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            for place in node.targets:
                for name in place.elts if isinstance(place, ast.Tuple) else [place]:
                    if not isinstance(name, ast.Name) or name.id in self.parameters:
                        raise _Impure
            self.expression(node.value)
        elif isinstance(node, ast.If):
            self.expression(node.test)
            for inner in (*node.body, *node.orelse):
                self.statement(inner)
        elif isinstance(node, ast.Expr):
            if not self.is_assign(node.value):
                self.expression(node.value)
        elif not isinstance(node, ast.Pass):
            raise _Impure

    def is_assign(self, node: ast.expr) -> bool:
        """Tell whether a statement is `self.assign(out_data[0], request, value)`; its parts must be pure."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "assign"):
            return False
        if not self.is_name(node.func.value, self.parameters[0]) or node.keywords or len(node.args) != 3:
            raise _Impure
        place = node.args[0]
        if not (isinstance(place, ast.Subscript) and self.is_name(place.value, self.target)):
            raise _Impure
        for part in (place.slice, *node.args[1:]):
            self.expression(part)
        return True

    def expression(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            _refuse_private(node.id)
            # `self` may go nowhere, and outputs are not read: what is read of them would change under `assign`.
            if node.id in (self.parameters[0], self.target):
                raise _Impure
            if node.id not in self.locals and not is_plain(self.resolve(node)):
                raise _Impure
        elif isinstance(node, ast.Attribute):
            if self.is_name(node.value, self.parameters[0]):
                _refuse_private(node.attr)
                self.attributes.add(node.attr)
            elif node.attr in _ATTRIBUTES:
                self.expression(node.value)
            else:
                raise _Impure
        elif isinstance(node, ast.Call):
            self.call(node)
        elif isinstance(node, _EXPRESSIONS):
            for part in ast.iter_child_nodes(node):
                if not isinstance(part, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)):
                    self.expression(part)
        else:
            raise _Impure

    def call(self, node: ast.Call) -> None:
        function = node.func
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.locals:
            limit = self.limit(self.resolve(function))
        elif isinstance(function, ast.Attribute) and not self.is_name(function.value, self.parameters[0]):
            limit = _METHODS[function.attr]
            self.expression(function.value)
        else:
            raise _Impure
        if len(node.args) > limit or any(keyword.arg not in _KEYWORDS for keyword in node.keywords):
            raise _Impure
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            if not (isinstance(part, ast.Attribute) and self.is_scalar_type(part)):
                self.expression(part)

    def is_scalar_type(self, node: ast.Attribute) -> bool:
        """Tell whether an argument is a type such as `numpy.float32`."""
        root = node.value
        if not isinstance(root, ast.Name) or root.id in self.locals:
            return False
        found = self.resolve(node)
        return any(found is kind for kind in _SCALARS)

    def limit(self, function: Any) -> int:
        if type(function) is numpy.ufunc:
            if all("O" in loop for loop in function.types):  # made by `numpy.frompyfunc`: it runs anything
                raise _Impure
            return function.nin
        for known, count in (*((converter, 1) for converter in self.converters), *_FUNCTIONS):
            if function is known:
                return count
        raise _Impure

    def resolve(self, node: ast.expr) -> Any:
        """Return the value of a global name, or of an attribute of a module."""
        if isinstance(node, ast.Attribute):
            _refuse_private(node.attr)
            module = self.resolve(node.value)
            if not isinstance(module, ModuleType) or type(module).__getattribute__ is not ModuleType.__getattribute__:
                raise _Impure
            names = vars(module)  # of which some may be late: it is a plain module from then on
            kind = type(module)
            if kind is not ModuleType and hasattr(kind, node.attr):
                raise _Impure
            self.modules[id(module)] = module, kind
            return self.found(names, node.attr)
        if not isinstance(node, ast.Name) or node.id in self.locals:
            raise _Impure
        _refuse_private(node.id)
        if node.id in self.cells:
            return self.cells[node.id].cell_contents
        if node.id in self.scope:
            return self.found(self.scope, node.id)
        self.names[id(self.scope), node.id] = self.scope, node.id, _MISSING
        return self.found(self.builtins, node.id)

    def found(self, namespace: dict[str, Any], name: str) -> Any:
        """Return what a namespace has under a name, and note that the verdict is about that."""
        if type(namespace) is not dict:
            raise _Impure
        value = namespace[name]
        self.names[id(namespace), name] = namespace, name, value
        return value

    @staticmethod
    def is_name(node: ast.AST, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name


def _refuse_private(name: str) -> None:
    """Raise for a name that the compiler may have replaced by another: those with two underscores in a class."""
    if name.startswith("__"):
        raise _Impure
