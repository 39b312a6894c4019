"""Updates of weights beyond what the operator table says: large arrays, views, what stays as it is, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minpy import nd
from minpy.core.errors import ArgumentError, DTypeError, MXNetError, ShapeError
from minpy.ops.optimizer.updates import Update
from minpy.ops.registry import OPERATORS

SINGLE = [one for one in OPERATORS.values() if isinstance(one, Update) and "adagrad" not in one.__name__]
RATES = {
    "lr": 0.1, "wd": 0.25, "rescale_grad": 0.5, "clip_gradient": 0.75, "clip_grad": 0.75, "momentum": 0.5, "t": 3,
    "epsilon": 0.01, "eta": 0.5, "wd_lh": 0.1,
}  # fmt: skip


def attributes_of(operator: Update) -> dict[str, Any]:
    inputs, known = operator.signature.inputs, operator.signature.attributes
    return {name: value for name, value in RATES.items() if name in known and name not in inputs}


def draw(operator: Update, shape: tuple[int, ...], dtype: str = "float64") -> list[np.ndarray]:
    random = np.random.RandomState(3)
    ranges = {"n": (0.75, 1.5), "g": (0.25, 0.5)}  # an average of squares is no less than the average's square
    return [
        random.uniform(*ranges.get(name, (0.5, 1.5)), (1,) if name in operator.numbers else shape).astype(dtype)
        for name in operator.signature.inputs
    ]


def close(got: list[np.ndarray], wanted: list[np.ndarray], tolerance: float = 1e-12) -> None:
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("operator", SINGLE, ids=lambda one: one.__name__)
def test_blocks_and_views_are_as_the_definition(operator: Update) -> None:
    """Weights of more than one block, C-contiguous and not; the states as well as the weight."""
    for make in (np.copy, lambda array: np.repeat(array, 2)[::2] if array.size > 1 else array.copy()):
        arrays = draw(operator, (300_001,))
        expected = [array.copy() for array in arrays]
        wanted = operator.definition(*expected, **{**operator.defaults, **attributes_of(operator)})
        given = [make(array) for array in arrays]
        found = operator(*given, **attributes_of(operator))
        close([found, *given], [wanted, *expected])


@pytest.mark.parametrize("operator", SINGLE, ids=lambda one: one.__name__)
def test_out_may_be_the_weight_or_another_array(operator: Update) -> None:
    arrays = [nd.array(array, dtype="float64") for array in draw(operator, (5,))]
    elsewhere, in_place = [array.copy() for array in arrays], [array.copy() for array in arrays]
    out = nd.zeros(5, dtype="float64")
    attributes = attributes_of(operator)
    returned = operator(*arrays, **attributes).asnumpy()
    assert operator(*elsewhere, out=out, **attributes) is out
    assert operator(*in_place, out=in_place[0], **attributes) is in_place[0]
    np.testing.assert_array_equal(elsewhere[0].asnumpy(), draw(operator, (5,))[0])
    for result in (out, in_place[0]):
        np.testing.assert_array_equal(result.asnumpy(), returned)
    for several in zip(arrays[1:], elsewhere[1:], in_place[1:], strict=True):
        assert len({array.asnumpy().tobytes() for array in several}) == 1


@pytest.mark.parametrize("operator", SINGLE, ids=lambda one: one.__name__)
def test_float16_is_computed_in_float32(operator: Update) -> None:
    arrays = draw(operator, (300,), "float16")
    wide = [array.astype("float32") for array in arrays]
    found = operator(*arrays, **attributes_of(operator))
    wanted = operator(*wide, **attributes_of(operator))
    np.testing.assert_array_equal(found, wanted.astype(found.dtype))


@pytest.mark.parametrize("operator", SINGLE, ids=lambda one: one.__name__)
def test_weights_without_axes_or_elements(operator: Update) -> None:
    for shape in ((), (0,), (2, 0)):
        arrays = draw(operator, shape, "float32")
        assert operator(*arrays, **attributes_of(operator)).shape == shape


@pytest.mark.parametrize("operator", SINGLE, ids=lambda one: one.__name__)
def test_integers_are_refused(operator: Update) -> None:
    arrays = draw(operator, (3,), "int32")
    with pytest.raises(DTypeError, match=rf"^{operator.__name__}: weight has dtype int32; expected a floating-point"):
        operator(*arrays, **attributes_of(operator))


@pytest.mark.parametrize("name", ["sgd_update", "sgd_mom_update", "nag_mom_update", "adam_update", "rmsprop_update"])
def test_a_weight_decay_of_zero_leaves_infinite_weights_alone(name: str) -> None:
    """0 · weight would be NaN: of small weights, of several blocks, and by the definition."""
    operator = OPERATORS[name]
    for size in (3, 300_001):
        arrays = draw(operator, (size,), "float32")
        arrays[0][0] = np.inf
        defined = operator.definition(*map(np.copy, arrays), lr=0.5)
        for result in (defined, operator(*arrays, lr=0.5)):
            assert result[0] == np.inf
            assert np.isfinite(result[1:]).all()


def test_a_training_loop_of_lamb_in_two_phases_is_that_of_one_call() -> None:
    """Multi-precision, too: the weight in float32 moves."""
    random = np.random.RandomState(0)
    start = random.standard_normal((4, 3)).astype("float32")
    one, mean, var = nd.array(start), nd.zeros((4, 3)), nd.zeros((4, 3))
    low, low32 = nd.array(start, dtype="float16"), nd.array(start)
    low_mean, low_var = nd.zeros((4, 3)), nd.zeros((4, 3))
    several, means, variances = [nd.array(start)], [nd.zeros((4, 3))], [nd.zeros((4, 3))]
    for t in range(1, 6):
        grad = nd.array(random.standard_normal((4, 3)))
        step = nd.lamb_update_phase1(one, grad, mean, var, t=t, wd=0.1)
        nd.lamb_update_phase2(one, step, one.norm(), step.norm(), lr=0.1, out=one)
        step = nd.mp_lamb_update_phase1(low, grad.astype("float16"), low_mean, low_var, low32, t=t, wd=0.1)
        nd.mp_lamb_update_phase2(low, step, low32.norm(), step.norm(), low32, lr=0.1, out=low)
        nd.contrib.multi_lamb_update(several, [grad], means, variances, [t], [0.1], [0.1], out=several)
    np.testing.assert_allclose(several[0].asnumpy(), one.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(low32.asnumpy(), one.asnumpy(), atol=5e-3)
    np.testing.assert_array_equal(low.asnumpy(), low32.asnumpy().astype("float16"))
    assert np.abs(low32.asnumpy() - start).max() > 0.1


W, G = nd.ones(3), nd.ones(3)
BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: nd.adam_update(W, nd.ones(2), W, W, lr=0.1),
        ShapeError,
        "adam_update: grad is float32 (2,), weight float32 (3,); shapes must be equal.",
    ),
    (
        lambda: nd.rmsprop_update(W, G, 3, lr=0.1),
        ArgumentError,
        "rmsprop_update: n is int 3; expected an NDArray or NumPy array.",
    ),
    (
        lambda: nd.adam_update(W, G, W, W, lr=0.1, out=nd.zeros(2)),
        ShapeError,
        "adam_update: out has shape (2,), weight (3,); they must be equal.",
    ),
    (
        lambda: nd.lamb_update_phase2(W, G, nd.ones(2), nd.ones(1), lr=0.1),
        ShapeError,
        "lamb_update_phase2: r1 is float32 (2,); expected an array of one number, of shape (1,).",
    ),
    (
        lambda: nd.contrib.group_adagrad_update(nd.ones((2, 3)), nd.ones((2, 3)), nd.ones(2), lr=0.1),
        ShapeError,
        (
            "_contrib_group_adagrad_update: history is float32 (2,), weight float32 (2, 3); history has one "
            "number a row, as in (rows, 1)."
        ),
    ),
    (
        lambda: nd.multi_sgd_update(W, G, W, lrs=(0.1, 0.1), wds=(0, 0), num_weights=2),
        ArgumentError,
        "multi_sgd_update: 3 arrays are given; num_weights=2 weights need 4: weight, grad of each.",
    ),
    (
        lambda: nd.preloaded_multi_sgd_update(W, G, W, num_weights=1),
        ArgumentError,
        (
            "preloaded_multi_sgd_update: 3 arrays are given; num_weights=1 weights need 4: weight, grad of each, then "
            "lrs, wds."
        ),
    ),
    (
        lambda: nd.multi_sgd_update(W, G, lrs=(0.1, 0.2), wds=(0,)),
        ArgumentError,
        "multi_sgd_update: lrs has 2 values, (0.1, 0.2); num_weights=1 weights need one each.",
    ),
    (
        lambda: nd.multi_sgd_update(W, G, W, nd.ones(2), lrs=(0.1, 0.2), wds=(0, 0), num_weights=2),
        ShapeError,
        "multi_sgd_update: weight 1 of 2: sgd_update: grad is float32 (2,), weight float32 (3,); shapes must be equal.",
    ),
    (
        lambda: nd.multi_sgd_update(W, G, lrs=(0.1,), wds=(0,), out=[W, W]),
        ArgumentError,
        "multi_sgd_update: out= is 2 array(s), num_weights=1; give a list with one array for each weight.",
    ),
    (
        lambda: nd.contrib.adamw_update(W, G, W, W, "x", lr=0.1, eta=1),
        ArgumentError,
        "nd.contrib.adamw_update: rescale_grad is str 'x'; expected a number, or an NDArray of one.",
    ),
    (
        lambda: nd.contrib.multi_adamw_update([W, W], [G], [W, W], [W, W], 1, (0.1,), (0,), (1,)),
        ArgumentError,
        "nd.contrib.multi_adamw_update: the lists of arrays have 2, 1, 2, 2 items; expected 2 in each.",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), BAD, ids=[text.split(":")[0] for _, _, text in BAD])
def test_bad_input(call: Callable[[], Any], kind: type[MXNetError], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
