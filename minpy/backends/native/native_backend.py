"""The backend `native`: programs as machine code, where llvmlite is installed."""

from __future__ import annotations

from minpy.backends.protocol import Declined, Executable, Facts, LoweredGraph, Options

__all__ = ["NativeBackend"]


class NativeBackend:
    """Takes programs that have run twice, forward and backward, and that are more than calls of operators."""

    name = "native"
    after_rounds = 2

    def compile(self, steps: LoweredGraph, facts: Facts, options: Options) -> Executable | Declined:
        """Return the program as machine code: of the persistent cache, or made by LLVM."""
        from minpy.backends.native.machine import llvm  # nobody whose programs run once needs it

        if not llvm.available():
            return Declined("llvmlite is not installed: pip install llvmlite")
        if steps.grad_req and not facts.covers_backward:
            return Declined("its backward part has not run yet", ask_again=True)
        from minpy.backends.native.caching.plan_cache import native_program
        from minpy.graph.schedule import Steps

        assert isinstance(steps, Steps)
        options.make_room()
        program = native_program(steps, facts, fast_math=options.fast_math, parameters=options.parameters)
        return program if program.plan.functions else Declined("all that it does is to call operators as they are")
