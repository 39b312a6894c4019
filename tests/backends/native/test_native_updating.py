"""Updates of weights as native loops, beside NumPy's steps: same numbers, and no array touched that is not theirs."""

import contextlib
from itertools import count
from threading import Thread

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy.backends.native import optimizer_updates
from minpy.backends.native.machine import llvm
from minpy.ops.optimizer.updates import _LARGE, Update
from minpy.ops.registry import OPERATORS

COMPILES = True

pytestmark = pytest.mark.skipif(not llvm.available(), reason="needs llvmlite")

NATIVE = [
    "sgd_update",
    "sgd_mom_update",
    "nag_mom_update",
    "adam_update",
    "rmsprop_update",
    "rmspropalex_update",
    "ftrl_update",
    "signum_update",
]
_serial = count()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Loops are made at the first call; each test counts for itself."""
    monkeypatch.setattr(optimizer_updates, "_CALLS_BEFORE_COMPILING", 1)
    monkeypatch.setattr(optimizer_updates, "_entries", {})


def arrays_of(update, size, dtype, seed=0):
    random = numpy.random.RandomState(seed)
    found = [random.normal(size=size).astype(dtype) for _ in update.signature.inputs]
    for position in update.changed:
        found[position] = numpy.abs(found[position]) / 4
    if update.__name__ == "rmspropalex_update":  # n - g² is a variance
        found[2] += 2
    return found


def attributes_of(update, **chosen):
    return {**update.defaults, **chosen, "lr": chosen.get("lr", 0.01)}


def made_by_numpy(update, raws, attributes):
    with mx.compile.disabled():
        update.apply(raws[0], raws, dict(attributes))
    return raws


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("chosen", [{}, {"wd": 0.01}, {"clip_gradient": 0.5, "rescale_grad": 0.25}], ids=str)
@pytest.mark.parametrize("name", NATIVE)
def test_loops_make_the_steps_of_numpy(name, chosen, dtype):
    update = OPERATORS[name]
    given = arrays_of(update, _LARGE + 700, dtype)
    expected = [array.copy() for array in given]
    for step in range(3):
        attributes = attributes_of(update, **chosen, lr=0.1 / (step + 1))
        assert optimizer_updates.run(update, given, attributes), "NumPy has done it"
        made_by_numpy(update, expected, attributes)
    (kind,) = optimizer_updates._entries[update].values()  # whatever the rate
    assert kind.loop is not None
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for position, (one, other) in enumerate(zip(given, expected, strict=True)):
        numpy.testing.assert_allclose(one, other, tolerance, tolerance, err_msg=update.signature.inputs[position])


@pytest.mark.parametrize("name", ["lamb_update_phase1", "ftml_update"])
def test_what_cannot_be_one_loop_stays_with_numpy(name):
    update = OPERATORS[name]
    given = arrays_of(update, _LARGE, "float32")
    before = [array.copy() for array in given]
    assert not optimizer_updates.run(update, given, {**update.defaults, "lr": 0.01, "t": 1})
    for one, other in zip(given, before, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_adamw_and_adamax_are_loops():
    """One takes its gradient's factor as an input, and the other is no operator of its own."""
    results = []
    for natively in (True, False):
        weights = [mx.nd.array(numpy.linspace(-1, 1, _LARGE + 700)) for _ in range(2)]
        adamax = mx.optimizer.Adamax(learning_rate=0.1, wd=0.01)
        grads, state, *averages = weights[0] * 3, adamax.create_state(0, weights[0]), *map(mx.nd.zeros_like, weights)
        with contextlib.nullcontext() if natively else mx.compile.disabled():
            for _ in range(2):
                adamax.update(0, weights[0], grads, state)
                for scale in (0.5, float("inf")):  # nothing changes in a step whose factor is not finite
                    mx.nd.contrib.adamw_update(
                        weights[1], grads, *averages, mx.nd.array([scale]), lr=0.1, wd=0.1, eta=1, out=weights[1]
                    )
        results.append([array.asnumpy() for array in (*weights, *state, *averages)])
    for native, expected in zip(*results, strict=True):
        numpy.testing.assert_allclose(native, expected, 2e-5, 2e-5)
    loops = {update.__name__: kinds.values() for update, kinds in optimizer_updates._entries.items()}
    assert sum(kind.loop is not None for kind in loops["adamax_update"]) == 1  # and none for its second step's rate
    assert sorted(kind.loop is not None for kind in loops["_adamw_update"]) == [False, True]


