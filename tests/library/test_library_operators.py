"""Operators of native libraries, of every kind and in every mode: what they compute, and what they were given."""

from __future__ import annotations

import gc
import pickle

import autograd as hips
import numpy as np
import pytest
from native.building import build
from native.kinds import KINDS
from native.watching import Watched

import minpy as mx
from minpy import gluon, nd, sym

VERSIONS = {11: "", 10: "_v10", 7: "_v7"}
PARAMETERS = [pytest.param(kind, id=f"{i}-{kind.name}") for i, kind in enumerate(KINDS)]
DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64"]


def loaded(version=11):
    tag = VERSIONS[version]
    path = build("operators.c", flags=[f"-DABI={version}", f'-DTAG="{tag}"'])
    mx.library.load(path, verbose=False)
    return Watched(path)


@pytest.fixture(autouse=True)
def library():
    watched = loaded()
    states = watched.states
    yield watched
    assert watched.faults == []
    assert watched.blocks == 0
    if watched.states > states:
        gc.collect()  # blocks are in cycles of references, and may hold states
    assert watched.states <= states, "states are left over"


def function(kind, place=nd):
    return getattr(place, f"raw_{kind.name}")


def outputs(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def close(got, expected, tolerance=1e-12):
    got, expected = outputs(got), outputs(expected)
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        one = one.asnumpy() if hasattr(one, "asnumpy") else one
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


# -- every kind in every mode ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PARAMETERS)
def test_numpy_arrays(kind):
    inputs = kind.inputs()
    expected, changed = kind.forward(*inputs), kind.changed and kind.changed(*inputs)
    got = function(kind)(*inputs, **kind.attributes)
    assert all(type(one) is np.ndarray for one in outputs(got))
    close(got, expected)
    for position, value in zip(kind.states, changed or (), strict=True):
        close(inputs[position], value)


@pytest.mark.parametrize("front_end", ["nd", "np"])
@pytest.mark.parametrize("kind", PARAMETERS)
def test_arrays(kind, front_end):
    inputs = kind.inputs("float32")
    arrays = [nd.array(one, dtype=one.dtype) for one in inputs]
    if front_end == "np":
        arrays = [one.as_np_ndarray() for one in arrays]
    expected, changed = kind.forward(*inputs), kind.changed and kind.changed(*inputs)
    got = function(kind)(*arrays, **kind.attributes)
    assert all(type(one) is type(arrays[0]) for one in outputs(got))
    close(got, expected, 1e-6)
    for position, value in zip(kind.states, changed or (), strict=True):
        close(arrays[position], value, 1e-6)


@pytest.mark.parametrize("kind", PARAMETERS)
def test_out(kind):
    inputs = kind.inputs()
    expected = kind.forward(*inputs)
    for make in (np.empty, nd.empty):
        out = [make(np.shape(one), dtype=str(np.asarray(one).dtype)) for one in expected]
        arguments = kind.inputs()
        if make is nd.empty:
            arguments = [nd.array(one, dtype=one.dtype) for one in arguments]
        result = function(kind)(*arguments, out=out if len(out) > 1 else out[0], **kind.attributes)
        assert all(one is other for one, other in zip(outputs(result), out, strict=True))
        close(out, expected)


@pytest.mark.parametrize("grad_req", ["write", "add", "null"])
@pytest.mark.parametrize("kind", PARAMETERS)
def test_recorded(kind, grad_req):
    inputs, above = kind.inputs(), kind.gradients_of_outputs()
    expected = kind.backward(above, *inputs)
    arrays = [nd.array(one, dtype=one.dtype) for one in inputs]
    first = kind.differentiable[0]
    for i in kind.differentiable:
        arrays[i].attach_grad(grad_req if i == first else "write")
    for times in (1, 2):
        for position in kind.states:
            arrays[position][:] = inputs[position]
        with mx.autograd.record():
            got = outputs(function(kind)(*arrays, **kind.attributes))
        close(got, kind.forward(*inputs))
        if grad_req == "null" and len(kind.differentiable) == 1:
            assert arrays[first].grad is None
            continue
        mx.autograd.backward(got, [nd.array(one, dtype=one.dtype) for one in above])
        for i in kind.differentiable:
            if grad_req == "null" and i == first:
                continue
            close(arrays[i].grad, expected[i] * (times if grad_req == "add" and i == first else 1))


@pytest.mark.parametrize("kind", [one for one in PARAMETERS if len(one.values[0].gradients_of_outputs()) > 1])
def test_outputs_that_nobody_uses_have_gradients_of_zeros(kind):
    above = kind.gradients_of_outputs()
    for used in range(len(above)):
        inputs = [nd.array(one, dtype=one.dtype) for one in kind.inputs()]
        for one in inputs:
            one.attach_grad()
        with mx.autograd.record():
            output = function(kind)(*inputs, **kind.attributes)[used]
        output.backward(nd.array(above[used], dtype="float64"))
        zeros = [one if i == used else np.zeros_like(one) for i, one in enumerate(above)]
        close([one.grad for one in inputs], kind.backward(zeros, *kind.inputs()))


@pytest.mark.parametrize("kind", PARAMETERS)
def test_hips_autograd(kind):
    inputs, above = kind.inputs(), kind.gradients_of_outputs()
    expected = kind.backward(above, *inputs)

    def loss(*values):
        arguments = kind.inputs()
        for i, value in zip(kind.differentiable, values, strict=True):
            arguments[i] = value
        got = function(kind)(*arguments, **kind.attributes)
        parts = [got] if len(above) == 1 else [got[k] for k in range(len(above))]
        return sum((one * g).sum() for one, g in zip(parts, above, strict=True))

    values = [inputs[i] for i in kind.differentiable]
    for grad in (hips.grad, mx.grad):
        for k, i in enumerate(kind.differentiable):
            close(grad(loss, k)(*values), expected[i])


@pytest.mark.parametrize("kind", [one for one in PARAMETERS if one.values[0].exact])
def test_check(kind):
    operator = function(kind).configured({key: str(value) for key, value in kind.attributes.items()})
    report = operator.check(*kind.inputs())
    assert any(row.result == "ok" for row in report.rows if row.what.startswith("gradient"))


def symbol(kind, place=sym):
    variables = [sym.var(f"v{i}") for i in range(len(kind.shapes))]
    return function(kind, place)(*variables, name="node", **kind.attributes)


@pytest.mark.parametrize("how", ["bind", "simple_bind", "json", "pickle"])
@pytest.mark.parametrize("kind", PARAMETERS)
def test_graphs(kind, how):
    y = symbol(kind)
    if how == "json":
        y = sym.load_json(y.tojson())
    elif how == "pickle":
        y = pickle.loads(pickle.dumps(y))
    assert y.list_arguments() == [f"v{i}" for i in kind.arguments]
    assert y.list_auxiliary_states() == [f"v{i}" for i in kind.states]
    assert y.list_inputs() == [f"v{i}" for i in range(len(kind.shapes))]
    inputs, above = kind.inputs(), kind.gradients_of_outputs()
    count = len(above)
    assert y.list_outputs() == (["node_output"] if count == 1 else [f"node_output{i}" for i in range(count)])
    types = {f"v{i}": inputs[i].dtype.name for i in kind.arguments}
    needs = {f"v{i}": "write" if i in kind.differentiable else "null" for i in kind.arguments}
    if how == "simple_bind":
        shapes = {f"v{i}": kind.shapes[i] for i in kind.arguments}
        executor = y.simple_bind(mx.cpu(), grad_req=needs, type_dict=types, **shapes)
    else:
        arrays = {f"v{i}": nd.zeros(kind.shapes[i], dtype=inputs[i].dtype) for i in range(len(inputs))}
        gradients = {f"v{i}": nd.zeros(kind.shapes[i], dtype="float64") for i in kind.differentiable}
        executor = y.bind(
            mx.cpu(),
            {f"v{i}": arrays[f"v{i}"] for i in kind.arguments},
            gradients,
            needs,
            {f"v{i}": arrays[f"v{i}"] for i in kind.states},
        )
    for i in kind.arguments:
        executor.arg_dict[f"v{i}"][:] = inputs[i]
    for i in kind.states:
        executor.aux_dict[f"v{i}"][:] = inputs[i]
    expected, changed = kind.forward(*inputs), kind.changed and kind.changed(*inputs)
    close(executor.forward(is_train=True), expected)
    executor.backward([nd.array(one, dtype="float64") for one in above])
    for i in kind.differentiable:
        close(executor.grad_dict[f"v{i}"], kind.backward(above, *inputs)[i])
    for position, value in zip(kind.states, changed or (), strict=True):
        close(executor.aux_dict[f"v{position}"], value)


@pytest.mark.parametrize("kind", PARAMETERS)
def test_graphs_add_gradients(kind):
    inputs, above = kind.inputs(), kind.gradients_of_outputs()
    y = symbol(kind)
    gradients = {f"v{i}": nd.ones(kind.shapes[i], dtype="float64") for i in kind.differentiable}
    executor = y.bind(
        mx.cpu(),
        {f"v{i}": nd.array(inputs[i], dtype=inputs[i].dtype) for i in kind.arguments},
        gradients,
        {f"v{i}": "add" if i in kind.differentiable else "null" for i in kind.arguments},
        {f"v{i}": nd.array(inputs[i], dtype=inputs[i].dtype) for i in kind.states},
    )
    total = [1.0 for _ in kind.differentiable]
    for times in (1, 2):
        for i in kind.states:
            executor.aux_dict[f"v{i}"][:] = inputs[i]
        executor.forward(is_train=True)
        executor.backward([nd.array(one, dtype="float64") for one in above])
        # A bound operator keeps its state: the factor of this one is the number of its forward calls.
        factor = times if kind.name == "counted" else 1
        for k, i in enumerate(kind.differentiable):
            total[k] = total[k] + factor * kind.backward(above, *inputs)[i]
            close(gradients[f"v{i}"], total[k])


class Block(gluon.HybridBlock):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        with self.name_scope():
            for i in kind.states:
                self.params.get(
                    f"state{i}", shape=kind.shapes[i], dtype=kind.inputs()[i].dtype, grad_req="null", init="zeros"
                )
        for i in kind.states:
            setattr(self, f"state{i}", self.params.get(f"state{i}"))

    def hybrid_forward(self, F, *data, **states):
        values = list(data)
        for i in self.kind.states:
            values.insert(i, states[f"state{i}"])
        return function(self.kind, F)(*values, **self.kind.attributes)


@pytest.mark.parametrize("how", ["plain", "hybridized", "static"])
@pytest.mark.parametrize("kind", PARAMETERS)
def test_gluon(kind, how):
    block = Block(kind)
    block.initialize()
    if how != "plain":
        block.hybridize(static_alloc=how == "static", static_shape=how == "static")
    inputs, above = kind.inputs(), kind.gradients_of_outputs()
    arrays = {i: nd.array(inputs[i], dtype=inputs[i].dtype) for i in kind.arguments}
    for i in kind.differentiable:
        arrays[i].attach_grad()
    for times in (1, 2):
        for i in kind.states:
            getattr(block, f"state{i}").set_data(nd.array(inputs[i], dtype=inputs[i].dtype))
        with mx.autograd.record():
            got = outputs(block(*arrays.values()))
        mx.autograd.backward(got, [nd.array(one, dtype="float64") for one in above])
        factor = times if kind.name == "counted" and how == "static" else 1
        close([one / factor for one in got], kind.forward(*inputs))
        for i in kind.differentiable:
            close(arrays[i].grad / factor, kind.backward(above, *inputs)[i])
        changed = kind.changed(*inputs) if kind.changed else ()
        for position, value in zip(kind.states, changed, strict=True):
            close(getattr(block, f"state{position}").data(), value)


@pytest.mark.parametrize("version", [7, 10])
@pytest.mark.parametrize("kind", PARAMETERS)
def test_older_interfaces(kind, version):
    watched = loaded(version)
    alive = watched.states
    arrays = [nd.array(one, dtype=one.dtype) for one in kind.inputs()]
    for i in kind.differentiable:
        arrays[i].attach_grad()
    with mx.autograd.record():
        got = outputs(getattr(nd, f"raw_{kind.name}{VERSIONS[version]}")(*arrays, **kind.attributes))
    above = kind.gradients_of_outputs()
    mx.autograd.backward(got, [nd.array(one, dtype="float64") for one in above])
    expected = kind.backward(above, *kind.inputs())
    close(got, kind.forward(*kind.inputs()))
    close([arrays[i].grad for i in kind.differentiable], [expected[i] for i in kind.differentiable])
    assert watched.faults == []
    assert watched.blocks == 0
    stateful = kind.name in ("counted", "stateful_pair", "stateful_running")
    assert watched.states == alive + stateful, "these interfaces have no way to destroy a state"


@pytest.mark.parametrize("place", [nd, sym, nd.op])
def test_a_misspelt_name_is_told_the_nearest_one(place):
    with pytest.raises(AttributeError, match=r"has no operator 'raw_afine'\. Did you mean 'raw_affine'"):
        _ = place.raw_afine
