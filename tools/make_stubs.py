"""Write the stub of `minpy.nd`, whose operators are generated names: `python tools/make_stubs.py [--check]`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import minpy.ndarray as nd
from minpy.core.operator import Operator
from minpy.core.registry import OPERATORS

PATH = Path(nd.__file__).with_suffix(".pyi")

HEADER = '''"""Types of `minpy.nd`; written by tools/make_stubs.py from the operators' definitions."""

from typing import Any

'''


def type_text(kind: Any) -> str:
    """Return an attribute's annotation as source."""
    if kind is None or kind is Any:
        return "Any"
    if isinstance(kind, type) and not hasattr(kind, "__args__"):
        return kind.__name__ if kind.__module__ == "builtins" else "Any"
    return str(kind).replace("typing.", "")


def stub(name: str, operator: Operator) -> str:
    """Return the stub line of one operator."""
    signature = operator.signature
    parameters = [
        f"{argument}: Any{' = ...' if argument in signature.defaults else ''}" for argument in signature.inputs
    ]
    if signature.variadic is not None:
        parameters.append(f"*{signature.variadic}: Any")
    attributes = [
        f"{attribute.name}: {type_text(attribute.type)} = ..."
        for attribute in signature.attributes.values()
        if attribute.name != "training"
    ]
    # Attributes may follow the inputs by position, as in MXNet.
    text = ", ".join([*parameters, *attributes, "out: Any = ...", "name: Any = ..."])
    return f"def {name}({text}) -> Any: ..."


def make() -> str:
    """Return the stub's text."""
    lines = []
    modules: dict[str, list[str]] = {}
    for name in sorted(nd.__all__):
        value = getattr(nd, name)
        if name in OPERATORS and isinstance(value, Operator):
            lines.append(stub(name, value))
        elif isinstance(value, type(sys)):
            lines.append(f"from minpy.ndarray import {value.__name__.rpartition('.')[2]} as {name}")
        else:
            modules.setdefault(value.__module__, []).append(name)
    imports = []
    for module, names in sorted(modules.items()):
        imports += [f"from {module} import {name} as {name}" for name in names]
    known = [line for line in lines if line.startswith("from")]
    functions = [line for line in lines if not line.startswith("from")]
    return HEADER + "\n".join([*imports, *known, "", *functions]) + "\n"


def main() -> None:
    """Write the stub, or with --check compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if the stub is not current")
    text = make()
    if parser.parse_args().check:
        sys.exit(0 if PATH.exists() and PATH.read_text() == text else f"{PATH} is not current: run {sys.argv[0]}")
    temporary = PATH.with_suffix(".tmp")
    temporary.write_text(text)
    os.replace(temporary, PATH)


if __name__ == "__main__":
    main()
