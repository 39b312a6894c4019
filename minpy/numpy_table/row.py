"""`Row`: the facts about one function of NumPy's. `KINDS` says how calls of each kind are captured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["KINDS", "Row", "alike"]

# By kind: what a capture does with a call.
KINDS = {
    # One step of the same kind.
    "elementwise": "each element of the result is computed from the same element of each array",
    "reduce": "a reduction along axes",
    "view": "its result may share the memory of its first array",
    "product": "each length of the result is one of its arrays'",
    "call": "it is run on a sample of the same shape, to learn the shape and dtype of its result",
    # One step, of which the shape is inferred in another way.
    "ufunc": "elementwise, as NumPy's protocol for ufuncs says",
    "accumulate": "as long as the array along an axis; all of it flat by default",
    "choose": "elementwise with three arguments; with one the shape of its result depends on values",
    "copy": "no step, if the array is no view",
    "cast": "the elements in another dtype",
    "subscripts": "a product, or of one array a view",
    "range": "made of two ends, which may be captured",
    "each": "one view for each of its arrays",
    "mesh": "vectors as they index the axes of one array, each a view",
    "real": "a view of what is not complex; of what is, the dtype depends on values",
    "imag": "elementwise; of numbers that are not complex the result is read-only",
    "spectrum": "a call for complex arrays; of others the dtype depends on values",
    "bins": "a call, if a number or an array says which bins there are",
    "pieces": "a call, if no functions are among its arguments",
    "write": "it changes its first argument: which has another value from then on",
    # No step: nothing that depends on inputs.
    "like": "an array of the shape of another, with values that are known; or one that is filled",
    "fact": "it looks at shapes and dtypes only",
    "seen": "it looks at its argument as Python does: no protocol of arrays is called",
    "index": "arrays that depend on a shape only",
    "made": "an array made of numbers",
    "full": "an array filled with a value, which may be captured",
    "array": "its argument as an array",
    "plain": "it takes and returns no arrays",
    # None: the call is run as it is written.
    "sized": "not captured: the shape of its result depends on values",
    "refused": "not captured, because of what `reason` says",
    "method": "a method of arrays beside the function of that name, if there is one",
}
# They make no array of arrays: a file that holds a graph has no operator for them.
_WITHOUT_OPERATOR = frozenset(("array", "fact", "full", "made", "method", "plain", "range", "seen", "write"))


class Row(NamedTuple):
    """The facts about a function of NumPy's."""

    name: str  # with its module: 'rot90', 'linalg.norm'
    kind: str  # one of `KINDS`
    captured: int | tuple[int, ...] = 1  # how many of its first parameters may be captured, or the positions of those
    # The module of `minpy.numpy_table.gradients` that has the gradient of a step which is no operator; 'zero' for a
    # function without a gradient; '' where the tape takes the gradient of the call.
    gradient: str = ""
    # 'always' where the result lies in an array's memory, whatever its strides; 'sometimes' where that depends on
    # strides, values or dtypes; or the argument with which it may.
    view: str = ""
    scalar: bool = False  # whether it gives a scalar where the result has no axes, never an array
    outputs: int | Callable[[Mapping[str, Any]], int] = 1  # how many arrays it gives, also by the arguments
    parameters: str = ""  # the names of the parameters, of functions without a signature in some version of NumPy
    nests: str = ""  # 'several' where arguments are lists of arrays; 'any' where it looks into nests itself
    moves: bool = False  # whether its gradient depends on shapes only, as of functions that move elements
    writes: str = ""  # the parameter that it changes
    in_files: bool | None = None  # whether files may hold it, as `minpy:np.name`; None for what the kind says
    mxnet: str = ""  # MXNet's elementwise operator that it is; other functions are translated argument by argument
    # The kinds of dtypes for which MXNet's operator differs from NumPy's function, or 'any' where it has no gradient.
    differs: str = ""
    sample: str = ""  # the samples it takes: 'regular' matrices, such as 'solve' takes, 'distinct' elements; '' for any
    method: bool = False  # whether arrays have it as a method, which means what the function does
    reason: str = ""  # why it is not captured

    @property
    def has_operator(self) -> bool:
        """Whether files may hold it as an operator."""
        return self.kind not in _WITHOUT_OPERATOR if self.in_files is None else self.in_files

    def may_capture(self, position: int) -> bool:
        """Tell whether the parameter at a position may hold what is captured."""
        return position < self.captured if isinstance(self.captured, int) else position in self.captured


def alike(kind: str, names: str, /, **facts: Any) -> list[Row]:
    """Return the rows of functions with the same facts; the names are separated by spaces.

    >>> [row.name for row in alike("view", "ravel flip", moves=True)]
    ['ravel', 'flip']
    """
    return [Row(name, kind, **facts) for name in names.split()]
