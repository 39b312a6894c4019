"""ResNet-50 written as an ONNX model, checked, and compared with onnxruntime's results."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from harness.case import Array, Case, Checked


def inputs() -> tuple[Array, ...]:
    """A shape to draw inputs in."""
    return (np.array([1, 3, 224, 224]),)


case = Case(
    "ResNet-50 exported to ONNX from MXNet's files, and compared with onnxruntime",
    inputs,
    lambda shape: (np.zeros(1, np.float32),),
    limit=5.0,
    rtol=0,
    atol=1e-5,
    most_rounds=3,
)


@case.implementation("minpy")
def with_minpy(shape: Array) -> Checked:
    import onnxruntime  # noqa: F401 - where it is not installed, there is nothing to measure

    import minpy as mx
    from minpy.onnx.exporting.export_model import export_model_with_report

    folder = tempfile.TemporaryDirectory(prefix="minpy-benchmark-")
    stem = str(Path(folder.name) / "net")
    net = mx.gluon.model_zoo.vision.resnet50_v1()
    net.initialize(mx.init.MSRAPrelu())
    net.hybridize()
    net(mx.nd.zeros(tuple(shape.tolist())))
    net.export(stem)

    def step():
        assert folder
        files = f"{stem}-symbol.json", f"{stem}-0000.params"
        return export_model_with_report(*files, [tuple(shape.tolist())], np.float32, f"{stem}.onnx").rows

    return step, lambda rows: (np.array([row.relative for row in rows], np.float32),)
