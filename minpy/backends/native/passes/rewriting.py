"""The rewriter: all changes of routines go through it.

A routine is rebuilt step by step, in order. Each step is offered to a rule, which may return a replacement; whatever
read the old arrays then reads the new ones, in all parts. Equal steps are merged, and dead steps are removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from minpy.backends.native.fusing.cost_model import DEAR_FUNCTIONS
from minpy.backends.native.language import (
    Array,
    Assembly,
    Call,
    Elementwise,
    Part,
    Product,
    Reduce,
    Routine,
    Step,
    View,
    filled,
)
from minpy.backends.native.language.layout_algebra import reviewed

__all__ = ["Notes", "Rewriter", "Rule", "key_of", "multiplied_as_it_lies", "readers", "remade", "without_dead_steps"]

# How often rules are applied to each other's results, at most.
DEPTH = 40


class Notes:
    """What passes did: how often each of their rules was applied.

    Examples
    --------
    >>> notes = Notes()
    >>> notes.add("x * 1 -> x")
    >>> notes.counts
    Counter({'x * 1 -> x': 1})
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, rule: str, times: int = 1) -> None:
        """Note that a rule was applied."""
        if times:
            self.counts[rule] += times

    def __str__(self) -> str:
        """Return a line for each rule, the most frequent first."""
        return "\n".join(f"{times:6} {rule}" for rule, times in self.counts.most_common())


# Returns the array that replaces a step's output; None, if the rule does not match.
Rule = Callable[[Step, "Rewriter"], "Array | None"]


def readers(routine: Routine) -> dict[Array, list[Step | Part]]:
    """Return the readers of each array: steps, and parts among whose outputs and updates it is, once for every time."""
    result: dict[Array, list[Step | Part]] = {}
    for part in routine.parts:
        for step in part.steps:
            for operand in step.operands:
                result.setdefault(operand, []).append(step)
        for array in (*part.outputs, *(source for _, source in part.updates)):
            result.setdefault(array, []).append(part)
    return result


