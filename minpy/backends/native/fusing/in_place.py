"""Arrays that are computed in the memory of others: pieces of assemblies, and products that are added to something.

An array can be computed in another's memory if it is stored just once, by a nest or a product, and if all its readers
can read it there: its elements lie side by side there, too, or only the assembly is read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy

from minpy.backends.native.fusing.loop_nest import Item, Nest, Place
from minpy.backends.native.language import Array, Assembly, Layout, Product, contiguous
from minpy.backends.native.language.layout_algebra import composed

__all__ = ["placed"]

# Elements of an assembly for which it is looked at one by one whether its pieces overlap.
LARGEST_LOOKED_AT = 1 << 24


def placed(
    items: Sequence[Item], lasting: Collection[Array], returned: Collection[Array]
) -> tuple[dict[Array, Place], set[Assembly]]:
    """Return the arrays that can be computed in the memory of others, and the assemblies that need not run then.

    Of what items give, `lasting` has to be in memory when all have run, and `returned` is what the caller gets, in
    memory of its own. No place is in the memory of an array that has one itself.
    """
    placing = _Placing(items, lasting, returned)
    return placing.places, placing.done_in_place


class _Placing:
    def __init__(self, items: Sequence[Item], lasting: Collection[Array], returned: Collection[Array]) -> None:
        self.lasting = lasting
        self.returned = returned
        self.places: dict[Array, Place] = {}
        self.done_in_place: set[Assembly] = set()
        self.sums: set[Array] = set()
        self.makers: dict[Array, Item] = {}
        self.readers: dict[Array, list[tuple[int, Item, Array]]] = {}
        for number, item in enumerate(items):
            for output in item.levels if isinstance(item, Nest) else item.outputs:
                self.makers[output] = item
            for array in item.reads() if isinstance(item, Nest) else item.operands:
                self.readers.setdefault(array.root, []).append((number, item, array))
        # The last ones first: assemblies can be pieces of others.
        for item in reversed(items):
            if isinstance(item, Assembly):
                self._place_pieces(item)
        for number, item in enumerate(items):
            if isinstance(item, Product) and len(item.operands) == 3:
                self._place_sum(number, item)

    def _place_pieces(self, assembly: Assembly) -> None:
        whole = assembly.output
        outer = self.places.get(whole)
        places: dict[Array, Place] = {}
        for operand, piece in zip(assembly.operands, assembly.pieces, strict=True):
            layout = self._layout_for(operand, piece.layout)
            if layout is None or operand.root in places or operand.root in self.places:
                return
            is_dense = layout.strides == contiguous(operand.root.shape)
            if not is_dense and not self._is_only_read_by(operand.root, assembly):
                return
            if whole in self.returned and operand.root in self.lasting:
                # Callers may write into what they get; what later parts read has to stay as it is.
                return
            if not is_dense and not isinstance(self.makers[operand.root], Nest):
                return
            places[operand.root] = Place(whole, layout)
        if not _tiles(assembly):
            return
        if outer is not None:
            for array, place in places.items():
                inside = composed(array.shape, place.layout, whole.shape, outer.layout)
                if inside is None:
                    return
                places[array] = Place(outer.root, inside)
        self.places.update(places)
        self.done_in_place.add(assembly)

    def _layout_for(self, operand: Array, layout: Layout) -> Layout | None:
        """Return where the root of a piece would lie; None, if it cannot be computed there."""
        root = operand.root
        if root in self.returned or not isinstance(self.makers.get(root), Nest | Product | Assembly):
            return None
        if operand.size != root.size or not operand.is_contiguous or not root.size:
            return None
        inside = composed(root.shape, Layout(0, contiguous(root.shape)), operand.shape, layout)
        if inside is None:
            return None
        axes = zip(root.shape, inside.strides, contiguous(root.shape), strict=True)
        return Layout(inside.offset, tuple(expected if length == 1 else stride for length, stride, expected in axes))

    def _is_only_read_by(self, array: Array, assembly: Assembly) -> bool:
        return array not in self.lasting and all(item is assembly for _, item, _ in self.readers.get(array, ()))

    def _place_sum(self, number: int, product: Product) -> None:
        """Compute `acc + a @ b` where `acc` lies, if nobody reads that later."""
        output, added = product.output, product.operands[2]
        root = added.root
        if output in self.places or output in self.returned or root in self.lasting or root in self.returned:
            return
        if root not in self.makers or not added.is_contiguous or (root in self.places and root not in self.sums):
            return
        reach = added.layout.reach(added.shape)
        factors = [factor for factor in product.operands[:2] if factor.root is root]
        if any(_overlap(factor.layout.reach(factor.shape), reach) for factor in factors):
            return
        for reader, item, array in self.readers.get(root, ()):
            if item is not product and reader >= number and _overlap(array.layout.reach(array.shape), reach):
                return
        for array, place in self.places.items():
            # What lies there already may be read later.
            if place.root is root and _overlap(place.layout.reach(array.shape), reach):
                return
        offset = added.layout.offset
        if root in self.places:
            root, offset = self.places[root].root, self.places[root].layout.offset + offset
        self.places[output] = Place(root, Layout(offset, contiguous(output.shape)))
        self.sums.add(output)


def _overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def _tiles(assembly: Assembly) -> bool:
    """Tell whether the pieces of an assembly cover all of it, none the other."""
    size = assembly.output.size
    if sum(operand.size for operand in assembly.operands) != size or size > LARGEST_LOOKED_AT:
        return False
    covered = numpy.zeros(size, numpy.bool_)
    for operand, piece in zip(assembly.operands, assembly.pieces, strict=True):
        piece.layout.window(covered, operand.shape)[...] = True
    return bool(covered.all())
