"""Symbols in MXNet's JSON form: MXNet's own files, old ones, broken and hostile ones, and round trips of ours."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import GOLDEN
from thoroughness import often

import minpy as mx
from minpy import sym
from minpy.core.customop import USER_OPERATORS
from minpy.core.errors import (
    ArgumentError,
    FileAccessError,
    FileFormatError,
    FileMissingError,
    MXNetError,
    ShapeError,
)
from minpy.custom.registry import PROPS
from minpy.graph.ir import Node, Value, constant
from minpy.ops.registry import OPERATORS, known_operator
from minpy.symbol.contents import contents
from minpy.symbol.not_here import advice_of
from minpy.symbol.renamed import present_name
from minpy.symbol.saving import mxnet_name
from minpy.symbol.subgraphs import CONTROL_FLOW

SYMBOLS = GOLDEN / "symbols"
sys.path.insert(0, str(GOLDEN))
try:
    cases = importlib.import_module("symbol_cases")
finally:
    sys.path.remove(str(GOLDEN))

FACTS = json.loads((SYMBOLS / "facts.json").read_text())
NAMES = json.loads((SYMBOLS / "names.json").read_text())
SHAPES = {**{name: shapes for name, (_, shapes) in cases.NETWORKS.items()}, **cases.OLDER}
cases.register(mx)


@pytest.fixture(autouse=True)
def _registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "register", lambda mx: None)


# -- MXNet's files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_files_of_mxnet_are_understood(name: str) -> None:
    symbol = sym.load(SYMBOLS / f"{name}-symbol.json")
    facts = FACTS[name]
    assert symbol.list_arguments() == facts["arguments"]
    assert symbol.list_auxiliary_states() == facts["auxiliary"]
    assert symbol.list_outputs() == facts["outputs"]
    shapes = symbol.infer_shape(**SHAPES[name])
    assert [[list(shape) for shape in part] for part in shapes] == facts["shapes"]
    noted = {
        name: {key: text for key, text in attributes.items() if key.startswith("__")}
        for name, attributes in symbol.attr_dict().items()
    }
    assert {name: found for name, found in noted.items() if found} == {
        name: found for name, found in facts["attributes"].items() if found
    }


@pytest.mark.parametrize("name", SHAPES)
def test_files_of_mxnet_compute_what_they_compute_there(name: str) -> None:
    symbol = sym.load(SYMBOLS / f"{name}-symbol.json")
    arrays = mx.nd.load(SYMBOLS / f"{name}.params")
    arguments, states, expected = (
        {key[4:]: array for key, array in arrays.items() if key.startswith(kind)} for kind in ("arg:", "aux:", "out:")
    )
    outputs = symbol.bind(mx.cpu(), arguments, aux_states=states).forward()
    assert len(outputs) == len(expected)
    for position, output in enumerate(outputs):
        other = expected[str(position)]
        assert (output.shape, output.dtype) == (other.shape, other.dtype), symbol.list_outputs()[position]
        np.testing.assert_allclose(output.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", cases.NETWORKS)
def test_files_of_mxnet_are_written_again_to_the_letter(name: str, tmp_path: Path) -> None:
    path = SYMBOLS / f"{name}-symbol.json"
    symbol = sym.load(path)
    assert symbol.tojson() == path.read_text(encoding="utf-8")
    symbol.save(str(tmp_path / "file"))
    assert (tmp_path / "file").read_bytes() == path.read_bytes()
    assert sym.load_json(symbol.tojson()).tojson() == symbol.tojson()


@pytest.mark.parametrize("name", cases.NETWORKS)
def test_networks_are_written_as_mxnet_writes_them(name: str) -> None:
    """But for variables that an operator made: in MXNet they have its attributes as their own, and an initializer."""
    with mx.name.NameManager():
        ours = json.loads(cases.NETWORKS[name][0](mx).tojson())
    theirs = json.loads((SYMBOLS / f"{name}-symbol.json").read_text(encoding="utf-8"))
    for document in (ours, theirs):
        for node in document["nodes"]:
            if node["op"] == "null":
                found = node.pop("attrs", {})
                node["noted"] = {key: text for key, text in found.items() if key[:2] == "__" and key != "__init__"}
    assert ours["nodes"] == theirs["nodes"]
    assert ours == theirs


# What MXNet 1.9.1 does not have.
OF_MXNET_2 = {"_npx_masked_log_softmax", "_npx_masked_softmax"}


def test_operators_have_the_names_that_mxnet_writes() -> None:
    """If this fails for a new operator or alias: `_NAMES` and `_NO_ALIASES` in minpy/symbol/saving.py say the names."""
    written = {kind: mxnet_name(operator, kind) for kind, operator in OPERATORS.items()}
    assert written == {kind: NAMES.get(kind, name) for kind, name in written.items()}
    assert {name for name in written.values() if NAMES.get(name) != name} <= OF_MXNET_2


# -- round trips -----------------------------------------------------------------------------------------------------


def again(symbol: sym.Symbol) -> sym.Symbol:
    """Return the symbol that the JSON form of one describes, which must be written as the same text."""
    text = symbol.tojson()
    result = sym.load_json(text)
    assert result.tojson() == text
    return result


def attributes_of(symbol: sym.Symbol) -> dict[str, Any]:
    return symbol.values[0].node.attributes


x = sym.var("x")
ROUND_TRIPS: dict[str, Callable[[], sym.Symbol]] = {
    "variable": lambda: sym.var("größe", shape=(2, 0), dtype="float16", lr_mult=2.0, init='["zero", {}]'),
    "escapes": lambda: sym.tanh(sym.var('"a"\\\t\n\r\x01/\x7f'), name="日本", attr={"__note__": '{"a": [1]}'}),
    "group": lambda: sym.Group([sym.tanh(x, name="t"), x, sym.tanh(x, name="t2")]),
    "same_output_twice": lambda: sym.Group([x, x]),
    "second_output": lambda: sym.SliceChannel(x, num_outputs=3, name="s")[1],
    "visible_states": lambda: sym.BatchNorm(x, output_mean_var=True, name="b"),
    "tuple": lambda: sym.transpose(x, axes=[np.int64(1), 0], name="t"),
    "none": lambda: sym.sum(x, axis=None, name="s"),
    "infinite": lambda: sym.clip(x, a_min=-float("inf"), a_max=float("inf"), name="c"),
    "small": lambda: sym.clip(x, a_min=1e-30, a_max=np.float32(0.5), name="c"),
    "dtype": lambda: sym.cast(x, dtype=np.float16, name="c"),
    "indices": lambda: sym.split_v2(x, (1, 3), axis=2, name="s"),
    "sections": lambda: sym.split_v2(x, 2, squeeze_axis=True, name="s"),
    "variadic": lambda: sym.concat(*(sym.var(f"x{number}") for number in range(12)), dim=0, name="c"),
    "custom": lambda: sym.Custom(x, op_type="golden_softmax", scale=2, name="c"),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_round_trips(name: str) -> None:
    symbol = ROUND_TRIPS[name]()
    loaded = again(symbol)
    assert loaded.list_outputs() == symbol.list_outputs()
    assert loaded.list_inputs() == symbol.list_inputs()
    assert loaded.list_auxiliary_states() == symbol.list_auxiliary_states()
    assert loaded.attr_dict() == symbol.attr_dict() or name in ("variadic", "indices", "sections", "tuple")


def test_values_of_attributes() -> None:
    assert attributes_of(again(ROUND_TRIPS["tuple"]())) == {"axes": (1, 0)}
    assert attributes_of(again(ROUND_TRIPS["none"]())) == {"axis": None}
    assert attributes_of(again(ROUND_TRIPS["infinite"]())) == {"a_min": -float("inf"), "a_max": float("inf")}
    assert attributes_of(again(ROUND_TRIPS["dtype"]())) == {"dtype": "float16"}
    assert attributes_of(again(ROUND_TRIPS["indices"]())) == {"axis": 2, "indices": (0, 1, 3), "sections": 0}
    assert attributes_of(again(ROUND_TRIPS["sections"]())) == {"squeeze_axis": True, "indices": (), "sections": 2}


def test_states_have_the_version_of_their_last_writer() -> None:
    mean, variance = sym.var("mean"), sym.var("var")
    net = x
    for number in (1, 2):
        net = sym.BatchNorm(net, moving_mean=mean, moving_var=variance, name=f"bn{number}")
    nodes = json.loads(sym.Group([net, sym.tanh(mean, name="t"), mean]).tojson())["nodes"]
    assert [node["inputs"] for node in nodes if node["inputs"]] == [
        [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 1], [4, 0, 1]],
        [[5, 0, 0], [6, 0, 0], [7, 0, 0], [3, 0, 2], [4, 0, 2]],
        [[3, 0, 2]],
    ]


HIDDEN_OUTPUTS = [
    (sym.BatchNorm(x), 3),
    (sym.Dropout(x), 2),
    (sym.LayerNorm(x), 3),
    (sym.Pooling(x, kernel=(2, 2)), 2),
    (sym.Pooling(x, kernel=(2, 2), pool_type="avg"), 1),
    (sym.Pooling(x, global_pool=True), 1),
    (sym.topk(x), 1),
    (sym.topk(x, ret_typ="value"), 2),
    (sym.topk(x, ret_typ="both"), 2),
    (sym.sort(x), 2),
    (sym.argsort(x), 1),
    (sym.SliceChannel(x, num_outputs=3), 3),
]


@pytest.mark.parametrize(("symbol", "count"), HIDDEN_OUTPUTS, ids=lambda value: getattr(value, "name", None))
def test_outputs_are_counted_as_mxnet_counts_them(symbol: sym.Symbol, count: int) -> None:
    rows = json.loads(symbol.tojson())["node_row_ptr"]
    assert rows[-1] - rows[-2] == count


def test_casts_of_mixed_precision_are_left_out() -> None:
    symbol = sym.tanh(OPERATORS["amp_cast"](x, dtype="float16"), name="t")
    symbol.values[0].node.inputs[0].node.kind = "amp_cast"
    assert [node["op"] for node in json.loads(symbol.tojson())["nodes"]] == ["null", "tanh"]
    text = symbol.tojson(remove_amp_cast=False)
    assert [node["op"] for node in json.loads(text)["nodes"]] == ["null", "amp_cast", "tanh"]


def test_long_chains() -> None:
    symbol = sym.var("x")
    length = often(8_000, 50_000)
    for number in range(length):
        symbol = sym.tanh(symbol, name=f"t{number}")
    text = symbol.tojson()
    loaded = sym.load_json(text)
    assert len(loaded.order) == length + 1
    assert loaded.tojson() == text


# -- operators of users ----------------------------------------------------------------------------------------------


@mx.customop("numpy")
def scaled(data, weight, *, by=2.0, mode="plain", count: int = 1, label: str = "a"):
    return data * weight * by * count


def named(symbol: sym.Symbol, name: str) -> sym.Symbol:
    symbol.values[0].node.name = name
    return symbol


def test_customops() -> None:
    symbol = scaled(x, sym.var("w"), by=0.5, mode="'3'", count=4, label="None")
    assert json.loads(symbol.tojson())["nodes"][-1]["op"] == f"{__name__}:scaled"
    loaded = again(symbol)
    assert loaded.values[0].node.operator is scaled
    assert attributes_of(loaded) == {"by": 0.5, "mode": "'3'", "count": 4, "label": "None"}
    assert loaded.eval(x=mx.nd.ones((2,)), w=mx.nd.ones((2,)))[0].asnumpy().tolist() == [2, 2]


def test_customops_must_be_there_when_a_file_is_loaded() -> None:
    @mx.customop("numpy")
    def local(data):
        return data

    text = named(local(x), "y").tojson()
    assert sym.load_json(text).values[0].node.operator is local
    del local
    gc.collect()
    assert json.loads(text)["nodes"][-1]["op"] not in USER_OPERATORS
    with pytest.raises(FileFormatError) as caught:
        sym.load_json(text.replace(__name__, "os"))
    assert str(caught.value).startswith("sym.load_json: node 1 ('y', 'os:test_customops_must_be_there_when_a_file_is_l")
    assert str(caught.value).endswith(
        "there is no @customop of that name. Import 'os', or run the code that defines it, before loading the symbol."
    )


def test_customops_that_were_defined_again_are_not_confused() -> None:
    def make(factor: float) -> Any:
        @mx.customop("numpy")
        def times(data):
            return data * factor

        return times

    first = make(1.0)
    old = named(first(x), "old")
    second = make(2.0)
    again(second(x))
    with pytest.raises(ArgumentError, match=r"node 'old' \(times\) calls an operator that is no longer the one named"):
        old.tojson()
    assert first is not second


# -- what cannot be written ------------------------------------------------------------------------------------------


def noted(**annotations: str) -> sym.Symbol:
    symbol = sym.Activation(x, act_type="relu", name="a")
    symbol.values[0].node.annotations.update(annotations)
    return symbol


UNWRITABLE = {
    "constant": (
        lambda: sym.Symbol([Value(Node(OPERATORS["tanh"], [constant(np.ones(3, "float32"))], name="t"))]),
        r"is a constant, float32 \(3,\): MXNet's form holds no values, .*Make it an input, with mx.sym.var\(name\)",
    ),
    "gradient": (
        lambda: sym.Symbol([Value(Node(object(), [], name="g", kind="backward"))]),
        r"node 'g' \(backward\) is a staged gradient, which MXNet's form cannot hold\. Save the symbol that it is",
    ),
    "all_outputs": (
        lambda: sym.Symbol([Value(sym.tanh(x, name="t").values[0].node, -1)]),
        r"all outputs of node 't' \(tanh\) are read at once, in a staged gradient",
    ),
    "operator": (
        lambda: named(mx.core.Operator(lambda data: data, name="mine")(x), "y"),
        r"node 'y' \(mine\) calls an operator that no name leads to\. Define it with @customop\.",
    ),
    "array_attribute": (
        lambda: named(scaled(x, x, by=np.ones(2)), "y"),
        r"node 'y' \(scaled\): attribute 'by' is float64 \(2,\); files hold numbers, strings, and tuples of them",
    ),
    "training": (
        lambda: sym.Dropout(x, training=True, name="d"),
        r"does not know the attribute 'training'\. Leave it out, and tell the executor: forward\(is_train=\.\.\.\)",
    ),
    "note": (lambda: noted(mood="good"), r"noted attribute 'mood', .* of Activation itself\. Name it '__mood__'\."),
    "nul": (lambda: noted(__a__="b\0"), r"'b\\x00' contains '\\0', where MXNet would cut it off"),
    "surrogate": (lambda: sym.var("\ud800"), r"'\\ud800' cannot be written in UTF-8: surrogates not allowed"),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_cannot_be_written_says_why(name: str, tmp_path: Path) -> None:
    make, message = UNWRITABLE[name]
    symbol = make()
    with pytest.raises(ArgumentError, match=r"^Symbol\.tojson: .*" + message):
        symbol.tojson()
    with pytest.raises(ArgumentError):
        symbol.save(tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_nd_custom_of_a_symbol_keeps_the_parameters() -> None:
    symbol = mx.nd.Custom(x, sym.var("label"), sym.var("shift"), op_type="golden_softmax")
    assert json.loads(symbol.tojson())["nodes"][-1]["attrs"] == {"op_type": "golden_softmax"}


# -- old files -------------------------------------------------------------------------------------------------------


def node(op: str, name: str, inputs: Any = (), attrs: Any = None, **entries: Any) -> dict[str, Any]:
    """Return a node as files hold it."""
    found = {"op": op, "name": name, "inputs": [list(entry) for entry in inputs], **entries}
    return found if attrs is None else {**found, "attrs": attrs}


def document(*nodes: dict[str, Any], version: int | None = 10901, **entries: Any) -> dict[str, Any]:
    """Return what a file holds."""
    found: dict[str, Any] = {
        "nodes": list(nodes),
        "arg_nodes": [number for number, one in enumerate(nodes) if one.get("op") == "null"],
        "heads": [[len(nodes) - 1, 0]],
    }
    if version is not None:
        found["attrs"] = {"mxnet_version": ["int", version]}
    return {**found, **entries}


DATA, WEIGHT = node("null", "data"), node("null", "fc_weight")
DENSE = ("FullyConnected", "fc", [[0, 0], [1, 0]])
BIASED = {"num_hidden": "3", "no_bias": "True"}


def read(*nodes: dict[str, Any], **entries: Any) -> sym.Symbol:
    return sym.load_json(json.dumps(document(*nodes, **entries)))


# What MXNet 1.9.1 makes of these texts under np_shape.
UNKNOWN_LENGTHS = {"(3, 0)": "[3,-1]", "(3L, 0L)": "[3,-1]", "[0, 4]": "[-1,4]", "()": "None", "None": "None"}


@pytest.mark.parametrize("text", UNKNOWN_LENGTHS)
@pytest.mark.parametrize("version", [800, 10400, 10901])
def test_zeros_of_files_written_without_np_shape_are_unknown_lengths_under_np_shape(text: str, version: int) -> None:
    weight = node("null", "fc_weight", attrs={"__shape__": text})
    with mx.util.np_shape(True):
        symbol = read(DATA, weight, node(*DENSE, attrs=BIASED), version=version)
        assert symbol.attr_dict()["fc_weight"] == {"__shape__": UNKNOWN_LENGTHS[text]}
        assert symbol.infer_shape(data=(2, 4)) == ([(2, 4), (3, 4)], [(2, 3)], [])
    assert symbol.infer_shape(data=(2, 4)) == ([(2, 4), (3, 4)], [(2, 3)], [])
    symbol = read(DATA, weight, node(*DENSE, attrs=BIASED), version=version)
    assert symbol.attr_dict()["fc_weight"] == {"__shape__": text}
    assert symbol.infer_shape(data=(2, 4)) == ([(2, 4), (3, 4)], [(2, 3)], [])


def test_zeros_of_files_written_under_np_shape_are_lengths() -> None:
    weight = node("null", "fc_weight", attrs={"__shape__": "(3, 0)"})
    facts = {"mxnet_version": ["int", 10901], "is_np_shape": ["int", 1]}
    with mx.util.np_shape(True):
        symbol = read(DATA, weight, node(*DENSE, attrs=BIASED), attrs=facts)
        assert symbol.attr_dict()["fc_weight"] == {"__shape__": "(3, 0)"}
        assert symbol.infer_shape(data=(2, 0)) == ([(2, 0), (3, 0)], [(2, 3)], [])
        with pytest.raises(ShapeError, match="fc_weight"):
            symbol.infer_shape(data=(2, 4))
        assert sym.load_json(symbol.tojson()).attr_dict()["fc_weight"] == {"__shape__": "(3, 0)"}


@pytest.mark.parametrize("facts", [["int", 10901], 3, {"mxnet_version": ["int", 10901], "is_np_shape": 7}])
def test_facts_of_other_kinds_than_expected_are_no_crash_under_np_shape(facts: Any) -> None:
    with mx.util.np_shape(True), contextlib.suppress(FileFormatError):
        assert read(DATA, attrs=facts).list_arguments() == ["data"]


@pytest.mark.parametrize("keys", [("attrs",), ("attr",), ("param",), ("param", "attr"), ("attr", "attrs")])
@pytest.mark.parametrize("version", [None, 800, 10901])
def test_attributes_are_under_three_keys(keys: tuple[str, ...], version: int | None) -> None:
    entries = {key: {"num_hidden": str(number)} for number, key in enumerate(keys)}
    entries[keys[0]]["no_bias"] = "1"
    symbol = read(DATA, WEIGHT, node(*DENSE, **entries), version=version)
    assert attributes_of(symbol) == {"num_hidden": len(keys) - 1, "no_bias": True}


@pytest.mark.parametrize("version", [None, 700, 800, 905, 10000, 10900])
def test_old_attributes_have_no_underscores(version: int | None) -> None:
    attributes = {**BIASED, "lr_mult": "2", "ctx_group": "a", "weight_lr_mult": "3", "data_wd_mult": "4"}
    weight = node("null", "fc_weight", attrs={"lr_mult": "9", "wd_mult": "5", "other": "6"})
    symbol = read(DATA, weight, node(*DENSE, attrs=attributes), version=version)
    noted = {one.name: one.annotations for one in symbol.order}
    assert noted == {
        "data": {"__wd_mult__": "4"},
        "fc_weight": {"__lr_mult__": "3", "__wd_mult__": "5", "other": "6"},
        "fc": {"__lr_mult__": "2", "__ctx_group__": "a"},
    }


def test_attributes_without_underscores_are_not_changed_in_new_files() -> None:
    symbol = read(node("null", "x", attrs={"lr_mult": "2"}))
    assert symbol.values[0].node.annotations == {"lr_mult": "2"}


def test_states_that_were_no_inputs() -> None:
    inputs = [node("null", name) for name in ("data", "bn_gamma", "bn_beta")]
    norm = node("BatchNorm", "bn", [[0, 0], [1, 0], [2, 0]], param={"eps": "0.001"}, attr={"ctx_group": "a"})
    after = node("tanh", "t", [[3, 0]], backward_source_id=-1)
    symbol = read(*inputs, norm, after, version=None)
    assert symbol.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert symbol.attr_dict()["bn_moving_var"] == {"__init__": '["one", {}]', "__ctx_group__": "a", "ctx_group": "a"}
    assert again(symbol).infer_shape(data=(2, 3))[2] == [(3,), (3,)]
    with pytest.raises(FileFormatError, match="expected data, gamma, beta, moving_mean, moving_var"):
        read(*inputs, {**norm, "attr": {}}, version=900)


def test_inputs_that_are_missing_in_old_files_are_made_with_their_attributes() -> None:
    attributes = {"num_hidden": "3", "weight_lr_mult": "2"}
    symbol = read(DATA, node("FullyConnected", "fc", [[0, 0]], attrs=attributes), version=800)
    assert symbol.list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert symbol.attr_dict()["fc_weight"] == {"__lr_mult__": "2", "lr_mult": "2"}


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize(
    ("version", "axis", "expected"), [(904, "-1", {}), (904, "1", {"axis": 1}), (905, "-1", {"axis": -1})]
)
def test_old_defaults_of_axes(op: str, version: int, axis: str, expected: Any) -> None:
    assert attributes_of(read(DATA, node(op, "a", [[0, 0]], {"axis": axis}), version=version)) == expected


RESHAPES = [
    ({"target_shape": "(0,10)", "keep_highest": "False"}, (6, 10)),
    ({"target_shape": "(0, 10)", "keep_highest": "True"}, (2, 10)),
    ({"target_shape": "(0,0)", "shape": "(6, 10)"}, (6, 10)),
    ({"target_shape": "(0,10)", "shape": "()"}, (6, 10)),
]


@pytest.mark.parametrize(("attributes", "shape"), RESHAPES)
def test_old_reshapes(attributes: dict[str, str], shape: tuple[int, ...]) -> None:
    symbol = read(DATA, node("Reshape", "r", [[0, 0]], attributes))
    assert symbol.infer_shape(data=(2, 3, 10) if shape == (6, 10) else (2, 10))[1] == [shape]


OLD_NAMES = {"_Plus": "elemwise_add", "_Minus": "elemwise_sub", "ElementWiseSum": "add_n", "Softmax": "SoftmaxOutput"}


@pytest.mark.parametrize("name", OLD_NAMES)
def test_old_names(name: str) -> None:
    symbol = read(DATA, WEIGHT, node(name, "n", [[0, 0], [1, 0]]), version=800)
    assert json.loads(symbol.tojson())["nodes"][-1]["op"] == OLD_NAMES[name]


# -- spellings -------------------------------------------------------------------------------------------------------

SPELLINGS = [
    ("Pooling", "kernel", "(2,2)", (2, 2)),
    ("Pooling", "kernel", "[2, 2]", (2, 2)),
    ("Pooling", "kernel", "(2L, 2L)", (2, 2)),
    ("Pooling", "kernel", "2", (2,)),
    ("Pooling", "global_pool", "TRUE", True),
    ("Pooling", "global_pool", "0", False),
    ("Pooling", "layout", "None", None),
    ("_plus_scalar", "scalar", "2", 2),
    ("_plus_scalar", "scalar", "-2.5e-3", -0.0025),
    ("_plus_scalar", "scalar", "inf", float("inf")),
    ("sum", "axis", "None", None),
    ("sum", "axis", "-1", -1),
    ("sum", "axis", "(0, 1)", (0, 1)),
    ("slice", "begin", "(None, 1)", (None, 1)),
    ("Cast", "dtype", "float64", "float64"),
]
NEEDED = {"slice": {"begin": "()", "end": "()"}}


@pytest.mark.parametrize(("op", "key", "text", "value"), SPELLINGS)
def test_spellings(op: str, key: str, text: str, value: Any) -> None:
    symbol = read(DATA, node(op, "n", [[0, 0]], {**NEEDED.get(op, {}), key: text}))
    got = attributes_of(symbol)[key]
    assert (got, type(got)) == (value, type(value))


def test_ignored_attributes() -> None:
    symbol = read(DATA, node("Activation", "a", [[0, 0]], {"act_type": "relu", "cudnn_off": "1", "workspace": "512"}))
    assert attributes_of(symbol) == {"act_type": "relu"}
    assert read(DATA, node("Pooling", "a", [[0, 0]], {"stride": "None", "kernel": "(2,)"})).infer_shape(data=(1, 1, 4))
    # What has no attributes in MXNet may have any.
    assert read(DATA, node("tanh", "t", [[0, 0]], {"mood": "good"})).attr_dict() == {"t": {"mood": "good"}}


# -- broken and hostile files ----------------------------------------------------------------------------------------

TANH = ("tanh", "y", [[0, 0]])
POOL = ("Pooling", "p", [[0, 0]])


def without(key: str, **entries: Any) -> dict[str, Any]:
    found = document(DATA, node(*TANH), **entries)
    del found[key]
    return found


BROKEN: dict[str, tuple[Any, str]] = {
    "empty": ("", r"it is no JSON: line 1, column 1: Expecting value\. It is damaged or incomplete: copy or download"),
    "text": ("hello", r"it is no JSON: line 1, column 1: Expecting value\. Give a file written by Symbol\.save"),
    "cut_off": (json.dumps(document(DATA))[:-9], r"it is no JSON: line 1, column \d+: .*\. It is damaged"),
    "list": ([], r"it is no symbol, but a list of 0; expected an object with nodes and heads"),
    "number": (3, r"it is no symbol, but int 3; expected an object"),
    "nested": ("[" * 3_000_000, r"it is no symbol: lists or objects are nested too deep"),
    "nested_in_a_node": (
        '{"nodes": ' + '{"a":' * 1_000_000,
        r"it is no symbol: lists or objects are nested too deep",
    ),
    "huge_number": ('{"nodes": ' + "9" * 10_000 + "}", r"it is no symbol: Exceeds the limit \(4300"),
    "no_nodes": (without("nodes"), r'the file has no "nodes"; it has \'arg_nodes\', \'heads\', \'attrs\''),
    "no_heads": (without("heads"), r'the file has no "heads"; it has'),
    "unknown_entry": (document(DATA, head=[]), r"the file has an unknown entry 'head'; known are .*mean 'heads'\?"),
    "nodes_type": (document(DATA, nodes={}), r'"nodes" is an object of 0; expected a list that is not empty'),
    "nodes_empty": (document(DATA, nodes=[]), r'"nodes" is a list of 0; expected a list that is not empty'),
    "version": (
        document(DATA, attrs={"mxnet_version": 10901}),
        r'"attrs" says int 10901 for the version; expected \{"mxnet_version": \["int", 10901\]\}',
    ),
    "version_text": (document(DATA, attrs={"mxnet_version": ["int", "x"]}), r'"attrs" says a list of 2 for the ver'),
    "attrs_type": (document(DATA, attrs=[]), r'"attrs" says a list of 0 for the version'),
    "node_type": (document(DATA, nodes=[[1]]), r"node 0 is a list of 1; expected an object with op, name and inputs"),
    "node_null": (document(DATA, nodes=[None]), r"node 0 is null; expected an object"),
    "no_op": (document({"name": "x", "inputs": []}), r"node 0 \('x'\) has no \"op\"; it has 'name', 'inputs'"),
    "op_type": (document({**DATA, "op": 1}, arg_nodes=[]), r"node 0 \('data'\): \"op\" is int 1; expected a string"),
    "name_type": (document({**DATA, "name": ["x"]}), r"node 0: \"name\" is a list of 1; expected a string"),
    "node_entry": (document({**DATA, "input": []}), r"node 0 \('data'\) has an unknown entry 'input'; .*'inputs'\?"),
    "attrs_of_node": (
        document({**DATA, "attrs": [1]}),
        r"node 0 \('data'\): \"attrs\" is a list of 1; expected an obj",
    ),
    "attribute_type": (
        document({**DATA, "param": {"a": 1}}),
        r"node 0 \('data'\): attribute 'a' is int 1; expected a s",
    ),
    "control": (
        document({**DATA, "control_deps": [1]}),
        r"node 0 \('data'\) has \"control_deps\", which minpy does not",
    ),
    "surrogate": (document(node("null", "a\ud800")), r"node 0 .* is half of a surrogate pair, no text"),
    "nameless": (document(node("null", "")), r"node 0 \('', variable\): a variable must have a name and no inputs"),
    "variable_inputs": (
        document(DATA, node("null", "x", [[0, 0]])),
        r"node 1 \('x', variable\): a variable must have a name and no inputs",
    ),
    "twice": (
        document(DATA, DATA, node("add_n", "s", [[0, 0], [1, 0]])),
        r"node 1 \('data', variable\): node 0 is a variable of the same name; names must differ",
    ),
    "made_twice": (
        document(
            *(node("null", name) for name in ("bn_moving_var", "g", "b")),
            node("BatchNorm", "bn", [[0, 0], [1, 0], [2, 0]]),
            version=800,
        ),
        r"two variables are named 'bn_moving_var'\. It is damaged",
    ),
    "inputs_type": (
        document({**DATA, "inputs": {}}),
        r"node 0 \('data'\): \"inputs\" is an object of 0; expected a li",
    ),
    "entry_short": (
        document(DATA, node("tanh", "y", [[0]])),
        r"\"inputs\"\[0\] is a list of 1; expected \[node, output",
    ),
    "entry_long": (
        document(DATA, node("tanh", "y", [[0, 0, 0, 0]])),
        r"\"inputs\"\[0\] is a list of 4; expected \[node",
    ),
    "entry_text": (
        document(DATA, node("tanh", "y", [["0", 0]])),
        r"\"inputs\"\[0\] is a list of 2; expected .* numbers",
    ),
    "entry_float": (document(DATA, node("tanh", "y", [[0.0, 0]])), r"\"inputs\"\[0\] is a list of 2; expected"),
    "entry_bool": (document(DATA, node("tanh", "y", [[False, 0]])), r"\"inputs\"\[0\] is a list of 2; expected"),
    "entry_negative": (document(DATA, node("tanh", "y", [[-1, 0]])), r"\"inputs\"\[0\] is a list of 2; .* from 0"),
    "forward": (
        document(DATA, node("tanh", "y", [[2, 0]]), node("tanh", "z", [[1, 0]])),
        r"node 1 \('y'\): \"inputs\"\[0\] names node int 2; expected a node that comes before, 0 to 0",
    ),
    "cycle": (
        document(DATA, node("tanh", "y", [[1, 0]])),
        r"node 1 \('y'\): \"inputs\"\[0\] names node int 1; expected",
    ),
    "far": (
        document(DATA, node("tanh", "y", [[10**30, 0]])),
        r"\"inputs\"\[0\] names node a huge number; expected a n",
    ),
    "output": (
        document(DATA, node("tanh", "y", [[0, 1]])),
        r"node 1 \('y', 'tanh'\): input 0 is output int 1 of node 0 \('data', variable\), which has 1\. It is",
    ),
    "head": (
        document(DATA, heads=[[1, 0]]),
        r'"heads"\[0\] names node int 1; expected a node that comes before, 0 to 0',
    ),
    "head_output": (document(DATA, heads=[[0, 5]]), r"a head is output 5 of variable 'data', which has 1"),
    "head_type": (
        document(DATA, heads=[0]),
        r'"heads"\[0\] is int 0; expected \[node, output, version\], numbers from',
    ),
    "no_head": (document(DATA, heads=[]), r'"heads" is empty; expected the outputs of the symbol'),
    "heads_type": (document(DATA, heads="x"), r"\"heads\" is str 'x'; expected a list of \[node, output, version\]"),
    "arg_nodes": (
        document(DATA, node(*TANH), arg_nodes=[0, 1]),
        r'"arg_nodes"\[1\] is int 1; expected the number of a v',
    ),
    "arg_nodes_type": (
        document(DATA, arg_nodes=1),
        r'"arg_nodes" is int 1; expected a list of the numbers of variables',
    ),
    "arg_nodes_far": (document(DATA, arg_nodes=[7]), r'"arg_nodes"\[0\] is int 7; expected the number of a variable'),
    "rows": (document(DATA, node_row_ptr=[0]), r'"node_row_ptr" is a list of 1; expected a list of 2 numbers'),
    "rows_type": (document(DATA, node_row_ptr="x"), r"\"node_row_ptr\" is str 'x'; expected a list of 2 numbers"),
    "rows_start": (document(DATA, node_row_ptr=[1, 2]), r'"node_row_ptr"\[0\] is int 1; expected 0'),
    "rows_few": (
        document(DATA, node("SliceChannel", "s", [[0, 0]], {"num_outputs": "3"}), node_row_ptr=[0, 1, 3]),
        r"\"node_row_ptr\"\[2\] is int 3; expected 4 or more, as node 1 \('s', 'SliceChannel'\) has 3 output\(s\)",
    ),
    "unknown_operator": (
        document(DATA, node("Activatoin", "a", [[0, 0]])),
        r"node 1 \('a', 'Activatoin'\): there is no operator 'Activatoin'\. Did you mean 'Activation'.*\? Known are th",
    ),
    "huge_operator": (
        document(DATA, node("A" * 10**6, "a", [[0, 0]])),
        r"there is no operator 'A{57}'\.\.\.\. Known ar",
    ),
    "module": (
        document(DATA, node("os:system", "a", [[0, 0]])),
        r"node 1 \('a', 'os:system'\): there is no @customop of",
    ),
    "unknown_attribute": (
        document(DATA, WEIGHT, node(*DENSE, {**BIASED, "num_hiden": "2"})),
        r"node 2 .*: 'FullyConnected' has no attribute 'num_hiden'; it has .* Did you mean 'num_hidden'\? If a later M",
    ),
    "user_attribute": (
        document(DATA, node("Activation", "a", [[0, 0]], {"act_type": "relu", "mood": "good"})),
        r"node 1 \('a', 'Activation'\): 'Activation' has no attribute 'mood'; it has act_type\. If a user noted it, wr",
    ),
    "training": (
        document(DATA, node("Dropout", "d", [[0, 0]], {"training": "True"})),
        r"'Dropout' has no attribute 'tr",
    ),
    "missing_attribute": (
        document(DATA, WEIGHT, node(*DENSE, {})),
        r"node 2 \('fc', 'FullyConnected'\): attribute 'num_hidden' is missing\. It is damaged",
    ),
    "meant_for_an_operator": (
        document(
            DATA,
            node("tanh", "t", [[0, 0]]),
            WEIGHT,
            node("FullyConnected", "fc", [[1, 0], [2, 0]], {**BIASED, "data_lr_mult": "2"}),
            version=800,
        ),
        r"node 3 \('fc', 'FullyConnected'\): attribute 'data_lr_mult' is meant for a variable, and data is none",
    ),
    "few_inputs": (
        document(DATA, WEIGHT, node(*DENSE, {"num_hidden": "2"})),
        r"node 2 \('fc', 'FullyConnected'\) has 2 input\(s\); expected data, weight, bias\. It is damaged",
    ),
    "many_inputs": (
        document(DATA, node("tanh", "t", [[0, 0]] * 2)),
        r"node 1 \('t', 'tanh'\) has 2 input\(s\); expected ",
    ),
    "num_args": (
        document(DATA, node("add_n", "s", [[0, 0]], {"num_args": "2"})),
        r"node 1 \('s', 'add_n'\) has 1 input\(s\); expected 2 \(num_args\)",
    ),
    "num_args_text": (
        document(DATA, node("add_n", "s", [[0, 0]], {"num_args": "9" * 5000})),
        r"attribute 'num_args' is '9{57}'\.\.\.; expected the number of its inputs",
    ),
    "bool": (
        document(DATA, node(*POOL, {"global_pool": "2"})),
        r"attribute 'global_pool' is '2'; expected bool\. It is",
    ),
    "int": (
        document(DATA, WEIGHT, node(*DENSE, {"num_hidden": "a"})),
        r"attribute 'num_hidden' is 'a'; expected int\.",
    ),
    "int_none": (
        document(DATA, WEIGHT, node(*DENSE, {"num_hidden": "None"})),
        r"attribute 'num_hidden' is 'None'; exp",
    ),
    "int_huge": (
        document(DATA, WEIGHT, node(*DENSE, {"num_hidden": "9" * 10**6})),
        r"attribute 'num_hidden' is '9{57}'\.\.\.; expected int",
    ),
    "int_wide": (
        document(DATA, WEIGHT, node(*DENSE, {"num_hidden": str(2**63)})),
        r"is '9223372036854775808'; expected",
    ),
    "float": (document(DATA, node("_plus_scalar", "s", [[0, 0]], {"scalar": "(1,)"})), r"'\(1,\)'; expected float"),
    "float_huge": (
        document(DATA, node("_plus_scalar", "s", [[0, 0]], {"scalar": "1e400"})),
        r"'1e400'; expected float",
    ),
    "float_digits": (
        document(DATA, node("_plus_scalar", "s", [[0, 0]], {"scalar": "9" * 4000})),
        r"attribute 'scalar' is '9{57}'\.\.\.; expected float",
    ),
    "tuple": (document(DATA, node(*POOL, {"kernel": "(2, 'a')"})), r"\"\(2, 'a'\)\"; expected tuple\[int, \.\.\.\]"),
    "tuple_float": (
        document(DATA, node(*POOL, {"kernel": "(2.5, 2)"})),
        r"'\(2\.5, 2\)'; expected tuple\[int, \.\.\.\]",
    ),
    "code": (
        document(DATA, node(*POOL, {"kernel": "__import__('os').system('exit')"})),
        r"attribute 'kernel' is \"__import__\('os'\)\.system\('exit'\)\"; expected tuple",
    ),
    "power": (
        document(DATA, node(*POOL, {"kernel": "9**9**9"})),
        r"attribute 'kernel' is '9\*\*9\*\*9'; expected tuple",
    ),
    "parentheses": (document(DATA, node(*POOL, {"kernel": "(" * 10**6})), r"'\({57}'\.\.\.; expected tuple"),
    "brackets": (document(DATA, node(*POOL, {"kernel": "[" * 90 + "]" * 90})), r"expected tuple"),
    "minus": (document(DATA, node(*POOL, {"kernel": "-" * 10**6 + "1"})), r"'-{57}'\.\.\.; expected tuple"),
    "sum": (document(DATA, node(*POOL, {"kernel": "1+" * 10**6 + "1"})), r"\.\.\.; expected tuple"),
    "spaces": (document(DATA, node(*POOL, {"kernel": "1 " * 10**6})), r"\.\.\.; expected tuple"),
    "nul": (document(DATA, node(*POOL, {"kernel": "(2,\0)"})), r"attribute 'kernel' is '\(2,\\x00\)'; expected tuple"),
    "many_outputs": (
        document(DATA, node("SliceChannel", "s", [[0, 0]], {"num_outputs": str(10**12)})),
        r"attribute 'num_outputs' is int 1000000000000; expected a number from 0 to 100000",
    ),
    "many_sections": (
        document(DATA, node("_split_v2", "s", [[0, 0]], {"indices": "()", "sections": str(10**12)})),
        r"node 1 \('s', '_split_v2'\): attribute 'sections' is int 1000000000000; expected",
    ),
    "indices": (
        document(DATA, node("_split_v2", "s", [[0, 0]], {"indices": "()", "sections": "0"})),
        r"node 1 \('s', '_split_v2'\): _split_v2: indices is empty, and sections is 0; give one of them\. It is dam",
    ),
    "shape": (
        document(node("null", "x", attrs={"__shape__": "(a, b)"})),
        r"attribute '__shape__' is '\(a, b\)'; expecte",
    ),
    "shape_huge": (
        document(node("null", "x", attrs={"__shape__": f"({'9' * 5000},)"})),
        r"'__shape__' is '\(9{56}'\.\.\.",
    ),
    "dtype": (
        document(node("null", "x", attrs={"__dtype__": "float"})),
        r"'__dtype__' is 'float'; expected the number o",
    ),
    "dtype_attribute": (
        document(DATA, node("Cast", "c", [[0, 0]], {"dtype": "('f4', (9,))"})),
        r"attribute 'dtype' is \"\('f4', \(9,\)\)\"; expected the name of a dtype, such as 'float32'",
    ),
    "no_op_type": (
        document(DATA, node("Custom", "c", [[0, 0]], {"a": "b"})),
        r"node 1 \('c', 'Custom'\): attribute 'op_t",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_say_where(name: str, tmp_path: Path) -> None:
    content, message = BROKEN[name]
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(FileFormatError, match=r"^sym\.load_json: .*" + message) as caught:
        sym.load_json(text)
    assert len(str(caught.value)) < 700
    path = tmp_path / "net-symbol.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match="it is empty" if name == "empty" else message) as caught:
        sym.load(path)
    assert str(caught.value).startswith(f"sym.load: {str(path)!r}: ")


CUSTOM_FAILURES = {
    "unknown": (
        {"op_type": "golden_sofmax"},
        r"no custom operator 'golden_sofmax' is registered\. Did you mean 'golden_sof",
    ),
    "parameter": (
        {"op_type": "golden_softmax", "scal": "1"},
        r"Prop\.__init__ takes scale; got scal\. Did you mean 'scale'",
    ),
    "failing": (
        {"op_type": "golden_softmax", "scale": "a"},
        r"Prop\.__init__ failed\n  ValueError: could not convert stri",
    ),
}


@pytest.mark.parametrize("name", CUSTOM_FAILURES)
def test_custom_operators_that_cannot_be_made(name: str) -> None:
    attributes, message = CUSTOM_FAILURES[name]
    with pytest.raises(ArgumentError, match=r"^sym\.load_json: node 1 \('c', 'Custom'\): nd\.Custom.*" + message):
        read(DATA, node("Custom", "c", [[0, 0]], attributes))


FILES = {
    "params": (
        b"\x12\x01" + bytes(6),
        "it is no symbol. It holds arrays: read it with nd.load. The symbol is in the -sy",
    ),
    "web_page": (b"<!DOCTYPE html>", "it is no symbol. It looks like a web page: the download brought an error page"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1", "it is no symbol. It is a pointer of Git LFS"),
    "latin_1": (b'{"nodes": "\xe9"}', "it is no text: invalid continuation byte at byte 11. Give a file written by"),
    "empty": (b"", "it is empty. It is damaged or incomplete"),
}


@pytest.mark.parametrize("name", FILES)
def test_other_files_are_told(name: str, tmp_path: Path) -> None:
    content, message = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        sym.load(path)
    assert str(caught.value).startswith(f"sym.load: {str(path)!r}: {message}")


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbf" + sym.var("x").tojson().encode())
    assert sym.load(path).list_arguments() == ["x"]


def test_damaged_bytes_never_crash() -> None:
    generator = np.random.default_rng(0)
    text = (SYMBOLS / "perceptron-symbol.json").read_text(encoding="utf-8")
    for _ in range(300):
        damaged = list(text)
        for position in generator.integers(0, len(damaged), generator.integers(1, 4)):
            damaged[position] = chr(generator.integers(32, 127)) if generator.integers(2) else ""
        with contextlib.suppress(MXNetError):
            sym.load_json("".join(damaged)).tojson()


# -- files -----------------------------------------------------------------------------------------------------------


def test_arguments_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError, match=r"sym\.load_json: got bytes .*; expected the string that Symbol\.tojson ret"
    ):
        sym.load_json(b"{}")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"sym\.load: fname must be a str or PathLike, got int 3"):
        sym.load(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"sym\.save: fname '' is no name of a file"):
        x.save("")
    (tmp_path / "net-symbol.json").write_text("")
    with pytest.raises(
        FileMissingError, match=r"No such file or directory\. Did you mean 'net-symbol\.json'\?"
    ) as caught:
        sym.load(tmp_path / "net-symbols.json")
    assert caught.value.errno == errno.ENOENT
    with pytest.raises(FileAccessError, match=r"sym\.load: cannot read .*: Is a directory"):
        sym.load(tmp_path)
    with pytest.raises(
        FileMissingError, match=r"cannot write .* The folder '.*missing' does not exist: correct the path"
    ):
        x.save(tmp_path / "missing" / "file")


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net-symbol.json"
    x.save(path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileAccessError, match=r"cannot write .*: No space left on device"):
        sym.tanh(x).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_fromjson_is_load_json() -> None:
    assert sym.fromjson is sym.load_json


# -- operators that are not here -------------------------------------------------------------------------------------

WITHOUT = [
    DATA,
    node("_contrib_quantized_conv", "q", [[0, 0]], {"kernel": "(3, 3)"}),
    node("WarpCTC", "ctc", [[1, 0]], {"label_length": "4"}),
    node("_sg_mkldnn_conv", "fused", [[2, 0]]),
    node("Convolutoin", "typed", [[3, 0]]),
    node("Custom", "own", [[4, 0]], {"op_type": "golden_sofmax"}),
    node("WarpCTC", "again", [[5, 0]]),
    node("nets.layers:swish", "swish", [[6, 0]]),
]


def test_operators_that_are_not_here_are_listed_all_at_once() -> None:
    with pytest.raises(FileFormatError) as caught:
        read(*WITHOUT)
    assert str(caught.value) == NOT_HERE


NOT_HERE = """\
sym.load_json: 6 operators are not here (of 8 nodes 7 cannot be computed):
  '_contrib_quantized_conv', node 1 ('q', '_contrib_quantized_conv'). It computes with 8-bit integers: load the \
