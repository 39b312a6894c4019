"""Generated convolutions against the operator's definition in float64: random shapes, steps, batches and processors."""

from __future__ import annotations

import ctypes
import itertools
import math
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

from minpy.backends.native.convolutions import winograd_kernels
from minpy.backends.native.convolutions.channels_depthwise import channels_depthwise
from minpy.backends.native.convolutions.channels_last import (
    channels_forward,
    filter_vectors,
    pack_weight,
    packed_shape,
)
from minpy.backends.native.convolutions.convolution_functions import GENERATORS, Packing
from minpy.backends.native.convolutions.direct_convolution import Code, correlate
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.register_blocking import Processor
from minpy.backends.native.convolutions.vector_writer import METADATA
from minpy.backends.native.convolutions.weight_gradient import weight_gradient
from minpy.backends.native.convolutions.winograd_kernels import (
    covers_winograd,
    transformed_shape,
    winograd,
    winograd_weight,
)
from minpy.backends.native.convolutions.winograd_transforms import Transforms
from minpy.backends.native.machine import llvm
from minpy.ops.kernels import im2col

few = settings(max_examples=25, deadline=None)

# Registers as of AVX-512, AVX2, NEON and SSE, and caches so small that work is cut into parts even where it is little.
PROCESSORS = [
    Processor(64, 32),
    Processor(32, 16),
    Processor(16, 32, 2048, 4096),
    Processor(16, 16, 1024, 1024),
]


def module(code: Code) -> str:
    """Return the IR of a module with the function `kernel`."""
    nodes = [text.replace("!#", "!") for text in METADATA]
    lines = [f"!{number} = {text}" for number, text in enumerate(nodes)]
    return "\n".join([*code.declares, f"define void @kernel{code.body.replace('!#', '!')}", *lines])


def guarded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a copy of an array, and the memory around it: NaN, or 77 for bytes."""
    room = 64
    memory = np.full(values.size + 2 * room, np.nan if values.dtype.kind == "f" else 77, values.dtype)
    inside = memory[room : room + values.size].reshape(values.shape)
    inside[...] = values
    return inside, memory


def run(code: Code, reads: dict[str, np.ndarray], writes: dict[str, np.ndarray], cuts: int = 1) -> list[np.ndarray]:
    """Return what a function writes, called once for each of `cuts` parts of its range."""
    assert set(code.reads) <= set(reads), code.reads
    arrays = [guarded(reads[name]) for name in code.reads]
    results = [guarded(np.full_like(writes[name], 99)) for name in code.writes]
    loaded = llvm.compile(module(code))
    pointers = [inside.ctypes.data for inside, _ in arrays + results]
    scratch = np.full(code.scratch + 128, 0xFF, np.uint8)  # not a number, whatever it is read as
    begin = (-scratch.ctypes.data) % 64
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(pointers) + 1), ctypes.c_int64, ctypes.c_int64)
    function = kind(loaded.address("kernel"))
    edges = [code.splits * part // cuts for part in range(cuts + 1)]
    for first, last in itertools.pairwise(edges):
        function(*pointers, scratch.ctypes.data + begin, first, last)
    assert (scratch[begin + code.scratch :] == 0xFF).all(), "memory behind the scratch memory was written to"
    for inside, memory in results:
        around = np.r_[memory[:64], memory[64 + inside.size :]]
        assert (np.isnan(around) if memory.dtype.kind == "f" else around == 77).all(), "written beyond a result"
    return [inside for inside, _ in results]


def batch_last(values: np.ndarray, dtype: str) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(values, 0, -1), dtype)


def window(problem: Problem) -> dict[str, Any]:
    return {
        "stride": problem.stride,
        "dilate": problem.dilate,
        "pad": problem.pad,
        "num_group": problem.groups,
    }


class Arrays:
    """Random arrays for a problem, batch first in float64, and what must come out."""

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        random = np.random.RandomState(seed)
        self.problem = problem
        self.data = self.draw(random, problem.batch, problem.channels, *problem.lengths)
        self.weight = self.draw(random, problem.filters, problem.channels // problem.groups, *problem.kernel)
        self.gradient = self.draw(random, problem.batch, problem.filters, *problem.positions)

    def draw(self, random: np.random.RandomState, *shape: int) -> np.ndarray:
        """Return numbers that the problem's dtype holds, as float64."""
        return random.normal(size=shape).astype(self.problem.dtype).astype(np.float64)

    def reads(self) -> dict[str, np.ndarray]:
        dtype = self.problem.dtype
        return {
            "data": batch_last(self.data, dtype),
            "weight": self.weight.astype(dtype),
            "gradient": batch_last(self.gradient, dtype),
        }

    def result(self) -> np.ndarray:
        return im2col.convolve.forward(self.data, self.weight, **window(self.problem))

    def data_gradient(self) -> np.ndarray:
        return im2col.convolve_data.forward(
            self.gradient, self.weight, lengths=self.problem.lengths, **window(self.problem)
        )

    def weight_gradient(self) -> np.ndarray:
        kernel = self.problem.kernel
        return im2col.convolve_weight.forward(self.data, self.gradient, kernel=kernel, **window(self.problem))


