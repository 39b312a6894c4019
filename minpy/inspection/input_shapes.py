"""The shapes of a network's inputs, guessed from its parameters.

The first layers that read an input say how many axes it has, and its channels or features. The size of pictures, or
the length of sequences, is the first of the usual ones with which every shape follows and fits the parameters: where a
layer at the end is as wide as one size makes it, only that size fits.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from minpy.core.errors import MXNetError
from minpy.graph.inference import Inference
from minpy.graph.ir import Node, Value, consumers
from minpy.ops.inference.partial_shapes import is_known

__all__ = ["Guess", "guess_shapes"]

Shape = tuple[int, ...]
Form = tuple[Any, ...]  # of lengths, and of names for those that are not known

_BATCH, _HEIGHT, _WIDTH, _LENGTH = "batch", "height", "width", "length"
_SIZES = (224, 299, 32, 112, 28, 64, 96, 128, 227, 300, 512, 160, 192, 256, 320, 384, 416, 448, 100, 48, 608, 640)
_HEIGHTS = (32, 48, 64, 16, 8, 24, 40, 60, 96, 128)  # of pictures that are no squares
_WIDTHS = (100, 128, 160, 200, 256, 12, 16, 24, 32, 48, 64, 96, 320, 512)
_LENGTHS = (32, 16, 64, 128, 10, 20, 30, 35, 50, 56, 60, 100, 200, 256, 384, 500, 512)
_MAX_NODES = 40_000  # whose shapes are inferred while sizes are tried: takes 0.4 s


@dataclass(frozen=True)
class Guess:
    """The shape of an input, and where it comes from, in words."""

    shape: Shape
    origin: str


def guess_shapes(
    order: Sequence[Node],
    inputs: Sequence[Node],
    labels: Collection[Node],
    parameter_shapes: Mapping[Value, Shape],
    infer: Callable[[Mapping[Value, Shape]], Inference],
) -> dict[Node, Guess]:
    """Return the shapes of those inputs that can be guessed."""
    readers = consumers(order)
    try:
        facts = infer(parameter_shapes).known
    except MXNetError:  # a parameter does not fit; its layer is not used then
        facts = dict(parameter_shapes)
    forms: dict[Node, Form] = {}
    for node in inputs:
        if node not in labels and not is_known(facts.get(Value(node))):
            form = _form(Value(node), readers, facts)
            if form is not None:
                forms[node] = form
    required = [
        Value(node, index) for node in order if node.operator is not None for index in range(len(node.output_names()))
    ]
    fits: list[tuple[dict[str, Any], dict[Node, Shape]]] = []
    free = {length for form in forms.values() for length in form if isinstance(length, str)} - {_BATCH}
    for sizes in _candidates(free, order, forms, facts):
        shapes = {node: _with_sizes(form, sizes) for node, form in forms.items()}
        inferred = _try_to_infer(infer, parameter_shapes, shapes)
        for node in labels:
            if inferred is not None and not is_known(inferred.get(Value(node))):
                inferred = _with_label(node, shapes, parameter_shapes, infer, required, sizes) or inferred
        if inferred is not None and all(is_known(inferred.get(value)) for value in required):
            fits.append((sizes, shapes))
        # Two that fit: any would. (Layers at the end let only one size through.)
        if len(fits) == 2 or not free:
            break
    if not fits:
        return _closest_guess(order, forms, parameter_shapes, infer, free, facts)
    sizes, shapes = fits[0]
    guesses = {}
    for node, shape in shapes.items():
        own = [length for length in dict.fromkeys(forms.get(node, ())) if length in free]
        origin = "follows from the parameters"
        if node not in forms:
            origin = "assumed"
        elif own:
            quantity = "length" if own == [_LENGTH] else "size"
            numbers = " x ".join(str(size or "one") for size in dict.fromkeys(sizes[length] for length in own))
            origin = (
                f"its {quantity} is assumed: others fit as well"
                if len(fits) > 1
                else f"{numbers} is the only usual {quantity} that fits the parameters"
            )
        guesses[node] = Guess(shape, origin)
    return guesses


Infer = Callable[[Mapping[Value, Shape]], Inference]


def _try_to_infer(
    infer: Infer, parameter_shapes: Mapping[Value, Shape], shapes: Mapping[Node, Shape]
) -> Mapping[Value, Any] | None:
    """Return all shapes that follow; None if these do not fit."""
    try:
        return infer({**parameter_shapes, **{Value(node): shape for node, shape in shapes.items()}}).known
    except MXNetError:
        return None


def _with_label(
    node: Node,
    shapes: dict[Node, Shape],
    parameter_shapes: Mapping[Value, Shape],
    infer: Infer,
    required: Sequence[Value],
    sizes: Mapping[str, Any],
) -> Mapping[Value, Any] | None:
    """Find a shape for a label, and add it to `shapes`; return all shapes that follow."""
    batch = sizes[_BATCH]
    like = [shape[:2] for shape in shapes.values() if len(shape) == 2]
    for shape in [*like, *(shape[::-1] for shape in like), (batch,), (batch, 1), (batch, 4), (batch, 1, 5)]:
        inferred = _try_to_infer(infer, parameter_shapes, {**shapes, node: shape})
        if inferred is not None and all(is_known(inferred.get(value)) for value in required):
            shapes[node] = shape
            return inferred
    return None


def _closest_guess(
    order: Sequence[Node],
    forms: Mapping[Node, Form],
    parameter_shapes: Mapping[Value, Shape],
    infer: Infer,
    free: set[str],
    facts: Mapping[Value, Any],
) -> dict[Node, Guess]:
    """Return the guess with which most parameters fit, where no guess makes all of them fit."""
    best: tuple[int, dict[Node, Shape]] | None = None
    if not forms:
        return {}
    for sizes in _candidates(free, order, forms, facts):
        shapes = {node: _with_sizes(form, sizes) for node, form in forms.items()}
        inferred = _try_to_infer(infer, {}, shapes)
        if inferred is not None and all(is_known(inferred.get(value)) for value in parameter_shapes):
            wrong = sum(inferred[value] != shape for value, shape in parameter_shapes.items())
            if best is None or wrong < best[0]:
                best = wrong, shapes
        if not free:
            break
    if best is None:
        return {}
    return {node: Guess(shape, "assumed: with it most parameters fit") for node, shape in best[1].items()}


def _with_sizes(form: Form, sizes: Mapping[str, Any]) -> Shape:
    """Return a form with its names replaced by sizes; an axis whose size is None is left out."""
    lengths = [sizes[length] if isinstance(length, str) else length for length in form]
    return tuple(length for length in lengths if length is not None)


def _candidates(
    free: set[str], order: Sequence[Node], forms: Mapping[Node, Form], facts: Mapping[Value, Any]
) -> Iterator[dict[str, Any]]:
    """Yield values for the free lengths: the usual ones first, then all; with each batch that the graph may have fixed.

    Their number is limited by a count of nodes, not by time, so that the result does not depend on the machine.
    """
    grey = any(_HEIGHT in form and 1 in form and 3 not in form for form in forms.values())
    sizes = list(dict.fromkeys([*((28, 32) if grey else ()), *_SIZES, *range(8, 1025, 8), *range(1, 320)]))
    steps = [node.attributes["num_outputs"] for node in order if isinstance(node.attributes.get("num_outputs"), int)]
    shapes = [shape for node in order if isinstance(shape := node.attributes.get("shape"), tuple)]
    usual = [*(count for count in steps if count > 2), *_LENGTHS[:4], None, *_LENGTHS[4:]]
    fixed = [length for shape in shapes for length in shape if length > 1]
    lengths: list[int | None] = list(dict.fromkeys([*usual, *fixed, *range(1, 257)]))
    squares = [{_HEIGHT: size, _WIDTH: size} for size in sizes]
    rectangles = [{_HEIGHT: height, _WIDTH: width} for height in _HEIGHTS for width in _WIDTHS if height != width]
    pictures = [*squares[:22], *rectangles, *squares[22:]] if free & {_HEIGHT, _WIDTH} else [{}]
    texts: list[dict[str, Any]] = [{_LENGTH: length} for length in lengths] if _LENGTH in free else [{}]
    if free & {_HEIGHT, _WIDTH} and _LENGTH in free:
        pictures, texts = pictures[:6], texts[:12]
    guesses = [{**picture, **text} for picture in pictures for text in texts]
    candidates = ({_BATCH: batch, **guess} for batch in _batches(order, facts) for guess in guesses)
    return itertools.islice(candidates, max(1, _MAX_NODES // max(1, len(order))))


def _batches(order: Sequence[Node], facts: Mapping[Value, Any]) -> list[int]:
    """Return 1; or, where layers have fixed their first axis without knowing the input, these lengths."""
    firsts: Counter[int] = Counter()
    for value, shape in facts.items():
        if value.node.operator is not None and value.node.inputs and shape and shape[0] > 1:
            firsts[shape[0]] += 1
        elif value.node.operator is None and "state" in _roles(order, value) and shape and len(shape) == 3:
            firsts[shape[1]] += 1
    return [1, *(number for number, _ in firsts.most_common(3) if number > 1)]


def _roles(order: Sequence[Node], value: Value) -> set[str]:
    readers = (node for node in order if value in node.inputs)
    roles = (role for node in readers for role in zip(node.input_names(), node.inputs, strict=False))
    return {name for name, read in roles if read == value}


# -- what an input looks like to the first layers that read it ---------------------------------------------------------

# Operators whose output has the axes of their input.
_SHAPE_PRESERVING = frozenset(
    (
        *("_copy", "BlockGrad", "cast", "amp_cast", "Dropout", "LeakyReLU", "LRN", "L2Normalization", "InstanceNorm"),
        *("_plus_scalar", "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_div_scalar", "_power_scalar", "clip"),
        *("elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "broadcast_add", "broadcast_sub"),
        *("broadcast_mul", "broadcast_div", "pad", "Pooling", "Pooling_v1", "_contrib_BilinearResize2D", "UpSampling"),
        *("SequenceMask", "SequenceReverse", "identity", "negative", "square", "sqrt", "abs", "exp", "log", "add_n"),
    )
)
_LOOKUPS = ("Embedding", "take")
_SPATIAL = {"N": _BATCH, "H": _HEIGHT, "W": _WIDTH, "D": 16}


def _form(value: Value, readers: Mapping[Value, Sequence[Node]], facts: Mapping[Value, Any]) -> Form | None:
    """Return the form of a value, from the first of its readers that determines one."""
    pending: list[tuple[Value, Callable[[Form], Form | None]]] = [(value, lambda form: form)]
    seen = {value}
    while pending:
        current, inverse = pending.pop(0)
        for node in readers.get(current, ()):
            form = _form_read_by(node, current, facts)
            if form is not None:
                form_of_input = inverse(form)
                if form_of_input is not None:
                    return form_of_input
            further = _input_form_rule(node)
            result = Value(node)
            if further is not None and result not in seen:
                seen.add(result)
                pending.append((result, _chain(further, inverse)))
    return None


def _chain(first: Callable[[Form], Form | None], then: Callable[[Form], Form | None]) -> Callable[[Form], Form | None]:
    def chained(form: Form) -> Form | None:
        intermediate = first(form)
        return None if intermediate is None else then(intermediate)

    return chained


def _input_form_rule(node: Node) -> Callable[[Form], Form | None] | None:
    """Return how the form of a node's first input follows from that of its output; None if it does not."""
    operator = node.operator
    name = operator.__name__
    if not getattr(operator, "builtin", False):
        return None
    if name in _SHAPE_PRESERVING or operator.category in ("activation", "normalization"):
        return lambda form: form
    if name == "transpose" and node.attributes.get("axes"):
        axes = node.attributes["axes"]
        return lambda form: _permuted(form, axes)
    if name == "swapaxes":
        first, second = node.attributes.get("dim1", 0), node.attributes.get("dim2", 0)
        return lambda form: _swapped(form, first, second)
    if name == "expand_dims":
        axis = node.attributes["axis"]
        return lambda form: tuple(length for place, length in enumerate(form) if place != axis % len(form))
    if name == "SliceChannel":
        parts, axis = node.attributes["num_outputs"], node.attributes.get("axis", 1)
        return lambda form: _joined(form, parts, axis, bool(node.attributes.get("squeeze_axis")))
    if name == "flatten":
        return lambda form: form if len(form) == 2 else None
    return None


