"""Graphs, and what partitioners are told to take of them: the cases of `tests/golden/native/partitions.json`.

Graphs are written as files hold them, so that MXNet and minpy read the same ones. A case is a graph, the shapes of the
arrays that are given (None: none are), and a list of calls: (partitioner, options). The partitioners are those of
`chooser.cc`; what they take is in the options.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

UNARY = ("exp", "log", "tanh", "sin", "negative")
BINARY = ("elemwise_add", "elemwise_mul", "elemwise_sub")
MODES = ("ids", "ops", "twice", "selector", "review", "dedup")


class Case(NamedTuple):
    """A graph, the shapes of given arrays (args, aux), and calls of optimize_for."""

    graph: dict[str, Any]
    shapes: tuple[dict[str, Any], dict[str, Any]] | None
    calls: list[tuple[str, dict[str, str]]]


class Builder:
    """Writes a graph, node after node; a value is (node, output)."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.shapes: dict[tuple[int, int], tuple[int, ...]] = {}
        self.args: dict[str, Any] = {}
        self.aux: dict[str, Any] = {}

    def var(self, name: str, shape: tuple[int, ...] = (2, 4), is_state: bool = False, given: bool = True) -> Any:
        """Add a variable."""
        if given:
            (self.aux if is_state else self.args)[name] = shape
        return self.call("null", name, (), shape)[0]

    def call(self, op: str, name: str, inputs: Any, *shapes: tuple[int, ...], **attrs: str) -> list[Any]:
        """Add a node; returns its outputs, of the given shapes."""
        node: dict[str, Any] = {"op": op, "name": name}
        if attrs:
            node["attrs"] = attrs
        node["inputs"] = [[number, index, 0] for number, index in inputs]
        self.nodes.append(node)
        found = [(len(self.nodes) - 1, index) for index in range(len(shapes))]
        self.shapes.update(zip(found, shapes, strict=True))
        return found

    def __call__(self, op: str, name: str, *inputs: Any, **attrs: str) -> Any:
        """Add a node with one output of the shape of its first input; returns that."""
        return self.call(op, name, inputs, self.shapes[inputs[0]], **attrs)[0]

    def batch_norm(self, name: str, data: Any) -> Any:
        """Add a BatchNorm with its variables."""
        width = (self.shapes[data][1],)
        rest = [self.var(f"{name}_{one}", width) for one in ("gamma", "beta")]
        rest += [self.var(f"{name}_moving_{one}", width, True) for one in ("mean", "var")]
        made = self("BatchNorm", name, data, *rest, fix_gamma="False")
        for entry in self.nodes[made[0]]["inputs"][3:]:
            entry[2] = 1
        return made

    def document(self, *heads: Any) -> dict[str, Any]:
        """Return the graph, in the order in which files hold it."""
        order: list[int] = []
        seen: set[int] = set()

        def visit(number: int) -> None:
            if number not in seen:
                seen.add(number)
                for entry in self.nodes[number]["inputs"]:
                    visit(entry[0])
                order.append(number)

        for number, _ in heads:
            visit(number)
        place = {number: position for position, number in enumerate(order)}
        nodes = [{**self.nodes[n], "inputs": [[place[a], i, v] for a, i, v in self.nodes[n]["inputs"]]} for n in order]
        names = {node["name"] for node in nodes}
        for table in (self.args, self.aux):
            for name in [name for name in table if name not in names]:
                del table[name]
        return {
            "nodes": nodes,
            "arg_nodes": [position for position, node in enumerate(nodes) if node["op"] == "null"],
            "heads": [[place[number], index, 0] for number, index in heads],
            "attrs": {"mxnet_version": ["int", 10901]},
        }


def labels(graph: dict[str, Any], wanted: dict[str, int]) -> str:
    """Return the option `ids` that gives nodes of these names these numbers."""
    return ",".join(str(wanted.get(node["name"], -2)) for node in graph["nodes"])


