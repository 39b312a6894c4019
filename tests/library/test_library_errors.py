"""Native libraries that are wrong: each in its own way, with an error that says what, where, and what to do."""

from __future__ import annotations

import gc
import struct
import sys

import numpy as np
import pytest
from native.building import build, copy_of
from native.watching import Watched

import minpy as mx
from minpy import nd, sym
from minpy.core.configured import FAMILIES
from minpy.core.errors import (
    ArgumentError,
    DTypeError,
    FileMissingError,
    LibraryError,
    MXNetError,
    NoGradientError,
    OperatorError,
    ShapeError,
)
from minpy.library.abi import symbols_of


@pytest.fixture
def registries():
    """What is registered stays as it was."""
    from minpy.graph.partitioning.registry import PARTITIONERS, PASSES

    def now():
        return dict(FAMILIES), dict(PARTITIONERS), dict(PASSES), mx.library.loaded(), set(dir(nd)), set(dir(sym))

    before = now()
    yield
    assert now() == before


def refusal(path, **keywords):
    """Return the error of loading a library."""
    with pytest.raises(MXNetError) as caught:
        mx.library.load(path, verbose=False, **keywords)
    return caught.value


def has(error, kind, *pieces):
    assert isinstance(error, kind), f"{type(error).__name__}: {error}"
    for piece in pieces:
        assert piece in str(error), f"{piece!r} is not in: {error}"


# -- files that are no library -----------------------------------------------------------------------------------------


def test_a_path_that_is_not_there(registries, tmp_path):
    (tmp_path / "libgemm.so").write_bytes(b"")
    error = refusal(tmp_path / "libgem.so")
    has(error, FileMissingError, "library.load", str(tmp_path / "libgem.so"), "mx.library.compile")
    assert isinstance(error, FileNotFoundError)


def test_a_folder(registries, tmp_path):
    has(refusal(tmp_path), (FileMissingError, LibraryError), str(tmp_path), "folder")


def test_what_is_no_path(registries):
    for wrong in (None, 3, b"\0", "a\0b", ["x.so"], ""):
        with pytest.raises((MXNetError, TypeError, ValueError)):
            mx.library.load(wrong)


@pytest.mark.parametrize("content", [b"", b"int main() {}\n", b"\x7fELF", b"\x7fELF" + b"\0" * 2000], ids=range(4))
def test_a_file_that_is_no_shared_library(registries, tmp_path, content):
    path = tmp_path / "libtext.so"
    path.write_bytes(content)
    has(refusal(path), LibraryError, "library.load", str(path), "shared library")


def changed(path, target, change):
    content = bytearray(path.read_bytes())
    change(content)
    target.write_bytes(content)
    return target


needs_elf = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the files are those of Linux")


@needs_elf
def test_a_library_for_another_machine(registries, tmp_path):
    def other_machine(content):
        content[18:20] = struct.pack("<H", 0x2B if content[18] != 0x2B else 0x3E)  # SPARC

    path = changed(build("registering.c"), tmp_path / "libother.so", other_machine)
    has(refusal(path), LibraryError, str(path), "compiled for this machine")


@needs_elf
def test_a_library_that_is_cut_off(registries, tmp_path):
    path = tmp_path / "libshort.so"
    path.write_bytes(build("registering.c").read_bytes()[:3000])
    has(refusal(path), LibraryError, str(path), "shared library")


def test_a_library_that_is_linked_to_what_is_not_there(registries, tmp_path):
    path = copy_of(build("registering.c", flags=["-DUNRESOLVED"]), tmp_path)
    has(refusal(path), LibraryError, str(path), "function_that_nobody_defines")


LACKING = [(11, name) for name in symbols_of(11)] + [
    (version, name)
    for version in (7, 10)
    for name in symbols_of(version)
    if name in ("_opCallCreateOpState", "_msgGet")
]


@needs_elf
@pytest.mark.parametrize(("version", "name"), LACKING)
def test_a_library_that_lacks_a_function(registries, tmp_path, version, name):
    def renamed(content):
        assert content.count(b"\0" + name.encode() + b"\0") >= 1
        content[:] = content.replace(b"\0" + name.encode() + b"\0", b"\0X" + name.encode()[1:] + b"\0")

    built = build("registering.c", flags=[f"-DABI={version}"])
    path = changed(built, tmp_path / "liblacking.so", renamed)
    what = "MXReturnValue initialize(int version)" if name == "initialize" else "MXNet's extension header"
    has(refusal(path), LibraryError, "library.load", str(path), name, what)


