"""What native code keeps of parameters is what it would compute anew: however, and by whom, they are written."""

from __future__ import annotations

import copy
import os
import threading
import warnings

import numpy as np
import pytest
from thoroughness import often

import minpy as mx
from minpy import autograd, gluon, nd, sym
from minpy.backends.native.codegen.parameter_hoisting import PREPARED
from minpy.backends.native.runtime import prepared_parameters
from minpy.gluon import nn

pytest.importorskip("llvmlite")

COMPILES = True
SHAPE = (1, 16, 6, 6)


class Net(gluon.HybridBlock):
    """Convolutions with batch norms, and a layer whose weight is turned by hand: parameters of all kinds."""

    def __init__(self, **keywords):
        super().__init__(**keywords)
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(32, 3, padding=1, in_channels=16, use_bias=False),
                nn.BatchNorm(in_channels=32),
                nn.Activation("relu"),
                nn.Conv2D(16, 1, in_channels=32),
                nn.BatchNorm(in_channels=16, scale=False),
                nn.Dense(8, in_units=16 * 36),
            )
            self.mixed = self.params.get("mixed", shape=(8, 8))

    def hybrid_forward(self, F, x, mixed):
        return F.broadcast_mul(self.body(x), F.sum(F.tanh(mixed), axis=0, keepdims=True) + 1)


def nets(ctx=None):
    """Return a block that is compiled, and one with the same parameters that runs eagerly."""
    net = Net(prefix="net_")
    net.initialize(mx.init.Xavier(), ctx=ctx)
    for one in net.collect_params().values():
        for array in one.list_data():
            is_positive = "var" in one.name or "gamma" in one.name
            array[:] = RANDOM.uniform(0.3, 1.2, one.shape) if is_positive else RANDOM.normal(size=one.shape) * 0.2
    plain = Net(prefix="net_", params=net.collect_params())
    net.hybridize()
    return net, plain


RANDOM = np.random.RandomState(3)


def batch(seed=0):
    return nd.array(np.random.RandomState(seed).normal(size=SHAPE))


def prepares(net):
    """Tell whether the latest program of a block keeps something of its parameters."""
    return any(one.prepared for one in net.explain())


def require_close(found, expected, what=""):
    """Compare sums of many numbers: what they differ by is small beside the largest of them."""
    bound = 2e-5 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound, err_msg=what)


def require_same(net, plain, x, what=""):
    found, expected = net(x).asnumpy(), plain(x).asnumpy()
    require_close(found, expected, what)


