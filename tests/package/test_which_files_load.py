"""The guide of which files load: its table of operators that are not here is what loading says of them."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from places import GOLDEN, ROOT

import minpy as mx
from minpy import gluon, nd, sym
from minpy.core.errors import FileFormatError, ShapeError
from minpy.gluon.block.misshapen import expected_shapes
from minpy.symbol.not_here import advice_of

PAGE = (ROOT / "docs" / "guide" / "which_files_load.md").read_text(encoding="utf-8")
sys.path.insert(0, str(GOLDEN))
try:
    page = importlib.import_module("absent_operators")
finally:
    sys.path.remove(str(GOLDEN))


def test_the_table_of_operators_is_what_loading_says() -> None:
    rows = PAGE.partition(page.HEAD)[2].partition("\n\n")[0]
    assert rows == page.table(), "run python tests/golden/absent_operators.py, which writes it anew"
    assert len(rows.splitlines()) > 4
    assert all(f"`{name}`" in rows for name in page.absent())  # whoever searches the page for a name finds it


@pytest.mark.parametrize(
    "name", ["_contrib_quantized_conv", "_sg_mkldnn_conv", "_cvimread", "_sparse_retain", "_Native"]
)
def test_a_message_has_the_advice_of_the_table(name: str) -> None:
    graph = {
        "nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": name, "name": "y", "inputs": [[0, 0, 0]]}],
        "arg_nodes": [0],
        "heads": [[1, 0, 0]],
    }
    with pytest.raises(FileFormatError, match=re.escape(advice_of(name))):
        sym.load_json(json.dumps(graph))
    assert advice_of(name) in PAGE


@pytest.mark.parametrize("guide", ["README.md", "docs/guide/old_models.md"])
def test_guides_link_to_the_page(guide: str) -> None:
    assert "which_files_load.md" in (ROOT / guide).read_text(encoding="utf-8")


def test_all_wrong_shapes_of_a_file_are_told_when_it_is_imported(tmp_path: Path) -> None:
    layers = sym.var("data")
    for number in range(4):
        layers = sym.FullyConnected(layers, num_hidden=3, name=f"fc{number}")
        layers = sym.BatchNorm(layers, name=f"bn{number}")
    layers.save(str(tmp_path / "net-symbol.json"))
    right = {f"fc{number}_weight": (3, 4 if number == 0 else 3) for number in range(4)}
    right |= {f"fc{number}_bias": (3,) for number in range(4)}
    right |= {f"bn{number}_{part}": (3,) for number in range(4) for part in ("gamma", "beta")}
    states = {f"bn{number}_moving_{part}": (3,) for number in range(4) for part in ("mean", "var")}
    wrong = {"fc0_bias": (5,), "fc2_weight": (3, 7), "bn3_gamma": (2,), "bn1_moving_var": (4,)}

    def write(shapes: dict[str, tuple[int, ...]]) -> str:
        path = str(tmp_path / "net-0000.params")
        kinds = {name: "aux" if "moving" in name else "arg" for name in shapes}
        nd.save(path, {f"{kinds[name]}:{name}": nd.ones(shape) for name, shape in shapes.items()})
        return path

    model = str(tmp_path / "net-symbol.json")
    block = gluon.SymbolBlock.imports(model, "data", write({**right, **states}))
    assert block(nd.ones((2, 4))).shape == (2, 3)
    with pytest.raises(ShapeError) as caught:
        gluon.SymbolBlock.imports(model, "data", write({**right, **states, **wrong}))
    told = re.findall(r"^  (\w+) +(\([\d, ]+\)) float32 +(\([\d, ]+\)) float32$", str(caught.value), re.MULTILINE)
    expected = {**right, **states}
    assert {name: (file, graph) for name, file, graph in told} == {
        name: (str(shape), str(expected[name])) for name, shape in wrong.items()
    }
    with pytest.raises(ShapeError, match=r"Parameter 'fc0_bias': the file .* has shape \(5,\), the block \(3,\)"):
        gluon.SymbolBlock.imports(model, "data", write({**right, **states, "fc0_bias": (5,)}))


def test_shapes_that_fit_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sym.load(str(ROOT / "examples" / "data" / "digits-symbol.json"))
    arrays = nd.load(str(ROOT / "examples" / "data" / "digits-0012.params"))
    shapes = {name.partition(":")[2]: array.shape for name, array in arrays.items()}
    calls = []
    infer = sym.Symbol._infer_shape
    monkeypatch.setattr(sym.Symbol, "_infer_shape", lambda *given, **named: calls.append(1) or infer(*given, **named))
    assert expected_shapes(graph, shapes) == {}
    assert len(calls) == 1
    wrong = {**shapes, "fc_bias": (11,)}
    assert expected_shapes(graph, wrong) == {"fc_bias": (10,)}
    assert len(calls) < 2 * int(np.ceil(np.log2(len(shapes)))) + 4
    assert expected_shapes(mx.sym.var("x") + 1, {"x": (2,)}) == {}
