"""Networks in float32 turned into networks in mixed precision, to predict with: `convert_symbol` and its kin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from minpy import ndarray as nd
from minpy.contrib.amp.casting_policy import checked_target, policy_of
from minpy.contrib.amp.graph_casts import parameters_in_low, reduced
from minpy.core.dtypes import DTYPE_NUMBERS
from minpy.core.errors import ArgumentError, ArgumentValueError, MXNetError, describe, nearest
from minpy.gluon import HybridBlock, SymbolBlock
from minpy.graph.inference import infer_dtypes
from minpy.graph.ir import Value
from minpy.module import BucketingModule
from minpy.symbol import Symbol

__all__ = ["convert_bucketing_module", "convert_hybrid_block", "convert_model", "convert_symbol"]

_FLOATS = (numpy.dtype("float16"), numpy.dtype("float32"))


def convert_symbol(
    sym: Symbol,
    target_dtype: Any = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    data_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """Return a graph with casts, so that listed operators compute in float16. Its outputs are in float32.

    Parameters
    ----------
    sym : Symbol
        A graph in float32.
    target_dtype : str
        'float16'.
    target_dtype_ops : list of str, optional
        The operators to compute in float16, in place of `list_lp16_ops`.
    fp32_ops : list of str, optional
        The operators to compute in float32, in place of `list_fp32_ops`.
    conditional_fp32_ops : list of (str, str, list of str), optional
        Operator, attribute, and its values with which the operator computes in float32; in place of
        `list_conditional_fp32_ops`.
    excluded_sym_names : list of str, optional
        The nodes that compute in float32 in any case, by their names.
    data_names : list of str, optional
        The variables that are no parameters. If they are given, the dtypes of parameters are noted in the graph.
    cast_optional_params : bool
        Whether the parameters of operators in float16 are in float16 themselves, so that they need no casts. Needs
        `data_names`.

    Returns
    -------
    Symbol

    Raises
    ------
    ArgumentError
        For what is no symbol, lists of another form, names of no operators, and operators in two lists.
    DTypeError
        For another dtype; for bfloat16, which NumPy does not have.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib import amp
    >>> out = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, name='fc')
    >>> [node.name for node in amp.convert_symbol(out).order if node.kind == 'amp_cast']
    ... # doctest: +NORMALIZE_WHITESPACE
    ['data_amp_cast_float16', 'fc_weight_amp_cast_float16', 'fc_bias_amp_cast_float16',
     'fc_output_amp_cast_float32']
    """
    caller = "amp.convert_symbol"
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"{caller}: expected a Symbol, got {describe(sym)}.")
    checked_target(caller, target_dtype)
    policy = policy_of(
        caller,
        ("target_dtype_ops", target_dtype_ops),
        ("fp32_ops", fp32_ops),
        ("conditional_fp32_ops", conditional_fp32_ops),
    )
    excluded = _strings(caller, "excluded_sym_names", excluded_sym_names)
    data = _strings(caller, "data_names", data_names)
    inputs = sym.list_inputs()
    for name in data:
        if name not in inputs:
            raise ArgumentValueError(
                f"{caller}: data_names has {name!r}, which is no input of the graph.{nearest(name, inputs)}"
            )
    optional = data_names is not None and cast_optional_params
    in_low = parameters_in_low(sym, policy, excluded, data) if optional else set()
    converted = reduced(sym, policy, excluded, in_low)
    if data_names is not None:
        _note_dtypes(converted, data, {node.name for node in in_low})
    return converted


def _strings(caller: str, argument: str, names: Any) -> list[str]:
    if names is None:
        return []
    if not isinstance(names, (list, tuple, set)) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{caller}: {argument} is {describe(names)}; expected a list of names.")
    return list(names)


def _note_dtypes(symbol: Symbol, data: Sequence[str], in_low: set[str]) -> None:
    """Note the dtypes of parameters: what follows from the graph, else float32."""
    facts = {}
    for value, dtype in symbol._declared_dtypes().items():
        if value.node.name in data:
            facts[value] = dtype
    for node in symbol.order:
        if node.operator is None and (node.name in in_low or node.name in data):
            facts.setdefault(Value(node), numpy.dtype("float16" if node.name in in_low else "float32"))
    inferred = infer_dtypes(symbol.order, [(facts, "given to convert_symbol")], "float32").known
    for node in symbol.order:
        if node.operator is None and node.name not in data:
            node.annotations["__dtype__"] = str(DTYPE_NUMBERS[inferred[Value(node)]])


def _dtypes_noted(symbol: Symbol) -> dict[str, Any]:
    return {value.node.name: dtype for value, dtype in symbol._declared_dtypes().items()}


def _in_noted(arrays: Mapping[str, Any], dtypes: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in the dtypes that are noted for them, but for those that hold no float16 or float32."""
    converted = {}
    for name, array in arrays.items():
        dtype = dtypes.get(name)
        casts = dtype is not None and array._data.dtype in _FLOATS and array._data.dtype != dtype
        converted[name] = array.astype(dtype) if casts else array
    return converted


def _require_arrays(caller: str, argument: str, arrays: Any) -> None:
    if not isinstance(arrays, Mapping) or not all(isinstance(array, nd.NDArray) for array in arrays.values()):
        raise ArgumentError(f"{caller}: {argument} is {describe(arrays)}; expected a dict of NDArrays by their names.")


