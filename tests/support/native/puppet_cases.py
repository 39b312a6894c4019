"""What the library of `puppet.c` is to do with graphs: cases that run under MXNet 1.9.1, and under what follows it.

A case is a function of (mx, puppet) that returns plain data: what the library was given, in which order, and what
became of the symbol and of its parameters.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy

__all__ = ["CASES", "random_partitions", "shown", "shown_log"]

CASES: dict[str, Callable[[Any, Any], Any]] = {}


def case(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    CASES[function.__name__] = function
    return function


# -- what came of it ---------------------------------------------------------------------------------------------------


def shown(graph: Any) -> list[Any]:
    """Return a graph that JSON holds in fewer words: a line for each node, those inside of it, and the rest."""
    lines: list[Any] = []
    for node in graph["nodes"]:
        inputs = " ".join(":".join(map(str, entry)) for entry in node["inputs"])
        attributes = "".join(f" | {key}={value}" for key, value in sorted(node.get("attrs", {}).items()))
        lines.append(f"{node['op']} {node['name']} ({inputs}){attributes}")
        lines += [shown(inner) for inner in node.get("subgraphs", [])]
        unknown = {*node} - {"op", "name", "inputs", "attrs", "subgraphs"}
        if unknown:
            lines.append(sorted(unknown))
    heads = " ".join(":".join(map(str, entry)) for entry in graph["heads"])
    lines.append(f"args {graph['arg_nodes']} rows {graph['node_row_ptr']} heads {heads}")
    return lines


def shown_log(log: list[list[Any]]) -> list[Any]:
    """Return a log with its graphs in fewer words. The order of the outputs that are asked for is nobody's business."""
    lines: list[Any] = []
    for what, *rest in log:
        if what == "output" and lines and lines[-1][0] == "output" and lines[-1][1] == rest[0]:
            lines[-1][2] = sorted([*lines[-1][2], rest[1]])
        elif what == "output":
            lines.append([what, rest[0], [rest[1]]])
        else:
            lines.append([what, *(shown(one) if isinstance(one, dict) and "nodes" in one else one for one in rest)])
    return lines


