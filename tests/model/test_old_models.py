"""Models in files, as people bring them: five ways in, each with the numbers that MXNet 1.9.1 has."""

from __future__ import annotations

import functools
import importlib
import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import GOLDEN

import minpy as mx
from minpy import nd, sym

MODELS = GOLDEN / "models"
sys.path.insert(0, str(GOLDEN))
try:
    networks = importlib.import_module("model_networks")
finally:
    sys.path.remove(str(GOLDEN))

TRAINED = [name for name, (_, _, trained) in networks.NETWORKS.items() if trained]
# In graphs MXNet's PReLU overwrites its input, and takes its output for it when it comes back: the gradients of slopes
# are too small by that slope. Those of `nd.LeakyReLU` are right there, too.
PRELU_SLOPES = {"arcface": ("relu0_gamma", "unit1_relu1_gamma")}
# float32 sums in another order; deep networks and losses carry that on.
CLOSE = {"rtol": 1e-4, "atol": 2e-5}


@functools.cache
def recorded(name: str) -> dict[str, np.ndarray]:
    """Return what MXNet computes."""
    with np.load(MODELS / f"{name}.npz") as file:
        found = dict(file)
    for key in PRELU_SLOPES.get(name, ()):
        found[f"grad:{key}"] = found[f"grad:{key}"] / parameters_of(name)[0][key].asnumpy()
    return found


def inputs_of(name: str) -> dict[str, np.ndarray]:
    return {key: networks.input_values(name, key, shape) for key, shape in networks.NETWORKS[name][1].items()}


def parameters_of(name: str) -> tuple[dict[str, nd.NDArray], dict[str, nd.NDArray]]:
    """Return (arguments, states) of a file."""
    found: tuple[dict[str, nd.NDArray], dict[str, nd.NDArray]] = {}, {}
    for key, array in nd.load(MODELS / f"{name}-0001.params").items():
        kind, _, one = key.partition(":")
        found[kind == "aux"][one] = array
    return found


def path_of(name: str) -> str:
    return str(MODELS / f"{name}-symbol.json")


def require_equal(name: str, kind: str, outputs: Any) -> None:
    """Compare what was computed with what MXNet has."""
    expected = recorded(name)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    assert len(outputs) == sum(key.startswith(f"{kind}:") for key in expected)
    for number, output in enumerate(outputs):
        require_close(output.asnumpy(), expected[f"{kind}:{number}"], f"{kind}:{number}")


def require_close(got: np.ndarray, expected: np.ndarray, what: str) -> None:
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(got, expected, rtol=CLOSE["rtol"], atol=CLOSE["atol"] * scale, err_msg=what)
    assert got.dtype == expected.dtype, what


# -- ways in -----------------------------------------------------------------------------------------------------------


def by_bind(name: str, symbol: sym.Symbol | None = None) -> Any:
    symbol = sym.load(path_of(name)) if symbol is None else symbol
    arguments, states = parameters_of(name)
    arguments.update({key: nd.array(value) for key, value in inputs_of(name).items()})
    arguments = {key: arguments[key] for key in symbol.list_arguments()}
    return symbol.bind(mx.cpu(), arguments, aux_states=states).forward(is_train=False)


def by_simple_bind(name: str) -> Any:
    executor = sym.load(path_of(name)).simple_bind(mx.cpu(), grad_req="null", **networks.NETWORKS[name][1])
    executor.copy_params_from(*parameters_of(name))
    return executor.forward(is_train=False, **{key: nd.array(value) for key, value in inputs_of(name).items()})


def imported(name: str) -> mx.gluon.SymbolBlock:
    return mx.gluon.SymbolBlock.imports(path_of(name), list(inputs_of(name)), str(MODELS / f"{name}-0001.params"))


def by_imports(name: str) -> Any:
    return imported(name)(*map(nd.array, inputs_of(name).values()))


def by_hybridized_imports(name: str) -> Any:
    net = imported(name)
    net.hybridize(static_alloc=True, static_shape=True)
    net(*map(nd.array, inputs_of(name).values()))
    return net(*map(nd.array, inputs_of(name).values()))


