"""Custom operators for the tests of lending: pure ones, and ones that could notice that a buffer is shared."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from custom_operators import Sigmoid

import minpy as mx
from minpy import nd
from minpy.custom.method_captures import method_of
from minpy.custom.output_buffers import Buffer

KEPT: list[Any] = []
SCALE = 2.0
TABLE = {"factor": np.ones(3, "float32")}


# Here, as tests replace what makes them.
ZEROS, FLOAT32 = [nd.zeros(3), nd.zeros(3)], np.dtype("float32")


def lent(op: Any, method: str = "forward") -> bool:
    """Tell whether buffers are lent to a call of a method that has one input."""
    outputs = getattr(op, "outputs", 1)
    names = ["the gradient of x"] if method == "backward" else ["p", "q"][:outputs]
    buffers = [Buffer((3,), FLOAT32, "output", name) for name in names]
    requests = ["write"] * len(buffers)
    if method == "backward":
        arguments: list[Any] = [requests, ZEROS[:outputs], ZEROS[:1], ZEROS[:outputs], buffers, []]
    else:
        arguments = [True, requests, ZEROS[:1], buffers, []]
    return method_of(op, method, arguments, True)[1] is not None


class Base(mx.operator.CustomOp):
    """The operators below compute 2x and its gradient, each in its own way; `assign` takes the rest from here."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(x * 2))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dy = out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], nd.array(dy * 2))


# -- pure methods, which are lent --------------------------------------------------------------------------------------


class Constants(Base):
    def __init__(self, scale=2.0):
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        if is_train:
            y = x * self.scale
        else:
            y = SCALE * np.maximum(x, -1e9)
        self.assign(out_data[0], req[0], nd.array(y, dtype=np.float32))