def test_without_decay_infinite_weights_stay():
    update = OPERATORS["sgd_mom_update"]
    given = arrays_of(update, _LARGE, "float32")
    given[0][:4] = [numpy.inf, -numpy.inf, numpy.nan, -0.0]
    given[1][:4] = given[2][:4] = 0.0
    expected = made_by_numpy(update, [array.copy() for array in given], attributes_of(update, momentum=0.9))
    assert optimizer_updates.run(update, given, attributes_of(update, momentum=0.9))
    numpy.testing.assert_array_equal(given[0][:4], expected[0][:4])
    assert given[0][0] == numpy.inf


def _strided(array):
    whole = numpy.repeat(array, 2)
    return whole[::2]


def _read_only(array):
    array.flags.writeable = False
    return array


def _unaligned(array):
    raw = numpy.empty(array.nbytes + 1, numpy.uint8)
    found = raw[1:].view(array.dtype)
    found[:] = array
    return found


@pytest.mark.parametrize(
    ("position", "way"),
    [(0, _strided), (1, _strided), (2, _strided), (2, _read_only), (1, _unaligned), (2, numpy.float64), (1, None)],
)
def test_arrays_that_do_not_lie_right_are_left_alone(position, way):
    """None: the gradient is the weight, moved by one."""
    update = OPERATORS["sgd_mom_update"]
    given = arrays_of(update, _LARGE, "float32")
    if way is None:
        whole = numpy.concatenate([given[0], [1]]).astype("float32")
        given[0], given[1] = whole[:-1], whole[1:]
    else:
        given[position] = way(given[position])
    before = [array.copy() for array in given]
    assert not optimizer_updates.run(update, given, attributes_of(update))
    for one, other in zip(given, before, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_switches_switch_it_off():
    update = OPERATORS["sgd_update"]
    given = arrays_of(update, _LARGE, "float32")
    with mx.compile.disabled():
        assert not optimizer_updates.run(update, given, attributes_of(update))
    assert optimizer_updates.run(update, given, attributes_of(update))


def test_numbers_that_always_change_are_counted_no_more(monkeypatch):
    monkeypatch.setattr(optimizer_updates, "_CALLS_BEFORE_COMPILING", 100)
    update = OPERATORS["sgd_update"]
    given = arrays_of(update, _LARGE, "float32")
    for step in range(3 * optimizer_updates._MAX_ENTRIES):
        assert not optimizer_updates.run(update, given, attributes_of(update, wd=0.5 / (step + 1)))
    assert len(optimizer_updates._entries[update]) == optimizer_updates._MAX_ENTRIES


def test_many_weights_are_one_call(monkeypatch):
    """With batches of another size at each step no loop is made for each of them, however many weights there are."""
    monkeypatch.setattr(optimizer_updates, "_CALLS_BEFORE_COMPILING", 3)
    update = OPERATORS["sgd_update"]
    given = arrays_of(update, (70, 100), "float32") * 20
    for size in range(1, 9):
        for _ in range(2):
            assert not optimizer_updates.run(update, given, attributes_of(update, rescale_grad=1 / size), [0.1] * 20)
    assert optimizer_updates.run(update, given, attributes_of(update), [0.1] * 20)


class Naive:
    """Weights, gradients and states as NumPy's steps would have them."""

    def __init__(self, update, raws):
        self.update = update
        self.raws = [array.copy() for array in raws]

    def step(self, attributes):
        made_by_numpy(self.update, self.raws, attributes)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_trainings_touch_nothing_but_their_own(data):
    """Weights are parts of one array, whose other elements, and all gradients, stay as they are."""
    update = OPERATORS[data.draw(st.sampled_from(["sgd_update", "sgd_mom_update", "adam_update"]))]
    size = _LARGE + data.draw(st.integers(0, 3000))
    before, after = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 40))
    given = arrays_of(update, size, "float32", next(_serial))
    wholes = []
    for array in given:
        whole = numpy.full(before + size + after, 7, "float32")
        whole[before : before + size] = array
        wholes.append(whole)
    parts = [whole[before : before + size] for whole in wholes]
    wrapped = [mx.nd.from_numpy(part, zero_copy=True) for part in parts]
    naive = Naive(update, parts)
    for _ in range(data.draw(st.integers(1, 4))):
        attributes = attributes_of(
            update, lr=data.draw(st.sampled_from([0.5, 0.01, 0.0])), wd=data.draw(st.sampled_from([0.0, 0.1]))
        )
        if data.draw(st.booleans()):
            update.change(wrapped, dict(attributes))
        elif data.draw(st.booleans()):
            update(*wrapped, out=wrapped[0], **attributes)
        else:
            with mx.compile.disabled():
                update.change(wrapped, dict(attributes))
        naive.step(attributes)
        if data.draw(st.booleans()):  # somebody writes in between
            place = data.draw(st.integers(0, size - 1))
            wholes[0][before + place :][: size - place] = naive.raws[0][place:] = 0.25
    for part, whole, expected in zip(parts, wholes, naive.raws, strict=True):
        numpy.testing.assert_allclose(part, expected, 1e-5, 1e-6)
        assert (whole[:before] == 7).all()
        assert (whole[before + size :] == 7).all()


