"""Blocks that are optimized: `optimize_for`, `hybridize(backend=...)`, and what they meet."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from native.building import build, compiler
from places import GOLDEN

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, NotTraceableError, ShapeError
from minpy.gluon import DeferredInitializationError

sys.path.insert(0, str(GOLDEN / "native"))
import gluon_optimizing_cases as cases
import optimizing_backends

INCLUDE = Path(mx.__file__).parent / "include"
ANSWERS = json.loads(cases.ANSWERS.read_text())


# Where MXNet answers otherwise: see docs/differences.md, and the tests of their names below.
DIFFERENT = {"cast_chain", "new_state", "renewed"}


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    optimizing_backends.register()
    path = tmp_path / "log"
    monkeypatch.setenv("GLUON_OPTIMIZING_LOG", str(path))
    return path


@pytest.fixture(scope="session")
def library_if_there(request: pytest.FixtureRequest) -> None:
    if NATIVE:
        request.getfixturevalue("library")


@pytest.fixture(scope="session")
def library() -> Any:
    """Return the library of backends in C++, loaded."""
    return mx.library.load(build("gluon_optimizing.cc", include=[INCLUDE]), verbose=False)


class _Here(cases.Asked):
    def graph(self, net: Any) -> Any:
        found = super().graph(net)
        return found and [[op.removesuffix("_exp").removesuffix("_sin"), name] for op, name in found]


@pytest.fixture(params=["python", "native"])
def asked(request: pytest.FixtureRequest, log: Path) -> cases.Asked:
    if request.param == "python":
        return _Here(mx, str(log), optimizing_backends.PREFIX, optimizing_backends.OPERATOR)
    request.getfixturevalue("library")
    return _Here(mx, str(log))


def require_alike(found: Any, wanted: Any, where: str) -> None:
    if isinstance(wanted, float) and isinstance(found, float):
        assert math.isclose(found, wanted, rel_tol=2e-5, abs_tol=1e-6), f"{where}: {found}, expected {wanted}"
    elif isinstance(wanted, list) and isinstance(found, list):
        assert len(found) == len(wanted), f"{where}: {found}, expected {wanted}"
        for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
            require_alike(one, other, f"{where}[{index}]")
    elif isinstance(wanted, dict) and isinstance(found, dict):
        assert found.keys() == wanted.keys(), f"{where}: {found}, expected {wanted}"
        for key in wanted:
            require_alike(found[key], wanted[key], f"{where}[{key!r}]")
    else:
        assert found == wanted, where


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
def test_as_in_mxnet(case: Callable[..., Any], asked: cases.Asked) -> None:
    with warnings.catch_warnings():
        if case.__name__ == "unknown":
            warnings.filterwarnings("ignore", ".*there is no backend 'nowhere'", UserWarning)
        found = cases.plain(case(asked))
    _compare(case, found)


@pytest.mark.parametrize("case", cases.NATIVE, ids=lambda case: case.__name__)
def test_operators_of_libraries_as_in_mxnet(case: Callable[..., Any], library: Any, log: Path) -> None:
    _compare(case, cases.plain(case(_Here(mx, str(log)))))


def _compare(case: Callable[..., Any], found: Any) -> None:
    if case.__name__ in DIFFERENT:
        with pytest.raises(AssertionError):
            require_alike(found, ANSWERS[case.__name__], case.__name__)
    else:
        require_alike(found, ANSWERS[case.__name__], case.__name__)


def test_every_answer_of_mxnet_is_compared() -> None:
    assert {case.__name__ for case in [*cases.CASES, *cases.NATIVE]} == ANSWERS.keys()


# -- what MXNet does otherwise -----------------------------------------------------------------------------------------


def test_cast_keeps_all_backends_and_what_they_made(asked: cases.Asked) -> None:
    net = asked.net()
    asked.optimize(net, "scale", value=1.5)
    asked.optimize(net, "exchange", from_op="exp", to_op="log")
    factor = asked.made(net)[0]
    factor.set_data(nd.array([0.75]))
    graph, before = asked.graph(net), net(asked.x).asnumpy()
    net.cast("float64")
    after = net(asked.x.astype("float64"))
    assert (asked.graph(net), after.dtype) == (graph, np.float64)
    assert asked.made(net)[0] is factor
    np.testing.assert_allclose(after.asnumpy(), before, rtol=1e-5)


def test_a_pass_may_make_a_state(asked: cases.Asked) -> None:
    net = asked.net("normalized")
    old = net.norm.running_mean.data().asnumpy()
    asked.optimize(net, "mean")
    (mean,) = asked.made(net)
    assert (mean.name, mean.grad_req, mean.data().asnumpy().tolist()) == (
        "normalized_norm_fwd_new_mean",
        "null",
        [1, 1],
    )
    with autograd.record():
        net(asked.x).backward()
    np.testing.assert_allclose(mean.data().asnumpy(), 0.9 + 0.1 * cases.X.mean(0), rtol=1e-6)
    assert (net.norm.running_mean.data().asnumpy() == old).all()
    assert asked.exported(net) == [
        "arg:normalized_norm_beta",
        "arg:normalized_norm_gamma",
        "aux:normalized_norm_fwd_new_mean",
        "aux:normalized_norm_running_var",
    ]


@pytest.mark.usefixtures("library")
def test_a_pass_may_give_a_parameter_another_value(log: Path) -> None:
    asked = _Here(mx, str(log))
    net, wanted = asked.net(), asked.net()
    wanted.a.weight.set_data(nd.ones((3, 2)) / 2)
    asked.optimize(net, "renew")
    assert net(asked.x).asnumpy().tolist() == wanted(asked.x).asnumpy().tolist()
    assert net.a.weight.data().asnumpy().tolist() == [[0.5, 0.5]] * 3
    net.a.weight.set_data(nd.zeros((3, 2)))
    wanted.a.weight.set_data(nd.zeros((3, 2)))
    assert net(asked.x).asnumpy().tolist() == wanted(asked.x).asnumpy().tolist()


LATE = """
import sys
import minpy as mx
from minpy import autograd, gluon, nd
from minpy import sym as F


