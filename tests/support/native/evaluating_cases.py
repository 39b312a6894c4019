"""What a library written in C++, that of `evaluating.cc`, makes of graphs: under MXNet 1.9.1, and what follows it.

A case is a list of backends to go through, with their options.
"""

from __future__ import annotations

import json
from typing import Any

from native.puppet_cases import shown

__all__ = ["CASES", "Steps", "given", "graph", "run"]

Steps = list[tuple[str, dict[str, Any]]]

CASES: dict[str, Steps] = {
    "supported": [("evaluated", {})],
    "without_one": [("evaluated", {"without": "e"})],
    "rejected": [("evaluated", {"without": "e", "reject": 0})],
    "never_said": [("evaluated", {"review": "silent"})],
    "wrong_on_purpose": [("evaluated", {"without": "l"}), ("evaluated", {"without": "e,n"})],
    "chosen": [("evaluated_chosen", {})],
    "chosen_from_one": [("evaluated_chosen", {"seeds": "negative"})],
    "dropped": [("evaluated_chosen", {"drop": "s"})],
    "all_dropped": [("evaluated_chosen", {"drop": "s,e,n,l,p,o"})],
    "twice": [("evaluated_twice", {"drop": "n,p,o", "seeds": "log"})],
    "rescaled": [("rescaled", {"factor": 3})],
    "rescaled_and_supported": [("rescaled", {"factor": 3}), ("evaluated", {})],
    "supported_and_appended": [("evaluated", {}), ("rescaled", {"append": 0.25})],
    "appended_and_rescaled": [("evaluated", {"without": "p"}), ("rescaled", {"append": 0.5, "factor": -1})],
    "everything": [
        ("evaluated_chosen", {"seeds": "log"}),
        ("rescaled", {"factor": 5}),
        ("evaluated_twice", {"seeds": "exp"}),
        ("rescaled", {"append": 2}),
    ],
}


def graph(mx: Any) -> Any:
    """Return a graph with paths that leave what is known, and come back."""
    a, b, w = mx.sym.var("a"), mx.sym.var("b"), mx.sym.var("w")
    e = mx.sym.exp(mx.sym.elemwise_add(a, b, name="s"), name="e")
    n, l = mx.sym.negative(e, name="n"), mx.sym.log(e, name="l")  # noqa: E741
    p = mx.sym.elemwise_mul(n, w, name="p")
    o = mx.sym.elemwise_add(p, mx.sym.sin(l, name="t"), name="o")
    return mx.sym.Group([o, e])


def given(mx: Any, dtype: str = "float32") -> dict[str, Any]:
    """Return values for a graph's variables."""
    values = {"a": [[0.25, 0.5]], "b": [[0.125, -0.5]], "w": [[2, 3]]}
    return {name: mx.nd.array(value, dtype=dtype) for name, value in values.items()}


def run(mx: Any, steps: Steps, known: bool) -> dict[str, Any]:
    """Return what becomes of the graph, and what it computes."""
    args = given(mx) if known else {}
    mx.nd.waitall()
    symbol = graph(mx)
    for backend, options in steps:
        symbol = symbol.optimize_for(backend, args=args, **options)
    document = json.loads(symbol.tojson())
    answer: dict[str, Any] = {"symbol": shown(document), "args": {key: args[key].asnumpy().tolist() for key in args}}
    args = {**given(mx), **args}
    args = {name: args[name] for name in symbol.list_arguments()}
    gradients = {name: mx.nd.zeros(array.shape) for name, array in args.items()}
    executor = symbol.bind(mx.cpu(), args, args_grad=gradients)
    outputs = executor.forward(is_train=True)
    answer["values"] = [output.asnumpy().tolist() for output in outputs]
    executor.backward([mx.nd.ones(output.shape) * (1 + index) for index, output in enumerate(outputs)])
    answer["gradients"] = {name: gradients[name].asnumpy().tolist() for name in sorted(gradients)}
    return answer