def made(mx: Any, puppet: Any, symbol: Any, backend: str, does: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    """Return what was asked, and what became of a symbol and of its parameters."""
    import json

    answer: dict[str, Any] = {}
    with puppet.doing(**does):
        mx.nd.waitall()
        result = symbol.optimize_for(backend + puppet.tag, **keywords)
        answer["log"] = shown_log(puppet.log)
    document = json.loads(result.tojson())
    answer["symbol"] = shown(document)
    answer["inputs"] = [result.list_arguments(), result.list_auxiliary_states(), result.list_outputs()]
    for what in ("args", "aux"):
        if keywords.get(what) is not None:
            answer[what] = {name: keywords[what][name].asnumpy().tolist() for name in sorted(keywords[what])}
    return answer


def computed(mx: Any, puppet: Any, symbol: Any, args: Any, aux: Any = None) -> dict[str, Any]:
    """Return values and gradients of a symbol, and what its last state was made from."""
    import json

    gradients = {name: mx.nd.zeros(array.shape) for name, array in args.items()}
    executor = symbol.bind(mx.cpu(), args, args_grad=gradients, aux_states=aux)
    outputs = executor.forward(is_train=True)
    values = [output.asnumpy().tolist() for output in outputs]
    executor.backward([mx.nd.ones(output.shape) * (1 + index) for index, output in enumerate(outputs)])
    found = {"values": values, "gradients": {name: gradients[name].asnumpy().tolist() for name in sorted(gradients)}}
    attributes = puppet.attributes()
    if "subgraph_sym_json" in attributes:
        document = json.loads(attributes.pop("subgraph_sym_json"))
        found["graph"] = [shown(document), document.get("attrs")]
    found["attributes"] = attributes
    return found


# -- graphs ------------------------------------------------------------------------------------------------------------


def chain(mx: Any) -> Any:
    a, b = mx.sym.var("a"), mx.sym.var("b")
    total = mx.sym.elemwise_add(a, b, name="s")
    return mx.sym.log(mx.sym.exp(total, name="e"), name="l")


def diamond(mx: Any) -> Any:
    """A path leaves the group and comes back."""
    e = mx.sym.exp(mx.sym.var("x"), name="e")
    return mx.sym.elemwise_add(mx.sym.log(e, name="l"), mx.sym.sin(e, name="outside"), name="s")


def fans(mx: Any) -> Any:
    """Values that several read, inside and outside."""
    a, b = mx.sym.var("a"), mx.sym.var("b")
    e = mx.sym.exp(a, name="e")
    f = mx.sym.exp(mx.sym.elemwise_mul(a, b, name="m"), name="f")
    inside = mx.sym.elemwise_add(e, f, name="inside")
    first = mx.sym.sin(inside, name="first")
    second = mx.sym.cos(inside, name="second")
    third = mx.sym.sin(e, name="third")
    return mx.sym.Group([mx.sym.elemwise_add(first, second, name="both"), third, inside])


def parts(mx: Any) -> Any:
    """An operator of several outputs, outside and inside."""
    pieces = mx.sym.SliceChannel(mx.sym.var("x"), num_outputs=3, name="pieces")
    e = mx.sym.elemwise_add(mx.sym.exp(pieces[0], name="e"), mx.sym.exp(pieces[2], name="g"), name="s")
    again = mx.sym.SliceChannel(e, num_outputs=2, name="again", axis=1)
    return mx.sym.Group([mx.sym.sin(again[1], name="o"), pieces[1]])


def with_states(mx: Any) -> Any:
    layer = mx.sym.FullyConnected(*map(mx.sym.var, ("data", "weight", "bias")), num_hidden=2, name="fc")
    normal = mx.sym.BatchNorm(layer, *map(mx.sym.var, ("gamma", "beta", "mean", "var")), name="bn", fix_gamma=False)
    return mx.sym.exp(normal, name="e")


def arrays(mx: Any, *names: str, shape: tuple[int, ...] = (2,)) -> dict[str, Any]:
    size = int(numpy.prod(shape, dtype=int))
    return {
        name: mx.nd.array(((numpy.arange(size) + 1.0 + index) / 4).reshape(shape)) for index, name in enumerate(names)
    }


def by_name(*names: str, number: int = -1) -> Callable[..., list[int]]:
    return lambda graph, options: [number if node["name"] in names else -2 for node in graph["nodes"]]


def by_op(*ops: str) -> Callable[..., list[int]]:
    return lambda graph, options: [-1 if node["op"] in ops else -2 for node in graph["nodes"]]


def numbered(**numbers: int) -> Callable[..., list[int]]:
    return lambda graph, options: [numbers.get(node["name"], -2) for node in graph["nodes"]]


def choosing(*ops: str) -> dict[str, Callable[..., bool]]:
    def chosen(graph: Any, node: int, other: int | None = None) -> bool:
        return graph["nodes"][node if other is None else other]["op"] in ops

    return {"select": chosen, "select_input": chosen, "select_output": chosen}


def accept(graph: Any, number: int, options: Any, args: Any, aux: Any) -> Any:
    return True, {}


# -- partitioners ------------------------------------------------------------------------------------------------------


@case
def nothing_is_known(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, chain(mx), "puppet", {"ids": by_op("exp", "log"), "review": accept})


@case
def arguments_are_known(mx: Any, puppet: Any) -> Any:
    args = arrays(mx, "a", "b")
    review = lambda graph, number, options, args, aux: (True, {"number": str(number), "sorted": "no"})
    return made(mx, puppet, chain(mx), "puppet", {"ids": by_op("exp", "log"), "review": review}, args=args)


@case
def empty_dicts_are_none(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, chain(mx), "puppet", {"ids": by_op("exp"), "review": accept}, args={}, aux={})


@case
def inference_is_skipped(mx: Any, puppet: Any) -> Any:
    args = arrays(mx, "a", "b")
    return made(mx, puppet, chain(mx), "puppet", {"ids": by_op("exp"), "review": accept}, args=args, skip_infer=True)


@case
def options_are_texts(mx: Any, puppet: Any) -> Any:
    options = {"on": True, "count": 1, "axes": (1, 2), "nothing": None, "words": "he llo", "half": 0.5, "empty": ""}
    return made(mx, puppet, chain(mx), "puppet", {"ids": by_op("exp"), "review": accept}, **options)


@case
def shapes_of_what_is_missing(mx: Any, puppet: Any) -> Any:
    args = arrays(mx, "weight", "bias", "gamma", "beta")
    args["weight"] = mx.nd.ones((2, 3))
    aux = arrays(mx, "mean", "var")
    does = {"ids": by_op("BatchNorm", "exp"), "review": accept}
    return made(mx, puppet, with_states(mx), "puppet", does, args=args, aux=aux, shape_dict={"data": (4, 3)})


@case
def states_only(mx: Any, puppet: Any) -> Any:
    aux = arrays(mx, "mean", "var")
    does = {"ids": by_op("BatchNorm", "exp"), "review": accept}
    shapes = {"data": (4, 3), "weight": (2, 3)}
    return made(mx, puppet, with_states(mx), "puppet", does, aux=aux, shape_dict=shapes)


@case
def states_without_review(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, with_states(mx), "puppet_no_review", {"ids": by_op("BatchNorm", "exp")})


@case
def dtypes_of_what_is_missing(mx: Any, puppet: Any) -> Any:
    args = {"a": mx.nd.ones((2, 3), dtype="float64")}
    does = {"ids": by_op("exp"), "review": accept}
    return made(mx, puppet, chain(mx), "puppet", does, args=args, type_dict={"b": numpy.float64})


@case
def groups_by_number(mx: Any, puppet: Any) -> Any:
    does = {"ids": numbered(s=3, e=3, l=-1), "review": accept}
    return made(mx, puppet, chain(mx), "puppet", does)


@case
def a_seed_of_any_group_takes_no_numbers(mx: Any, puppet: Any) -> Any:
    does = {"ids": numbered(s=-1, e=3, l=3), "review": accept}
    return made(mx, puppet, chain(mx), "puppet", does)


@case
def without_review(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, chain(mx), "puppet_no_review", {"ids": by_op("exp", "log")}, args=arrays(mx, "a", "b"))


@case
def all_of_it(mx: Any, puppet: Any) -> Any:
    args = arrays(mx, "a", "b")
    return made(mx, puppet, chain(mx), "puppet", {"ids": by_name("s", "e", "l"), "review": accept}, args=args)


@case
def nothing_of_it(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, chain(mx), "puppet", {"ids": by_name("nobody"), "review": accept})


@case
def rejected(mx: Any, puppet: Any) -> Any:
    review = lambda graph, number, *rest: (number == 1, {"given": "anyway"})
    return made(mx, puppet, fans(mx), "puppet", {"ids": by_op("exp"), "review": review})


@case
def left_as_it_is(mx: Any, puppet: Any) -> Any:
    review = lambda *rest: (None, {})
    return made(mx, puppet, chain(mx), "puppet", {"ids": by_op("exp"), "review": review})


@case
def a_path_comes_back(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, diamond(mx), "puppet", {"ids": by_op("exp", "log", "elemwise_add"), "review": accept})


@case
def a_path_comes_back_to_a_selector(mx: Any, puppet: Any) -> Any:
    does = {**choosing("exp", "log", "elemwise_add"), "review": accept}
    return made(mx, puppet, diamond(mx), "puppet_selector", does)


@case
def calls_of_a_selector(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, fans(mx), "puppet_selector", {**choosing("exp", "elemwise_add"), "review": accept})


@case
def variables_are_nodes_too(mx: Any, puppet: Any) -> Any:
    does = {**choosing("exp", "log", "null"), "review": accept}
    return made(mx, puppet, chain(mx), "puppet_selector", does)


@case
def filtered(mx: Any, puppet: Any) -> Any:
    keep = lambda graph, candidates: [one for one in candidates if graph["nodes"][one]["op"] != "exp"]
    does = {**choosing("exp", "elemwise_add"), "filter": keep, "review": accept}
    return made(mx, puppet, fans(mx), "puppet_selector", does)


@case
def filtered_to_nothing(mx: Any, puppet: Any) -> Any:
    does = {**choosing("exp", "log"), "filter": lambda graph, candidates: [], "review": accept}
    return made(mx, puppet, chain(mx), "puppet_selector", does)


@case
def several_outputs(mx: Any, puppet: Any) -> Any:
    args = {"x": mx.nd.ones((6, 6))}
    does = {"ids": by_name("e", "g", "s", "again"), "review": accept}
    return made(mx, puppet, parts(mx), "puppet", does, args=args)


@case
def one_variable_for_each_edge(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, fans(mx), "puppet", {"ids": by_name("e", "f", "m", "inside"), "review": accept})


@case
def one_variable_for_each_value(mx: Any, puppet: Any) -> Any:
    does = {"ids": by_name("e", "f", "m"), "review": accept}
    return made(mx, puppet, fans(mx), "puppet", does, dedup_subgraph=True)


@case
def two_strategies(mx: Any, puppet: Any) -> Any:
    does = {"ids": by_op("exp"), **choosing(f"_puppet_op{puppet.tag}", "log"), "review": accept}
    return made(mx, puppet, chain(mx), "puppet_two", does, args=arrays(mx, "a", "b"))


@case
def annotations_travel(mx: Any, puppet: Any) -> Any:
    with mx.AttrScope(ctx_group="left", __mine__="1"):
        a = mx.sym.var("a", lr_mult=2, shape=(2,))
        symbol = mx.sym.log(mx.sym.exp(a, name="e"), name="l")
    return made(mx, puppet, symbol, "puppet", {"ids": by_op("exp"), "review": accept}, args=arrays(mx, "a"))


@case
def attributes_of_operators(mx: Any, puppet: Any) -> Any:
    x = mx.sym.var("x")
    y = mx.sym.sum(mx.sym.transpose(x, axes=(1, 0), name="t"), axis=1, keepdims=True, name="s")
    args = {"x": mx.nd.ones((2, 3))}
    return made(mx, puppet, y, "puppet", {"ids": by_name("t"), "review": accept}, args=args)


# -- values and gradients ----------------------------------------------------------------------------------------------


def _computed_partition(mx: Any, puppet: Any, symbol: Any, args: Any, names: tuple[str, ...], **review: str) -> Any:
    attributes = lambda *rest: (True, review)
    with puppet.doing(ids=by_name(*names), review=attributes):
        mx.nd.waitall()
        result = symbol.optimize_for("puppet", args=args)
    return computed(mx, puppet, result, args)


@case
def values_of_one_input(mx: Any, puppet: Any) -> Any:
    return _computed_partition(mx, puppet, chain(mx), arrays(mx, "a", "b"), ("e", "l"))


@case
def values_of_two_inputs(mx: Any, puppet: Any) -> Any:
    return _computed_partition(mx, puppet, chain(mx), arrays(mx, "a", "b"), ("s", "e"), factor="3", note="he llo")


@case
def values_of_several_outputs(mx: Any, puppet: Any) -> Any:
    args = arrays(mx, "x", shape=(6, 6))
    return _computed_partition(mx, puppet, parts(mx), args, ("e", "g", "s", "again"))


@case
def values_of_fans(mx: Any, puppet: Any) -> Any:
    return _computed_partition(mx, puppet, fans(mx), arrays(mx, "a", "b"), ("e", "f", "m", "inside"))


@case
def values_of_two_strategies(mx: Any, puppet: Any) -> Any:
    args = arrays(mx, "a", "b")
    with puppet.doing(ids=by_op("exp"), **choosing(f"_puppet_op{puppet.tag}", "log"), review=accept):
        mx.nd.waitall()
        result = chain(mx).optimize_for("puppet_two", args=args)
    return computed(mx, puppet, result, args)


@case
def values_with_states(mx: Any, puppet: Any) -> Any:
    args = {**arrays(mx, "data", shape=(2, 2)), **arrays(mx, "gamma", "beta")}
    aux = arrays(mx, "mean", "var")
    symbol = mx.sym.BatchNorm(*map(mx.sym.var, ("data", "gamma", "beta", "mean", "var")), name="bn", fix_gamma=False)
    with puppet.doing(ids=by_name("bn"), review=accept):
        mx.nd.waitall()
        result = mx.sym.exp(symbol, name="e").optimize_for("puppet", args=args, aux=aux)
    order = [result.list_arguments(), result.list_auxiliary_states()]
    return [order, computed(mx, puppet, result, args, aux)]


# -- passes ------------------------------------------------------------------------------------------------------------


def _replaced(op: str, other: str) -> Callable[..., Any]:
    def run(graph: Any, options: Any, args: Any, aux: Any, host: Any) -> Any:
        for node in graph["nodes"]:
            if node["op"] == op:
                node["op"] = other
        return graph

    return run


@case
def a_pass(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, chain(mx), "puppet_pass", {"run": _replaced("exp", "sin")}, number=1)


@case
def a_pass_with_parameters(mx: Any, puppet: Any) -> Any:
    args = {**arrays(mx, "a"), "b": mx.nd.array([3, 4], dtype="int32")}
    return made(mx, puppet, chain(mx), "puppet_pass", {"run": _replaced("exp", "sin")}, args={"a": args["a"]})


def _adding(graph: Any, options: Any, args: Any, aux: Any, host: Any) -> Any:
    """Put `l * w` in the place of `l`, where w is new."""
    host.allocate("w", numpy.array([5, 7], numpy.float32))
    count = len(graph["nodes"])
    head = graph["heads"][0]
    graph["nodes"].append({"op": "null", "name": "w", "inputs": []})
    graph["nodes"].append({"op": "elemwise_mul", "name": "scaled", "inputs": [head, [count, 0, 0]]})
    graph["arg_nodes"].append(count)
    graph["heads"] = [[count + 1, 0, 0]]
    del graph["node_row_ptr"]
    return graph


@case
def a_pass_adds_an_argument(mx: Any, puppet: Any) -> Any:
    args = arrays(mx, "a", "b")
    return made(mx, puppet, chain(mx), "puppet_pass", {"run": _adding}, args=args)


def _adding_states(graph: Any, options: Any, args: Any, aux: Any, host: Any) -> Any:
    names = ("gamma", "beta", "mean", "var")
    head, count = graph["heads"][0], len(graph["nodes"])
    for index, name in enumerate(names):
        host.allocate(name, numpy.array([index, index + 1], numpy.float32), name in ("gamma", "beta"))
        graph["nodes"].append({"op": "null", "name": name, "inputs": []})
        graph["arg_nodes"].append(count + index)
    inputs = [head, *([count + index, 0, 0] for index in range(4))]
    graph["nodes"].append({"op": "BatchNorm", "name": "bn", "attrs": {"axis": "0"}, "inputs": inputs})
    graph["heads"] = [[count + 4, 0, 0]]
    del graph["node_row_ptr"]
    return graph


@case
def a_pass_adds_states(mx: Any, puppet: Any) -> Any:
    args, aux = arrays(mx, "a", "b"), {"unused": mx.nd.ones(1)}
    return made(mx, puppet, chain(mx), "puppet_pass", {"run": _adding_states}, args=args, aux=aux)


def _removing(graph: Any, options: Any, args: Any, aux: Any, host: Any) -> Any:
    """Let `e` read `a`, and nobody `s` and `b`."""
    a, e, last = (dict(graph["nodes"][index]) for index in (0, 3, 4))
    e["inputs"], last["inputs"] = [[0, 0, 0]], [[1, 0, 0]]
    return {"nodes": [a, e, last], "arg_nodes": [0], "heads": [[2, 0, 0]]}


@case
def a_pass_removes_an_argument(mx: Any, puppet: Any) -> Any:
    return made(mx, puppet, chain(mx), "puppet_pass", {"run": _removing}, args=arrays(mx, "a", "b"))


def _extended(op: str) -> Callable[..., Any]:
    """Append an input that inference does not see."""

    def run(graph: Any, options: Any, args: Any, aux: Any, host: Any) -> Any:
        nodes = [{"op": "null", "name": "extra", "inputs": []}, *graph["nodes"]]
        host.allocate("extra", numpy.array([100], numpy.float32))
        for node in nodes[1:]:
            node["inputs"] = [[number + 1, index, 0] for number, index, _ in node["inputs"]]
            if node["op"] == op:
                node["inputs"].append([0, 0, 0])
                node.setdefault("attrs", {})["__ext_extra_inputs__"] = "1"
        arg_nodes = [0, *(number + 1 for number in graph["arg_nodes"])]
        heads = [[number + 1, index, 0] for number, index, _ in graph["heads"]]
        return {"nodes": nodes, "arg_nodes": arg_nodes, "heads": heads}

    return run


@case
def a_pass_after_a_partitioner(mx: Any, puppet: Any) -> Any:
    args = arrays(mx, "a", "b")
    with puppet.doing(ids=by_op("exp"), review=accept):
        mx.nd.waitall()
        first = chain(mx).optimize_for("puppet", args=args)
    answer = made(mx, puppet, first, "puppet_pass", {"run": _extended("_puppet_op")}, args=args)
    with puppet.doing(run=_extended("_puppet_op")):
        args = arrays(mx, "a", "b")
        mx.nd.waitall()
        second = first.optimize_for("puppet_pass", args=args)
    args["extra"] = mx.nd.array([100])
    return [answer, computed(mx, puppet, second, args)]


@case
def a_pass_extends_a_normal_operator(mx: Any, puppet: Any) -> Any:
    a = mx.sym.var("a")
    symbol = mx.sym.puppet_total(a, name="t")
    args = arrays(mx, "a")
    with puppet.doing(run=_extended("puppet_total")):
        mx.nd.waitall()
        result = symbol.optimize_for("puppet_pass", args=args)
    args["extra"] = mx.nd.array([100])
    executor = result.bind(mx.cpu(), args)
    inputs = result.list_arguments()
    return [inputs, [output.asnumpy().tolist() for output in executor.forward()], result.infer_shape(a=(2,))[1]]


@case
def a_state_inside_of_a_subgraph(mx: Any, puppet: Any) -> Any:
    a, m = mx.sym.var("a"), mx.sym.var("m")
    symbol = mx.sym.exp(mx.sym.puppet_counting(a, m, name="c"), name="e")
    args, aux = arrays(mx, "a"), {"m": mx.nd.zeros(2)}
    return made(mx, puppet, symbol, "puppet", {"ids": by_name("c", "e"), "review": accept}, args=args, aux=aux)


# -- errors ------------------------------------------------------------------------------------------------------------


def _error(mx: Any, puppet: Any, backend: str, does: dict[str, Any], **keywords: Any) -> Any:
    """Return the kind of an error, and the dicts, which it may have changed."""
    try:
        with puppet.doing(**does):
            mx.nd.waitall()
            chain(mx).optimize_for(backend, **keywords)
        kind = "none"
    except RuntimeError as error:  # all of MXNet's are
        kind = str(error).splitlines()[0] if "Cannot add" in str(error) else "MXNetError"
    return [kind, *({name: sorted(keywords[name])} for name in ("args", "aux") if keywords.get(name) is not None)]


@case
def new_arguments_without_a_dict(mx: Any, puppet: Any) -> Any:
    return _error(mx, puppet, "puppet_pass", {"run": _adding})


@case
def supported_ops_fails(mx: Any, puppet: Any) -> Any:
    return _error(mx, puppet, "puppet", {"ids": lambda *rest: None}, args=arrays(mx, "a", "b"))


@case
def review_fails(mx: Any, puppet: Any) -> Any:
    return _error(mx, puppet, "puppet", {"ids": by_op("exp"), "review": lambda *rest: None})


@case
def a_pass_fails(mx: Any, puppet: Any) -> Any:
    return _error(mx, puppet, "puppet_pass", {"run": lambda *rest: None}, args=arrays(mx, "a", "b"))


# -- many graphs -------------------------------------------------------------------------------------------------------


def random_graph(mx: Any, draw: random.Random) -> Any:
    """Return a graph of up to 14 calls, of which some have two outputs, and several heads."""
    values = [mx.sym.var(f"x{index}") for index in range(draw.randint(1, 3))]
    for index in range(draw.randint(2, 14)):
        kind = draw.choice(["exp", "sin", "elemwise_add", "elemwise_add", "elemwise_mul", "SliceChannel"])
        first, second = draw.choice(values[-6:]), draw.choice(values)
        if kind == "SliceChannel":
            pieces = mx.sym.SliceChannel(first, num_outputs=2, name=f"n{index}")
            values += [pieces[0], pieces[1]]
        elif kind.startswith("elemwise"):
            values.append(getattr(mx.sym, kind)(first, second, name=f"n{index}"))
        else:
            values.append(getattr(mx.sym, kind)(first, name=f"n{index}"))
    heads = [values[-1], *draw.sample(values, draw.randint(0, 2))]
    return mx.sym.Group(heads) if len(heads) > 1 else heads[0]


def random_partitions(mx: Any, puppet: Any, count: int) -> Iterator[list[Any]]:
    """Yield what becomes of many graphs: without the attributes, and the texts of selectors' calls."""
    import json

    for seed in range(count):
        draw = random.Random(seed)
        symbol = random_graph(mx, draw)
        names = [node["name"] for node in json.loads(symbol.tojson())["nodes"]]
        ops = {node["name"]: node["op"] for node in json.loads(symbol.tojson())["nodes"]}
        numbers = {name: draw.choice([-2, -1, -1, 0, 1]) for name in names if ops[name] != "null"}
        if draw.random() < 0.6:
            numbers = {name: -1 if number > -2 else -2 for name, number in numbers.items()}
        options = {"dedup_subgraph": True} if draw.random() < 0.25 else {}
        if draw.random() < 0.5:
            backend, does = "puppet_no_review", {"ids": numbered(**numbers)}
        else:
            chosen = lambda graph, node, other=None: (
                numbers.get(graph["nodes"][node if other is None else other]["name"], -2) > -2
            )
            dropped = {name for name in numbers if draw.random() < 0.1}
            keep = lambda graph, candidates: [one for one in candidates if graph["nodes"][one]["name"] not in dropped]
            does = {"select": chosen, "select_input": chosen, "select_output": chosen, "filter": keep, "review": accept}
            backend = "puppet_selector"
        with puppet.doing(**does):
            try:
                text = brief(json.loads(symbol.optimize_for(backend, **options).tojson()))
            except mx.MXNetError as error:
                text = f"MXNetError: {error}".strip().splitlines()[-1]
            resets = sum(what == "reset" for what, *_ in puppet.log)
        yield [seed, backend, sorted(options), resets, text]


def brief(graph: Any) -> str:
    """Return a graph in one line."""
    parts = []
    for node in graph["nodes"]:
        inputs = " ".join(f"{number}:{index}" for number, index, _ in node["inputs"])
        inside = "".join(f"{{{brief(inner)}}}" for inner in node.get("subgraphs", []))
        parts.append(f"{node['name']}({inputs}){inside}" if node["op"] != "null" else node["name"])
    return "; ".join([*parts, "-> " + " ".join(f"{number}:{index}" for number, index, _ in graph["heads"])])
