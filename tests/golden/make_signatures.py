"""Writes signatures.json: what the functions and methods of MXNet 1.9.1 call their parameters, in their order; and
defaults.json: the defaults of its operators' attributes, as its documentation writes them.

Run under MXNet 1.9.1, not under the library itself. Usage: ``python tests/golden/make_signatures.py``. A variadic
parameter is written ``*name``, one that takes any keyword ``**name``. Operators that MXNet makes with any number of
inputs have ``**kwargs`` in Python; the attributes that their documentation lists are written instead.
"""

import inspect
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MARKS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


GENERATED = ("ndarray", "symbol")  # what MXNet calls the modules of the operators that it generates


def places(mx: Any) -> dict[str, Any]:
    """Returns the modules and classes that are listed, by the path under which users write them."""
    return {
        "nd": [mx.nd, mx.nd._internal],
        "nd.random": [mx.nd.random],
        "nd.NDArray": [mx.nd.NDArray],
        "sym": [mx.sym, mx.sym._internal],
        "sym.random": [mx.sym.random],
        "sym.Symbol": [mx.sym.Symbol],
        "random": [mx.random],
        "autograd": [mx.autograd],
        "autograd.Function": [mx.autograd.Function],
        "executor.Executor": [mx.executor.Executor],
        "operator": [mx.operator],
        "operator.CustomOp": [mx.operator.CustomOp],
        "operator.CustomOpProp": [mx.operator.CustomOpProp],
        "context": [mx.context],
        "context.Context": [mx.context.Context],
        "name.NameManager": [mx.name.NameManager],
        "name.Prefix": [mx.name.Prefix],
        "attribute.AttrScope": [mx.attribute.AttrScope],
        "viz": [mx.viz],
        "test_utils": [mx.test_utils],
    }


def documented(function: Callable[..., Any]) -> list[str]:
    """Returns the names of the parameters that a docstring lists."""
    text = re.search(r"Parameters\n-+\n(.*?)(?:\n\w+\n---|\Z)", function.__doc__ or "", re.DOTALL)
    return re.findall(r"^(\w+) : ", text[1], re.MULTILINE) if text else []


def parameters(function: Callable[..., Any]) -> list[str]:
    """Returns the names of a function's parameters, ``self`` left out."""
    found = inspect.signature(function).parameters.values()
    names = [MARKS.get(parameter.kind, "") + parameter.name for parameter in found]
    names = [name for name in names if name not in ("self", "cls")]
    if len(names) == 2 and names[0].startswith("*") and names[1] == "**kwargs":
        listed = [name for name in documented(function) if name not in (names[0].lstrip("*"), "out", "name")]
        if function.__module__ in GENERATED:
            return [names[0], *listed, "name", "out"]
    # `**kwargs` of a generated operator takes what older files hold, and is not looked at.
    return names[:-1] if {"out", "name"} <= set(names) and names[-1] == "**kwargs" else names


def listed(owners: list[Any]) -> dict[str, list[str]]:
    """Returns the parameters of everything callable that modules or classes have of their own."""
    answers = {}
    for owner in owners:
        for name in dir(owner):
            member = getattr(owner, name)
            if (name.startswith("__") and name != "__init__") or not callable(member):
                continue
            home = getattr(member, "__module__", None) or ""
            if inspect.ismodule(owner) and not home.startswith(("mxnet.", *GENERATED)):
                continue
            if inspect.ismodule(owner) and home.startswith("mxnet.") and name.startswith("_"):
                continue
            if inspect.isclass(owner) and name.startswith("_") and name != "__init__":
                continue
            if name in answers or (inspect.isclass(member) and inspect.isclass(owner)):
                continue
            try:
                answers[name] = parameters(member)
            except (ValueError, TypeError):  # a class or function of C
                print(f"no signature: {owner.__name__}.{name}")
    return answers


def defaults(owners: list[Any]) -> dict[str, dict[str, str]]:
    """Returns the defaults that the docstrings of operators name, by operator and attribute."""
    answers: dict[str, dict[str, str]] = {}
    for owner in owners:
        for name in dir(owner):
            function = getattr(owner, name)
            text = re.search(r"Parameters\n-+\n(.*?)(?:\n\w+\n---|\Z)", function.__doc__ or "", re.DOTALL)
            if getattr(function, "__module__", None) not in GENERATED or text is None:
                continue
            lines = re.findall(r"^(\w+) : .*default=(.*)$", text[1], re.MULTILINE)
            if lines:
                answers.setdefault(name, {key: value.strip() for key, value in lines})
    return answers


def write(name: str, text: str) -> None:
    """Writes a golden file, which appears whole or not at all."""
    temporary = HERE / f".{name}.{os.getpid()}"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(HERE / name)


def main() -> None:
    """Makes the golden files."""
    import mxnet as mx

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    answers = {place: listed(owners) for place, owners in places(mx).items()}
    parts = []
    for place, functions in answers.items():
        lines = [f"{json.dumps(name)}: {json.dumps(functions[name])}" for name in sorted(functions)]
        parts.append(f"{json.dumps(place)}: {{\n" + ",\n".join(lines) + "\n}")
    write("signatures.json", "{\n" + ",\n".join(parts) + "\n}\n")
    given = defaults(places(mx)["nd"])
    lines = [f"{json.dumps(name)}: {json.dumps(given[name], sort_keys=True)}" for name in sorted(given)]
    write("defaults.json", "{\n" + ",\n".join(lines) + "\n}\n")
    print(f"signatures.json: {sum(map(len, answers.values()))} functions; defaults.json: {len(given)} operators")


if __name__ == "__main__":
    main()
