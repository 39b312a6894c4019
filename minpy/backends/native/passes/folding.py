"""Batch norms of inference, folded into the weights of convolutions.

What multiplies the channels of a convolution, and depends on parameters alone as its weight does, multiplies the weight
instead: that is done once, before. What is added in between is multiplied, too. The numbers differ by rounding.
"""

from __future__ import annotations

from minpy.backends.native.language import Array, Call, Elementwise, Routine, Step, viewed
from minpy.backends.native.passes.rewriting import Notes, Rewriter, readers, remade
from minpy.backends.native.preparing import made_of_parameters
from minpy.backends.native.translating.lowerings.convolving import Convolving

__all__ = ["folded"]


def folded(routine: Routine, notes: Notes) -> Routine:
    """Return a routine in which factors of channels are in the weights, where these are parameters.

    Parameters
    ----------
    notes : Notes
        Is told what was done.
    """
    if len(routine.parts) > 1 or not any(array.is_parameter for array in routine.parts[0].inputs):
        return routine
    found = _Found(routine)
    if not found.factors:
        return routine
    notes.add("multiply after a convolution: in its weight", len(found.factors))
    return Rewriter(routine, found.rewrite, notes).rebuilt()


class _Found:
    """The convolutions of a routine whose channels are multiplied.

    Attributes
    ----------
    factors : dict of Array to Array
        What a convolution gives, and what is to multiply its weight: a number for each channel.
    sums : dict of Array to (Array, Array)
        What is added to a convolution, or taken from it, and then multiplied: the sum, what is added, and the factor.
    products : dict of Array to Array
        What multiplies convolutions, and what stands there then: the convolution, or the sum.
    """

    def __init__(self, routine: Routine) -> None:
        self.part = routine.parts[0]
        self.fixed = {output for step in made_of_parameters(self.part) for output in step.outputs}
        self.fixed.update(array for array in self.part.inputs if array.is_parameter)
        self.readers = readers(routine)
        self.factors: dict[Array, Array] = {}
        self.sums: dict[Array, tuple[Array, Array]] = {}
        self.products: dict[Array, Array] = {}
        for step in self.part.steps:
            if isinstance(step, Elementwise) and step.function == "multiply":
                self._find(step)

    def _find(self, step: Elementwise) -> None:
        for one, factor in (step.operands, step.operands[::-1]):
            if not self._multiplies(one, factor, step.output):
                continue
            sums: dict[Array, tuple[Array, Array]] = {}
            inner = one
            while (found := self._sum(inner)) is not None:
                sums[inner] = found[1], factor
                inner = found[0]
            if self._is_convolution(inner):
                self.factors[inner] = factor
                self.sums.update(sums)
                self.products[step.output] = one
                return

    def _multiplies(self, array: Array, factor: Array, product: Array) -> bool:
        """Tell whether a factor is a number for each channel, axis 1, made of parameters, of what nobody else reads."""
        if factor not in self.fixed or array.shape != product.shape or len(self.readers.get(array, ())) != 1:
            return False
        if len(array.shape) < 3:
            return False
        lengths = (1,) * (len(array.shape) - len(factor.shape)) + factor.shape
        return lengths[1] == array.shape[1] and factor.size == array.shape[1]

    def _is_convolution(self, array: Array) -> bool:
        step = array.step
        if not isinstance(step, Call) or not isinstance(step.function, Convolving) or step.function.what != "result":
            return False
        weight = step.operands[1]
        fits = array not in self.factors and len(self.readers.get(array, ())) == 1
        return fits and weight in self.fixed and weight.dtype == array.dtype

    def _sum(self, array: Array) -> tuple[Array, Array] | None:
        """Return (an array, what is added to it or taken from it and is made of parameters) for their sum."""
        step = array.step
        if isinstance(step, Elementwise) and step.function in ("add", "subtract"):
            pairs = [step.operands] if step.function == "subtract" else [step.operands, step.operands[::-1]]
            for one, other in pairs:
                if other in self.fixed and one.shape == array.shape and len(self.readers.get(one, ())) == 1:
                    return one, other
        return None

    def rewrite(self, step: Step, rewriter: Rewriter) -> Array | None:
        """Return what stands for a step that was found: the rule of a rewriter."""
        if rewriter.is_made or len(step.outputs) != 1:
            return None
        before = rewriter.former(step.outputs[0])
        if before in self.factors:
            first, weight = step.operands
            factor = _column(rewriter.current(self.factors[before]), len(weight.shape))
            scaled = Elementwise.of("multiply", weight, factor, origin=step.origin)
            return remade(step, (first, scaled)).outputs[0]
        if before in self.sums:
            assert isinstance(step, Elementwise)
            added, factor = map(rewriter.current, self.sums[before])
            other = next(one for one in step.operands if one is added)
            scaled = Elementwise.of("multiply", other, factor, origin=step.origin)
            operands = [scaled if one is other else one for one in step.operands]
            return Elementwise.of(step.function, *operands, origin=step.origin)
        if before in self.products:
            return rewriter.current(self.products[before])
        return None


def _column(factor: Array, axes: int) -> Array:
    """Return numbers of channels as a view that multiplies a weight (filters, channels, ...)."""
    return viewed(factor, lambda values: values.reshape(-1, *(1,) * (axes - 1)))
