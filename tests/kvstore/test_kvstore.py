"""Stores of parameters: beside the golden cases, what errors say, files of states, and stores of one's own."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minpy as mx
from minpy import nd
from minpy.core.errors import MXNetError


def store_with(**arrays: Any) -> Any:
    store = mx.kv.create("local")
    for key, values in arrays.items():
        store.init(key, nd.array(values))
    return store


def pulled(store: Any, key: Any, shape: Any = 2) -> list[float]:
    out = nd.zeros(shape)
    store.pull(key, out=out)
    return out.asnumpy().tolist()


def numbered() -> Any:
    store = mx.kv.create("local")
    store.init(3, nd.ones(2))
    return store


ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "no name": (lambda: mx.kv.create(None), TypeError, "name must be a string, such as 'device', got NoneType None"),
    "misspelt": (lambda: mx.kv.create("devise"), ValueError, "there is no store 'devise'. Did you mean 'device'?"),
    "distributed": (lambda: mx.kv.create("dist_sync"), MXNetError, "there is no 'dist_sync': one process trains here"),
    "horovod": (lambda: mx.kv.create("horovod"), ImportError, "Use 'device', or register a class of your own"),
    "nccl": (lambda: mx.kv.create("nccl"), MXNetError, "there is no 'nccl': one process trains here, on the CPU"),
    "init twice": (lambda: store_with(a=[1]).init("a", nd.ones(1)), ValueError, "init: the key 'a' is there already"),
    "unknown key": (
        lambda: pulled(store_with(weight=[1]), "wieght"),
        ValueError,
        "no key 'wieght'. Did you mean 'weight'?",
    ),
    "unknown number": (lambda: numbered().push(4, nd.ones(2)), ValueError, r"no key 4. Call init\(4, value\) first"),
    "two kinds of keys": (
        lambda: store_with(a=[1]).init(3, nd.ones(1)),
        TypeError,
        "init: the key 3 is an integer, and those that are there, such as 'a', are not: all must be of one kind",
    ),
    "a wrong kind of key": (lambda: numbered().push("a", nd.ones(2)), TypeError, "push: the key 'a' is a string"),
    "fraction": (lambda: numbered().init(3.5, nd.ones(2)), TypeError, "keys are strings or integers, got float 3.5"),
    "a flag": (lambda: numbered().init(True, nd.ones(2)), TypeError, "keys are strings or integers, got bool True"),
    "too few": (lambda: numbered().init([1, 2], [nd.ones(2)]), TypeError, "2 keys need a list of 2 arrays.*got 1"),
    "one for two": (lambda: numbered().init([1, 2], nd.ones(2)), TypeError, "2 keys need a list of 2 arrays.*got 1"),
    "numpy": (lambda: numbered().push(3, np.ones(2)), TypeError, r"the key 3, expected an NDArray, got float64 \(2,\)"),
    "nothing": (lambda: numbered().push(3, []), TypeError, "push: for the key 3 there are no arrays"),
    "no out": (lambda: numbered().pull(3), TypeError, "pull: out is missing"),
    "shape pushed": (
        lambda: numbered().push(3, nd.ones((2, 2))),
        ValueError,
        r"the key 3 has shape \(2,\), and what is pushed \(2, 2\)",
    ),
    "shape pulled": (
        lambda: pulled(numbered(), 3, (3, 2)),
        ValueError,
        r"shape \(2,\), and the array to write into \(3, 2\)",
    ),
    "dtypes": (
        lambda: numbered().push(3, [nd.ones(2), nd.ones(2, dtype="float64")]),
        TypeError,
        "arrays of float32 and float64 are to be summed",
    ),
    "capability": (
        lambda: numbered().is_capable("speed"),
        ValueError,
        "unknown capability 'speed'; there is 'optimizer'",
    ),
    "sparse": (lambda: numbered().row_sparse_pull(3), MXNetError, "there are no sparse arrays here. Use pull"),
    "compression": (
        lambda: numbered().set_gradient_compression({"type": "2bit"}),
        MXNetError,
        "there is nothing to compress. Leave compression_params out",
    ),
    "optimizer's name": (lambda: numbered().set_optimizer("sgd"), TypeError, r"Make one: mx.optimizer.create\('sgd'\)"),
    "no updater": (
        lambda: numbered()._set_updater(3),
        TypeError,
        r"a function of \(key, gradient, stored\), got int 3",
    ),
    "no states": (lambda: numbered().save_optimizer_states("x"), MXNetError, "has no optimizer, and no states"),
    "no states read": (lambda: numbered().load_optimizer_states("x"), MXNetError, "Call set_optimizer first"),
    "servers": (lambda: numbered()._send_command_to_servers(0, ""), MXNetError, "there are no servers"),
    "no class": (lambda: mx.kv.KVStoreBase.register(3), TypeError, "register: expected a class, got int 3"),
    "server's name": (lambda: mx.kv.KVStoreServer, AttributeError, "it is for training in several processes"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        call()


def test_nothing_is_changed_by_a_push_that_fails() -> None:
    store = store_with(a=[1, 2], b=[3, 4])
    with pytest.raises(ValueError, match="the key 'b'"):
        store.push(["b", "a"], [nd.ones(3), nd.ones(2)])
    assert pulled(store, "a") == [1, 2]


@pytest.mark.parametrize("name", ["type", "rank", "num_workers"])
def test_what_a_store_of_ones_own_has_to_write(name: str) -> None:
    class Bare(mx.kv.KVStoreBase):
        pass

    with pytest.raises(NotImplementedError, match=f"Bare has no the property {name}|Bare has no property {name}"):
        getattr(Bare(), name)


def test_methods_that_a_store_of_ones_own_has_to_write() -> None:
    class Bare(mx.kv.KVStoreBase):
        pass

    calls = {
        "broadcast": (0, None, None),
        "pushpull": (0, None),
        "set_optimizer": (None,),
        "is_capable": ("optimizer",),
        "save_optimizer_states": ("x",),
        "load_optimizer_states": ("x",),
    }
    for name, arguments in calls.items():
        with pytest.raises(NotImplementedError, match=rf"Bare has no {name}\("):
            getattr(Bare(), name)(*arguments)


def test_registering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mx.kv.KVStoreBase, "kv_registry", {})

    @mx.kv.KVStoreBase.register
    class Local(mx.kv.KVStoreBase):
        type = "mine"

    assert mx.kv.create("LOCAL").type == "mine", "registered names go first"

    class Other(mx.kv.KVStoreBase):
        pass

    Other.__name__ = "Local"
    with pytest.warns(UserWarning, match="the store 'local' is now .*Other; it was .*Local"):
        mx.kv.KVStoreBase.register(Other)


@given(st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=1, max_size=5), st.booleans())
def test_sums_are_sums(rows: list[list[int]], with_updater: bool) -> None:
    store = mx.kv.create("device")
    store.init(0, nd.ones(3))
    if with_updater:
        store._set_updater(lambda key, given, stored: stored.__iadd__(2 * given))
    values = [nd.array(row, ctx=mx.cpu(place)) for place, row in enumerate(rows)]
    outs = [nd.zeros(3, ctx=mx.cpu(place)) for place in range(3)]
    store.pushpull(0, values, out=outs)
    total = np.sum(rows, axis=0)
    for out in outs:
        np.testing.assert_array_equal(out.asnumpy(), 1 + 2 * total if with_updater else total)
    for value, row in zip(values, rows, strict=True):
        np.testing.assert_array_equal(value.asnumpy(), row)


@pytest.mark.parametrize("cls", [nd, mx.np])
def test_arrays_of_both_kinds(cls: Any) -> None:
    store = mx.kv.create("device")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    store.init("w", cls.array([1.0, 2.0]))
    for _ in range(2):
        store.push("w", [cls.array([1.0, 1.0]), cls.array([1.0, -1.0])])
    out = cls.zeros((2,))
    store.pull("w", out=out)
    assert out.asnumpy().tolist() == [-1.5, 2]


def test_states_in_a_file(tmp_path: Path) -> None:
    def made() -> Any:
        store = mx.kv.create("local")
        store.init(0, nd.ones(2))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.25, momentum=0.5))
        return store

    path = tmp_path / "states"
    store = made()
    for count in range(2):
        store.push(0, nd.array([1, count]))
    store.save_optimizer_states(path, dump_optimizer=True)
    store.push(0, nd.array([1, 2]))

    again = made()
    again._stored[0][:] = nd.array([0.375, 0.75])
    again.load_optimizer_states(path)
    again.push(0, nd.array([1, 2]))
    assert pulled(again, 0) == pulled(store, 0)
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_cannot_be(tmp_path: Path) -> None:
    store = numbered()
    store.set_optimizer(mx.optimizer.SGD())
    with pytest.raises(FileNotFoundError, match="load_optimizer_states: cannot read"):
        store.load_optimizer_states(tmp_path / "none")
    with pytest.raises(OSError, match=r"cannot write .*The folder .* does not exist"):
        store.save_optimizer_states(tmp_path / "none" / "states")
    (tmp_path / "bad").write_bytes(b"cos\nsystem\n(S'touch broken'\ntR.")
    with pytest.raises(MXNetError, match=r"they name os\.system"):
        store.load_optimizer_states(tmp_path / "bad")


def test_names_under_which_it_is_found() -> None:
    import minpy.kv.base
    import minpy.kvstore.base
    import minpy.kvstore.kvstore

    assert mx.kv is mx.kvstore
    assert minpy.kv.base is minpy.kvstore.base
    assert minpy.kvstore.kvstore.KVStore is mx.kv.KVStore
    assert issubclass(mx.kv.KVStore, mx.kv.KVStoreBase)
    assert dir(mx.kv) == ["KVStore", "KVStoreBase", "base", "create", "kvstore"]


@pytest.mark.parametrize(("name", "key"), list(itertools.product(["local", "device", "local_update_cpu"], [0, "a"])))
def test_kinds_of_stores(name: str, key: Any) -> None:
    store = mx.kv.create(name)
    out = [nd.zeros(2), nd.zeros(2, ctx=mx.cpu(1))]
    store.broadcast(key, nd.array([1, 2]), out)
    store.pushpull(key, out, priority=-1)
    store._barrier()
    assert store.type == name
    assert [one.asnumpy().tolist() for one in out] == [[2, 4], [2, 4]]
