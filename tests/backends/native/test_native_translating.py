"""Programs translated to the step language: random ones, networks, users' operators; and what stays a call, and why."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_graphs import assert_same, random_graph, random_network
from tracing_operators import CASES
from translated import call_graph, check, compare, outcome, translated_program

import minpy as mx
from minpy import customop, sym
from minpy.backends.native.language import Array, Assembly, Call, Elementwise, Product, Reduce, View
from minpy.backends.native.translating import Translation, Untranslatable
from minpy.backends.native.translating.results import CALLED
from minpy.backends.native.translating.translator import FAILED
from minpy.graph.compiled import Compiled
from minpy.ops.registry import OPERATORS


def calls(translation: Translation) -> list[Call]:
    return [step for step in translation.routine.steps if isinstance(step, Call)]


def kinds(translation: Translation) -> set[type]:
    return {type(step) for step in translation.routine.steps}


# -- random programs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", range(12))
def test_random_programs_of_all_dtypes(block: int) -> None:
    """Every second one has infinities, what is no number, signed zeros and denormal numbers among its arguments."""
    native = 0
    for seed in range(block * 20, block * 20 + 20):
        graph = random_graph(seed, special=bool(seed % 2))
        heads, variables = call_graph(graph.operator, graph.arrays, {})
        arrays = [dict(zip(variables, graph.arrays, strict=True))[node] for node in Compiled(heads).variables]
        with np.errstate(all="ignore"):
            program, translation, _ = translated_program(heads, arrays, False)
        assert_same(graph, outcome(program, translation, arrays).heads)
        assert not [one for one in translation.report if one.reason.startswith(FAILED)], repr(graph)
        native += not any(one.how == CALLED for one in translation.report)
    assert native >= 15


@pytest.mark.parametrize("block", range(6))
def test_random_networks_and_their_gradients(block: int) -> None:
    for seed in range(block * 12, block * 12 + 12):
        symbol, arrays = random_network(seed)
        compiled = Compiled(symbol.values)
        given = [arrays[node.name] for node in compiled.variables]
        translation = compare(symbol.values, given, wanted=compiled.arguments, tolerance=1e-9)
        assert not [one for one in translation.report if one.reason.startswith(FAILED)], seed


def test_the_generator_of_random_programs_writes_all_kinds_of_steps_and_dtypes() -> None:
    found: set[Any] = set()
    dtypes: set[str] = set()
    for seed in range(60):
        graph = random_graph(seed)
        assert graph.source == random_graph(seed).source
        dtypes |= {array.dtype.name for array in graph.arrays}
        heads, variables = call_graph(graph.operator, graph.arrays, {})
        arrays = [dict(zip(variables, graph.arrays, strict=True))[node] for node in Compiled(heads).variables]
        with np.errstate(all="ignore"):
            found |= kinds(translated_program(heads, arrays, False)[1])
    assert found >= {Elementwise, Reduce, View, Assembly, Product}
    assert len(dtypes) >= 10


# -- users' operators --------------------------------------------------------------------------------------------------

# Those that stay calls in part, by what the reason says; all others are native, rules included.
WHOLE = {
    "inverse": "numpy.linalg.inv",
    "nd_scaled": "asks for the values",
    "noisy": "np.random",
    "positive_mean": "depends on values",
    "quiet": "np.errstate is not known to be free of effects",
    "scaled_if_large": "chooses by values",
    "talkative": "print",
    "timed": "time.perf_counter",
    "vectorized": "np.vectorize",
}


@pytest.mark.parametrize("name", CASES)
def test_users_operators_with_their_rules(name: str) -> None:
    case = CASES[name]
    differentiable = [i for i in range(len(case.shapes)) if case.operator.has_rule(i) and i not in case.whole]
    np.random.seed(3)
    if name == "noisy":
        with pytest.raises(AssertionError):  # it draws from NumPy's generator, which both runs use up
            check(case.operator, case.draw(), case.attributes, differentiable, tolerance=1e-4)
        return
    translation = check(case.operator, case.draw(), case.attributes, differentiable, tolerance=1e-4)
    reasons = [one.reason for one in translation.report if one.how == CALLED]
    assert bool(reasons) is (name in WHOLE), reasons
    assert not reasons or any(WHOLE[name] in reason for reason in reasons), reasons
    assert not any(reason.startswith(FAILED) for reason in reasons)


def test_a_translation_says_where_in_users_code_steps_come_from_and_why_some_are_calls() -> None:
    @customop("numpy")
    def centred(x: Any) -> Any:
        shifted = x - np.mean(x, axis=0)
        return np.sort(shifted, axis=0) * 2.0

    first = inspect.getsourcelines(centred.definition)[1]
    translation = check(centred, [np.ones((3, 4), "float32")])
    (called,) = calls(translation)
    assert called.reason == "numpy.sort is not compiled"
    assert called.origin.nodes == ("call",)
    places = [step.origin.place for step in translation.routine.steps if not isinstance(step, View)]
    assert [place.line - first for place in places if place is not None] == [2, 2, 2, 3, 3]
    assert all(place is not None and place.file == __file__ for place in places)
    (said,) = [one for one in translation.report if one.how == CALLED]
    assert str(said).startswith("call: called, because numpy.sort is not compiled")
    assert said.place is not None
    assert said.place.text.startswith("return np.sort")
    assert str(said) in str(translation)


def test_captured_arrays_and_numbers_are_those_at_the_time_of_the_call() -> None:
    weights = np.arange(4, dtype="float32")

    @customop("numpy")
    def weighted(x: Any) -> Any:
        return x * weights

    x = np.ones((2, 4), "float32")
    heads, _ = call_graph(weighted, [x], {})
    program, translation, _ = translated_program(heads, [x], False)
    assert [array.name for array in translation.routine.parts[0].inputs] == ["x", "captured weights"]
    weights[...] = 5
    assert outcome(program, translation, [x]).heads[0].tolist() == [[5.0] * 4] * 2


# -- networks ----------------------------------------------------------------------------------------------------------


def arrays_of(symbol: Any, training: bool = True, **given: Any) -> tuple[Compiled, list[np.ndarray]]:
    """Return a compiled symbol, and random arrays for its variables."""
    shapes = {name: np.shape(value) for name, value in given.items()}
    arguments, _, states = symbol.infer_shape(**shapes)
    random = np.random.RandomState(0)
    arrays = {
        name: (random.normal(size=shape) * 0.3).astype("float32")
        for name, shape in zip(symbol.list_arguments(), arguments, strict=True)
    }
    for name, shape in zip(symbol.list_auxiliary_states(), states, strict=True):
        arrays[name] = random.uniform(0.5, 1.5, shape).astype("float32")
    arrays |= {name: value for name, value in given.items() if value.any()}
    compiled = Compiled(symbol.values)
    return compiled, [arrays[node.name] for node in compiled.variables]


def step_of(symbol: Any, training: bool = True, tolerance: float = 1e-4, **given: Any) -> Translation:
    """Hold a training step of a network against its program."""
    compiled, arrays = arrays_of(symbol, **given)
    wanted = [node for node in compiled.arguments if not node.name.endswith("label")]
    return compare(symbol.values, arrays, training, wanted, tolerance)


def lenet() -> Any:
    x = sym.var("data")
    for filters in (6, 8):
        x = sym.Convolution(x, kernel=(5, 5), num_filter=filters)
        x = sym.Activation(x, act_type="tanh")
        x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = sym.Activation(sym.FullyConnected(sym.flatten(x), num_hidden=20), act_type="relu")
    return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=10), name="softmax")


@pytest.mark.parametrize("training", [True, False])
def test_lenet_is_native_but_for_its_convolutions(training: bool) -> None:
    label = np.array([1, 2, 3, 4], "float32")
    translation = step_of(lenet(), training, data=np.zeros((4, 1, 28, 28)), softmax_label=label)
    found = [step.function.computed for step in calls(translation)]  # type: ignore[union-attr]
    assert sorted(found) == ["data", "data", "result", "result", "weight", "weight"]


def test_an_lstm_is_native() -> None:
    cell = mx.rnn.SequentialRNNCell()
    for layer in range(2):
        cell.add(mx.rnn.LSTMCell(num_hidden=6, prefix=f"l{layer}_"))
    outputs, _ = cell.unroll(4, inputs=sym.var("data"), merge_outputs=True, layout="NTC")
    logits = sym.FullyConnected(sym.reshape(outputs, shape=(-1, 6)), num_hidden=7)
    label = np.arange(12).astype("float32") % 7
    translation = step_of(sym.SoftmaxOutput(logits, name="softmax"), data=np.zeros((3, 4, 5)), softmax_label=label)
    assert not calls(translation)
    assert kinds(translation) == {Elementwise, Reduce, View, Assembly, Product}


def test_a_transformer_block_is_native_but_for_its_dropout() -> None:
    x = sym.var("data")
    names = iter("qkvo")

    def dense(value: Any, width: int) -> Any:
        return sym.FullyConnected(value, num_hidden=width, flatten=False, name=next(names, None))

    def heads(value: Any) -> Any:
        value = sym.transpose(sym.reshape(value, shape=(0, 0, 2, -1)), axes=(0, 2, 1, 3))
        return sym.reshape(value, shape=(-1, 5, 4))

    normal = sym.LayerNorm(x, sym.var("g0"), sym.var("b0"))
    q, k, v = (heads(dense(normal, 8)) for _ in range(3))
    weights = sym.softmax(sym.batch_dot(q, k, transpose_b=True) / 2.0)
    mixed = sym.batch_dot(sym.Dropout(weights, p=0.25), v)
    mixed = sym.reshape(sym.transpose(sym.reshape(mixed, shape=(-1, 2, 5, 4)), axes=(0, 2, 1, 3)), shape=(-1, 5, 8))
    x = x + dense(mixed, 8)
    inner = sym.LeakyReLU(dense(sym.LayerNorm(x, sym.var("g1"), sym.var("b1")), 16), act_type="gelu")
    translation = step_of(x + dense(inner, 8), data=np.zeros((3, 5, 8)))
    assert [step.reason for step in calls(translation)] == ["the mask is drawn at random"]


def test_batch_normalization_moves_its_statistics_as_updates() -> None:
    x = sym.BatchNorm(sym.var("data"), fix_gamma=False, momentum=0.75, name="bn")
    translation = step_of(sym.Activation(x, act_type="relu"), data=np.zeros((4, 3, 2, 2)))
    assert not calls(translation)
    (forward, backward) = translation.routine.parts
    assert [target.name for target, _ in forward.updates] == ["bn_moving_mean", "bn_moving_var"]
    assert not backward.updates
    still = step_of(sym.Activation(x, act_type="relu"), training=False, data=np.zeros((4, 3, 2, 2)))
    assert not still.routine.parts[0].updates


def test_two_layers_with_the_same_statistics_move_them_twice() -> None:
    names = {"moving_mean": sym.var("mean"), "moving_var": sym.var("variance")}
    x = sym.BatchNorm(sym.var("data"), name="first", **names)
    x = sym.BatchNorm(sym.broadcast_mul(x, sym.var("scale")), name="second", **names)
    translation = step_of(x, data=np.zeros((4, 3, 2)), scale=np.zeros((1, 3, 1)))
    assert len(translation.routine.parts[0].updates) == 2


@pytest.mark.parametrize("name", ["sgd_mom_update", "adam_update", "multi_sgd_mom_update"])
def test_optimizers_move_their_states_as_updates(name: str) -> None:
    operator = OPERATORS[name]
    count = {"sgd_mom_update": 3, "adam_update": 4, "multi_sgd_mom_update": 6}[name]
    several = {"lrs": (0.1, 0.2), "wds": (0.0, 0.5), "num_weights": 2, "momentum": 0.5}
    arrays = [np.random.RandomState(position).uniform(0.5, 1, (2, 3)).astype("float32") for position in range(count)]
    translation = check(operator, arrays, several if "multi" in name else {"lr": 0.1, "wd": 0.25})
    assert not calls(translation)
    assert len(translation.routine.parts[0].updates) == {3: 1, 4: 2, 6: 2}[count]


# -- what is called ----------------------------------------------------------------------------------------------------


def test_what_is_not_computed_natively_is_called() -> None:
    half = check(OPERATORS["tanh"], [np.ones((2, 3), "float16")], differentiable=[0], tolerance=1e-3)
    assert "float16 is not computed natively" in [one.reason for one in half.report if one.how == CALLED]
    assert {step.reason for step in calls(half)} == {"float16 is not computed natively"}


def test_states_that_a_call_changes_and_nobody_else_reads_may_stay() -> None:
    x = np.ones((4, 3, 2), "float16")
    vectors = [np.ones(3, "float32") for _ in range(4)]
    translation = check(OPERATORS["BatchNorm"], [x, *vectors], training=True, tolerance=1e-2)
    (called,) = calls(translation)
    assert called.function is not None  # filled in to evaluate it; the routine's is the frame's own
    assert called.node is not None


def test_states_that_a_call_changes_and_others_read_keep_a_program_pythons() -> None:
    data, mean = sym.var("data", dtype="float16"), sym.var("mean")
    normal = sym.BatchNorm(data, sym.var("gamma"), sym.var("beta"), mean, sym.var("variance"), name="bn")
    symbol = sym.Group([normal, sym.sqrt(mean, name="root")])
    compiled = Compiled(symbol.values)
    half = np.ones((4, 3, 2), "float16")
    arrays = [half if node.name == "data" else np.ones(3, "float32") for node in compiled.variables]
    with pytest.raises(Untranslatable) as caught:
        translated_program(symbol.values, arrays, True)
    assert str(caught.value) == (
        "variable 'mean' is read by node 'root' (sqrt), too, and changed in place by node 'bn' (BatchNorm), which is "
        "called."
    )


def test_calls_keep_their_order() -> None:
    x = sym.var("data")
    drawn = [sym.Dropout(x, p=0.5, name=f"d{position}") for position in range(4)]
    translation = step_of(drawn[2] + drawn[0] * drawn[3] - drawn[1], data=np.zeros((3, 4)))
    assert [step.origin.nodes for step in calls(translation)] == [("d2",), ("d0",), ("d3",), ("d1",)]


def test_what_lasts_is_returned_after_the_heads() -> None:
    x = sym.var("data")
    compiled = Compiled((sym.Dropout(sym.tanh(x), p=0.5, name="drop") * 2).values)
    array = np.ones((3, 4), "float32")
    from support.reference_evaluator import evaluate

    from minpy.backends.native.translating import translate
    from minpy.graph.frame import start

    program = compiled.program([array], True, repeatable=True)
    start(program, [array])
    translation = translate(program.steps, program.facts)
    ((node, width),) = translation.saved_for_replay
    assert (node.name, width) == ("drop", 2)
    mx.random.seed(1)
    head, dropped, mask = evaluate(translation.routine, [[array]])[0]
    np.testing.assert_array_equal(head, dropped * 2)
    np.testing.assert_array_equal(dropped, np.tanh(array) * mask)


class _Square(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])


@mx.operator.register("translated_square")
class _SquareProp(mx.operator.CustomOpProp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=True)

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
        return _Square()


@customop("numpy")
def _both(x: Any, y: Any) -> Any:
    print("", end="")
    return x * y, x + y


_both.outputs = ["product", "sum"]
_both.def_multiple_grad(lambda ans, x, y: lambda g: (g[0] * y + g[1] + 0 * ans[0], g[0] * x + g[1]))


def _opaque(name: str) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """Return a symbol, and the shapes of its variables."""
    x, y = sym.var("x"), sym.var("y")
    shapes = {"x": (2, 3), "y": (2, 3)}
    if name == "CustomOp":
        return sym.exp(sym.Custom(x, op_type="translated_square")) * x, shapes
    if name == "two outputs":
        first, second = _both(x, y)
        return sym.Group([sym.tanh(first), second * 2]), shapes
    if name == "one of two outputs":
        return sym.tanh(_both(x, y)[1]), shapes
    if name == "a loop":
        outputs, last = sym.contrib.foreach(lambda data, state: (data + state, data * state), x, y)
        return sym.Group([outputs, last]), {"x": (3, 2), "y": (2,)}
    return sym.Group([x, sym.zeros((2, 3)), sym.BlockGrad(x) + 1, sym.identity(x)]), shapes


@pytest.mark.parametrize("name", ["CustomOp", "two outputs", "one of two outputs", "a loop", "variables, constants"])
def test_operators_that_cannot_be_looked_into(name: str) -> None:
    symbol, shapes = _opaque(name)
    compiled = Compiled(symbol.values)
    random = np.random.RandomState(2)
    arrays = [random.normal(size=shapes[node.name]).astype("float32") for node in compiled.variables]
    translation = compare(symbol.values, arrays, True, compiled.arguments)
    assert bool(calls(translation)) is (name != "variables, constants")


# -- shapes and dtypes -------------------------------------------------------------------------------------------------


def square_of_sum(x: Any, y: Any) -> Any:
    return np.square(np.sum(x, axis=0) + y)


SHAPES: list[tuple[Callable[..., Any], list[tuple[int, ...]]]] = [
    (square_of_sum, [(0, 3), (3,)]),
    (square_of_sum, [(2, 0), (0,)]),
    (lambda x: np.concatenate([x, x[:0]]) * 2, [(3, 2)]),
    (lambda x: np.exp(x).T @ x, [(0, 3)]),
    (lambda x: np.mean(x) + np.zeros((), x.dtype), [(4,)]),
    (lambda x: x * x[()], [()]),
    (lambda x: x.reshape(()), [(1, 1)]),
    (lambda x: np.max(x, axis=1, initial=0.0), [(3, 0)]),
    (lambda x: np.pad(x, 1) + 1, [(0, 2)]),
]


@pytest.mark.parametrize("case", range(len(SHAPES)))
def test_arrays_without_elements_and_without_axes(case: int) -> None:
    function, shapes = SHAPES[case]
    arrays = [np.random.RandomState(1).normal(size=shape) for shape in shapes]
    translation = check(customop("numpy")(function), [np.asarray(array) for array in arrays], tolerance=1e-12)
    assert not [one for one in translation.report if one.reason.startswith(FAILED)]


_NAMES = "abs sqrt exp square negative relu sigmoid rsqrt cbrt sin floor sign log1p arctan reciprocal"
WHOLE_NUMBERS = _NAMES.split()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
def test_operators_of_integers_answer_in_their_dtype(dtype: str) -> None:
    array = np.array([[0, 1, 1], [1, 1, 0]], dtype) if dtype == "bool" else np.array([[1, 2, 3], [5, 7, 100]], dtype)
    native = 0
    for name in WHOLE_NUMBERS:
        translation = check(OPERATORS[name], [array], tolerance=1e-6)
        native += not any(one.how == CALLED for one in translation.report)
    for name in ("elemwise_add", "elemwise_div", "broadcast_mul", "broadcast_maximum", "broadcast_hypot"):
        translation = check(OPERATORS[name], [array, array[:, ::-1].copy()], tolerance=1e-6)
        native += not any(one.how == CALLED for one in translation.report)
    assert native == len(WHOLE_NUMBERS) + 5


def test_comparisons_of_signed_and_unsigned_integers_are_exact() -> None:
    @customop("numpy")
    def compared(x: Any, y: Any) -> Any:
        found = [x < y, x <= y, x > y, x >= y, x == y, x != y, y < x, y <= x, y > x, y >= x, y == x, y != x]
        return np.stack(found).astype("int64")

    compared.def_infer_type(lambda inputs, outputs: (inputs, [np.dtype("int64")]))
    extremes = np.array([-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1])
    large = np.array([2**64 - 1, 2**63, 0, 1, 2**53, 2**63 - 1], "uint64")
    heads, variables = call_graph(compared, [extremes, large], {})
    given = dict(zip(variables, (np.repeat(extremes, 6), np.tile(large, 6)), strict=True))
    arrays = [given[node] for node in Compiled(heads).variables]
    program, translation, expected = translated_program(heads, arrays, False)
    assert not calls(translation)
    np.testing.assert_array_equal(outcome(program, translation, arrays).heads[0], expected.heads[0])


def test_values_of_the_graph_are_found_again() -> None:
    x = sym.var("data")
    symbol = sym.exp(x, name="e") + 1
    _, arrays = arrays_of(symbol, data=np.zeros((2, 3)))
    program, translation, _ = translated_program(symbol.values, arrays, False)
    (node,) = [value for value in translation.arrays if value.node.name == "e"]
    found = translation.arrays[node]
    assert isinstance(found, Array)
    assert isinstance(found.step, Elementwise)
    assert found.step.function == "exp"
    assert found.step.origin.nodes == ("e",)
    assert program.steps.outputs[0] in translation.arrays
