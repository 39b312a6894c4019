"""Random operators that do what they can to notice that a buffer is lent, against the same ones when all is copied."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
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

import numpy as np

import minpy as mx
from minpy import nd

KEPT = []
SCALE = 2.0


class Plain(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy() * 2
        self.assign(out_data[0], req[0], nd.array(y))
        self.assign(out_data[0], "add", nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_grad[0].asnumpy() * 2
        self.assign(in_grad[0], req[0], nd.array(y))
        self.assign(in_grad[0], "add", nd.array(y))


class Halving:
    def assign(self, dst, req, src):
        src *= 0.5
        mx.operator.CustomOp.assign(self, dst, req, src)


class Keeping:
    def assign(self, dst, req, src):
        KEPT.append(src)
        mx.operator.CustomOp.assign(self, dst, req, src)


def same(method):
    @functools.wraps(method)
    def wrapper(self, *arguments):
        return method(self, *arguments)

    return wrapper


def before(method):
    @functools.wraps(method)
    def wrapper(self, *arguments):
        for array in arguments[2]:
            KEPT.append(array.asnumpy())
        return method(self, *arguments)

    return wrapper


def make(factor):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * factor))

    return forward


class Doubling(float):
    __array_ufunc__ = None

    def __rmul__(self, x):
        x *= 2
        return x


EVIL = Doubling(2)


class OpKnown(Plain):
    forward = make(2.0)


class Halved(Halving, Plain):
    pass


class Kept(Keeping, Plain):
    pass
"""

# What methods are made of: `x`, `y` and `z` are arrays, `source` is one of the inputs, `target` one of the outputs.
STARTS = """
x = {source}.asnumpy()
x = {source}.asnumpy().T.T
x = {source}.asnumpy() * 1
x = {source}.asnumpy()[:]
"""
PURE_MIDDLES = """
y = x
y = x * 2
y = x + SCALE
y = np.maximum(x, 0)
y = x.reshape((3,))
y = x if True else 0 * x
y = np.where(x > 0, x, 2 * x)
y = x * self.scale
y = nd.array(x).asnumpy()
y = {source}.asnumpy() - x
y = (x, x * 3)[1]
y = np.ravel(x)
y = (nd.array(x) * 2).asnumpy()
"""
IMPURE_MIDDLES = """
y = x * 1; x *= 3
x += 1; y = x
x[0] = 9; y = x
y = np.add(x, x, out=x)
y = np.exp(x, x)
KEPT.append(x); y = x * 2
y = x * 2; KEPT.append(y)
self.x = x; y = x
y = x * self.evil
y = x; y.sort()
y = x; np.copyto(x, 4)
y = getattr(self, 'x', x) * 2; self.x = x
y = x * self.evil + x
y = x * EVIL + x
self.z = {source}; y = x
y = x.view(); y.fill(2)
KEPT.append({source}); y = x * 2
y = [a.asnumpy() for a in [{source}]][0]; y -= 1
y = x; (lambda a: a.__imul__(2))(y)
global SCALE; y = x * SCALE; SCALE = SCALE + 1
"""
PURE_ENDS = """
self.assign({target}, req[0], nd.array(y))
self.assign({target}, req[0], y)
z = nd.array(y); self.assign({target}, req[0], z); self.assign({target}, 'add', z)
self.assign({target}, req[0], nd.array(y)); self.assign({target}, 'add', nd.array(y))
self.assign({target}, req[0], nd.array(y)); self.assign({target}, req[0], nd.array(y))
self.assign({target}, req[0], nd.array(y)); self.assign({target}, 'add', y); self.assign({target}, 'add', nd.array(y))
self.assign({target}, req[0], {source})
self.assign({target}, req[0], {source}); self.assign({target}, 'add', nd.array(y))
self.assign({target}, req[0], nd.array({source}) * 2)
z = nd.array(y); self.assign({target}, req[0], z); self.assign({target}, 'add', nd.array(x))
"""
IMPURE_ENDS = """
{target}[:] = nd.array(y)
self.assign({target}, req[0], nd.array(y)); y *= 0
z = nd.array(y); self.assign({target}, req[0], z); z[:] = 5
self.assign({target}, req[0], nd.array(y)); {target}.__iadd__(1)
self.assign({target}, req[0], nd.array(y)); KEPT.append({target})
self.assign({target}, req[0], {target} + nd.array(y))
z = nd.array(y); KEPT.append(z); self.assign({target}, req[0], z)
{source}[:] = 0; self.assign({target}, req[0], nd.array(y))
self.assign({target}, req[0], nd.array(y)); KEPT.append({target}.asnumpy())
self.assign({target}, req[0], nd.array(y)); self.assign({target}, 'add', nd.array(y)); self.kept = {target}
"""
PARAMETERS = {
    "forward": "is_train, req, in_data, out_data, aux",
    "backward": "req, out_grad, in_data, out_data, in_grad, aux",
}


