"""MinPy's policies, registries, rules, namespaces and helpers."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import minpy
import minpy.numpy as np
from minpy.array_variants import ArrayType
from minpy.core.errors import ArgumentError
from minpy.dispatch import policy
from minpy.dispatch.primitive_selector import PrimitiveSelector
from minpy.dispatch.registry import PrimitiveRegistryError, Registry
from minpy.dispatch.rule import Blacklist, RuleError, Rules
from minpy.numpy.mocking import Module, NameInjector
from minpy.primitive import Primitive
from minpy.utils import log, minprof
from minpy.utils.common import enforce_type


@pytest.fixture(autouse=True)
def default_policy() -> Any:
    yield
    minpy.set_global_policy("prefer_mxnet")
    Blacklist.reset_rules()


class Counting(policy.Policy):
    """A policy of a program's own."""

    def decide(self, candidates: Any) -> int | None:
        kinds = {candidate.type for candidate in candidates}
        return ArrayType.NUMPY if ArrayType.NUMPY in kinds else None


def test_calls_are_counted_while_they_are_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    add = np.add
    np.set_policy(Counting())
    np.exp(np.ones(2))  # not yet
    np.record_op_stat()
    x = np.ones((2, 2))
    gradient = minpy.core.grad(lambda x: np.sum(np.dot(x, x) * 2 + 1 - x))(x)
    np.show_op_stat()
    np.set_policy(policy.OnlyNumPyPolicy())
    assert np.add is add
    assert gradient.tolist() == [[7, 7], [7, 7]]
    assert isinstance(np.policy, policy.OnlyNumPyPolicy)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Counting: 6 calls of functions were counted."
    assert {*lines[3:]} == {f"  {name}: 1" for name in ("ones", "dot", "multiply", "add", "subtract", "sum")}
    np.record_op_stat()
    minpy.set_global_policy("only_numpy")
    assert np.add is add
    np.random.record_op_stat()
    np.random.rand(2)
    np.random.show_op_stat()
    assert "  rand: 1\n" in capsys.readouterr().out


def test_a_policy_that_chooses_nothing_is_an_error() -> None:
    class Nothing(policy.Policy):
        def decide(self, candidates: Any) -> int | None:
            return None

    np.set_policy(Nothing())
    np.record_op_stat()
    with pytest.raises(policy.PrimitivePolicyError, match=r"Nothing chooses nothing that computes zeros\(\)"):
        np.zeros(2)
    np.set_policy("only_numpy")
    assert np.zeros(2).tolist() == [0, 0]
    with pytest.raises(NotImplementedError, match="Policy defines no decide"):
        policy.Policy().decide([])


def test_policies_choose_among_a_programs_own_operators() -> None:
    registry = Registry("mine")
    by_numpy = Primitive(lambda x: x + 1, ArrayType.NUMPY)
    by_mxnet = Primitive(lambda x: x + 2, ArrayType.MXNET)
    by_mxnet.def_grad(lambda ans, x: lambda g: g)
    registry.register("step", by_numpy)
    registry.register("step", by_mxnet)
    mine = SimpleNamespace(policy=policy.create("only_numpy"), __registry__=registry)
    step = PrimitiveSelector("step", mine)
    assert (step.name, float(step(1.0))) == ("step", 2)
    mine.policy = policy.create("prefer_mxnet")
    assert float(step(minpy.nd.ones(1))) == 3
    mine.policy = policy.create("only_numpy")
    x = np.ones(2)
    x.attach_grad()
    with pytest.raises(policy.PrimitivePolicyError, match="that has the gradient needed"):
        step(x)
    with pytest.warns(UserWarning, match="step of kind MXNet is registered already; it stays"):
        registry.register("step", Primitive(numpy.square, ArrayType.MXNET))
    assert registry.get("step", ArrayType.MXNET) is by_mxnet
    with pytest.raises(PrimitiveRegistryError, match="there is no 'leap' of kind 0"):
        registry.get("leap", ArrayType.NUMPY)
    assert (registry.nspace, registry.has_name("step"), registry.exists("leap", 0)) == ("mine", True, False)


