"""What callers of a program give and get: the arrays at the interface of a routine.

Outputs are new arrays at every call, but those that are to become the values of variables, which are computed there, as
gradients are in the arrays that they are asked into, if nothing is in the way; what is in neither is copied at the end.
Gradients that are added to what is there become steps of the routine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from minpy.backends.native.codegen.memory_layout import owner_of
from minpy.backends.native.fusing.loop_nest import Nest, Place
from minpy.backends.native.language import Array, Elementwise, Part, Routine
from minpy.backends.native.language.function_table import is_supported
from minpy.backends.native.runtime.argument_coercion import Argument

if TYPE_CHECKING:
    from minpy.backends.native.codegen.launches import Launch

__all__ = ["Interface", "adding", "is_whole"]


@dataclass(slots=True)
class Interface:
    """The arrays of a routine that callers know."""

    # What is given: the inputs of both parts, and the arrays into which gradients are asked.
    arguments: dict[Array, Argument] = field(default_factory=dict)
    # The arrays into which gradients are asked, in the order of the backward part's outputs; and what is to be done
    # with each: 'write', 'add', or 'sum', if it has been added to what the target holds.
    targets: list[Array] = field(default_factory=list)
    grad_req: list[str] = field(default_factory=list)
    # Owners of outputs that are computed in new arrays, and the shapes of those: an output may be its owner, reshaped.
    new: dict[Array, tuple[int, ...]] = field(default_factory=dict)
    # Owners of results that are computed in arrays that are given, and these.
    direct: dict[Array, Array] = field(default_factory=dict)
    # Owners of sums that are best computed in the targets, one of the two that are added; and of outputs that are best
    # computed where the old value of their variable lies.
    preferred: dict[Array, Array] = field(default_factory=dict)
    # The positions of outputs that are computed in variables, which are the outputs then.
    stored: dict[int, Array] = field(default_factory=dict)
    # Variables that are changed, which may share memory with no other one.
    no_alias: list[Array] = field(default_factory=list)

    def settle_stores(
        self, forward: Part, stored: Mapping[int, int], places: Mapping[Array, Place], launches: Sequence[Launch]
    ) -> None:
        """Find the outputs that can be computed in the variables whose values they are to become.

        Nothing may read the old value when the new one is being written, but what computes that, each element before it
        is written. Where Python is called in between, there may be an error after the store: then there is none.
        `stored` has the positions of outputs and of their variables, `places` arrays that lie in the memory of others.
        """
        for position in stored.values():
            array = forward.inputs[position]
            self.arguments[array] = replace(self.arguments[array], written=True)
            self.no_alias.append(array)
        if not all(launch.is_native for launch in launches):
            return
        writers: dict[Array, list[int]] = {}
        readers: dict[Array, list[int]] = {}
        for number, launch in enumerate(launches):
            for users, arrays in ((writers, launch.uses.writes), (readers, launch.uses.reads)):
                for array in arrays:
                    users.setdefault(owner_of(array, places), []).append(number)
        updated = {target for target, _ in forward.updates}
        for index, position in stored.items():
            output, variable = forward.outputs[index], forward.inputs[position]
            owner = owner_of(output, places)
            other_owners = [owner_of(array, places) for number, array in enumerate(forward.outputs) if number != index]
            if (
                owner not in writers
                or not self._is_free(output, owner)
                or (output.shape, output.dtype) != (variable.shape, variable.dtype)
                or variable in other_owners
                or variable in updated
                or variable in writers
            ):
                continue
            first = min(writers[owner])
            late_readers = {number for number in readers.get(variable, ()) if number >= first}
            if not late_readers:
                self.direct[owner] = variable
            elif (
                late_readers == {first} == set(writers[owner])
                and isinstance(launches[first].item, Nest)  # which reads each element before it writes there
                and (owner, variable) in launches[first].uses.in_place
            ):
                self.preferred[owner] = variable
            else:
                continue
            self.stored[index] = variable

    def settle_outputs(
        self, outputs: Iterable[Array], places: Mapping[Array, Place], native: Collection[Array]
    ) -> None:
        """Find the outputs that can be computed in new arrays; `native` are the owners that native code writes to."""
        for output in outputs:
            owner = owner_of(output, places)
            if owner in native and self._is_free(output, owner):
                self.new.setdefault(owner, output.shape)

    def settle_gradients(
        self, gradients: Sequence[Array], places: Mapping[Array, Place], native: Collection[Array]
    ) -> None:
        """Find the gradients that can be computed in the arrays that they are asked into; see `settle_outputs`."""
        for gradient, target, request in zip(gradients, self.targets, self.grad_req, strict=True):
            owner = owner_of(gradient, places)
            fits = (gradient.dtype, gradient.shape) == (target.dtype, target.shape)
            if owner in native and fits and self._is_free(gradient, owner):
                if request == "write":
                    self.direct[owner] = target
                elif request == "sum":
                    self.preferred[owner] = target

    def _is_free(self, array: Array, owner: Array) -> bool:
        """Tell whether an array is all of its owner, for whose memory there is no plan yet."""
        return is_whole(array, owner) and owner not in self.direct and owner not in self.preferred


def is_whole(array: Array, owner: Array) -> bool:
    """Tell whether an array is all the memory of its owner in the same order: the owner itself, or reshaped."""
    return array.root is owner and array.is_contiguous and array.size == owner.size


def adding(routine: Routine, grad_req: Sequence[str], targets: Sequence[Array]) -> tuple[Routine, list[str]]:
    """Return a routine whose backward part adds to what is in the targets, where that is asked for.

    Targets become inputs of the backward part where something is added; there what is to be done with the output, which
    is returned for each of them, is 'sum' in place of 'add'.
    """
    forward, backward = routine.parts
    inputs, steps, outputs = list(backward.inputs), list(backward.steps), list(backward.outputs)
    remaining = list(grad_req)
    for position, (output, request, target) in enumerate(zip(backward.outputs, grad_req, targets, strict=True)):
        fits = (output.shape, output.dtype) == (target.shape, target.dtype) and is_supported(output.dtype)
        if request == "add" and fits and target.size:
            total = Elementwise.of("add", target, output)
            assert total.step is not None
            inputs.append(target)
            steps.append(total.step)
            outputs[position] = total
            remaining[position] = "sum"
    return Routine([forward, Part(backward.name, inputs, steps, outputs, backward.updates)]), remaining
