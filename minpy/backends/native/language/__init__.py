"""The step language: what a program computes on arrays of known shape and dtype, below operators.

Five kinds of step are enough.

========== =============================================== ==========================================================
kind       steps                                           what they are
========== =============================================== ==========================================================
elementwise `Elementwise`                                  a function of `functions.ELEMENTWISE` of every element
reduce     `Reduce`                                        a function of `functions.REDUCTIONS` along axes
view       `View`, `Assembly`                              no computing: what is read, or written, through layouts
product    `Product`                                       products of matrices, one or a stack of them
call       `Call`                                          a Python function; it may have a native form of its own
========== =============================================== ==========================================================

An `Array` is given once, by an input, a constant or a step, and never changes. All but views are C-contiguous in memory
of their own. A `Routine` is one or several parts, run one after the other: forward, then backward, which reads what
forward has left.
"""

from minpy.backends.native.language.array_and_step import (
    Array,
    Layout,
    Origin,
    Step,
    constant,
    contiguous,
    uniform_value,
)
from minpy.backends.native.language.call_step import Call, NativeFunction, arrays_of, filled
from minpy.backends.native.language.compute_steps import Elementwise, Product, Reduce
from minpy.backends.native.language.routine import Part, Routine
from minpy.backends.native.language.view_steps import Assembly, Piece, View, broadcast, viewed

__all__ = [
    "Array",
    "Assembly",
    "Call",
    "Elementwise",
    "Layout",
    "NativeFunction",
    "Origin",
    "Part",
    "Piece",
    "Product",
    "Reduce",
    "Routine",
    "Step",
    "View",
    "arrays_of",
    "broadcast",
    "constant",
    "contiguous",
    "filled",
    "uniform_value",
    "viewed",
]
