"""Numbers that are given to users' operators by position, and defaults, in files of symbols."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import customop, gluon, nd
from minpy.core.errors import ArgumentError, FileFormatError


@customop("numpy")
def normalized(x, y, eps=0.5, mode="plain"):
    found = (x - y) / (abs(x) + (0 if eps is None else eps))
    return -found if mode == "negative" else found


normalized.def_grad(lambda ans, x, y, eps, mode: lambda g: g / (abs(x) + eps), 0)
normalized.def_grad(lambda ans, x, y, eps, mode: lambda g: -g / (abs(x) + eps), 1)
X, Y = mx.sym.var("x"), mx.sym.var("y")
ARRAYS = {"x": nd.array([3, -1]), "y": nd.array([1, 2])}
CALLS: dict[str, tuple[Any, dict[str, str], int]] = {
    "defaults": (lambda: normalized(X, Y), {"eps": "0.5", "mode": "'plain'"}, 2),
    "by position": (lambda: normalized(X, Y, 0.25), {"eps": "0.25", "mode": "'plain'"}, 2),
    "by keyword": (lambda: normalized(X, Y, eps=2), {"eps": "2", "mode": "'plain'"}, 2),
    "None": (lambda: normalized(X, Y, None), {"eps": "None", "mode": "'plain'"}, 2),
    "a string": (lambda: normalized(X, Y, 1.0, "negative"), {"eps": "1.0", "mode": "'negative'"}, 2),
    "a truth value": (lambda: normalized(X, Y, True), {"eps": "True", "mode": "'plain'"}, 2),
    "a number first": (lambda: normalized(2.0, Y), {"eps": "0.5", "mode": "'plain'", "x": "2.0"}, 1),
    "a symbol there": (lambda: normalized(X, 3, Y), {"mode": "'plain'", "y": "3"}, 2),
}


@pytest.mark.parametrize("case", CALLS)
def test_numbers_are_attributes_in_files(case: str) -> None:
    make, attributes, inputs = CALLS[case]
    symbol = make() * 1
    text = symbol.tojson()
    nodes = json.loads(text)["nodes"]
    (node,) = [one for one in nodes if one["op"].endswith(":normalized")]
    assert node["attrs"] == attributes
    assert len(node["inputs"]) == inputs
    assert len(nodes) == inputs + 2
    again = mx.sym.load_json(text)
    given = {name: ARRAYS[name] for name in symbol.list_arguments()}
    expected, got = (one.eval(**given)[0].asnumpy() for one in (symbol, again))
    np.testing.assert_array_equal(got, expected)
    assert again.tojson() == text


def test_a_block_with_such_a_call_is_exported(tmp_path: Any) -> None:
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return normalized(x, F.exp(x), 0.25)

    net = Net()
    net.hybridize()
    expected = net(ARRAYS["x"]).asnumpy()
    net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), "data")
    np.testing.assert_array_equal(again(ARRAYS["x"]).asnumpy(), expected)


def test_what_a_file_cannot_hold_or_lacks() -> None:
    for value, shape in ((np.ones(2), (2,)), (np.float64(0.1), ())):  # which makes float64 of float32
        with pytest.raises(ArgumentError) as caught:
            normalized(X, value).tojson()
        assert f"is a constant, float64 {shape}: MXNet's form holds no values, but for Python's numbers" in str(
            caught.value
        )
    text = normalized(X, Y).tojson()
    with pytest.raises(FileFormatError, match=r"has no attribute 'epsilon'; it has none"):
        mx.sym.load_json(text.replace('"eps"', '"epsilon"'))
    lacking = text.replace('"inputs": [[0, 0, 0], [1, 0, 0]]', '"inputs": [[0, 0, 0]]')
    assert lacking != text
    with pytest.raises(FileFormatError, match="input 'y' is missing"):
        mx.sym.load_json(lacking)
