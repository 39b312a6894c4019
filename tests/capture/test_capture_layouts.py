"""How arguments lie in memory, and of which class and dtype they are: a captured call gives what is as written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from capture_ways import CALLS, Way, cells, outcome, require_as_written, require_written_runs, scenarios

COMPILES = True
SCENARIOS, scenario = scenarios()

BASE = np.arange(24.0).reshape(4, 6) / 7 + 0.5


def _read_only(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


MADE = {
    "contiguous": lambda: BASE.copy(),
    "fortran": lambda: np.asfortranarray(BASE),
    "transposed": lambda: BASE.T.copy().T,
    "strided": lambda: np.repeat(BASE, 2, 1)[:, ::2],
    "every_second_row": lambda: np.repeat(BASE, 2, 0)[::2],
    "backwards": lambda: BASE[::-1, ::-1].copy()[::-1, ::-1],
    "columns_backwards": lambda: BASE[:, ::-1].copy()[:, ::-1],
    "broadcast_rows": lambda: np.broadcast_to(BASE[0], (4, 6)),
    "broadcast_columns": lambda: np.broadcast_to(BASE[:, :1], (4, 6)),
    "read_only": lambda: _read_only(BASE),
    "big_endian": lambda: BASE.astype(">f8"),
    "unaligned": lambda: np.frombuffer(bytearray(1 + BASE.nbytes), np.uint8)[1:].view(np.float64).reshape(4, 6),
    "a_field": lambda: np.array([[(value, 0) for value in row] for row in BASE], "f8,i1")["f0"],
    "single": lambda: BASE.astype(np.float32),
    "half": lambda: BASE.astype(np.float16),
    "integers": lambda: BASE.astype(np.int32),
    "small_integers": lambda: BASE.astype(np.int8),
    "unsigned": lambda: BASE.astype(np.uint8),
    "booleans": lambda: BASE > 2,
    "complex": lambda: BASE + 1j,
    "long_double": lambda: BASE.astype(np.longdouble),
    "objects": lambda: BASE.astype(object),
    "empty": lambda: BASE[:, :0].copy(),
    "a_matrix": lambda: np.matrix(BASE),
    "masked": lambda: np.ma.array(BASE.copy(), mask=BASE > 3),
    "of_a_users_class": lambda: BASE.copy().view(Scaled),
    "a_record_array": lambda: BASE.copy().view(np.recarray),
}


class Scaled(np.ndarray):
    """An array whose sums are twice as large."""

    factor = 2.0

    def sum(self, *arguments: Any, **keywords: Any) -> Any:
        return np.asarray(self).sum(*arguments, **keywords) * self.factor


def _write_all(a: Any) -> Any:
    a *= 2
    return a + 1


def _write_rows(a: Any) -> Any:
    a[1:3] = a[:2] * 3
    return a.sum()


def _write_flat(a: Any) -> Any:
    np.add(a, 1, out=a)
    flat = a.reshape(-1)
    flat[:3] = 5
    return flat * 2, a * 2


def _write_transposed(a: Any) -> Any:
    a.T[0] = 7
    return a.T * 2


USES: dict[str, Any] = {
    "read": lambda a: (a * 2 + 1, a.sum(axis=0), a.T * 3),
    "raveled": lambda a: (np.ravel(a) * 2, a.reshape(-1)[1:], a.copy().strides),
    "called": lambda a: (np.cumsum(a, axis=1) * 2, np.sort(a[:, ::-1], axis=0) + 1),
    "part_called": lambda a: np.cumsum(a[1:, 1:4], axis=0) * 2 + np.cumsum(a.T[1:4, 1:], axis=1).T,
    "joined": lambda a: np.concatenate([a, a[::-1] * 2]).reshape(-1, 3) + 1,
    "written": _write_all,
    "written_rows": _write_rows,
    "written_flat": _write_flat,
    "written_transposed": _write_transposed,
}


def _laid_out(use: Any, made: Any) -> Any:
    def laid_out(way: Way) -> Iterator[Any]:
        function = way(use)
        for _ in range(CALLS):
            a = made()
            yield outcome(function, a), a

    return laid_out


def _laid_out_in_turn(use: Any) -> Any:
    def laid_out(way: Way) -> Iterator[Any]:
        function = way(use)
        for _ in range(CALLS):
            a = BASE.copy()
            yield function(a), a
        for _ in range(2):
            for made in MADE.values():
                a = made()
                yield outcome(function, a), a

    return laid_out


SCENARIOS.update({f"{use}_{made}": _laid_out(USES[use], MADE[made]) for use in USES for made in MADE})
SCENARIOS.update({f"{use}_in_turn": _laid_out_in_turn(USES[use]) for use in USES})


RUN_IN = "compiled"
# By ways: what gives something else than the function as written.
UNSOUND: dict[str, str] = {}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize(("way", "name"), cells(SCENARIOS, UNSOUND, RUN_IN))
def test_as_written(way: str, name: str) -> None:
    require_as_written(SCENARIOS[name], way)


def test_scenarios_run_as_written() -> None:
    require_written_runs(SCENARIOS, RUN_IN)
