"""`explain_retraces()` of compiled functions and blocks: which guard failed, what it had seen, what is now, and where.

A row calls a function, changes one thing, and calls it again; the line about the second capture says so.
"""

from __future__ import annotations

import builtins
import collections
import inspect
import re
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capture_ways import Owner

import minpy as mx
from minpy import autograd, gluon
from minpy.capture.abstract_evaluation import VALUE_BASED
from minpy.compiling import CompileWarning

COMPILES = True
X = np.linspace(0.5, 1.5, 6)
FILE = __file__

# By name: (what a row makes, what the line says). A place is "(file:line)".
Row = tuple[Callable[[Any], Iterator[None]], str]
ROWS: dict[str, Row] = {}

# The rows that do not say what they should yet; `*` for all.
NOT_YET = {"compiled": "", "hybridized": "", "as_written": ""}


def row(reason: str) -> Callable[[Callable[[Any], Iterator[None]]], Callable[[Any], Iterator[None]]]:
    """Add a row: a generator that is given what captures, and calls before and after its `yield`."""

    def add(build: Callable[[Any], Iterator[None]]) -> Callable[[Any], Iterator[None]]:
        ROWS[build.__name__] = build, reason.replace("(place)", rf"\({re.escape(Path(__file__).name)}:\d+\)")
        return build

    return add


def _block(function: Callable[..., Any]) -> Any:
    class Net(gluon.HybridBlock):
        def forward(self, *arguments: Any, **keywords: Any) -> Any:
            return function(*arguments, **keywords)

    net = Net()
    net.hybridize()
    return net


