"""Golden cases of optimizers: twenty steps of each, and states; of learning-rate schedules over fifty updates."""

_STEPS = """
import warnings
warnings.simplefilter("ignore", UserWarning)
random = np.random.RandomState(7)
shapes = {shapes}
weights = [nd.array(random.uniform(-1, 1, shape), dtype={dtype!r}) for shape in shapes]
optimizer = {optimizer}
update = mx.optimizer.get_updater(optimizer)
seen = []
for step in range(20):
    grads = [nd.array(random.uniform(-1, 1, shape) * (1 + step % 3), dtype={dtype!r}) for shape in shapes]
    {call}
    if step in (0, 1, 9, 19):
        seen += [weight.copy() for weight in weights]
def flat(state):
    if isinstance(state, (list, tuple)):
        return [one for part in state for one in flat(part)]
    return [] if state is None else [state]
result = seen + [one for index in sorted(update.states) for one in flat(update.states[index])]
"""
_LISTS = "update([0, 1, 2], grads, weights)"
_SINGLE = "[update(index, grads[index], weights[index]) for index in range(3)]"
_SHAPES = "[(2, 3), (3,), (2, 1, 2)]"
_ROWS = "[(2, 3), (3, 2), (1, 4)]"


def _case(optimizer, dtype="float32", call=_SINGLE, shapes=_SHAPES):
    return _STEPS.format(optimizer=f"mx.optimizer.{optimizer}", dtype=dtype, call=call, shapes=shapes)


_NAMES = "param_idx2name={0: 'fc_weight', 1: 'fc_bias', 2: 'bn_gamma'}"
_EVERYTHING = f"wd=0.05, rescale_grad=0.5, clip_gradient=0.4, {_NAMES}"
_SCHEDULE = "lr_scheduler=mx.lr_scheduler.FactorScheduler(4, 0.5, base_lr=0.1)"
# Optimizer, what makes its steps visible, and further settings.
_TABLE = {
    "SGD": ("learning_rate=0.1", {"momentum": "momentum=0.9"}),
    "ccSGD": ("learning_rate=0.1", {"momentum": "momentum=0.9"}),
    "NAG": ("learning_rate=0.1", {"momentum": "momentum=0.9"}),
    "Signum": ("learning_rate=0.1", {"wd_lh": "wd_lh=0.1, momentum=0.5", "signs": "momentum=0"}),
    "FTML": ("learning_rate=0.1", {"betas": "beta1=0.5, beta2=0.8, epsilon=0.01"}),
    "LBSGD": ("learning_rate=0.1", {
        "momentum": "momentum=0.9",
        "scaled": "momentum=0.9, batch_scale=3, warmup_epochs=2, updates_per_epoch=4",
        "power2": "batch_scale=2, warmup_strategy='power2', warmup_epochs=2, updates_per_epoch=4, begin_epoch=1",
        "sqrt": "batch_scale=2, warmup_strategy='sqrt', warmup_epochs=2, updates_per_epoch=4",
        "lars": "momentum=0.5, batch_scale=2, warmup_strategy='lars', wd=0.1",
    }),
    "DCASGD": ("learning_rate=0.1", {"lamda": "lamda=0.5"}),
    "Adam": ("learning_rate=0.1", {"betas": "beta1=0.5, beta2=0.8, epsilon=0.01"}),
    "AdaGrad": ("learning_rate=0.1", {"eps": "eps=0.01"}),
    "RMSProp": ("learning_rate=0.1", {
        "gamma": "gamma1=0.5, epsilon=0.01", "centered": "centered=True", "weights": "clip_weights=0.5",
        "centered_all": "centered=True, gamma1=0.8, gamma2=0.5, epsilon=0.01, clip_weights=0.75",
    }),
    "AdaDelta": ("learning_rate=0.1", {"rho": "rho=0.5, epsilon=0.01"}),
    "Ftrl": ("learning_rate=0.1", {"lamda1": "lamda1=0.5, beta=0.5"}),
    "Adamax": ("learning_rate=0.1", {"betas": "beta1=0.5, beta2=0.8"}),
    "Nadam": ("learning_rate=0.1", {"betas": "beta1=0.5, beta2=0.8, epsilon=0.01, schedule_decay=0.1"}),
    "Test": ("learning_rate=0.1", {"rescaled": "rescale_grad=0.25"}),
}  # fmt: skip
_AGGREGATED = {
    "SGD": ("learning_rate=0.1", {"momentum": "momentum=0.9"}),
    "LARS": ("learning_rate=2", {
        "momentum": "momentum=0.9", "eta": "momentum=0.5, eta=0.1, eps=0.1", "corrected": f"momentum=0.9, {_SCHEDULE}",
        "uncorrected": f"momentum=0.9, momentum_correction=False, {_SCHEDULE}",
    }),
    "LAMB": ("learning_rate=0.1", {
        "betas": "beta1=0.5, beta2=0.8, epsilon=0.01", "bounds": "lower_bound=0.5, upper_bound=0.75",
        "biased": "bias_correction=False",
    }),
}  # fmt: skip


