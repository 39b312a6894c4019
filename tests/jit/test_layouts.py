"""Arrays of every layout give what they give eagerly, in every way of running, from the first call to the last.

What a program does is compared with NumPy's own answer for arrays of the very same layout: values, gradients, and all
memory that the arrays lie in, so that a store is seen, and a store too many.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from many import each
from thoroughness import THOROUGH, often

import minpy as mx
from minpy.compiling import CompileWarning
from minpy.core.errors import ArgumentValueError, NotTraceableError
from minpy.gluon import HybridBlock
from minpy.jit import compiled_operators, trial

pytest.importorskip("llvmlite")

COMPILES = True

SHAPE = (3, 4, 4)
SIZE = 48
# Native code runs from the third call on.
CALLS = 5


# -- layouts -----------------------------------------------------------------------------------------------------------


def values(draw: np.random.RandomState, dtype: str, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Return numbers whose matrices can be inverted."""
    drawn = draw.uniform(-1, 1, shape) + 4 * np.eye(*shape[-2:])
    return (drawn * 10).astype(dtype) if np.dtype(dtype).kind == "i" else drawn.astype(dtype)


def within(array: np.ndarray, index: Any, room: tuple[int, ...]) -> np.ndarray:
    """Return a view of larger memory, of other numbers, that holds the values of an array."""
    memory = np.full(room, 77, array.dtype)
    memory[index] = array
    return memory[index]


def unaligned(array: np.ndarray, gap: int = 1) -> np.ndarray:
    memory = np.full(array.nbytes * gap + 1, 77, np.uint8)
    shape = (*array.shape[:-1], array.shape[-1] * gap)
    moved = memory[1:].view(array.dtype).reshape(shape)[..., ::gap]
    moved[...] = array
    return moved


def read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


EVERY_OTHER = (slice(None, None, 2),) * 3
BACKWARDS = (slice(None, None, -1),) * 3
INSIDE = (slice(1, 4), slice(2, 6), slice(3, 7))

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": lambda array: array,
    "Fortran": np.asfortranarray,
    "transposed": lambda array: array.swapaxes(0, 1).copy().swapaxes(0, 1),
    "strided": lambda array: within(array, EVERY_OTHER, (6, 8, 8)),
    "reversed": lambda array: within(array, BACKWARDS, SHAPE),
    "one axis reversed": lambda array: within(array, BACKWARDS[:1], SHAPE),
    "a part": lambda array: within(array, INSIDE, (5, 7, 9)),
    "offset": lambda array: within(array.reshape(-1), slice(5, 5 + SIZE), (SIZE + 9,)).reshape(SHAPE),
    "stride 0": lambda array: np.broadcast_to(array[:1], SHAPE),
    "stride 0, writable": lambda array: np.lib.stride_tricks.as_strided(array, SHAPE, (0, *array.strides[1:])),
    "unaligned": unaligned,
    "unaligned and strided": lambda array: unaligned(array, 2),
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "big-endian, Fortran": lambda array: np.asfortranarray(array.astype(array.dtype.newbyteorder(">"))),
    "read-only": read_only,
    "read-only, Fortran": lambda array: read_only(np.asfortranarray(array)),
    "zero-size": lambda array: array[:0],
    "zero-size, Fortran": lambda array: np.asfortranarray(array[:, :0][::2]).reshape(0, 4, 4, order="F"),
}


