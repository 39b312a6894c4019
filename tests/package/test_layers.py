"""Imports go down only: the layers of docs/architecture.md, walked."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

import minpy

ROOT = Path(minpy.__file__).parent

# From the bottom up. The groups of a layer do not import each other. A group is a module; with `*` a package and all
# modules inside, with `.*` only these. Where several match a module, the longest counts.
LAYERS = [
    ["minpy.absent", "minpy.importing", "minpy.late", "minpy.version"],
    ["minpy.core*"],
    ["minpy.namespaces"],
    ["minpy.base", "minpy.context", "minpy.differentiation*", "minpy.files", "minpy.registry"],
    ["minpy.numpy_table*", "minpy.pictures*"],
    ["minpy.checking*", "minpy.ops*"],
    ["minpy.graph.ir"],
    ["minpy.graph.builder"],
    ["minpy.capture*"],
    ["minpy.backends*"],
    ["minpy.bridge*", "minpy.graph*"],
    ["minpy.backends.python*"],
    ["minpy.backends.native*"],
    ["minpy.jit*"],
    ["minpy.ndarray.*"],
    ["minpy.custom*"],
    ["minpy.ndarray"],
    ["minpy.symbol*"],
    ["minpy.batching*"],
    ["minpy.attribute", "minpy.compiling", "minpy.executor", "minpy.name", "minpy.operator", "minpy.visualization"],
    [
        "minpy.array_variants*",
        "minpy.autograd",
        "minpy.checkpointing",
        "minpy.functional",
        "minpy.numpy*",
        "minpy.random",
    ],
    ["minpy.linear_maps"],
    ["minpy.differential_operators", "minpy.extend", "minpy.numpy_extension*", "minpy.primitive", "minpy.tape"],
    ["minpy.array", "minpy.contrib*", "minpy.dlpack", "minpy.profiler*", "minpy.recordio*"],
    ["minpy.numpy_dispatch_protocol", "minpy.numpy_op_signature", "minpy.test_util"],
    [
        "minpy.device",
        "minpy.engine",
        "minpy.error",
        "minpy.libinfo",
        "minpy.log",
        "minpy.lr_scheduler",
        "minpy.rtc",
        "minpy.runtime",
        "minpy.torch",
        "minpy.util",
    ],
    ["minpy.initializer*", "minpy.library*", "minpy.metric*", "minpy.optimizer*"],
    ["minpy.io*", "minpy.kvstore*"],
    ["minpy.image*"],
    ["minpy.executor_manager", "minpy.misc", "minpy.monitor"],
    ["minpy.model*"],
    ["minpy.callback"],
    ["minpy.module*", "minpy.notebook*"],
    ["minpy.rnn*"],
    ["minpy.gluon*", "minpy.test_utils*"],
    ["minpy.contrib.amp*", "minpy.contrib.io", "minpy.contrib.svrg_optimization*", "minpy.contrib.tensorboard"],
    ["minpy.dispatch*", "minpy.legacy"],
    ["minpy.numpy.mocking", "minpy.utils*"],
    ["minpy.nn*"],
    ["minpy.frameworks*"],
    ["minpy.onnx*"],
    ["minpy.contrib.onnx*"],
    ["minpy.wiring"],
    ["minpy"],
    ["minpy.inspection*", "minpy.tools*"],
    ["minpy.onnx.conversion*"],
    ["minpy.dropin*"],
    ["minpy.__main__"],
]
HEIGHTS = {group: height for height, groups in enumerate(LAYERS) for group in groups}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def group_of(module: str) -> str:
    def matches(group: str) -> bool:
        package = group.removesuffix("*").removesuffix(".")
        inside = group.endswith("*") and module.startswith(f"{package}.")
        return inside or (module == package and not group.endswith(".*"))

    groups = [group for group in HEIGHTS if matches(group)]
    assert groups, f"{module} is in no layer: say in LAYERS, and in docs/architecture.md, where it belongs"
    return max(groups, key=len)


@cache
def is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@cache
def imported(path: Path) -> frozenset[str]:
    """Return what a module imports, also inside functions, and where only type checkers read it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if is_module(name) else str(node.module) for name in inside}
    return frozenset(names)


@cache
def named_modules(path: Path) -> frozenset[str]:
    """Return the modules that a module has imported by their names: `import_module("m")`, or `"m:name"` anywhere."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {*imported_by_name(path), *imported_by_name(path, "add_module")}
    names |= {text.partition(":")[0] for text in texts_in(tree) if re.fullmatch(r"minpy\.[\w.]+:[\w.]+", text)}
    return frozenset(name for name in names if not name.endswith(".") and is_module(name))


@cache
def imported_by_name(path: Path, function: str = "import_module") -> frozenset[str]:
    """Return the modules whose names a function is called with."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    calls = [call for call in calls if ast.unparse(call.func).rpartition(".")[2] == function]
    return frozenset(text for call in calls for argument in call.args for text in texts_in(argument))


def texts_in(tree: ast.AST) -> list[str]:
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [value for value in constants if isinstance(value, str)]


def may_import(importer: str, name: str) -> bool:
    own, other = group_of(importer), group_of(name)
    return own == other or HEIGHTS[other] < HEIGHTS[own]


FOLDERS = sorted({path.parent for path in ROOT.rglob("*.py")})
ROOMS = sorted(path.parent for path in ROOT.rglob("__init__.py") if path.parent != ROOT)


def folder_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).parts)


@pytest.mark.parametrize("folder", FOLDERS, ids=folder_name)
def test_imports_go_down_only(folder):
    upward = [
        f"{module} imports {name}"
        for path in sorted(folder.glob("*.py"))
        for module in [module_name(path)]
        for name in sorted(imported(path) | named_modules(path))
        if name.split(".")[0] == "minpy" and not may_import(module, name)
    ]
    assert not upward, f"what is not below: {'; '.join(upward)}"


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules that import each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for module in graph:
        seen, stack = set(), [module]
        while stack:
            new = graph.get(stack.pop(), set()) - seen
            seen |= new
            stack += new
        reached[module] = seen
    found = [{other for other in reached[module] if module in reached[other]} for module in graph]
    return [one for position, one in enumerate(found) if one and one not in found[:position]]


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}, "e": {"a"}}) == [{"b", "c"}, {"d"}]


@pytest.mark.parametrize("room", ROOMS, ids=folder_name)
def test_modules_of_a_room_do_not_import_each_other_in_circles(room):
    inside = {module_name(path): path for path in room.rglob("*.py")}
    graph = {
        module: (imported(path) | imported_by_name(path) - {module}).intersection(inside)  # `__main__` imports itself
        for module, path in inside.items()
    }
    assert not circles(graph), f"{folder_name(room)}: these import each other: {circles(graph)}"


@pytest.mark.parametrize("path", sorted((ROOT / "core").rglob("*.py")), ids=lambda path: path.stem)
def test_the_core_imports_only_numpy(path):
    standard = sys.stdlib_module_names
    foreign = sorted(name for name in imported(path) if name.split(".")[0] not in {*standard, "minpy", "numpy"})
    assert not foreign, f"{module_name(path)} imports {', '.join(foreign)}"
