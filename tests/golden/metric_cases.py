"""Golden cases of metrics: several updates, what is local and what global, averages, and what is refused."""

# Labels and predictions of two batches, by what they are.
_BATCHES = {
    "two": (
        ("nd.array([0, 1, 1])", "nd.array([[.3, .7], [0, 1.], [.4, .6]])"),
        ("nd.array([1, 0, 1, 0])", "nd.array([[.1, .9], [.8, .2], [.6, .4], [.3, .7]])"),
    ),
    "four": (
        (
            "nd.array([0, 1, 2, 3, 1, 2])",
            (
                "nd.array([[.7, .1, .1, .1], [.1, .6, .2, .1], [.2, .1, .3, .4], [.3, .35, .2, .15], "
                "[.6, .2, .15, .05], [0.1, .1, .8, 0]])"
            ),
        ),
        ("nd.array([3, 0])", "nd.array([[.1, .2, .3, .4], [.3, .4, .2, .1]])"),
    ),
    "columns": (
        ("nd.array([[0], [3]])", "nd.array([[.1, .2, .3, .4], [.3, .4, .2, .1]])"),
        ("nd.array([[1]])", "nd.array([[.1, .2, .3, .4]])"),
    ),
    "classes": (
        ("nd.array([0, 1, 2, 3, 1])", "nd.array([0, 1, 2, 2, 0])"),
        ("nd.array([4, 1])", "nd.array([4, 0])"),
    ),
    "floats": (
        ("nd.array([1, 2, 3.5])", "nd.array([1.5, 2, 3])"),
        ("nd.array([[1], [2], [0], [4]])", "nd.array([[1.25], [2.5], [-1], [3]])"),
    ),
    "matrices": (
        ("nd.array([[1, 2], [3, 4.5]])", "nd.array([[1, 0], [3, 5]])"),
        ("nd.array([[1, 2], [3, -4]])", "nd.array([[0.5, 2], [3, -1]])"),
    ),
    "doubles": (
        ("nd.array([1, 2, 3.5], dtype='float64')", "nd.array([1.5, 2, 3], dtype='float64')"),
        ("nd.array([1, 2], dtype='float64')", "nd.array([1.25, 2.5], dtype='float64')"),
    ),
    "images": (
        (
            "nd.array([[[0, 1], [1, 2]]])",
            "nd.array([[[[.1, .9], [.3, .1]], [[.2, .05], [.6, .2]], [[.7, .05], [.1, .7]]]])",
        ),
        (
            "nd.array([[[1, 1], [0, 2]]])",
            "nd.array([[[[.8, .2], [.6, .3]], [[.1, .7], [.2, .4]], [[.1, .1], [.2, .3]]]])",
        ),
    ),
    "steps": (
        ("nd.array([[0, 1], [1, 1]])", "nd.array([[.5, .5], [.3, .7], [.1, .9], [.6, .4]])"),
        ("nd.array([1, 0])", "nd.array([[.25, .75], [0, 1]])"),
    ),
}

_METRICS = {
    "accuracy": ("Accuracy()", "two four columns classes floats images"),
    "accuracy_last": ("Accuracy(axis=-1)", "two four"),
    "top_k": ("TopKAccuracy(2)", "two four columns classes"),
    "top_k_three": ("TopKAccuracy(top_k=3)", "four columns"),
    "f1": ("F1()", "two"),
    "f1_micro": ("F1(average='micro')", "two"),
    "mcc": ("MCC()", "two"),
    "mcc_micro": ("MCC(average='micro')", "two"),
    "pcc": ("PCC()", "two four columns classes"),
    "mae": ("MAE()", "floats matrices doubles"),
    "mse": ("MSE()", "floats matrices doubles"),
    "rmse": ("RMSE()", "floats matrices doubles"),
    "pearson": ("PearsonCorrelation()", "floats matrices doubles"),
    "pearson_micro": ("PearsonCorrelation(average='micro')", "floats matrices doubles"),
    "cross_entropy": ("CrossEntropy()", "two four columns"),
    "cross_entropy_eps": ("CrossEntropy(eps=0.25, name='ce')", "two four"),
    "nll": ("NegativeLogLikelihood()", "two four columns"),
    "perplexity": ("Perplexity(None)", "two four columns steps"),
    "perplexity_ignore": ("Perplexity(ignore_label=1)", "two four columns steps"),
    "perplexity_nothing": ("Perplexity(9)", "two"),
    "loss": ("Loss()", "floats matrices"),
    "torch": ("Torch()", "floats"),
    "caffe": ("Caffe()", "floats"),
    "custom": ("CustomMetric(lambda label, pred: abs(label - pred).mean())", "floats matrices"),
    "custom_sum": ("CustomMetric(lambda label, pred: (abs(label - pred).sum(), label.size), name='n')", "floats"),
    "np": ("np(lambda label, pred: float((label == pred).sum()))", "matrices"),
    "composite": ("CompositeEvalMetric(['acc', mx.metric.CrossEntropy()])", "two four"),
    "composite_nested": ("create(['mae', ['mse', 'rmse']])", "floats matrices"),
}