class Rewriter:
    """Rebuilds a routine by a rule."""

    def __init__(self, routine: Routine, rule: Rule | None, notes: Notes) -> None:
        self.routine = routine  # as it was
        self.rule = rule
        self.notes = notes
        self.readers = readers(routine)  # of each of its arrays
        # Inputs that parts update: their values may not be read from them later.
        self._states = {target for part in routine.parts for target, _ in part.updates}
        self._stale_states: set[Array] = set()
        self.is_made = False  # whether the step that is offered now was made by a rule
        self._replaced: dict[Array, Array] = {}
        self._former: dict[Array, Array] = {}
        self._part_numbers: dict[Step, int] = {}
        self._steps_by_key: dict[Any, Step] = {}
        self._keys_of: dict[Array, list[Any]] = {}  # of what reads a state
        self._steps: list[Step] = []
        self.number = 0  # of the part that is rebuilt now

    def rebuilt(self) -> Routine:
        """Return the routine with the rule applied to all steps, without dead steps."""
        parts = []
        for number, part in enumerate(self.routine.parts):
            self.number = number
            self._steps = []
            for step in part.steps:
                self._replace(step)
            updates = [(target, self._as_update(source)) for target, source in part.updates]
            parts.append(Part(part.name, list(part.inputs), self._steps, self._outputs(part), updates))
            for target, _ in part.updates:
                self._stale_states.add(target)
                self._forget(target)
        return without_dead_steps(Routine(parts))

    def former(self, array: Array) -> Array:
        """Return the array of the old routine that an array replaces: itself, if it is new."""
        return self._former.get(array, array)

    def readers_of(self, array: Array) -> list[Step | Part]:
        """Return the readers, in the old routine, of the array that an array replaces: none, if it is new."""
        return self.readers.get(self.former(array), [])

    def is_read_once(self, array: Array) -> bool:
        """Tell whether an array has one reader in the old routine."""
        return len(self.readers_of(array)) == 1

    def is_of_this_part(self, array: Array) -> bool:
        """Tell whether a step of the part that is rebuilt now gives an array."""
        return array.step is not None and self._part_numbers.get(array.step) == self.number

    def current(self, array: Array) -> Array:
        """Return the array that replaces one of the old routine."""
        return self._replaced.get(array, array)

    def add(self, array: Array) -> Array:
        """Add the step that gives an array, and those that it depends on, unless they have been added."""
        return self._add(array, 0)

    def _replace(self, step: Step) -> None:
        operands = tuple(map(self.current, step.operands))
        outputs: Sequence[Array]
        if isinstance(step, View) and operands[0].is_view:
            outputs = (self._view_of_view(step, operands[0], 0),)
        else:
            if isinstance(step, Call):
                operands = tuple(map(self._as_contiguous, operands, step.operands))
            elif isinstance(step, Product):
                operands = tuple(map(self._as_blas_operand, operands, step.operands))
            new = step if operands == step.operands else remade(step, operands)
            for output, old in zip(new.outputs, step.outputs, strict=True):
                if output is not old:
                    self._former[output] = old
            outputs = self._added(new, 0)
        for output, old in zip(outputs, step.outputs, strict=True):
            if output is not old:
                self._replaced[old] = output
                if output not in self.readers:
                    self._former[output] = old

    def _as_contiguous(self, array: Array, old: Array) -> Array:
        if array.is_contiguous or not old.is_contiguous:
            return array
        return self._add_plain(Elementwise.of("copy", array))

    def _as_blas_operand(self, array: Array, old: Array) -> Array:
        if multiplied_as_it_lies(array) or not multiplied_as_it_lies(old):
            return array
        return self._add_plain(Elementwise.of("copy", array))

    def _in_old_layout(self, old: Array) -> Array:
        return self._as_contiguous(self.current(old), old)

    def _as_update(self, old: Array) -> Array:
        new = self._in_old_layout(old)
        if old.root.step is not None and new.root.step is None:
            return self._add_plain(Elementwise.of("copy", new))
        return new

    def _outputs(self, part: Part) -> list[Array]:
        """Return the outputs, each in memory of its own where it was so: callers may write into what they get."""
        outputs: list[Array] = []
        old_roots: dict[Array, Array] = {}
        for old in part.outputs:
            new = self._in_old_layout(old)
            root = new.root
            was_own = old.root.step is not None
            if was_own and (root.step is None or old_roots.get(root, old.root) is not old.root):
                copy = Elementwise.of("copy", new)
                self._append(copy.step)  # type: ignore[arg-type]
                new = copy
            old_roots.setdefault(new.root, old.root)
            outputs.append(new)
        return outputs

    def _add(self, array: Array, depth: int) -> Array:
        step = array.step
        if step is None or step in self._part_numbers:
            return array
        operands = tuple(self._add(operand, depth) for operand in step.operands)
        if operands != step.operands:
            if isinstance(step, View) and operands[0].is_view:
                return self._view_of_view(step, operands[0], depth)
            if isinstance(step, Call):
                operands = tuple(map(self._as_contiguous, operands, step.operands))
            elif isinstance(step, Product):
                operands = tuple(map(self._as_blas_operand, operands, step.operands))
            step = remade(step, operands)
        return self._added(step, depth)[array.index]

    def _view_of_view(self, view: View, root: Array, depth: int) -> Array:
        """Return a view of an array that has become a view itself: of a copy, if need be."""
        result = reviewed(view, root)
        if result is None:
            result = reviewed(view, self._add_plain(Elementwise.of("copy", root, origin=view.origin)))
            assert result is not None
        return self._add(result, depth)

    def _add_plain(self, array: Array) -> Array:
        """Add a step without offering it to the rule."""
        assert array.step is not None
        for operand in array.step.operands:
            self._add(operand, DEPTH)
        return self._shared(array.step)[array.index]

    def _added(self, step: Step, depth: int) -> tuple[Array, ...]:
        """Add a step whose operands have been added, or what the rule replaces it by."""
        if self.rule is not None and depth < DEPTH and len(step.outputs) == 1:
            self.is_made = depth > 0
            result = self.rule(step, self)
            if result is not None and result is not step.outputs[0] and self._keeps_its_value(result):
                assert (result.shape, result.dtype) == (step.output.shape, step.output.dtype), step.label()
                return (self._add(result, depth + 1),)
        return self._shared(step)

    def _keeps_its_value(self, array: Array) -> bool:
        """Tell whether an array keeps its value until it is read: it may not be read from a state that changes."""
        return array.root not in self._states and not (self._stale_states and self._reads_stale_state(array))

    def _reads_stale_state(self, array: Array) -> bool:
        if array.root in self._stale_states:
            return True
        step = array.step
        return step is not None and step not in self._part_numbers and any(map(self._reads_stale_state, step.operands))

    def _shared(self, step: Step) -> tuple[Array, ...]:
        """Return the outputs of an equal step that has been added, or add this one."""
        key = key_of(step)
        if key is not None:
            if not _is_shared_by_parts(step):
                key = (self.number, key)
            same = self._steps_by_key.get(key)
            if same is not None and same is not step:
                if not isinstance(step, View):
                    self.notes.add("common subexpressions are computed once")
                return same.outputs
            self._steps_by_key[key] = step
            for operand in step.operands:
                if operand.root in self._states:
                    self._keys_of.setdefault(operand.root, []).append(key)
        self._append(step)
        return step.outputs

    def _append(self, step: Step) -> None:
        if step not in self._part_numbers:
            self._part_numbers[step] = self.number
            self._steps.append(step)

    def _forget(self, target: Array) -> None:
        """Forget the steps that read an input that has new values now: equal steps give other values."""
        for key in self._keys_of.pop(target, ()):
            self._steps_by_key.pop(key, None)


