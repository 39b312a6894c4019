"""Traced steps written as straight-line Python of a framework: what Dynamo traces whole, and `jax.jit` does.

A framework is a `Dialect`: a table of rows, one for each of NumPy's functions, and how it writes dtypes, casts and
constants. A row is a function from a `Call` and the call's arguments to the text of an expression.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy

from minpy.capture.numpy_functions import bound_arguments
from minpy.capture.places import CaptureRefused
from minpy.capture.reads import Reads
from minpy.core.errors import NotTraceableError
from minpy.frameworks.called_functions import arguments_of, called, is_defined, spec_of_value
from minpy.frameworks.dialects import Call, Dialect, NoEqual, Operand, dialect, function_key
from minpy.frameworks.inference import ArraySpec
from minpy.frameworks.sized_proxies import SizedRecorder
from minpy.frameworks.sizes import Unproven, far_rows, generalized, most_lengths, probe_rows, symbols_of
from minpy.frameworks.tracing import TracedSteps, step_name, traced_definition
from minpy.graph.ir import CONSTANT, Node, Value, variable
from minpy.numpy_table.table import row_of

__all__ = ["translate"]


class _Source:
    """The lines of a function as they are written."""

    def __init__(self, steps: TracedSteps, dialect: Dialect) -> None:
        self.dialect = dialect
        self.steps = steps
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self.device = "a0"
        self._texts: dict[Value, Operand] = {}
        self._count = 0
        self._constants: dict[Any, str] = {}

    # -- literals and constants --------------------------------------------------------------------------------------

    def require(self, dtype: numpy.dtype) -> None:
        """Raise `NoEqual` for a dtype that the framework has not."""
        reason = self.dialect.refused.get(dtype.name)
        if reason is not None or dtype.kind not in "biufc":
            raise NoEqual(f"arrays of {dtype.name}" + (f": {reason}" if reason else ""))

    def dtype(self, dtype: numpy.dtype) -> str:
        """Return the expression of a dtype."""
        self.require(dtype)
        return self.dialect.dtype(dtype)

    def literal(self, value: Any, dtype: numpy.dtype | None = None) -> str:
        """Return how a number, or a nest of numbers and arrays, is written."""
        if isinstance(value, Operand):
            return value.text
        if isinstance(value, numpy.ndarray):
            return self.constant(value).text
        if isinstance(value, numpy.generic):
            value = value.item()
        if dtype is not None and isinstance(value, (bool, int, float, complex)):
            convert = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[dtype.kind]
            value = convert(value) if not (convert is int and isinstance(value, float)) else value
        if isinstance(value, float) and not math.isfinite(value):
            self.scope.update(inf=math.inf, nan=math.nan)
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        if isinstance(value, complex):
            if math.isfinite(value.real) and math.isfinite(value.imag):
                return repr(value)
            return f"complex({self.literal(value.real)}, {self.literal(value.imag)})"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.literal, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.literal, value))}]"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.literal, (value.start, value.stop, value.step)))})"
        if value is Ellipsis:
            return "..."
        if isinstance(value, numpy.dtype) or (isinstance(value, type) and issubclass(value, (numpy.generic, float))):
            return self.dtype(numpy.dtype(value))
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        raise NoEqual(f"an argument that is a {type(value).__name__}")

    def constant(self, data: numpy.ndarray) -> Operand:
        """Return the operand of an array that is part of the function."""
        self.require(data.dtype)
        shape = self.literal(data.shape)
        text = None
        if data.size and data.dtype.kind != "c":
            first = data.reshape(-1)[0]
            if not data.ndim or _is_uniform(data, first):
                text = self.dialect.full(shape, self.literal(first), data.dtype, self.device)
            elif data.ndim == 1 and data.dtype.kind in "iu" and bool((numpy.diff(data) == 1).all()):
                ends = self.literal(first), self.literal(data[-1] + 1)
                text = self.dialect.counted(*ends, data.dtype, self.device)
        if text is None:
            key = data.dtype.str, data.shape, data.tobytes()
            name = self._constants.get(key)
            if name is None:
                name = self._constants[key] = f"k{len(self._constants)}"
                self.scope[name] = self.dialect.constant(data)
            text = self.dialect.array(name, self.device)
        return Operand(text, data.shape, data.dtype, data)

    # -- steps -------------------------------------------------------------------------------------------------------

    def assign(self, text: str) -> str:
        """Write a line that gives an expression a name, and return the name."""
        name = f"v{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def value(self, steps: TracedSteps, value: Value) -> Any:
        """Return what stands for a value of the graph: an operand, or a number."""
        if value.node.operator is CONSTANT:
            data = value.node.attributes["value"]
            if isinstance(data, numpy.ndarray):
                return self.constant(data) if data.ndim else data[()]
            return data
        index = max(value.index, 0)
        return self._texts[Value(value.node, index)]

    def add(self, steps: TracedSteps) -> None:
        """Write all steps of a graph."""
        for node in steps.nodes:
            try:
                self._add_node(steps, node)
            except NoEqual as error:
                raise _no_equal(self.dialect, steps, node, str(error)) from None

    def give(self, value: Value, operand: Operand) -> None:
        """Say what stands for a variable."""
        self._texts[value] = operand

    def _add_node(self, steps: TracedSteps, node: Node) -> None:
        operator = node.operator
        count = len(node.output_names())
        specs = [spec_of_value(steps, Value(node, index)) for index in range(count)]
        inputs = [self.value(steps, value) for value in node.inputs]
        function, several = called(steps, node)
        if function is None or (function_key(function) not in self.dialect.rows and is_defined(operator, function)):
            results = self._expanded(node, inputs)
        else:
            arguments, keywords = arguments_of(node, function, inputs)
            texts = self.call_texts(function, arguments, keywords, specs, several)
            results = [Operand(text, *spec) for text, spec in zip(texts, specs, strict=True)]
        for index, result in enumerate(results):
            self._texts[Value(node, index)] = result

    def call_texts(
        self, function: Any, arguments: list[Any], keywords: dict[str, Any], specs: Sequence[ArraySpec], several: bool
    ) -> list[str]:
        """Write a call, and return the names of its results."""
        key = function_key(function)
        row = self.dialect.rows.get(key)
        if row is None:
            raise NoEqual("that function")
        for spec in specs:
            self.require(spec.dtype)
        call = Call(self, function, specs, several)
        if row_of(function) is not None and not isinstance(function, numpy.ufunc):
            keywords, arguments = bound_arguments(function, arguments, keywords), []
        try:
            inspect.signature(row).bind(call, *arguments, **keywords)
        except TypeError:
            parameters = inspect.signature(row).parameters
            unknown = [name for name in keywords if name not in parameters]
            raise NoEqual(f"its argument {', '.join(unknown)}=" if unknown else "these arguments") from None
        text = row(call, *arguments, **keywords)
        if not several:
            return [self.assign(text)]
        names = [f"v{self._count + index}" for index in range(len(specs))]
        self._count += len(specs)
        self.lines.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {text}")
        return names

    def _expanded(self, node: Node, inputs: Sequence[Any]) -> list[Operand]:
        """Write what the definition of a built-in operator does."""
        operator = node.operator
        recorder = self.steps.recorder.like(operator.__name__)
        proxies, variables = [], []
        for value in inputs:
            if isinstance(value, Operand):
                variables.append((variable("argument"), value))
                proxies.append(recorder.proxy_class.from_outside(recorder, variables[-1][0], value.shape, value.dtype))
            else:
                proxies.append(value)
        attributes = dict(node.attributes)
        if operator.uses_training and attributes.get("training") is None:
            attributes["training"] = False
        try:
            outputs = traced_definition(recorder, operator, proxies, attributes)
        except CaptureRefused as error:
            raise NoEqual(f"it ({error.reason})") from None
        steps = TracedSteps(
            operator.__name__, [each for each, _ in variables], [output.value for output in outputs], recorder, Reads()
        )
        for each, value in variables:
            self.give(each, value)
        self.add(steps)
        results = [self.value(steps, output.value) for output in outputs]
        return [result if isinstance(result, Operand) else self.constant(numpy.asarray(result)) for result in results]


def _is_uniform(data: numpy.ndarray, first: Any) -> bool:
    """Tell whether all elements are the same, signs of zeros and all."""
    return data.tobytes() == numpy.full(data.shape, first, data.dtype).tobytes()


def _no_equal(dialect: Dialect, steps: TracedSteps, node: Node, reason: str) -> NotTraceableError:
    place = steps.place(node)
    where = "" if place is None else f" ({place}: {place.text})"
    return NotTraceableError(
        f"{steps.name}: {dialect.name} has no equal of {reason}: {step_name(steps, node)}, step {node.name!r}{where}. "
        "Write it with other functions of NumPy's, or call the operator with through='numpy'."
    )


def translate(steps: TracedSteps, dialect_of: Any, any_lengths: bool = False) -> Any:
    """Return traced steps as a function of a framework's arrays.

    Parameters
    ----------
    steps : TracedSteps
        `op.traced(...).forward`, or `op.traced(...).vjp(positions)`.
    dialect_of : Dialect or str
        'torch' or 'jax'.
    any_lengths : bool
        Whether the source is to be right for arrays of other lengths, too, where that can be proved: it then has
        expressions such as `a0.shape[1]` in the place of lengths.

    Returns
    -------
    callable
        Takes the arrays of `steps.inputs`, flat, and those of `steps.captured`, which by default are as they were when
        this was called; returns a tuple. `source` is its source. It is right for the dtypes that were traced, and for
        their shapes; if `polymorphic`, for all for which `fits(*shapes)` is true: shapes of the operator's inputs, of
        as many axes, where lengths of 0 and 1 are as they were, all others are two or more, and equal where one symbol
        stands for them in `symbols`. If not, `why_not` says what is in the way.

    Raises
    ------
    NotTraceableError
        Where the framework has no equal of a step: the message says which, and on which line it is.
    """
    framework = dialect(dialect_of) if isinstance(dialect_of, str) else dialect_of
    written = _written(steps, framework)
    symbols, why_not = None, "it was not asked for"
    if any_lengths:
        try:
            written, symbols = _of_any_lengths(steps, framework, written)
        except Unproven as error:
            why_not = f"{steps.name}: {error}"
    function: Any = made_function(written.title, written.text, {**framework.scope(), **written.scope})
    function.polymorphic, function.symbols = symbols is not None, symbols
    function.why_not = why_not if symbols is None else ""
    shapes = [spec.shape if isinstance(spec, ArraySpec) else None for spec in steps.arguments]
    function.fits = functools.partial(_fits, symbols if symbols is not None else shapes)
    return function


class _Written(NamedTuple):
    """A function's name, its text, and what stands in its scope beside what its framework puts there."""

    title: str
    text: str
    scope: dict[str, Any]


