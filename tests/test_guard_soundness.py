"""What a captured function refers to is changed between its calls, in every way that Python has.

A captured call gives what the function as written gives, or runs as written.
"""

from __future__ import annotations

import builtins
import decimal
import itertools
import logging
import math
import os
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rare_state_changes  # noqa: F401  (adds its rows)
import state_changes
from state_changes import CASES

import minpy as mx
from minpy import customop, gluon
from minpy.graph import standalone

COMPILES = True
X = np.linspace(0.5, 1.5, 6)
STATES, CALLS = 4, 4


def compiled(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return mx.compile(function)


def hybridized(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    class Net(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            return function(x)

    net = Net()
    net.hybridize()
    return lambda x: net(mx.np.array(x)).asnumpy()


def alone(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operator(x: Any) -> Any:
        return function(x)

    return customop("numpy", compile=True)(operator)


def executor(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operator(x: Any) -> Any:
        return function(x)

    user = customop("numpy")(operator)
    user.def_infer_shape(lambda inputs, outputs: (inputs, inputs))  # asked for shapes, it would be called once more
    user.def_infer_type(lambda inputs, outputs: (inputs, inputs))
    bound = user(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array(X, dtype="float64")})
    return lambda x: bound.forward(x=mx.nd.array(x, dtype="float64"))[0].asnumpy()


CHANGES_SHAPES = ("a_slice_in_a_list", "an_ellipsis", "special_index")
READS_MINPY = ("an_array_of_minpy_that_is_replaced",)
# What is not noticed yet: a change of these, between two calls.
_FORWARD = """
    a_builtin_that_is_replaced a_bytearray a_chain_map a_changed_class a_context_variable a_cycle a_deque
    a_dict_nested_seven_deep a_dict_with_missing a_file a_file_by_its_status a_generator
    a_generator_that_is_sent_to a_global_through_eval a_global_through_globals a_limit_of_the_interpreter
    a_lock a_mapping_proxy a_member_of_an_enumeration a_memoryview a_method_caller
    a_module_that_is_imported_inside a_name_that_appears_later a_number_of_c a_partial_method
    a_patched_constant a_patched_function_of_numpy a_single_dispatch a_variable_of_the_environment
    a_view_of_items a_view_of_keys a_view_of_values a_weak_dict a_weak_reference
    an_abstract_class_that_is_registered an_array_of_the_standard_library an_attribute_getter
    an_attribute_of_a_function an_attribute_of_a_metaclass an_attribute_that_appears_later an_iterator
    an_object_that_is_collected changed_bases filters_of_warnings intercepted_attributes
    the_precision_of_decimals what_getattr_finds_later what_hasattr_finds_later what_numpy_prints
"""
_RARE_FORWARD = """
    a_class_that_is_called_by_its_metaclass a_config_parser a_context_manager a_descriptor_that_begins_to_be_one
    a_flat_iterator a_frozen_set_of_objects a_loaded_module a_match a_polynomial a_queue a_slot_that_is_deleted
    a_text_stream a_users_dict a_users_list a_users_mapping a_vectorized_function an_attribute_through_object
    an_error_state_of_numpy an_event an_integer_as_a_key lists_of_one_identity names_in_a_directory
    sets_in_another_order subclasses the_dict_of_an_object_is_replaced the_flags_of_an_array
    the_folder_of_the_process the_length_of_the_dict_of_an_object the_maximum_of_a_cache the_name_of_the_thread
    the_time what_a_protocol_finds what_is_an_instance
"""
STALE = {
    "compiled": "",
    "hybridized": _FORWARD
    + _RARE_FORWARD
    + """
        an_object_that_multiplies_from_the_right an_object_that_numpy_asks getattr_of_a_module
        the_state_of_minpys_generator
        the_state_of_a_generator the_state_of_numpys_generator the_state_of_pythons_generator
    """,
    "alone": "",
    "executor": "",
}

WAYS = {way.__name__: way for way in (compiled, hybridized, alone, executor)}


@pytest.fixture(autouse=True)
def _programs_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standalone, "_WORTH", 0.0)


@pytest.fixture(autouse=True)
def _surroundings_are_restored(tmp_path: Path) -> Iterator[None]:
    state_changes.folder = str(tmp_path)
    names: list[tuple[Any, str]] = [(np, "sinc"), (math, "tau"), (builtins, "oct"), (time, "monotonic")]
    names.append((threading.current_thread(), "name"))
    before = [(owner, name, getattr(owner, name)) for owner, name in names]
    limit, printing, precision = sys.getrecursionlimit(), np.get_printoptions(), decimal.getcontext().prec
    random_states, errors, working_folder = (random.getstate(), np.random.get_state()), np.geterr(), os.getcwd()
    with warnings.catch_warnings():
        yield
    for owner, name, value in before:
        setattr(owner, name, value)
    for name in ("appears_later", "divmod"):
        vars(state_changes).pop(name, None)
    for name in ("imported_inside", "loaded_module"):
        sys.modules.pop(name, None)
    np.seterr(**errors)
    os.chdir(working_folder)
    mx.autograd.set_training(False)
    os.environ.pop("STATE_CHANGES_FACTOR", None)
    logging.getLogger("state_changes").setLevel(logging.NOTSET)
    sys.setrecursionlimit(limit)
    np.set_printoptions(**printing)
    decimal.getcontext().prec = precision
    random.setstate(random_states[0])
    np.random.set_state(random_states[1])


def cells() -> Iterator[Any]:
    for way, name in itertools.product(WAYS, CASES):
        if way == "executor" and name in CHANGES_SHAPES:  # a bound graph has one
            continue
        if way in ("alone", "executor") and name in READS_MINPY:  # which operators of NumPy's arrays refuse
            continue
        stale = name in STALE[way].split()
        marks = [pytest.mark.xfail(reason="not noticed yet", strict=True)] if stale else []
        yield pytest.param(way, name, marks=marks)


@pytest.mark.parametrize(("way", "name"), list(cells()))
def test_what_has_changed_is_seen(way: str, name: str) -> None:
    written, change_written = CASES[name]()
    function, change = CASES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs as it is written
        candidate = None
        for state in range(1, STATES + 1):
            change_written(state)
            expected = [np.asarray(written(X.copy())) for _ in range(CALLS)]
            change(state)
            candidate = candidate or WAYS[way](function)
            for call in range(CALLS):
                np.testing.assert_allclose(
                    candidate(X.copy()), expected[call], rtol=1e-6, err_msg=f"state {state}, call {call + 1}"
                )