def overlapping(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    memory = np.concatenate([array.reshape(-1), array[:, ::-1].reshape(-1)])
    return memory[:SIZE].reshape(SHAPE), memory[16 : 16 + SIZE].reshape(SHAPE)


def interleaved(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    memory = np.repeat(array, 2, axis=2)
    return memory[..., ::2], memory[..., 1::2]


PAIRS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "one array": lambda array: (array, array),
    "one array and its transpose": lambda array: (array, array.swapaxes(1, 2)),
    "one array and itself backwards": lambda array: (array, array[::-1]),
    "overlapping": overlapping,
    "interleaved": interleaved,
}

ALL = [*LAYOUTS, *PAIRS]


# Arrays of ours do not share memory with such ones of NumPy's, or may not be written to.
NOT_SHARED = {name for name in LAYOUTS if name.startswith(("stride 0", "unaligned", "big", "read", "zero"))}


def laid(layout: str, dtype: str, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays, the same ones for the same arguments."""
    draw = np.random.RandomState(number)
    first, second = values(draw, dtype), values(draw, dtype)
    if layout in PAIRS:
        return PAIRS[layout](first)
    return LAYOUTS[layout](first), LAYOUTS[layout](second)


def memory_of(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


# -- programs ----------------------------------------------------------------------------------------------------------


class Program(NamedTuple):
    """What is computed, with a namespace of NumPy's functions, of two arrays."""

    function: Callable[..., Any]
    changes: bool = False  # whether it writes to its arguments
    is_symbolic: bool = True  # whether `sym.np` has its functions
    is_smooth: bool = True  # whether there are gradients through all that it returns
    kinds: str = "fi"  # of the numbers that it takes


def _flat(F, a, b):
    return F.reshape(a, (-1,)), b + 1


def _parts(F, a, b):
    return a[1:, ::-1], F.transpose(a), b * 2


def _views(F, a, b):
    return a[1:], F.swapaxes(b, 0, 1)


def _sorted(F, a, b):
    return F.sort(a[1:], axis=0) * 2


def _median(F, a, b):
    return F.median(a[:, 1:], axis=1) + b[:, 0]


def _inverse(F, a, b):
    return F.linalg.inv(F.swapaxes(a, 1, 2)) * 2, b - 1


def _transformed(F, a, b):
    return F.abs(F.fft.fft(F.swapaxes(a, 0, 1), axis=1)) * 2, b + 1


def _half(F, a, b):
    return F.transpose(a).astype("float16"), b + 1


def _half_part(F, a, b):
    return a[1:, 2:].astype("float16") * 2, F.reshape(b, (-1, 4)).astype("float16")


def _kernel(F, a, b):
    return F.tanh(a) * b + F.sum(a, axis=0)


def _product(F, a, b):
    return F.matmul(a, F.swapaxes(b, 1, 2)) + a


def _all_kinds(F, a, b):
    return F.sort(a[1:], axis=0), F.tanh(F.swapaxes(b, 1, 2)), F.reshape(a, (-1,)) * 2, F.cumsum(b[:, ::-1], axis=1)


def _changed(F, a, b):
    a += b
    return b * 2


def _halved_in_place(F, a, b):
    F.multiply(a, 2, out=a)
    return a[1:] + b[1:]


def _part_changed(F, a, b):
    a[1:] = F.sort(b[1:], axis=0) * 2
    return F.sum(a, axis=0)


def _both_changed(F, a, b):
    a -= 1
    b *= 2
    return F.reshape(b, (-1,))


PROGRAMS = {
    "flat": Program(_flat),
    "parts": Program(_parts),
    "views": Program(_views),
    "sort": Program(_sorted, is_smooth=False),
    "median": Program(_median),
    "inverse": Program(_inverse, kinds="f"),
    "fft": Program(_transformed, is_symbolic=False),
    "float16": Program(_half),
    "a part as float16": Program(_half_part),
    "kernel": Program(_kernel),
    "product": Program(_product),
    "all kinds": Program(_all_kinds, is_smooth=False),
    "changed": Program(_changed, changes=True),
    "changed by out=": Program(_halved_in_place, changes=True),
    "a part changed": Program(_part_changed, changes=True),
    "both changed": Program(_both_changed, changes=True),
}


# -- ways of running ---------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What a call gives: values, and gradients of both arguments, where they are asked for."""

    values: list[np.ndarray] | None
    gradients: list[np.ndarray] | None = None


# Of two arrays; what runs several times at each call gives what each gave.
Called = Callable[[np.ndarray, np.ndarray], list[Found]]


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def raws(found: Any) -> list[np.ndarray]:
    """Return results as NumPy's arrays, copied: what is compared later is what was there then."""
    return [np.array(one.asnumpy() if hasattr(one, "asnumpy") else one) for one in as_tuple(found)]


def ours(array: np.ndarray) -> Any:
    """Return an array of ours that lies where NumPy's does, if there is such."""
    if array.ndim and array.strides[0] == 0 and array.shape[0] > 1:
        return mx.np.broadcast_to(ours(array[:1]), array.shape)
    try:
        return mx.nd.from_dlpack(array).as_np_ndarray()  # NumPy's own from_dlpack, before 2.1, cannot be written to
    except ArgumentValueError:  # big-endian, or read-only
        if array.flags.c_contiguous and array.flags.writeable:
            return mx.nd.from_numpy(array, zero_copy=True).as_np_ndarray()
        return mx.np.array(array, dtype=array.dtype)


def starts(outputs: Sequence[Any]) -> list[np.ndarray]:
    """Return gradients of outputs to begin with, in Fortran's order."""
    return [
        np.asfortranarray(np.linspace(0.5, 1.5, int(np.prod(one.shape))).reshape(one.shape).astype(one.dtype))
        for one in outputs
    ]


def unrecorded(function: Callable[..., Any]) -> Called:
    return lambda a, b: [Found(raws(function(ours(a), ours(b))))]


def recorded(function: Callable[..., Any], smooth: bool = True) -> Called:
    """Return what calls a function of arrays of ours under `record()`, and goes back if there are gradients."""

    def call(a: np.ndarray, b: np.ndarray) -> list[Found]:
        arrays = [ours(a)] if a is b else [ours(a), ours(b)]
        for array in arrays:
            array.attach_grad()
        with mx.autograd.record():
            outputs = as_tuple(function(arrays[0], arrays[-1]))
        if not smooth or a.dtype.kind != "f":
            return [Found(raws(outputs))]
        mx.autograd.backward(list(outputs), [ours(start) for start in starts(outputs)])
        return [Found(raws(outputs), raws([array.grad for array in arrays]))]

    return call


def block(program: Program) -> HybridBlock:
    class Net(HybridBlock):
        def forward(self, a, b):
            return program.function(np, a, b)

    net = Net()
    net.hybridize()
    return net


def compiled(program: Program) -> Any:
    return mx.compile(lambda a, b: program.function(np, a, b))


def compiled_of_numpy(program: Program) -> Called:
    function = compiled(program)
    return lambda a, b: [Found(raws(function(a, b)))]


def compiled_gradient(program: Program) -> Called:
    """Return what differentiates a compiled sum of all results, weighted."""

    def weighted(a, b):
        total = 0
        for output in as_tuple(program.function(np, a, b)):
            size = int(np.prod(output.shape))
            total = total + np.sum(output * np.linspace(0.5, 1.5, size).reshape(output.shape).astype(output.dtype))
        return total

    gradient = mx.compile(mx.grad(weighted, argnum=(0, 1)))
    return lambda a, b: [Found(None, raws(gradient(a, b)))]


def operator(program: Program) -> Called:
    @mx.customop("numpy", compile=True)
    def operator(a, b):
        return program.function(np, a, b)

    return lambda a, b: [Found(raws(operator(a, b)))]


def executor(program: Program) -> Called:
    """Return what binds the program to arrays, and runs it several times."""
    symbols = [mx.sym.var(name).as_np_ndarray() for name in "ab"]
    group = mx.sym.Group(list(as_tuple(program.function(mx.sym.np, *symbols))))

    def call(a: np.ndarray, b: np.ndarray) -> list[Found]:
        given = {name: ours(array) for name, array in (("a", a), ("b", b)) if name in group.list_arguments()}
        smooth = program.is_smooth and a.dtype.kind == "f"
        into = {name: ours(np.zeros(array.shape, array.dtype, order="F")) for name, array in given.items()}
        with mx.np_shape():
            bound = group.bind(mx.cpu(), given, args_grad=into if smooth else None)
            found = []
            for _ in range(CALLS):
                outputs = bound.forward(is_train=smooth)
                if smooth:
                    bound.backward([ours(start) for start in starts(outputs)])
                found.append(Found(raws(outputs), raws(list(into.values())) if smooth else None))
        return found

    return call


WAYS: dict[str, Callable[[Program], Called]] = {
    "eager": lambda program: unrecorded(lambda a, b: program.function(np, a, b)),
    "hybridized": lambda program: unrecorded(block(program)),
    "hybridized, recorded": lambda program: recorded(block(program), program.is_smooth),
    "compiled": compiled_of_numpy,
    "compiled, of ours": lambda program: unrecorded(compiled(program)),
    "compiled, recorded": lambda program: recorded(compiled(program), program.is_smooth),
    "compiled, its gradient": compiled_gradient,
    "operator": operator,
    "executor": executor,
}


@pytest.fixture(autouse=True)
def _programs_are_chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(compiled_operators, "_MIN_SPEEDUP", 0.0)
    monkeypatch.setattr(trial.trials, "enabled", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)  # nothing is given up
        yield


# -- tests -------------------------------------------------------------------------------------------------------------


def takes(way: str, program: Program, layout: str, dtype: str) -> bool:
    """Tell whether there is such a call."""
    if np.dtype(dtype).kind not in program.kinds:
        return False
    if program.changes:  # blocks and operators may not
        return way == "compiled" or (way == "compiled, of ours" and layout not in NOT_SHARED)
    if way == "compiled, its gradient":
        return program.is_smooth and dtype != "int64"
    return program.is_symbolic or way != "executor"


def expected(way: str, program: Program, layout: str, dtype: str, number: int) -> tuple[Any, Found | None]:
    """Return the arrays after NumPy has run a program on them, and what it gave; None where it raised an error."""
    pair = laid(layout, dtype, number)
    try:
        found = raws(program.function(np, *pair))
    except ValueError:  # it may not write there
        return pair, None
    gradients = None
    if program.is_smooth and not program.changes and np.dtype(dtype).kind == "f":
        copies = [np.array(array, dtype, order="C") for array in pair]
        is_one = pair[0] is pair[1] and way.endswith("recorded")  # elsewhere an array has a gradient for each argument
        with mx.compile.disabled():
            call = recorded(lambda a, b: program.function(np, a, b))
            gradients = call(copies[0], copies[0] if is_one else copies[1])[0].gradients
    return pair, Found(found, gradients)


def require_close(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], message: str) -> None:
    assert len(found) == len(wanted), message
    for one, other in zip(found, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), message
        tolerance = 0.0
        if other.dtype.kind == "f" and other.dtype.itemsize > 2:
            tolerance = 1e-10 if other.dtype.itemsize == 8 else 1e-4
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=message)


