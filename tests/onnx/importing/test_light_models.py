"""The networks that onnx has as `light` models, with equal weights and their results, and with drawn weights."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minpy.onnx import import_model

onnx = pytest.importorskip("onnx", minversion="1.16", reason="imports models of onnx's")
FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
if not FOLDER.exists():
    pytest.skip("onnx is installed without its light models", allow_module_level=True)

from minpy.onnx.importing.verifying import run_symbol  # noqa: E402 - it stands on onnx
from minpy.onnx.running import run_model  # noqa: E402

LARGE = ("bvlc_alexnet", "densenet121", "inception_v2", "resnet50", "vgg19", "zfnet512")
SMALL = ("inception_v1", "shufflenet", "squeezenet")
NETWORKS = [pytest.param(name, marks=pytest.mark.drawn_out) for name in LARGE] + list(SMALL)


def counted_input(model: Any) -> dict[str, np.ndarray]:
    """Return the input that onnx has the results for: numbers that rise from 0 to 1."""
    constants = {each.name for each in model.graph.initializer}
    (value,) = [each for each in model.graph.input if each.name not in constants]
    shape = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
    count = math.prod(shape)
    return {value.name: (np.arange(count).reshape(shape) / count).astype("float32")}


def with_drawn_weights(model: Any) -> Any:
    """Return the model with drawn weights in the place of those that are all equal."""
    generator = np.random.default_rng(0)
    values = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    positive = {node.input[position] for node in model.graph.node if node.op_type == "BatchNormalization"
                for position in (1, 4)}  # fmt: skip
    weights, nodes = [], []
    for node in model.graph.node:
        shape = values.get(node.input[0]) if node.op_type == "ConstantOfShape" else None
        if shape is None:
            nodes.append(node)
            continue
        drawn = generator.standard_normal(shape) / math.sqrt(max(math.prod(shape[1:]), 1))
        if node.output[0] in positive:
            drawn = generator.uniform(0.5, 1.5, shape)
        weights.append(onnx.numpy_helper.from_array(drawn.astype("float32"), node.output[0]))
    assert len(weights) > 10
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(weights)
    return model


def result_of(model: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    symbol, arguments, states = import_model(model)
    arrays = {name: array.asnumpy() for name, array in {**arguments, **states}.items()}
    (result,) = run_symbol(symbol, {**arrays, **inputs})
    return result


@pytest.mark.parametrize("name", NETWORKS)
def test_light_models(name: str) -> None:
    model = onnx.load(FOLDER / f"light_{name}.onnx")
    expected = onnx.TensorProto()
    expected.ParseFromString((FOLDER / f"light_{name}_output_0.pb").read_bytes())
    inputs = counted_input(model)
    np.testing.assert_allclose(result_of(model, inputs), onnx.numpy_helper.to_array(expected), 1e-5, 1e-7)
    drawn = with_drawn_weights(model)
    (computed,) = run_model(drawn, inputs).values()
    assert computed.std() > 1e-6
    np.testing.assert_allclose(result_of(drawn, inputs), computed, 1e-3, 1e-6)
