"""`minpy.compile`: a function of arrays as one graph, which runs as native code where llvmlite is installed.

The function is run once on stand-ins for its arguments, and what it does to them becomes a graph, as with the `forward`
of a hybridized block. It stays differentiable: on the tape a call is one node.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy

from minpy.bridge.boxes import is_box
from minpy.core.array import FRONT_ENDS, Array, new_array
from minpy.core.errors import ArgumentError, NotTraceableError, describe, is_quitting
from minpy.core.places import warn_at_program
from minpy.core.state import TRACES, tracing
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.gluon.block.changes import NotOwnError, forbidden, of_numpy
from minpy.gluon.block.direct import NOT_GONE, Directs
from minpy.gluon.block.hybrid_block import HybridBlock
from minpy.graph.native.enabling import CompileWarning, disabled, keeps_bits, same_bits
from minpy.symbol import Symbol

if TYPE_CHECKING:
    from minpy.graph.native.explaining import Explanations

__all__ = ["CompileWarning", "CompiledFunction", "compile", "disabled", "keeps_bits", "same_bits"]

# So many graphs for so many calls, and a function is called as it is written.
_MOST_IN_A_ROW = 16

Function = TypeVar("Function", bound=Callable[..., Any])


# Other classes, np.matrix and masked arrays among them, have operators and functions of their own.
_ALIKE = (numpy.ndarray, numpy.memmap)


class _Body(HybridBlock):
    """The block that a function is, so that it is traced, guarded and called as blocks are."""

    _is_function = True

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(prefix=f"{function.__name__}_" if hasattr(function, "__name__") else "function_")
        self.function = function

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        """Return what the function returns."""
        return self.function(*arguments, **keywords)


class CompiledFunction:
    """A function that `compile` was given; called, differentiated and pickled as that.

    Attributes
    ----------
    __wrapped__ : callable
        The function as it was written.
    """

    def __init__(self, function: Callable[..., Any], fast_math: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.fast_math = fast_math
        self._function = function
        self._lock = threading.Lock()
        # The instance of a method is an argument, so that its attributes are compared.
        self._first = (function.__self__,) if isinstance(function, types.MethodType) else ()
        self._body = _Body(function.__func__ if isinstance(function, types.MethodType) else function)
        self._body.hybridize(fast_math=fast_math)
        self._directs = Directs(self._body._graphs)
        self._refusal: str | None = None
        self._retraced = self._in_a_row = 0

    def __repr__(self) -> str:
        return f"<compiled {self._function!r}>"

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        name = getattr(self, "__qualname__", "")
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:  # the name of a decorated function is its own
            return name
        return CompiledFunction, (self._function, self.fast_math)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @property
    def reason(self) -> str | None:
        """Why the function is called as it is written, and has no graph; None if it has one, or was not called yet."""
        return self._refusal

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return what the function returns, for arrays in any nest of tuples, lists and dicts."""
        if not keywords:
            found = self._directs.find(arguments, ())
            if found is not None:
                answer = _tried(found[0].forward, found[1])
                if answer is not NOT_GONE:
                    return answer
        if TRACES and tracing.trace is not None:
            return self._function(*arguments, **keywords)
        given = leaves_of((arguments, keywords))
        arrays = [leaf for leaf in given if isinstance(leaf, (Array, numpy.ndarray))]
        if self._refusal is not None:
            return self._as_written(arguments, keywords, arrays)
        if any(map(is_box, given)):
            return self._called_on_boxes(arguments, keywords)
        if not arrays or any(isinstance(leaf, Symbol) for leaf in given):
            return self._function(*arguments, **keywords)
        if any(isinstance(leaf, numpy.ndarray) and type(leaf) not in _ALIKE for leaf in arrays):
            return self._as_written(arguments, keywords, arrays)
        plain = not any(isinstance(leaf, Array) for leaf in arrays)
        given_as = arguments, keywords
        # Where both kinds meet, as in derivatives, one graph is to serve all.
        if plain or all(type(leaf) in (FRONT_ENDS["numpy"], numpy.ndarray) for leaf in arrays):
            arguments, keywords = map_tree(_wrapped, (arguments, keywords))
        raws = {id(leaf) for leaf in arrays if isinstance(leaf, numpy.ndarray)}
        before, of_numpy.ids = of_numpy.ids, raws
        try:
            answer = self._body(*self._first, *arguments, **keywords)
        except NotOwnError:
            if forbidden.changes:
                raise
            return self._as_written(*given_as, arrays)
        except Exception as error:
            if is_quitting(error):
                raise
            arguments, keywords = given_as
            if isinstance(error, NotTraceableError):
                self._refuse(str(error))
                return self._as_written(arguments, keywords, arrays)
            answer = self._as_written(arguments, keywords, arrays)  # its own error says more
            self._refuse(f"{type(error).__name__}: {error}")
            return answer
        finally:
            of_numpy.ids = before
        self._look_at_changes()
        # What a function changes and returns is the very array that it was given.
        if not plain:
            return map_tree(lambda leaf, _: _as_given(leaf, raws), answer) if raws else answer
        if self._refusal is None and not keywords and not self._first:
            self._directs.note(tuple(map(_raw, arguments)), ())
        once: dict[int, Any] = {}  # what stands at several places is one array
        return map_tree(lambda leaf, _: once.setdefault(id(leaf), _unwrapped(_as_given(leaf, raws))), answer)

    def _called_on_boxes(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Return what the function returns for arrays that HIPS autograd follows.

        To that the call is one primitive, which may be evaluated several times: a function that changes something runs
        as it is written instead.
        """
        before, forbidden.changes = forbidden.changes, True
        try:
            from minpy.bridge.hips import through_boxes  # it imports autograd

            return through_boxes(self, arguments, keywords)
        except NotOwnError:
            if before:
                raise
        finally:
            forbidden.changes = before
        return self._function(*arguments, **keywords)

    def _as_written(self, arguments: Any, keywords: Any, arrays: Sequence[Any]) -> Any:
        """Return what the function itself returns, with views of its arguments copied: as a graph returns them.

        An argument itself stays what it is, as it may have been changed.
        """
        answer = self._function(*arguments, **keywords)
        given = list(map(_raw, arrays))
        found: dict[int, Any] = {id(one): one for one in arrays}
        returned: list[Any] = [leaf for leaf in leaves_of(answer) if isinstance(leaf, (Array, numpy.ndarray))]
        for leaf in returned:
            raw = _raw(leaf)
            if id(leaf) not in found and any(numpy.may_share_memory(raw, one) for one in given):
                found[id(leaf)] = leaf.copy()
        return map_tree(lambda leaf, _: found.get(id(leaf), leaf), answer) if found else answer

    def _look_at_changes(self) -> None:
        """Give up where the graph has been made anew for each of many calls, which takes longer than Python."""
        if self._body._graphs.retraced == self._retraced:
            self._in_a_row = 0
            return
        self._retraced = self._body._graphs.retraced
        self._in_a_row += 1
        if self._in_a_row >= _MOST_IN_A_ROW:
            self._refuse(
                f"something that it refers to has changed before each of the last {_MOST_IN_A_ROW} calls (a number, a "
                "list, an array of NumPy), and a graph is made anew for that. Give what changes as an argument."
            )

    def gradients_at_once(self, arguments: Sequence[Any], argnums: tuple[int, ...]) -> Any:
        """Return (result, gradients of its sum) for NumPy's arrays, if native code for them is known; else None."""
        found = self._directs.find(arguments, argnums)
        answer = NOT_GONE if found is None else _tried(found[0].gradients, found[1])
        return None if answer is NOT_GONE else answer

    def note_gradients(self, arguments: Sequence[Any], argnums: tuple[int, ...]) -> None:
        """Look for native code for arguments with which the function has been differentiated."""
        if self._refusal is None and not self._first:
            self._directs.note(arguments, argnums)

    def explain(self) -> Explanations:
        """Return what became of the function: which of its operators are which kernel, what stayed a call, and why.

        Returns
        -------
        tuple of Explanation
            One for each program, the latest first; see `HybridBlock.explain`.

        Raises
        ------
        ArgumentError
            If it has not been called, or is called as it is written: then `reason` says why.
        """
        if self._refusal is not None:
            name = getattr(self._function, "__name__", "the function")
            raise ArgumentError(f"{name}.explain: it is called as it is written, because {self._refusal}")
        return self._body.explain()

    def _refuse(self, reason: str) -> None:
        """Call the function as it is written from now on."""
        with self._lock:
            if self._refusal is not None:
                return
            self._refusal = reason
            self._directs = Directs(self._body._graphs)
        name = getattr(self._function, "__qualname__", "the function")
        warn_at_program(
            f"minpy.compile: {name} is called as it is written, because it cannot become a graph: {reason}",
            CompileWarning,
        )


def _tried(function: Callable[[Any], Any], arrays: Any) -> Any:
    """Return what a function answers; `NOT_GONE` if it fails: the long way will tell why."""
    try:
        return function(arrays)
    except Exception as error:
        if is_quitting(error):
            raise
        return NOT_GONE


def _raw(leaf: Any) -> Any:
    return leaf._data if isinstance(leaf, Array) else leaf


def _wrapped(leaf: Any, _: Any) -> Any:
    return new_array(FRONT_ENDS["numpy"], leaf) if isinstance(leaf, numpy.ndarray) else leaf


def _as_given(leaf: Any, raws: Set[int]) -> Any:
    """Return the array of NumPy's that a value stands for, if that is one of those that were given."""
    return leaf._data if isinstance(leaf, Array) and id(leaf._data) in raws else leaf


def _unwrapped(leaf: Any) -> Any:
    """Return a raw array, or a scalar, which NumPy's functions give for arrays without axes."""
    if not isinstance(leaf, Array):
        return leaf
    return leaf._data if leaf._data.ndim else leaf._data[()]


@overload
def compile(function: Function, *, fast_math: bool = False) -> Function: ...


@overload
def compile(function: None = None, *, fast_math: bool = False) -> Callable[[Function], Function]: ...


def compile(function: Any = None, *, fast_math: bool = False) -> Any:
    """Make a function of arrays run as one graph, fused into native code where llvmlite is installed.

    The function is written with NumPy, `minpy.np`, or operators. At the first call with arrays of given shapes and
    dtypes it is run once on stand-ins for them; later calls run the graph. Numbers, strings and functions that it
    refers to are compared at each call, and arrays that it refers to are read anew. It is differentiable as before: a
    call is one node of the tape. From the third call with given shapes on, the graph is native code; the results are
    the same but for rounding. Arguments that the function changes in place (`m *= 0.9`, `out=m`, `x[1:] = y`) are
    changed as NumPy changes them; where they share memory, are read-only or recorded, a call runs as it is written. A
    function that cannot become a graph (it chooses by values, changes an array of which it holds a view) is called as
    it is written, with one warning that says which line is in the way.

    Parameters
    ----------
    function : callable, optional
        Takes arrays, in any nest of tuples, lists and dicts, and plain values, by position or keyword; returns a nest
        of arrays: of the kind that came in. (Called on other subclasses of `numpy.ndarray` than `memmap`, such as
        masked arrays, it runs as it is written.) Left out, a decorator is returned. The derivatives that `grad`,
        `value_and_grad` and their kin return may be given, too.
    fast_math : bool
        Whether native code may contract `a * b + c` into one rounding, which is faster, and differs in the last bit
        from what NumPy computes.

    Returns
    -------
    CompiledFunction
        Called as the function.

    Raises
    ------
    ArgumentError
        For something that is not callable.

    Examples
    --------
    >>> import numpy as np
    >>> import minpy
    >>> @minpy.compile
    ... def energy(x, w):
    ...     return np.sum(np.tanh(x @ w) ** 2)
    >>> float(energy(np.ones((2, 3)), np.zeros((3, 4))))
    0.0
    >>> minpy.grad(energy)(np.ones((1, 1)), np.zeros((1, 1)))
    array([[0.]])
    """
    if function is None:
        return functools.partial(compile, fast_math=fast_math)
    if not callable(function):
        raise ArgumentError(f"minpy.compile takes a function, got {describe(function)}.")
    if isinstance(function, HybridBlock):
        raise ArgumentError(
            f"minpy.compile takes a function, got the block {function.name}: call its hybridize(), which compiles it."
        )
    of = getattr(function, "with_function", None)
    if of is not None:  # a derivative: it is the function that is compiled, and its gradient with it
        inside: list[Any] = []

        def compiled(inner: Callable[..., Any]) -> Any:
            inside.append(compile(inner, fast_math=fast_math))
            return inside[-1]

        derivative = of(compiled)
        derivative.explain = inside[0].explain
        return derivative
    return CompiledFunction(function, fast_math)


compile.disabled = disabled  # type: ignore[attr-defined]
compile.same_bits = same_bits  # type: ignore[attr-defined]
compile.keeps_bits = keeps_bits  # type: ignore[attr-defined]
