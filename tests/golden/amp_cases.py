"""Golden cases of `mx.contrib.amp` that need no `amp.init`, which nothing undoes there."""

# ruff: noqa: E501 - one case is one line of text

START = """
from importlib import import_module
amp = import_module(mx.__name__ + '.contrib.amp')
gluon, sym = mx.gluon, mx.sym
data = sym.var('data')
fc = sym.FullyConnected(data, num_hidden=3, no_bias=True, name='f')

def casts(symbol):
    import json
    return [one['name'] for one in json.loads(symbol.tojson(remove_amp_cast=False))['nodes'] if one['op'].startswith('amp')]

def weight_and_trainer(**options):
    weight = gluon.Parameter('weight', shape=(2,))
    weight.initialize('ones', ctx=options.pop('ctx', [mx.cpu()]))
    trainer = gluon.Trainer([weight], 'sgd', {'learning_rate': 0.5}, **options)
    return weight, trainer

def scaled_by_hand(trainer):
    trainer._amp_loss_scaler, trainer._amp_original_scale = amp.loss_scaler.LossScaler(), trainer._scale
"""


def _case(text: str) -> str:
    return START + text.strip() + "\n"


CASES = [
    ("amp_convert_symbol", _case("result = casts(amp.convert_symbol(fc))")),
    ("amp_convert_symbol_take", _case("result = casts(amp.convert_symbol(sym.take(fc, sym.exp(data), name='t')))")),
    ("amp_convert_symbol_pick", _case("result = casts(amp.convert_symbol(sym.pick(fc, sym.var('label'), name='p')))")),
    (
        "amp_convert_symbol_layer_in_no_list",
        _case(
            "result = casts(amp.convert_symbol(sym.FullyConnected(sym.BatchNorm(sym.Convolution(data, kernel=(1, 1), num_filter=2, name='c'), name='b'), num_hidden=2, name='g'), target_dtype_ops=['Convolution']))"
        ),
    ),
    (
        "amp_convert_symbol_widest_as_target",
        _case("result = casts(amp.convert_symbol(sym.dot(data, data, name='d'), target_dtype_ops=['dot']))"),
    ),
    (
        "amp_convert_symbol_wide_as_target",
        _case("result = casts(amp.convert_symbol(sym.exp(data, name='e'), target_dtype_ops=['exp']))"),
    ),
    ("amp_convert_symbol_bfloat16", _case("result = casts(amp.convert_symbol(fc, 'bfloat16'))")),
    ("amp_convert_symbol_float64", _case("result = casts(amp.convert_symbol(fc, 'float64'))")),
    (
        "amp_convert_symbol_declared",
        _case(
            "result = amp.convert_symbol(sym.FullyConnected(data, sym.var('w', dtype='float64'), num_hidden=2, no_bias=True, name='g')).attr_dict()['w']['__dtype__']"
        ),
    ),
    (
        "amp_convert_model_changes_dicts",
        _case(
            "params = {'f_weight': nd.ones((3, 2))}; amp.convert_model(fc, params, {}, cast_optional_params=True); result = str(np.dtype(params['f_weight'].dtype))"
        ),
    ),
    (
        "amp_convert_hybrid_block_ctx",
        _case(
            "net = gluon.nn.Dense(2, in_units=3); net.initialize(); net.hybridize(); net(nd.ones((1, 3))); result = sorted(amp.convert_hybrid_block(net).collect_params().values(), key=str)[0].dtype"
        ),
    ),
    (
        "amp_cast_gradient_added_up",
        _case(
            "x = nd.ones(2); x.attach_grad('add')\nfor _ in range(2):\n    with autograd.record():\n        y = nd.amp_cast(x, dtype='float16') * 3\n    y.backward()\nresult = x.grad"
        ),
    ),
    (
        "amp_cast_gradient_added_up_in_a_graph",
        _case(
            "x, w = nd.ones((1, 2)), nd.ones((1, 2)); grads = [nd.zeros((1, 2)), nd.zeros((1, 2))]; out = sym.sum(sym.FullyConnected(sym.amp_cast(sym.var('x'), dtype='float32'), sym.amp_cast(sym.var('w'), dtype='float32'), no_bias=True, num_hidden=1))\nexecutor = out.bind(mx.cpu(), {'x': x, 'w': w}, dict(zip('xw', grads)), grad_req='add')\nfor _ in range(2):\n    executor.forward(is_train=True); executor.backward(nd.ones(1))\nresult = grads"
        ),
    ),
    (
        "amp_cast_gradient",
        _case(
            "x = nd.ones(2); x.attach_grad()\nwith autograd.record():\n    y = nd.amp_cast(x, dtype='float16') * 3\ny.backward()\nresult = x.grad"
        ),
    ),
    (
        "amp_scale_loss_without_init",
        _case(
            "weight, trainer = weight_and_trainer()\nwith amp.scale_loss(nd.ones(2), trainer) as scaled:\n    result = scaled"
        ),
    ),
    ("amp_unscale_without_init", _case("weight, trainer = weight_and_trainer(); result = amp.unscale(trainer)")),
    ("amp_init_trainer_without_init", _case("result = amp.init_trainer(weight_and_trainer()[1])")),
    (
        "amp_overflow_left_out",
        _case(
            "weight, trainer = weight_and_trainer(update_on_kvstore=False); scaled_by_hand(trainer)\nwith autograd.record():\n    y = weight.data() * float('inf')\ny.backward()\ntrainer.step(1)\nresult = weight.data()"
        ),
    ),
    (
        "amp_overflow_in_the_store",
        _case(
            "weight, trainer = weight_and_trainer(update_on_kvstore=True, ctx=[mx.cpu(0), mx.cpu(1)]); scaled_by_hand(trainer)\nwith autograd.record():\n    ys = [one * float('inf') for one in weight.list_data()]\nautograd.backward(ys)\ntrainer.step(1)\nresult = weight.data(mx.cpu(0))"
        ),
    ),
    ("amp_lists_of_bfloat16", _case("result = amp.list_lp16_ops('bfloat16')")),
    ("amp_lists_of_float64", _case("result = amp.list_lp16_ops('float64')")),
    ("amp_list_lp16_ops", _case("result = amp.list_lp16_ops('float16')")),
    (
        "amp_scaler",
        _case(
            "scaler = amp.loss_scaler.LossScaler(); weight, _ = weight_and_trainer(); weight.grad()[:] = float('nan'); result = [scaler.has_overflow([weight]) for _ in range(3)] + [scaler.loss_scale, scaler._next_loss_scale]"
        ),
    ),
]