def test_rules_are_kept_in_files(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    chosen = policy.AutoBlacklistPolicy(loc=str(path))
    rules = Blacklist(loc=str(path))
    call = ("sin", "minpy.numpy", ArrayType.MXNET, (np.ones((2, 2)), 3), {"out": None})
    assert rules.allow(*call)
    rules.add(*call)
    rules.add(*call)
    assert not rules.allow(*call)
    assert rules.allow("sin", "minpy.numpy", ArrayType.NUMPY, (np.ones((2, 2)), 3), {"out": None})
    assert chosen.query(np, "sin") == "sin(array_dim2, int, out=) does not run by MXNet."
    assert chosen.query(np, "cos") == "There is no rule for minpy.numpy.cos."
    chosen.save_rules()
    Blacklist.reset_rules()
    assert rules.allow(*call)
    Blacklist.load_rules_config(force=True)
    assert not rules.allow(*call)
    with pytest.raises(RuleError, match="rules are of functions of MXNet"):
        rules.add("sin", "minpy.numpy", ArrayType.NUMPY, (), {})
    with pytest.raises(NotImplementedError, match="Rules defines no allow"):
        Rules(loc=str(path)).allow(*call)
    path.write_text("[1, 2]")
    with pytest.raises(RuleError, match="holds no rules: expected a mapping"):
        Blacklist.load_rules_config(force=True)
    assert not rules.allow(*call)


def test_rules_that_minpy_wrote_are_read(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "rules"
    path.write_text("minpy.numpy:\n  sin:\n  - args:\n    - array_dim2\n")
    rules = Blacklist(loc=str(path))
    Blacklist.load_rules_config(force=True)
    assert not rules.allow("sin", "minpy.numpy", ArrayType.MXNET, (np.ones((2, 2)),), {})


def test_namespaces_of_a_programs_own() -> None:
    names = NameInjector(numpy, name="mine", injected_type={type(None)}, name_set=["pi"], exception={"e_": "e"})
    assert names.__name__ == "<mine>"
    assert {"newaxis", "pi", "e_"} <= {*names.keys()}
    assert ("pi" in names, len(names) == len([*names]), names["e_"]) == (True, True, numpy.e)
    with pytest.raises(ArgumentError, match=r"numpy has no 'sni'\. Did you mean 'sin'\?"):
        NameInjector(numpy, exception={"x": "sni"})
    mine = Module({"__name__": "mine", "pi": 3}, name_injector=names)
    assert (mine.pi, mine.newaxis, mine.add(1.0, 2.0)) == (3, None, 3)
    mine.set_policy("only_numpy")
    mine.record_op_stat()
    mine.add(1.0, 2.0)
    assert isinstance(mine.add, PrimitiveSelector)
    draws = Module({"__name__": "draws"}, "random")
    assert draws.rand(2).shape == (2,)
    minpy.Config["modules"].remove(mine)
    minpy.Config["modules"].remove(draws)


# -- helpers -----------------------------------------------------------------------------------------------------------


def test_arguments_are_converted() -> None:
    class Adder:
        @enforce_type(float, method=True)
        def add(self, x: float, *, y: float) -> tuple[type, float]:
            return type(x), x + y

    assert Adder().add(1, y="2.5") == (float, 3.5)


def test_loggers_are_found_again() -> None:
    logger = log.get_logger("minpy.test_of_loggers", log.ERROR)
    assert logger is log.get_logger("minpy.test_of_loggers")
    assert logger.level == logging.ERROR


def test_functions_and_parts_are_timed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    profiler = minprof.FuncCallProfiler(len)

    @profiler
    def square(x: int) -> int:
        """Return the square."""
        return x * x

    assert (square(3), square(4), square.__doc__) == (9, 16, "Return the square.")
    with pytest.raises(ZeroDivisionError), profiler("the division"):
        1 / 0  # noqa: B018
    timings = {name: runs for (_, _, name), runs in profiler.get_stats().timings.items()}
    assert {name: len(runs) for name, runs in timings.items()} == {"len": 0, "square": 2, "the division": 1}
    assert all(count == 1 and began <= ended for runs in timings.values() for count, began, ended in runs)
    profiler.print_stats()
    shown = capsys.readouterr().out
    assert "(square)\n" in shown
    assert "(len)" not in shown
    profiler.dump_stats(str(tmp_path / "stats"))
    monkeypatch.setattr(minprof, "MINPROF_FLAG", False)
    assert profiler(len) is len
    profiler.print_stats()
    assert capsys.readouterr().out == "MINPROF_FLAG is False: nothing is timed.\n"


def test_a_script_is_timed_on_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("from minpy.utils.minprof import minprof\n@minprof\ndef work():\n    pass\nwork()\nwork()\n")
    command = [sys.executable, "-m", "minpy.utils.minprof", "-v", "-o", str(tmp_path / "stats"), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    line = done.stdout.splitlines()[-1]
    assert line.split()[0] == "2"
    assert line.endswith("program.py:2(work)")
    with pytest.raises(SystemExit, match="there is no script 'no such file'"):
        minprof.find_script("no such file")
