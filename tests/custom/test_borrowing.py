"""Buffers are lent instead of copied only where nobody can notice: operators that try to notice, against copying."""

from __future__ import annotations

import gc
import types
from typing import Any

import numpy as np
import pytest
from borrowing_operators import (
    IMPURE,
    KEPT,
    PURE,
    AssignsItsInput,
    Base,
    Constants,
    Evil,
    InPlace,
    InputItself,
    OfAGlobal,
    Rebinds,
    Softmax,
    Views,
    helper,
    lent,
    wrapped,
)
from custom_operators import operator_of

import minpy as mx
from minpy import autograd, nd
from minpy.custom import method_captures
from minpy.custom import prop_operator as custom_operator


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method_captures, "_methods", {})
    monkeypatch.setattr(custom_operator, "LENT_SIZE", 0)


@pytest.mark.parametrize("op", PURE, ids=lambda op: op.__name__)
def test_pure_methods_are_lent(op: type) -> None:
    assert lent(op())
    assert lent(op(), "backward")


@pytest.mark.parametrize("op", IMPURE, ids=lambda op: op.__name__)
def test_methods_that_could_notice_are_not_lent(op: type) -> None:
    assert not lent(op())


def run(op: type) -> tuple[list[np.ndarray], str]:
    """Returns every array of a call and its backward, and the error if there was one."""
    name = operator_of(op, list_outputs=["p", "q"][: getattr(op, "outputs", 1)])
    x, head = nd.array([3, -1, 2]), nd.array([1, 10, 100])
    x.attach_grad()
    arrays, error = [x], ""
    try:
        with autograd.record():
            outputs = nd.Custom(x, op_type=name)
            outputs = outputs if isinstance(outputs, list) else [outputs]
        arrays += outputs
        autograd.backward(outputs, [head] * len(outputs))
    except mx.MXNetError as problem:
        error = f"{type(problem).__name__}: {problem}".replace(name, "NAME")
    arrays += [head, x.grad]
    for index, array in enumerate(arrays):
        for other in arrays[index + 1 :]:
            assert not np.shares_memory(array._data, other._data)
    return [array.asnumpy() for array in arrays], error


@pytest.mark.parametrize("op", [*PURE, *IMPURE], ids=lambda op: op.__name__)
def test_results_are_those_of_copying(op: type, monkeypatch: pytest.MonkeyPatch) -> None:
    KEPT.clear()
    got, error = run(op)
    kept = [np.array(value) for value in KEPT]
    KEPT.clear()
    monkeypatch.setattr(method_captures, "_methods", {})
    monkeypatch.setattr(method_captures, "capture_method", lambda *arguments: None)
    expected, expected_error = run(op)
    assert error == expected_error
    for array, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(array, wanted)
    for array, wanted in zip(kept, KEPT, strict=True):
        np.testing.assert_array_equal(array, wanted)
    if op not in (AssignsItsInput, Rebinds):
        np.testing.assert_array_equal(got[0], [3, -1, 2])


def test_constants_of_the_instance_must_be_plain() -> None:
    for scale, plain in (
        (2, True),
        (2.0, True),
        (np.float32(2), True),
        (np.ones(3), False),
        ([2], True),
        ([np.ones(3)], False),
        ({2: 2}, False),
        (Evil(2), False),
    ):
        assert lent(Constants(scale)) is plain
    op = Constants()
    del op.scale
    assert not lent(op)


def test_globals_that_are_bound_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lent(OfAGlobal())
    monkeypatch.setattr("borrowing_operators.SCALE", Evil(2))
    assert not lent(OfAGlobal())
    monkeypatch.undo()
    assert lent(Softmax())
    fake = types.ModuleType("numpy")
    fake.exp = lambda x: KEPT.append(x) or x
    monkeypatch.setattr("borrowing_operators.np", fake)
    assert not lent(Softmax())


def test_closures_that_are_bound_anew() -> None:
    factor: Any = 2.0

    class Closure(Base):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * factor))

    assert lent(Closure())
    factor = Evil(2)
    assert not lent(Closure())


