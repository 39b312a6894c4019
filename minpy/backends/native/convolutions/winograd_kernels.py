"""Convolutions by kernels of 3 x 3 in tiles of 4 x 4 results: 36 products in place of 144.

A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), F(4x4, 3x3): a tile of results is
computed of a tile of 6 x 6 data d and a kernel g as A' [(G g G') * (B' d B)] A; see `winograd_transforms`. An infinity
or NaN among the data reaches its whole tile, and so does the rounding of a number that is far larger than the others.

A first kernel transforms the weight, into 36 matrices of (blocks of filters, terms, filters of a block). A second one
takes some tiles at a time: it transforms the data, multiplies 36 pairs of matrices with sums in registers, and
transforms back; intermediate results stay in the second-level cache. In training the batch is last: vectors are of
examples, and the gradient of the data is the same with the taps reversed. In inference of few examples the channels
are last: vectors are of channels and of filters.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy

from minpy.backends.native.convolutions.channels_last import AHEAD
from minpy.backends.native.convolutions.direct_convolution import Code, Correlation, correlation_of
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.register_blocking import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.vector_writer import PREFETCH, Emitter, Integer
from minpy.backends.native.convolutions.winograd_transforms import LARGE, SMALL, Transforms, transformed_square

__all__ = [
    "TILES",
    "covers_winograd",
    "kernels_of",
    "transformed",
    "transformed_shape",
    "winograd",
    "winograd_cycles",
    "winograd_weight",
]

TILES = (LARGE, SMALL)

# Channels and filters from which the fewer products pay for the transforms.
CHANNELS = 16

# Cycles of the transforms of a vector of data, of one of results, and of a kernel.
DATA, RESULT, KERNEL = 280, 220, 60

# Vectors of tiles that meet a number of the weight, and vectors of tiles at a time, at least: with the batch last.
VECTORS, LEAST = 3, 6

# Bytes of a weight that memory gives in a cycle.
WEIGHT_BYTES = 5


def covers_winograd(problem: Problem, computed: str) -> bool:
    """Tell whether a convolution, or the gradient of its data, can be done so, with many enough channels to gain."""
    units = problem.stride == problem.dilate == (1, 1) and problem.groups == 1
    fits = problem.kernel == (3, 3) and max(problem.pad) <= 2
    return computed != "weight" and units and fits and min(problem.channels, problem.filters) >= CHANNELS


def _filters(correlation: Correlation, processor: Processor, channels_last: bool) -> VectorsOfBatch:
    """Return the blocks of filters of a transformed weight; the last may overlap the one before."""
    most = processor.lanes(correlation.itemsize) if channels_last else processor.registers // 4
    return VectorsOfBatch.of(correlation.results, most)


def transformed_shape(problem: Problem, computed: str, processor: Processor, channels_last: bool) -> tuple[int, ...]:
    """Return the shape of a transformed weight."""
    correlation = correlation_of(problem, computed)
    filters = _filters(correlation, processor, channels_last)
    products = _writer(problem, computed, processor, channels_last).transforms.products
    return (products, filters.count, correlation.terms, filters.width)


# -- weights -----------------------------------------------------------------------------------------------------------


def transformed(weight: numpy.ndarray, products: int, starts: list[int], width: int) -> numpy.ndarray:
    """Return a weight of (filters, channels, 3, 3) transformed, for blocks of filters that begin at `starts`."""
    matrix = _of_products(products).kernel_matrix
    matrices = numpy.einsum("ai,bj,fcij->abcf", matrix, matrix, weight.astype(numpy.float64))
    matrices = matrices.reshape(products, *matrices.shape[2:]).astype(weight.dtype)
    return numpy.stack([matrices[:, :, start : start + width] for start in starts], axis=1)


def kernels_of(packed: numpy.ndarray, starts: list[int]) -> numpy.ndarray:
    """Return the weight that was transformed, up to rounding."""
    products, _, channels, width = packed.shape
    transforms = _of_products(products)
    inverse = numpy.linalg.pinv(transforms.kernel_matrix)
    whole = numpy.empty((products, channels, starts[-1] + width))
    for block, start in enumerate(starts):
        whole[:, :, start : start + width] = packed[:, block]
    weight = numpy.einsum(
        "ia,jb,abcf->fcij", inverse, inverse, whole.reshape(transforms.side, transforms.side, channels, -1)
    )
    return weight.astype(packed.dtype)


def winograd_weight(problem: Problem, computed: str, processor: Processor, channels_last: bool) -> Code:
    """Return the function that transforms a weight: G g G'. Its pointers: the weight, and the transformed weight."""
    correlation = correlation_of(problem, computed)
    filters = _filters(correlation, processor, channels_last)
    code, strides = Emitter(correlation.element, filters.width), correlation.weight
    (rows,), (columns,) = correlation.rows, correlation.columns
    transforms = _writer(problem, computed, processor, channels_last).transforms
    matrix = filters.count * correlation.terms * filters.width
    with code.loop("%begin", "%end") as block, code.loop(0, correlation.terms) as term:
        first = code.multiply(filters.start(code, block.index), strides.result)
        source = code.at("%p0", first, code.multiply(term.index, strides.term))

        def tap(i: int, j: int) -> str:
            place = (rows.tap + i * rows.tap_step) * strides.row + (columns.tap + j * columns.tap_step) * strides.column
            return code.gathered(source, [place + f * strides.result for f in range(filters.width)])

        place = code.add(code.multiply(block.index, correlation.terms), term.index)
        target = code.at("%p1", code.multiply(place, filters.width))
        for product, value in enumerate(transformed_square(code, transforms.kernel_line, 3, tap)):
            code.store(value, target, product * matrix)
    return Code(code.body(2), ("weight",), ("packed",), filters.count, 0)