class Writer:
    """Writes parameters, at random, in every way that there is."""

    def __init__(self, net, seed, tmp_path):
        self.net, self.random = net, np.random.RandomState(seed)
        self.path = str(tmp_path / "weights.params")
        self.names = list(net.collect_params())
        self.views = []  # of parameters: written to later
        self.aliases = []  # NumPy's arrays of the same memory
        self.trainer = None

    def parameter(self):
        return self.net.collect_params()[self.names[self.random.randint(len(self.names))]]

    def weight(self):
        return self.parameter().data()

    def signed(self):
        """Return a parameter that may be negative."""
        names = [name for name in self.names if "var" not in name]
        return self.net.collect_params()[names[self.random.randint(len(names))]]

    def values(self, like):
        return self.random.uniform(0.2, 1.1, like.shape).astype("float32")

    def set_data(self):
        one = self.parameter()
        one.set_data(nd.array(self.values(one.data())))

    def assign(self):
        weight = self.weight()
        weight[:] = self.values(weight)

    def assign_a_part(self):
        weight = self.weight()
        weight[self.random.randint(weight.shape[0])] = float(self.random.uniform(0.2, 1))

    def in_place(self):
        weight = self.weight()
        weight *= 1.1

    def through_a_reshape(self):
        weight = self.weight().reshape((-1,))
        weight[self.random.randint(weight.size)] = 1.3

    def keep_a_view(self):
        weight = self.weight()
        self.views.append(weight[: 1 + self.random.randint(weight.shape[0])])

    def through_a_kept_view(self):
        if self.views:
            view = self.views[self.random.randint(len(self.views))]
            view[:] = self.values(view)

    def out(self):
        weight = self.weight()
        nd.random.uniform(0.3, 1.0, shape=weight.shape, out=weight)

    def ufunc(self):
        weight = self.weight()
        np.multiply(weight, np.float32(0.9), out=weight)

    def copyto(self):
        weight = self.weight()
        nd.array(self.values(weight)).copyto(weight)

    def update(self):
        weight = self.signed().data()
        nd.sgd_update(weight, nd.array(self.values(weight)), lr=0.1, out=weight)

    def update_with_state(self):
        weight = self.signed().data()
        states = nd.zeros(weight.shape), nd.zeros(weight.shape)
        nd.adam_update(weight, nd.array(self.values(weight)), *states, lr=0.05, out=weight)

    def store(self):
        weight, store = self.weight(), mx.kv.create("local")
        store.init(0, nd.array(self.values(weight)))
        store.pull(0, out=weight)

    def share(self):
        self.aliases.append(self.weight().__array__(copy=False))

    def share_by_dlpack(self):
        self.aliases.append(np.asarray(nd.from_dlpack(nd.to_dlpack_for_write(self.weight())).__array__(copy=False)))

    def through_shared_memory(self):
        if self.aliases:
            alias = self.aliases[self.random.randint(len(self.aliases))]
            alias[...] = self.values(alias)

    def train(self):
        if self.trainer is None:
            self.trainer = gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.01})
        with autograd.record():
            loss = nd.tanh(self.net(batch(self.random.randint(100))) * 1e-3).sum()
        loss.backward()
        self.trainer.step(100)

    def move_statistics(self):
        with autograd.train_mode():
            self.net(batch(self.random.randint(100)))

    def save(self):
        self.net.save_parameters(self.path)

    def load(self):
        if os.path.exists(self.path):
            self.net.load_parameters(self.path)

    def initialize(self):
        self.signed().initialize(mx.init.Uniform(0.5), force_reinit=True)

    def cast(self):
        for kind in ("float64", "float32"):
            self.net.cast(kind)

    def nothing(self):
        """Call again: what is kept is used."""

    WAYS = (
        set_data, assign, assign_a_part, in_place, through_a_reshape, keep_a_view, through_a_kept_view, out, ufunc,
        copyto, update, update_with_state, store, train, move_statistics, save, load, initialize, nothing,
    )  # fmt: skip
    SHARING = (share, share_by_dlpack, through_shared_memory, through_shared_memory)


@pytest.mark.parametrize("sharing", [False, True])
@pytest.mark.parametrize("seed", range(often(2, 40)))
def test_parameters_written_in_every_way(seed, sharing, tmp_path):
    net, plain = nets()
    for _ in range(4):
        require_same(net, plain, batch())
    assert prepares(net)
    writer, history = Writer(net, seed, tmp_path), []
    for _ in range(3):
        writer.move_statistics()
        writer.train()
    ways = Writer.WAYS + (Writer.SHARING if sharing else ())
    for _ in range(60):
        way = ways[writer.random.randint(len(ways))]
        way(writer)
        history.append(way.__name__)
        require_same(net, plain, batch(writer.random.randint(3)), ", ".join(history))


@pytest.fixture
def times(monkeypatch):
    """Count how often something is made of parameters."""
    made = []
    taken = prepared_parameters.Preparation._free_block
    monkeypatch.setattr(prepared_parameters.Preparation, "_free_block", lambda self: made.append(1) or taken(self))
    return lambda: len(made)


def warm(net, plain, x):
    for _ in range(4):
        require_same(net, plain, x)
    assert prepares(net)


def test_once_and_when_a_parameter_changes(times):
    net, plain = nets()
    warm(net, plain, batch())
    before = times()
    for seed in range(5):
        require_same(net, plain, batch(seed))
        nd.ones((3,))[:] = seed  # what is written elsewhere
    assert times() == before == 1
    net.body[0].weight.data()[0] = 0.5
    for seed in range(3):
        require_same(net, plain, batch(seed))
    assert times() == 2


def test_statistics_that_native_code_moves():
    net, plain = nets()
    with autograd.train_mode():
        for _ in range(4):
            net(batch())
    assert net.explain()[0].is_native
    warm(net, plain, batch())
    for seed in range(3):
        with autograd.train_mode():
            net(batch(seed))
        require_same(net, plain, batch())


def test_memory_that_others_may_write_to_is_never_taken_for_unchanged(times):
    net, plain = nets()
    warm(net, plain, batch())
    alias = net.body[0].weight.data().__array__(copy=False)
    for value in (0.1, 0.2, 0.3):
        alias[...] = value
        require_same(net, plain, batch())
    assert times() == 4


