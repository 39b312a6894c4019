"""Cases of `mx.contrib.svrg_optimization`: what gradients of reduced variance come to."""

# ruff: noqa: E501 - one case is one text

SETUP = """
import logging, sys, importlib
package = importlib.import_module(mx.__name__ + ".contrib.svrg_optimization.svrg_module")
rs = np.random.RandomState(0)
X = rs.rand(14, 3).astype("float32"); Y = (X @ [1, 2, 3]).astype("float32")
P = {"fc_weight": mx.nd.array(rs.rand(1, 3)), "fc_bias": mx.nd.zeros(1)}
def made(rows=12, **kwargs):
    rows_of = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(rows_of, mx.sym.var("lin_label"), name="lin")
    return (package.SVRGModule(net, label_names=["lin_label"], **{"update_freq": 2, **kwargs}),
            mx.io.NDArrayIter(X[:rows], Y[:rows], 4, label_name="lin_label"))
def numbers(m):
    mx.nd.waitall()
    return [array for _, array in sorted(m.get_params()[0].items())]
"""

CASES = [
    (f"svrg_fit_{name}_{freq}", SETUP + f"""
m, data = made(update_freq={freq})
m.fit(data, data, num_epoch=3, eval_metric="mse", arg_params=P, aux_params={{}}, optimizer={name!r}, optimizer_params={options})
result = [*numbers(m), m.score(data, "mse")[0][1], m.predict(data)]
""")
    for name, options in (("sgd", {"learning_rate": 0.1}), ("adam", {"learning_rate": 0.05}))
    for freq in ((1, 3) if name == "sgd" else (3,))
]  # fmt: skip
CASES += [
    ("svrg_full_gradients", SETUP + """
m, data = made(rows=14)
m.bind(data.provide_data, data.provide_label); m.init_params(arg_params=P, aux_params={}); m.init_optimizer(optimizer_params={"learning_rate": .05})
m.update_full_grads(data)
result = [m._param_dict[0][name] for name in sorted(P)]
data.reset()
for batch in data:
    m.forward(batch, is_train=True); m.backward(); m.update()
result += numbers(m)
"""),
    ("svrg_fixed_parameter", SETUP + """
m, data = made(fixed_param_names=["fc_weight", "fc_bias"])
m.bind(data.provide_data, data.provide_label); m.init_params(arg_params=P, aux_params={}); m.init_optimizer(optimizer_params={"learning_rate": .05})
m.forward(next(data), is_train=False); result = m.get_outputs()
"""),
    ("svrg_no_frequency", SETUP + "made(update_freq=None); result = 0"),
    ("svrg_frequency_0", SETUP + "made(update_freq=0); result = 0"),
    ("svrg_frequency_no_integer", SETUP + "made(update_freq=1.5); result = 0"),
]  # fmt: skip
