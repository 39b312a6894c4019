"""Partitioners of native libraries: what they are given, what becomes of it, and answers that are none."""

from __future__ import annotations

import json
import re
import threading

import numpy as np
import pytest
from native.building import build
from native.puppet import Puppet
from native.puppet_cases import CASES, accept, arrays, by_name, by_op, chain, choosing, diamond, random_partitions
from places import GOLDEN

import minpy as mx
from minpy.core.configured import FAMILIES
from minpy.core.errors import ArgumentError, DTypeError, LibraryError
from minpy.graph.partitioning.registry import PARTITIONERS, PASSES

ANSWERS = json.loads((GOLDEN / "native" / "puppet.json").read_text())
GRAPHS = ANSWERS.pop("random_partitions")


def load(**flags):
    options = [f"-D{key}={value}" for key, value in flags.items()]
    path = build("puppet.c", flags=options)
    mx.library.load(path, verbose=False)
    return Puppet(path, flags.get("TAG", "").strip('"'))


@pytest.fixture(autouse=True)
def puppet():
    puppet = load()
    yield puppet
    assert puppet.faults() == []
    assert puppet.lent() == 0


# -- as MXNet ----------------------------------------------------------------------------------------------------------

# What comes out otherwise, on purpose: tested below.
OTHERWISE = {
    "states_only": "MXNet wants values of all arguments as soon as it has one of a state",
    "variables_are_nodes_too": "in MXNet the graph loses its inputs",
    "one_variable_for_each_value": "in MXNet the second reader of a value reads an output that is not there",
}


def plain(answer):
    """Return an answer without what differs in graphs everywhere: versions, hidden outputs, who initializes."""
    if isinstance(answer, dict):
        return {key: plain(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [*map(plain, answer)]
    if isinstance(answer, float):
        return pytest.approx(answer, rel=1e-5)
    if not isinstance(answer, str):
        return answer
    text = re.sub(r"(\d+:\d+):\d", r"\1", answer)
    text = re.sub(r"__ext_dtype__=\[(\d),\d,\d\] \| __ext_shape__=\[(\[[\d,]*\]).*?\]\]", r"\1 \2", text)
    text = re.sub(r"__ext_dtype__=\[(\d)\] \| __ext_shape__=\[(\[[\d,]*\])\]", r"\1 \2", text)
    text = re.sub(r" \| __ext_dtype__=\[\] \| __ext_shape__=\[,*\]\]", "", text)
    return re.sub(r' \| __init__=\["\w+", \{\}\]', "", text)


@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHERWISE])
def test_as_mxnet(puppet, name):
    with mx.name.NameManager():
        answer = CASES[name](mx, puppet)
    assert plain(json.loads(json.dumps(answer))) == plain(ANSWERS[name])


def test_every_difference_is_one():
    assert {*OTHERWISE} < {*CASES} == {*ANSWERS}


def test_values_of_states_alone(puppet):
    answer = CASES["states_only"](mx, puppet)
    expected = (
        "BatchNorm bn (3:0:0 4:0:0 5:0:0 6:0:0 7:0:0) | __ext_dtype__=[0] | __ext_shape__=[[4,2]] | fix_gamma=False"
    )
    assert plain(expected) in plain(answer["log"][0][2])
    assert answer["log"][1][6] == {"mean": ["float32", [0.25, 0.5]], "var": ["float32", [0.5, 0.75]]}


def test_variables_stay_outside(puppet):
    answer = CASES["variables_are_nodes_too"](mx, puppet)
    assert answer["inputs"][0] == ["a", "b"]
    assert [line for line in answer["log"] if line[0] == "select"] == [["select", number] for number in range(4)]


def test_two_readers_of_one_output(puppet):
    with mx.name.NameManager():
        answer = CASES["one_variable_for_each_value"](mx, puppet)
    before = json.dumps(plain(ANSWERS["one_variable_for_each_value"]))
    assert "sin third (1:1)" in before
    assert json.dumps(plain(answer)) == before.replace("sin third (1:1)", "sin third (1:0)")


def inlined(symbol):
    """Return who reads what, by name, with the graphs inside of nodes in the place of these."""

    def walk(graph, prefix, outside):
        places = []
        for node in graph["nodes"]:
            inputs = [places[number](index) for number, index, _ in node["inputs"]]
            if node["op"] == "null":
                place = outside.get(node["name"], (node["name"], 0)) if prefix else (node["name"], 0)
                places.append(lambda index, place=place: place)
            elif "subgraphs" in node:
                (inner,) = node["subgraphs"]
                names = [one["name"] for one in inner["nodes"] if one["op"] == "null"]
                heads = walk(inner, f"{prefix}{node['name']}/", dict(zip(names, inputs, strict=True)))
                places.append(lambda index, heads=heads: heads[index])
            else:
                found[node["name"]] = node["op"], tuple(inputs)
                places.append(lambda index, name=node["name"]: (name, index))
        return [places[number](index) for number, index, _ in graph["heads"]]

    found = {}
    return found, walk(json.loads(symbol.tojson()), "", {})