def _updates(made, kind):
    (label, pred), (label2, pred2) = _BATCHES[kind]
    # Arrays without a list are taken for lists of rows by some metrics: there must be as many.
    single = "" if kind == "steps" else f"m.update({label}, {pred}); look()"
    return f"""m = mx.metric.{made}
result = [m.get(), m.get_global()]
def look():
    result.extend([m.get(), m.get_global(), m.get_name_value(), m.get_global_name_value()])
m.update([{label}], [{pred}]); look()
m.update([{label2}], [{pred2}]); look()
m.reset_local(); look()
m.update([{label2}], [{pred2}]); look()
m.reset(); look()
{single}
m.update([{label}, {label2}], [{pred}, {pred2}]); look()
"""


_CONFIGS = {
    "accuracy": "Accuracy(axis=2, name='z', output_names=['a'], label_names=['b'])",
    "top_k": "TopKAccuracy(3)",
    "cross_entropy": "CrossEntropy(name='n', eps=3)",
    "perplexity": "Perplexity(2)",
    "perplexity_axis": "Perplexity(2, axis=1)",
    "f1": "F1()",
    "f1_micro": "F1(average='micro')",
    "mcc_micro": "MCC(average='micro')",
    "pearson_micro": "PearsonCorrelation(average='micro')",
    "pcc": "PCC()",
    "loss": "Loss(name='q')",
    "composite": "CompositeEvalMetric(['acc', 'ce'])",
    "custom": "CustomMetric(lambda l, p: 1)",
}

_NAMES = [
    "acc",
    "accuracy",
    "caffe",
    "ce",
    "composite",
    "compositeevalmetric",
    "crossentropy",
    "f1",
    "loss",
    "mae",
    "mcc",
    "mse",
    "negativeloglikelihood",
    "nll_loss",
    "pcc",
    "pearsoncorrelation",
    "pearsonr",
    "rmse",
    "torch",
    "ACC",
]

_REFUSED = {
    "accuracy_lengths": "m = mx.metric.Accuracy(); m.update([nd.array([0, 1, 1])], [nd.array([[.1, .9], [.3, .7]])])",
    "accuracy_numbers": "m = mx.metric.Accuracy(); m.update([nd.array([0])], [nd.array([0]), nd.array([1])])",
    "top_k_one": "mx.metric.TopKAccuracy()",
    "top_k_axes": "mx.metric.TopKAccuracy(2).update([nd.array([0])], [nd.zeros((1, 2, 3))])",
    "f1_classes": "mx.metric.F1().update([nd.array([0, 1, 2])], [nd.zeros((3, 2))])",
    "f1_vector": "mx.metric.F1().update([nd.array([0, 1])], [nd.array([0, 1])])",
    "mae_lengths": "mx.metric.MAE().update([nd.array([0, 1])], [nd.array([0, 1, 2])])",
    "pearson_shapes": "mx.metric.PearsonCorrelation().update([nd.array([0, 1])], [nd.array([[0], [1]])])",
    "cross_entropy_lengths": "mx.metric.CrossEntropy().update([nd.array([0, 1, 1])], [nd.zeros((2, 2))])",
    "cross_entropy_classes": "mx.metric.CrossEntropy().update([nd.array([0, 2])], [nd.zeros((2, 2))])",
    "perplexity_lengths": "mx.metric.Perplexity(None).update([nd.array([0, 1, 1])], [nd.zeros((2, 2))])",
    "custom_numbers": "mx.metric.CustomMetric(lambda l, p: 1).update([nd.array([0])], [nd.array([0]), nd.array([1])])",
    "create_unknown": "mx.metric.create('acuracy')",
    "create_none": "mx.metric.create(None)",
    "composite_no_list": "mx.metric.CompositeEvalMetric(mx.metric.Accuracy())",
    "update_of_base": "mx.metric.EvalMetric('x').update([], [])",
    "register": "mx.metric.register(int)",
    "average": "mx.metric.F1(average='weighted')",
    "pcc_lengths": "mx.metric.PCC().update([nd.array([0, 1, 1])], [nd.array([[1, 0], [0, 1]])])",
}

