"""Ways in which what a function refers to changes between two calls: the table of `test_guard_soundness.py`.

A row makes a function of one array and `change(number)`, which puts the surroundings of the function into the state of
that number. Rows are built twice, once for the function as written and once for the one that is captured; what they
share (globals, modules) is set, not counted up, so that both see the same.
"""

from __future__ import annotations

import abc
import array
import builtins
import collections
import contextvars
import ctypes
import dataclasses
import decimal
import enum
import functools
import itertools
import logging
import math
import operator
import os
import random
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import minpy as mx

__all__ = ["CASES"]

Case = tuple[Callable[[Any], Any], Callable[[int], Any]]

CASES: dict[str, Callable[[], Case]] = {}


def case(build: Callable[[], Case]) -> Callable[[], Case]:
    """Add a row under the name of the function that builds it."""
    CASES[build.__name__] = build
    return build


def put(place: Any, key: Any) -> Callable[[int], None]:
    """Return a change that stores a number at a key."""
    return lambda number: operator.setitem(place, key, float(number))


def assign(owner: Any, name: str) -> Callable[[int], None]:
    """Return a change that sets an attribute to a number."""
    return lambda number: setattr(owner, name, float(number))


# -- names ---------------------------------------------------------------------------------------------------------

scale = 1.0
helper: Any = None
folder = ""  # where files are written; a fixture says it


@case
def a_global_number() -> Case:
    return lambda x: x * scale, put(globals(), "scale")


@case
def a_global_function() -> Case:
    return lambda x: helper(x), lambda number: globals().update(helper=lambda x: x * number)


@case
def a_global_through_globals() -> Case:
    return lambda x: x * globals()["scale"], put(globals(), "scale")


@case
def a_global_through_eval() -> Case:
    return lambda x: x * eval("scale"), put(globals(), "scale")


@case
def a_name_that_appears_later() -> Case:
    def function(x: Any) -> Any:
        try:
            return x * appears_later  # type: ignore[name-defined]
        except NameError:
            return x

    def change(number: int) -> None:
        globals().pop("appears_later", None)
        if number > 1:
            globals()["appears_later"] = float(number)

    return function, change


@case
def a_builtin_that_is_hidden_later() -> Case:
    def change(number: int) -> None:
        globals().pop("divmod", None)
        if number > 1:
            globals()["divmod"] = lambda first, second: (float(number), 0)

    return lambda x: x * divmod(7, 2)[0], change


@case
def a_builtin_that_is_replaced() -> Case:
    original = builtins.oct

    def change(number: int) -> None:
        builtins.oct = original if number % 2 else lambda value: "0o123"  # type: ignore[assignment, misc]

    return lambda x: x * len(oct(8)), change


@case
def a_closure() -> Case:
    value = 1.0

    def change(number: int) -> None:
        nonlocal value
        value = float(number)

    return lambda x: x * value, change


@case
def a_closure_of_a_closure() -> Case:
    value = 1.0

    def outer() -> Callable[[Any], Any]:
        return lambda x: (lambda y: y * value)(x)

    def change(number: int) -> None:
        nonlocal value
        value = float(number)

    return outer(), change


@case
def a_default() -> Case:
    def inner(x: Any, factor: float = 1.0) -> Any:
        return x * factor

    return lambda x: inner(x), lambda number: setattr(inner, "__defaults__", (float(number),))


@case
def a_keyword_default() -> Case:
    def inner(x: Any, *, factor: float = 1.0) -> Any:
        return x * factor

    return lambda x: inner(x), lambda number: setattr(inner, "__kwdefaults__", {"factor": float(number)})


@case
def the_code_of_a_function() -> Case:
    def inner(x: Any) -> Any:
        return x

    codes = [(lambda x: x * 1.0).__code__, (lambda x: x * 2.0).__code__, (lambda x: x + 3.0).__code__]
    return lambda x: inner(x), lambda number: setattr(inner, "__code__", codes[number % 3])


@case
def an_attribute_of_a_function() -> Case:
    def inner(x: Any) -> Any:
        return x * inner.scale  # type: ignore[attr-defined]

    inner.scale = 1.0  # type: ignore[attr-defined]
    return inner, assign(inner, "scale")