def by_symbol_block(name: str) -> Any:
    """As GluonCV and D2L do."""
    net = mx.gluon.SymbolBlock(sym.load(path_of(name)), [sym.var(key) for key in inputs_of(name)])
    net.load_parameters(str(MODELS / f"{name}-0001.params"), ctx=mx.cpu())
    return net(*map(nd.array, inputs_of(name).values()))


def by_collected_parameters(name: str) -> Any:
    net = mx.gluon.nn.SymbolBlock(outputs=sym.load(path_of(name)), inputs=[sym.var(key) for key in inputs_of(name)])
    net.collect_params().load(str(MODELS / f"{name}-0001.params"), ctx=mx.cpu(), ignore_extra=True, allow_missing=False)
    return net(*map(nd.array, inputs_of(name).values()))


def described(name: str) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Return (data_shapes, label_shapes) of a module: what is compared with comes as labels."""
    shapes = networks.NETWORKS[name][1]
    labels = [key for key in shapes if key.endswith("label") or key in LABELS.get(name, ())]
    return [(key, shapes[key]) for key in shapes if key not in labels], [(key, shapes[key]) for key in labels]


LABELS = {
    "rpn_training": ("bbox_target", "bbox_weight"),
    "factorization": ("score",),
    "style_transfer": ("target_gram",),
}


def batch_of(name: str) -> mx.io.DataBatch:
    data, labels = ([nd.array(inputs_of(name)[key]) for key, _ in part] for part in described(name))
    return mx.io.DataBatch(data=data, label=labels)


def module_of(name: str, loaded: bool, **keywords: Any) -> mx.mod.Module:
    data, labels = described(name)
    names = {"data_names": [key for key, _ in data], "label_names": [key for key, _ in labels] or None}
    if loaded:
        module = mx.mod.Module.load(str(MODELS / name), 1, **names)
        module.bind(data, labels or None, **keywords)
        return module
    symbol, arguments, states = mx.model.load_checkpoint(str(MODELS / name), 1)
    module = mx.mod.Module(symbol=symbol, context=mx.cpu(), **names)
    module.bind(data_shapes=data, label_shapes=labels or None, **keywords)
    module.set_params(arguments, states)
    return module


def by_module(name: str) -> Any:
    module = module_of(name, loaded=False, for_training=False)
    module.forward(batch_of(name), is_train=False)
    return module.get_outputs()


def by_loaded_module(name: str) -> Any:
    module = module_of(name, loaded=True, for_training=False)
    module.forward(batch_of(name))
    return module.get_outputs()


def by_imports_without_labels(name: str) -> Any:
    """Outputs that the labels of losses do not reach are those of prediction."""
    names = [key for key in inputs_of(name) if key not in mx.symbol.labels.label_names(sym.load(path_of(name)))]
    net = mx.gluon.SymbolBlock.imports(path_of(name), names, str(MODELS / f"{name}-0001.params"))
    return net(*(nd.array(inputs_of(name)[key]) for key in names))


WAYS: dict[str, Callable[[str], Any]] = {
    "bind": by_bind,
    "simple_bind": by_simple_bind,
    "imports": by_imports,
    "hybridized": by_hybridized_imports,
    "SymbolBlock": by_symbol_block,
    "collect_params": by_collected_parameters,
    "without labels": by_imports_without_labels,
    "Module": by_module,
    "Module.load": by_loaded_module,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", networks.NETWORKS)
def test_outputs_are_those_of_mxnet(name: str, way: str) -> None:
    require_equal(name, "predict", WAYS[way](name))


@pytest.mark.parametrize("version", networks.VERSIONS)
@pytest.mark.parametrize("name", networks.NETWORKS)
def test_files_of_older_versions_compute_the_same(name: str, version: str) -> None:
    document = json.loads(Path(path_of(name)).read_text())
    symbol = sym.load_json(json.dumps(networks.as_written_by(document, version)))
    require_equal(name, "predict", by_bind(name, symbol))


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_networks_are_written_as_mxnet_writes_them(name: str) -> None:
    """But for variables that an operator made, which have its attributes in MXNet."""
    with mx.name.NameManager():
        ours = json.loads(networks.NETWORKS[name][0](mx).tojson())
    theirs = json.loads(Path(path_of(name)).read_text(encoding="utf-8"))
    for node in ours["nodes"] + theirs["nodes"]:
        if node["op"] == "null":
            node["attrs"] = {key: text for key, text in node.get("attrs", {}).items() if key[:2] == "__"}
    assert ours == theirs


# What is written anew: target_shape=(3, 12) as shape=(3, 12), 1 as True or (1,).
SPELLED_OTHERWISE = ("text_cnn", "lstm_lm", "pyramid")


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_files_are_written_again_to_the_letter(name: str, tmp_path: Path) -> None:
    symbol, arguments, states = mx.model.load_checkpoint(str(MODELS / name), 1)
    mx.model.save_checkpoint(str(tmp_path / name), 1, symbol, arguments, states)
    assert (tmp_path / f"{name}-0001.params").read_bytes() == (MODELS / f"{name}-0001.params").read_bytes()
    if name not in SPELLED_OTHERWISE:
        assert (tmp_path / f"{name}-symbol.json").read_bytes() == Path(path_of(name)).read_bytes()


# Those that have one input, and labels whose shapes follow from it; rows of `text_cnn` and `lstm_lm` are of one length.
ONE_INPUT = ["resnet", "inception_bn", "mobilenet", "arcface", "ssd_deployed", "ssd_exported", "unet", "pyramid"]


@pytest.mark.filterwarnings("ignore:.*FeedForward.*:DeprecationWarning")
@pytest.mark.parametrize("name", ONE_INPUT)
def test_the_first_interface_predicts_what_mxnet_does(name: str) -> None:
    model = mx.model.FeedForward.load(str(MODELS / name), 1, ctx=mx.cpu())
    data = inputs_of(name)["data"]
    outputs = model.predict(mx.io.NDArrayIter(data, batch_size=len(data)))
    outputs = outputs if isinstance(outputs, list) else [outputs]
    # What a margin for the right class does to the scores needs that class.
    count = 1 if name == "arcface" else len(outputs)
    for number, output in enumerate(outputs[:count]):
        require_close(output, recorded(name)[f"predict:{number}"], f"predict:{number}")


@pytest.mark.parametrize("name", ["resnet", "inception_bn", "mobilenet", "unet", "pyramid", "text_cnn"])
@pytest.mark.parametrize("batch", [1, 2])
def test_modules_predict_without_labels(name: str, batch: int) -> None:
    data = inputs_of(name)["data"]
    if name == "text_cnn":  # its shape holds the size of the batch
        batch = len(data)
    module = mx.mod.Module.load(str(MODELS / name), 1, label_names=None)
    module.bind(data_shapes=[("data", (batch, *data.shape[1:]))], for_training=False)
    got = module.predict(mx.io.NDArrayIter(data, batch_size=batch)).asnumpy()
    require_close(got, recorded(name)["predict:0"], "predict:0")
    assert module.get_params()[0].keys() >= parameters_of(name)[0].keys()


OUTPUT_LAYERS = {
    "SoftmaxOutput": {},
    "SoftmaxOutput of positions": {"multi_output": True},
    "SoftmaxOutput of the last axis": {"preserve_shape": True},
    "LinearRegressionOutput": {},
    "MAERegressionOutput": {},
    "LogisticRegressionOutput": {},
    "SVMOutput": {},
}


@pytest.mark.parametrize(
    ("layer", "shape"),
    [(layer, (2, 3)) for layer in OUTPUT_LAYERS]
    + [(layer, (2, 3, 4)) for layer in OUTPUT_LAYERS if layer not in ("SoftmaxOutput", "SVMOutput")],
)
def test_without_its_label_an_output_layer_is_what_it_predicts(layer: str, shape: Any, tmp_path: Path) -> None:
    weight = sym.broadcast_mul(sym.var("data"), sym.var("w"))
    net = getattr(sym, layer.split()[0])(weight, sym.var("label"), name="out", **OUTPUT_LAYERS[layer])
    values = {
        "data": nd.array(np.random.RandomState(0).uniform(-1, 1, shape)),
        "w": nd.array([[1.5]]).reshape((1,) * len(shape)),
    }
    mx.model.save_checkpoint(str(tmp_path / "net"), 1, net, {"w": values["w"]}, {})
    block = mx.gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), "data", str(tmp_path / "net-0001.params"))
    assert list(block.collect_params()) == ["w"]
    found = net.infer_shape(**{key: value.shape for key, value in values.items()})[0][2]
    expected = net.bind(mx.cpu(), {**values, "label": nd.zeros(found)}).forward()[0]
    np.testing.assert_allclose(block(values["data"]).asnumpy(), expected.asnumpy(), rtol=1e-6)
    with mx.autograd.record():
        first = block(values["data"])[0].reshape(-1)[0]
    first.backward()
    # The gradient is that of what is asked for, not of a loss that has no label.
    step = 1e-2
    two = []
    for sign in (1, -1):
        moved = {**values, "w": values["w"] + sign * step, "label": nd.zeros(found)}
        two.append(float(net.bind(mx.cpu(), moved).forward()[0].asnumpy().reshape(-1)[0]))
    got = float(block.collect_params()["w"].grad().asnumpy().reshape(-1)[0])
    assert got == pytest.approx((two[0] - two[1]) / (2 * step), rel=2e-2, abs=1e-3)


def test_labels_that_are_read_elsewhere_stay(tmp_path: Path) -> None:
    arguments, states = parameters_of("arcface")
    with pytest.raises(mx.MXNetError, match=r"1 parameter\(s\) are missing in the file .*: 'softmax_label'"):
        mx.gluon.SymbolBlock.imports(path_of("arcface"), "data", str(MODELS / "arcface-0001.params"))
    # a file that holds a value for the label is taken at its word
    symbol = sym.load(path_of("factorization"))
    arguments, states = parameters_of("factorization")
    mx.model.save_checkpoint(str(tmp_path / "net"), 1, symbol, {**arguments, "score": nd.zeros((2,))}, states)
    net = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["user", "item"], str(tmp_path / "net-0001.params")
    )
    assert "score" in net.collect_params()


# -- a training step ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRAINED)
def test_gradients_of_executors_are_those_of_mxnet(name: str) -> None:
    expected, inputs = recorded(name), inputs_of(name)
    symbol = sym.load(path_of(name))
    requests = {key: "null" if key in inputs else "write" for key in symbol.list_arguments()}
    executor = symbol.simple_bind(mx.cpu(), grad_req=requests, **networks.NETWORKS[name][1])
    executor.copy_params_from(*parameters_of(name))
    for _ in range(2):  # the first step by step, the second as a program
        for key, state in parameters_of(name)[1].items():
            executor.aux_dict[key][:] = state
        require_equal(name, "train", executor.forward(is_train=True, **{k: nd.array(v) for k, v in inputs.items()}))
        executor.backward()
        for key, gradient in executor.grad_dict.items():
            if key not in inputs:
                require_close(gradient.asnumpy(), expected[f"grad:{key}"], f"grad:{key}")
        for key, state in executor.aux_dict.items():
            require_close(state.asnumpy(), expected[f"aux:{key}"], f"aux:{key}")


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("name", TRAINED)
def test_a_step_of_gluon_is_that_of_mxnet(name: str, hybridized: bool) -> None:
    expected, inputs = recorded(name), inputs_of(name)
    net = imported(name)
    if hybridized:
        net.hybridize()
    before = {key: parameter.data().asnumpy() for key, parameter in net.collect_params().items()}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": networks.LEARNING_RATE})
    with mx.autograd.record():
        outputs = net(*map(nd.array, inputs.values()))
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    mx.autograd.backward(list(outputs))
    trainer.step(2)
    require_equal(name, "train", outputs)
    for key, parameter in net.collect_params().items():
        if f"aux:{key}" in expected:
            require_close(parameter.data().asnumpy(), expected[f"aux:{key}"], f"aux:{key}")
        else:
            updated = before[key] - networks.LEARNING_RATE / 2 * expected[f"grad:{key}"]
            require_close(parameter.data().asnumpy(), updated, f"weight {key}")


@pytest.mark.parametrize("name", TRAINED)
def test_a_step_of_a_module_is_that_of_mxnet(name: str) -> None:
    expected = recorded(name)
    module = module_of(name, loaded=True, for_training=True)
    before = {key: array.asnumpy() for key, array in module.get_params()[0].items()}
    options = {"learning_rate": networks.LEARNING_RATE, "rescale_grad": 0.5}
    module.init_optimizer(optimizer="sgd", optimizer_params=options)
    module.forward_backward(batch_of(name))
    require_equal(name, "train", module.get_outputs())
    module.update()
    arguments, states = module.get_params()
    assert arguments.keys() == before.keys()
    for key, array in arguments.items():
        updated = before[key] - networks.LEARNING_RATE / 2 * rate_of(name, key) * expected[f"grad:{key}"]
        require_close(array.asnumpy(), updated, f"weight {key}")
    for key, array in states.items():
        require_close(array.asnumpy(), expected[f"aux:{key}"], f"aux:{key}")


def rate_of(name: str, key: str) -> float:
    """Return what a file says a weight's learning rate is multiplied by."""
    return float(sym.load(path_of(name)).attr_dict().get(key, {}).get("__lr_mult__", 1))


