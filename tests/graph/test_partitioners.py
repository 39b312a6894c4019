"""Partitioners written in Python: what runs their groups, what they may return, and what is refused."""

from __future__ import annotations

import json
import pickle
import threading

import numpy as np
import pytest

import minpy as mx
from minpy import nd, sym
from minpy.core.configured import FAMILIES
from minpy.core.errors import ArgumentError, ArgumentValueError, DTypeError, GradientError, MXNetError, ShapeError
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES

KINDS = ["exp", "log", "BatchNorm", "FullyConnected", "_plus_scalar", "Dropout"]


@pytest.fixture(autouse=True)
def registries():
    """What is registered in a test is gone after it."""
    before = [dict(table) for table in (PARTITIONERS, PASSES, FAMILIES)]
    yield
    for table, content in zip((PARTITIONERS, PASSES, FAMILIES), before, strict=True):
        table.clear()
        table.update(content)


def partitioner(name, *supported, **keywords):
    return mx.graph.register_partitioner(name, *supported, **keywords)


def network():
    """Return a network with states, and arrays for it."""
    x = sym.var("x")
    fc = sym.FullyConnected(sym.log(x) + 1, num_hidden=3, name="fc")
    net = sym.broadcast_mul(sym.exp(sym.BatchNorm(fc, name="bn", fix_gamma=False), name="e"), sym.sum(x), name="out")
    rng = np.random.RandomState(0)
    arguments, _, states = net.infer_shape(x=(4, 5))
    names = net.list_arguments(), net.list_auxiliary_states()
    tables = [
        {name: nd.array(rng.uniform(0.5, 1.5, shape)) for name, shape in zip(keys, shapes, strict=True)}
        for keys, shapes in zip(names, (arguments, states), strict=True)
    ]
    return net, *tables


def trained(net, args, aux):
    """Return outputs, gradients and states of two steps."""
    args, aux = ({name: array.copy() for name, array in table.items()} for table in (args, aux))
    gradients = {name: nd.zeros(array.shape) for name, array in args.items()}
    executor = net.bind(mx.cpu(), args, gradients, "write", aux)
    found = []
    for _ in range(2):
        found += [output.asnumpy() for output in executor.forward(is_train=True)]
        executor.backward([nd.ones(output.shape) for output in executor.outputs])
        found += [gradients[name].asnumpy() for name in sorted(gradients)]
        found += [aux[name].asnumpy() for name in sorted(aux)]
    return found


