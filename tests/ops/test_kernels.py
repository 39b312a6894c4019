"""Kernels at the sizes where they begin to differ from definitions, on what they may get wrong: NaN, infinities, ties,
signs of zero, layouts, integers, repeated positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minpy.checking.kernel_forms import ulps_apart
from minpy.ops.kernels.error_function import float32_erf
from minpy.ops.kernels.permuting import laid_out
from minpy.ops.kernels.scattering import add_rows
from minpy.ops.kernels.selecting import LARGE, keep, select
from minpy.ops.kernels.sort_and_top_k import largest_positions, positions_in_order
from minpy.ops.registry import OPERATORS

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64", "uint32")


def awkward(random: np.random.RandomState, shape: tuple[int, ...], dtype: str) -> Any:
    """Return numbers with many ties; of floating point also NaN, infinities, zeros of both signs."""
    if np.dtype(dtype).kind != "f":
        limits = np.iinfo(dtype)
        numbers = random.randint(0, 6, shape).astype(dtype)
        numbers[random.uniform(size=shape) < 0.05] = limits.max
        numbers[random.uniform(size=shape) < 0.05] = limits.min
        return numbers
    numbers = np.round(random.normal(0, 2, shape) * 4) / 4
    for special in (np.nan, np.inf, -np.inf, -0.0):
        numbers[random.uniform(size=shape) < 0.02] = special
    return numbers.astype(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("layout", ["plain", "strided", "mixed", "small"])
def test_selecting(dtype: str, layout: str) -> None:
    random = np.random.RandomState(3)
    shape = (4, 5) if layout == "small" else (2, LARGE)
    x, y = awkward(random, shape, dtype), awkward(random, shape, dtype)
    condition = random.uniform(size=shape) < 0.5
    if layout == "strided":
        x, condition = x[:, ::-1], np.asfortranarray(condition)
    if layout == "mixed":
        y = y[:1]
    got, wanted = select(condition, x, y), np.where(condition, x, y)
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))
    kept = keep(condition, x)
    assert kept.dtype == x.dtype
    np.testing.assert_array_equal(kept, np.where(condition, x, np.zeros((), dtype)))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    dtype=st.sampled_from([*FLOATS, *INTEGERS]),
    rows=st.integers(1, 70),
    length=st.integers(1, 200),
    count=st.integers(1, 9),
    ascending=st.booleans(),
)
def test_orders(seed: int, dtype: str, rows: int, length: int, count: int, ascending: bool) -> None:
    data = awkward(np.random.RandomState(seed), (rows, length), dtype)
    np.testing.assert_array_equal(positions_in_order(data), np.argsort(data, axis=-1, kind="stable"))
    before = data.copy()
    few = largest_positions(data, min(count, length), ascending)
    np.testing.assert_array_equal(data, before)
    if few is not None:
        if ascending:
            wanted = np.argsort(data, axis=-1, kind="stable")
        else:
            wanted = length - 1 - np.argsort(data[:, ::-1], axis=-1, kind="stable")[:, ::-1]
        np.testing.assert_array_equal(few, wanted[:, : min(count, length)])


def test_the_largest_are_found_one_by_one_where_they_can() -> None:
    data = np.random.RandomState(0).normal(size=(5, 64)).astype("float32")
    assert largest_positions(data, 3, False) is not None
    data[2] = -np.inf
    assert largest_positions(data, 3, False) is None
    assert largest_positions(data, 0, False) is None
    data[2, :9] = np.nan
    assert largest_positions(data, 2, True) is None


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    width=st.sampled_from([0, 1, 2, 4, 5, 16]),
    length=st.integers(0, 300),
    count=st.integers(1, 40),
    dtype=st.sampled_from(FLOATS),
    favourite=st.floats(0, 1),
)
def test_rows_are_added_up(seed: int, width: int, length: int, count: int, dtype: str, favourite: float) -> None:
    random = np.random.RandomState(seed)
    data = random.normal(size=(length, width)).astype(dtype)
    rows = np.where(random.uniform(size=length) < favourite, count // 2, random.randint(0, count, length))
    wanted = np.zeros((count, width))
    np.add.at(wanted, rows, data.astype("float64"))
    got = add_rows(data, rows, count)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(dtype).eps, atol=40 * np.finfo(dtype).eps)


def test_many_rows_of_one_number_keep_their_digits() -> None:
    data = np.full((300_000, 5), 0.1, "float32")
    np.testing.assert_allclose(add_rows(data, np.zeros(len(data), int), 2)[0], 30000, rtol=1e-5)


@pytest.mark.parametrize("shape", [(512, 1024), (3, 64, 512), (16, 4, 16, 512), (1024, 17)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_permuted_copies(shape: tuple[int, ...], dtype: str) -> None:
    data = np.random.RandomState(0).randint(0, 100, shape).astype(dtype)
    for order in (range(len(shape))[::-1], [*range(1, len(shape)), 0], [0, *range(len(shape) - 1, 0, -1)]):
        view = data.transpose(*order)
        got = laid_out(view)
        np.testing.assert_array_equal(got, view)
        assert got is view or got.flags.c_contiguous
    assert laid_out(np.zeros((1024, 512), "float32").T).flags.c_contiguous


def test_the_error_function_is_accurate() -> None:
    special = pytest.importorskip("scipy.special")
    random = np.random.RandomState(0)
    for data in (random.uniform(-6, 6, 300_000), np.geomspace(1e-37, 1e38, 30_000), np.linspace(3.5, 4.5, 50_000)):
        x = np.concatenate([data, -data]).astype("float32")
        wanted = special.erf(x.astype("float64")).astype("float32")
        assert ulps_apart(float32_erf(x), wanted).max() <= 4
    edges = np.array([0, -0.0, np.inf, -np.inf, np.nan], "float32")
    np.testing.assert_array_equal(float32_erf(edges), [0, -0.0, 1, -1, np.nan])
    assert np.signbit(float32_erf(edges)).tolist()[:2] == [False, True]


# Operators whose kernels go other ways with many elements: the inputs' shapes (or values), attributes, and how many
# units in the last place the answers may be apart.
_WHOLE = np.random.RandomState(1).randint(-3, 70, 4000)
MANY: list[tuple[str, list[Any], dict[str, Any], float]] = [
    ("relu", [(100, 200)], {}, 0),
    ("sigmoid", [(100, 200)], {}, 4),
    ("erf", [(100, 200)], {}, 8),
    ("clip", [(100, 200)], {"a_min": -0.5, "a_max": 1.0}, 0),
    ("clip", [(100, 200)], {"a_min": 1.0, "a_max": -1.0}, 0),
    ("_maximum_scalar", [(100, 200)], {"scalar": 0.5}, 0),
    ("_minimum_scalar", [(100, 200)], {"scalar": -0.25}, 0),
    ("_maximum_scalar", [(100, 200)], {"scalar": np.nan}, 0),
    ("LeakyReLU", [(100, 200)], {"act_type": "leaky", "slope": 0.1}, 1),
    ("LeakyReLU", [(100, 200)], {"act_type": "leaky", "slope": 0.0}, 1),
    ("LeakyReLU", [(100, 200)], {"act_type": "leaky", "slope": 1.5}, 1),
    ("LeakyReLU", [(100, 200)], {"act_type": "leaky", "slope": -0.5}, 1),
    ("LeakyReLU", [(100, 200)], {"act_type": "elu", "slope": 0.3}, 4),
    ("LeakyReLU", [(100, 200)], {"act_type": "gelu"}, 64),
    ("where", [(100, 200), (100, 200), (100, 200)], {}, 0),
    ("where", [(100,), (100, 200), (100, 200)], {}, 0),
    ("sort", [(64, 100)], {"axis": 1}, 0),
    ("sort", [(64, 100)], {"axis": 0, "is_ascend": False}, 0),
    ("argsort", [(64, 100)], {"axis": 0, "is_ascend": False}, 0),
    ("topk", [(64, 100)], {"axis": 1, "k": 3, "ret_typ": "both"}, 0),
    ("topk", [(64, 100)], {"axis": 0, "k": 5, "is_ascend": True, "ret_typ": "value"}, 0),
    ("topk", [(64, 100)], {"axis": 1, "k": 30}, 0),
    ("take", [(60, 30), _WHOLE], {"mode": "clip"}, 16),
    ("take", [(60, 30), _WHOLE], {"mode": "wrap"}, 16),
    ("Embedding", [_WHOLE, (60, 30)], {"input_dim": 60, "output_dim": 30}, 16),
    ("gather_nd", [(60, 30), np.random.RandomState(2).randint(-30, 30, (2, 3000))], {}, 16),
    ("gather_nd", [(60, 30, 7), np.random.RandomState(2).randint(-30, 30, (2, 3000))], {}, 16),
    ("one_hot", [_WHOLE], {"depth": 60}, 0),
    ("one_hot", [_WHOLE], {"depth": 60, "on_value": 2.5, "off_value": -1.0, "dtype": "float64"}, 0),
    ("SequenceMask", [(60, 50, 3), np.random.RandomState(3).randint(0, 61, 50)], {"value": 2.0}, 0),
    ("transpose", [(256, 1024)], {}, 0),
    ("transpose", [(4, 256, 512)], {"axes": (2, 0, 1)}, 0),
    ("swapaxes", [(64, 16, 512)], {"dim1": 0, "dim2": 2}, 0),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "inputs", "attributes", "ulps"), MANY, ids=lambda value: str(value)[:30])
def test_kernels_of_many_elements(
    name: str, inputs: list[Any], attributes: dict[str, Any], ulps: float, dtype: str
) -> None:
    operator, random = OPERATORS[name], np.random.RandomState(7)
    defaults = {key: one.default for key, one in operator.signature.attributes.items()}
    attributes = {**defaults, **attributes, **({"use_sequence_length": True} if name == "SequenceMask" else {})}
    arrays = [
        awkward(random, one, dtype) if isinstance(one, tuple) else np.asarray(one).astype("float32") for one in inputs
    ]
    with np.errstate(all="ignore"):
        wanted = operator.definition(*arrays, **attributes)
        got = operator.forward(*arrays, **attributes)
        parts = (wanted, got) if isinstance(wanted, tuple) else ((wanted,), (got,))
        for one, other in zip(*parts, strict=True):
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            assert ulps_apart(np.asarray(one), np.asarray(other)).max() <= ulps
        for index, (rule, raw) in enumerate(zip(operator.rules, operator.raw_rules, strict=True)):
            if rule is None or operator.is_zero(index) or isinstance(wanted, tuple):
                continue
            g = random.normal(size=wanted.shape).astype(wanted.dtype)
            slow, fast = (np.asarray(one(wanted, *arrays, **attributes)(g)) for one in (rule, raw))
            np.testing.assert_allclose(
                fast.astype(dtype), slow.astype(dtype), rtol=0.02 if dtype == "float16" else 1e-4
            )
