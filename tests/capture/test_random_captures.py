"""Random functions, captured, while random things that they can reach change between their calls: all is as written.

`python tests/support/random_captures.py --seconds 600` looks further, and makes what it finds smaller.
"""

from __future__ import annotations

import itertools

import pytest
from capture_ways import namespace, require_as_written
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from random_captures import FEATURES, WAYS, Program, program_of, scenario_of
from thoroughness import often

COMPILES = True

# By ways: with which features there are programs that give something else than the function as written.
UNSOUND = {
    "compiled": "",
    "hybridized": "",
    "alone": "",
    "recorded": "",
    "hybridized_recorded": "",
    "differentiated": "",
}
assert set(UNSOUND) == set(WAYS)
assert all(set(names.split()) <= set(FEATURES) for names in UNSOUND.values())


@pytest.mark.parametrize(
    ("way", "feature"),
    [
        pytest.param(
            *cell,
            marks=[pytest.mark.xfail(reason=f"{cell[0]}: unlike the function as written", strict=True)]
            if cell[1] in UNSOUND[cell[0]].split()
            else [],
        )
        for cell in itertools.product(WAYS, FEATURES)
    ],
)
def test_as_written(way: str, feature: str) -> None:
    name, how = WAYS[way]

    @settings(
        max_examples=often(20, 1000),
        phases=[Phase.generate],  # random_captures.py makes programs smaller
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def check(data: st.DataObject) -> None:
        program = program_of(lambda alternatives: data.draw(st.sampled_from(alternatives)), feature)
        note(f"{program}")
        require_as_written(scenario_of(program, how), name)

    check()


def test_a_program_says_what_it_does() -> None:
    program = Program("def f(x, y):\n    return x * SCALE", ("call(array(), array())", "SCALE = 3.0", "call(x, y)"))
    assert str(program) == "def f(x, y):\n    return x * SCALE\ncall(array(), array())\nSCALE = 3.0\ncall(x, y)"
    require_as_written(scenario_of(program), "compiled")


def test_a_difference_is_seen() -> None:
    calls = namespace("calls = []")["calls"]
    program = Program(
        "def f(x, y):\n    count[0] += 1\n    return x * count[0]", ("count = [0]", "call(x, y)", "call(x, y)")
    )

    def counted_twice(function, names):  # type: ignore[no-untyped-def]
        calls.append(function)
        return function if len(calls) == 1 else lambda x, y: (function(x, y), function(x, y))[1]

    with pytest.raises(AssertionError, match=r"step 1\['result'\]"):
        require_as_written(scenario_of(program, counted_twice), "compiled")