def by_hand() -> dict[str, Case]:
    """Return cases that each show one thing."""
    found: dict[str, Case] = {}

    def add(name: str, b: Builder, heads: Any, *calls: Any, shapes: bool = True) -> None:
        graph = b.document(*heads)
        calls = tuple(
            (partitioner, {k: labels(graph, v) if isinstance(v, dict) else v for k, v in options.items()})
            for partitioner, options in calls
        )
        found[name] = Case(graph, (b.args, b.aux) if shapes else None, list(calls))

    def chain() -> tuple[Builder, Any]:
        b = Builder()
        value = b.var("x")
        for op, name in zip(("exp", "log", "tanh", "exp", "sin"), "abcde", strict=True):
            value = b(op, name, value)
        return b, value

    for shapes in (True, False):
        end = "" if shapes else "_no_arrays"
        b, value = chain()
        add(f"chain_ops{end}", b, [value], ("chooser", {"ops": "exp,log"}), shapes=shapes)
        b, value = chain()
        add(f"chain_all{end}", b, [value], ("chooser", {"ops": "exp,log,tanh,sin"}), shapes=shapes)
        b, value = chain()
        add(f"chain_twice{end}", b, [value], ("twice", {"ops1": "exp", "ops2": "log,tanh"}), shapes=shapes)
        b, value = chain()
        add(f"chain_nested{end}", b, [value], ("twice", {"ops1": "log", "ops2": "_chosen,tanh"}), shapes=shapes)
        b, value = chain()
        add(
            f"chain_chained_calls{end}",
            b,
            [value],
            ("chooser", {"ops": "log"}),
            ("reviewer", {"ops": "_chosen,exp", "mark": "m"}),
            ("chooser", {"ops": "sin"}),
            shapes=shapes,
        )
        b, value = chain()
        add(f"chain_reject{end}", b, [value], ("reviewer", {"ops": "exp,log,sin", "reject": "1"}), shapes=shapes)
        b, value = chain()
        add(f"chain_mark{end}", b, [value], ("reviewer", {"ops": "exp,sin", "mark": "a b"}), shapes=shapes)

        b = Builder()
        x = b.var("x")
        a = b("exp", "a", x)
        c = b("log", "c", a)
        d = b("elemwise_add", "d", a, c)
        f = b("exp", "f", d)
        graph_heads = [f]
        add(f"diamond{end}", b, graph_heads, ("chooser", {"ops": "exp,elemwise_add"}), shapes=shapes)
        add(f"diamond_whole{end}", b, graph_heads, ("chooser", {"ops": "exp,elemwise_add,log"}), shapes=shapes)
        add(
            f"diamond_labels{end}",
            b,
            graph_heads,
            ("chooser", {"ids": {"a": 0, "c": 1, "d": 0, "f": -1}}),
            shapes=shapes,
        )

        b = Builder()
        x, y = b.var("x"), b.var("y", given=False)
        a = b("elemwise_add", "a", b("exp", "e", x), b("log", "l", x))
        add(f"one_variable_twice{end}", b, [a], ("chooser", {"ops": "exp,log,elemwise_add"}), shapes=shapes)
        add(
            f"one_variable_twice_dedup{end}",
            b,
            [a],
            ("chooser", {"ops": "exp,log,elemwise_add", "dedup_subgraph": "True"}),
            shapes=shapes,
        )
        b = Builder()
        x, y = b.var("x"), b.var("y", given=False)
        e = b("exp", "e", x)
        heads = [b("log", "l", e), b("elemwise_add", "t", e, y), e, x]
        add(f"several_readers{end}", b, heads, ("reviewer", {"ops": "exp"}), shapes=shapes)
        add(
            f"several_readers_dedup{end}",
            b,
            heads,
            ("chooser", {"ops": "exp", "dedup_subgraph": "True"}),
            shapes=shapes,
        )
        add(f"a_head_twice{end}", b, [e, e, heads[0]], ("chooser", {"ops": "exp"}), shapes=shapes)

        b = Builder()
        x = b.var("x")
        parts = b.call("SliceChannel", "sp", [x], (2, 2), (2, 2), axis="1", num_outputs="2")
        s = b("elemwise_add", "s", parts[1], parts[0])
        heads = [s, b("exp", "e", parts[0]), parts[1]]
        add(f"split_taken{end}", b, heads, ("chooser", {"ops": "SliceChannel"}), shapes=shapes)
        add(
            f"split_taken_dedup{end}",
            b,
            heads,
            ("chooser", {"ops": "SliceChannel", "dedup_subgraph": "True"}),
            shapes=shapes,
        )
        add(f"split_read{end}", b, heads, ("chooser", {"ops": "elemwise_add,exp"}), shapes=shapes)
        b = Builder()
        x = b.var("x")
        parts = b.call("SliceChannel", "sp", [x], (2, 2), (2, 2), axis="1", num_outputs="2")
        joined = b.call("Concat", "j", [*parts, *parts], (2, 8), dim="1", num_args="4")
        add(f"joined{end}", b, joined, ("chooser", {"ops": "Concat"}), shapes=shapes)
        add(f"joined_dedup{end}", b, joined, ("chooser", {"ops": "Concat", "dedup_subgraph": "True"}), shapes=shapes)
        add(
            f"joined_dedup_not_said{end}",
            b,
            joined,
            ("chooser", {"ops": "Concat", "dedup_subgraph": "1"}),
            shapes=shapes,
        )

        b = Builder()
        x = b.var("x")
        n = b.batch_norm("n", b("exp", "e", x))
        t = b("tanh", "t", n)
        add(f"batch_norm_taken{end}", b, [t], ("reviewer", {"ops": "BatchNorm,exp"}), shapes=shapes)
        add(f"batch_norm_not_reviewed{end}", b, [t], ("chooser", {"ops": "BatchNorm,tanh"}), shapes=shapes)
        add(f"batch_norm_left{end}", b, [t], ("reviewer", {"ops": "exp,tanh"}), shapes=shapes)
        b = Builder()
        x = b.var("x")
        w = b.var("fc_weight", (3, 4), given=False)
        fc = b.call("FullyConnected", "fc", [x, w, b.var("fc_bias", (3,), given=False)], (2, 3), num_hidden="3")[0]
        dropped = b("Dropout", "dr", fc, p="0.5")
        shared = b.call("FullyConnected", "fc2", [x, w], (2, 3), num_hidden="3", no_bias="True")[0]
        both = b("elemwise_add", "both", dropped, shared)
        add(f"shared_weight{end}", b, [both], ("reviewer", {"ops": "FullyConnected"}), shapes=shapes)
        add(
            f"shared_weight_together{end}",
            b,
            [both],
            ("chooser", {"ops": "FullyConnected,elemwise_add"}),
            shapes=shapes,
        )
        add(f"dropout_taken{end}", b, [both], ("reviewer", {"ops": "FullyConnected,Dropout"}), shapes=shapes)

        b = Builder()
        x = b.var("x")
        e = b("exp", "e", x)
        heads = [b("sin", "s", b("elemwise_add", "p", b("exp", "g", b("log", "l", e)), e))]
        wanted = {"e": 0, "g": 1, "p": 1}
        add(f"group_reads_group{end}", b, heads, ("chooser", {"ids": wanted}), shapes=shapes)
        add(
            f"group_reads_group_dedup{end}",
            b,
            heads,
            ("chooser", {"ids": wanted, "dedup_subgraph": "True"}),
            shapes=shapes,
        )
        add(
            f"number_gathers_any{end}",
            b,
            heads,
            ("chooser", {"ids": {"e": 3, "l": -1, "g": -1, "p": 3}}),
            shapes=shapes,
        )
        add(
            f"any_gathers_any_only{end}",
            b,
            heads,
            ("chooser", {"ids": {"e": -1, "l": 3, "g": -1, "p": 3}}),
            shapes=shapes,
        )

    b = Builder()
    x = b.var("x")
    a = b("exp", "a", x)
    c = b("log", "c", a)
    d = b("elemwise_add", "d", a, c)
    f = b("exp", "f", d)
    # The nodes are x 0, a 1, c 2, d 3, f 4.
    for name, options in {
        "selector_cycle": {"seeds": "1", "outs": "1>3,3>4"},
        "selector_all": {"seeds": "1", "outs": "1>2,1>3,3>4"},
        "selector_seed_is_largest": {"seeds": "3", "ins": "3>1"},
        "selector_inputs": {"seeds": "4", "ins": "4>3,3>2,2>1"},
        "selector_drop": {"seeds": "1,4", "outs": "1>2,1>3,3>4", "drop": "4"},
        "selector_drop_all": {"seeds": "1", "outs": "1>2", "drop": "1,2"},
        "selector_drop_seed": {"seeds": "1,2", "outs": "1>2", "drop": "1"},
        "selector_reject": {"seeds": "1,4", "reject": "0"},
    }.items():
        add(name, b, [f], ("selecting", options))
    return found


