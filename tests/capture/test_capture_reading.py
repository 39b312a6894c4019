"""What a captured function reads outside: each kind of value has a row, and what has none ends the capture by name.

That changes of what was read are seen is in `test_guard_soundness`; here, that it is read, and what refusals say.
"""

from __future__ import annotations

import abc
import array
import collections
import contextvars
import ctypes
import dataclasses
import enum
import functools
import gc
import io
import itertools
import math
import numbers
import operator
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from captures import captured, computed, require_as_written

import minpy as mx
from minpy.capture.capture import Capture
from minpy.capture.places import CaptureRefused
from minpy.capture.proxy import ArrayProxy
from minpy.core.errors import NotTraceableError

X = np.linspace(0.5, 1.5, 6)


class Kind(enum.Enum):
    FIRST = 2.0
    SECOND = 3.0


class Axis(enum.IntEnum):
    ROWS = 0


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Config:
    rate: float = 0.5
    names: tuple[str, ...] = ("a", "b")
    table: dict[str, float] = dataclasses.field(default_factory=lambda: {"a": 2.0})


class Base:
    factor = 2.0

    def __init__(self) -> None:
        self.shift = 1.0
        self.weights = [X.copy(), X * 2]

    def run(self, x: Any) -> Any:
        return x * self.factor + self.shift

    @property
    def double(self) -> float:
        return self.shift * 2

    @classmethod
    def by_class(cls, x: Any) -> Any:
        return x * cls.factor

    @staticmethod
    def by_itself(x: Any) -> Any:
        return x + 1

    def __call__(self, x: Any) -> Any:
        return self.run(x)

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> float:
        return self.shift + index

    def __iter__(self) -> Any:
        return iter([1.0, 2.0])

    def __contains__(self, value: object) -> bool:
        return value == 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Base)

    __hash__ = object.__hash__

    def __enter__(self) -> float:
        return self.shift

    def __exit__(self, *_: Any) -> None:
        return None

    def __mul__(self, other: Any) -> Any:
        return self.run(other)

    def __float__(self) -> float:
        return 4.0


class Derived(Base):
    __slots__ = ()

    def run(self, x: Any) -> Any:
        return super().run(x) * 2

    @classmethod
    def by_class(cls, x: Any) -> Any:
        return super().by_class(x) + 1


class Slotted:
    __slots__ = ("absent", "value")

    def __init__(self) -> None:
        self.value = 3.0


class Computing:
    def __getattr__(self, name: str) -> float:
        return float(len(name))


BASE, DERIVED, SLOTTED, CONFIG, POINT, COMPUTING = Base(), Derived(), Slotted(), Config(), Point(2.0, 3.0), Computing()
ORDERED = collections.OrderedDict(b=2.0, a=3.0)
NUMBERS, CHOSEN, MEMBERS = [1.0, 2.0, 3.0], {1, 2}, frozenset({"a"})
NESTED = {"a": [{"b": ({"c": [X]},)}], Kind.FIRST: 1.0, ("k", 1): 2.0}
DEFAULTS = collections.defaultdict(float, a=2.0)


def scaled(x: Any) -> Any:
    return x * scaled.scale  # type: ignore[attr-defined]


scaled.scale = 2.0  # type: ignore[attr-defined]


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        return function(*arguments, **keywords) + 1

    return wrapper


@decorated
def inner(x: Any, factor: float = 2.0, *, shift: float = 1.0) -> Any:
    return x * factor + shift


half = functools.partial(inner, factor=0.5)


def counting(limit: int) -> Any:
    for number in range(limit):
        yield number * 2.0


def with_a_block(x: Any) -> Any:
    with BASE as shift:
        return x + shift


def catching(x: Any) -> Any:
    try:
        return x * NUMBERS[7]
    except IndexError:
        return x * 5
    finally:
        x = x + 1


def importing(x: Any) -> Any:
    import math as mathematics
    from operator import mul

    return mul(x, mathematics.pi)


def matching(x: Any) -> Any:
    total = 0.0
    for key, value in ORDERED.items():
        total += value * len(key)
    while total > 3:
        total -= 1
    return x * total


def nested_functions(x: Any) -> Any:
    total = 0.0

    def add(value: float) -> None:
        nonlocal total
        total += value

    for number in NUMBERS:
        add(number)
    return x * total


