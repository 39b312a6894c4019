"""Golden cases of `mx.rnn`: graphs of unrolled cells node by node, numbers, weights packed and unpacked, sentences."""

# ruff: noqa: E501 - one case is one line of text

START = """
import json
import random
import warnings
R = mx.rnn
var = mx.sym.var

def flat(states):
    return [one for state in states for one in (flat(state) if isinstance(state, list) else [state])]

def graph(symbol):
    nodes = json.loads(symbol.tojson())
    names = [node['name'] for node in nodes['nodes']]
    lines = [
        [node['name'], node['op'], [names[i[0]] + ':' + str(i[1]) for i in node['inputs']], sorted((node.get('attrs') or {}).items())]
        for node in nodes['nodes']
    ]
    return [json.dumps(line) for line in lines] + [json.dumps([names[head[0]] + ':' + str(head[1]) for head in nodes['heads']])]

def unrolled(cell, length=2, inputs=None, **options):
    with mx.name.NameManager(), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        given = [var('t%d' % i) for i in range(length)] if inputs == 'list' else var('data') if inputs is None else inputs
        outputs, states = cell.unroll(length, given, **options)
        is_list = isinstance(outputs, list)
        heads = mx.sym.Group([*(outputs if is_list else [outputs]), *flat(states)])
        info = [[list(one['shape']), one['__layout__']] for one in cell.state_info]
        return [is_list, len(states), graph(heads), json.dumps(info), sorted(cell.params._params)]

def stack(*cells):
    made = R.SequentialRNNCell()
    for cell in cells:
        made.add(cell)
    return made

def computed(cell, length=3, width=3, batch=2, **options):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        outputs, states = cell.unroll(length, var('data'), merge_outputs=True, **options)
    shape = (length, batch, width) if options.get('layout') == 'TNC' else (batch, length, width)
    heads = mx.sym.Group([outputs, *flat(states)])
    executor = heads.simple_bind(mx.cpu(), data=shape, grad_req='null')
    for name in heads.list_arguments():
        array = executor.arg_dict[name]
        array[:] = mx.nd.sin(mx.nd.arange(array.size).reshape(array.shape) * 0.7 + len(name)) * 0.5
    return executor.forward(is_train=False)

def numbers(*shape):
    return mx.nd.arange(int(np.prod(shape))).reshape(shape)

def size_of(mode, hidden, layers, directions, inputs):
    gates = {'lstm': 4, 'gru': 3}.get(mode, 1)
    return sum(directions * gates * hidden * ((directions * hidden if i else inputs) + hidden + 2) for i in range(layers))

def packed(cell, **shapes):
    args = {name: numbers(*shape) for name, shape in shapes.items()}
    apart = cell.unpack_weights(args)
    again = cell.pack_weights(apart)
    same = sorted(again) == sorted(args) and all((again[name].asnumpy() == args[name].asnumpy()).all() for name in args)
    return [same, sorted(args) == sorted(shapes), sorted(apart), [apart[name] for name in sorted(apart)]]
"""