# -- containers ----------------------------------------------------------------------------------------------------


@case
def a_list() -> Case:
    values = [1.0]
    return lambda x: x * values[0], put(values, 0)


@case
def the_length_of_a_list() -> Case:
    values: list[float] = []
    return lambda x: x * len(values), lambda number: values.append(1.0)


@case
def a_dict() -> Case:
    values = {"a": 1.0}
    return lambda x: x * values["a"], put(values, "a")


@case
def a_dict_nested_seven_deep() -> Case:
    inner = {"g": 1.0}
    values = {"a": {"b": {"c": {"d": {"e": {"f": inner}}}}}}
    return lambda x: x * values["a"]["b"]["c"]["d"]["e"]["f"]["g"], put(inner, "g")


@case
def the_order_of_a_dict() -> Case:
    values = {"a": 2.0, "b": 3.0}

    def change(number: int) -> None:
        names = sorted(values, reverse=bool(number % 2))
        found = {name: {"a": 2.0, "b": 3.0}[name] for name in names}
        values.clear()
        values.update(found)

    return lambda x: x * next(iter(values.values())), change


@case
def a_set() -> Case:
    values: set[int] = set()
    return lambda x: x * 2 if 2 in values else x, lambda number: values.add(number)


@case
def a_long_list() -> Case:
    values = [1.0] * 300
    return lambda x: x * values[200], put(values, 200)


@case
def a_deque() -> Case:
    values = collections.deque([1.0])
    return lambda x: x * values[0], put(values, 0)


@case
def a_chain_map() -> Case:
    first: dict[str, float] = {}
    values = collections.ChainMap(first, {"a": 1.0})
    return lambda x: x * values["a"], put(first, "a")


@case
def a_mapping_proxy() -> Case:
    inner = {"a": 1.0}
    values = types.MappingProxyType(inner)
    return lambda x: x * values["a"], put(inner, "a")


@case
def a_view_of_values() -> Case:
    inner = {"a": 1.0}
    values = inner.values()
    return lambda x: x * sum(values), put(inner, "a")


@case
def a_view_of_items() -> Case:
    inner = {"a": 1.0}
    values = inner.items()
    return lambda x: x * max(values)[1], put(inner, "a")


@case
def a_view_of_keys() -> Case:
    inner = {1: None}
    values = inner.keys()
    return lambda x: x * len(values), lambda number: inner.update({number: None})


@case
def an_ordered_dict() -> Case:
    values = collections.OrderedDict(a=2.0, b=3.0)
    return lambda x: x * next(iter(values.values())), lambda number: values.move_to_end("ab"[number % 2], last=False)


@case
def a_default_dict() -> Case:
    values: Any = collections.defaultdict(lambda: 1.0)
    return lambda x: x * values["a"], put(values, "a")


@case
def a_counter() -> Case:
    values: Any = collections.Counter()
    return lambda x: x * (1 + values["a"]), lambda number: values.update("a")


@case
def a_dict_with_missing() -> Case:
    class Missing(dict[str, float]):
        value = 1.0

        def __missing__(self, key: str) -> float:
            return self.value

    values = Missing()
    return lambda x: x * values["a"], assign(values, "value")


@case
def a_list_of_a_users_class() -> Case:
    class Values(list[float]):
        pass

    values = Values([1.0])
    return lambda x: x * values[0], put(values, 0)


@case
def a_number_of_a_users_class() -> Case:
    class Number(int):
        factor = 1.0

    number_of_user = Number(2)
    return lambda x: x * number_of_user.factor, assign(number_of_user, "factor")


@case
def a_bytearray() -> Case:
    values = bytearray([1])
    return lambda x: x * values[0], lambda number: operator.setitem(values, 0, number)


@case
def an_array_of_the_standard_library() -> Case:
    values = array.array("d", [1.0])
    return lambda x: x * values[0], put(values, 0)


@case
def a_memoryview() -> Case:
    inner = bytearray([1])
    values = memoryview(inner)
    return lambda x: x * values[0], lambda number: operator.setitem(inner, 0, number)