READS: dict[str, Callable[[Any], Any]] = {
    "an enumeration": lambda x: x * Kind.FIRST.value if Kind.FIRST is not Kind.SECOND else x,
    "a member as a key": lambda x: x * NESTED[Kind.FIRST],
    "whole numbers of an enumeration": lambda x: x.reshape(2, 3).sum(axis=Axis.ROWS),
    "a named tuple": lambda x: x * POINT.x + POINT[1],
    "a named tuple made inside": lambda x: Point(1.0, 2.0).y * x,
    "a dataclass": lambda x: x * CONFIG.rate * CONFIG.table["a"] * len(CONFIG.names),
    "an ordered dict": lambda x: x * next(iter(ORDERED.values())) + next(iter(ORDERED)).count("b"),
    "a list": lambda x: x * sum(NUMBERS) + max(NUMBERS) + len(NUMBERS) + NUMBERS[-1],
    "a set": lambda x: x * 2 if 2 in CHOSEN and "a" in MEMBERS else x,
    "a default dict": lambda x: x * DEFAULTS["a"],
    "a nest of arrays": lambda x: x * NESTED["a"][0]["b"][0]["c"][0],
    "a key that is a tuple": lambda x: x * NESTED["k", 1],
    "an object": lambda x: BASE.run(x) + BASE.double + BASE.weights[0] * BASE.weights[1],
    "super": lambda x: DERIVED.run(x),
    "super of a class": lambda x: Derived.by_class(x),
    "class and static methods": lambda x: BASE.by_class(x) + Base.by_itself(x) + DERIVED.by_itself(x),
    "called": lambda x: BASE(x),
    "special methods": lambda x: x * len(BASE) * BASE[1] * sum(BASE) * (3 in BASE) * (BASE == DERIVED) * float(BASE),
    "an operator of a user's": lambda x: BASE * x,
    "a class": lambda x: x * Base.factor if isinstance(BASE, Base) and not isinstance(BASE, Derived) else x,
    "a class that is asked": lambda x: x * 2 if issubclass(Derived, Base) and type(DERIVED) is Derived else x,
    "slots": lambda x: x * SLOTTED.value * hasattr(SLOTTED, "value") + getattr(SLOTTED, "absent", 2.0),
    "computed attributes": lambda x: x * COMPUTING.anything,
    "what is not there": lambda x: x * getattr(BASE, "nothing", 2.0) if not hasattr(BASE, "nothing") else x,
    "an attribute of a function": scaled,
    "decorators": inner,
    "partials": lambda x: half(x, shift=2.0) + functools.partial(inner, factor=3.0)(x),
    "lambdas": lambda x: (lambda y, z=2.0: y * z)(x),
    "comprehensions": lambda x: sum([x * number for number in NUMBERS]) + sum({n: n for n in NUMBERS}.values()),
    "generators": lambda x: x * sum(number for number in counting(3)) + max(counting(2)),
    "functions inside": nested_functions,
    "loops": matching,
    "with": with_a_block,
    "try": catching,
    "imports": importing,
    "math": lambda x: x * math.sqrt(2.0) + math.pi + math.floor(1.5),
    "operator": lambda x: operator.add(x, operator.itemgetter(1)(NUMBERS)) * operator.attrgetter("shift")(BASE),
    "methodcaller": lambda x: operator.methodcaller("run", x)(BASE) if False else operator.methodcaller("sum")(x),
    "itertools": lambda x: sum(a * b * x for a, b in itertools.product(NUMBERS, [1.0, 2.0])),
    "reduce": lambda x: functools.reduce(operator.mul, [x, x, 2.0]) + functools.reduce(np.add, [x, x]),
    "zip, map and their kin": lambda x: sum(a * b for a, b in zip(x, map(float, range(6)), strict=True)) + sum(
        i for i, _ in enumerate(reversed(NUMBERS))
    ),
    "sorted": lambda x: x * sorted(NUMBERS, key=lambda number: -number)[0] * min(NUMBERS, key=operator.neg),
    "star": lambda x: (lambda *rest, **named: rest[0] * named["a"])(*[x], a=2.0),
    "abstract classes": lambda x: x * isinstance(2.0, numbers.Number) * isinstance(NUMBERS, collections.abc.Sequence),
    "what arrays are": lambda x: x * isinstance(x, np.ndarray) * (type(x) is np.ndarray) * hasattr(x, "sum"),
    "facts": lambda x: x * x.size * x.ndim * len(x) * x.itemsize * (x.dtype == np.float64) * (x.dtype.kind == "f"),
    "text of numbers": lambda x: x * len(f"{1.5:.2f}" + str(NUMBERS[0]) + "ab".upper()),
    "own containers": lambda x: [NUMBERS + [4.0], {**ORDERED, "c": 1.0}, CHOSEN | {3}][0][3] * x,
    "NaN and zeros": lambda x: x * math.copysign(1.0, -0.0) + (0.0 if math.isnan(float("nan")) else 1.0),
}  # fmt: skip


