"""`RowPieces`: reductions along inner loops of which the outermost is cut in pieces.

Each piece stores its partial result: a total and its error, or the best element and its index; with an outer lane, one
for each element of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minpy.backends.native.kernels.accumulators import Lanes
from minpy.backends.native.kernels.cursor import Cursor
from minpy.backends.native.kernels.function_writer import Writer, memory_type
from minpy.backends.native.kernels.nest_geometry import Access, Geometry
from minpy.backends.native.kernels.split_reductions import Partials, Pieces
from minpy.backends.native.kernels.strips import Strips
from minpy.backends.native.language import Array

__all__ = ["RowPieces"]


@dataclass(eq=False)
class RowPieces:
    """The row reductions of a nest, which has one phase and one outer point, or one tile of them.

    `lanes`: the reductions. `tile`: the length of the tile.
    """

    writer: Writer
    cursor: Cursor
    strips: Strips
    geometry: Geometry
    partials: Partials
    pieces: Pieces
    lanes: Sequence[Lanes]
    tile: int

    def __post_init__(self) -> None:
        self.lane = lane = self.geometry.lane if self.geometry.across else None
        strides, count = ({}, 1) if lane is None else ({lane.axis: 1}, self.tile)
        self._places = [
            [self.partials.place(self.pieces, dtype, strides, count, lane is not None) for dtype in lanes.dtypes]
            for lanes in self.lanes
        ]

    def store_partials(self) -> None:
        """Write the partial results of a piece."""
        if self.lane is None:
            for lanes, places in zip(self.lanes, self._places, strict=True):
                self._put(lanes.combined_partials(), places)
            return
        with self.strips.strip(self.lane, self.tile) as lane:
            partials = [lanes.lane_partials(lane.number) for lanes in self.lanes]
            with self.writer.when(lane.filled):
                for values, places in zip(partials, self._places, strict=True):
                    self._put(values, places)

    def _put(self, values: Sequence[str], places: Sequence[Access]) -> None:
        w = self.writer
        for value, place in zip(values, places, strict=True):
            w.do(f"store {memory_type(place.dtype)} {value}, ptr {self.cursor.at(place)}{w.mark()}")

    def results(self) -> Iterator[tuple[Array, str]]:
        """Write the results of all pieces, of an outer lane in the loop over it: arrays, and their values."""
        for lanes, places in zip(self.lanes, self._places, strict=True):
            columns = [self.partials.read(self.pieces, place, memory_type(place.dtype)) for place in places]
            yield lanes.step.output, lanes.result(lanes.joined(list(zip(*columns, strict=True))))