def _is_shared_by_parts(step: Step) -> bool:
    """Tell whether later parts read the result of an equal step in an earlier part, rather than compute it again."""
    if isinstance(step, Elementwise):
        return step.function == "copy" or step.function in DEAR_FUNCTIONS
    # Views are shared with what they show: they cost nothing.
    return isinstance(step, View | Product | Reduce)


def key_of(step: Step) -> Any:
    """Return a key that equal steps share; None for steps that are never merged."""
    operands = tuple(_operand_key(operand) for operand in step.operands)
    if isinstance(step, Elementwise):
        return ("elementwise", step.function, step.output.dtype, operands)
    if isinstance(step, Reduce):
        return ("reduce", step.function, step.axes, operands)
    if isinstance(step, View):
        return ("view", step.shape, step.layout, operands)
    if isinstance(step, Assembly):
        return ("assembly", step.shape, step.pieces, repr(step.fill), operands)
    if isinstance(step, Product):
        return ("product", operands)
    return None


def _operand_key(array: Array) -> Any:
    if array.is_number:
        assert array.value is not None
        return (array.dtype, array.value.tobytes())
    return array


def remade(step: Step, operands: Sequence[Array]) -> Step:
    """Return a step like another one, of other arrays of the same shapes and dtypes.

    >>> import numpy
    >>> x, y = Array((3,), numpy.dtype("float32"), name="x"), Array((3,), numpy.dtype("float32"), name="y")
    >>> remade(Elementwise.of("exp", x).step, [y]).operands[0].name
    'y'
    """
    # Shapes and dtypes are the same: they are not found out again, which takes longer than all else here.
    new = object.__new__(type(step))
    for name in _FIELDS[type(step)]:
        setattr(new, name, getattr(step, name))
    new.operands = tuple(operands)
    if isinstance(new, Call):
        remaining = iter(operands)
        new.arguments = tuple(filled(argument, remaining) for argument in new.arguments)
    new.outputs = tuple(Array(output.shape, output.dtype, new, output.index) for output in step.outputs)
    return new


_FIELDS: dict[type[Step], tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind)) for kind in (Elementwise, Reduce, View, Assembly, Product, Call)
}


def multiplied_as_it_lies(array: Array) -> bool:
    """Tell whether products can read an array without copying: rows, or columns, without gaps between elements.

    >>> import numpy
    >>> from minpy.backends.native.language import viewed
    >>> x = Array((4, 2, 3), numpy.dtype("float32"))
    >>> multiplied_as_it_lies(x), multiplied_as_it_lies(viewed(x, lambda values: values[:, :, ::2]))
    (True, False)
    """
    if len(array.shape) < 2:
        return True
    (rows, columns), (down, along) = array.shape[-2:], array.layout.strides[-2:]
    by_rows = (columns == 1 or along == 1) and (rows == 1 or down >= columns)
    by_columns = (rows == 1 or down == 1) and (columns == 1 or along >= rows)
    return by_rows or by_columns


def without_dead_steps(routine: Routine) -> Routine:
    """Return a routine without dead steps. Calls stay, unless they are known to have no side effects.

    A call with a native form has none: it is an operator of ours. Random numbers and users' functions may have some.
    """
    live: set[Array] = set()
    parts = []
    for part in reversed(routine.parts):
        live.update(part.outputs, (source for _, source in part.updates))
        live_steps: list[Step] = []
        for step in reversed(part.steps):
            has_effects = isinstance(step, Call) and step.form is None
            if has_effects or any(output in live for output in step.outputs):
                live.update(step.operands)
                live_steps.append(step)
        parts.append(Part(part.name, part.inputs, live_steps[::-1], part.outputs, part.updates))
    return Routine(parts[::-1])