# -- what does not fit -------------------------------------------------------------------------------------------------


def damaged(name: str, folder: Path, change: Callable[[dict[str, Any]], None]) -> str:
    """Return the prefix of a checkpoint whose arrays were changed."""
    symbol, arguments, states = mx.model.load_checkpoint(str(MODELS / name), 1)
    change(arguments)
    prefix = str(folder / name)
    mx.model.save_checkpoint(prefix, 1, symbol, arguments, states)
    return prefix


def spoil(arrays: dict[str, Any]) -> None:
    """Leave out two arrays, rename one, and give two other shapes."""
    del arrays["conv0_weight"], arrays["bn1_beta"]
    arrays["fc1_weigth"] = arrays.pop("fc1_weight")
    arrays["bn1_gamma"] = nd.ones((7,))
    arrays["fc1_bias"] = nd.ones((2, 3))


FULL_TABLE = """\
In all: 3 missing, 1 superfluous, 2 of another shape, dtype or device; nothing was changed.
  parameter     file            block
  conv0_weight  missing         None float32
  bn1_beta      missing         None float32
  fc1_weight    missing         None float32  perhaps 'fc1_weigth'?
  bn1_gamma     (7,) float32    (6,) float32
  fc1_bias      (2, 3) float32  (5,) float32
  fc1_weigth    (5, 6) float32  not there"""


