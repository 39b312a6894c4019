"""A symbol's file as calls of PyTorch: the operators of the models of MXNet's zoo."""

from __future__ import annotations

import ast
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness.case import Array

__all__ = ["read_parameters", "torch_function"]

_LIST, _DENSE = 0x112, 0xF993FAC9  # the marks of a list of arrays, and of a dense array with 64-bit shapes


def read_parameters(path: Path) -> dict[str, Array]:
    """Read a `.params` file of float32 arrays: the layout of MXNet's `NDArray::Save`."""
    content = path.read_bytes()
    position = 0

    def take(layout: str) -> tuple[Any, ...]:
        nonlocal position
        found = struct.unpack_from("<" + layout, content, position)
        position += struct.calcsize("<" + layout)
        return found

    mark, _, count = take("QQQ")
    assert mark == _LIST, f"{path} is no list of arrays"
    arrays = []
    for _ in range(count):
        mark, _, axes = take("IiI")
        assert mark == _DENSE, f"{path} holds something else than dense arrays"
        shape = take(f"{axes}q")
        _, _, kind = take("iii")
        assert kind == 0, f"{path} holds something else than float32"
        size = int(np.prod(shape))
        arrays.append(np.frombuffer(content, np.float32, size, position).reshape(shape))
        position += 4 * size
    (count,) = take("Q")
    names = []
    for _ in range(count):
        (length,) = take("Q")
        (name,) = take(f"{length}s")
        names.append(name.decode().partition(":")[2])
    return dict(zip(names, arrays, strict=True))


def torch_function(symbol: Path, parameters: Path) -> Callable[[Any], Any]:
    """Return a function of the data: the symbol's operators in prediction, each as the one of PyTorch's."""
    import torch

    graph = json.loads(symbol.read_text())
    known = {name: torch.tensor(array) for name, array in read_parameters(parameters).items()}
    nodes = graph["nodes"]
    calls = [None if node["op"] == "null" else _call(node["op"], _parsed(node.get("attrs", {}))) for node in nodes]
    sources = [[place for place, *_ in node["inputs"]] for node in nodes]
    fixed = [known.get(node["name"]) for node in nodes]
    (head, *_), *_ = graph["heads"]

    def function(data: Any) -> Any:
        values: list[Any] = []
        for call, places, array in zip(calls, sources, fixed, strict=True):
            if call is None:
                values.append(data if array is None else array)
            else:
                values.append(call(*(values[place] for place in places)))
        return values[head]

    return function


def _parsed(attributes: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in attributes.items():
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            found[name] = text
    return found


def _call(kind: str, a: dict[str, Any]) -> Callable[..., Any]:
    """Return the function of an operator with its attributes."""
    import torch
    from torch.nn import functional

    if kind == "Convolution":
        how = {"stride": a["stride"], "padding": a["pad"], "dilation": a["dilate"], "groups": a["num_group"]}
        return lambda x, *weights: functional.conv2d(x, *weights, **how)
    if kind == "BatchNorm":

        def normalized(x: Any, gain: Any, shift: Any, mean: Any, variance: Any) -> Any:
            return functional.batch_norm(x, mean, variance, None if a["fix_gamma"] else gain, shift, eps=a["eps"])

        return normalized
    if kind == "Pooling":
        if a["global_pool"]:
            return lambda x: functional.adaptive_avg_pool2d(x, 1)
        is_full = a["pooling_convention"] == "full"
        if a["pool_type"] == "max":
            return lambda x: functional.max_pool2d(x, a["kernel"], a["stride"], a["pad"], ceil_mode=is_full)
        counts = a.get("count_include_pad", True)
        return lambda x: functional.avg_pool2d(x, a["kernel"], a["stride"], a["pad"], is_full, counts)
    simple: dict[str, Callable[..., Any]] = {
        "Activation": lambda x: getattr(torch, a["act_type"])(x),
        "elemwise_add": torch.add,
        "FullyConnected": lambda x, *weights: functional.linear(x.flatten(1), *weights),
        "Flatten": lambda x: x.flatten(1),
        "clip": lambda x: x.clamp(a["a_min"], a["a_max"]),
        "Concat": lambda *parts: torch.cat(parts, a["dim"]),
        "Dropout": lambda x: x,
    }
    return simple[kind]