class Captured:
    """Captures one function, as one way does, and makes arrays to call it with."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.function: Any = None
        self.parameters: list[str] = []

    def __call__(self, function: Callable[..., Any]) -> Any:
        self.parameters = list(inspect.signature(function).parameters)
        self.function = {"compiled": mx.compile, "hybridized": _block}.get(self.way, lambda written: written)(function)
        return self.function

    def array(self, values: Any, dtype: Any = None) -> Any:
        """Return an array of the kind that the way is called with."""
        values = np.array(values, dtype)
        return values if self.way == "compiled" else mx.np.array(values, dtype=values.dtype)

    def lines(self) -> list[str]:
        """Return the lines of the explanation."""
        return str(self.function.explain_retraces()).splitlines()


# -- what is read ------------------------------------------------------------------------------------------------------

scale = 1.0
helper: Any = None


@row(r"`scale` was 1\.0, is 2\.0 (place)")
def a_global(captured: Captured) -> Iterator[None]:
    globals()["scale"] = 1.0
    f = captured(lambda x: x * scale)
    f(captured.array(X))
    yield
    globals()["scale"] = 2.0
    f(captured.array(X))


@row(r"`appears` was missing, is 2\.0 (place)")
def a_global_that_appears(captured: Captured) -> Iterator[None]:
    def function(x: Any) -> Any:
        try:
            return x * appears  # type: ignore[name-defined]
        except NameError:
            return x

    globals().pop("appears", None)
    f = captured(function)
    f(captured.array(X))
    yield
    globals()["appears"] = 2.0
    f(captured.array(X))
    del globals()["appears"]


@row(r"`value` was 1\.0, is 2\.0 (place)")
def a_cell(captured: Captured) -> Iterator[None]:
    value = 1.0
    f = captured(lambda x: x * value)
    f(captured.array(X))
    yield
    value = 2.0
    f(captured.array(X))


@row(r"`owner\.value` was 0\.1, is 0\.09 (place)")
def an_attribute(captured: Captured) -> Iterator[None]:
    owner = Owner(0.1)
    f = captured(lambda x: x * owner.value)
    f(captured.array(X))
    yield
    owner.value = 0.09
    f(captured.array(X))


@row(r"`owner\.value\.value` was 'a', is 'b' (place)")
def an_attribute_of_an_attribute(captured: Captured) -> Iterator[None]:
    owner = Owner(Owner("a"))
    f = captured(lambda x: x * 2 if owner.value.value == "a" else x)
    f(captured.array(X))
    yield
    owner.value.value = "b"
    f(captured.array(X))


@row(r"`owner\.more` was missing, is 2\.0 (place)")
def an_attribute_that_appears(captured: Captured) -> Iterator[None]:
    owner = Owner(1.0)
    f = captured(lambda x: x * getattr(owner, "more", 1.0))
    f(captured.array(X))
    yield
    owner.more = 2.0  # type: ignore[attr-defined]
    f(captured.array(X))


@row(r"`owner\.value` was 1\.0, is missing (place)")
def an_attribute_that_goes(captured: Captured) -> Iterator[None]:
    owner = Owner(1.0)
    f = captured(lambda x: x * getattr(owner, "value", 3.0))
    f(captured.array(X))
    yield
    del owner.value
    f(captured.array(X))


@row(r"`Keeper\.value` was 1\.0, is 2\.0 (place)")
def an_attribute_of_a_class(captured: Captured) -> Iterator[None]:
    class Keeper:
        value = 1.0

    f = captured(lambda x: x * Keeper.value)
    f(captured.array(X))
    yield
    Keeper.value = 2.0
    f(captured.array(X))


@row(r"`module\.value` was 1\.0, is 2\.0 (place)")
def an_attribute_of_a_module(captured: Captured) -> Iterator[None]:
    module: Any = types.ModuleType("module_of_a_row")
    module.value = 1.0
    f = captured(lambda x: x * module.value)
    f(captured.array(X))
    yield
    module.value = 2.0
    f(captured.array(X))


@row(r"`values\[0\]` was 1\.0, is 2\.0 (place)")
def an_item_of_a_list(captured: Captured) -> Iterator[None]:
    values = [1.0]
    f = captured(lambda x: x * values[0])
    f(captured.array(X))
    yield
    values[0] = 2.0
    f(captured.array(X))


@row(r"`values\['b'\]\[1\]` was 1\.0, is 2\.0 (place)")
def an_item_of_a_nest(captured: Captured) -> Iterator[None]:
    values = {"b": [0.0, 1.0]}
    f = captured(lambda x: x * values["b"][1])
    f(captured.array(X))
    yield
    values["b"][1] = 2.0
    f(captured.array(X))


@row(r"`len\(values\)` was 1, is 2 (place)")
def the_length_of_a_list(captured: Captured) -> Iterator[None]:
    values = [1.0]
    f = captured(lambda x: x * sum(values))
    f(captured.array(X))
    yield
    values.append(1.0)
    f(captured.array(X))


@row(r"the keys of `values` were 'a', are 'a', 'b' (place)")
def the_keys_of_a_dict(captured: Captured) -> Iterator[None]:
    values = {"a": 1.0}
    f = captured(lambda x: x * sum(values.values()))
    f(captured.array(X))
    yield
    values["b"] = 1.0
    f(captured.array(X))


@row(r"the keys of `values` were 'a', 'b', are 'b', 'a' (place)")
def the_order_of_a_dict(captured: Captured) -> Iterator[None]:
    values = {"a": 1.0, "b": 1.0}
    f = captured(lambda x: x * len(next(iter(values))))
    f(captured.array(X))
    yield
    values["a"] = values.pop("a")
    f(captured.array(X))


@row(r"`values` was \{1\}, is \{1, 2\} (place)")
def a_set(captured: Captured) -> Iterator[None]:
    values = {1}
    f = captured(lambda x: x * 2 if 2 in values else x)
    f(captured.array(X))
    yield
    values.add(2)
    f(captured.array(X))


@row(r"`owner\.value` was True, is 1 (place)")
def the_type_of_a_number(captured: Captured) -> Iterator[None]:
    owner = Owner(True)
    f = captured(lambda x: x * owner.value)
    f(captured.array(X))
    yield
    owner.value = 1
    f(captured.array(X))


@row(r"`owner\.value` was 0\.0, is -0\.0 (place)")
def the_sign_of_a_zero(captured: Captured) -> Iterator[None]:
    owner = Owner(0.0)
    f = captured(lambda x: x * owner.value if owner.value is not None else x)
    f(captured.array(X))
    yield
    owner.value = -0.0
    f(captured.array(X))


@row(r"the class of `owner` was Owner, is Heir (place)")
def the_class_of_an_object(captured: Captured) -> Iterator[None]:
    class Heir(Owner):
        pass

    owner = Owner(1.0)
    f = captured(lambda x: x * owner.value)
    f(captured.array(X))
    yield
    owner.__class__ = Heir
    f(captured.array(X))


@row(r"`owner` is another Owner (place)")
def another_object(captured: Captured) -> Iterator[None]:
    owners = [Owner(1.0), Owner(1.0)]
    owner = owners[0]
    f = captured(lambda x: x * owner.value if owner is owners[0] else x)
    f(captured.array(X))
    yield
    owner = owners[1]
    f(captured.array(X))


@row(r"`helper` is another function (place)")
def another_function(captured: Captured) -> Iterator[None]:
    globals()["helper"] = lambda x: x * 2
    f = captured(lambda x: helper(x))
    f(captured.array(X))
    yield
    globals()["helper"] = lambda x: x * 3
    f(captured.array(X))


@row(r"the code of `inner` is another (place)")
def the_code_of_a_function(captured: Captured) -> Iterator[None]:
    def inner(x: Any) -> Any:
        return x

    f = captured(lambda x: inner(x))
    f(captured.array(X))
    yield
    inner.__code__ = (lambda x: x * 2).__code__
    f(captured.array(X))


@row(r"the default of factor in `inner` was 1\.0, is 2\.0 (place)")
def a_default(captured: Captured) -> Iterator[None]:
    def inner(x: Any, factor: float = 1.0) -> Any:
        return x * factor

    f = captured(lambda x: inner(x))
    f(captured.array(X))
    yield
    inner.__defaults__ = (2.0,)
    f(captured.array(X))


@row(r"the default of factor in `inner` was 1\.0, is 2\.0 (place)")
def a_keyword_default(captured: Captured) -> Iterator[None]:
    def inner(x: Any, *, factor: float = 1.0) -> Any:
        return x * factor

    f = captured(lambda x: inner(x))
    f(captured.array(X))
    yield
    inner.__kwdefaults__ = {"factor": 2.0}  # type: ignore[attr-defined]
    f(captured.array(X))


@row(r"`divmod` was a builtin, is a global (place)")
def a_builtin_that_is_hidden(captured: Captured) -> Iterator[None]:
    globals().pop("divmod", None)
    f = captured(lambda x: x * divmod(7, 2)[0])
    f(captured.array(X))
    yield
    globals()["divmod"] = lambda first, second: (5, 0)
    f(captured.array(X))
    del globals()["divmod"]


@row(r"`divmod` is another function (place)")
def a_builtin_that_is_replaced(captured: Captured) -> Iterator[None]:
    original = builtins.divmod
    f = captured(lambda x: x * divmod(7, 2)[0])
    f(captured.array(X))
    yield
    builtins.divmod = lambda value, by: (9, 0)  # type: ignore[assignment]
    try:
        f(captured.array(X))
    finally:
        builtins.divmod = original


@row(r"`values`: dtype was float64, is float32 (place)")
def the_dtype_of_an_array_that_is_read(captured: Captured) -> Iterator[None]:
    values = captured.array(X)
    f = captured(lambda x: x * values)
    f(captured.array(X))
    yield
    values = captured.array(X, np.float32)
    f(captured.array(X))


@row(r"`values`: shape was \(6,\), is \(1,\) (place)")
def the_shape_of_an_array_that_is_read(captured: Captured) -> Iterator[None]:
    values = captured.array(X)
    f = captured(lambda x: x.reshape(2, 3) * values.shape[0] + values[0])
    f(captured.array(X))
    yield
    values = captured.array(X[:1])
    f(captured.array(X))


# -- arguments ---------------------------------------------------------------------------------------------------------


@row(r"argument x: shape was \(6,\), is \(2,\)")
def the_shape_of_an_argument(captured: Captured) -> Iterator[None]:
    f = captured(lambda x: x * x.shape[0])
    f(captured.array(X))
    yield
    f(captured.array(X[:2]))


@row(r"argument x: dtype was float64, is float32")
def the_dtype_of_an_argument(captured: Captured) -> Iterator[None]:
    f = captured(lambda x: x * 2)
    f(captured.array(X))
    yield
    f(captured.array(X, np.float32))


@row(r"argument x: rank was 1, is 2")
def the_rank_of_an_argument(captured: Captured) -> Iterator[None]:
    f = captured(lambda x: x * 2)
    f(captured.array(X))
    yield
    f(captured.array(X.reshape(2, 3)))


@row(r"argument x: class was \S*ndarray, is \S*NDArray")
def the_class_of_an_argument(captured: Captured) -> Iterator[None]:
    f = captured(lambda x: x * 2)
    f(captured.array(X))
    yield
    f(mx.nd.array(X, dtype="float64"))


@row(r"argument x\[0\]: shape was \(6,\), is \(2,\)")
def an_argument_within_a_list(captured: Captured) -> Iterator[None]:
    f = captured(lambda x: x[0] * x[0].shape[0])
    f([captured.array(X)])
    yield
    f([captured.array(X[:2])])


@row(r"argument x: length was 1, is 2")
def the_length_of_a_list_that_is_given(captured: Captured) -> Iterator[None]:
    f = captured(lambda x: sum(x))
    f([captured.array(X)])
    yield
    f([captured.array(X), captured.array(X)])


@row(r"argument d: keys were 'a', are 'b'")
def the_keys_of_a_dict_that_is_given(captured: Captured) -> Iterator[None]:
    f = captured(lambda x, d: x + sum(d.values()))
    f(captured.array(X), {"a": captured.array(X)})
    yield
    f(captured.array(X), {"b": captured.array(X)})


@row(r"argument mode: was 'a', is 'b'")
def the_value_of_an_argument(captured: Captured) -> Iterator[None]:
    f = captured(lambda x, mode: x * 2 if mode == "a" else x)
    f(captured.array(X), "a")
    yield
    f(captured.array(X), "b")


@row(r"argument rate: was 0\.1, is 0\.09 +→ dynamic")
def a_rate_that_decays(captured: Captured) -> Iterator[None]:
    f = captured(lambda x, rate: x * rate)
    f(captured.array(X), 0.1)
    yield
    f(captured.array(X), 0.09)


@row(r"`owner\.value` was 0\.1, is 0\.09 (place) +→ dynamic")
def a_rate_of_an_object_that_decays(captured: Captured) -> Iterator[None]:
    owner = Owner(0.1)
    f = captured(lambda x: x * owner.value)
    f(captured.array(X))
    yield
    owner.value = 0.09
    f(captured.array(X))


@row(r"arguments x and y were two arrays, are one")
def the_identity_of_arguments(captured: Captured) -> Iterator[None]:
    f = captured(lambda x, y: x * 2 if x is y else y)
    v = captured.array(X)
    f(v, captured.array(X))
    yield
    f(v, v)


@row(r"argument x and `w` were two arrays, are one (place)")
def the_identity_with_what_is_read(captured: Captured) -> Iterator[None]:
    w = captured.array(X)
    f = captured(lambda x: x * 2 if x is w else x + w)
    f(captured.array(X))
    yield
    f(w)


@row(r"the arguments by position were 1, are 2")
def the_count_of_arguments(captured: Captured) -> Iterator[None]:
    f = captured(lambda x, *rest: sum(rest, x))
    f(captured.array(X))
    yield
    f(captured.array(X), captured.array(X))


@row(r"the arguments by keyword were y, are z")
def the_keywords(captured: Captured) -> Iterator[None]:
    f = captured(lambda x, **keywords: sum(keywords.values(), x))
    f(captured.array(X), y=captured.array(X))
    yield
    f(captured.array(X), z=captured.array(X))


# -- modes -------------------------------------------------------------------------------------------------------------


@row(r"`is_recording\(\)` was False, is True (place)")
def recording(captured: Captured) -> Iterator[None]:
    f = captured(lambda x: x * 2 if autograd.is_recording() else x * 3)
    x = mx.np.array(X)
    x.attach_grad()
    f(x)
    yield
    with autograd.record(train_mode=False):
        f(x)


@row(r"`is_training\(\)` was False, is True (place)")
def training(captured: Captured) -> Iterator[None]:
    f = captured(lambda x: x * 2 if autograd.is_training() else x * 3)
    f(captured.array(X))
    yield
    with autograd.train_mode():
        f(captured.array(X))


def parameters(table: dict[str, Any], way: str) -> list[Any]:
    """Return parameters (way, name), with those marked that do not say what they should yet."""
    waiting = list(table) if NOT_YET[way] == "*" else NOT_YET[way].split()
    assert set(waiting) <= set(table), f"{way}: there is no {set(waiting) - set(table)}"
    mark = pytest.mark.xfail(reason="explain_retraces() does not say so yet", strict=True)
    return [pytest.param(way, name, marks=[mark] if name in waiting else []) for name in table]


@pytest.mark.filterwarnings("ignore::minpy.compiling.CompileWarning")
@pytest.mark.parametrize(("way", "name"), parameters(ROWS, "compiled") + parameters(ROWS, "hybridized"))
def test_the_reason_is_said(way: str, name: str) -> None:
    build, reason = ROWS[name]
    if VALUE_BASED and "dynamic" in reason:
        pytest.skip("NumPy 1 promotes numbers by their values: they stay constants")
    captured = Captured(way)
    steps = build(captured)
    next(steps)
    before = captured.lines()
    assert re.fullmatch(r".+: 1 specialization, 1 capture, [\d.]+ m?s", before[0]), before[0]
    assert re.match(r"1  first call +\S", before[1]), before[1]
    assert len(before) == 2, before
    next(steps, None)
    after = captured.lines()
    assert re.fullmatch(r".+: 2 specializations, 2 captures, [\d.]+ m?s", after[0]), after[0]
    assert re.sub("  +", "  ", after[1]) == re.sub("  +", "  ", before[1])
    if way == "hybridized":  # its forward takes all arguments by position
        for place, name in enumerate(captured.parameters):
            reason = re.sub(rf"\b((arguments?|and) ){name}\b", rf"\1arguments\\[{place}\\]", reason)
    # A number is made dynamic at its first change.
    dynamic = "" if "dynamic" in reason else r"( +→ dynamic)?"
    assert re.fullmatch(rf"2  {reason}{dynamic}", after[2]), after[2]
    assert len(after) == 3, after


def test_rows_run_as_written() -> None:
    for build, _ in ROWS.values():
        assert len(list(build(Captured("as_written")))) == 1


# -- as written --------------------------------------------------------------------------------------------------------

AS_WRITTEN: dict[str, tuple[Callable[[], tuple[Callable[[Any], Any], int]], str]] = {}
# Another line of this file.
PLACE = rf"\({re.escape(Path(__file__).name)}:\d+\)"


def refused(reason: str, first: int = 1) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Add a row that makes a function that runs as it is written from its `first` call on."""

    def add(build: Callable[[], Any]) -> Callable[[], Any]:
        AS_WRITTEN[build.__name__] = (
            lambda: (build(), first),
            f"as written since call {first}: " + reason.replace("(place)", PLACE),
        )
        return build

    return add


