"""The C++ header for extension libraries: what it offers, what it withstands, and that it answers as MXNet's does."""

from __future__ import annotations

import configparser
import ctypes
import json
import math
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from native.answers import differences, recorded, run_host
from native.building import SOURCES, build, compiler, copy_of
from places import GOLDEN

import minpy
from minpy.core.errors import LibraryError
from minpy.library.abi import symbols_of

PACKAGE = Path(minpy.__file__).parent
INCLUDE = PACKAGE / "include"
sys.path.insert(0, str(GOLDEN))
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def surface():
    sources = ["surface.cc", "surface_graphs.cc"]
    return build(*sources, include=[INCLUDE], warnings=STRICT)


def twin(number):
    """Two libraries of one source, by two standards of C++, without run-time type information."""
    return build(
        "twins.cc",
        include=[INCLUDE],
        flags=[f"-DNUMBER={number}", "-DMINPY_CHECK_DTYPES", "-fno-rtti"],
        standard="c++17" if number == 1 else "c++14",
        warnings=STRICT,
    )


@pytest.fixture(scope="module")
def host():
    return build("surface_host.cc", flags=["-ldl", "-pthread"])


@pytest.fixture(scope="module")
def answers(host):
    return run_host(host, surface(), "adversary")


def test_answers_are_those_of_mxnets_header(answers):
    theirs = recorded()
    assert len(theirs) > 150
    ours = {name: answer for name, answer in answers.items() if name in theirs}
    assert not differences(theirs, ours)
    assert "########### Graph #############" in ours["printed"]


def test_a_difference_would_be_seen():
    theirs = recorded()
    for name in ("pair", "printed", "fail shape throw", "supported count", "counter"):
        assert len(differences(theirs, {**theirs_as_ours(theirs), name: "1 other"})) == 1


def theirs_as_ours(theirs):
    """Return the answers that minpy's header has to give, made from those of MXNet's."""

    def translated(name, answer):
        if name == "sparse without memory":
            return "0 got no memory"
        if name == "supported count":
            return "0 the function left 9 ids, expected 8"
        what = answer.removeprefix("threw ").partition(" !")[0]
        if what == answer.partition(" !")[0]:
            return answer
        return "0 !C++ exception" + (" of a type that is not a std::exception" if what.isdigit() else f": {what}")

    return {name: translated(name, answer) for name, answer in theirs.items()}


GRAPH = "0 !C++ exception: a graph that "
BAD_JSON = {
    "": "expected a JSON value at character 0 of 0",
    "[1,": "expected a value at character 3 of 3",
    '{"a"': "expected ':' at character 4 of 4",
    "[1 2]": "expected ',' or ']' at character 3 of 5",
    "[,]": "expected a value at character 1 of 3",
    "{1:2}": "expected a key at character 1 of 5",
    '"open': "expected '\"' at character 5 of 5",
    '"\\q"': "expected an escape at character 2 of 4",
    '"\\u12"': "expected four hexadecimal digits at character 5 of 6",
    '"\\ud83d"': "expected the second half of a surrogate pair at character 7 of 8",
    '"\\ud83dx"': "expected the second half of a surrogate pair at character 7 of 9",
    "01": "expected the end at character 1 of 2",
    "1.": "expected a value at character 2 of 2",
    "-": "expected a value at character 1 of 1",
    "5 6": "expected the end at character 2 of 3",
    "tru": "expected a value at character 0 of 3",
    "[1]]": "expected the end at character 3 of 4",
    "deep": "expected at most 500 brackets in each other at character 501 of 100000",
    "deep maps": "expected at most 500 brackets in each other at character 2501 of 500000",
}
# type, num and str of a value; then its dump.
GOOD_JSON = {
    "-5": "2 -5 -5 0 0 -5 ",
    "1.50": "2 1 1.50 0 0 1.50 ",
    "1e3": "2 1000 1e3 0 0 1e3 ",
    "-0": "2 0 -0 0 0 -0 ",
    "99999999999": "2 2147483647 99999999999 0 0 99999999999 ",
    "true": "2 1 true 0 0 true ",
    "false": "2 0 false 0 0 false ",
    "null": "2 0 null 0 0 null ",
    "[true,null]": "3 -1  2 0 [true,null] ",
    '"a\\"b\\\\"': '1 -1 a"b\\ 0 0 "a\\"b\\\\" ',
    '"\\u0041\\u00e9\\u20ac\\ud83d\\ude00"': '1 -1 Aé€😀 0 0 "Aé€😀" ',
}
ADVERSARY = {
    "no memory": "0 !C++ exception: alloc_cpu(8) got no memory",
    "negative bytes": "0 !C++ exception: alloc_cpu(-8) got no memory: the number of bytes does not fit an int",
    "pass no memory": 'arg !C++ exception: alloc_arg("big") got no memory for 1048576 elements',
    "pass wrong cycle": "0 !C++ exception: a graph with a cycle through its nodes 'circle' and 'back'",
    "pass wrong no node": "0 !C++ exception: a graph has an edge without a node",
    "pass wrong outside": "0 !C++ exception: alloc_arg of node '': parameters are made by graph passes",
    "pass wrong dtype": "0 !C++ exception: Error! Invalid dtype flag: 100",
    "pass wrong attribute": "!C++ exception: the graph has no attribute 'absent'",
    "pass wrong one side": '"name" : "late","op" : "null"},{"attrs" : {},"inputs" : [[0,0,0]],"name" : "lone"',
    "graph ": GRAPH + "is no JSON: JSON: expected a JSON value",
    "graph []": GRAPH + "is no JSON object",
    'graph {"nodes":[1]}': GRAPH + "has a node that is no JSON object",
    'graph {"nodes":7}': GRAPH + "has 'nodes' of another JSON type than expected",
    'graph {"nodes":[{"op":"exp","name":"e","inputs":[[0,0,0]]}]}': GRAPH
    + "has [0,0,0] as input of node 'e', which comes after 0 nodes; expected [node, output]",
    'graph {"nodes":[{"op":"exp","name":"e","inputs":[[-1,0]]}]}': GRAPH + "has [-1,0] as input",
    'graph {"nodes":[{"op":"exp","name":"e","inputs":[5]}]}': GRAPH + "has 5 as input",
    'graph {"nodes":[{"op":"null","name":"e","inputs":[]}],"heads":[[9,0]]}': GRAPH + "has [9,0] as input of the heads",
    'graph {"nodes":[{"op":5}]}': GRAPH + "has 'op' of another JSON type",
    'graph {"nodes":[{"op":"null","name":"a","attrs":[]}]}': GRAPH + "has 'attrs' of another JSON type",
    "graph deep": GRAPH + "is no JSON: JSON: expected at most 500 brackets in each other",
    "index": "!C++ exception: number 999 of 11 registered",
    "thread": "ended",
    "threads": "6000 500 (an older message, no longer kept) (no such message)",
    **{f"json {text}": f"!0 -1 JSON: {problem} 0 0 json(Error)" for text, problem in BAD_JSON.items()},
    **{f"json {text}": f"!{answer}" for text, answer in GOOD_JSON.items()},
}


