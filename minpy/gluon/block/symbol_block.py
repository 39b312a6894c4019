"""`SymbolBlock`: a graph as a block, such as one that was read from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from minpy import symbol
from minpy.context import cpu
from minpy.core.errors import ArgumentError, describe, nearest
from minpy.gluon.block.cached_op import CachedOp
from minpy.gluon.block.hybrid_block import HybridBlock
from minpy.gluon.block.hybrid_forward import first_of
from minpy.gluon.block.misshapen import expected_shapes
from minpy.gluon.block.nesting import _flatten, _regroup
from minpy.gluon.parameter import ParameterDict
from minpy.gluon.parameter.parameter_loading import Options, read_file
from minpy.graph.ir import Value
from minpy.ndarray import NDArray
from minpy.symbol import Group, Symbol
from minpy.symbol.labels import label_names, without_labels

__all__ = ["SymbolBlock"]


class SymbolBlock(HybridBlock):
    """A block that computes a graph; the graph's variables that are no inputs are its parameters.

    In files of `save_parameters` a parameter goes by its name without what the names of all of them begin with:
    'ssd0_fc1_weight' and 'ssd0_fc2_weight' are '1_weight' and '2_weight' there.

    Parameters
    ----------
    outputs : Symbol, or list of Symbol
        What it computes; a list of one symbol counts as that symbol.
    inputs : Symbol, or list of Symbol
        Variables of the graph that it is called with.
    params : ParameterDict, or mapping of str to Parameter, optional
        Where parameters are looked for by their names before new ones are made.

    Raises
    ------
    ArgumentError
        If an input is no variable.

    Examples
    --------
    >>> import minpy as mx
    >>> data = mx.sym.var('data')
    >>> hidden = mx.sym.FullyConnected(data, num_hidden=2, name='fc')
    >>> net = mx.gluon.SymbolBlock(mx.sym.tanh(hidden), data)
    >>> net.initialize()
    >>> net(mx.nd.ones((1, 3))).shape
    (1, 2)
    >>> list(net.collect_params().keys())
    ['fc_weight', 'fc_bias']
    """

    def __init__(self, outputs: Any, inputs: Any, params: Any = None) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        shared = params
        if params is not None and not isinstance(params, ParameterDict):
            shared = ParameterDict("")
            shared.update(params)
        self._params = ParameterDict("", shared)
        inputs = [inputs] if isinstance(inputs, Symbol) else list(inputs)
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            outputs = outputs[0]
        for variable in inputs:
            is_symbol = isinstance(variable, Symbol)
            if not is_symbol or len(variable.values) != 1 or variable.values[0].node.operator is not None:
                raise ArgumentError(
                    f"SymbolBlock: an input is {repr(variable) if is_symbol else describe(variable)}; expected a "
                    "variable of the graph, as mx.sym.var makes them."
                )
        leaves, self._out_format = _flatten(outputs, "output")
        out = leaves[0] if len(leaves) == 1 else Group([leaf for leaf in leaves if leaf is not None])
        variables = _variables_of(out, inputs)
        self._symbol, self._inputs = out, variables
        names = {variable.name for variable in variables}
        states = set(out.list_auxiliary_states())
        nodes = [node for node in out.order if node.operator is None and node.name not in names]
        # States come last: it is the order in which MXNet draws initial values, and writes files.
        for node in sorted(nodes, key=lambda node: node.name in states):
            parameter = self._params.get(node.name, allow_deferred_init=True)
            if node.name in states:
                parameter.grad_req = "null"
            if parameter._var is None:
                parameter._var = _variable(node)
        # In files the parameters go by what is left of their names without what all of these begin with.
        columns = enumerate(zip(*self._params.keys(), strict=False))
        shortest = min(map(len, self._params.keys()), default=0)
        start = next((position for position, letters in columns if len({*letters}) > 1), shortest)
        self._reg_params.update({name[start:]: parameter for name, parameter in self._params.items()})
        self._in_format = [0] * len(variables)
        self._cached_graph = (variables, out)

    @staticmethod
    def imports(
        symbol_file: str | os.PathLike[str],
        input_names: str | Sequence[str],
        param_file: str | os.PathLike[str] | None = None,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """Return the block of a graph that `export`, or MXNet, wrote to a file.

        A checkpoint of a module ends in a loss, whose label its parameters do not hold. Where such a label is no
        input either, the output layer becomes what it predicts: softmax, sigmoid, or the scores themselves.

        Parameters
        ----------
        symbol_file : str or PathLike
            `name-symbol.json`.
        input_names : str or list of str
            The names of the variables that the block is called with.
        param_file : str or PathLike, optional
            `name-0000.params`; without it the parameters are not initialized.
        ctx : Context or list of Context, optional
            Where the parameters lie.
        allow_missing, ignore_extra : bool
            As for `Block.load_parameters`.

        Returns
        -------
        SymbolBlock

        Raises
        ------
        ArgumentError
            If the graph has no variable of such a name.
        ParametersError, ShapeError
            If parameters are missing, superfluous, or of shapes that contradict the graph; the text has all of them.
        """
        loaded = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        graph_inputs = loaded.list_inputs()
        for name in names:
            if name not in graph_inputs:
                raise ArgumentError(
                    f"SymbolBlock.imports: the graph of {os.fspath(symbol_file)!r} has no input {name!r}."
                    f"{nearest(name, graph_inputs) or _inputs_of(loaded)}"
                )
        arrays = None if param_file is None else read_file(param_file)
        if arrays is not None and not allow_missing:
            present = {name.removeprefix("arg:") for name in arrays}
            loaded = without_labels(loaded, [name for name in label_names(loaded) if name not in (*names, *present)])
        internals = loaded.get_internals()
        block = SymbolBlock(loaded, [internals[name] for name in names])
        if arrays is not None:
            where = f"file {os.fspath(param_file or '')!r}"
            contexts = cpu() if ctx is None else ctx
            parameters = block.collect_params()
            shapes = {name.removeprefix("arg:").removeprefix("aux:"): array.shape for name, array in arrays.items()}
            shapes = {name: shape for name, shape in shapes.items() if name in parameters}
            for name, shape in expected_shapes(loaded, shapes).items():
                parameters[name].shape = shape  # with which the array does not fit it
            parameters._take(
                arrays, "", Options(where, contexts, allow_missing, ignore_extra, True, "saved", owned=True)
            )
        return block

    def __repr__(self) -> str:
        count = len(self._symbol.values)
        return f"{type(self).__name__}(\n{self._symbol!r} : {len(self._inputs)} -> {count}\n)"

    def _clear_cached_op(self) -> None:
        form = vars(self).get("_out_format")
        super()._clear_cached_op()
        if "_symbol" in vars(self):
            self._cached_graph, self._out_format = (self._inputs, self._symbol), form

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._inputs = _variables_of(self._symbol, self._inputs)
        self._cached_graph = (self._inputs, self._symbol)

    def _trace(self, leaves: Sequence[Any], form: Any) -> CachedOp:
        if len(leaves) != len(self._inputs):
            names = ", ".join(str(variable.name) for variable in self._inputs)
            raise ArgumentError(f"{self.name} takes {len(self._inputs)} argument(s) ({names}), got {len(leaves)}.")
        out_form = self._out_format
        rebuild = None if out_form == 0 else lambda values: _regroup(values, out_form)[0]
        return CachedOp(self.name, self._inputs, self._symbol, rebuild, dict(self._params.items()))

    def _get_graph(self, *args: Any) -> tuple[Any, ...]:
        return self._cached_graph

    def forward(self, x: Any, *args: Any) -> Any:
        """Return what the graph computes, of arrays or of symbols."""
        if isinstance(x if isinstance(x, (NDArray, Symbol)) else first_of(self.name, [x, *args]), NDArray):
            return self._call_cached_op(x, *args)
        leaves, _ = _flatten([x, *args], "input")
        composed = self._symbol(
            **{str(variable.name): value for variable, value in zip(self._inputs, leaves, strict=True)}
        )
        return _regroup([Symbol([value]) for value in composed.values], _one_by_one(self._out_format))[0]

    def reset_ctx(self, ctx: Any) -> None:
        """Move the parameters to other contexts."""
        self.collect_params().reset_ctx(ctx)


def _inputs_of(graph: Symbol) -> str:
    """Say which inputs a graph has: what is left when names that end like those of parameters are taken away."""
    endings = ("_weight", "_bias", "_gamma", "_beta", "_mean", "_var", "_parameters", "_label", "_alpha")
    names = [name for name in graph.list_inputs() if not name.endswith(endings)]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f" It has {', '.join(map(repr, names[:8]))}{more}." if names else ""


def _variables_of(graph: Symbol, variables: Sequence[Symbol]) -> list[Symbol]:
    """Return the variables of a graph that have these names; those that it has not, as they are."""
    nodes = {node.name: node for node in graph.order if node.operator is None}
    return [_variable(nodes[variable.name]) if variable.name in nodes else variable for variable in variables]


def _variable(node: Any) -> Symbol:
    return Symbol([Value(node)])


def _one_by_one(form: Any) -> Any:
    """Return a form in which a symbol of several outputs is a list of them."""
    if isinstance(form, int):
        return [0] * form if form > 1 else form
    return type(form)(map(_one_by_one, form)) if not isinstance(form, Mapping) else form
