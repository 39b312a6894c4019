"""Writes what `amp.convert_symbol` and `amp.init` make of graphs in MXNet 1.9.1. Run under it: see `amp_graphs.json`.

Usage: ``python tests/golden/make_amp.py``. It answers anew for the calls of operators that the file has already, and
for `NETWORKS`; and writes the lists of operators, ``amp_lists.json``.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# Names and expressions; `layer(x, name)` is a fully connected layer, without a bias.
NETWORKS = {
    "mlp": "SoftmaxOutput(full(relu(full(data, 'fc1')), 'fc2'), name='softmax')",
    "convolutions": "SoftmaxOutput(layer(s.Flatten(s.Pooling(bn(conv(bn(conv(data, 'c1'), 'b1'), 'c2'), 'b2'), "
    "kernel=(2, 2), name='pool'), name='flat'), 'fc'), name='softmax')",
    "residual": "s.elemwise_add(conv(relu(bn(conv(data, 'c1'), 'b1')), 'c2'), conv(data, 'c1'), name='sum')",
    "normalized": "layer(s.LayerNorm(layer(data, 'a'), name='ln'), 'b')",
    "recurrent": "layer(s.RNN(layer(data, 'a'), state_size=3, num_layers=1, mode='lstm', state_outputs=True, "
    "name='rnn')[0], 'b')",
    "attention": "s.batch_dot(s.softmax(s.batch_dot(layer(data, 'q'), layer(data, 'k'), transpose_b=True, name='qk'), "
    "name='weights'), layer(data, 'v'), name='out')",
    "several_heads": "Group([layer(data, 'a'), s.exp(data, name='e'), layer(data, 'a'), s.relu(data, name='r')])",
    "head_twice": "Group([fc, fc, s.exp(fc, name='e')])",
    "head_is_a_variable": "data",
    "split": "Group([*s.split(layer(data, 'a'), num_outputs=2, name='parts')])",
    "low_and_variable": "s.elemwise_add(fc, x, name='n')",
    "low_and_variable_that_is_cast": "s.elemwise_add(fc, data, name='n')",
    "variable_that_is_cast_later": "Group([s.elemwise_add(fc, x, name='n'), layer(x, 'g')])",
    "low_and_wide": "s.elemwise_add(fc, wide, name='n')",
    "wide_and_low": "s.elemwise_add(wide, fc, name='n')",
    "wide_that_is_cast_and_low": "Group([layer(wide, 'g'), s.elemwise_add(wide, fc, name='n')])",
    "wide_and_variable_that_is_cast": "Group([layer(x, 'g'), s.elemwise_add(wide, x, name='n')])",
    "wide_and_variable": "s.elemwise_add(wide, x, name='n')",
    "low_wide_and_variable": "s.add_n(fc, wide, x, name='n')",
    "variable_twice": "s.elemwise_add(x, x, name='n')",
    "relu_of_wide_and_low": "s.elemwise_add(s.relu(wide, name='r'), fc, name='n')",
    "relu_of_variable_and_low": "s.elemwise_add(s.relu(x, name='r'), fc, name='n')",
    "relu_of_wide": "s.relu(wide, name='r')",
    "exp_of_relu_of_variable": "s.exp(s.relu(x, name='r'), name='e2')",
    "sums_into_layers": "layer(s.elemwise_add(x, fc, name='n'), 'g')",
    "sums_into_exp": "s.exp(s.elemwise_add(x, fc, name='n'), name='e2')",
    "choice": "s.where(x, fc, wide, name='w')",
    "joined": "layer(s.concat(fc, s.relu(fc, name='r'), name='cc'), 'g')",
    "joined_mixed": "s.concat(fc, wide, fc, x, name='cc')",
    "cast_back": "layer(s.cast(fc, dtype='float32', name='back'), 'g')",
    "cast_and_low": "s.elemwise_add(s.cast(fc, dtype='float32', name='back'), fc, name='n')",
    "embedding": "layer(s.Embedding(data, input_dim=3, output_dim=4, name='emb'), 'g')",
    "conditions": "Group([s.LeakyReLU(fc, act_type='elu', name='elu'), s.Activation(fc, act_type='softrelu', "
    "name='soft'), s.Activation(fc, act_type='relu', name='act'), s.LeakyReLU(fc, act_type='leaky', name='leaky')])",
    "scalars": "Group([fc + 1, fc * 2, fc ** 2, 1 / fc, 2 ** fc, fc > 1])",
    "methods": "Group([fc.sum(), fc.exp(), fc.reshape((1, -1)), fc.softmax(), fc.mean(axis=0)])",
    "topk": "Group([*s.topk(fc, ret_typ='both', name='tk')])",
    "losses": "Group([s.LinearRegressionOutput(fc, name='lin'), s.MakeLoss(fc, name='ml'), s.CTCLoss(fc, x, "
    "name='ctc')])",
    "twice": "layer(layer(layer(data, 'a'), 'b'), 'c')",
    "loop": "s.contrib.foreach(lambda d, h: (layer(d, 'in'), h), data, x)[0]",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "data_names": {"data_names": ["data"]},
    "cast_optional_params": {"data_names": ["data"], "cast_optional_params": True},
    "excluded": {"excluded_sym_names": ["fc2", "c2", "n", "b", "r"]},
    "no_lists": {"target_dtype_ops": [], "fp32_ops": []},
    "few": {"target_dtype_ops": ["Convolution"]},
}


def scope_of(mx: Any) -> dict[str, Any]:
    """Returns what the expressions of networks see; new variables for each."""
    s = mx.sym

    def full(x: Any, name: str) -> Any:
        return s.FullyConnected(x, num_hidden=3, name=name)

    def layer(x: Any, name: str) -> Any:
        return s.FullyConnected(x, num_hidden=3, no_bias=True, name=name)

    def conv(x: Any, name: str) -> Any:
        return s.Convolution(x, kernel=(3, 3), num_filter=4, name=name)

    def bn(x: Any, name: str) -> Any:
        return s.BatchNorm(x, name=name)

    data, x = s.var("data"), s.var("x")
    return {
        "s": s,
        "full": full,
        "layer": layer,
        "conv": conv,
        "bn": bn,
        "data": data,
        "x": x,
        "Group": s.Group,
        "fc": layer(data, "f"),
        "wide": s.exp(data, name="e"),
        "SoftmaxOutput": s.SoftmaxOutput,
        "relu": lambda one: s.Activation(one, act_type="relu", name=f"relu_{one.name}"),
    }


def network(mx: Any, name: str) -> Any:
    """Returns a network's symbol."""
    with mx.name.NameManager():
        return eval(NETWORKS[name], scope_of(mx))