def test_a_method_replaced_after_it_was_read() -> None:
    class Changing(Base):
        pass

    assert lent(Changing())
    Changing.forward = wrapped(Base.forward)
    assert not lent(Changing())
    op = Changing()
    op.forward = types.MethodType(InPlace.forward, op)
    assert not lent(op)


def test_source_that_is_not_the_codes(tmp_path: Any) -> None:
    script = tmp_path / "edited.py"
    head = "def forward(self, is_train, req, in_data, out_data, aux):\n"
    source = head + "    self.assign(out_data[0], req[0], nd.array(SOME))\n"
    actual = source.replace("SOME", "CHANGE(in_data[0].asnumpy())")
    script.write_text(source.replace("SOME", "in_data[0].asnumpy() * 2"))
    scope = {"nd": nd, "CHANGE": helper}
    exec(compile(actual, str(script), "exec"), scope)
    assert not lent(type("Edited", (Base,), {"forward": scope["forward"]})())


def test_only_the_method_itself_is_lent() -> None:
    """Code that happens to run meanwhile in the same thread, such as a finalizer, gets copies."""
    x, y = nd.array([1, 2, 3]), np.ones(3, "float32")
    seen = []

    class Finalized:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            copy, array = x.asnumpy(), nd.array(y)
            seen.append(np.shares_memory(copy, x._data) or np.shares_memory(array._data, y))

    def collect(*arguments: Any) -> None:
        Finalized()
        gc.collect()

    class Dividing(Base):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() / 0))

    assert lent(Dividing())
    with np.errstate(divide="call", call=collect):
        nd.Custom(x, op_type=operator_of(Dividing))
    assert seen == [False]


def test_a_call_of_lent_code_from_elsewhere_is_not_lent() -> None:
    """A finalizer may call the very method that is running, on an object that keeps what it assigns."""
    x, kept = nd.array([1, 2, 3]), []

    class Dividing(Base):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() / 0))

    class Kept:
        def __init__(self, data: Any) -> None:
            self.data = data

        def asnumpy(self) -> Any:
            return nd.NDArray.asnumpy(self.data)

    class Keeping(Dividing):
        def assign(self, dst, req, src):
            kept.append(src)

    def collect(*arguments: Any) -> None:
        if not kept:
            kept.append(None)
            Keeping().forward(True, ["write"], [x], [None], [])

    with np.errstate(divide="call", call=collect):
        nd.Custom(x, op_type=operator_of(Dividing))
    assert len(kept) == 2
    assert lent(Dividing())


def test_results_outlive_what_they_were_computed_from() -> None:
    x = np.array([1.0, 2, 3], "float32")
    y = nd.Custom(nd.array(x), op_type=operator_of(InputItself))
    z = nd.Custom(x, op_type=operator_of(Views))
    x[:] = 0
    assert y.asnumpy().tolist() == [1, 2, 3]
    assert z.tolist() == [1, 2, 3]


class Centered(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(x - x.sum() - x.dot(x.T)[:, :1]))


def test_sums_have_the_last_bits_of_a_copys(monkeypatch: pytest.MonkeyPatch) -> None:
    """They depend on the order of memory, which is another one for an array that is lent as it is."""
    x = np.random.RandomState(0).rand(77, 333).astype("float32").T
    name = operator_of(Centered)
    got = nd.Custom(x, op_type=name)
    assert method_captures._methods[id(Centered.forward.__code__)].kinds.popitem()[1].captures
    monkeypatch.setattr(method_captures, "_methods", {})
    monkeypatch.setattr(method_captures, "capture_method", lambda *arguments: None)
    np.testing.assert_array_equal(got, nd.Custom(x, op_type=name))


def test_what_is_computed_element_by_element_is_lent_in_any_order_of_memory() -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3).T
    np.testing.assert_array_equal(nd.Custom(x, op_type=operator_of(Base)), 2 * x)
    [capture] = method_captures._methods[id(Base.forward.__code__)].kinds.popitem()[1].captures
    assert capture.any_layout
    nd.Custom(x, op_type=operator_of(Centered))
    [capture] = method_captures._methods[id(Centered.forward.__code__)].kinds.popitem()[1].captures
    assert not capture.any_layout