@pytest.mark.parametrize("case", ADVERSARY)
def test_adversary(answers, case):
    assert ADVERSARY[case] in answers[case]


def test_graphs_keep_what_json_can_hold(answers):
    status, _, text = answers["graph escapes"].partition(" ")
    graph = json.loads(text)
    assert status == "1"
    assert graph["nodes"][0]["name"] == 'q"\\\né😀\x01/'
    assert graph["nodes"][0]["attrs"] == {"n": "-1.5e3", "t": "true", "z": "null"}
    assert graph["deep"] == [-1, 2.5, True, False, None]


def test_compiles_without_warnings():
    if compiler() is None:
        pytest.skip("there is no C++ compiler")
    # What is built for other tests is built with these warnings as errors, by C++11, 14 and 17.
    checks = [(compiler(), "c++20", [SOURCES / "every_name.cc"])]
    if (clang := shutil.which("clang++")) is not None:
        checks.append((clang, "c++11", [SOURCES / "every_name.cc", SOURCES / "surface.cc"]))
    commands = [
        [program, f"-std={standard}", *STRICT, "-fsyntax-only", f"-I{INCLUDE}", *map(str, sources)]
        for program, standard, sources in checks
    ]
    with ThreadPoolExecutor(2) as pool:
        finished = pool.map(lambda command: subprocess.run(command, capture_output=True, text=True), commands)
        for command, done in zip(commands, finished, strict=True):
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


@pytest.mark.parametrize(
    ("line", "folder"),
    [('"lib_api.h"', INCLUDE), ('"lib_api.h"', INCLUDE / "mxnet"), ('"mxnet/lib_api.h"', INCLUDE)],
)
def test_is_found_as_sources_include_it(tmp_path, line, folder):
    if compiler() is None:
        pytest.skip("there is no C++ compiler")
    source = tmp_path / "source.cc"
    source.write_text(f"#include {line}\n#ifndef MX_ERROR_MSG\n#error\n#endif\n")
    subprocess.run([compiler(), "-std=c++11", "-E", f"-I{folder}", str(source)], check=True, capture_output=True)


# Symbols, as linkers spell them, of the header's own: not those of the standard library made for its types.
OURS = r"\w+ \w _Z(GV)?Z?N?K?(5minpy|5mxnet3ext5abi11(8RegistryI|11MXerrorMsgs))"