class Softmax(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy().reshape((-1, 3))
        e = np.exp(x - x.max(axis=1).reshape((-1, 1)))
        p = e / e.sum(axis=1, keepdims=True)
        self.assign(out_data[0], req[0], nd.array(p.reshape(in_data[0].shape)))


class Views(Base):
    """Returns views of its inputs, which must not become the output's memory."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(x.T.T))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], nd.array(out_grad[0].asnumpy().reshape((3,))))


class InputItself(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0]))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


class SameArrayTwice(Base):
    """Two outputs are assigned one array."""

    outputs = 2

    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy() * 2
        self.assign(out_data[0], req[0], nd.array(y))
        self.assign(out_data[1], req[1], nd.array(y))


class AssignedTwice(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(x * 7))
        self.assign(out_data[0], req[0], nd.array(x))
        self.assign(out_data[0], "add", nd.array(x))


def in_a_function() -> type[Base]:
    numpy, factor = np, 2.0

    class Closure(Base):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(numpy.multiply(in_data[0].asnumpy(), factor)))

    return Closure


class Generator(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(sum(x.asnumpy() for x in in_data)))


class WithoutSource(Base):
    exec(
        "def forward(self, is_train, req, in_data, out_data, aux):\n"
        "    self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 2))\n"
    )


class OfAClass(Base):
    """Reads a number that its class has."""

    scale = 2.0

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * self.scale))


class OfAGlobal(Base):
    """Reads a number by a global name."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * SCALE))


def doubled(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor


class WithHelpers(Base):
    """Calls a function, and a method of its own."""

    def twice(self, x):
        return doubled(x)

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(self.twice(in_data[0].asnumpy())))


class OwnArray(Base):
    """Changes what it has made itself, before it makes an NDArray of it."""

    def forward(self, is_train, req, in_data, out_data, aux):
        y = np.exp(in_data[0].asnumpy())
        y /= y.sum()
        y[0] = 1
        self.assign(out_data[0], req[0], nd.array(y))


class Stores(Base):
    """Stores into the output, which then has memory of its own."""

    def forward(self, is_train, req, in_data, out_data, aux):
        y = nd.array(in_data[0].asnumpy() * 2)
        out_data[0][:] = y
        self.assign(out_data[0], "add", y)


class Loop(Base):
    """Goes over its inputs, and over the shape of one."""

    def forward(self, is_train, req, in_data, out_data, aux):
        total = np.zeros(out_data[0].shape, "float32")
        for x in in_data:
            for index in range(x.shape[0]):
                total[index] += x.asnumpy()[index]
        self.assign(out_data[0], req[0], nd.array(total))


class Comprehensions(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        parts = [x.asnumpy() * factor for x in in_data for factor in (0.5, 1.5)]
        self.assign(out_data[0], req[0], nd.array(sum(parts) + sum(part * 0 for part in parts)))


class OperatorsOfMXNet(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = nd.exp(in_data[0]) * 2
        self.assign(out_data[0], req[0], x / nd.sum(x))


class Super(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        super().forward(is_train, req, in_data, out_data, aux)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        Base.backward(self, req, out_grad, in_data, out_data, in_grad, aux)


PURE = [
    Sigmoid, Base, Constants, Softmax, Views, InputItself, SameArrayTwice, AssignedTwice, in_a_function(), Generator,
    WithoutSource, OfAClass, OfAGlobal, WithHelpers, OwnArray, Stores, Loop, Comprehensions,
    OperatorsOfMXNet, Super,
]  # fmt: skip


# -- methods that could notice -----------------------------------------------------------------------------------------


class InPlace(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        x *= 2
        self.assign(out_data[0], req[0], nd.array(x))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dy = out_grad[0].asnumpy()
        dy += dy
        self.assign(in_grad[0], req[0], nd.array(dy))


class Item(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        x[0] = 100
        self.assign(out_data[0], req[0], nd.array(x))


class Slice(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        x[:] = x[::-1] * 2
        self.assign(out_data[0], req[0], nd.array(x))


class OutKeyword(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        np.add(x, x, out=x)
        self.assign(out_data[0], req[0], nd.array(x))


class OutByPosition(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        np.add(x, x, x)
        self.assign(out_data[0], req[0], nd.array(x))


class UnaryOutByPosition(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        np.exp(x, x)
        self.assign(out_data[0], req[0], nd.array(x))


class ClipIntoItself(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        x.clip(0, 1, x)
        self.assign(out_data[0], req[0], nd.array(np.clip(x, 0, 1, x)))


class ChangedAfterAssigning(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy() * 2
        self.assign(out_data[0], req[0], nd.array(y))
        np.multiply(y, 0, y)


class NDArrayChangedAfterAssigning(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0] * 2
        self.assign(out_data[0], req[0], y)
        y += 1


class ViewChangedAfterAssigning(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0] * 2
        part = y[1:]
        self.assign(out_data[0], req[0], y)
        part[:] = 7


class ArrayChangedAfterSharing(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy() * 2
        y = nd.array(x)
        x += 1
        self.assign(out_data[0], req[0], y)


class NDArrayChangedAfterSharing(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0] * 2
        x = y.asnumpy()
        y[:] = 7
        self.assign(out_data[0], req[0], x)


class StoredAfterAssigning(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = nd.array(in_data[0].asnumpy() * 2)
        self.assign(out_data[0], req[0], y)
        out_data[0][:] = 3
        self.assign(out_data[0], "add", y)


class Sorted(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        x.sort()
        self.assign(out_data[0], req[0], nd.array(x))


class Filled(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        x.fill(3)
        np.copyto(x, 4)
        self.assign(out_data[0], req[0], nd.array(x))


class Flags(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        x.shape = (3, 1)
        memoryview(x)[0, 0] = 9
        self.assign(out_data[0], req[0], nd.array(x.reshape(3)))


class Stored(Base):
    """Keeps the input on `self`, and changes it in backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(self.x * 2))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.x *= 0
        self.assign(in_grad[0], req[0], nd.array(out_grad[0].asnumpy() * 2))


class Appended(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy() * 2
        KEPT.append(y)
        self.assign(out_data[0], req[0], nd.array(y))
        KEPT[-1][:] = 0


class Global(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        global GLOBAL
        GLOBAL = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(GLOBAL * 2))
        GLOBAL[:] = 0


class ThroughATable(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], nd.array(x * TABLE["factor"]))


class Comprehension(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        [x.put(i, 5) for i in range(2)]
        self.assign(out_data[0], req[0], nd.array(x))


class Walrus(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        if (x := in_data[0].asnumpy()).size:
            x += 1
        self.assign(out_data[0], req[0], nd.array(x))


class TryFinally(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        try:
            x /= 2
        finally:
            self.assign(out_data[0], req[0], nd.array(x))


class Catching(Base):
    """Keeps its input where an error is raised, which proxies do not raise."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        try:
            y = np.log(x - 2)
        except FloatingPointError:
            KEPT.append(x)
            y = x
        self.assign(out_data[0], req[0], nd.array(y))


class Nested(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()

        def change():
            x[0] = 8

        change()
        self.assign(out_data[0], req[0], nd.array(x))


class LambdaDefault(Base):
    def forward(self, is_train, req, in_data, out_data, aux, change=lambda x: x.fill(1)):
        x = in_data[0].asnumpy()
        change(x)
        self.assign(out_data[0], req[0], nd.array(x))


class DefaultList(Base):
    def forward(self, is_train, req, in_data, out_data, aux, kept=[]):  # noqa: B006
        x = in_data[0].asnumpy()
        kept += [x]
        kept[-1][:] = 4
        self.assign(out_data[0], req[0], nd.array(x))


class Getattr(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        getattr(x, "fi" + "ll")(6)
        self.assign(out_data[0], req[0], nd.array(x))


def helper(x: np.ndarray) -> np.ndarray:
    x -= 1
    return x


class Helper(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(helper(in_data[0].asnumpy())))


class HelperMethod(Base):
    """A method of its own that is called like one of NumPy's."""

    def sum(self, x):
        x[:] = 3
        return x

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(self.sum(in_data[0].asnumpy())))


class SelfByAnotherName(Base):
    def dot(self, x):
        self.kept = x
        x[:] = 3
        return x

    def forward(self, is_train, req, in_data, out_data, aux):
        me = self
        self.assign(out_data[0], req[0], nd.array(me.dot(in_data[0].asnumpy())))


class OwnAssign(Base):
    def assign(self, dst, req, src):
        dst[:] = src
        src[:] = 0


class AssignOnTheInstance(Base):
    def __init__(self):
        self.assign = lambda dst, req, src: OwnAssign.assign(self, dst, req, src)


class Attribute(Base):
    """Reads an array off `self`."""

    def __init__(self):
        self.y = np.array([1, 2, 3], "float32")

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(self.y))


class Property(Base):
    def __init__(self):
        self.__dict__["scale"] = 2.0

    @property
    def scale(self):
        KEPT.append("read")
        return 3.0

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * self.scale))


class Evil(float):
    def __rmul__(self, x):
        x += 1
        return x

    __array_ufunc__ = None


class EvilScale(Base):
    def __init__(self):
        self.scale = Evil(2)

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * self.scale))


class OutputAsScratch(Base):
    """Reads an output between two assignments to it."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0].asnumpy())
        scratch = out_data[0].asnumpy()
        self.assign(out_data[0], req[0], in_data[0].asnumpy() * 5)
        self.assign(out_data[0], req[0], scratch * 2)


class OutputByAnotherName(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        flat = out_data[0].reshape((3, 1))
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 2))
        self.assign(flat, req[0], nd.array(in_data[0].asnumpy().reshape((3, 1)) * 3))


class OneOutputFromAnother(Base):
    outputs = 2

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 2))
        self.assign(out_data[1], req[1], out_data[0])
        out_data[0] += 1


class AssignsItsInput(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        self.assign(in_data[0], "write", nd.array(x * 0))
        self.assign(out_data[0], req[0], nd.array(x * 2))


class Rebinds(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        out_data = in_data
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 2))


class InPlaceLoop(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        for x in in_data:
            data = x.asnumpy()
            data.resize((3,))
            data.itemset(0, 9) if hasattr(data, "itemset") else data.put(0, 9)
            self.assign(out_data[0], req[0], nd.array(data))


class Imported(Base):
    def forward(self, is_train, req, in_data, out_data, aux):
        import numpy as other

        x = in_data[0].asnumpy()
        other.negative(x, x)
        self.assign(out_data[0], req[0], nd.array(x))


def wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def wrapper(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        x += 1
        self.assign(out_data[0], req[0], nd.array(x))

    return wrapper


class Decorated(Base):
    forward = wrapped(Base.forward)


IMPURE = [
    InPlace, Item, Slice, OutKeyword, OutByPosition, UnaryOutByPosition, ClipIntoItself, ChangedAfterAssigning, Sorted,
    NDArrayChangedAfterAssigning, ViewChangedAfterAssigning, ArrayChangedAfterSharing, NDArrayChangedAfterSharing,
    StoredAfterAssigning, Filled, Flags, Stored, Appended, Global,
    ThroughATable, Comprehension, Walrus, TryFinally, Catching, Nested, LambdaDefault,
    DefaultList, Getattr, Helper, HelperMethod, SelfByAnotherName, OwnAssign, AssignOnTheInstance, Attribute,
    Property, EvilScale, OutputAsScratch, OutputByAnotherName, OneOutputFromAnother, AssignsItsInput, Rebinds,
    InPlaceLoop, Imported, Decorated,
]  # fmt: skip
