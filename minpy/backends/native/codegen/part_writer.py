"""The parts of a program as Python source: launches of native code, and calls of Python's functions between them.

Arrays lie in the context's block of memory, in the block made of parameters (see `prepared_parameters`), in new arrays
(outputs), in the arrays that gradients are asked into, or are results of calls. Python's functions get views of the
blocks, users' operators copies of these, as they may keep what they see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from minpy.backends.native.codegen.caller_interface import Interface, is_whole
from minpy.backends.native.codegen.launch_sequences import LaunchSequence
from minpy.backends.native.codegen.launches import Launch
from minpy.backends.native.codegen.memory_layout import Allocation, Memory
from minpy.backends.native.language import Array, Call, Layout, Product, contiguous
from minpy.backends.native.runtime.address_table import Table
from minpy.backends.native.runtime.argument_coercion import Argument, is_singular, usual
from minpy.backends.native.runtime.program_plan import CheckedResult, CoercingCall, LaunchFunction, NativePart
from minpy.backends.source_parts import Line, NodeCall, StridedView
from minpy.core import aligned
from minpy.core.buffers import note_writes
from minpy.graph.ir import Node
from minpy.graph.outputs import no_alias
from minpy.graph.schedule import is_trusted

__all__ = ["PartWriter"]

_COERCED = CoercingCall()


@dataclass(eq=False)
class PartWriter:
    """Writes the source of all parts, and the launch sequences that they call, with the table that these refer to.

    `integer` is the type of BLAS's integers; a kernel may run in 1 or 2 `threads`; with `separate` each launch is a
    sequence of its own, so that it can be timed. `checks` says whether parts check their arguments: not where no native
    code computes anything.
    """

    interface: Interface
    memory: Memory
    integer: str
    threads: int
    separate: bool
    checks: bool

    def __post_init__(self) -> None:
        self.parts: dict[str, NativePart] = {}
        self.sequences: list[LaunchSequence] = []
        self.table = Table()
        self.constants: dict[str, Any] = {}
        # What the source calls owners that have no place in the block.
        self.names: dict[Array, str] = {}
        self.kept: list[str] = []
        self._lines: list[Line] = []
        self._allocated: set[Array] = set()
        self._checked = False
        self._parameters: Sequence[str] = ()
        self._numbers: dict[Node, int] = {}
        self._calls = 0
        self._replayed: set[Node] = set()
        self._strided_views: dict[StridedView, str] = {}
        # Which output each new array is, where callers may give the memory of outputs.
        self._outputs_of: dict[Array, int] = {}
        # The block of values computed from parameters, if there is any.
        self.prepared: Array | None = None
        if self.memory.prepared:
            self.prepared = Array((self.memory.prepared_bytes,), numpy.dtype("uint8"), name="prepared")
            self.names[self.prepared] = "prepared"

    # -- parts -------------------------------------------------------------------------------------------------------

    def prepare(self, inputs: Sequence[Array], numbered: Sequence[tuple[int, Launch]]) -> None:
        """Write the part that fills the block of what is made of parameters: a function of the arrays and the block."""
        self._begin(inputs, ["arrays", "prepared"])
        self._launches(numbered, ())
        self._end("prepare", [inputs])

    def forward(
        self,
        inputs: Sequence[Array],
        numbered: Sequence[tuple[int, Launch]],
        outputs: Sequence[Array],
        saved_for_replay: Sequence[tuple[Node, int, Sequence[Array]]],
        read_later: Iterable[Array],
        updated: Sequence[int] = (),
    ) -> None:
        """Write the forward part: a function of the arrays that returns outputs and `Residuals`.

        Where something is made of parameters, it is given that block, too. `numbered` are launches with their numbers
        in the plan of the memory; `saved_for_replay` steps whose answers are returned, too, of how many arrays they are
        tuples, or 0, and what these are here; the backward part reads what is `read_later`; writes to the arrays at
        the positions `updated` are logged.
        """
        self.names |= {array: f"f{index}" for index, array in enumerate(self.interface.new)}
        self._begin(inputs, ["arrays", "out=()"] if self.prepared is None else ["arrays", "prepared"])
        if self.prepared is None and all(launch.is_native for _, launch in numbered):
            for index, output in enumerate(outputs):
                if index not in self.interface.stored and self._is_new(output):
                    self._outputs_of.setdefault(self._owner(output), index)
        later = [self.memory.owner(array) for array in read_later]
        replayed = [array for _, _, arrays in saved_for_replay for array in arrays]
        self._replayed = {node for node, _, _ in saved_for_replay}
        results = (*outputs, *replayed)
        self._launches(numbered, {*later, *map(self._owner, results)}, results, inputs)
        returned = self._outputs(outputs)
        saved_owners = [owner for owner in later if owner in self.names and owner not in self.interface.arguments]
        self.kept = list(dict.fromkeys(self.names[owner] for owner in saved_owners))
        saved = "".join(f"{self._saved_for_replay(*row)}, " for row in saved_for_replay)
        if updated:
            self._put(f"{self._constant('note_writes', note_writes)}(arrays, {tuple(updated)})")
        self._put(f"return ({returned}), (arrays, [{', '.join(self.kept)}], ({saved}))")
        self._end("forward", [inputs])

    def backward(
        self,
        inputs: Sequence[Array],
        cotangents: Sequence[Array],
        numbered: Sequence[tuple[int, Launch]],
        gradients: Sequence[Array],
    ) -> None:
        """Write the backward part: a function of the arrays, the cotangents, where gradients are asked, and what
        the forward part kept, which it uses up.
        """
        targets = self.interface.targets
        self.names |= {array: f"h{index}" for index, array in enumerate(cotangents)}
        self.names |= {array: f"g{index}" for index, array in enumerate(targets)}
        self._begin(inputs, ["arrays", "cotangents", "gradients", "kept"])
        self._replayed = set()
        self._launches(numbered, set(map(self._owner, gradients)), gradients)
        for gradient, target, request in zip(gradients, targets, self.interface.grad_req, strict=True):
            name = self.names[target]
            if request == "add":
                self._put(f"{self._constant('add', numpy.add)}({name}, {self._expression(gradient)}, {name})")
            elif self._owner(gradient) is not target:
                self._put(f"{self._constant('copyto', numpy.copyto)}({name}, {self._expression(gradient)})")
        self._end("backward", [inputs, cotangents, targets])

    def _begin(self, inputs: Sequence[Array], parameters: Sequence[str]) -> None:
        self.names |= {array: f"a{index}" for index, array in enumerate(inputs)}
        self._lines = []
        self._checked = False
        self._parameters = parameters

    def _end(self, name: str, groups: Sequence[Sequence[Array]]) -> None:
        unpacked = {
            parameter: [self.names[array] for array in arrays]
            for parameter, arrays in zip(self._parameters, groups, strict=False)
        }
        if "kept" in self._parameters:
            unpacked["kept"] = self.kept
        self.parts[name] = NativePart(name, self._parameters, self.constants, self._lines, unpacked)

    def _saved_for_replay(self, node: Node, width: int, arrays: Sequence[Array]) -> str:
        """Return the result of a step as source: as its call gave it, or copies of its arrays."""
        if node in self._numbers:
            return f"r{self._numbers[node]}"
        copies = [f"{self._expression(array)}.copy()" for array in arrays]
        return f"({', '.join(copies)},)" if width else copies[0]

    def _outputs(self, outputs: Sequence[Array]) -> str:
        """Return the outputs as source: each has memory of its own, or is the variable that it updates."""
        source, returned = "", set()
        for index, output in enumerate(outputs):
            if index in self.interface.stored:
                source += f"{self.names[self.interface.stored[index]]}, "
                continue
            owner = self._owner(output)
            expression = self._expression(output)
            if self._is_new(output) and owner not in returned:
                self._allocate(owner)
                expression = self.names[owner]
            elif owner is output and isinstance(owner.step, Call) and owner in self.names and owner not in returned:
                expression = f"{self._constant('no_alias', no_alias)}({expression}, arrays)"
            else:
                expression = f"{expression}.copy()"
            returned.add(owner)
            source += f"{expression}, "
        return source

    def _is_new(self, output: Array) -> bool:
        """Tell whether an output is all of a new array, of its shape."""
        owner = self._owner(output)
        return is_whole(output, owner) and output.shape == self.interface.new.get(owner)

    # -- launches ----------------------------------------------------------------------------------------------------

    def _launches(
        self,
        numbered: Sequence[tuple[int, Launch]],
        live_out: Collection[Array],
        results: Sequence[Array] = (),
        inputs: Sequence[Array] = (),
    ) -> None:
        """Write launches: consecutive native ones as sequences.

        Owners `live_out` are needed when all are done, and results are read then. All arguments that anybody reads are
        looked at first: Python's functions, too, get views that are laid over its memory.
        """
        used = dict.fromkeys(owner for _, launch in numbered for owner in self._external_owners(launch))
        used |= dict.fromkeys(map(self._owner, results))
        if self.interface.no_alias:
            used |= dict.fromkeys(inputs)
        arguments = self.interface.arguments
        checked = {
            owner: arguments[owner] for owner in used if self.checks and owner in arguments and is_singular(owner.dtype)
        }
        ends = {
            owner: number
            for number, launch in numbered
            for owner in self._external_owners(launch)
            if owner not in live_out
        }
        run: list[tuple[int, Launch]] = []
        for number, launch in numbered:
            if launch.is_native:
                if launch.runs:
                    run.append((number, launch))
                if not self.separate:
                    continue
            self._sequence(run, checked)
            run = []
            if not launch.is_native:
                self._release(ends, number - 1)
                if isinstance(launch.item, Product):
                    self._product(launch.item)
                elif isinstance(launch.item, Call):
                    self._call(launch.item)
                self._release(ends, number)
        self._sequence(run, checked)

    def _release(self, ends: dict[Array, int], number: int) -> None:
        """Release new arrays that nothing reads after a launch."""
        for owner in [owner for owner, end in ends.items() if end <= number]:
            del ends[owner]
            if owner not in self.interface.arguments and owner is not self.prepared and owner in self.names:
                self._put(f"{self.names[owner]} = None")

    def _owner(self, array: Array) -> Array:
        """Return the owner of an array's memory, or the array that is computed in."""
        owner = self.memory.owner(array)
        owner = self.interface.direct.get(owner, owner)
        return owner if owner in self.memory.offsets else self.memory.heirs.get(owner, owner)

    def _external_owners(self, launch: Launch) -> list[Array]:
        """Return the owners that a launch needs and that are neither in the block nor constants.

        For what was made of parameters that is their block.
        """
        uses = launch.uses
        owners = dict.fromkeys(map(self._owner, (*uses.reads, *uses.writes, *uses.temporaries)))
        outside = [owner for owner in owners if owner not in self.memory.offsets and not owner.is_constant]
        if self.prepared is not None:
            outside = [self.prepared if owner in self.memory.prepared else owner for owner in outside]
        return list(dict.fromkeys(outside))

    def _sequence(self, run: Sequence[tuple[int, Launch]], arguments: Mapping[Array, Argument]) -> None:
        """Write the call of a launch sequence; the first one of a part checks all arguments."""
        if not run and (self._checked or not arguments):
            return
        checked = {} if self._checked else arguments
        outside = dict.fromkeys(owner for _, launch in run for owner in self._external_owners(launch))
        outside |= dict.fromkeys(checked)
        for owner in outside:
            self._allocate(owner)
        sequence = LaunchSequence(
            f"launch{len(self.sequences)}", run, list(outside), checked, self.interface, self.memory, self.table,
            self.integer, self.threads, self.prepared,
        )  # fmt: skip
        self.sequences.append(sequence)
        name = self._constant(sequence.name, LaunchFunction(sequence.name))
        call = f"{name}({', '.join(self.names[owner] for owner in outside)})"
        note = ", ".join(dict.fromkeys(kernel.name for kernel in sequence.kernels))
        if checked:
            groups = [parameter for parameter in self._parameters if "=" not in parameter]
            self._put(f"if {call} is not None:", note=note)
            self._put(f"    return {self._constant('coerced', _COERCED)}({', '.join(groups)})")
        else:
            self._put(call, note=note)
        if not self._checked and "kept" in self._parameters and self.kept:
            self._put("kept.clear()")
        self._checked = True

    def _allocate(self, owner: Array) -> None:
        """Write the allocation of a new array, before it is first needed."""
        if owner in self.interface.new and owner not in self._allocated:
            name = self.names[owner]
            self._allocated.add(owner)
            dtype = self._constant(f"dtype_{owner.dtype.name}", usual(owner.dtype))
            is_small = owner.size * owner.dtype.itemsize < aligned.LARGE
            empty = self._constant("empty", numpy.empty) if is_small else self._constant("aligned", aligned.empty)
            allocation = f"{empty}({self.interface.new[owner]}, {dtype})"
            if owner in self._outputs_of and not is_small:
                index = self._outputs_of[owner]
                allocation += f" if not out or out[{index}] is None else out[{index}]"
            self._put(f"{name} = {allocation}")

    def _product(self, product: Product) -> None:
        """Write a product that NumPy does."""
        self._allocate(self._owner(product.output))
        first, second = map(self._expression, product.operands[:2])
        output = self._expression(product.output)
        matmul = self._constant("matmul", numpy.matmul)
        self._put(f"{matmul}({first}, {second}, out={output})", note=product.label())
        if len(product.operands) == 3:
            added = self._expression(product.operands[2])
            self._put(f"{self._constant('add', numpy.add)}({added}, {output}, {output})")

    def _call(self, call: Call) -> None:
        """Write the call of a Python function, and the checks of its results."""
        number = self._calls = self._calls + 1
        foreign = call.node is not None and not is_trusted(call.node)
        arguments = ", ".join(self._argument(argument, foreign) for argument in call.arguments)
        described = call.node.described() if call.node is not None else call.label()
        if call.function is not None:
            function = self._constant(f"c{number}", call.function)
        else:
            assert call.node is not None
            function = self._constant(f"c{number}", NodeCall(call.node))
            self._numbers[call.node] = number
        raw = f"r{number}"
        is_saved = call.function is None and call.node in self._replayed
        result = f"{function}({arguments})"
        # What Python gives may lie in what it was given.
        block = ", prepared" if any(self._owner(operand) in self.memory.prepared for operand in call.operands) else ""
        if is_saved or len(call.outputs) != 1:
            self._put(f"{raw} = {result}", call.node, described)
            result = raw
        for output in call.outputs:
            array = result if len(call.outputs) == 1 else f"{raw}[{output.index}]"
            self.names[output] = name = f"v{number}_{output.index}"
            check = CheckedResult(described, output.shape, usual(output.dtype))
            checked = self._constant(f"s{number}_{output.index}", check)
            self._put(f"{name} = {checked}({array}{block})", call.node, "" if array.startswith(raw) else described)
        if not is_saved and len(call.outputs) != 1:
            self._put(f"{raw} = None")

    def _argument(self, argument: Any, foreign: bool) -> str:
        """Return an argument of a call as source."""
        if isinstance(argument, tuple):
            return f"({''.join(f'{self._argument(element, foreign)}, ' for element in argument)})"
        if not isinstance(argument, Array):
            return self._constant(f"k{len(self.constants)}", argument)
        expression, owner = self._expression(argument), self._owner(argument)
        is_ours = owner in self.memory.offsets or owner in self.memory.prepared
        return f"{expression}.copy()" if foreign and is_ours else expression

    # -- arrays ------------------------------------------------------------------------------------------------------

    def _expression(self, array: Array) -> str:
        """Return an array as source: a name, or an array laid into other memory."""
        if array.is_constant:
            return self._constant(f"k{len(self.constants)}", array.value)
        where = self.memory.allocation(array)
        owner = self._owner(array)
        itemsize = array.dtype.itemsize
        strides = tuple(stride * itemsize for stride in where.layout.strides)
        if owner.is_constant:
            flat = owner.value.reshape(-1) if owner.value is not None else None
            constant_view = numpy.ndarray(array.shape, array.dtype, flat, where.layout.offset * itemsize, strides)
            return self._constant(f"k{len(self.constants)}", constant_view)
        offset = where.layout.offset * itemsize
        if owner in self.memory.offsets:
            view = StridedView(self.memory.offsets[owner] + offset, array.shape, usual(array.dtype), strides)
            if view not in self._strided_views:
                self._strided_views[view] = self._constant(f"b{len(self._strided_views)}", view)
            return self._strided_views[view]
        if owner in self.memory.prepared:
            offset += self.memory.prepared[owner]
            dtype = self._constant(f"dtype_{array.dtype.name}", usual(array.dtype))
            return f"{self._constant('ndarray', numpy.ndarray)}({array.shape}, {dtype}, prepared, {offset}, {strides})"
        name = self.names[owner]
        shape = self.interface.new.get(owner, owner.shape)
        if array.shape == shape and where == Allocation(where.owner, Layout(0, contiguous(array.shape))):
            return name
        dtype = self._constant(f"dtype_{array.dtype.name}", usual(array.dtype))
        return f"{self._constant('ndarray', numpy.ndarray)}({array.shape}, {dtype}, {name}, {offset}, {strides})"

    def _put(self, line: str, node: Node | None = None, note: str = "") -> None:
        self._lines.append((line, node, note))

    def _constant(self, name: str, value: Any) -> str:
        """Return a name by which the source may call an object; the names given are none of the source's own."""
        existing = self.constants.setdefault(name, value)  # apart from the assertion: `python -O` runs none
        assert existing is value, name
        return name
