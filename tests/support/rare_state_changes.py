"""Further ways in which what a function refers to changes, rarer than those of `state_changes`: rows of its table."""

from __future__ import annotations

import collections
import configparser
import contextlib
import copy
import dataclasses
import fractions
import functools
import inspect
import io
import itertools
import math
import operator
import os
import queue
import re
import string
import sys
import threading
import time
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
from state_changes import CASES, Case, Plain, assign, case, put

import minpy as mx

__all__: list[str] = []


def values_in_turn(name: str, values: list[Any], function: Callable[[Any, Any], Any]) -> None:
    """Add a row that reads a value of an object, which is each of some values in turn."""

    def build() -> Case:
        owner = Plain()
        return (
            lambda x: function(x, owner.value),
            lambda number: setattr(owner, "value", values[(number - 1) % len(values)]),
        )

    CASES[name] = build


# -- values that are equal, and not the same -------------------------------------------------------------------------

values_in_turn("true_and_one", [1, True, 1.0], lambda x, value: x * 2 if value is True else x)
values_in_turn("zeros_of_both_signs", [0.0, -0.0], lambda x, value: x * math.copysign(1.0, value))
values_in_turn("complex_zeros", [0j, -0j, complex(0, -0.0)], lambda x, value: x * math.copysign(1.0, value.imag))
values_in_turn("a_float_that_is_an_integer", [2, 2.0], lambda x, value: x * len(str(value)))
values_in_turn("a_float_among_a_tuple", [(2,), (2.0,), (True, 1)], lambda x, value: x * len(str(value)))
values_in_turn("an_integer_as_a_key", [{1: 2}, {1.0: 2}, {True: 2}], lambda x, value: x * len(repr(value)))
values_in_turn("sets_in_another_order", [{8, 0}, {0, 8}], lambda x, value: x * (1 + next(iter(value))))
values_in_turn("a_number_of_numpy", [np.float64(2), 2.0, np.float32(2)], lambda x, value: x * len(type(value).__name__))
values_in_turn("bytes_and_text", ["ab", b"ab"], lambda x, value: x * (2 if isinstance(value, str) else 3))
values_in_turn("a_list_and_a_tuple", [[1, 2], (1, 2)], lambda x, value: x * len(type(value).__name__))
values_in_turn("a_dict_and_an_ordered_dict", [{"a": 1}, collections.OrderedDict(a=1)], lambda x, v: x * len(str(v)))
values_in_turn("no_value", [None, 0, False, ""], lambda x, value: x * 2 if value is None else x)
values_in_turn("not_a_number", [math.nan, 1.0, float("nan")], lambda x, value: x * 2 if value != value else x)
values_in_turn("a_range", [range(2), range(3), range(0, 6, 2)], lambda x, value: x * (1 + sum(value)))
values_in_turn("a_class", [int, float, Plain], lambda x, value: x * len(value.__name__))
values_in_turn("a_dtype", [np.float32, np.float64, "f4", np.dtype("f2")], lambda x, value: x * np.dtype(value).itemsize)
values_in_turn("a_function_of_numpy", [np.sin, np.cos, np.tanh], lambda x, value: value(x))
values_in_turn("a_bound_method_of_a_list", [[1].count, [2].count, [1, 1].count], lambda x, value: x * (1 + value(1)))
values_in_turn("a_fraction", [fractions.Fraction(1, 2), fractions.Fraction(1, 3)], lambda x, value: x * float(value))
values_in_turn("a_complex_number", [1j, 2j, 1 + 1j], lambda x, value: x * abs(value))
values_in_turn("an_ellipsis", [..., slice(None), slice(None, None, -1)], lambda x, value: x[value] * 2)
values_in_turn("lists_of_one_identity", [[[]] * 2, [[], []]], lambda x, value: x * 2 if value[0] is value[1] else x)
values_in_turn("a_long_integer", [2**70, 2**71, 2**70 + 1], lambda x, value: x * (value % 1000))
values_in_turn("a_text", ["a", "bb", "a"], lambda x, value: x * len(value))
values_in_turn("a_pattern", [re.compile("a+"), re.compile("a")], lambda x, value: x * len(value.match("aaa").group()))


