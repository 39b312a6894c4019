"""The model zoo: weights from files, training, saving and loading; what is said where weights are missing."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.errors import ArgumentValueError, CheckError, FileFormatError, FileMissingError, KeyMissingError
from minpy.gluon.model_zoo import model_store, vision


def small(**options: Any) -> vision.ResNetV1:
    return vision.ResNetV1(vision.BasicBlockV1, [1, 1], [4, 4, 8], classes=3, thumbnail=True, **options)


def values(net: gluon.Block) -> dict[str, np.ndarray]:
    return {name: one.data().asnumpy() for name, one in net._collect_params_with_prefix().items()}


def assert_equal(net: gluon.Block, other: gluon.Block) -> None:
    first, second = values(net), values(other)
    assert list(first) == list(second)
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])


@pytest.fixture
def squeezed(tmp_path: Path) -> vision.SqueezeNet:
    net = vision.squeezenet1_1()
    net.initialize(mx.init.Xavier())
    net(nd.zeros((1, 3, 212, 212)))
    net.save_parameters(str(tmp_path / "squeezenet1.1.params"))
    return net


def test_weights_from_a_file_of_the_plain_name(tmp_path: Path, squeezed: vision.SqueezeNet) -> None:
    for net in (
        vision.squeezenet1_1(pretrained=True, root=str(tmp_path)),
        vision.get_model("SqueezeNet1.1", pretrained=True, root=str(tmp_path), ctx=mx.cpu()),
    ):
        assert_equal(net, squeezed)


def test_weights_from_a_file_of_mxnets_name(
    tmp_path: Path, squeezed: vision.SqueezeNet, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, hashed = tmp_path / "squeezenet1.1.params", tmp_path / "squeezenet1.1-33ba0f93.params"
    hashed.write_bytes(plain.read_bytes())
    with pytest.raises(FileFormatError, match=r"squeezenet1.1-33ba0f93.params' is damaged, or not the file that MXNet"):
        vision.squeezenet1_1(pretrained=True, root=str(tmp_path))
    digest = hashlib.sha1(hashed.read_bytes(), usedforsecurity=False).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, "squeezenet1.1", "33ba0f93" + digest[8:])
    with pytest.raises(FileFormatError):
        model_store.get_model_file("squeezenet1.1", root=str(tmp_path))
    monkeypatch.setitem(model_store._model_sha1, "squeezenet1.1", digest)
    hashed.rename(tmp_path / f"squeezenet1.1-{digest[:8]}.params")
    plain.unlink()
    assert_equal(vision.squeezenet1_1(pretrained=True, root=str(tmp_path)), squeezed)


def test_the_folder_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "own.params").write_bytes(b"")
    program = "from minpy.gluon.model_zoo import model_store; print(model_store.get_model_file('own'))"
    environment = {**os.environ, "MXNET_HOME": str(tmp_path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "models" / "own.params")


def test_purge_removes_weights_only(tmp_path: Path) -> None:
    for name in ("a.params", "b.params", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    model_store.purge(str(tmp_path))
    assert os.listdir(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: vision.resnet18_v1(pretrained=True, root="/nowhere"),
            FileMissingError,
            "There are no weights of 'resnet18_v1': neither resnet18_v1-a0666292.params nor resnet18_v1.params is",
        ),
        (
            lambda: vision.get_mobilenet(0.3, pretrained=True, root="/nowhere"),
            ArgumentValueError,
            "Pretrained model for mobilenet0.30 is not available: MXNet offered alexnet, .* Did you mean 'mobilenet",
        ),
        (
            lambda: vision.get_model("resnet18"),
            ArgumentValueError,
            r"Model resnet18 is not supported. Did you mean 'resnet18_v2' or .*\? Available options are\n\talex",
        ),
        (lambda: vision.get_resnet(3, 18), CheckError, "Invalid resnet version: 3; expected 1 or 2."),
        (lambda: vision.get_resnet(1, 19), CheckError, "Invalid number of layers: 19; expected one of 18, 34, 50, 101"),
        (lambda: vision.get_vgg(12), KeyMissingError, "num_layers is 12; expected one of 11, 13, 16, 19."),
        (
            lambda: vision.squeezenet.get_squeezenet("2"),
            CheckError,
            "Unsupported SqueezeNet version 2: 1.0 or 1.1",
        ),
        (
            lambda: vision.ResNetV2(vision.BasicBlockV2, [1, 1], [8, 8]),
            ArgumentValueError,
            "ResNetV2: layers has 2 numbers and channels 2; expected one more, those before the first stage.",
        ),
        (
            lambda: vision.VGG([1], [1, 2]),
            ArgumentValueError,
            "VGG: layers has 1 numbers and filters 2; expected",
        ),
        (
            lambda: model_store.purge("/nowhere"),
            FileMissingError,
            "model_store.purge: cannot remove files in '/",
        ),
    ],
)
def test_what_is_said(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        small,
        lambda: vision.ResNetV2(vision.BottleneckV2, [1, 1], [4, 8, 16], classes=3, thumbnail=True),
        lambda: vision.MobileNetV2(0.1, classes=3),
        lambda: vision.DenseNet(4, 2, [1, 1], classes=3),
    ],
    ids=["resnet_v1", "resnet_v2", "mobilenet_v2", "densenet"],
)
def test_networks_learn_eight_images_by_heart(make: Any, hybrid: bool) -> None:
    mx.random.seed(0)
    generator = np.random.RandomState(0)
    net = make()
    side = 64 if isinstance(net, vision.DenseNet) else 16
    images, labels = nd.array(generator.normal(size=(8, 3, side, side))), nd.array(generator.randint(0, 3, 8))
    net.initialize(mx.init.Xavier())
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    measure = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(12):
        with autograd.record():
            loss = measure(net(images), labels)
        loss.backward()
        trainer.step(8)
        losses.append(loss.mean().asscalar())
    assert losses[-1] < 0.5 * losses[0]


def test_saved_and_exported_ones_are_read_again(tmp_path: Path) -> None:
    mx.random.seed(0)
    images = nd.random.normal(shape=(2, 3, 16, 16))
    net = small()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    expected = net(images).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    other = small()
    other.load_parameters(str(tmp_path / "net.params"))
    np.testing.assert_allclose(other(images).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    np.testing.assert_allclose(block(images).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_the_features_of_one_network_in_another(tmp_path: Path) -> None:
    """As programs do that fine-tune: all layers but the last one are shared."""
    source = small()
    source.initialize(mx.init.Xavier())
    net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [4, 4, 8], classes=7, thumbnail=True)
    source(nd.zeros((1, 3, 16, 16)))
    net.features = source.features
    net.output.initialize(mx.init.Xavier())
    net.collect_params(".*stage.*").setattr("grad_req", "null")
    assert net(nd.zeros((1, 3, 16, 16))).shape == (1, 7)
    with autograd.record():
        loss = net(nd.ones((1, 3, 16, 16))).sum()
    loss.backward()
    assert net.output.weight.grad().shape == (7, 8)
