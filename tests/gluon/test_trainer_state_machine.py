"""Random programs around a Trainer against a naive model of gradient descent with momentum, in NumPy."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import minpy as mx
from minpy import autograd, gluon, nd
from minpy.core.errors import MXNetError, StaleGradientError

SHAPES = [(2,), (1, 3), (2, 2)]
REQUESTS = ["write", "add", "null"]
NUMBERS = st.sampled_from([-1.0, -0.5, 0.25, 0.5, 1.0])
WHICH = st.integers(0, len(SHAPES) - 1)


class Naive:
    """A parameter as the model has it: lists of values, gradients and whether these are fresh, by context."""

    def __init__(self, shape: tuple[int, ...], contexts: int, value: float) -> None:
        self.values = [np.full(shape, value) for _ in range(contexts)]
        self.request = "write"
        self.forget()

    def forget(self) -> None:
        self.gradients = [np.zeros_like(value) for value in self.values]
        self.fresh = [False] * len(self.values)


class Programs(RuleBasedStateMachine):
    """One trainer, and what a naive one would have."""

    @initialize(
        contexts=st.integers(1, 2),
        store=st.sampled_from(["device", "local", "made", None]),
        on_store=st.sampled_from([None, False]),
        momentum=st.sampled_from([0.0, 0.5]),
        decay=st.sampled_from([0.0, 0.25]),
    )
    def make(self, contexts: int, store: Any, on_store: Any, momentum: float, decay: float) -> None:
        self.contexts = [mx.cpu(number) for number in range(contexts)]
        self.parameters = []
        for number, shape in enumerate(SHAPES):
            made = gluon.Parameter(f"p{number}", shape=shape, dtype="float64")
            made.initialize(mx.init.Constant(number / 4), ctx=self.contexts)
            self.parameters.append(made)
        self.models = [Naive(shape, contexts, number / 4) for number, shape in enumerate(SHAPES)]
        self.trainer = gluon.Trainer(
            self.parameters,
            "sgd",
            {"learning_rate": 0.25, "momentum": momentum, "wd": decay},
            kvstore=mx.kv.create("device") if store == "made" else store,
            update_on_kvstore=on_store,
        )
        self.summing = store == "made" or (store is not None and contexts > 1)
        self.on_store = self.summing and on_store is None
        self.rate, self.momentum, self.decay = 0.25, momentum, decay
        self.momenta: list[dict[int, Any]] = [{} for _ in range(1 if self.on_store else contexts)]
        self.folder = tempfile.TemporaryDirectory()
        self.saved: Any = None

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    # -- what programs do ------------------------------------------------------------------------------------------

    @rule(
        parts=st.lists(st.tuples(WHICH, st.integers(0, 1), NUMBERS), min_size=1, max_size=4), everywhere=st.booleans()
    )
    def backward(self, parts: list[tuple[int, int, float]], everywhere: bool) -> None:
        """Compute gradients of some parameters, on some contexts or on all."""
        count = len(self.contexts)
        uses = [(which, place % count, factor) for which, place, factor in parts]
        if everywhere:
            uses = [
                (which, place, factor) for which in range(len(SHAPES)) for place in range(count) for factor in (0.5,)
            ]
        terms: dict[tuple[int, int], Any] = {}
        losses = [0] * count
        with autograd.record():
            for which, place, factor in uses:
                if self.models[which].request == "null":
                    continue
                data = self.parameters[which].data(self.contexts[place])
                losses[place] = losses[place] + (factor * (data + data * data / 2)).sum()
                value = self.models[which].values[place]
                terms[which, place] = terms.get((which, place), 0) + factor * (1 + value)
        heads = [loss for loss in losses if not isinstance(loss, int)]
        if heads:
            autograd.backward(heads)
        for (which, place), term in terms.items():
            model = self.models[which]
            model.gradients[place] = term + (model.gradients[place] if model.request == "add" else 0)
            model.fresh[place] = True

    @rule(batch=st.sampled_from([1, 2, 4]), ignore=st.booleans(), whole=st.booleans())
    def step(self, batch: int, ignore: bool, whole: bool) -> None:
        """Make a step, as a rule after all gradients are computed."""
        if whole:
            self.backward([], everywhere=True)
        if self._is_stale() and not ignore:
            with pytest.raises(StaleGradientError):
                self.trainer.step(batch)
            return
        self.trainer.step(batch, ignore_stale_grad=ignore)
        if self.summing:
            for model in self._trained():
                fresh = [gradient for gradient, is_fresh in zip(model.gradients, model.fresh, strict=True) if is_fresh]
                if fresh and not self.on_store:
                    model.gradients = [sum(fresh) for _ in model.gradients]
                    model.fresh = [True] * len(model.fresh)
        self._model_update(batch)

    @rule(batch=st.sampled_from([1, 2]), factor=NUMBERS, ignore=st.booleans())
    def step_in_two(self, batch: int, factor: float, ignore: bool) -> None:
        """Sum gradients, change them, and update."""
        if self.on_store:
            with pytest.raises(MXNetError, match="update_on_kvstore=False"):
                self.trainer.allreduce_grads()
            with pytest.raises(MXNetError, match="update_on_kvstore=False"):
                self.trainer.update(batch)
            return
        self.trainer.allreduce_grads()
        for parameter, model in zip(self.parameters, self.models, strict=True):
            if model.request == "null":
                continue
            if self.summing:
                model.gradients = [sum(model.gradients) for _ in model.gradients]
            model.gradients = [factor * gradient for gradient in model.gradients]
            for gradient in parameter.list_grad():
                gradient *= factor
        if self._is_stale() and not ignore:
            with pytest.raises(StaleGradientError):
                self.trainer.update(batch)
            return
        if self.summing and any(len(set(model.fresh)) > 1 for model in self._trained()):
            for model, parameter in zip(self.models, self.parameters, strict=True):  # programs must not: copies differ
                if model.request != "null" and len(set(model.fresh)) > 1:
                    model.fresh = [True] * len(model.fresh)
                    for data in parameter.list_data():
                        data._fresh_grad = True
        self.trainer.update(batch, ignore_stale_grad=ignore)
        self._model_update(batch)

    @rule(rate=st.sampled_from([0.125, 0.25, 0.5]))
    def set_rate(self, rate: float) -> None:
        """Set the learning rate."""
        self.trainer.set_learning_rate(rate)
        self.rate = rate

    @rule(which=WHICH, value=NUMBERS, how=st.sampled_from(["set_data", "written", "initialized"]))
    def set_values(self, which: int, value: float, how: str) -> None:
        """Give a parameter other values, in one of three ways."""
        parameter, model = self.parameters[which], self.models[which]
        model.values = [np.full(SHAPES[which], value) for _ in self.contexts]
        if how == "set_data":
            parameter.set_data(nd.full(SHAPES[which], value, dtype="float64"))
        elif how == "written":
            for data in parameter.list_data():
                data[:] = value
        else:
            parameter.initialize(mx.init.Constant(value), ctx=self.contexts, force_reinit=True)
            model.forget()

    @rule(which=WHICH, request=st.sampled_from(REQUESTS))
    def request(self, which: int, request: str) -> None:
        """Change what backward does with a gradient."""
        self.parameters[which].grad_req = request
        model = self.models[which]
        if model.request != request:
            model.request = request
            model.forget()

    @rule(which=WHICH)
    def zero(self, which: int) -> None:
        """Set the gradients of a parameter to zero."""
        self.parameters[which].zero_grad()
        self.models[which].gradients = [np.zeros_like(one) for one in self.models[which].gradients]

    @rule()
    def save(self) -> None:
        """Write states."""
        self.trainer.save_states(Path(self.folder.name) / "states")
        self.saved = dict(self.momenta[0]), self.rate

    @precondition(lambda self: self.saved is not None)
    @rule()
    def load(self) -> None:
        """Read states."""
        self.trainer.load_states(Path(self.folder.name) / "states")
        momenta, self.rate = self.saved
        self.momenta = [dict(momenta) for _ in self.momenta]

    # -- the model -------------------------------------------------------------------------------------------------

    def _trained(self) -> list[Naive]:
        return [model for model in self.models if model.request != "null"]

    def _is_stale(self) -> bool:
        return not all(all(model.fresh) for model in self._trained())

    def _model_update(self, batch: int) -> None:
        for which, model in enumerate(self.models):
            if model.request == "null":
                continue
            if self.on_store:
                fresh = [one for one, is_fresh in zip(model.gradients, model.fresh, strict=True) if is_fresh]
                if fresh:
                    value = self._moved(self.momenta[0], which, model.values[0], sum(fresh) / batch)
                    model.values = [value.copy() for _ in model.values]
            else:
                for place, momenta in enumerate(self.momenta):
                    if model.fresh[place]:
                        model.values[place] = self._moved(
                            momenta, which, model.values[place], model.gradients[place] / batch
                        )
            model.fresh = [False] * len(model.fresh)

    def _moved(self, momenta: dict[int, Any], which: int, value: Any, gradient: Any) -> Any:
        momenta[which] = self.momentum * momenta.get(which, 0) - self.rate * (gradient + self.decay * value)
        return value + momenta[which]

    @invariant()
    def same(self) -> None:
        """Values, gradients and their freshness are those of the model."""
        for parameter, model in zip(getattr(self, "parameters", ()), getattr(self, "models", ()), strict=True):
            for data, value in zip(parameter.list_data(), model.values, strict=True):
                np.testing.assert_allclose(data.asnumpy(), value, rtol=1e-9, atol=1e-9)
            if model.request != "null":
                for gradient, expected in zip(parameter.list_grad(), model.gradients, strict=True):
                    np.testing.assert_allclose(gradient.asnumpy(), expected, rtol=1e-9, atol=1e-9)
                assert [data._fresh_grad for data in parameter.list_data()] == model.fresh
        if hasattr(self, "trainer"):
            assert self.trainer.learning_rate == self.rate


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
