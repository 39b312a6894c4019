"""`Binary`: a compiled extension library that has been opened, with the operators, partitioners and passes in it.

Libraries are opened so that their symbols do not mix with those of others. A C++ exception that leaves a function of a
library ends the process: the original header lets them pass. So the usual causes are checked before the call: numbers
of inputs, dtypes, contexts. A library has to catch all others itself.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_char_p, c_int, c_uint, c_void_p
from dataclasses import dataclass, field
from typing import Any

from minpy.core.errors import (
    ArgumentError,
    DTypeError,
    LibraryError,
    MXNetError,
    OperatorError,
    ShapeError,
)
from minpy.library.abi import CPU, DTYPES, MXNET_VERSION, UNKNOWN_DIMENSION, UNKNOWN_TYPE, VERSIONS, symbols_of
from minpy.library.elf import missing_bytes
from minpy.ops.inference.partial_shapes import show_shape

__all__ = ["MOST_DIMENSIONS", "Binary", "OperatorEntry", "PartitionerEntry", "PassEntry", "StrategyEntry", "Texts"]

_MAX_SHOWN = 20
_MAX_TENSORS = 1 << 16  # a number of inputs or outputs beyond is a mistake
MOST_DIMENSIONS = 32
_MAX_REGISTERED = 1 << 20


class Texts:
    """Attributes or options in C's form, two arrays of strings. `arguments` are the keys, the values, the number."""

    __slots__ = ("_strings", "arguments")

    def __init__(self, texts: Mapping[str, str], where: str = "") -> None:
        count = len(texts)
        for key, value in texts.items():
            if "\0" in key or "\0" in value:
                raise ArgumentError(
                    f"{where}{key!r} is {value!r}; a text for a native library cannot have a character '\\0' in it."
                )
        strings = c_char_p * max(count, 1)
        try:
            keys = strings(*[key.encode() for key in texts])
            values = strings(*[value.encode() for value in texts.values()])
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"{where}the text {error.object!r} cannot be given to a native library: it is no Unicode ({error})."
            ) from None
        self._strings = keys, values
        self.arguments = (keys, values, c_int(count))


@dataclass
class OperatorEntry:
    """An operator as a library registers it. Functions are addresses; those for contexts are by 'cpu' or 'gpu'."""

    name: str
    is_subgraph: bool
    forward: dict[str, int]
    backward: dict[str, int]
    create_state: dict[str, int]
    parse_attributes: int | None
    infer_type: int | None
    infer_storage: int | None
    infer_shape: int | None
    mutate_inputs: int | None

    def missing(self) -> str:
        """Return the required function that was not set; an empty text if none."""
        if self.is_subgraph:
            return "" if self.create_state else "setCreateOpState"
        for function, name in (
            (self.parse_attributes, "setParseAttrs"),
            (self.infer_type, "setInferType"),
            (self.infer_shape, "setInferShape"),
            (self.forward or self.create_state, "setForward or setCreateOpState"),
        ):
            if not function:
                return name
        return ""


@dataclass
class StrategyEntry:
    """A strategy of a partitioner: its name, the subgraph operator it makes, and its functions' addresses."""

    name: str
    operator: str
    supported: int | None
    selector: int | None
    review: int | None


@dataclass
class PartitionerEntry:
    """A partitioner as a library registers it."""

    name: str
    strategies: list[StrategyEntry] = field(default_factory=list)


@dataclass
class PassEntry:
    """A graph pass as a library registers it: its name, and its function's address."""

    name: str
    body: int


