"""What docstrings say of parameters is what `inspect.signature` shows, for everything public."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from many import each
from optional_modules import module_or_skip

import minpy
from minpy.core.operator import Operator

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\s*$", re.MULTILINE)
# What every operator of `nd` takes, and every function of `sym`: said once, of all.
OF_OPERATORS = {"out", "name"}
OF_SYMBOLS = {"attr", "name", "out"}
# One for a group of inputs of which there are any number: `*data` of `multi_sgd_update` is weight, grad, weight, grad.
GROUPS = re.compile(r"multi_\w*update")


def documented(text: str) -> list[str]:
    """Return the names that a docstring has in its section of parameters."""
    names = []
    parts = SECTION.split(inspect.cleandoc(text).partition("\nExamples\n---")[0])
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title in ("Parameters", "Other Parameters"):
            for line in body.splitlines():
                if line and not line.startswith(" "):
                    names += [name.strip(" *`") for name in line.split(" : ")[0].split(",")]
    return names


def disagreements(function: Any, parameters: dict[str, inspect.Parameter], text: str) -> Iterator[str]:
    names = documented(text)
    if not names:
        return
    common = OF_OPERATORS if isinstance(function, Operator) else set()
    if (getattr(function, "__module__", "") or "").startswith("minpy.symbol"):
        common = OF_SYMBOLS
    kinds = {parameter.kind for parameter in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds or common:
        for name in names:
            if name not in parameters and name not in common:
                yield f"{name!r} is documented, and no parameter"
    open_ended = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    for name, parameter in parameters.items():
        if name not in names and parameter.kind not in open_ended and name not in common and name[0] != "_":
            yield f"the parameter {name!r} is not documented"
    if len({*names}) < len(names):
        yield f"a parameter is documented twice: {names}"


def parameters_of(function: Any, is_method: bool = False) -> dict[str, inspect.Parameter] | None:
    try:
        parameters = dict(inspect.signature(function).parameters)
    except ValueError:  # a class of exceptions, which takes what Python's do
        return None
    if is_method or next(iter(parameters), "") == "self":  # also of functions that become methods elsewhere
        parameters.pop(next(iter(parameters), ""), None)
    return parameters


def public_callables() -> dict[str, Callable[[], Iterator[tuple[str, Any, bool]]]]:
    """Return, by module, what yields its public functions and classes, and their methods."""
    found = {}
    for info in pkgutil.walk_packages(minpy.__path__, "minpy."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            found[info.name] = lambda name=info.name: members(name)
    return {"minpy": lambda: members("minpy"), **found}


def members(module_name: str) -> Iterator[tuple[str, Any, bool]]:
    module = module_or_skip(module_name)
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, Operator)):
            continue
        if not (getattr(value, "__module__", None) or "").startswith("minpy"):
            continue
        yield name, value, False
        if inspect.isclass(value) and value.__module__ == module_name:
            for method, member in vars(value).items():
                function = getattr(member, "__func__", member)
                if not method.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{method}", function, not isinstance(member, staticmethod)


@each({name: (make,) for name, make in public_callables().items()})
def test_signatures_and_docstrings_agree(make: Callable[[], Iterator[tuple[str, Any, bool]]]) -> None:
    wrong = []
    for name, value, is_method in make():
        text = value.__doc__
        parameters = parameters_of(value, is_method) if isinstance(text, str) else None
        if parameters is not None and not GROUPS.search(name):
            wrong += [f"{name}: {what}" for what in disagreements(value, parameters, text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Do.\n\nParameters\n----------\nx, y : array\n    Both.\n", []),
        ("Do.", []),
        ("Do.\n\nParameters\n----------\nx : array\nz : array\n", ["'z' is documented", "parameter 'y' is not"]),
        ("Do.\n\nParameters\n----------\nx, y, x : array\n", ["documented twice"]),
    ],
)
def test_disagreements_are_found(text: str, wanted: list[str]) -> None:
    parameters = parameters_of(lambda x, y: None)
    assert parameters is not None
    found = list(disagreements(len, parameters, text))
    assert len(found) == len(wanted)
    assert all(part in line for part, line in zip(wanted, found, strict=True))