@pytest.mark.parametrize("which", READS)
def test_what_is_read(which: str) -> None:
    run = require_as_written(READS[which], lambda seed: [X * (seed + 1)])
    assert run.reads.hold()
    assert all(row.path and row.place is not None for row in run.reads.rows)


class Meta(type):
    value = 1.0


class OfMeta(metaclass=Meta):
    pass


class Intercepting:
    def __getattribute__(self, name: str) -> Any:
        return 1.0


class Number(int):
    pass


@functools.lru_cache
def remembered() -> float:
    return 2.0


@functools.singledispatch
def dispatched(value: Any) -> float:
    return 2.0


LOCK, LOCAL, VARIABLE = threading.Lock(), threading.local(), contextvars.ContextVar("variable", default=1.0)
DEQUE, CHAIN, PROXY = collections.deque([1.0]), collections.ChainMap({"a": 1.0}), types.MappingProxyType({"a": 1.0})
KEYS, BYTES, DOUBLES, VIEW = {"a": 1}.keys(), bytearray(b"a"), array.array("d", [1.0]), memoryview(b"a")
DOUBLE, REFERENCE, ITERATOR, GENERATOR = ctypes.c_double(1.0), weakref.ref(BASE), iter([1.0]), counting(3)
INTERCEPTING, OF_USER, COUNTER, MANY = (
    Intercepting(),
    Number(3),
    collections.Counter("a"),
    dict.fromkeys(range(2000), 1.0),
)
OBJECTS, MASKED = np.array([None]), np.ma.array([1.0])
SEEN: list[Any] = []
CACHE: dict[Any, Any] = {}
STREAM = io.StringIO()
TOTAL = 0


def sets_a_global(x: Any) -> Any:
    global TOTAL
    TOTAL += 1
    return x


def remembers(x: Any) -> Any:
    CACHE["x"] = np.sum(x)
    return x


def prints(x: Any) -> Any:
    print("called", file=STREAM)
    return x * 2


def under_errstate(x: Any) -> Any:
    with np.errstate(divide="raise"):
        return 1 / x


async def waits(x: Any) -> Any:
    return x


def defines(x: Any) -> Any:
    class Inner:
        pass

    return x