def operator_graph(mx: Any, call: dict[str, Any], kind: str) -> Any:
    """Returns a graph of one operator, its inputs in float16, variables, or mixed, its outputs given to layers."""
    scope = scope_of(mx)
    layer = scope["layer"]
    given: list[Any] = []
    for index in range(call["inputs"]):
        variable = mx.sym.var(f"x{index}")
        if kind == "variables" or (kind == "first" and index):
            given.append(variable)
        else:
            given.append(layer(variable, f"f{index}"))
    made = function(mx, call["name"])(*given, name="op", **call["attributes"])
    count = len(made.list_outputs())
    return mx.sym.Group([layer(made[index], f"g{index}") for index in range(count)])


def function(mx: Any, name: str) -> Any:
    """Returns an operator's function of symbols."""
    for prefix, module in (("_contrib_", "contrib"), ("_linalg_", "linalg"), ("_image_", "image")):
        if name.startswith(prefix):
            return getattr(getattr(mx.sym, module), name[len(prefix) :])
    return getattr(mx.sym, name, None) or getattr(mx.sym._internal, name)


def lines(symbol: Any) -> list[str]:
    """Returns a line for each node that computes, and for variables with a dtype."""
    graph = json.loads(symbol.tojson(remove_amp_cast=False))
    nodes = graph["nodes"]

    def source(entry: Any) -> str:
        name: str = nodes[entry[0]]["name"]
        return f"{name}:{entry[1]}" if entry[1] else name

    found = []
    for node in nodes:
        attributes = node.get("attrs", {})
        dtype = attributes.get("dtype") if node["op"] == "amp_cast" else attributes.get("__dtype__")
        if node["op"] != "null" or dtype is not None:
            noted = "" if dtype is None else f" {dtype}"
            found.append(f"{node['op']} {node['name']}({', '.join(map(source, node['inputs']))}){noted}")
        found += [f"  {line}" for part in node.get("subgraphs", ()) for line in _subgraph(part)]
    return [*found, "heads " + ", ".join(map(source, graph["heads"]))]


def _subgraph(part: dict[str, Any]) -> list[str]:
    names = [node["name"] for node in part["nodes"]]
    return [
        f"{node['op']} {node['name']}({', '.join(names[entry[0]] for entry in node['inputs'])})"
        for node in part["nodes"]
        if node["op"] != "null"
    ]


def about_operator(found: list[str]) -> list[str]:
    """Returns the lines of a graph of one operator that say what became of it."""
    return [line for line in found if re.search(r"\bop\b|\bop_", line)]


def answer(make: Any) -> Any:
    """Returns the lines of a graph, or the error."""
    try:
        return lines(make())
    except Exception as error:
        return type(error).__name__


def main() -> None:
    """Writes the files."""
    import mxnet as mx
    from mxnet.contrib import amp

    if mx.__version__ != "1.9.1":
        raise SystemExit(f"golden files come from MXNet 1.9.1, this is {mx.__version__}")
    path = HERE / "amp_graphs.json"
    calls = json.loads(path.read_text())["operators"]
    networks = {
        name: {
            label: answer(lambda: amp.convert_symbol(network(mx, name), **options))
            for label, options in OPTIONS.items()
        }
        for name in NETWORKS
    }
    operators = {}
    for label, call in calls.items():
        found = {
            kind: answer(lambda: amp.convert_symbol(operator_graph(mx, call, kind)))
            for kind in ("low", "variables", "first")
        }
        kept = {kind: about_operator(one) for kind, one in found.items() if isinstance(one, list)}
        if kept:
            operators[label] = {key: call[key] for key in ("name", "inputs", "attributes")} | kept
    amp.init()
    init = {name: answer(lambda: network(mx, name)) for name in NETWORKS}
    lists = {
        module: {name: value for name, value in vars(getattr(amp.lists, module)).items() if name.isupper()}
        for module in ("symbol_fp16", "symbol_bf16")
    }
    for name, found in (
        ("amp_graphs.json", {"networks": networks, "operators": operators, "init": init}),
        ("amp_lists.json", lists),
    ):
        temporary = HERE / f".{name}.{os.getpid()}"
        parts = [
            f"{json.dumps(part)}: {{\n"
            + ",\n".join(f"{json.dumps(key)}: {json.dumps(one, sort_keys=True)}" for key, one in sorted(given.items()))
            + "\n}"
            for part, given in sorted(found.items())
        ]
        temporary.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
        temporary.replace(HERE / name)


if __name__ == "__main__":
    main()
