"""What is said where onnx is not installed: what to install, and nothing is written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import minpy as mx
from minpy.core.errors import MissingDependencyError

INSTALL = r"onnx is not installed, and this needs it\. Install it with: python -m pip install 'onnx>=\d"


@pytest.mark.parametrize(
    "call",
    [
        lambda net: mx.onnx.export_model(net, {}, [(2, 3)], onnx_file_path="net.onnx"),
        lambda net: mx.contrib.onnx.import_model("net.onnx"),
        lambda net: net.bind(mx.cpu(), {"data": mx.nd.ones((2, 3))}).export_onnx("net.onnx"),
        lambda net: mx.gluon.nn.Flatten().export_onnx("net.onnx", mx.nd.ones((2, 3))),
        lambda net: mx.compile(lambda x: x + 1).export_onnx("net.onnx", mx.nd.ones((2, 3))),
    ],
    ids=["export_model", "import_model", "executor", "block", "compiled function"],
)
def test_what_to_install_is_said(call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=INSTALL):
        call(mx.sym.tanh(mx.sym.var("data")))
    assert not list(tmp_path.iterdir())
