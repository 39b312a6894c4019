"""Shapes, dtypes and storage types as a library's functions infer them, merged with what is known.

A library sees an unknown shape as one without axes, and an unknown length as 4294967295. What it leaves so stays
unknown: a result without axes is a scalar's only if everything that it was inferred from is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from minpy.core.base_operator import DTypes, PartialShape, Shapes
from minpy.core.errors import ArgumentError, DTypeError, LibraryError, ShapeError
from minpy.library.abi import DTYPE_NUMBERS, DTYPES, UNKNOWN_DIMENSION, UNKNOWN_TYPE
from minpy.library.binary import MOST_DIMENSIONS, Binary, OperatorEntry, Texts
from minpy.ops.inference.partial_shapes import UNKNOWN, complete, is_known, merge_shapes, show_shape

__all__ = ["Inference", "plain"]

_MOST_ELEMENTS = 1 << 48
# Numbers that MXNet has for dtypes which the interface does not know.
_OTHER_DTYPES = {7: "bool", 8: "int16", 9: "uint16", 10: "uint32", 11: "uint64", 12: "bfloat16"}


class Inference:
    """The inference functions of an operator with its attributes."""

    def __init__(
        self, binary: Binary, entry: OperatorEntry, texts: Texts, names: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self._binary = binary
        self._entry = entry
        self._texts = texts
        self._names = tuple(names)
        self._outputs = tuple(outputs)

    def shapes(self, inputs: Shapes) -> tuple[list[PartialShape], list[PartialShape]]:
        """Return what is known of the shapes of inputs and outputs.

        A library that refuses while not everything is known is asked again when it is.
        """
        all_known = complete(inputs)
        unknown: list[PartialShape] = [None] * len(self._outputs)
        if inputs and all(shape is None for shape in inputs):
            return list(inputs), unknown
        for shape, name in zip(inputs, self._names, strict=True):
            if shape is not None and max(shape, default=0) >= UNKNOWN_DIMENSION:
                raise ShapeError(f"{self._entry.name}: {name} has shape {shape}; lengths are 32-bit numbers here.")
            if shape is not None and len(shape) > MOST_DIMENSIONS:
                raise ShapeError(
                    f"{self._entry.name}: {name} has {len(shape)} dimensions; native operators take {MOST_DIMENSIONS} "
                    "at most."
                )
        try:
            input_lengths, output_lengths = self._binary.infer_shape(
                self._entry, self._texts, [shape or () for shape in inputs], len(self._outputs)
            )
        except ShapeError:
            if all_known:
                raise
            return list(inputs), unknown
        merged = [
            self._merge(name, shape, _read(lengths, shape is not None))
            for name, shape, lengths in zip(self._names, inputs, input_lengths, strict=True)
        ]
        inferred = [_read(result, all_known) for result in output_lengths]
        for name, shape in zip(self._outputs, inferred, strict=True):
            if shape is not None and math.prod(map(abs, shape)) > _MOST_ELEMENTS:
                raise ShapeError(
                    f"{self._entry.name}: inferShape gives {name} the shape {show_shape(shape)}, for "
                    f"{self._listed(inputs)}: that is more than any memory."
                )
            if all_known and not is_known(shape):
                raise ShapeError(
                    f"{self._entry.name}: inferShape leaves the shape of {name} at {show_shape(shape)}, for "
                    f"{self._listed(inputs)}. It has to set every length of every output."
                )
        return merged, inferred

    def _merge(self, name: str, shape: PartialShape, inferred: PartialShape) -> PartialShape:
        try:
            return merge_shapes(shape, inferred)
        except ShapeError:
            raise ShapeError(
                f"{self._entry.name}: inferShape says that {name} has shape {show_shape(inferred)}; the one given has "
                f"{show_shape(shape)}."
            ) from None

    def _listed(self, shapes: Shapes) -> str:
        pairs = zip(self._names, shapes, strict=True)
        return ", ".join(f"{name} {show_shape(shape)}" for name, shape in pairs) or "no inputs"

    def dtypes(self, inputs: DTypes) -> tuple[list[numpy.dtype | None], list[numpy.dtype | None]]:
        """Return what is known of the dtypes of inputs and outputs, which libraries know as numbers."""
        all_known = all(dtype is not None for dtype in inputs)
        numbers = [UNKNOWN_TYPE if dtype is None else DTYPE_NUMBERS[dtype] for dtype in inputs]
        try:
            input_numbers, output_numbers = self._binary.infer_numbers(
                "inferType", self._entry, self._texts, numbers, len(self._outputs)
            )
        except DTypeError:
            if all_known:
                raise
            return list(inputs), [None] * len(self._outputs)
        merged = []
        for name, own, number in zip(self._names, inputs, input_numbers, strict=True):
            expected = self._dtype(name, number)
            if own is not None and expected is not None and own != expected:
                raise DTypeError(
                    f"{self._entry.name}: inferType says that {name} is {expected.name}; the one given is {own.name}. "
                    f"Cast it first, with astype({expected.name!r})."
                )
            merged.append(expected if own is None else own)
        inferred = [self._dtype(name, number) for name, number in zip(self._outputs, output_numbers, strict=True)]
        for name, dtype in zip(self._outputs, inferred, strict=True):
            if all_known and dtype is None:
                shown = ", ".join(
                    f"{name} {dtype.name}" for name, dtype in zip(self._names, merged, strict=True) if dtype
                )
                raise DTypeError(
                    f"{self._entry.name}: inferType leaves the dtype of {name} open (-1), for {shown or 'no inputs'}. "
                    "It has to set every output's."
                )
        return merged, inferred

    def _dtype(self, name: str, number: int) -> numpy.dtype | None:
        if number == UNKNOWN_TYPE:
            return None
        if not 0 <= number < len(DTYPES):
            shown = f"{number} ({_OTHER_DTYPES[number]})" if number in _OTHER_DTYPES else str(number)
            raise DTypeError(
                f"{self._entry.name}: inferType gives {name} the dtype number {shown}; those of the interface are 0 "
                f"to {len(DTYPES) - 1}: {', '.join(dtype.name for dtype in DTYPES)}."
            )
        return DTYPES[number]

    def require_dense(self) -> None:
        """Raise `ArgumentError` if the operator takes sparse inputs or returns sparse outputs."""
        if self._entry.infer_storage is None:
            return
        inputs, outputs = self._binary.infer_numbers(
            "inferSType", self._entry, self._texts, [0] * len(self._names), len(self._outputs)
        )
        for names, types in ((self._names, inputs), (self._outputs, outputs)):
            for name, number in zip(names, types, strict=True):
                if number == UNKNOWN_TYPE:
                    raise LibraryError(f"{self._entry.name}: inferSType leaves the storage type of {name} open.")
                if number != 0:
                    kind = {1: "row_sparse", 2: "csr"}.get(number, f"of storage type {number}")
                    raise ArgumentError(
                        f"{self._entry.name}: inferSType says that {name} is {kind}; minpy's arrays are dense, and so "
                        "are the inputs and outputs of native operators."
                    )


def _read(lengths: Sequence[int], was_known: bool) -> PartialShape:
    if not lengths and not was_known:
        return None
    return tuple([UNKNOWN if length == UNKNOWN_DIMENSION else length for length in lengths])


def plain(dtype: Any) -> numpy.dtype:
    """Return a dtype in the byte order of the machine."""
    return numpy.dtype(dtype).newbyteorder("=")