def _all(table, call, prefix=""):
    for name, (rate, settings) in table.items():
        for setting, text in {"plain": "", "everything": _EVERYTHING, **settings}.items():
            given = ", ".join(filter(None, [text] if "base_lr" in text else [rate, text]))
            yield f"{prefix}{name}_{setting}", _case(f"{name}({given})", call=call)
        if "everything" not in settings and name != "Test":
            dtype = "float64" if name == "FTML" else "float32"  # whose states are differences of large numbers
            yield f"{prefix}{name}_scheduled", _case(f"{name}({_SCHEDULE})", dtype, call)
            half = f"{name}({rate}, multi_precision=True, wd=0.05)"
            # (MXNet squares float16 weights in float16 for LAMB's norms, which moves the copies in float32.)
            end = "\nresult = seen" if name == "LAMB" else ""
            yield f"{prefix}{name}_float16", _case(half, "float16", call) + end
        if name not in ("Ftrl", "RMSProp", "AdaDelta", "AdaGrad", "Test", "LARS"):
            yield f"{prefix}{name}_float64", _case(f"{name}({rate})", "float64", call)


_ROW_WISE = [
    ("GroupAdaGrad_plain", _case("contrib.GroupAdaGrad(learning_rate=0.1)", shapes=_ROWS)),
    (
        "GroupAdaGrad_settings",
        _case("contrib.GroupAdaGrad(learning_rate=0.1, eps=0.1, rescale_grad=0.5, clip_gradient=0.3)", shapes=_ROWS),
    ),
]

_MOMENTA = [
    ("SGD_momentum_float16", _case("SGD(learning_rate=0.1, momentum=0.9, multi_precision=True)", "float16", _LISTS)),
    ("NAG_momentum_float16", _case("NAG(learning_rate=0.1, momentum=0.9, multi_precision=True)", "float16")),
    ("LARS_momentum_float16", _case("LARS(learning_rate=2, momentum=0.9, multi_precision=True)", "float16", _LISTS)),
    ("SGD_momentum_half", _case("SGD(learning_rate=0.1, momentum=0.5)", "float16")),
    ("Adam_begun", _case("Adam(learning_rate=0.1, begin_num_update=5)")),
]