PASS = "changes of which are not noticed: pass what it needs as an argument"
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "deque": (lambda x: x * DEQUE[0], f"DEQUE is a collections.deque, {PASS}"),
    "chain map": (lambda x: x * CHAIN["a"], f"CHAIN is a collections.ChainMap, {PASS}"),
    "mapping proxy": (lambda x: x * PROXY["a"], f"PROXY is a mappingproxy, {PASS}"),
    "view of keys": (lambda x: x * len(KEYS), f"KEYS is a dict_keys, {PASS}"),
    "bytearray": (lambda x: x * BYTES[0], f"BYTES is a bytearray, {PASS}"),
    "array": (lambda x: x * DOUBLES[0], f"DOUBLES is a array.array, {PASS}"),
    "memoryview": (lambda x: x * VIEW[0], f"VIEW is a memoryview, {PASS}"),
    "ctypes": (lambda x: x * DOUBLE.value, f"DOUBLE is a ctypes.c_double, {PASS}"),
    "weak reference": (lambda x: x * REFERENCE().factor, "REFERENCE is a .*, changes of which are not noticed"),
    "context variable": (lambda x: x * VARIABLE.get(), f"VARIABLE is a _contextvars.ContextVar, {PASS}"),
    "generator": (lambda x: x * next(GENERATOR), f"GENERATOR is a generator, {PASS}"),
    "iterator": (lambda x: x * next(ITERATOR), f"ITERATOR is a list_iterator, {PASS}"),
    "lru_cache": (lambda x: x * remembered(), f"remembered is a functools._lru_cache_wrapper, {PASS}"),
    "singledispatch": (lambda x: x * dispatched(2), "dispatched is not known to be free of effects"),
    "lock": (lambda x: x * LOCK.locked(), f"LOCK is a _thread.lock, {PASS}"),
    "thread's own": (lambda x: x * LOCAL.value, f"LOCAL is a _thread._local, {PASS}"),
    "counter": (lambda x: x * COUNTER["a"], f"COUNTER is a collections.Counter, {PASS}"),
    "metaclass": (lambda x: x * OfMeta.value, "OfMeta.value may be computed by the class of OfMeta: pass it as an"),
    "interception": (lambda x: x * INTERCEPTING.a, "INTERCEPTING is a test_capture_reading.Intercepting, changes of"),
    "number of a user's": (lambda x: x * OF_USER, "an operand is a|OF_USER is a"),
    "long dict": (lambda x: x * MANY[3], "MANY is a dict of 2000 values, too many to compare"),
    "array of objects": (lambda x: x * OBJECTS, "OBJECTS is an array of type ndarray and dtype object"),
    "masked array": (lambda x: x * MASKED.sum(), "MASKED is a numpy.ma.*MaskedArray"),
    "globals": (lambda x: x * globals()["TOTAL"], "globals is not known to be free of effects"),
    "locals": (lambda x: x * len(locals()), "locals is not known to be free of effects"),
    "vars": (lambda x: x * vars(BASE)["shift"], "vars is not known to be free of effects"),
    "eval": (lambda x: x * eval("2"), "eval is not known to be free of effects"),
    "a frame": (lambda x: x * sys._getframe().f_lineno, "sys._getframe is not known to be free of effects|it reads f_"),
    "a dict of an object": (lambda x: x * BASE.__dict__["shift"], "it reads __dict__"),
    "a class of an object": (lambda x: x * len(BASE.__class__.__name__), "it reads __class__"),
    "getattr of that": (lambda x: x * getattr(BASE, "__dict__")["shift"], "it reads __dict__"),  # noqa: B009
    "text that asks": (lambda x: x * len("{.__class__}".format(x)), "it has a text that may read what begins"),  # noqa: UP032
    "print": (prints, "print is not known to be free of effects"),
    "errstate": (under_errstate, "np.errstate is not known to be free of effects"),
    "global": (sets_a_global, "it sets a global name"),
    "dict": (remembers, "it changes a list or a dict that it did not make"),
    "attribute": (lambda x: setattr(BASE, "last", x), "setattr is not known to be free of effects"),
    "append": (lambda x: SEEN.append(x), "it changes a list or a dict that it did not make"),
    "append by the class": (lambda x: list.append(SEEN, x), "it changes a list or a dict that it did not make"),
    "add to a set": (lambda x: CHOSEN.add(5), "it changes a list or a dict that it did not make"),
    "default": (lambda x: x * DEFAULTS["b"], "it adds a key to a dict that it did not make: one that has a default"),
    "instance made": (lambda x: Base().run(x), "it makes or asks instances of the class Base"),
    "coroutine": (waits, "it is a generator or a coroutine"),
    "class": (defines, "it defines a class"),
    "its own list": (lambda x: NUMBERS, "it returns a list or a dict that it did not make"),
    "a function": (lambda x: lambda: x, "it returns a function"),
    "an object returned": (lambda x: BASE, "it returns BASE, which is not its own"),
}  # fmt: skip


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_refused(which: str) -> None:
    function, message = REFUSED[which]
    before = (TOTAL, list(SEEN), dict(CACHE), set(CHOSEN), dict(vars(BASE)), STREAM.getvalue(), dict(DEFAULTS))
    with pytest.raises(CaptureRefused, match=message) as caught:
        captured(function, [X])
    assert before == (TOTAL, SEEN, CACHE, CHOSEN, vars(BASE), STREAM.getvalue(), DEFAULTS)
    place = caught.value.place
    assert place is not None
    assert place.file == __file__
    assert place.text


def test_a_refusal_that_is_caught_holds() -> None:
    def function(x):
        try:
            return x * DEQUE[0]
        except BaseException:
            return x

    with pytest.raises(CaptureRefused, match="DEQUE is a"):
        captured(function, [X])


