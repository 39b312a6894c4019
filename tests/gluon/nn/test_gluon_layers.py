"""Every layer of Gluon that `tests/support/gluon_layers` declares: one declaration buys all of these tests."""

from __future__ import annotations

import copy
import pickle
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gluon_layers import FAMILIES, load, running
from gluon_layers.declaration import Layer
from many import each

import minpy as mx
from minpy import autograd

CPUS = [mx.cpu(0), mx.cpu(1)]


DECLARED = {f"{family}-{layer.id}": layer for family in FAMILIES for layer in load(family)}


def every(condition: Callable[[Layer], bool] = lambda layer: True) -> Any:
    """Check the declarations for which the condition is true, some of them in each test."""
    return each({name: (layer,) for name, layer in DECLARED.items() if condition(layer)}, at_once=5)


def every_class(condition: Callable[[Layer], bool] = lambda layer: True) -> Any:
    """Check what does not depend on options: the declaration of each class that says the most."""
    chosen: dict[tuple[str, ...], str] = {}
    for name, layer in DECLARED.items():
        if condition(layer):
            classes = tuple(re.findall(r"\b[A-Z]\w*", re.sub("'.*?'", "", layer.build)))
            before = chosen.setdefault(classes, name)
            if len(layer.build) > len(DECLARED[before].build):
                chosen[classes] = name
    return each({name: (DECLARED[name],) for name in chosen.values()}, at_once=5)


def call(layer: Layer, net: Any, x: list[Any]) -> list[Any]:
    """Call a layer that predicts; return its outputs."""
    return running.call(layer, net, x)


