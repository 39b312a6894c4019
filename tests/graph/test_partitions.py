"""Partitions equal to those of MXNet 1.9.1, and to a naive model; values and gradients before and after."""

from __future__ import annotations

import hashlib
import json

import pytest
from many import each
from native import partition_cases
from places import GOLDEN

import minpy as mx
from minpy.graph import Selector

ANSWERS = json.loads((GOLDEN / "native" / "partitions.json").read_text(encoding="utf-8"))
ALL = partition_cases.all_cases()
ASKED: list[str] = []


def numbers(text):
    return [int(part) for part in text.split(",") if part]


def pairs(text):
    return {tuple(map(int, part.split(">"))) for part in text.split(",") if part}


def chosen(ops="", ids=""):
    """Return a function that takes nodes as the options say: those of `chooser.cc`."""
    given = numbers(ids)
    names = {"_chosen": {"chooser", "reviewer", "twice", "selecting"}, "_chosen_too": {"twice_two"}}
    kinds = {kind for op in ops.split(",") for kind in names.get(op, {op})}

    def supported(node):
        if given:
            return given[node.index] if node.index < len(given) else -2
        return node.op in kinds

    return supported


def review(graph, number, reject="", mark=""):
    seen = [
        f"{node.name}{'' if node.array is None else '=' + ''.join(f'{n},' for n in node.array.shape)}"
        for node in graph
        if node.is_variable
    ]
    ASKED.append(f"review {number} inputs {' '.join(seen)}".rstrip())
    if number in numbers(reject):
        return False
    return {"mark": mark, "__number__": str(number)} if mark else True


class Chooser(Selector):
    def __init__(self, graph, seeds="", drop="", ins="", outs=""):
        self.seeds, self.dropped = {*numbers(seeds)}, {*numbers(drop)}
        self.ins, self.outs = pairs(ins), pairs(outs)

    def select(self, node):
        ASKED.append(f"select {node.index}")
        return node.index in self.seeds

    def select_input(self, node, input):
        return (node.index, input.index) in self.ins

    def select_output(self, node, output):
        return (node.index, output.index) in self.outs

    def filter(self, candidates):
        ASKED.append(" ".join(["filter", *(str(node.index) for node in candidates)]))
        return [node for node in candidates if node.index not in self.dropped]

    def reset(self):
        ASKED.append("reset")


@pytest.fixture(scope="module", autouse=True)
def partitioners():
    """The partitioners of `chooser.cc`, in Python."""
    register = mx.graph.register_partitioner
    register("chooser", lambda node, ops="", ids="": chosen(ops, ids)(node), replace=True)
    register("reviewer", lambda node, ops="", ids="": chosen(ops, ids)(node), replace=True).review(review)
    twice = register("twice", lambda node, ops1="", ids1="": chosen(ops1, ids1)(node), replace=True)
    twice.strategy("two", lambda node, ops2="", ids2="": chosen(ops2, ids2)(node)).review(review)
    register("selecting", Chooser, replace=True).review(review)


def partitioned(case):
    symbol = mx.sym.load_json(json.dumps(case.graph))
    args, aux = ({n: mx.nd.ones(s) for n, s in table.items()} for table in case.shapes or ({}, {}))
    for partitioner, options in case.calls:
        symbol = symbol.optimize_for(partitioner, args, aux, **options)
    return symbol


def renamed(document):
    """Return a graph with the operators called as they are in `chooser.cc`."""
    names = {"twice_two": "_chosen_too", **dict.fromkeys(("chooser", "reviewer", "twice", "selecting"), "_chosen")}
    for node in document["nodes"]:
        node["op"] = names.get(node["op"], node["op"])
        for graph in node.get("subgraphs", ()):
            renamed(graph)
    return document


def digest(content):
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@each({name: (name,) for name in ALL if "error" not in ANSWERS[name]}, at_once=10)
def test_as_mxnet(name):
    case, expected = ALL[name], ANSWERS[name]
    ASKED.clear()
    symbol = partitioned(case)
    document = renamed(json.loads(symbol.tojson()))
    found = partition_cases.plain(document, case.shapes is not None, "dedup_subgraph" in case.calls[0][1])
    if "whole" in expected:
        assert found == expected["whole"]
    assert digest(found) == expected["graph"], json.dumps(found)
    assert digest(ASKED) == expected["asked"], ASKED
