"""MinPy's names: each that `golden/minpy_names.json` records is there, or a look-up says why not."""

from __future__ import annotations

import importlib
import json
import re
from types import ModuleType
from typing import Any

import pytest
from places import GOLDEN

from minpy.absent import ROWS_OF_MINPY, reason
from minpy.core.errors import ShapeError

RECORD: dict[str, dict[str, list[str]]] = json.loads((GOLDEN / "minpy_names.json").read_text(encoding="utf-8"))

# Members of classes that are not there, and why.
OF_CLASSES = {
    "core.Function": {"is_train": "instances have it"},
    "nn.model_builder.Model": {
        "detach_graph": "it does nothing in MinPy",
        "grad": "it does nothing in MinPy",
    },
    "tape.Tape": {
        "add_partial_derivative": "nodes are recorded by operators: write one with customop",
        "global_tape": "each thread has its own: the function global_tape returns it",
        "timestamp": "arrays know their place on the tape",
    },
}


def module_of(name: str) -> ModuleType | None:
    """Return the module of minpy's that has MinPy's name; None if there is none."""
    try:
        return importlib.import_module(f"minpy.{name}" if name else "minpy")
    except ModuleNotFoundError:
        return None


def why_not(module: str, name: str) -> str:
    """Return what a look-up says of a name."""
    with pytest.raises(AttributeError) as caught:
        getattr(module_of(module), name)
    return str(caught.value)


@pytest.mark.parametrize("name", RECORD, ids=lambda name: name or "minpy")
def test_each_name_is_there_or_has_a_reason(name: str) -> None:
    module = module_of(name)
    if module is None:
        holder, _, last = name.rpartition(".")
        text = reason(holder, last)
        assert text, f"minpy.{name} is neither there nor has a reason in minpy/absent.py"
        if (parent := module_of(holder)) is not None:
            assert text in why_not(parent.__name__.removeprefix("minpy."), last)
        return
    for attribute, members in RECORD[name].items():
        if not hasattr(module, attribute):
            text = reason(name, attribute)
            assert text, f"minpy.{name}.{attribute} is neither there nor has a reason in minpy/absent.py"
            assert f"{attribute!r}: {text}" in why_not(name, attribute)
            continue
        found: Any = getattr(module, attribute)
        lost = {member for member in members if not hasattr(found, member)}
        assert lost == OF_CLASSES.get(f"{name}.{attribute}", {}).keys()


@pytest.mark.parametrize("row", ROWS_OF_MINPY, ids=lambda row: row.names[:30])
def test_each_reason_is_of_some_name(row: Any) -> None:
    names = [(module, name) for module, names in RECORD.items() for name in names]
    names += [(module.rpartition(".")[0], module.rpartition(".")[2]) for module in RECORD]
    assert any(reason(module, name) == row.text for module, name in names)
    assert re.fullmatch(r"it [^.]*\..*\.|[^.]*\.", row.text)


def test_the_old_names_of_types_are_there() -> None:
    np = importlib.import_module("minpy.numpy")
    assert (np.int, np.float, np.complex, np.object, np.str) == (int, float, complex, object, str)
    assert np.ones(2, dtype=np.float).dtype == "float64"
    assert not {"int", "float", "set_policy", "mocking"} & {*dir(np)}


def test_functions_that_minpy_has_beside_numpys_are_there() -> None:
    np, core = importlib.import_module("minpy.numpy"), importlib.import_module("minpy.core")
    x, label = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    slope = core.grad(lambda x: np.sum(np.sigmoid(x)))(x)
    assert abs(slope - np.sigmoid(x) * (1 - np.sigmoid(x))).max() < 1e-6
    out = np.zeros((2, 3))
    assert np.onehot_encode(np.array([0, 2]), out) is out
    assert out.tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(ShapeError, match=r"indices of shape \(3,\) and a matrix of shape \(2, 3\)"):
        np.onehot_encode(np.array([0, 2, 1]), out)
    # as MinPy 0.3.4 answers
    probabilities = [[0.26894143, 0.7310586], [0.26894143, 0.7310586]]
    assert abs(np.softmax_output(x, label).asnumpy() - probabilities).max() < 1e-6
    gradient = core.grad(lambda x: np.softmax_output(x, label))(x)
    assert abs(gradient.asnumpy() - [[-0.3655293, 0.3655293], [0.13447072, -0.1344707]]).max() < 1e-6