def close(got: np.ndarray, expected: np.ndarray, problem: Problem, terms: int) -> None:
    """Assert equality up to the rounding errors of sums of so many terms."""
    unit = np.finfo(problem.dtype).eps
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(got, expected, rtol=0, atol=unit * scale * (8 + math.sqrt(terms)), err_msg=str(problem))


def check(problem: Problem, processor: Processor, packs: bool | None = None, cuts: int = 1) -> None:
    """Assert that a convolution and its gradients are right."""
    arrays, dtype = Arrays(problem), problem.dtype
    reads = arrays.reads()
    terms = math.prod(problem.kernel) * problem.channels // problem.groups
    result = arrays.result()
    generate = GENERATORS["direct"] if packs is None else partial(correlate, packs=packs)
    codes = [generate(problem, what, processor) for what in ("result", "data")]
    (got,) = run(codes[0], reads, {"result": batch_last(result, dtype)}, cuts)
    close(got, batch_last(result, "float64"), problem, terms)
    expected = arrays.data_gradient()
    (got,) = run(codes[1], {**reads, "data": reads["gradient"]}, {"result": batch_last(expected, dtype)}, cuts)
    close(got, batch_last(expected, "float64"), problem, terms * problem.filters // problem.channels)
    expected = arrays.weight_gradient()
    code = GENERATORS["direct"](problem, "weight", processor)
    (got,) = run(code, reads, {"weight": expected.astype(dtype)}, cuts)
    close(got, expected, problem, problem.batch * math.prod(problem.positions))


@st.composite
def problems(draw: st.DrawFn, depthwise: bool = False) -> Problem:
    groups = draw(st.integers(1, 5 if depthwise else 3))
    channels = groups if depthwise else groups * draw(st.integers(1, 5))
    filters = groups * draw(st.integers(1, 2 if depthwise else 9))
    axes = []
    for _ in range(2):
        kernel, stride, dilate = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
        pad = draw(st.integers(0, dilate * (kernel - 1) + 1))
        least = max(1, dilate * (kernel - 1) + 1 - 2 * pad)
        axes.append((draw(st.integers(least, least + 7)), kernel, stride, dilate, pad))
    lengths, kernel, stride, dilate, pad = zip(*axes, strict=True)
    batch, dtype = draw(st.integers(1, 40)), draw(st.sampled_from(["float32", "float64"]))
    return Problem(batch, channels, filters, lengths, kernel, stride, dilate, pad, groups, dtype)


@few
@given(problems(), st.sampled_from(PROCESSORS), st.booleans(), st.integers(1, 3))
def test_random_convolutions(problem: Problem, processor: Processor, packs: bool, cuts: int) -> None:
    check(problem, processor, packs=packs, cuts=cuts)


@few
@given(problems(depthwise=True), st.sampled_from(PROCESSORS), st.integers(1, 2))
def test_random_depthwise_convolutions(problem: Problem, processor: Processor, cuts: int) -> None:
    check(problem, processor, cuts=cuts)


SEVERAL = {
    "batches in blocks": Problem(150, 3, 5, (5, 4), (3, 3), pad=(1, 1)),
    "channels in parts": Problem(33, 32, 6, (9, 6), (3, 3), pad=(1, 1)),
    "channels in parts, a stride": Problem(16, 32, 5, (9, 6), (3, 2), (2, 2), pad=(1, 1)),
    "numbers of the weight that meet in a set of the cache": Problem(32, 512, 24, (4, 2), (3, 3), pad=(1, 1)),
    "a wide kernel": Problem(9, 3, 4, (23, 25), (11, 11), (4, 4), pad=(2, 2)),
    "more rows than a tile": Problem(16, 2, 3, (40, 30), (3, 3)),
    "kernels of one": Problem(20, 7, 9, (6, 5), (1, 1)),
    "kernels of one, a stride": Problem(20, 7, 9, (6, 5), (1, 1), (2, 2)),
    "one row": Problem(12, 6, 10, (1, 30), (1, 5), pad=(0, 2)),
    "padding beyond the kernel": Problem(4, 2, 3, (3, 3), (2, 2), pad=(3, 4)),
}


@pytest.mark.parametrize("processor", [PROCESSORS[0], PROCESSORS[3]], ids=["large", "small"])
@pytest.mark.parametrize("name", SEVERAL)
def test_convolutions_in_several_parts(name: str, processor: Processor) -> None:
    check(SEVERAL[name], processor, cuts=2)


def test_small_caches_take_smaller_blocks() -> None:
    problem = SEVERAL["channels in parts"]
    small, large = (correlate(problem, "result", processor, True).body for processor in PROCESSORS[2::-2])
    assert small != large
    assert len(correlate(SEVERAL["more rows than a tile"], "result", PROCESSORS[0]).body) < 30000


# -- special values ----------------------------------------------------------------------------------------------------


def test_infinities_reach_only_what_they_belong_to() -> None:
    """Lanes that two vectors share, and positions beyond the border, do not spread an infinity or a NaN."""
    problem = Problem(19, 1, 2, (4, 4), (3, 3), pad=(1, 1))
    arrays = Arrays(problem)
    arrays.data[15, 0, 0, 0] = np.inf
    (got,) = run(weight_gradient(problem, PROCESSORS[0]), arrays.reads(), {"weight": arrays.weight.astype("float32")})
    expected = np.zeros((2, 1, 3, 3), bool)
    expected[:, :, :2, :2] = True  # tap (i, j) meets it at position (1 - i, 1 - j)
    np.testing.assert_array_equal(np.isinf(got), expected)
    result = arrays.result()
    code = correlate(problem, "result", PROCESSORS[0])
    (got,) = run(code, arrays.reads(), {"result": batch_last(result, "float32")})
    place = np.zeros(result.shape, bool)
    place[15, :, :2, :2] = True
    np.testing.assert_array_equal(~np.isfinite(got), batch_last(place, "bool"))


# -- other processors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["result", "data", "weight"])
def test_kernels_for_aarch64_are_objects_of_that_machine(what: str) -> None:
    problem = Problem(19, 6, 7, (9, 8), (3, 3), (2, 1), pad=(1, 1))
    code = GENERATORS["direct"](problem, what, Processor(16, 32))
    found = llvm.emit(module(code), "aarch64-unknown-linux-gnu")
    assert found[:4] == b"\x7fELF"
    assert found[18:20] == b"\xb7\x00"  # EM_AARCH64


@pytest.mark.parametrize("channels_last", [False, True])
def test_winograd_for_aarch64_is_an_object_of_that_machine(channels_last: bool) -> None:
    problem = Problem(1, 20, 24, (9, 8), (3, 3), pad=(1, 1))
    for make in (winograd, winograd_weight):
        code = make(problem, "result", Processor(16, 32), channels_last)
        found = llvm.emit(module(code), "aarch64-unknown-linux-gnu")
        assert found[:4] == b"\x7fELF"
        assert found[18:20] == b"\xb7\x00"  # EM_AARCH64


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("+sse2,+avx,+avx2,+avx512f,+avx512vl", (64, 32)),
        ("+sse2,+avx,+avx2,-avx512f", (32, 16)),
        ("+sse2,-avx", (16, 16)),
        ("+neon,+fp-armv8", (16, 32)),
    ],
)
def test_processors_by_their_features(features: str, expected: tuple[int, int]) -> None:
    processor = Processor.of(features)
    assert (processor.vector_bytes, processor.registers) == expected