class Late(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.mean = self.params.get("mean", shape=(1,), init="zeros", grad_req="null")

    def hybrid_forward(self, F, x, mean):
        return F.opt_track(x, mean)


class Written(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.mean = gluon.Parameter("mean", shape=(1,), init="zeros", grad_req="null")

    def forward(self, x):
        return nd.opt_track(x, self.mean.data())


blocks = [Late(), Late(), Written(), Written()]
x = nd.array([2.0, 4.0])
try:
    blocks[0].initialize()
    blocks[0](x)
except AttributeError as error:
    assert "opt_track" in str(error), error
mx.library.load(sys.argv[1], verbose=False)
for number, net in enumerate(blocks):
    net.initialize(force_reinit=True)
    if number % 2:
        net.hybridize()
    x.attach_grad()
    for mean in (1.5, 2.25):
        with autograd.record():
            y = net(x)
        y.backward(nd.array([1.0, 10.0]))
        assert y.asnumpy().tolist() == [2 - mean, 4 - mean], y
        assert x.grad.asnumpy().tolist() == [3.0, 30.0], x.grad
        assert net.mean.data().asscalar() == mean, net.mean.data()
    assert net(x).shape == (2,)
assert F.opt_track(F.var("a"), F.var("b"), name="t").list_auxiliary_states() == ["b"]
print("fine")
"""


@pytest.mark.filterwarnings("ignore")
def test_blocks_that_were_there_before_the_library() -> None:
    path = build("gluon_optimizing.cc", include=[INCLUDE])
    done = subprocess.run([sys.executable, "-W", "error", "-c", LATE, str(path)], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)


def test_backends_that_are_said_without_clear_are_added(asked: cases.Asked) -> None:
    net, both = asked.net(), asked.net()
    asked.optimize(both, "scale", value=1.5)
    asked.optimize(both, "no_bias")
    asked.hybridize(net, "scale", value=1.5)
    asked.hybridize(net, "no_bias", clear=False)
    assert asked.noted()[-1].startswith("pass opt_no_bias")
    assert net(asked.x).asnumpy().tolist() == both(asked.x).asnumpy().tolist()
    assert asked.graph(net) == asked.graph(both)
    asked.hybridize(net, "exchange", clear=False, from_op="exp", to_op="log")
    net(asked.x)
    assert [op for op, _ in asked.graph(net)].count("log") == 1


def test_a_symbol_block_goes_back_to_its_graph(asked: cases.Asked) -> None:
    net, ones = asked.net("graph"), nd.ones((2, 2))
    before, graph = net(asked.x, ones)[0].asnumpy(), asked.graph(net)
    asked.optimize(net, "scale", asked.x, ones)
    assert asked.graph(net) != graph
    assert (net(asked.x, ones)[0].asnumpy() != before).any()
    for active in (True, False):
        net.hybridize(active)
        assert asked.graph(net) == graph
        assert net(asked.x, ones)[0].asnumpy().tolist() == before.tolist()


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def _pass(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return mx.graph.register_pass(f"bad_{name}", replace=True)


@pytest.fixture
def bad() -> None:
    """Register passes that cannot be used."""

    @_pass("outputs")
    def outputs(graph: Any) -> None:
        graph.outputs = [graph.outputs[0]] * 2

    @_pass("variable")
    def variable(graph: Any) -> None:
        graph.nodes[-1].inputs[0] = (graph.add_node("null", "nothing"), 0)

    @_pass("shape")
    def shape(graph: Any) -> None:
        last = graph.outputs[0].node
        odd = graph.add_argument("odd", np.ones(7, "float32"))
        graph.replace(last, graph.add_node("broadcast_mul", "unfit", [last, odd]))

    @_pass("half")
    def half(graph: Any) -> None:
        for node in graph.variables:
            node.array[:] = 0
        raise KeyError("half done")


@pytest.mark.usefixtures("bad")
@pytest.mark.parametrize(
    ("backend", "options", "error", "said"),
    [
        (
            "bad_outputs",
            {},
            MXNetError,
            r"net: 'bad_outputs' made a graph of 2 output\(s\) of one of 1\. A block returns",
        ),
        (
            "bad_variable",
            {},
            MXNetError,
            r"net: 'bad_variable' made a variable 'nothing' that has no value\. Let the pass",
        ),
        (
            "bad_shape",
            {},
            ShapeError,
            r"net: what 'bad_shape' made of its graph does not fit\. .*'unfit' \(broadcast_mul\)",
        ),
        ("bad_half", {}, KeyError, "half done"),
        ("pyopt_scale", {"ctx": 1}, ArgumentError, "a backend cannot have an option 'ctx': Symbol.optimize_for has"),
        (3, {}, ArgumentError, "net: the backend is int 3; expected the name of a partitioner or a pass, or None"),
        (
            None,
            {},
            ArgumentValueError,
            'Must specify "backend" to optimize_for: the name of a partitioner or of a pass',
        ),
    ],
)
@pytest.mark.parametrize("optimized", [False, True])
def test_a_block_stays_as_it_was(
    backend: Any, options: dict[str, Any], error: type[Exception], said: str, optimized: bool, log: Path
) -> None:
    asked = _Here(mx, str(log), optimizing_backends.PREFIX, optimizing_backends.OPERATOR)
    net = asked.net()
    if optimized:
        asked.optimize(net, "scale", value=1.5)
    before = net(asked.x).asnumpy(), asked.graph(net), net._active, net._backend, net._backend_opts, net.a._active
    with pytest.raises(error, match=said):
        net.optimize_for(asked.x, backend=backend, **options)
    after = net(asked.x).asnumpy(), asked.graph(net), net._active, net._backend, net._backend_opts, net.a._active
    assert before[0].tolist() == after[0].tolist()
    assert before[1:] == after[1:]
    asked.optimize(net, "no_bias")
    assert net(asked.x).shape == (2, 2)


def test_what_is_given_must_be_arrays(asked: cases.Asked) -> None:
    net = asked.net()
    for wrong in (3, "x", cases.X, None):
        with pytest.raises(ArgumentError, match=r"expected an NDArray|no argument is an NDArray"):
            asked.optimize(net, "exp", wrong) if wrong is not None else net.optimize_for(None, backend="opt_exp")
    assert not net._active


def test_a_backend_that_calls_its_block(log: Path) -> None:
    asked = _Here(mx, str(log), optimizing_backends.PREFIX)
    net = asked.net()
    mx.graph.register_pass("calling", lambda graph: net(asked.x) and None, replace=True)
    with pytest.raises(
        MXNetError, match="net is called by a backend that its graph goes through: there is no graph yet"
    ):
        net.optimize_for(asked.x, backend="calling")
    net.hybridize(backend="calling")
    with pytest.raises(MXNetError, match="is called by a backend"):
        net(asked.x)


def test_blocks_without_a_graph_are_not_optimized() -> None:
    class Taking(gluon.HybridBlock):
        def forward(self, x: Any, other: Any) -> Any:
            return mx.np.exp(x)

    class Chosen(gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.contrib.boolean_mask(x, x)

    x = mx.np.ones((2,))
    taking = Taking()
    with pytest.raises(
        ArgumentError, match=r"cannot be optimized for 'pyopt_exp': among its arguments there is object"
    ):
        taking.optimize_for(x, object(), backend="pyopt_exp")
    taking.hybridize(backend="pyopt_exp")
    with pytest.raises(NotTraceableError, match=r"is optimized for 'pyopt_exp', and has no graph that can be run"):
        taking(x, object())
    chosen = Chosen()
    chosen.hybridize(backend="pyopt_exp")
    with pytest.raises(NotTraceableError, match=r"shapes in it depend on values \(boolean_mask\)"):
        chosen(nd.array([0, 1]))
    chosen.hybridize()
    assert chosen(nd.array([0, 1])).asnumpy().tolist() == [1]


def test_variables_of_one_name() -> None:
    class Odd(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__(prefix="")
            self.weight = gluon.Parameter("data", shape=(1,), init="ones")

        def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
            return F.exp(F.broadcast_add(x, weight))

    net = Odd()
    net.initialize()
    with pytest.raises(
        MXNetError, match="two variables of its graph are called 'data', and 'pyopt_exp' is to tell them"
    ):
        net.optimize_for(nd.ones((1,)), backend="pyopt_exp")


# -- what it meets -----------------------------------------------------------------------------------------------------


def test_symbols_that_do_not_say_their_shape(log: Path) -> None:
    asked = _Here(mx, str(log), optimizing_backends.PREFIX)
    net = asked.net(known=False)
    with pytest.raises(DeferredInitializationError):
        asked.optimize(net, "scale", mx.sym.var("x"))
    asked.optimize(net, "scale", mx.sym.var("x", shape=(4, 2)))
    assert net.a.weight.shape == (3, 2)
    assert asked.noted() == [
        "pass opt_scale | data:none net_a_weight:(3,2) net_a_bias:(3) net_b_weight:(2,3) net_b_bias:(2)"
    ]
    assert net(asked.x).shape == (2, 2)
    assert asked.noted() == []


def test_what_a_backend_writes_is_written_once(asked: cases.Asked) -> None:
    """A block that asks for the mode has a graph for each; one that asks for shapes, one for each of them."""

    class Asking(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.dense = gluon.nn.Dense(2, in_units=2, use_bias=False, prefix="a_")

        def forward(self, x: Any) -> Any:
            return self.dense(x) * (3 if autograd.is_training() else 1) / x.shape[0]

    net = Asking()
    net.initialize(mx.init.One())
    asked.optimize(net, "double")
    asked.optimize(net, "scale", value=1.5)
    for count in (2, 4):
        x = nd.ones((count, 2))
        assert net(x).asnumpy().ravel()[0] == 2 * 2 * 1.5 / count
        with autograd.record():
            assert net(x).asnumpy().ravel()[0] == 3 * 2 * 2 * 1.5 / count
    assert len(net._graphs) == 4
    assert len({id(one) for graph in net._graphs.values() for one in graph.parameters}) == 2
    assert net.dense.weight.data().asnumpy().tolist() == [[2, 2], [2, 2]]


def test_several_threads_make_one_graph(asked: cases.Asked) -> None:
    net = asked.net()
    asked.hybridize(net, "double")
    wanted, barrier = asked.net(), threading.Barrier(4)
    asked.optimize(wanted, "double")
    answers: list[Any] = []

    def call() -> None:
        barrier.wait()
        answers.append(net(asked.x).asnumpy())

    threads = [threading.Thread(target=call) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(answers) == 4
    for one in answers:  # other threads may run native code, which rounds otherwise
        np.testing.assert_allclose(one, wanted(asked.x).asnumpy(), rtol=1e-6)
    assert net.a.weight.data().asnumpy().tolist() == wanted.a.weight.data().asnumpy().tolist()


def test_several_devices(asked: cases.Asked) -> None:
    net, places = asked.net(), [mx.cpu(0), mx.cpu(1)]
    net.reset_ctx(places)
    asked.optimize(net, "double")
    asked.optimize(net, "scale", value=1.5)
    xs = [asked.x.as_in_context(place) for place in places]
    with autograd.record():
        answers = [net(x) for x in xs]
    autograd.backward(answers)
    assert answers[0].asnumpy().tolist() == answers[1].asnumpy().tolist()
    assert [one.context for one in answers] == places
    (factor, _) = asked.made(net)
    assert factor.list_ctx() == places
    assert factor.grad(places[0]).asnumpy().tolist() == factor.grad(places[1]).asnumpy().tolist() != [0]
    net.reset_ctx([mx.cpu(2)])
    np.testing.assert_array_equal(net(xs[0].as_in_context(mx.cpu(2))).asnumpy(), answers[0].asnumpy())


def test_copies_and_files(asked: cases.Asked, tmp_path: Path) -> None:
    net = asked.net()
    asked.optimize(net, "scale", value=1.5)
    asked.optimize(net, "exp", text="a b", pair=(1, 2), none=None)
    before = net(asked.x).asnumpy()
    asked.noted()
    assert copy.deepcopy(net)(asked.x).asnumpy().tolist() == before.tolist()
    net.save(str(tmp_path / "net"))
    asked.noted()
    again = asked.net()
    again.load(str(tmp_path / "net"))
    assert again(asked.x).asnumpy().tolist() == before.tolist()
    assert asked.noted()[:2] == [
        "pass opt_scale value=1.5 | data:(2,2) net_a_weight:(3,2) net_a_bias:(3) net_b_weight:(2,3) net_b_bias:(2)",
        "supported opt_exp none=None pair=(1, 2) text=a b",
    ]


def test_files_of_blocks_inside_that_are_optimized(asked: cases.Asked, tmp_path: Path) -> None:
    net = gluon.nn.Sequential()
    net.add(asked.net(), asked.net(prefix="second_"))
    asked.optimize(net[1], "scale")
    before = net(asked.x).asnumpy()
    net.save(str(tmp_path / "net"))
    again = gluon.nn.Sequential()
    again.add(asked.net(), asked.net(prefix="second_"))
    again.load(str(tmp_path / "net"))
    assert again(asked.x).asnumpy().tolist() == before.tolist()
    assert not again[0]._active
    there = (tmp_path / "net-model.json").read_text()
    (tmp_path / "net-model.json").write_text(there.replace("opt_scale", "opt_scael"))
    values = [one.data().asnumpy().tolist() for one in again.collect_params().values()]
    with pytest.raises(
        MXNetError, match=r"which is optimized for '(py)?opt_scael', and there is no such partitioner or"
    ):
        again.load(str(tmp_path / "net"))
    assert values == [one.data().asnumpy().tolist() for one in again.collect_params().values()]


def test_mixed_precision(asked: cases.Asked) -> None:
    net = asked.net()
    asked.optimize(net, "scale", value=1.5)
    before = net(asked.x).asnumpy()
    low = mx.contrib.amp.convert_hybrid_block(net)
    assert "net_a_fwd_scale" in low.collect_params()
    np.testing.assert_allclose(low(asked.x).asnumpy(), before, rtol=2e-3)


def test_summary_wants_a_block_that_is_not_hybridized(asked: cases.Asked, capsys: pytest.CaptureFixture[str]) -> None:
    net = asked.net()
    asked.optimize(net, "scale")
    with pytest.raises(MXNetError, match="summary: net_a is hybridized"):
        net.summary(asked.x)
    net.hybridize(False)
    net.summary(asked.x)
    assert "Total params: 17" in capsys.readouterr().out


def test_hooks_and_monitors(asked: cases.Asked) -> None:
    net, seen = asked.net(), []
    net.register_forward_hook(lambda block, x, out: seen.append(out.shape))
    with pytest.warns(UserWarning, match="net is hybridized and has hooks"):
        asked.optimize(net, "scale")
    assert seen == []
    net(asked.x)
    assert seen == [(2, 2)]
    names: list[str] = []
    net.register_op_hook(lambda name, operator, array: names.append(f"{name} {operator}"))
    net(asked.x)
    assert "net_a_fwd_scaled_output broadcast_mul" in names


class _Written(gluon.HybridBlock):
    """A block in MXNet 2's way, which refers to an array and to a number."""

    def __init__(self) -> None:
        super().__init__(prefix="written_")
        self.weight = gluon.Parameter("weight", shape=(3, 2))
        self.mask, self.factor = mx.np.array([1.0, 2.0]), 2.0

    def forward(self, x: Any) -> Any:
        return mx.np.sin(mx.np.exp(mx.np.dot(x * self.mask, self.weight.data().T))) * self.factor


def test_blocks_that_define_forward() -> None:
    mx.graph.register_partitioner("np-exp", ["_npi_exp", "_npi_sin"], replace=True)
    x, net = mx.np.array(cases.X), _Written()
    net.initialize(mx.init.Constant(0.1))
    x.attach_grad()
    answers = []
    for backend in (None, "np-exp"):
        if backend is not None:
            net.optimize_for(x, backend=backend)
        with autograd.record():
            out = net(x)
        out.backward()
        answers.append([one.asnumpy().tolist() for one in (out, x.grad, net.weight.grad())])
    assert answers[0] == answers[1]
    assert isinstance(net(x), mx.np.ndarray)
    assert "np-exp" in net._cached_graph[1].debug_str()
    net.mask[0], net.factor = 5.0, 3.0  # changed, and traced again
    found = net(x).asnumpy()
    net.hybridize(False)
    assert found.tolist() == net(x).asnumpy().tolist()
    with pytest.raises(
        ArgumentError, match=r"a variable has no shape, and written defines forward, which may ask for it"
    ):
        net.optimize_for(mx.sym.var("x"), backend="np-exp")
    net.optimize_for(mx.sym.var("x", shape=(2, 2)).as_np_ndarray(), backend="np-exp")
    assert net(x).asnumpy().tolist() == found.tolist()


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_layers_of_sequences(kind: str) -> None:
    _register_doubling()
    net, x = getattr(gluon.rnn, kind)(3, input_size=2), nd.ones((4, 1, 2))
    net.initialize(mx.init.Constant(0.1))
    plain = net(x).asnumpy()
    net.optimize_for(x, backend="doubling")
    np.testing.assert_allclose(net(x).asnumpy(), 2 * plain, rtol=1e-6)
    net.optimize_for(x, net.begin_state(1), backend="doubling", clear=True)
    np.testing.assert_allclose(net(x, net.begin_state(1))[0].asnumpy(), 2 * plain, rtol=1e-6)
    np.testing.assert_allclose(net(x).asnumpy(), 2 * plain, rtol=1e-6)


def test_cells_that_remember() -> None:
    _register_doubling()
    cell = gluon.rnn.ZoneoutCell(gluon.rnn.LSTMCell(3, input_size=2), 0.3, 0.3)
    cell.initialize(mx.init.Constant(0.1))
    x, state = nd.ones((1, 2)), cell.begin_state(batch_size=1)
    plain = cell(x, state)[0].asnumpy()
    cell.reset()
    cell.optimize_for(x, state, backend="doubling")
    for factor in (2, 4):
        np.testing.assert_allclose(cell(x, state)[0].asnumpy(), factor * plain, rtol=1e-6)
        cell.reset()
        cell.hybridize(backend="doubling", clear=False)


def _register_doubling() -> None:
    @mx.graph.register_pass("doubling", replace=True)
    def doubling(graph: Any) -> None:
        last = graph.outputs[0]
        graph.replace(last, graph.add_node("_mul_scalar", f"doubled{len(graph)}", [last], {"scalar": "2.0"}))


def test_symbols_that_are_optimized_are_bound(asked: cases.Asked) -> None:
    data = mx.sym.var("data")
    hidden = mx.sym.exp(mx.sym.FullyConnected(data, num_hidden=2, name="fc"))
    out = mx.sym.SoftmaxOutput(mx.sym.sin(hidden), name="softmax")
    args = {
        "fc_weight": nd.ones((2, 2)) / 4,
        "fc_bias": nd.zeros((2,)),
        "data": asked.x,
        "softmax_label": nd.array([0, 1]),
    }
    plain = {name: array.copy() for name, array in args.items()}
    made = out.optimize_for(asked.prefix + "scale", args, {}, value=1.0).optimize_for(asked.prefix + "exp", args, {})
    assert set(args) - set(plain) == {"fc_scale"}
    answers = []
    for symbol, arrays in ((out, plain), (made, args)):
        grads = {name: nd.zeros(array.shape) for name, array in arrays.items()}
        executor = symbol.bind(mx.cpu(), arrays, grads)
        answers.append([executor.forward(is_train=True)[0].asnumpy()])
        executor.backward()
        answers[-1] += [grads[name].asnumpy() for name in ("fc_weight", "fc_bias")]
    for one, other in zip(*answers, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    executor = made.simple_bind(mx.cpu(), data=(2, 2), softmax_label=(2,), fc_scale=(1,))
    executor.copy_params_from({name: array for name, array in args.items() if name not in ("data", "softmax_label")})
    np.testing.assert_allclose(executor.forward(data=asked.x)[0].asnumpy(), answers[0][0], rtol=1e-6)


def test_modules_of_symbols_that_are_optimized(asked: cases.Asked) -> None:
    data = mx.sym.var("data")
    hidden = mx.sym.exp(mx.sym.FullyConnected(data, num_hidden=2, name="fc"), name="e")
    out = mx.sym.SoftmaxOutput(mx.sym.sin(hidden, name="s"), name="softmax")
    found = []
    for symbol in (out, out.optimize_for(asked.prefix + "exp").optimize_for(asked.prefix + "sin")):
        batches = mx.io.NDArrayIter(cases.X, np.array([0, 1], "float32"), 2)
        module = mx.mod.Module(symbol)
        module.bind(batches.provide_data, batches.provide_label)
        module.init_params(mx.init.Constant(0.25))
        module.fit(batches, num_epoch=2, optimizer_params={"learning_rate": 0.5})
        found.append([module.get_params()[0][name].asnumpy() for name in ("fc_weight", "fc_bias")])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


# -- random programs ---------------------------------------------------------------------------------------------------


class Programs(RuleBasedStateMachine):
    """A network that is optimized, exported and read again, beside one that never is: they answer alike."""

    @initialize(kind=st.sampled_from(["plain", "nested", "shared"]), native=st.booleans())
    def make(self, kind: str, native: bool) -> None:
        prefix = "opt_" if native and NATIVE else optimizing_backends.PREFIX
        self.folder = tempfile.TemporaryDirectory()
        self.asked = cases.Asked(mx, f"{self.folder.name}/log", prefix)
        self.nets = [self.asked.net(kind), self.asked.net(kind)]
        self.dtype = "float32"
        self._train()

    def _train(self) -> None:
        self.trainers = [gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}) for net in self.nets]

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def _x(self, count: int) -> Any:
        return nd.array(np.linspace(0, 1, 2 * count).reshape(count, 2), dtype=self.dtype)

    @property
    def net(self) -> Any:
        return self.nets[0]

    @rule(count=st.integers(1, 3))
    def forward(self, count: int) -> None:
        found, wanted = [net(self._x(count)).asnumpy() for net in self.nets]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)

    @rule(count=st.integers(1, 3), step=st.booleans())
    def backward(self, count: int, step: bool) -> None:
        gradients = []
        for net, trainer in zip(self.nets, self.trainers, strict=True):
            x = self._x(count)
            x.attach_grad()
            with autograd.record():
                loss = (net(x) ** 2).sum()
            loss.backward()
            params = sorted(net.collect_params().items())
            gradients.append([x.grad.asnumpy(), *(one.grad().asnumpy() for _, one in params if one.grad_req != "null")])
            if step:
                trainer.step(count)
        for one, other in zip(*gradients, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)

    @precondition(lambda self: self.dtype == "float32")
    @rule(backend=st.sampled_from(["exp", "sin"]), clear=st.booleans(), now=st.booleans(), dedup=st.booleans())
    def optimize(self, backend: str, clear: bool, now: bool, dedup: bool) -> None:
        options = {"dedup_subgraph": True} if dedup else {}
        if now:
            self.asked.optimize(self.net, backend, self._x(2), clear=clear, **options)
        else:
            self.asked.hybridize(self.net, backend, clear=clear, **options)

    @precondition(lambda self: self.dtype == "float32")
    @rule(now=st.booleans())
    def scale(self, now: bool) -> None:
        """A pass with parameters that change nothing: each is 1."""
        if any(step.backend.endswith("scale") for step in self.net._optimizations.steps):
            return
        if isinstance(self.net, gluon.SymbolBlock) and any("_scale" in one for one in self.net.collect_params()):
            return
        if now:
            self.asked.optimize(self.net, "scale", self._x(2), value=1.0)
        else:
            self.asked.hybridize(self.net, "scale", clear=False, value=1.0)

    @rule(active=st.booleans(), clear=st.booleans())
    def hybridize(self, active: bool, clear: bool) -> None:
        self.net.hybridize(active, clear=clear)

    @precondition(lambda self: not any(step.backend.startswith("opt_") for step in self.net._optimizations.steps))
    @rule(dtype=st.sampled_from(["float32", "float64"]))
    def cast(self, dtype: str) -> None:
        self.dtype = dtype
        for net in self.nets:
            net.cast(dtype)

    @rule()
    def parameters_from_file(self) -> None:
        path = f"{self.folder.name}/net.params"
        if isinstance(self.net, gluon.SymbolBlock):
            return
        self.nets[1].save_parameters(path)
        self.net.load_parameters(path)

    @rule()
    def save(self) -> None:
        if isinstance(self.net, gluon.SymbolBlock):
            return
        self.net.save(f"{self.folder.name}/saved")
        self.net.load(f"{self.folder.name}/saved")

    @precondition(lambda self: self.net._active and self.dtype == "float32")
    @rule()
    def export(self) -> None:
        self.net(self._x(2))
        path = f"{self.folder.name}/exported"
        self.net.export(path)
        self.nets[0] = gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0000.params")
        fixed = [one for name, one in self.net.collect_params().items() if "_scale" in name]
        for one in fixed:
            one.grad_req = "null"
        self._train()
        self._same_names()

    def _same_names(self) -> None:
        assert {name for name in self.net.collect_params() if "_scale" not in name} == {*self.nets[1].collect_params()}


NATIVE = compiler() is not None


@pytest.mark.usefixtures("library_if_there")
class TestPrograms(Programs.TestCase):  # type: ignore[misc,name-defined]
    settings = settings(max_examples=20, stateful_step_count=12, deadline=None)
