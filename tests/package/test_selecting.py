"""What runs by default, what is drawn out and what is quick: tables that name what there is, and a first row of all."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from operator_table import ALL_ROWS
from places import TESTS
from selecting import DRAWN_OUT, PROMISED, QUICK, Selecting, mark, named

import minpy


def _names(file: str) -> set[str]:
    """Return the names of a file's tests, with those of their classes."""
    text = next(TESTS.rglob(file)).read_text(encoding="utf-8")
    functions = {*re.findall(r"^ *(?:async )?def (test_\w+)\(", text, re.MULTILINE)}
    classes = {*re.findall(r"^ *(?:class )?(Test\w+)\b(?=[(:]| = \w+\.TestCase$)", text, re.MULTILINE)}
    return {*functions, *(f"{name}::{test}" for name in classes for test in (*functions, "runTest"))}


def test_what_is_drawn_out_is_there() -> None:
    there = {file: _names(file) for file in {name.partition("::")[0] for name in DRAWN_OUT}}
    missing = [name for name in DRAWN_OUT if name.partition("::")[2] not in there[name.partition("::")[0]]]
    assert not missing, f"drawn_out.json names tests that are gone: {missing}"
    assert all(type(every) is int and every >= 0 and every != 1 for every in DRAWN_OUT.values())
    assert list(DRAWN_OUT) == sorted(DRAWN_OUT)


def test_what_is_promised_is_there_and_runs() -> None:
    for prefix in PROMISED:
        file, _, function = prefix.partition("::")
        assert function in {"", *_names(file)}
    # The list of exceptions, each of whose rows it runs again; and every second one of the networks.
    assert [(name, every) for name, every in DRAWN_OUT.items() if name.startswith(PROMISED)] == [
        ("test_golden.py::test_network", 2),
        ("test_operator_table.py::test_every_exception_is_one", 0),
    ]


def test_every_room_has_quick_tests() -> None:
    rooms = {path.parent.name for path in Path(minpy.__file__).parent.glob("*/__init__.py")}
    assert not rooms - {*QUICK}, "rooms without quick tests"
    assert all([*TESTS.rglob(file)] for files in QUICK.values() for file in files)


def test_folders_are_those_of_the_package() -> None:
    package = Path(minpy.__file__).parent
    for folder in {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path("package")}:
        assert (package / folder).is_dir() or (package / folder).with_suffix(".py").is_file(), f"minpy has no {folder}"
    assert not [*TESTS.glob("test_*.py")], "tests lie in folders: see tests/README.md"


def _item(file: str, test: str, case: str = "", **params: Any) -> Any:
    marks: list[str] = []
    return SimpleNamespace(
        nodeid=f"tests/{file}::{test}" + (f"[{case}]" if case else ""),
        path=TESTS / file,
        callspec=SimpleNamespace(params=params),
        add_marker=lambda marker: marks.append(marker.name),
        marks=marks,
    )


def test_every_operator_keeps_a_row() -> None:
    items = [_item("test_operator_table.py", "test_op_check", row.id, row=row) for row in ALL_ROWS]
    mark(items)
    kept = {item.callspec.params["row"].name for item in items if "drawn_out" not in item.marks}
    assert kept == {row.name for row in ALL_ROWS}
    assert sum("drawn_out" in item.marks for item in items) > len(items) // 5


@pytest.mark.parametrize("name", [name for name, every in DRAWN_OUT.items() if every])
def test_every_family_keeps_cases(name: str) -> None:
    file, _, function = name.partition("::")
    every = DRAWN_OUT[name]
    items = [_item(file, function, str(number)) for number in range(3 * every)]
    mark(items)
    assert sum("drawn_out" not in item.marks for item in items) == 3


@pytest.mark.parametrize(
    ("arguments", "expression", "expected"),
    [
        (["tests", "minpy"], "", "not drawn_out"),
        (["tests"], "drawn_out", "drawn_out"),
        (["tests"], "quick", "quick"),
        (["tests/package/test_many.py"], "", ""),
        (["tests/package/test_many.py::test_x[a]"], "", ""),
    ],
)
def test_what_is_chosen(arguments: list[str], expression: str, expected: str) -> None:
    config: Any = SimpleNamespace(args=arguments, option=SimpleNamespace(markexpr=expression))
    selecting = Selecting(config)
    assert config.option.markexpr == expected
    assert named(config) is (".py" in arguments[0])
    skipped = [path for path in ("test_ndarray.py", "test_golden.py") if selecting.pytest_ignore_collect(TESTS / path)]
    assert skipped == (["test_golden.py"] if expression == "quick" else [])
