"""Captures are about the code, what it reads, and the object that runs: those who try to get round them."""

from __future__ import annotations

import abc
import builtins
import functools
import gc
import types
import weakref
from typing import Any

import numpy as np
import pytest
from borrowing_operators import Base, lent
from custom_operators import operator_of

import minpy as mx
from minpy import autograd, nd
from minpy.custom import method_captures
from minpy.custom import prop_operator as custom_operator


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method_captures, "_methods", {})
    monkeypatch.setattr(custom_operator, "LENT_SIZE", 0)


class Doubling(mx.operator.CustomOp):
    """Assigns gradients as they are, and doubles what it assigns."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])

    def assign(self, dst, req, src):
        src *= 2
        super().assign(dst, req, src)


class Delegating(mx.operator.CustomOp):
    def __init__(self):
        implementation = Doubling()
        self.forward = lambda *arguments: implementation.assign(arguments[3][0], "write", arguments[2][0].copy())
        self.backward = implementation.backward


def test_a_method_of_another_object() -> None:
    x = nd.array([1, 1])
    x.attach_grad()
    name = operator_of(Delegating)
    assert not lent(Delegating(), "backward")
    with autograd.record():
        y = nd.Custom(x, op_type=name) + x
    y.backward()
    assert y.asnumpy().tolist() == [3, 3]
    assert x.grad.asnumpy().tolist() == [3, 3]


@pytest.mark.parametrize("method", ["forward", "backward"])
def test_methods_bound_to_others_are_not_lent(method: str) -> None:
    class Other(Base):
        assign = Doubling.assign

    op, other = Base(), Other()
    setattr(op, method, getattr(other, method))
    assert not lent(op, method)
    setattr(op, method, getattr(Base(), method))
    assert not lent(op, method)
    setattr(op, method, getattr(Base, method).__get__(op))
    assert lent(op, method)


def scaled(factor: Any) -> Any:
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * factor))

    return forward


class Evil(float):
    __array_ufunc__ = None

    def __rmul__(self, x):
        return x


def test_functions_of_one_code_with_other_cells() -> None:
    plain, evil = scaled(2.0), scaled(Evil(2))
    assert lent(type("Plain", (Base,), {"forward": plain})())
    functools.wraps(plain)(evil)
    assert not lent(type("Wrapped", (Base,), {"forward": evil})())
    other = types.FunctionType(plain.__code__, plain.__globals__, "forward", None, evil.__closure__)
    other.__dict__.update(plain.__dict__)
    assert not lent(type("Copied", (Base,), {"forward": other})())
    assert lent(type("Plain", (Base,), {"forward": plain})())


def test_functions_of_one_code_with_other_globals() -> None:
    kept: list[Any] = []
    keeping = types.SimpleNamespace(array=lambda x: nd.array(kept.append(x) or x))
    scope = {**Base.forward.__globals__, "nd": keeping}
    forward = types.FunctionType(Base.forward.__code__, scope, "forward")
    functools.update_wrapper(forward, Base.forward)
    assert lent(Base())
    assert not lent(type("Other", (Base,), {"forward": forward})())
    scope["nd"] = nd
    assert lent(type("Other", (Base,), {"forward": forward})())


def test_code_that_is_replaced() -> None:
    forward = scaled(2.0)
    op = type("Replaced", (Base,), {"forward": forward})()
    assert lent(op)

    def closed(factor: Any) -> Any:
        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            x *= factor
            self.assign(out_data[0], req[0], nd.array(x))

        return forward

    forward.__code__ = closed(2.0).__code__
    assert not lent(op)


def test_cells_that_change() -> None:
    forward = scaled(2.0)
    op = type("Changing", (Base,), {"forward": forward})()
    [cell] = forward.__closure__
    for value, expected in ((2.0, True), (Evil(2), False), (3, True), (np.ones(3), False)):
        cell.cell_contents = value
        assert lent(op) is expected
    del cell.cell_contents
    assert not lent(op)


# -- the object that runs ----------------------------------------------------------------------------------------------


class Reading(Base):
    def __init__(self, scale: Any = 2.0) -> None:
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * self.scale))


class Metaclass(type):
    def __getattribute__(cls, name: str) -> Any:
        return mx.operator.CustomOp.assign if name == "assign" else super().__getattribute__(name)


class Answering:
    """A descriptor that shows the class one thing, and its instances another."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return mx.operator.CustomOp.assign if instance is None else Doubling.assign.__get__(instance)


