"""Golden cases of recurrent cells: names, states, and what unrolling returns in every form, with gradients."""

_SETUP = """
rnn, more = mx.gluon.rnn, mx.gluon.contrib.rnn

def waves(shape, seed=0):
    size = int(np.prod(shape))
    return nd.array(np.sin(np.arange(size) * 1.7 + seed * 0.9 + 1).reshape(shape))

def fill(cell):
    for index, parameter in enumerate(cell.collect_params().values()):
        old = parameter.data()
        values = np.sin(np.arange(old.size) * 2.3 + index + 0.5).reshape(old.shape) * 0.5
        parameter.set_data(nd.array(values))

def stack(kind, *cells):
    made = kind()
    for cell in cells:
        made.add(cell)
    return made

def flat(value):
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in flat(part)]
    return [value]

def step(cell, length, x, begin=None, gradients=True, **options):
    inputs = list(x) if isinstance(x, list) else x
    cell.initialize()
    cell.unroll(length, inputs, begin_state=begin, **options)
    fill(cell)
    if not gradients:
        return cell.unroll(length, inputs, begin_state=begin, **options)
    wanted = flat(inputs) + flat(begin or [])
    for array in wanted:
        array.attach_grad()
    with autograd.record(train_mode=False):
        outputs, after = cell.unroll(length, inputs, begin_state=begin, **options)
        total = sum((one * waves(one.shape, 5)).sum() for one in flat(outputs))
        total = total + sum((one * waves(one.shape, 6)).sum() for one in flat(after))
    total.backward()
    trained = [parameter.grad().asnumpy() for parameter in cell.collect_params().values()]
    return [outputs, after, [array.grad for array in wanted], trained]
"""

_CELLS = {
    "rnn": "rnn.RNNCell(3)",
    "lstm": "rnn.LSTMCell(3)",
    "gru": "rnn.GRUCell(3)",
    "lstmp": "more.LSTMPCell(4, 3)",
    "dropout": "rnn.DropoutCell(0.5)",
    "residual": "rnn.ResidualCell(rnn.LSTMCell(3))",
    "zoneout": "rnn.ZoneoutCell(rnn.LSTMCell(3), 0.3, 0.4)",
    "variational": "more.VariationalDropoutCell(rnn.LSTMCell(3), 0.2, 0.3, 0.4)",
    "variational_inputs": "more.VariationalDropoutCell(rnn.LSTMCell(3), 0.2, 0.0, 0.4)",
    "bidirectional": "rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.GRUCell(2))",
    "sequential": "stack(rnn.SequentialRNNCell, rnn.LSTMCell(3), rnn.DropoutCell(0.5), rnn.GRUCell(2))",
    "hybrid_sequential": "stack(rnn.HybridSequentialRNNCell, rnn.LSTMCell(3), rnn.ResidualCell(rnn.GRUCell(3)))",
    "stacked_bidirectional": (
        "stack(rnn.SequentialRNNCell, rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(1)), rnn.GRUCell(2))"
    ),
    "residual_bidirectional": "rnn.ResidualCell(rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(1)))",
}

_INPUTS = {
    "ntc": "waves((2, 4, 3))",
    "tnc": "waves((4, 2, 3))",
    "list": "[waves((2, 3), i) for i in range(4)]",
}

# MXNet cannot mask both directions unless it is told to merge.
_NEEDS_MERGING = {"bidirectional", "residual_bidirectional", "stacked_bidirectional"}


_BEGUN = """
cell = {}
begin = [waves((2,) + info['shape'][1:], index) for index, info in enumerate(cell.state_info(2))]
result = step(cell, 3, waves((2, 3, 3)), begin=begin, merge_outputs=True)
"""


def _unrolled():  # type: ignore[no-untyped-def]
    for cell, made in _CELLS.items():
        for inputs, x in _INPUTS.items():
            layout = "TNC" if inputs == "tnc" else "NTC"
            for merge in (None, True, False) if inputs != "tnc" else (True,):
                for lengths in (None, [2, 4]):
                    if lengths and ((merge is None and cell in _NEEDS_MERGING) or cell == "stacked_bidirectional"):
                        continue
                    options = f"layout={layout!r}, merge_outputs={merge}"
                    if not merge or inputs != "ntc":
                        options += ", gradients=False"
                    if lengths:
                        options += f", valid_length=nd.array({lengths})"
                    yield (
                        f"layers_rnn_{cell}_{inputs}_{merge}{'_lengths' if lengths else ''}".lower(),
                        f"{_SETUP}\nresult = step({made}, 4, {x}, {options})",
                    )
        yield (
            f"layers_rnn_{cell}_begin_state",
            _SETUP + _BEGUN.format(made),
        )