# -- Winograd ----------------------------------------------------------------------------------------------------------


@st.composite
def winograd_problems(draw: st.DrawFn) -> Problem:
    channels, filters = draw(st.integers(16, 24)), draw(st.integers(16, 24))
    pad = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    lengths = tuple(draw(st.integers(max(1, 3 - 2 * p), 9)) for p in pad)
    dtype, batch = draw(st.sampled_from(["float32", "float64"])), draw(st.integers(1, 40))
    return Problem(batch, channels, filters, lengths, (3, 3), pad=pad, dtype=dtype)


@settings(max_examples=10, deadline=None)
@given(winograd_problems(), st.sampled_from(PROCESSORS), st.integers(1, 3))
def test_winograd(problem: Problem, processor: Processor, cuts: int) -> None:
    arrays, dtype = Arrays(problem), problem.dtype
    reads = arrays.reads()
    terms = 9 * problem.channels
    for what, data, expected in (
        ("result", "data", arrays.result()),
        ("data", "gradient", arrays.data_gradient()),
    ):
        assert covers_winograd(problem, what)
        packed = np.empty(transformed_shape(problem, what, processor, False), dtype)
        (weight,) = run(winograd_weight(problem, what, processor, False), reads, {"packed": packed}, cuts)
        given = {**reads, "data": reads[data], "weight": weight}
        (got,) = run(winograd(problem, what, processor, False), given, {"result": batch_last(expected, dtype)}, cuts)
        # A result is a sum of a few times as many terms.
        close(got, batch_last(expected, "float64"), problem, 8 * terms)