def test_functions_are_public_and_nothing_else_of_the_header_is():
    flags = ["-fvisibility=hidden", "-flto", "-DNUMBER=3"]
    path = build("twins.cc", PACKAGE / "src" / "lib_api.cc", include=[INCLUDE], flags=flags, optimize="-O1")
    with pytest.raises(LibraryError, match=r"the library defines no MXReturnValue initialize\(int\)"):
        minpy.library.load(path, verbose=False)
    opened = ctypes.CDLL(str(path))
    assert not [name for name in symbols_of(11) if not hasattr(opened, name)]
    assert (opened._opRegSize(), opened._partRegSize(), opened._passRegSize()) == (3, 0, 0)
    nm = shutil.which("nm")
    if nm is not None:
        # Without hidden symbols too, registries and messages are the library's own.
        shown = subprocess.run([nm, "-D", str(surface())], capture_output=True, text=True, check=True).stdout
        shared = [line for line in shown.splitlines() if re.match(OURS, line)]
        assert not shared
        assert not [line for line in shown.splitlines() if re.match(r"\w+ u .*(mxnet|minpy)", line)]


def test_two_libraries_with_the_same_classes():
    first, second = twin(1), twin(20)
    minpy.library.load(first, verbose=False)
    minpy.library.load(second, verbose=False)
    x = minpy.nd.array([100.0])
    assert [float(operator(x).asnumpy()[0]) for operator in (minpy.nd.twin_1, minpy.nd.twin_20, minpy.nd.twin_1)] == [
        101,
        120,
        101,
    ]
    # What a pointer may point at is looked at in libraries that are compiled with MINPY_CHECK_DTYPES.
    assert float(minpy.nd.float_1(x).asnumpy()[0]) == 100
    with pytest.raises(minpy.base.MXNetError, match=r"data<T>\(\) with a float32 of a tensor whose dtype is int32"):
        minpy.nd.float_20(minpy.nd.array([1], dtype="int32"))


WRONG_RESULTS = {
    "assign": "the function gave output 0 other memory; results are written to that of data<T>()",
    "null": "the function gave output 0 other memory",
    "clear": "the function left 0 outputs, expected 1",
    "resize": "the function left 3 outputs, expected 1",
    "range": "vector::_M_range_check|vector",
    "huge": r"alloc_cpu\(4294967304\) got no memory: the number of bytes does not fit an int",
}


def test_results_that_a_function_loses_are_told():
    minpy.library.load(twin(1), verbose=False)
    x = minpy.nd.array([1.0, 2.0])
    for how, problem in WRONG_RESULTS.items():
        with pytest.raises(minpy.base.MXNetError, match=problem):
            minpy.nd.wrong_1(x, how=how)
    for how in ("reshape", "itself"):  # where results are written is what counts
        assert minpy.nd.wrong_1(x, how=how).asnumpy().tolist() == [1, 2]


def test_wrong_registrations_are_told(capfd):
    path = build("registrations.cc", include=[INCLUDE])
    with pytest.raises(LibraryError, match="r_twice"):
        minpy.library.load(path, verbose=False)
    shown = capfd.readouterr().err
    assert (
        "Error in the registration of operator 'r_twice': setForward for context 'cpu' was given no function, or a "
        "second one" in shown
    )
    assert "operator 'r_null': setBackward for context 'gpu' was given no function" in shown
    opened = ctypes.CDLL(str(path))
    name, messages = ctypes.c_char_p(), []
    assert opened._partRegGetCount(0, ctypes.byref(name)) == 1
    for index in range(opened._msgSize()):
        opened._msgGet(index, ctypes.byref(name))
        messages.append(name.value.decode())
    nameless = "partitioner 'r_unknown': {} was given null as a name"
    assert [message.partition(": ")[2] for message in messages[2:]] == [
        nameless.format("addStrategy"),
        nameless.format("addStrategy"),
        nameless.format("setReviewSubgraph"),
        "partitioner 'r_unknown': setSupportedOps is for strategy 'knwon', which addStrategy did not add",
    ]
    # What `initialize` throws ends as a message too.
    assert opened.initialize(10901) == 1
    assert opened.initialize(10800) == 0
    opened._msgGet(opened._msgSize() - 1, ctypes.byref(name))
    assert name.value.decode() == "initialize[0]: C++ exception: made for 1.9, not for 10800"


def rounded(value):
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) and math.isfinite(value) else value


def test_a_library_computes_what_it_computes_in_mxnet(tmp_path):
    from native_library_answers import answers as computed

    golden = json.loads((GOLDEN / "native_library.json").read_text(encoding="utf-8"))["cases"]
    with minpy.name.NameManager():  # what other tests have named does not count
        found = computed(minpy, str(copy_of(surface(), tmp_path)))
    assert {name: rounded(value) for name, value in found.items()} == {
        name: rounded(value) for name, value in golden.items()
    }


def test_the_package_has_all_of_the_header():
    setup = configparser.ConfigParser()
    setup.read(PACKAGE.parent / "setup.cfg")
    if not setup.has_section("options.package_data"):
        pytest.skip("only where the sources are")
    patterns = setup["options.package_data"]["minpy"].replace(",", " ").split()
    carried = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    there = {path for folder in (INCLUDE, PACKAGE / "src") for path in folder.rglob("*") if path.is_file()}
    assert there == carried
