"""Random programs of arrays, views, writes and backwards against a naive model that keeps everything.

The model has no graph of rules: beside each array it keeps the Jacobian of every element with respect to every element
of every variable, and moves rows of it about when something is written. Values, gradients, and which calls are errors
must be the same after every step.
"""

from __future__ import annotations

import contextlib
import random
import warnings
from typing import Any

import numpy as np
import pytest
from thoroughness import often

import minpy as mx
from minpy import autograd, nd
from minpy.core.errors import GraphFreedError, MutationError

PROGRAMS, CHUNK, STEPS = often(1000, 5000), 50, 16
COLUMNS = 64  # elements of all variables of a program


class Owner:
    """Memory: its values, when it was last changed in place, and the arrays that share it."""

    def __init__(self, values: np.ndarray, external: bool = False) -> None:
        self.values = values.astype("float64").reshape(-1)
        self.writes: list[tuple[int, set[int] | None]] = []  # when, and which elements; None: maybe any
        self.filled = False
        self.external = external
        self.arrays: list[Variable] = []


class Place:
    """A place on the tape: what it was computed from, and the memory whose values its rules will read."""

    def __init__(self, time: int, parents: list[Place | None], reads: Any = None, leaf: Any = None):
        self.time = time
        self.parents = [parent for parent in parents if parent is not None and not parent.freed]
        self.has_constants = any(parent is not None and parent.freed for parent in parents)
        self.reads: list[tuple[Owner, set[int]]] = reads or []
        self.leaf = leaf
        self.freed = False


class Variable:
    """An array of a program: the real one, and what the model knows of it."""

    def __init__(self, real: Any, owner: Owner, where: np.ndarray, place: Place | None, jacobian: Any) -> None:
        self.real = real
        self.owner = owner
        self.where = where
        self.place = place
        self.jacobian = jacobian if place is not None else None
        self.is_np = isinstance(real, mx.numpy.ndarray)
        self.gradient: Any = None
        self.columns: Any = None
        owner.arrays.append(self)

    @property
    def values(self) -> np.ndarray:
        return self.owner.values[self.where]

    def rows(self) -> np.ndarray:
        return np.zeros((self.where.size, COLUMNS)) if self.place is None else self.jacobian

    @property
    def elements(self) -> set[int]:
        return set(self.where.reshape(-1).tolist())

    @property
    def memory(self) -> tuple[Owner, set[int]]:
        """What a rule that reads the array's values looks at."""
        return self.owner, self.elements

    @property
    def is_leaf(self) -> bool:
        return self.place is not None and self.place.leaf is not None


