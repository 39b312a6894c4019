"""The gradient rules of the operator table, traced: how many, and that their steps compute what the rules do."""

from __future__ import annotations

from typing import Any

import numpy as np
from many import each
from operator_table import ALL_ROWS
from operator_table.row import Row
from traces import traced_rule

import minpy as mx
from minpy.capture.places import CaptureRefused
from minpy.core import Operator
from minpy.core.array import Shaped
from minpy.core.tape_walk import conform
from minpy.ops.registry import OPERATORS

# Rules that look at values, which is what makes them right: they are called.
CALLED = {
    ("gather_nd", 0): "refuses indices that are out of range",
    # Only where lengths are given:
    ("SequenceLast", 0): "refuses lengths that are longer than the time",
    ("SequenceMask", 0): "refuses lengths that are longer than the time",
    ("SequenceReverse", 0): "refuses lengths that are longer than the time",
    ("_contrib_ROIAlign", 0): "counts samples as the largest of the regions needs",
    ("_contrib_RROIAlign", 0): "counts samples as the largest of the regions needs",
    ("_contrib_boolean_mask", 0): "puts rows where a mask says",
    ("_contrib_box_nms", 0): "puts rows where the kept boxes came from",
    ("_contrib_count_sketch", 0): "takes what positions say",
    ("_contrib_count_sketch", 2): "takes what positions say",
    **{("_contrib_hawkesll", position): "runs under a tape of its own" for position in (0, 1, 2, 4, 7)},
    ("_contrib_index_copy", 0): "takes what positions say",
    ("_contrib_index_copy", 2): "takes what positions say",
    **{
        (f"_image_random_{name}", 0): "does what the numbers that were drawn say"
        for name in [
            "flip_left_right",
            "flip_top_bottom",
            "brightness",
            "contrast",
            "saturation",
            "hue",
            "color_jitter",
        ]
    },
    **{("RNN", index): "refuses lengths that are longer than the time" for index in range(4)},
    ("CTCLoss", 0): "refuses labels and lengths that are out of range",
    ("_scatter_set_nd", 0): "refuses indices that are out of range",
    ("_scatter_set_nd", 1): "refuses indices that are out of range",
}


def operator_of(row: Row) -> Operator:
    return row.operator if row.operator is not None else OPERATORS[row.name]


def pairs(row: Row) -> list[int]:
    """Return the inputs of a row whose gradient is a rule's."""
    operator = operator_of(row)
    if operator.expands:  # graphs differentiate what it is made of
        return []
    return [index for index in row.differentiable if not operator.is_zero(index) and operator.has_rule(index)]


ROWS = [row for row in ALL_ROWS if pairs(row)]


def point(row: Row, dtype: str) -> tuple[list[np.ndarray], dict[str, Any], Any, Any]:
    """Return arguments, attributes, answer and upstream gradient."""
    operator, arrays = operator_of(row), row.draw(dtype)
    attributes = dict(row.attributes)
    if operator.uses_training:
        attributes["training"] = row.training
    mx.random.seed(7)
    answer = operator.forward(*arrays, **attributes)
    random = np.random.RandomState(1)

    def like(value: Any) -> np.ndarray:
        return np.asarray(random.normal(size=np.shape(value))).astype(np.asarray(value).dtype)

    gradient = tuple(map(like, answer)) if isinstance(answer, tuple) else like(answer)
    return arrays, attributes, answer, gradient


def test_nearly_every_rule_of_the_table_is_traced() -> None:
    found: dict[tuple[str, int], str] = {}
    for row in ROWS:
        arrays, attributes, answer, gradient = point(row, "float32" if "float32" in row.dtypes else "float64")
        for index in pairs(row):
            pair = (operator_of(row).__name__, index)
            found.setdefault(pair, "")
            try:
                traced_rule(operator_of(row), index, answer, arrays, attributes, gradient)
            except CaptureRefused as error:
                found[pair] = error.reason
    called = {pair for pair, reason in found.items() if reason}
    assert called == set(CALLED)
    assert len(found) - len(called) >= 175


@each({row.id: (row,) for row in ROWS}, at_once=5)
def test_steps_compute_what_rules_do(row: Row) -> None:
    """To the last bit, in every dtype, with the shapes and dtypes that were found without computing."""
    operator = operator_of(row)
    for dtype in {"float64", *row.dtypes}:
        arrays, attributes, answer, gradient = point(row, dtype)
        first = np.asarray(answer[0] if isinstance(answer, tuple) else answer)
        for index in pairs(row):
            try:
                trace, part = traced_rule(operator, index, answer, arrays, attributes, gradient)
            except CaptureRefused:
                assert (operator.__name__, index) in CALLED
                continue
            definition = operator.rules[index] if index < len(operator.rules) else None
            several = operator.gradients.of_several(index)
            if several is not None and several[1] in operator.gradients.several_raw:  # what runs is a kernel
                expected = several[1](answer, *arrays, **attributes)(gradient)[index]
            elif definition is not None and operator.raw_rules[index] is not definition:
                expected = definition(answer, *arrays, **attributes)(gradient)
            else:
                expected = operator.vjp(answer, arrays, attributes, gradient, [index])[0]
            like = Shaped(first.shape, first.dtype)
            expected = conform(expected, operator, index, like, arrays[index])  # type: ignore[arg-type]
            np.testing.assert_array_equal(trace.compute(part), expected)
