"""Convolutions by kernels of 3 x 3, batch last: 2 x 2 results from sixteen products instead of thirty-six.

Andrew Lavin and Scott Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), F(2x2, 3x3): a tile of 2 x 2
results comes of a tile of 4 x 4 data d and a kernel g as A' [(G g G') * (B' d B)] A. All factors are 1 and 1/2, so the
rounding errors are those of the plain sum; only an infinity or NaN among the data reaches its whole tile.

A first function transforms the weight. A second one takes a few tiles at a time, each a vector of examples: transforms
the data, multiplies sixteen pairs of matrices in registers, and transforms back; all of that lies in the second-level
cache. The gradient of the data is the same with the taps turned. Weights have direct kernels for their gradient.
"""

from __future__ import annotations

from minpy.backends.native.convolutions.correlation import Code, Correlation
from minpy.backends.native.convolutions.data_gradient import data_correlation
from minpy.backends.native.convolutions.emitter import Emitter, Integer
from minpy.backends.native.convolutions.forward import forward_correlation
from minpy.backends.native.convolutions.problem import Problem
from minpy.backends.native.convolutions.registers import Processor, VectorsOfBatch

__all__ = ["covers_winograd", "transformed_shape", "winograd", "winograd_cycles", "winograd_weight"]

# Vectors of tiles that meet a number of the weight, and at least so many vectors of tiles at a time.
VECTORS, LEAST = 3, 6

# Channels and filters from which the fewer products pay for the transforms.
CHANNELS = 16

# Cycles of the transforms of a tile, for each channel and filter, and of a kernel.
DATA, RESULT, KERNEL = 90, 60, 30

# What each of the four rows (columns) of a transformed tile of data is: the sum or difference of two of its four.
ROWS = ((0, 2, "fsub"), (1, 2, "fadd"), (2, 1, "fsub"), (1, 3, "fsub"))


def covers_winograd(problem: Problem, what: str) -> bool:
    """Tell whether a convolution, or the gradient of its data, can be done so, with many enough channels to gain."""
    ones = problem.stride == problem.dilate == (1, 1) and problem.groups == 1
    fits = problem.kernel == (3, 3) and max(problem.pad) <= 2 and not problem.pool
    return what != "weight" and ones and fits and min(problem.channels, problem.filters) >= CHANNELS


def _correlation(problem: Problem, what: str) -> Correlation:
    return forward_correlation(problem) if what == "result" else data_correlation(problem)


def _filters(processor: Processor) -> int:
    """Return how many filters are done together."""
    return 8 if processor.registers >= 32 else 4


