"""`minpy.compile`: a function of arrays as one graph, which runs as native code where llvmlite is installed.

The function is run once on proxies for its arguments, and what it does to them becomes a graph, as with the `forward`
of a hybridized block. It stays differentiable: on the tape a call is one node.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy

from minpy.backends.switches import CompileWarning, disabled, keeps_bits, same_bits, selection
from minpy.bridge.hips_boxes import is_box
from minpy.capture.values import BaseArrayProxy
from minpy.core.array import Array, raw_of
from minpy.core.errors import ArgumentError, describe, is_quitting
from minpy.core.extensions import extension
from minpy.core.source_lines import warn_at_program
from minpy.core.state import TRACES, tracing
from minpy.differentiation.trees import leaves_of, map_tree
from minpy.jit.argument_writes import MustRunEagerly, no_writes
from minpy.jit.budget import budget_of
from minpy.jit.entry import MISS, RUN_EAGERLY
from minpy.jit.pytrees import flatten
from minpy.jit.specialized import Specialized
from minpy.symbol import Symbol

if TYPE_CHECKING:
    from minpy.backends.explanation import Explanations

__all__ = ["CompileWarning", "CompiledFunction", "compile", "disabled", "keeps_bits", "same_bits"]

Function = TypeVar("Function", bound=Callable[..., Any])


# Other classes, np.matrix and masked arrays among them, have operators and functions of their own.
_CAPTURED_CLASSES = (numpy.ndarray, numpy.memmap)
_ARRAYS = (numpy.ndarray, Array)
_named = attrgetter("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")
_HAS_TYPE_PARAMETERS = "__type_params__" in functools.WRAPPER_ASSIGNMENTS


class _Unused:
    """What stands for the specializations of a function that was not called yet."""

    @staticmethod
    def latest(arguments: Any, keywords: Any) -> Any:
        """Return that there is none."""
        return MISS


_UNUSED: Any = _Unused()


class CompiledFunction:
    """A function that `compile` was given; called, differentiated and pickled as that.

    Attributes
    ----------
    __wrapped__ : callable
        The function as it was written.
    """

    def __init__(self, function: Callable[..., Any], fast_math: bool = False) -> None:
        try:  # as `update_wrapper` does, in a third of the time
            self.__module__, self.__name__, self.__qualname__, self.__doc__, self.__annotations__ = _named(function)
            if _HAS_TYPE_PARAMETERS:
                self.__type_params__ = function.__type_params__  # type: ignore[attr-defined]
            self.__wrapped__ = function
            if function.__dict__:
                vars(self).update(function.__dict__)
        except (AttributeError, NameError):  # something else that is called; annotations that mean nothing yet
            functools.update_wrapper(self, function)
        self.fast_math = fast_math
        self._function = function
        # One that was made anew, of code that rests, is only called and forgotten: it costs next to nothing.
        self._jit, self._has_run = _UNUSED, False

    @property
    def _specialized(self) -> Specialized:
        """Its specializations."""
        if self._jit is _UNUSED:
            name = getattr(self._function, "__name__", "function")
            self._jit = Specialized(self._function, name, self.fast_math, self._eager, self._warn)
        specialized: Specialized = self._jit
        return specialized

    def __repr__(self) -> str:
        return f"<compiled {self._function!r}>"

    def __reduce__(self) -> Any:
        named: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        name = getattr(self, "__qualname__", "")
        for part in name.split("."):
            named = getattr(named, part, None)
        if named is self:  # the name of a decorated function is its own
            return name
        return CompiledFunction, (self._function, self.fast_math)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @property
    def reason(self) -> str | None:
        """Why the function is called as it is written, and has no graph; None if it has one, or was not called yet."""
        return self._specialized.history.refusal

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return what the function returns, for arrays in any nest of tuples, lists and dicts."""
        try:
            result = self._jit.latest(arguments, keywords)
        except Exception as error:
            if is_quitting(error) or isinstance(error, MustRunEagerly):
                raise
            return self._eager(arguments, keywords)  # its own error says more
        if result is MISS:
            return self._called_anew(arguments, keywords)
        return self._eager(arguments, keywords) if result is RUN_EAGERLY else result

    def __capture__(self, capture: Any) -> Any:
        """Return what stands for it in another captured function: the function as it was written."""
        return capture.shadow.shadow_of(self._function, self._specialized.name)

    def _called_anew(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what the function returns for a call of another kind than the last one."""
        jit = self._jit
        is_new = jit is _UNUSED
        budget = budget_of(self._function) if is_new else jit.budget
        if budget.lookups_to_skip > 0 and not selection.keeps_bits:
            if is_new:
                self._has_run = True
            else:
                jit.history.calls += 1
            budget.lookups_to_skip -= 1
            began = perf_counter()
            result = self._eager(arguments, keywords)
            budget.eager_seconds += perf_counter() - began
            return result
        if TRACES and tracing.trace is not None:
            return self._function(*arguments, **keywords)
        leaves: list[Any] = []
        spec = flatten((arguments, keywords), leaves)
        if any(map(is_box, leaves)):
            return self._called_on_boxes(arguments, keywords)
        arrays = [leaf for leaf in leaves if isinstance(leaf, (Array, numpy.ndarray))]
        if not arrays or any(isinstance(leaf, (Symbol, BaseArrayProxy)) for leaf in leaves):
            return self._function(*arguments, **keywords)
        if any(isinstance(leaf, numpy.ndarray) and type(leaf) not in _CAPTURED_CLASSES for leaf in arrays):
            return self._eager(arguments, keywords)
        assert spec is not None
        return self._specialized.call(arguments, keywords, spec, leaves)

    def _called_on_boxes(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Return what the function returns for arrays that HIPS autograd follows.

        To that the call is one primitive, which may be evaluated several times: a function that changes something runs
        as it is written instead.
        """
        before, no_writes.active = no_writes.active, True
        try:
            from minpy.bridge.hips import through_boxes  # it imports autograd

            return through_boxes(self, arguments, keywords)
        except MustRunEagerly:
            if before:
                raise
        finally:
            no_writes.active = before
        return self._function(*arguments, **keywords)

    def _eager(self, arguments: Any, keywords: Any) -> Any:
        """Return what the function itself returns, with views of its arguments copied: as a graph returns them.

        An argument itself stays what it is, as it may have been changed.
        """
        result = self._function(*arguments, **keywords)
        if type(result) is numpy.ndarray and result.base is None:
            return result
        views = [leaf for leaf in leaves_of(result) if isinstance(leaf, _ARRAYS) and raw_of(leaf).base is not None]
        if not views:
            return result
        arrays = [leaf for leaf in leaves_of((arguments, keywords)) if isinstance(leaf, _ARRAYS)]
        argument_ids, buffers = set(map(id, arrays)), list(map(raw_of, arrays))
        copies = {
            id(view): view.copy()  # type: ignore[union-attr]
            for view in views
            if id(view) not in argument_ids and any(numpy.may_share_memory(raw_of(view), buffer) for buffer in buffers)
        }
        return map_tree(lambda leaf, _: copies.get(id(leaf), leaf), result) if copies else result

    def gradients_at_once(self, arguments: Sequence[Any], argnums: tuple[int, ...]) -> Any:
        """Return (result, gradients of its sum) for NumPy's arrays, if native code for them is known; else None."""
        try:
            result = self._specialized.gradients(tuple(arguments), argnums)
        except Exception as error:
            if is_quitting(error):
                raise
            return None  # the long way tells why
        return None if result is MISS else result

    def note_gradients(self, arguments: Sequence[Any], argnums: tuple[int, ...]) -> None:
        """Look for native code for arguments with which the function has been differentiated."""
        self._specialized.note_gradients(tuple(arguments), argnums)

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
        from minpy.backends.explanation import Explanations

        name = getattr(self._function, "__name__", "the function")
        if self.reason is not None:
            raise ArgumentError(f"{name}.explain: it is called as it is written, because {self.reason}")
        jit = self._specialized
        explanations = [
            explanation for specialization in jit.specializations for explanation in specialization.compiled.explain()
        ]
        if not explanations and (jit.history.calls or self._has_run):
            raise ArgumentError(
                f"{name}.explain: its calls ran as it is written so far, as they are faster so, or of ever new kinds; "
                "explain_retraces() tells of the captures."
            )
        if not explanations:
            raise ArgumentError(f"{name}.explain: it has not been called yet: call it once, then ask.")
        return Explanations(explanations)

    def export_onnx(
        self, path: str | os.PathLike[str], *example_inputs: Any, opset: int | None = None, check: bool = True
    ) -> str:
        """Write what the function does to such arrays as an ONNX model that was run and compared with it.

        Parameters
        ----------
        path : str or PathLike
        *example_inputs : array
            Of the shapes and dtypes of the model's inputs, which are called as the function's arguments are. For open
            lengths, make the function a `@customop` and export a symbol of it.
        opset, check
            As for `HybridBlock.export_onnx`.

        Returns
        -------
        str
            `path`.

        Raises
        ------
        MissingDependencyError
            If onnx is not installed.
        ExportError
            If the function cannot become a graph, a step has no equal in ONNX, or the model computes something else:
            no file is written.
        """
        return str(extension("CompiledFunction.export_onnx")(self._function, path, example_inputs, opset, check))

    def explain_retraces(self) -> str:
        """Return why the function was captured, each time, and why it runs as it is written, if it does.

        Returns
        -------
        str
            A line for each capture: what was another than at the captures before it.

        Examples
        --------
        >>> import numpy as np
        >>> import minpy
        >>> energy = minpy.compile(lambda x: np.sum(x * x))
        >>> _ = energy(np.ones((64, 100))), energy(np.ones((65, 100)))
        >>> print(energy.explain_retraces().partition(": ")[2])  # doctest: +ELLIPSIS
        2 specializations, 2 captures, ... ms
        1  first call                                     x float64 (64, 100)
        2  argument x: shape was (64, 100), is (65, 100)
        """
        jit = self._specialized
        return jit.history.text(jit.name, len(jit.specializations))

    def _warn(self, reason: str) -> None:
        name = getattr(self._function, "__qualname__", "the function")
        warn_at_program(
            f"minpy.compile: {name} is called as it is written, because it cannot become a graph: {reason}",
            CompileWarning,
        )


@overload
def compile(function: Function, *, fast_math: bool = False) -> Function: ...


@overload
def compile(function: None = None, *, fast_math: bool = False) -> Callable[[Function], Function]: ...


def compile(function: Any = None, *, fast_math: bool = False) -> Any:
    """Make a function of arrays run as one graph, fused into native code where llvmlite is installed.

    The function is written with NumPy, `minpy.np`, or operators. At the first call with arrays of given shapes and
    dtypes it is run once on proxies for them; later calls run the graph. Numbers, strings and functions that it
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
    if hasattr(function, "hybridize"):
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