_HELPERS = """
names = {0: 'fc_weight', 1: 'fc_bias', 2: 'bn_gamma', 3: 'bn_beta', 4: 'x', 5: 'embedding_weight'}
def dense():
    weight, bias = mx.sym.var('fc_weight', lr_mult=3, wd_mult=4), mx.sym.var('fc_bias', wd_mult=5.0, lr_mult=0.5)
    return mx.sym.FullyConnected(mx.sym.var('data'), weight, bias, num_hidden=3)
def rates(optimizer):
    every = range(7)
    return [optimizer._get_lrs(every), optimizer._get_wds(every), optimizer._get_lr(0), optimizer._get_wd(1)]
"""
_FACTORS = {
    "rates_by_name": """
optimizer = mx.optimizer.SGD(learning_rate=1.0, wd=0.1, param_idx2name=names)
result = rates(optimizer)
""",
    "rates_by_symbol": """
net = dense()
optimizer = mx.optimizer.SGD(learning_rate=1, wd=0.1, sym=net, param_idx2name=names)
result = rates(optimizer)
""",
    "rates_set": """
net = dense()
optimizer = mx.optimizer.SGD(learning_rate=1, wd=0.1, sym=net, param_idx2name=names)
optimizer.set_lr_mult({'fc_weight': 2.0, 4: 5.0, 'x': 7.0})
optimizer.set_wd_mult({'fc_bias': 3.0, 'bn_gamma': 0.5, 0: 7.0})
result = rates(optimizer)
""",
    "rates_of_parameters": """
class Parameter:
    lr_mult, wd_mult = 4.0, 0.25
optimizer = mx.optimizer.SGD(learning_rate=1, wd=0.1, param_dict={0: Parameter, 6: Parameter}, param_idx2name=names)
optimizer.set_lr_mult({'fc_weight': 2.0, 'x': 3.0})
result = rates(optimizer)
""",
    "rates_of_lars": """
optimizer = mx.optimizer.LARS(learning_rate=1, wd=0.1, param_idx2name=names)
result = rates(optimizer)
""",
    "schedule_and_rate": """
import warnings
schedule = mx.lr_scheduler.FactorScheduler(5, 0.5, base_lr=0.3, warmup_steps=3)
with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    optimizer = mx.optimizer.SGD(lr_scheduler=schedule, learning_rate=0.7)
result = [optimizer.lr, optimizer.learning_rate, schedule.base_lr, schedule.warmup_final_lr]
""",
    "schedule_alone": """
schedule = mx.lr_scheduler.FactorScheduler(5, 0.5, base_lr=0.3)
optimizer = mx.optimizer.SGD(lr_scheduler=schedule)
result = [optimizer.lr, optimizer.learning_rate]
""",
    "counts": """
optimizer = mx.optimizer.SGD(begin_num_update=7)
optimizer._update_count(0)
optimizer._update_count([0, 1])
result = [sorted(optimizer._index_update_count.items()), optimizer.num_update]
optimizer._set_current_context(1)
optimizer._update_count(0)
result += [sorted(optimizer._index_update_count.items()), sorted(optimizer._all_index_update_counts)]
result += [optimizer.num_update]
""",
    "groups": """
calls = []
class Noting(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return nd.zeros(weight.shape)
    def update(self, index, weight, grad, state):
        calls.append([index, type(weight).__name__, type(state).__name__])
for number in (0, 1, 2, 4):
    optimizer = Noting()
    optimizer.aggregate_num = number
    update = mx.optimizer.get_updater(optimizer)
    weights = [nd.ones(i + 1) for i in range(5)] + [nd.ones(2, dtype='float64'), nd.ones(2)]
    update(list(range(7)), weights, weights)
    update(9, weights[0], weights[0])
result = calls
""",
    "no_optimizer": "result = mx.optimizer.create('sdg')",
    "no_argument": "result = mx.optimizer.create('sgd', momentun=0.9)",
    "rate_of_schedule_set": "mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(5)).set_learning_rate(1)",
    "names_in_a_list": "mx.optimizer.SGD(param_idx2name=['a'])",
    "wd_of_groups": """
mx.optimizer.contrib.GroupAdaGrad(wd=0.1).update(0, nd.ones((2, 2)), nd.ones((2, 2)), nd.ones((2, 1)))
""",
    "groups_without_rows": "mx.optimizer.contrib.GroupAdaGrad().create_state(0, nd.ones(2))",
}