class OtherLookUp:
    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, {"assign": "double"}.get(name, name))

    def double(self, dst: Any, req: str, src: Any) -> None:
        src *= 2


class NumberLike(np.float32):
    def __rmul__(self, x: Any) -> Any:
        return x


class Dictionary(dict):
    def __contains__(self, key: object) -> bool:
        return False


def with_dictionary() -> Any:
    op = Base()
    op.__dict__ = Dictionary(assign=types.MethodType(Doubling.assign, op))
    return op


def with_attribute_in_the_class() -> Any:
    return type("Data", (Reading,), {"scale": property(lambda self: Evil(2), lambda self, value: None)})()


OBJECTS = {
    "a metaclass": lambda: Metaclass("Meta", (Base,), {"assign": Doubling.assign})(),
    "an abstract class": lambda: abc.ABCMeta("Abstract", (Base,), {})(),
    "a descriptor": lambda: type("Described", (Base,), {"assign": Answering()})(),
    "a look-up": lambda: type("LookUp", (OtherLookUp, Base), {})(),
    "a look-up behind": lambda: type("LookUp", (Base, OtherLookUp), {})(),
    "a mixin": lambda: type("Mixed", (type("Mixin", (), {"assign": Doubling.assign}), Base), {})(),
    "a mixin behind": lambda: type("Mixed", (Base, type("Mixin", (), {"assign": 1})), {})(),
    "its dictionary": with_dictionary,
    "a property": with_attribute_in_the_class,
    "a derived number": lambda: Reading(NumberLike(2)),
    "a derived string": lambda: Reading(type("Text", (str,), {})("2")),
    "an array scalar of objects": lambda: Reading(np.array(Evil(2), dtype=object)),
    "nothing": lambda: Reading.__new__(Reading),
    "a name for the dictionary": lambda: type("Named", (Reading,), {"__dict__": {"scale": 2.0}})(Evil(2)),
    "a lookup of what is missing": lambda: type("Missing", (Reading,), {"__getattr__": lambda self, name: 2.0}).__new__(
        Reading
    ),
}


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_objects_that_look_like_others(make: Any) -> None:
    assert lent(Base())
    assert lent(Reading())
    assert not lent(make())


def test_assign_replaced_in_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lent(Base())
    monkeypatch.setattr(mx.operator.CustomOp, "assign", Doubling.assign)
    assert not lent(Base())


# -- what is looked up -------------------------------------------------------------------------------------------------


class Calling(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(abs(np.max(in_data[0].asnumpy(), axis=0)), dtype=np.float32))


SEEN: list[Any] = []