def drawn(seed: int) -> Case:
    """Return a case drawn by chance."""
    rng = random.Random(seed)
    mode = MODES[seed % len(MODES)]
    b = Builder()
    values = [b.var(f"x{number}") for number in range(rng.randint(1, 3))]
    for number in range(rng.randint(4, 14)):
        kind, name = rng.random(), f"n{number}"
        one = rng.choice(values[-6:] if rng.random() < 0.7 else values)
        same = [value for value in values if b.shapes[value] == b.shapes[one]]
        width = b.shapes[one][1]
        if kind < 0.4:
            made = [b(rng.choice(UNARY), name, one)]
        elif kind < 0.75:
            made = [b(rng.choice(BINARY), name, one, rng.choice(same))]
        elif kind < 0.85 and width > 1:
            half = (2, width // 2)
            made = b.call("SliceChannel", name, [one], half, half, axis="1", num_outputs="2")
        elif kind < 0.93:
            parts = [rng.choice(values) for _ in range(rng.randint(2, 3))]
            width = sum(b.shapes[part][1] for part in parts)
            if width not in (2, 4, 8):
                continue
            made = b.call("Concat", name, parts, (2, width), dim="1", num_args=str(len(parts)))
        else:
            made = [b.batch_norm(name, one)]
        values += made
    read = {(a, i) for node in b.nodes for a, i, _ in node["inputs"]}
    loose = [v for v in values if v not in read and b.nodes[v[0]]["op"] != "null"] or [values[-1]]
    heads = loose + [v for v in values if v not in loose and rng.random() < 0.1]
    rng.shuffle(heads)
    graph = b.document(*heads)
    count = len(graph["nodes"])
    ops = [node["op"] for node in graph["nodes"]]

    def some_ops(*further: str) -> str:
        kinds = sorted({op for op in ops if op != "null"} | {*further})
        return ",".join(rng.sample(kinds, rng.randint(1, len(kinds))))

    def some_ids() -> str:
        return ",".join(str(-2 if op == "null" else rng.choice((-2, -1, -1, 0, 0, 1))) for op in ops)

    calls: list[tuple[str, dict[str, str]]]
    if mode == "ids":
        calls = [("chooser", {"ids": some_ids()})]
    elif mode == "ops":
        calls = [("chooser", {"ops": some_ops()}), ("reviewer", {"ops": some_ops("_chosen"), "mark": "again"})]
    elif mode == "twice":
        calls = [("twice", {"ops1": some_ops(), "ops2": some_ops("_chosen"), "reject": str(rng.randint(0, 3))})]
    elif mode == "review":
        calls = [("reviewer", {"ids": some_ids(), "reject": f"{rng.randint(0, 2)},{rng.randint(0, 2)}", "mark": "k"})]
    elif mode == "dedup":
        calls = [(rng.choice(("chooser", "reviewer")), {"ops": some_ops(), "dedup_subgraph": "True"})]
    else:
        calls = [("selecting", _rules(rng, graph, count, ops))]
    return Case(graph, (b.args, b.aux) if rng.random() < 0.9 else None, calls)


def _rules(rng: random.Random, graph: dict[str, Any], count: int, ops: list[str]) -> dict[str, str]:
    """Return what a selector takes: seeds, and pairs of neighbours."""
    ins, outs = set(), set()
    for number, node in enumerate(graph["nodes"]):
        for source, _, _ in node["inputs"]:
            if ops[source] != "null":
                if rng.random() < 0.5:
                    ins.add(f"{number}>{source}")
                if rng.random() < 0.6:
                    outs.add(f"{source}>{number}")
    calls = [number for number in range(count) if ops[number] != "null"]
    seeds = rng.sample(calls, rng.randint(1, len(calls)))
    dropped = rng.sample(calls, rng.randint(0, 1))
    texts = {"seeds": map(str, sorted(seeds)), "drop": map(str, dropped), "ins": sorted(ins), "outs": sorted(outs)}
    return {key: ",".join(parts) for key, parts in texts.items()}


def all_cases(count: int = 240) -> dict[str, Case]:
    """Return all cases, those drawn by chance after those written by hand."""
    return {**by_hand(), **{f"drawn_{seed}": drawn(seed) for seed in range(count)}}


# -- how graphs are compared ------------------------------------------------------------------------------------------


def plain(document: dict[str, Any], inferred: bool, deduplicated: bool) -> Any:
    """Return what is compared of a graph in files: everything, versions of inputs included.

    What MXNet says of shapes where nothing was inferred is left out: it is cut out of the middle of other texts. Where
    values that are read several times were to be one output, MXNet numbers the readers as if they were not: which
    output is read of a node with a graph inside is then compared by what is computed.
    """
    inner = {number for number, node in enumerate(document["nodes"]) if node.get("subgraphs")}

    def entry(item: list[int]) -> list[Any]:
        return [item[0], "any" if deduplicated and item[0] in inner else item[1], *item[2:]]

    nodes = []
    for node in document["nodes"]:
        attrs = dict(sorted(node.get("attrs", {}).items()))
        if not inferred:
            attrs = {key: text for key, text in attrs.items() if not key.startswith("__ext_")}
        item = [node["op"], node["name"], attrs, [*map(entry, node["inputs"])]]
        item += [plain(graph, inferred, deduplicated) for graph in node.get("subgraphs", ())]
        nodes.append(item)
    return {"nodes": nodes, "heads": [*map(entry, document["heads"])], "rows": document["node_row_ptr"]}