_WARM = "warmup_steps=7, warmup_begin_lr=0.05"
_SCHEDULES = {
    "factor": "FactorScheduler(5, 0.5, base_lr=0.3)",
    "factor_stop": "FactorScheduler(3, 0.5, stop_factor_lr=0.02, base_lr=0.3)",
    "factor_warm": f"FactorScheduler(5, 0.7, base_lr=0.3, {_WARM})",
    "factor_constant": f"FactorScheduler(5, 0.7, base_lr=0.3, {_WARM}, warmup_mode='constant')",
    "factor_default": "FactorScheduler(5)",
    "multi": "MultiFactorScheduler([3, 11, 40], 0.5, base_lr=0.3)",
    "multi_warm": f"MultiFactorScheduler([3, 11, 40], 0.5, base_lr=0.3, {_WARM})",
    "multi_default": "MultiFactorScheduler([3, 11])",
    "poly": "PolyScheduler(40, base_lr=0.3)",
    "poly_warm": f"PolyScheduler(40, 0.3, 1.5, 0.01, {_WARM})",
    "poly_constant": f"PolyScheduler(40, 0.3, 1, 0.01, {_WARM}, warmup_mode='constant')",
    "cosine": "CosineScheduler(40, base_lr=0.3)",
    "cosine_warm": f"CosineScheduler(40, 0.3, 0.01, {_WARM})",
    "cosine_late": "CosineScheduler(60, 0.3, 0.1)",
}
_UPDATES = {"": "range(51)", "_skipping": "[30, 10, 50, 3]", "_backwards": "range(50, -1, -7)"}
_LR = [
    (f"schedule_{name}{way}", f"schedule = mx.lr_scheduler.{text}\nresult = [float(schedule(n)) for n in {updates}]")
    for name, text in _SCHEDULES.items()
    for way, updates in _UPDATES.items()
]
_BAD = """
LRScheduler(0.1, 4, 0.2) LRScheduler(0.1,-1) LRScheduler(0.1,1.5) LRScheduler(0.1,4,0.02,'x')
LRScheduler(0.1,4).get_warmup_lr(4) LRScheduler()(1) FactorScheduler(0) FactorScheduler(1,1.5)
MultiFactorScheduler([]) MultiFactorScheduler([0]) MultiFactorScheduler([3,3]) MultiFactorScheduler((3,))
MultiFactorScheduler([3],1.5) PolyScheduler(0) PolyScheduler(1.5) CosineScheduler(0) CosineScheduler(1.5)
""".replace(", ", ",").split()
_LR += [(f"schedule_bad_{number}", f"result = mx.lr_scheduler.{text}") for number, text in enumerate(_BAD)]

_SIGNED = [
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "DCASGD",
    "FTML",
    "Ftrl",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "SGD",
    "SGLD",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "contrib.GroupAdaGrad",
    "Optimizer.update",
    "Optimizer.update_multi_precision",
    "Optimizer.create_state",
    "Updater.__call__",
    "Optimizer.create_state_multi_precision",
    "Optimizer.set_lr_mult",
    "Optimizer.set_wd_mult",
    "Optimizer.set_learning_rate",
    "create",
    "register",
    "get_updater",
    "Updater.get_states",
    "Updater.set_states",
    "Updater.sync_state_context",
]
_SIGNED = [f"optimizer.{name}" for name in _SIGNED] + [
    f"lr_scheduler.{name}Scheduler" for name in ("LR", "Factor", "MultiFactor", "Poly", "Cosine")
]
_SIGNATURE = """
import inspect
parameters = inspect.signature(mx.{name}).parameters.values()
result = [[one.name, one.kind.name, repr(one.default)] for one in parameters]
"""
_SIGNATURES = [(f"signature_{name}", _SIGNATURE.format(name=name)) for name in _SIGNED]

_NO_GRADIENT = """
update = mx.optimizer.get_updater(mx.optimizer.create('adamax', learning_rate=0.1))
weight = nd.array([1.0, 2.0])
update(0, nd.array([0.0, 0.5]), weight)
result = [weight]
"""

CASES = [
    *_SIGNATURES,
    *_all(_TABLE, _SINGLE),
    *_all(_AGGREGATED, _LISTS, "lists_"),
    *_ROW_WISE,
    *_MOMENTA,
    *((name, _HELPERS + text) for name, text in _FACTORS.items()),
    *_LR,
    ("adamax_without_gradient", _NO_GRADIENT),
]
