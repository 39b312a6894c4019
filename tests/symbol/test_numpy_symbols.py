"""`sym.np`: calls give what they give on arrays, values, shapes, dtypes and gradients; and what files hold of them."""

from __future__ import annotations

import copy
import json
import pickle
import re
from typing import Any

import numpy
import pytest
from many import each
from numpy_calls import CALLS, NO_GRADIENT, inputs
from places import GOLDEN

import minpy as mx
from minpy.core.errors import ArgumentError, FileFormatError, ShapeError
from minpy.ops.composed import Composed
from minpy.ops.registry import LATE_OPERATORS, find_operator, known_operator

np, F = mx.np, mx.sym.np
ANSWERS = json.loads(GOLDEN.joinpath("numpy_symbols.json").read_text())


def symbols(*names: str) -> Any:
    found = [mx.sym.var(name).as_np_ndarray() for name in names]
    return found[0] if len(found) == 1 else found


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def evaluated(call: str, namespace: Any, values: dict[str, Any]) -> list[Any]:
    return as_list(eval(call, {"np": namespace, **values}))


@each({f"{call}-{dtype}": (call, dtype) for call in CALLS for dtype in ("float64", "float32")}, at_once=10)
def test_a_symbol_gives_what_arrays_give(call: str, dtype: str) -> None:
    arrays = {name: np.array(array) for name, array in inputs(dtype).items()}
    differentiable = not call.startswith(NO_GRADIENT)
    if differentiable:
        for array in arrays.values():
            array.attach_grad()
    with mx.autograd.record():
        wanted = evaluated(call, np, arrays)
    group = mx.sym.Group(evaluated(call, F, {name: symbols(name) for name in arrays}))
    names = group.list_arguments()
    given = {name: arrays[name] for name in names}
    with mx.np_shape():
        _, shapes, _ = group.infer_shape(**{name: array.shape for name, array in given.items()})
    _, types, _ = group.infer_type(**dict.fromkeys(names, dtype))
    tolerance = {"rtol": 1e-10} if dtype == "float64" else {"rtol": 2e-5, "atol": 1e-6}
    random = numpy.random.RandomState(1)
    heads = [np.array(random.uniform(0.5, 1.5, array.shape).astype(array.dtype)) for array in wanted]
    grads = {name: mx.nd.zeros(array.shape, dtype=dtype) for name, array in given.items()}
    for symbol in (group, mx.sym.load_json(group.tojson())):
        executor = symbol.bind(mx.cpu(), given, args_grad=grads)
        for _ in range(2):  # step by step, and compiled
            outputs = executor.forward(is_train=True)
            for output, array, shape, kind in zip(outputs, wanted, shapes, types, strict=True):
                numpy.testing.assert_allclose(output.asnumpy(), array.asnumpy(), **tolerance)
                assert output.shape == array.shape == shape
                assert output.dtype == numpy.dtype(kind).type
                if names and "ntile" not in call:  # else MXNet's dtype: NumPy 1 makes float64 of float32
                    assert output.dtype == array.dtype.type
        recorded = [(array, head) for array, head in zip(wanted, heads, strict=True) if array._node is not None]
        if recorded and differentiable:
            executor.backward(heads)
            mx.autograd.backward(*map(list, zip(*recorded, strict=True)), retain_graph=True)
            for name in names:
                numpy.testing.assert_allclose(
                    grads[name].asnumpy(),
                    arrays[name].grad.asnumpy(),
                    **({"rtol": 1e-7, "atol": 1e-9} if dtype == "float64" else {"rtol": 1e-3, "atol": 1e-5}),
                )


# -- files -------------------------------------------------------------------------------------------------------------


def plain(text: Any) -> str:
    """Return an attribute's text, lists as tuples and numbers in one way."""
    text = str(text).replace("[", "(").replace("]", ")").replace(",)", ")")
    text = text[1:-1] if re.fullmatch(r"\((-?[\d.]+|None)\)", text) else text  # of a tuple of one
    return repr(float(text)) if re.fullmatch(r"-?[\d.]+", text) else text


def nodes_of(document: dict[str, Any]) -> list[Any]:
    return [
        [
            node["op"],
            re.sub(r"\d+$", "", node["name"]),
            {key: text for key, value in node.get("attrs", {}).items() if (text := plain(value)) != "None"},
            node["inputs"],
        ]
        for node in document["nodes"]
        if node["op"] != "null"
    ]