_OWN = """class Own(mx.metric.EvalMetric):
    def __init__(self, **kwargs):
        super().__init__('own', **kwargs)
    def update(self, labels, preds):
        self.sum_metric += len(labels)
        self.num_inst += len(preds)
"""

_OTHERS = {
    "own": _OWN
    + "m = Own(); m.update([1, 2, 3], [1, 2]); result = [m.get(), m.get_global()]; m.reset_local(); result += "
    "[m.get(), m.get_global(), str(m)]",
    "own_global": _OWN + "m = Own(has_global_stats=True); m.update([1], [1]); result = [m.get(), m.get_global()]",
    "update_dict": _OWN + "result = []\nfor outputs, labels in ((None, None), (['b', 'a'], None), (['a'], ['y'])):\n"
    "    m = Own(output_names=outputs, label_names=labels); m.update_dict({'x': 1, 'y': 2}, {'a': 1, 'b': 2, 'c': 3})\n"
    "    result.append(m.get())",
    "composite_names": _OWN
    + "c = mx.metric.CompositeEvalMetric([Own(), Own()], output_names=['a', 'z'], label_names=['x'])\n"
    "c.update_dict({'x': 1, 'y': 2}, {'a': 1, 'b': 2}); result = c.get()",
    "composite_get_metric": "c = mx.metric.create(['acc', 'ce'])\nresult = [str(c.get_metric(i)) for i in (0, 1)]",
    "composite_get_no_metric": "c = mx.metric.create(['acc', 'ce']); result = str(c.get_metric(2))",
    "string": "m = mx.metric.create(['acc', 'mae']); m.update([nd.array([0, 1])], [nd.array([0, 2])]); result = str(m)",
    "np_names": "def mine(label, pred): return 1\n"
    "result = [mx.metric.np(mine).name, mx.metric.np(mine, 'n').name, mx.metric.np(lambda l, p: 1).name]",
    "check": "l, p = mx.metric.check_label_shapes(nd.ones((2,)), nd.zeros((2, 3)), True); result = [l, p]",
    "check_shapes": "mx.metric.check_label_shapes(nd.ones((2,)), nd.zeros((2, 3)), shape=True)",
    "create_class": "result = mx.metric.create(mx.metric.MAE).name",
    "numpy_arrays": "m = mx.metric.MSE(); m.update([np.array([0])], [np.array([[.5, .5]])])\nresult = m.get()",
    "np_arrays": "m = mx.metric.Loss(); m.update(None, [mx.np.array([1, 2])]); result = m.get()",
    "top_k_ties": "m = mx.metric.TopKAccuracy(2); m.update([nd.array([0, 0])], [nd.ones((2, 3))]); result = m.get()",
    "top_k_of_all": "m = mx.metric.TopKAccuracy(5); m.update([nd.array([0, 2])], [nd.ones((2, 3))]); result = m.get()",
    "f1_column": "m = mx.metric.F1(); m.update([nd.array([[0], [1], [1]])], [nd.array([[.1, .9], [.3, .7], [1, 0]])])\n"
    "result = m.get()",
    "extra_outputs": "m = mx.metric.CustomMetric(lambda l, p: 2.0, allow_extra_outputs=True); "
    "m.update([nd.array([0])], [nd.array([0]), nd.array([1])]); result = m.get()",
    "loss_sizes": "m = mx.metric.Loss(); m.update(0, [nd.array([1, 2]), nd.array([[6]])]); result = m.get()",
    "pcc_one_class": "m = mx.metric.PCC(); m.update([nd.array([1, 1])], [nd.array([1, 1])]); result = m.get()",
    "f1_nothing_right": "m = mx.metric.F1(); m.update([nd.array([0, 0])], [nd.array([[.9, .1], [.8, .2]])]); "
    "result = m.get()",
}

CASES = [
    *(
        (f"metric_{name}_{kind}", _updates(made, kind))
        for name, (made, kinds) in _METRICS.items()
        for kind in kinds.split()
    ),
    *(
        (f"metric_config_{name}", f"result = sorted(map(str, mx.metric.{made}.get_config().items()))")
        for name, made in _CONFIGS.items()
    ),
    *(
        (
            f"metric_again_{name}",
            f"m = mx.metric.create(mx.metric.{made}.get_config()); result = [type(m).__name__, m.get()[0]]",
        )
        for name, made in _CONFIGS.items()
    ),
    *(
        (f"metric_called_{name}", f"m = mx.metric.create({name!r}); result = [type(m).__name__, m.get()[0]]")
        for name in _NAMES
    ),
    *((f"metric_refused_{name}", f"{snippet}\nresult = None") for name, snippet in _REFUSED.items()),
    *((f"metric_{name}", snippet) for name, snippet in _OTHERS.items()),
]
