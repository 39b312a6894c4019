"""Handles of hooks, which remove a registered function again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from minpy.core.errors import ArgumentError, describe

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["HookHandle"]


class HookHandle:
    """What `Block.register_forward_hook` and its kin return: `detach` takes the hook away, and so does leaving `with`.

    The handle does not keep the block alive.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> from minpy.gluon.utils import HookHandle
    >>> hooks, handle = OrderedDict(), HookHandle()
    >>> handle.attach(hooks, print)
    >>> list(hooks.values())
    [<built-in function print>]
    >>> with handle:
    ...     pass
    >>> len(hooks)
    0
    """

    def __init__(self) -> None:
        self._hooks_dict_ref: weakref.ref[Any] | None = None
        self._id: int | None = None

    def attach(self, hooks_dict: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        """Add a hook to the hooks of a block.

        Parameters
        ----------
        hooks_dict : OrderedDict
            The block's hooks, in the order in which they are called.
        hook : callable

        Raises
        ------
        ArgumentError
            If the handle has a hook already, or if the hook cannot be called.
        """
        if self._hooks_dict_ref is not None:
            raise ArgumentError("HookHandle.attach: this handle has a hook already; make another HookHandle().")
        if not callable(hook):
            raise ArgumentError(f"HookHandle.attach: a hook must be callable, got {describe(hook)}.")
        self._id = id(hook)
        hooks_dict[self._id] = hook
        self._hooks_dict_ref = weakref.ref(hooks_dict)

    def detach(self) -> None:
        """Remove the hook. Nothing happens if it or its block is gone already."""
        hooks = None if self._hooks_dict_ref is None else self._hooks_dict_ref()
        if hooks is not None and self._id is not None:
            hooks.pop(self._id, None)

    def __getstate__(self) -> tuple[Any, int | None]:
        return (None if self._hooks_dict_ref is None else self._hooks_dict_ref()), self._id

    def __setstate__(self, state: tuple[Any, int | None]) -> None:
        hooks, self._id = state
        self._hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()
