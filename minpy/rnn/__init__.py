"""`mx.rnn`: cells of recurrent networks as symbols, their checkpoints, and batches of sentences by length."""

from __future__ import annotations

from minpy.namespaces import listing, missing

__all__: list[str] = []
__dir__ = listing(__all__)
__getattr__ = missing("minpy.rnn", "name", __all__)