@case
def a_number_of_c() -> Case:
    value = ctypes.c_double(1.0)
    return lambda x: x * value.value, assign(value, "value")


@case
def a_tuple_with_a_list() -> Case:
    inner = [1.0]
    values = (inner, 2)
    return lambda x: x * values[0][0], put(inner, 0)


@case
def a_slice_in_a_list() -> Case:
    values = [slice(0, 1)]
    return lambda x: x[values[0]] * 2.0, lambda number: operator.setitem(values, 0, slice(number % 3, None))


# -- objects -------------------------------------------------------------------------------------------------------


class Plain:
    """An object with a number."""

    value = 1.0


@case
def an_attribute_of_an_object() -> Case:
    owner = Plain()
    return lambda x: x * owner.value, assign(owner, "value")


@case
def an_attribute_of_a_class() -> Case:
    class Owner(Plain):
        pass

    owner = Owner()
    return lambda x: x * owner.value, assign(Owner, "value")


@case
def an_attribute_of_a_metaclass() -> Case:
    class Meta(type):
        value = 1.0

    class Owner(metaclass=Meta):
        pass

    return lambda x: x * Owner.value, assign(Meta, "value")


@case
def an_attribute_by_the_dict_of_an_object() -> Case:
    owner = Plain()
    return lambda x: x * owner.value, put(vars(owner), "value")


@case
def an_attribute_that_hides_that_of_the_class() -> Case:
    owner = Plain()

    def change(number: int) -> None:
        vars(owner).pop("value", None)
        if number % 2:
            owner.value = float(number)

    return lambda x: x * owner.value, change


@case
def an_attribute_of_slots() -> Case:
    class Owner:
        __slots__ = ("value",)

        def __init__(self) -> None:
            self.value = 1.0

    owner = Owner()
    return lambda x: x * owner.value, assign(owner, "value")


@case
def an_attribute_of_a_frozen_dataclass() -> Case:
    @dataclasses.dataclass(frozen=True)
    class Owner:
        value: float = 1.0

    owner = Owner()
    return lambda x: x * owner.value, lambda number: object.__setattr__(owner, "value", float(number))


@case
def an_attribute_that_appears_later() -> Case:
    owner = types.SimpleNamespace()

    def function(x: Any) -> Any:
        try:
            return x * owner.value
        except AttributeError:
            return x

    return function, lambda number: setattr(owner, "value", float(number)) if number > 1 else None


@case
def what_getattr_finds_later() -> Case:
    owner = types.SimpleNamespace()
    return (
        lambda x: x * getattr(owner, "value", 1.0),
        lambda number: setattr(owner, "value", float(number)) if number > 1 else None,
    )


@case
def what_hasattr_finds_later() -> Case:
    owner = types.SimpleNamespace()
    return (
        lambda x: x * 2 if hasattr(owner, "value") else x,
        lambda number: setattr(owner, "value", 1.0) if number > 1 else None,
    )


@case
def a_property() -> Case:
    class Owner:
        hidden = 1.0

        @property
        def value(self) -> float:
            return self.hidden * 2

    owner = Owner()
    return lambda x: x * owner.value, assign(owner, "hidden")


@case
def a_descriptor() -> Case:
    class Descriptor:
        value = 1.0

        def __get__(self, instance: Any, owner: Any = None) -> float:
            return self.value

    descriptor = Descriptor()
    owner = type("Owner", (), {"value": descriptor})()
    return lambda x: x * owner.value, assign(descriptor, "value")


@case
def a_cached_property() -> Case:
    class Owner:
        hidden = 1.0

        @functools.cached_property
        def value(self) -> float:
            return self.hidden

    owner = Owner()

    def change(number: int) -> None:
        owner.hidden = float(number)
        vars(owner).pop("value", None)

    return lambda x: x * owner.value, change


@case
def computed_attributes() -> Case:
    class Owner:
        def __init__(self) -> None:
            self.values = {"value": 1.0}

        def __getattr__(self, name: str) -> float:
            try:
                return self.__dict__["values"][name]
            except KeyError:
                raise AttributeError(name) from None

    owner = Owner()
    return lambda x: x * owner.value, put(owner.values, "value")