float32 model that was quantized.
  'WarpCTC', node 2 ('ctc', 'WarpCTC'), node 6 ('again', 'WarpCTC'). It was a plugin: at inference it is softmax; its \
loss is mx.sym.ctc_loss.
  '_sg_mkldnn_conv', node 3 ('fused', '_sg_mkldnn_conv'). It stands for a part of the graph that a backend of MXNet's \
had fused: save the symbol as it was before optimize_for or get_backend_symbol.
  'Convolutoin', node 4 ('typed', 'Convolutoin'). Did you mean 'Convolution' or 'Convolution_v1' or 'Deconvolution'? \
Write it as a CustomOp, and register its CustomOpProp under that name.
  Custom 'golden_sofmax', node 5 ('own', 'Custom'). Did you mean 'golden_softmax'? Import the module that registers \
it, with mx.operator.register('golden_sofmax'), before loading the symbol.
  'nets.layers:swish', node 7 ('swish', 'nets.layers:swish'). Import 'nets.layers', or run the code that defines it, \
before loading the symbol."""


def test_thousands_of_operators_that_are_not_here_make_a_short_message() -> None:
    nodes = [node(f"Nothing{'x' * 10_000}{number}", f"n{number}", [[number, 0]]) for number in range(3000)]
    with pytest.raises(FileFormatError, match=r"3000 operators are not here (.*\n){51}  and 2950 more\.$") as caught:
        read(DATA, *nodes)
    assert len(str(caught.value)) < 30_000


def test_an_operator_that_a_user_registers_under_its_name_is_called() -> None:
    class Doubled(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] * self.by)

    class Prop(mx.operator.CustomOpProp):
        def __init__(self, by: str = "2") -> None:
            super().__init__(need_top_grad=True)
            self.by = float(by)

        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
            made = Doubled()
            made.by = self.by
            return made

    nodes = DATA, node("PluginOfOld", "p", [[0, 0]], {"by": "3", "__note__": "x"})
    with pytest.raises(FileFormatError, match=r"no operator 'PluginOfOld'\..* register its CustomOpProp under that n"):
        read(*nodes)
    mx.operator.register("PluginOfOld")(Prop)
    try:
        symbol = read(*nodes)
        assert symbol.eval(data=mx.nd.ones((2,)))[0].asnumpy().tolist() == [3, 3]
        assert symbol.attr_dict()["p"]["__note__"] == "x"
        assert json.loads(symbol.tojson())["nodes"][1]["attrs"] == {
            "op_type": "PluginOfOld",
            "by": "3",
            "__note__": "x",
        }
        again(symbol)
    finally:
        del PROPS["PluginOfOld"]


RENAMED = [name for name in NAMES if present_name(name) != name]


@pytest.mark.parametrize("name", RENAMED)
def test_operators_under_names_that_only_files_have(name: str) -> None:
    assert NAMES[name] == present_name(name) or (name, present_name(name)) == ("_CrossDeviceCopy", "_copy")
    assert known_operator(present_name(name)) is not None


def test_every_name_that_mxnet_reads_is_read_or_has_its_advice() -> None:
    other = [
        name
        for name in NAMES
        if known_operator(present_name(name)) is None
        and name not in (*CONTROL_FLOW, "Custom")
        and "backward" not in name
    ]
    general = "Write it as a CustomOp, and register its CustomOpProp under that name."
    assert {name for name in other if advice_of(name) == general} == {
        "_NoGradient",
        "_npi_Custom",
        "_set_value",
        "reset_arrays",
        "_npi_boolean_mask_assign_scalar",
        "_npi_boolean_mask_assign_tensor",
    }
    assert len(RENAMED) > 60


def test_contents_know_the_operators_that_loading_knows() -> None:
    document = {
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            {"op": "_npx_softmax", "name": "y", "inputs": [[0, 0, 0]]},
            {"op": "Custom", "name": "own", "attrs": {"op_type": ["a", "list"]}, "inputs": [[1, 0, 0]]},
            {"op": "Custom", "name": "nms", "attrs": {"op_type": "kjxqwvz"}, "inputs": [[1, 0, 0]]},
        ],
        "arg_nodes": [0],
        "heads": [[1, 0, 0]],
    }
    [missing] = contents(json.dumps(document), "here").unknown
    assert (missing.name, missing.nodes) == ("Custom(op_type='kjxqwvz')", ["nms"])
    assert missing.advice.startswith("Import the module that registers it, with mx.operator.register('kjxqwvz')")