def transformed_shape(problem: Problem, what: str, processor: Processor) -> tuple[int, ...]:
    """Return the shape of a transformed weight: (products, blocks of filters, channels, filters of a block)."""
    one, filters = _correlation(problem, what), _filters(processor)
    return (16, -(-one.results // filters), one.terms, filters)


def winograd_cycles(problem: Problem, what: str, processor: Processor) -> float:
    """Return the cycles that it takes, as the model of `choosing` counts them."""
    one = _correlation(problem, what)
    width = VectorsOfBatch.of(problem.batch, processor.lanes(problem.itemsize))
    tiles = -(-one.target[0] // 2) * -(-one.target[1] // 2) * width.count
    filters = _filters(processor)
    blocks = -(-one.results // filters)
    step = max(filters * VECTORS, VECTORS + filters / 2) + 1
    products = 16 * blocks * one.terms * -(-tiles // VECTORS) * step
    return products + tiles * (DATA * one.terms + RESULT * one.results) + KERNEL * one.terms * one.results


def winograd_weight(problem: Problem, what: str, processor: Processor) -> Code:
    """Return the function that transforms a weight: G g G'. Its pointers: the weight, and what it becomes."""
    one, filters = _correlation(problem, what), _filters(processor)
    code = Emitter(one.element, filters)
    _, blocks, terms, _ = transformed_shape(problem, what, processor)
    (rows,), (columns,) = one.rows, one.columns
    half = code.number(0.5)

    def thirds(values: list[str]) -> list[str]:
        """Return G times a column of three."""
        outer = code.arithmetic("fmul", code.arithmetic("fadd", values[0], values[2]), half)
        inner = code.arithmetic("fmul", values[1], half)
        between = [code.arithmetic(operation, outer, inner) for operation in ("fadd", "fsub")]
        return [values[0], *between, values[2]]

    with code.loop("%begin", "%end") as block, code.loop(0, terms) as term:
        first = code.multiply(block.index, filters)
        source = code.at("%p0", code.multiply(term.index, one.weight.term))
        places = [
            code.multiply(code.smaller(code.add(first, f), one.results - 1), one.weight.result) for f in range(filters)
        ]
        kernel = []
        for i in range(3):
            row = []
            for j in range(3):
                tap = (rows.tap + i * rows.tap_step) * one.weight.row
                tap += (columns.tap + j * columns.tap_step) * one.weight.column
                value = "poison"
                for f, place in enumerate(places):
                    number = code.load_element(source, code.add(place, tap))
                    value = code.put(f"insertelement {code.vector} {value}, {code.element} {number}, i64 {f}")
                row.append(value)
            kernel.append(row)
        down = [thirds([kernel[i][j] for i in range(3)]) for j in range(3)]
        for i in range(4):
            for j, value in enumerate(thirds([down[k][i] for k in range(3)])):
                place = code.add(code.multiply(code.add(block.index, (4 * i + j) * blocks), terms), term.index)
                code.store(value, "%p1", code.multiply(place, filters))
    return Code(code.body(2), ("weight",), ("transformed",), blocks, 0)


def winograd(problem: Problem, what: str, processor: Processor) -> Code:
    """Return the function that does a convolution ('result'), or the gradient of its data ('data').

    Its pointers: data (the gradient of the sums), the transformed weight, bias and residual where there are some; the
    result (the gradient of the data).
    """
    return _Writer(_correlation(problem, what), transformed_shape(problem, what, processor), processor).write()


class _Writer:
    def __init__(self, what: Correlation, weight: tuple[int, ...], processor: Processor) -> None:
        self.what = what
        _, self.blocks, self.terms, self.filters = weight
        itemsize = 8 if what.element == "double" else 4
        self.lanes = VectorsOfBatch.of(what.batch, processor.lanes(itemsize))
        self.code = Emitter(what.element, self.lanes.width)
        self.tiles = (-(-what.target[0] // 2), -(-what.target[1] // 2))
        self.all = self.tiles[0] * self.tiles[1] * self.lanes.count
        room = processor.second_cache // (16 * (self.terms + self.blocks * self.filters) * processor.vector_bytes)
        together = max(LEAST, room // VECTORS * VECTORS)
        self.together = min(together, self.all)
        self.vectors = min(VECTORS, self.together)
        self.reads = ("data", "weight", *(name for name in ("bias", "residual") if getattr(what, name)))
        self.pointer = {name: f"%p{number}" for number, name in enumerate((*self.reads, "result"))}
        # Scratch memory: zeros, results that do not exist, transformed data, products.
        width = self.lanes.width
        self.nowhere = width
        self.data = 2 * width
        self.products = self.data + 16 * self.terms * self.together * width
        self.scratch = (self.products + 16 * self.blocks * self.filters * self.together * width) * itemsize

    def write(self) -> Code:
        code = self.code
        passes = -(-self.all // self.together)
        code.store(code.zero, "%scratch")
        with code.loop("%begin", "%end") as one:
            first = code.smaller(code.multiply(one.index, self.together), self.all - self.together)
            with code.loop(0, self.together) as tile:
                self.write_data(code.add(first, tile.index), tile.index)
            self.write_products()
            with code.loop(0, self.together) as tile:
                self.write_results(code.add(first, tile.index), tile.index)
        return Code(code.body(len(self.pointer)), self.reads, ("result",), passes, self.scratch)

    def tile_of(self, number: Integer) -> tuple[Integer, Integer, Integer]:
        """Return (row, column, where along the batch) of a tile: those of its first result."""
        code = self.code
        place = code.quotient(number, self.lanes.count)
        start = self.lanes.start(code, code.remainder(number, self.lanes.count))
        row, column = code.quotient(place, self.tiles[1]), code.remainder(place, self.tiles[1])
        return code.multiply(row, 2), code.multiply(column, 2), start

    def write_data(self, number: Integer, tile: Integer) -> None:
        """Write B' d B of all channels of a tile."""
        code, what, width = self.code, self.what, self.lanes.width
        height, length = what.source
        row, column, start = self.tile_of(number)
        row, column = code.add(row, what.rows[0].offset), code.add(column, what.columns[0].offset)

        def existing(first: Integer, count: int) -> list[str]:
            places = [code.add(first, k) for k in range(4)]
            return [code.both(code.compare("sge", p, 0), code.compare("slt", p, count)) for p in places]

        rows, columns = existing(row, height), existing(column, length)
        exists = [[code.both(one, other) for other in columns] for one in rows]
        place = code.add(code.multiply(code.add(code.multiply(row, length), column), what.batch), start)
        image = code.at(self.pointer["data"], place)
        room = code.at("%scratch", self.data, code.multiply(tile, width))
        with code.loop(0, self.terms) as channel:
            source = code.at(image, code.multiply(channel.index, height * length * what.batch))
            found = []
            for i in range(4):
                line = []
                for j in range(4):
                    pointer = code.at(source, (i * length + j) * what.batch)
                    pointer = code.put(f"select i1 {exists[i][j]}, ptr {pointer}, ptr %scratch")
                    line.append(code.load(pointer))
                found.append(line)
            down = [[code.arithmetic(how, found[a][j], found[b][j]) for j in range(4)] for a, b, how in ROWS]
            target = code.at(room, code.multiply(channel.index, self.together * width))
            for i, line in enumerate(down):
                for j, (a, b, how) in enumerate(ROWS):
                    value = code.arithmetic(how, line[a], line[b])
                    code.store(value, target, (4 * i + j) * self.terms * self.together * width)

    def write_products(self) -> None:
        """Write the products of sixteen pairs of matrices."""
        code, width, filters = self.code, self.lanes.width, self.filters
        columns = self.together * width
        with (
            code.loop(0, 16) as product,
            code.loop(0, self.blocks) as block,
            code.loop(0, -(-self.together // self.vectors)) as some,
        ):
            first = code.smaller(code.multiply(some.index, self.vectors), self.together - self.vectors)
            first = code.multiply(first, width)
            data = code.at("%scratch", self.data, code.multiply(product.index, self.terms * columns), first)
            place = code.add(code.multiply(product.index, self.blocks), block.index)
            weight = code.at(self.pointer["weight"], code.multiply(place, self.terms * filters))
            with code.loop(0, self.terms, [code.zero] * (filters * self.vectors)) as channel:
                source = code.at(data, code.multiply(channel.index, columns))
                vectors = [code.load(source, v * width) for v in range(self.vectors)]
                numbers = code.at(weight, code.multiply(channel.index, filters))
                sums = []
                for f in range(filters):
                    number = code.broadcast(numbers, f)
                    for v, vector in enumerate(vectors):
                        sums.append(code.add_product(channel.values[f * self.vectors + v], vector, number))
                channel.values = sums
            target = code.at("%scratch", self.products, code.multiply(place, filters * columns), first)
            for place_of, value in enumerate(channel.values):
                f, v = divmod(place_of, self.vectors)
                code.store(value, target, f * columns + v * width)

    def write_results(self, number: Integer, tile: Integer) -> None:
        """Write A' m A of all filters of a tile, and what is fused."""
        code, what, width = self.code, self.what, self.lanes.width
        height, length = what.target
        columns = self.together * width
        row, column, start = self.tile_of(number)
        rows = [code.compare("slt", code.add(row, i), height) for i in range(2)]
        lines = [code.compare("slt", code.add(column, j), length) for j in range(2)]
        exists = [[code.both(one, other) for other in lines] for one in rows]
        place = code.add(code.multiply(code.add(code.multiply(row, length), column), what.batch), start)
        nowhere = code.at("%scratch", self.nowhere)
        products = code.at("%scratch", self.products, code.multiply(tile, width))
        apart = self.blocks * self.filters * columns

        def halves(values: list[str]) -> list[str]:
            """Return A' times a column of four."""
            upper = code.arithmetic("fadd", code.arithmetic("fadd", values[0], values[1]), values[2])
            lower = code.arithmetic("fsub", code.arithmetic("fsub", values[1], values[2]), values[3])
            return [upper, lower]

        with code.loop(0, what.results) as f:
            source = code.at(products, code.multiply(f.index, columns))
            down = []
            for j in range(4):
                down.append(halves([code.load(source, (4 * i + j) * apart) for i in range(4)]))
            bias = code.broadcast(self.pointer["bias"], f.index) if what.bias else ""
            target = code.add(place, code.multiply(f.index, height * length * what.batch))
            for i in range(2):
                for j, value in enumerate(halves([down[k][i] for k in range(4)])):
                    at = code.add(target, (i * length + j) * what.batch)
                    if bias:
                        value = code.arithmetic("fadd", value, bias)
                    if what.residual:
                        pointer = code.at(self.pointer["residual"], at)
                        pointer = code.put(f"select i1 {exists[i][j]}, ptr {pointer}, ptr {nowhere}")
                        value = code.arithmetic("fadd", value, code.load(pointer))
                    value = code.relu(value) if what.relu else value
                    pointer = code.at(self.pointer["result"], at)
                    code.store(value, code.put(f"select i1 {exists[i][j]}, ptr {pointer}, ptr {nowhere}"))