def require_right(way: str, call: Called, program: Program, layout: str, dtype: str, number: int) -> None:
    """Call once, with arrays of a layout, and compare all that there is to be seen with NumPy's."""
    after, wanted = expected(way, program, layout, dtype, number)
    pair = laid(layout, dtype, number)
    message = f"{layout}, {dtype}, call {number}"
    if wanted is None:
        with pytest.raises(ValueError):
            call(*pair)
    else:
        for found in call(*pair):
            if found.values is not None and wanted.values is not None:
                require_close(found.values, wanted.values, message)
            if found.gradients is not None and wanted.gradients is not None:
                native = [one.astype(one.dtype.newbyteorder("=")) for one in found.gradients]
                require_close(native, wanted.gradients, f"{message}, gradients")
    for array, other in zip(pair, after, strict=True):
        require_close([memory_of(array)], [memory_of(other)], f"{message}, memory")


TOGETHER = {
    f"{way}, {name}": (way, name)
    for way, name in itertools.product(WAYS, PROGRAMS)
    if takes(way, PROGRAMS[name], "C", "float64")
}


@each(TOGETHER, at_once=8)
def test_native_code_for_arrays_in_order_is_called_with_others(way: str, name: str) -> None:
    program = PROGRAMS[name]
    call = WAYS[way](program)
    layouts = [layout for layout in ALL if takes(way, program, layout, "float64")]
    random.Random(f"{way}{name}").shuffle(layouts)
    if way == "executor":
        layouts = layouts[: often(6, len(layouts))]
    for number, layout in enumerate(["C"] * CALLS + layouts + ["C"]):
        require_right(way, call, program, layout, "float64", number)


