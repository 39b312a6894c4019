"""Public namespaces: what they list, their other names, what they say of parts that are not there, pickling."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import json
import multiprocessing
import pickle
import re
import subprocess
import sys
import types
from types import ModuleType

import numpy as np
import pytest
from many import each

import minpy as mx
from minpy import nd, sym
from minpy.core.errors import MissingPartError, PicklingError
from minpy.namespaces import ALIASES, PARTS_TO_COME
from minpy.ops.registry import OPERATORS


def public_modules() -> dict[str, ModuleType]:
    """Return all that can be reached from the top by public names."""
    found: dict[str, ModuleType] = {}
    waiting = [mx]
    while waiting:
        module = waiting.pop()
        if module.__name__ not in found:
            found[module.__name__] = module
            members = (getattr(module, name) for name in dir(module))
            waiting += [member for member in members if isinstance(member, ModuleType)]
    return found


MODULES = public_modules()
CALLABLES = [
    (module, name)
    for module, namespace in MODULES.items()
    for name in dir(namespace)
    if callable(getattr(namespace, name))
]


def test_the_walk_finds_the_namespaces():
    assert {"minpy", "minpy.ndarray", "minpy.symbol", "minpy.numpy", "minpy.random", "minpy.autograd"} <= {*MODULES}
    assert {"minpy.ndarray.random", "minpy.symbol.random", "minpy.numpy.linalg", "minpy.numpy.fft"} <= {*MODULES}
    assert all(name.split(".")[0] == "minpy" for name in MODULES)


@each({name: (module,) for name, module in MODULES.items()})
def test_a_namespace_lists_public_names_only(module):
    listed = dir(module)
    assert listed == sorted(set(listed))
    assert set(listed) <= set(module.__all__)
    assert set(listed) == set(module.__all__) or module is mx.test_utils  # whose `import *` brings more
    for name in listed:
        value = getattr(module, name)
        assert not name.startswith("_") or name == "__version__"
        assert getattr(value, "__module__", "") not in ("typing", "collections.abc", "__future__"), name
        if isinstance(value, ModuleType):
            assert value.__name__ in MODULES, name


@pytest.mark.parametrize("namespace", [nd, sym])
def test_operators_are_attributes_of_the_module(namespace):
    assert OPERATORS.keys() <= vars(namespace).keys()
    assert "exp" in namespace.__dict__


def test_an_unknown_name_gives_the_nearest():
    for namespace, text in ((nd, r"minpy\.nd has no operator 'expp'\.(.*)exp"), (sym, r"minpy\.sym has no operator")):
        with pytest.raises(AttributeError, match=text):
            _ = namespace.expp
    with pytest.raises(AttributeError, match=r"minpy has no attribute 'autogard'\. Did you mean 'autograd'\?"):
        _ = mx.autogard
    with pytest.raises(AttributeError, match=r"minpy\.numpy has no function 'arrray'"):
        _ = mx.np.arrray


# -- other names ---------------------------------------------------------------------------------------------------

STATEMENTS = {
    "import minpy.nd": "minpy.nd is minpy.ndarray",
    "import minpy.ndarray": "minpy.nd is minpy.ndarray",
    "from minpy.nd import NDArray": "NDArray is __import__('minpy').nd.NDArray is type(__import__('minpy').nd.ones(1))",
    "import minpy.nd.ndarray as inner": "inner.NDArray is __import__('minpy').ndarray.NDArray",
    "import minpy.nd.random as random": "random is __import__('minpy').ndarray.random is __import__('minpy').nd.random",
    "import minpy.sym as sym": "sym is __import__('minpy').symbol is sys.modules['minpy.symbol']",
    "import minpy.symbol": "minpy.symbol is minpy.sym",
    "from minpy.sym import random": "random is __import__('minpy').symbol.random",
    "import minpy.np.linalg": "minpy.np.linalg is minpy.numpy.linalg is sys.modules['minpy.numpy.linalg']",
    "from minpy.np import ndarray": "ndarray is type(__import__('minpy').np.ones(1))",
    "import minpy.viz, minpy.rnd": "minpy.viz is minpy.visualization and minpy.rnd is minpy.random",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_other_names_are_the_same_modules(statement):
    names = {"sys": sys}
    exec(statement, names)
    assert eval(STATEMENTS[statement], names)


IN_ORDER = """
import json, sys
for statement, claim in json.loads(sys.argv[1]):
    names = {"sys": sys}
    exec(statement, names)
    assert eval(claim, names), statement
