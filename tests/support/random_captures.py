"""Random programs for captures: a function as source text, calls of it, and changes of what it reaches in between.

A program is run in two identical namespaces, as written and captured, and after each call everything that can be
reached is compared. `python tests/support/random_captures.py --seconds 60` prints programs that differ.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2])]

import capture_ways
from capture_ways import Way

import minpy as mx

__all__ = ["FEATURES", "WAYS", "Program", "program_of", "scenario_of"]

Choice = TypeVar("Choice")
Pick = Callable[[Sequence[Any]], Any]

# What programs may do beyond reading what changes: see `_Grammar`.
FEATURES = ("reads", "types", "identity", "writes", "stores", "values", "names", "calls", "results")

SETUP = '''
class Config:
    """Settings, with values found in several ways."""

    rate = 0.5
    shared = [1.0, 0.5]

    def __init__(self):
        self.scale = 2.0
        self.sizes = [1.0, 2.0]
        self.named = {"a": 1.5}
        self.weight = np.linspace(0.5, 1.5, 6)
        self.hidden = 1.25

    @property
    def twice(self):
        return self.hidden * 2

    def apply(self, v):
        return v * self.scale + self.rate

    @staticmethod
    def double(v):
        return v * 2

    @classmethod
    def rated(cls, v):
        return v * cls.rate

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, key):
        return self.named[key]


class Derived(Config):
    rate = 0.75

    def apply(self, v):
        return super().apply(v) - self.hidden


class Slotted:
    __slots__ = ("level",)

    def __init__(self):
        self.level = 0.25


cfg, other, slotted = Derived(), Config(), Slotted()
SCALE, COUNT, FLAG, MODE, NOTHING = 1.5, 2, True, "a", None
ITEMS = [1.0, 2.0, 0.5]
PAIR = (0.5, [1.5])
TABLE = {"a": 1.0, "b": [2.0, 3.0]}
NESTED = {"p": {"q": [{"r": 1.25}]}}
KNOWN = {1, 2}
WEIGHT = np.linspace(-1.0, 1.0, 6)
BASE = np.arange(12.0) / 10
VIEW = BASE[3:9]
NUMBER = np.float64(0.5)
LOG, STATE, OBJECTS = [], {}, [cfg, other]


def helper(v, k=2.0, *, shift=0.0):
    return v * k + SCALE + shift


def spare(v, k=1.0, *, shift=0.0):
    return v - k


def make():
    level = 1.0

    def inner(v):
        return v * level

    def set_level(value):
        nonlocal level
        level = value

    return inner, set_level


inner, set_level = make()


def choose(kind):
    return {"a": 1.5, "bb": 2.5}.get(kind, 0.5)


def each(values):
    for value in values:
        yield value * 2


FUNCTIONS = [np.sin, helper]
'''
# What is compared after each call.
SEEN = """
    cfg other slotted_level SCALE COUNT FLAG MODE ITEMS PAIR TABLE NESTED WEIGHT BASE VIEW LOG STATE result x y
    class_numbers gradient
