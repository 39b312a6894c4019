"""Imports go down only: the layers of docs/architecture.md, walked."""

import ast
from pathlib import Path

import pytest

import minpy

ROOT = Path(minpy.__file__).parent
LAYERS = ["core", "ops", "front ends"]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> int:
    parts = module.split(".")
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else len(LAYERS) - 1


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return names


SOURCES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=[module_name(path) for path in SOURCES])
def test_imports_go_down_only(path):
    layer = layer_of(module_name(path))
    upward = sorted(name for name in imported(path) if name.startswith("minpy.") and layer_of(name) > layer)
    assert not upward, f"{module_name(path)} ({LAYERS[layer]}) imports from a higher layer: {', '.join(upward)}"


@pytest.mark.parametrize("path", sorted((ROOT / "core").rglob("*.py")), ids=lambda path: path.stem)
def test_the_core_imports_only_numpy_and_autograd(path):
    standard = __import__("sys").stdlib_module_names
    foreign = sorted(
        name for name in imported(path) if name.split(".")[0] not in {*standard, "minpy", "numpy", "autograd"}
    )
    assert not foreign, f"{module_name(path)} imports {', '.join(foreign)}"