def test_the_versions_lack_what_is_not_theirs():
    assert [len(symbols_of(version)) for version in (7, 10, 11)] == [27, 29, 30]


# -- libraries that cannot be used -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [8, 9, 12, 0, -1, 1073741824])
def test_another_version(registries, tmp_path, monkeypatch, version):
    monkeypatch.setenv("RAW_VERSION", str(version))
    path = copy_of(build("registering.c"), tmp_path)
    error = refusal(path)
    has(error, LibraryError, str(path), f"version {version}", "7, 10 and 11", "1.7, 1.8 and 1.9", "Compile")
    assert Watched(path).told_version() == -1, "it is not initialized"


REFUSALS = [
    ("refuses", ["refuses to be initialized", "1.9.1", "no message"]),
    ("refuses with a message", ["refuses to be initialized", "needs a host of version 2.0, this one is 10901"]),
    ("refuses in bytes", ["refuses to be initialized", "�� no"]),
]


@pytest.mark.parametrize(("wrong", "pieces"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_a_library_that_refuses(registries, tmp_path, monkeypatch, wrong, pieces):
    monkeypatch.setenv("RAW_WRONG", wrong)
    path = copy_of(build("registering.c"), tmp_path)
    has(refusal(path), LibraryError, str(path), *pieces)
    assert Watched(path).told_version() == 10901


SECOND = "'raw_registering_second'"
REGISTRATIONS = [
    ("no name", ["operator", "without a name"]),
    ("empty name", ["operator", "without a name"]),
    ("name of bytes", ["operator", "name"]),
    ("name of spaces", ["'raw wrong name'", "name"]),
    ("name that exists", ["operator 'dot'", "built-in", "Rename"]),
    ("name of a function", ["operator 'waitall'", "Rename"]),
    ("name of Custom", ["operator 'Custom'", "Rename"]),
    ("name twice", ["two operators named 'raw_registering_first'", "Rename"]),
    ("no parseAttrs", [SECOND, "setParseAttrs"]),
    ("no inferType", [SECOND, "setInferType"]),
    ("no inferShape", [SECOND, "setInferShape"]),
    ("no forward", [SECOND, "setForward", "setCreateOpState"]),
    ("negative forward", [SECOND, "setForward"]),
    ("null context", [SECOND, "setForward"]),
    ("subgraph operator without state", [SECOND, "subgraph operator", "setCreateOpState"]),
    ("negative operators", ["-1 operators"]),
    ("partitioner without strategies", ["partitioner 'raw_registering_partitioner'", "without a strategy"]),
    ("partitioner without name", ["partitioner", "without a name"]),
    ("strategy without functions", ["'only'", "setSupportedOps", "setCreateSelector"]),
    ("strategy without operator", ["'only'", "operator"]),
    ("two partitioners", ["two partitioners named 'raw_registering_partitioner'", "Rename"]),
    ("two passes", ["two passes named 'raw_registering_pass'", "Rename"]),
    ("pass without name", ["pass", "without a name"]),
    ("pass without body", ["'raw_registering_pass'", "setBody"]),
]


@pytest.mark.parametrize(("wrong", "pieces"), REGISTRATIONS, ids=[row[0] for row in REGISTRATIONS])
def test_wrong_registrations(registries, tmp_path, monkeypatch, wrong, pieces):
    monkeypatch.setenv("RAW_WRONG", wrong)
    path = copy_of(build("registering.c"), tmp_path)
    has(refusal(path), LibraryError, "library.load", str(path), *pieces)
    assert not hasattr(nd, "raw_registering_first"), "nothing of a library stays that is refused"
    assert not hasattr(sym, "raw_registering_first")


def test_an_operator_of_another_library(tmp_path, monkeypatch):
    path = build("operators.c", flags=["-DABI=11", '-DTAG=""'])
    mx.library.load(path, verbose=False)
    monkeypatch.setenv("RAW_WRONG", "name of another library")
    other = copy_of(build("registering.c"), tmp_path)
    before = nd.raw_affine
    has(refusal(other), LibraryError, str(other), "'raw_affine'", str(path), "replace=True")
    assert nd.raw_affine is before
    np.testing.assert_array_equal(nd.raw_affine(np.ones(2), scale=2), [2, 2])


def test_a_refused_library_loads_once_what_was_wrong_is_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("RAW_WRONG", "no forward")
    path = copy_of(build("registering.c"), tmp_path)
    refusal(path)
    monkeypatch.setenv("RAW_WRONG", "no operators")
    library = mx.library.load(path, verbose=False)
    assert library.operators == ()
    assert library.version == 11
    assert library in mx.library.loaded()


# -- operators that fail -----------------------------------------------------------------------------------------------


@pytest.fixture
def failing():
    path = build("failing.c")
    mx.library.load(path, verbose=False)
    watched = Watched(path)
    states = watched.states
    yield watched
    gc.collect()
    assert watched.faults == []
    assert watched.blocks == 0
    assert watched.states == states, "states are left over"
    # It can still be used, and so can others.
    np.testing.assert_array_equal(nd.raw_fail(np.ones(2)), [1, 1])
    np.testing.assert_array_equal(nd.raw_fail_state(np.ones(2)), [1, 1])
    assert nd.exp(nd.zeros(1)).asscalar() == 1


X = np.ones((2, 3))


def forward(name, **attributes):
    return getattr(nd, name)(X, **attributes)


def gradient(name, **attributes):
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = getattr(nd, name)(x, **attributes)
    y.backward()
    return x.grad


def executor(name, **attributes):
    node = getattr(sym, name)(sym.var("x"), name="node", **attributes)
    bound = node.simple_bind(mx.cpu(), x=(2, 3))
    bound.forward(is_train=True)
    bound.backward(nd.ones((2, 3)))


def hips(name, **attributes):
    return mx.grad(lambda x: getattr(nd, name)(x, **attributes).sum())(X)


PLACES = [
    ("raw_fail", "parse", forward, MXNetError, ["parseAttrs", "at='parse'"]),
    ("raw_fail", "shape", forward, ShapeError, ["inferShape", "(2, 3)", "at='shape'"]),
    ("raw_fail", "type", forward, DTypeError, ["inferType", "float64", "at='type'"]),
    ("raw_fail", "forward", forward, OperatorError, ["forward", "(2, 3)", "float64", "at='forward'"]),
    ("raw_fail", "backward", gradient, OperatorError, ["backward", "(2, 3)", "at='backward'"]),
    ("raw_fail", "backward", hips, OperatorError, ["backward", "(2, 3)", "at='backward'"]),
    ("raw_fail_mutate", "mutate", forward, MXNetError, ["mutateInputs", "at='mutate'"]),
    ("raw_fail_storage", "storage", forward, MXNetError, ["inferSType", "at='storage'"]),
    ("raw_fail_state", "create", forward, OperatorError, ["createOpState", "(2, 3)", "at='create'"]),
    ("raw_fail", "parse", executor, MXNetError, ["parseAttrs", "at='parse'"]),
    ("raw_fail", "shape", executor, MXNetError, ["inferShape", "(2, 3)", "at='shape'"]),
    ("raw_fail", "type", executor, MXNetError, ["inferType", "at='type'"]),
    ("raw_fail", "forward", executor, OperatorError, ["forward", "(2, 3)", "at='forward'"]),
    ("raw_fail", "backward", executor, OperatorError, ["backward", "(2, 3)", "at='backward'"]),
    ("raw_fail_state", "create", executor, OperatorError, ["createOpState", "at='create'"]),
]


@pytest.mark.parametrize("message", [None, "the weather is bad", "invalid"])
@pytest.mark.parametrize(
    ("name", "at", "run", "kind", "pieces"), PLACES, ids=[f"{r[0]}-{r[1]}-{r[2].__name__}" for r in PLACES]
)
def test_operators_that_report_failure(failing, name, at, run, kind, pieces, message):
    attributes = {"at": at} if message is None else {"at": at, "message": message}
    with pytest.raises(MXNetError) as caught:
        run(name, **attributes)
    said = {None: "no message", "invalid": "broken �� bytes �"}.get(message, message)
    has(caught.value, kind, name, *pieces, said)
    lines = [line for line in str(caught.value).splitlines() if "failing.c[" in line]
    assert len(lines) == (message is not None), "it says once what the library says, and where"
    assert all(line.endswith(said) for line in lines)


@pytest.mark.parametrize(
    ("at", "run", "text"),
    [
        ("forward", forward, "the state refuses forward"),
        ("backward", gradient, "the state refuses backward"),
        ("forward", gradient, "the state refuses forward"),
        ("backward", executor, "the state refuses backward"),
        ("backward", hips, "the state refuses backward"),
    ],
)
def test_states_that_report_failure(failing, at, run, text):
    with pytest.raises(OperatorError) as caught:
        run("raw_fail_state", at=at)
    has(caught.value, OperatorError, "raw_fail_state", at, "(2, 3)", text)


def test_a_stateful_operator_without_gradient(failing):
    with pytest.raises(MXNetError) as caught:
        gradient("raw_state_without_gradient")
    has(caught.value, MXNetError, "raw_state_without_gradient", "backward", "Operator does not support backward")


def test_only_what_is_new_is_said(failing):
    for number in range(3):
        with pytest.raises(OperatorError) as caught:
            forward("raw_fail", at="forward", message=f"failure {number}")
        assert [k for k in range(3) if f"failure {k}" in str(caught.value)] == [number]


def test_several_messages_are_said_in_their_order(failing):
    with pytest.raises(OperatorError) as caught:
        forward("raw_fail", at="forward", message="bad", messages=3)
    lines = [line for line in str(caught.value).splitlines() if "bad" in line]
    assert [line.split("bad")[1] for line in lines if "of 3" in line] == [", 1 of 3", ", 2 of 3"]


def test_thousands_of_messages_do_not_make_an_endless_error(failing):
    with pytest.raises(OperatorError) as caught:
        forward("raw_fail", at="forward", message="bad", messages=1000)
    assert len(str(caught.value)) < 10000


def test_an_executor_that_fails_goes_on_once_it_can(failing):
    node = sym.raw_fail_state(sym.var("x"), at="second_forward")
    bound = node.bind(mx.cpu(), {"x": nd.ones(2)})
    bound.forward()
    with pytest.raises(OperatorError, match="the state refuses to go on"):
        bound.forward()
    np.testing.assert_array_equal(bound.forward()[0].asnumpy(), [1, 1])


def test_no_gradient():
    mx.library.load(build("operators.c", flags=["-DABI=11", '-DTAG=""']), verbose=False)
    for run in (gradient, hips, executor):
        with pytest.raises(NoGradientError) as caught:
            run("raw_plain")
        has(caught.value, NoGradientError, "raw_plain", "setBackward")


def test_no_second_order():
    mx.library.load(build("operators.c", flags=["-DABI=11", '-DTAG=""']), verbose=False)
    x = nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.raw_affine(x, scale=2)
        (first,) = mx.autograd.grad(y, [x], create_graph=True, retain_graph=True)
        z = (first * x).sum()
    with pytest.raises(NoGradientError) as caught:
        z.backward()
    has(caught.value, NoGradientError, "raw_affine", "second")


def test_an_operator_for_the_gpu_only():
    mx.library.load(build("operators.c", flags=["-DABI=11", '-DTAG=""']), verbose=False)
    with pytest.raises(MXNetError) as caught:
        nd.raw_gpu_only(np.ones(2))
    has(caught.value, MXNetError, "raw_gpu_only", "CPU", "gpu")


COUNTS = [
    (lambda: nd.raw_pair(np.ones(2)), "raw_pair takes 2 input(s), got 1"),
    (lambda: nd.raw_affine(np.ones(2), np.ones(2)), "raw_affine takes 1 input(s), got 2"),
    (lambda: nd.raw_affine(), "raw_affine takes 1 input(s), got 0"),
    (lambda: nd.raw_sum(np.ones(2), count=3), "raw_sum takes 3 input(s) with count='3', got 1"),
    (lambda: sym.raw_pair(sym.var("x")), "raw_pair takes 2 input(s), got 1"),
    (lambda: sym.raw_sum(*map(sym.var, "abc"), count=2), "raw_sum takes 2 input(s) with count='2', got 3"),
]


@pytest.mark.parametrize(("call", "text"), COUNTS, ids=range(len(COUNTS)))
def test_wrong_numbers_of_inputs(call, text):
    mx.library.load(build("operators.c", flags=["-DABI=11", '-DTAG=""']), verbose=False)
    with pytest.raises(ArgumentError) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize(("storage", "name"), [(1, "row_sparse"), (2, "csr"), (-1, "open"), (9, "9")])
def test_storage_that_is_not_dense(storage, name):
    path = build("operators.c", flags=["-DABI=11", '-DTAG=""'])
    mx.library.load(path, verbose=False)
    watched = Watched(path)
    with watched.calls() as calls, pytest.raises(MXNetError) as caught:
        nd.raw_storage(np.ones(2), storage=storage)
    has(caught.value, MXNetError, "raw_storage", "inferSType", name)
    assert "forward raw_storage" not in calls


# -- answers that nobody can use ---------------------------------------------------------------------------------------

NONSENSE = [
    ("nothing", ["parseAttrs", "-1"]),
    ("no_outputs", ["parseAttrs", "0 output"]),
    ("negative_outputs", ["parseAttrs", "-2 output"]),
    ("many_outputs", ["parseAttrs", "2000000000"]),
    ("negative_inputs", ["parseAttrs", "-2 input"]),
    ("many_inputs", ["parseAttrs", "2000000000"]),
    ("changed_input", ["inferShape", "(2, 3)", "(7, 8)"]),
    ("unknown_length", ["inferShape", "(2, 3)"]),
    ("huge", ["inferShape", "4294967294"]),
    ("many_dimensions", ["inferShape", "40"]),
    ("null_shapes", ["inferShape"]),
    ("null_shape", ["inferShape"]),
    ("null_dimensions", ["inferShape"]),
    ("null_input_dimensions", ["inferShape"]),
    ("negative_dimensions", ["inferShape", "-3"]),
    ("billions_of_dimensions", ["inferShape", "2000000000"]),
    ("changed_input_type", ["inferType", "float64", "float32"]),
]


@pytest.mark.parametrize("run", [forward, gradient, executor])
@pytest.mark.parametrize(("what", "pieces"), NONSENSE, ids=[row[0] for row in NONSENSE])
def test_inference_that_nobody_can_use(failing, what, pieces, run):
    with failing.calls() as calls, pytest.raises(MXNetError) as caught:
        run("raw_nonsense", what=what)
    if run is forward:
        has(caught.value, MXNetError, "raw_nonsense", *pieces)
    else:
        has(caught.value, MXNetError, "raw_nonsense", pieces[0])
    assert "forward raw_nonsense" not in calls
    assert not isinstance(caught.value, OperatorError)


@pytest.mark.parametrize(
    ("number", "name"), [(100, "100"), (-1, "-1"), (77, "77"), (7, "bool"), (12, "bfloat16"), (-9, "-9")]
)
@pytest.mark.parametrize("run", [forward, executor])
def test_dtypes_that_nobody_can_use(failing, number, name, run):
    with failing.calls() as calls, pytest.raises(DTypeError) as caught:
        run("raw_nonsense", dtype=number)
    has(caught.value, DTypeError, "raw_nonsense", "inferType", str(number) if name == str(number) else name)
    assert "forward raw_nonsense" not in calls


@pytest.mark.parametrize(
    ("attributes", "pieces"),
    [
        ({"mutated": 1, "index": 1}, ["mutateInputs", "1"]),
        ({"mutated": 1, "index": -1}, ["mutateInputs", "-1"]),
        ({"mutated": 1, "index": 2**31 - 1}, ["mutateInputs", "2147483647"]),
        ({"mutated": 2, "index": 5}, ["mutateInputs", "5"]),
        ({"what": "null_indices"}, ["mutateInputs"]),
        ({"what": "negative_mutated"}, ["mutateInputs", "-1"]),
        ({"what": "billions_mutated"}, ["mutateInputs", "2000000000"]),
    ],
    ids=str,
)
def test_mutated_inputs_that_there_are_not(failing, attributes, pieces):
    for run in (forward, executor):
        with pytest.raises(MXNetError) as caught:
            run("raw_nonsense_mutate", **attributes)
        has(caught.value, MXNetError, "raw_nonsense_mutate", *pieces)


def test_an_input_that_is_mutated_twice_is_one_state(failing):
    node = sym.raw_nonsense_mutate(sym.var("m"), mutated=2, index=0)
    assert node.list_auxiliary_states() == ["m"]


def test_a_state_that_is_none(failing):
    for run in (forward, gradient, executor):
        with pytest.raises(OperatorError) as caught:
            run("raw_nonsense_state", what="state_null")
        has(caught.value, OperatorError, "raw_nonsense_state", "createOpState", "no state")
