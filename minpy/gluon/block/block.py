"""`Block`: what a network is made of. Blocks hold parameters and other blocks."""

from __future__ import annotations

import os
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from minpy.core.errors import ArgumentError, MXNetError, describe
from minpy.gluon.block import block_files
from minpy.gluon.block.constructing import refusing_unknown
from minpy.gluon.block.scope import _BlockScope
from minpy.gluon.block.summary import print_summary, table_of_blocks
from minpy.gluon.change_counter import CHANGES
from minpy.gluon.hooks import HookHandle
from minpy.gluon.parameter import Parameter, ParameterDict

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Block"]


class Block:
    """The base of all layers and networks.

    A subclass makes its parameters and the blocks inside it in `__init__`, and says in `forward` what it computes.

    Parameters
    ----------
    prefix : str, optional
        What stands in front of the names of its parameters and of those of the blocks inside; by default its class and
        a number.
    params : ParameterDict, optional
        Parameters to share: those of another block, as its `params` returns them.

    Examples
    --------
    >>> import minpy as mx
    >>> class Scaled(mx.gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.dense = mx.gluon.nn.Dense(2, use_bias=False)
    ...     def forward(self, x):
    ...         return 2 * self.dense(x)
    >>> net = Scaled(prefix='net_')
    >>> net.initialize(mx.init.One())
    >>> net(mx.nd.ones((1, 3))).asnumpy().tolist()
    [[6.0, 6.0]]
    >>> list(net.collect_params().keys())
    ['net_dense0_weight']
    """

    # Whether it does nothing but call the blocks inside, one after another.
    _is_sequence: ClassVar[bool] = False
    # What `use_np` of a class that derives from it wraps besides what that defines: what makes arrays, or computes.
    _entered_by_users: ClassVar[tuple[str, ...]] = (
        "__init__", "__call__", "cast", "export", "initialize", "load_dict", "load_parameters", "load_params",
        "optimize_for", "reset_ctx", "summary",
    )  # fmt: skip

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("minpy.") and "__init__" in vars(cls):
            cls.__init__ = refusing_unknown(cls.__init__)  # type: ignore[method-assign]

    @refusing_unknown
    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = _BlockScope(self)
        self._children: OrderedDict[str, Any] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n{_indented(self._children)}\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Block, Parameter)) or isinstance(vars(self).get(name), (Block, Parameter)):
            self._keep(name, value)
        super().__setattr__(name, value)

    def _keep(self, name: str, value: Any) -> None:
        """Register a block or parameter that becomes an attribute, and see that none becomes something else."""
        if "_children" not in vars(self):
            raise MXNetError(
                f"{type(self).__name__}.{name} = ...: call super().__init__() before blocks and parameters are made."
            )
        current = vars(self).get(name)
        for kind in (Block, Parameter):
            if isinstance(current, kind) and not isinstance(value, kind):
                raise ArgumentError(
                    f"{type(self).__name__}.{name} is a {kind.__name__}, {current!r}, and cannot become "
                    f"{describe(value)}. Give it another name."
                )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if self._reg_params.get(name, value) is not value:
                raise ArgumentError(
                    f"{type(self).__name__}.{name} is a parameter already, {current!r}. To share parameters between "
                    "blocks, give `params` when they are made."
                )
            self._reg_params[name] = value
            if not value._owned:
                value._owned = True
                value.name = self._prefix + (value.name or name)
                self._params.update({value.name: value})

    def __delattr__(self, name: str) -> None:
        self._children.pop(name, None)
        self._reg_params.pop(name, None)
        super().__delattr__(name)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()

    def _alias(self) -> str:
        """Return what stands for the class in names."""
        return type(self).__name__.lower()

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def prefix(self) -> str:
        """What stands in front of the names of its parameters."""
        return self._prefix

    @property
    def name(self) -> str:
        """Its name: the prefix without the underscore at the end."""
        return self._name

    def name_scope(self) -> _BlockScope:
        """Return a scope in which blocks that are made are named after this one."""
        return self._scope

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of the blocks inside: `collect_params` has all."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Return its parameters and those of all blocks inside.

        Parameters
        ----------
        select : str, optional
            A regular expression that names have to match, from their beginning: 'conv.*weight|.*bias'.

        Returns
        -------
        ParameterDict
        """
        self._check_container_with_block()
        parameters = ParameterDict(self._params.prefix)
        pattern = re.compile(select) if select else None
        self._collect(parameters, pattern)
        return parameters

    def _collect(self, parameters: ParameterDict, pattern: re.Pattern[str] | None) -> None:
        own_params = {**self._params._params, **{parameter.name: parameter for parameter in self._reg_params.values()}}
        if pattern is not None:
            own_params = {name: parameter for name, parameter in own_params.items() if pattern.match(name)}
        parameters.update(own_params)
        for child in self._children.values():
            child._collect(parameters, pattern)

    def _parameters_inside(self) -> dict[str, Parameter]:
        """Return its parameters and those of all blocks inside, by name."""
        parameters = {**self._params._params, **{parameter.name: parameter for parameter in self._reg_params.values()}}
        for child in self._children.values():
            parameters.update(child._parameters_inside())
        return parameters

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """Return all parameters by where they are: 'features.0.weight'."""
        if prefix:
            prefix += "."
        parameters = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            parameters.update(child._collect_params_with_prefix(prefix + name))
        return parameters

    def _check_container_with_block(self) -> None:
        """Warn of blocks in lists and dicts: their parameters are not found."""
        registered = {id(child) for child in self._children.values()}

        def hidden(value: Any) -> list[Block]:
            if isinstance(value, Block):
                return [value] if id(value) not in registered else []
            if isinstance(value, (list, tuple)):
                return [block for part in value for block in hidden(part)]
            return [block for part in value.values() for block in hidden(part)] if isinstance(value, dict) else []

        for name, value in vars(self).items():
            if isinstance(value, (list, tuple, dict)) and not name.startswith("__") and name not in _INTERNAL:
                unregistered = hidden(value)
                if unregistered:
                    warnings.warn(
                        f"{self.name}.{name} holds blocks that are not registered ({unregistered[0].name}, ...): their "
                        "parameters are not found by collect_params, initialized or saved. Make them children with "
                        "register_child(), or use a Sequential or HybridSequential for them.",
                        stacklevel=4,
                    )

    # -- blocks inside -----------------------------------------------------------------------------------------------

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block one of those inside: its parameters belong to this one's.

        Parameters
        ----------
        block : Block
        name : str, optional
            Its name in files; by default a number.

        Raises
        ------
        ArgumentError
            If it is no block.
        """
        if not isinstance(block, Block):
            raise ArgumentError(
                f"{self.name}.register_child: got {describe(block)}; children of blocks are blocks. For a function, "
                "use gluon.nn.Lambda or gluon.nn.HybridLambda."
            )
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Callable[[Block], Any]) -> Self:
        """Call a function on all blocks inside, and on this one; return this one."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    # -- parameters --------------------------------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = None,
        ctx: Any = None,
        verbose: bool = False,
        force_reinit: bool = False,
        *,
        device: Any = None,
    ) -> None:
        """Give all parameters values, at once or when the block is called first.

        Parameters
        ----------
        init : str or Initializer, optional
            For parameters that have no initializer of their own; Uniform, if left out.
        ctx : Context or list of Context, optional
            Where they lie.
        verbose : bool
            Whether the initializer prints what it does.
        force_reinit : bool
            Whether parameters that have values get new ones.
        device : Context or list of Context, optional
            MXNet 2's name of `ctx`.
        """
        self.collect_params().initialize(init, ctx if device is None else device, verbose, force_reinit)

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of all parameters, of the block and of those inside, as in MXNet 2.

        Parameters
        ----------
        name : str
            Such as 'grad_req', 'lr_mult' or 'wd_mult'.
        value
            What all of them get.

        Examples
        --------
        >>> import minpy as mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.setattr('grad_req', 'null')
        >>> net.weight.grad_req
        'null'
        """
        self.collect_params().setattr(name, value)

    def zero_grad(self) -> None:
        """Set the gradients of all parameters, of the block and of those inside, to zero, as in MXNet 2."""
        self.collect_params().zero_grad()

    def reset_ctx(self, ctx: Any) -> None:
        """Move all parameters, of the block and of those inside, to other contexts, as in MXNet 2.

        Parameters
        ----------
        ctx : Context or list of Context
        """
        self.collect_params().reset_ctx(ctx)

    reset_device = reset_ctx

    def cast(self, dtype: Any) -> None:
        """Convert the parameters of the block, and of those inside, to another dtype."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._params.values():
            parameter.cast(dtype)

    def save_parameters(self, filename: str | os.PathLike[str], deduplicate: bool = False) -> None:
        """Write all parameters to a file, by where they are in the block: 'features.0.weight'.

        Such a file fits every block of the same structure, whatever names its parameters have.

        Parameters
        ----------
        filename : str or PathLike
        deduplicate : bool
            Whether a parameter that is in several places is written once.

        Raises
        ------
        MXNetError
            If a parameter has no values yet; nothing is written then.
        """
        block_files.save_parameters(self, filename, deduplicate)

    def load_parameters(
        self,
        filename: str | os.PathLike[str],
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
        *,
        device: Any = None,
    ) -> None:
        """Read the parameters' values from a file: of `save_parameters`, `export` or `collect_params().save`.

        Parameters
        ----------
        filename : str or PathLike
        ctx : Context or list of Context, optional
            Where those that are not initialized get their values; cpu(0).
        allow_missing : bool
            Whether parameters may be missing in the file; they keep their values.
        ignore_extra : bool
            Whether the file may have more.
        cast_dtype : bool
            Whether values of another dtype are taken.
        dtype_source : {'current', 'saved'}
            Which dtype they have then: the block's, or the file's.
        device : Context or list of Context, optional
            MXNet 2's name of `ctx`.

        Raises
        ------
        MXNetError
            For parameters that are missing, or extra.
        ShapeError, DTypeError
            If one has another shape or dtype. In all cases no parameter is changed.
        """
        ctx = ctx if device is None else device
        block_files.load_parameters(self, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)

    def load_dict(
        self,
        param_dict: Mapping[str, Any],
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take the parameters' values from a dict of arrays, by where they are; see `load_parameters`."""
        block_files.load_arrays(self, param_dict, "dict", ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)

    def save_params(self, filename: str | os.PathLike[str]) -> None:
        """Write all parameters by their names: the form of old; see `save_parameters`."""
        warnings.warn(
            "save_params is deprecated. Use save_parameters, or export for a file that needs no Python class.",
            DeprecationWarning,
            stacklevel=2,
        )
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self,
        filename: str | os.PathLike[str],
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:
        """Read the parameters' values from a file; see `load_parameters`."""
        warnings.warn("load_params is deprecated. Use load_parameters.", DeprecationWarning, stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write parameters, and how the block is built, to `prefix-model.params` and `prefix-model.json`."""
        block_files.save_model(self, prefix)

    def load(self, prefix: str) -> None:
        """Read what `save` wrote, into a block that is built alike."""
        block_files.load_model(self, prefix)

    # -- calls -------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `forward`, and the hooks before and after it."""
        for before in [*self._forward_pre_hooks.values()] if self._forward_pre_hooks else ():
            before(self, args)
        out = self.forward(*args, **kwargs)
        for after in [*self._forward_hooks.values()] if self._forward_hooks else ():
            after(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """Return what the block computes. Subclasses define it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no forward: define `def forward(self, x): ...` in the class."
        )

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize all blocks inside that can be; see `HybridBlock.hybridize`.

        Parameters
        ----------
        active : bool
            Whether to hybridize, or to undo it.
        **kwargs
            What `HybridBlock.hybridize` takes.
        """
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(block, inputs, outputs)` after each `forward`; return what detaches it."""
        CHANGES.note(self)
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(block, inputs)` before each `forward`; return what detaches it."""
        CHANGES.note(self)
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Call a function on what operators compute in the hybridized blocks inside.

        Parameters
        ----------
        callback : callable
            `callback(name of the node and output, operator's name, NDArray)`.
        monitor_all : bool
            Whether it is called on inputs, too.
        """
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def summary(self, *inputs: Any) -> None:
        """Print a table of the blocks inside: shapes of their outputs, and numbers of parameters. A notebook shows it.

        Parameters
        ----------
        *inputs : NDArray
            What the block is called on.

        Raises
        ------
        MXNetError
            If the block is hybridized: then those inside are not called one by one.
        """
        print_summary(self, inputs)

    def _repr_html_(self) -> str | None:
        """Return a table of the blocks inside, which a notebook shows; None if it is too long for that."""
        return table_of_blocks(self)


# Attributes of blocks themselves that hold blocks.
_INTERNAL = frozenset(["_children", "_forward_hooks", "_forward_pre_hooks"])


def _indented(children: Mapping[str, Any]) -> str:
    return "\n".join(f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in children.items())