UNROLLED = {
    "rnn": "R.RNNCell(3)",
    "rnn_relu_time_first": "R.RNNCell(3, activation='relu', prefix='a_'), layout='TNC', merge_outputs=True",
    "rnn_list": "R.RNNCell(3), inputs='list'",
    "rnn_list_merged": "R.RNNCell(3), inputs='list', merge_outputs=True",
    "rnn_not_merged": "R.RNNCell(3), merge_outputs=False",
    "rnn_function": "R.RNNCell(3, activation=mx.sym.LeakyReLU)",
    "rnn_begin": "R.RNNCell(3), begin_state=[var('first')]",
    "lstm": "R.LSTMCell(3)",
    "lstm_forget": "R.LSTMCell(3, forget_bias=2.5, prefix='x_'), merge_outputs=True",
    "gru": "R.GRUCell(3)",
    "fused": "R.FusedRNNCell(3, num_layers=2)",
    "fused_next": "R.FusedRNNCell(3, mode='gru', bidirectional=True, get_next_state=True, dropout=0.3), layout='TNC', merge_outputs=True",
    "fused_lstm_next": "R.FusedRNNCell(3, get_next_state=True, forget_bias=2.0), layout='TNC'",
    "fused_split": "R.FusedRNNCell(3, mode='rnn_tanh'), merge_outputs=False",
    "fused_list": "R.FusedRNNCell(3, mode='rnn_relu', prefix='p_'), inputs='list', merge_outputs=True",
    "stack": "stack(R.LSTMCell(3, prefix='l0_'), R.DropoutCell(0.5), R.GRUCell(3, prefix='l1_'))",
    "stack_merged": "stack(R.LSTMCell(3, prefix='l0_'), R.DropoutCell(0.5), R.GRUCell(3, prefix='l1_')), merge_outputs=True",
    "stack_fused": "stack(R.FusedRNNCell(3, prefix='f_'), R.ResidualCell(R.FusedRNNCell(3, prefix='g_')))",
    "both_ways": "R.BidirectionalCell(R.LSTMCell(3, prefix='l_'), R.GRUCell(3, prefix='r_'))",
    "both_ways_merged": "R.BidirectionalCell(R.RNNCell(3, prefix='l_'), R.RNNCell(3, prefix='r_'), output_prefix='o_'), merge_outputs=True, layout='TNC'",
    "both_ways_split": "R.BidirectionalCell(R.RNNCell(3, prefix='l_'), R.RNNCell(3, prefix='r_'), output_prefix='o_'), merge_outputs=False, layout='TNC'",
    "both_ways_list": "R.BidirectionalCell(R.RNNCell(3, prefix='l_'), R.RNNCell(3, prefix='r_')), inputs='list'",
    "both_ways_fused": "R.BidirectionalCell(R.FusedRNNCell(3, prefix='l_'), R.FusedRNNCell(3, prefix='r_'))",
    "both_ways_fused_split": "R.BidirectionalCell(R.FusedRNNCell(3, prefix='l_'), R.RNNCell(3, prefix='r_'))",
    "both_ways_stacked": "stack(R.BidirectionalCell(R.RNNCell(3, prefix='l_'), R.RNNCell(3, prefix='r_')), R.RNNCell(2))",
    "dropout": "R.DropoutCell(0.5)",
    "dropout_list": "R.DropoutCell(0.5), inputs='list'",
    "dropout_none": "R.DropoutCell(0.0), merge_outputs=True",
    "zoneout": "R.ZoneoutCell(R.RNNCell(3), 0.2, 0.3)",
    "zoneout_outputs": "R.ZoneoutCell(R.LSTMCell(3), 0.2)",
    "zoneout_nothing": "R.ZoneoutCell(R.LSTMCell(3))",
    "residual": "R.ResidualCell(R.RNNCell(3))",
    "residual_merged": "R.ResidualCell(R.GRUCell(3)), merge_outputs=True",
    "residual_split": "R.ResidualCell(R.GRUCell(3)), merge_outputs=False",
    "residual_zoneout": "R.ResidualCell(R.ZoneoutCell(R.RNNCell(3), 0.1, 0.1))",
    "convolutional": "R.ConvRNNCell((1, 3, 8, 8), 4), inputs='list'",
    "convolutional_merged": "R.ConvRNNCell((1, 3, 8, 8), 4, activation='tanh', i2h_stride=(2, 2)), merge_outputs=True",
    "convolutional_lstm": "R.ConvLSTMCell((2, 3, 8, 8), 4, activation='tanh', i2h_pad=(0, 0), h2h_dilate=(2, 2)), inputs='list'",
    "convolutional_gru": "R.ConvGRUCell((1, 3, 8, 8), 4, i2h_bias_initializer='ones', h2h_weight_initializer=mx.init.One()), inputs='list'",
    "unfused": "R.FusedRNNCell(3, num_layers=2, mode='rnn_relu', dropout=0.3, prefix='f_').unfuse()",
    "unfused_both_ways": "R.FusedRNNCell(3, num_layers=2, mode='gru', bidirectional=True, dropout=0.3, prefix='f_').unfuse()",
}