def _written(steps: TracedSteps, framework: Dialect) -> _Written:
    source = _Source(steps, framework)
    names = []
    for index, value in enumerate(steps.inputs):
        names.append(f"a{index}")
        source.give(value, Operand(names[-1], *_required(framework, steps, steps.spec(value))))
    captured = dict(zip(steps.captured, steps.captured_arrays(), strict=True))
    for index, (node, data) in enumerate(captured.items()):
        name = f"c{index}"
        source.scope[f"captured{index}"] = framework.constant(numpy.array(data))
        names.append(f"{name}=captured{index}")
        source.lines.append(f"{name} = {framework.array(name, source.device)}")
        source.give(Value(node), Operand(name, data.shape, data.dtype))
    source.add(steps)
    try:
        returned = []
        for value in steps.outputs:
            operand = source.value(steps, value)
            returned.append(
                operand.text if isinstance(operand, Operand) else source.constant(numpy.asarray(operand)).text
            )
    except NoEqual as error:
        raise NotTraceableError(f"{steps.name}: {framework.name} has no equal of {error}.") from None
    title = "".join(letter if letter.isalnum() else "_" for letter in steps.name)
    body = [*source.lines, f"return {', '.join(returned)}{',' if len(returned) == 1 else ''}"]
    text = f"def {title}({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body)
    return _Written(title, text, source.scope)