def test_many_graphs(puppet, monkeypatch):
    """They are partitioned as in MXNet, where that does not fail; and all compute what they did."""
    kept = []
    optimize_for = mx.sym.Symbol.optimize_for

    def watched(symbol, *arguments, **options):
        result = optimize_for(symbol, *arguments, **options)
        kept.append((symbol, result))
        return result

    monkeypatch.setattr(mx.sym.Symbol, "optimize_for", watched)
    same = failed = 0
    for expected, answer in zip(GRAPHS, random_partitions(mx, puppet, len(GRAPHS)), strict=True):
        assert answer[:3] == expected[:3]
        if expected[4].startswith("MXNetError: _Map_base"):  # what is kept of a group would depend on itself
            assert "reads what depends on them through nodes that are not kept" in answer[4]
            continue
        if expected[4].startswith("MXNetError"):
            assert not answer[4].startswith("MXNetError")
            failed += 1
        elif "dedup_subgraph" in expected[2]:
            without = re.compile(r"(?<=:)\d+|(?<=_output)\d+")  # outputs that are read twice are numbered otherwise
            assert without.sub("", answer[4]) == without.sub("", expected[4])
        else:
            assert answer == expected
            same += 1
    assert same > 80
    assert failed > 5
    assert len(kept) > 140
    for before, after in kept:
        assert inlined(after) == inlined(before)


# -- answers that are none ---------------------------------------------------------------------------------------------


def fails(puppet, backend, does, symbol=None, kind=LibraryError, **keywords):
    """Return the text of the error of a partitioner that changes nothing."""
    symbol = chain(mx) if symbol is None else symbol
    before = symbol.tojson(), {**PARTITIONERS}, {**PASSES}, {**FAMILIES}
    tables = {name: dict(keywords[name]) for name in ("args", "aux") if name in keywords}
    with pytest.raises(kind) as caught, puppet.doing(**does):
        symbol.optimize_for(backend, **keywords)
    assert (symbol.tojson(), PARTITIONERS, PASSES, FAMILIES) == before
    assert all(keywords[name] == table for name, table in tables.items())
    assert puppet.lent() == 0
    return str(caught.value)


def failing(puppet, text="out of luck"):
    def answer(*_):
        puppet.message(text)

    return answer


def test_a_library_says_why_it_fails(puppet):
    puppet.message("an old one")
    text = fails(puppet, "puppet", {"ids": failing(puppet)}, args=arrays(mx, "a", "b"), level=2)
    assert re.search(r"puppet-\w+\.so: partitioner 'puppet', strategy 'by_ids': supportedOps failed", text)
    assert "on a graph of 5 node(s) with level='2'." in text
    assert "\n  puppet.c[1]: out of luck" in text
    assert "an old one" not in text
    text = fails(puppet, "puppet_selector", {"create": failing(puppet)})
    assert (
        "partitioner 'puppet_selector', strategy 'by_selector': createSelector failed on a graph of 5 node(s)." in text
    )
    assert "out of luck" in text
    text = fails(puppet, "puppet", {"ids": by_op("exp", "log"), "review": failing(puppet)})
    assert "strategy 'by_ids': reviewSubgraph failed on group 0 (e, l)." in text
    assert "out of luck" in text
    text = fails(puppet, "puppet", {"ids": by_op("exp")})
    assert "It gave no message" in text


@pytest.mark.parametrize("number", [-3, -(2**31)])
def test_numbers_that_mean_nothing(puppet, number):
    text = fails(puppet, "puppet", {"ids": lambda *_: [-2, -1, -1, number, -1]})
    assert f"supportedOps gave node 3 (e, exp) the number {number}; expected -2 (not supported)" in text


def test_large_numbers_are_numbers_of_groups(puppet):
    with puppet.doing(ids=lambda *_: [-2, -2, 2**31 - 1, 7, 2**31 - 1], review=accept):
        result = chain(mx).optimize_for("puppet")
    nodes = json.loads(result.tojson())["nodes"]
    assert [node["op"] for node in nodes if node["op"] != "null"] == ["_puppet_op"] * 3


def test_no_selector(puppet):
    text = fails(puppet, "puppet_selector", {"create": lambda *_: 0})
    assert "createSelector reported success, and made no selector" in text