class Binary:
    """A shared library built with the extension header of MXNet 1.7, 1.8, or 1.9, or with minpy's, that is opened.

    `copy` is the path of a copy of it, which is opened in its place. `functions` are by symbol, with their types;
    `operators`, `partitioners` and `passes` are entries, in the order in which the library registers them.
    """

    def __init__(self, path: str | os.PathLike[str], copy: str | None = None) -> None:
        self.path = os.path.abspath(path)
        try:
            missing = missing_bytes(copy or self.path)
            if missing:
                raise OSError(f"the file is cut off: at least {missing} bytes are missing at its end")
            self._opened = ctypes.CDLL(copy or self.path)
        except OSError as error:
            advice = "It has to be compiled for this machine, and what it is linked to has to be found."
            if os.path.splitext(self.path)[1] in (".c", ".cc", ".cpp", ".cxx"):
                advice = "It is a source: mx.library.compile builds and loads it."
            raise LibraryError(
                f"library.load: {self.path} cannot be opened as a shared library: {error}. {advice}"
            ) from error
        self.version: int = self._typed("_opVersion", c_int, ())()
        if self.version not in VERSIONS:
            raise LibraryError(
                f"library.load: {self.path} was built for version {self.version} of MXNet's extension interface; "
                f"supported are {', '.join(map(str, VERSIONS[:-1]))} and {VERSIONS[-1]}, those of MXNet 1.7, 1.8 and "
                "1.9. Compile its source again, with the header in minpy.library.include_dir()."
            )
        self.functions = {name: self._typed(name, *signature) for name, signature in symbols_of(self.version).items()}
        # The number of all messages that the library has given so far.
        self.message_count: Callable[[], int] = self.functions.get("_msgSize", int)
        self._initialize()
        self.operators = [self._operator(index) for index in self._registered("_opRegSize", "operators")]
        self.partitioners = [self._partitioner(index) for index in self._registered("_partRegSize", "partitioners")]
        self.passes = [self._pass(index) for index in self._registered("_passRegSize", "graph passes")]

    def __repr__(self) -> str:
        return f"<Binary {self.path}, version {self.version}, {len(self.operators)} operator(s)>"

    def function(self, name: str) -> Any:
        """Return a new ctypes function for a symbol, without types: arguments are taken as C objects, ints as int."""
        return self._opened[name]

    def _typed(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        try:
            function = self._opened[name]
        except AttributeError as error:
            needs = "every extension library has it"
            if name == "initialize" and hasattr(self._opened, "_opVersion"):
                advice = "Its source has to define MXReturnValue initialize(int version) { return MX_SUCCESS; }"
            else:
                advice = (
                    "Was it compiled with MXNet's extension header (and, for 1.8 and 1.9, together with "
                    "src/lib_api.cc), and are its symbols visible?"
                )
            raise LibraryError(f"library.load: {self.path} has no function {name}; {needs}. {advice}") from error
        function.restype = result
        function.argtypes = list(arguments)
        return function

    # -- messages --------------------------------------------------------------------------------------------------

    def messages(self, since: int = 0) -> list[str]:
        """Return the messages of the library from a number on."""
        texts = []
        for index in range(since, self.message_count()):
            text = c_char_p()
            self.functions["_msgGet"](index, byref(text))
            texts.append((text.value or b"").decode(errors="replace").rstrip())
        return texts

    def explained(self, line: str, since: int) -> str:
        """Return a line, and below it the messages of the library from a number on."""
        messages = self.messages(since)
        if not messages:
            where = "It prints to the standard output" if self.version < 8 else "It gave no message (MX_ERROR_MSG)"
            return f"{line} {where}."
        left_out = len(messages) - _MAX_SHOWN
        shown = [*messages[:_MAX_SHOWN], *([f"... and {left_out} more"] if left_out > 0 else [])]
        return "\n  ".join([line, *shown])

    # -- registrations ---------------------------------------------------------------------------------------------

    def _initialize(self) -> None:
        earlier = self.message_count()
        if not self.functions["initialize"](MXNET_VERSION):
            raise LibraryError(
                self.explained(f"library.load: {self.path} refuses to be initialized for MXNet 1.9.1.", earlier)
            )

    def _registered(self, function: str, noun: str) -> range:
        """Return the indices of the library's operators, partitioners or passes."""
        count = self.functions[function]()
        if not 0 <= count <= _MAX_REGISTERED:
            raise LibraryError(
                f"library.load: {self.path} says that it registers {count} {noun}; expected 0 to {_MAX_REGISTERED}."
            )
        return range(count)

    def _checked_name(self, noun: str, index: int, name: c_char_p) -> str:
        """Return the name of a registration, or raise."""
        text = _text(name)
        if not text:
            raise LibraryError(f"library.load: {self.path} registers its {noun} number {index} without a name.")
        if noun == "operator" and not (text.isascii() and text.isidentifier()):
            raise LibraryError(
                f"library.load: {self.path} registers the operator {text!r}; a name has letters, digits and "
                "underscores only, as functions have: it is called as nd.<name>."
            )
        return text

    def _operator(self, index: int) -> OperatorEntry:
        name, is_subgraph = c_char_p(), c_int()
        contexts = [(c_void_p(), c_void_p(), c_int()) for _ in range(3)]
        functions = [c_void_p() for _ in range(5)]
        self.functions["_opRegGet"](
            index,
            byref(name),
            byref(is_subgraph),
            *(byref(part) for group in contexts for part in group),
            *map(byref, functions),
        )
        forward, backward, create_state = [_by_context(*group) for group in contexts]
        entry = OperatorEntry(
            self._checked_name("operator", index, name),
            bool(is_subgraph.value),
            forward,
            backward,
            create_state,
            *[function.value for function in functions],
        )
        missing = entry.missing()
        if missing:
            kind = "subgraph operator" if entry.is_subgraph else "operator"
            raise LibraryError(
                f"library.load: {self.path} registers the {kind} {entry.name!r} without {missing}, which it needs."
            )
        return entry

    def _partitioner(self, index: int) -> PartitionerEntry:
        name = c_char_p()
        count = self.functions["_partRegGetCount"](index, byref(name))
        entry = PartitionerEntry(self._checked_name("partitioner", index, name))
        if count < 1:
            raise LibraryError(
                f"library.load: {self.path} registers the partitioner {entry.name!r} without a strategy: it needs at "
                "least one addStrategy."
            )
        for number in range(count):
            strategy, operator = c_char_p(), c_char_p()
            functions = [c_void_p() for _ in range(3)]
            self.functions["_partRegGet"](index, number, byref(strategy), *map(byref, functions), byref(operator))
            row = StrategyEntry(_text(strategy), _text(operator), *(function.value for function in functions))
            if not row.operator:
                raise LibraryError(
                    f"library.load: {self.path} registers strategy {row.name!r} of the partitioner {entry.name!r} "
                    "without the name of the operator that stands for its subgraphs."
                )
            if row.supported is None and row.selector is None:
                raise LibraryError(
                    f"library.load: {self.path} registers strategy {row.name!r} of the partitioner {entry.name!r} "
                    "without setSupportedOps or setCreateSelector; it needs one of them."
                )
            entry.strategies.append(row)
        return entry

    def _pass(self, index: int) -> PassEntry:
        body, name = c_void_p(), c_char_p()
        self.functions["_passRegGet"](index, byref(body), byref(name))
        text = self._checked_name("graph pass", index, name)
        if body.value is None:
            raise LibraryError(
                f"library.load: {self.path} registers the graph pass {text!r} without setBody, which it needs."
            )
        return PassEntry(text, body.value)

    # -- attributes and inference ----------------------------------------------------------------------------------

    def parse_attributes(self, entry: OperatorEntry, texts: Texts) -> tuple[int, int]:
        """Return how many inputs and outputs an operator has with these attributes."""
        inputs, outputs = c_int(-1), c_int(-1)
        earlier = self.message_count()
        status = self.functions["_opCallParseAttrs"](
            entry.parse_attributes, *texts.arguments, byref(inputs), byref(outputs)
        )
        if not status:
            raise self.failure(ArgumentError, f"{entry.name}: parseAttrs refuses {_pairs(texts)}.", earlier)
        if not 0 <= inputs.value <= _MAX_TENSORS or not 1 <= outputs.value <= _MAX_TENSORS:
            raise LibraryError(
                f"{entry.name}: parseAttrs gave {inputs.value} input(s) and {outputs.value} output(s) for "
                f"{_pairs(texts)}; expected at least 0 and 1, and {_MAX_TENSORS} at most. Does it set *num_inputs and "
                "*num_outputs?"
            )
        return inputs.value, outputs.value

    def infer_shape(
        self, entry: OperatorEntry, texts: Texts, shapes: Sequence[Sequence[int]], outputs: int
    ) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Return the shapes of inputs and outputs that an operator infers, as 32-bit numbers."""
        count = len(shapes)
        rows, lengths = shape_arrays(shapes)
        results = [c_void_p() for _ in range(4)]
        earlier = self.message_count()
        status = self.functions["_opCallInferShape"](
            entry.infer_shape, *texts.arguments, rows, lengths, count, *map(byref, results), outputs
        )
        if not status:
            raise self.failure(
                ShapeError, f"{entry.name}: inferShape failed on {_shapes(shapes)} with {_pairs(texts)}.", earlier
            )
        in_shapes, in_lengths, out_shapes, out_lengths = results
        inferred = (
            self._take_shapes("inputs", in_shapes, in_lengths, count),
            self._take_shapes("outputs", out_shapes, out_lengths, outputs),
        )
        for shapes_or_problem in inferred:
            if isinstance(shapes_or_problem, str):
                raise LibraryError(f"{entry.name}: inferShape {shapes_or_problem}")
        return inferred  # type: ignore[return-value]

    def _take_shapes(self, noun: str, shapes: c_void_p, lengths: c_void_p, count: int) -> list[tuple[int, ...]] | str:
        """Return shapes that the library has allocated, and free them; the problem as a text if they are invalid."""
        free = self.functions["_opCallFree"]
        pointers = list((c_void_p * count).from_address(shapes.value)) if shapes.value else [None] * count
        numbers = list((c_int * count).from_address(lengths.value)) if lengths.value else [1] * count
        try:
            for pointer, number in zip(pointers, numbers, strict=True):
                if not 0 <= number <= MOST_DIMENSIONS:
                    return (
                        f"gives a shape of {number} dimensions among those of its {noun}; there are 0 to "
                        f"{MOST_DIMENSIONS}."
                    )
                if (number and not pointer) or not lengths.value:
                    return f"reports success, and gives no shapes for its {noun} (NULL)."
            return [
                tuple((c_uint * number).from_address(pointer)) if pointer and number else ()
                for pointer, number in zip(pointers, numbers, strict=True)
            ]
        finally:
            for address in (*pointers, shapes, lengths):
                free(address)

    def infer_numbers(
        self, step: str, entry: OperatorEntry, texts: Texts, types: Sequence[int], outputs: int
    ) -> tuple[list[int], list[int]]:
        """Return the numbers of the dtypes ("inferType"), or storage types ("inferSType"), of inputs and outputs."""
        function, kind = (entry.infer_type, DTypeError) if step == "inferType" else (entry.infer_storage, ArgumentError)
        count = len(types)
        inputs = (c_int * max(count, 1))(*types)
        results = (c_int * max(outputs, 1))(*[UNKNOWN_TYPE] * outputs)
        earlier = self.message_count()
        if not self.functions[f"_opCall{step.replace('infer', 'Infer')}"](
            function, *texts.arguments, inputs, count, results, outputs
        ):
            raise self.failure(
                kind, f"{entry.name}: {step} failed on {_types(step, types)} with {_pairs(texts)}.", earlier
            )
        return inputs[:count], results[:outputs]

    def mutate_inputs(self, entry: OperatorEntry, texts: Texts, inputs: int) -> list[int]:
        """Return the positions of the inputs that an operator with so many changes, in ascending order."""
        if entry.mutate_inputs is None:
            return []
        indices, count = c_void_p(), c_int()
        earlier = self.message_count()
        status = self.functions["_opCallMutateInputs"](
            entry.mutate_inputs, *texts.arguments, byref(indices), byref(count)
        )
        if not status:
            raise self.failure(ArgumentError, f"{entry.name}: mutateInputs failed with {_pairs(texts)}.", earlier)
        is_list = 0 <= count.value <= _MAX_TENSORS and (indices.value is not None or count.value == 0)
        positions = set((c_int * count.value).from_address(indices.value)) if is_list and indices.value else set()
        self.functions["_opCallFree"](indices)
        wrong = sorted(index for index in positions if not 0 <= index < inputs)
        if wrong or not is_list:
            text = f"the position {wrong[0]}" if wrong else f"{count.value} positions"
            raise LibraryError(
                f"{entry.name}: mutateInputs gives {text}{'' if indices.value else ' (NULL)'}; with {_pairs(texts)} "
                f"the operator has {inputs} input(s)."
            )
        return sorted(positions)

    def state_arguments(self, texts: Texts, shapes: Sequence[Sequence[int]], types: Sequence[int]) -> tuple[Any, ...]:
        """Return the arguments that create a state: attributes, and from version 10 on shapes and dtypes of inputs."""
        if self.version < 10:
            return texts.arguments
        for shape in shapes:
            if max(shape, default=0) >= UNKNOWN_DIMENSION:
                raise ShapeError(f"an input has shape {tuple(shape)}; lengths are 32-bit numbers here.")
        rows, lengths = shape_arrays(shapes)
        return (*texts.arguments, CPU, 0, rows, lengths, len(shapes), (c_int * max(len(types), 1))(*types))

    def create_state(
        self, entry: OperatorEntry, texts: Texts, shapes: Sequence[Sequence[int]], arguments: tuple[Any, ...]
    ) -> int:
        """Return the address of a new state of a stateful operator, for the CPU, from its `state_arguments`."""
        state = c_void_p()
        earlier = self.message_count()
        status = self.functions["_opCallCreateOpState"](entry.create_state["cpu"], *arguments, byref(state))
        if not status or state.value is None:
            problem = "createOpState failed" if not status else "createOpState made no state"
            raise self.failure(
                OperatorError, f"{entry.name}: {problem} for {_shapes(shapes)} with {_pairs(texts)}.", earlier
            )
        return state.value

    def failure(self, kind: type[MXNetError], line: str, earlier: int) -> MXNetError:
        """Return an error of a kind with the messages of the library from a number on."""
        return kind(self.explained(line, earlier))


def shape_arrays(shapes: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Return shapes as C arrays of 32-bit numbers, and the lengths of these."""
    count = max(len(shapes), 1)
    rows = [(c_uint * max(len(shape), 1))(*shape) for shape in shapes]
    pointers: Any = (ctypes.POINTER(c_uint) * count)(*rows)  # type: ignore[misc]  # it keeps the rows
    return pointers, (c_int * count)(*map(len, shapes))


def _by_context(contexts: c_void_p, functions: c_void_p, count: c_int) -> dict[str, int]:
    """Return functions by context, which a library that is loaded twice lists twice."""
    if not contexts.value or not functions.value or count.value < 1:
        return {}
    names = (c_char_p * count.value).from_address(contexts.value)
    pointers = (c_void_p * count.value).from_address(functions.value)
    return {
        (name or b"").decode(): pointer for name, pointer in zip(names, pointers, strict=True) if pointer is not None
    }


def _text(text: c_char_p) -> str:
    return (text.value or b"").decode(errors="replace")


def _types(step: str, numbers: Sequence[int]) -> str:
    """Return dtypes or storage types in words."""
    shown = [str(number) for number in numbers]
    if step == "inferType":
        shown = [DTYPES[number].name if 0 <= number < len(DTYPES) else "?" for number in numbers]
    return f"inputs of {', '.join(shown)}" if shown else "no inputs"


def _shapes(shapes: Sequence[Sequence[int]]) -> str:
    return f"inputs of shapes {', '.join(map(show_shape, map(tuple, shapes)))}" if shapes else "no inputs"


def _pairs(texts: Texts) -> str:
    keys, values, count = texts.arguments
    pairs = [f"{(keys[index] or b'').decode()}={(values[index] or b'').decode()!r}" for index in range(count.value)]
    return ", ".join(pairs) or "no attributes"