def test_errors_of_steps_are_not_caught_by_the_function() -> None:
    """They may come from the samples by which shapes are found."""

    def function(x):
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            return x

    with pytest.raises(CaptureRefused, match="LinAlgError"):
        captured(function, [X])
    assert captured(function, [np.eye(3)]).outputs.shape == (3, 3)


def test_the_first_refusal_says_the_line() -> None:
    def helper(x):
        return x * DEQUE[0]

    with pytest.raises(CaptureRefused) as caught:
        captured(lambda x: helper(x) + 1, [X])
    place = caught.value.place
    assert place is not None
    assert place.text == "return x * DEQUE[0]"


# -- what is left of a capture -------------------------------------------------------------------------------------


def test_a_proxy_that_is_used_after_its_capture_is_an_error() -> None:
    run = captured(lambda x: x * 2, [X])
    for use in (lambda: run.outputs + 1, lambda: np.sum(run.outputs), lambda: run.outputs[0]):
        with pytest.raises(NotTraceableError, match=r"is used after that\. It was stored somewhere"):
            use()


def test_no_proxy_outlives_its_capture() -> None:
    def proxies() -> int:
        return sum(isinstance(value, ArrayProxy) for value in gc.get_objects())

    def kept(x):
        parts = [x * number for number in NUMBERS]
        view = parts[0][1:]
        view += 1
        return BASE.run(sum(parts))

    def refused(x):
        y = x * 2
        return y if y.sum() > DEQUE[0] else x

    gc.collect()
    gc.disable()
    try:
        before = proxies()
        refusals = []
        for function in (kept, refused, remembers):
            try:
                captured(function, [X.copy()])
            except CaptureRefused as error:
                refusals.append(error)
            assert proxies() == before, function.__name__
        assert len(refusals) == 2
    finally:
        gc.enable()


def test_effects_are_as_written() -> None:
    """Captured or not, what a function does beside its answer happens as often as it is called."""
    STREAM.truncate(0)
    compiled = mx.compile(prints)
    with pytest.warns(UserWarning, match="print is not known to be free of effects"):
        compiled(X)
    for _ in range(4):
        compiled(X)
    assert STREAM.getvalue().count("called") == 5


# -- objects that are given ----------------------------------------------------------------------------------------


def test_objects_lists_and_dicts_as_arguments() -> None:
    capture = Capture("function")
    values = {"rate": 2.0, "arrays": [X.copy(), X * 2], "config": CONFIG}
    given = capture.argument(values)
    run = capture.run(lambda v: v["arrays"][0] * v["rate"] + v["arrays"][1] * v["config"].rate, given)
    found, _ = computed(run, [values["arrays"]])
    np.testing.assert_allclose(found, X * 2 + X * 2 * 0.5)
    assert [value.node.name for value in run.inputs] == ["argument0", "argument1"]
    capture = Capture("function")
    with pytest.raises(CaptureRefused, match="it changes a list or a dict that it did not make"):
        capture.run(lambda v: v.append(1), capture.argument([X]))


def test_an_abstract_class_may_get_further_members() -> None:
    class Base2(abc.ABC):  # noqa: B024
        pass

    class Plain:
        pass

    plain = Plain()
    run = captured(lambda x: x * 2 if isinstance(plain, Base2) else x, [X])
    assert run.reads.hold()
    Base2.register(Plain)
    assert not run.reads.hold()


def test_a_module_may_be_named_like_the_one_that_draws() -> None:
    module = types.ModuleType("random_forest")
    exec("def grow(x):\n    return x * 2\n\nclass Forest:\n    size = 3.0\n", vars(module))
    forest = module.Forest()
    function = mx.compile(lambda x: module.grow(x) * forest.size)
    for number in range(3):
        np.testing.assert_array_equal(function(np.arange(3.0) + number), (np.arange(3.0) + number) * 6)
    assert function.reason is None


def test_results_of_integers_are_recorded() -> None:
    for function in (lambda x: x * 2, lambda x: np.sum(x), lambda x: x + np.ones(3, "int32")):
        gradients = []
        for called in (function, mx.compile(function)):
            x = mx.np.array([1, 2, 3], dtype="int32")
            x.attach_grad()
            for _ in range(4):
                with mx.autograd.record():
                    y = called(x)
                y.backward()
            gradients.append(x.grad.asnumpy())
        np.testing.assert_array_equal(*gradients)