def test_what_is_made_is_shown():
    net, plain = nets()
    warm(net, plain, batch())
    (explanation,) = (one for one in net.explain() if one.prepared)
    assert [part.name for part in explanation.parts] == [PREPARED, "forward"]
    made = {name for item in explanation.parts[0].items for name in item.operators}
    assert {"net_conv0_fwd", "net_batchnorm0_fwd", "net_conv1_fwd"} <= made
    weights = sum(one.data().size * 4 for one in net.collect_params(".*conv.*weight").values())
    assert weights <= explanation.prepared < 2 * weights
    assert "bytes hold what is made of parameters" in str(explanation)


def test_a_block_that_was_read_from_files(times, tmp_path):
    net, _ = nets()
    net(batch())
    net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    for _ in range(5):
        found = block(batch())
    assert prepares(block)
    assert times() == 1
    require_close(found.asnumpy(), net(batch()).asnumpy())
    block.collect_params()["net_conv0_weight"].set_data(nd.ones((32, 16, 3, 3)))
    net.body[0].weight.set_data(nd.ones((32, 16, 3, 3)))
    require_close(block(batch()).asnumpy(), net(batch()).asnumpy())


def test_a_copy_has_parameters_of_its_own():
    net, plain = nets()
    warm(net, plain, batch())
    before = net(batch()).asnumpy()
    other = copy.deepcopy(net)
    for _ in range(4):
        require_close(other(batch()).asnumpy(), before)
    other.body[0].weight.data()[:] = 0.1
    require_same(net, plain, batch())
    require_close(net(batch()).asnumpy(), before)
    assert not np.allclose(other(batch()).asnumpy(), before, rtol=1e-3)


def test_what_a_head_shows_of_parameters_is_the_callers():
    class Turned(gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="turned_")
            self.weight = self.params.get("weight", shape=(64, 256), init="ones")

        def hybrid_forward(self, F, x, weight):
            double = F.tanh(weight) * 2
            return F.broadcast_add(x, F.sum(double, axis=0, keepdims=True)), double, F.transpose(double)

    net = Turned()
    net.initialize()
    net.hybridize()
    for _ in range(6):
        _, double, turned = net(nd.ones((1, 256)))
        np.testing.assert_allclose(double.asnumpy(), np.tanh(1) * 2, rtol=1e-5)
        np.testing.assert_allclose(turned.asnumpy(), np.tanh(1) * 2, rtol=1e-5)
        double[:], turned[:] = 7, 8  # who calls may write into what it gets
    assert prepares(net)


class Seen(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("seen_by_python")
class SeenProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Seen()


def test_calls_of_python_see_what_was_made():
    class Mixed(gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="mixed_")
            self.weight = self.params.get("weight", shape=(64, 256), init="ones")

        def hybrid_forward(self, F, x, weight):
            made = F.Custom(F.tanh(weight), op_type="seen_by_python")
            return F.broadcast_add(x, F.sum(made, axis=0, keepdims=True)), F.sort(F.sin(weight), axis=1)

    net = Mixed()
    net.initialize()
    net.hybridize()
    for value in (1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.25):
        net.weight.data()[:] = value
        for _ in range(2):
            total, ordered = net(nd.ones((1, 256)))
            np.testing.assert_allclose(total.asnumpy(), 1 + 128 * np.tanh(value), rtol=1e-5)
            np.testing.assert_allclose(ordered.asnumpy(), np.sin(value), rtol=1e-5)
            ordered[:] = 9
    assert prepares(net)


def test_training_keeps_nothing():
    net, _ = nets()
    for _ in range(4):
        with autograd.record():
            loss = net(batch()).sum()
        loss.backward()
    assert not prepares(net)


def test_parameters_of_several_devices(times):
    places = [mx.cpu(number) for number in range(6)]
    net, plain = nets(places[:2])
    for _ in range(4):
        for place in places[:2]:
            x = batch().as_in_context(place)
            require_same(net, plain, x)
    assert times() == 2
    net.body[0].weight.list_data()[1][:] = 0.25
    for place in places[:2]:
        require_same(net, plain, batch().as_in_context(place))
    assert times() == 3


def test_more_sets_of_parameters_than_are_kept():
    symbol, arrays, executors = network(), values(), []
    executors = [bound(symbol, arrays) for _ in range(prepared_parameters.MOST_BLOCKS + 2)]
    chosen = executors[0]
    sets = [dict(one.arg_dict) for one in executors]
    for number, one in enumerate(sets):
        one["conv_weight"][:] = number / 10
    for _ in range(3):
        for one in sets:
            for position, name in enumerate(symbol.list_arguments()):
                chosen.arg_arrays[position] = one[name]
            require_executor(chosen)


# -- executors -------------------------------------------------------------------------------------------------------


def network():
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=32, pad=(1, 1), name="conv")
    x = sym.Activation(sym.BatchNorm(x, fix_gamma=False, name="norm"), act_type="relu")
    x = sym.Convolution(x, kernel=(1, 1), num_filter=32, no_bias=True, name="second")
    return sym.FullyConnected(sym.BatchNorm(x, name="last"), num_hidden=4, name="full")