@case
def intercepted_attributes() -> Case:
    values = {"value": 1.0}

    class Owner:
        def __getattribute__(self, name: str) -> Any:
            return values[name] if name == "value" else object.__getattribute__(self, name)

    owner: Any = Owner()
    return lambda x: x * owner.value, put(values, "value")


@case
def a_changed_class() -> Case:
    classes = [type("Owner", (), {"value": float(number)}) for number in (1, 2, 3)]
    owner = classes[0]()
    return lambda x: x * owner.value, lambda number: setattr(owner, "__class__", classes[number % 3])


@case
def changed_bases() -> Case:
    bases = [type("Base", (), {"value": float(number)}) for number in (1, 2, 3)]
    cls = type("Owner", (bases[0],), {})
    owner: Any = cls()
    return lambda x: x * owner.value, lambda number: setattr(cls, "__bases__", (bases[number % 3],))


@case
def a_method_that_is_replaced() -> Case:
    class Owner:
        def run(self, x: Any) -> Any:
            return x

    owner = Owner()
    return lambda x: owner.run(x), lambda number: setattr(Owner, "run", lambda self, x: x * float(number))


@case
def a_method_of_an_instance() -> Case:
    class Owner:
        def run(self, x: Any) -> Any:
            return x

    owner = Owner()
    return lambda x: owner.run(x), lambda number: setattr(owner, "run", lambda x: x * float(number))


@case
def a_static_method_that_is_replaced() -> Case:
    class Owner:
        @staticmethod
        def run(x: Any) -> Any:
            return x

    return lambda x: Owner.run(x), lambda number: setattr(Owner, "run", staticmethod(lambda x: x * float(number)))


@case
def a_class_method() -> Case:
    class Owner:
        value = 1.0

        @classmethod
        def run(cls, x: Any) -> Any:
            return x * cls.value

    return lambda x: Owner.run(x), assign(Owner, "value")


@case
def a_method_of_a_base_class() -> Case:
    class Base:
        value = 1.0

        def run(self, x: Any) -> Any:
            return x * self.value

    class Owner(Base):
        def run(self, x: Any) -> Any:
            return super().run(x) + 1

    owner = Owner()
    return lambda x: owner.run(x), assign(Base, "value")


@case
def a_member_of_an_enumeration() -> Case:
    class Kind(enum.Enum):
        FIRST = 1.0

    return lambda x: x * Kind.FIRST.value, lambda number: setattr(Kind.FIRST, "_value_", float(number))


@case
def an_abstract_class_that_is_registered() -> Case:
    class Base(abc.ABC):  # noqa: B024
        pass

    owner = Plain()
    return (
        lambda x: x * 2 if isinstance(owner, Base) else x,
        lambda number: Base.register(Plain) if number > 1 else None,
    )


