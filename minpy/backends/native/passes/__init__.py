"""Passes: rewrite rules over routines, listed and printed.

Each says what it matches. All change routines through one rewriter (`rewriting`), which notes what was done, merges
equal steps, and removes dead ones. Routines are well formed before and after each, see
`routine_verifier.verify`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from minpy.backends.native.convolutions import rewriting_convolutions
from minpy.backends.native.language import Array, Routine, Step
from minpy.backends.native.language.routine_verifier import verify
from minpy.backends.native.passes import (
    algebra,
    batching,
    layout_motion,
    product_accumulation,
    product_orientation,
    rematerialization,
    slice_hoisting,
)
from minpy.backends.native.passes.patterns import Row
from minpy.backends.native.passes.rewriting import Notes, Rewriter, Rule

__all__ = ["PASSES", "Notes", "Pass", "describe", "optimized"]


@dataclass(frozen=True)
class Pass:
    """One rewriting of routines."""

    name: str
    matches: str  # what it looks for, and what it does with it
    # What it has in the place of single steps. Passes with rules, one after the other, run as one.
    rule: Rule | None = None
    run: Callable[[Routine, Notes], Routine] | None = None  # what rewrites a routine as a whole
    rows: tuple[Row, ...] = ()  # the patterns that it is a table of, if it is one
    # Functions and kinds of steps: where none of them is, there is nothing to do. Empty: of any.
    among: tuple[str, ...] = ()

    def concerns(self, routine: Routine) -> bool:
        """Tell whether a routine has steps that it looks at."""
        return not self.among or any(
            step.kind in self.among or getattr(step, "function", None) in self.among for step in routine.steps
        )


def _transposed(routine: Routine, notes: Notes) -> Routine:
    """Return the routine with transposes moved, if fewer bytes are read out of order then."""
    fewest = layout_motion.strided_bytes(routine)
    if not fewest:
        return routine
    best = routine, Notes()
    for preference in layout_motion.PREFERENCES:
        own_notes = Notes()
        rule = _either(layout_motion.transposed_later(preference), algebra.rewrite)
        result = Rewriter(routine, rule, own_notes).rebuilt()
        nbytes = layout_motion.strided_bytes(result)
        if nbytes < fewest:
            fewest, best = nbytes, (result, own_notes)
    notes.counts.update(best[1].counts)
    # Operands of reductions now have their axes in another order: vectors take the shapes that fit there.
    return best[0] if best[0] is routine else layout_motion.reshaped_later(best[0], notes)


PASSES: tuple[Pass, ...] = (
    Pass("algebra", "functions of elements that are the same", algebra.rewrite, rows=algebra.ROWS),
    Pass(
        "convolutions",
        "convolutions: by generated kernels, in their layouts",
        rewriting_convolutions.generated,
        among=("call",),
    ),
    Pass(
        "broadcast later",
        "functions of what is broadcast: computed before",
        layout_motion.broadcast_later,
        among=("view",),
    ),
    Pass(
        "reshaped later",
        "functions and reductions of reshaped arrays: reshaped after",
        run=layout_motion.reshaped_later,
        among=("view",),
    ),
    Pass("transposed later", "functions and reductions of transposed arrays: transposed after", run=_transposed),
    Pass(
        "copied once",
        "copies of views of what is computed: computed as it is to lie",
        slice_hoisting.copies_computed,
        among=("copy",),
    ),
    Pass(
        "batched",
        "products by one matrix: one product of all rows",
        run=batching.batched,
        among=("product",),
    ),
    Pass("assemblies", "sums of padded slices: put together once", slice_hoisting.assembled_once, among=("view",)),
    Pass("accumulation", "acc + a @ b: one product", product_accumulation.accumulated, among=("product",)),
    Pass(
        "turned once",
        "transposed matrices that many small products read: copied",
        run=product_accumulation.turned_once,
        among=("product",),
    ),
    Pass(
        "oriented",
        "products of which BLAS does the transposed one faster: that, and what is between, features first",
        run=product_orientation.oriented,
        among=("product",),
    ),
    Pass("recomputed", "cheap values that only backward needs: computed there", run=rematerialization.recomputed),
)


def optimized(routine: Routine, fast_math: bool = False, notes: Notes | None = None) -> Routine:
    """Return a routine that computes the same with less work.

    `routine`: it stays as it is. `fast_math`: whether to allow what is exact for real numbers only, such as products
    with reciprocals of constants. `notes`: is told what was done.

    It has the same inputs, and what it gives is the same up to the order in which sums are taken.

    Examples
    --------
    >>> import numpy
    >>> from minpy.backends.native.language import Elementwise, Part, constant
    >>> x = Array((2, 3), numpy.dtype("float32"), name="x")
    >>> y = Elementwise.of("multiply", x, constant(1, "float32"))
    >>> z = Elementwise.of("divide", Elementwise.of("exp", y), constant(4, "float32"))
    >>> steps = [y.step, z.step.operands[0].step, z.step]
    >>> notes = Notes()
    >>> print(optimized(Routine([Part("forward", [x], steps, [z])]), notes=notes))
    forward(x: float32 (2, 3)):
        %0: float32 (2, 3) = exp(x)
        %1: float32 (2, 3) = multiply(%0, 0.25)
        return %1
    >>> print(notes)
         1 multiply(x, 1) -> x
         1 x / 2**n -> x * 2**-n
    """
    notes = Notes() if notes is None else notes
    checked = os.environ.get("MINPY_VERIFY") == "1"
    rules: list[Pass] = []
    if checked:
        verify(routine)
    for entry in (*PASSES, None):
        if entry is not None and not entry.concerns(routine):
            continue
        if entry is not None and entry.rule is not None:
            rules.append(entry)
            continue
        if rules:
            merged = [entry.rule for entry in rules if entry.rule is not None]
            if fast_math and rules[0].rule is algebra.rewrite:
                merged.append(algebra.divided_fast)
            routine = Rewriter(routine, _either(*merged), notes).rebuilt()
            if checked:
                verify(routine, ", ".join(merged_pass.name for merged_pass in rules))
            rules = []
        if entry is not None and entry.run is not None:
            routine = entry.run(routine, notes)
            if checked:
                verify(routine, entry.name)
    return routine


def _either(*rules: Rule) -> Rule:
    """Return a rule that is the first that matches."""

    def rule(step: Step, rewriter: Rewriter) -> Array | None:
        for choice in rules:
            result = choice(step, rewriter)
            if result is not None and result is not step.outputs[0]:
                return result
        return None

    return rule


def describe() -> str:
    """Return the passes as text, in the order in which they run.

    Examples
    --------
    >>> print(describe())  # doctest: +ELLIPSIS
    algebra: functions of elements that are the same
        multiply(x, 1) -> x  (biuf)  -0.0 * 1 is -0.0; true and true
    ...
    """
    lines = []
    for entry in PASSES:
        lines.append(f"{entry.name}: {entry.matches}")
        for row in entry.rows:
            because = f"  {row.because}" if row.because else ""
            lines.append(f"    {row}  ({row.kinds}){because}")
    return "\n".join(lines)
