"""Winograd's way for 3 x 3 kernels and few examples, channels last; see `toom` for the transforms.

The weight is transformed first, into n x n matrices of (blocks of filters, channels, lanes). The function takes some
tiles of m x m results at a time, and a part of the filters: it transforms the n x n data of each tile, vectors along
channels, multiplies n x n pairs of matrices, sums in registers, and transforms back. An infinity or NaN among the data
reaches its whole tile, and so does the rounding of a number that is far larger than the others.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy

from minpy.backends.native.convolutions.channels_last import AHEAD, filter_vectors, operands_of
from minpy.backends.native.convolutions.correlation import Code
from minpy.backends.native.convolutions.emitter import PREFETCH, Emitter, Integer
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch
from minpy.backends.native.convolutions.toom import data_line, kernel_matrix, result_line

__all__ = [
    "channels_winograd",
    "channels_winograd_cycles",
    "channels_winograd_weight",
    "covers_channels_winograd",
    "kernels_of",
    "transformed",
    "winograd_shape",
]

# Channels and filters from which the fewer products pay for the transforms.
CHANNELS = 16

# Cycles of the transforms of a vector of data and of results, for 2 x 2 and for 4 x 4 results.
DATA, RESULT = {2: 90, 4: 280}, {2: 60, 4: 220}

# Bytes of a weight that memory gives while a product takes place.
WEIGHT_BYTES = 5


def covers_channels_winograd(problem: Problem) -> bool:
    """Tell whether a convolution can be done so, with many enough channels to gain."""
    ones = problem.stride == problem.dilate == (1, 1) and problem.groups == 1
    fits = problem.kernel == (3, 3) and not problem.pool
    return ones and fits and min(problem.channels, problem.filters) >= CHANNELS


def winograd_shape(problem: Problem, results: int, processor: Processor) -> tuple[int, ...]:
    """Return the shape of a transformed weight."""
    vectors = filter_vectors(problem, processor)
    return ((results + 2) ** 2, vectors.count, problem.channels, vectors.width)


@dataclass(frozen=True)
class _Cut:
    """How the work is cut: tiles at a time, parts of the filters' vectors, and a block of sums in registers.

    Attributes
    ----------
    tiles : (int, int)
        Down and across a picture.
    together, blocks : int
        Tiles that are done together, and how often.
    vectors, parts : int
        Vectors of filters of a part, and parts.
    positions, some : int
        Tiles and vectors of filters of a block of sums.
    cycles : float
        Of all.
    """

    tiles: tuple[int, int]
    together: int
    blocks: int
    vectors: int
    parts: int
    positions: int
    some: int
    cycles: float


@lru_cache(maxsize=4096)
def _cut(problem: Problem, results: int, processor: Processor) -> _Cut:
    height, width = (-(-length // results) for length in problem.positions)
    tiles, products = problem.batch * height * width, (results + 2) ** 2
    lanes = filter_vectors(problem, processor)
    channels = VectorsOfBatch.of(problem.channels, processor.lanes(problem.itemsize)).count
    best: _Cut | None = None
    # Two threads are to have as much to do each.
    for count in sorted({*range(1, min(tiles, 9)), *(-(-tiles // size) for size in (48, 36, 28, 24, 16, 14, 12, 8))}):
        together = -(-tiles // count)
        blocks = -(-tiles // together)
        parts = 1 if blocks >= 4 or blocks == 2 or lanes.count < 2 else 2
        vectors = -(-lanes.count // parts)
        units = parts * blocks
        room = products * together * problem.itemsize * (problem.channels + vectors * lanes.width)
        # What does not stay in the second-level cache is written and read further away.
        spill = max(0.0, 1 - 2 * processor.second_cache / room) * products * together * (channels + vectors)
        weight = products * vectors * problem.channels * processor.vector_bytes / WEIGHT_BYTES
        transforms = together * (channels * DATA[results] + vectors * RESULT[results]) + 16 * spill
        for some, positions in itertools.product(range(1, min(vectors, 6) + 1), range(1, min(together, 28) + 1)):
            if positions * some + some + 1 > processor.registers and (positions, some) != (1, 1):
                continue
            step = max(positions * some, some + positions / 2, 5) + 1
            steps = products * problem.channels * -(-vectors // some) * -(-together // positions)
            cycles = (units + units % 2) * (transforms + max(steps * step, weight))
            if best is None or cycles < best.cycles:
                best = _Cut((height, width), together, blocks, vectors, parts, positions, some, cycles)
    assert best is not None
    return best


def channels_winograd_cycles(problem: Problem, results: int, processor: Processor) -> float:
    """Return the cycles that it takes, as the model of `choosing` counts them."""
    return _cut(problem, results, processor).cycles


# -- weights -----------------------------------------------------------------------------------------------------------


def transformed(weight: numpy.ndarray, results: int, starts: list[int], width: int) -> numpy.ndarray:
    """Return a weight of (filters, channels, 3, 3) transformed, for vectors of filters that begin at `starts`."""
    matrix = kernel_matrix(results)
    found = numpy.einsum("ai,bj,fcij->abcf", matrix, matrix, weight.astype(numpy.float64))
    found = found.reshape(-1, *found.shape[2:]).astype(weight.dtype)
    return numpy.stack([found[:, :, start : start + width] for start in starts], axis=1)


def kernels_of(given: numpy.ndarray, results: int, starts: list[int]) -> numpy.ndarray:
    """Return the weight that was transformed, up to rounding."""
    inverse = numpy.linalg.pinv(kernel_matrix(results))
    products, _, channels, width = given.shape
    whole = numpy.empty((products, channels, starts[-1] + width))
    for number, start in enumerate(starts):
        whole[:, :, start : start + width] = given[:, number]
    side = results + 2
    found = numpy.einsum("ia,jb,abcf->fcij", inverse, inverse, whole.reshape(side, side, channels, -1))
    return found.astype(given.dtype)


def channels_winograd_weight(problem: Problem, results: int, processor: Processor) -> Code:
    """Return the function that transforms a weight: G g G'. Its pointers: the weight, and what it becomes."""
    vectors = filter_vectors(problem, processor)
    code = Emitter(problem.element, vectors.width)
    channels = problem.channels
    matrix = kernel_matrix(results)

    def line(values: list[str]) -> list[str]:
        found = []
        for row in matrix:
            total = ""
            for factor, value in zip(row, values, strict=True):
                if factor == 0:
                    continue
                # The factors are rounded as the numbers are.
                number = code.number(float(numpy.dtype(problem.dtype).type(factor)))
                total = code.add_product(total, value, number) if total else code.arithmetic("fmul", value, number)
            found.append(total)
        return found

    apart = vectors.count * channels * vectors.width
    with code.loop("%begin", "%end") as unit, code.loop(0, channels) as c:
        source = code.at("%p0", code.multiply(vectors.start(code, unit.index), channels * 9), code.multiply(c.index, 9))
        kernel = []
        for i, j in itertools.product(range(3), range(3)):
            value = "poison"
            for lane in range(vectors.width):
                number = code.load_element(source, lane * channels * 9 + 3 * i + j)
                value = code.put(f"insertelement {code.vector} {value}, {code.element} {number}, i64 {lane}")
            kernel.append(value)
        down = [line(kernel[j::3]) for j in range(3)]
        place = code.multiply(code.add(code.multiply(unit.index, channels), c.index), vectors.width)
        for i in range(results + 2):
            for j, value in enumerate(line([down[k][i] for k in range(3)])):
                code.store(value, "%p1", code.add(place, ((results + 2) * i + j) * apart))
    return Code(code.body(2), ("weight",), ("packed",), vectors.count, 0)