# -- functions and classes -------------------------------------------------------------------------------------------


@case
def the_defaults_of_the_function_itself() -> Case:
    def function(x: Any, factor: float = 1.0) -> Any:
        return x * factor

    return function, lambda number: setattr(function, "__defaults__", (float(number),))


@case
def the_code_of_the_function_itself() -> Case:
    def function(x: Any) -> Any:
        return x

    codes = [(lambda x: x * 1.0).__code__, (lambda x: x * 2.0).__code__, (lambda x: x + 3.0).__code__]
    return function, lambda number: setattr(function, "__code__", codes[number % 3])


@case
def the_contents_of_a_cell() -> Case:
    value = 1.0

    def function(x: Any) -> Any:
        return x * value

    cell = function.__closure__[0]  # type: ignore[index]
    return function, lambda number: setattr(cell, "cell_contents", float(number))


@case
def the_name_of_a_function() -> Case:
    def inner() -> None: ...

    return lambda x: x * len(inner.__name__), lambda number: setattr(inner, "__name__", "n" * number)


@case
def the_text_of_a_function() -> Case:
    def inner() -> None: ...

    return lambda x: x * len(inner.__doc__ or ""), lambda number: setattr(inner, "__doc__", "n" * number)


@case
def annotations() -> Case:
    def inner() -> None: ...

    return lambda x: x * inner.__annotations__.get("a", 1), lambda number: inner.__annotations__.update(a=number)


@case
def a_signature() -> Case:
    def inner(*arguments: Any) -> None: ...

    codes = [(lambda: None).__code__, (lambda a: None).__code__, (lambda a, b: None).__code__]
    return (
        lambda x: x * (1 + len(inspect.signature(inner).parameters)),
        lambda number: setattr(inner, "__code__", codes[number % 3]),
    )


@case
def a_wrapped_function() -> Case:
    value = 1.0

    def inner(x: Any) -> Any:
        return x * value

    @functools.wraps(inner)
    def outer(*arguments: Any) -> Any:
        return inner(*arguments) + 1

    def change(number: int) -> None:
        nonlocal value
        value = float(number)

    return outer, change


@case
def a_callable_object() -> Case:
    class Function:
        value = 1.0

        def __call__(self, x: Any) -> Any:
            return x * self.value

    function = Function()
    return lambda x: function(x), assign(function, "value")


@case
def the_call_of_a_class() -> Case:
    class Function:
        def __call__(self, x: Any) -> Any:
            return x

    function = Function()
    return lambda x: function(x), lambda number: setattr(Function, "__call__", lambda self, x: x * number)


@case
def a_bound_method_that_is_kept() -> Case:
    class Owner:
        value = 1.0

        def run(self, x: Any) -> Any:
            return x * self.value

    owner = Owner()
    runs = [owner.run]
    return lambda x: runs[0](x), assign(owner, "value")


@case
def what_a_class_makes() -> Case:
    class Made:
        value = 1.0

        def __init__(self) -> None:
            self.twice = self.value * 2

    return lambda x: x * Made().twice, assign(Made, "value")


@case
def a_replaced_constructor() -> Case:
    class Made:
        value: float

    def change(number: int) -> None:
        def begin(self: Any) -> None:
            self.value = float(number)

        Made.__init__ = begin  # type: ignore[method-assign]

    return lambda x: x * Made().value, change


@case
def a_class_that_is_called_by_its_metaclass() -> Case:
    class Meta(type):
        value = 1.0

        def __call__(cls) -> Any:
            return cls.value

    class Made(metaclass=Meta):
        pass

    return lambda x: x * Made(), assign(Meta, "value")


