"""The index of operators: it is current, and an operator is the same whichever modules are imported before its own."""

from __future__ import annotations

import subprocess
import sys

import pytest
from places import ROOT

from minpy.late import LateTable, late_names
from minpy.namespaces import listing, missing
from minpy.ops.index import DEFINED_IN
from minpy.ops.registry import FUNCTIONS, OPERATORS


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-W", "ignore", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_index_is_current():
    run("tools/make_operator_index.py", "--check")


def test_operators_do_not_depend_on_which_modules_were_imported():
    differing = run("tests/support/operators_alone.py")
    assert not differing, f"the module of an operator shall complete it: {differing}"


USED = """
import pickle, sys
import minpy as mx
assert "minpy.ops.nn.pooling" not in sys.modules
assert "Pooling" in dir(mx.nd) and "Pooling" in mx.nd.__all__
assert "minpy.ops.nn.pooling" not in sys.modules
pooling = mx.nd.Pooling
assert "minpy.ops.nn.pooling" in sys.modules
assert pooling is mx.nd.Pooling is mx.nd.op.Pooling is vars(mx.nd)["Pooling"]
assert pickle.loads(pickle.dumps(pooling)) is pooling
assert type(mx.nd) is type(sys)
assert {*mx.nd.__all__} <= {*vars(mx.nd)} and {*mx.sym.__all__} <= {*vars(mx.sym)}
assert mx.sym.Pooling is vars(mx.sym)["Pooling"] is mx.sym.op.Pooling
assert mx.nd.NDArray.relu is mx.nd.NDArray.relu is vars(mx.nd.NDArray)["relu"]
assert mx.nd.array([-1.0, 2.0]).relu().asnumpy().tolist() == [0, 2]
"""


def test_an_operator_is_imported_when_it_is_looked_up_and_is_the_same_from_then_on():
    run("-c", USED)


PICKLED = """
import pickle, sys
sys.path.insert(0, ".")
assert pickle.loads(bytes.fromhex({text!r})).__name__ == "Pooling"
"""


def test_an_operator_is_unpickled_where_its_module_was_not_imported():
    text = run("-c", "import pickle, minpy; print(pickle.dumps(minpy.nd.Pooling).hex())").strip()
    run("-c", PICKLED.format(text=text))


THREADS = """
import threading
import minpy as mx
x = mx.nd.ones((2, 2))
start, found = threading.Barrier(8), []
def work():
    start.wait()
    found.append((mx.nd.softmax, mx.nd.contrib.quadratic, mx.sym.LRN, x.softmax().shape))
threads = [threading.Thread(target=work) for _ in range(8)]
[one.start() for one in threads], [one.join() for one in threads]
assert len(found) == 8
assert all(each is first or each == (2, 2) for row in found for each, first in zip(row, found[0]))
"""


def test_threads_that_look_a_name_up_at_once_find_the_same():
    run("-c", THREADS)


def test_the_tables_know_their_names_without_values():
    assert list(OPERATORS)[: len(DEFINED_IN)] == list(DEFINED_IN)
    assert "no_such_operator" not in OPERATORS
    assert OPERATORS.get("no_such_operator") is None
    with pytest.raises(KeyError, match="no_such_operator"):
        OPERATORS["no_such_operator"]
    assert FUNCTIONS[run] is None
    assert FUNCTIONS.get(run, 3) == 3


def test_a_late_table_is_a_dict_to_who_reads_it():
    made = []

    def make(name):
        made.append(name)
        return name.upper()

    table = LateTable(["a", "b"], make)
    assert ([*table], len(table), made) == (["a", "b"], 2, [])
    table["c"] = "own"
    assert ({**table}, len(table)) == ({"a": "A", "b": "B", "c": "own"}, 3)
    assert dict(table.items()) == dict(zip(table.keys(), table.values(), strict=True)) == {**table}
    assert (table["a"], made) == ("A", ["a", "b"])
    del table["b"]
    assert ("b" in table, [*table]) == (False, ["a", "c"])


def test_a_late_namespace_refuses_other_names_as_any(monkeypatch):
    module = type(sys)("late_example")
    monkeypatch.setitem(sys.modules, "late_example", module)
    module.there = 1
    vars(module).update(__all__=["late", "there"], __dir__=listing(["late", "there"]))
    module.__getattr__ = late_names("late_example", ["late", "there"], str.upper, missing("late_example", "name", []))
    assert dir(module) == ["late", "there"]
    assert (module.there, module.late) == (1, "LATE")
    with pytest.raises(AttributeError, match="late_example has no name 'other'"):
        module.other  # noqa: B018
    assert vars(module)["late"] == "LATE"