# Calls that files hold otherwise than MXNet's, and why.
OTHERWISE = {
    r".*\(\d, ?x\)|\d[-/%*]+x": "MXNet forgets that a number on the left is whole",
    r"sn\.(empty_like|resize|unravel_index|array_split|histogram)\(.*": "MXNet has a Python operator, or refuses",
    r"sn\.random\.(chisquare|multivariate_normal|shuffle)\(.*": "MXNet's scale is the inverse; or no operator",
    r"sn\.pad\(.*constant_values=3\)": "MXNet ignores the value",
    r"sn\.linalg\.(det|slogdet)\(x\)": "MXNet's operator has one axis or none, as np_shape says at run time",
    r"x\[-1\]": "MXNet's has an end before its beginning",
    r"x\.(sum|max|min|prod)\(.*": "MXNet's methods spell defaults out",
}


@each({call: (call,) for call in ANSWERS})
def test_files_hold_what_mxnet_writes(call: str) -> None:
    """The file that MXNet writes for a call is read; and the one that is written is the same."""
    document = ANSWERS[call]
    missing = [node["op"] for node in document["nodes"] if node["op"] not in ("null", "Custom")]
    if any(known_operator(op) is None for op in missing) or any(node["op"] == "Custom" for node in document["nodes"]):
        assert call.startswith(("snx.", "sn.linalg.", "sn.histogram", "sn.empty_like", "sn.resize", "sn.unravel")) or (
            "multivariate" in call
        )
        return
    read = mx.sym.load_json(json.dumps(document))
    assert nodes_of(json.loads(read.tojson())) == nodes_of(document)
    x, y, z = symbols("x", "y", "z")
    made = eval(call, {"sn": F, "snx": mx.sym.npx, "x": x, "y": y, "z": z, "float": float, "slice": slice, "abs": abs})
    own = mx.sym.Group(made) if isinstance(made, list) else made
    if not any(re.fullmatch(pattern, call) for pattern in OTHERWISE):
        assert nodes_of(json.loads(own.tojson())) == nodes_of(document)


def test_a_file_for_mxnet_refuses_what_mxnet_does_not_know() -> None:
    x = symbols("x")
    median = F.median(x)
    assert json.loads(median.tojson())["nodes"][1]["op"] == "minpy:np.median"
    text = r"'median0' \(minpy:np.median\) is a function that MXNet's files have no name for.*for_mxnet=False"
    with mx.name.NameManager(), pytest.raises(ArgumentError, match=text):
        F.median(x).tojson(for_mxnet=True)
    mean = F.mean(x)
    assert mean.tojson(for_mxnet=True) == mean.tojson()
    with mx.np_shape():
        assert json.loads(mean.tojson())["attrs"] == {"is_np_shape": ["int", 1], "mxnet_version": ["int", 10901]}
        assert mx.sym.load_json(mean.tojson()).tojson() == mean.tojson()


def test_a_file_cannot_make_a_call_run_anything_else() -> None:
    text = F.median(symbols("x")).tojson().replace('"call": "x0"', '"call": "__import__(1)"')
    assert "__import__" in text
    loaded = mx.sym.load_json(text)
    with pytest.raises(Exception, match=r"__import__"):
        loaded.eval(x=np.ones(3))
    with pytest.raises(FileFormatError, match=r"there is no operator 'minpy:np\.nothing'"):
        mx.sym.load_json(F.median(symbols("x")).tojson().replace("minpy:np.median", "minpy:np.nothing"))


# -- the class ---------------------------------------------------------------------------------------------------------