def values(seed=1):
    random = np.random.RandomState(seed)
    symbol = network()
    shapes, _, states = symbol.infer_shape(data=SHAPE)
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    return {name: random.uniform(0.2, 1, shape) for name, shape in zip(names, [*shapes, *states], strict=True)}


def bound(symbol, arrays):
    states = symbol.list_auxiliary_states()
    given = {name: nd.array(one) for name, one in arrays.items()}
    arguments = {name: one for name, one in given.items() if name not in states}
    gradients = {name: nd.zeros(one.shape) for name, one in arguments.items()}
    return symbol.bind(mx.cpu(), arguments, gradients, aux_states={name: given[name] for name in states})


def require_executor(executor, what=""):
    """Compare with an executor of the same arrays that has not run before: with the steps one by one."""
    found = executor.forward(is_train=False)[0].asnumpy()
    other = network().bind(
        mx.cpu(), dict(zip(executor._names, executor.arg_arrays, strict=True)), aux_states=executor.aux_arrays
    )
    expected = other.forward(is_train=False)[0].asnumpy()
    require_close(found, expected, what)


@pytest.mark.parametrize("seed", range(often(2, 40)))
def test_executors_whose_arrays_are_written_and_exchanged(seed):
    random = np.random.RandomState(seed)
    executor = bound(network(), values())
    for _ in range(4):
        require_executor(executor)
    assert executor.explain()[0].prepared
    larger = executor.reshape(data=(2, *SHAPE[1:]), allow_up_sizing=True)
    for _ in range(4):
        require_executor(larger)

    def uniform(like):
        return nd.array(random.uniform(0.2, 1, like.shape))

    def write():
        array = executor.arg_arrays[random.randint(len(executor.arg_arrays))]
        array[:] = uniform(array)

    def write_statistics():
        array = executor.aux_arrays[random.randint(len(executor.aux_arrays))]
        array[:] = uniform(array)

    def exchange():
        position = random.randint(1, len(executor.arg_arrays))
        executor.arg_arrays[position] = uniform(executor.arg_arrays[position])

    def exchange_statistics():
        position = random.randint(len(executor.aux_arrays))
        executor.aux_arrays[position] = uniform(executor.aux_arrays[position])

    def copy_values():
        executor.copy_params_from({name: uniform(one) for name, one in executor.arg_dict.items() if name != "data"})

    def train():
        executor.forward(is_train=True, data=uniform(executor.arg_arrays[0]))
        executor.backward(nd.ones(executor.outputs[0].shape))
        for weight, gradient in list(zip(executor.arg_arrays, executor.grad_arrays, strict=True))[1:]:
            nd.sgd_update(weight, gradient, lr=1e-6, out=weight)

    def gradients_of_prediction():
        executor.forward(is_train=False)
        executor.backward(nd.ones(executor.outputs[0].shape))

    def another_batch():
        executor.forward(is_train=False, data=uniform(executor.arg_arrays[0]))

    def shared():
        source = random.uniform(0.2, 1, executor.arg_dict["conv_weight"].shape).astype("float32")
        executor.arg_arrays[executor._names.index("conv_weight")] = nd.from_numpy(source)
        aliases.append(nd.from_numpy(source).__array__(copy=False))

    def through_shared_memory():
        for alias in aliases:
            alias[...] = random.uniform(0.2, 1)

    def profile():
        executor.profile(is_train=bool(random.randint(2)), repeat=1)

    aliases, history = [], []
    ways = [
        write, write_statistics, exchange, exchange_statistics, copy_values, train, gradients_of_prediction,
        another_batch, write, exchange,
    ]  # fmt: skip
    ways += [shared, through_shared_memory, through_shared_memory] if seed % 2 else [profile]
    for _ in range(40):
        way = ways[random.randint(len(ways))]
        way()
        history.append(way.__name__)
        require_executor(executor, ", ".join(history))
        require_executor(larger, ", ".join(history))


