"""Updates of weights as native loops, beside NumPy's steps: same numbers, and no array touched that is not theirs."""

from itertools import count
from threading import Thread

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy.graph.native import updating
from minpy.graph.native.machine import llvm
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
]
_serial = count()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Loops are made at the first call; each test counts for itself."""
    monkeypatch.setattr(updating, "_CALLS", 1)
    monkeypatch.setattr(updating, "_kinds", {})


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
        assert updating.run(update, given, attributes), "NumPy has done it"
        made_by_numpy(update, expected, attributes)
    (kind,) = updating._kinds[update].values()  # whatever the rate
    assert kind.loop is not None
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for position, (one, other) in enumerate(zip(given, expected, strict=True)):
        numpy.testing.assert_allclose(one, other, tolerance, tolerance, err_msg=update.signature.inputs[position])


@pytest.mark.parametrize("name", ["signsgd_update", "signum_update", "lamb_update_phase1", "ftml_update"])
def test_what_cannot_be_one_loop_stays_with_numpy(name):
    update = OPERATORS[name]
    given = arrays_of(update, _LARGE, "float32")
    before = [array.copy() for array in given]
    assert not updating.run(update, given, {**update.defaults, "lr": 0.01, "t": 1})
    for one, other in zip(given, before, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_without_decay_infinite_weights_stay():
    update = OPERATORS["sgd_mom_update"]
    given = arrays_of(update, _LARGE, "float32")
    given[0][:4] = [numpy.inf, -numpy.inf, numpy.nan, -0.0]
    given[1][:4] = given[2][:4] = 0.0
    expected = made_by_numpy(update, [array.copy() for array in given], attributes_of(update, momentum=0.9))
    assert updating.run(update, given, attributes_of(update, momentum=0.9))
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
    assert not updating.run(update, given, attributes_of(update))
    for one, other in zip(given, before, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_switches_switch_it_off():
    update = OPERATORS["sgd_update"]
    given = arrays_of(update, _LARGE, "float32")
    with mx.compile.disabled():
        assert not updating.run(update, given, attributes_of(update))
    assert updating.run(update, given, attributes_of(update))


def test_numbers_that_always_change_are_counted_no_more(monkeypatch):
    monkeypatch.setattr(updating, "_CALLS", 100)
    update = OPERATORS["sgd_update"]
    given = arrays_of(update, _LARGE, "float32")
    for step in range(3 * updating._MOST_KINDS):
        assert not updating.run(update, given, attributes_of(update, wd=0.5 / (step + 1)))
    assert len(updating._kinds[update]) == updating._MOST_KINDS


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
    assert Update.natively is updating.run
