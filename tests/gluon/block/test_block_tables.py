"""What notebooks show of blocks: tables as HTML, of blocks that were called and of those that were not."""

from __future__ import annotations

import re
import sys
import types
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from minpy import nd
from minpy.gluon import nn
from minpy.gluon.block.summary import Summary


def network() -> nn.Sequential:
    net = nn.Sequential()
    inner = nn.Sequential()
    inner.add(nn.Dropout(0.5), nn.Lambda(lambda x: x if x.size < 100 else 2 * x))
    net.add(nn.Dense(4), inner, nn.Dense(2, in_units=4))
    return net


def cells(page: str) -> list[list[str]]:
    """Return the texts of a table's body, after reading all of the page as XML: what is not escaped is an error."""
    root = ElementTree.fromstring(f"<div>{page.replace('<br>', '<br/>')}</div>")
    return [[cell.text or "" for cell in row] for row in root.findall("./table/tbody/tr")]


def test_a_summary_as_html_has_the_rows_of_the_text() -> None:
    net = network()
    net.initialize()
    summary = Summary(net, [nd.ones((2, 3))])
    assert cells(summary._repr_html_()) == [
        ["Input", "(2, 3)", "0"],
        ["Dense-1", "(2, 4)", "16"],
        ["Dropout-2", "(2, 4)", "0"],
        ["Lambda-3", "(2, 4)", "0"],
        ["Dense-4", "(2, 2)", "10"],
    ]
    assert "Total params: 26<br>Trainable params: 26" in summary._repr_html_()
    text = [line.split() for line in str(summary).splitlines()]
    for name, shape, count in summary.rows:
        assert [name, *shape.split(), count] in text


def test_a_block_as_html_says_what_is_known_before_the_first_call() -> None:
    net = network()
    page = net._repr_html_()
    rows = cells(page)
    assert [row[0].strip("\u2003") for row in rows] == ["Sequential", "(0)", "(1)", "(0)", "(1)", "(2)"]
    assert [row[2] for row in rows] == ["0", "?", "0", "0", "0", "10"]
    assert rows[1][1] == repr(net[0])
    assert "&lt;lambda&gt;" in page
    assert page.endswith("<p>Unique parameters: 14, and 1 arrays whose shapes the first call tells</p>")
    net.initialize()
    net(nd.ones((2, 3)))
    assert net._repr_html_().endswith("<p>Unique parameters: 26</p>")


def test_parameters_that_are_shared_are_counted_once_below() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(3, in_units=3))
    net.add(nn.Dense(3, in_units=3, params=net[0].params))
    assert [row[2] for row in cells(net._repr_html_())] == ["0", "12", "12"]
    assert net._repr_html_().endswith("<p>Unique parameters: 12</p>")


def test_what_is_very_long_stays_text() -> None:
    net = nn.Sequential()
    for _ in range(1000):
        net.add(nn.Flatten())
    assert net._repr_html_() is None


def test_notebooks_show_a_summary_and_others_print_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[Any] = []
    net = network()
    net.initialize()
    net.summary(nd.ones((2, 3)))
    printed = capsys.readouterr().out
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=shown.append))
    net.summary(nd.ones((2, 3)))
    assert capsys.readouterr().out == ""
    assert [str(summary) + "\n" for summary in shown] == [printed]
    assert re.search("Dense-1 +\\(2, 4\\) +16", printed)
