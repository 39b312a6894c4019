"""How blocks and their parameters get names: `with self.name_scope():`."""

from __future__ import annotations

from functools import partial
from operator import methodcaller
from typing import Protocol

from minpy.core.state import ThreadValues, leaving
from minpy.gluon.parameter import ParameterDict
from minpy.symbol.naming import Prefix, current_names, naming

__all__ = ["_BlockScope"]


class Named(Protocol):
    """A block, as far as a scope knows it."""

    _empty_prefix: bool

    @property
    def prefix(self) -> str:
        """What the names of its parameters begin with."""
        ...

    @property
    def params(self) -> ParameterDict:
        """Its own parameters."""
        ...


class _Current(ThreadValues):
    scope: _BlockScope | None


_current = _Current(scope=None)


class _BlockScope:
    """What `Block.name_scope` returns: blocks made inside are named after the block.

    Parameters
    ----------
    block : Block
    """

    def __init__(self, block: Named) -> None:
        self._block = block
        self._counts: dict[str, int] = {}

    @staticmethod
    def create(prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """Return the prefix and the parameters of a block that is made here; `hint` stands for its class in names."""
        scope = _current.scope
        if scope is None:
            if prefix is None:
                prefix = current_names().get(None, hint) + "_"
            own_params = ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
            return prefix, own_params
        if prefix is None:
            number = scope._counts.get(hint, 0)
            scope._counts[hint] = number + 1
            prefix = f"{hint}{number}_"
        parent = scope._block
        if params is None:
            own_params = ParameterDict(parent.params.prefix + prefix, parent.params._shared)
        else:
            own_params = ParameterDict(params.prefix, params)
        return parent.prefix + prefix, own_params

    def __enter__(self) -> _BlockScope:
        values, before = vars(_current), {"scope": _current.scope, "leave": _current.leave}
        if self._block._empty_prefix:
            values |= {"leave": partial(values.update, before)}
            return self
        names, named = vars(naming), {"names": current_names(), "leave": naming.leave}
        undone = [partial(names.update, named), partial(values.update, before)]
        leave = partial(any, map(methodcaller("__call__"), undone))  # in C; none of them returns anything
        prefix = Prefix(self._block.prefix)
        names |= {"names": prefix, "leave": undone[0]}
        values |= {"scope": self, "leave": leave}
        return self

    __exit__ = leaving(_current)
