"""Golden cases of updates of weights: two steps, the second with another gradient; what is returned, and the states."""

from textwrap import dedent

_WEIGHT = "[[1, -2, 0.5], [0.25, 3, -0.125]]"
_GRADS = ("[[0.5, -4, 0], [2, -0.25, 1]]", "[[-1, 1, 0.5], [3, 0, -0.75]]")


def _two_steps(call, states, dtype="float32", low=None, further=()):
    """Makes a snippet: ``call`` twice on weight, grad and the states, which start at zero.

    With ``low`` the weight and the gradient are of that dtype, and ``weight32`` is the weight in float32.
    """
    kind = low or dtype
    lines = [f"weight = nd.array({_WEIGHT}, dtype={kind!r})"]
    if low:
        lines += [f"weight32 = nd.array({_WEIGHT}, dtype='float32')"]
    lines += [f"{state} = nd.zeros((2, 3), dtype={'float32' if low else dtype!r})" for state in states]
    lines += ["one = nd.array([0.5], dtype='float32'); two = nd.array([2], dtype='float32')"]
    lines += [f"for t, values in enumerate([{', '.join(_GRADS)}], 1):"]
    lines += [f"    grad = nd.array(values, dtype={kind!r})", f"    returned = {call}"]
    kept = ["weight", "returned", *states, *(["weight32"] if low else []), *further]
    return "\n".join([*lines, f"result = [{', '.join(kept)}]"])


# Operator, its states, what it needs, and settings of its attributes.
_CLIPPED = {
    "plain": "",
    "decay": "wd=0.1",
    "rescaled": "rescale_grad=0.25",
    "clipped": "clip_gradient=0.75",
    "not_clipped": "clip_gradient=0",
    "everything": "wd=0.1, rescale_grad=0.5, clip_gradient=0.6",
}
_MOMENTUM = {**_CLIPPED, "momentum": "momentum=0.9", "all": "momentum=0.9, wd=0.1, rescale_grad=0.5, clip_gradient=0.6"}
_BETAS = {**_CLIPPED, "betas": "beta1=0.5, beta2=0.75, epsilon=0.01"}
_TABLE = [
    ("sgd_update", [], "lr=0.1", {**_CLIPPED, "lazy": "lazy_update=False"}),
    ("sgd_mom_update", ["mom"], "lr=0.1", _MOMENTUM),
    ("nag_mom_update", ["mom"], "lr=0.1", _MOMENTUM),
    ("adam_update", ["mean", "var"], "lr=0.1", {**_BETAS, "lazy": "lazy_update=False"}),
    ("ftml_update", ["d", "v", "z"], "lr=0.1, t=t", {
        **{name: text.replace("clip_gradient", "clip_grad") for name, text in _BETAS.items()},
    }),
    ("ftrl_update", ["z", "n"], "lr=0.1", {**_CLIPPED, "zeros": "lamda1=2", "beta": "beta=0.5, lamda1=0.1, wd=0.1"}),
    ("rmsprop_update", ["n"], "lr=0.1", {
        **_CLIPPED, "gamma": "gamma1=0.5, epsilon=0.01", "weights": "clip_weights=0.5", "none": "clip_weights=0",
    }),
    ("rmspropalex_update", ["n", "g", "delta"], "lr=0.1", {
        **_CLIPPED, "gamma": "gamma1=0.5, gamma2=0.25, epsilon=0.01", "weights": "clip_weights=0.5",
    }),
    ("signsgd_update", [], "lr=0.1", _CLIPPED),
    ("signum_update", ["mom"], "lr=0.1", {**_MOMENTUM, "wd_lh": "momentum=0.5, wd=0.1, wd_lh=0.2"}),
    ("lamb_update_phase1", ["mean", "var"], "t=t", {
        "plain": "wd=0", "decay": "wd=0.1", "clipped": "wd=0.1, clip_gradient=0.75", "zero": "wd=0, clip_gradient=0",
        "rescaled": "wd=0, rescale_grad=0.25", "biased": "wd=0.1, bias_correction=False",
        "betas": "wd=0.1, beta1=0.5, beta2=0.75, epsilon=0.01",
        "everything": "wd=0.1, rescale_grad=0.5, clip_gradient=0.6, beta1=0.8",
    }),
]  # fmt: skip
_MP = {
    "mp_sgd_update": ([], "lr=0.1", _CLIPPED),
    "mp_sgd_mom_update": (["mom"], "lr=0.1", _MOMENTUM),
    "mp_nag_mom_update": (["mom"], "lr=0.1", _MOMENTUM),
    "mp_lamb_update_phase1": (["mean", "var"], "t=t", {"plain": "wd=0", "decay": "wd=0.1, rescale_grad=0.25"}),
}