@case
def subclasses() -> Case:
    class Base:
        pass

    made: list[Any] = []
    return (
        lambda x: x * (1 + len(Base.__subclasses__())),
        lambda number: made.append(type("Derived", (Base,), {})),
    )


@case
def a_registry_of_subclasses() -> Case:
    class Base:
        known: typing.ClassVar[list[Any]] = []

        def __init_subclass__(cls) -> None:
            Base.known.append(cls)

    return lambda x: x * (1 + len(Base.known)), lambda number: type("Derived", (Base,), {}) and None


@case
def what_is_an_instance() -> Case:
    class Meta(type):
        value = 1.0

        def __instancecheck__(cls, instance: Any) -> bool:
            return cls.value > 2

    class Kind(metaclass=Meta):
        pass

    return lambda x: x * 2 if isinstance(1, Kind) else x, assign(Meta, "value")


@case
def what_a_protocol_finds() -> Case:
    @typing.runtime_checkable
    class Valued(typing.Protocol):
        extra: float

    owner = Plain()
    return (
        lambda x: x * 2 if isinstance(owner, Valued) else x,
        lambda number: setattr(owner, "extra", 1.0) if number > 2 else None,
    )


@case
def the_dict_of_an_object_is_replaced() -> Case:
    owner = Plain()
    return lambda x: x * owner.value, lambda number: setattr(owner, "__dict__", {"value": float(number)})


@case
def the_length_of_the_dict_of_an_object() -> Case:
    owner = Plain()
    return lambda x: x * len(vars(owner)), lambda number: setattr(owner, f"name{number}", 1.0)


@case
def names_in_a_directory() -> Case:
    owner = types.SimpleNamespace()
    count = len(dir(owner))
    return lambda x: x * (len(dir(owner)) - count), lambda number: setattr(owner, f"name{number}", 1.0)


@case
def an_attribute_that_is_deleted() -> Case:
    class Owner(Plain):
        pass

    owner = Owner()
    owner.value = 5.0

    def change(number: int) -> None:
        if number == 2:
            del owner.value
        if number == 3:
            Owner.value = 7.0

    return lambda x: x * owner.value, change


@case
def a_slot_that_is_deleted() -> Case:
    class Owner:
        __slots__ = ("value",)

    owner = Owner()
    owner.value = 2.0

    def change(number: int) -> None:
        if number % 2:
            owner.value = float(number)
        else:
            del owner.value

    return lambda x: x * getattr(owner, "value", 9.0), change


@case
def a_property_that_appears() -> Case:
    class Owner:
        pass

    owner: Any = Owner()
    vars(owner)["value"] = 5.0

    def change(number: int) -> None:
        if number > 1:
            Owner.value = property(lambda self: float(number))  # type: ignore[attr-defined]

    return lambda x: x * owner.value, change


@case
def a_descriptor_that_begins_to_be_one() -> Case:
    class Value:
        number = 2.0

        def __mul__(self, x: Any) -> Any:
            return x * self.number

    class Owner:
        value = Value()

    owner: Any = Owner()

    def change(number: int) -> None:
        if number > 2:
            Value.__get__ = lambda self, instance, cls=None: float(number)  # type: ignore[attr-defined]

    return lambda x: owner.value * 1.0 * x if isinstance(owner.value, float) else x * owner.value.number, change


@case
def getattr_of_a_module() -> Case:
    module: Any = types.ModuleType("module_with_getattr")
    values = {"value": 1.0}
    module.__getattr__ = lambda name: values[name]
    return lambda x: x * module.value, put(values, "value")


@case
def the_class_of_a_module() -> Case:
    class Module(types.ModuleType):
        hidden = 1.0

        @property
        def value(self) -> float:
            return self.hidden

    module: Any = types.ModuleType("module_of_a_class")
    module.__class__ = Module
    return lambda x: x * module.value, assign(Module, "hidden")