modules = [module for name, module in sys.modules.items() if name.startswith("minpy.")]
print(len({module.NDArray for module in modules if "NDArray" in vars(module)}))
"""


@pytest.mark.parametrize("first", [*STATEMENTS][::3])
def test_the_order_of_imports_makes_no_difference(first):
    order = [(first, STATEMENTS[first]), *(pair for pair in STATEMENTS.items() if pair[0] != first)]
    command = [sys.executable, "-W", "ignore", "-c", IN_ORDER, json.dumps(order)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout == "1\n", found.stderr


def test_other_names_of_what_is_not_there():
    assert importlib.util.find_spec("minpy.nd.nowhere") is None
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'minpy\.nd\.nowhere'"):
        importlib.import_module("minpy.nd.nowhere")
    assert {getattr(mx, alias).__name__ for alias in ALIASES} == {f"minpy.{name}" for name in ALIASES.values()}


# -- parts to come -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARTS_TO_COME)
def test_a_part_that_is_not_there_says_so(name):
    text = rf"^minpy\.{re.escape(name)} \(.*\) is not there yet\. Of MXNet's modules there are attribute, autograd, .*"
    holder, _, last = f"minpy.{name}".rpartition(".")
    module = importlib.import_module(holder)
    with pytest.raises(AttributeError, match=text + r"ndarray \(nd\), .*symbol \(sym\)"):
        getattr(module, last)
    assert not hasattr(module, last)
    for statement in (f"from {holder} import {last}", f"import minpy.{name}", f"from minpy.{name} import something"):
        with pytest.raises(MissingPartError, match=text) as caught:
            exec(statement)
        assert isinstance(caught.value, ModuleNotFoundError)
    assert f"minpy.{name}" not in sys.modules


# -- pickling ------------------------------------------------------------------------------------------------------


@each({name: (name,) for name in MODULES})
def test_public_callables_pickle_by_reference(module):
    for name in (name for holder, name in CALLABLES if holder == module):
        value = getattr(MODULES[module], name)
        for protocol in (0, 2, pickle.HIGHEST_PROTOCOL):
            assert pickle.loads(pickle.dumps(value, protocol)) is value, name
        assert copy.copy(value) is value, name
        assert copy.deepcopy([value])[0] is value, name


@pytest.mark.parametrize("cls", [mx.nd.NDArray, mx.np.ndarray, mx.sym.Symbol])
def test_methods_pickle_by_reference_and_know_their_names(cls):
    for name in dir(cls):
        method = getattr(cls, name)
        if isinstance(method, types.FunctionType):
            assert pickle.loads(pickle.dumps(method)) is method, name
            assert "<" not in method.__qualname__


@each({operator.__name__: (operator.__name__,) for operator in OPERATORS.values()})
def test_operators_that_are_hidden_pickle_too(name):
    operator = OPERATORS[name]
    assert pickle.loads(pickle.dumps(operator)) is operator


READ = """
import pickle, sys
before = sys.stdin.buffer.read()
values = pickle.loads(before)
import minpy, importlib
for (module, name), value in values.items():
    assert getattr(importlib.import_module(module), name) is value, (module, name)
print(len(values))
"""


def test_public_callables_are_unpickled_in_a_fresh_process():
    values = {(module, name): getattr(MODULES[module], name) for module, name in CALLABLES}
    # Another test may have let minpy stand in for MXNet, whose classes go by its name then.
    standing_in = mx.Context.__module__.startswith("mxnet.")
    program = f"import minpy; minpy.install_as_mxnet()\n{READ}" if standing_in else READ
    command = [sys.executable, "-W", "ignore", "-c", program]
    found = subprocess.run(command, input=pickle.dumps(values), capture_output=True, check=False)
    assert found.stdout == f"{len(values)}\n".encode(), found.stderr.decode()
    assert len(values) > 900


@mx.customop("numpy")
def cube(x):
    return x * x * x


cube.def_grad(lambda ans, x: lambda g: 3 * g * x * x)


class Holder:
    @mx.customop("numpy")
    def scaled(self, x):
        return x * 2


def test_pools_of_processes_take_operators():
    values = [np.arange(3.0), np.ones(2)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for operator in (nd.tanh, cube, mx.np.sin):
            for found, value in zip(pool.map(operator, values), values, strict=True):
                np.testing.assert_array_equal(np.asarray(found), np.asarray(operator(value)))


@mx.customop("numpy")
def replaced(x):
    return x


FIRST = replaced


@mx.customop("numpy")
def replaced(x):
    return x + 1


def make_local():
    @mx.customop("numpy")
    def local(x):
        return x

    return local


UNNAMED = {
    "local": (make_local(), r"under .*test_namespaces\.make_local\.<locals>\.local there is nothing\."),
    "lambda": (mx.customop("numpy")(lambda x: x), r"under .*test_namespaces\.<lambda> there is nothing\."),
    "replaced": (FIRST, r"under .*test_namespaces\.replaced there is something else\."),
}


@pytest.mark.parametrize("name", UNNAMED)
def test_an_operator_without_a_name_says_how_to_give_it_one(name):
    operator, text = UNNAMED[name]
    advice = r"operators pickle by reference, as functions do, and "
    with pytest.raises(PicklingError, match=rf"cannot be pickled: {advice}{text} Define it with @customop above a def"):
        pickle.dumps(operator)
    assert isinstance(PicklingError(), pickle.PicklingError)
    assert copy.copy(operator) is operator
    assert copy.deepcopy({"key": operator})["key"] is operator


def test_users_operators_pickle_by_their_name():
    assert pickle.loads(pickle.dumps(cube)) is cube
    assert pickle.loads(pickle.dumps(Holder.scaled)) is Holder.scaled
    holder = Holder()
    again = pickle.loads(pickle.dumps(holder.scaled))
    np.testing.assert_array_equal(again(np.ones(2)), [2.0, 2.0])
    assert inspect.isclass(type(again.__self__))
