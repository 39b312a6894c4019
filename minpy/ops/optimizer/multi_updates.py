"""`MultiUpdate`: what updates of several weights in one call have in common."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minpy.core import dispatch
from minpy.core.array import Array
from minpy.core.base_operator import DTypes, PartialShape, Shapes
from minpy.core.default_attributes import default_attributes
from minpy.core.errors import ArgumentError, MXNetError, describe, named
from minpy.core.operator import Operator
from minpy.core.signatures import REQUIRED, bind
from minpy.ops.inference.partial_shapes import merge_shapes
from minpy.ops.inference.rule_parts import numbered
from minpy.ops.optimizer.declaring import describe_update, keyword_parameters, with_signature
from minpy.ops.optimizer.updates import Update
from minpy.ops.registry import OPERATORS, find_operator

__all__ = ["MultiUpdate"]

_FLOAT32 = np.dtype("float32")
# What docstrings say of the inputs that follow those of the weights.
_SHARED = {
    (): "",
    ("lrs", "wds"): "; then `lrs` and `wds`, arrays with a value for each weight",
    ("rescale_grad",): "; then `rescale_grad`, which is of shape (1,)",
}


class _Numbered(tuple[str, ...]):
    """The names of states that are numbered, as many as there are weights: `mom_0`, `mom_1`, ..."""

    def __contains__(self, name: object) -> bool:
        return str(name).rpartition("_")[0] in tuple(self)


class MultiUpdate(Operator):
    """Updates of several weights in one call: their inputs one after another, then what they share.

    Parameters
    ----------
    single : Update
        The update of one weight.
    text : str
        The docstring, without the sections on parameters, results and errors.
    name : str
    attributes : str
        The names of the attributes, in order; the last says how many weights there are.
    rates : mapping of str to str
        The attributes, or inputs, that have a value for each weight, and what `single` calls that value.
    shared : sequence of str
        What the inputs are called that follow those of the weights: one of these may be in `rates`, too.
    """

    def __init__(
        self,
        single: Update,
        text: str,
        *,
        name: str,
        attributes: str,
        rates: Mapping[str, str],
        shared: Sequence[str] = (),
    ) -> None:
        def definition(*data: np.ndarray, **attributes: Any) -> tuple[np.ndarray, ...]:
            groups, weight_attributes = self.split(data, {**self.defaults, **attributes})
            return tuple(single.definition(*group, **own) for group, own in zip(groups, weight_attributes, strict=True))

        names = attributes.split()
        self.single, self.lists, self.shared, self.count = single, dict(rates), tuple(shared), names[-1]
        self.own = [input_name for input_name in single.signature.inputs if input_name not in single.numbers]
        of_single = {parameter.name: parameter for parameter in keyword_parameters(single.definition)}
        parameters = []
        for attribute in names[:-1]:
            own = of_single[rates.get(attribute, attribute)]
            if attribute in rates:
                own = own.replace(name=attribute, annotation=f"tuple[{own.annotation}, ...]", default=REQUIRED)
            parameters.append(own)
        parameters.append(inspect.Parameter(self.count, inspect.Parameter.KEYWORD_ONLY, annotation="int", default=1))
        with_signature(definition, ("*data",), parameters, single.__module__)
        arrays = (
            f"*data : NDArray\n    {', '.join(self.own)} of each weight, one after another{_SHARED[tuple(shared)]}."
        )
        if single.auxiliary:
            arrays += f"\n    Changed in place: {' and '.join(f'`{state}`' for state in single.auxiliary)}."
        describe_update(definition, text, arrays)
        super().__init__(definition, name=name, builtin=True)
        self.auxiliary = _Numbered(single.auxiliary)
        self.outputs = self._outputs
        self.defaults = default_attributes(self.signature)
        self.def_grad_zero()
        self.def_kernel(self._compute)
        self.def_infer_shape(self._infer_shapes)
        self.def_infer_type(self._infer_types)
        self.unpickled_by = (find_operator, (name,))
        OPERATORS[name] = self

    def __call__(self, /, *arguments: Any, **attributes: Any) -> Any:
        out, name = attributes.pop("out", None), attributes.pop("name", None)
        inputs, attributes = bind(self.__name__, self.signature, arguments, attributes, positional_attributes=True)
        like = next((value for value in inputs if isinstance(value, Array)), None)
        if any(dispatch.kind_of(type(value)) > dispatch.ARRAY for value in inputs):
            return super().__call__(*inputs, **attributes, name=name, out=out)
        raws = [value._data if isinstance(value, Array) else value for value in inputs]
        attributes = {**self.defaults, **attributes}
        groups, weight_attributes = self.split(raws, attributes)
        if out is None:
            try:
                results = [self.single.empty_result(group) for group in groups]
            except MXNetError as error:
                raise named(error, self.__name__, whole=True) from error.__cause__
        else:
            outs = list(out) if isinstance(out, (list, tuple)) else [out]
            if len(outs) != len(groups):
                raise ArgumentError(
                    f"{self.__name__}: out= is {len(outs)} array(s), {self.count}={len(groups)}; give a list with one "
                    "array for each weight."
                )
            results = [self.single.receiver(target, group[0]) for target, group in zip(outs, groups, strict=True)]
        self._run(results, groups, weight_attributes)
        if out is not None:
            return out
        weights = results if like is None else [like._like(result) for result in results]
        return weights[0] if len(weights) == 1 else weights

    def split(self, raws: Sequence[Any], attributes: dict[str, Any]) -> tuple[list[list[Any]], list[dict[str, Any]]]:
        """Return the inputs of each weight's update, and its attributes."""
        name, stride = self.__name__, len(self.own)
        number = attributes[self.count]
        expected = number * stride + len(self.shared)
        if len(raws) != expected or number < 1:
            further = f", then {', '.join(self.shared)}" if self.shared else ""
            raise ArgumentError(
                f"{name}: {len(raws)} arrays are given; {self.count}={number} weights need {expected}: "
                f"{', '.join(self.own)} of each{further}."
            )
        last = dict(zip(self.shared, raws[number * stride :], strict=True))
        lists = {}
        for key, own in self.lists.items():
            values = last[key] if key in last else attributes[key]
            if isinstance(values, np.ndarray):
                values = values.reshape(-1).tolist()
            elif isinstance(values, (int, float, np.number)):
                values = [values]
            elif not isinstance(values, (tuple, list)):
                raise ArgumentError(f"{name}: {key} is {describe(values)}; expected {number} numbers, one a weight.")
            if len(values) != number:
                raise ArgumentError(
                    f"{name}: {key} has {len(values)} values, {tuple(values)}; {self.count}={number} weights need one "
                    "each."
                )
            lists[own] = values
        numbers = [last[key] for key in self.shared if key in self.single.numbers]
        groups = [[*raws[start : start + stride], *numbers] for start in range(0, number * stride, stride)]
        for position, group in enumerate(groups):
            try:
                self.single.require_fit(group)
            except MXNetError as error:
                raise type(error)(f"{name}: weight {position} of {number}: {error}") from None
        common = {key: value for key, value in attributes.items() if key not in self.lists and key != self.count}
        weight_attributes = [
            {**common, **{key: values[index] for key, values in lists.items()}} for index in range(number)
        ]
        return groups, weight_attributes

    def _compute(self, *raws: Any, **attributes: Any) -> Any:
        groups, weight_attributes = self.split(raws, attributes)
        results = tuple(self.single.empty_result(group) for group in groups)
        self._run(results, groups, weight_attributes)
        return results

    def _run(self, results: Sequence[Any], groups: list[list[Any]], weight_attributes: list[dict[str, Any]]) -> None:
        try:
            for result, group, attributes in zip(results, groups, weight_attributes, strict=True):
                self.single.run(result, group, attributes)
        except MXNetError as error:
            raise named(error, self.__name__, whole=True) from error.__cause__

    # -- graphs --------------------------------------------------------------------------------------------------------

    def input_names(self, attributes: dict[str, Any], count: int | None = None) -> list[str]:
        """Return the names of the inputs of a call with these attributes: `weight_0`, `grad_0`, ..."""
        number = attributes.get(self.count, 1)
        return [f"{name}_{index}" for index in range(number) for name in self.own] + [*self.shared]

    def argument_names(self, count: int) -> list[str]:
        """Return what messages call the first `count` inputs of a call."""
        number = (count - len(self.shared)) // len(self.own)
        names = self.input_names({self.count: number})
        return (names + [f"data[{index}]" for index in range(len(names), count)])[:count]

    def argument_name(self, index: int) -> str:
        """Return what messages call the input at a position, of however many."""
        return f"data[{index}]"

    def _outputs(self, attributes: dict[str, Any]) -> Sequence[str]:
        number = attributes.get(self.count, 1)
        return ("output",) if number == 1 else numbered(number)

    def _infer_shapes(self, inputs: Shapes, outputs: Shapes, **attributes: Any) -> tuple[Shapes, Shapes]:
        number, stride = len(outputs), len(self.own)
        filled: list[PartialShape] = []
        results: list[PartialShape] = []
        for index in range(number):
            shape = merge_shapes(outputs[index], *inputs[index * stride : (index + 1) * stride])
            filled += [shape] * stride
            results.append(shape)
        return filled + [(number,) if name in self.lists else (1,) for name in self.shared], results

    def _infer_types(self, inputs: DTypes, outputs: DTypes, **attributes: Any) -> tuple[DTypes, DTypes]:
        stride = len(self.own)
        filled: list[Any] = []
        results: list[Any] = []
        for index, output in enumerate(outputs):
            input_types, result = self.single.own_types(inputs[index * stride : (index + 1) * stride], [output])
            filled += input_types
            results += result
        shared = inputs[len(filled) :]
        return filled + [_FLOAT32 if dtype is None else dtype for dtype in shared], results