def _call(name, states, needed, text, low=False, out=True):
    inputs = ["weight", "grad", *states, *(["weight32"] if low else [])]
    target = [] if not out or "phase1" in name else ["out=weight"]
    return f"nd.{name}({', '.join([*inputs, needed, *filter(None, [text]), *target])})"


def _single():
    for name, states, needed, settings in _TABLE:
        for setting, text in settings.items():
            for dtype in ("float32", "float64"):
                yield f"{name}_{setting}_{dtype}", _two_steps(_call(name, states, needed, text), states, dtype)
        required = next(iter(settings.values()))
        yield f"{name}_without_out", _two_steps(_call(name, states, needed, required, out=False), states)
        half = _call(name, states, needed, settings.get("betas") or settings.get("gamma", required))
        yield f"{name}_half", _two_steps(half, states, "float16")
    for name, (states, needed, settings) in _MP.items():
        for setting, text in settings.items():
            yield f"{name}_{setting}", _two_steps(_call(name, states, needed, text, low=True), states, low="float16")
        if "phase1" in name:  # which refuses such weights
            continue
        text = next(iter(settings.values()))
        wide = _call(name, states, needed, text, low=True)
        yield f"{name}_wide", _two_steps(wide, states, low="float32")


_PHASE2 = {
    "plain": "", "lower": "lower_bound=1", "upper": "upper_bound=0.25", "both": "lower_bound=0.1, upper_bound=10",
    "zero": "lower_bound=0, upper_bound=0",
}  # fmt: skip
_ADAMW = {
    "plain": "lr=0.1, eta=1", "decay": "lr=0.1, eta=1, wd=0.1", "eta": "lr=0.1, eta=0.25, wd=0.1",
    "clipped": "lr=0.1, eta=1, clip_gradient=0.75", "betas": "lr=0.1, eta=1, beta1=0.5, beta2=0.75, epsilon=0.01",
    "zero": "lr=0.1, eta=1, clip_gradient=0",
}  # fmt: skip
_FACTORS = {"number": "0.5", "array": "one", "zero": "0.0", "inf": "float('inf')", "nan": "nd.array([np.nan])"}


def _lamb_and_adamw():
    for setting, text in _PHASE2.items():
        for name, low in (("lamb_update_phase2", None), ("mp_lamb_update_phase2", "float16")):
            for norms in ("one, two", "two, one", "one * 0, two", "one, one * 0"):
                inputs = f"weight, grad{'.astype(' + repr('float32') + ')' if low else ''}, {norms}"
                inputs += ", weight32" if low else ""
                call = f"nd.{name}({inputs}, lr=0.1, {text}{', ' if text else ''}out=weight)"
                label = norms.replace(", ", "_").replace(" * ", "")
                yield f"{name}_{setting}_{label}", _two_steps(call, [], low=low)
    norms = "one.astype('float64'), two.astype('float64')"
    yield (
        "lamb_update_phase2_double",
        _two_steps(f"nd.lamb_update_phase2(weight, grad, {norms}, lr=0.1)", [], "float64"),
    )
    states = ["mean", "var"]
    for name, low in (("adamw_update", None), ("mp_adamw_update", "float16")):
        inputs = "weight, grad, mean, var, " + ("weight32, " if low else "")
        for setting, text in _ADAMW.items():
            yield (
                f"{name}_{setting}",
                _two_steps(f"nd.contrib.{name}({inputs}0.5, {text}, out=weight)", states, low=low),
            )
        for factor, text in _FACTORS.items():
            call = f"nd.contrib.{name}({inputs}{text}, lr=0.1, eta=1, out=weight)"
            yield f"{name}_factor_{factor}", _two_steps(call, states, low=low)
        inner = f"nd._internal._{name}({inputs}one, lr=0.1, eta=1, out=weight)"
        yield f"{name}_inner", _two_steps(inner, states, low=low)
    call = "nd.contrib.adamw_update(weight, grad, mean, var, 0.5, lr=0.1, eta=1, wd=0.1, out=weight)"
    yield "adamw_update_double", _two_steps(call, states, "float64")
    yield "adamw_update_half", _two_steps(call.replace("wd=0.1", "epsilon=0.1"), states, "float16")
    call = "nd.contrib.adamw_update(weight, grad, mean, var, 'x', lr=0.1, eta=1)"
    yield "adamw_update_factor_text", _two_steps(call, states)