def _of_any_lengths(
    steps: TracedSteps, framework: Dialect, written: _Written
) -> tuple[_Written, list[list[int | str] | None]]:
    """Return (the function with expressions in the place of lengths, the symbols of the lengths of the inputs).

    Lengths that are equal may be equal by chance, or have to be: first each is one of its own.
    """
    shapes = [spec.shape if isinstance(spec, ArraySpec) else None for spec in steps.arguments]
    untied, tied = symbols_of(shapes, tied=False), symbols_of(shapes, tied=True)
    try:
        return _for_symbols(steps, framework, written, untied), untied
    except Unproven:
        pass
    try:
        return _for_symbols(steps, framework, written, tied), tied
    except Unproven as error:
        why_not = error
    # Some may have to be what they are, as an array outside has that length, or something is chosen by them.
    for symbols in (tied,) if tied == untied else (tied, untied):
        names = list(dict.fromkeys(each for row in symbols for each in row or () if isinstance(each, str)))
        free = []
        for name in names if len(names) > 1 else ():
            try:
                _for_symbols(steps, framework, written, _only(symbols, shapes, [name]))
            except Unproven:
                continue
            free.append(name)
        if free:
            try:
                return _for_symbols(steps, framework, written, _only(symbols, shapes, free)), _only(
                    symbols, shapes, free
                )
            except Unproven as error:
                why_not = error
    raise why_not


def _only(
    symbols: Sequence[Sequence[int | str] | None], shapes: Sequence[Sequence[int] | None], names: Sequence[str]
) -> list[list[int | str] | None]:
    """Return symbols with the lengths in the place of all but some."""
    return [
        None
        if row is None or shape is None
        else [length if isinstance(symbol, str) and symbol not in names else symbol
              for symbol, length in zip(row, shape, strict=True)]
        for row, shape in zip(symbols, shapes, strict=True)
    ]  # fmt: skip