@case
def a_default_factory() -> Case:
    @dataclasses.dataclass
    class Owner:
        values: list[float] = dataclasses.field(default_factory=lambda: [start[0]])

    start = [1.0]
    return lambda x: x * Owner().values[0], put(start, 0)


@case
def a_dataclass_as_a_dict() -> Case:
    @dataclasses.dataclass
    class Owner:
        value: float = 1.0

    owner = Owner()
    return lambda x: x * dataclasses.asdict(owner)["value"], assign(owner, "value")


@case
def a_replaced_dataclass() -> Case:
    @dataclasses.dataclass
    class Owner:
        value: float = 1.0
        more: float = 1.0

    owner = Owner()
    return lambda x: x * dataclasses.replace(owner, more=2.0).value, assign(owner, "value")


@case
def a_copied_object() -> Case:
    owner = Plain()
    return lambda x: x * copy.copy(owner).value, assign(owner, "value")


@case
def a_deeply_copied_object() -> Case:
    owner = Plain()
    return lambda x: x * copy.deepcopy([owner])[0].value, assign(owner, "value")


@case
def a_method_of_a_list_through_its_class() -> Case:
    values = [1.0]
    return lambda x: x * list.__getitem__(values, 0), put(values, 0)


@case
def an_attribute_through_object() -> Case:
    owner = Plain()
    return lambda x: x * object.__getattribute__(owner, "value"), assign(owner, "value")


@case
def an_object_that_sorts() -> Case:
    class Ranked:
        def __init__(self, factor: float) -> None:
            self.factor, self.rank = factor, factor

        def __lt__(self, value: Any) -> bool:
            return self.rank < value.rank

    first, second = Ranked(1.0), Ranked(2.0)
    return lambda x: x * sorted([first, second])[0].factor, lambda number: setattr(first, "rank", number * 1.5 - 1)


@case
def an_object_that_is_a_key() -> Case:
    class Key:
        value = 1.0

        def __hash__(self) -> int:
            return 1

        def __eq__(self, value: object) -> bool:
            return self.value > 2

    key, values = Key(), {Key(): 5.0}
    return lambda x: x * values.get(key, 1.0), assign(key, "value")


@case
def an_object_that_multiplies_from_the_right() -> Case:
    class Factor:
        value = 1.0
        __array_ufunc__ = None

        def __rmul__(self, x: Any) -> Any:
            return x + self.value

    factor = Factor()
    return lambda x: x * factor, assign(factor, "value")


@case
def an_object_that_numpy_asks() -> Case:
    class Factor:
        value = 1.0

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
            return inputs[0] + self.value

    factor = Factor()
    return lambda x: np.multiply(np.asarray(x), factor), assign(factor, "value")


@case
def a_match() -> Case:
    owner = types.SimpleNamespace(kind="a", value=1.0)

    def function(x: Any) -> Any:
        match owner:
            case types.SimpleNamespace(kind="a", value=value):
                return x * value
            case _:
                return x + 1

    return function, lambda number: vars(owner).update(kind="ab"[number % 2], value=float(number))


# -- expressions in which something is read --------------------------------------------------------------------------


@case
def a_comprehension() -> Case:
    values = [1.0, 2.0]
    return lambda x: x * sum([value * 2 for value in values if value > 0]), put(values, 0)


@case
def a_generator_expression() -> Case:
    values = [1.0, 2.0]
    return lambda x: x * sum(value * other for value in values for other in values), put(values, 1)


@case
def a_generator_function() -> Case:
    values = [1.0, 2.0]

    def each() -> Any:
        yield from values

    return lambda x: x * max(each()), put(values, 1)


@case
def a_context_manager() -> Case:
    values = [1.0]

    @contextlib.contextmanager
    def entered() -> Any:
        yield values[0]

    def function(x: Any) -> Any:
        with entered() as value:
            return x * value

    return function, put(values, 0)


@case
def an_exception() -> Case:
    values: list[Any] = [1.0]

    def function(x: Any) -> Any:
        try:
            if values[0] > 2:
                raise KeyError("large", values[0])
        except KeyError as error:
            return x * error.args[1] + 1
        finally:
            x = x + 1
        return x

    return function, put(values, 0)