def _several(call, states, low=None, dtype="float32", kept=None):
    """Makes a snippet: ``call`` twice on lists of two weights of different shapes, and of their states."""
    kind = low or dtype
    own = "float32" if low else dtype
    lines = ["shapes = [(2, 3), (4,)]"]
    lines += [f"weights = [(nd.arange(6 - i * 2).reshape(s) - 2.5).astype({kind!r}) for i, s in enumerate(shapes)]"]
    lines += [f"{state} = [nd.zeros(s, dtype={own!r}) for s in shapes]" for state in states]
    lines += ["weights32 = [w.astype('float32') for w in weights]"] if low else []
    lines += ["lrs = nd.array([0.1, 0.2]); wds = nd.array([0, 0.1])"]
    lines += ["for t in (1, 2):"]
    lines += [f"    grads = [(nd.arange(w.size) * 0.5 - t).reshape(w.shape).astype({kind!r}) for w in weights]"]
    names = ["weights", "grads", *states, *(["weights32"] if low else [])]
    lines += [f"    data = [array for arrays in zip({', '.join(names)}) for array in arrays]"]
    lines += [f"    returned = {call}"]
    return "\n".join([*lines, f"result = [returned, weights, {', '.join(names[2:] if kept is None else kept)}]"])


def _multi():
    for momentum in (False, True):
        states = ["mom"] if momentum else []
        settings = _MOMENTUM if momentum else _CLIPPED
        for low in (None, "float16"):
            name = f"multi_{'mp_' if low else ''}sgd_{'mom_' if momentum else ''}update"
            for setting, text in settings.items():
                text = ", ".join(part for part in text.split(", ") if part and not part.startswith("wd="))
                text += ", " if text else ""
                rates = "lrs=(0.1, 0.2), wds=(0, 0.1)"
                call = f"nd.{name}(*data, {rates}, {text}num_weights=2, out=weights)"
                yield f"{name}_{setting}", _several(call, states, low)
                call = f"nd.preloaded_{name}(*data, lrs, wds, {text}num_weights=2, out=weights)"
                yield f"preloaded_{name}_{setting}", _several(call, states, low)
            if not low:
                call = f"nd.{name}(*data, lrs=(0.1, 0.2), wds=(0, 0.1), num_weights=2, out=weights)"
                yield f"{name}_double", _several(call, states, dtype="float64")
    call = "nd.multi_sgd_update(*data[:2], lrs=[0.1], wds=[0], out={})"
    yield "multi_sgd_update_one", _several(call.format("weights[0]"), [])
    yield "multi_sgd_update_one_in_a_list", _several(call.format("weights[:1]"), [])
    call = "nd.multi_sgd_update(*data, lrs=(0.1, {}), wds=(0, 0){}, num_weights={}, out=weights)"
    yield (
        "multi_sgd_update_too_few_rates",
        _several("nd.multi_sgd_update(*data, lrs=(0.1,), wds=(0, 0), num_weights=2)", []),
    )
    yield "multi_sgd_update_too_few_arrays", _several(call.format("0.1", "", "3"), [])
    yield "multi_sgd_update_no_rates", _several("nd.multi_sgd_update(*data, num_weights=2, out=weights)", [])
    for low in (None, "float16"):
        mp, lists = ("mp_", ", weights32") if low else ("", "")
        for setting, text in {
            "plain": "", "clipped": ", clip_gradient=0.75", "betas": ", beta1=0.5, beta2=0.75, epsilon=0.01",
        }.items():  # fmt: skip
            call = (
                f"nd.contrib.multi_{mp}adamw_update(weights, grads, mean, var{lists}, 0.5, [0.1, 0.2], [0, 0.1], "
                f"[1, 0.5], out=weights{text})"
            )
            yield f"multi_{mp}adamw_update_{setting}", _several(call, ["mean", "var"], low)
        for factor, text in _FACTORS.items():
            text = text.replace("one", "nd.array([0.5])")
            call = (
                f"nd.contrib.multi_{mp}adamw_update(weights, grads, mean, var{lists}, {text}, lrs=[0.1, 0.2], "
                "wds=[0, 0.1], etas=[1, 0.5], out=weights, size=2)"
            )
            yield f"multi_{mp}adamw_update_factor_{factor}", _several(call, ["mean", "var"], low)
        for setting, text in {
            "plain": "", "clipped": ", clip_gradient=0.75", "betas": ", beta1=0.5, beta2=0.75, epsilon=0.01",
            "bounds": ", lower_bound=0.5, upper_bound=2", "rescaled": ", rescale_grad=0.25",
            "biased": ", bias_correction=False", "lower": ", lower_bound=100", "upper": ", upper_bound=0.1",
        }.items():  # fmt: skip
            call = (
                f"nd.contrib.multi_{mp}lamb_update(weights, grads, mean, var{lists}, [t, t + 1], [0.1, 0.2], "
                f"[0, 0.1], out=weights{text})"
            )
            # (MXNet adds the squares of float16 weights up in float16, so that `weights32` have its errors.)
            yield f"multi_{mp}lamb_update_{setting}", _several(call, ["mean", "var"], low, kept=["mean", "var"])
    call = "nd.contrib.multi_lamb_update(weights, grads, mean, var, [t, t], [0.1, 0.2], [0, 0.1], out=weights)"
    yield "multi_lamb_update_double", _several(call, ["mean", "var"], dtype="float64")