def assert_same(got: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Assert that lists of arrays have the same lengths, shapes, dtypes and numbers."""
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        one, other = (a.asnumpy() if hasattr(a, "asnumpy") else a for a in (one, other))
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def twins(layer: Layer, dtype: str = "float32", ctx: Any = None) -> tuple[Any, Any]:
    """Return two filled layers that are equal, the second hybridized."""
    eager = running.ready(mx, layer, dtype, ctx=ctx)
    hybrid = running.ready(mx, layer, dtype, ctx=ctx)
    hybrid.hybridize()
    return eager, hybrid


def is_floating(array: Any) -> bool:
    """Tell whether an array is of floating-point numbers: it has a gradient then."""
    return np.dtype(array.dtype).kind == "f"


def shapes(net: Any) -> dict[str, Any]:
    return {name: parameter.shape for name, parameter in net.collect_params().items()}


# -- building ----------------------------------------------------------------------------------------------------------


@every(lambda layer: layer.given is not None)
def test_deferred_shapes_are_the_given_ones(layer: Layer) -> None:
    given = running.build(mx, layer, layer.given)
    given.initialize()
    assert all(parameter.data().shape == parameter.shape for parameter in given.collect_params().values())
    expected = shapes(given)
    running.fill(given)
    for hybridized in (False, True) if layer.hybrid else (False,):
        net = running.build(mx, layer)
        net.initialize()
        if hybridized:
            net.hybridize()
        call(layer, net, running.inputs(mx, layer))
        assert shapes(net) == expected
        assert_same(
            call(layer, running.fill(net), running.inputs(mx, layer)), call(layer, given, running.inputs(mx, layer))
        )


@every()
def test_shapes_do_not_change_with_a_call(layer: Layer) -> None:
    expected = shapes(running.ready(mx, layer))
    net = running.build(mx, layer, layer.given)
    assert shapes(net) == expected, "the declaration needs `given`, with all shapes"


@every_class()
def test_force_reinit_draws_again_and_set_data_is_seen(layer: Layer) -> None:
    net = running.ready(mx, layer)
    before = call(layer, net, running.inputs(mx, layer))
    net.initialize(mx.init.Normal(2), force_reinit=True)
    for parameter in net.collect_params().values():
        assert parameter.data().shape == parameter.shape
    assert_same(call(layer, running.fill(net), running.inputs(mx, layer)), before)


# -- files -------------------------------------------------------------------------------------------------------------


def new_folder() -> Path:
    """Return a folder, which goes when the tests end."""
    return Path(tempfile.mkdtemp())


@every()
def test_parameters_are_saved_and_loaded_by_place(layer: Layer) -> None:
    folder = new_folder()
    net = running.ready(mx, layer)
    expected = call(layer, net, running.inputs(mx, layer))
    net.save_parameters(folder / "a.params")
    fresh = running.build(mx, layer)
    fresh.load_parameters(folder / "a.params")
    assert_same(call(layer, fresh, running.inputs(mx, layer)), expected)


@every_class()
def test_parameters_are_saved_and_loaded_by_name(layer: Layer) -> None:
    folder = new_folder()
    net = running.ready(mx, layer)
    expected = call(layer, net, running.inputs(mx, layer))
    net.collect_params().save(folder / "a.params", strip_prefix=net.prefix)
    fresh = running.build(mx, layer)
    fresh.collect_params().load(folder / "a.params", restore_prefix=fresh.prefix)
    assert_same(call(layer, fresh, running.inputs(mx, layer)), expected)


def arrays_of(kind: str, arrays: Any) -> dict[str, Any]:
    """Return the arrays of a kind, 'arg' or 'aux', that a file of `export` holds; an empty file holds a list."""
    return {name.removeprefix(f"{kind}:"): arrays[name] for name in arrays if name.startswith(f"{kind}:")}


@every(lambda layer: layer.hybrid)
def test_exported_graph_gives_the_same_output(layer: Layer) -> None:
    folder = new_folder()
    net = running.ready(mx, layer)
    net.hybridize()
    x = running.inputs(mx, layer)
    expected = call(layer, net, x)
    net.export(folder / "net")
    graph, arrays = mx.sym.load(folder / "net-symbol.json"), mx.nd.load(folder / "net-0000.params")
    variables = [one.name for one in net._cached_graph[0]]
    names = graph.list_arguments()
    given = dict(zip(variables, x, strict=True))
    values = {**arrays_of("arg", arrays), **{name: array for name, array in given.items() if name in names}}
    assert_same(graph.bind(mx.cpu(), values, aux_states=arrays_of("aux", arrays)).forward(), expected)
    imported = mx.gluon.SymbolBlock.imports(
        str(folder / "net-symbol.json"), variables, str(folder / "net-0000.params") if arrays else None
    )
    assert_same(running.flat(imported(*x)), expected)


# -- hybridized --------------------------------------------------------------------------------------------------------


# Whether a step trains, and how many more inputs it has: the same twice, the other mode, another shape, and back.
STEPS = [(True, 0), (True, 0), (False, 0), (True, 1), (True, 0)]


@every(lambda layer: layer.hybrid)
def test_hybridized_is_eager(layer: Layer) -> None:
    eager, hybrid = twins(layer)
    for seed, (training, more) in enumerate(STEPS):
        x, same = (running.inputs(mx, layer, seed=seed, more=more) for _ in range(2))
        expected = running.step(mx, layer, eager, x, training)
        assert_same(running.step(mx, layer, hybrid, same, training), expected)
    assert_same(call(layer, hybrid, same), call(layer, eager, x))


def several_calls(layer: Layer, net: Any) -> list[Any]:
    """Call a layer twice, with gradients added up, before one backward, and that twice; return all gradients."""
    x = running.inputs(mx, layer, seed=1)
    wanted = [array for array, spec in zip(x, layer.specs, strict=True) if spec.differentiable]
    for array in wanted:
        array.attach_grad("add")
    for parameter in running.trained(net):
        parameter.grad_req = "add"
    for _ in range(2):
        mx.random.seed(3)
        with autograd.record():
            other = [array * 0.5 if spec.differentiable else array for array, spec in zip(x, layer.specs, strict=True)]
            outputs = [*running.call(layer, net, x), *running.call(layer, net, other)]
        outputs = [output for output in outputs if is_floating(output)]
        if wanted or running.trained(net):
            autograd.backward(outputs, running.heads(mx, outputs))
    gradients = [array.grad for array in wanted] + [parameter.grad() for parameter in running.trained(net)]
    return [*outputs, *gradients, *running.states(net)]


@every_class(lambda layer: layer.hybrid)
def test_called_twice_before_one_backward(layer: Layer) -> None:
    eager, hybrid = twins(layer)
    assert_same(several_calls(layer, hybrid), several_calls(layer, eager))


@every_class(lambda layer: layer.hybrid)
def test_inside_a_container(layer: Layer) -> None:
    results = []
    for hybridized in (False, True):
        with mx.name.NameManager():
            container = mx.gluon.nn.HybridSequential()
        with container.name_scope():
            container.add(running.build(mx, layer))
        container.initialize()
        container.hybridize(hybridized)
        call(layer, container, running.inputs(mx, layer))
        running.fill(container)
        results.append(running.step(mx, layer, container, running.inputs(mx, layer, seed=1)))
    assert_same(*results)
    alone = running.step(mx, layer, running.ready(mx, layer), running.inputs(mx, layer, seed=1))
    assert_same(results[0], alone)


# -- gradients ---------------------------------------------------------------------------------------------------------


def loss_of(layer: Layer, net: Any, x: list[Any], training: bool) -> Any:
    """Return the weighted sum of the outputs, of numbers drawn alike."""
    mx.random.seed(3)
    with autograd.train_mode() if training else autograd.predict_mode():
        outputs = running.call(layer, net, x)
    outputs = [output for output in outputs if is_floating(output)]
    total = 0
    for output, weights in zip(outputs, running.heads(mx, outputs), strict=True):
        total = total + (output * weights).sum()
    return total


@each(
    {
        f"{name}-{'training' if training else 'predicting'}": (layer, training)
        for name, layer in DECLARED.items()
        if layer.double and layer.smooth and not layer.zero_gradient
        for training in (True, False)
    },
    at_once=10,
)
def test_gradients_are_finite_differences(layer: Layer, training: bool) -> None:
    net = running.ready(mx, layer, "float64")
    x = running.inputs(mx, layer, "float64", seed=1)
    running.step(mx, layer, net, x, training)
    places = [(array, array.grad) for array in running.attach(layer, x)]
    mx.random.seed(3)
    with autograd.record(train_mode=training):
        loss = loss_of(layer, net, x, training)
    if not places and not running.trained(net):
        pytest.skip("it has neither inputs nor parameters with gradients")
    loss.backward()
    places += [(parameter.data(), parameter.grad()) for parameter in running.trained(net)]
    assert any(np.abs(gradient.asnumpy()).max() > 1e-3 for _, gradient in places), "all gradients are zero"
    width = 1e-6
    for index, (array, gradient) in enumerate(places):
        direction = np.cos(np.arange(array.size) * 0.7 + index).reshape(array.shape)
        expected = (gradient.asnumpy() * direction).sum()
        values = array.asnumpy()
        losses = []
        for sign in (1, -1):
            array[:] = mx.nd.array(values + sign * width * direction, dtype="float64")
            losses.append(loss_of(layer, net, x, training).asscalar())
        array[:] = mx.nd.array(values, dtype="float64")
        np.testing.assert_allclose((losses[0] - losses[1]) / (2 * width), expected, layer.tolerance, layer.tolerance)


def second_order(layer: Layer, net: Any) -> list[Any]:
    """Return the gradients of the sum of squares of the gradients."""
    x = running.inputs(mx, layer, "float64", seed=1)
    wanted = running.attach(layer, x)
    sources = wanted + [parameter.data() for parameter in running.trained(net)]
    mx.random.seed(3)
    with autograd.record():
        outputs = [output for output in running.call(layer, net, x) if is_floating(output)]
        total = 0
        for output, weights in zip(outputs, running.heads(mx, outputs), strict=True):
            total = total + (output * output * weights).sum()
        firsts = autograd.grad(total, sources, create_graph=True, retain_graph=True)
        squares = 0
        for first in firsts:
            squares = squares + (first * first).sum()
    squares.backward()
    return [*firsts, *[array.grad for array in wanted], *[parameter.grad() for parameter in running.trained(net)]]


@every(lambda layer: layer.hybrid and layer.second_order and layer.double)
def test_second_order_hybridized_is_eager(layer: Layer) -> None:
    eager, hybrid = twins(layer, "float64")
    if not running.trained(eager) and not any(spec.differentiable for spec in layer.specs):
        pytest.skip("it has neither inputs nor parameters with gradients")
    assert_same(second_order(layer, hybrid), second_order(layer, eager), 1e-9, 1e-10)


# -- dtypes ------------------------------------------------------------------------------------------------------------


@every()
def test_casts(layer: Layer) -> None:
    expected = call(layer, running.ready(mx, layer), running.inputs(mx, layer, seed=1))
    for dtype, tolerance in (("float64", 1e-5), ("float16", 3e-2)):
        if not (layer.double if dtype == "float64" else layer.half):
            continue
        results = []
        for hybridized in (False, True) if layer.hybrid else (False,):
            net = running.ready(mx, layer)
            if hybridized:
                net.hybridize()
            call(layer, net, running.inputs(mx, layer))
            net.cast(dtype)
            outputs = call(layer, net, running.inputs(mx, layer, dtype, seed=1))
            for output, other in zip(outputs, expected, strict=True):
                assert output.dtype == (np.dtype(dtype) if is_floating(other) else other.dtype)
                np.testing.assert_allclose(output.asnumpy(), other.asnumpy(), tolerance, tolerance)
            results.append(outputs)
        assert_same(results[0], results[-1], tolerance, tolerance)


# -- contexts ----------------------------------------------------------------------------------------------------------


@every_class()
def test_contexts(layer: Layer) -> None:
    alone = running.step(mx, layer, running.ready(mx, layer), running.inputs(mx, layer, seed=1), training=False)
    for hybridized in (False, True) if layer.hybrid else (False,):
        net = running.ready(mx, layer, ctx=CPUS)
        if hybridized:
            net.hybridize()
        for context in reversed(CPUS):
            x = running.inputs(mx, layer, seed=1, ctx=context)
            wanted = running.attach(layer, x)
            with autograd.record(train_mode=False):
                outputs = running.call(layer, net, x)
            assert all(output.context == context for output in outputs)
            if wanted or running.trained(net):
                autograd.backward(outputs, running.heads(mx, outputs))
            gradients = [array.grad for array in wanted]
            gradients += [parameter.grad(context) for parameter in running.trained(net)]
            assert all(gradient.context == context for gradient in gradients)
            assert_same([*outputs, *gradients, *running.states(net)], alone)


# -- copies ------------------------------------------------------------------------------------------------------------


@every_class()
def test_deep_copies_are_equal_and_independent(layer: Layer) -> None:
    net = running.ready(mx, layer)
    if layer.hybrid:
        net.hybridize()
    expected = call(layer, net, running.inputs(mx, layer))
    copied = copy.deepcopy(net)
    assert_same(call(layer, copied, running.inputs(mx, layer)), expected)
    assert_same(
        running.step(mx, layer, copied, running.inputs(mx, layer, seed=1)),
        running.step(mx, layer, running.ready(mx, layer), running.inputs(mx, layer, seed=1)),
    )
    running.fill(copied, seed=5)
    assert_same(call(layer, net, running.inputs(mx, layer)), expected)


@every_class(lambda layer: layer.picklable)
def test_pickles(layer: Layer) -> None:
    net = running.ready(mx, layer)
    if layer.hybrid:
        net.hybridize()
    call(layer, net, running.inputs(mx, layer))
    loaded = pickle.loads(pickle.dumps(net))
    assert repr(loaded) == repr(net)
    assert list(loaded.collect_params()) == list(net.collect_params())
    assert_same(
        running.step(mx, layer, loaded, running.inputs(mx, layer, seed=1)),
        running.step(mx, layer, net, running.inputs(mx, layer, seed=1)),
    )


# -- mx.np -------------------------------------------------------------------------------------------------------------


@every(lambda layer: layer.numpy)
def test_numpy_semantics(layer: Layer) -> None:
    expected = running.step(mx, layer, running.ready(mx, layer), running.inputs(mx, layer, seed=1))
    with running.numpy_semantics(mx):
        for hybridized in (False, True) if layer.hybrid else (False,):
            net = running.build(mx, layer)
            net.initialize()
            if hybridized:
                net.hybridize()
            outputs = call(layer, net, running.inputs(mx, layer))
            assert all(type(output) is mx.np.ndarray for output in outputs)
            assert all(type(parameter.data()) is mx.np.ndarray for parameter in net.collect_params().values())
            assert_same(
                running.step(mx, layer, running.fill(net), running.inputs(mx, layer, seed=1)), expected, 1e-5, 1e-5
            )


# -- symbols -----------------------------------------------------------------------------------------------------------


@every(lambda layer: layer.hybrid)
def test_called_on_symbols(layer: Layer) -> None:
    net = running.ready(mx, layer)
    x = running.inputs(mx, layer, seed=1)
    expected = call(layer, net, x)
    variables = [mx.sym.var(f"input{index}") for index in range(len(x))]
    outputs = running.flat(eval(layer.call, {"net": net, "x": variables}))
    graph = mx.sym.Group(outputs)
    names = graph.list_inputs()
    given = {f"input{index}": array for index, array in enumerate(x) if f"input{index}" in names}
    params = {name: parameter.data() for name, parameter in net.collect_params().items() if name in names}
    states = {name: params.pop(name) for name in graph.list_auxiliary_states()}
    assert_same(graph.bind(mx.cpu(), {**given, **params}, aux_states=states).forward(), expected)