def _for_symbols(
    steps: TracedSteps, framework: Dialect, written: _Written, symbols: Sequence[Sequence[int | str] | None]
) -> _Written:
    if steps.retrace is None:
        raise Unproven("it is not traced from an operator")
    texts: dict[str, str] = {}
    traced: dict[str, int] = {}
    offset = len(steps.inputs) - sum(row is not None for row in symbols)
    arrays = [(row, spec.shape) for row, spec in zip(symbols, steps.arguments, strict=True) if row is not None]
    for position, (row, shape) in enumerate(arrays):
        for axis, symbol in enumerate(row):
            if isinstance(symbol, str):
                texts.setdefault(symbol, f"a{offset + position}.shape[{axis}]")
                traced.setdefault(symbol, shape[axis])
    if len(texts) > most_lengths():
        raise Unproven("its inputs have too many lengths")
    if not texts:
        return written
    fixed = {each for row in symbols for each in row or () if isinstance(each, int)}
    bounds: set[int] = set()
    rows: list[dict[str, int]] = []
    writings: list[_Written] = []

    def write(*more: dict[str, int]) -> None:
        for row in more:
            shapes = [lengths if lengths is None else tuple(row.get(str(each), each) for each in lengths)
                      for lengths in symbols]  # fmt: skip
            rows.append(row)
            writings.append(_written_for(steps, framework, shapes, fixed, bounds))

    write(*probe_rows(list(texts), fixed), traced)
    for far in far_rows(list(texts), [row for row in symbols if row is not None], bounds):
        try:
            write(far)
        except Unproven as error:
            if not isinstance(error.__cause__, ValueError):  # lengths that do not fit each other: nothing is computed
                raise
            rows.pop()
    if bounds:
        write(dict.fromkeys(texts, 2))
    first = writings[0]
    if not all(_has_same_scope(first, writing) for writing in writings):
        raise Unproven("it has arrays of constants that depend on lengths")
    return first._replace(text=generalized([writing.text for writing in writings], rows, texts))


def _written_for(
    steps: TracedSteps, framework: Dialect, shapes: Sequence[Any], fixed: Collection[int], bounds: set[int]
) -> _Written:
    """Return the source for other lengths; add the numbers that lengths of results may be bounded by to `bounds`."""
    assert steps.retrace is not None
    try:
        retraced = steps.retrace(shapes, fixed)
    except NotTraceableError as error:
        raise Unproven(f"for other lengths, {error}") from error.__cause__
    writing = _written(retraced, framework)
    recorder = retraced.recorder
    if isinstance(recorder, SizedRecorder):
        if recorder.choices:
            place = recorder.choices.place
            where = "" if place is None else f" ({place}: {place.text})"
            raise Unproven(f"it chooses by lengths, or asks for one as a number of Python's{where}")
        bounds |= recorder.bounds | recorder.lengths.bounds(recorder)
    return writing


def _has_same_scope(first: _Written, other: _Written) -> bool:
    return first.scope.keys() == other.scope.keys() and all(
        _is_same(value, other.scope[name]) for name, value in first.scope.items()
    )


def _is_same(value: Any, reference: Any) -> bool:
    if not hasattr(value, "shape"):
        return value == reference or value != value
    first, second = numpy.asarray(value), numpy.asarray(reference)
    return first.shape == second.shape and first.dtype == second.dtype and first.tobytes() == second.tobytes()


def _fits(symbols: Sequence[Sequence[int | str] | None], *shapes: Any) -> bool:
    """Tell whether shapes have the lengths of a pattern."""
    expected = [row for row in symbols if row is not None]
    if len(expected) != len(shapes):
        return False
    lengths: dict[str, int] = {}
    for row, shape in zip(expected, shapes, strict=True):
        if len(row) != len(shape):
            return False
        for symbol, length in zip(row, shape, strict=True):
            if isinstance(symbol, str):
                if length < 2 or lengths.setdefault(symbol, length) != length:
                    return False
            elif length != symbol:
                return False
    return True


def made_function(title: str, text: str, scope: dict[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Return the function that a text defines, which tracebacks show; the text is its `source`."""
    file = f"<minpy {title} {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    scope["__name__"] = "minpy.frameworks.translated"
    exec(compile(text, file, "exec"), scope)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    function: Callable[..., tuple[Any, ...]] = scope[title]
    function.source = text  # type: ignore[attr-defined]
    return function


def _required(dialect: Dialect, steps: TracedSteps, spec: ArraySpec) -> ArraySpec:
    reason = dialect.refused.get(spec.dtype.name)
    if reason is not None or spec.dtype.kind not in "biufc":
        raise NotTraceableError(
            f"{steps.name}: {dialect.name} has no arrays of {spec.dtype.name}" + (f": {reason}" if reason else "") + "."
        )
    return spec