def test_data_that_stays_the_same_is_computed_with_anyway():
    executor = bound(network(), values())
    for _ in range(5):
        executor.forward(is_train=False)
    (explanation,) = (one for one in executor.explain() if one.prepared)
    assert any("convolution of" in item.what for item in explanation.parts[1].items)
    assert not any("convolution of" in item.what for item in explanation.parts[0].items)


# -- threads and processes -------------------------------------------------------------------------------------------


def test_threads_that_meet_a_change():
    net, plain = nets()
    x = [batch(number) for number in range(4)]
    warm(net, plain, x[0])
    gate, errors = threading.Barrier(5), []

    def predict(number):
        try:
            for _ in range(often(15, 300)):
                gate.wait(60)
                found = [net(x[number]).asnumpy() for _ in range(2)]
                gate.wait(60)
                expected = plain(x[number]).asnumpy()
                gate.wait(60)
                for one in found:
                    require_close(one, expected)
        except Exception as error:
            errors.append(error)
            gate.abort()

    threads = [threading.Thread(target=predict, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(often(15, 300)):
            net.body[0].weight.data()[:] = RANDOM.normal(size=(32, 16, 3, 3)) * 0.2
            if turn % 3 == 0:
                net.body[1].running_var.set_data(nd.array(RANDOM.uniform(0.5, 1, 32)))
            for _ in range(3):
                gate.wait(60)
    except threading.BrokenBarrierError:
        assert errors
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


def test_a_thread_that_writes_meanwhile():
    """What threads see while parameters change is some mixture; what they see afterwards is not."""
    net, plain = nets()
    x = batch()
    warm(net, plain, x)
    done, errors = threading.Event(), []

    def predict():
        try:
            while not done.is_set():
                assert np.isfinite(net(x).asnumpy()).all()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=predict) for _ in range(3)]
    for thread in threads:
        thread.start()
    weights = [one.data() for one in net.collect_params(".*weight").values()]
    for _ in range(often(5, 60)):
        for weight in weights:
            nd.sgd_update(weight, nd.ones(weight.shape) * 0.01, lr=0.1, out=weight)
            weight[0] = 0.1
    done.set()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    require_same(net, plain, x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_changes_its_own():
    net, plain = nets()
    warm(net, plain, batch())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other tests have left threads
        child = os.fork()
    if not child:
        status = 1
        try:
            net.body[0].weight.data()[:] = 0.3
            require_same(net, plain, batch())
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    require_same(net, plain, batch())


# -- blocks of memory ------------------------------------------------------------------------------------------------


def filling(arrays, block):
    block[:] = int(arrays[1][0])


def test_a_block_that_is_read_is_not_filled_again():
    preparation = prepared_parameters.Preparation([1], 8)
    arrays = [nd.zeros((1,))._data, nd.ones((1,))._data]
    first = preparation.block(arrays, filling)
    assert preparation.block([None, arrays[1]], filling) is first
    mx.core.buffers.note_write(arrays[1])
    arrays[1][0] = 2
    second = preparation.block(arrays, filling)
    assert second is not first
    assert (first == 1).all()
    assert (second == 2).all()
    assert len(preparation) == 1


def test_a_block_that_nobody_reads_is_filled_again():
    preparation = prepared_parameters.Preparation([1], 8)
    arrays = [None, nd.ones((1,))._data]
    address = preparation.block(arrays, filling).ctypes.data
    mx.core.buffers.note_write(arrays[1])
    assert preparation.block(arrays, filling).ctypes.data == address


def test_blocks_of_arrays_that_are_gone_are_taken_first():
    preparation = prepared_parameters.Preparation([1], 8)
    kept = [None, nd.ones((1,))._data]
    block = preparation.block(kept, filling)
    for number in range(20):
        preparation.block([None, nd.full((1,), number)._data], filling)
    assert len(preparation) == 2
    assert preparation.block(kept, filling) is block
    others = [[None, nd.full((1,), number)._data] for number in range(20)]
    for one in others:
        assert (preparation.block(one, filling) == int(one[1][0])).all()
    assert len(preparation) == prepared_parameters.MOST_BLOCKS


def test_an_interrupt_leaves_nothing_half_made():
    preparation = prepared_parameters.Preparation([1], 8)
    arrays = [None, nd.ones((1,))._data]

    def interrupted(_, block):
        block[:4] = 7
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        preparation.block(arrays, interrupted)
    assert (preparation.block(arrays, filling) == 1).all()