class Special:
    """An object whose special methods answer by a number."""

    def __init__(self) -> None:
        self.value = 1.0

    def __bool__(self) -> bool:
        return self.value % 2 == 0

    def __len__(self) -> int:
        return int(self.value)

    def __iter__(self) -> Any:
        return iter([self.value])

    def __contains__(self, value: object) -> bool:
        return self.value > 1

    def __float__(self) -> float:
        return self.value

    def __index__(self) -> int:
        return int(self.value)

    def __eq__(self, value: object) -> bool:
        return self.value > 1

    __hash__ = object.__hash__

    def __lt__(self, value: object) -> bool:
        return self.value > 1

    def __enter__(self) -> float:
        return self.value

    def __exit__(self, *parts: Any) -> None:
        return None

    def __repr__(self) -> str:
        return "x" * int(self.value)

    def __format__(self, form: str) -> str:
        return "y" * int(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([self.value])

    def __getitem__(self, key: Any) -> float:
        return self.value

    def __call__(self) -> float:
        return self.value

    def __neg__(self) -> float:
        return self.value

    def __add__(self, value: Any) -> float:
        return self.value + value

    def __reversed__(self) -> Any:
        return iter([self.value])

    def __round__(self, digits: Any = None) -> float:
        return self.value


def special(name: str, function: Callable[[Special], Callable[[Any], Any]]) -> None:
    """Add a row that reads an object by a special method."""

    def build() -> Case:
        owner = Special()
        return function(owner), assign(owner, "value")

    CASES[f"special_{name}"] = build


def _entered(owner: Special) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        with owner as value:
            return x * value

    return function


def _asked(owner: Special) -> Callable[[Any], Any]:
    return lambda x: x * 2 if owner else x


special("bool", _asked)
special("len", lambda owner: lambda x: x * len(owner))
special("iter", lambda owner: lambda x: x * sum(owner))
special("contains", lambda owner: lambda x: x * 2 if 3 in owner else x)
special("float", lambda owner: lambda x: x * float(owner))
special("int", lambda owner: lambda x: x * int(owner))
special("index", lambda owner: lambda x: x[: operator.index(owner)] * 2)
special("eq", lambda owner: lambda x: x * 2 if owner == 3 else x)
special("lt", lambda owner: lambda x: x * 2 if owner < 3 else x)
special("enter", _entered)
special("repr", lambda owner: lambda x: x * len(repr(owner)))
special("str", lambda owner: lambda x: x * len(str(owner)))
special("format", lambda owner: lambda x: x * len(f"{owner}"))
special("array", lambda owner: lambda x: x * np.asarray(owner))
special("getitem", lambda owner: lambda x: x * owner[0])
special("call", lambda owner: lambda x: x * owner())
special("neg", lambda owner: lambda x: x * -owner)
special("add", lambda owner: lambda x: x * (owner + 1))
special("reversed", lambda owner: lambda x: x * next(reversed(owner)))
special("round", lambda owner: lambda x: x * round(owner))
special("unpacked", lambda owner: lambda x: x * sum([*owner]))


# -- what the standard library keeps ---------------------------------------------------------------------------------


@case
def an_attribute_getter() -> Case:
    owner, get = Plain(), operator.attrgetter("value")
    return lambda x: x * get(owner), assign(owner, "value")


@case
def a_method_caller() -> Case:
    class Owner:
        value = 1.0

        def run(self) -> float:
            return self.value

    owner, run = Owner(), operator.methodcaller("run")
    return lambda x: x * run(owner), assign(owner, "value")


@case
def an_item_getter() -> Case:
    values, get = [1.0], operator.itemgetter(0)
    return lambda x: x * get(values), put(values, 0)


@case
def a_single_dispatch() -> Case:
    @functools.singledispatch
    def factor(value: Any) -> float:
        return 1.0

    return lambda x: x * factor(2), lambda number: factor.register(int, lambda value: float(number))


@case
def a_cached_function() -> Case:
    values = [1.0]

    @functools.lru_cache(None)
    def factor() -> float:
        return values[0]

    def change(number: int) -> None:
        values[0] = float(number)
        factor.cache_clear()

    return lambda x: x * factor(), change


@case
def a_partial_function() -> Case:
    values = [1.0]
    inner = functools.partial(lambda given, x: x * given[0], values)
    return lambda x: inner(x), put(values, 0)


@case
def a_partial_function_with_a_new_keyword() -> Case:
    inner = functools.partial(lambda x, factor: x * factor, factor=1.0)
    return lambda x: inner(x), put(inner.keywords, "factor")


@case
def a_partial_method() -> Case:
    class Owner:
        value = 1.0

        def run(self, more: float, x: Any) -> Any:
            return x * self.value + more

        one_more = functools.partialmethod(run, 1.0)

    owner = Owner()
    return lambda x: owner.one_more(x), assign(owner, "value")


@case
def a_context_variable() -> Case:
    variable = contextvars.ContextVar("variable", default=1.0)
    return lambda x: x * variable.get(), lambda number: variable.set(float(number))


@case
def a_weak_reference() -> Case:
    owner = Plain()
    reference = weakref.ref(owner)
    return lambda x: x * reference().value, assign(owner, "value")  # type: ignore[union-attr]


@case
def a_weak_dict() -> Case:
    owner, values = Plain(), weakref.WeakKeyDictionary[Any, float]()
    values[owner] = 1.0
    return lambda x: x * values[owner], put(values, owner)


@case
def what_a_thread_has() -> Case:
    local = threading.local()
    return lambda x: x * local.value, assign(local, "value")


@case
def the_precision_of_decimals() -> Case:
    third = decimal.Decimal(1)
    return (
        lambda x: x * float(third / 3),
        lambda number: setattr(decimal.getcontext(), "prec", number + 1),
    )


@case
def a_variable_of_the_environment() -> Case:
    return (
        lambda x: x * float(os.environ["STATE_CHANGES_FACTOR"]),
        lambda number: os.environ.update(STATE_CHANGES_FACTOR=str(number)),
    )


@case
def a_file() -> Case:
    path = os.path.join(folder, "factor")

    def read(x: Any) -> Any:
        with open(path, encoding="utf-8") as file:
            return x * float(file.read())

    def change(number: int) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(number))

    return read, change