class Same:
    """A function that says that it is `numpy.max`."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(np.max)

    def __call__(self, x: Any, **keywords: Any) -> Any:
        SEEN.append(x)
        return x


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(
    ("place", "name", "value"),
    [(np, "max", Same()), (np, "float32", Same()), (builtins, "abs", abs.__class__), (nd, "array", Same())],
    ids=["a function", "a type", "a builtin", "a converter"],
)
def test_what_a_method_calls_is_replaced(
    place: Any, name: str, value: Any, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = types.FunctionType(Calling.forward.__code__, Calling.forward.__globals__)  # one that was not read yet
    op = type("Fresh", (Base,), {"forward": forward})()
    if not before:
        assert lent(op)
    monkeypatch.setattr(place, name, value)
    assert not lent(op)
    monkeypatch.undo()
    assert lent(op)


class Looking(types.ModuleType):
    def __getattribute__(self, name: str) -> Any:
        return Same() if name == "max" else super().__getattribute__(name)


def test_modules_of_other_classes() -> None:
    module = types.ModuleType("module")
    module.__dict__.update(max=np.max, float32=np.float32)
    scope = {**Calling.forward.__globals__, "np": module}
    op = type("Fresh", (Base,), {"forward": types.FunctionType(Calling.forward.__code__, scope)})()
    assert lent(op)
    module.__class__ = Looking
    assert not lent(op)
    again = type("Fresh", (Base,), {"forward": types.FunctionType(Calling.forward.__code__, scope)})()
    assert not lent(again)


class Anything(Base):
    """Calls a function that runs any code."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(anything(in_data[0].asnumpy())))


anything = np.frompyfunc(lambda x: x * 2, 1, 1)


class Mangled(Base):
    def __init__(self):
        self.__dict__["__scale"] = 2.0
        self.__scale = Evil(2)

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * self.__scale))


_Private__factor: Any = Evil(2)


class Private(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * __factor))  # noqa: F821


EVIL = Evil(2)


class KeywordOnly(Base):
    def forward(self, is_train, req, in_data, out_data, aux, *, factor=EVIL):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * factor))


class Several(Base):
    def forward(self, is_train, req, in_data, out_data, aux, *more, **others):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 2))


class TypeLike(Base):
    """An attribute that is named like a type, and is none."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(np.sum(in_data[0].asnumpy(), axis=names.float32)))


class Index:
    def __index__(self) -> int:
        return 0


names = types.ModuleType("names")
names.float32 = Index()  # type: ignore[attr-defined]


@pytest.mark.parametrize("op", [Anything, Mangled, Private, KeywordOnly, TypeLike], ids=lambda op: op.__name__)
def test_code_that_runs_other_code(op: type) -> None:
    assert not lent(op())


def test_plain_constants_may_change() -> None:
    scope = {**Base.forward.__globals__, "SCALE": 2.0}
    source = scaled(2.0)
    [cell] = source.__closure__
    op = type("Changing", (Base,), {"forward": source})()
    assert lent(op)
    cell.cell_contents = 4.0
    assert lent(op)
    assert nd.Custom(nd.ones(3), op_type=operator_of(lambda: op)).asnumpy().tolist() == [4, 4, 4]
    assert scope["SCALE"] == 2.0


# -- what a method reads, and how that changes -------------------------------------------------------------------------

HELPERS = """
import numpy as np
from minpy import nd

def helper(x, factor=2.0):
    return x * factor

def other(x, factor=2.0):
    x += factor
    return x

def made(factor):
    def closed(x):
        return x * factor
    return closed

closed = made(2.0)
SCALE = 2.0
FACTORS = [2.0]
TABLE = {"factor": 2.0}

class Settings:
    factor = 2.0

