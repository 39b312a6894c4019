"""`Symbol`: the front end of graphs. It names values of nodes, and has no values itself.

The class knows its graph, names, attributes and inference. What else it can do is made a `method` of it by the modules
that know how: arithmetic, pickling, saving, binding, gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy

from minpy.core.dtypes import DTYPES
from minpy.core.errors import ArgumentError, ArgumentValueError, NoValueError, ShapeError, describe, nearest
from minpy.core.numpy_semantics import is_np_shape
from minpy.core.state import tracing
from minpy.graph.inference import Inference, infer_dtypes, infer_shapes
from minpy.graph.ir import Node, Value, topological, variables
from minpy.graph.text import graph_text
from minpy.ops.inference.partial_shapes import UNKNOWN, complete, show_shape
from minpy.symbol.naming import hidden_key, shown

__all__ = ["METHODS", "Group", "Symbol", "attribute_string", "attribute_strings", "method"]

Shape = tuple[int, ...]
Function = TypeVar("Function", bound=Callable[..., Any])


_SHAPES = "Operators that take the shape from an array are reshape_like, slice_like, broadcast_like, shape_array."
_OF_ARRAYS = {
    **dict.fromkeys(("shape", "ndim", "size"), f"infer_shape tells it from those of the inputs. {_SHAPES}"),
    "dtype": "infer_type tells it from those of the inputs.",
    **dict.fromkeys(("context", "ctx"), "It is bound to one: bind(ctx, ...)."),
    **dict.fromkeys(("attach_grad", "grad"), "Say what is to have a gradient when it is bound: bind(args_grad=...)."),
    **dict.fromkeys(("item", "tolist"), "Compute it first: eval(...)."),
}

if TYPE_CHECKING:
    from minpy.symbol.members import SymbolMembers  # a stub: what other modules make methods of it
else:
    SymbolMembers = object


class Symbol(SymbolMembers):
    """One or several outputs of a graph whose values are not computed yet.

    Symbols are made by `mx.sym.var` and by calling operators (`mx.sym.X`, `mx.nd.X`, or a `@customop`) on symbols; they
    have the arithmetic of arrays. A symbol is run with `bind`, `simple_bind` or `eval`.

    Parameters
    ----------
    values : sequence of Value
        What the graph's nodes compute; see `minpy.graph.ir`.

    Examples
    --------
    >>> import minpy as mx
    >>> data = mx.sym.var('data')
    >>> net = mx.sym.FullyConnected(data, num_hidden=3, name='fc')
    >>> net.list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    >>> net.infer_shape(data=(2, 5))
    ([(2, 5), (3, 5), (3,)], [(2, 3)], [])
    """

    __slots__ = ("__weakref__", "_order", "values")
    in_numpy: ClassVar[bool] = False  # whether it has NumPy's semantics

    # NumPy's operators return NotImplemented for it, so that `array * symbol` reaches `Symbol.__rmul__`.
    __array_ufunc__ = None

    def __init__(self, values: Sequence[Value] | None) -> None:
        self.values = list(values or ())  # None, where a pickle of MXNet's goes on to fill it in
        self._order: list[Node] | None = None

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The name of its node; None for a group of several nodes' outputs."""
        nodes = {value.node for value in self.values}
        return self.values[0].node.name if len(nodes) == 1 else None

    @property
    def order(self) -> list[Node]:
        """The nodes of its graph, each after its inputs."""
        if self._order is None:
            self._order = topological(self.values)
        return self._order

    def __repr__(self) -> str:
        if self.name is not None:
            return f"<{type(self).__name__} {self.name}>"
        return f"<{type(self).__name__} group [{', '.join(value.node.name for value in self.values)}]>"

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Symbol]:
        self._require_outputs("iterated over")
        return (Symbol([value]) for value in self.values)

    def _require_outputs(self, noun: str) -> None:
        """Raise, while a block is traced, for what means something else of the array that this stands for."""
        if tracing.modes is None or len(self.values) != 1:
            return
        if "num_outputs" not in self.values[0].node.attributes:  # else the outputs are meant, though there is one
            raise NoValueError(
                f"{self!r} is {noun}, which takes apart the outputs of a symbol, of which there is one, but the rows of"
                " an array. Take rows with F.slice_axis, F.take or F.split."
            )

    def __bool__(self) -> bool:
        raise NoValueError(
            f"{self!r} has no value, so it is neither true nor false. Use sym.where for choices that depend on values."
        )

    def __int__(self) -> int:
        raise NoValueError(f"{self!r} has no value that could become a number. Compute it first: eval(...).")

    __float__ = __int__

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ARRAYS:
            raise NoValueError(f"{self!r}.{name}: a symbol has no {name}; only arrays do. {_OF_ARRAYS[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NoValueError(f"{self!r}[{index!r}] = ...: a symbol has no elements. Choose with sym.where.")

    def __getitem__(self, index: int | str | slice) -> Symbol:
        if isinstance(index, str):
            names = self.list_outputs()
            positions = [position for position, name in enumerate(names) if name == index]
            if len(positions) != 1:
                problem = f"{len(positions)} outputs are" if positions else "no output is"
                raise ArgumentValueError(f"{self!r}: {problem} named {index!r}.{nearest(index, names)}")
            index = positions[0]
        else:
            self._require_outputs(f"indexed with {index!r}")
        if isinstance(index, slice):
            return Symbol(self.values[index])
        if not isinstance(index, int):
            raise ArgumentError(f"{self!r}[{index!r}]: expected a number, a slice, or the name of an output.")
        if not -len(self.values) <= index < len(self.values):
            raise IndexError(f"{self!r} has {len(self.values)} output(s); there is no output {index}.")
        return Symbol([self.values[index]])

    def __copy__(self) -> Symbol:
        return type(self)(self.values)

    def __deepcopy__(self, memo: Any = None) -> Symbol:
        return self._rebuilt({})

    # -- lists -----------------------------------------------------------------------------------------------------

    def list_arguments(self) -> list[str]:
        """Return the names of the variables that are no auxiliary states, in the order of the graph."""
        return [node.name for node in variables(self.order)[0]]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the variables that operators change, such as moving statistics."""
        return [node.name for node in variables(self.order)[1]]

    def list_inputs(self) -> list[str]:
        """Return the names of all variables."""
        return [node.name for node in self.order if node.operator is None]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs: `node_output`, or a variable's own name."""
        return [
            value.node.name
            if value.node.operator is None
            else f"{value.node.name}_{value.node.output_names()[value.index]}"
            for value in self.values
        ]

    def get_internals(self) -> Symbol:
        """Return the group of all outputs of all nodes: `internals['fc1_output']` is a sub-symbol."""
        return Symbol([Value(node, index) for node in self.order for index in range(len(node.output_names()))])

    def get_children(self) -> Symbol | None:
        """Return the group of the inputs of its nodes; None for variables."""
        nodes = dict.fromkeys(value.node for value in self.values)
        children = [value for node in nodes for value in node.inputs]
        return Symbol(children) if children else None

    # -- attributes ------------------------------------------------------------------------------------------------

    def attr(self, key: str) -> str | None:
        """Return an attribute of its node as a string, `name` among them; None if there is none."""
        return self.name if key == "name" else self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Return the attributes of its node: those of the operator, and those noted by users.

        Parameters
        ----------
        recursive : bool
            As in MXNet only False is left: `attr_dict()` returns the attributes of all nodes.

        Returns
        -------
        dict of str to str

        Raises
        ------
        ArgumentError
            For a group of several nodes' outputs, or if `recursive`.
        """
        if recursive:
            raise ArgumentError(f"{self!r}.list_attr: recursive=True is not supported any more; use attr_dict().")
        if self.name is None:
            raise ArgumentError(f"{self!r}.list_attr: a group has no attributes; use attr_dict().")
        node = self.values[0].node
        return {**attribute_strings(node), **shown(node.annotations)}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes of all nodes that have some, by their names."""
        by_name = {node.name: {**attribute_strings(node), **shown(node.annotations)} for node in self.order}
        return {name: attributes for name, attributes in by_name.items() if attributes}

    def _set_attr(self, **attributes: str) -> None:
        if self.name is None:
            raise ArgumentError(f"{self!r}: attributes are noted at one node, and this is a group.")
        for key, value in attributes.items():
            if not isinstance(value, str):
                raise ArgumentValueError(f"{self!r}: attribute {key!r} is {describe(value)}; expected a string.")
            self.values[0].node.annotations[hidden_key(key)] = value

    # -- composition -------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Symbol, name: str | None = None, **named: Symbol) -> Symbol:
        """Return a copy of the graph in which variables are replaced by symbols.

        By position in the order of `list_arguments`, or by name.

        Raises
        ------
        ArgumentError
            For unknown names, or what is no symbol of one output.
        """
        inputs = self.list_inputs()
        if arguments and named:
            raise ArgumentValueError(f"{self!r}: symbols are given by position or by name, not both.")
        if len(arguments) > len(inputs):
            raise ArgumentError(f"{self!r} has {len(inputs)} inputs ({', '.join(inputs)}), got {len(arguments)}.")
        by_name = dict(zip(inputs, arguments, strict=False)) if arguments else named
        replaced: dict[str, Value] = {}
        for key, symbol in by_name.items():
            if key not in inputs:
                raise ArgumentError(f"{self!r} has no input {key!r}; it has {', '.join(inputs)}.{nearest(key, inputs)}")
            if not isinstance(symbol, Symbol) or len(symbol.values) != 1:
                got = f"a symbol of {len(symbol.values)} outputs" if isinstance(symbol, Symbol) else describe(symbol)
                raise ArgumentError(f"{self!r}: input {key!r} is {got}; expected a symbol of one output.")
            replaced[key] = symbol.values[0]
        result = self._rebuilt(replaced)
        if name is not None and result.name is not None and result.values[0].node.operator is not None:
            result.values[0].node.name = name
        return result

    def _rebuilt(self, replaced: Mapping[str, Value]) -> Symbol:
        """Return the graph with new nodes; variables of the names in `replaced` are these values."""
        copies: dict[Node, Node] = {}
        stand_ins: dict[Node, Value] = {}

        def copied(value: Value) -> Value:
            return stand_ins[value.node] if value.node in stand_ins else Value(copies[value.node], value.index)

        for node in self.order:
            if node.operator is None and node.name in replaced:
                stand_ins[node] = replaced[node.name]
            else:
                inputs = [copied(value) for value in node.inputs]
                copies[node] = Node(node.operator, inputs, node.attributes, node.name, node.kind, node.annotations)
        return type(self)([copied(value) for value in self.values])

    # -- inference -------------------------------------------------------------------------------------------------

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Infer the shapes of arguments, outputs and auxiliary states from some arguments' shapes.

        Parameters
        ----------
        *args : tuple of int or None
            Shapes in the order of `list_arguments`; None: not known. A length 0 is not known; under `np_shape` a
            length -1, and () is the shape of an array without axes.
        **kwargs : tuple of int
            Shapes by name.

        Returns
        -------
        (list of tuple, list of tuple, list of tuple)
            Each None if not everything can be inferred.

        Raises
        ------
        ShapeError
            For shapes that contradict each other, with the node where they do and where each came from.
        ArgumentError
            For unknown names.
        """
        shapes = self._infer_shape("infer_shape", args, kwargs)
        by_kind = self._by_kind(shapes)
        return by_kind if all(map(complete, by_kind)) else (None, None, None)

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Infer what can be: lengths that stay unknown are 0, shapes that stay unknown ().

        Under `np_shape` these are -1 and None.
        """
        shapes = self._infer_shape("infer_shape_partial", args, kwargs)
        numpy_shapes = is_np_shape()

        def as_mxnet(shape: Any) -> Shape | None:
            if numpy_shapes:
                return shape
            return () if shape is None else tuple(0 if length == UNKNOWN else length for length in shape)

        arguments, outputs, states = self._by_kind(shapes)
        return [*map(as_mxnet, arguments)], [*map(as_mxnet, outputs)], [*map(as_mxnet, states)]

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Infer the NumPy types of arguments, outputs and auxiliary states; each None if not everything is known."""
        by_kind = self.infer_type_partial(*args, **kwargs)
        return (None, None, None) if any(None in types for types in by_kind) else by_kind

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Infer the types that can be; None for those that stay unknown."""
        dtypes = self._infer_type("infer_type", args, kwargs)
        arguments, outputs, states = self._by_kind(dtypes)

        def types(inferred: Sequence[Any]) -> list[Any]:
            return [None if dtype is None else dtype.type for dtype in inferred]

        return types(arguments), types(outputs), types(states)

    def _by_kind(self, inference: Inference) -> tuple[list[Any], list[Any], list[Any]]:
        arguments, states = variables(self.order)
        facts = inference.known
        return (
            [facts.get(Value(node)) for node in arguments],
            [facts.get(value) for value in self.values],
            [facts.get(Value(node)) for node in states],
        )

    def _facts_of(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[Value, Any]:
        """Return what is given for variables, by position or by name."""
        nodes = {node.name: node for node in self.order if node.operator is None}
        if args and kwargs:
            raise ArgumentValueError(f"{method}: give arguments by position or by name, not both.")
        if args:
            names = self.list_arguments()
            if len(args) > len(names):
                raise ArgumentError(f"{method}: {len(args)} given; {self!r} has {len(names)}: {', '.join(names)}.")
            kwargs = dict(zip(names, args, strict=False))
        unknown = [name for name in kwargs if name not in nodes]
        if unknown:
            raise ArgumentError(
                f"{method}: {self!r} has no argument {unknown[0]!r}; it has {', '.join(nodes)}."
                + nearest(unknown[0], nodes)
            )
        return {Value(nodes[name]): fact for name, fact in kwargs.items() if fact is not None}

    def _infer_shape(
        self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], dtypes: Mapping[Value, Any] | None = None
    ) -> Inference:
        shapes: dict[Value, Any] = {}
        for value, shape in self._facts_of(method, args, kwargs).items():
            try:
                shapes[value] = _user_shape(map(int, shape))
            except (TypeError, ValueError):
                raise ArgumentError(
                    f"{method}: the shape of {value!r} is {describe(shape)}; expected a tuple of int, such as (2, 3)."
                ) from None
            if shapes[value] and min(shapes[value]) < UNKNOWN:
                raise ShapeError(f"{method}: the shape of {value!r} is {show_shape(shapes[value])}; lengths are >= 0.")
        facts = {value: shape for value, shape in shapes.items() if shape is not None}
        if dtypes is None:
            dtypes = infer_dtypes(self.order, [(self._declared_dtypes(), "declared by var")]).known
        declared = {value: shape for value, shape in self._declared_shapes().items() if value not in facts}
        return infer_shapes(self.order, [(facts, f"given to {method}"), (declared, "declared by var")], dtypes)

    def _infer_type(
        self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], default: Any = None
    ) -> Inference:
        dtypes = self._facts_of(method, args, kwargs)
        try:
            facts = {value: numpy.dtype(dtype) for value, dtype in dtypes.items()}
        except TypeError as error:
            raise ArgumentError(f"{method}: expected dtypes, such as 'float32' ({error}).") from None
        declared = {value: dtype for value, dtype in self._declared_dtypes().items() if value not in facts}
        return infer_dtypes(self.order, [(facts, f"given to {method}"), (declared, "declared by var")], default)

    def _declared_shapes(self) -> dict[Value, Any]:
        declared = {}
        for node in self.order:
            text = node.annotations.get("__shape__") if node.operator is None else None
            if text is not None and text != "None":
                lengths = [part for part in text.strip("()[] ").replace("L", "").split(",") if part.strip()]
                shape = _user_shape(map(int, lengths))
                if shape is not None:
                    declared[Value(node)] = shape
        return declared

    def _declared_dtypes(self) -> dict[Value, Any]:
        declared = {}
        for node in self.order:
            text = node.annotations.get("__dtype__") if node.operator is None else None
            if text is not None and int(text) in DTYPES:
                declared[Value(node)] = DTYPES[int(text)]
        return declared

    def debug_str(self) -> str:
        """Return the graph as text: one line a node, with inputs and attributes."""
        return graph_text(self.values)

    __hash__ = object.__hash__