# -- convolutions ------------------------------------------------------------------------------------------------------


def channels_winograd(problem: Problem, results: int, processor: Processor) -> Code:
    """Return the function that does a convolution with the channels last.

    Its pointers: data, the transformed weight, scale, bias and residual where there are some; the result.
    """
    return _Writer(problem, results, processor).write()


class _Writer:
    def __init__(self, problem: Problem, results: int, processor: Processor) -> None:
        self.problem, self.results, self.side = problem, results, results + 2
        self.cut = _cut(problem, results, processor)
        self.lanes = filter_vectors(problem, processor)
        width = self.lanes.width
        self.code = Emitter(problem.element, width)
        self.channels = VectorsOfBatch.of(problem.channels, width)
        self.count = problem.batch * self.cut.tiles[0] * self.cut.tiles[1]
        self.reads = operands_of(problem)
        self.pointer = {name: f"%p{number}" for number, name in enumerate((*self.reads, "result"))}
        # Scratch memory, in elements: zeros, results that do not exist, transformed data, products. Tiles lie a little
        # further apart than their channels, so that they do not meet in the sets of a cache.
        self.nowhere = -(-problem.channels // width) * width
        self.data = self.nowhere + width
        self.data_tile = -(-problem.channels // width) * width + width
        self.data_product = self.cut.together * self.data_tile
        self.products = self.data + self.side**2 * self.data_product
        self.product_tile = self.cut.vectors * width + width
        self.product_apart = self.cut.together * self.product_tile
        self.scratch = (self.products + self.side**2 * self.product_apart) * problem.itemsize

    def write(self) -> Code:
        code, cut = self.code, self.cut
        with code.loop(0, self.nowhere // code.lanes) as one:
            code.store(code.zero, "%scratch", code.multiply(one.index, code.lanes))
        with code.loop("%begin", "%end") as unit:
            block, part = code.quotient(unit.index, cut.parts), code.remainder(unit.index, cut.parts)
            first = code.smaller(code.multiply(block, cut.together), self.count - cut.together)
            vector = code.smaller(code.multiply(part, cut.vectors), self.lanes.count - cut.vectors)
            with code.loop(0, cut.together) as tile:
                self.write_data(code.add(first, tile.index), tile.index)
            self.write_products(vector)
            with code.loop(0, cut.together) as tile:
                self.write_results(code.add(first, tile.index), tile.index, vector)
        return Code(
            code.body(len(self.pointer)), self.reads, ("result",), cut.blocks * cut.parts, self.scratch, PREFETCH
        )

    def tile_of(self, number: Integer) -> tuple[Integer, Integer, Integer]:
        """Return (example, row, column) of a tile: those of its first result."""
        code, (down, across) = self.code, self.cut.tiles
        example, place = code.quotient(number, down * across), code.remainder(number, down * across)
        row, column = code.quotient(place, across), code.remainder(place, across)
        return example, code.multiply(row, self.results), code.multiply(column, self.results)

    def existing(self, first: Integer, count: int, length: int) -> list[str]:
        """Return for each of some rows (columns) from one on whether it exists."""
        code = self.code
        places = [code.add(first, k) for k in range(count)]
        return [code.both(code.compare("sge", p, 0), code.compare("slt", p, length)) for p in places]

    def all_of(self, conditions: list[str]) -> str:
        found = conditions[0]
        for one in conditions[1:]:
            found = self.code.both(found, one)
        return found

    def write_data(self, number: Integer, tile: Integer) -> None:
        """Write B' d B of all channels of a tile."""
        code, problem, side = self.code, self.problem, self.side
        height, length = problem.lengths
        example, row, column = self.tile_of(number)
        row, column = code.add(row, -problem.pad[0]), code.add(column, -problem.pad[1])
        rows, columns = self.existing(row, side, height), self.existing(column, side, length)
        line = code.add(code.multiply(code.add(code.multiply(example, height), row), length), column)
        image = code.at(self.pointer["data"], code.multiply(line, problem.channels))
        room = code.at("%scratch", self.data, code.multiply(tile, self.data_tile))

        def channels(pointers: list[list[tuple[str, int]]]) -> list[str]:
            with code.loop(0, self.channels.count) as vector:
                start = self.channels.start(code, vector.index)
                loaded: list[list[str]] = [
                    [code.load(code.at(pointer, start), further) for pointer, further in line] for line in pointers
                ]
                self.write_tile(loaded, code.at(room, start))
            return []

        def inside() -> list[str]:
            apart = problem.channels
            return channels([[(image, (i * length + j) * apart) for j in range(side)] for i in range(side)])

        def border() -> list[str]:
            pointers: list[list[tuple[str, int]]] = []
            for i in range(side):
                found = []
                for j in range(side):
                    here = code.at(image, (i * length + j) * problem.channels)
                    exists = code.both(rows[i], columns[j])
                    found.append((code.put(f"select i1 {exists}, ptr {here}, ptr %scratch"), 0))
                pointers.append(found)
            return channels(pointers)

        is_inside = code.both(self.all_of([rows[0], rows[-1]]), self.all_of([columns[0], columns[-1]]))
        code.either(is_inside, inside, border)

    def write_tile(self, loaded: list[list[str]], target: str) -> None:
        """Write what becomes of a tile of vectors, along columns and rows."""
        code, side, results = self.code, self.side, self.results
        down = [data_line(code, [loaded[i][j] for i in range(side)], results) for j in range(side)]
        for i in range(side):
            for j, value in enumerate(data_line(code, [down[k][i] for k in range(side)], results)):
                code.store(value, target, (side * i + j) * self.data_product)

    def write_products(self, vector: Integer) -> None:
        """Write the products of pairs of matrices, for the vectors of filters of a part."""
        code, cut, width = self.code, self.cut, self.lanes.width
        positions, some = cut.positions, cut.some
        packed = self.problem.channels * width
        with (
            code.loop(0, self.side**2) as product,
            code.loop(0, -(-cut.vectors // some)) as one,
            code.loop(0, -(-cut.together // positions)) as several,
        ):
            first = code.smaller(code.multiply(one.index, some), cut.vectors - some)
            tile = code.smaller(code.multiply(several.index, positions), cut.together - positions)
            place = code.add(code.multiply(product.index, self.lanes.count), vector, first)
            weight = code.at(self.pointer["weight"], code.multiply(place, packed))
            data = code.at(
                "%scratch",
                self.data,
                code.multiply(product.index, self.data_product),
                code.multiply(tile, self.data_tile),
            )
            with code.loop(0, self.problem.channels, [code.zero] * (positions * some)) as channel:
                numbers = code.at(weight, code.multiply(channel.index, width))
                vectors = [code.load(numbers, v * packed) for v in range(some)]
                for v in range(some):
                    code.prefetch(numbers, v * packed + AHEAD // self.problem.itemsize)
                source = code.at(data, channel.index)
                sums = list(channel.values)
                for p in range(positions):
                    value = code.broadcast(source, p * self.data_tile)
                    for v, found in enumerate(vectors):
                        sums[v * positions + p] = code.add_product(sums[v * positions + p], found, value)
                channel.values = sums
            target = code.at(
                "%scratch",
                self.products,
                code.multiply(product.index, self.product_apart),
                code.multiply(tile, self.product_tile),
                code.multiply(first, width),
            )
            for number, value in enumerate(channel.values):
                v, p = divmod(number, positions)
                code.store(value, target, p * self.product_tile + v * width)

    def write_results(self, number: Integer, tile: Integer, vector: Integer) -> None:
        """Write A' m A of the filters of a part of a tile, and what is fused."""
        code, problem, side, results = self.code, self.problem, self.side, self.results
        height, length = problem.positions
        example, row, column = self.tile_of(number)
        rows, columns = self.existing(row, results, height), self.existing(column, results, length)
        line = code.add(code.multiply(code.add(code.multiply(example, height), row), length), column)
        place = code.multiply(line, problem.filters)
        products = code.at("%scratch", self.products, code.multiply(tile, self.product_tile))
        nowhere = code.at("%scratch", self.nowhere)

        def write(whole: bool) -> list[str]:
            with code.loop(0, self.cut.vectors) as one:
                first = self.lanes.start(code, code.add(vector, one.index))
                source = code.at(products, code.multiply(one.index, self.lanes.width))
                down = []
                for j in range(side):
                    values = [code.load(source, (side * i + j) * self.product_apart) for i in range(side)]
                    down.append(result_line(code, values, results))
                scale = code.load(self.pointer["scale"], first) if problem.scale else ""
                bias = code.load(self.pointer["bias"], first) if problem.bias else ""
                for i in range(results):
                    for j, value in enumerate(result_line(code, [down[k][i] for k in range(side)], results)):
                        at = code.add(place, (i * length + j) * problem.filters, first)
                        exists = "" if whole else code.both(rows[i], columns[j])
                        if scale:
                            value = code.add_product(bias or code.zero, value, scale)
                        elif bias:
                            value = code.arithmetic("fadd", value, bias)
                        if problem.residual:
                            pointer = self.if_exists(exists, self.pointer["residual"], at, nowhere)
                            value = code.arithmetic("fadd", value, code.load(pointer))
                        value = code.relu(value) if problem.relu else value
                        code.store(value, self.if_exists(exists, self.pointer["result"], at, nowhere))
            return []

        is_whole = code.both(rows[-1], columns[-1])
        code.either(is_whole, lambda: write(True), lambda: write(False))

    def if_exists(self, exists: str, pointer: str, at: Integer, nowhere: str) -> str:
        found = self.code.at(pointer, at)
        return self.code.put(f"select i1 {exists}, ptr {found}, ptr {nowhere}") if exists else found