@pytest.mark.parametrize(
    "more",
    [{"stride": (2, 1)}, {"dilate": (1, 2)}, {"groups": 2}, {"kernel": (3, 2)}, {"channels": 8}, {"pad": (3, 1)}],
    ids=str,
)
def test_what_winograd_does_not_cover(more: dict[str, Any]) -> None:
    given = {"batch": 16, "channels": 32, "filters": 32, "lengths": (8, 8), "kernel": (3, 3), "pad": (1, 1)}
    assert covers_winograd(Problem(**given), "data")
    assert not covers_winograd(Problem(**given), "weight")
    assert not covers_winograd(Problem(**{**given, **more}), "result")


# -- channels last -----------------------------------------------------------------------------------------------------


def channels_last(values: np.ndarray, dtype: str) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(values, 1, -1), dtype)


def packed_weight(problem: Problem, processor: Processor, weight: np.ndarray) -> np.ndarray:
    """Return the weight as `pack_weight` packs it."""
    vectors = filter_vectors(problem, processor)
    filters = problem.filters // problem.groups
    starts = [min(number * vectors.width, filters - vectors.width) for number in range(vectors.count)]
    groups = weight.reshape(problem.groups, filters, *weight.shape[1:])
    parts = [one[start : start + vectors.width].transpose(2, 3, 1, 0) for one in groups for start in starts]
    return np.ascontiguousarray(parts)