@case
def a_file_by_its_status() -> Case:
    path = os.path.join(folder, "factor")

    def change(number: int) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write("x" * number)

    def read(x: Any) -> Any:
        return x * os.path.getsize(path)

    return read, change


@case
def a_limit_of_the_interpreter() -> Case:
    limit = sys.getrecursionlimit()
    return lambda x: x * (sys.getrecursionlimit() - limit), lambda number: sys.setrecursionlimit(limit + number)


@case
def the_level_of_a_logger() -> Case:
    logger = logging.getLogger("state_changes")
    return lambda x: x * logger.level, lambda number: logger.setLevel(number)


@case
def filters_of_warnings() -> Case:
    count = len(warnings.filters)
    return (
        lambda x: x * (len(warnings.filters) - count),
        lambda number: warnings.filterwarnings("ignore", message=f"state {number}"),
    )


@case
def an_object_that_is_collected() -> Case:
    owners = [Plain()]
    reference = weakref.ref(owners[0])
    return (
        lambda x: x if reference() is None else x * 2,
        lambda number: owners.clear() if number > 1 else None,
    )


# -- modules ---------------------------------------------------------------------------------------------------------


@case
def a_member_of_a_users_module() -> Case:
    module: Any = types.ModuleType("settings_of_user")
    module.value = 1.0
    return lambda x: x * module.value, assign(module, "value")


@case
def a_module_that_is_imported_inside() -> Case:
    sys.modules.setdefault("imported_inside", types.ModuleType("imported_inside"))

    def function(x: Any) -> Any:
        import imported_inside  # type: ignore[import-not-found]

        return x * imported_inside.value

    return function, lambda number: setattr(sys.modules["imported_inside"], "value", float(number))


@case
def a_patched_function_of_numpy() -> Case:
    original = np.sinc

    def change(number: int) -> None:
        np.sinc = original if number % 2 else lambda x: x * 3.0

    return lambda x: np.sinc(x), change


@case
def a_patched_constant() -> Case:
    original = math.tau
    return lambda x: x * math.tau, lambda number: setattr(math, "tau", original * number)


@case
def what_numpy_prints() -> Case:
    return (
        lambda x: x * len(str(np.float64(1) / 3 * np.ones(1))),
        lambda number: np.set_printoptions(precision=number + 1),
    )


@case
def the_state_of_numpys_generator() -> Case:
    return lambda x: x * np.random.uniform(), lambda number: np.random.seed(number)


@case
def the_state_of_a_generator() -> Case:
    generators: list[Any] = [None]
    return (
        lambda x: x * generators[0].uniform(),
        lambda number: operator.setitem(generators, 0, np.random.default_rng(number)),
    )


@case
def the_state_of_pythons_generator() -> Case:
    return lambda x: x * random.random(), lambda number: random.seed(number)


# -- arrays ----------------------------------------------------------------------------------------------------------


@case
def an_array_of_numpy() -> Case:
    values = np.ones(1)
    return lambda x: x * values, put(values, 0)


@case
def a_number_of_an_array() -> Case:
    values = np.ones(3)
    return lambda x: x * float(values[1]), put(values, 1)


