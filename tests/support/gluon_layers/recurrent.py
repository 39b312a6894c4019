"""Recurrent layers and cells: fused, single steps, unrolled, of convolutions.

The output of a cell is its first state too. MXNet takes one of two gradients of the same array, not their sum; so
single steps are not compared with it here, but unrolled ones. Its hybridized layers take first states as arguments,
whether or not they are given, so that graphs are compared where they are.
"""

from gluon_layers.declaration import Floats, Integers, Layer

SEQUENCE = Floats((4, 2, 3), batch_axis=1)
BATCH_FIRST = Floats((2, 4, 3))
LENGTHS = Integers((2,), 5, 1)
STEP = Floats((2, 3))
STATE = Floats((2, 4))


def _states(count: int, size: int = 4, cells: int = 1) -> "tuple[Floats, ...]":
    return (Floats((cells, 2, size), batch_axis=1),) * count


def _fused(name: str, layer: str, inputs: object = SEQUENCE, given: str = "input_size=3", **options: object) -> Layer:
    head, _, rest = layer.partition("(")
    return Layer(
        name,
        f"rnn.{layer}",
        inputs,
        given=f"rnn.{head}({rest[:-1]}, {given})",
        **{"second_order": False, "mxnet_numpy": False, "mxnet_graph": False, **options},
    )


# A HybridBlock that unrolls a cell, in its graph too.
_UNROLL = """
class Unroll(gluon.HybridBlock):
    def __init__(self, made, **kwargs):
        super().__init__()
        self.options = kwargs
        with self.name_scope():
            self.cell = made()

    def hybrid_forward(self, F, x, *states):
        return self.cell.unroll(4, x, begin_state=list(states) or None, **self.options)
"""


def _unrolled(name: str, cell: str, given: str, arguments: str = "merge_outputs=True", **options: object) -> Layer:
    return Layer(
        f"{name}_unrolled",
        f"Unroll(lambda: {cell}, {arguments})",
        given=f"Unroll(lambda: {given}, {arguments})",
        setup=_UNROLL,
        picklable=False,
        **{"inputs": BATCH_FIRST, "mxnet_numpy": False, **options},
    )


_CELLS = [
    ("rnn", "rnn.RNNCell(4{})", 1),
    ("rnn_relu", "rnn.RNNCell(4, 'relu'{})", 1),
    ("lstm", "rnn.LSTMCell(4{})", 2),
    ("lstm_activations", "rnn.LSTMCell(4, activation='softsign', recurrent_activation='tanh'{})", 2),
    ("gru", "rnn.GRUCell(4{})", 1),
    ("lstmp", "mx.gluon.contrib.rnn.LSTMPCell(4, 4{})", 2),
]

_CONVOLUTIONS = [
    Layer(
        f"conv{dims}d_{kind.lower()}",
        f"mx.gluon.contrib.rnn.Conv{dims}D{kind}Cell({(2, 5, 4, 3)[: dims + 1]}, 3, 3, 1, i2h_pad=1, "
        f"activation='{activation}')",
        (Floats((2, 2, *(5, 4, 3)[:dims])), *[Floats((2, 3, *(5, 4, 3)[:dims]))] * states),
        call="net(x[0], x[1:])",
        mxnet=False,
        second_order=dims == 1,
    )
    for dims in (1, 2, 3)
    for kind, states, activation in (("RNN", 1, "tanh"), ("LSTM", 2, "tanh"), ("GRU", 1, "softsign"))
]  # fmt: skip

LAYERS = [
    _fused("rnn_layer", "RNN(4)"),
    _fused("rnn_layer_tanh", "RNN(4, 2, 'tanh', bidirectional=True)"),
    _fused("lstm_layer", "LSTM(4)"),
    _fused("lstm_layer_deep", "LSTM(4, 2, bidirectional=True, layout='NTC')", BATCH_FIRST),
    _fused("lstm_layer_projected", "LSTM(4, projection_size=2)", mxnet=False),
    _fused("lstm_layer_clipped", "LSTM(4, state_clip_min=-0.2, state_clip_max=0.2)", smooth=False, mxnet=False),
    _fused("lstm_layer_dropout", "LSTM(4, 2, dropout=0.4)", random=True),
    _fused("gru_layer", "GRU(4)"),
    _fused("gru_layer_deep", "GRU(4, 2, bidirectional=True)"),
    _fused("lstm_layer_states", "LSTM(4, 1)", (SEQUENCE, *_states(2)), call="net(x[0], x[1:])", mxnet_graph=True),
    _fused("gru_layer_states", "GRU(4, 1)", (SEQUENCE, *_states(1)), call="net(x[0], x[1])", mxnet_graph=True),
    _fused(
        "lstm_layer_lengths",
        "LSTM(4, bidirectional=True, use_sequence_length=True)",
        (SEQUENCE, LENGTHS),
        call="net(x[0], None, x[1])",
        mxnet=False,
    ),
    *[
        Layer(
            f"{name}_cell",
            source.format(""),
            (STEP, *[STATE] * states),
            given=source.format(", input_size=3"),
            call="net(x[0], x[1:])",
            mxnet=False,
        )
        for name, source, states in _CELLS
    ],
    *[_unrolled(name, source.format(""), source.format(", input_size=3")) for name, source, _ in _CELLS],
    *_CONVOLUTIONS,
]