_LARS = """
lrs, wds = nd.array([0.1, 0.2, 0.3, 0.4]), nd.array([0, 0.1, 0.2, 0])
weights, grads = nd.array([4, 1, 0, 2]), nd.array([1, 9, 1, 0])
result = nd.multi_lars(lrs, weights, grads, wds, {})
"""
_LARS_CASES = [
    (f"multi_lars_{name}", dedent(_LARS).strip().format(text))
    for name, text in {
        "plain": "eta=0.5, eps=0",
        "eps": "eta=0.5, eps=0.25",
        "rescaled": "eta=0.5, eps=0.25, rescale_grad=0.5",
        "no_eps": "eta=0.5",
    }.items()
]
_BAD = [
    ("adam_update_shapes", "result = nd.adam_update(nd.ones(2), nd.ones(3), nd.zeros(2), nd.zeros(2), lr=0.1)"),
    ("adam_update_lr_missing", "result = nd.adam_update(nd.ones(2), nd.ones(2), nd.zeros(2), nd.zeros(2))"),
    ("adam_update_unknown", "result = nd.adam_update(nd.ones(2), nd.ones(2), nd.zeros(2), nd.zeros(2), lr=1, beta3=1)"),
    (
        "lamb_update_phase2_norms",
        "result = nd.lamb_update_phase2(nd.ones(2), nd.ones(2), nd.ones(2), nd.ones(1), lr=1)",
    ),
    ("ftml_update_t_missing", "z = nd.zeros(2)\nresult = nd.ftml_update(nd.ones(2), nd.ones(2), z, z, z, lr=0.1)"),
    ("adam_update_integers", "w = nd.ones(2, dtype='int32')\nresult = nd.adam_update(w, w, w, w, lr=0.1)"),
    (
        "adam_update_strings",
        "w, m, v = nd.ones(2), nd.zeros(2), nd.zeros(2)\nresult = nd.adam_update(w, w, m, v, lr='0.1', beta1='0.5')",
    ),
]

CASES = [*_single(), *_lamb_and_adamw(), *_multi(), *_LARS_CASES, *_BAD]
