"""Says of every built-in operator what it is when only its own module was imported, and when all of them were.

`python operators_alone.py` prints, one a line, the operators that differ, and how: a process is forked for each module,
so that none has imported another's.
"""

from __future__ import annotations

import json
import os
import types
from collections import defaultdict
from importlib import import_module
from typing import Any

import numpy

import minpy  # noqa: F401 - what every program has
from minpy.core.operator import Operator
from minpy.ops.index import DEFINED_IN
from minpy.ops.registry import FUNCTIONS, OPERATORS

# What calls note at an operator: which ways of writing need no binding, what was worked out once.
NOTED = {"_plan", "_with_inputs", "bound_forms"}


def text(value: Any, depth: int = 0) -> Any:
    """Return a value as text that is the same in another process."""
    if isinstance(value, types.FunctionType):
        closure = [text(cell.cell_contents, depth + 1) for cell in value.__closure__ or ()] if depth < 3 else []
        return f"{value.__module__}.{value.__qualname__}:{value.__code__.co_firstlineno}{closure}"
    if isinstance(value, Operator):
        return f"operator {value.__name__}"
    if isinstance(value, dict):
        return {str(text(key)): text(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [text(each, depth + 1) for each in value]
    if isinstance(value, (str, int, float, bool, type(None), type, numpy.ufunc, numpy.dtype)):
        return str(value)
    own = vars(value) if hasattr(value, "__dict__") else {}
    return {"class": type(value).__qualname__, **{key: text(each, depth + 1) for key, each in own.items() if depth < 3}}


def described(names: list[str]) -> dict[str, Any]:
    found = {}
    for name in names:
        operator = OPERATORS[name]
        known = {key: text(value) for key, value in vars(operator).items() if key not in NOTED}
        functions = sorted(function.__name__ for function, each in FUNCTIONS.items() if each is operator)
        found[name] = {**known, "class": type(operator).__qualname__, "functions": functions}
    return found


def alone(module: str, names: list[str]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "w") as stream:
            import_module(f"minpy.ops.{module}")
            json.dump(described(names), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        found: dict[str, Any] = json.load(stream)
    os.waitpid(child, 0)
    return found


def main() -> None:
    modules = defaultdict(list)
    for name, module in DEFINED_IN.items():
        modules[module].append(name)
    first = {name: what for module, names in modules.items() for name, what in alone(module, names).items()}
    for module in modules:
        import_module(f"minpy.ops.{module}")
    last = json.loads(json.dumps(described([*DEFINED_IN])))
    for name in DEFINED_IN:
        if first[name] != last[name]:
            keys = {key for key in {*first[name], *last[name]} if first[name].get(key) != last[name].get(key)}
            print(f"{name}: {', '.join(f'{key} {first[name].get(key)} -> {last[name].get(key)}' for key in keys)}")


if __name__ == "__main__":
    main()
