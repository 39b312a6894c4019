"""Initializers that choose: `Mixed` by patterns of names, `Load` from saved parameters."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from minpy.core.errors import ArgumentError, ArgumentValueError, ShapeError, describe, nearest
from minpy.initializer.initializer import create_initializer
from minpy.ndarray import load

__all__ = ["Load", "Mixed", "create"]

_LOGGER = logging.getLogger(__name__)


class Mixed:
    """Initializers by patterns of names: the first whose pattern matches is called.

    Parameters
    ----------
    patterns : list of str
        Regular expressions that match a name from its beginning on: `'.*bias'`, not `'bias'`, for names that end so.
    initializers : list of Initializer or str
        As many. (An initializer still goes by a name's ending: `One()` sets weights.)

    Raises
    ------
    ArgumentValueError
        If there are not as many of the one as of the other, or a pattern is no regular expression; when it is called,
        for a name that no pattern matches.

    Examples
    --------
    >>> import minpy as mx
    >>> init = mx.init.Mixed(['hidden_.*', '.*'], [mx.init.Zero(), mx.init.One()])
    >>> hidden, top = mx.nd.ones((2,)), mx.nd.zeros((2,))
    >>> init(mx.init.InitDesc('hidden_weight'), hidden)
    >>> init(mx.init.InitDesc('top_weight'), top)
    >>> hidden.asnumpy(), top.asnumpy()
    (array([0., 0.], dtype=float32), array([1., 1.], dtype=float32))
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        if len(patterns) != len(initializers):
            raise ArgumentValueError(
                f"Mixed: {len(patterns)} patterns and {len(initializers)} initializers; there must be one for each."
            )
        self.map = [
            (_compiled(pattern), create(initializer) if isinstance(initializer, str) else initializer)
            for pattern, initializer in zip(patterns, initializers, strict=True)
        ]

    def __call__(self, name: str, arr: Any) -> None:
        """Fill an array by the initializer of the first pattern that matches its name.

        Parameters
        ----------
        name : InitDesc
        arr : NDArray
        """
        self._chosen(name)(name, arr)

    def _init_weight(self, name: str, arr: Any) -> None:
        """Fill an array that this was given as an initializer of its own, whatever its name ends in."""
        chosen = self._chosen(name)
        getattr(chosen, "_init_weight", chosen)(name, arr)

    def _chosen(self, name: str) -> Any:
        for pattern, initializer in self.map:
            if pattern.match(name):
                return initializer
        inside = [pattern.pattern for pattern, _ in self.map if pattern.search(name)]
        advice = f" {inside[0]!r} occurs in it, but not at its beginning: write {'.*' + inside[0]!r}." if inside else ""
        raise ArgumentValueError(
            f"Mixed: {str(name)!r} matches none of the patterns "
            f"{', '.join(repr(pattern.pattern) for pattern, _ in self.map) or '(there are none)'}.{advice} Add '.*' as "
            f"the last pattern, with an initializer for all other names."
        )


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ArgumentValueError(f"Mixed: {pattern!r} is no regular expression: {error}.") from None


class Load:
    """Parameters as they were saved; another initializer for those that were not.

    Parameters
    ----------
    param : str or dict of str to NDArray
        A file that `mx.nd.save` wrote, or what it holds. `'arg:'` and `'aux:'` before names are left out.
    default_init : Initializer, optional
        For names that are not there; without it a parameter's own is taken, where it has one.
    verbose : bool
        Log, as INFO, where each parameter comes from.

    Raises
    ------
    ArgumentError
        If it is no dict, or the file has no names; when it is called, for a name that is not there, without
        `default_init`.
    ShapeError
        When it is called, for a saved array of another shape.

    Examples
    --------
    >>> import minpy as mx
    >>> init = mx.init.Load({'arg:dense0_weight': mx.nd.array([1, 2])}, default_init=mx.init.Zero())
    >>> weight = mx.nd.zeros((2,))
    >>> init('dense0_weight', weight)
    >>> weight.asnumpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        where = param if isinstance(param, (str, os.PathLike)) else None
        arrays = param if where is None else load(where)
        if not isinstance(arrays, Mapping):
            raise ArgumentError(
                f"Load: expected a dict of names and NDArrays, or the file of one; got {describe(param)}."
                if where is None
                else f"Load: {os.fspath(where)} holds arrays without names; save a dict."
            )
        self.param = {name.removeprefix("arg:").removeprefix("aux:"): value for name, value in arrays.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: Any) -> None:
        """Fill an array with what was saved under its name.

        Parameters
        ----------
        name : str
        arr : NDArray
        """
        initializer = getattr(name, "attrs", {}).get("__init__") or None
        if self.default_init is None and initializer is not None and initializer is not self:
            self._fill(name, arr, create(initializer)._init_weight)
        else:
            self._fill(name, arr, self.default_init)

    def _init_weight(self, name: str, arr: Any) -> None:
        """Fill an array that this was given as an initializer of its own, whatever its name ends in."""
        self._fill(name, arr, getattr(self.default_init, "_init_weight", self.default_init))

    def _fill(self, name: str, arr: Any, default: Any) -> None:
        if name in self.param:
            saved = self.param[name]
            if saved.shape != arr.shape:
                raise ShapeError(
                    f"Load: {str(name)!r} has shape {arr.shape}, and was saved with shape {saved.shape}; load a file "
                    f"of this network, or change the layer."
                )
            arr[...] = saved
            how = "loading"
        elif default is None:
            raise ArgumentError(
                f"Load: {str(name)!r} is not among the {len(self.param)} parameters that were saved."
                f"{nearest(name, self.param)} Give default_init=, an initializer for those that were not."
            )
        else:
            default(name, arr)
            how = "default"
        if self.verbose:
            _LOGGER.info("Initialized %s by %s", name, how)


def create(*args: Any, **kwargs: Any) -> Any:
    """Make an initializer, by its name in lower or upper case.

    Parameters
    ----------
    initializer : str, Initializer, dict, Mixed or Load
        A name, with its arguments after it; what `dumps` returned; a dict with an entry `'initializer'`, and the
        arguments as the others; or an initializer, which is returned.
    *args, **kwargs
        The arguments.

    Returns
    -------
    Initializer

    Raises
    ------
    ArgumentError
        If it is none of these, or there are arguments beside an instance.
    ArgumentValueError
        If the name is not registered.

    Examples
    --------
    >>> import minpy as mx
    >>> mx.init.create('xavier', magnitude=2).magnitude
    2.0
    >>> mx.init.create('["normal", {"sigma": 0.5}]').sigma
    0.5
    """
    if len(args) == 1 and not kwargs and isinstance(args[0], (Mixed, Load)):
        return args[0]
    return create_initializer(*args, **kwargs)