KEPT = [
    (lambda graph, candidates: [0], "Filter keeps node 0, which is not among the candidates: 3, 4."),
    (lambda graph, candidates: [3, 99], "Filter keeps node 99, which is not among the candidates: 3, 4."),
    (lambda graph, candidates: [-1], "Filter keeps node -1, which is not among the candidates: 3, 4."),
    (
        lambda graph, candidates: [3, 4, 3],
        "Filter keeps 3 of 2 candidate(s); expected some of the candidates, each once.",
    ),
    (lambda graph, candidates: (-1, []), "Filter keeps -1 of 2 candidate(s); expected some"),
    (lambda graph, candidates: (10**9, [3]), "Filter keeps 1000000000 of 2 candidate(s); expected some"),
    (lambda graph, candidates: (2, None), "Filter keeps 2 of 2 candidate(s), and gives no list of them; expected some"),
]


@pytest.mark.parametrize(("keep", "text"), KEPT, ids=range(len(KEPT)))
def test_what_is_kept_was_not_there(puppet, keep, text):
    error = fails(puppet, "puppet_selector", {**choosing("exp", "log"), "filter": keep})
    assert text in error
    assert "strategy 'by_selector'" in error


def test_nothing_is_kept_without_a_list(puppet):
    with puppet.doing(**choosing("exp", "log"), filter=lambda *_: (0, None), review=accept):
        result = chain(mx).optimize_for("puppet_selector")
    assert "_puppet_op" not in result.tojson()


def test_what_is_kept_depends_on_itself(puppet):
    symbol = mx.sym.exp(mx.sym.log(mx.sym.exp(mx.sym.var("x"), name="first"), name="between"), name="last")
    keep = lambda graph, candidates: [candidates[0], candidates[2]]
    text = fails(puppet, "puppet_selector", {**choosing("exp", "log"), "filter": keep}, symbol, ArgumentError)
    assert "strategy 'by_selector'" in text
    assert re.search(r"puppet-\w+\.so", text)
    assert "last reads what depends on them through nodes that are not kept" in text


def test_attributes_that_are_no_text(puppet):
    def review(*_):
        return True, {"label": b"\xff\xfe"}

    text = fails(puppet, "puppet", {"ids": by_op("exp"), "review": review})
    assert (
        "reviewSubgraph of group 0 gave an attribute b'label' with the value b'\\xff\\xfe', which is not UTF-8" in text
    )


def test_attributes_of_a_rejected_group_are_given_back(puppet):
    with puppet.doing(ids=by_op("exp"), review=lambda *_: (False, {"some": "text"})):
        result = chain(mx).optimize_for("puppet")
    assert result.tojson() == chain(mx).tojson()
    assert puppet.lent() == 0


def test_the_second_strategy_fails(puppet):
    text = fails(puppet, "puppet_two", {"ids": by_op("exp"), "review": accept, "create": failing(puppet)})
    assert "partitioner 'puppet_two', strategy 'second': createSelector failed" in text


# -- what cannot be given ----------------------------------------------------------------------------------------------


def test_dtypes_that_libraries_do_not_know(puppet):
    args = {"a": mx.nd.array(np.ones(2, bool), dtype=bool)}
    does = {"ids": by_op("exp"), "review": accept}
    text = fails(puppet, "puppet", does, kind=DTypeError, args=args, skip_infer=True)
    assert "strategy 'by_ids': reviewSubgraph: args['a'] is bool (2,); native operators take float32" in text


def test_texts_that_would_end_the_process(puppet):
    for symbol, what in (
        (mx.sym.exp(mx.sym.var("back\\")), "the name of node 'back\\\\' is 'back\\\\'"),
        (
            mx.sym.exp(mx.sym.var("a"), name="e", attr={"__note__": "C:\\"}),
            "attribute '__note__' of node 'e' is 'C:\\\\'",
        ),
    ):
        text = fails(puppet, "puppet", {"ids": by_op("exp")}, symbol, ArgumentError)
        assert what in text
        assert "A text that ends with a backslash cannot be given to a native library" in text
    inside = mx.sym.exp(mx.sym.var("a", attr={"__note__": 'a\\b "c"\n'}), name="e")
    with puppet.doing(ids=by_op("exp"), review=accept):
        result = inside.optimize_for("puppet")
    assert puppet.log[0][2]["nodes"][0]["attrs"]["__note__"] == 'a\\b "c"\n'
    assert result.attr_dict()["a"]["__note__"] == 'a\\b "c"\n'


def test_options_that_are_no_texts(puppet):
    text = fails(puppet, "puppet", {"ids": by_op("exp")}, kind=ArgumentError, table=mx.nd.ones(2))
    assert "option 'table' is float32 (2,); native libraries are given options as texts" in text
    text = fails(puppet, "puppet", {"ids": by_op("exp")}, kind=ArgumentError, word="a\0b")
    assert "cannot have a character '\\0' in it" in text