# -- how the tiles are cut ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cut:
    """Tiles that are done together, parts of the filters, and a block of sums in registers.

    Attributes
    ----------
    together, blocks : int
        Tiles that are done together, and how often.
    filters, parts : int
        Blocks of filters of a part, and parts.
    tiles, vectors : int
        Of the block of sums: tiles, and blocks of filters.
    cycles : float
        Of all.
    """

    together: int
    blocks: int
    filters: int
    parts: int
    tiles: int
    vectors: int
    cycles: float


def _step(numbers: int, vectors: int) -> float:
    """Return the cycles of a step: products, or loads, and the loop."""
    return max(numbers * vectors, vectors + numbers / 2, 5) + 1


def _cut_batch_last(correlation: Correlation, count: int, processor: Processor) -> _Cut:
    """Return the cut of so many tiles, each a vector of examples: a step has one block of filters."""
    filters = _filters(correlation, processor, False)
    terms, results = correlation.terms, correlation.results
    room = processor.second_cache // (LARGE.products * (terms + results) * processor.vector_bytes)
    together = min(max(LEAST, room // VECTORS * VECTORS), count)
    tiles = min(VECTORS, together)
    products = LARGE.products * filters.count * terms * -(-count // tiles) * _step(filters.width, tiles)
    cycles = products + count * (DATA * terms + RESULT * results) + KERNEL * terms * results
    return _Cut(together, -(-count // together), filters.count, 1, tiles, 1, cycles)


@lru_cache(maxsize=4096)
def _cut_channels_last(correlation: Correlation, count: int, processor: Processor, transforms: Transforms) -> _Cut:
    """Return the cut of so many tiles for which the model says the fewest cycles."""
    lanes = _filters(correlation, processor, True)
    channels = -(-correlation.terms // lanes.width)
    products, share = transforms.products, transforms.products / LARGE.products
    best: _Cut | None = None
    # Two threads are to have as much to do each.
    for number in sorted({*range(1, min(count, 9)), *(-(-count // size) for size in (48, 36, 28, 24, 16, 14, 12, 8))}):
        together = -(-count // number)
        blocks = -(-count // together)
        parts = 1 if blocks >= 4 or blocks == 2 or lanes.count < 2 else 2
        filters = -(-lanes.count // parts)
        units = parts * blocks
        room = products * together * correlation.itemsize * (correlation.terms + filters * lanes.width)
        # What does not stay in the second-level cache is written and read further away.
        spill = max(0.0, 1 - 2 * processor.second_cache / room) * products * together * (channels + filters)
        weight = products * filters * correlation.terms * processor.vector_bytes / WEIGHT_BYTES
        transforming = together * share * (channels * DATA + filters * RESULT) + 16 * spill
        for vectors, tiles in itertools.product(range(1, min(filters, 6) + 1), range(1, min(together, 28) + 1)):
            if tiles * vectors + vectors + 1 > processor.registers and (tiles, vectors) != (1, 1):
                continue
            steps = products * correlation.terms * -(-filters // vectors) * -(-together // tiles)
            cycles = (units + units % 2) * (transforming + max(steps * _step(tiles, vectors), weight))
            if best is None or cycles < best.cycles:
                best = _Cut(together, blocks, filters, parts, tiles, vectors, cycles)
    assert best is not None
    return best


def winograd_cycles(problem: Problem, computed: str, processor: Processor, channels_last: bool) -> float:
    """Return the cycles that it takes, as `cost_model` counts them."""
    return _writer(problem, computed, processor, channels_last).cut.cycles


# -- convolutions ------------------------------------------------------------------------------------------------------


def winograd(problem: Problem, computed: str, processor: Processor, channels_last: bool) -> Code:
    """Return the function that does a convolution ('result'), or with the batch last the gradient of its data ('data').

    Its pointers: data (the gradient of the sums) and the transformed weight; the result (the gradient of the data).
    """
    return _writer(problem, computed, processor, channels_last).write()


def _writer(problem: Problem, computed: str, processor: Processor, channels_last: bool) -> _Writer:
    """Return the writer with the fewest cycles. Of few tiles with many channels, the smaller weight is read sooner."""
    correlation = correlation_of(problem, computed)
    if not channels_last:
        return _BatchLast(correlation, processor, LARGE)
    return min((_ChannelsLast(correlation, processor, kind) for kind in TILES), key=lambda it: it.cut.cycles)


def _of_products(products: int) -> Transforms:
    return next(transforms for transforms in TILES if transforms.products == products)


class _Writer(ABC):
    """Writes the three stages; subclasses say what vectors hold, and how arrays and scratch memory are laid out.

    Attributes
    ----------
    lanes : VectorsOfBatch
        The vectors along the last axis of the results: of examples, or of filters.
    images, vectors : int
        Images, and vectors per position of an image that are tiles of their own: with the batch last, one image.
    data_pixel, result_pixel : int
        How far apart neighbours in a row lie.
    data_vectors, result_vectors : int
        How many there are of a tile, or of a part of its results.
    data_tile, data_product, result_tile, result_product : int
        How far apart tiles, and matrices, of transformed data and of products lie in scratch memory.
    number_stride : int
        How far apart products of one vector with neighbouring numbers lie there.
    """

    channels_last: bool
    images: int
    vectors: int
    cut: _Cut
    data_pixel: int
    result_pixel: int
    data_vectors: int
    result_vectors: int
    data_tile: int
    data_product: int
    result_tile: int
    result_product: int
    number_stride: int

    def __init__(self, correlation: Correlation, processor: Processor, transforms: Transforms, length: int) -> None:
        self.correlation = correlation
        self.transforms = transforms
        self.lanes = VectorsOfBatch.of(length, processor.lanes(correlation.itemsize))
        self.code = Emitter(correlation.element, self.lanes.width)
        self.filters = _filters(correlation, processor, self.channels_last)
        self.tiles = [-(-positions // self.transforms.results) for positions in correlation.target]

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return self.images * self.tiles[0] * self.tiles[1] * self.vectors

    def write(self) -> Code:
        code, cut = self.code, self.cut
        # Scratch memory: zeros for data that do not exist, a place for such results, transformed data, products.
        self.data = 2 * code.lanes
        self.products = self.data + self.transforms.products * self.data_product
        scratch = (self.products + self.transforms.products * self.result_product) * self.correlation.itemsize
        code.store(code.zero, "%scratch")
        with code.loop("%begin", "%end") as unit:
            block, part = code.quotient(unit.index, cut.parts), code.remainder(unit.index, cut.parts)
            first = code.smaller(code.multiply(block, cut.together), self.count - cut.together)
            filters = code.smaller(code.multiply(part, cut.filters), self.filters.count - cut.filters)
            with code.loop(0, cut.together) as tile:
                self.write_data(code.add(first, tile.index), tile.index)
            self.write_products(filters)
            with code.loop(0, cut.together) as tile:
                self.write_results(code.add(first, tile.index), tile.index, filters)
        return Code(code.body(3), ("data", "weight"), ("result",), cut.blocks * cut.parts, scratch, PREFETCH)

    def locate(
        self, number: Integer, offsets: tuple[int, int], lengths: tuple[int, int], pixel: int, count: int
    ) -> tuple[Integer, list[list[str]], str]:
        """Return where a tile begins in an array, which of its elements exist, and whether all do."""
        code, (down, across) = self.code, self.tiles
        place, vector = code.quotient(number, self.vectors), code.remainder(number, self.vectors)
        image: Integer = 0
        if self.images > 1:
            image, place = code.quotient(place, down * across), code.remainder(place, down * across)
        corner = [code.quotient(place, across), code.remainder(place, across)]
        row, column = (
            code.add(code.multiply(index, self.transforms.results), offset)
            for index, offset in zip(corner, offsets, strict=True)
        )

        def existing(first: Integer, length: int) -> list[str]:
            positions = [code.add(first, position) for position in range(count)]
            return [code.within(position, length) for position in positions]

        rows, columns = existing(row, lengths[0]), existing(column, lengths[1])
        all_exist = code.both(code.both(rows[0], rows[-1]), code.both(columns[0], columns[-1]))
        exists = [[code.both(in_rows, in_columns) for in_columns in columns] for in_rows in rows]
        line = code.add(code.multiply(code.add(code.multiply(image, lengths[0]), row), lengths[1]), column)
        start = self.lanes.start(code, vector) if self.vectors > 1 else 0
        return code.add(code.multiply(line, pixel), start), exists, all_exist

    def write_data(self, number: Integer, tile: Integer) -> None:
        """Write B' d B of all terms of a tile."""
        code, correlation, transforms = self.code, self.correlation, self.transforms
        offsets = (correlation.rows[0].offset, correlation.columns[0].offset)
        place, exists, is_inside = self.locate(
            number, offsets, correlation.source, self.data_pixel, self.transforms.side
        )
        image = code.at("%p0", place)
        target_start = code.at("%scratch", self.data, code.multiply(tile, self.data_tile))
        line = correlation.source[1] * self.data_pixel

        def write(inside: bool) -> list[str]:
            with code.loop(0, self.data_vectors) as vector:
                distance, target = self.data_places(vector.index)
                source = code.at(image, distance)

                def load(i: int, j: int, source: str = source) -> str:
                    pointer = code.at(source, i * line + j * self.data_pixel)
                    return code.load(pointer if inside else code.either_pointer(exists[i][j], pointer, "%scratch"))

                for product, value in enumerate(transformed_square(code, transforms.data_line, transforms.side, load)):
                    code.store(value, target_start, code.add(target, product * self.data_product))
            return []

        code.either(is_inside, lambda: write(True), lambda: write(False))

    def write_products(self, filters: Integer) -> None:
        """Write the products of pairs of matrices, for the blocks of filters of a part."""
        code, cut, width = self.code, self.cut, self.lanes.width
        packed = self.correlation.terms * self.filters.width
        with (
            code.loop(0, self.transforms.products) as product,
            code.loop(0, -(-cut.filters // cut.vectors)) as filter_block,
            code.loop(0, -(-cut.together // cut.tiles)) as tile_block,
        ):
            block = code.smaller(code.multiply(filter_block.index, cut.vectors), cut.filters - cut.vectors)
            tile = code.smaller(code.multiply(tile_block.index, cut.tiles), cut.together - cut.tiles)
            place = code.add(code.multiply(product.index, self.filters.count), filters, block)
            weight = code.at("%p1", code.multiply(place, packed))
            data = code.add(code.multiply(product.index, self.data_product), code.multiply(tile, self.data_tile))
            data = code.at("%scratch", self.data, data)
            sums = [code.zero] * (cut.tiles * (cut.vectors if self.channels_last else self.filters.width))
            with code.loop(0, self.correlation.terms, sums) as term:
                vectors, numbers = self.factors(weight, data, term.index)
                pairs = itertools.product(numbers, vectors)
                term.values = [
                    code.add_product(total, vector, number)
                    for total, (number, vector) in zip(term.values, pairs, strict=True)
                ]
            target = code.at(
                "%scratch",
                self.products,
                code.multiply(product.index, self.result_product),
                code.multiply(tile, self.result_tile),
                self.result_place(block),
            )
            for index, value in enumerate(term.values):
                number, vector = divmod(index, len(vectors))
                code.store(value, target, number * self.number_stride + vector * width)

    def write_results(self, number: Integer, tile: Integer, filters: Integer) -> None:
        """Write A' m A of the filters of a part of a tile."""
        code, correlation, transforms = self.code, self.correlation, self.transforms
        place, exists, is_whole = self.locate(
            number, (0, 0), correlation.target, self.result_pixel, self.transforms.results
        )
        products = code.at("%scratch", self.products, code.multiply(tile, self.result_tile))
        line = correlation.target[1] * self.result_pixel

        def write(whole: bool) -> list[str]:
            with code.loop(0, self.result_vectors) as vector:
                distance, target = self.result_places(vector.index, filters)
                source = code.at(products, distance)

                def load(i: int, j: int, source: str = source) -> str:
                    return code.load(source, (transforms.side * i + j) * self.result_product)

                for index, value in enumerate(transformed_square(code, transforms.result_line, transforms.side, load)):
                    i, j = divmod(index, transforms.results)
                    pointer = code.at("%p2", code.add(place, target, i * line + j * self.result_pixel))
                    code.store(value, pointer if whole else code.either_pointer(exists[i][j], pointer, nowhere))
            return []

        nowhere = code.at("%scratch", code.lanes)
        code.either(is_whole, lambda: write(True), lambda: write(False))

    @abstractmethod
    def data_places(self, vector: Integer) -> tuple[Integer, Integer]:
        """Return where a vector of a tile's data lies, and where it goes when it is transformed."""

    @abstractmethod
    def factors(self, weight: str, data: str, term: Integer) -> tuple[list[str], list[str]]:
        """Return the vectors and the numbers that are multiplied with each other for a term."""

    @abstractmethod
    def result_place(self, block: Integer) -> Integer:
        """Return where the products of a block of filters of a part lie, from a tile's first."""

    @abstractmethod
    def result_places(self, vector: Integer, filters: Integer) -> tuple[Integer, Integer]:
        """Return where the products of a vector of results lie, and where the results go."""


class _BatchLast(_Writer):
    """Vectors are of examples, and are multiplied by the numbers of a block of filters."""

    channels_last = False

    def __init__(self, correlation: Correlation, processor: Processor, transforms: Transforms) -> None:
        super().__init__(correlation, processor, transforms, correlation.batch)
        self.images, self.vectors = 1, self.lanes.count
        self.cut = _cut_batch_last(correlation, self.count, processor)
        width, columns = self.lanes.width, self.cut.together * self.lanes.width
        self.data_pixel = self.result_pixel = correlation.batch
        self.data_vectors, self.result_vectors = correlation.terms, correlation.results
        self.data_tile = self.result_tile = width
        self.data_product, self.result_product = correlation.terms * columns, correlation.results * columns
        self.number_stride = columns

    def data_places(self, vector: Integer) -> tuple[Integer, Integer]:
        code, (height, width) = self.code, self.correlation.source
        plane = height * width * self.data_pixel
        return code.multiply(vector, plane), code.multiply(vector, self.number_stride)

    def factors(self, weight: str, data: str, term: Integer) -> tuple[list[str], list[str]]:
        code = self.code
        data, weight = (
            code.at(data, code.multiply(term, self.number_stride)),
            code.at(weight, code.multiply(term, self.filters.width)),
        )
        vectors = [code.load(data, vector * self.lanes.width) for vector in range(self.cut.tiles)]
        return vectors, [code.broadcast(weight, number) for number in range(self.filters.width)]

    def result_place(self, block: Integer) -> Integer:
        return self.code.multiply(self.filters.start(self.code, block), self.number_stride)

    def result_places(self, vector: Integer, filters: Integer) -> tuple[Integer, Integer]:
        code, (height, width) = self.code, self.correlation.target
        plane = height * width * self.result_pixel
        return code.multiply(vector, self.number_stride), code.multiply(vector, plane)


class _ChannelsLast(_Writer):
    """Vectors are of channels, and of filters, which are multiplied by the numbers of some tiles."""

    channels_last = True

    def __init__(self, correlation: Correlation, processor: Processor, transforms: Transforms) -> None:
        super().__init__(correlation, processor, transforms, correlation.results)
        self.images, self.vectors = correlation.batch, 1
        self.cut = _cut_channels_last(correlation, self.count, processor, transforms)
        width = self.lanes.width
        self.channels = VectorsOfBatch.of(correlation.terms, width)
        self.data_pixel, self.result_pixel = correlation.terms, correlation.results
        self.data_vectors, self.result_vectors = self.channels.count, self.cut.filters
        # Tiles lie a little further apart than their channels, so that they do not meet in the sets of a cache.
        self.data_tile, self.result_tile = (
            (vectors + 1) * width for vectors in (self.channels.count, self.cut.filters)
        )
        self.data_product = self.cut.together * self.data_tile
        self.result_product = self.cut.together * self.result_tile
        self.number_stride = self.result_tile

    def data_places(self, vector: Integer) -> tuple[Integer, Integer]:
        start = self.channels.start(self.code, vector)
        return start, start

    def factors(self, weight: str, data: str, term: Integer) -> tuple[list[str], list[str]]:
        code, width = self.code, self.lanes.width
        weight, data = code.at(weight, code.multiply(term, width)), code.at(data, term)
        vectors = []
        for vector in range(self.cut.vectors):
            distance = vector * self.correlation.terms * width
            vectors.append(code.load(weight, distance))
            code.prefetch(weight, distance + AHEAD // self.correlation.itemsize)
        return vectors, [code.broadcast(data, tile * self.data_tile) for tile in range(self.cut.tiles)]

    def result_place(self, block: Integer) -> Integer:
        return self.code.multiply(block, self.lanes.width)

    def result_places(self, vector: Integer, filters: Integer) -> tuple[Integer, Integer]:
        code = self.code
        return code.multiply(vector, self.lanes.width), self.lanes.start(code, code.add(filters, vector))