@case
def a_caught_division() -> Case:
    values = [1.0]

    def function(x: Any) -> Any:
        try:
            return x / (1.0 / (values[0] - 2.0))
        except ZeroDivisionError:
            return x * 5

    return function, put(values, 0)


@case
def an_unpacked_dict() -> Case:
    values = {"factor": 1.0}
    return lambda x: (lambda factor: x * factor)(**values), put(values, "factor")


@case
def a_while_loop() -> Case:
    owner = Plain()

    def function(x: Any) -> Any:
        count = 0.0
        while count < owner.value:
            x, count = x * 2, count + 1
        return x

    return function, assign(owner, "value")


@case
def a_recursive_function() -> Case:
    owner = Plain()

    def power(x: Any, count: float) -> Any:
        return x if count <= 1 else x * power(x, count - 1)

    return lambda x: power(x, owner.value), assign(owner, "value")


@case
def a_walrus() -> Case:
    owner = Plain()
    return lambda x: x * value if (value := owner.value) > 2 else x, assign(owner, "value")


@case
def a_formatted_text() -> Case:
    owner = Plain()
    return lambda x: x * float(f"{owner.value:.3f}"), assign(owner, "value")


@case
def an_old_format() -> Case:
    owner = Plain()
    return lambda x: x * float("%.3f" % owner.value), assign(owner, "value")  # noqa: UP031


@case
def a_chained_comparison() -> Case:
    owner = Plain()
    return lambda x: x * 2 if 1 < owner.value < 3 else x, assign(owner, "value")


@case
def reduce_and_accumulate() -> Case:
    values = [1.0, 2.0]
    return (
        lambda x: x * functools.reduce(operator.mul, values) + list(itertools.accumulate(values))[-1],
        put(values, 1),
    )


@case
def zip_map_filter_enumerate() -> Case:
    first, second = [1.0, 2.0], [3.0, 4.0]
    return (
        lambda x: x * sum(n * a * b for n, (a, b) in enumerate(zip(first, map(abs, second), strict=True), 1) if a),
        put(second, 1),
    )


@case
def any_all_min_max() -> Case:
    values = [1.0, 2.0]
    return lambda x: x * (max(values) + min(values)) * (2 if any(value > 3 for value in values) else 1), put(values, 0)


@case
def the_locals_of_the_caller() -> Case:
    hidden = {"value": 1.0}

    def read() -> float:
        frame: Any = sys._getframe()
        while frame is not None and "local_of_the_caller" not in frame.f_locals:
            frame = frame.f_back
        return frame.f_locals["local_of_the_caller"]

    def function(x: Any) -> Any:
        local_of_the_caller = hidden["value"]
        return x * read() + 0 * local_of_the_caller

    return function, put(hidden, "value")


@case
def its_own_locals() -> Case:
    owner = Plain()

    def function(x: Any) -> Any:
        value = owner.value
        return x * locals()["value"]

    return function, assign(owner, "value")


# -- containers and the standard library -----------------------------------------------------------------------------


@case
def a_users_dict() -> Case:
    values = collections.UserDict(a=1.0)
    return lambda x: x * values["a"], put(values, "a")


@case
def a_users_list() -> Case:
    values = collections.UserList([1.0])
    return lambda x: x * values[0], put(values, 0)


@case
def a_named_tuple_with_a_list() -> Case:
    pair = collections.namedtuple("pair", "a b")
    values = pair([1.0], 2.0)
    return lambda x: x * values.a[0], put(values.a, 0)


@case
def a_users_mapping() -> Case:
    values = {"a": 1.0}

    class Mapping(collections.abc.Mapping[str, float]):
        def __getitem__(self, key: str) -> float:
            return values[key]

        def __len__(self) -> int:
            return len(values)

        def __iter__(self) -> Any:
            return iter(values)

    mapping = Mapping()
    return lambda x: x * mapping.get("a", 0.0), put(values, "a")


