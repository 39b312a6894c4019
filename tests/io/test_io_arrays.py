"""`NDArrayIter` and the iterators over iterators: beside naive models, and what they say of bad input."""

from __future__ import annotations

import gc
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import minpy as mx
from minpy.contrib.io import DataLoaderIter
from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError

# Actions on an iterator: so many batches are taken, then it is reset, in one way or the other.
ACTIONS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["reset", "hard_reset"])), min_size=1, max_size=6)


class Model:
    """What `NDArrayIter` should give, instance by instance."""

    def __init__(self, order, size, handle):
        self.order, self.size, self.handle = list(order), size, handle
        self.rest = []
        self.begin([])

    def begin(self, first):
        count, size = len(self.order), self.size
        instances = list(first) + self.order
        self.rest = []
        self.batches = []
        for start in range(0, len(instances), size):
            batch = instances[start : start + size]
            lacking = size - len(batch)
            old = max(len(first) - start, 0) if start < len(first) else 0
            if lacking and self.handle == "discard":
                continue
            if lacking and self.handle == "roll_over":
                self.rest = batch
                continue
            batch += [self.order[position % count] for position in range(lacking)]
            self.batches.append((batch, lacking if self.handle == "pad" else old))
        self.taken = 0
        self.ended = False

    def next(self):
        if self.taken == len(self.batches):
            self.ended = True
            return None
        self.taken += 1
        return self.batches[self.taken - 1]

    def reset(self):
        self.begin(self.rest if self.ended else [])

    def hard_reset(self):
        self.begin([])


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from(["pad", "discard", "roll_over"]),
    ACTIONS,
    st.booleans(),
)
def test_batches_are_those_of_a_naive_model(count, size, handle, actions, by_hand):
    if size > count and handle != "pad":
        with pytest.raises(ArgumentValueError, match="larger than the data"):
            mx.io.NDArrayIter(np.arange(count), batch_size=size, last_batch_handle=handle)
        return
    batches = mx.io.NDArrayIter(np.arange(count), np.arange(count) * 2, size, last_batch_handle=handle)
    model = Model(range(count), size, handle)
    for taken, reset in actions:
        for _ in range(taken):
            expected = model.next()
            try:
                batch = batches.next()
            except StopIteration:
                batch = None
            assert (batch is None) == (expected is None)
            if batch is None:
                break
            assert batch.data[0].asnumpy().tolist() == expected[0]
            assert batch.label[0].asnumpy().tolist() == [2 * number for number in expected[0]]
            assert batch.pad == expected[1]
            if by_hand:
                assert batches.getdata()[0].asnumpy().tolist() == expected[0]
        getattr(batches, reset)()
        getattr(model, reset)()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 15), st.integers(1, 5), st.sampled_from(["pad", "discard", "roll_over"]), st.integers(0, 2**31))
def test_shuffled_epochs_have_every_instance_with_its_label(count, size, handle, seed):
    assume(size <= count)
    np.random.seed(seed)
    batches = mx.io.NDArrayIter(
        {"b": np.arange(count), "a": np.arange(count) * 3}, np.arange(count) * 2, size, True, handle
    )
    generator = np.random.RandomState(seed)
    order, current = np.arange(count), np.arange(count)
    rest: list[int] = []
    for _ in range(4):
        generator.shuffle(order)
        current = current[order]
        seen: list[int] = []
        for batch in batches:
            a, b = (array.asnumpy() for array in batch.data)
            assert (a == b * 3).all()
            assert (batch.label[0].asnumpy() == b * 2).all()
            seen += b[: size - batch.pad if handle == "pad" else size].astype(int).tolist()
        assert seen == (rest + current.tolist())[: len(seen)]
        rest = (rest + current.tolist())[len(seen) :] if handle == "roll_over" else []
        assert len(rest) < size
        batches.reset()


