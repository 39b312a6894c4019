"""The types of `minpy.sym.contrib`, written by tools/make_stubs.py. Inputs that are left out become variables."""

from collections.abc import Sequence
from typing import Any

from minpy.symbol.symbol import Symbol as Symbol
from minpy.symbol.weight_updates import adamw_update as adamw_update
from minpy.symbol.weight_updates import mp_adamw_update as mp_adamw_update

def group_adagrad_update(weight: Any = ..., grad: Any = ..., history: Any = ..., lr: float = ..., rescale_grad: float = ..., clip_gradient: float = ..., epsilon: float = ..., *, name: str | None = ..., attr: dict[str, str] | None = ..., **_: Any) -> Symbol: ...