@st.composite
def channels_problems(draw: st.DrawFn) -> tuple[Problem, Processor]:
    kind = draw(st.sampled_from(["whole", "groups", "depthwise"]))
    channels, filters, groups = draw(st.integers(1, 20)), draw(st.integers(1, 40)), 1
    if kind == "groups":
        groups = draw(st.integers(2, 3))
        channels, filters = groups * draw(st.integers(2, 6)), groups * draw(st.integers(1, 20))
    elif kind == "depthwise":
        channels = filters = groups = draw(st.integers(2, 40))
    axes = []
    for _ in range(2):
        kernel, stride, dilate = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
        pad = draw(st.integers(0, kernel))
        least = max(1, dilate * (kernel - 1) + 1 - 2 * pad)
        axes.append((draw(st.integers(least, least + 12)), kernel, stride, dilate, pad))
    lengths, kernel, stride, dilate, pad = zip(*axes, strict=True)
    batch, dtype = draw(st.integers(1, 3)), draw(st.sampled_from(["float32", "float64"]))
    problem = Problem(batch, channels, filters, lengths, kernel, stride, dilate, pad, groups, dtype)
    return problem, draw(st.sampled_from(PROCESSORS))


def check_channels_last(problem: Problem, processor: Processor, cuts: int) -> None:
    arrays, dtype = Arrays(problem), problem.dtype
    weight = arrays.weight.astype(dtype)
    depthwise = problem.is_depthwise and problem.groups > 1
    if depthwise:
        packed = np.ascontiguousarray(weight[:, 0].transpose(1, 2, 0))
    else:
        expected = packed_weight(problem, processor, weight)
        assert expected.shape == packed_shape(problem, processor)
        (packed,) = run(pack_weight(problem, processor), {"weight": weight}, {"packed": expected}, cuts)
        np.testing.assert_array_equal(packed, expected)
    reads = {
        "data": channels_last(arrays.data, dtype),
        "weight": packed,
    }
    result = arrays.result()
    code = channels_depthwise(problem, processor) if depthwise else channels_forward(problem, processor)
    (got,) = run(code, reads, {"result": channels_last(result, dtype)}, cuts)
    terms = problem.channels // problem.groups * math.prod(problem.kernel)
    close(got, channels_last(result, "float64"), problem, terms)


@few
@given(channels_problems(), st.integers(1, 2))
def test_random_convolutions_with_channels_last(given: tuple[Problem, Processor], cuts: int) -> None:
    check_channels_last(*given, cuts)


LARGE = {
    "rows of one block": Problem(1, 40, 40, (7, 7), (3, 3), pad=(1, 1)),
    "rows of several": Problem(1, 20, 33, (30, 31), (3, 3), pad=(1, 1)),
    "kernels of one": Problem(1, 130, 70, (9, 9), (1, 1)),
    "positions that meet in a set of the cache": Problem(1, 2048, 20, (7, 7), (1, 1)),
    "a stride": Problem(1, 1024, 20, (9, 9), (1, 1), (2, 2)),
    "kernels of one with few filters, in rows": Problem(1, 24, 16, (18, 18), (1, 1)),
    "a weight that is fetched ahead": Problem(1, 1100, 40, (5, 5), (1, 1)),
}


@pytest.mark.parametrize("processor", PROCESSORS, ids=["avx512", "avx2", "neon", "sse"])
@pytest.mark.parametrize("name", LARGE)
def test_larger_convolutions_with_channels_last(name: str, processor: Processor) -> None:
    check_channels_last(LARGE[name], processor, 2)


TILES = winograd_kernels.TILES


# -- Winograd, channels last -------------------------------------------------------------------------------------------


