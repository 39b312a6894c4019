"""Recurrent layers and cells: `gluon.rnn`."""

__all__: list[str] = []
