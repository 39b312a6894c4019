"""Random programs in NumPy, of all dtypes that are compiled, and random networks of operators, with gradients.

A program is source text: it runs as it is, and as an operator of a user's inside a graph. What rounds differently in
another implementation (sums, products of matrices, `exp`, ...) is `inexact`; from it nothing is made that would jump,
such as a comparison, so that answers can be compared. How far they may be apart is found by running the program with
every inexact function a few units in the last place off.
"""

from __future__ import annotations

import itertools
import linecache
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minpy import customop, sym
from minpy.core import Operator

__all__ = ["RandomGraph", "RandomNetwork", "assert_same", "random_graph", "random_network"]

FLOATS = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
DTYPES = ("float32",) * 6 + ("float64",) * 3 + SIGNED + UNSIGNED + ("bool", "bool")
SPECIALS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 1.0, -1.0, 3e38]

_LARGEST = 4000
_counter = itertools.count()


class Value(NamedTuple):
    """A variable of a program that is being written."""

    name: str
    array: np.ndarray
    exact: bool


class RandomGraph:
    """A program: a function of arrays that returns a tuple of arrays.

    Attributes
    ----------
    seed : int
    source : str
    function : callable
    arrays : list of numpy.ndarray
        Its arguments.
    expected : tuple of numpy.ndarray
        What it returns.
    """

    def __init__(self, seed: int, source: str, arrays: list[np.ndarray]) -> None:
        self.seed = seed
        self.source = source
        self.arrays = arrays
        self.function = _function(source, np)
        self.expected = self._run(self.function)

    def __repr__(self) -> str:
        given = "\n".join(f"# a{i}: {array.dtype} {array.shape}" for i, array in enumerate(self.arrays))
        return f"# seed {self.seed}\n{given}\n{self.source}"

    def _run(self, function: Callable[..., Any]) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return tuple(np.asarray(one) for one in function(*(array.copy() for array in self.arrays)))

    @property
    def operator(self) -> Operator:
        """The program as an operator of a user's."""
        made: Operator = customop("numpy")(self.function)
        made.outputs = [f"output{position}" for position in range(len(self.expected))]
        given, gives = [one.dtype for one in self.arrays], [one.dtype for one in self.expected]
        made.def_infer_type(lambda inputs, outputs: (given, gives))
        return made

    def margins(self) -> list[np.ndarray]:
        """Return how far answers may be apart, for each element of each."""
        noisy = re.sub(r"(\w+)\*\*(\d+)(?![\d.])", r"np.power(\1,\2)", self.source)  # so that it goes through `np`, too
        runs = [self._run(_function(noisy, _Noisy(seed))) for seed in range(3)]
        found = []
        for position, wanted in enumerate(self.expected):
            if wanted.dtype.kind != "f":
                found.append(np.zeros(wanted.shape))
                continue
            with np.errstate(all="ignore"):
                apart = np.max([np.abs(run[position] - wanted) for run in runs], axis=0, initial=0)
                apart = np.where(np.isfinite(apart), apart, 0)
                unsure = np.any([np.isnan(run[position]) & ~np.isnan(wanted) for run in runs], axis=0)
                largest = np.max(apart, initial=0)
                own = 4 * np.finfo(wanted.dtype).eps * np.where(np.isfinite(wanted), np.abs(wanted), 0)
            # Elements are of one kind: where one is off, others of the same answer may be, too.
            found.append(np.where(unsure, np.inf, 16 * apart + 4 * largest + own + 1e-42))
        return found


def assert_same(graph: RandomGraph, answers: Sequence[Any], exactly: bool = False) -> None:
    """Hold answers against those of a program."""
    assert len(answers) == len(graph.expected)
    margins = [np.zeros(one.shape) for one in graph.expected] if exactly else graph.margins()
    for got, wanted, margin in zip(answers, graph.expected, margins, strict=True):
        got = np.asarray(got)
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), f"{got.dtype} {got.shape}\n{graph!r}"
        if wanted.dtype.kind != "f":
            np.testing.assert_array_equal(got, wanted, err_msg=repr(graph))
            continue
        finite = np.isfinite(wanted)
        with np.errstate(all="ignore"):
            wrong = finite & ~(np.abs(got.astype("float64") - wanted) <= margin)
        sure = ~finite & (margin < np.inf)
        np.testing.assert_array_equal(got[sure], wanted[sure], err_msg=repr(graph))
        assert not wrong.any(), f"{got[wrong][:5]} for {wanted[wrong][:5]}, margin {margin[wrong][:5]}\n{graph!r}"