_DESCRIBED = {
    **_CELLS,
    "rnn_relu": "rnn.RNNCell(3, 'relu', input_size=2)",
    "lstm_given": "rnn.LSTMCell(3, input_size=2, prefix='mine_')",
    "dropout_axes": "rnn.DropoutCell(0.2, (1,))",
    "lstmp_given": "more.LSTMPCell(4, 3, input_size=2)",
    "conv1d": "more.Conv1DRNNCell((3, 5), 4, 3, 3)",
    "conv2d": "more.Conv2DLSTMCell((3, 5, 6), 4, 3, 3, i2h_pad=1)",
    "conv2d_last": "more.Conv2DGRUCell((5, 6, 3), 4, 3, 3, conv_layout='NHWC')",
    "conv3d": "more.Conv3DGRUCell((3, 5, 6, 7), 4, (3, 3, 3), (1, 3, 3), i2h_dilate=2, h2h_dilate=2, i2h_pad=1)",
    "rnn_layer": "rnn.RNN(3)",
    "rnn_layer_all": "rnn.RNN(3, 2, 'tanh', 'NTC', 0.5, True, input_size=4)",
    "lstm_layer": "rnn.LSTM(3, input_size=2)",
    "lstm_layer_projected": "rnn.LSTM(3, 2, bidirectional=True, input_size=5, projection_size=2)",
    "gru_layer": "rnn.GRU(3, 2, dropout=0.1, prefix='mine_')",
}

_NAMES = """
made = lambda: {}
with mx.name.NameManager():
    cell = made()
parameters = cell.collect_params().values()
result = [
    repr(cell), cell.prefix, cell.params.prefix,
    [[one.name, str(one.shape), str(one.init)] for one in parameters],
    list(cell._collect_params_with_prefix()),
    str([sorted(info.items()) for info in cell.state_info(7)]),
    [[one.name, str(sorted(one.attr_dict()[one.name].items()))] for one in cell.begin_state(func=mx.sym.zeros)],
    [one.name for one in cell.begin_state(func=mx.sym.var)],
    [one.dtype.__name__ for one in cell.begin_state(batch_size=2, func=nd.ones, dtype='float64')],
]
"""

_UNFUSED = """
with mx.name.NameManager():
    layer = {}
layer.initialize()
x = waves((4, 2, 3))
layer(x)
fill(layer)
cells = layer._unfuse()
outputs, states = cells.unroll(4, x, layout='TNC', merge_outputs=True)
result = [repr(cells), list(cells.collect_params()), [one.prefix for one in cells._children.values()], outputs, states]
"""

_LAYERS = [
    "rnn.RNN(3, input_size=3)",
    "rnn.RNN(3, 2, 'tanh', bidirectional=True, input_size=3)",
    "rnn.LSTM(3, 2, input_size=3, dropout=0.5)",
    "rnn.GRU(3, 2, input_size=3, bidirectional=True)",
]

_CALLS = {
    "alone": "layer(x)",
    "states": "layer(x, layer.begin_state(2, func=nd.ones))",
    "one_state": "layer(x, nd.ones((1, 2, 4)))",
    "symbol": "[one.name for one in flat(layer(mx.sym.var('x')))]",
    "symbol_states": "[one.name for one in flat(layer(mx.sym.var('x'), layer.begin_state(func=mx.sym.zeros)))]",
    "symbol_nodes": "layer(mx.sym.var('x')).get_internals().list_outputs()",
}

_CALLED = """
with mx.name.NameManager():
    layer = rnn.{layer}(4, input_size=3)
layer.initialize()
fill(layer)
x = waves((5, 2, 3))
result = {call}
"""

_CONVOLVED = """
cell = more.Conv{dims}D{kind}Cell({shape}, 3, {kernel}, 3, i2h_pad=1, h2h_dilate=2, activation={activation!r})
x = [waves((2,) + {shape}, i) for i in range(2)]
result = step(cell, 2, x)
"""

_DYNAMIC = """
cell = rnn.LSTMCell(3)
cell.initialize()
x = waves({shape})
cell(waves((2, 3)), cell.begin_state(2))
fill(cell)
result = more.rnn_cell.dynamic_unroll(cell, x, cell.begin_state(2, func=nd.ones){options})
"""

CASES = [
    *_unrolled(),
    *[(f"layers_rnn_names_{name}", _SETUP + _NAMES.format(made)) for name, made in _DESCRIBED.items()],
    *[(f"layers_rnn_unfused_{index}", _SETUP + _UNFUSED.format(made)) for index, made in enumerate(_LAYERS)],
    *[
        (
            f"layers_rnn_call_{layer.lower()}_{name}",
            _SETUP + _CALLED.format(layer=layer, call=call),
        )
        for layer in ("RNN", "LSTM", "GRU")
        for name, call in _CALLS.items()
    ],
    *[
        (
            f"layers_rnn_conv{dims}d_{kind.lower()}_{activation}",
            _SETUP
            + _CONVOLVED.format(
                dims=dims, kind=kind, activation=activation, kernel=(3, 2, 3)[:dims], shape=(2, 6, 5, 4)[: dims + 1]
            ),
        )
        for dims in (1, 2, 3)
        for kind in ("RNN", "LSTM", "GRU")
        for activation in ("tanh", "relu", "softsign")
    ],
    *[
        (f"layers_rnn_dynamic_{name}", _SETUP + _DYNAMIC.format(shape=shape, options=options))
        for name, shape, options in (
            ("tnc", (4, 2, 3), ""),
            ("ntc", (2, 4, 3), ", layout='NTC'"),
            ("lengths", (4, 2, 3), ", valid_length=nd.array([1, 4])"),
            ("ntc_lengths", (2, 4, 3), ", layout='NTC', valid_length=nd.array([3, 2])"),
            ("dropout", (4, 2, 3), ", drop_inputs=0.3, drop_outputs=0.3"),
        )
    ],
]
