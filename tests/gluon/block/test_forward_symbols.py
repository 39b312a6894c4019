"""Symbols of blocks that define `forward`: translated from what was captured, to MXNet's names where these are equal.

`golden/forward.json` has the graphs, which MXNet 1.9.1 read and computed equal where there is no `minpy:` in them.
"""

from __future__ import annotations

import collections
import json
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from many import each
from places import GOLDEN

import minpy as mx
from minpy import gluon
from minpy import np as mnp
from minpy.core.errors import NotTraceableError
from minpy.gluon import nn

sys.path.insert(0, str(GOLDEN))

from forward_blocks import FILE, arrays_of, cases, exported

GRAPHS = json.loads(FILE.read_text(encoding="utf-8"))
CASES = cases()


def test_every_case_has_a_graph() -> None:
    assert GRAPHS.keys() == CASES.keys()


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@each({name: (name,) for name in CASES}, at_once=30)
def test_the_exported_graph_is_as_before_and_computes_the_same(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = exported(CASES[name], Path(folder))
    for one, other in zip(found["loaded"], found["outputs"], strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # before, values decided about dtypes
        assert found["graph"] == GRAPHS[name]


# -- of the present ----------------------------------------------------------------------------------------------------

QUEUE = collections.deque([2.0])
TOTAL = 0


class Holding(gluon.HybridBlock):
    """A block that computes a function, and holds this and that."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(prefix="net_")
        self.function = function
        self.table = mnp.array([1.0, 2.0, 3.0, 4.0])
        self.factor, self.log, self.kept = 2.0, [1.0], None
        self.layers = nn.HybridSequential()
        self.layers.add(nn.Dense(4, in_units=4, prefix="dense0_"), nn.Dense(4, in_units=4, prefix="dense1_"))

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def _stored(self: Any, x: Any) -> Any:
    self.kept = x * 2
    return self.kept + 1


def _counted(self: Any, x: Any) -> Any:
    self.log.append(len(self.log) + 1.0)
    return x + self.log[-1]


def _global(self: Any, x: Any) -> Any:
    global TOTAL
    TOTAL = TOTAL + 1
    return x + 0 * TOTAL


def _asking(self: Any, x: Any) -> Any:
    try:
        return x.nosuch
    except AttributeError:
        return x + 1


FROZEN: dict[str, Callable[..., Any]] = {
    "a queue": lambda self, x: x * QUEUE[0],
    "the time": lambda self, x: x * (time.time() > 0),
    "text of an array": lambda self, x: x * (len(f"{x}{x!r}") > 0),
    "text of a block": lambda self, x: x * len(repr(self)) / len(str(self)),
    "values of an array that it holds": lambda self, x: x * self.table.tolist()[1] + self.table[2].item(),
    "an array of NumPy's of one that it holds": lambda self, x: x * self.table.asnumpy().sum(),
    "an attribute that is set": _stored,
    "a global name that is set": _global,
    "an attribute that is not there": _asking,
    "its namespace": lambda self, x: x * vars(self)["factor"],
    "a parameter by its name": lambda self, x: x * self.collect_params()["dense0_weight"].data()[:1],
    "whether it is an array": lambda self, x: x + 1 if isinstance(x, mnp.ndarray) else x,
}


def _exported(block: Any, folder: Path) -> tuple[Any, Any]:
    """Return the files of a block, and what it gives as it is written."""
    block.initialize(mx.init.Uniform(0.5))
    x = mnp.array(np.arange(12.0).reshape(3, 4))
    expected = block(x)
    block.hybridize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # calls run as written, which says so
        block(x)
    files = block.export(folder / "net")
    return gluon.SymbolBlock.imports(files[0], ["data"], files[1])(x), expected


@pytest.mark.parametrize("name", FROZEN)
def test_what_cannot_be_noted_is_what_it_is_when_the_block_is_exported(name: str, tmp_path: Path) -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        found, expected = _exported(Holding(FROZEN[name]), tmp_path)
    for one, other in zip(arrays_of(found), arrays_of(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_an_export_stores_nothing_outside(tmp_path: Path) -> None:
    block = Holding(_counted)
    block.hybridize()
    with pytest.warns(UserWarning, match="it changes a list or a dict that it did not make"):
        block(mnp.ones((1, 4)))
    before = [*block.log]
    block.export(tmp_path / "net")
    assert block.log == before
    storing = Holding(_stored)
    storing.hybridize()
    with pytest.warns(UserWarning, match=r"it sets an attribute: net\.kept"):
        storing(mnp.ones((1, 4)))
    kept = storing.kept
    storing.export(tmp_path / "net")
    assert storing.kept is kept


def test_numbers_that_are_drawn_once_are_warned_of(tmp_path: Path) -> None:
    block = Holding(lambda self, x: x * random.random())
    block.hybridize()
    with pytest.warns(UserWarning, match="draws random numbers"):
        block(mnp.ones((1, 4)))
    with pytest.warns(UserWarning, match=r"every call uses the numbers that were drawn when it was traced"):
        block.export(tmp_path / "net")


def test_hooks_of_blocks_inside_are_called_with_symbols(tmp_path: Path) -> None:
    block, seen = Holding(lambda self, x: self.layers(x)), []
    block.initialize()
    block.layers[1].register_forward_hook(lambda layer, x, out: seen.append(type(out)))
    with pytest.warns(UserWarning, match="called once, when it is traced, and with symbols"):
        block.hybridize()
    with pytest.warns(UserWarning, match="dense1 has hooks"):
        block(mnp.ones((2, 4)))
    seen.clear()
    block.export(tmp_path / "net")
    assert len(seen) == 1
    assert issubclass(seen[0], mx.sym.Symbol)


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "a function that symbols have not": (
        lambda self, x: np.block([[x, x]]),
        r"^net: graphs of symbols have no operator for numpy\.block \(\S+symbols\.py:\d+\)\. Write it with functions",
    ),
    "a choice": (lambda self, x: x if x.sum() > 0 else -x, r"it chooses by values.*test_forward_symbols\.py:[0-9]+"),
    "a mask": (lambda self, x: x[x > 1], r"the shape of x\[mask\] depends on values"),
    "numbers of mx.nd": (lambda self, x: x + mx.nd.random.uniform(shape=(1,)).as_np_ndarray(), r"mx\.nd\.random"),
    "a store": (lambda self, x: _part(x * 1), r"what \S+symbols\.py:[0-9]+ does .*make a new one: np\.where"),
}


def _part(y: Any) -> Any:
    y[0] = 3
    return y


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_graph_can_hold_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    function, words = REFUSED[name]
    block = Holding(function)
    block.hybridize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        block(mnp.ones((2, 4)))
    with pytest.raises(NotTraceableError, match=words):
        block.export(tmp_path / "net")
    assert not [*tmp_path.iterdir()]


def test_a_block_that_returns_no_array_has_no_graph(tmp_path: Path) -> None:
    block = Holding(lambda self, x: 3.0)
    block.hybridize()
    block(mnp.ones((2, 4)))
    with pytest.raises(mx.MXNetError, match=r"^net: forward returned float 3\.0; expected arrays\.$"):
        block.export(tmp_path / "net")


def test_an_exported_graph_takes_other_lengths(tmp_path: Path) -> None:
    """Nothing of the lengths is in it, unless the block asks for them."""
    block = Holding(lambda self, x: mnp.ones_like(x) + mnp.full_like(x, 2) * self.layers(x).mean(axis=1, keepdims=True))
    block.initialize()
    block.hybridize()
    block(mnp.ones((2, 4)))
    files = block.export(tmp_path / "net")
    loaded = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    x = mnp.array(np.arange(20.0).reshape(5, 4))
    np.testing.assert_allclose(loaded(x).asnumpy(), block(x).asnumpy(), rtol=1e-5)


def test_an_argument_given_twice_is_two_inputs(tmp_path: Path) -> None:
    class Sum(gluon.HybridBlock):
        def forward(self, x: Any, y: Any) -> Any:
            return x - y

    block, x = Sum(), mnp.ones(3)
    block.hybridize()
    block(x, x)
    files = block.export(tmp_path / "net")
    loaded = gluon.SymbolBlock.imports(files[0], ["data0", "data1"])
    assert loaded(x, x * 3).tolist() == [-2.0, -2.0, -2.0]