@case
def a_choice_by_an_array() -> Case:
    values = np.ones(3)
    return lambda x: x * 2 if values[1] > 1 else x, put(values, 1)


@case
def an_array_without_axes() -> Case:
    values = np.array(1.0)
    return lambda x: x * values, put(values, ())


@case
def a_view_of_an_array() -> Case:
    inner = np.ones((3, 4))
    values = inner.T[1, :1]
    return lambda x: x * values, put(inner, (0, 1))


@case
def an_array_of_objects() -> Case:
    values = np.array([1.0], dtype=object)
    return lambda x: x * values[0], put(values, 0)


@case
def a_field_of_an_array() -> Case:
    values = np.ones(1, dtype=[("value", float)])
    return lambda x: x * values["value"][0], lambda number: operator.setitem(values["value"], 0, float(number))


@case
def a_masked_array() -> Case:
    values = np.ma.array([1.0, 2.0], mask=[False, True])
    return lambda x: x * float(values.sum()), lambda number: operator.setitem(values, number % 2, float(number))


@case
def the_shape_of_an_array() -> Case:
    values: list[Any] = [None]
    return (
        lambda x: x * values[0].shape[0],
        lambda number: operator.setitem(values, 0, np.zeros(number)),
    )


@case
def an_array_of_minpy() -> Case:
    values = mx.np.ones(1)
    return lambda x: x * float(values[0]), put(values, 0)


@case
def an_array_of_other_arrays() -> Case:
    values = {"w": [np.ones(1)]}
    return lambda x: x * values["w"][0], lambda number: operator.setitem(values["w"], 0, np.full(1, float(number)))


# -- what calls change ------------------------------------------------------------------------------------------------


def _still(number: int) -> None:
    """Change nothing: the function does so itself."""


@case
def a_counter_that_is_counted_up() -> Case:
    count = 0

    def function(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    return function, _still


@case
def a_list_that_grows_inside() -> Case:
    values: list[int] = []

    def function(x: Any) -> Any:
        values.append(1)
        return x * len(values)

    return function, _still


@case
def an_attribute_that_is_counted_up() -> Case:
    owner = Plain()

    def function(x: Any) -> Any:
        owner.value += 1
        return x * owner.value

    return function, _still


@case
def an_iterator() -> Case:
    numbers = itertools.count(1)
    return lambda x: x * next(numbers), _still


@case
def a_cycle() -> Case:
    numbers = itertools.cycle([1.0, 2.0, 3.0])
    return lambda x: x * next(numbers), _still


@case
def a_generator() -> Case:
    def counting() -> Any:
        number = 0
        while True:
            number += 1
            yield float(number)

    numbers = counting()
    return lambda x: x * next(numbers), _still


@case
def a_generator_that_is_sent_to() -> Case:
    def summing() -> Any:
        total = 0.0
        while True:
            total += yield total

    numbers = summing()
    next(numbers)
    return lambda x: x * numbers.send(1.0), _still


@case
def a_memo() -> Case:
    memo: dict[str, int] = {}

    def function(x: Any) -> Any:
        memo["calls"] = memo.get("calls", 0) + 1
        return x * memo["calls"]

    return function, _still


@case
def an_array_that_is_counted_up() -> Case:
    count = np.zeros(1)

    def function(x: Any) -> Any:
        count[0] += 1
        return x * count[0]

    return function, _still


@case
def a_default_that_is_counted_up() -> Case:
    def function(x: Any, memo: list[int] = []) -> Any:  # noqa: B006
        memo.append(1)
        return x * len(memo)

    copy = types.FunctionType(function.__code__, function.__globals__, "function", ([],), function.__closure__)
    return lambda x: copy(x), _still


@case
def a_result_that_is_remembered() -> Case:
    results: list[Any] = []

    def function(x: Any) -> Any:
        if not results:
            results.append(1.0)
            return x
        results[0] += 1
        return x * results[0]

    return function, _still


@case
def a_lock() -> Case:
    lock = threading.Lock()

    def change(number: int) -> None:
        if lock.locked():
            lock.release()
        else:
            lock.acquire()

    return lambda x: x * 2 if lock.locked() else x, change
