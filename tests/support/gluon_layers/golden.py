"""Golden cases of declared layers: names, numbers with gradients and states, and graphs."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

from gluon_layers import load, running
from gluon_layers.declaration import Layer


def cases(family: str) -> list[tuple[str, str]]:
    """Return the golden cases (name, snippet) of a family's layers that MXNet 1.9.1 has."""
    found = []
    for layer in load(family):
        if not layer.mxnet:
            continue
        kinds = ["names", "numbers"] if layer.mxnet_runs else ["names"]
        kinds += ["graph"] if layer.hybrid and layer.mxnet_graph else []
        kinds += ["numpy"] if layer.numpy and layer.mxnet_numpy and layer.mxnet_runs else []
        for kind in kinds:
            snippet = f"from gluon_layers import golden\nresult = golden.{kind}(mx, {family!r}, {layer.id!r})"
            found.append((f"layers_{family}_{layer.id}_{kind}", snippet))
    return found


def signature_cases(group: str, module: str, classes: str) -> list[tuple[str, str]]:
    """Return golden cases of what classes of a module, 'gluon.nn', take: names, kinds and defaults of arguments."""
    return [
        (
            f"{group}_signature_{module.replace('.', '_')}_{name}",
            f"from gluon_layers import golden\nresult = golden.signature(mx.{module}.{name})",
        )
        for name in classes.split()
    ]


def signature(layer: Any) -> list[Any]:
    """Return the arguments of a class; of a default that is an object, its JSON form or its class."""
    found = []
    for parameter in inspect.signature(layer.__init__).parameters.values():
        default = parameter.default
        if hasattr(default, "dumps"):
            default = default.dumps()
        found.append([parameter.name, parameter.kind.name, "" if default is parameter.empty else repr(default)])
    return found


def _find(family: str, identity: str) -> Layer:
    return next(layer for layer in load(family) if layer.id == identity)


def names(mx: Any, family: str, identity: str) -> list[Any]:
    """Return what the layer and its parameters are called, before and after the first call, and in a container."""
    layer = _find(family, identity)
    net = running.build(mx, layer)
    result = [_repr(net), net.name, net.prefix]
    net.initialize()
    running.call(layer, net, running.inputs(mx, layer))
    result.append(_repr(net))
    for parameter in net.collect_params().values():
        result.append(
            [
                parameter.name,
                str(parameter.shape),
                parameter.grad_req,
                parameter.data().dtype.__name__,
                parameter.lr_mult,
                parameter.wd_mult,
            ]
        )
    result.append(list(net._collect_params_with_prefix()))
    with mx.name.NameManager():
        container = mx.gluon.nn.Sequential()
        with container.name_scope():
            container.add(running.build(mx, layer))
    result.append(list(container.collect_params()))
    result.append(list(container._collect_params_with_prefix()))
    return result


def _repr(net: Any) -> str:
    return re.sub(r"\(\s*\)", "()", repr(net))


def numbers(mx: Any, family: str, identity: str) -> list[Any]:
    """Return outputs, gradients and states: in training, unless that is random, and in prediction."""
    layer = _find(family, identity)
    net = running.ready(mx, layer)
    result = [] if layer.random else running.step(mx, layer, net, running.inputs(mx, layer, seed=1))
    if layer.mxnet_predicts:
        result += running.step(mx, layer, net, running.inputs(mx, layer, seed=2), training=False)
    return result


def numpy(mx: Any, family: str, identity: str) -> list[Any]:
    """Return what `numbers` does, under `npx.set_np`."""
    with running.numpy_semantics(mx):
        return numbers(mx, family, identity)


def graph(mx: Any, family: str, identity: str) -> list[Any]:
    """Return the nodes of the graph that the layer becomes: operators, names, attributes, inputs."""
    layer = _find(family, identity)
    net = running.build(mx, layer)
    net.initialize()
    net.hybridize()
    running.call(layer, net, running.inputs(mx, layer))
    nodes = json.loads(net._cached_graph[1].tojson())["nodes"]
    return [
        [node["op"], node["name"], json.dumps(_attributes(node), sort_keys=True), str(node["inputs"])] for node in nodes
    ]


def _attributes(node: dict[str, Any]) -> dict[str, str]:
    """Return the attributes of a node; MXNet writes some shapes as lists."""
    found: dict[str, str] = node.get("attrs", {})
    if "__shape__" in found:
        return {**found, "__shape__": found["__shape__"].replace("[", "(").replace("]", ")")}
    return found
