"""Inference of models of MXNet's zoo, one image at a time, from the files that MXNet writes: see make_models.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from harness.case import Array, Case, Checked, Group

__all__ = ["MODELS", "files_of", "model_case"]

MODELS = {  # names in the zoo, and the sides of their images
    "resnet18_v1": 224,
    "resnet50_v1": 224,
    "mobilenet1.0": 224,
    "mobilenetv2_1.0": 224,
    "squeezenet1.0": 224,
    "vgg11": 224,
    "densenet121": 224,
    "alexnet": 224,
    "inceptionv3": 299,
}
GROUP = Group("inference of old models", {"mxnet": 0.7})


def files_of(name: str) -> tuple[Path, Path, Path]:
    """The files of a model: symbol, parameters, and the image with what MXNet computes of it."""
    root = os.environ.get("MINPY_BENCHMARKS_MODELS") or Path.home() / ".cache" / "minpy-benchmarks" / "models"
    return tuple(Path(root) / f"{name}{ending}" for ending in ("-symbol.json", "-0000.params", ".npz"))  # type: ignore[return-value]


def model_case(name: str) -> Case:
    """The case of a model; its rows are not there where its files are not made."""
    side = MODELS[name]
    symbol, parameters, numbers = files_of(name)

    def inputs() -> tuple[Array, ...]:
        if not numbers.exists():
            raise ImportError(f"{numbers} is not there: run make_models.py")
        with np.load(numbers) as arrays:
            return arrays["image"], arrays["result"]

    case = Case(
        f"inference of {name} through SymbolBlock.imports, batch 1, {side}x{side} float32",
        inputs,
        lambda image, result: (result / result.std(),),
        group=GROUP,
        check_calls=4,
        rtol=1e-2,
        atol=2e-3,
    )

    def gluon_step(mx: Any, image: Array, result: Array) -> Checked:
        net = mx.gluon.SymbolBlock.imports(str(symbol), ["data"], str(parameters))
        net.hybridize(static_alloc=True, static_shape=True)
        image = mx.nd.array(image)

        def step():
            y = net(image)
            mx.nd.waitall()
            return y

        return step, lambda y: (y.asnumpy() / result.std(),)

    @case.implementation("minpy")
    def with_minpy(image: Array, result: Array) -> Checked:
        import minpy as mx

        return gluon_step(mx, image, result)

    @case.implementation("mxnet")
    def with_mxnet(image: Array, result: Array) -> Checked:
        import mxnet as mx

        return gluon_step(mx, image, result)

    def torch_step(compiled: bool, image: Array, result: Array) -> Checked:
        import torch

        from harness.torch_symbol import torch_function

        function = torch_function(symbol, parameters)
        image = torch.tensor(image)
        if compiled:
            function = torch.compile(function)

        def step():
            with torch.inference_mode():
                return function(image)

        return step, lambda y: (y.numpy() / result.std(),)

    @case.implementation("torch")
    def with_torch(image: Array, result: Array) -> Checked:
        return torch_step(False, image, result)

    @case.implementation("torch compile", peer="torch")
    def with_torch_compile(image: Array, result: Array) -> Checked:
        return torch_step(True, image, result)

    return case
