"""States of native operators: how many there are, whose they are, when they end; and what inputs that change become."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from native.building import build, compiler
from native.watching import Watched

import minpy as mx
from minpy import gluon, nd, sym
from minpy.core.errors import MXNetError, OperatorError


def load():
    paths = build("operators.c", flags=["-DABI=11", '-DTAG=""']), build("failing.c")
    for path in paths:
        mx.library.load(path, verbose=False)
    return [Watched(path) for path in paths]


@pytest.fixture(autouse=True)
def library():
    watched, failing = load()
    gc.collect()
    before = watched.states, failing.states
    yield watched
    gc.collect()
    assert watched.faults == failing.faults == []
    assert watched.blocks == failing.blocks == 0
    assert (watched.states, failing.states) == before, "states are left over"


def values(array):
    return array.tolist() if isinstance(array, np.ndarray) else array.asnumpy().tolist()


# -- how long states live ----------------------------------------------------------------------------------------------


def test_a_state_for_each_imperative_call(library):
    alive, made = library.states, library.states_made
    for _ in range(3):
        assert values(nd.raw_counted(np.ones(2), scale=4)) == [4, 4]
        assert library.states == alive
    assert library.states_made == made + 3


def test_a_recorded_call_keeps_its_state_until_nobody_can_ask_for_its_gradient(library):
    alive = library.states
    x = nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.raw_counted(x)
        z = nd.raw_counted(x)
    assert library.states == alive + 2
    del z
    assert library.states == alive + 1
    y.backward(retain_graph=True)
    assert library.states == alive + 1
    y.backward()
    del y
    assert library.states == alive


def test_a_recorded_call_that_needs_no_gradient_keeps_none(library):
    alive = library.states
    with mx.autograd.record():
        y = nd.raw_counted(nd.ones(2))
    assert library.states == alive
    del y


def test_a_state_for_each_executor(library):
    alive = library.states
    node = sym.raw_counted(sym.var("x"), scale=1)
    one = node.bind(mx.cpu(), {"x": nd.ones(1)})
    two = node.bind(mx.cpu(), {"x": nd.ones(1)})
    assert [values(one.forward()[0]) for _ in range(3)] == [[1], [2], [3]]
    assert values(two.forward()[0]) == [1]
    assert library.states == alive + 2
    del one
    gc.collect()
    assert library.states == alive + 1
    assert values(two.forward()[0]) == [2]
    del two
    gc.collect()
    assert library.states == alive


def test_a_state_for_each_node_of_a_graph(library):
    x = sym.var("x")
    both = sym.Group([sym.raw_counted(x), sym.raw_counted(x)])
    bound = both.bind(mx.cpu(), {"x": nd.ones(1)})
    for times in (1, 2):
        assert [values(one) for one in bound.forward()] == [[times], [times]]
    shared = sym.raw_counted(x)
    bound = (shared + shared).bind(mx.cpu(), {"x": nd.ones(1)})
    assert values(bound.forward()[0]) == [2]
    assert values(bound.forward()[0]) == [4]


def test_the_gradient_of_an_executor_is_that_of_its_last_forward_call(library):
    bound = sym.raw_counted(sym.var("x")).simple_bind(mx.cpu(), x=(1,))
    for times in (1, 2, 3):
        bound.forward(is_train=True)
        bound.backward(nd.ones(1))
        assert values(bound.grad_dict["x"]) == [times]


class Counted(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.raw_counted(x)


@pytest.mark.parametrize(
    ("keywords", "expected"), [({}, [1, 1, 1]), ({"static_alloc": True, "static_shape": True}, [1, 2, 3])]
)
def test_states_of_hybridized_blocks(library, keywords, expected):
    alive = library.states
    block = Counted()
    block.hybridize(**keywords)
    assert [values(block(nd.ones(1)))[0] for _ in range(3)] == expected
    assert library.states == alive + ("static_alloc" in keywords)
    del block
    gc.collect()
    assert library.states == alive


def test_calls_of_a_hybridized_block_that_are_in_flight_at_once(library):
    block = Counted()
    block.hybridize()
    alive = library.states
    arrays = [nd.full((1,), float(k)) for k in range(1, 4)]
    for one in arrays:
        one.attach_grad()
    with mx.autograd.record():
        answers = [block(one) for one in arrays]
    assert library.states == alive + 3
    for one in reversed(answers):
        one.backward()
    assert [values(one.grad) for one in arrays] == [[1], [1], [1]]
    del answers, one
    gc.collect()
    assert library.states == alive


def test_each_call_has_the_gradient_of_its_own_state():
    first, second = nd.array([2.0]), nd.array([3.0])
    for one in (first, second):
        one.attach_grad()
    with mx.autograd.record():
        a, b = nd.raw_stateful_pair(first, first), nd.raw_stateful_pair(second, second)
    mx.autograd.backward(b)
    mx.autograd.backward(a)
    assert (values(first.grad), values(second.grad)) == ([7], [9])


def test_states_know_what_they_are_made_for():
    for x in (nd.zeros((2, 3), dtype="float64"), np.zeros((2, 3))):
        assert values(nd.raw_told(x)) == [0, 1, 1, 1, 2, 2, 3, -1, -1, -1, -1, -1]
    node = sym.raw_told(sym.var("x"))
    bound = node.bind(mx.cpu(), {"x": nd.zeros((4, 5, 6), dtype="int8")})
    assert values(bound.forward()[0]) == [0, 1, 5, 1, 3, 4, 5, 6, -1, -1, -1, -1]
    smaller = bound.reshape(x=(2, 2, 2), allow_up_sizing=True)
    assert values(smaller.forward()[0])[5:8] == [2, 2, 2]
    assert values(nd.raw_told(np.zeros((0, 3))))[4:7] == [2, 0, 3]
    assert values(nd.raw_told(np.array(1.0)))[4:6] == [0, -1]


def test_a_state_ends_when_its_call_fails(library):
    failing = load()[1]
    before = failing.states, failing.states_made - failing.states_destroyed
    x = nd.ones(2)
    x.attach_grad()
    for _ in range(3):
        with pytest.raises(OperatorError):
            nd.raw_fail_state(np.ones(2), at="forward")
        with mx.autograd.record():
            with pytest.raises(OperatorError):
                nd.raw_fail_state(x, at="forward")
            y = nd.raw_fail_state(x, at="backward")
        with pytest.raises(OperatorError):
            y.backward()
        del y
    gc.collect()
    assert (failing.states, failing.states_made - failing.states_destroyed) == before


def test_a_state_ends_when_the_call_behind_it_fails(library):
    alive = library.states
    x = nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.raw_counted(x)
        with pytest.raises(OperatorError):
            nd.raw_fail(y, at="forward")
        y = nd.raw_fail(nd.raw_counted(x), at="backward")
    with pytest.raises(OperatorError):
        y.backward()
    del y
    gc.collect()
    assert library.states == alive


def test_threads_have_states_of_their_own(library):
    alive, made = library.states, library.states_made
    wrong = []

    def work(k):
        for _ in range(50):
            x = nd.full((3,), float(k))
            x.attach_grad()
            with mx.autograd.record():
                y = nd.raw_stateful_pair(x, x)
            mx.autograd.backward(y)
            if values(x.grad) != [2.0 * k + 3] * 3:
                wrong.append((k, values(x.grad)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not wrong
    assert library.states_made == made + 200
    assert library.states == alive


def test_threads_of_one_executor_do_not_enter_its_state_together(library):
    """Its forward calls may be made in any order, but one after the other."""
    bound = sym.raw_counted(sym.var("x")).bind(mx.cpu(), {"x": nd.ones(1)})
    seen = []

    def work():
        for _ in range(25):
            seen.append(values(bound.forward()[0])[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values(bound.forward()[0]) == [101]
    assert library.faults == []


def test_messages_of_threads_are_not_lost():
    """Errors of several threads at once: each has at least what its own operator said."""
    wrong = []

    def work(k):
        for number in range(20):
            try:
                nd.raw_fail(np.ones(1), at="forward", message=f"thread {k}, failure {number}.")
                wrong.append("no error")
            except OperatorError as error:
                if f"thread {k}, failure {number}." not in str(error):
                    wrong.append(str(error))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# -- inputs that change ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["raw_running", "raw_stateful_running"])
class TestChangedInputs:
    def test_of_any_layout(self, name):
        run = getattr(nd, name)
        x = np.array([2.0, 4.0])
        for base, view in (
            (np.full(3, 1.0), lambda base: base[1:2]),
            (np.full((3, 2), 1.0), lambda base: base[1:2, 0]),
            (np.full(6, 1.0), lambda base: base[4:3:-1]),
            (np.full(2, 1.0, ">f8"), lambda base: base[1:]),
        ):
            mean = view(base)
            run(x, mean)
            assert values(mean) == [2.0]
            assert base.sum() == base.size + 1, "nothing beside it has changed"

    def test_of_arrays_and_views(self, name):
        run = getattr(nd, name)
        means = nd.ones((3,))
        run(nd.array([2.0, 4.0]), means[1:2])
        assert values(means) == [1, 2, 1]
        numpy_means = mx.np.ones((3,))
        run(mx.np.array([2.0, 4.0]), numpy_means[2:])
        assert values(numpy_means) == [1, 1, 2]

    def test_that_may_not_change(self, name):
        mean = np.ones(1)
        mean.flags.writeable = False
        with pytest.raises((MXNetError, ValueError)) as caught:
            getattr(nd, name)(np.ones(2), mean)
        assert name in str(caught.value)
        assert values(mean) == [1]

    def test_that_are_no_arrays(self, name):
        with pytest.raises(MXNetError) as caught:
            getattr(nd, name)(np.array([2.0, 4.0]), [1.0])
        assert name in str(caught.value)
        assert "changed by the call" in str(caught.value)

    def test_while_recording(self, name):
        run = getattr(nd, name)
        x, mean = nd.array([2.0, 4.0]), nd.ones(1)
        x.attach_grad()
        with mx.autograd.record():
            y = run(x, mean)
            z = run(x * y, mean)
            total = (y + z).sum()
        total.backward()
        # y = x - 2 (mean 1 -> 2), z = x y - m: the means are taken as given, d = 1 + y + x
        assert values(mean) == [3.0]
        assert values(x.grad) == [1 + 0 + 2, 1 + 2 + 4]

    def test_that_are_recorded(self, name):
        """A state has no gradient; what it was computed from is not asked."""
        x, source = nd.array([2.0, 4.0]), nd.ones(1)
        source.attach_grad()
        x.attach_grad()
        with mx.autograd.record():
            y = getattr(nd, name)(x, source * 1)
        y.backward()
        assert values(x.grad) == [1, 1]
        assert values(source.grad) == [0]

    def test_in_an_executor(self, name):
        node = getattr(sym, name)(sym.var("x"), sym.var("mean"), name="n")
        bound = node.simple_bind(mx.cpu(), x=(2,))
        assert values(bound.aux_dict["mean"]) == [0]
        bound.aux_dict["mean"][:] = 1
        bound.arg_dict["x"][:] = nd.array([2.0, 4.0])
        for expected in (2.0, 2.5, 2.75):
            bound.forward(is_train=False)
            assert values(bound.aux_dict["mean"]) == [expected]

    def test_one_state_of_two_nodes(self, name):
        mean = sym.var("mean")
        both = sym.Group([getattr(sym, name)(sym.var("x"), mean), getattr(sym, name)(sym.var("y"), mean)])
        assert both.list_auxiliary_states() == ["mean"]
        bound = both.bind(mx.cpu(), {"x": nd.array([4.0]), "y": nd.array([8.0])}, aux_states={"mean": nd.zeros(1)})
        bound.forward()
        assert values(bound.aux_dict["mean"]) in ([5.0], [4.0]), "one after the other, in an order of the graph's"

    def test_an_input_that_is_a_result_is_no_state(self, name):
        with pytest.raises(MXNetError) as caught:
            getattr(sym, name)(sym.var("x"), sym.exp(sym.var("y")))
        assert name in str(caught.value)

    @pytest.mark.parametrize("hybridize", [None, {}, {"static_alloc": True, "static_shape": True}])
    def test_running_statistics_of_a_block(self, name, hybridize, tmp_path):
        class Centred(gluon.HybridBlock):
            def __init__(self):
                super().__init__(prefix="centred_")
                with self.name_scope():
                    self.mean = self.params.get("mean", grad_req="null", shape=(1,), init="zeros")

            def hybrid_forward(self, F, x, mean):
                return getattr(F, name)(x, mean)

        block = Centred()
        block.initialize()
        if hybridize is not None:
            block.hybridize(**hybridize)
        x = nd.array([2.0, 4.0])
        x.attach_grad()
        for expected in (1.5, 2.25):
            with mx.autograd.record():
                y = block(x)
            y.backward()
            assert values(block.mean.data()) == [expected]
            assert values(x.grad) == [1, 1]
        block.save_parameters(str(tmp_path / "p"))
        again = Centred()
        again.load_parameters(str(tmp_path / "p"))
        assert values(again.mean.data()) == [2.25]
        if hybridize is not None:
            block.export(str(tmp_path / "net"))
            assert list(nd.load(str(tmp_path / "net-0000.params"))) == ["aux:centred_mean"]
            imported = gluon.SymbolBlock.imports(
                str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
            )
            imported(x)
            assert values(imported.collect_params()["centred_mean"].data()) == [2.625]


def test_states_in_the_middle_of_the_inputs():
    memory, x, count = nd.ones(2), nd.array([3.0, 4.0]), nd.array([7], dtype="int32")
    assert values(nd.raw_remember(memory, x, count)) == [3, 4]
    assert (values(memory), values(count)) == ([4, 5], [8])
    node = sym.raw_remember(sym.var("m"), sym.var("x"), sym.var("c"), name="r")
    assert (node.list_arguments(), node.list_auxiliary_states()) == (["x"], ["m", "c"])
    bound = node.bind(mx.cpu(), [x], aux_states=[memory, count])
    bound.forward()
    assert (values(bound.aux_dict["m"]), values(bound.aux_dict["c"])) == ([7, 9], [9])


# -- all of it at once -------------------------------------------------------------------------------------------------


class Lives(RuleBasedStateMachine):
    """Calls, recordings, executors and blocks come and go, fail, and are differentiated: states are counted."""

    def __init__(self):
        super().__init__()
        self.watched, self.failing = load()
        gc.collect()
        self.base = self.watched.states, self.failing.states
        self.recorded, self.bound, self.blocks = [], [], []

    @rule(scale=st.integers(1, 3))
    def call(self, scale):
        assert values(nd.raw_counted(np.ones(2), scale=scale)) == [scale, scale]

    @rule(at=st.sampled_from(["create", "forward"]), record=st.booleans())
    def fail(self, at, record):
        x = nd.ones(2)
        x.attach_grad()
        with mx.autograd.record(record):
            y = nd.raw_counted(x)
            with pytest.raises(OperatorError):
                nd.raw_fail_state(y, at=at)

    @rule(scale=st.integers(1, 3), depth=st.integers(1, 3))
    def record(self, scale, depth):
        x = nd.ones(2)
        x.attach_grad()
        with mx.autograd.record():
            y = x
            for _ in range(depth):
                y = nd.raw_counted(y, scale=scale)
        self.recorded.append((x, y, scale, depth))

    @precondition(lambda self: self.recorded)
    @rule(index=st.integers(0, 99), retain=st.booleans())
    def backward(self, index, retain):
        index %= len(self.recorded)
        x, y, scale, depth = self.recorded[index]
        y.backward(retain_graph=retain)
        assert values(x.grad) == [scale**depth] * 2
        if not retain:
            del self.recorded[index]

    @precondition(lambda self: self.recorded)
    @rule(index=st.integers(0, 99))
    def drop(self, index):
        del self.recorded[index % len(self.recorded)]

    @rule(train=st.booleans())
    def bind(self, train):
        node = sym.raw_counted(sym.raw_counted(sym.var("x")), scale=2)
        bound = node.simple_bind(mx.cpu(), x=(2,), grad_req="write" if train else "null")
        bound.arg_dict["x"][:] = 1
        self.bound.append([bound, 0, train])

    @precondition(lambda self: self.bound)
    @rule(index=st.integers(0, 99), backward=st.booleans())
    def forward(self, index, backward):
        entry = self.bound[index % len(self.bound)]
        bound, times, train = entry
        entry[1] = times + 1
        assert values(bound.forward(is_train=train)[0]) == [2 * (times + 1) ** 2] * 2
        if backward and train:
            bound.backward(nd.ones(2))
            assert values(bound.grad_dict["x"]) == [2 * (times + 1) ** 2] * 2

    @precondition(lambda self: self.bound)
    @rule(index=st.integers(0, 99))
    def unbind(self, index):
        del self.bound[index % len(self.bound)]

    @rule()
    def hybridize(self):
        block = Counted()
        block.hybridize()
        self.blocks.append(block)

    @precondition(lambda self: self.blocks)
    @rule(index=st.integers(0, 99), record=st.booleans())
    def call_block(self, index, record):
        block = self.blocks[index % len(self.blocks)]
        x = nd.ones(2)
        x.attach_grad()
        with mx.autograd.record(record):
            y = block(x)
        assert values(y) == [1, 1]
        if record:
            self.recorded.append((x, y, 1, 1))

    @precondition(lambda self: self.blocks)
    @rule(index=st.integers(0, 99))
    def drop_block(self, index):
        del self.blocks[index % len(self.blocks)]

    @invariant()
    def states_are_those_of_what_is_alive(self):
        run = sum(2 for _, times, _ in self.bound if times)
        bound = 2 * len(self.bound)
        recorded = sum(depth for *_, depth in self.recorded)
        alive = self.watched.states - self.base[0]
        assert recorded + run <= alive <= recorded + bound, (
            "executors make theirs when they are bound, or when they run"
        )
        assert self.failing.states == self.base[1]
        assert self.watched.faults == self.failing.faults == []
        assert self.watched.blocks == self.failing.blocks == 0

    def teardown(self):
        self.recorded, self.bound, self.blocks = [], [], []
        gc.collect()
        assert (self.watched.states, self.failing.states) == self.base


if compiler() is not None:
    TestLives = Lives.TestCase
    TestLives.settings = settings(max_examples=10, stateful_step_count=12, deadline=None)