def _permuted(form: Form, axes: Sequence[int]) -> Form | None:
    if len(form) != len(axes):
        return None
    result = [0] * len(form)
    for place, axis in enumerate(axes):
        result[axis % len(form)] = form[place]
    return tuple(result)


def _joined(form: Form, parts: int, axis: int, squeezed: bool) -> Form | None:
    """Return the form of an input that is split into parts of this form."""
    if squeezed:
        return (*form[:axis], parts, *form[axis:]) if 0 <= axis <= len(form) else None
    if not 0 <= axis < len(form) or not isinstance(form[axis], int):
        return None
    return (*form[:axis], form[axis] * parts, *form[axis + 1 :])


def _swapped(form: Form, first: int, second: int) -> Form | None:
    if not (-len(form) <= first < len(form) and -len(form) <= second < len(form)):
        return None
    result = list(form)
    result[first], result[second] = result[second], result[first]
    return tuple(result)


def _form_read_by(node: Node, value: Value, facts: Mapping[Value, Any]) -> Form | None:
    """Return the form that a layer requires of one of its inputs."""
    name = node.operator.__name__
    inputs = list(zip(node.input_names(), node.inputs, strict=False))
    role = next((name for name, read in inputs if read == value), "")
    shapes: dict[str, Any] = {name: facts.get(read) for name, read in inputs}
    if name in ("Convolution", "Deconvolution", "_contrib_DeformableConvolution") and role == "data":
        return _of_convolution(node, shapes.get("weight"))
    if name == "FullyConnected" and role == "data":
        weight: Shape = shapes.get("weight") or ()
        return (_BATCH, weight[1]) if len(weight) == 2 and is_known(weight) else None
    if name in _LOOKUPS and role in ("data", "indices") and (name == "Embedding" or role == "indices"):
        return (_BATCH, _LENGTH)
    if name == "RNN" and role == "data":
        return _of_rnn(node, shapes.get("parameters"))
    if name == "dot" and role == "lhs" and not node.attributes.get("transpose_a"):
        rows: list[int] = list(shapes.get("rhs") or ())
        rows = rows[::-1] if node.attributes.get("transpose_b") else rows
        return (_BATCH, rows[0]) if len(rows) == 2 else None
    if name == "reshape" and not node.attributes.get("reverse"):
        target: Sequence[int] = node.attributes.get("shape") or ()
        if len(target) > 1 and target[0] in (-1, 0) and all(length > 0 for length in target[1:]):
            return (_BATCH, prod(target[1:]))
    if name == "_contrib_MultiBoxTarget" and role == "label":
        return (_BATCH, 1, 5)
    if name in ("_contrib_Proposal", "_contrib_MultiProposal") and role == "im_info":
        return (_BATCH, 3)
    return None


