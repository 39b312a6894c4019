"""Random programs of views, stores, reductions and products, as functions of two arrays whose lengths are open."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["SIZES", "program", "samples"]

# The lengths (n, k) that programs have to run for while they are made.
SIZES = ((5, 3), (8, 6), (16, 20))

_SLICES = "1: :-1 ::2 ::-1 -2: :3 1:-1 :-2 2::2 -1:0:-1 1:4 -3:-1 : 0:1".split()  # noqa: SIM905
_INDICES = "0 -1 1 None ... [0,2,1] [1,1]".split()  # noqa: SIM905
_UNARY = """
{0}.T
{0}.reshape(-1)
{0}.reshape({0}.shape[0], -1)
{0}.reshape(-1, {0}.shape[-1])
{0}.reshape({0}.size)
np.ravel({0}, order='F')
np.transpose({0})
np.swapaxes({0}, 0, -1)
np.moveaxis({0}, 0, -1)
np.expand_dims({0}, {axis})
{0}[..., None]
np.flip({0}, {axis})
np.flip({0})
np.roll({0}, {int}, axis={axis})
np.roll({0}, {int})
np.rot90({0})
np.tile({0}, 2)
np.repeat({0}, 2, axis={axis})
np.pad({0}, 1)
np.pad({0}, 2, mode='edge')
np.pad({0}, 1, mode='reflect')
np.pad({0}, 2, mode='wrap')
np.tril({0})
np.triu({0}, 1)
np.diagonal({0})
np.diag({0})
np.trace({0})
np.atleast_2d({0})
np.broadcast_to({0}, (2, *{0}.shape))
np.array_split({0}, 3)[1]
np.split({0}, [1, 3])[{two}]
np.sum({0}, axis={axis})
np.sum({0}, axis={axis}, keepdims=True)
np.max({0}, axis={axis}, keepdims=True)
np.mean({0}, axis={axis})
np.cumsum({0}, axis={axis})
np.sum({0})
np.diff({0}, axis={axis})
np.sort({0}, axis={axis})
np.argmax({0}, axis={axis})
np.take({0}, [0, 1], axis={axis})
np.take_along_axis({0}, np.argsort({0}, axis={axis}), axis={axis})
np.zeros_like({0})
np.ones({0}.shape)
np.arange({0}.shape[-1]) * 0.1
np.tanh({0})
{0} * 0.5
{0} - np.mean({0})
{0} / {0}.shape[0]
np.where({0} > 0, {0}, 0.1)
{0}[{slice}]
{0}[..., {slice}]
{0}[{slice}, {slice}]
{0}[{index}]
{0}[:, {index}]
{0}[{index}, {slice}]
{0}[{slice}, {index}]
""".strip().splitlines()
_BINARY = """
{0} + {1}
{0} * {1}
{0} - {1}
np.maximum({0}, {1})
np.where({0} > {1}, {0}, {1})
{0} @ {1}
{0} @ {1}.T
np.dot({0}, {1})
np.outer({0}, {1}) * 0.1
np.tensordot({0}, {1}, axes=1)
np.einsum('ij,ij->i', {0}, {1})
np.einsum('ij,kj->ik', {0}, {1})
np.concatenate([{0}, {1}])
np.concatenate([{0}, {1}], axis=-1)
np.stack([{0}, {1}])
np.hstack([{0}, {1}])
np.column_stack([{0}, {1}])
np.append({0}, {1})
np.broadcast_to({0}, {1}.shape)
np.convolve({0}[0], {1}[0])
np.interp({0}, np.sort({1}[0]), {1}[0])
np.searchsorted(np.sort({0}[0]), {1})
""".strip().splitlines()
_STORES = """
[{slice}] = {1}
[{slice}] = 0.5
[..., {slice}] = {1}
[..., {slice}] *= 2
[{slice}, {slice}] = 0.25
[{slice}, {slice}] += {1}[{slice}, {slice}]
[0] = {1}
[-1] = {1}[0]
[:, 1] = {1}[:, 0]
[..., -1] = 0.0
[[0, 2]] = {1}[:2]
[:, [0, 1]] += 1.0
[...] = {1}
[np.arange({0}.shape[0]), 0] = 2.0
[{0} > 0.3] = 0.0
""".strip().splitlines()


def samples(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of that shape."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((n, k)), generator.standard_normal((n, k))


def program(seed: int, length: int = 6) -> tuple[str, Callable[..., Any]]:
    """Return (the source of a random program, its function)."""
    generator = np.random.default_rng(seed)
    scopes = [dict(zip("xy", samples(*size), strict=True)) | {"np": np} for size in SIZES]
    lines: list[str] = []
    names = ["x", "y"]
    attempts = 0
    while len(lines) < length and attempts < 400:
        attempts += 1
        statement, name = _statement(generator, names, len(lines))
        trial = [dict(scope) for scope in scopes]
        if not _runs(statement, trial, name):
            continue
        scopes = trial
        lines += statement
        names.append(name)
    source = "def program(x, y):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {names[-1]}\n"
    namespace: dict[str, Any] = {"np": np}
    exec(source, namespace)
    return source, namespace["program"]


def _statement(generator: np.random.Generator, names: list[str], count: int) -> tuple[list[str], str]:
    def pick(choices: Any) -> Any:
        return choices[int(generator.integers(len(choices)))]

    def written(template: str, *operands: str) -> str:
        for field, choices in (("slice", _SLICES), ("index", _INDICES)):
            while f"{{{field}}}" in template:
                template = template.replace(f"{{{field}}}", pick(choices), 1)
        return template.format(*operands, axis=pick([0, -1]), int=pick([-2, 1, 3]), two=pick([0, 1, 2]))

    name = f"v{count}"
    recent = names[-3:] if generator.random() < 0.7 else names
    first, second = pick(recent), pick(names)
    kind = generator.random()
    if kind < 0.5:
        return [f"{name} = {written(pick(_UNARY), first)}"], name
    if kind < 0.72:
        return [f"{name} = {written(pick(_BINARY), first, second)}"], name
    return [f"{name} = {first}.copy()", f"{name}{written(pick(_STORES), name, second)}"], name


def _runs(statement: list[str], scopes: list[dict[str, Any]], name: str) -> bool:
    ranks = set()
    for scope in scopes:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec("\n".join(statement), scope)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                return False
        value = np.asarray(scope[name])
        if value.size > 20000 or not value.size or value.ndim > 4 or not np.isfinite(value).all():
            return False
        if np.abs(value).max() > 1e4:
            return False
        ranks.add(value.ndim)
    return len(ranks) == 1
