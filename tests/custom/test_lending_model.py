"""Random operators that keep, alias and change what they are shown, beside a model in which every array is a copy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from borrowing_operators import lent

import minpy as mx
from minpy import autograd, nd
from minpy.custom import method_captures
from minpy.custom import prop_operator as custom_operator
from minpy.custom.registry import PROPS


@pytest.fixture(autouse=True)
def small_arrays_are_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_operator, "LENT_SIZE", 0)


HEAD = """
import functools
import threading

import numpy as np

from minpy import nd
from minpy.operator import CustomOp

KEPT = []
TABLE = {"kept": None}
SCALE = 2.0
KEEP = KEPT.append


def helper(v):
    return v * 2


def impure_helper(v):
    KEPT.append(v)
    return v


def changing_helper(v):
    v += 1
    return v


def with_default(v, kept=KEPT):
    kept.append(v)
    return v


class Keeper:
    def __init__(self):
        self.kept = []

    def keep(self, v):
        self.kept.append(v)
        KEPT.append(v)
        return v


KEEPER = Keeper()


class KeepingFloat(float):
    __array_ufunc__ = None

    def __rmul__(self, v):
        KEPT.append(v)
        return v


def closed(kept):
    def inner(v):
        kept.append(v)
        return v

    return inner


CLOSED = closed(KEPT)
"""

# What is done with arrays `a` of NumPy and NDArrays `z` (any of some), an input `s` and an output `t`.
PURE = """
a = s.asnumpy()
a = z.asnumpy()
a = a * 2
a = a + a
a = np.exp(a * 0.1)
a = a[::-1]
a = a[:]
a = a.reshape(3)
a = a.reshape((3, 1))[:, 0]
a = np.where(a > 0, a, a)
a = np.asarray(a)
a = np.ascontiguousarray(a)
a = np.array(a)
a = a.T
a = a.view()
a = a.ravel()
a = a.astype("float32", copy=False)
a = np.maximum(a, a)
a = np.squeeze(a)
a = np.zeros(t.shape, "float32") + a
a = a * SCALE
a = a * self.scale
a = a * self.factor
a = helper(a)
a = self.twice(a)
a = (lambda v: v * 2)(a)
a = [a, a][0]
a = sum([a, a])
a = a - a.max()
a = a / np.sum(np.abs(a) + 1)
z = nd.array(a)
z = nd.array(z)
z = s * 2
z = z + z
z = z[:]
z = z.reshape((3,))
z = nd.exp(z * 0.1)
z = z.copy()
z = z.astype("float32", copy=False)
z = nd.array(a * 2)
z = s
self.assign(t, req[0], a)
self.assign(t, req[0], z)
self.assign(t, "add", a)
self.assign(t, "add", z)
self.assign(t, "null", z)
self.assign(t, req[0], s)
self.assign(t, req[0], nd.array(a))
t[:] = a
t[:] = z
if a.shape[0] == 3: a = a * 2
if is_train: a = a + 1
for i in range(2): a = a + i
for v in in_data: a = a + v.asnumpy()
"""
CHANGING = """
a += 1
a[0] = 5
a[1:] *= 2
a[a > 0] = 1
np.add(a, a, out=a)
np.exp(a * 0.1, a)
np.add.at(a, 0, 1)
np.copyto(a, 4)
np.put(a, 0, 3)
a.sort()
a.fill(1)
a.put(0, 2)
a.itemset(0, 1)
a.shape = (3, 1); a = a[:, 0]
b = a[1:]; b += 1
b = a.reshape(3); b[0] = 4
b = a.view(); b.fill(2)
memoryview(a)[0] = 6
a.__iadd__(1)
a = changing_helper(a)
z[:] = 5
z += 1
z[0] = 3
b = z[1:]; b[:] = 4
b = z.asnumpy(); b += 1
t += 1
t[:] = t * 2
t[0] = 9
a = t.asnumpy()
z = t * 2
z = t
s[:] = 0
a = KEPT[-1] * 1
KEPT[-1][:] = 7
TABLE["kept"][:] = 8
self.kept[:] = 9
KEPT[0] += 1
"""
# Two names for one array, and one of them is changed.
ALIASING = """
b = a * 2; y = nd.array(b); b += 1; self.assign(t, req[0], y)
b = a * 2; y = nd.array(b); y += 1; self.assign(t, req[0], b)
b = a * 2; y = nd.array(b[1:]); b += 1; a = b * 1
y = z * 2; b = y.asnumpy(); b += 1; self.assign(t, req[0], y)
y = z * 2; b = y.asnumpy(); y += 1; self.assign(t, req[0], b)
y = z * 2; self.assign(t, req[0], y); y += 1
y = z * 2; self.assign(t, req[0], y); y[:] = 3
y = z * 2; b = y[1:]; self.assign(t, req[0], y); b[:] = 3
b = a * 2; self.assign(t, req[0], nd.array(b)); b += 1
y = nd.array(a * 2); self.assign(t, req[0], y); t[:] = a; self.assign(t, "add", y)
y = nd.array(a * 2); self.assign(t, req[0], y); t += 1; z = y * 1
self.assign(t, req[0], nd.array(a * 2)); b = t.asnumpy(); self.assign(t, req[0], nd.array(b * 5)); a = b * 2
self.assign(t, req[0], nd.array(a * 2)); y = t * 1; self.assign(t, "add", y)
"""
KEEPING = """
KEPT.append(a)
KEPT.append(z)
KEPT.append(t)
KEPT.append(nd.array(a))
KEPT.append(a[1:])
KEPT.extend([a, z])
KEPT.insert(0, a)
KEPT[:] = [a]
KEPT += [a]
KEEP(a)
list.append(KEPT, a)
l = list; l.append(KEPT, a)
TABLE["kept"] = a
TABLE.update(kept=z)
self.kept = a
self.kept = z
setattr(self, "kept", a)
vars(self)["kept"] = a
self.__dict__["kept"] = z
self.list.append(a)
object.__setattr__(self, "kept", a)
global GLOBAL; GLOBAL = a; KEPT.append(GLOBAL)
exec("KEPT.append(v)", globals(), {"v": a})
globals()["KEPT"].append(a)
a = impure_helper(a)
a = with_default(a)
a = KEEPER.keep(a)
a = CLOSED(a)
a = a * EVIL
a = self.keep(a)
thread = threading.Thread(target=KEPT.append, args=(a,)); thread.start(); thread.join()
thread = threading.Thread(target=lambda: a.__imul__(2)); thread.start(); thread.join()
sorted([a], key=KEPT.append)
list(map(KEPT.append, [a]))
max([1, 2], key=lambda i: KEPT.append(a) or i)
[KEPT.append(v) for v in [a]]
functools.reduce(lambda k, v: k.append(v) or k, [a], KEPT)
in_data.append(a); KEPT.append(in_data)
req.append(a)
aux.append(a)
KEPT.append(lambda: a)
class K: v = a; KEPT.append(v)
try: KEPT.append(a) | finally: a = a * 2
with np.errstate(all="ignore"): KEPT.append(a)
import collections; KEPT.append(collections.deque([a])[0])
if KEPT: KEPT.append(a)
KEPT.append(np.ravel(a))
KEPT.append(np.asarray(z.asnumpy()))
"""
ENDS = """
self.assign(t, req[0], a)
self.assign(t, req[0], z)
self.assign(t, req[0], nd.array(a))
z = nd.array(a); self.assign(t, req[0], z); self.assign(t, "add", z)
self.assign(t, req[0], nd.array(a)); a = a * 0
t[:] = z
"""
PARAMETERS = {
    "forward": "is_train, req, in_data, out_data, aux",
    "backward": "req, out_grad, in_data, out_data, in_grad, aux",
}
# What happens to the program's state between two calls.
EVENTS = """
SCALE = 3.0
SCALE = EVIL
SCALE = 2.0
helper = impure_helper
helper = changing_helper
helper = lambda v: v * 3
OP.scale = 4.0
OP.scale = EVIL
Op.factor = 5.0
Op.factor = property(lambda self: KEPT.append(1) or 2.0)
Op.twice = lambda self, v: KEPT.append(v) or v
OP.twice = KEEPER.keep
Op.assign = lambda self, d, r, v: (KEPT.append(v), CustomOp.assign(self, d, r, v))[1]
OP.assign = lambda d, r, v: (KEPT.append(v), CustomOp.assign(OP, d, r, v))[1]
Op.forward.__code__ = Other.forward.__code__
Op.backward = Other.backward
helper.__code__ = changing_helper.__code__
helper.__defaults__ = (1,)
OP.__class__ = Other
np_before = np.exp; np = type("np", (), {name: staticmethod(getattr(np, name)) for name in dir(np) if name[0] != "_"})
nd = type("nd", (), {"array": staticmethod(lambda v: KEPT.append(v) or np.array(v)), "exp": staticmethod(nd.exp)})
abs = impure_helper
sum = lambda vs: impure_helper(vs[0])
""".strip().split("\n")


def _lines(chance: random.Random, method: str, impurity: str) -> list[str]:
    """Return the lines of a method that is mostly pure."""
    sources = ["in_data[0]"] if method == "forward" else ["out_grad[0]", "in_data[0]", "out_data[0]"]
    target = "out_data[0]" if method == "forward" else "in_grad[0]"
    lines = [f"    def {method}(self, {PARAMETERS[method]}):", f"        s, t = {chance.choice(sources)}, {target}"]
    if method == "backward":
        lines.append("        is_train = True")
    lines.append("        a0 = a1 = s.asnumpy(); z0 = z1 = nd.array(a0 * 1)")
    statements = chance.choices(PURE.strip().split("\n"), k=chance.randint(1, 6))
    if impurity:
        impure = chance.choices(impurity.strip().split("\n"), k=chance.choice([1, 1, 2]))
        for statement in impure:
            statements.insert(chance.randint(0, len(statements)), statement)
    if not any("self.assign(t, req[0]" in statement for statement in statements) or chance.random() < 0.5:
        statements.append(chance.choice(ENDS.strip().split("\n")))
    if impurity and chance.random() < 0.3:  # after the output is there
        statements.append(chance.choice(impurity.strip().split("\n")))
    for statement in statements:
        words = [f"{word}{chance.randrange(2)}" if word in ("a", "z") else word for word in _words(statement)]
        text = "".join(words)
        parts = text.split(" | ") if text.startswith(("class ", "try")) else text.split("; ")
        lines += [f"        {part}" for part in parts]
    lines[1:] = sorted(lines[1:], key=lambda line: not line.strip().startswith("global"))
    return lines


def _words(text: str) -> list[str]:
    """Cut a line into names and what is between them."""
    words = [""]
    for before, letter in zip(" " + text, text, strict=False):
        if (letter.isalnum() or letter == "_") != (before.isalnum() or before == "_"):
            words.append("")
        words[-1] += letter
    return words


def _class(chance: random.Random, name: str) -> str:
    lines = [f"class {name}(CustomOp):", "    factor = 3.0", "    def __init__(self):"]
    lines += ["        self.scale = 2.0", "        self.list = []", "        self.kept = np.ones(3, 'float32')"]
    lines += ["    def twice(self, v):", "        return v * 2", "    def keep(self, v):"]
    lines += ["        self.kept = v", "        KEPT.append(v)", "        return v"]
    for method in PARAMETERS:
        lines += _lines(
            chance,
            method,
            chance.choice(["", ALIASING, ALIASING, CHANGING, KEEPING, ALIASING + CHANGING.strip() + KEEPING]),
        )
    return "\n".join(lines)


def program(chance: random.Random) -> str:
    """Return the source of two operators, `Op` and `Other`."""
    return "\n\n".join([HEAD, "EVIL = KeepingFloat(2)", _class(chance, "Op"), _class(chance, "Other"), "OP = Op()"])


def _values(kept: list[Any]) -> list[Any]:
    return [np.array(value.asnumpy() if isinstance(value, nd.NDArray) else value) for value in _arrays(kept)]


def _arrays(values: Any) -> list[Any]:
    found = []
    for value in values:
        if isinstance(value, (nd.NDArray, np.ndarray)):
            found.append(value)
        elif isinstance(value, list) and value is not values:
            found += [part for part in value if isinstance(part, np.ndarray)]
    return found


def _state(scope: dict[str, Any]) -> list[Any]:
    """Return the values of all arrays that a program has kept."""
    op = scope["OP"]
    return _values([*scope["KEPT"], scope["TABLE"]["kept"], getattr(op, "kept", None), *op.list, *scope["KEEPER"].kept])


def _read_only(value: np.ndarray) -> Any:
    array = nd.array(value)
    array._data.setflags(write=False)
    return array


class Model:
    """Calls methods with arrays that are nobody else's, and returns copies of what they have written."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.op = scope["OP"]
        self.arrays: list[Any] = []

    def _release(self) -> None:
        for array in self.arrays:
            array._data.setflags(write=True)
        self.arrays.clear()

    def call(self, x: np.ndarray, head: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out, grad = nd.zeros(x.shape), nd.zeros(x.shape)
        self.arrays += [_read_only(x)]
        try:
            self.op.forward(is_train=True, req=["write"], in_data=self.arrays[:1], out_data=[out], aux=[])
            result = out.asnumpy()
            self._release()
            self.arrays += [_read_only(x), _read_only(result)]
            self.op.backward(
                req=["write"],
                out_grad=[nd.array(head)],
                in_data=self.arrays[:1],
                out_data=self.arrays[1:],
                in_grad=[grad],
                aux=[],
            )
            return result, grad.asnumpy()
        finally:
            self._release()


class Lent:
    """Calls the same through `nd.Custom`; arguments and results are changed afterwards, which nobody may notice."""

    def __init__(self, scope: dict[str, Any]) -> None:
        prop = type("ModelProp", (mx.operator.CustomOpProp,), {"create_operator": lambda self, *_: scope["OP"]})
        PROPS["lending_model"] = prop

    def call(self, x: np.ndarray, head: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        array, top = nd.array(x), nd.array(head)
        array.attach_grad()
        try:
            with autograd.record():
                y = nd.Custom(array, op_type="lending_model")
            y.backward(top)
            assert array.asnumpy().tolist() == x.tolist()
            result, grad = y.asnumpy(), array.grad.asnumpy()
        finally:
            array[:] = -1
            top[:] = -2
        y[:] = -3
        array.grad[:] = -4
        return result, grad


def run(caller: Any, source: str, seed: int) -> list[Any]:
    """Return all that calls of a program return and keep, and what fails."""
    chance = random.Random(seed)
    scope: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, "<program>", "exec"), scope)
    scope["KEPT"].append(np.ones(3, "float32"))
    scope["TABLE"]["kept"] = np.ones(3, "float32")
    caller = caller(scope)
    found: list[Any] = []
    for _ in range(5):
        shape = chance.choice([(3,), (3,), (3,), (3, 1)])
        x, head = (np.array([chance.randint(-3, 3) for _ in range(3)], "float32").reshape(shape) for _ in range(2))
        try:
            found += caller.call(x, head)
        except Exception as error:
            found.append("error")
            del error
        found.append(_state(scope))
        for event in chance.sample(EVENTS, chance.choice([0, 0, 1])):
            exec(event, scope)
        if chance.random() < 0.3:
            for array in _arrays(scope["KEPT"]):
                array[:] = 11
    return found


def _require_equal(got: list[Any], expected: list[Any], source: str) -> None:
    assert len(got) == len(expected), source
    for value, wanted in zip(got, expected, strict=True):
        if isinstance(wanted, list):
            _require_equal(value, wanted, source)
        elif isinstance(wanted, str) or isinstance(value, str):
            assert isinstance(value, str), source
            assert isinstance(wanted, str), source
        else:
            np.testing.assert_array_equal(value, wanted, err_msg=source)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    for number in range(20):
        monkeypatch.setattr(method_captures, "_methods", {})
        monkeypatch.setitem(PROPS, "lending_model", None)  # so that it goes afterwards
        chance = random.Random(1000 * seed + number)
        source = program(chance)
        with np.errstate(all="ignore"):
            _require_equal(run(Lent, source, number), run(Model, source, number), source)
        scope: dict[str, Any] = {"__name__": "program"}
        exec(source, scope)
        count += lent(scope["OP"]) + lent(scope["OP"], "backward")
    assert 1 <= count <= 36  # of 40: it is about both
