"""What graphs ask of operators: names, shapes and dtypes that rules claim, against calls, and against MXNet."""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from calling_rows import call, operator_of, scope
from many import each
from operator_table import ALL_ROWS
from operator_table.row import Row
from places import GOLDEN

import minpy as mx
from minpy import customop, nd
from minpy.core import Operator
from minpy.core.errors import DTypeError, MXNetError, ShapeError
from minpy.ops.inference.partial_shapes import UNKNOWN, as_dtype, merge_dtypes, merge_shapes, same_dtype
from minpy.ops.registry import OPERATORS

sys.path.insert(0, str(GOLDEN))
try:
    cases = importlib.import_module("inference_cases")
finally:
    sys.path.remove(str(GOLDEN))

ANSWERS = json.loads((GOLDEN / "inference.json").read_text())
PUBLIC = {operator.__name__: (operator,) for operator in OPERATORS.values()}
ROWS = {row.id: (row,) for row in ALL_ROWS}

# Inputs whose shape a rule takes from the data unless it is given, although another one would do.
BY_DEFAULT = {"LeakyReLU-shared": {1}, "_contrib_count_sketch-vectors": {1, 2}}
# Without a rule: graphs run them on arrays of ones.
WITHOUT_SHAPES: set[str] = set()


def shapes_of(row: Row, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the shapes of a row's inputs and outputs."""
    with scope(row):
        outputs = call(row, inputs)
    return [np.shape(value) for value in inputs], [np.shape(value) for value in outputs]


def partly(shapes: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield shapes of which something is not known: one, all, one of the lengths, or all first lengths."""
    for position, shape in enumerate(shapes):
        for hidden in (None, *((*shape[:axis], UNKNOWN, *shape[axis + 1 :]) for axis in range(len(shape)))):
            yield [hidden if place == position else known for place, known in enumerate(shapes)]
    yield [None] * len(shapes)
    yield [(UNKNOWN,) * len(shape) for shape in shapes]
    yield [(UNKNOWN, *shape[1:]) if shape else shape for shape in shapes]


# -- against calls -----------------------------------------------------------------------------------------------------


@each(ROWS)
def test_names(row: Row) -> None:
    """There are as many names as inputs and outputs."""
    operator, inputs = operator_of(row), row.draw()
    shapes = shapes_of(row, inputs)
    names = operator.output_names(dict(row.attributes))
    assert len(names) == len(set(names)) == len(shapes[1])
    assert len(operator.input_names(dict(row.attributes), len(inputs))) == len(inputs)


@each({row.id: (row,) for row in ALL_ROWS if row.bound and operator_of(row).shape_inference is not None})
def test_shapes(row: Row) -> None:
    """Rules find what calls do, and claim nothing else of what is partly known."""
    rule = operator_of(row).shape_inference
    assert rule is not None
    inputs, outputs = shapes_of(row, row.draw())
    unknown = [None] * len(outputs)
    found = rule(list(inputs), unknown, **row.attributes)
    assert [tuple(shape) for shape in found[1]] == outputs
    assert not [shape for shape, true in zip(found[0], inputs, strict=True) if merge_shapes(shape, true) != true]
    default = BY_DEFAULT.get(row.id, set())
    for known_inputs in (inputs, *partly(inputs)):
        for known_outputs in (outputs, *partly(outputs)):
            claimed = rule(list(known_inputs), list(known_outputs), **row.attributes)
            assert [len(part) for part in claimed] == [len(inputs), len(outputs)]
            for position, (shape, true) in enumerate(zip(claimed[0], inputs, strict=True)):
                assert position in default or merge_shapes(shape, true) == true, (known_inputs, known_outputs)
            for shape, true in zip(claimed[1], outputs, strict=True):
                assert merge_shapes(shape, true) == true, (known_inputs, known_outputs)


@each({row.id: (row,) for row in ALL_ROWS if row.bound})
def test_lengths_of_zero(row: Row) -> None:
    """A length of zero is one as any other: where a call works without elements, its shapes are those of the rule."""
    rule = operator_of(row).shape_inference
    drawn = [np.shape(value) for value in row.draw()]
    for zero in {length for shape in drawn for length in shape}:
        shapes = [tuple(0 if length == zero else length for length in shape) for shape in drawn]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _, outputs = shapes_of(row, [np.zeros(shape) for shape in shapes])
        except (ValueError, TypeError, IndexError, MXNetError):
            continue
        if rule is not None and row.name != "gather_nd":  # with no row of coordinates NumPy selects everything once
            assert [tuple(shape) for shape in rule(shapes, [None] * len(outputs), **row.attributes)[1]] == outputs


@each(
    {
        f"{row.id}-{dtype}-{integers}": (row, dtype, integers)
        for row in ALL_ROWS
        for dtype in ("float32", "float64")
        for integers in ("float", "int32")
        if integers == "float" or any(spec.integers for spec in row.specs)
    }
)
def test_dtypes(row: Row, dtype: str, integers: str) -> None:
    """Rules find the dtypes that calls on NDArrays give, also where indices and labels are integers."""
    operator = operator_of(row)
    rule = operator.type_inference or same_dtype
    kinds = ["int32" if spec.integers and integers == "int32" else dtype for spec in row.specs]
    inputs = [nd.array(value, dtype=kind) for value, kind in zip(row.draw(), kinds, strict=True)]
    with scope(row):
        outputs = [np.dtype(output.dtype) for output in call(row, inputs)]
    known: list[Any] = [np.dtype(kind) for kind in kinds]
    found = list(rule(known, [None] * len(outputs), **row.attributes)[1])
    assert found == outputs or (not inputs and found == [None])  # without inputs, what reads it may say
    claimed = rule([None] * len(known), [None] * len(outputs), **row.attributes)
    assert [len(part) for part in claimed] == [len(known), len(outputs)]
    if dtype == "float32":  # what is known by default is this
        for position in range(len(known)):
            some = [None if place == position else kind for place, kind in enumerate(known)]
            for output, true in zip(rule(some, [None] * len(outputs), **row.attributes)[1], outputs, strict=True):
                assert output is None or integers == "int32" or output == true


@each(PUBLIC)
def test_every_operator_has_a_rule(operator: Operator) -> None:
    assert (operator.shape_inference is None) == (operator.__name__ in WITHOUT_SHAPES)
    optional = {name for name, default in operator.signature.defaults.items() if default is None}
    assert optional <= set(operator.optional_inputs), "say which attributes the optional inputs belong to"


@each(PUBLIC)
def test_what_draws_is_random(operator: Operator) -> None:
    drawn = any(row.random for row in ALL_ROWS if operator_of(row) is operator)
    assert operator.random or not drawn


# -- against MXNet -----------------------------------------------------------------------------------------------------


def fixpoint(rule: Any, inputs: list[Any], outputs: list[Any], merge: Any, attributes: dict[str, Any]) -> Any:
    """Return what follows from a rule that is applied as long as it finds something, as graphs do."""
    while True:
        found = rule(list(inputs), list(outputs), **attributes)
        after = [list(map(merge, known, more)) for known, more in zip((inputs, outputs), found, strict=True)]
        if after == [inputs, outputs]:
            return after
        inputs, outputs = after


def prepared(case: Any) -> tuple[Operator, dict[str, Any], list[str], list[str]]:
    """Return a case's operator and attributes, and the names of its inputs and outputs."""
    operator, attributes = OPERATORS[case[1]], case[2]
    inputs = operator.input_names(attributes, attributes.get("num_args"))
    return operator, attributes, inputs, operator.output_names(attributes)


def as_known(case: Any, known: dict[str, Any], convert: Any) -> tuple[list[Any], list[Any]]:
    """Return what is known of inputs and outputs."""
    _, _, inputs, outputs = prepared(case)
    first = known.get("output")
    found = [None if first is None else convert(first), *[None] * (len(outputs) - 1)]
    return [convert(known[name]) if name in known else None for name in inputs], found


def partial(shape: Any) -> Any:
    """Return a shape of MXNet's, in which 0 is a length that is not known."""
    return None if shape is None else tuple(length or UNKNOWN for length in shape)


def known_of(case: Any, answer: dict[str, Any], convert: Any) -> list[list[Any]]:
    """Return what MXNet knows of inputs and outputs."""
    _, _, inputs, outputs = prepared(case)
    given = {**answer["arguments"], **answer["auxiliary"]}
    return [[convert(given[name]) for name in inputs], [convert(answer["outputs"][name]) for name in outputs]]


def disagreement(operator: Operator, case: Any, what: str, number: int) -> str:
    """Return how what we infer differs from what MXNet does: we know all that it knows, and fail where it fails."""
    shapes = what == "shapes"
    rule, merge = (operator.shape_inference, merge_shapes) if shapes else (operator.type_inference, merge_dtypes)
    convert = partial if shapes else as_dtype
    known, answer = as_known(case, case[3 if shapes else 4][number], convert), ANSWERS[case[0]][what][number]
    try:
        ours = fixpoint(rule or same_dtype, *known, merge, case[2])
    except (ShapeError, DTypeError) as error:
        return "" if "error" in answer else f"we raise {error!r}"
    if "error" in answer:
        return f"MXNet raises an error, and we find {ours}"
    theirs = known_of(case, answer, convert)
    try:
        merged = [list(map(merge, *pair)) for pair in zip(ours, theirs, strict=True)]
    except (ShapeError, DTypeError):
        merged = None
    return "" if merged == ours else f"we find {ours}, and MXNet {theirs}"


KNOWN = {
    f"{case[0]}-{what}-{number}": (case, what, number)
    for case in cases.CASES
    for what, given in (("shapes", case[3]), ("dtypes", case[4]))
    for number in range(len(given))
}


@each({case[0]: (case,) for case in cases.CASES})
def test_names_are_those_of_mxnet(case: Any) -> None:
    operator, _, inputs, outputs = prepared(case)
    answer = ANSWERS[case[0]]
    assert [name for name in inputs if name not in operator.auxiliary] == answer["arguments"]
    assert [name for name in inputs if name in operator.auxiliary] == answer["auxiliary"]
    assert (outputs == answer["outputs"]) == ((case[0], "outputs", 0) not in cases.DIFFERENCES)


@each(KNOWN)
def test_inference_is_that_of_mxnet(case: Any, what: str, number: int) -> None:
    differs = disagreement(OPERATORS[case[1]], case, what, number)
    if (case[0], what, number) in cases.DIFFERENCES:
        assert differs, "it is as in MXNet now: take it out of DIFFERENCES"
    else:
        assert not differs


def test_every_difference_is_a_case() -> None:
    sizes = {case[0]: {"outputs": 1, "shapes": len(case[3]), "dtypes": len(case[4])} for case in cases.CASES}
    assert set(sizes) == set(ANSWERS)
    assert all(number < sizes[name][what] for name, what, number in cases.DIFFERENCES)


def test_shapes_of_an_operator_that_takes_positions_in_an_array_of_one_element() -> None:
    @customop("numpy")
    def taken(values: np.ndarray, position: np.ndarray) -> np.ndarray:
        return np.stack([values[int(one) % 2] for one in position])

    symbol = taken(mx.sym.var("values"), mx.sym.var("position"))
    executor = symbol.bind(mx.cpu(), {"values": mx.nd.array([5.0]), "position": mx.nd.array([0, 2, 0], dtype="int32")})
    for _ in range(3):
        np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [5.0, 5.0, 5.0])
