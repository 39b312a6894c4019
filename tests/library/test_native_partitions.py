"""Partitions by a library that is built with the header here, equal to those of MXNet 1.9.1 and its own header."""

import hashlib
import json

import pytest
from native import partition_cases
from native.building import build
from places import GOLDEN

import minpy as mx
from minpy.graph.partitioning.registry import PARTITIONERS

ANSWERS = json.loads((GOLDEN / "native" / "partitions.json").read_text(encoding="utf-8"))
CASES = partition_cases.all_cases()
LOGGED = ("select", "filter", "reset", "review")


@pytest.fixture(scope="module", autouse=True)
def chooser():
    """The library of `chooser.cc`; other tests have partitioners of these names in Python."""
    path = build("chooser.cc", include=[mx.library.include_dir()], optimize="-O0", warnings=())
    mx.library.load(path, verbose=False, replace=True)


def arrays(table):
    return {name: mx.nd.ones(shape) for name, shape in table.items()}


def test_a_library_that_is_loaded_again_takes_its_names_back():
    path = build("chooser.cc", include=[mx.library.include_dir()], optimize="-O0", warnings=())
    native = PARTITIONERS["chooser"]
    mx.graph.register_partitioner("chooser", lambda node: False, operator="by_hand", replace=True)
    assert type(PARTITIONERS["chooser"]) is not type(native)
    mx.library.load(path, verbose=False)
    assert type(PARTITIONERS["chooser"]) is not type(native)
    mx.library.load(path, verbose=False, replace=True)
    assert type(PARTITIONERS["chooser"]) is type(native)


def digest(content):
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", [name for name in CASES if "error" not in ANSWERS[name]])
def test_as_mxnet(name, tmp_path):
    case, expected = CASES[name], ANSWERS[name]
    log = tmp_path / "asked"
    log.touch()
    symbol = mx.sym.load_json(json.dumps(case.graph))
    args, aux = map(arrays, case.shapes or ({}, {}))
    for partitioner, options in case.calls:
        symbol = symbol.optimize_for(partitioner, args, aux, log=str(log), **options)
    document = json.loads(symbol.tojson())
    found = partition_cases.plain(document, case.shapes is not None, "dedup_subgraph" in case.calls[0][1])
    assert found == expected.get("whole", found)
    assert digest(found) == expected["graph"], json.dumps(found)
    asked = [line for line in log.read_text(encoding="utf-8").splitlines() if line.split()[0] in LOGGED]
    assert digest(asked) == expected["asked"], asked