class FakeSet:
    """What h5py's data sets answer."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    def __getitem__(self, key):
        if isinstance(key, np.ndarray):
            assert (np.diff(key) > 0).all(), "HDF5 wants ascending indices"
        return self.values[key]


def test_data_sets_of_hdf5_stay_where_they_are(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "h5py", SimpleNamespace(Dataset=FakeSet))
    values = np.arange(14, dtype="float64").reshape(7, 2)
    found = {}
    for name, source in (("set", FakeSet(values)), ("array", values)):
        np.random.seed(5)
        batches = mx.io.NDArrayIter(source, np.arange(7), 3, shuffle=True)
        found[name] = [[b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist()] for b in batches]
        assert batches.provide_data == [("data", (3, 2))]
        assert batches.provide_data[0].dtype is np.float32
    assert found["set"] == found["array"]


def test_sparse_matrices_of_scipy_are_made_dense_batch_by_batch():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    matrix = scipy_sparse.random(7, 4, 0.4, random_state=0, format="coo")
    np.random.seed(1)
    sparse = [b.data[0].asnumpy() for b in mx.io.NDArrayIter(matrix, batch_size=3, shuffle=True)]
    np.random.seed(1)
    dense = [b.data[0].asnumpy() for b in mx.io.NDArrayIter(matrix.toarray(), batch_size=3, shuffle=True)]
    assert all((one == other).all() for one, other in zip(sparse, dense, strict=True))


def test_mx_np_arrays_give_mx_np_arrays():
    batch = mx.io.NDArrayIter(mx.np.arange(4), batch_size=2).next()
    assert isinstance(batch.data[0], mx.np.ndarray)


FIVE = np.zeros((5, 2))
BAD_ARRAYS = {
    "nothing": ((None,), "data is NoneType None; expected at least one array"),
    "an empty list": (([],), "data is list of 0: []; expected at least one array"),
    "a tuple": (((FIVE, FIVE),), "data is tuple of 2: [float64 (5, 2), float64 (5, 2)]; expected an NDArray"),
    "a string": (("digits",), "data is str 'digits'; expected an NDArray, a numpy.ndarray, a h5py.Dataset, a list"),
    "a string in a dictionary": (({"a": "b"},), "a is str 'b'; expected an NDArray"),
    "words": (({"a": ["b"]},), "a is list of 1: [str 'b'], which is no array of numbers"),
    "a number": ((np.array(3.0),), "data is a number; expected an array whose axis 0 counts the instances"),
    "lengths": (
        ({"x": FIVE, "y": np.zeros(4)}, np.zeros(6)),
        "different numbers of instances: x has 5, y has 4, softmax_label has 6",
    ),
    "no batch": ((FIVE, None, 0), "batch_size is int 0; expected an integer above 0"),
    "half a batch": ((FIVE, None, 2.5), "batch_size is float 2.5; expected an integer above 0"),
    "too large": (
        (FIVE, None, 6, False, "discard"),
        (
            "batch_size 6 is larger than the data, which has 5 instances: with last_batch_handle='discard' an epoch "
            "would have no batch. Take a smaller batch_size, or 'pad'"
        ),
    ),
    "handle": (
        (FIVE, None, 2, False, "rollover"),
        "last_batch_handle 'rollover'; expected 'pad', 'discard' or 'roll_over'. Did you mean 'roll_over'?",
    ),
    "layout": ((FIVE, None, 2, False, "pad", "data", "label", "TC"), "layout 'TC' has no N"),
}


@pytest.mark.parametrize(("arguments", "text"), BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_bad_arrays(arguments, text):
    with pytest.raises(ArgumentError) as caught:
        mx.io.NDArrayIter(*arguments)
    assert text in str(caught.value)
    assert str(caught.value).startswith("NDArrayIter: ")


def test_data_before_and_after_an_epoch():
    batches = mx.io.NDArrayIter(FIVE, batch_size=5)
    with pytest.raises(MXNetError, match=r"there is no batch yet. Call next\(\)"):
        batches.getdata()
    list(batches)
    with pytest.raises(MXNetError, match=r"the epoch is over. Call reset\(\)"):
        batches.getdata()


def test_bad_batches_and_descriptions():
    with pytest.raises(ArgumentError, match=r"data is a list of NDArrays.*got float32 \(2,\). Write data=\[...\]"):
        mx.io.DataBatch(mx.nd.ones(2))
    with pytest.raises(ArgumentError, match="label is a list"):
        mx.io.DataBatch([], mx.nd.ones(2))
    with pytest.raises(ArgumentError, match="no dtype for a; types has b"):
        mx.io.DataDesc.get_list([("a", (1,))], [("b", "int32")])


class Failing(mx.io.DataIter):
    """Batches, and an exception as number `at`; counts threads that are in it."""

    provide_data = (mx.io.DataDesc("data", (1,)),)
    provide_label = ()

    def __init__(self, at, count=5):
        super().__init__(1)
        self.at, self.count, self.cursor = at, count, 0

    def reset(self):
        self.cursor = 0

    def next(self):
        self.cursor += 1
        if self.cursor > self.count:
            raise StopIteration
        if self.cursor == self.at:
            raise KeyError(f"batch {self.at}")
        return mx.io.DataBatch([mx.nd.array([self.cursor])], [], pad=0)


def values(batches):
    return [batch.data[0].asnumpy().tolist() for batch in batches]


def test_an_inner_exception_is_raised_where_its_batch_is_asked_for():
    inner = Failing(3)
    batches = mx.io.PrefetchingIter(inner)
    assert [batches.next().data[0].asscalar() for _ in range(2)] == [1, 2]
    for _ in range(2):
        with pytest.raises(KeyError, match="batch 3"):
            batches.next()
    inner.at = 0
    batches.reset()
    assert values(batches) == [[1], [2], [3], [4], [5]]
    inner.at = 1
    batches.reset()
    with pytest.raises(KeyError, match="batch 1"):
        batches.next()


def prefetching_threads():
    return [thread for thread in threading.enumerate() if thread.name == "PrefetchingIter"]


def test_threads_end_with_their_iterator():
    before = len(prefetching_threads())
    batches = mx.io.PrefetchingIter([Failing(0), Failing(0)])
    assert len(prefetching_threads()) == before + 2
    batches.next()
    del batches
    gc.collect()
    assert len(prefetching_threads()) == before


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 9), st.booleans(), st.lists(st.integers(0, 6), max_size=4))
def test_iterators_over_iterators_compose(count, size, length, internal, taken):
    def plain():
        return mx.io.NDArrayIter(np.arange(count), batch_size=size)

    pairs = (
        (
            mx.io.ResizeIter(plain(), length, internal),
            mx.io.ResizeIter(mx.io.PrefetchingIter(plain()), length, internal),
        ),
        (plain(), mx.io.PrefetchingIter(plain())),
        (plain(), mx.io.PrefetchingIter(mx.io.PrefetchingIter(plain()))),
    )
    for one, other in pairs:
        for amount in [*taken, 20]:
            for _ in range(amount):
                found = []
                for batches in (one, other):
                    try:
                        batch = batches.next()
                        found.append((batch.data[0].asnumpy().tolist(), batch.pad))
                    except StopIteration:
                        found.append(None)
                assert found[0] == found[1]
                if found[0] is None:
                    break
            one.reset()
            other.reset()


def test_bad_prefetching():
    five, six = mx.io.NDArrayIter(np.arange(5), batch_size=5), mx.io.NDArrayIter(np.arange(10), batch_size=5)
    with pytest.raises(ArgumentError, match="iters is empty"):
        mx.io.PrefetchingIter([])
    with pytest.raises(ArgumentError, match=r"rename_data is dict.*a list of 1 dictionaries"):
        mx.io.PrefetchingIter(five, rename_data={"data": "x"})
    with pytest.raises(ArgumentError, match=r"rename_data has no name for 'data'; it has 'date'\. Did you mean 'date'"):
        mx.io.PrefetchingIter(five, rename_data=[{"date": "x"}])
    with pytest.raises(ArgumentError, match="rename_label has no name for 'softmax_label'"):
        mx.io.PrefetchingIter(mx.io.NDArrayIter(np.arange(5), np.arange(5)), rename_label=[{}])
    batches = mx.io.PrefetchingIter([five, six])
    batches.next()
    with pytest.raises(MXNetError, match="of 2 iterators, number 0 has ended, and the others have not"):
        batches.next()
    with pytest.raises(MXNetError, match=r"different pads: \[0, 1\]"):
        mx.io.PrefetchingIter([mx.io.NDArrayIter(np.arange(n), batch_size=3) for n in (3, 2)]).next()
    for wrapped in (mx.io.PrefetchingIter(six), mx.io.ResizeIter(six, 1)):
        with pytest.raises(MXNetError, match=r"there is no batch yet"):
            wrapped.getdata()


def test_resizing_what_is_empty_ends():
    assert values(mx.io.ResizeIter(Failing(0, count=0), 3)) == []


def test_a_bucket_key_is_passed_on():
    inner = Failing(0)
    inner.default_bucket_key = 7
    assert mx.io.ResizeIter(inner, 2).default_bucket_key == 7


class TestDataLoaderIter:
    X, Y = np.arange(10, dtype="float32").reshape(5, 2), np.arange(5, dtype="int32")

    def loader(self, size):
        return [(mx.nd.array(self.X[n : n + size]), self.Y[n : n + size]) for n in range(0, 5, size)]

    def test_batches_have_one_size(self):
        batches = DataLoaderIter(self.loader(2), data_name="x", label_name="y", dtype="float16")
        assert [repr(desc) for desc in batches.provide_data + batches.provide_label] == [
            "DataDesc[x,(2, 2),float16,NCHW]",
            "DataDesc[y,(2,),float16,NCHW]",
        ]
        for _ in range(2):
            found = [(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in batches]
            assert found == [
                ([[0, 1], [2, 3]], [0, 1], 0),
                ([[4, 5], [6, 7]], [2, 3], 0),
                ([[8, 9], [0, 0]], [4, 0], 1),
            ]
            batches.reset()
        batches.next()
        batches.reset()
        assert batches.next().data[0].dtype == np.float16

    def test_bad_loaders(self):
        for loader, text in (
            ([], "the loader has no batch"),
            ([1, 2], "a batch of the loader is int 1; expected a pair of arrays"),
            ([(self.X,)], "expected a pair of arrays, data and label"),
        ):
            with pytest.raises(ArgumentError, match=text):
                DataLoaderIter(loader)
        with pytest.raises(MXNetError, match="there is no batch"):
            DataLoaderIter(self.loader(2)).getdata()