COMPUTED = {
    "rnn": "R.RNNCell(2)",
    "lstm": "R.LSTMCell(2)",
    "gru": "R.GRUCell(2)",
    "both_ways": "R.BidirectionalCell(R.LSTMCell(2, prefix='l_'), R.GRUCell(2, prefix='r_'))",
    "fused": "R.FusedRNNCell(2, num_layers=2, bidirectional=True, get_next_state=True), layout='TNC'",
    "fused_batch_first": "R.FusedRNNCell(2, mode='gru')",
    "stack": "stack(R.LSTMCell(2, prefix='l0_'), R.ResidualCell(R.GRUCell(2, prefix='l1_')))",
}

PACKED = {
    "rnn": "R.RNNCell(2, prefix='a_'), a_i2h_weight=(2, 3), a_i2h_bias=(2,), a_h2h_weight=(2, 2), a_h2h_bias=(2,), other=(2,)",
    "lstm": "R.LSTMCell(2, prefix='a_'), a_i2h_weight=(8, 3), a_i2h_bias=(8,), a_h2h_weight=(8, 2), a_h2h_bias=(8,)",
    "gru": "R.GRUCell(2, prefix='a_'), a_i2h_weight=(6, 3), a_i2h_bias=(6,), a_h2h_weight=(6, 2), a_h2h_bias=(6,)",
    "fused_lstm": "R.FusedRNNCell(2, num_layers=2, bidirectional=True, prefix='f_'), f_parameters=(size_of('lstm', 2, 2, 2, 3),)",
    "fused_gru": "R.FusedRNNCell(2, mode='gru', bidirectional=True, prefix='f_'), f_parameters=(size_of('gru', 2, 1, 2, 3),)",
    "fused_rnn": "R.FusedRNNCell(2, num_layers=3, mode='rnn_relu', prefix='f_'), f_parameters=(size_of('rnn_relu', 2, 3, 1, 3),)",
    "stack": "stack(R.LSTMCell(2, prefix='a_'), R.DropoutCell(0.2), R.ZoneoutCell(R.GRUCell(2, prefix='b_'), 0.1)), a_i2h_weight=(8, 3), a_i2h_bias=(8,), a_h2h_weight=(8, 2), a_h2h_bias=(8,), b_i2h_weight=(6, 2), b_i2h_bias=(6,), b_h2h_weight=(6, 2), b_h2h_bias=(6,)",
    "convolutional": "R.ConvLSTMCell((1, 1, 4, 4), 2, prefix='a_'), a_i2h_weight=(8, 1, 3, 3), a_i2h_bias=(8,), a_h2h_weight=(8, 2, 3, 3), a_h2h_bias=(8,)",
}

ERRORS = {
    "both_ways_step": "R.BidirectionalCell(R.RNNCell(3), R.RNNCell(3))(var('x'), [])",
    "fused_step": "R.FusedRNNCell(3)(var('x'), [])",
    "zoneout_fused": "R.ZoneoutCell(R.FusedRNNCell(3))",
    "zoneout_both_ways": "R.ZoneoutCell(R.BidirectionalCell(R.RNNCell(3), R.RNNCell(3)))",
    "length": "R.RNNCell(3).unroll(3, [var('a')] * 2)",
    "grouped": "R.RNNCell(3).unroll(2, mx.sym.split(var('a'), num_outputs=2))",
    "dropout_word": "R.DropoutCell('a')",
    "base_step": "R.BaseRNNCell()(1, 2)",
    "base_info": "R.BaseRNNCell().state_info",
    "modified": "(lambda cell: [R.ZoneoutCell(cell, 0.1), cell.begin_state()])(R.RNNCell(3))",
    "modifier_step": "R.ModifierCell(R.RNNCell(3))(1, 2)",
    "even_kernel": "R.ConvRNNCell((1, 1, 4, 4), 2, h2h_kernel=(2, 2))",
    "shared_stack": "R.SequentialRNNCell(params=R.RNNParams('p_')).add(R.RNNCell(3))",
    "shared_both_ways": "R.BidirectionalCell(R.RNNCell(3), R.RNNCell(3), params=R.RNNParams('p_'))",
    "fused_layout": "R.FusedRNNCell(2).unroll(2, var('x'), layout='NCT')",
    "unknown_word": "R.encode_sentences([['a', 'b']], vocab={'a': 5})",
    "sentence_layout": "R.BucketSentenceIter([[1], [2]], 1, layout='TX')",
    "missing_weight": "R.LSTMCell(2).unpack_weights({})",
}