def test_four_threads_train_at_once():
    update = OPERATORS["adam_update"]
    attributes = attributes_of(update)
    results = {}

    def train(number):
        given = arrays_of(update, 4 * _LARGE + 5, "float32", number)
        for _ in range(20):
            update.apply(given[0], given, dict(attributes))
        results[number] = given

    threads = [Thread(target=train, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, found in results.items():
        expected = arrays_of(update, 4 * _LARGE + 5, "float32", number)
        for _ in range(20):
            made_by_numpy(update, expected, attributes)
        for one, other in zip(found, expected, strict=True):
            numpy.testing.assert_allclose(one, other, 1e-4, 1e-5)
    assert Update.natively is optimizer_updates.run


# Several weights in one call ------------------------------------------------------------------------------------------

SHAPES = [(), (0,), (1,), (10,), (512,), (1023,), (1024,), (1025,), (300, 300), (2, 0, 3), (7, 1100)]


def wrapped(raws):
    return [mx.nd.from_numpy(raw, zero_copy=True) for raw in raws]


def rows_of(update, shapes, dtype="float32"):
    """Return the arrays of several weights, each in the middle of memory that is to stay as it is."""
    rows, wholes = [], []
    for seed, shape in enumerate(shapes):
        row = []
        for array in arrays_of(update, shape, dtype, seed):
            array = numpy.asarray(array, dtype)
            whole = numpy.full(array.size + 64, 7, dtype)
            part = whole[32 : 32 + array.size].reshape(shape)
            part[...] = array
            wholes.append(whole)
            row.append(part)
        rows.append(row)
    return rows, wholes


class Counted:
    """What is done by native code, while it is in the place of `run`."""

    def __init__(self, monkeypatch):
        self.weights = 0
        monkeypatch.setattr(Update, "natively", staticmethod(self.run))

    def run(self, update, raws, attributes, rates=None):
        done = optimizer_updates.run(update, raws, attributes, rates)
        self.weights += done * (len(rates) if rates is not None else 1)
        return done


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NATIVE)
def test_weights_of_all_sizes_are_changed_in_one_call(name, dtype, monkeypatch):
    """With rates of their own; NumPy makes the same steps, and nothing beside the arrays is written to."""
    counted = Counted(monkeypatch)
    update = OPERATORS[name]
    rows, wholes = rows_of(update, SHAPES, dtype)
    expected = [[array.copy() for array in row] for row in rows]
    rates = [0.1 / (place + 1) for place in range(len(rows))]
    for _ in range(3):
        attributes = {key: value for key, value in attributes_of(update).items() if key not in ("lr", "wd")}
        update.change_all([wrapped(row) for row in rows], attributes, rates, [0.01] * len(rows))
        for row, rate in zip(expected, rates, strict=True):
            made_by_numpy(update, row, attributes_of(update, lr=rate, wd=0.01))
    assert counted.weights == 3 * len(rows)
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for row, others in zip(rows, expected, strict=True):
        for one, other in zip(row, others, strict=True):
            numpy.testing.assert_allclose(one, other, tolerance, tolerance)
    for whole in wholes:
        assert (whole[:32] == 7).all()
        assert (whole[-32:] == 7).all()


def test_decays_of_their_own_are_calls_of_their_own(monkeypatch):
    counted = Counted(monkeypatch)
    update = OPERATORS["sgd_mom_update"]
    rows, _ = rows_of(update, [(300, 300), (300,), (300, 300), (300, 300), (300,), (5,)])
    decays = [0.1, 0.1, 0.0, 0.0, 0.0, 0.1]
    expected = [[array.copy() for array in row] for row in rows]
    update.change_all([wrapped(row) for row in rows], attributes_of(update, momentum=0.9), [0.1] * 6, decays)
    for row, decay in zip(expected, decays, strict=True):
        made_by_numpy(update, row, attributes_of(update, momentum=0.9, lr=0.1, wd=decay))
    assert counted.weights == 5
    for row, others in zip(rows, expected, strict=True):
        for one, other in zip(row, others, strict=True):
            numpy.testing.assert_allclose(one, other, 1e-5, 1e-6)


def _of_another_shape(array):
    return array.reshape(-1, 2)


@pytest.mark.parametrize("way", [_strided, _unaligned, numpy.float64, "moved by one", "the weight before"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_that_does_not_lie_right_leaves_all_to_numpy(place, way, monkeypatch):
    """Whichever of several weights it is: no other has been changed before that is seen."""
    counted = Counted(monkeypatch)
    update = OPERATORS["sgd_mom_update"]
    rows, _ = rows_of(update, [(300, 300), (90000,), (90000,)])
    if way == "moved by one":
        whole = numpy.arange(90001, dtype="float32") / 90001
        rows[place][0], rows[place][2] = (part.reshape(rows[place][0].shape) for part in (whole[:-1], whole[1:]))
    elif way == "the weight before":
        rows[place][1] = rows[place][0]
    else:
        odd = way(rows[place][2].reshape(-1))
        rows[place] = [array.reshape(-1) for array in rows[place][:2]] + [odd]
    before = [array.copy() for row in rows for array in row]
    flat = [array for row in rows for array in row]
    assert not optimizer_updates.run(update, flat, attributes_of(update), [0.1] * 3)
    for one, other in zip(flat, before, strict=True):
        numpy.testing.assert_array_equal(one, other)
    assert counted.weights == 0


def test_arrays_of_other_shapes_are_refused_as_they_are_alone():
    update = OPERATORS["sgd_update"]
    rows, _ = rows_of(update, [(300, 300), (300, 300)])
    before = rows[1][0].copy()
    rows[1][1] = _of_another_shape(rows[1][1])
    assert not optimizer_updates.run(update, [*rows[0], *rows[1]], attributes_of(update), [0.1, 0.1])
    with pytest.raises(mx.MXNetError, match="shapes must be equal"):
        update.change_all([wrapped(row) for row in rows], attributes_of(update), [0.1] * 2, [0.0] * 2)
    numpy.testing.assert_array_equal(rows[1][0], before)


def test_what_is_no_array_of_numpys_own_class_is_left_alone():
    update = OPERATORS["sgd_update"]
    given = arrays_of(update, (300, 300), "float32")
    assert not optimizer_updates.run(update, [given[0].view(numpy.matrix), given[1]], attributes_of(update))


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_trainings_are_the_same_with_and_without_native_code(data):
    """Steps of a Trainer, with multipliers, weights that are written to in between, and gradients that are added up."""
    shapes = data.draw(st.lists(st.sampled_from([(260, 260), (1030,), (3,), (70, 1000)]), min_size=1, max_size=5))
    name = data.draw(st.sampled_from(["sgd", "nag", "adam"]))
    options = {"learning_rate": 0.1, "wd": 0.01}
    if name != "adam":
        options["momentum"] = data.draw(st.sampled_from([0.0, 0.9]))
    decays = [data.draw(st.sampled_from([0.0, 1.0])) for _ in shapes]
    events = data.draw(st.lists(st.sampled_from(["step", "step", "write", "rate", "freeze"]), min_size=3, max_size=8))

    def trained():
        mx.random.seed(0)
        parameters = []
        for number, (shape, decay) in enumerate(zip(shapes, decays, strict=True)):
            parameter = mx.gluon.Parameter(f"p{number}", shape=shape, wd_mult=decay, lr_mult=1 + number)
            parameter.initialize(mx.init.Normal(0.5))
            parameters.append(parameter)
        trainer = mx.gluon.Trainer(parameters, name, dict(options))
        for number, event in enumerate(events):
            if event == "write":
                parameters[0].data()[:] = 0.25
            elif event == "rate":
                trainer.set_learning_rate(0.1 / (number + 1))
            elif event == "freeze":
                parameters[-1].grad_req = "null" if parameters[-1].grad_req == "write" else "write"
            with mx.autograd.record():
                loss = sum((parameter.data() ** 2).sum() for parameter in parameters)
            if any(parameter.grad_req != "null" for parameter in parameters):
                loss.backward()
                trainer.step(2)
        return [parameter.data().asnumpy() for parameter in parameters]

    found = trained()
    with mx.compile.disabled():
        expected = trained()
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other, 1e-4, 1e-6)


def test_backward_sees_that_weights_of_one_call_have_changed():
    update = OPERATORS["sgd_mom_update"]
    rows, _ = rows_of(update, [(300, 300), (40, 40)])
    arrays = [wrapped(row) for row in rows]
    weight = arrays[1][0]
    weight.attach_grad()
    with mx.autograd.record():
        loss = (weight * weight).sum()
    update.change_all(arrays, attributes_of(update), [0.1] * 2, [0.0] * 2)
    with pytest.raises(mx.MXNetError, match="changed in place"):
        loss.backward()