@case
def a_frozen_set_of_objects() -> Case:
    owner = Plain()
    owners = frozenset([owner])
    return lambda x: x * sum(each.value for each in owners), assign(owner, "value")


@case
def a_queue() -> Case:
    items: Any = queue.Queue()
    return lambda x: x * (1 + items.qsize()), lambda number: items.put(number)


@case
def a_text_stream() -> Case:
    stream = io.StringIO()
    return lambda x: x * (1 + len(stream.getvalue())), lambda number: stream.write("x") and None


@case
def a_config_parser() -> Case:
    parser = configparser.ConfigParser()
    parser.read_dict({"model": {"factor": "1"}})
    return (
        lambda x: x * parser.getfloat("model", "factor"),
        lambda number: parser.set("model", "factor", str(number)),
    )


@case
def a_template() -> Case:
    values, template = {"a": 1}, string.Template("$a")
    return lambda x: x * float(template.substitute(values)), put(values, "a")


@case
def an_event() -> Case:
    event = threading.Event()

    def change(number: int) -> None:
        event.set() if number % 2 else event.clear()

    return lambda x: x * 2 if event.is_set() else x, change


@case
def the_name_of_the_thread() -> Case:
    name = threading.current_thread().name

    def change(number: int) -> None:
        threading.current_thread().name = name + "x" * number if number < 4 else name

    return lambda x: x * (1 + threading.current_thread().name.count("x")), change


@case
def a_zipped_pair_of_lists() -> Case:
    values = [[1.0, 2.0], [3.0, 4.0]]
    return lambda x: x * list(zip(*values, strict=True))[1][0], put(values[0], 1)


@case
def the_folder_of_the_process() -> Case:
    original = os.getcwd()
    folders = [original, os.path.dirname(original) or original, original, original]
    return lambda x: x * len(os.getcwd()), lambda number: os.chdir(folders[(number - 1) % 4])


@case
def the_time() -> Case:
    times = [1.0]
    original = time.monotonic

    def change(number: int) -> None:
        times[0] = float(number)
        time.monotonic = (lambda: times[0]) if number < 4 else original

    def function(x: Any) -> Any:
        now = time.monotonic()
        return x * (now if now < 4 else 4.0)

    return function, change


@case
def a_loaded_module() -> Case:
    def change(number: int) -> None:
        sys.modules.pop("loaded_module", None)
        if number % 2:
            sys.modules["loaded_module"] = types.ModuleType("loaded_module")

    return lambda x: x * 2 if "loaded_module" in sys.modules else x, change


@case
def the_maximum_of_a_cache() -> Case:
    @functools.lru_cache
    def cached(value: int) -> int:
        return value

    return lambda x: x * (1 + cached.cache_info().currsize), lambda number: cached(number) and None


@case
def a_vectorized_function() -> Case:
    values = [1.0]
    vectorized = np.vectorize(lambda value: value * values[0], otypes=[float])
    return lambda x: x * float(vectorized(2.0)), put(values, 0)


@case
def a_polynomial() -> Case:
    polynomial = np.polynomial.Polynomial([1.0, 2.0])
    return lambda x: x * float(polynomial(1.0)), put(polynomial.coef, 0)


# -- arrays ----------------------------------------------------------------------------------------------------------


@case
def an_array_that_is_replaced() -> Case:
    owner = Plain()
    arrays = [np.ones(6), np.full(6, 2), np.full(1, 3.0), np.ones((6, 2))[:, 0] * 4]
    return lambda x: x * owner.value, lambda number: setattr(owner, "value", arrays[number - 1])


@case
def an_array_of_minpy_that_is_replaced() -> Case:
    owner = Plain()
    arrays = [mx.np.ones(6), mx.np.full(6, 2), mx.np.full(1, 3.0), mx.np.full((6,), 4.0)]
    return lambda x: x * owner.value, lambda number: setattr(owner, "value", arrays[number - 1])