class Program:
    """One random program: `step` does something to the real arrays and to the model; `check` compares them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: list[Variable] = []
        self.leaves: list[Variable] = []
        self.lines: list[str] = []
        self.time = 0
        self.recording = False
        for _ in range(2):
            self.new_array()
        self.attach(self.variables[0])

    # -- the model -----------------------------------------------------------------------------------------------------

    def tick(self) -> int:
        self.time += 1
        return self.time

    def add(self, real: Any, owner: Owner, where: np.ndarray, place: Place | None, jacobian: Any) -> Variable:
        variable = Variable(real, owner, where, place, jacobian)
        self.variables.append(variable)
        return variable

    def result(self, real: Any, values: Any, places: list[Any], reads: list[Any], jacobian: Any) -> Variable:
        """Add what an operator returned: recorded if one of its inputs was."""
        values = np.asarray(values)
        recorded = self.recording and any(place is not None for place in places)
        place = Place(self.tick(), places, reads) if recorded else None
        return self.add(real, Owner(values), np.arange(values.size).reshape(values.shape), place, jacobian)

    def hits(self, array: Variable, target: np.ndarray) -> tuple[list[int], list[int]]:
        """Return (positions in `array`, positions in `target`) of the memory that both have; the last of several."""
        last = {place: index for index, place in enumerate(target.reshape(-1).tolist())}
        pairs = [(i, last[place]) for i, place in enumerate(array.where.reshape(-1).tolist()) if place in last]
        return [i for i, _ in pairs], [j for _, j in pairs]

    def overwrite(self, array: Variable, target: np.ndarray, value_place: Place | None, rows: Any, whole: bool) -> None:
        """Give an array its place and Jacobian after the memory `target` was overwritten."""
        into, of = self.hits(array, target)
        covered = whole or len(into) == array.where.size
        parent = None if covered or array.place is None or array.place.freed else array.place
        jacobian = np.zeros((array.where.size, COLUMNS)) if parent is None else array.jacobian.copy()
        jacobian[into] = rows[of]
        if parent is None and value_place is None:
            array.place = array.jacobian = None
            return
        array.place = Place(self.tick(), [parent, value_place])
        array.jacobian = jacobian

    def write(self, array: Variable, key: Any, values: Any, value_place: Any, rows: Any, *, full: Any = None) -> None:
        """Write values into `array[key]`; `full` is None for an assignment, else whether old values do not matter."""
        owner = array.owner
        target = array.where[key]
        if full is None and np.size(values) == 1:
            values = np.reshape(values, ())
        shape = np.shape(values)
        whole = (isinstance(key, slice) and key == slice(None)) or key is ...
        if rows is not None:
            spread = rows[np.broadcast_to(np.arange(np.size(values)).reshape(shape), target.shape).reshape(-1)]
        else:
            spread = np.zeros((target.size, COLUMNS))
        others = [other for other in owner.arrays if other is not array and self.hits(other, target)[0]]
        if not (self.recording and (array.place is not None or value_place is not None)):
            owner.values[target] = values
            owner.writes.append((self.tick(), None))
            for other in [array, *others]:
                if other.place is None or other.is_leaf or not self.hits(other, target)[0]:
                    continue
                if other.place.freed:
                    other.place = other.jacobian = None
                elif self.recording and other is not array and (owner.filled or array.is_np):
                    self.overwrite(other, target, None, spread, whole=False)
                elif full is not False and other is array and len(self.hits(other, target)[0]) == other.where.size:
                    other.place = other.jacobian = None
            return
        if full is None and not target.size:
            owner.writes.append((self.tick(), None))
            return
        if len(owner.arrays) == 1 and not owner.external:
            moved = owner.values.copy()
            owner.arrays.remove(array)
            array.owner = owner = Owner(moved, False)
            owner.arrays.append(array)
        else:
            fancy = isinstance(key, (list, np.ndarray))
            owner.writes.append((self.tick(), array.elements if fancy else set(target.reshape(-1).tolist())))
        owner.values[target] = values
        owner.filled = True
        for other in others:
            self.overwrite(other, target, value_place, spread, whole=False)
        if full is not None:
            array.place, array.jacobian = value_place, spread if value_place is not None else None
        else:
            self.overwrite(array, target, value_place, spread, whole)

    def refuses(self, array: Variable, key: Any, value_place: Any) -> bool:
        """Tell whether a write is an error."""
        if not (self.recording and (array.place is not None or value_place is not None)):
            return False
        target = array.where[key]
        others = [other for other in array.owner.arrays if other is not array and self.hits(other, target)[0]]
        return any(
            other.place is not None
            and not other.place.freed
            and (other.is_leaf or not (array.owner.filled or array.is_np))
            for other in [array, *others]
        )

    def reachable(self, place: Place) -> list[Place]:
        seen, stack = [place], [place]
        while stack:
            current = stack.pop()
            for parent in [] if current.freed else current.parents:
                if parent not in seen:
                    seen.append(parent)
                    stack.append(parent)
        return seen

    # -- steps ---------------------------------------------------------------------------------------------------------

    def name(self, variable: Variable) -> str:
        return f"v{self.variables.index(variable)}" if variable in self.variables else "gone"

    def pick(self) -> Variable:
        return self.random.choice(self.variables[-6:] if self.random.random() < 0.7 else self.variables)

    def scope(self) -> Any:
        """Choose whether the step is recorded."""
        self.recording = self.random.random() < 0.75
        return autograd.record() if self.recording else contextlib.nullcontext()

    def note(self, line: str) -> None:
        self.lines.append(f"{'record' if self.recording else '      '}  {line}")

    def numbers(self, shape: Any) -> np.ndarray:
        return np.array([self.random.randint(-2, 3) for _ in range(int(np.prod(shape)))], "float64").reshape(shape)

    def new_array(self) -> None:
        shape = self.random.choice([(4,), (2, 3), (3, 2), (6,), (1,)])
        values = self.numbers(shape)
        kind = self.random.choice(["nd", "nd", "np", "from_numpy"])
        if kind == "from_numpy":
            real = nd.from_numpy(values.copy())
        else:
            real = nd.array(values, dtype="float64") if kind == "nd" else mx.numpy.array(values, dtype="float64")
        self.note(f"v{len(self.variables)} = {kind}({values.tolist()})")
        self.add(real, Owner(values, kind == "from_numpy"), np.arange(values.size).reshape(shape), None, None)

    def attach(self, array: Variable) -> None:
        start = sum(leaf.where.size for leaf in self.leaves)
        if array.is_leaf or start + array.where.size > COLUMNS:
            return
        self.note(f"{self.name(array)}.attach_grad()")
        array.real.attach_grad()
        array.columns = slice(start, start + array.where.size)
        array.place = Place(self.tick(), [], leaf=array)
        array.jacobian = np.zeros((array.where.size, COLUMNS))
        array.jacobian[:, array.columns] = np.eye(array.where.size)
        array.gradient = np.zeros(array.where.shape)
        self.leaves.append(array)

    def key(self, shape: tuple[int, ...]) -> Any:
        length = shape[0]
        keys: list[Any] = [
            slice(None), slice(0, 2), slice(1, None), slice(None, None, 2), slice(None, None, -1), 0, length - 1, ...
        ]  # fmt: skip
        if len(shape) == 2:
            keys += [(slice(None), 0), (slice(None), slice(0, 2)), (-1, slice(None)), (0, -1)]
        return self.random.choice(keys)

    def step_view(self) -> None:
        array = self.pick()
        if len(self.variables) > 14 or not array.where.size or not array.where.ndim:
            return
        with self.scope():
            choice = self.random.random()
            if choice < 0.6:
                key = self.key(array.where.shape)
                self.note(f"v{len(self.variables)} = {self.name(array)}[{key}]")
                real, where = array.real[key], array.where[key]
                if not array.is_np:
                    where = np.asarray(where).reshape(where.shape or (1,))
            elif choice < 0.75:
                self.note(f"v{len(self.variables)} = {self.name(array)}.reshape(-1)")
                real, where = array.real.reshape((-1,)), array.where.reshape(-1)
                if not np.shares_memory(real._data, array.real._data):  # not in this order: NumPy has copied
                    self.result(real, array.values.reshape(-1), [array.place], [], array.rows())
                    return
            elif choice < 0.85 and array.is_np:
                self.note(f"v{len(self.variables)} = {self.name(array)}.T")
                real, where = array.real.T, array.where.T
            else:
                to_np = not array.is_np
                self.note(f"v{len(self.variables)} = {self.name(array)}.as_{'np' if to_np else 'nd'}_ndarray()")
                real = array.real.as_np_ndarray() if to_np else array.real.as_nd_ndarray()
                where = array.where if to_np or array.where.ndim else array.where.reshape(1)
                self.add(real, array.owner, where, array.place, None if array.place is None else array.jacobian.copy())
                return
        if real is array.real:  # x[:]
            return
        place = jacobian = None
        if self.recording and array.place is not None:
            place = Place(self.tick(), [array.place])
            row_of = {position: row for row, position in enumerate(array.where.reshape(-1).tolist())}
            jacobian = array.jacobian[[row_of[position] for position in np.asarray(where).reshape(-1).tolist()]]
        self.add(real, array.owner, np.asarray(where), place, jacobian)

    def step_detach(self) -> None:
        array = self.pick()
        self.recording = self.random.random() < 0.5
        self.note(f"v{len(self.variables)} = {self.name(array)}.detach()")
        with autograd.record() if self.recording else contextlib.nullcontext():
            self.add(array.real.detach(), array.owner, array.where, None, None)

    def step_compute(self) -> None:
        a, b = self.pick(), self.pick()
        with self.scope():
            if np.abs(a.values).max(initial=0) > 1e6 or np.abs(b.values).max(initial=0) > 1e6:
                return
            index = len(self.variables)
            choice = self.random.random()
            if choice < 0.35 and a.where.shape == b.where.shape:
                self.note(f"v{index} = {self.name(a)} * {self.name(b)}")
                rows = b.values.reshape(-1, 1) * a.rows() + a.values.reshape(-1, 1) * b.rows()
                reads = [b.memory] * (a.place is not None) + [a.memory] * (b.place is not None)
                self.result(a.real * b.real, a.values * b.values, [a.place, b.place], reads, rows)
            elif choice < 0.6 and a.where.shape == b.where.shape:
                self.note(f"v{index} = {self.name(a)} + {self.name(b)}")
                self.result(a.real + b.real, a.values + b.values, [a.place, b.place], [], a.rows() + b.rows())
            elif choice < 0.8:
                self.note(f"v{index} = {self.name(a)} * 3")
                self.result(a.real * 3, a.values * 3, [a.place], [], 3 * a.rows())
            elif a.where.size and a.where.ndim:
                self.note(f"v{index} = {self.name(a)}[[0, 0]]")
                order = np.arange(a.where.size).reshape(a.where.shape)[[0, 0]]
                rows = a.rows()[order.reshape(-1)]
                self.result(a.real[[0, 0]], a.values[[0, 0]], [a.place], [], rows)

    def value_for(self, shape: tuple[int, ...]) -> tuple[str, Any, Any, Any, Any]:
        """Return (text, real, values, place, Jacobian) of something that can be written where `shape` is."""
        fitting = [v for v in self.variables if v.where.shape == shape or (v.where.size == 1 and v.where.ndim)]
        if fitting and self.random.random() < 0.75:
            value = self.random.choice(fitting[-4:])
            return self.name(value), value.real, value.values.copy(), value.place, value.rows()
        number = float(self.random.randint(-2, 3))
        return str(number), number, number, None, None

    def step_assign(self) -> None:
        array = self.pick()
        if not array.where.size or not array.where.ndim:
            return
        key = self.key(array.where.shape)
        if self.random.random() < 0.2:
            key = self.random.choice([[0, 0], [-1, 0], [array.where.shape[0] - 1], array.values > 0])
        with self.scope():
            text, real, values, place, rows = self.value_for(array.where[key].shape)
            if isinstance(key, np.ndarray) and np.size(values) != 1:
                return
            through = self.random.random() < 0.3 and not isinstance(key, (list, np.ndarray)) and key is not ...
            line = f"{self.name(array)}[{key}]{'[:]' if through else ''} = {text}"
            self.note(line)

            def run() -> None:
                if through:
                    array.real[key][:] = real
                else:
                    array.real[key] = real

            if through:
                self.write_through(array, key, values, place, rows, run)
            else:
                self.attempt(self.refuses(array, key, place), run, lambda: self.write(array, key, values, place, rows))

    def write_through(self, array: Variable, key: Any, values: Any, place: Any, rows: Any, run: Any) -> None:
        """Write through a view that nobody keeps."""
        where = np.asarray(array.where[key])
        if not where.ndim and not array.is_np:
            where = where.reshape(1)
        if not where.ndim:
            self.lines.pop()
            return
        if isinstance(key, slice) and key == slice(None) and not array.is_np:
            self.attempt(self.refuses(array, key, place), run, lambda: self.write(array, key, values, place, rows))
            return
        view = Variable(array.real, array.owner, where, None, None)
        if self.recording and array.place is not None:
            view.place, view.jacobian = Place(self.tick(), [array.place]), np.zeros((where.size, COLUMNS))
        self.attempt(self.refuses(view, ..., place), run, lambda: self.write(view, slice(None), values, place, rows))
        view.owner.arrays.remove(view)

    def step_update(self) -> None:
        array, other = self.pick(), self.pick()
        with self.scope():
            if np.abs(array.values).max(initial=0) > 1e6 or np.abs(other.values).max(initial=0) > 1e6:
                return
            a, b = array.values.copy(), other.values.copy()
            choice = self.random.random()
            if choice < 0.3:
                self.note(f"{self.name(array)} *= 2")
                places, reads, rows, values = [array.place], [], 2 * array.rows(), a * 2
                run = lambda: array.real.__imul__(2)
                given = None
            elif other.where.shape != array.where.shape:
                return
            elif choice < 0.65:
                self.note(f"{self.name(array)} += {self.name(other)}")
                places, reads, rows, values = [array.place, other.place], [], array.rows() + other.rows(), a + b
                run = lambda: array.real.__iadd__(other.real)
                given = other.place
            else:
                self.note(f"{self.name(array)} *= {self.name(other)}")
                rows = b.reshape(-1, 1) * array.rows() + a.reshape(-1, 1) * other.rows()
                reads = [other.memory] * (array.place is not None) + [array.memory] * (other.place is not None)
                places, values = [array.place, other.place], a * b
                run = lambda: array.real.__imul__(other.real)
                given = other.place
            recorded = self.recording and any(place is not None for place in places)

            def effect() -> None:
                place = Place(self.tick(), places, reads) if recorded else None
                self.write(array, ..., values, place, rows if recorded else None, full=False)

            self.attempt(self.refuses(array, ..., given), run, effect)

    def step_out(self) -> None:
        array, source = self.pick(), self.pick()
        if source.where.shape != array.where.shape or array.is_np or source.is_np:
            return
        with self.scope():
            values = source.values.copy()
            if np.abs(values).max(initial=0) > 1e3:
                return
            if self.random.random() < 0.5:
                self.note(f"{self.name(source)}.copyto({self.name(array)})")
                run = lambda: source.real.copyto(array.real)
                effect = lambda: self.write(array, ..., values, source.place, source.rows())
            else:
                self.note(f"nd.square({self.name(source)}, out={self.name(array)})")
                run = lambda: nd.square(source.real, out=array.real)
                recorded = self.recording and source.place is not None
                rows = 2 * values.reshape(-1, 1) * source.rows() if recorded else None
                reads = [source.memory]

                def effect() -> None:
                    place = Place(self.tick(), [source.place], reads) if recorded else None
                    self.write(array, ..., values**2, place, rows, full=True)

            self.attempt(self.refuses(array, ..., source.place), run, effect)

    def attempt(self, refused: bool, run: Any, effect: Any) -> None:
        try:
            run()
        except MutationError:
            assert refused, "refused for no reason"
            self.lines[-1] += "  # refused"
            return
        assert not refused, "should have been refused"
        effect()

    def step_delete(self) -> None:
        array = self.pick()
        if len(self.variables) > 3 and not array.is_leaf:
            self.lines.append(f"        del {self.name(array)} (and later ones move down)")
            self.variables.remove(array)
            array.owner.arrays.remove(array)

    def step_attach(self) -> None:
        self.recording = False
        self.attach(self.pick())

    def step_new(self) -> None:
        self.recording = False
        self.new_array()

    def step_backward(self) -> None:
        self.recording = False
        array = self.random.choice(self.variables)
        if array.place is None or array.is_leaf:
            return
        retain = self.random.random() < 0.5
        places = self.reachable(array.place)
        freed = any(place.freed for place in places)
        if not any(place.leaf is not None for place in places):  # nothing but constants is left to differentiate
            freed = freed or any(place.has_constants for place in places)
        stale = any(
            time > place.time and (written is None or written & read)
            for place in places
            for owner, read in place.reads
            for time, written in owner.writes
        )
        self.note(f"{self.name(array)}.backward(retain_graph={retain})  # freed {freed}, stale {stale}")
        try:
            array.real.backward(retain_graph=retain)
        except GraphFreedError:
            assert freed, "freed for no reason"
            return
        except MutationError:
            assert not freed
            assert stale, "stale for no reason"
            return
        assert not freed, "should have been freed"
        assert not stale, "should have been stale"
        total = array.jacobian.sum(axis=0)
        for place in places:
            if place.leaf is not None and place.leaf.place is place:
                place.leaf.gradient = total[place.leaf.columns].reshape(place.leaf.where.shape)
            elif not retain and place.leaf is None:
                place.freed = True
        for variable in self.variables:
            if variable.place is not None and variable.place.freed:  # a constant to what is recorded from now on
                variable.jacobian = np.zeros_like(variable.jacobian)

    def check(self) -> None:
        for variable in self.variables:
            np.testing.assert_allclose(variable.real.asnumpy(), variable.values, rtol=1e-9, err_msg=self.name(variable))
            assert (variable.real._node is None) == (variable.place is None), f"{self.name(variable)} on the tape"
        for leaf in self.leaves:
            if leaf.is_leaf:
                np.testing.assert_allclose(
                    leaf.real.grad.asnumpy(), leaf.gradient, rtol=1e-9, err_msg=f"gradient of {self.name(leaf)}"
                )

    def run(self, steps: int) -> None:
        choices = [
            *[self.step_view] * 4, *[self.step_compute] * 4, *[self.step_assign] * 5, *[self.step_update] * 2,
            *[self.step_out] * 3, *[self.step_backward] * 3, self.step_detach, self.step_delete, self.step_attach,
            self.step_new,
        ]  # fmt: skip
        for _ in range(steps):
            self.random.choice(choices)()
            self.check()


@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_programs(first: int) -> None:
    for seed in range(first, first + CHUNK):
        program = Program(seed)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "backward passes through an array")
                program.run(STEPS)
        except Exception as error:
            listing = "\n".join(program.lines)
            raise AssertionError(f"program {seed}:\n{listing}\n{type(error).__name__}: {error}") from error
