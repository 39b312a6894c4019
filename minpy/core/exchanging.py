"""Functions and methods exchanged for others while a rarely used feature is on: profiling, casting.

So these features cost nothing while they are off, as nothing checks whether they are on. Several may exchange
the same method, and be turned off in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Exchange"]


class _Place:
    """An attribute of a module or a class: the original, and its wrappers, from the inside out."""

    def __init__(self, holder: Any, name: str) -> None:
        self.holder, self.name = holder, name
        self.inherited = name not in vars(holder)
        self.original = getattr(holder, name) if self.inherited else vars(holder)[name]
        self.layers: list[tuple[Exchange, Callable[[Any], Any]]] = []

    def rebuild(self) -> None:
        function = self.original
        for _, make in self.layers:
            function = make(function)
        if self.layers or not self.inherited:
            setattr(self.holder, self.name, function)
        elif self.name in vars(self.holder):
            delattr(self.holder, self.name)


_places: dict[tuple[int, str], _Place] = {}


class Exchange:
    """The attributes that one feature has exchanged.

    Examples
    --------
    >>> class Greeter:
    ...     def greet(self):
    ...         return 'hello'
    >>> exchange = Exchange()
    >>> exchange.put(Greeter, 'greet', lambda greet: lambda self: greet(self) + '!')
    >>> Greeter().greet()
    'hello!'
    >>> exchange.remove()
    >>> Greeter().greet()
    'hello'
    """

    def put(self, holder: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace an attribute of a module or a class by `make(attribute)`."""
        place = _places.setdefault((id(holder), name), _Place(holder, name))
        place.layers.append((self, make))
        place.rebuild()

    def remove(self) -> None:
        """Restore the attributes, except for what other exchanges have put there."""
        for key, place in [*_places.items()]:
            layers = [layer for layer in place.layers if layer[0] is not self]
            if len(layers) < len(place.layers):
                place.layers = layers
                place.rebuild()
                if not layers:
                    del _places[key]