def method(chance: random.Random, name: str) -> list[str]:
    """Returns the lines of a method."""
    sources = ["in_data[0]"] if name == "forward" else ["out_grad[0]", "in_data[0]", "out_data[0]"]
    middles, ends = PURE_MIDDLES, PURE_ENDS
    impurity = chance.random()
    if impurity < 0.2:
        middles = IMPURE_MIDDLES
    elif impurity < 0.3:
        ends = IMPURE_ENDS
    source, target = chance.choice(sources), "out_data[0]" if name == "forward" else "in_grad[0]"
    parts = [chance.choice(part.strip().split("\n")) for part in (STARTS, middles, ends)]
    lines = [part.format(source=source, target=target) for part in parts]
    statements = [statement for line in lines for statement in line.split("; ")]
    statements.sort(key=lambda statement: not statement.startswith("global"))  # it has to come first
    decorator = chance.choice(["", "", "", "", "", "", "@same", "@before"])
    return [*([f"    {decorator}"] if decorator else []), f"    def {name}(self, {PARAMETERS[name]}):"] + [
        f"        {statement}" for statement in statements
    ]


def operator(chance: random.Random, index: int) -> str:
    """Returns the source of an operator's class: some derive from earlier ones, mix in, or delegate to them."""
    bases = chance.choice(
        [*["Plain"] * 8, "Halving, Plain", "Keeping, Plain", "OpKnown", f"Op{index - 1}" * bool(index)]
    )
    bases = bases or "Plain"
    lines = [f"class Op{index}({bases}):", "    scale = 3.0" if chance.random() < 0.2 else "    plain = 3.0"]
    lines += ["    def __init__(self):", "        self.scale = 2.0", "        self.evil = Doubling(2)"]
    delegate = chance.choice([*[""] * 12, "forward", "backward", "both", "assign", "wrong", "wraps"])
    if delegate:
        other = chance.choice(["Halved", "Kept", f"Op{chance.randrange(index)}" if index else "Plain"])
        lines.append(f"        self.other = {other}()")
        if delegate in ("forward", "both"):
            lines.append("        self.forward = self.other.forward")
        if delegate in ("backward", "both"):
            lines.append("        self.backward = self.other.backward")
        if delegate == "assign":
            lines.append("        self.assign = self.other.assign")
        if delegate == "wrong":
            lines.append("        self.forward = type(self.other).forward.__get__(self)")
        if delegate == "wraps":
            lines.append("        type(self).forward = functools.wraps(OpKnown.forward)(make(Doubling(2)))")
    closure = chance.random()
    if closure < 0.1:
        lines.append(f"    forward = make({chance.choice(['2.0', '3.0', 'Doubling(2)'])})")
    elif closure < 0.85:
        lines += method(chance, "forward")
    if chance.random() < 0.7:
        lines += method(chance, "backward")
    return "\n".join(lines)


def load(path: Path) -> Any:
    """Imports a file as a fresh module."""
    name = f"fuzzed_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    del sys.modules[name]
    return module


def values(kept: list[Any]) -> list[np.ndarray]:
    return [np.array(getattr(value, "_data", value)) for value in kept]


def run(module: Any, op: Any) -> list[Any]:
    """Returns all that an operator's calls and their backwards leave behind, and their errors."""
    found: list[Any] = []
    module.KEPT.clear()
    module.SCALE = 2.0
    one = op()  # one object for all calls: what it keeps, it finds in the next
    name = f"fuzzed_{op.__name__}"
    prop = type("FuzzedProp", (mx.operator.CustomOpProp,), {"create_operator": lambda self, *arguments: one})
    PROPS[name] = prop
    x, head = nd.array([3, -1, 2]), nd.array([1, 10, 100])
    x.attach_grad()
    arrays = [x, head]
    for step in range(3):
        try:
            with autograd.record():
                a = x * 1
                y = nd.Custom(a, op_type=name)
                z = y * 1 + a
            z.backward(head)
            arrays += [a, y, z]
        except mx.MXNetError as error:
            found.append(f"{type(error).__name__}: {error}")
        if step == 1:
            arrays[-2][:] = 7
        found += [array.asnumpy() for array in (*arrays, x.grad)] + values(module.KEPT)
        for index, array in enumerate([*arrays, x.grad]):
            for other in arrays[:index]:
                assert array is other or not np.shares_memory(array._data, other._data)
    del PROPS[name]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_random_operators(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    path = tmp_path / f"operators_{seed}.py"
    path.write_text(HEAD + "\n\n" + "\n\n\n".join(operator(chance, index) for index in range(10)))
    module = load(path)
    names = [name for name in vars(module) if name.startswith("Op")]
    found = {name: run(module, getattr(module, name)) for name in names}
    made = [getattr(module, name)() for name in names]
    count = sum(lent(op, method) for op in made for method in ("forward", "backward"))
    monkeypatch.setattr(method_captures, "_methods", {})
    monkeypatch.setattr(method_captures, "capture_method", lambda *arguments: None)
    module = load(path)
    for name in names:
        expected = run(module, getattr(module, name))
        assert len(found[name]) == len(expected), name
        for got, wanted in zip(found[name], expected, strict=True):
            if isinstance(wanted, str):
                assert got == wanted, name
            else:
                np.testing.assert_array_equal(got, wanted, err_msg=name)
    assert 3 <= count <= 19  # of 22: it is about both
