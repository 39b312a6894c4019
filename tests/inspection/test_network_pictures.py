"""Networks drawn as SVG: what is in the picture, that nothing lies outside of it or over something else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from places import ROOT

import minpy as mx
from minpy import sym
from minpy.__main__ import main
from minpy.graph.layered_layout import laid_out
from minpy.symbol.picture import svg_of

DATA = ROOT / "examples" / "data"
SVG = "{http://www.w3.org/2000/svg}"


def branched():
    """Return a network with a line past several rows, names that have to be escaped, and an input in the middle."""
    x = sym.var("data")
    left = sym.exp(sym.tanh(sym.FullyConnected(x, num_hidden=3, name="fc")), name="<&> a name that is rather long")
    return sym.broadcast_add(left, sym.broadcast_mul(x, sym.var("scale"), name="product"), name="sum")


def boxes(picture: str):
    root = ElementTree.fromstring(picture)
    left, top, width, height = map(float, root.get("viewBox").split())
    page = (left, top, left + width, top + height)
    found = []
    for one in root.findall(f"{SVG}rect")[1:]:
        x, y, w, h = (float(one.get(key)) for key in ("x", "y", "width", "height"))
        found.append((x, y, x + w, y + h))
    return page, found, root


@pytest.mark.parametrize("network", ["branched", "digits", "squeezenet"])
def test_boxes_lie_in_the_picture_and_apart(network: str) -> None:
    if network == "squeezenet":
        symbol = mx.gluon.model_zoo.vision.squeezenet1_0()(sym.var("data"))
    else:
        symbol = branched() if network == "branched" else sym.load(str(DATA / "digits-symbol.json"))
    page, found, root = boxes(symbol._repr_svg_())
    assert len(found) == len([n for n in symbol.order if not n.name.endswith(("_weight", "_bias", "_gamma", "_beta"))
                              and "_moving_" not in n.name])  # fmt: skip
    for box in found:
        assert page[0] <= box[0] < box[2] <= page[2] and page[1] <= box[1] < box[3] <= page[3]  # noqa: PT018
    for place, one in enumerate(found):
        for other in found[place + 1 :]:
            apart = one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
            assert apart, (one, other)
    for text in root.findall(f"{SVG}text"):  # 8 a letter, of one width
        middle, half = float(text.get("x")), len(text.text) * 8 / 2
        holder = [box for box in found if box[0] <= middle <= box[2] and box[1] <= float(text.get("y")) <= box[3]]
        assert holder[0][0] < middle - half
        assert middle + half < holder[0][2]


def test_what_reads_is_above_what_it_reads() -> None:
    edges = [(0, 1), (1, 2), (2, 4), (3, 4), (0, 4)]
    layout = laid_out([(60, 20)] * 5, edges)
    heights = [y for _, y in layout.centers]
    assert all(heights[source] > heights[target] for source, target in edges)
    assert heights[3] == heights[2], "an input is just below what reads it"
    assert [len(route) for route in layout.routes] == [2, 2, 2, 2, 4]
    assert laid_out([], []).width == 0


def test_names_are_escaped_and_shapes_are_shown() -> None:
    symbol = branched()
    known = symbol._infer_shape("test", (), {"data": (2, 3), "scale": (1, 3)}).known
    picture = svg_of(symbol, known, title="a <b>")
    texts = [one.text for one in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    assert "<&> a name that is rather long" in texts
    assert texts.count("3") == 8, "of seven lines, and of the layer itself"
    assert ElementTree.fromstring(picture).find(f"{SVG}title").text == "a <b>"


def test_a_notebook_shows_no_huge_network() -> None:
    symbol = sym.var("x")
    for _ in range(3001):
        symbol = symbol + 1
    assert symbol._repr_svg_() is None
    assert svg_of(symbol).endswith("</svg>")


@pytest.mark.parametrize("lacks", ["dot", "graphviz"])
def test_the_command_draws_svg_without_graphviz(
    lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    if lacks == "graphviz":
        monkeypatch.setitem(sys.modules, "graphviz", None)
    else:
        pytest.importorskip("graphviz")
        monkeypatch.setenv("PATH", str(tmp_path))
    files = [str(DATA / "digits-symbol.json"), str(DATA / "digits-0012.params")]
    assert main(["model", *files, "--picture", str(tmp_path / "net.svg")]) in (None, 0)
    assert "the picture is in" in capsys.readouterr().err
    picture = (tmp_path / "net.svg").read_text()
    assert ElementTree.fromstring(picture).tag == f"{SVG}svg"
    assert {"Convolution", "16x8x8"} <= set(re.findall(r">([^<\n]+)</text>", picture))