def _user_shape(shape: Iterable[int]) -> Shape | None:
    """Return what a shape says that users give: as NumPy's under `np_shape`, else 0 and () are not known."""
    if is_np_shape():
        return tuple(shape)
    return tuple(length or UNKNOWN for length in shape) or None


# What `method` has made: methods that need what is built on symbols, such as executors and files.
METHODS: dict[str, Callable[..., Any]] = {}


def method(function: Function) -> Function:
    """Make a function of a symbol a method of `Symbol`; may be used as a decorator.

    So what a symbol can do may stand beside what it needs for that, above the class that everything there knows.
    """
    name = function.__name__
    function.__qualname__ = f"Symbol.{name}"
    METHODS[name] = function
    setattr(Symbol, name, function)
    return function


def Group(symbols: Sequence[Symbol], create_fn: Any = None) -> Symbol:
    """Return one symbol with the outputs of several.

    Raises
    ------
    ArgumentError
        If the list is empty, or holds something else than symbols.

    Examples
    --------
    >>> from minpy import sym
    >>> sym.Group([sym.var('x'), sym.var('y')]).list_outputs()
    ['x', 'y']
    """
    symbols = list(symbols)
    if not symbols or not all(isinstance(symbol, Symbol) for symbol in symbols):
        raise ArgumentError(f"sym.Group: got {describe(symbols)}; expected a list of symbols.")
    return Symbol([value for symbol in symbols for value in symbol.values])


def attribute_strings(node: Node) -> dict[str, str]:
    """Return the attributes of a node's operator as strings, as files hold them."""
    if node.operator is None:
        return {}
    return {key: attribute_string(value) for key, value in node.shown_attributes().items()}


def attribute_string(value: Any) -> str:
    """Return an attribute's value as files hold it."""
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return numpy.dtype(value).name
    if isinstance(value, numpy.dtype):
        return value.name
    if isinstance(value, (list, tuple)):
        value = tuple(item.item() if isinstance(item, numpy.generic) else item for item in value)
    return str(value)