def test_both_kinds_of_symbols() -> None:
    x = mx.sym.var("x")
    array = x.as_np_ndarray()
    assert type(array) is F._Symbol
    assert type(array.as_nd_ndarray()) is mx.sym.Symbol
    assert array.as_np_ndarray() is array
    assert x.as_nd_ndarray() is x
    made = [array + x, x + array, array.exp(), copy.copy(array), copy.deepcopy(array)]
    made.append(pickle.loads(pickle.dumps(array + 1)))
    assert {type(one) for one in made} == {F._Symbol}
    assert type(mx.sym.Group([array, x])) is mx.sym.Symbol
    assert repr(array) == "<_Symbol x>"
    for wrong in (len, iter, list):
        with pytest.raises(TypeError, match=r"<_Symbol x>"):
            wrong(array)
    with pytest.raises(ArgumentError, match=r"item: a symbol has no values"):
        array.item()
    with pytest.raises(ArgumentError, match=r"cannot stand in a graph.*sym\.var"):
        F.take(array, numpy.arange(2))
    with pytest.raises(ArgumentError, match=r"sym\.np\.add: .*expected a symbol or a number"):
        _ = array + numpy.ones(3)
    with pytest.raises(ArgumentError, match=r"out= is for arrays"):
        F.exp(array, out=array)
    with pytest.raises(AttributeError, match=r"minpy\.sym\.np has no function 'mena'\. Did you mean 'mean'"):
        _ = F.mena


def test_shapes_that_depend_on_values_are_not_known() -> None:
    x = symbols("x")
    assert F.unique(x).infer_shape(x=(3,)) == (None, None, None)
    with mx.np_shape():
        assert mx.sym.npx.nonzero(x).infer_shape_partial(x=(3, 2))[1] == [(-1, 2)]
    with pytest.raises(ShapeError, match=r"the shape of node 'unique\d+' .* cannot be inferred"):
        F.unique(x).bind(mx.cpu(), {"x": np.ones(3)})


def test_partly_known_shapes() -> None:
    x, y = symbols("x", "y")
    with mx.np_shape():
        assert (F.mean(x, axis=1) + 1).infer_shape_partial(x=(-1, 3, 0))[1] == [(-1, 0)]
        assert F.add(x, y).infer_shape_partial(x=(-1, 3), y=(4, 1))[1] == [(4, 3)]
        assert F.sum(x).infer_shape_partial()[1] == [()]
        assert F.exp(x).infer_shape_partial()[1] == [None]
        assert mx.sym.npx.reshape(x, (-2, -1)).infer_shape_partial(x=(2, 3, 4))[1] == [(2, 12)]
        assert F.transpose(x).infer_shape_partial(x=(2, -1))[1] == [(-1, 2)]


def test_draws_and_their_gradients() -> None:
    loc = symbols("loc")
    for made, wanted in (
        (F.random.normal(loc, 2.0, (1000, 3)), 1000.0),
        (F.random.gumbel(loc, 2.0, (1000, 3)), 1000.0),
        (mx.sym.npx.random.normal_n(loc, 2.0, (1000,)), 1000.0),
    ):
        grads = {"loc": mx.nd.zeros((3,))}
        executor = made.bind(mx.cpu(), {"loc": np.array([0.0, 5.0, -5.0])}, args_grad=grads)
        (drawn,) = executor.forward(is_train=True)
        assert drawn.shape == (1000, 3)
        assert numpy.all(numpy.abs(drawn.asnumpy().mean(0) - [0, 5, -5]) < 2)
        assert not numpy.array_equal(drawn.asnumpy(), executor.forward(is_train=True)[0].asnumpy())
        executor.backward(mx.nd.ones((1000, 3)))
        numpy.testing.assert_allclose(grads["loc"].asnumpy(), [wanted] * 3)
    for made in (
        F.random.rand(2, 3),
        F.random.randint(0, 5, (2, 3)),
        F.random.choice(5, (2, 3)),
        F.random.beta(1.0, 2.0, (2, 3)),
    ):
        (drawn,) = made.eval()
        assert drawn.shape == (2, 3)
        assert (drawn.asnumpy() >= 0).all()


def test_every_late_operator_is_described_and_pickled() -> None:
    known_operator("_npi_add")
    for name, operator in LATE_OPERATORS.items():
        assert operator.__doc__, name
        assert pickle.loads(pickle.dumps(operator)) is operator
        assert find_operator(name) is operator
        assert isinstance(operator, Composed) or operator.all_zero or operator.random, (
            f"{name} says nothing of gradients"
        )


def test_the_gradient_of_a_composition_is_differentiable_again() -> None:
    cube = find_operator("_npi_power_scalar")
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = cube(x, scalar=3.0, is_int=True)
        (first,) = mx.autograd.grad([y], [x], create_graph=True)
    first.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy(), [6.0, 12.0])
