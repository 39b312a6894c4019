"""The parts of a program as functions of Python: segments of native code, and calls of Python's functions between them.

Arrays lie in the block of memory of the context, in the block of what was made of parameters (see `prepared`), in new
arrays (outputs), in the arrays that gradients are asked into, or they are what a call has answered. Python's functions
get arrays laid into the blocks, users' operators copies of these, as they may keep what they see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy

from minpy.backends.native.arguments import is_singular, usual
from minpy.backends.native.boundary import Boundary, is_whole
from minpy.backends.native.language import Array, Call, Layout, Product, contiguous
from minpy.backends.native.memory import Allocation, Memory
from minpy.backends.native.segments import Segment
from minpy.backends.native.source import COERCED, Answer, Code, NativePart, NodeCall, StridedView
from minpy.backends.native.table import ARGUMENT_MISMATCH, Table
from minpy.backends.native.works import Work
from minpy.core import aligned
from minpy.core.buffers import note_writes
from minpy.graph.ir import Node
from minpy.graph.outputs import no_alias
from minpy.graph.steps import is_trusted

__all__ = ["PartWriter"]


class PartWriter:
    """Writes the source of both parts, and the segments that they call.

    Parameters
    ----------
    boundary : Boundary
    memory : Memory
    table : Table
    integer : str
        The type of BLAS's integers.
    threads : int
        In how many threads a kernel may run: 1 or 2.
    apart : bool
        Whether each work is a segment of its own, so that it can be timed.
    checks : bool
        Whether parts look at what they are given: not where no native code computes anything, as Python runs then.

    Attributes
    ----------
    segments : list of Segment
    works : dict of str to Work
        By the name of the segment, the first work in it.
    """

    def __init__(
        self,
        boundary: Boundary,
        memory: Memory,
        table: Table,
        integer: str,
        threads: int,
        apart: bool = False,
        checks: bool = True,
    ) -> None:
        self.apart = apart
        self.checks = checks
        self.works: dict[str, Work] = {}
        self.boundary = boundary
        self.memory = memory
        self.table = table
        self.integer = integer
        self.threads = threads
        self.segments: list[Segment] = []
        self.constants: dict[str, Any] = {}
        # What the source calls owners that have no place in the block.
        self.names: dict[Array, str] = {}
        self.kept: list[str] = []
        self._lines: list[tuple[str, Node | None, str]] = []
        self._made: set[Array] = set()
        self._checked = False
        self._parameters: Sequence[str] = ()
        self._numbers: dict[Node, int] = {}
        self._calls = 0
        self._lasts: set[Node] = set()
        self._strided_views: dict[StridedView, str] = {}
        # Which output each new array is, where callers may give the memory of outputs.
        self._places: dict[Array, int] = {}
        # What stands for the block of what was made of parameters, if there is any.
        self.prepared: Array | None = None
        if memory.prepared:
            self.prepared = Array((memory.prepared_bytes,), numpy.dtype("uint8"), name="prepared")
            self.names[self.prepared] = "prepared"

    # -- parts -------------------------------------------------------------------------------------------------------

    def prepare(self, inputs: Sequence[Array], numbered: Sequence[tuple[int, Work]]) -> NativePart:
        """Return the part that fills the block of what is made of parameters: a function of the arrays and the block.

        It returns None, or `ARGUMENT_MISMATCH`, before it has done anything.
        """
        self._name_inputs(inputs)
        self._begin("prepare", ["arrays", "prepared"], [inputs])
        self._works(numbered, ())
        return self._part("prepare", ["arrays", "prepared"], [inputs])

    def _name_inputs(self, inputs: Sequence[Array]) -> None:
        self.names |= {array: f"a{index}" for index, array in enumerate(inputs)}

    def forward(
        self,
        inputs: Sequence[Array],
        numbered: Sequence[tuple[int, Work]],
        outputs: Sequence[Array],
        saved_for_replay: Sequence[tuple[Node, int, Sequence[Array]]],
        read_later: Iterable[Array],
        updated: Sequence[int] = (),
    ) -> NativePart:
        """Return the forward part: a function of the arrays that returns outputs and `Residuals`.

        Where something is made of parameters, it is given that block, too, and may return `ARGUMENT_MISMATCH`.

        Parameters
        ----------
        inputs : sequence of Array
        numbered : sequence of (int, Work)
            With their numbers in the plan of the memory.
        outputs : sequence of Array
        saved_for_replay : sequence of (Node, int, sequence of Array)
            Steps whose answers are returned, too; of how many arrays they are tuples, or 0; and what these are here.
        read_later : iterable of Array
            What the backward part reads.
        updated : sequence of int
            Positions of the arrays that it writes to: that is logged.
        """
        self._name_inputs(inputs)
        self.names |= {array: f"f{index}" for index, array in enumerate(self.boundary.fresh)}
        parameters = ["arrays", "out=()"] if self.prepared is None else ["arrays", "prepared"]
        self._begin("forward", parameters, [inputs])
        if self.prepared is None and all(work.is_native for _, work in numbered):
            for index, output in enumerate(outputs):
                if index not in self.boundary.stored and self._is_fresh(output):
                    self._places.setdefault(self._owner(output), index)
        given = set(self.boundary.arguments)
        later = [self.memory.owner(array) for array in read_later]
        ends = [array for _, _, arrays in saved_for_replay for array in arrays]
        self._lasts = {node for node, _, _ in saved_for_replay}
        self._works(numbered, {*later, *map(self._owner, (*outputs, *ends))}, (*outputs, *ends), inputs)
        returned = self._outputs(outputs)
        self.kept = list(dict.fromkeys(self.names[one] for one in later if one in self.names and one not in given))
        lasts = "".join(f"{self._saved_for_replay(*row)}, " for row in saved_for_replay)
        if updated:
            self._put(f"{self._constant('note_writes', note_writes)}(arrays, {tuple(updated)})")
        self._put(f"return ({returned}), (arrays, [{', '.join(self.kept)}], ({lasts}))")
        return self._part("forward", parameters, [inputs])

    def backward(
        self,
        inputs: Sequence[Array],
        cotangents: Sequence[Array],
        numbered: Sequence[tuple[int, Work]],
        gradients: Sequence[Array],
    ) -> NativePart:
        """Return the backward part: a function of the arrays, the cotangents, where gradients are asked, and what
        the forward part kept, which it uses up.
        """
        targets = self.boundary.targets
        self.names |= {array: f"h{index}" for index, array in enumerate(cotangents)}
        self.names |= {array: f"g{index}" for index, array in enumerate(targets)}
        parameters = ["arrays", "cotangents", "gradients", "kept"]
        self._begin("backward", parameters, [inputs, cotangents, targets])
        self._lasts = set()
        self._works(numbered, set(map(self._owner, gradients)), gradients)
        for gradient, target, request in zip(gradients, targets, self.boundary.grad_req, strict=True):
            name = self.names[target]
            if request == "add":
                self._put(f"{self._constant('add', numpy.add)}({name}, {self._expression(gradient)}, {name})")
            elif self._owner(gradient) is not target:
                self._put(f"{self._constant('copyto', numpy.copyto)}({name}, {self._expression(gradient)})")
        return self._part("backward", parameters, [inputs, cotangents, targets])

    def _begin(self, name: str, parameters: Sequence[str], given: Sequence[Sequence[Array]]) -> None:
        self._name = name
        self._lines = []
        self._checked = False
        self._parameters = parameters

    def _part(self, name: str, parameters: Sequence[str], given: Sequence[Sequence[Array]]) -> NativePart:
        unpacked = {
            parameter: [self.names[array] for array in arrays]
            for parameter, arrays in zip(parameters, given, strict=False)
        }
        if "kept" in parameters:
            unpacked["kept"] = self.kept
        return NativePart(name, parameters, self.constants, self._lines, unpacked)

    def _saved_for_replay(self, node: Node, width: int, arrays: Sequence[Array]) -> str:
        """Return the answer of a step as source: as its call gave it, or copies of what it is here."""
        if node in self._numbers:
            return f"r{self._numbers[node]}"
        copies = [f"{self._expression(array)}.copy()" for array in arrays]
        return f"({', '.join(copies)},)" if width else copies[0]

    def _outputs(self, outputs: Sequence[Array]) -> str:
        """Return the outputs as source: each has memory that is nobody else's, or is the variable that it becomes."""
        source, taken = "", set()
        for index, output in enumerate(outputs):
            if index in self.boundary.stored:
                source += f"{self.names[self.boundary.stored[index]]}, "
                continue
            owner = self._owner(output)
            expression = self._expression(output)
            if self._is_fresh(output) and owner not in taken:
                self._make(owner)
                expression = self.names[owner]
            elif owner is output and isinstance(owner.step, Call) and owner in self.names and owner not in taken:
                expression = f"{self._constant('no_alias', no_alias)}({expression}, arrays)"
            else:
                expression = f"{expression}.copy()"
            taken.add(owner)
            source += f"{expression}, "
        return source

    def _is_fresh(self, output: Array) -> bool:
        """Tell whether an output is a new array, as that is made."""
        owner = self._owner(output)
        return is_whole(output, owner) and output.shape == self.boundary.fresh.get(owner)

    # -- works -------------------------------------------------------------------------------------------------------

    def _works(
        self,
        numbered: Sequence[tuple[int, Work]],
        stays: Collection[Array],
        results: Sequence[Array] = (),
        inputs: Sequence[Array] = (),
    ) -> None:
        """Write works: those that native code does together, as segments.

        What stays is needed when all are done, and results are read then. All that is given, and read by anybody, is
        looked at first: Python's functions, too, get views that are laid over its memory.
        """
        used = dict.fromkeys(owner for _, work in numbered for owner in self._outside(work))
        used |= dict.fromkeys(map(self._owner, results))
        if self.boundary.apart:
            used |= dict.fromkeys(inputs)
        given = dict.fromkeys(
            owner for owner in used if self.checks and owner in self.boundary.arguments and is_singular(owner.dtype)
        )
        ends = {owner: number for number, work in numbered for owner in self._outside(work) if owner not in stays}
        run: list[tuple[int, Work]] = []
        for number, work in numbered:
            if work.is_native:
                if work.runs:
                    run.append((number, work))
                if self.apart:
                    self._segment(run, given)
                    run = []
                continue
            self._segment(run, given)
            self._forget(ends, number - 1)
            run = []
            if isinstance(work.item, Product):
                self._product(work.item)
            elif isinstance(work.item, Call):
                self._call(work.item)
            self._forget(ends, number)
        self._segment(run, given)

    def _forget(self, ends: dict[Array, int], number: int) -> None:
        """Let go of new arrays that nothing reads after a work."""
        for owner in [owner for owner, end in ends.items() if end <= number]:
            del ends[owner]
            if owner not in self.boundary.arguments and owner is not self.prepared and owner in self.names:
                self._put(f"{self.names[owner]} = None")

    def _owner(self, array: Array) -> Array:
        """Return the owner of an array's memory, or the array that is computed in."""
        owner = self.memory.owner(array)
        owner = self.boundary.direct.get(owner, owner)
        return owner if owner in self.memory.offsets else self.memory.heirs.get(owner, owner)

    def _outside(self, work: Work) -> list[Array]:
        """Return the owners that a work needs and that are neither in the block nor constants."""
        uses = work.uses
        owners = dict.fromkeys(map(self._owner, (*uses.reads, *uses.writes, *uses.spare)))
        outside = [owner for owner in owners if owner not in self.memory.offsets and not owner.is_constant]
        return [*dict.fromkeys(map(self._holder, outside))]

    def _holder(self, owner: Array) -> Array:
        """Return what native code is given for an owner that has no place in the context's block."""
        if owner in self.memory.prepared:
            assert self.prepared is not None
            return self.prepared
        return owner

    def _segment(self, run: Sequence[tuple[int, Work]], given: Mapping[Array, None]) -> None:
        """Write the call of a segment; the first one of a part looks at everything that is given."""
        if not run and (self._checked or not given):
            return
        outside = dict.fromkeys(owner for _, work in run for owner in self._outside(work))
        looked_at = {} if self._checked else {array: self.boundary.arguments[array] for array in given}
        outside |= dict.fromkeys(looked_at)
        for owner in outside:
            self._make(owner)
        segment = Segment(
            f"segment{len(self.segments)}", run, self.memory, list(outside), looked_at, self.table, self.integer,
            self.threads, self.boundary.direct, self.prepared, self.boundary.apart,
        )  # fmt: skip
        self.segments.append(segment)
        if run:
            self.works[segment.name] = run[0][1]
        name = self._constant(segment.name, Code(segment.name))
        call = f"{name}({', '.join(self.names[owner] for owner in outside)})"
        note = ", ".join(dict.fromkeys(kernel.name for kernel in segment.kernels))
        if looked_at:
            self._put(f"if {call} is not None:", note=note)
            self._put(f"    return {self._refused()}")
        else:
            self._put(call, note=note)
        if not self._checked and "kept" in self._parameters and self.kept:
            self._put("kept.clear()")
        self._checked = True

    def _refused(self) -> str:
        """Return as source what a part returns where arrays do not fit, before it has done anything."""
        if "prepared" in self._parameters:
            return self._constant("ARGUMENT_MISMATCH", ARGUMENT_MISMATCH)
        groups = [parameter for parameter in self._parameters if "=" not in parameter]
        return f"{self._constant('coerced', COERCED)}({', '.join(groups)})"

    def _make(self, owner: Array) -> None:
        """Write what makes a new array, before it is first needed."""
        if owner in self.boundary.fresh and owner not in self._made:
            name = self.names[owner]
            self._made.add(owner)
            dtype = self._constant(f"dtype_{owner.dtype.name}", usual(owner.dtype))
            is_small = owner.size * owner.dtype.itemsize < aligned.LARGE
            empty = self._constant("empty", numpy.empty) if is_small else self._constant("aligned", aligned.empty)
            made = f"{empty}({self.boundary.fresh[owner]}, {dtype})"
            if owner in self._places and not is_small:
                index = self._places[owner]
                made += f" if not out or out[{index}] is None else out[{index}]"
            self._put(f"{name} = {made}")

    def _product(self, product: Product) -> None:
        """Write a product that NumPy does."""
        self._make(self._owner(product.output))
        first, second = map(self._expression, product.operands[:2])
        output = self._expression(product.output)
        matmul = self._constant("matmul", numpy.matmul)
        self._put(f"{matmul}({first}, {second}, out={output})", note=product.label())
        if len(product.operands) == 3:
            added = self._expression(product.operands[2])
            self._put(f"{self._constant('add', numpy.add)}({added}, {output}, {output})")

    def _call(self, call: Call) -> None:
        """Write the call of a Python function, and what makes its answers fit."""
        number = self._calls = self._calls + 1
        foreign = call.node is not None and not is_trusted(call.node)
        arguments = ", ".join(self._argument(one, foreign) for one in call.arguments)
        what = call.node.described() if call.node is not None else call.label()
        if call.function is not None:
            function = self._constant(f"c{number}", call.function)
        else:
            assert call.node is not None
            function = self._constant(f"c{number}", NodeCall(call.node))
            self._numbers[call.node] = number
        raw = f"r{number}"
        lasts = call.function is None and call.node in self._lasts
        found = f"{function}({arguments})"
        # What Python gives may lie in what it was given.
        block = ", prepared" if any(self._owner(one) in self.memory.prepared for one in call.operands) else ""
        if lasts or len(call.outputs) != 1:
            self._put(f"{raw} = {found}", call.node, what)
            found = raw
        for output in call.outputs:
            answer = found if len(call.outputs) == 1 else f"{raw}[{output.index}]"
            self.names[output] = name = f"v{number}_{output.index}"
            settle = self._constant(f"s{number}_{output.index}", Answer(what, output.shape, usual(output.dtype)))
            self._put(f"{name} = {settle}({answer}{block})", call.node, "" if answer.startswith(raw) else what)
        if not lasts and len(call.outputs) != 1:
            self._put(f"{raw} = None")

    def _argument(self, argument: Any, foreign: bool) -> str:
        """Return an argument of a call as source."""
        if isinstance(argument, tuple):
            return f"({''.join(f'{self._argument(one, foreign)}, ' for one in argument)})"
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
        shape = self.boundary.fresh.get(owner, owner.shape)
        if array.shape == shape and where == Allocation(where.owner, Layout(0, contiguous(array.shape))):
            return name
        dtype = self._constant(f"dtype_{array.dtype.name}", usual(array.dtype))
        return f"{self._constant('ndarray', numpy.ndarray)}({array.shape}, {dtype}, {name}, {offset}, {strides})"

    def _put(self, line: str, node: Node | None = None, note: str = "") -> None:
        self._lines.append((line, node, note))

    def _constant(self, name: str, value: Any) -> str:
        """Return a name by which the source may call an object; the names given are none of the source's own."""
        assert self.constants.setdefault(name, value) is value, name
        return name