def assert_trains_alike(net, cut, args, aux):
    for before, after in zip(trained(net, args, aux), trained(cut, args, aux), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


class Exponential:
    made = 0

    def __init__(self, graph):
        Exponential.made += 1

    def forward(self, x):
        self.kept = np.exp(x)
        return self.kept

    def backward(self, gradients, inputs, outputs):
        return [gradients[0] * self.kept]


@mx.customop("numpy")
def power_of_e(x):
    return np.exp(x)


power_of_e.def_grad(lambda ans, x: lambda g: g * ans)

RUNNERS = {
    "nothing": (KINDS, None),
    "its graph": (KINDS, lambda graph, *inputs: graph(*inputs)),
    "a function": (["exp"], lambda graph, x: np.exp(x)),
    "a class": (["exp"], Exponential),
    "a customop": (["exp"], power_of_e),
}


@pytest.mark.parametrize("runner", RUNNERS)
def test_what_runs_the_groups(runner):
    kinds, run = RUNNERS[runner]
    made = partitioner("ours", kinds)
    if run is not None:
        assert made.run(run) is run
    net, args, aux = network()
    cut = net.optimize_for("ours", dict(args), dict(aux))
    assert "ours" in {node.kind for node in cut.order}
    assert net.list_arguments() == cut.list_arguments()
    assert cut.list_auxiliary_states() == net.list_auxiliary_states()
    assert cut.infer_shape(x=(4, 5)) == net.infer_shape(x=(4, 5))
    for one in (cut, sym.load_json(cut.tojson()), pickle.loads(pickle.dumps(cut))):
        assert_trains_alike(net, one, args, aux)


def test_in_a_block(tmp_path):
    partitioner("ours", KINDS)
    net, args, aux = network()
    net.optimize_for("ours", args, aux).save(str(tmp_path / "net-symbol.json"))
    results = []
    for symbol in (net, sym.load(str(tmp_path / "net-symbol.json"))):
        for active in (False, True):
            block = mx.gluon.SymbolBlock(symbol, [sym.var("x")])
            for name, parameter in block.collect_params().items():
                parameter.initialize(init=mx.init.Constant({**args, **aux}[name]), force_reinit=True)
            block.hybridize(active)
            x = args["x"].copy()
            x.attach_grad()
            with mx.autograd.record():
                y = block(x)
            y.backward()
            results.append((y.asnumpy(), x.grad.asnumpy(), block.collect_params()["fc_weight"].grad().asnumpy()))
    for one in results[1:]:
        for before, after in zip(results[0], one, strict=True):
            np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


def test_second_order_where_the_graph_is_run_as_it_is():
    partitioner("ours", ["exp", "sin"])
    partitioner("called", ["exp", "sin"]).run(lambda graph, x: graph(x))
    net = sym.exp(sym.sin(sym.var("x")))
    x = nd.array([0.3, 0.7])
    found = []
    for symbol in (net, net.optimize_for("ours")):
        block = mx.gluon.SymbolBlock(symbol, [sym.var("x")])
        block.hybridize()
        x.attach_grad()
        with mx.autograd.record():
            (first,) = mx.autograd.grad(block(x), [x], create_graph=True)
        first.backward()
        found.append(x.grad.asnumpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    block = mx.gluon.SymbolBlock(net.optimize_for("called"), [sym.var("x")])
    block.hybridize()
    text = "the gradient of what runs a part of a graph cannot be recorded for a second"
    with mx.autograd.record(), pytest.raises(GradientError, match=text):
        mx.autograd.grad(block(x), [x], create_graph=True)


def test_random_numbers_are_drawn_once():
    partitioner("called", ["Dropout"]).run(lambda graph, x: graph(x))
    net = sym.Dropout(sym.var("x"), p=0.5).optimize_for("called")
    x, gradient = nd.ones((100,)), nd.zeros((100,))
    executor = net.bind(mx.cpu(), {"x": x}, {"x": gradient})
    for _ in range(3):
        mask = executor.forward(is_train=True)[0].asnumpy()
        executor.backward(nd.ones((100,)))
        np.testing.assert_array_equal(gradient.asnumpy(), mask)
    assert 0 < (mask == 0).sum() < 100


def test_each_call_in_flight_has_its_own_state():
    partitioner("ours", ["exp"]).run(Exponential)
    block = mx.gluon.SymbolBlock(sym.exp(sym.var("x")).optimize_for("ours"), [sym.var("x")])
    block.hybridize()
    before = Exponential.made
    a, b = nd.array([1.0]), nd.array([2.0])
    for one in (a, b):
        one.attach_grad()
    with mx.autograd.record():
        first, second = block(a), block(b)
    first.backward()
    second.backward()
    np.testing.assert_allclose([a.grad.asscalar(), b.grad.asscalar()], np.exp([1.0, 2.0]), rtol=1e-6)
    assert Exponential.made - before == 2


def test_threads_have_states_of_their_own():
    partitioner("ours", ["exp"]).run(Exponential)
    cut = sym.exp(sym.var("x")).optimize_for("ours")
    failures = []

    def train(value):
        gradient = nd.zeros((1,))
        executor = cut.bind(mx.cpu(), {"x": nd.array([value])}, {"x": gradient})
        for _ in range(20):
            executor.forward(is_train=True)
            executor.backward(nd.ones((1,)))
            if abs(gradient.asscalar() - np.exp(value)) > 1e-4:
                failures.append((value, gradient.asscalar()))

    threads = [threading.Thread(target=train, args=(value,)) for value in (0.0, 1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_what_a_function_is_given():
    seen = {}
    made = partitioner("ours", ["exp", "log"])
    made.review(lambda graph, number: {"scale": 2, "number": number})

    @made.run
    def run(graph, x):
        seen.update(attributes=graph.attributes, names=graph.names, training=graph.training, text=repr(graph))
        with pytest.raises(ValueError, match="read-only"):
            x += 1
        return graph(x) * float(graph.attributes["scale"])

    net = sym.exp(sym.log(sym.var("x"), name="l"), name="e").optimize_for("ours")
    (value,) = net.eval(x=nd.array([3.0]))
    assert value.asscalar() == pytest.approx(6.0)
    assert seen["names"] == ["x0"]
    assert seen["training"] is False
    assert {"scale": "2", "number": "0"}.items() <= seen["attributes"].items()
    assert seen["text"] == "<graph of ours: x0 -> e_output>"


def test_two_strategies_and_options():
    both = partitioner("both", lambda node, kinds=(): node.op in kinds)

    @both.strategy("second")
    def second(node, least=2):
        return node.op == "both" or node.op == "tanh"

    @both.review
    def review(graph, least=2):
        return len(graph) > least

    assert repr(both) == "<partitioner both (both, second)>"
    assert second is both
    net = sym.tanh(sym.exp(sym.log(sym.var("x"), name="l"), name="e"), name="t")
    assert [n.kind for n in net.optimize_for("both", kinds=("exp",)).order] == ["null", "log", "both_second"]
    assert [n.kind for n in net.optimize_for("both", kinds=("exp",), least=5).order] == ["null", "log", "both", "tanh"]
    with pytest.raises(ArgumentError) as caught:
        net.optimize_for("both", kind=("exp",))
    expected = "optimize_for: partitioner 'both' takes no option 'kind'; it takes kinds, least. Did you mean 'kinds'?"
    assert str(caught.value) == expected


def test_what_is_known_of_nodes():
    seen = {}

    @mx.graph.register_partitioner("ours")
    def ours(node):
        seen[node.name] = (node.index, node.shapes, node.dtypes, [reader.name for reader, _ in node.outputs])
        return False

    x = sym.var("x")
    net = sym.exp(sym.elemwise_add(x, sym.var("y"), name="a"), name="e")
    assert net.optimize_for("ours", {"x": nd.ones((2, 3))}).tojson() != net.tojson()
    assert seen == {
        "x": (0, [(2, 3)], [0], ["a"]),
        "y": (1, [(2, 3)], [0], ["a"]),
        "a": (2, [(2, 3)], [0], ["e"]),
        "e": (3, [(2, 3)], [0], []),
    }
    net.optimize_for("ours", {"x": nd.ones((2, 3))}, skip_infer=True)
    assert seen["e"] == (3, None, None, [])


def test_the_symbol_and_the_arrays_stay():
    partitioner("ours", ["exp"])
    net, args, aux = network()
    text, names = net.tojson(), (list(args), list(aux))
    net.optimize_for("ours", args, aux)
    assert net.tojson() == text
    assert (list(args), list(aux)) == names


def test_an_unknown_backend_is_a_warning():
    net = sym.exp(sym.var("x"))
    with pytest.warns(
        UserWarning, match=r"there is no backend 'TensorRT'; the symbol stays as it is\. Load the"
    ) as said:
        same = net.optimize_for("TensorRT")
    assert same.tojson() == net.tojson()
    assert same is not net
    assert said[0].filename == __file__
    with pytest.raises(ArgumentError, match="there is no backend 'TensorRT'; symbols are compiled when they are bound"):
        net.get_backend_symbol("TensorRT")
    partitioner("ours", ["exp"])
    assert net.get_backend_symbol("ours").values[0].node.kind == "ours"


NET = sym.exp(sym.log(sym.var("x"), name="l"), name="e")


def _refused(make):
    with pytest.raises(MXNetError) as caught:
        make()
    return str(caught.value)


def test_names_that_are_taken():
    partitioner("ours", ["exp"])
    mx.graph.register_pass("ours too", lambda graph: None)
    tables = dict(PARTITIONERS), dict(PASSES), dict(FAMILIES)
    found = [
        _refused(lambda: partitioner("ours", ["log"])),
        _refused(lambda: partitioner("ours too", ["log"])),
        _refused(lambda: mx.graph.register_pass("ours", lambda graph: None)),
        _refused(lambda: partitioner("others", ["log"], operator="ours")),
        _refused(lambda: partitioner("others", ["log"], operator="exp")),
        _refused(lambda: partitioner("others", ["log"], operator="Custom")),
        _refused(lambda: PARTITIONERS["ours"].strategy("ours", ["log"])),
        _refused(lambda: partitioner("", ["log"])),
        _refused(lambda: partitioner(3, ["log"])),
    ]
    taken = "Give operator=... another name, for the nodes that stand for its groups."
    again = "Choose another name, or give replace=True to replace it."
    assert found == [
        f"register_partitioner: there is a partitioner 'ours' already. {again}",
        f"register_partitioner: there is a pass 'ours too' already. {again}",
        f"register_pass: there is a partitioner 'ours' already. {again}",
        f"partitioner 'others': there is an operator 'ours' already. {taken}",
        f"partitioner 'others': there is an operator 'exp' already. {taken}",
        f"partitioner 'others': there is an operator 'Custom' already. {taken}",
        "partitioner 'ours' has a strategy 'ours' already; choose another name.",
        "register_partitioner: the name is empty; it is what optimize_for is called with.",
        "register_partitioner: the name is int 3; expected a string.",
    ]
    assert tables == (PARTITIONERS, PASSES, FAMILIES)


def test_a_partitioner_that_is_replaced():
    partitioner("ours", ["exp"]).strategy("second", ["log"])
    partitioner("ours", ["log"], replace=True)
    assert [node.kind for node in NET.optimize_for("ours").order] == ["null", "ours", "exp"]
    assert "ours_second" not in FAMILIES
    mx.graph.register_pass("ours", lambda graph: None, replace=True)
    assert "ours" not in PARTITIONERS
    assert "ours" not in FAMILIES
    assert [node.kind for node in NET.optimize_for("ours").order] == ["null", "log", "exp"]


BAD_CHOICES = {
    "a number": (
        3,
        (
            "partitioner 'bad': what it takes is int 3; expected a function supported(node, **options), a "
            "Selector class, or a list of names of operators, such as ['exp', 'log']."
        ),
    ),
    "a string": (
        "exp",
        (
            "partitioner 'bad': what it takes is str 'exp'; expected a function supported(node, **options), "
            "a Selector class, or a list of names of operators, such as ['exp', 'log']."
        ),
    ),
    "a class without select": (
        int,
        "partitioner 'bad': int has no method select; derive it from minpy.graph.Selector.",
    ),
}


@pytest.mark.parametrize("choice", BAD_CHOICES)
def test_what_is_no_choice(choice):
    given, expected = BAD_CHOICES[choice]
    assert _refused(lambda: partitioner("bad", given)) == expected
    assert "bad" not in PARTITIONERS
    assert "bad" not in FAMILIES


class _Selects(mx.graph.Selector):
    answer = True

    def select(self, node):
        return node.op == "exp"

    def filter(self, candidates):
        return self.answer


def test_answers_that_are_none():
    where = "optimize_for('bad'): strategy 'bad': "
    partitioner("bad", lambda node: "yes")
    assert _refused(lambda: NET.optimize_for("bad")) == (
        "partitioner 'bad': supported(x) returned str 'yes'; expected True (for any group), False, or the number of a "
        "group from 0."
    )
    partitioner("bad", lambda node: -3, replace=True)
    assert "supported(x) returned int -3; expected True" in _refused(lambda: NET.optimize_for("bad"))
    partitioner("bad", _Selects, replace=True)
    assert _refused(lambda: NET.optimize_for("bad")) == (
        f"{where}filter returned bool True, which is not among the nodes that it was given: e."
    )
    _Selects.answer = [mx.graph.GraphNode("exp", "other")]
    assert "filter returned <GraphNode other = exp()>, which is not among" in _refused(lambda: NET.optimize_for("bad"))
    _Selects.answer = []
    assert [node.kind for node in NET.optimize_for("bad").order] == ["null", "log", "exp"]

    class Nonsense(mx.graph.Selector):
        def select(self, node):
            return "no"

    partitioner("bad", Nonsense, replace=True)
    assert _refused(lambda: NET.optimize_for("bad")) == (
        "partitioner 'bad': select(x) returned str 'no'; expected True or False."
    )
    for answer, text in ((None, "None"), ("yes", "str 'yes'")):
        partitioner("bad", ["exp"], replace=True).review(lambda graph, answer=answer: answer)
        assert f"review of group 0 returned {text}; expected True or False, or a dict of" in _refused(
            lambda: NET.optimize_for("bad")
        )
    made = partitioner("bad", ["exp"], replace=True)
    assert "the review is int 3; expected a function review(graph, **options)." in _refused(lambda: made.review(3))
    assert "what runs its graphs is int 3; expected a function run(graph, *inputs)" in _refused(lambda: made.run(3))
    assert "the class int, which runs its graphs, has no method forward(self" in _refused(lambda: made.run(int))


def test_errors_of_users_functions_come_through():
    def fails(node):
        raise KeyError(node.name)

    partitioner("bad", fails)
    with pytest.raises(KeyError, match="x"):
        NET.optimize_for("bad")
    made = partitioner("bad", ["exp"], replace=True)

    @made.review
    def refuses(graph):
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        NET.optimize_for("bad")
    assert NET.list_arguments() == ["x"]


RESULTS = {
    "nothing": (
        lambda graph, x: None,
        ArgumentError,
        "output 0 of what runs its graph is NoneType None; expected an array.",
    ),
    "too many": (
        lambda graph, x: (x, x),
        ArgumentError,
        "what runs its graph returned 2 array(s); expected 1: e_output.",
    ),
    "a shape": (lambda graph, x: x[:1], ShapeError, "output 0 of what runs its graph has shape (1,); expected (2,)."),
    "a dtype": (lambda graph, x: x + 1j, DTypeError, "what runs its graph is of complex64; expected float32."),
    "few inputs": (lambda graph, x: graph(), ArgumentError, "the graph of bad takes 1 input(s) (l_output0), got 0."),
    "an exception": (lambda graph, x: 1 // 0, ZeroDivisionError, "bad: forward failed on NumPy arrays (not recording)"),
    "a write": (lambda graph, x: np.add(x, 1, out=x), MXNetError, "bad forward: it changes one of its inputs in place"),
}


@pytest.mark.parametrize("result", RESULTS)
def test_results_that_are_none(result):
    run, kind, expected = RESULTS[result]
    partitioner("bad", ["exp"]).run(run)
    with pytest.raises(kind) as caught:
        NET.optimize_for("bad").eval(x=nd.ones((2,)))
    assert expected in str(caught.value)
    assert NET.eval(x=nd.ones((2,)))[0].asnumpy().tolist() == [1, 1]


GRADIENTS = {
    "too many": (
        lambda g: [g, g],
        "Bad.backward returned 2 gradient(s); expected 1, one for each input: l_output0. None",
    ),
    "a shape": (lambda g: [g[:1]], "Bad.backward returned a gradient of shape (1,) for l_output0; expected (2,)."),
    "an exception": (lambda g: 1 // 0, "bad: backward failed on NumPy arrays"),
}


@pytest.mark.parametrize("result", GRADIENTS)
def test_gradients_that_are_none(result):
    answer, expected = GRADIENTS[result]

    class Bad:
        def __init__(self, graph):
            self.graph = graph

        def forward(self, x):
            return self.graph(x)

        def backward(self, gradients, inputs, outputs):
            return answer(gradients[0])

    partitioner("bad", ["exp"]).run(Bad)
    executor = NET.optimize_for("bad").simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = 1
    executor.forward(is_train=True)
    with pytest.raises(Exception) as caught:
        executor.backward(nd.ones((2,)))
    assert expected in str(caught.value)


def test_monitors_see_the_node():
    partitioner("ours", ["exp", "log"])
    executor = sym.tanh(NET, name="t").optimize_for("ours").simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = 2
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append(name))
    executor.forward(is_train=True)
    executor.backward(nd.ones((2,)))
    assert seen == ["_op0_output", "t_output"]
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 1 - np.tanh([2, 2]) ** 2, rtol=1e-5)


def test_none_stands_for_zeros():
    class Stops:
        def __init__(self, graph):
            self.graph = graph

        def forward(self, x):
            return self.graph(x)

        def backward(self, gradients, inputs, outputs):
            return None

    partitioner("ours", ["exp"]).run(Stops)
    executor = NET.optimize_for("ours").simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = 1
    executor.forward(is_train=True)
    executor.backward(nd.ones((2,)))
    assert executor.grad_dict["x"].asnumpy().tolist() == [0, 0]


def test_a_customop_with_other_outputs():
    @mx.customop("numpy")
    def two(x):
        return x, x

    two.outputs = ["a", "b"]
    partitioner("bad", ["exp"]).run(two)
    assert _refused(lambda: NET.optimize_for("bad")) == (
        "bad: two, which runs its graph, has 2 output(s), and the graph 1. Name what it returns: two.outputs = "
        "['output']."
    )


def test_a_file_needs_its_partitioner():
    partitioner("ours", ["exp"])
    text = NET.optimize_for("ours").tojson()
    FAMILIES.pop("ours")
    assert "there is no such operator 'ours'. Load the library first" in _refused(lambda: sym.load_json(text))
    partitioner("ours", ["log"], replace=True)
    assert sym.load_json(text).tojson() == text
    document = json.loads(text)
    document["nodes"][-1].pop("subgraphs")
    assert "ours stands for a part of a graph, which is inside of its node; got 0 graphs." in _refused(
        lambda: sym.load_json(json.dumps(document))
    )


def test_arguments_of_optimize_for():
    partitioner("ours", ["exp"])
    found = [
        _refused(lambda: NET.optimize_for(3)),
        _refused(lambda: NET.optimize_for("ours", [nd.ones((2,))])),
        _refused(lambda: NET.optimize_for("ours", {"x": 3})),
        _refused(lambda: NET.optimize_for("ours", ctx="cpu")),
        _refused(lambda: NET.optimize_for("ours", stype_dict={"x": "csr"})),
    ]
    assert found == [
        "optimize_for: the backend is int 3; expected the name of one, a string.",
        "optimize_for('ours'): args is list of 1: [float32 (2,)]; expected a dict of names to NDArrays.",
        "optimize_for('ours'): args['x'] is int 3; expected an NDArray.",
        "optimize_for('ours'): ctx is str 'cpu'; expected a Context, such as mx.cpu().",
        "optimize_for('ours'): stype_dict['x'] is 'csr'; arrays are dense: 'default'.",
    ]
    with pytest.raises(ShapeError, match="infer_shape"):
        (sym.var("x") + sym.var("y")).optimize_for("ours", {"x": nd.ones((2,)), "y": nd.ones((3,))})


def test_what_stands_in_no_file_can_be_partitioned_too():
    @mx.customop("numpy")
    def local(x):
        return x * 2

    partitioner("ours", ["exp", "local"])
    net = sym.exp(local(sym.var("x")) + sym.var("y"))
    cut = net.optimize_for("ours")
    assert cut.eval(x=nd.zeros((1,)), y=nd.zeros((1,)))[0].asscalar() == 1
    gradient = sym.exp(sym.var("x"), name="e").gradient(["x"]).optimize_for("ours")
    assert "x" in gradient.list_arguments()


def test_a_loop_is_taken_as_one_node():
    partitioner("ours", ["_foreach", "exp"])
    outputs, _ = sym.contrib.foreach(lambda x, s: (x + s, x + s), sym.var("x"), sym.var("s"))
    net = sym.exp(outputs)
    cut = net.optimize_for("ours")
    args = {"x": nd.array([[0.1], [0.2]]), "s": nd.array([0.5])}
    assert [node.kind for node in cut.order] == ["null", "null", "ours"]
    assert_trains_alike(net, cut, args, {})
    assert_trains_alike(net, sym.load_json(cut.tojson()), args, {})


def test_taken_names_are_values_errors():
    partitioner("ours", ["exp"])
    with pytest.raises(ArgumentValueError):
        partitioner("ours", ["exp"])