@st.composite
def channels_winograd_problems(draw: st.DrawFn) -> Problem:
    channels, filters = draw(st.integers(16, 50)), draw(st.integers(16, 70))
    pad = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    lengths = tuple(draw(st.integers(max(1, 3 - 2 * p), 19)) for p in pad)
    dtype, batch = draw(st.sampled_from(["float32", "float64"])), draw(st.integers(1, 3))
    return Problem(batch, channels, filters, lengths, (3, 3), pad=pad, dtype=dtype)


@few
@given(channels_winograd_problems(), st.sampled_from(PROCESSORS), st.integers(1, 3), st.sampled_from(TILES))
def test_winograd_with_channels_last(problem: Problem, processor: Processor, cuts: int, kind: Transforms) -> None:
    with mock.patch.object(winograd_kernels, "TILES", (kind,)):
        check_winograd_with_channels_last(problem, processor, cuts)


def check_winograd_with_channels_last(problem: Problem, processor: Processor, cuts: int) -> None:
    arrays, dtype = Arrays(problem), problem.dtype
    function = Packing(problem, "channels winograd", processor)
    weight = arrays.weight.astype(dtype)
    code = winograd_weight(problem, "result", processor, True)
    expected = function(weight)
    assert expected.shape == function.shape
    (packed,) = run(code, {"weight": weight}, {"packed": expected}, cuts)
    unit = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(packed, expected, rtol=0, atol=8 * unit * np.abs(expected).max())
    np.testing.assert_allclose(function.unpacked(expected), weight, rtol=0, atol=50 * unit * np.abs(weight).max())
    reads = {
        "data": channels_last(arrays.data, dtype),
        "weight": packed,
    }
    result = arrays.result()
    code = winograd(problem, "result", processor, True)
    (got,) = run(code, reads, {"result": channels_last(result, dtype)}, cuts)
    # A result is a sum of a few times as many terms.
    close(got, channels_last(result, "float64"), problem, 8 * 9 * problem.channels)


@pytest.mark.parametrize("length", [7, 14, 28])
def test_errors_of_winograd_are_those_of_a_sum(length: int) -> None:
    """Of many channels, as in networks, errors stay within three times those of the direct kernel, or close to them."""
    problem = Problem(1, 256, 32, (length, length), (3, 3), pad=(1, 1))
    processor, arrays = PROCESSORS[0], Arrays(problem)
    arrays.data = np.maximum(arrays.data, 0)
    exact = channels_last(arrays.result(), "float64")
    weight = arrays.weight.astype(np.float32)
    errors = []
    for kind in ("channels", "channels winograd"):
        packed = np.ascontiguousarray(Packing(problem, kind, processor)(weight))
        reads = {"data": channels_last(arrays.data, "float32"), "weight": packed}
        code = GENERATORS[kind](problem, "result", processor)
        (got,) = run(code, reads, {"result": exact.astype(np.float32)})
        errors.append(np.abs(got - exact).max() / np.abs(exact).max())
    assert errors[1] < max(3 * errors[0], 3e-6), errors


def test_a_number_that_is_none_stays_in_its_tile() -> None:
    problem = Problem(1, 16, 16, (16, 16), (3, 3), pad=(1, 1))
    arrays = Arrays(problem)
    arrays.data[0, 3, 5, 9] = np.nan
    weight = np.ascontiguousarray(Packing(problem, "channels winograd", PROCESSORS[0])(arrays.weight.astype("f")))
    reads = {"data": channels_last(arrays.data, "float32"), "weight": weight}
    like = np.empty((1, 16, 16, 16), np.float32)
    (got,) = run(winograd(problem, "result", PROCESSORS[0], True), reads, {"result": like})
    expected = np.zeros((16, 16), bool)
    expected[4:8, 8:12] = True  # rows 3 to 8 of the data are read for the results of rows 4 to 7
    np.testing.assert_array_equal(np.isnan(got[0]).all(-1), expected)
    np.testing.assert_array_equal(np.isnan(got[0]).any(-1), expected)
