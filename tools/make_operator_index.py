"""Write the index of built-in operators: which module defines which, so that it is imported when one is looked up.

python tools/make_operator_index.py [--check]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent / "minpy"
OPERATORS = PACKAGE / "ops"
INDEX = OPERATORS / "index.py"
WIDTH = 120

TEXT = '''"""Which module defines which built-in operator: written by tools/make_operator_index.py."""

from __future__ import annotations

__all__ = ["DEFINED_IN", "IMPLEMENTED_IN", "OF_NUMPY"]

# By module in `minpy.ops`: the names of the operators that it defines, aliases included.
_OPERATORS = {{
{operators}}}
# And the names of the NumPy functions that some of them are.
_FUNCTIONS = {{
{functions}}}

# By an operator's name, the module in `minpy.ops` that defines it.
DEFINED_IN = {{name: module for module, names in _OPERATORS.items() for name in names.split()}}
# By the name of a NumPy function, the module that defines the operator which it is.
IMPLEMENTED_IN = {{name: module for module, names in _FUNCTIONS.items() for name in names.split()}}
# The module that makes those of NumPy's functions in graphs: they are in no namespace.
OF_NUMPY = "numpy.all_named"
'''


class Noting(dict[Any, Any]):
    """A table that notes which module enters what; what is not there yet is looked for in all modules.

    Attributes
    ----------
    modules : dict
        By what was entered, the module in `minpy.ops` whose code was being run.
    """

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names
        self.modules: dict[Any, str] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        module = running()
        if self.modules.setdefault(key, module) != module:
            sys.exit(f"{key} is defined twice: by {self.modules[key]} and by {module}")
        super().__setitem__(key, value)

    def __missing__(self, key: Any) -> Any:
        for name in self.names:
            import_module(name)
            if dict.__contains__(self, key):
                return super().__getitem__(key)
        raise KeyError(key)

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


def running() -> str:
    """Return the module in `minpy.ops` whose own code is being run, below which a table was written to."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name: str = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "<module>" and name.startswith("minpy.ops."):
            return name.removeprefix("minpy.ops.")
        frame = frame.f_back
    raise AssertionError("an operator is defined outside of the code of a module")


def module_names() -> list[str]:
    """Return the names of all modules in `minpy.ops`."""
    paths = [path.relative_to(PACKAGE.parent).with_suffix("") for path in sorted(OPERATORS.rglob("*.py"))]
    return [".".join(path.parts).removesuffix(".__init__") for path in paths]


def made() -> tuple[Noting, Noting]:
    """Import all modules of operators, without the rest of minpy, and return the tables of operators and functions."""
    package = ModuleType("minpy")  # in place of the whole, which needs the index that is to be written
    package.__path__ = [str(PACKAGE)]
    index = ModuleType("minpy.ops.index")
    vars(index).update(DEFINED_IN={}, IMPLEMENTED_IN={}, OF_NUMPY="numpy.all_named")
    sys.modules |= {"minpy": package, "minpy.ops.index": index}
    registry = import_module("minpy.ops.registry")
    names = module_names()
    operators, functions = Noting(names), Noting(names)
    vars(registry).update(OPERATORS=operators, FUNCTIONS=functions)
    for name in names:
        import_module(name)
    return operators, functions


def rows(modules: dict[str, str]) -> str:
    """Return the lines of a table: for each module the names that it defines, in texts that are not too long."""
    by_module: dict[str, list[str]] = defaultdict(list)
    for name, module in modules.items():
        by_module[module].append(name)
    return "".join(row(module, names) for module, names in sorted(by_module.items()))


def row(module: str, names: list[str]) -> str:
    """Return one entry of a table, as the formatter has it."""
    alone = f'    "{module}": "{" ".join(names)}",\n'
    if len(alone) <= WIDTH + 1:
        return alone
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) + 11 > WIDTH:
            lines.append("")
        lines[-1] += f"{name} "
    if len(lines) == 1:
        return f'    "{module}": (\n        "{lines[0].rstrip()}"\n    ),\n'
    lines[-1] = lines[-1].rstrip()
    return f'    "{module}": (\n' + "".join(f'        "{line}"\n' for line in lines) + "    ),\n"


def text() -> str:
    """Return the index as it is to be."""
    operators, functions = made()
    names = {function.__name__: module for function, module in functions.modules.items()}
    return TEXT.format(operators=rows(operators.modules), functions=rows(names))


def main() -> None:
    """Write the index, or with --check compare it."""
    parser = argparse.ArgumentParser(description="Write the index of built-in operators.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the index is not current")
    check = parser.parse_args().check
    current = text()
    if INDEX.exists() and INDEX.read_text(encoding="utf-8") == current:
        return
    if check:
        sys.exit(f"{INDEX} is not current: run python tools/make_operator_index.py")
    temporary = INDEX.with_suffix(".tmp")
    temporary.write_text(current, encoding="utf-8")
    os.replace(temporary, INDEX)


if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGE.parent))
    main()