""".split()  # noqa: SIM905


class Program(NamedTuple):
    """A function, and what is done with it.

    Attributes
    ----------
    function : str
        The text of a function `f(x, y)`.
    steps : tuple of str
        Statements: changes of what the function can reach, and lines `call(x, y)`.
    """

    function: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([self.function, *self.steps])


_WORD = re.compile(r"[A-Za-z_]\w*")
# Through which other names something is read.
_READ_BY = {
    "hidden": "twice apply", "scale": "apply", "rate": "apply rated", "set_level": "inner", "BASE": "VIEW",
    "SCALE": "helper", "helper": "FUNCTIONS", "sizes": "len", "named": "cfg", "__class__": "apply twice rate cfg",
}  # fmt: skip


class _Grammar:
    """Draws texts: simple alternatives come first, so that failures shrink to those."""

    def __init__(self, pick: Pick, feature: str) -> None:
        self.pick, self.feature = pick, feature
        self.names = ["x", "y"]
        self.read: set[str] = set()

    def chance(self, one_in: int) -> bool:
        return self.pick([False] * (one_in - 1) + [True])

    # -- expressions -----------------------------------------------------------------------------------------------

    def scalar(self, depth: int = 1) -> str:
        simple = [
            "0.5", "2", "SCALE", "cfg.scale", "ITEMS[0]", "TABLE['a']", "COUNT", "cfg.rate", "cfg.twice", "PAIR[0]",
            "len(ITEMS)", "sum(ITEMS)", "max(ITEMS)", "TABLE['b'][1]", "NESTED['p']['q'][0]['r']", "other.scale",
            "cfg.sizes[-1]", "cfg.named['a']", "cfg['a']", "len(cfg)", "Config.rate", "Derived.shared[0]", "NUMBER",
            "slotted.level", "getattr(cfg, 'extra', 1.0)", "TABLE.get('c', 0.5)", "PAIR[1][0]", "OBJECTS[0].scale",
            "(2.0 if FLAG else 3.0)", "len(MODE)", "choose(MODE)", "float(WEIGHT[0])", "sum(each(ITEMS))",
            "len([item for item in ITEMS if item > 1])", "sum(value * 2 for value in cfg.sizes)", "len(KNOWN)",
            "(1.5 if NOTHING is None else 2.5)", "vars(cfg)['scale']", "sorted(ITEMS)[0]", "len(TABLE)",
            "(1.0 if 1 in KNOWN else 3.0)", "dict(TABLE, z=1.0)['a']", "[*ITEMS, 4.0][1]", "abs(SCALE)",
        ]  # fmt: skip
        if self.feature == "types":
            simple += [
                "len(str(SCALE))", "(2.0 if SCALE is True else 1.0)", "(1.0 if isinstance(SCALE, int) else 2.0)",
            ]  # fmt: skip
        if self.feature == "names":
            simple += [
                "len(repr(ITEMS))", "len(type(cfg).__name__)", "(1.0 if type(cfg) is Derived else 2.0)",
                "(1.0 if cfg is other else 2.0)", "len(vars(cfg))", "(1.0 if callable(NOTHING) else 2.0)",
                "(1.0 if ITEMS is cfg.sizes else 2.0)", "len(helper.__name__)", "getattr(helper, 'factor', 1.5)",
                "(1.0 if issubclass(type(cfg), Derived) else 2.0)", "helper.__defaults__[0]",
                "next(iter(TABLE.values()))", "len(globals())", "len(dir(slotted))", "globals()['SCALE']",
                "WEIGHT.strides[0] / 8", "len(WEIGHT.shape)", "(1.0 if WEIGHT.flags.writeable else 2.0)",
                "float(WEIGHT.dtype.itemsize)", "next(iter(KNOWN))",
            ]  # fmt: skip
        if self.feature == "values":
            simple += ["float(x[0])", "x.sum()", "(1.0 if y.max() > 1 else 2.0)", "x.max().item()", "int(y[1] * 4)"]
        if depth and self.chance(4):
            return f"({self.scalar(0)} {self.pick(['+', '*', '-'])} {self.scalar(0)})"
        return self.pick(simple)

    def array(self, depth: int = 2) -> str:
        if depth == 0:
            return self.pick([*self.names, "WEIGHT", "cfg.weight", "VIEW"])
        inside = self.array(depth - 1)
        kind = self.pick(range(14))
        if kind <= 2:
            return f"({inside} {self.pick('*+-')} {self.scalar()})"
        if kind == 3:
            return f"({inside} {self.pick('*+-')} {self.array(depth - 1)})"
        if kind == 4:
            return f"np.{self.pick(['tanh', 'sin', 'abs', 'negative', 'arctan', 'square'])}({inside})"
        if kind == 5:
            number = self.scalar()
            return f"helper({inside}{self.pick(['', f', {number}', f', shift={number}'])})"
        if kind == 6:
            return f"{self.pick(['cfg.apply', 'inner', 'cfg.double', 'OBJECTS[0].apply'])}({inside})"
        if kind == 7:
            return f"np.where({inside} > {self.scalar()}, {self.array(depth - 1)}, {inside})"
        if kind == 8:
            return f"(lambda t, k={self.scalar()}: t * k + SCALE)({inside})"
        if kind == 9:
            return self.pick([f"{inside}[::-1]", f"{inside}.reshape(2, 3).T.reshape(6)", f"np.cumsum({inside})"])
        if kind == 10:
            return f"np.{self.pick(['maximum', 'minimum'])}({inside}, {self.pick([self.scalar(), self.array(0)])})"
        if kind == 11:
            return f"({inside} + {self.pick(['np.sum', 'np.mean', 'np.max'])}({self.array(depth - 1)}))"
        if kind == 12:
            return f"np.concatenate([{inside}[:3], {self.array(depth - 1)}[3:]])"
        return self.pick(
            [f"FUNCTIONS[0]({inside})", f"Config.rated({inside})", f"np.clip({inside}, -{self.scalar()}, 2.0)"]
        )

    def condition(self) -> str:
        conditions = [
            "FLAG", "MODE == 'a'", f"{self.scalar()} > 1", "'c' in TABLE", "hasattr(cfg, 'extra')", "not ITEMS",
            "NOTHING is None", "COUNT == 2 and FLAG", "isinstance(cfg, Derived)", "len(ITEMS) > 3", "2.0 in ITEMS",
        ]  # fmt: skip
        if self.feature == "identity":
            conditions += ["x is y", "x is WEIGHT", "y is cfg.weight", "any(x is one for one in STATE.values())"]
        if self.feature == "values":
            conditions += ["x.sum() > 3", "np.any(y > 1)", "(x == y).all()"]
        return self.pick(conditions)

    # -- statements ------------------------------------------------------------------------------------------------

    def new(self) -> str:
        self.names.append(f"v{len(self.names)}")
        return self.names[-1]

    def statement(self, depth: int = 1) -> list[str]:
        kinds = ["assign", "assign", "assign"]
        if depth:
            kinds += ["if", "for", "comprehend", "try"]
        kinds += {"writes": ["write"] * 4, "stores": ["store"] * 3, "identity": ["write", "remember"]}.get(
            self.feature, []
        )
        if self.feature == "calls":
            kinds += ["define", "object"]
        return getattr(self, "_" + self.pick(kinds))(depth)

    def _assign(self, depth: int) -> list[str]:
        value = self.array()
        return [f"{self.new()} = {value}"]

    def _block(self, depth: int) -> list[str]:
        known = list(self.names)
        lines = self.statement(depth - 1)
        result = f"{self.pick(self.names)}"
        self.names = known
        return [f"    {line}" for line in [*lines, f"r = {result} * 1.0"]]

    def _if(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *self._block(depth), "else:", *self._block(depth)]
        return [*lines, f"{self.new()} = r"]

    def _for(self, depth: int) -> list[str]:
        begin = self.array()
        over, use = self.pick(
            [
                ("for item in ITEMS:", "item"),
                ("for key, value in TABLE.items():", "len(key)"),
                ("for number in range(COUNT):", "(number + 1)"),
                ("for number, item in enumerate(cfg.sizes):", "(number + item)"),
                ("for first, second in zip(ITEMS, cfg.sizes):", "(first + second)"),
                ("for owner in OBJECTS:", "owner.scale"),
                ("for item in each(ITEMS[:2]):", "item"),
            ]
        )
        name = self.new()
        return [f"{name} = {begin}", over, f"    {name} = np.tanh({name} * {use}) + {self.scalar()}"]

    def _comprehend(self, depth: int) -> list[str]:
        parts = self.pick(["ITEMS", "cfg.sizes", "TABLE['b']", "range(COUNT)", "sorted(ITEMS)"])
        value = self.array(1)
        return [f"{self.new()} = sum([{value} * item for item in {parts}], 0.0 * x)"]

    def _try(self, depth: int) -> list[str]:
        value, name = self.array(1), self.new()
        read = self.pick(["TABLE['c']", "cfg.extra", "ITEMS[3]", "1.0 / (COUNT - 2)", "slotted.level"])
        error = "(KeyError, AttributeError, IndexError, ZeroDivisionError)"
        return ["try:", f"    {name} = {value} * {read}", f"except {error}:", f"    {name} = {value} + 1"]

    def _define(self, depth: int) -> list[str]:
        value, name = self.array(1), self.new()
        inner = f"in_{name}"
        return [
            f"def {inner}(t, factor={self.scalar()}):",
            f"    return t * factor + {self.pick([value, self.scalar()])}",
            f"{name} = {inner}({self.array(1)})",
        ]

    def _object(self, depth: int) -> list[str]:
        name = self.new()
        made = self.pick(["Config()", "Derived()"])
        return [
            f"made_{name} = {made}",
            f"made_{name}.scale = {self.scalar()}",
            f"{name} = made_{name}.apply({self.array(1)})",
        ]

    def _write(self, depth: int) -> list[str]:
        if self.chance(2):
            target, lines = self.pick(["x", "y", "x[1:5]", "y[::2]"]), []
            if self.feature == "identity" and self.chance(3):
                target = self.pick(["WEIGHT", "VIEW", "cfg.weight"])
        else:
            value = self.array(1)
            target = self.new()
            lines = [f"{target} = {value} * 1.0"]
        view = self.pick(["", "[1:4]", "[::2]", "[::-1]", ".reshape(2, 3)", ".reshape(2, 3)[:, 1:]", "[...]"])
        number = self.scalar()
        name = f"w{len(lines)}{len(self.names)}"
        if view or self.chance(2):
            lines += [f"{name} = {target}{view}"]
            target = name
        lines += self.pick(
            [
                [f"{target} += {number}"],
                [f"{target} *= {number}"],
                [f"{target}[...] = {number}"],
                [f"{target}[0] = {number}"],
                [f"{target}[1:] = {target}[:-1] * {number}"],
                [f"np.add({target}, {number}, out={target})"],
                [f"{target} -= np.mean({self.array(0)})"],
            ]
        )
        return lines

    def _store(self, depth: int) -> list[str]:
        value = self.array(1)
        return [
            self.pick(
                [
                    f"STATE['last'] = {value}",
                    f"LOG.append({value})",
                    f"cfg.last = np.sum({value})",
                    "cfg.calls = getattr(cfg, 'calls', 0) + 1",
                    f"STATE.setdefault('first', {value})",
                    f"TABLE['c'] = {self.scalar()}",
                    "ITEMS.append(1.0)",
                    "ITEMS.reverse()",
                    f"NESTED['p']['q'][0]['r'] = {self.scalar()}",
                    f"set_level({self.scalar()})",
                    f"Config.rate = {self.scalar()}",
                    f"helper.factor = {self.scalar()}",
                    f"LOG.append(lambda: {value})",
                    f"STATE['nested'] = {{'a': [{value}, {self.scalar()}]}}",
                    "KNOWN.add(len(KNOWN))",
                    "del LOG[:-1]",
                ]
            )
        ]

    def _remember(self, depth: int) -> list[str]:
        return [self.pick(["STATE['seen'] = x", "STATE['seen'] = y"])] if self.chance(3) else self._assign(depth)

    def function(self) -> str:
        text = self._function()
        self.read = set(_WORD.findall(text)) - {"cfg", "x", "y", "np"}
        return text

    def _function(self) -> str:
        lines = []
        for _ in range(self.pick([1, 2, 3, 4])):
            lines += self.statement()
        values = [self.array() for _ in range(2)]
        name = self.pick(self.names[::-1])
        if self.feature != "results":  # results are no arguments, and depend on one
            name, *values = (f"({value} + 0 * np.sum(x))" for value in (name, *values))
        results = [
            name, values[0], f"({values[0]}, np.sum({name}))", f"{{'a': {values[0]}, 'b': [{name}, {self.scalar()}]}}",
            f"np.sum({values[0]})", f"{name}[1:4] * 2", f"{name}.reshape(2, 3)", f"({values[0]}, {values[1]})",
        ]  # fmt: skip
        if self.feature == "results":
            results += ["x", "(x, y)", f"({name}, {name})", "x[1:]", f"[{values[0]}, y]"]
        lines += [f"return {self.pick(results)}"]
        return "\n".join(["def f(x, y):", *(f"    {line}" for line in lines)])

    # -- what happens between calls ----------------------------------------------------------------------------------

    def change(self) -> str:
        number = self.pick(["0.25", "1.75", "3.0", "-0.5"])
        changes = [
            f"SCALE = {number}", f"cfg.scale = {number}", f"ITEMS[0] = {number}", f"ITEMS.append({number})",
            f"TABLE['a'] = {number}", f"TABLE['c'] = {number}", "TABLE.pop('c', None)", f"TABLE['b'][1] = {number}",
            "COUNT = COUNT % 3 + 1", "FLAG = not FLAG", "MODE = 'bb' if MODE == 'a' else 'a'",
            f"Config.rate = {number}", f"Derived.rate = {number}", f"cfg.hidden = {number}", f"cfg.extra = {number}",
            f"PAIR[1][0] = {number}", "vars(cfg).pop('extra', None)", f"NESTED['p']['q'][0]['r'] = {number}",
            "ITEMS.reverse()", f"WEIGHT[2] = {number}", "WEIGHT *= 1.5", f"WEIGHT = np.full(6, {number})",
            f"cfg.weight[1:3] = {number}", f"cfg.weight = np.full(6, {number})", f"VIEW[2] = {number}",
            f"BASE[5] = {number}", "del ITEMS[1:-1]", f"slotted.level = {number}", f"cfg.sizes.append({number})",
            f"cfg.named['a'] = {number}", "KNOWN ^= {1, 5}", f"helper.__defaults__ = ({number},)",
            f"set_level({number})", f"other.scale = {number}", "NOTHING = 1", "NOTHING = None",
            f"NUMBER = np.float64({number})", "helper, spare = spare, helper", f"PAIR = ({number}, [1.0])",
            f"Config.shared[0] = {number}", f"helper.__kwdefaults__ = {{'shift': {number}}}",
            "cfg, other = other, cfg", f"OBJECTS[0].scale = {number}", "OBJECTS.reverse()",
            f"Derived.shared = [{number}]", "ITEMS = list(ITEMS)", f"vars(cfg)['scale'] = {number}",
            "Config.apply = lambda self, v: v + self.scale", f"cfg.apply = lambda v: v * {number}",
            "vars(cfg).pop('apply', None)", "FUNCTIONS.reverse()", "Config.double = staticmethod(lambda v: v * 3)",
            f"choose = lambda kind: {number}", "Config.twice = property(lambda self: self.hidden * 3)",
            "inner, set_level = make()", "cfg = Derived()", "Config.__len__ = lambda self: 5",
            "each = lambda values: [value * 3 for value in values]",
            "Derived.rated = classmethod(lambda cls, v: v - cls.rate)",
            f"NESTED['p'] = {{'q': [{{'r': {number}}}]}}",
        ]  # fmt: skip
        if self.feature == "types":
            changes += [
                "SCALE = 1", "SCALE = True", "SCALE = 1.0", "SCALE = np.float32(1)", "SCALE = np.float64(1)",
                "cfg.scale = 2", "cfg.scale = np.float32(2)", "ITEMS = tuple(ITEMS)", "COUNT = np.int64(2)",
                "WEIGHT = WEIGHT.astype(np.float32)", "ITEMS[0] = 1", "NUMBER = 0.5", "TABLE['a'] = True",
                "WEIGHT = WEIGHT[::-1]", "WEIGHT = np.arange(6)", "cfg.weight = cfg.weight.astype('f4')",
                "WEIGHT = np.asfortranarray(WEIGHT.reshape(2, 3)).reshape(6)", "WEIGHT = np.float64(2)",
            ]  # fmt: skip
        if self.feature == "names":
            changes += [
                "len = lambda values: 4", "globals().pop('len', None)", "sum = max", "globals().pop('sum', None)",
                "cfg.__class__ = Config", "cfg.__class__ = Derived", "Derived.__bases__ = (Config,)",
                "helper.__code__ = spare.__code__", "helper.factor = 2.5", "ITEMS = cfg.sizes",
                "ITEMS = cfg.sizes = [0.5, 2.0]", "appeared = 1.0", "cfg.__dict__ = dict(vars(cfg), scale=3.0)",
                "TABLE['a'] = TABLE.pop('a')", "TABLE = dict(reversed(TABLE.items()))", "helper.__name__ = 'h'",
                "WEIGHT.flags.writeable = not WEIGHT.flags.writeable", "Config.__getitem__ = lambda self, key: 7.0",
                "WEIGHT = np.repeat(WEIGHT, 2)[::2]", "KNOWN = {8, 1, 0}", "KNOWN = {0, 8, 1}",
                "Config.__getattr__ = lambda self, name: 5.0", "float = lambda value: 2.0",
                "globals().pop('float', None)", "import types; np = types.SimpleNamespace(**vars(np))",
            ]  # fmt: skip
        if self.feature == "identity":
            changes += [
                "cfg.weight = WEIGHT", "WEIGHT = VIEW", "WEIGHT = cfg.weight[::-1]", "STATE['a'] = x", "WEIGHT = x",
                "cfg.weight = y", "VIEW = BASE[:6]", "VIEW = BASE[6:]", "VIEW = WEIGHT",
            ]  # fmt: skip
        if self.feature == "stores":
            changes += ["LOG.clear()", "STATE.clear()", "STATE['last'] = 1.0", "cfg.calls = 5"]
        return self.pick([change for change in changes if self.concerns(change)] or changes)

    def concerns(self, change: str) -> bool:
        """Tell whether a change may be of something that the function reads."""
        words = {word for name in _WORD.findall(change) for word in (name, *_READ_BY.get(name, "").split())}
        return bool(words & self.read)

    def call(self) -> str:
        if self.feature == "identity":
            return "call({}, {})".format(
                *self.pick(
                    [
                        ("array()", "array()"), ("x", "x"), ("array()", "x"), ("WEIGHT", "array()"), ("x", "y"),
                        ("array()", "cfg.weight"), ("x", "x[::-1]"), ("x", "x[:]"), ("VIEW", "BASE[:6]"),
                        ("BASE[:6]", "BASE[2:8]"), ("BASE[2:8]", "BASE[:6]"), ("y", "x"), ("VIEW", "VIEW"),
                        ("BASE[::2]", "BASE[1::2]"), ("BASE[:6]", "BASE[6:]"),
                    ]
                )
            )  # fmt: skip
        if self.feature == "types":
            kinds = ["array()", "array('f4')", "array('i4')", "array('f2')", "array()[::-1]", "array('c16')"]
            return f"call({self.pick(kinds)}, {self.pick(kinds)})"
        return self.pick(["call(array(), array())"] * 3 + ["call(x, y)"])

    def steps(self) -> list[str]:
        steps = [self.call()] * self.pick([1, 3, 4])
        for _ in range(self.pick([1, 2, 3, 4])):
            steps += [self.change() for _ in range(self.pick([1, 2]))]
            steps += [self.call() for _ in range(self.pick([1, 2, 4]))]
        return steps


def program_of(pick: Pick, feature: str) -> Program:
    """Draw a program.

    Parameters
    ----------
    pick : callable
        Returns one of a sequence.
    feature : str
        One of `FEATURES`: what the program does beyond reading what changes.
    """
    grammar = _Grammar(pick, feature)
    return Program(grammar.function(), tuple(grammar.steps()))


# -- running -----------------------------------------------------------------------------------------------------------


def _recorded(function: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        x.attach_grad()
        with mx.autograd.record():
            result = function(x, y)
            total = sum(leaf.sum() for leaf in _arrays(result) if isinstance(leaf, mx.np.ndarray)) + 0 * x.sum()
        total.backward()
        names["gradient"] = x.grad
        return result

    return call


def _differentiated(function: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
    def total(x: Any, y: Any) -> Any:
        return sum(np.sum(leaf) for leaf in _arrays(function(x, y)))

    derivative = mx.value_and_grad(total, (0, 1))

    def call(x: Any, y: Any) -> Any:
        result, names["gradient"] = derivative(x, y)
        return result

    return call


def _arrays(result: Any) -> list[Any]:
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in _arrays(part)]
    return [result] if hasattr(result, "shape") else []


def _called(function: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
    return function


# By name: the way of `capture_ways`, and how the function that it wraps is called.
WAYS = {
    "compiled": ("compiled", _called),
    "hybridized": ("hybridized", _called),
    "alone": ("alone", _called),
    "recorded": ("compiled_arrays", _recorded),
    "hybridized_recorded": ("hybridized", _recorded),
    "differentiated": ("compiled", _differentiated),
}


def scenario_of(program: Program, how: Callable[..., Any] = _called) -> Callable[[Way], Iterator[Any]]:
    """Return a scenario that runs a program: see `capture_ways`."""

    def scenario(way: Way) -> Iterator[Any]:
        names: dict[str, Any] = {"np": np, "__name__": "program_of_a_user", "gradient": None}
        count = [0]

        def array(dtype: str = "f8") -> Any:
            count[0] += 1
            values = np.linspace(0.1, 1.2, 6) * (1 if count[0] % 3 else -1) + 0.1 * count[0]
            return way.array((values * 4 if dtype == "i4" else values).astype(dtype), np.dtype(dtype))

        def call(x: Any, y: Any) -> None:
            names.update(x=x, y=y)
            names["result"] = capture_ways.outcome(names["call_f"], x, y)

        exec(compile(SETUP + "\n" + program.function, "<program of a user>", "exec"), names)
        names.update(array=array, call=call, x=array(), y=array(), result=None)
        names["call_f"] = how(way(names["f"]), names)
        for step in program.steps:
            with contextlib.suppress(*() if step.startswith("call(") else (Exception,)):
                exec(step, names)
            if step.startswith("call("):
                names["slotted_level"] = names["slotted"].level
                names["class_numbers"] = [
                    value
                    for cls in ("Config", "Derived")
                    for value in vars(names[cls]).values()
                    if type(value) is float
                ]
                yield {name: names[name] for name in SEEN}

    return scenario


def difference(program: Program, way: str) -> str | None:
    """Return how a program differs from the function as written, captured in one of `WAYS`; None if it does not."""
    name, how = WAYS[way]
    try:
        capture_ways.require_as_written(scenario_of(program, how), name)
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return None


def smaller(program: Program, way: str) -> Program:
    """Leave out of a program that differs what it does not need for that."""
    lines, steps, kind = program.function.split("\n"), list(program.steps), _kind(difference(program, way))

    def differs(lines: list[str], steps: list[str]) -> bool:
        try:
            compile("\n".join(lines), "f", "exec")
        except SyntaxError:
            return False
        return _kind(difference(Program("\n".join(lines), tuple(steps)), way)) == kind

    def without(kept: list[str], differs: Callable[[list[str]], bool], first: int) -> list[str]:  # all but the ends
        number = len(kept) - 1 - bool(first)
        while number >= first:
            tried = kept[:number] + kept[number + 1 :]
            if differs(tried):
                kept = tried
            number -= 1
        return kept

    for _ in range(2):
        steps = without(steps, lambda tried: differs(lines, tried), 0)
        lines = without(lines, lambda tried: differs(tried, steps), 1)
        for number, line in enumerate(lines):  # expressions by their parts
            for part in _parts(line):
                tried = [*lines[:number], part, *lines[number + 1 :]]
                if len(part) < len(lines[number]) and differs(tried, steps):
                    lines = tried
    return Program("\n".join(lines), tuple(steps))


def _kind(message: str | None) -> tuple[str, ...] | None:
    """Return what stays the same of the text of a difference where a program becomes smaller."""
    if message is None:
        return None
    return tuple(re.sub(r"step \d+|[-+]?\d[\d.e+-]*|proxy of \w+", "", message).split()[:5])


def _parts(line: str) -> list[str]:
    """Return a statement with a part of its expression instead of all of it, small ones first."""
    head, sign, value = line.partition("return ") if "return " in line else line.partition(" = ")
    try:
        tree = ast.parse(value.strip(), mode="eval")
    except SyntaxError:
        return []
    parts = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr) and sign]
    return [f"{head}{sign}{part}" for part in sorted(parts, key=len)]


def main() -> int:
    """Run random programs for some time, and print those that differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--features", nargs="*", default=list(FEATURES), choices=FEATURES)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    end, seed, failures = time.monotonic() + arguments.seconds, arguments.seed, 0
    while time.monotonic() < end:
        generator = random.Random(seed)
        way, feature = generator.choice(arguments.ways), generator.choice(arguments.features)
        program = program_of(generator.choice, feature)
        message = difference(program, way)
        if message is not None:
            failures += 1
            program = smaller(program, way)
            print(f"---- seed {seed}, {way}, {feature}: {difference(program, way)}\n{program}\n", flush=True)
        seed += 1
    print(f"{seed - arguments.seed} programs, {failures} of them unlike the function as written")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