OTHERS = {
    "gates": "result = [list(R.RNNCell(3)._gate_names), R.LSTMCell(3)._gate_names, R.GRUCell(3)._gate_names, R.FusedRNNCell(3, mode='gru')._gate_names, R.FusedRNNCell(3)._num_gates, R.ConvLSTMCell((1, 3, 8, 8), 4)._num_gates]",
    "state_shape": "result = [R.LSTMCell(3).state_shape, R.FusedRNNCell(3, 2, bidirectional=True).state_shape, R.ConvGRUCell((1, 1, 9, 8), 2, i2h_stride=(2, 1)).state_shape]",
    "begin_state_functions": "result = [graph(mx.sym.Group(R.LSTMCell(3, prefix='a_').begin_state(**options))) for options in ({'func': mx.sym.ones}, {'func': mx.sym.Variable}, {'func': mx.sym.uniform, 'low': 0}, {'shape': (2, 3)})]",
    "begin_state_counts": "cell = R.LSTMCell(3, prefix='a_'); result = [one.name for one in cell.begin_state() + cell.begin_state()]",
    "begin_state_modified": "cell = R.ZoneoutCell(R.RNNCell(3), 0.1); result = [[one.name for one in cell.begin_state()], cell.base_cell._modified, cell._modified]",
    "begin_state_residual": "result = [one.name for one in R.ResidualCell(R.ZoneoutCell(R.RNNCell(2))).begin_state()]",
    "unrolled_again": "result = [[[one.name for one in cell.unroll(2, var('x'))[0]] for _ in range(3)] for cell in (R.RNNCell(2), R.ZoneoutCell(R.RNNCell(2)), R.ResidualCell(R.RNNCell(2)), stack(R.ZoneoutCell(R.RNNCell(2))))]",
    "steps": "cell = stack(R.RNNCell(2, prefix='a_'), R.LSTMCell(2, prefix='b_')); output, states = cell(var('x'), cell.begin_state()); result = [output.name] + [one.name for one in states]",
    "params_shared": "params = R.RNNParams('p_'); one = R.RNNCell(3, prefix='p_', params=params); other = R.RNNCell(3, params=params); above = stack(one); result = [one.params is params, one._own_params, sorted(above.params._params), json.dumps(params.get('x', shape=(2,)).list_attr()), params.get('x') is params.get('x')]",
    "unfused_cells": "result = [[type(one).__name__, one._prefix] for mode in ('lstm', 'rnn_tanh') for one in R.FusedRNNCell(3, num_layers=2, mode=mode, dropout=0.3, prefix='f_').unfuse()._cells]",
    "unfused_both_ways_cells": "result = [type(one).__name__ + getattr(one, '_output_prefix', one._prefix) for one in R.FusedRNNCell(3, num_layers=2, bidirectional=True, dropout=0.3, prefix='f_').unfuse()._cells]",
    "fused_and_unfused": "fused = R.FusedRNNCell(2, num_layers=2, bidirectional=True, prefix='f_'); args = {'f_parameters': mx.nd.sin(numbers(size_of('lstm', 2, 2, 2, 3)))}; apart = fused.unfuse().pack_weights(fused.unpack_weights(args)); result = [sorted(apart), [apart[name] for name in sorted(apart)]]",
    "warned": "warnings.simplefilter('always')\nwith warnings.catch_warnings(record=True) as caught:\n    R.FusedRNNCell(2).unroll(2, var('x'))\nresult = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]",
    "rnn_unroll": "warnings.simplefilter('ignore'); result = [one.name for one in R.rnn_unroll(R.RNNCell(3), 2, inputs=var('x'))[0]]",
    "encoded": "result = [[coded, json.dumps(sorted(vocab.items()))] for coded, vocab in (R.encode_sentences([['a', 'b'], ['c', 'a']], **options) for options in ({}, {'invalid_label': 0}, {'invalid_label': 1, 'invalid_key': '#'}, {'start_label': 3}))]",
    "encoded_unknown": "result = [R.encode_sentences([['a', 'b'], ['c', 'a']], vocab=vocab, unknown_token='u')[0] for vocab in ({'a': 5}, {'a': 5, 'u': 7})]",
}