@refused(r"values is a collections\.deque, changes of which are not noticed: pass what it needs as an argument (place)")
def a_deque() -> Any:
    values = collections.deque([1.0])
    return lambda x: x * values[0]


@refused(r"print is not known to be free of effects (place)")
def a_print() -> Any:
    def function(x: Any) -> Any:
        print("", end="")
        return x * 2

    return function


@refused(r"it changes a list or a dict that it did not make (place)")
def a_store() -> Any:
    kept: list[Any] = []

    def function(x: Any) -> Any:
        kept.append(x * 2)
        return x

    return function


@refused(r"it sets an attribute: owner\.last (place)")
def a_stored_attribute() -> Any:
    owner: Any = Owner(1.0)

    def function(x: Any) -> Any:
        owner.last = x * 2
        return x

    return function


@refused(
    r"it chooses by values: `if`, `while`, `and` or `assert` of an array\. Choose with np\.where or npx\.cond (place)"
)
def a_choice_by_values() -> Any:
    return lambda x: x * 2 if x.sum() > 1 else x


@refused(r"open is not known to be free of effects (place)")
def a_file() -> Any:
    def function(x: Any) -> Any:
        with open(FILE, encoding="utf-8") as file:
            return x * len(file.readline())

    return function


@refused(r"numbers is a range_iterator, changes of which are not noticed: pass what it needs as an argument (place)")
def an_iterator() -> Any:
    numbers = iter(range(100))
    return lambda x: x * next(numbers)