SETTINGS = Settings()
SETTINGS.scale = 2.0
"""
# What a method computes, and what is done to the names that it reads, to `op` and to its class `cls`.
READS = {
    "a builtin gets another meaning": ("sum([x, x])", "sum = lambda values: other(values[0])"),
    "a builtin is a global name no more": ("len(x.shape) * x", "len = other"),
    "a global name": ("helper(x)", "helper = other"),
    "a global name that goes": ("helper(x)", "del helper"),
    "a constant": ("x * SCALE", "SCALE = EVIL"),
    "a module": ("np.exp(x)", "np = type(np)('numpy'); np.exp = other"),
    "the code of a function": ("helper(x)", "helper.__code__ = other.__code__"),
    "the defaults of a function": ("helper(x)", "helper.__defaults__ = (EVIL,)"),
    "a cell of a function": ("closed(x)", "closed.__closure__[0].cell_contents = EVIL"),
    "a method of the class": ("self.twice(x)", "cls.twice = lambda self, x: other(x)"),
    "a method of a base": ("self.twice(x)", "base.twice = lambda self, x: other(x)"),
    "a method of the object": ("self.twice(x)", "op.twice = other"),
    "a static method": ("self.static(x)", "cls.static = staticmethod(other)"),
    "a property": ("x * self.computed", "cls.computed = property(lambda self: EVIL)"),
    "a constant of the class": ("x * self.number", "cls.number = EVIL"),
    "a constant of the class, on the object": ("x * self.number", "op.number = EVIL"),
    "an attribute": ("x * self.scale", "op.scale = EVIL"),
    "an attribute that goes": ("x * self.scale", "del op.scale"),
    "an attribute that the class computes": ("x * self.scale", "cls.scale = property(lambda self: EVIL)"),
    "another class": ("self.twice(x)", "op.__class__ = type('B', (cls,), {'twice': lambda self, x: other(x)})"),
    "another base": ("self.twice(x)", "cls.__bases__ = (type('C', (base,), {'twice': lambda self, x: other(x)}),)"),
    "another class that is asked for": (
        "x * 2 if type(self) is cls else other(x)",
        "op.__class__ = type('B', (cls,), {})",
    ),
    "another class of which it is": (
        "other(x) if isinstance(self, Settings) else x",
        "op.__class__ = type('B', (cls, Settings), {})",
    ),
    "what a list has": ("x * FACTORS[0]", "FACTORS[0] = EVIL"),
    "how long a list is": ("x * 2 if len(FACTORS) == 1 else other(x)", "FACTORS.append(3.0)"),
    "what a dict has": ("x * TABLE['factor']", "TABLE['factor'] = EVIL"),
    "which keys a dict has": ("other(x) if 'other' in TABLE else x", "TABLE['other'] = 1"),
    "an attribute of another object": ("x * SETTINGS.scale", "SETTINGS.scale = EVIL"),
    "an attribute of the class of another": ("x * SETTINGS.factor", "Settings.factor = EVIL"),
    "another assign": ("x", "cls.assign = lambda self, *parts: None"),
    "the code of the method": ("x * 2", "cls.forward.__code__ = changing.__code__"),
}


def changing(self, is_train, req, in_data, out_data, aux):
    x = in_data[0].asnumpy()
    x += 1
    self.assign(out_data[0], req[0], nd.array(x))


@pytest.mark.parametrize(("text", "change"), READS.values(), ids=READS)
def test_what_a_method_reads_changes(text: str, change: str) -> None:
    scope: dict[str, Any] = {"EVIL": Evil(2), "changing": changing, "__name__": "helpers"}
    source = "def forward(self, is_train, req, in_data, out_data, aux):\n    x = in_data[0].asnumpy()\n"
    exec(f"{HELPERS}\n{source}    self.assign(out_data[0], req[0], nd.array({text}))\n", scope)
    base = scope["base"] = type("Twice", (Base,), {"twice": lambda self, x: x * 2})
    parts = {"number": 2.0, "computed": property(lambda self: 2.0), "static": staticmethod(scope["helper"])}
    cls = scope["cls"] = type("Reading", (base,), {**parts, "forward": scope["forward"]})
    op = scope["op"] = cls()
    op.scale = 2.0
    assert lent(op)
    assert lent(op)
    exec(change, scope)
    assert not lent(op)


def test_more_arguments_that_nobody_gives() -> None:
    assert lent(Several())


def test_functions_go_although_they_were_captured() -> None:
    def make() -> Any:
        def helper(x):
            return x * 2 if x is not None else forward

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(helper(in_data[0].asnumpy())))

        return forward

    forward = make()
    gone = weakref.ref(forward)
    assert lent(type("Short", (Base,), {"forward": forward})())
    del forward
    gc.collect()
    assert gone() is None