@case
def an_array_whose_shape_is_set() -> Case:
    values = np.arange(1.0, 7.0)

    def change(number: int) -> None:
        values.shape = [(6,), (2, 3), (3, 2), (6, 1)][number - 1]

    return lambda x: x * values.shape[0] + values.ndim, change


@case
def an_array_whose_dtype_is_set() -> Case:
    values = np.ones(6)

    def change(number: int) -> None:
        values.dtype = [np.float64, np.int64, np.uint64, np.float64][number - 1]

    return lambda x: x * float(values.dtype.kind == "f") + len(values), change


@case
def an_array_that_is_resized() -> Case:
    values = np.ones(1)
    return lambda x: x * values.sum() + values.size, lambda number: values.resize(number, refcheck=False)


@case
def the_flags_of_an_array() -> Case:
    values = np.ones(1)
    return (
        lambda x: x * 2 if values.flags.writeable else x,
        lambda number: values.setflags(write=bool(number % 2)),
    )


@case
def the_strides_of_an_array() -> Case:
    owner = Plain()
    arrays = [np.ones((6, 6)), np.ones((6, 6)).T, np.ones((12, 6))[::2]]
    return (
        lambda x: x * owner.value.strides[0] + owner.value[0],
        lambda number: setattr(owner, "value", arrays[number % 3]),
    )


@case
def a_flat_iterator() -> Case:
    values = np.ones(3)
    flat = values.flat
    return lambda x: x * flat[1], put(values, 1)


@case
def an_array_of_texts() -> Case:
    values = np.array(["a", "bb"])
    return lambda x: x * len(values[0]), lambda number: operator.setitem(values, 0, "ab"[: number % 3])


@case
def an_array_as_an_index() -> Case:
    values = np.arange(6)
    return lambda x: x[values] * 2, lambda number: np.random.RandomState(number).shuffle(values)


@case
def an_array_that_says_how_often() -> Case:
    values = np.array([2])

    def function(x: Any) -> Any:
        for _ in range(int(values[0])):
            x = x * 1.5
        return x

    return function, put(values, 0)


@case
def an_array_by_a_property() -> Case:
    class Owner:
        hidden = np.ones(6)

        @property
        def value(self) -> Any:
            return self.hidden[::-1]

    owner = Owner()
    owner.hidden = np.arange(6.0)
    return lambda x: x * owner.value, lambda number: operator.setitem(owner.hidden, 2, float(number))


@case
def the_value_of_a_number_of_numpy() -> Case:
    values: list[Any] = [np.float64(1)]
    return lambda x: x * values[0], lambda number: operator.setitem(values, 0, np.float64(number))


@case
def an_array_of_numpy_of_a_users_class() -> Case:
    class Values(np.ndarray):
        factor = 1.0

    values = np.ones(1).view(Values)
    return lambda x: x * values.factor, assign(values, "factor")


# -- what minpy knows ------------------------------------------------------------------------------------------------


@case
def whether_it_trains() -> Case:
    def change(number: int) -> None:
        mx.autograd.set_training(number in (2, 3))

    return lambda x: x * 2 if mx.autograd.is_training() else x, change


@case
def the_state_of_minpys_generator() -> Case:
    return lambda x: x * float(mx.np.random.uniform(size=())), lambda number: mx.random.seed(number)


@case
def an_array_with_a_gradient() -> Case:
    values = mx.np.ones(1)

    def change(number: int) -> None:
        if number == 2:
            values.attach_grad()
        values[0] = number

    return lambda x: x * 2 if values.grad is not None else x * float(values[0]), change


@case
def an_error_state_of_numpy() -> Case:
    def change(number: int) -> None:
        np.seterr(divide=["warn", "ignore", "ignore", "warn"][number - 1])  # type: ignore[call-overload]

    return lambda x: x * len(np.geterr()["divide"]), change
