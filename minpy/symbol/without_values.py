"""Methods of `Symbol` that MXNet lists and refuses, as only arrays can have them; and those for its backends."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from minpy.core.errors import ArgumentError, NoValueError
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


@method
def get_backend_symbol(self: Symbol, backend: str) -> NoReturn:
    """Raise an error: graphs are compiled when they are bound, for no other backend.

    Parameters
    ----------
    backend : str

    Raises
    ------
    ArgumentError
        Always.

    Examples
    --------
    >>> from minpy import sym
    >>> sym.var('x').get_backend_symbol('MKLDNN')
    Traceback (most recent call last):
        ...
    minpy.core.errors.ArgumentError: <Symbol x>.get_backend_symbol: there is no backend 'MKLDNN', nor any other; \
symbols are compiled when they are bound. Bind it as it is.
    """
    raise ArgumentError(
        f"{self!r}.get_backend_symbol: there is no backend {backend!r}, nor any other; symbols are compiled when they "
        "are bound. Bind it as it is."
    )


@method
def optimize_for(
    self: Symbol,
    backend: str,
    args: Any = None,
    aux: Any = None,
    ctx: Any = None,
    shape_dict: Any = None,
    type_dict: Any = None,
    stype_dict: Any = None,
    skip_infer: bool = False,
    **kwargs: Any,
) -> Symbol:
    """Return the symbol as it is, with a warning: there are no backends; symbols are compiled when they are bound.

    MXNet does the same with a backend that it does not find.

    Parameters
    ----------
    backend : str
    args, aux, ctx, shape_dict, type_dict, stype_dict, skip_infer, **kwargs
        Accepted, and not used.

    Returns
    -------
    Symbol

    Examples
    --------
    >>> import warnings
    >>> from minpy import sym
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter('ignore')
    ...     sym.var('x').optimize_for('MKLDNN')
    <Symbol x>
    """
    warnings.warn(
        f"{self!r}.optimize_for: there is no backend {backend!r}, nor any other; the symbol stays as it is.",
        stacklevel=2,
    )
    return Symbol(self.values)