def test_all_that_does_not_fit_is_in_one_table(tmp_path: Path) -> None:
    prefix = damaged("resnet", tmp_path, spoil)
    with pytest.raises(mx.core.errors.ParametersError) as caught:
        mx.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", "data", f"{prefix}-0001.params")
    first, table = str(caught.value).split("\n", 1)
    assert first.startswith(
        f"3 parameter(s) are missing in the file '{prefix}-0001.params': 'conv0_weight', 'bn1_beta', "
    )
    assert table == FULL_TABLE
    module = mx.mod.Module.load(prefix, 1)
    with pytest.raises(mx.core.errors.ParametersError) as caught:
        module.bind([("data", (1, 3, 12, 12))], for_training=False)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("3 missing, 1 superfluous, 2 of another shape; nothing was changed.")
    assert {line.split()[0] for line in lines[2:-1]} == {
        *("conv0_weight", "bn1_beta", "fc1_weight", "fc1_weigth", "bn1_gamma", "fc1_bias")
    }


def test_shapes_that_do_not_fit_are_in_one_table(tmp_path: Path) -> None:
    net = imported("resnet")
    net(*map(nd.array, inputs_of("resnet").values()))
    before = {key: parameter.data().asnumpy() for key, parameter in net.collect_params().items()}
    prefix = damaged("resnet", tmp_path, lambda arrays: arrays.update(bn1_gamma=nd.ones((7,)), fc1_bias=nd.ones((2,))))
    with pytest.raises(
        mx.core.errors.ShapeError, match=r"Parameter 'bn1_gamma': the file .* has shape \(7,\)"
    ) as caught:
        net.load_parameters(f"{prefix}-0001.params")
    assert str(caught.value).splitlines()[1:] == [
        "In all: 2 of another shape, dtype or device; nothing was changed.",
        "  parameter  file          block",
        "  bn1_gamma  (7,) float32  (6,) float32",
        "  fc1_bias   (2,) float32  (5,) float32",
    ]
    for key, parameter in net.collect_params().items():
        assert np.array_equal(parameter.data().asnumpy(), before[key])


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9, 0.999])
def test_checkpoints_that_were_cut_short_say_where(place: float, tmp_path: Path) -> None:
    for ending in ("-symbol.json", "-0001.params"):
        content = (MODELS / f"crnn{ending}").read_bytes()
        (tmp_path / f"crnn{ending}").write_bytes(content)
    short = tmp_path / "crnn-0001.params"
    short.write_bytes(content[: int(len(content) * place)])
    for load in (
        lambda: mx.mod.Module.load(str(tmp_path / "crnn"), 1),
        lambda: mx.model.FeedForward.load(str(tmp_path / "crnn"), 1),
    ):
        with pytest.raises(mx.core.errors.FileFormatError, match=r"crnn-0001\.params', byte \d+: .* but the file ends"):
            load()
    graph = tmp_path / "crnn-symbol.json"
    graph.write_bytes(graph.read_bytes()[: int(graph.stat().st_size * place)])
    with pytest.raises(
        mx.core.errors.FileFormatError, match=r"crnn-symbol\.json': it is no JSON: line \d+, column \d+"
    ):
        mx.gluon.SymbolBlock.imports(str(graph), "data")


