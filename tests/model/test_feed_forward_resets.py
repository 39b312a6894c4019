"""When `FeedForward` resets its iterators: those that shuffle draw then, so what is drawn next hangs on it."""

from __future__ import annotations

import numpy as np

import minpy as mx


class Noted(mx.io.NDArrayIter):
    """Notes its resets in a list."""

    def __init__(self, name: str, events: list[str], rows: int) -> None:
        self._name, self._events = name, []
        super().__init__(np.ones((rows, 2), "float32"), np.zeros(rows, "float32"), 2)
        self._events = events

    def reset(self) -> None:
        self._events.append(f"reset {self._name}")
        super().reset()


def test_validation_data_are_reset_before_and_after() -> None:
    events: list[str] = []
    network = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax")
    model = mx.model.FeedForward(network, num_epoch=2, initializer=mx.init.Zero())
    model.fit(
        Noted("train", events, 4),
        eval_data=Noted("val", events, 2),
        epoch_end_callback=lambda epoch, *_: events.append(f"epoch {epoch}"),
        eval_end_callback=lambda _: events.append("validated"),
    )
    validation = ["reset val", "validated", "reset val"]
    assert events == [
        "reset train",
        *("reset train", "epoch 0", *validation),
        *("reset train", "epoch 1", *validation),
    ]
