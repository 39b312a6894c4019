"""`ConfiguredOperator`: an operator made for one set of attributes, and `OperatorFamily`, which makes it.

The operators of native libraries, and those that replace a part of a graph, determine from their attributes how many
inputs and outputs they have and which of the inputs are states. So each set of attributes has an operator of its own;
the name that users call is that of the family of these operators. Attributes are strings, as in libraries and files.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy

from minpy.core import dispatch
from minpy.core.array import Array
from minpy.core.base_operator import BaseOperator
from minpy.core.errors import ArgumentError, describe
from minpy.core.signatures import Signature

__all__ = ["FAMILIES", "ConfiguredOperator", "OperatorFamily", "find_configured", "text_of"]

# By their names in nodes and files.
FAMILIES: dict[str, OperatorFamily] = {}

_MAX_CONFIGURED = 256
_SPELLED_BY_STR = {str, int, float, bool, tuple}


class ConfiguredOperator(BaseOperator):
    """An operator with its attributes.

    `parameters`: the attributes of the call. `annotations`: other attributes of the node, `__in_underscores__`.
    `graphs`: the symbols inside it. `names`, `outputs`: the names of its inputs and outputs. `auxiliary`: the names of
    the inputs that are states.
    """

    may_alias = False
    takes_name = True

    def __init__(
        self,
        family: OperatorFamily,
        parameters: Mapping[str, str],
        annotations: Mapping[str, str],
        graphs: Sequence[Any],
        names: Sequence[str],
        outputs: Sequence[str],
        auxiliary: Sequence[str] = (),
    ) -> None:
        self.__name__ = self.__qualname__ = family.__name__
        self.family = family
        self.parameters = dict(parameters)
        self.annotations = dict(annotations)
        self.graphs = tuple(graphs)
        self.names = tuple(names)
        self.outputs = list(outputs)
        self.auxiliary = tuple(auxiliary)
        self.arity = len(self.names)
        self.signature = Signature(self.names, {}, {})

    @property
    def all_attributes(self) -> dict[str, str]:
        """All attributes: those of the call, and the annotations of the node."""
        return {**self.annotations, **self.parameters}

    def is_zero(self, index: int) -> bool:
        """Tell whether an input is a state, which has no gradient."""
        return index < len(self.names) and self.names[index] in self.auxiliary

    def require_inputs(self, count: int, where: str = "") -> None:
        """Raise `ArgumentError` for a call with another number of inputs."""
        if count != self.arity:
            attributes = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
            raise ArgumentError(
                f"{where}{self.__name__} takes {self.arity} input(s)"
                + (f" with {attributes}" if attributes else "")
                + f", got {count}."
            )

    def __reduce__(self) -> Any:
        return find_configured, (self.__name__, self.parameters, self.annotations, self.graphs)


class OperatorFamily:
    """The operators of one name: called with inputs by position, and attributes by name."""

    # Whether `nd` and `sym` have it; families of operators around graphs stand in graphs only.
    is_function: ClassVar[bool] = True

    def __init__(self, name: str, doc: str = "") -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc
        self._configured: OrderedDict[Any, ConfiguredOperator] = OrderedDict()
        self._lock = threading.Lock()

    def configure(
        self, parameters: Mapping[str, str], annotations: Mapping[str, str], graphs: Sequence[Any]
    ) -> ConfiguredOperator:
        """Make the operator for some attributes, and the graphs inside it."""
        raise NotImplementedError(f"{type(self).__name__} defines no configure.")

    def configured(
        self, parameters: Mapping[str, str], annotations: Mapping[str, str] | None = None, graphs: Sequence[Any] = ()
    ) -> ConfiguredOperator:
        """Return the operator for some attributes: the same as before, if they are, and it has no graphs.

        Parameters
        ----------
        parameters, annotations, graphs
            As for `ConfiguredOperator`.

        Raises
        ------
        MXNetError
            If the attributes are refused.
        """
        if graphs:
            return self.configure(parameters, annotations or {}, graphs)
        key = (*parameters.items(), None, *annotations.items()) if annotations else tuple(parameters.items())
        operator = self._configured.get(key)
        if operator is None:
            operator = self.configure(parameters, annotations or {}, ())
            with self._lock:
                self._configured[key] = operator
                while len(self._configured) > _MAX_CONFIGURED:
                    self._configured.popitem(last=False)
        return operator

    def __call__(self, /, *data: Any, out: Any = None, name: str | None = None, **attributes: Any) -> Any:
        """Call the operator: on arrays of any kind, or on symbols.

        Parameters
        ----------
        *data : NDArray, numpy.ndarray, array_like or Symbol
        out : NDArray, numpy.ndarray or a list of them, optional
            What to write the outputs into.
        name : str, optional
            The name of the node that a call on symbols makes.
        **attributes
            The operator is given `str(value)` of each.

        Raises
        ------
        ArgumentError
            For another number of inputs, or an array that is given by name.
        """
        operator = self._operator_for(attributes)
        if len(data) != operator.arity:
            operator.require_inputs(len(data))
        named: dict[str, Any] = {} if name is None else {"name": name}
        result = operator(*data, **named) if data else self._without_inputs(operator)
        if out is not None:
            return dispatch.write_out(operator, result, out)
        return list(result) if type(result) is tuple and isinstance(result[0], Array) else result

    def infer(self, /, *specs: Any, **attributes: Any) -> Any:
        """Return the shapes and dtypes of what a call returns, without running it: see `BaseOperator.infer`.

        Parameters
        ----------
        *specs : array or (shape, dtype)
        **attributes
            As for a call.

        Returns
        -------
        InferredOutputs

        Raises
        ------
        ArgumentError
            For another number of inputs.
        """
        operator = self._operator_for(attributes)
        operator.require_inputs(len(specs))
        return operator.infer(*specs)

    def check(self, /, *data: Any, frameworks: bool = False, **attributes: Any) -> Any:
        """Compare gradients with central differences, and every mode with every other, at one call's arguments.

        Parameters
        ----------
        *data : array_like
            Floating-point inputs are converted to float64.
        frameworks : bool
            Whether it is also run in PyTorch, JAX and PyTensor, as far as they are installed.
        **attributes
            As for a call. Tolerances, and the function that gradients are those of, are parameters of
            `minpy.checking.check_operator`, which takes `configured(...)` of a family.

        Returns
        -------
        Report
            It prints as a table.

        Raises
        ------
        ArgumentError
            For another number of inputs.
        CheckError
            If a check fails, with the worst element named.
        """
        operator = self._operator_for(attributes)
        operator.require_inputs(len(data))
        return operator.check(*data, frameworks=frameworks)

    def _operator_for(self, attributes: Mapping[str, Any]) -> ConfiguredOperator:
        return self.configured({key: text_of(self.__name__, key, value) for key, value in attributes.items()})

    def _without_inputs(self, operator: ConfiguredOperator) -> Any:
        return dispatch.run(operator, (), {})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__name__}>"

    def __reduce__(self) -> Any:
        return find_family, (self.__name__,)


def text_of(operator: str, key: str, value: Any) -> str:
    """Return an attribute as an operator is given it.

    Examples
    --------
    >>> import numpy
    >>> [text_of('op', 'a', value) for value in (True, (1, 2), None, 1.5, numpy.float32)]
    ['True', '(1, 2)', 'None', '1.5', 'float32']
    """
    if type(value) in _SPELLED_BY_STR:
        return str(value)
    if isinstance(value, (numpy.ndarray, Array)) or dispatch.kind_of(type(value)) in (dispatch.ARRAY, dispatch.TRACER):
        raise ArgumentError(
            f"{operator}: {key} is {describe(value)}; its inputs are given by position, and attributes are numbers, "
            f"strings, or tuples of them: {operator}(x, ..., {key}=1)."
        )
    if isinstance(value, numpy.dtype) or (isinstance(value, type) and issubclass(value, numpy.generic)):
        return numpy.dtype(value).name
    return str(value)


def find_family(name: str) -> OperatorFamily:
    """Return the family of that name; raise an ArgumentError if there is none."""
    family = FAMILIES.get(name)
    if family is None:
        raise ArgumentError(
            f"there is no operator {name!r} of a native library or a partitioner. Load the library that has it, with "
            "mx.library.load(path), or register the partitioner first."
        )
    return family


def find_configured(
    name: str, parameters: Mapping[str, str], annotations: Mapping[str, str], graphs: Sequence[Any]
) -> ConfiguredOperator:
    """Return an operator of the family with a name: called when an operator is unpickled."""
    return find_family(name).configured(parameters, annotations, graphs)