def convert_model(
    sym: Symbol,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any],
    target_dtype: Any = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:
    """Return a graph with casts, so that listed operators compute in float16, and its parameters for it.

    Parameters
    ----------
    sym, arg_params, aux_params
        What `mx.model.load_checkpoint` returns; inputs of the graph that are in neither dict are data.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
        As for `convert_symbol`.
    cast_optional_params : bool
        Whether the parameters of operators in float16 are cast themselves, which halves their memory.

    Returns
    -------
    (Symbol, dict, dict)
        New ones; arrays that are not cast are the same.

    Raises
    ------
    ArgumentError
        As for `convert_symbol`, and for what are no dicts of arrays.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib import amp
    >>> out = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, no_bias=True, name='fc')
    >>> params = {'fc_weight': mx.nd.ones((2, 3))}
    >>> out, params, _ = amp.convert_model(out, params, {}, cast_optional_params=True)
    >>> params['fc_weight'].dtype.__name__
    'float16'
    >>> out.eval(data=mx.nd.ones((1, 3)), **params)[0].asnumpy()
    array([[3., 3.]], dtype=float32)
    """
    caller = "amp.convert_model"
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"{caller}: expected a Symbol, got {describe(sym)}.")
    _require_arrays(caller, "arg_params", arg_params)
    _require_arrays(caller, "aux_params", aux_params)
    data = [name for name in sym.list_inputs() if name not in arg_params and name not in aux_params]
    lists = (target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    converted = convert_symbol(sym, target_dtype, *lists, data, cast_optional_params)
    dtypes = _dtypes_noted(converted)
    return converted, _in_noted(arg_params, dtypes), _in_noted(aux_params, dtypes)


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: Any = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    ctx: Any = None,
    cast_optional_params: bool = False,
) -> SymbolBlock:
    """Return a block that computes what a hybridized block does, with listed operators in float16.

    Parameters
    ----------
    block : HybridBlock
        One that was hybridized and called; or a SymbolBlock.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
        As for `convert_symbol`.
    ctx : Context or list of Context, optional
        Where the new block's parameters lie; by default where the block's do.
    cast_optional_params : bool
        Whether the parameters of operators in float16 are cast themselves, which halves their memory.

    Returns
    -------
    SymbolBlock
        With parameters of its own.

    Raises
    ------
    MXNetError
        If the block has no graph yet.

    Examples
    --------
    >>> import minpy as mx
    >>> from minpy.contrib import amp
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize(mx.init.One())
    >>> net.hybridize()
    >>> x = mx.nd.ones((1, 3))
    >>> y = net(x)
    >>> low = amp.convert_hybrid_block(net, cast_optional_params=True)
    >>> low(x).asnumpy(), [one.data().dtype.__name__ for one in low.collect_params().values()]
    (array([[3., 3.]], dtype=float32), ['float16', 'float16'])
    """
    caller = "amp.convert_hybrid_block"
    if not isinstance(block, HybridBlock):
        raise ArgumentError(f"{caller}: expected a HybridBlock, got {describe(block)}.")
    if not block._cached_graph:
        raise MXNetError(
            f"{caller}: {block.name} has no graph yet. Call hybridize(), then the block with a batch of data, and then "
            "convert it."
        )
    inputs, out = block._cached_graph
    names = [str(variable.name) for variable in inputs]
    lists = (target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    converted = convert_symbol(out, target_dtype, *lists, names, cast_optional_params)
    dtypes = _dtypes_noted(converted)
    by_name = {**block._parameters_by_name(), **block._lasting}
    converted_block = SymbolBlock(converted, inputs)
    for name, parameter in converted_block.collect_params().items():
        parameter_or_state = by_name[name]
        is_array = isinstance(parameter_or_state, nd.NDArray)
        array = parameter_or_state if is_array else parameter_or_state.list_data()[0]
        places = ctx if ctx is not None else [array.context] if is_array else parameter_or_state.list_ctx()
        dtype = dtypes[name] if array._data.dtype in _FLOATS else array._data.dtype
        parameter.shape, parameter.dtype = array.shape, dtype
        parameter.grad_req = "null" if is_array else parameter_or_state.grad_req
        parameter._load_init(array, places, cast_dtype=True)
    return converted_block


def convert_bucketing_module(
    bucketing_mod: Any,
    target_dtype: Any = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> Any:
    """Return a module of buckets like another, whose networks have listed operators in float16.

    Parameters
    ----------
    bucketing_mod : BucketingModule
        One that has parameters.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        As for `convert_model`.

    Returns
    -------
    BucketingModule
        It is to be bound before it predicts.

    Raises
    ------
    ArgumentError
        For what is no BucketingModule.
    MXNetError
        If it has no parameters yet.
    """
    caller = "amp.convert_bucketing_module"
    if not isinstance(bucketing_mod, BucketingModule):
        raise ArgumentError(f"{caller}: expected a BucketingModule, got {describe(bucketing_mod)}.")
    if not bucketing_mod.params_initialized:
        raise MXNetError(f"{caller}: the module has no parameters yet: call bind and init_params, or load them.")
    arg_params, aux_params = bucketing_mod.get_params()
    symbol_of_bucket = bucketing_mod._sym_gen
    lists = (target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)

    def converted(key: Any) -> Any:
        symbol, data_names, label_names = symbol_of_bucket(key)
        data = [name for name in symbol.list_inputs() if name not in arg_params and name not in aux_params]
        return convert_symbol(symbol, target_dtype, *lists, data, cast_optional_params), data_names, label_names

    dtypes = _dtypes_noted(converted(bucketing_mod._default_bucket_key)[0])
    module = BucketingModule(
        converted,
        bucketing_mod._default_bucket_key,
        context=bucketing_mod._context,
        fixed_param_names=bucketing_mod._fixed_param_names,
        state_names=bucketing_mod._state_names,
    )
    module._params_to_set = (_in_noted(arg_params, dtypes), _in_noted(aux_params, dtypes))
    module.params_initialized = True
    return module
