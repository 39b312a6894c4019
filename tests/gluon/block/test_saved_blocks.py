"""Files of blocks: those that MXNet 1.9.1 wrote are read, and those that are written have its names and its order."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import GOLDEN

import minpy as mx
from minpy import gluon, nd
from minpy.core.errors import FileFormatError

sys.path.insert(0, str(GOLDEN))

from make_saved_blocks import SAVED, blocks, outline, read, write


def test_what_mxnet_saved_is_read() -> None:
    compared = read(mx, SAVED)
    assert len(compared) == len([*SAVED.glob("*-model.json"), *SAVED.glob("*[01].params")])


def test_what_is_saved_has_mxnets_names(tmp_path: Path) -> None:
    write(mx, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in SAVED.iterdir()}
    assert len(read(mx, tmp_path)) == len(read(mx, SAVED))
    for path in SAVED.glob("*.params"):
        wanted, written = nd.load(path), nd.load(tmp_path / path.name)
        assert [(name, array.shape) for name, array in written.items()] == [
            (name, array.shape) for name, array in wanted.items()
        ], path.name
    for path in SAVED.glob("*.json"):
        assert outline(tmp_path / path.name) == outline(path), path.name


@pytest.mark.parametrize("name", ["nested", "imperative"])
def test_blocks_inside_are_hybridized_as_they_were(name: str) -> None:
    block = blocks(mx)[name]()
    block.load(str(SAVED / f"{name}1"))
    inside = [child._active for child in block._children.values()]
    assert inside == [True, True]
    other = blocks(mx)[name]()
    other.load(str(SAVED / f"{name}0"))
    assert not getattr(other, "_active", False)


def test_a_description_that_is_none(tmp_path: Path) -> None:
    shutil.copy(SAVED / "row0-model.params", tmp_path / "row-model.params")
    for text in ("[]", "{}", '{"row": 3}'):
        (tmp_path / "row-model.json").write_text(text)
        with pytest.raises(FileFormatError, match=r"Block\.load: .*row-model\.json' does not describe a block"):
            blocks(mx)["row"]().load(str(tmp_path / "row"))


def graph(*names: str) -> Any:
    data = mx.sym.var("data")
    out = data
    for name in names:
        out = mx.sym.FullyConnected(out, num_hidden=2, no_bias=True, name=name)
    return gluon.SymbolBlock(out, data)


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["ssd0_fc1", "ssd0_fc2"], ["1_weight", "2_weight"]),
        (["net_a", "other_b"], ["net_a_weight", "other_b_weight"]),
        (["same", "same_more"], ["weight", "more_weight"]),
        (["only"], [""]),
        ([], []),
    ],
)
def test_names_of_parameters_in_files(names: list[str], places: list[str]) -> None:
    block = graph(*names)
    assert list(block._collect_params_with_prefix()) == places
    assert list(block.collect_params().keys()) == [f"{name}_weight" for name in names]


def test_parameters_by_the_names_of_the_graph_are_read_too(tmp_path: Path) -> None:
    block = graph("ssd0_fc1", "ssd0_fc2")
    block.initialize()
    x = nd.ones((1, 3))
    expected = block(x).asnumpy()
    nd.save(tmp_path / "full", {name: one.data() for name, one in block.collect_params().items()})
    other = graph("ssd0_fc1", "ssd0_fc2")
    other.load_parameters(tmp_path / "full")
    np.testing.assert_array_equal(other(x).asnumpy(), expected)


@pytest.mark.parametrize("wrap", [list, tuple, mx.sym.Group], ids=["list", "tuple", "Group"])
def test_one_output_is_no_list(wrap: Any) -> None:
    data = mx.sym.var("data")
    block = gluon.SymbolBlock(wrap([mx.sym.relu(data)]), data)
    out = block(nd.array([-1.0, 2.0]))
    assert isinstance(out, nd.NDArray)
    assert out.asnumpy().tolist() == [0, 2]
    assert isinstance(block(mx.sym.var("x")), mx.sym.Symbol)
    inside = gluon.SymbolBlock([wrap([mx.sym.relu(data)]), mx.sym.tanh(data)], data)
    assert isinstance(inside(nd.ones(2)), list)
