"""Symbols in files of versions of MXNet before 1.9.1, brought into the form of 1.9.1.

A file says by which version it was written, as a number (10901 is 1.9.1); one that does not is of 0.8, or older. The
differences, as MXNet 1.9.1 itself reads them:

- until 1.9.0: attributes of users without underscores (`lr_mult`, now `__lr_mult__`), also on an operator for one of
  its inputs (`weight_lr_mult`)
- until 0.9.4: `argmax` and `argmin` with `axis=-1` where there is none now: over all axes
- until 0.8: states, such as the moving mean of `BatchNorm`, are no inputs

What was not written under `np_shape` and is read there says 0 where a length of a variable is not known, and () where
its axes are not: these are -1 and None then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from minpy.graph.ir import Value, variable
from minpy.symbol.naming import HIDDEN, hidden_key

__all__ = ["CURRENT", "missing_inputs", "numpy_shape_text", "pop_input_attributes", "upgraded"]

_AXIS_OF_ITS_OWN = 905
_STATES_ARE_INPUTS = 900
CURRENT = 10901

# How MXNet says that states are initialized.
_INITIALIZERS = {"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'}


def upgraded(op: str, attributes: Mapping[str, str], version: int) -> dict[str, str]:
    """Return the attributes of a node as MXNet 1.9.1 would write them.

    Examples
    --------
    >>> upgraded('argmax', {'axis': '-1', 'lr_mult': '2'}, 800)
    {'__lr_mult__': '2'}
    >>> upgraded('Reshape', {'target_shape': '(0, 10)', 'keep_highest': 'False'}, 10901)
    {'shape': '(-1, 10)'}
    """
    result = dict(attributes)
    if version < CURRENT:
        for name in HIDDEN:
            if name in result:
                result[hidden_key(name)] = result.pop(name)
    if version < _AXIS_OF_ITS_OWN and op in ("argmax", "argmin") and result.get("axis") == "-1":
        del result["axis"]
    if op in ("Reshape", "reshape"):
        target = result.pop("target_shape", "").strip("()[] ")
        keep = result.pop("keep_highest", "").lower() in ("true", "1")
        if target and result.get("shape", "").strip("()[] ") == "":
            lengths = ["-1" if part.strip() == "0" else part.strip() for part in target.split(",") if part.strip()]
            result["shape"] = f"({', '.join(['0', *lengths[1:]] if keep else lengths)})"
    return result


def numpy_shape_text(text: str) -> str:
    """Return the text of a variable's shape, in which 0 is an unknown length, as it is written under `np_shape`.

    Examples
    --------
    >>> numpy_shape_text('(4, 0)'), numpy_shape_text('(4L,)'), numpy_shape_text('()')
    ('[4,-1]', '[4]', 'None')
    """
    lengths = [int(part) or -1 for part in re.findall(r"-?\d+", text)]
    return f"[{','.join(map(str, lengths))}]" if lengths else "None"


def pop_input_attributes(names: Sequence[str], attributes: dict[str, str], version: int) -> list[tuple[str, str, str]]:
    """Take those attributes of an operator that are meant for its inputs; return (input, attribute, text) of each.

    Examples
    --------
    >>> attributes = {'num_hidden': '3', 'weight_lr_mult': '2'}
    >>> pop_input_attributes(['data', 'weight', 'bias'], attributes, 800), attributes
    ([('weight', 'lr_mult', '2')], {'num_hidden': '3'})
    """
    if version >= CURRENT:
        return []
    keys = ((argument, name) for argument in names for name in HIDDEN if f"{argument}_{name}" in attributes)
    return [(argument, name, attributes.pop(f"{argument}_{name}")) for argument, name in list(keys)]


def missing_inputs(
    name: str, names: Sequence[str], count: int, annotations: Mapping[str, str], version: int
) -> list[Value]:
    """Return new variables for the inputs that files of 0.8 leave out; none for later ones.

    Examples
    --------
    >>> missing_inputs('bn', ['data', 'gamma', 'beta', 'moving_mean', 'moving_var'], 3, {}, 800)
    [bn_moving_mean, bn_moving_var]
    """
    if version >= _STATES_ARE_INPUTS:
        return []
    variables = []
    for argument in names[count:]:
        initializer = {"__init__": _INITIALIZERS[argument]} if argument in _INITIALIZERS else {}
        variables.append(variable(f"{name}_{argument}", **{**initializer, **annotations}))
    return variables
