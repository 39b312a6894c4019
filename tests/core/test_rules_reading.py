"""What recording keeps for a gradient rule: whatever the rule can read, and not what it does not."""

from __future__ import annotations

import builtins
import inspect
import random
import sys
import weakref
from typing import Any

import numpy as np
import pytest

from minpy import autograd, customop, nd
from minpy.core.gradient_rules import parameters_read


def spy() -> list[Any]:
    return list(sys._getframe(1).f_locals.values())


def spy_of_spy() -> list[Any]:
    def look() -> list[Any]:
        return list(inspect.stack()[2].frame.f_locals.values())

    return look()


class Spying:
    def __enter__(self) -> Any:
        return 2

    def __exit__(self, *_: Any) -> None:
        return None


# Ways to read an argument `v` into `r`; the names are those of a rule's parameters.
READS = """
r = v
r = v * 1
r = 1 * v
r = [v for _ in range(1)][0]
r = [w for w in (v,)][0]
r = {"k": v}["k"]
r = (lambda: v)()
r = (lambda w=v: w)()
r = sum(v for _ in range(1))
r = locals()["v"]
r = vars()["v"]
r = eval("v")
r = list(locals().values())[PLACE]
r = sys._getframe().f_locals["v"]
r = list(sys._getframe(0).f_locals.values())[PLACE]
r = list(inspect.currentframe().f_locals.values())[PLACE]
r = getattr(builtins, "loc" + "als")()["v"]
r = list(getattr(builtins, "loc" + "als")().values())[PLACE]
r = list(globals()["__builtins__"]["loc" + "als"]().values())[PLACE]
r = list(__import__("builtins").locals().values())[PLACE]
r = spy()[PLACE]
r = spy_of_spy()[PLACE]
r = closed()[PLACE]
r = list(frame_of(0).f_locals.values())[PLACE]
r = list(stack()[0].frame.f_locals.values())[PLACE]
r = v; v = None
r = v; del v
r = (w := v)
r, w = v, 1
r = max([v], key=id)
r = v if True else 0
r = 0 if False else v
r = np.asarray(v)
r = identity(v)
r = identity(*(v,))
r = identity(**{"w": v})
for r in (v,): pass
with Spying() as w: r = v
try: r = v | finally: w = 1
try: raise ValueError | except ValueError: r = v
assert v is not None; r = v
match v: |     case w: r = w
while True: r = v; break
def f(): return v | r = f()
class K: w = v | r = K.w
""".strip().split("\n")
PARAMETERS = ("ans", "x", "y")


def identity(w: Any) -> Any:
    return w


def _closed() -> Any:
    look = spy
    return lambda: [*sys._getframe(1).f_locals.values(), look]


SCOPE = {
    "Spying": Spying,
    "builtins": builtins,
    "closed": _closed(),
    "identity": identity,
    "inspect": inspect,
    "np": np,
    "frame_of": sys._getframe,
    "stack": inspect.stack,
    "spy": spy,
    "spy_of_spy": spy_of_spy,
    "sys": sys,
}


def _lines(read: str, name: str, target: str) -> list[str]:
    """Return the lines that read a parameter into a local variable, without other local variables before it."""
    words = read.replace("PLACE", str(PARAMETERS.index(name)))
    for quoted in ("'v'", '"v"'):
        words = words.replace(quoted, f'"{name}"')
    text = " ".join(_renamed(word, name, target) for word in words.split(" "))
    return [f"    {part}" for part in text.split(" | ")]


def _renamed(word: str, name: str, target: str) -> str:
    cut = [""]
    for before, letter in zip(" " + word, word, strict=False):
        if (letter.isalnum() or letter in "_\"'") != (before.isalnum() or before in "_\"'"):
            cut.append("")
        cut[-1] += letter
    return "".join({"v": name, "r": target, "K.w": "K.w"}.get(part, part) for part in cut)


def rule_of(reads: list[tuple[str, str]]) -> tuple[Any, str]:
    """Return a rule that reads some of its parameters, and its source."""
    lines = ["def rule(ans, x, y):"]
    for number, (read, name) in enumerate(reads):
        lines += _lines(read, name, f"r{number}")
    result = " + ".join(["g", *(f"g * r{number}" for number in range(len(reads)))])
    source = "\n".join([*lines, f"    return lambda g: {result}"])
    scope: dict[str, Any] = {**SCOPE, "__builtins__": vars(builtins)}
    exec(source, scope)
    return scope["rule"], source


def _gradient(rule: Any, kind: str) -> np.ndarray:
    operator = customop(kind)(lambda x, y: x * y)
    operator.def_grad(rule, argnum=0)
    operator.def_grad(lambda ans, x, y: lambda g: g, argnum=1)
    x, y = nd.array([1, 2, 3]), nd.array([4, 5, 6])
    x.attach_grad()
    with autograd.record():
        z = operator(x, y)
    z.backward(nd.array([1, 10, 100]))
    return x.grad.asnumpy()


def _expected(rule: Any) -> np.ndarray:
    x, y = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    return np.asarray(rule(x * y, x, y)(np.array([1.0, 10, 100])))


@pytest.mark.parametrize("kind", ["numpy", "mxnet"])
@pytest.mark.parametrize("read", READS)
def test_what_a_rule_reads_is_kept(read: str, kind: str) -> None:
    for name in PARAMETERS:
        rule, source = rule_of([(read, name)])
        if kind == "mxnet" and "np.asarray" in read:
            continue
        np.testing.assert_array_equal(_gradient(rule, kind), _expected(rule), err_msg=source)


@pytest.mark.parametrize("seed", range(20))
def test_random_rules(seed: int) -> None:
    chance = random.Random(seed)
    several = [read for read in READS if "PLACE" not in read and "del v" not in read and "v = None" not in read]
    for _ in range(10):
        reads = [(chance.choice(several), chance.choice(PARAMETERS)) for _ in range(chance.randint(0, 4))]
        rule, source = rule_of(reads)
        np.testing.assert_array_equal(_gradient(rule, "numpy"), _expected(rule), err_msg=source)


def test_what_a_rule_does_not_read_is_not_kept() -> None:
    rule, _ = rule_of([("r = v", "y")])
    assert parameters_read(rule) == ({"y"}, PARAMETERS)
    operator = customop("numpy")(lambda x, y: x * y)
    operator.def_grad(rule, argnum=0)
    operator.def_grad(lambda ans, x, y: lambda g: g, argnum=1)
    x, y = nd.array([1, 2, 3]), nd.array([4, 5, 6])
    x.attach_grad()
    with autograd.record():
        a = x * 1
        z = operator(a, y)
        data = weakref.ref(a._data)
        del a
    assert data() is None
    z.backward()
    assert x.grad.asnumpy().tolist() == [5, 6, 7]