@refused(r"np\.random draws random numbers: draw with minpy\.np\.random, or take the numbers as an argument (place)")
def random_numbers() -> Any:
    return lambda x: x * np.random.uniform()


@refused(r"it imports colorsys (place)")
def an_import() -> Any:
    def function(x: Any) -> Any:
        import colorsys

        return x * colorsys.ONE_THIRD

    return function


@refused(r"globals is not known to be free of effects (place)")
def its_globals() -> Any:
    return lambda x: x * len(globals()["X"])


@pytest.mark.parametrize(("way", "name"), parameters(AS_WRITTEN, "as_written"))
def test_why_it_runs_as_written(way: str, name: str) -> None:
    build, reason = AS_WRITTEN[name]
    function, first = build()
    f = mx.compile(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(first + 3):
            f(X.copy())
    assert [warning.category for warning in caught] == [CompileWarning]
    lines = str(f.explain_retraces()).splitlines()
    assert re.fullmatch(reason, lines[-1]), lines[-1]
    said = reason.partition(": ")[2]
    assert re.search(said, str(caught[0].message)), caught[0].message


@pytest.mark.skipif(VALUE_BASED, reason="NumPy 1 promotes numbers by their values: they stay constants")
def test_the_whole_text() -> None:
    settings = Owner(0.1)

    def energy(x: Any) -> Any:
        return np.sum(np.tanh(x) ** 2) * settings.value + x.shape[0]

    compiled = mx.compile(energy)
    compiled(np.ones((64, 100)))
    settings.value = 0.09
    compiled(np.ones((64, 100)))
    settings.value = 0.08
    compiled(np.ones((64, 100)))
    compiled(np.ones((65, 100)))
    lines = str(compiled.explain_retraces()).splitlines()
    assert re.fullmatch(r".*energy: 3 specializations, 3 captures, [\d.]+ ms", lines[0])
    assert re.fullmatch(r"1  first call +x float64 \(64, 100\)", lines[1])
    assert re.fullmatch(rf"2  `settings\.value` was 0\.1, is 0\.09 {PLACE} +→ dynamic", lines[2])
    assert re.fullmatch(r"3  argument x: shape was \(64, 100\), is \(65, 100\)", lines[3])
    assert len(lines) == 4


def test_before_the_first_call() -> None:
    compiled = mx.compile(lambda x: x * 2)
    assert str(compiled.explain_retraces()).endswith("<lambda>: 0 specializations, 0 captures, 0 ms")


def test_calls_without_a_change_add_nothing() -> None:
    compiled = mx.compile(lambda x: x * 2)
    compiled(X)
    before = str(compiled.explain_retraces())
    for _ in range(20):
        compiled(X.copy())
    assert str(compiled.explain_retraces()) == before


def test_a_specialization_that_is_valid_again_is_taken() -> None:
    owner = Owner("a")
    compiled = mx.compile(lambda x: x * len(owner.value))
    for value in ("a", "bb", "a", "bb", "a"):
        owner.value = value
        compiled(X)
    assert str(compiled.explain_retraces()).startswith("<lambda>: 2 specializations, 2 captures, ")
