"""What updates of weights have in common. They write: into `out` (usually the weight itself), and into their states.

An update is several passes over arrays that are larger than the caches. Here all steps are done on one block of the
arrays after another, so that each array is read from memory once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from minpy.core import dispatch
from minpy.core.array import Array
from minpy.core.base_operator import DTypes, Shapes
from minpy.core.buffers import note_write, note_writes
from minpy.core.default_attributes import default_attributes
from minpy.core.errors import (
    ArgumentError,
    ShapeError,
    describe,
    describe_arguments,
    in_place_of,
    operator_error,
)
from minpy.core.extensions import extension
from minpy.core.nodes import Leaf
from minpy.core.operator import Operator
from minpy.core.signatures import bind
from minpy.core.state import state
from minpy.ops.dtype_attributes import require_floats
from minpy.ops.inference.partial_shapes import merge_shapes, same_dtype
from minpy.ops.optimizer.elementwise_chain import ElementwiseChain
from minpy.ops.registry import OPERATORS, find_operator

__all__ = ["Update", "arithmetic_dtype", "clipped", "numbers_for", "rescaled", "with_decay"]

_BLOCK = 1 << 18  # elements; of smaller blocks the calls cost more than the caches save
_LARGE = 1 << 16  # elements; of fewer, NumPy's passes are not much slower than one loop
_SINGLE, _DOUBLE = np.dtype("float32"), np.dtype("float64")


def arithmetic_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype that an update of weights of some dtype computes in: no less than float32."""
    return _SINGLE if dtype.itemsize < 4 else dtype


