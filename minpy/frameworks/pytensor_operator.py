"""`to_pytensor`: operators of minpy as operators of PyTensor, differentiated to any order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, product
from types import SimpleNamespace
from typing import Any

import numpy

from minpy.core.configured import ConfiguredOperator
from minpy.core.errors import ArgumentError, NotTraceableError, is_quitting
from minpy.core.signatures import bind
from minpy.frameworks.derivatives import PULL, Derivative, full_attributes
from minpy.frameworks.inference import ArraySpec
from minpy.frameworks.libraries import require
from minpy.frameworks.operators import operator_of, refuse_attributes
from minpy.frameworks.requests import THROUGH, require_choice, require_count, visible_count

__all__ = ["PytensorOperator", "to_pytensor"]

# What lengths that are not known are tried as: what comes out alike for all does not hang on them.
_TRIED = (2, 3, 1, 7)


def to_pytensor(operator: Any, *, outputs: int | None = None, through: str = "auto") -> PytensorOperator:
    """Return an operator as a function of PyTensor's variables, differentiable to any order.

    Parameters
    ----------
    operator : Operator or str
        Any kind: a `@customop` with its rules, a built-in operator (`mx.nd.softmax`), a registered prop by its name,
        one of a native library (`mx.nd.my_gemm`): see `as_operator`. The last two have first-order gradients, and run
        through NumPy.
    outputs : int, optional
        How many arrays it returns. Left out, the operator tells, or is tried.
    through : {'auto', 'graph', 'numpy'}
        'graph' makes the steps that the function and its rules were traced to functions of PyTensor's, which its
        backends fuse and compile, Numba among them; the lengths of all inputs have to be known, and arrays outside
        that the function refers to are as they are then. 'numpy' calls the function and its rules, for arrays of any
        lengths; PyTensor's Numba mode does so in object mode, and warns of it. 'auto' takes the graph where it can be
        made; `reason` says why not.

    Returns
    -------
    PytensorOperator
        It takes PyTensor's variables, arrays or numbers by position, and attributes by keyword, as the operator does,
        and returns a variable, or a list of variables where the operator returns a tuple. `pytensor.grad` of it, of
        its gradient, and so on are graphs again; `pytensor.gradient.pushforward` has a forward mode.
        Shapes of results are computed from shapes, without a call of the operator, where it has a shape rule or can be
        traced.

    Raises
    ------
    ArgumentError
        If `operator` is none, for another `through`, or at a call, if it does not take such inputs.
    NotTraceableError
        At a call, with through='graph', where there is no graph: the message says why.
    MissingDependencyError
        If PyTensor is not installed, or too old.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy, pytensor, pytensor.tensor as pt
    >>> from minpy.frameworks import to_pytensor
    >>> @minpy.customop('numpy')
    ... def softplus(x, *, beta: float = 1.0):
    ...     return np.logaddexp(0, beta * x) / beta
    >>> softplus.def_grad(lambda ans, x, *, beta: lambda g: g / (1 + np.exp(-beta * x)))
    <Operator softplus(x, beta=), gradients: x>
    >>> x = pt.dvector()
    >>> slope = pytensor.grad(to_pytensor(softplus)(x, beta=2.0).sum(), x)
    >>> pytensor.function([x], slope, mode='FAST_COMPILE')(np.zeros(2))
    array([0.5, 0.5])
    """
    require("pytensor")
    require_choice("to_pytensor", "through", through, THROUGH)
    require_count("to_pytensor", outputs)
    operator = operator_of(operator, "to_pytensor")
    if operator.auxiliary:
        raise ArgumentError(
            f"to_pytensor: {operator.__name__} changes its states {', '.join(operator.auxiliary)} in place, and "
            "operators of PyTensor change nothing. Wrap a function that returns the new states."
        )
    return PytensorOperator(operator, outputs, through)


class PytensorOperator:
    """An operator of minpy as a function of PyTensor's variables: see `to_pytensor`.

    `reason`: why the latest call runs through NumPy; None if it is a graph of PyTensor's. It pickles by the operator.
    """

    def __init__(self, operator: Any, outputs: int | None, through: str) -> None:
        self.op = self.__minpy_operator__ = operator
        self.through = through
        self.reason: str | None = "through='numpy' was asked for" if through == "numpy" else None
        self.__name__ = self.__qualname__ = operator.__name__
        self.__doc__ = operator.__doc__
        self._outputs = outputs

    def __repr__(self) -> str:
        return f"<{self.op!r} as a function of PyTensor's>"

    def __reduce__(self) -> Any:
        return _remade_function, (self.op, self._outputs, self.through)

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """Return what the operator gives for variables; attributes as for the operator."""
        from minpy.frameworks.pytensor_graph import graph_of  # it imports much of minpy

        operator = self.op
        variables, absent, filled = _bound(operator, inputs, attributes)
        if self.through != "numpy":
            try:
                results, several = graph_of(operator, variables, absent, filled)
            except NotTraceableError as error:
                if self.through == "graph":
                    raise
                self.reason = str(error)
            else:
                self.reason = None
                return results if several else results[0]
        return _parts().called(operator, self._outputs, variables, absent, filled)


def _remade_function(operator: Any, outputs: int | None, through: str) -> PytensorOperator:
    return to_pytensor(operator, outputs=outputs, through=through)


def _bound(
    operator: Any, inputs: Sequence[Any], attributes: dict[str, Any]
) -> tuple[list[Any], tuple[int, ...], dict[str, Any]]:
    """Return (variables of a call, the positions of inputs that are None, the attributes with their defaults)."""
    import pytensor.tensor as pt

    if isinstance(operator, ConfiguredOperator):
        refuse_attributes(operator.__name__, {key: attributes[key] for key in attributes if key not in operator.names})
    values, named = bind(operator.__name__, operator.signature, tuple(inputs), dict(attributes), operator.builtin)
    absent = tuple(position for position, value in enumerate(values) if value is None)
    present = [value for value in values if value is not None]
    types = [getattr(value, "type", value) for value in present]
    dtypes = [numpy.dtype(type_.dtype) for type_ in types if hasattr(type_, "dtype")]
    variables = [
        pt.constant(value, dtype=_dtype_of_number(value, dtypes).name)
        if type(value) in (int, float, complex)
        else pt.as_tensor_variable(value)
        for value in present
    ]
    return variables, absent, full_attributes(operator, named)


def _dtype_of_number(number: complex, dtypes: Sequence[numpy.dtype]) -> numpy.dtype:
    """Return the dtype of a Python number beside arrays of some dtypes: one that leaves their result what it is.

    PyTensor's own choice, the narrowest one that has the number, loses digits: NumPy's log of an int8 is a float16.
    """
    if not isinstance(number, int):
        return numpy.result_type(number, *dtypes)
    common = numpy.result_type(*dtypes) if dtypes else numpy.dtype("int64")
    for dtype in [common] if common.kind in "iu" else map(numpy.dtype, ("int64", "int32", "int16", "int8")):
        limits = numpy.iinfo(dtype)
        if limits.min <= number <= limits.max and numpy.can_cast(dtype, common):
            return dtype
    return numpy.dtype("int64")


@lru_cache(None)
def _parts() -> SimpleNamespace:
    """Return the classes that stand on PyTensor's, which is imported."""
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType, disconnected_type, grad_undefined
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op
    from pytensor.tensor.exceptions import ShapeError

    class MinpyOp(Op):
        """A derivative of an operator of minpy: of order 0, the operator."""

        __props__ = ("operator", "spec")

        def __init__(self, operator: Any, spec: str) -> None:
            self.operator = operator
            self.spec = spec
            self.derivative = Derivative.from_spec(operator, spec)

        def __reduce__(self) -> Any:
            return _remade, (self.operator, self.spec)

        def __str__(self) -> str:
            steps = "".join(f".{mode}{list(positions)}" for mode, positions in self.derivative.chain)
            return f"minpy.{self.operator.__name__}{steps}"

        def make_node(self, *inputs: Any) -> Any:
            inputs = tuple(map(pt.as_tensor_variable, inputs))
            derivative = self.derivative
            types: list[Any]
            if derivative.lower is not None and derivative.chain[-1][0] == PULL:
                like = [inputs[derivative.offset + index].type for index in derivative.chain[-1][1]]
                types = [pt.TensorType(dtype=type_.dtype, shape=type_.shape) for type_ in like]
            else:
                types = output_types(derivative, [variable.type for variable in inputs])
            return Apply(self, list(inputs), [type_() for type_ in types])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            for storage, result, output in zip(output_storage, self.derivative(*inputs), node.outputs, strict=True):
                storage[0] = numpy.asarray(result, output.type.dtype)

        def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> list[Any]:
            derivative = self.derivative
            while derivative.lower is not None:
                shapes = shapes[derivative.offset :]
                if derivative.chain[-1][0] == PULL:
                    return [shapes[index] for index in derivative.chain[-1][1]]
                derivative = derivative.lower
            variables = node.inputs[len(node.inputs) - len(shapes) :]
            lengths_by_input = [
                [length if fixed is None else fixed for length, fixed in zip(shape, variable.type.shape, strict=True)]
                for shape, variable in zip(shapes, variables, strict=True)
            ]
            if all(None not in output.type.shape for output in node.outputs):
                return [output.type.shape for output in node.outputs]
            if is_guess(derivative, [variable.type for variable in variables]):
                raise ShapeError("the shape may hang on values: the operator is run for it")
            dtypes = tuple(variable.type.dtype for variable in variables)
            ndims = tuple(variable.type.ndim for variable in variables)
            returned = tuple(output.type.ndim for output in node.outputs)
            lengths = [*chain.from_iterable(lengths_by_input)]
            computed = MinpyShape(self.operator, derivative.spec, dtypes, ndims, returned)(
                *[pt.as_tensor_variable(length, dtype="int64") for length in lengths], return_list=True
            )
            remaining = iter(computed)
            result = []
            for output in node.outputs:
                shape = [next(remaining) for _ in range(output.type.ndim)]
                fixed_shape = zip(shape, output.type.shape, strict=True)
                result.append(tuple(length if fixed is None else pt.constant(fixed) for length, fixed in fixed_shape))
            return result

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            live = [is_real(output) for output in node.outputs]
            return [
                [is_real(variable) and is_output_live and not self.is_zero(position) for is_output_live in live]
                for position, variable in enumerate(node.inputs)
            ]

        def is_zero(self, position: int) -> bool:
            """Tell whether the gradient of a value is said to be zero."""
            derivative = self.derivative
            return derivative.lower is None and self.operator.is_zero(derivative.input_position(position))

        def groups(self, inputs: Sequence[Any]) -> tuple[list[tuple[int, ...]], dict[int, Any]]:
            """Return (the positions of values whose gradients are computed together, what is undefined, and why)."""
            derivative, operator = self.derivative, self.operator
            positions = [p for p, variable in enumerate(inputs) if is_real(variable) and not self.is_zero(p)]
            if derivative.lower is not None:
                second_order_error = operator.second_order_error()
                if positions and second_order_error is not None:
                    raise second_order_error
                return ([tuple(positions)] if positions else []), {}
            missing = {p: operator.missing_rule(q) for p in positions if not operator.has_rule(q := index_of(self, p))}
            positions = [position for position in positions if position not in missing]
            rules = operator.rules
            alone = [p for p in positions if index_of(self, p) < len(rules) and rules[index_of(self, p)] is not None]
            together = tuple(position for position in positions if position not in alone)
            return [(position,) for position in alone] + ([together] if together else []), missing

        def _pulled(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            derivative = self.derivative
            upstream = [
                pt.zeros_like(output, dtype=None if is_real(output) else "float64")
                if isinstance(cotangent.type, DisconnectedType) or not is_real(output)
                else pt.cast(cotangent, output.type.dtype)
                for cotangent, output in zip(cotangents, outputs, strict=True)
            ]
            groups, missing = self.groups(inputs)
            results: list[Any] = [disconnected_type() for _ in inputs]
            for position, error in missing.items():
                results[position] = grad_undefined(self, position, inputs[position], str(error))
            for positions in groups:
                pull = derivative.pull(positions)
                values = [*upstream, *(outputs if pull.reads_outputs else ()), *inputs]
                parts = MinpyOp(self.operator, pull.spec)(*values, return_list=True)
                for position, part in zip(positions, parts, strict=True):
                    results[position] = part
            return results

        def _pushed(self, inputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
            positions = tuple(
                position
                for position, (variable, tangent) in enumerate(zip(inputs, tangents, strict=True))
                if is_real(variable)
                and tangent is not None
                and not isinstance(tangent.type, DisconnectedType)
                and not self.is_zero(position)
            )
            if not positions:
                return [disconnected_type() for _ in range(self.derivative.num_returned)]
            push = self.derivative.push(positions)
            directions = [pt.cast(tangents[position], inputs[position].type.dtype) for position in positions]
            results: list[Any] = MinpyOp(self.operator, push.spec)(*directions, *inputs, return_list=True)
            return results

    if hasattr(Op, "pullback"):  # PyTensor 3

        def pullback(self: Any, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
            return self._pulled(inputs, outputs, cotangents)

        def pushforward(self: Any, inputs: Any, outputs: Any, tangents: Any) -> list[Any]:
            return self._pushed(inputs, tangents)

        MinpyOp.pullback, MinpyOp.pushforward = pullback, pushforward
    else:

        def left(self: Any, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
            return self._pulled(inputs, outputs, cotangents)

        def right(self: Any, inputs: Any, tangents: Any) -> list[Any]:
            results = self._pushed(inputs, tangents)
            return [None if isinstance(each.type, DisconnectedType) else each for each in results]

        MinpyOp.L_op, MinpyOp.R_op = left, right

    class MinpyShape(Op):
        """The lengths of an operator's outputs, from those of its inputs: no array is computed."""

        __props__ = ("operator", "spec", "dtypes", "ndims", "returned")

        def __init__(
            self, operator: Any, spec: str, dtypes: Sequence[str], ndims: Sequence[int], returned: Sequence[int]
        ) -> None:
            self.operator, self.spec = operator, spec
            self.dtypes, self.ndims, self.returned = tuple(dtypes), tuple(ndims), tuple(returned)

        def __reduce__(self) -> Any:
            return _remade_shape, (self.operator, self.spec, self.dtypes, self.ndims, self.returned)

        def make_node(self, *lengths: Any) -> Any:
            outputs = [pt.lscalar() for _ in range(sum(self.returned))]
            return Apply(self, [pt.as_tensor_variable(length) for length in lengths], outputs)

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            lengths = iter(inputs)
            shapes = [tuple(int(next(lengths)) for _ in range(ndim)) for ndim in self.ndims]
            inferred = _inferred(self.operator, self.spec, tuple(zip(shapes, self.dtypes, strict=True)))
            results = chain.from_iterable(spec.shape for spec in inferred)
            for storage, length in zip(output_storage, results, strict=True):
                storage[0] = numpy.asarray(length, "int64")

        def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> list[Any]:
            return [() for _ in node.outputs]

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            return [[False] * len(node.outputs) for _ in node.inputs]

    def is_real(variable: Any) -> bool:
        return numpy.dtype(variable.type.dtype).kind in "fc"

    def index_of(op: MinpyOp, position: int) -> int:
        index: int = op.derivative.input_position(position)
        return index

    def output_types(derivative: Derivative, types: Sequence[Any]) -> list[Any]:
        """Return the types of what a derivative returns: lengths are known that hang on none that is not."""
        results = tried(derivative, types)
        certain = _all_known(types)
        if not certain and (len(results) == 1 or is_guess(_root(derivative), _root_values(derivative, types))):
            return [pt.TensorType(dtype=each.dtype.name, shape=(None,) * len(each.shape)) for each in results[0]]
        shapes = [[spec.shape for spec in specs] for specs in zip(*results, strict=True)]
        return [
            pt.TensorType(dtype=spec.dtype.name, shape=tuple(map(_agreed, zip(*lengths, strict=True))))
            for spec, lengths in zip(results[0], shapes, strict=True)
        ]

    def is_guess(derivative: Derivative, types: Sequence[Any]) -> bool:
        """Tell whether the operator's shapes are known from a run only."""
        for lengths in _lengths_to_try(types):
            try:
                return bool(derivative.infer_outputs(_specs(types, lengths)).is_guess)
            except Exception as error:
                if is_quitting(error):
                    raise
        return True

    def tried(derivative: Derivative, types: Sequence[Any]) -> list[list[ArraySpec]]:
        """Return what a derivative returns, once for each way of filling in lengths that are not known."""
        results: list[list[ArraySpec]] = []
        first_error: Exception | None = None
        for lengths in _lengths_to_try(types):
            if len(results) >= len(_TRIED):
                break
            try:
                results.append(derivative.infer(_specs(types, lengths)))
            except Exception as error:
                if is_quitting(error):
                    raise
                first_error = first_error or error
        if first_error is not None and not results:
            if _all_known(types):
                raise first_error
            name = derivative.operator.__name__
            shown = ", ".join(f"{type_.dtype} {type_.shape}" for type_ in types)
            raise ArgumentError(
                f"{name}: to_pytensor does not find out what it returns for {shown}, with lengths that are not known "
                f"(None) tried as {', '.join(map(str, _TRIED))}: {first_error}\nGive the variables static shapes, "
                f"pt.tensor(shape=(4, 3)), or the operator rules, {name}.def_shape and {name}.def_infer_type."
            ) from first_error
        return results

    def called(
        operator: Any, count: int | None, variables: Sequence[Any], absent: tuple[int, ...], filled: dict[str, Any]
    ) -> Any:
        """Return what a call of an operator gives: a variable, or a list of them."""
        types = [variable.type for variable in variables]
        number, several = count or 1, (count or 1) > 1
        if count is None:
            number, several = returned(operator, filled, absent, types)
        derivative = Derivative(operator, filled, number, several, absent)
        visible = visible_count(operator, filled, number)
        results = MinpyOp(operator, derivative.spec)(*variables, return_list=True)[:visible]
        return results if several and (visible > 1 or operator.visible_outputs is None) else results[0]

    def returned(
        operator: Any, attributes: dict[str, Any], absent: tuple[int, ...], types: Sequence[Any]
    ) -> tuple[int, bool]:
        """Return (how many arrays the operator returns, whether in a tuple)."""
        derivative = Derivative(operator, attributes, absent=absent)
        first_error: Exception | None = None
        for lengths in _lengths_to_try(types):
            try:
                inferred = derivative.infer_outputs(_specs(types, lengths))
            except Exception as error:
                if is_quitting(error):
                    raise
                first_error = first_error or error
                continue
            return len(inferred), bool(inferred.returns_tuple)
        names = operator.output_names(attributes)
        if first_error is None:
            raise AssertionError("no lengths were tried")
        return len(names), len(names) > 1

    return SimpleNamespace(called=called, MinpyOp=MinpyOp, MinpyShape=MinpyShape)


def _remade(operator: Any, spec: str) -> Any:
    return _parts().MinpyOp(operator, spec)


def _remade_shape(*arguments: Any) -> Any:
    return _parts().MinpyShape(*arguments)


def _root(derivative: Derivative) -> Derivative:
    while derivative.lower is not None:
        derivative = derivative.lower
    return derivative


def _root_values(derivative: Derivative, values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of order 0: the operator's inputs."""
    while derivative.lower is not None:
        values = values[derivative.offset :]
        derivative = derivative.lower
    return values


def _agreed(lengths: Sequence[int]) -> int | None:
    """Return the length that all tries give; None where they differ, or it hangs on values."""
    return lengths[0] if lengths[0] >= 0 and len(set(lengths)) == 1 else None


def _all_known(types: Sequence[Any]) -> bool:
    return all(None not in type_.shape for type_ in types)


def _lengths_to_try(types: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return lengths for the dimensions that are not known: all alike, then as others are."""
    count = sum(type_.shape.count(None) for type_ in types)
    static = sorted({length for type_ in types for length in type_.shape if length is not None} - {*_TRIED})
    alike = [(length,) * count for length in (*_TRIED, *static)]
    if not 1 < count <= 4:
        return list(dict.fromkeys(alike))
    return list(dict.fromkeys([*alike, *product((*_TRIED[:2], *static[:2]), repeat=count)]))


def _specs(types: Sequence[Any], lengths: Sequence[int]) -> list[ArraySpec]:
    remaining = iter(lengths)
    return [
        ArraySpec(
            tuple(next(remaining) if length is None else length for length in type_.shape), numpy.dtype(type_.dtype)
        )
        for type_ in types
    ]


@lru_cache(1024)
def _inferred(operator: Any, spec: str, facts: tuple[tuple[tuple[int, ...], str], ...]) -> list[ArraySpec]:
    derivative = Derivative.from_spec(operator, spec)
    return derivative.infer([ArraySpec(shape, numpy.dtype(dtype)) for shape, dtype in facts])