SENTENCES = """
import contextlib
import io
np.random.seed(3)
random.seed(4)
said = io.StringIO()
with contextlib.redirect_stdout(said):
    made = R.BucketSentenceIter([[i + 1] * (1 + i % 5) for i in range(23)], 3{options})
result = [said.getvalue(), made.buckets, made.default_bucket_key, str(made.provide_data), str(made.provide_label)]
for epoch in range(2):
    for batch in made:
        result.append([batch.bucket_key, batch.pad, str(batch.provide_data), str(batch.provide_label), batch.data[0], batch.label[0]])
    made.reset()
"""
SENTENCE_OPTIONS = {
    "": "",
    "_buckets": ", buckets=[5, 3], invalid_label=0, data_name='d', label_name='l', dtype='int32', layout='TN'",
    "_discarded": ", buckets=[3, 2]",
    "_no_buckets": ", buckets=[]",
    "_empty_bucket": ", buckets=[2, 5, 9]",
}

CHECKPOINTS = """
import os
import tempfile
warnings.simplefilter('ignore')
cell = stack(R.FusedRNNCell(2, prefix='f_'), R.LSTMCell(2, prefix='b_'))
net, _ = cell.unroll(2, var('data'), merge_outputs=True)
shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(1, 2, 3))[0]))
args = {name: numbers(*shape) for name, shape in shapes.items() if name != 'data'}
with tempfile.TemporaryDirectory() as folder:
    prefix = os.path.join(folder, 'net')
    if callback:
        save = R.do_rnn_checkpoint([cell], prefix, 2)
        for epoch in range(4):
            save(epoch, net, args, {})
    else:
        R.save_rnn_checkpoint(cell, prefix, 2, net, args, {})
    files = sorted(os.listdir(folder))
    held = mx.nd.load(prefix + '-0002.params')
    symbol, again, states = R.load_rnn_checkpoint(cell, prefix, 2)
result = [files, sorted(held), sorted(again), [(again[name] == args[name]).asnumpy().all() for name in sorted(args)], symbol.list_arguments(), len(states)]
"""

CASES = [
    *((f"rnn_cells_unrolled_{name}", f"{START}\nresult = unrolled({given})") for name, given in UNROLLED.items()),
    *((f"rnn_cells_computed_{name}", f"{START}\nresult = computed({given})") for name, given in COMPUTED.items()),
    *((f"rnn_cells_packed_{name}", f"{START}\nresult = packed({given})") for name, given in PACKED.items()),
    *((f"rnn_cells_error_{name}", f"{START}\nresult = {given}") for name, given in ERRORS.items()),
    *((f"rnn_cells_{name}", f"{START}\n{code}") for name, code in OTHERS.items()),
    *(
        (f"rnn_cells_sentences{name}", START + SENTENCES.replace("{options}", options))
        for name, options in SENTENCE_OPTIONS.items()
    ),
    ("rnn_cells_checkpoint", f"{START}\ncallback = False{CHECKPOINTS}"),
    ("rnn_cells_checkpoint_callback", f"{START}\ncallback = True{CHECKPOINTS}"),
]
