"""Programs: graphs lowered for given shapes into flat lists of calls on raw arrays, run by the best backend there is.

The first run goes step by step, and notes the layout of every result and whose memory it shares. With these facts
backends are asked for executables (`minpy.backends.protocol`): one of Python's source at once, one of native code when
the program has run twice. The call that asks waits for it, while those of other threads go on as before.

A program can serve several calls at once: what one call uses, memory and operators with states, is its
`ExecutionContext`.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Collection, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy

from minpy.backends import registry, release_heap
from minpy.backends.explanation import Explanation
from minpy.backends.protocol import ArrayFact, Context, Declined, Executable, Facts, Options
from minpy.backends.switches import FALLBACK, CompileWarning, is_enabled, keeps_bits, selection
from minpy.core import aligned
from minpy.graph.allowance import Allowance
from minpy.graph.array_facts import as_contiguous, fact_of_input, noting
from minpy.graph.call_states import StepFunctions
from minpy.graph.interpreting import Observer, Releasing, interpret, place_of
from minpy.graph.ir import Node
from minpy.graph.locating import located
from minpy.graph.locking import lock
from minpy.graph.outputs import returned
from minpy.graph.schedule import Steps

__all__ = ["MOST_IDLE", "ExecutionContext", "Program"]

# More contexts than this do not wait for calls to come: each holds the buffers of a call.
MOST_IDLE = 64
# Bytes of results from which the memory that rounds leave is worth giving back to the system.
_LARGE = 16 << 20
_ONLY_FALLBACK = (FALLBACK,)


class ExecutionContext:
    """What one call of a program uses: the functions of steps, and what an executable computes in."""

    __slots__ = ("_contexts", "began", "bound", "executable", "forward", "functions", "gradient_places", "selection")

    def __init__(self, is_first: bool) -> None:
        self.functions = StepFunctions(is_first)
        self.executable: Executable | None = None  # what runs; None: the interpreter
        self.bound: Context | None = None  # the executable's own context
        self.forward: Callable[..., Any] | None = None  # its forward part
        # The backends for which this holds; None while a better one may take over.
        self.selection: tuple[str, ...] | None = None
        self.began = 0.0  # when the part began that runs without the best one
        # The positions of the variables whose gradients may be computed in arrays of leaves; None: nobody has asked.
        self.gradient_places: tuple[int, ...] | None = None
        self._contexts: dict[Executable, Context] = {}

    def bind(self, executable: Executable, is_fallback: bool) -> None:
        """Let an executable run; others than the fallback take the place of what has computed here before."""
        bound = self._contexts.get(executable)
        if bound is None:
            bound = executable.context(self.functions.call_of)
            if is_fallback:
                self._contexts[executable] = bound
            else:
                self._contexts = {executable: bound}
        self.executable, self.bound, self.forward = executable, bound, bound.forward
        self.gradient_places = None

    def let_go(self) -> None:
        """Free what executables compute in: it is made again if it is needed."""
        self.executable = self.bound = self.forward = self.selection = None
        self._contexts = {}


class Program:
    """A lowered graph that can be run."""

    def __init__(
        self,
        steps: Steps,
        compiles: bool = True,
        fast_math: bool = False,
        parameters: Collection[int] = (),
        allowance: Allowance | None = None,
        is_free: bool = True,
    ) -> None:
        self.steps = steps
        self.compiles = compiles  # whether other backends than the fallback may run it
        self.fast_math = fast_math  # whether compiled code may contract a product and the sum that it goes into
        # Positions of variables that are parameters: compiled inference keeps what is made of them.
        self.parameters = parameters
        self.facts: Facts | None = None  # what the first runs have told
        # What programs may cost, shared by those of a graph: without it backends but the fallback compile none.
        self.allowance = Allowance() if allowance is None else allowance
        self.is_free = is_free  # whether it is one of the first programs of the graph, which cost nothing
        self.rounds = 0  # how often it has run, forward and, if it has a backward part, backward
        # What backends have made of it, or why they have not, by name.
        self._outcomes: dict[str, Executable | Declined] = {}
        self._compiling: int | None = None  # the process in which a thread waits for a backend
        # Those that no call uses: the latest is taken, and given back, as long as these are not `MOST_IDLE`.
        self.idle: list[ExecutionContext] = []
        self._kinds: list[tuple[tuple[int, ...], Any, bool, bool, bool]] = []
        self._ones: list[numpy.ndarray] = []
        self._has_first = False

    # -- calls without a backward -------------------------------------------------------------------------------------

    def run(self, arrays: Sequence[numpy.ndarray], out: Sequence[numpy.ndarray | None] = ()) -> Sequence[Any]:
        """Return the outputs for arrays of all variables that are not captured; nothing is kept for a backward.

        `out`: where outputs may be computed, one or None for each: it is returned where that was done.

        Raises ArgumentMismatch before anything is done, if outputs are to take the places of variables (`stored`) and
        cannot.
        """
        steps = self.steps
        if steps.refers:
            arrays = steps.with_captured(arrays)
        try:
            context = self.idle.pop()
        except IndexError:
            context = self.new_context()
        try:
            forward = context.forward
            if context.selection is not selection.backends:
                forward = self.bind(context)
            if forward is None:
                outputs, _ = self.interpret_forward(context, arrays)
            else:
                outputs = forward(arrays, out)[0] if out else forward(arrays)[0]
            if not steps.grad_req:
                self.rounds += 1
                if context.selection is None:
                    self.note_round(context)
            return outputs
        except Exception as error:
            raise self.located(error)  # noqa: B904 - its traceback goes on to that of `error`
        finally:
            if context.functions.releasing:
                context.functions.release()
            if len(self.idle) < MOST_IDLE:
                self.idle.append(context)

    def run_with_gradients(self, arrays: Sequence[numpy.ndarray]) -> tuple[Sequence[Any], list[numpy.ndarray]] | None:
        """Return the outputs, and the gradients of their sum that are requested, by one call there and back.

        `arrays`: of all variables that are not captured.

        The gradients are new arrays, in the order of `steps.grad_req`. None where no executable has both parts: then it
        takes a frame.
        """
        steps = self.steps
        if steps.refers:
            arrays = steps.with_captured(arrays)
        try:
            context = self.idle.pop()
        except IndexError:
            context = self.new_context()
        try:
            forward = context.forward
            if context.selection is not selection.backends:
                forward = self.bind(context)
            backward = None if forward is None else context.bound.backward  # type: ignore[union-attr]
            if forward is None or backward is None:
                return None
            outputs, (arrays, residuals, _) = forward(arrays)
            gradients: list[numpy.ndarray] = []
            targets: list[numpy.ndarray] = []
            for shape, dtype, is_small, is_reached, is_written in self._kinds or self._requested_kinds():
                array = numpy.empty(shape, dtype) if is_small else aligned.empty(shape, dtype)
                gradients.append(array)
                if is_reached:
                    targets.append(array)
                if not is_written:
                    array.fill(0)
            backward(arrays, self._ones or self.ones, targets, residuals)
            self.rounds += 1
            if context.selection is None:
                self.note_round(context)
            return outputs, gradients
        except Exception as error:
            raise self.located(error)  # noqa: B904 - its traceback goes on to that of `error`
        finally:
            if context.functions.releasing:
                context.functions.release()
            if len(self.idle) < MOST_IDLE:
                self.idle.append(context)

    def _requested_kinds(self) -> list[tuple[tuple[int, ...], Any, bool, bool, bool]]:
        """Return what arrays gradients take, in the order of `steps.grad_req`.

        A row has the shape, the dtype, whether the array is small, whether a gradient reaches it, and whether that is
        written, and not added to zeros.
        """
        assert self.facts is not None
        steps, kinds = self.steps, []
        assert [node for node in steps.grad_req if node in steps.gradients] == [*steps.gradients]
        for node, request in steps.grad_req.items():
            fact = self.facts[node]
            shape, is_reached = fact.shape or (), node in steps.gradients
            is_small = math.prod(shape) * fact.dtype.itemsize < aligned.LARGE
            kinds.append((shape, fact.dtype, is_small, is_reached, is_reached and request == "write"))
        self._kinds = kinds
        return kinds

    def gradient_places(self) -> tuple[int, ...]:
        """Return, for each gradient that the backward part computes, the position of its variable.

        There are none if one of the gradients is not reached, is added to what is there, or is large: those are
        computed in memory that begins at a cache line.
        """
        facts, steps = self.facts, self.steps
        if facts is None or not facts.covers_backward or steps.refers:
            return ()
        kinds = [facts[node] for node in steps.grad_req]
        is_small = all(math.prod(kind.shape or ()) * kind.dtype.itemsize < aligned.LARGE for kind in kinds)
        is_whole = len(steps.gradients) == len(steps.grad_req) and {*steps.grad_req.values()} == {"write"}
        return tuple([steps.variables.index(node) for node in steps.gradients]) if is_small and is_whole else ()

    @property
    def ones(self) -> list[numpy.ndarray]:
        """The cotangents of a sum, which nobody may change."""
        if not self._ones:
            assert self.facts is not None
            facts = [self.facts[value.node] for value in self.steps.cotangents]
            ones = [numpy.ones(fact.shape or (), fact.dtype) for fact in facts]
            for array in ones:
                array.setflags(write=False)
            self._ones = ones
        return self._ones

    # -- contexts ----------------------------------------------------------------------------------------------------

    def new_context(self) -> ExecutionContext:
        """Return a context that is made anew."""
        with lock():
            is_first, self._has_first = not self._has_first, True
        return ExecutionContext(is_first)

    # -- backends ----------------------------------------------------------------------------------------------------

    def bind(self, context: ExecutionContext) -> Callable[..., Any] | None:
        """Bind a context to the best executable that there is by now, and return its forward part; None: interpret."""
        selected = selection.backends if self.compiles else _ONLY_FALLBACK
        is_final = True
        for name in selected:
            outcome = self._ask(name, context)
            if isinstance(outcome, Executable):
                try:
                    context.bind(outcome, name == FALLBACK)
                except Exception as error:
                    self._decline(name, error)
                    continue
                context.selection = selection.backends if is_final else None
                if not is_final:
                    context.began = perf_counter()
                return context.forward
            is_final = is_final and outcome is not None and not outcome.ask_again
        context.executable = context.bound = context.forward = None
        context.selection = selection.backends if is_final else None
        context.began = perf_counter()
        return None

    def _ask(self, name: str, context: ExecutionContext | None) -> Executable | Declined | None:
        """Return what a backend has made of the program, or why it has not; None if it is too early to ask."""
        outcome = self._outcomes.get(name)
        if outcome is not None and not (isinstance(outcome, Declined) and outcome.ask_again):
            return outcome
        facts = self.facts
        backend = registry.backend(name)
        if facts is None or self.rounds < backend.after_rounds:
            return outcome
        if name != FALLBACK and not (self.is_free or self.allowance.covers()):
            return outcome
        with lock():
            if self._outcomes.get(name) is not outcome or self._compiling == os.getpid():
                return self._outcomes.get(name)
            self._compiling = os.getpid()
        try:
            options = Options(self.fast_math, tuple(sorted(self.parameters)), partial(self._make_room, context))
            began = perf_counter()
            compiled = self._outcomes[name] = backend.compile(self.steps, facts, options)
            self.allowance.charge_more(perf_counter() - began, self.is_free)
            return compiled
        except Exception as error:
            return self._decline(name, error)
        finally:
            self._compiling = None

    def _decline(self, name: str, error: Exception) -> Declined:
        """Warn that a backend does not run the program, and why."""
        outcome = self._outcomes[name] = Declined(f"it could not be compiled: {type(error).__name__}: {error}")
        names = ", ".join(dict.fromkeys(output.node.name for output in self.steps.outputs))
        warnings.warn(
            f"the program of {names} stays one of Python's, slower and with the same results, as it could not be "
            f"compiled: {type(error).__name__}: {error} Compile less of it, or nothing: with "
            "minpy.compile.disabled(), or MINPY_COMPILE=0 in the environment.",
            CompileWarning,
            stacklevel=3,
        )
        return outcome

    def _make_room(self, context: ExecutionContext | None) -> None:
        """Free the memory in which a context has computed, and those that nobody uses.

        So that of a new executable takes its place, rather than being there beside it.
        """
        idle = []
        while self.idle:
            try:
                idle.append(self.idle.pop())
            except IndexError:  # another thread has taken it
                break
        for each in idle if context is None else (context, *idle):
            each.let_go()
        self.idle.extend(idle)
        self._give_back()

    def note_part(self, context: ExecutionContext) -> None:
        """Note what a part has taken that ran without the best backend: by that, others are compiled."""
        if self.rounds:  # the first one has waited for the fallback
            self.allowance.eager_seconds += perf_counter() - context.began

    def note_round(self, context: ExecutionContext) -> None:
        """Note what a round has taken.

        What it has freed is given back to the system, before a backend is asked that makes much of its own.
        """
        self.note_part(context)
        if self.compiles and any(self.rounds == registry.backend(name).after_rounds for name in selection.backends):
            self._give_back()

    def _give_back(self) -> None:
        """Give free memory back to the system, if there may be much of it."""
        if self.facts is not None and sum(fact.nbytes for fact in self.facts.values()) >= _LARGE:
            release_heap.release()

    def serve_by(self, name: str, executable: Executable, facts: Facts) -> None:
        """Let an executable that was made elsewhere run it, under the name of a backend."""
        self.facts = facts
        self._outcomes[name] = executable

    def executable(self, name: str | None = None) -> Executable | None:
        """Return what a backend has made of the program; of no name, the best of those selected but the fallback."""
        names = [candidate for candidate in selection.backends if candidate != FALLBACK] if name is None else [name]
        outcomes = [self._outcomes.get(candidate) for candidate in names]
        return next((candidate for candidate in outcomes if isinstance(candidate, Executable)), None)

    @property
    def may_improve(self) -> bool:
        """Whether a better backend than the fallback may take it over yet."""
        if not self.compiles:
            return False
        for name in selection.backends:
            outcome = self._outcomes.get(name)
            if name != FALLBACK and (outcome is None or (isinstance(outcome, Declined) and outcome.ask_again)):
                return True
        return False

    # -- step by step ------------------------------------------------------------------------------------------------

    def interpret_forward(
        self, context: ExecutionContext, arrays: Sequence[numpy.ndarray], observer: Observer | None = None
    ) -> tuple[Sequence[Any], tuple[Sequence[numpy.ndarray], dict[Node, Any], list[Any]]]:
        """Run the forward part step by step, and learn from it.

        Returns the outputs, and what backward needs: the arrays, what is read later by node, and what replays need.
        """
        steps = self.steps
        arrays = as_contiguous(arrays, steps.states)
        env: dict[Node, Any] = dict(zip(steps.variables, arrays, strict=True))
        saved_for_replay: dict[Node, Any] = {}
        facts = Facts({node: fact_of_input(node, array) for node, array in env.items()})
        observers = [noting(facts, env), _collecting(saved_for_replay, steps.saved_for_replay)]
        interpret(
            steps.forward,
            env,
            context.functions.call_of,
            observers if observer is None else [*observers, observer],
            Releasing(steps, env, 0),
        )
        outputs = returned(steps, facts, env, arrays)
        if self.facts is None:
            self.facts = facts
            for name in selection.backends if self.compiles else _ONLY_FALLBACK:
                if isinstance(self._ask(name, None), Executable):
                    break
        return outputs, (arrays, env, [saved_for_replay[node] for node in steps.saved_for_replay])

    def facts_of_backward(self, cotangents: dict[Node, Any]) -> dict[Node, ArrayFact]:
        """Return what is known before the backward part runs: to be completed, and learned; empty if it is known."""
        if self.facts is None or self.facts.covers_backward:
            return {}
        return {**self.facts, **{node: fact_of_input(node, array) for node, array in cotangents.items()}}

    def learn_backward(self, facts: dict[Node, ArrayFact]) -> None:
        """Let executables know what the backward part's arrays are like, when it has run once."""
        with lock():
            if self.facts is None or self.facts.covers_backward:
                return
            all_facts = Facts(facts)
            all_facts.covers_backward = True
            self.facts = all_facts
            for outcome in [*self._outcomes.values()]:
                if isinstance(outcome, Executable):
                    outcome.learn_backward(all_facts)

    def contradiction(self, operators: Collection[Any]) -> str | None:
        """Return in words how one of some operators gave something else than was inferred; None if none did."""
        for node in self.steps.forward:
            fact = None if self.facts is None or node.operator not in operators else self.facts.get(node)
            if fact is None:
                continue
            observed = [*(fact.parts or ((fact.shape, fact.dtype),))]
            inferred = self.steps.inferred(node)
            if observed != inferred:
                return (
                    f"{node.operator.__name__} gives {_listed(observed)}, and by its rules it gives "
                    f"{_listed(inferred)}: correct {node.operator.__name__}.def_shape or def_infer_type"
                )
        return None

    # -- reports -----------------------------------------------------------------------------------------------------

    def located(self, error: Exception) -> Exception:
        """Return the error to raise for one of an executable: with the node where it happened, if that is known."""
        for outcome in [*self._outcomes.values()]:
            node = outcome.step_of(error) if isinstance(outcome, Executable) else None
            if node is not None:
                return located(place_of(node), error)
        return error

    def text(self) -> str:
        """Return the program as text: the source that runs, or the steps, as long as nothing has run."""
        for name in (*selection.backends, *self._outcomes):
            outcome = self._outcomes.get(name)
            if isinstance(outcome, Executable):
                return outcome.text()
        return "\n".join(f"{node.name} = {node.kind}({', '.join(map(repr, node.inputs))})" for node in self.steps.all)

    def explain(self) -> Explanation:
        """Return what became of it: which operators are which kernel, what stayed a call and why, what it costs."""
        steps = self.steps
        names = ", ".join(dict.fromkeys(output.node.name for output in steps.written))
        shapes = "with gradients" if steps.grad_req else "without gradients"
        title = f"{names} ({'training' if steps.training else 'prediction'}, {shapes})"
        for outcome in [*self._outcomes.values()]:
            explanation = outcome.explain(title) if isinstance(outcome, Executable) else None
            if explanation is not None:
                return explanation
        return Explanation(title, False, self.why_fallback())

    def why_fallback(self) -> str:
        """Return why the fallback runs it, and nothing better."""
        reasons = [outcome.reason for outcome in [*self._outcomes.values()] if isinstance(outcome, Declined)]
        if reasons:
            return reasons[-1]
        if not self.compiles:
            return "compiling is switched off for it"
        if keeps_bits():
            return "bits are to stay the same, by MINPY_SAME_BITS=1 or minpy.compile.same_bits()"
        if not is_enabled():
            return "compiling is switched off, by MINPY_COMPILE=0 or minpy.compile.disabled()"
        return "it has not run often enough: the third call is compiled"


def _listed(kinds: Sequence[tuple[Any, Any]]) -> str:
    return " and ".join(f"{dtype} {shape}" for shape, dtype in kinds)


def _collecting(results: dict[Node, Any], nodes: Collection[Node]) -> Observer:
    """Return what collects the results of some nodes."""

    def collect(node: Node, _: Any, result: Any) -> None:
        if result is not None and node in nodes:
            results[node] = result

    return collect
