"""Writes ``minpy_names.json``: the public names in the modules of dmlc MinPy 0.3.4, and in their classes.

They are read off the text of its source distribution, which needs not run for it: what a module defines or assigns
at its top level, and what a class defines, without what it imports.

Usage: ``python tests/golden/make_minpy_names.py FOLDER``, where FOLDER is the unpacked source distribution.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def names_in(body: list[ast.stmt]) -> list[str]:
    """Return the public names that statements define or assign, also those in the branches of `if`."""
    found: list[str] = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.append(node.name)
        elif isinstance(node, ast.Assign):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.If):
            found += names_in(node.body) + names_in(node.orelse)
    return sorted({name for name in found if not name.startswith("_")})


def record(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return, by module, its names; of a class its members, of anything else nothing."""
    found = {}
    for path in sorted((folder / "minpy").rglob("*.py")):
        parts = path.relative_to(folder / "minpy").with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = {node.name: names_in(node.body) for node in tree.body if isinstance(node, ast.ClassDef)}
        found[module] = {name: classes.get(name, []) for name in names_in(tree.body)}
    return found


if __name__ == "__main__":
    text = json.dumps(record(Path(sys.argv[1])), indent=1, sort_keys=True)
    (HERE / "minpy_names.json").write_text(text + "\n", encoding="utf-8")