def _overflows(array: Any, **keywords: Any) -> Any:
    """Tell whether factors, in some order, have a product on the way that is infinite, or no normal number."""
    limits = np.finfo(array.dtype if array.dtype.kind == "f" else "float64")
    with np.errstate(all="ignore"):
        sizes = np.log2(np.abs(array.astype("float64")))
    sizes = np.where(np.isfinite(sizes), sizes, 0)
    above, below = np.sum(np.maximum(sizes, 0), **keywords), np.sum(np.minimum(sizes, 0), **keywords)
    return (above >= limits.maxexp - 1) | (below <= limits.minexp + 1)


class _Noisy:
    """NumPy with every inexact function a few units in the last place off."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.RandomState(seed)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if name not in INEXACT:
            return function

        def call(*arguments: Any, **keywords: Any) -> Any:
            answer = function(*arguments, **keywords)
            if answer.dtype.kind != "f":
                return answer
            if name == "prod":
                answer = np.where(_overflows(*arguments, **keywords), np.nan, answer)[()].astype(answer.dtype)
            noise = self._random.uniform(-4, 4, np.shape(answer)) * np.finfo(answer.dtype).eps
            return (answer * (1 + noise)).astype(answer.dtype)[()]

        return call


def _function(source: str, numpy: Any) -> Any:
    name = f"<random graph {next(_counter)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": numpy}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


# -- what programs are made of -----------------------------------------------------------------------------------------

_INEXACT_NAMES = (
    "exp expm1 log log1p log2 tanh sin cos arctan sinh cosh arcsinh cbrt exp2 log10 arctan2 hypot logaddexp power sum "
    "mean prod var std matmul dot inner tensordot einsum outer average trace linalg cumsum cumprod"
)
INEXACT = set(_INEXACT_NAMES.split())
# What warns of arrays without elements.
WARNING = ("mean", "var", "std")
# By what they take: 'f' floats, 'x' exact floats, 'n' numbers, 'e' exact numbers, 'i' integers, 'b' booleans,
# 'w' booleans or integers, 'a' anything.
UNARY = {
    "f": "np.exp(np.minimum({0},5)) np.expm1(np.minimum({0},5)) np.log(np.abs({0})+0.5) np.log1p(np.abs({0})) "
    "np.tanh({0}) np.sin({0}) np.cos({0}) np.arctan({0}) np.sqrt(np.abs({0})) np.cbrt({0}) np.exp2(np.clip({0},-8,8)) "
    "1/(1+np.exp(-{0})) np.reciprocal(np.abs({0})+1) np.log10(np.abs({0})+1) np.arcsinh({0}) np.nan_to_num({0}) "
    "{0}*np.float32(0.3) {0}/3 0.7-{0} np.float64(0.7)*{0} np.degrees({0}) np.power(np.abs({0})+0.1,1.5) {0}**0.5",
    "x": "np.floor({0}) np.ceil({0}) np.trunc({0}) np.rint({0}) np.sign({0}) np.round({0},1) np.isnan({0}) "
    "np.isfinite({0}) np.isinf({0}) np.signbit({0}) {0}>0 {0}<=0.5 {0}%1.5 {0}//2 np.fmod({0},1.25) "
    "np.clip(np.nan_to_num({0}),-100,100).astype('int32') np.clip(np.nan_to_num({0}),0,100).astype('uint8')",
    "n": "-({0}+0) np.abs({0}) np.square({0}) {0}*2 {0}+1 {0}**2 {0}**3 np.clip({0},1,3) np.positive({0}) {0}*1.5 "
    "{0}.astype('float32') {0}.astype('float64') np.maximum({0},1) np.fmin({0},2) {0}/2 {0}.copy()",
    "e": "{0}!=0 {0}==1 {0}.astype(bool) np.logical_not({0}) {0}>1",
    "i": "{0}<<1 {0}>>1 ~{0} {0}//3 {0}%5 {0}^3 {0}&6 {0}|1 {0}.astype('int64') {0}.astype('int8') "
    "{0}.astype('uint16') np.sqrt(np.abs({0})) np.exp(-np.abs({0}/64)) np.sign({0}.astype('int32'))",
    "b": "~{0} np.logical_not({0}) {0}+0 {0}*1.5 {0}.astype('int16') {0}|True {0}+{0} np.maximum({0},False)",
}
BINARY = {
    "nn": "{0}+{1} {0}-{1} {0}*{1} {0}/{1} np.maximum({0},{1}) np.minimum({0},{1}) np.fmax({0},{1})",
    "ff": "np.arctan2({0},{1}) np.hypot({0},{1}) np.power(np.abs({0})+0.1,np.clip({1},-3,3)) np.logaddexp({0},{1}) "
    "np.copysign({0},np.abs({1})+1)",
    "ee": "{0}>{1} {0}>={1} {0}<{1} {0}<={1} {0}=={1} {0}!={1} np.logical_and({0},{1}) np.logical_or({0},{1}) "
    "{0}//{1} {0}%{1} np.copysign({0},{1}) np.logical_xor({0},{1})",
    "ww": "{0}&{1} {0}|{1} {0}^{1}",
}
SELECTIONS = (
    "np.where({c},{0},{1}) np.where({c},{0},0) np.where({c},1.5,{1}) np.clip({0},-1,1) np.where({c},{0},np.float32(2))"
)
REDUCTIONS = {
    "n": "sum mean max min var std ptp",
    "e": "any all argmax argmin",
    "s": "prod",
}
VIEWS = (
    "{0}.T {0}[::-1] {0}[...,::-1] {0}[1:] {0}[...,:-1] {0}[None] {0}[...,None] {0}[0] {0}[...,-1] {0}[::2] "
    "{0}.ravel() {0}.reshape(-1) np.squeeze({0}) np.flip({0}) np.swapaxes({0},0,-1) np.moveaxis({0},0,-1) "
    "np.expand_dims({0},1) "
    "np.broadcast_to({0},(2,)+{0}.shape) {0}.T.reshape(-1) {0}.swapaxes(0,-1).copy() np.rot90({0}) np.diagonal({0}) "
    "np.split({0},2)[1] np.array_split({0},3,axis=-1)[1] {0}.reshape({0}.shape[::-1]) np.atleast_2d({0}) {0}[...,1:2]"
)
ASSEMBLIES = (
    "np.concatenate([{0},{0}]) np.concatenate([{0},{0}*2],axis=-1) np.stack([{0},{0}],axis=-1) np.pad({0},1) "
    "np.roll({0},1) np.roll({0},-1,axis=0) np.tile({0},2) np.repeat({0},2,axis=-1) np.triu({0}) np.tril({0},-1) "
    "np.diff({0},axis=-1) np.hstack([{0},{0}]) np.vstack([{0},{0}]) np.pad({0},((1,0),)*{0}.ndim,mode='edge') "
    "np.pad({0},1,constant_values=2) np.append({0},1) np.zeros_like({0}) np.diag(np.ravel({0})[:4]) "
    "np.full_like({0},3) np.pad({0},((1,1),)*{0}.ndim,mode='reflect') np.concatenate([{0}[...,1:],{0}[...,:1]],axis=-1)"
)
GATHERS = (
    "np.take({0},{1}) np.take({0},{1},axis=0,mode='clip') np.take({0},{1},axis=-1,mode='wrap') {0}[{1}] {0}[...,{1}] "
    "{0}[{1},{1}] {0}[{1}%len({0})] {0}[...,{1}%{0}.shape[-1],:] {0}[{1}%2,0] {0}[{1}%2,:,{1}%2] {0}[1:][{1}%2] "
    "np.take_along_axis({0},{1}%{0}.shape[-1],-1) {0}[[0,-1]] {0}[:,[1,0,1]] {0}[np.array([[0,1],[1,0]])] "
    "{0}.T[{1}%2] {0}[None,{1}%2]"
)
SCANS = "np.cumsum({0},axis=-1) np.cumsum({0}) np.cumsum({0},axis=0) np.cumprod({0},axis=-1)"
STORES = (
    "{n}[[0,-1]]=2",
    "{n}[...,[0,0]]=3",
    "np.add.at({n},[0,0],1)",
    "{n}[np.array([[0],[1]]),[0,1]]=1",
    "{n}[0]=1",
    "{n}[...,0]=0",
    "{n}[1:]={n}[:1]",
    "{n}[...,::2]*=2",
    "{n}+=1",
    "{n}[{n}=={n}]=1",
)
PRODUCTS = (
    "np.matmul({0},{1}) np.dot({0},{1}) np.inner({0},{1}) np.tensordot({0},{1},1) np.outer({0},{1}) "
    "np.einsum('ij,jk->ik',{0},{1}) np.einsum('ij,ij->i',{0},{1}) np.einsum('ij->j',{0}) np.einsum('ii->i',{0}) "
    "np.matmul({0},{1}.T) np.matmul({0}[None],{1}) np.einsum('ij,kj->ki',{0},{1}) np.einsum('...i,...i->...',{0},{1})"
)
COMPOSED = (
    "{0}-np.max({0},axis=-1,keepdims=True)",
    (
        "np.exp({0}-np.max({0},axis=-1,keepdims=True))/"
        "np.sum(np.exp({0}-np.max({0},axis=-1,keepdims=True)),axis=-1,keepdims=True)"
    ),
    "({0}-np.mean({0},axis=-1,keepdims=True))/np.sqrt(np.var({0},axis=-1,keepdims=True)+0.1)",
    "np.log(np.sum(np.exp(np.clip({0},-9,9)),axis=0))",
    "{0}*(1/(1+np.exp(-{0})))",
)
SHAPES = [
    (3, 4),
    (4, 4),
    (2, 3, 4),
    (4,),
    (3, 1),
    (1, 4),
    (2, 1, 4),
    (5, 3),
    (1,),
    (),
    (6, 7),
    (17,),
    (2, 33),
    (8, 2, 3),
]


def _fits(value: Value, kind: str) -> bool:
    of = value.array.dtype.kind
    if kind == "p":  # how a product adds up, and with that what comes of infinities, is left to those who make it
        return of in "iu" or (of == "f" and bool(np.isfinite(value.array).all()))
    if kind in "xe" and not value.exact:
        return False
    return (
        of
        in {"f": "f", "x": "f", "n": "fiu", "e": "fiub", "i": "iu", "b": "b", "w": "iub", "s": "f", "a": "fiub"}[kind]
    )


class _Writer:
    """Writes the lines of one program."""

    def __init__(self, seed: int, special: bool) -> None:
        self.choose = random.Random(seed)
        self.numbers = np.random.RandomState(seed)
        self.special = special
        self.values: list[Value] = []
        self.lines: list[str] = []
        self.arrays: list[np.ndarray] = []

    def argument(self) -> None:
        shape = self.choose.choice(SHAPES if not self.arrays or self.choose.random() < 0.4 else [self.arrays[0].shape])
        dtype = np.dtype(self.choose.choice(DTYPES))
        if dtype.kind == "f":
            array = np.asarray(self.numbers.normal(scale=1.5, size=shape)).astype(dtype)
            if self.special and array.ndim:
                some = self.numbers.uniform(size=shape) < 0.2
                with np.errstate(all="ignore"):
                    array[some] = np.array(SPECIALS).astype(dtype)[self.numbers.randint(0, len(SPECIALS), some.sum())]
        else:
            low = 0 if dtype.kind in "ub" else -5
            array = np.asarray(self.numbers.randint(low, 2 if dtype.kind == "b" else 7, shape)).astype(dtype)
        self.arrays.append(array)
        self.values.append(Value(f"a{len(self.arrays) - 1}", array, True))

    def pick(self, kind: str) -> Value | None:
        fitting = [value for value in self.values if _fits(value, kind)]
        return self.choose.choice(fitting[-4:] + fitting) if fitting else None

    def candidate(self) -> tuple[str, list[Value]] | None:
        """Return an expression, and the values in it."""
        choose = self.choose
        what = choose.choice(["unary"] * 6 + ["binary"] * 6 + ["select", "reduce", "reduce", "reduce", "view", "view"]
                             + ["view", "assemble", "product", "product", "compose", "gather", "scan"])  # fmt: skip
        if what == "unary":
            kind = choose.choice(list(UNARY))
            return self.filled(choose.choice(UNARY[kind].split()), kind)
        if what == "binary":
            kinds = choose.choice(list(BINARY))
            return self.filled(choose.choice(BINARY[kinds].split()), *kinds)
        if what == "select":
            condition = self.pick("b")
            if condition is None or not condition.exact:
                return None
            found = self.filled(choose.choice(SELECTIONS.split()).replace("{c}", condition.name), "a", "a")
            return None if found is None else (found[0], [*found[1], condition])
        if what == "reduce":
            kind = choose.choice("nnne" + "s")
            name = choose.choice(REDUCTIONS[kind].split())
            value = self.pick("f" if kind == "s" or name in ("var", "std") else kind)
            if value is None:
                return None
            axes = ["None"] + [str(axis) for axis in range(-value.array.ndim, value.array.ndim)]
            if value.array.ndim > 1 and not name.startswith("arg"):
                axes.append("(0,-1)")
            keep = ",keepdims=True" if choose.random() < 0.4 else ""
            return f"np.{name}({value.name},axis={choose.choice(axes)}{keep})", [value]
        if what == "view":
            return self.filled(choose.choice(VIEWS.split()), "a")
        if what == "assemble":
            return self.filled(choose.choice(ASSEMBLIES.split()), "a")
        if what == "gather":
            return self.filled(choose.choice(GATHERS.split()), "a", "i")
        if what == "scan":
            return self.filled(choose.choice(SCANS.split()), "f")
        if what == "product":
            return self.filled(choose.choice(PRODUCTS.split()), "p", "p")
        return self.filled(choose.choice(COMPOSED), "f")

    def filled(self, template: str, *kinds: str) -> tuple[str, list[Value]] | None:
        values = [self.pick(kind) for kind in kinds]
        if any(value is None for value in values):
            return None
        return template.format(*(value.name for value in values)), values  # type: ignore[union-attr, return-value]

    def line(self) -> None:
        found = self.candidate()
        if found is None:
            return
        expression, values = found
        if any(not value.array.size for value in values) and any(f"np.{name}(" in expression for name in WARNING):
            return
        scope = {"np": np, **{value.name: value.array for value in self.values}}
        try:
            with np.errstate(all="ignore"):
                array = eval(expression, scope)
        except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError):
            return
        array = np.asarray(array)
        if array.size > _LARGEST or array.dtype.kind not in "fiub" or array.dtype.itemsize not in (1, 2, 4, 8):
            return
        if array.dtype == np.float16 or array.ndim > 5:
            return
        if array.dtype.kind == "f" and array.size and not self.special:
            with np.errstate(all="ignore"):
                if not np.isfinite(array).all() or np.abs(array).max() > 1e6:
                    return
        exact = all(value.exact for value in values) and (
            array.dtype.kind != "f"
            or not (expression.endswith("**3") or any(f"np.{name}(" in expression for name in INEXACT))
        )
        if exact is False and array.dtype.kind != "f":
            exact = all(value.exact or value.array.dtype.kind != "f" for value in values)
            if not exact:
                return
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        array = array.copy()
        if self.choose.random() < 0.06 and array.ndim and exact:
            self.store(name, array)
        else:
            self.values.append(Value(name, array, exact))

    def store(self, name: str, array: np.ndarray) -> None:
        """Add a line that changes a new array."""
        own = f"{name}_"
        lines = [f"{own} = {name}.copy()", self.choose.choice(STORES).format(n=own)]
        scope: dict[str, Any] = {"np": np, name: array}
        try:
            with np.errstate(all="ignore"):
                exec("\n".join(lines), scope)
        except (ValueError, TypeError, IndexError, OverflowError):
            self.values.append(Value(name, array, True))
            return
        self.lines += lines
        self.values.append(Value(own, scope[own], True))


def random_graph(seed: int, length: int = 12, special: bool = False) -> RandomGraph:
    """Return a random program.

    Parameters
    ----------
    seed : int
    length : int
        About how many lines it has.
    special : bool
        Whether there are infinities, what is no number, signed zeros and denormal numbers among its arguments.
    """
    writer = _Writer(seed, special)
    for _ in range(writer.choose.randint(1, 3)):
        writer.argument()
    for _ in range(20 * length):
        writer.line()
        if len(writer.lines) >= length:
            break
    made = [value for value in writer.values if not value.name.startswith("a")] or writer.values
    heads = list(dict.fromkeys([*(one.name for one in made[-2:]), writer.choose.choice(made).name]))
    names = ", ".join(f"a{position}" for position in range(len(writer.arrays)))
    body = "".join(f"    {line}\n" for line in writer.lines)
    source = f"def program({names}):\n{body}    return {', '.join(heads)},\n"
    return RandomGraph(seed, source, writer.arrays)


# -- networks ----------------------------------------------------------------------------------------------------------


class RandomNetwork(NamedTuple):
    """A symbol of operators, with arrays for its arguments: all of one floating-point dtype."""

    symbol: Any
    arrays: dict[str, np.ndarray]


_ONE = [
    "sym.tanh({0})", "sym.sigmoid({0})", "sym.exp(sym.clip({0}, -3, 3))", "sym.square({0})", "sym.abs({0})",
    "sym.log(sym.abs({0}) + 0.5)", "sym.sqrt(sym.abs({0}) + 0.1)", "{0} * 1.5", "2 - {0}", "{0} / 3", "{0} ** 2",
    "sym.relu({0})", "sym.Activation({0}, act_type='softrelu')", "sym.LeakyReLU({0}, act_type='elu')",
    "sym.softmax({0})", "sym.log_softmax({0}, axis=-1)", "sym.L2Normalization({0})", "sym.smooth_l1({0}, scalar=1.0)",
    "sym.transpose({0})", "sym.flip({0}, axis=1)", "sym.expand_dims({0}, axis=1)", "sym.reshape({0}, shape=(-1, 2))",
    "sym.sum({0}, axis=0, keepdims=True)", "sym.mean({0}, axis=1, keepdims=True)",
    "sym.max({0}, axis=1, keepdims=True)", "sym.slice_axis({0}, axis=1, begin=0, end=2)",
    "sym.tile({0}, reps=(1, 2))", "sym.reverse({0}, axis=0)",
    "sym.broadcast_axis(sym.sum({0}, axis=1, keepdims=True), axis=1, size=4)", "sym.clip({0}, -0.8, 0.9)",
    "sym.LeakyReLU({0}, act_type='gelu')", "sym.BlockGrad({0}) * {0}", "sym.norm({0}, axis=1, keepdims=True)",
    "sym.FullyConnected({0}, num_hidden=4, flatten=True)", "sym.softsign({0})", "sym.hard_sigmoid({0})",
    "sym.repeat({0}, repeats=2, axis=1)", "sym.cumsum({0}, axis=1)", "sym.sort({0}, axis=1)", "sym.erf({0})",
    "sym.take({0}, sym.arange(start=-1, stop=4), axis=0, mode='wrap')", "sym.take({0}, sym.arange(3), axis=1)",
    "sym.pick({0}, sym.sum({0} * 0, axis=1), axis=1, keepdims=True)", "sym.SequenceReverse({0})",
    "sym.gather_nd({0}, sym.reshape(sym.arange(start=-1, stop=1), shape=(1, 2)))",
    "sym.reshape(sym.Pooling(sym.reshape({0}, shape=(1, 1, -1, 2)), kernel=(2, 2), pad=(1, 1)), shape=(-1, 3))",
    "sym.LayerNorm({0}, sym.var('g{n}'), sym.var('b{n}'))",
]  # fmt: skip
_TWO = [
    "sym.broadcast_add({0}, {1})", "sym.broadcast_mul({0}, {1})", "sym.broadcast_sub({0}, {1})",
    "sym.broadcast_div({0}, sym.abs({1}) + 1)", "sym.broadcast_maximum({0}, {1})", "sym.broadcast_hypot({0}, {1} + 3)",
    "sym.concat({0}, {1}, dim=1)", "sym.stack({0}, {1}, axis=1)", "sym.dot({0}, {1}, transpose_b=True)",
    "sym.where(sym.broadcast_greater({0}, {1}), {0}, {1})",
    "sym.batch_dot(sym.expand_dims({0}, axis=0), sym.expand_dims({1}, axis=0), transpose_b=True)",
    "sym.elemwise_add({0}, {1})", "sym.dot({0}, {1})",
]  # fmt: skip


def random_network(seed: int, length: int = 8, dtype: str = "float64") -> RandomNetwork:
    """Return a random symbol, which has gradients with respect to all arguments."""
    choose, numbers = random.Random(seed), np.random.RandomState(seed)
    shape = choose.choice([(3, 4), (4, 4), (2, 6)])
    values = [sym.var("x"), sym.var("y")]
    known = {"x": shape, "y": shape}
    made = 0
    for attempt in range(12 * length):
        template = choose.choice(_ONE * 2 + _TWO * 4)
        chosen = [choose.choice(values[-3:]), choose.choice(values)]
        scope = {"sym": sym, "a": chosen[0], "b": chosen[1]}
        try:
            value = eval(template.format("a", "b", n=attempt), scope)
            arguments, (found,), _ = value.infer_shape(
                **{k: v for k, v in known.items() if k in value.list_arguments()}
            )
        except Exception:
            continue
        if len(found) not in (2, 3) or int(np.prod(found)) > 400 or None in (arguments, found):
            continue
        values.append(value)
        made += 1
        if made == length:
            break
    symbol = sym.Group([values[-1], choose.choice(values[1:])]) if made else values[0] + values[1]
    shapes, _, _ = symbol.infer_shape(**{k: v for k, v in known.items() if k in symbol.list_arguments()})
    arrays = {
        name: numbers.normal(size=one).astype(dtype) for name, one in zip(symbol.list_arguments(), shapes, strict=True)
    }
    return RandomNetwork(symbol, arrays)