CASES = [
    case
    for case in itertools.product(WAYS, PROGRAMS, ALL, ("float64", "float32", "int64"))
    if takes(case[0], PROGRAMS[case[1]], *case[2:])
]


@each({", ".join(case): case for case in (CASES if THOROUGH else random.Random(0).sample(CASES, 100))}, at_once=10)
def test_arrays_of_one_layout_from_the_first_call_on(way: str, name: str, layout: str, dtype: str) -> None:
    program = PROGRAMS[name]
    call = WAYS[way](program)
    for number in range(CALLS):
        require_right(way, call, program, layout, dtype, number)


# -- what depends on layouts -------------------------------------------------------------------------------------------


ORDERS = {
    "ravel": lambda x: x.ravel("A") * 2,
    "np.ravel": lambda x: np.ravel(x, "K") * 2,
    "reshape": lambda x: x.reshape(8, 6, order="A") * 2,
    "np.reshape": lambda x: np.reshape(x * 2, (8, 6), order="A"),
    "flatten": lambda x: x.flatten("K") * 2,
}


@pytest.mark.parametrize("layout", ["C", "Fortran", "transposed", "reversed"])
@pytest.mark.parametrize("name", ORDERS)
def test_elements_in_the_order_of_memory(name: str, layout: str) -> None:
    function = ORDERS[name]
    compiled = mx.compile(function)
    operator = mx.customop("numpy", compile=True)(function)
    array = LAYOUTS[layout](np.arange(float(SIZE)).reshape(SHAPE))
    wanted = function(array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        for _ in range(2 * CALLS):
            np.testing.assert_array_equal(compiled(array), wanted)
            np.testing.assert_array_equal(operator(array), wanted)
    assert "depends on how the array lies in memory" in compiled.reason


def test_a_graph_does_not_know_how_arrays_lie() -> None:
    class Net(HybridBlock):
        def forward(self, x):
            return x.reshape(-1, order="A")

    net = Net()
    net.hybridize()
    message = (
        r"reshape with order='A' depends on how the array lies in memory: take order='C' or order='F' \(test_layouts"
    )
    x = mx.np.arange(6).reshape(2, 3)
    with pytest.warns(UserWarning, match=message) as seen:
        assert net(x).tolist() == [0, 1, 2, 3, 4, 5]
    assert len(seen) == 1
    assert net(x).tolist() == [0, 1, 2, 3, 4, 5]  # nothing more is said
    with pytest.raises(NotTraceableError, match="ravel with order='K'"):
        mx.sym.np.ravel(mx.sym.var("x").as_np_ndarray(), order="K")


# -- further arrays that programs are given ----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["Fortran", "transposed", "strided", "reversed", "stride 0"])
def test_arrays_that_a_function_refers_to(layout: str) -> None:
    first, second = laid(layout, "float64", 1)
    arrays = {"theirs": first, "ours": ours(second)}

    @mx.compile
    def function(x):
        theirs, other = arrays["theirs"], arrays["ours"]
        return np.sort(other[1:], axis=0), theirs.reshape(-1), other.swapaxes(0, 1), x + 1, theirs[1:] * 2

    x = np.ones(3)
    for number in range(CALLS):
        if number == CALLS - 1:
            first, second = laid("C", "float64", 2)
            arrays["theirs"], arrays["ours"] = first, ours(second)
        wanted = np.sort(second[1:], axis=0), first.reshape(-1), second.swapaxes(0, 1), x + 1, first[1:] * 2
        require_close(raws(function(x)), wanted, f"call {number}")


def test_many_arguments_some_of_which_lie_otherwise() -> None:
    function = mx.compile(lambda arrays: [np.sort(array[1:], axis=0) * 2 for array in arrays] + [arrays[0] + 1])
    names = list(LAYOUTS)[:12]
    for number in range(CALLS + len(names)):
        arrays = [laid("C", "float64", number + one)[0] for one in range(40)]
        if number >= CALLS:
            arrays[number] = laid(names[number - CALLS], "float64", number)[0]
        wanted = [np.sort(array[1:], axis=0) * 2 for array in arrays] + [arrays[0] + 1]
        require_close(raws(function(arrays)), wanted, f"call {number}")


@pytest.mark.parametrize("layout", ["strided", "reversed"])
def test_states_and_gradients_that_executors_write_to(layout: str) -> None:
    def run(chosen: str) -> list[list[np.ndarray]]:
        def memory(value: float) -> np.ndarray:
            array = np.full(3, value)
            return array if chosen == "C" else np.repeat(array, 2)[::2] if chosen == "strided" else array[::-1]

        names = "x", "gamma", "beta", "mean", "variance"
        net = mx.sym.BatchNorm(*map(mx.sym.var, names), fix_gamma=False, momentum=0.5)
        data = np.random.RandomState(0).normal(size=(4, 3, 5))
        given = {"x": data, "gamma": np.full(3, 2.0), "beta": np.ones(3)}
        gradients = {"gamma": memory(0.0), "beta": memory(0.0)}
        states = {"mean": memory(0.0), "variance": memory(1.0)}

        def as_nd(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
            return {name: ours(array).as_nd_ndarray() for name, array in arrays.items()}

        executor = net.bind(mx.cpu(), as_nd(given), args_grad=as_nd(gradients), aux_states=as_nd(states))
        found = []
        for _ in range(CALLS):
            outputs = executor.forward(is_train=True)
            executor.backward(ours(data).as_nd_ndarray())
            found.append([*raws(outputs), *raws([*gradients.values(), *states.values()])])
            if chosen == "strided":
                unused = [memory_of(array)[1::2] for array in (*gradients.values(), *states.values())]
                assert [one.tolist() for one in unused] == [[0.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3]
        return found

    for found, wanted in zip(run(layout), run("C"), strict=True):
        require_close(found, wanted, layout)


def test_files_in_memory_are_read_and_written_where_they_lie(tmp_path: Path) -> None:
    def function(x, y):
        x += y
        return np.sort(y[1:], axis=0), y.reshape(-1)

    compiled = mx.compile(function)
    stored, wanted = np.memmap(tmp_path / "numbers", np.float64, "w+", shape=SHAPE), np.zeros(SHAPE)
    read = np.memmap(tmp_path / "more", np.float64, "w+", shape=SHAPE)
    for number in range(CALLS):
        read[...] = laid("C", "float64", number)[0]
        expected = function(wanted, np.array(read))
        require_close(raws(compiled(stored, read)), expected, f"call {number}")
        require_close([np.fromfile(tmp_path / "numbers").reshape(SHAPE)], [wanted], f"call {number}, the file")
