"""Methods of `Symbol` that MXNet lists and refuses, as only arrays can have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from minpy.core.errors import NoValueError
from minpy.symbol.symbol import Symbol, method

__all__: list[str] = []

# What they are of arrays, and what to do with a symbol.
_OF_ARRAYS = {
    "as_in_context": "Say the context when it is bound: bind(ctx, ...).",
    "asnumpy": "Compute it first: eval(...)[0].asnumpy().",
    "asscalar": "Compute it first: eval(...)[0].asscalar().",
    "backward": "Bind it, and call the executor's forward(is_train=True) and backward(); gradient() is a symbol.",
    "copy": "Use copy.copy(symbol), or mx.sym.identity for a node of its own.",
    "detach": "Use mx.sym.BlockGrad, which lets no gradient through.",
    "wait_to_read": "Compute it first: eval(...)[0].wait_to_read().",
}


def _refusing(name: str, advice: str) -> Callable[..., NoReturn]:
    def refused(self: Symbol, *arguments: Any) -> NoReturn:
        raise NoValueError(f"{self!r}.{name}: a symbol has no values; only arrays have this method. {advice}")

    refused.__name__ = name
    refused.__doc__ = f"Raise an error: only arrays have this method. {advice}"
    return refused


for _name, _advice in _OF_ARRAYS.items():
    method(_refusing(_name, _advice))
