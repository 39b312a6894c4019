"""Copies of views are computed in their own order directly; sums of padded slices become one assembly."""

from __future__ import annotations

import math

import numpy

from minpy.backends.native.language import (
    Array,
    Assembly,
    Elementwise,
    Layout,
    Step,
    View,
    constant,
    uniform_value,
)
from minpy.backends.native.language.layout_algebra import composed, expanded
from minpy.backends.native.passes.rewriting import Rewriter

__all__ = ["assembled_once", "copies_computed"]

# Elements of an array for which pieces are looked at one by one, to see if they overlap.
LARGEST_ASSEMBLY = 1 << 24


def copies_computed(step: Step, rewriter: Rewriter) -> Array | None:
    """Return a copy of a view, if nothing else reads what it shows, as computed in the order of the copy directly."""
    if not isinstance(step, Elementwise) or step.function != "copy":
        return None
    view = step.operands[0].step
    if not isinstance(view, View) or view.output.size > view.operands[0].size:
        return None
    root = view.operands[0]
    before = root.step
    if not isinstance(before, Elementwise) or before.function == "copy" or not rewriter.is_of_this_part(root):
        return None
    if not rewriter.is_read_once(root) or not rewriter.is_read_once(view.output):
        return None
    if any(
        isinstance(operand.root.step, Elementwise) and rewriter.is_of_this_part(operand.root)
        for operand in before.operands
    ):
        return None
    operands = [_slice(operand, view, root) for operand in before.operands]
    if any(operand is None for operand in operands):
        return None
    slices = [operand for operand in operands if operand is not None]
    result = Elementwise.of(before.function, *slices, dtype=before.dtype, origin=before.origin + step.origin)
    if result.shape != step.output.shape:
        return None
    rewriter.notes.add("what is copied in another order is computed in it")
    return result


def _slice(operand: Array, view: View, root: Array) -> Array | None:
    """Return the view of an operand that a slice of the output reads; axes along which it is constant have length 1."""
    if not operand.shape:
        return operand
    inside = Layout(operand.layout.offset, expanded(operand, root.shape))
    layout = composed(view.shape, view.layout, root.shape, inside)
    if layout is None:
        return None
    shape = tuple(length if stride else 1 for length, stride in zip(view.shape, layout.strides, strict=True))
    return View.of(operand.root, shape, layout)


def assembled_once(step: Step, rewriter: Rewriter) -> Array | None:
    """Return a sum of padded slices that do not overlap as one assembly of them."""
    if not isinstance(step, Elementwise) or step.function != "add":
        return None
    first, second = (operand.step for operand in step.operands)
    if not isinstance(first, Assembly) or not isinstance(second, Assembly) or first.shape != second.shape:
        return None
    if not all(_is_padded(assembly) and rewriter.is_read_once(assembly.output) for assembly in (first, second)):
        return None
    covered = numpy.zeros(math.prod(first.shape), numpy.bool_)
    for assembly in (first, second):
        covered_by_one = numpy.zeros_like(covered)
        for operand, piece in zip(assembly.operands, assembly.pieces, strict=True):
            target = covered_by_one[piece.layout.offset :]
            numpy.lib.stride_tricks.as_strided(target, operand.shape, piece.layout.strides)[...] = True
        if (covered & covered_by_one).any():
            return None
        covered |= covered_by_one
    rewriter.notes.add("sums of padded slices are put together once")
    pieces = [_plus_zero(operand) for operand in (*first.operands, *second.operands)]
    layouts = [piece.layout for piece in (*first.pieces, *second.pieces)]
    fill = None if covered.all() else first.fill
    return Assembly.of(pieces, first.shape, layouts, fill, origin=first.origin + second.origin + step.origin)


def _is_padded(assembly: Assembly) -> bool:
    fill = assembly.fill
    return (
        fill is not None and fill == 0 and not numpy.signbit(float(fill)) and assembly.output.size <= LARGEST_ASSEMBLY
    )


def _plus_zero(array: Array) -> Array:
    """Return a piece with the 0 of others added: -0.0 becomes 0.0."""
    if array.dtype.kind != "f":
        return array
    step = array.step
    if isinstance(step, Elementwise) and step.function == "add" and any(map(_is_plus_zero, step.operands)):
        return array
    return Elementwise.of("add", array, constant(0.0, array.dtype))


def _is_plus_zero(array: Array) -> bool:
    value = uniform_value(array)
    return value is not None and value == 0 and not numpy.signbit(value)