def test_values_are_given_as_they_are(puppet):
    """Strided, of other byte order, without elements, scalars, read-only, every dtype, and two names of one memory."""
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    frozen = np.array([1, 2], np.int8)
    frozen.flags.writeable = False
    shared = mx.nd.ones(3)
    args = {
        "strided": base[::2, 1::2].T,
        "swapped": np.array([1, 2], ">f8"),
        "empty": np.zeros((0, 3), np.int64),
        "scalar": np.array(5, np.uint8),
        "frozen": frozen,
        "half": np.array([0.5], np.float16),
        "int": np.array([[7]], np.int32),
        "one": shared,
        "two": shared,
    }
    symbol = mx.sym.Group([mx.sym.exp(mx.sym.var(name), name=f"e_{name}") for name in args])
    with puppet.doing(ids=by_name("e_one"), review=accept):
        symbol.optimize_for("puppet", args=args, skip_infer=True)
    (review,) = (line for line in puppet.log if line[0] == "review")
    seen = review[5]
    assert {*seen} == {*args}
    for name, (dtype, values) in seen.items():
        array = args[name] if isinstance(args[name], np.ndarray) else args[name].asnumpy()
        assert (dtype, values) == (array.dtype.newbyteorder("=").name, array.tolist()), name


def test_arguments_that_the_graph_does_not_read(puppet):
    args = {**arrays(mx, "a", "b"), "unused": mx.nd.array(np.ones(2, bool), dtype=bool)}
    with puppet.doing(ids=by_op("exp"), review=accept):
        chain(mx).optimize_for("puppet", args=args)
    assert [*puppet.log[1][5]] == ["a", "b"]


# -- together with the rest --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [7, 10])
def test_older_libraries(version):
    older = load(ABI=version, TAG=f'"_v{version}"')
    for name in ("arguments_are_known", "calls_of_a_selector", "two_strategies"):
        with mx.name.NameManager():
            answer = CASES[name](mx, older)
        text = json.dumps(answer).replace(f"_v{version}", "")
        assert plain(json.loads(text)) == plain(ANSWERS[name])
    with pytest.raises(LibraryError) as caught, older.doing(ids=failing(older)):
        chain(mx).optimize_for(f"puppet_v{version}")
    assert ("It prints to the standard output" in str(caught.value)) == (version == 7)
    assert ("out of luck" in str(caught.value)) == (version == 10)
    assert older.faults() == []
    assert older.lent() == 0


def test_two_libraries_of_one_source(puppet):
    other = load(TAG='"_other"')
    does = {"ids": by_op("exp"), "review": accept}
    with puppet.doing(**does), other.doing(ids=by_op("log"), review=accept):
        first = chain(mx).optimize_for("puppet")
        both = first.optimize_for("puppet_other")
        assert [line[0] for line in puppet.log] == [line[0] for line in other.log] == ["supported", "review"]
    ops = [node["op"] for node in json.loads(both.tojson())["nodes"]]
    assert ops == ["null", "null", "elemwise_add", "_puppet_op", "_puppet_op_other"]
    args = arrays(mx, "a", "b")
    made = other.library.raw_states_made(), puppet.library.raw_states_made()
    value = both.bind(mx.cpu(), args).forward()[0].asnumpy()
    np.testing.assert_allclose(value, (args["a"] + args["b"]).asnumpy())
    assert (other.library.raw_states_made(), puppet.library.raw_states_made()) == (made[0] + 1, made[1] + 1)


def test_several_threads_partition_at_once(puppet):
    results, errors = [], []

    def work(symbol):
        try:
            for _ in range(20):
                results.append(symbol.optimize_for("puppet_selector", args=arrays(mx, "x")).tojson())
        except Exception as error:
            errors.append(error)

    with puppet.doing(**choosing("exp", "log", "elemwise_add"), review=accept):
        symbol = diamond(mx)
        expected = symbol.optimize_for("puppet_selector", args=arrays(mx, "x")).tojson()
        threads = [threading.Thread(target=work, args=(symbol,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    assert {*results} == {expected}
    assert len(results) == 80


def test_reviews_leave_no_memory_behind(puppet):
    with puppet.doing(ids=by_op("exp", "log"), review=lambda *_: (True, {f"key{i}": "x" * 100 for i in range(20)})):
        symbol, args = chain(mx), arrays(mx, "a", "b")
        for _ in range(50):
            symbol.optimize_for("puppet", args=args)
            puppet.log.clear()
    assert puppet.lent() == 0
