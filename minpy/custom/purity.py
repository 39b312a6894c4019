"""Is a custom operator's method plain arithmetic? Read from its source, against a list of what is known to be pure.

Only what is on the list passes: assignments to local names, arithmetic, `asnumpy`, NumPy functions that return new
arrays (without an `out`), `nd.array`, and `self.assign` to the method's own outputs. Such a method can neither change
an array in place nor keep one.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy

__all__ = ["is_pure"]

_MISSING = object()
_PLAIN = (int, float, bool, str, type(None))
_BUILTINS = {"abs": 1, "float": 1, "int": 1, "len": 1, "max": 2, "min": 2}

# How many arguments by position a function or method takes at most: those that follow may be an `out`.
_FUNCTIONS = {
    getattr(numpy, name): count
    for count, names in {
        1: "argmax argmin diff max mean min prod ravel squeeze std sum transpose zeros_like ones_like",
        2: "dot expand_dims inner outer reshape matmul",
        3: "where clip",
    }.items()
    for name in names.split()
}
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
_SAME = ("co_firstlineno", "co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_argcount")
_KEYWORDS = {"axis", "ddof", "dtype", "keepdims"}
_EXPRESSIONS = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.Constant, ast.IfExp, ast.List, ast.Slice, ast.Subscript, ast.Tuple,
    ast.UnaryOp,
)  # fmt: skip


class _Impure(Exception):
    """Something that is not on the list."""


def is_pure(method: Callable[..., Any], instance: Any, target: int, converters: tuple[Any, ...]) -> bool:
    """Tell whether a method of `instance` is plain arithmetic whose only effect is to assign to its outputs.

    Parameters
    ----------
    method : function
    instance : object
        What it will be called on: attributes that it reads must be plain numbers or strings.
    target : int
        Position of the parameter that lists the outputs, counting `self`.
    converters : tuple of functions
        Those that make an NDArray of one argument.
    """
    if type(method) is not types.FunctionType:
        return False
    answer = method.__dict__.get("_purity")
    if answer is None or answer[0] is not method.__code__:  # functools.wraps copies what a function holds
        answer = method.__dict__["_purity"] = (method.__code__, *_read(method, target, converters))
    _, names, cells, members, attributes = answer
    if names is None:
        return False
    scope = method.__globals__
    for name, value in names:
        if scope.get(name, _MISSING) is not value:  # bound to something else since
            return False
    for cell, value in cells:
        if cell.cell_contents is not value:
            return False
    for module, name, value in members:
        if getattr(module, name, _MISSING) is not value:
            return False
    if attributes:
        cls, own = type(instance), instance.__dict__
        for name in attributes:
            if not _is_plain(own.get(name, _MISSING)) or hasattr(cls, name):
                return False
    return True


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN or isinstance(value, numpy.generic)


def _read(method: types.FunctionType, target: int, converters: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a pure method reads: (global names, cells, modules' members, attributes of `self`), or Nones."""
    code = method.__code__
    try:
        if method.__defaults__ or method.__kwdefaults__ or code.co_cellvars:
            raise _Impure
        reader = _Reader(method, code.co_varnames[: code.co_argcount][target], converters)
        for statement in _definition(code).body:
            reader.statement(statement)
    except Exception:  # there is no source, it is not this code's, or it does something else
        return None, None, None, None
    cells = tuple((cell, cell.cell_contents) for cell in method.__closure__ or ())
    return tuple(reader.names.items()), cells, tuple(reader.members), tuple(reader.attributes)


def _definition(code: types.CodeType) -> Any:
    """Return the syntax tree of a function, from source that compiles to the very same instructions."""
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


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


class _Reader:
    """Goes through a function's syntax tree; raises `_Impure` at the first thing that is not on the list."""

    def __init__(self, method: types.FunctionType, target: str, converters: tuple[Any, ...]) -> None:
        code = method.__code__
        self.parameters = code.co_varnames[: code.co_argcount]
        self.locals = set(code.co_varnames)
        self.target = target
        self.converters = converters
        self.scope = method.__globals__
        self.cells = dict(zip(code.co_freevars, method.__closure__ or (), strict=True))
        self.names: dict[str, Any] = {}
        self.members: list[tuple[types.ModuleType, str, Any]] = []
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
            # `self` may go nowhere, and outputs are not read: what is read of them would change under `assign`.
            if node.id in (self.parameters[0], self.target):
                raise _Impure
            if node.id not in self.locals and not _is_plain(self.resolve(node)):
                raise _Impure
        elif isinstance(node, ast.Attribute):
            if self.is_name(node.value, self.parameters[0]):
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
            if isinstance(part, ast.Attribute) and part.attr.startswith(("float", "int")):  # numpy.float32
                self.resolve(part)
            else:
                self.expression(part)

    def limit(self, function: Any) -> int:
        if isinstance(function, numpy.ufunc):
            return function.nin
        if any(function is converter for converter in self.converters):
            return 1
        for name, count in _BUILTINS.items():
            if function is getattr(builtins, name):
                return count
        return _FUNCTIONS[function]

    def resolve(self, node: ast.expr) -> Any:
        """Return the value of a global name, or of an attribute of a module."""
        if isinstance(node, ast.Attribute):
            module = self.resolve(node.value)
            if not isinstance(module, types.ModuleType):
                raise _Impure
            value = getattr(module, node.attr)
            self.members.append((module, node.attr, value))
            return value
        if not isinstance(node, ast.Name) or node.id in self.locals:
            raise _Impure
        if node.id in self.cells:
            return self.cells[node.id].cell_contents
        value = self.names[node.id] = self.scope.get(node.id, _MISSING)
        return getattr(builtins, node.id) if value is _MISSING else value

    @staticmethod
    def is_name(node: ast.AST, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name
