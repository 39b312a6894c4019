"""What became of a program, as reports say it: which operators are which kernel, what stayed a call and why, costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from minpy.core.errors import MissingDependencyError

if TYPE_CHECKING:
    import graphviz

    from minpy.capture.places import SourceLocation

__all__ = ["ExplainedItem", "ExplainedPart", "Explanation", "Explanations", "shortened"]


class ExplainedItem(NamedTuple):
    """One thing that a program runs.

    Attributes
    ----------
    kind : str
        'kernel', 'product', 'native' (a kernel of an operator's own), 'copy' or 'call'.
    operators : tuple of str
        The names of the graph's nodes that it does, or a part of them.
    what : str
        What it does: the functions of a kernel's nest and its space, the matrices of a product, and whether that is a
        kernel, and not done by a BLAS.
    flops, nbytes : int
        Operations on numbers, and bytes read and written in memory, as far as they are known.
    reason : str
        Why it is a call.
    place : SourceLocation or None
        The line of the user's code that is in the way.
    reads : tuple of int
        The numbers of the items whose results it reads.
    number : int
        Its own, counted over all parts.
    """

    kind: str
    operators: tuple[str, ...]
    what: str
    flops: int
    nbytes: int
    reason: str
    place: SourceLocation | None
    reads: tuple[int, ...]
    number: int

    def __str__(self) -> str:
        text = f"{self.number:>4} {self.kind:<8}{self.what}"
        if self.operators:
            text += f"\n              of {shortened(self.operators)}"
        if self.kind != "call":
            text += f"\n              {_amount(self.flops)} flops, {_amount(self.nbytes)} bytes"
        if self.reason:
            text += f"\n              because {self.reason}"
        if self.place is not None:
            text += f"\n              {self.place}: {self.place.text}"
        return text


class ExplainedPart(NamedTuple):
    """The forward or the backward part."""

    name: str
    items: tuple[ExplainedItem, ...]

    def __str__(self) -> str:
        return "\n".join([self.name, *map(str, self.items)])


@dataclass(frozen=True, repr=False)
class Explanation:
    """What became of a program; prints as text.

    Attributes
    ----------
    title : str
        What it computes.
    is_native : bool
        Whether it has become native code.
    reason : str
        Why it has not.
    parts : tuple of ExplainedPart
        Empty, if it is not native code.
    memory, unshared : int
        The bytes of memory that a call takes for what lies between, and those of the arrays that share it.
    kept : int
        The bytes among them that the forward part keeps for the backward part.
    prepared : int
        The bytes that what is made of parameters takes, for all calls together, until a parameter changes.
    seconds : dict of str to float
        How long each stage of compiling took.
    is_cached : bool
        Whether the machine code came from the cache.
    """

    title: str
    is_native: bool
    reason: str = ""
    parts: tuple[ExplainedPart, ...] = ()
    memory: int = 0
    unshared: int = 0
    kept: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    is_cached: bool = False
    prepared: int = 0

    def count(self, kind: str) -> int:
        """Return how many items are of a kind."""
        return sum(item.kind == kind for part in self.parts for item in part.items)

    def __str__(self) -> str:
        if not self.is_native:
            return f"{self.title}: Python, because {self.reason}"
        counted = [(self.count(kind), names) for kind, names in _KINDS.items()]
        counts = ", ".join(f"{count} {names[count > 1]}" for count, names in counted if count)
        stages = ", ".join(f"{stage} {seconds * 1e3:.1f}" for stage, seconds in self.seconds.items())
        lines = [f"{self.title}: native code, {counts}", *map(str, self.parts)]
        goes_back = any(part.name == "backward" for part in self.parts)
        residuals = f", {_amount(self.kept)} are kept from forward to backward" if goes_back else ""
        lines.append(f"memory: {_amount(self.memory)} bytes hold {_amount(self.unshared)} bytes of arrays{residuals}")
        if self.prepared:
            lines.append(f"and {_amount(self.prepared)} bytes hold what is made of parameters")
        cached = ", the code from the cache" if self.is_cached else ""
        lines.append(f"made in {sum(self.seconds.values()) * 1e3:.1f} ms ({stages}){cached}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def picture(self) -> graphviz.Digraph:
        """Return a picture: a box for each item, an arrow where one reads what another gives.

        Kernels are green, products and kernels of operators blue, copies grey, calls red. It has `source`, the text in
        graphviz's language, and `render`.

        Raises
        ------
        MissingDependencyError
            If the Python package graphviz is not installed.
        """
        try:
            import graphviz
        except ImportError:
            raise MissingDependencyError(
                "Explanation.picture needs the Python package graphviz, which is not installed. Install it with: "
                "python -m pip install graphviz. print shows the same as text, without it."
            ) from None
        drawn = graphviz.Digraph("program", node_attr={"shape": "box", "style": "filled,rounded"})
        drawn.attr(label=graphviz.escape(str(self).partition("\n")[0]))
        for part in self.parts:
            with drawn.subgraph(name=f"cluster_{part.name}") as cluster:
                cluster.attr(label=part.name)
                for item in part.items:
                    lines = [item.what, shortened(item.operators), item.reason]
                    label = graphviz.escape("\n".join(filter(None, lines)))
                    cluster.node(str(item.number), label, fillcolor=_KINDS[item.kind][2])
        for part in self.parts:
            for item in part.items:
                for giver in item.reads:
                    drawn.edge(str(giver), str(item.number))
        return drawn


class Explanations(tuple[Explanation, ...]):
    """What became of several programs of one graph, the latest first; prints as text."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n\n".join(map(str, self)) or "no program yet: it has not been called"

    def __repr__(self) -> str:
        return str(self)


# By kind: what one and several are called, and the color of their boxes.
_KINDS = {
    "kernel": ("kernel", "kernels", "#c8e6c9"),
    "product": ("product", "products", "#bbdefb"),
    "native": ("kernel of an operator", "kernels of operators", "#bbdefb"),
    "copy": ("copy", "copies", "#eeeeee"),
    "call": ("call", "calls", "#ffcdd2"),
}


def shortened(names: Sequence[str], most: int = 12) -> str:
    """Return names in one line: the first of them, and how many there are more."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _amount(number: int) -> str:
    """Return a number with three digits.

    >>> _amount(123), _amount(1234567)
    ('123', '1.23 M')
    """
    for factor, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= factor:
            return f"{number / factor:.3g} {letter}"
    return str(number)