def _of_convolution(node: Node, weight: Any) -> Form | None:
    kernel = node.attributes.get("kernel") or ()
    layout = node.attributes.get("layout")
    axes = len(kernel)
    if layout in (None, "None"):
        layout = {1: "NCW", 2: "NCHW", 3: "NCDHW"}.get(axes)
    if layout is None or not is_known(weight) or len(weight) != axes + 2:
        return None
    groups = int(node.attributes.get("num_group", 1))
    if node.operator.__name__ == "Deconvolution":
        channels = weight[0]
    else:
        channels = weight[1 if layout[1] == "C" else -1] * groups
    if axes == 1:
        return tuple({"N": _BATCH, "C": channels}.get(axis, _LENGTH) for axis in layout)
    return tuple({**_SPATIAL, "C": channels}[axis] for axis in layout)


def _of_rnn(node: Node, parameters: Sequence[int] | None) -> Form | None:
    """Solve for the width of the input: the number of parameters grows with it by the same amount."""
    if parameters is None or not is_known((*parameters,)):
        return None
    rule: Any = node.operator.shape_inference
    unknown, outputs = [None] * (len(node.inputs) - 1), [None] * len(node.output_names())
    least, next_count = (rule([(1, 1, width), *unknown], outputs, **node.attributes)[0][1][0] for width in (1, 2))
    width, remainder = divmod(parameters[0] - least, next_count - least)
    return None if remainder or width < 0 else (_LENGTH, _BATCH, width + 1)