class _Numbers(dict[float, Any]):
    """Numbers as cached arrays of one dtype and no axis: NumPy takes half as long for them as for floats."""

    def __init__(self, dtype: np.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def __missing__(self, value: float) -> Any:
        if len(self) > _MAX_CACHED:
            self.clear()
        number = np.array(value, self.dtype)
        number.flags.writeable = False
        self[value] = number
        return number


class _PlainNumbers:
    """Numbers as they are, for dtypes without a cache."""

    def __getitem__(self, value: float) -> float:
        return value


_MAX_CACHED = 256
_data_of = attrgetter("_data")
_singles, _doubles, _plain_numbers = _Numbers(_SINGLE), _Numbers(_DOUBLE), _PlainNumbers()


def numbers_for(array: np.ndarray) -> Any:
    """Return a mapping from numbers to arrays of no axis, of the dtype of `array`. For steps."""
    dtype = array.dtype
    return _singles if dtype is _SINGLE else _doubles if dtype is _DOUBLE else _plain_numbers


def clipped(grad: Any, limit: float) -> Any:
    """Return a gradient clipped to [-limit, limit]; as it is, if `limit` is negative. For definitions."""
    return np.clip(grad, -limit, limit) if limit >= 0 else grad


def rescaled(grad: Any, rescale_grad: float, clip_gradient: float = -1.0) -> Any:
    """Return a gradient times a factor, then clipped; perhaps the array itself. For definitions."""
    return clipped(grad if rescale_grad == 1 else grad * rescale_grad, clip_gradient)


def with_decay(grad: Any, wd: float, weight: Any) -> Any:
    """Return a gradient plus wd · weight; as it is, if `wd` is 0, for weights may be infinite. For definitions."""
    return grad + wd * weight if wd else grad


def _load_natively(update: Update, *arguments: Any) -> bool:
    """Load the native implementation from the layer above at the first call, for this one and all that follow."""
    natively: Callable[..., bool] = extension("Update.natively")
    Update.natively = staticmethod(natively)
    return natively(update, *arguments)


class Update(Operator):
    """An operator that changes its states in place, and writes the new weight into `out`, without a copy in between.

    Parameters
    ----------
    definition : callable
        `definition(weight, grad, *states, **attributes)` moves the states and returns the new weight: plain NumPy,
        without a thought for memory.
    step : callable, optional
        `step(temporaries, out, weight, grad, *states, **attributes)` does the same in place, on a block of the arrays,
        all of one dtype. `out` may be `weight`, and `temporaries` arrays, or None where the step is to make them, which
        is cheaper for small weights. It is given all attributes, and the numbers that are inputs under their names.
        Without it the definition is run, on blocks as an `ElementwiseChain`: a step pays for updates that nearly
        everybody uses.
    single : Update, optional
        The update that this one makes in float32, in the input `weight32`, of a weight that has fewer digits.
    name : str
    num_temporaries : int
        How many further arrays a step needs.
    states : sequence of str
        The inputs that it changes.
    numbers : sequence of str
        The inputs that are arrays of one number.
    low : sequence of str
        Of an update in float32: what has the weight's dtype; all else has float32.
    public : bool
        Whether it is an operator of its own, or only what another is made of.
    """

    # `natively(update, raws, attributes)` makes a step of a large weight in place, and tells whether it could. With the
    # rates of several weights, `raws` are the arrays of one after the other.
    natively: ClassVar[Callable[..., bool]] = staticmethod(_load_natively)

    def __init__(
        self,
        definition: Callable[..., Any],
        step: Callable[..., None] | None = None,
        *,
        single: Update | None = None,
        name: str,
        num_temporaries: int = 0,
        states: Sequence[str] = (),
        numbers: Sequence[str] = (),
        low: Sequence[str] = ("weight", "grad", "out"),
        public: bool = True,
    ) -> None:
        super().__init__(definition, name=name, builtin=True, auxiliary=states)
        names = self.signature.inputs
        self.formula = definition
        if single is not None:
            self.formula, step = single.formula, single.own_step
            num_temporaries, numbers = single.num_temporaries, single.numbers
        self.own_step: Callable[..., None] | None = step
        self.step = self._run_formula if step is None else step
        self.num_temporaries: int = num_temporaries
        self.numbers: tuple[str, ...] = tuple(numbers)
        self.low = low
        self.has_master = single is not None
        master_place = names.index("weight32") if self.has_master else 0
        self.into_master = "weight32" in states
        self.places = {name: names.index(name) for name in numbers}
        # What steps are given after `out`: the weight (the master's, if there is one), the gradient, the states.
        self.blocked = [
            index
            for index, input_name in enumerate(names)
            if index not in (0, master_place) and input_name not in numbers
        ]
        self.blocked.insert(0, master_place)
        self.last_chain: tuple[Any, Any] = None, None
        self.no_temporaries: list[Any] = [None] * num_temporaries
        self.is_plain = not numbers and not self.has_master
        self.is_one_loop = not self.has_master and type(self).apply is Update.apply
        self.is_one_step = self.is_one_loop and not numbers
        self.changed = [names.index(name) for name in states]
        self.moved = [0, *self.changed]  # by an update of the weight itself
        self.defaults = default_attributes(self.signature)
        self.def_grad_zero()
        self.def_kernel(self._compute)
        self.def_infer_shape(self._infer_shapes)
        self.def_infer_type(self._infer_types)
        if public:
            self.unpickled_by = (find_operator, (name,))
            OPERATORS[name] = self

    def __call__(self, /, *arguments: Any, **attributes: Any) -> Any:
        out, name = attributes.pop("out", None), None
        inputs: Any = arguments
        if not dispatch.needs_no_binding(self, arguments, attributes):
            names, written = tuple(attributes), dispatch.call_form(arguments, attributes)
            name = attributes.pop("name", None)
            inputs, attributes = bind(self.__name__, self.signature, arguments, attributes, positional_attributes=True)
            if len(inputs) == len(arguments) and tuple(attributes) == names:
                dispatch.note_bound(self, written, attributes)
        raws = [value._data if isinstance(value, Array) else value for value in inputs]
        like = inputs[0]
        if not isinstance(like, Array):
            like = next((value for value in inputs if isinstance(value, Array)), None)
            if like is None and any(dispatch.kind_of(type(value)) > dispatch.ARRAY for value in inputs):
                return super().__call__(*inputs, **attributes, name=name, out=out)
        weight: Any = raws[0]
        for raw in raws:
            if type(raw) is not np.ndarray or raw.shape != weight.shape:
                self.require_fit(raws)
                break
        if out is None:
            result = self.empty_result(raws)
        elif out is like is inputs[0] and (out._node is None or (type(out._node) is Leaf and not state.recording)):
            result = weight
            note_write(result)
        else:
            result = self.receiver(out, weight)
        self.run(result, raws, attributes)
        if out is not None:
            note_write(result)  # once more: others may have read the old values in between
            return out
        return result if like is None else like._like(result)

    def change(self, inputs: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Write the new weight into the first input, and move the states: a call with `out=` in fewer steps.

        `inputs` are `Array`s, and `attributes` all attributes of the step, as the numbers that it computes with.
        """
        weight = inputs[0]
        try:
            raws = [*map(_data_of, inputs)]
        except AttributeError:
            self.require_fit([value._data if isinstance(value, Array) else value for value in inputs])
            self(*inputs, out=weight, **attributes)
            return
        result = raws[0]
        shape, dtype = result.shape, result.dtype
        one_step = self.is_one_step and (dtype is _SINGLE or dtype is _DOUBLE) and shape and result.size < _LARGE
        for raw in raws:
            if raw.shape != shape:
                self.require_fit(raws)
                break
            if raw.dtype is not dtype:
                one_step = False
        node = weight._node
        if node is not None and (type(node) is not Leaf or state.recording):
            result = self.receiver(weight, result)
        try:
            if one_step:
                self.step(self.no_temporaries, result, *raws, **attributes)
            else:
                self.apply(result, raws, {**self.defaults, **attributes})
        except Exception as error:
            raise in_place_of(self._explained(error, raws, attributes), error) from None
        finally:  # not before: others may read the old values until then
            note_writes(raws, self.moved)

    def change_all(
        self, rows: Sequence[Sequence[Any]], attributes: dict[str, Any], rates: Sequence[float], decays: Sequence[float]
    ) -> None:
        """Call `change` for each row of inputs, with its own learning rate and weight decay.

        Where there is native code for it, that is one call for all rows between which nothing but the rate changes.
        """
        start = 0
        while start < len(rows):
            decay, end = decays[start], start + 1
            while end < len(rows) and decays[end] == decay:
                end += 1
            attributes["wd"] = decay
            if end - start < 2 or not self._change_natively(rows[start:end], attributes, rates[start:end]):
                for row, rate in zip(rows[start:end], rates[start:end], strict=True):
                    attributes["lr"] = rate
                    self.change(row, attributes)
            start = end

    def _change_natively(
        self, rows: Sequence[Sequence[Any]], attributes: dict[str, Any], rates: Sequence[float]
    ) -> bool:
        """Change weights by native code, and tell whether that was done; if not, nothing has been."""
        natively = Update.natively
        if not self.is_one_step:
            return False
        try:
            raws = [array._data for row in rows for array in row]
            nodes = [row[0]._node for row in rows]
        except AttributeError:  # `change` says what is wrong
            return False
        for node in nodes:
            if node is not None and (type(node) is not Leaf or state.recording):
                return False
        width = len(self.signature.inputs)
        if len(raws) != width * len(rows) or sum([raw.size for raw in raws]) < width * _LARGE:
            return False
        if not natively(self, raws, {**self.defaults, **attributes, "lr": rates[0]}, rates):
            return False
        note_writes(raws, [start + place for start in range(0, len(raws), width) for place in self.moved])
        return True

    def run(self, out: np.ndarray, raws: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Write the new weight into `out` and move the states, with an explanation of errors."""
        try:
            self.apply(out, raws, {**self.defaults, **attributes})
        except Exception as error:
            raise in_place_of(self._explained(error, raws, attributes), error) from None
        for index in self.changed:
            note_write(raws[index])

    def _explained(self, error: Exception, raws: Sequence[Any], attributes: dict[str, Any]) -> Exception:
        require_floats(self.__name__, raws[0], argument="weight")
        arrays = describe_arguments(self.signature.inputs, raws)
        return operator_error(error, f"{self.__name__}: failed on {arrays}, {attributes}")

    def receiver(self, out: Any, weight: np.ndarray) -> np.ndarray:
        """Return the memory of `out`, which is taken off the tape if it may be written."""
        result: np.ndarray = dispatch.target_of(self, out)
        if result.shape != weight.shape:
            raise ShapeError(
                f"{self.__name__}: out has shape {result.shape}, weight {weight.shape}; they must be equal."
            )
        if isinstance(out, Array) and out._node is not None and (state.recording or type(out._node) is not Leaf):
            out._receive(result, None)  # refuses a recorded array, or takes it off the tape
        else:
            note_write(result)
        return result

    def require_fit(self, raws: Sequence[Any]) -> None:
        """Raise, unless all inputs are arrays of the weight's shape, and numbers arrays of one number."""
        weight = raws[0]
        for position, raw in enumerate(raws):
            if type(raw) is np.ndarray and raw.shape == weight.shape and not self.numbers:
                continue
            name = self.signature.inputs[position]
            if not isinstance(raw, np.ndarray):
                raise ArgumentError(f"{self.__name__}: {name} is {describe(raw)}; expected an NDArray or NumPy array.")
            if name in self.numbers:
                if raw.size != 1:
                    raise ShapeError(
                        f"{self.__name__}: {name} is {describe(raw)}; expected an array of one number, of shape (1,)."
                    )
            elif raw.shape != self.shape_of(name, weight.shape):
                raise ShapeError(
                    f"{self.__name__}: {name} is {describe(raw)}, weight {describe(weight)}; "
                    f"{self.shapes_wanted(name)}."
                )

    def shape_of(self, name: str, weight: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the input `name`, an array beside a weight of some shape."""
        return weight

    def shapes_wanted(self, name: str) -> str:
        """Return what messages say of the shape of an input."""
        return "shapes must be equal"

    def apply(self, out: np.ndarray, raws: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Run `step` on the arrays, with what it needs in one dtype, block by block where they are large."""
        for name, place in self.places.items():
            attributes[name] = raws[place].item()
        arrays: Sequence[Any] = raws if self.is_plain else [raws[index] for index in self.blocked]
        natively = Update.natively
        if out.size >= _LARGE and out is arrays[0] and natively(self, arrays, attributes):
            return
        if not out.ndim:  # NumPy's functions return numbers of arrays without axes
            out, arrays = out.reshape(1), [array.reshape(1) for array in arrays]
        dtype = arrays[0].dtype
        if (dtype is not _SINGLE and dtype is not _DOUBLE) or out.dtype is not dtype or self.into_master:
            mixed = True
        else:
            mixed = False
            for array in arrays:
                if array.dtype is not dtype:
                    mixed = True
        if mixed:
            require_floats(self.__name__, raws[0], argument="weight")
        if out.size > _BLOCK and out.flags.c_contiguous and all(array.flags.c_contiguous for array in arrays):
            self._step_in_blocks(out, arrays, arithmetic_dtype(dtype), attributes, mixed)
        elif mixed:
            temporaries = [np.empty(out.shape, arithmetic_dtype(dtype)) for _ in range(len(arrays) + 1)]
            self._step_converted(self.step, self.no_temporaries, temporaries, out, *arrays, **attributes)
        else:
            self.step(self.no_temporaries, out, *arrays, **attributes)

    def _step_in_blocks(
        self,
        out: np.ndarray,
        arrays: Sequence[np.ndarray],
        dtype: np.dtype,
        attributes: dict[str, Any],
        mixed: bool,
    ) -> None:
        """Make a step of large arrays block by block, computed in `dtype`."""
        step, num_temporaries = self.step, self.num_temporaries
        if self.own_step is None:
            key, chain = self.last_chain
            if key != (dtype, attributes):
                chain = ElementwiseChain(self.formula, len(arrays), dtype, attributes)
                self.last_chain = (dtype, attributes), chain
            step, num_temporaries = chain.run, chain.num_temporaries
        out = out.reshape(-1)
        arrays = [array.reshape(-1) for array in arrays]
        whole = np.empty((num_temporaries + (len(arrays) + 1 if mixed else 0), _BLOCK), dtype)
        for start in range(0, out.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            temporaries = [*whole[:, : min(_BLOCK, out.size - start)]]
            blocks = [out[block], *[array[block] for array in arrays]]
            if mixed:
                own, converted = temporaries[:num_temporaries], temporaries[num_temporaries:]
                self._step_converted(step, own, converted, *blocks, **attributes)
            else:
                step(temporaries, *blocks, **attributes)

    def _run_formula(self, temporaries: Sequence[Any], out: np.ndarray, *arrays: np.ndarray, **attributes: Any) -> None:
        """Make a step by the definition of one weight of a dtype that is computed in."""
        np.copyto(out, self.formula(*arrays, **attributes), casting="same_kind")

    def _step_converted(
        self,
        step: Callable[..., None],
        temporaries: Sequence[Any],
        converted: Sequence[np.ndarray],
        out: np.ndarray,
        *arrays: np.ndarray,
        **attributes: Any,
    ) -> None:
        """Make a step in the dtype of `converted`, memory for all arrays and the result; write what changes back."""
        dtype = converted[0].dtype
        inputs = list(arrays)
        for index, array in enumerate(arrays):
            if array.dtype != dtype:
                inputs[index] = converted[index]
                np.copyto(inputs[index], array, casting="same_kind")
        target = inputs[0] if self.into_master else out if out.dtype == dtype else converted[-1]
        step(temporaries, target, *inputs, **attributes)
        if target is not out:
            np.copyto(out, target, casting="same_kind")
        for index in self.changed:
            place = self.blocked.index(index)
            if inputs[place] is not arrays[place]:
                np.copyto(arrays[place], inputs[place], casting="same_kind")

    def _compute(self, *raws: Any, **attributes: Any) -> np.ndarray:
        """Return the new weight, of fresh memory: what graphs and raw arrays call."""
        self.require_fit(raws)
        out = self.empty_result(raws)
        self.run(out, raws, attributes)
        return out

    def empty_result(self, raws: Sequence[Any]) -> np.ndarray:
        """Return memory for what a call returns."""
        return np.empty_like(raws[0], dtype=None if "out" in self.low else raws[self.blocked[0]].dtype)

    # -- inference -----------------------------------------------------------------------------------------------------

    def _infer_shapes(self, inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
        names = self.signature.inputs
        arrays = (stated for name, stated in zip(names, inputs, strict=True) if name not in self.numbers)
        shape = merge_shapes(outputs[0], *arrays)
        return [(1,) if name in self.numbers else shape for name in names], [shape]

    def _infer_types(self, inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
        is_number = [name in self.numbers for name in self.signature.inputs]
        arrays = [dtype for dtype, number in zip(inputs, is_number, strict=True) if not number]
        array_types, output_types = self.own_types(arrays, outputs)
        types = iter(array_types)
        filled = [
            (_SINGLE if dtype is None else dtype) if number else next(types)
            for dtype, number in zip(inputs, is_number, strict=True)
        ]
        return filled, output_types

    def own_types(self, inputs: DTypes, outputs: DTypes) -> tuple[DTypes, DTypes]:
        """Infer the dtypes of the inputs that are no numbers, and of the output."""
        if not self.has_master:
            return same_dtype(inputs, outputs)
        names = [name for name in self.signature.inputs if name not in self.numbers] + ["out"]
        low: np.dtype | None = None
        wide: np.dtype | None = None
        for name, dtype in zip(names, [*inputs, *outputs], strict=True):
            if dtype is not None and name in self.low:
                low = dtype if low is None else low
            elif dtype is not None:
                wide = dtype if wide is None else wide
        wide = _SINGLE if wide is None else wide
        expected = [low if name in self.low else wide for name in names]
        filled = [own if dtype is None else dtype for dtype, own in zip([*inputs, *outputs], expected, strict=True)]
        return filled[:-1], filled[-1:]