# -- hostile graphs ----------------------------------------------------------------------------------------------------

NAMES = sorted(networks.NETWORKS)
ODD = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from(
        [None, True, [], {}, "", "x" * 5000, 1e308, "\ud800", [[0, 0]], [2**62, 0, 0], "(0,)", "99999999999"]
    ),
    st.text(max_size=5),
)


def places_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all values inside of lists and objects."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, item in items for inner in places_of(item, (*path, key)))]


DOCUMENTS = {name: json.loads(Path(path_of(name)).read_text(encoding="utf-8")) for name in NAMES}
PLACES = {name: places_of(document) for name, document in DOCUMENTS.items()}


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_graphs_with_odd_values_are_errors_or_graphs(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    document = json.loads(json.dumps(DOCUMENTS[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from(PLACES[name][1:]))
        target = document
        try:
            for key in path:
                target = target[key]
            target[last] = data.draw(ODD)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has taken it away
    problem = ""
    tracemalloc.start()
    try:
        symbol = sym.load_json(json.dumps(document))
        symbol.infer_shape_partial(**networks.NETWORKS[name][1])
    except mx.MXNetError as error:
        problem = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 64e6
    assert len(problem) < 20_000


def test_graphs_that_run_in_circles_or_outside_are_errors() -> None:
    for inputs in ([[5, 0, 0]], [[1, 0, 0]], [[0, 1, 0]], [[2**63, 0, 0]], [[-1, 0, 0]]):
        document = {
            "nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "tanh", "name": "t", "inputs": inputs}],
            "arg_nodes": [0],
            "heads": [[1, 0, 0]],
        }
        with pytest.raises(mx.core.errors.FileFormatError, match=r"node 1 \('t'"):
            sym.load_json(json.dumps(document))
