"""Counts the Python frames that the calls people make most often go through: `python tools/count_frames.py [--show]`.

A frame costs 50 to 100 ns, so the number of frames is what a call on small arrays costs, measured without noise. Limits
are those of `docs/performance.md`; the exit status is 1 where one is exceeded.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy

import minpy as mx
from minpy import autograd, gluon

WARM_UP = 12
KERNELS = ("minpy.ops.", "numpy.")


class Door(NamedTuple):
    """A call that is counted.

    Attributes
    ----------
    limit : int
        How many frames it may go through.
    prepare : callable
        Returns the call.
    """

    limit: int
    prepare: Callable[[], Callable[[], Any]]


def addition() -> Callable[[], Any]:
    """Return `x + y`, recorded."""
    x, y = mx.nd.ones((4, 4)), mx.nd.ones((4, 4))
    x.attach_grad()

    def call() -> Any:
        return x + y

    return _recorded(call)


def numbers() -> Callable[[], Any]:
    """Return `1 / (1 + x) < 2`, recorded."""
    x = mx.nd.ones((4, 4))
    x.attach_grad()

    def call() -> Any:
        return 1 / (1 + x) < 2

    return _recorded(call)


def custom(part: str) -> Callable[[], Any]:
    """Return a part of a call of a `CustomOp` through `nd.Custom`: 'forward', 'backward', or 'first backward'.

    The first backward is another operator's at each call.
    """
    x = mx.nd.ones((4, 4))
    x.attach_grad()
    names = [f"count_frames_{part}_{number}" for number in range(WARM_UP + 1)]
    for name in names if part == "first backward" else names[:1]:
        _register(name)
    forward = _recorded(lambda: mx.nd.Custom(x, op_type=names[0]))
    if part == "forward":
        return forward
    if part == "backward":
        forward().backward()
        outputs = iter([forward() for _ in names])
    else:
        outputs = iter([_recorded(partial(mx.nd.Custom, x, op_type=name))() for name in names])
    return lambda: next(outputs).backward()


def _register(name: str) -> None:
    class Sigmoid(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], 1 / (1 + mx.nd.exp(-in_data[0])))

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * out_data[0] * (1 - out_data[0]))

    @mx.operator.register(name)
    class _(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
            return Sigmoid()


def compiled() -> Callable[[], Any]:
    """Return a call of a compiled function on NumPy's arrays."""
    function = mx.compile(lambda x, w: numpy.tanh(x * w) + x)
    x, w = numpy.ones((4, 4)), numpy.ones((4, 4))
    return lambda: function(x, w)


class _Block(gluon.HybridBlock):
    """A block of elementwise operators: native code does all the work, and frames are those of the call alone."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = gluon.Parameter("weight", shape=(4, 4), init="ones")

    def forward(self, x: Any) -> Any:
        return mx.np.tanh(x * self.weight.data()) + x


def _block() -> tuple[Any, Any]:
    net, x = _Block(), mx.np.ones((4, 4))
    return net, x


def _network() -> tuple[Any, Any]:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dense(4))
    return net, mx.nd.ones((4, 4))


def hybridized(make: Callable[[], tuple[Any, Any]], with_backward: bool) -> Callable[[], Any]:
    """Return the forward part of a hybridized block, recorded, or both parts.

    The block has been trained before: programs that nobody pulls back become native code at another call.
    """
    net, x = make()
    net.initialize()
    net.hybridize()
    forward = _recorded(lambda: net(x))

    def both() -> None:
        forward().backward()

    for _ in range(WARM_UP):
        both()
    return both if with_backward else forward


def _recorded(call: Callable[[], Any]) -> Callable[[], Any]:
    def recorded() -> Any:
        with autograd.record():
            return call()

    return recorded


DOORS = {
    "x + y, recorded": Door(1, addition),
    "1 / (1 + x) < 2, recorded": Door(4, numbers),
    "nd.Custom, recorded": Door(40, partial(custom, "forward")),
    "nd.Custom, backward": Door(40, partial(custom, "backward")),
    "nd.Custom, first backward": Door(200, partial(custom, "first backward")),
    "compiled function, no tape": Door(8, compiled),
    "hybridized forward, recorded": Door(25, partial(hybridized, _block, False)),
    "hybridized forward and backward": Door(50, partial(hybridized, _block, True)),
    "two dense layers, forward": Door(25, partial(hybridized, _network, False)),
    "two dense layers, both": Door(50, partial(hybridized, _network, True)),
}


def frames_of(call: Callable[[], Any]) -> list[str]:
    """Return the functions of minpy and the standard library that a call enters, in order.

    What the lines above enter themselves, `record()` included, is not counted, nor are kernels: what computes.

    Parameters
    ----------
    call : callable

    Returns
    -------
    list of str
        A `module:function` for each frame.
    """
    entered: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code.co_filename == __file__:
            return
        ours: FrameType | None = frame.f_back
        while ours is not None and ours.f_code.co_filename != __file__:
            ours = ours.f_back
        if ours is None or ours.f_code.co_name == "recorded":  # which enters and leaves `record()`
            return
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)  # Python 3.10 has none
        entered.append(f"{frame.f_globals.get('__name__')}:{name}")

    for _ in range(WARM_UP):
        call()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [name for name in entered if not name.startswith(KERNELS)]


def main() -> int:
    """Print a line for each door, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="list the frames")
    arguments = parser.parse_args()
    assert threading.active_count() == 1
    too_many = False
    for name, door in DOORS.items():
        frames = frames_of(door.prepare())
        modules = {frame.partition(":")[0] for frame in frames}
        too_many |= len(frames) > door.limit
        print(f"{name:34} {len(frames):3} frames in {len(modules):2} modules (at most {door.limit})")
        if arguments.show:
            print("".join(f"    {frame}\n" for frame in frames), end="")
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main())
