"""Operators as PyTorch's: derivatives, transforms, graphs, and whatever else PyTorch does with operators of its own."""

import copy
import functools
import inspect
import itertools
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from framework_operators import ROWS, ROWS_BY_NAME, differentiable

import minpy

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.library import opcheck  # noqa: E402

from minpy.frameworks import to_torch  # noqa: E402
from minpy.frameworks.derivatives import Derivative  # noqa: E402

# Rows whose compilation, which takes long, is among the tests that always run.
FEW = [ROWS_BY_NAME[name] for name in ("softplus", "scaled", "to_polar", "pick", "smoothed")]
TWICE = [row for row in ROWS if row.order > 1]
both_ways = pytest.mark.parametrize("through", ["numpy", "auto"])


def by_name(row):
    return row.name


def operator_of(row, through="numpy", **options):
    return to_torch(row.operator, outputs=row.num_outputs, through=through, **options)


def tensors(row, requires_grad=True, **options):
    """Return the tensors of a call, those of floating-point numbers as variables."""
    arrays = row.inputs(**options)
    return [torch.from_numpy(array).requires_grad_(requires_grad and array.dtype.kind == "f") for array in arrays]


def in_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def scalar_of(function):
    """Return a function that makes one number of all outputs."""
    return lambda *values: sum(
        output.sin().sum() for output in in_tuple(function(*values)) if output.is_floating_point()
    )


def call_of(row, through="numpy"):
    operator = operator_of(row, through)
    return lambda *values: operator(*values, **row.attributes)


def inexact(row, through="numpy", function=None):
    """Return a function of a row's variables alone, its outputs of numbers, and these variables."""
    function, values = function or call_of(row, through), tensors(row)
    moving = [position for position in differentiable(row.inputs()) if not row.operator.is_zero(position)]

    def called(*variables):
        inputs = [*values]
        for position, variable in zip(moving, variables, strict=True):
            inputs[position] = variable
        return tuple(output for output in in_tuple(function(*inputs)) if output.is_floating_point())

    return called, [values[position] for position in moving]


def test_a_row_runs_as_a_graph_where_it_traces():
    for row in ROWS:
        operator = operator_of(row, "auto")
        operator(*tensors(row), **row.attributes)
        if row.traces:
            assert operator.reason is None, row.name
    smoothed = operator_of(ROWS_BY_NAME["smoothed"], "auto")
    smoothed(torch.rand(4, 3))
    assert "it makes a Python number of an array" in smoothed.reason
    assert "float(np.sum(x[index]))" in smoothed.reason
    assert operator_of(ROWS_BY_NAME["smoothed"]).reason == "through='numpy' was asked for"
    with pytest.raises(minpy.MXNetError, match="it makes a Python number of an array"):
        operator_of(ROWS_BY_NAME["smoothed"], "graph")(torch.rand(4, 3))


# -- eager -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_values_are_those_of_the_operator(row):
    expected = in_tuple(row.operator(*row.inputs(), **row.attributes))
    results = in_tuple(call_of(row)(*tensors(row)))
    registered = operator_of(row).op
    values = tensors(row)
    if row.name == "summed":
        others = in_tuple(registered(values))
    else:
        kind = operator_of(row)._registered.derivative_of((), dict(row.attributes))
        others = in_tuple(operator_of(row)._registered.call_operator(kind, values))
    for tensor, other, array in zip(results, others, expected, strict=True):
        np.testing.assert_array_equal(tensor.detach().numpy(), array)
        np.testing.assert_array_equal(other.detach().numpy(), array)
        assert tensor.is_contiguous()
        assert tensor.requires_grad == tensor.is_floating_point()


@both_ways
@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_gradients_in_reverse_and_forward_mode_and_batched(row, through):
    function, variables = inexact(row, through)
    is_twice = row.order > 1
    assert gradcheck(
        function,
        variables,
        check_forward_ad=is_twice,
        check_batched_grad=True,
        check_batched_forward_grad=is_twice,
        fast_mode=True,
    )
    assert gradcheck(function, variables)


@both_ways
@pytest.mark.parametrize("row", TWICE, ids=by_name)
def test_second_derivatives(row, through):
    function, variables = inexact(row, through)
    assert gradgradcheck(function, variables, check_fwd_over_rev=True, check_batched_grad=True, fast_mode=True)


@both_ways
@pytest.mark.parametrize("row", TWICE, ids=by_name)
def test_third_derivatives(row, through):
    function, variables = inexact(row, through)

    def gradient(*values):
        total = sum(output.sin().sum() for output in function(*values))
        return torch.autograd.grad(total, values, create_graph=True)

    assert gradgradcheck(gradient, variables, fast_mode=True)


@pytest.mark.parametrize("row", TWICE, ids=by_name)
def test_the_registered_operator_is_differentiated_alike(row):
    entry = operator_of(row)._registered
    kind = entry.derivative_of((), dict(row.attributes))
    function, variables = inexact(row, function=lambda *values: entry.call_operator(kind, values))
    assert gradcheck(function, variables, check_forward_ad=True, check_batched_grad=True, fast_mode=True)
    assert gradgradcheck(function, variables, fast_mode=True)


# -- torch.func --------------------------------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("row", TWICE, ids=by_name)
def test_transforms(row, through):
    function, variables = inexact(row, through)
    scalar = scalar_of(function)
    values = [variable.detach() for variable in variables]
    expected = torch.autograd.grad(scalar(*variables), variables)
    positions = tuple(range(len(values)))
    for actual, gradient in zip(torch.func.grad(scalar, positions)(*values), expected, strict=True):
        torch.testing.assert_close(actual, gradient)
    stacked = [torch.stack([value, value * 1.25, value * 0.75]) for value in values]
    rows = [[value[index] for value in stacked] for index in range(3)]
    batched = torch.vmap(function)(*stacked)
    for output, parts in zip(batched, zip(*(function(*entry) for entry in rows), strict=True), strict=True):
        torch.testing.assert_close(output, torch.stack(parts).detach())
    mapped = torch.vmap(torch.func.grad(scalar, positions))(*stacked)
    for index, entry in enumerate(rows):
        for actual, gradient in zip(mapped, torch.func.grad(scalar, positions)(*entry), strict=True):
            torch.testing.assert_close(actual[index], gradient)


@both_ways
@pytest.mark.parametrize("row", TWICE, ids=by_name)
def test_jacobians_and_hessians(row, through):
    function, variables = inexact(row, through)
    scalar = scalar_of(function)
    values = [variable.detach() for variable in variables]
    reverse = torch.func.jacrev(function)(*values)
    forward = torch.func.jacfwd(function)(*values)
    for first, second in zip(reverse, forward, strict=True):
        torch.testing.assert_close(first, second)
    expected = torch.autograd.functional.hessian(lambda x: scalar(x, *values[1:]), values[0])
    torch.testing.assert_close(torch.func.hessian(scalar)(*values), expected)


def test_vmap_maps_other_axes_and_none_of_an_input():
    row = ROWS_BY_NAME["scaled"]
    function = call_of(row)
    x, w = torch.rand(4, 5, 3), torch.rand(3)
    actual = torch.vmap(function, in_dims=(1, None), out_dims=1)(x, w)
    torch.testing.assert_close(actual, torch.stack([function(x[:, index], w) for index in range(5)], 1))
    assert torch.vmap(function, in_dims=(0, None))(torch.rand(0, 4, 3), w).shape == (0, 4, 3)


@pytest.mark.parametrize("name", ["softplus", "scaled", "distance", "affine"])
def test_elementwise_operators_are_mapped_at_once(name):
    row = ROWS_BY_NAME[name]
    calls = []

    def counted(*arrays, **attributes):
        calls.append(arrays)
        return row.operator.definition(*arrays, **attributes)

    counted.__signature__ = inspect.signature(row.operator.definition)
    operator = minpy.customop("numpy")(functools.wraps(row.operator.definition)(counted))
    for index, rule in enumerate(row.operator.rules):
        operator.def_grad(rule, argnum=index)
    at_once = to_torch(operator, through="numpy", batch="elementwise")
    one_by_one = operator_of(row)
    values = tensors(row, requires_grad=False)
    stacked = [
        torch.stack([value, value * 2, value + 1], -1) if index == 0 else value for index, value in enumerate(values)
    ]
    in_dims = (-1, *[None] * (len(values) - 1))
    positions = tuple(range(len(values)))
    for change in (
        lambda function: lambda *given: function(*given, **row.attributes),
        lambda function: torch.func.grad(lambda *given: function(*given, **row.attributes).sin().sum(), positions),
        lambda function: torch.func.hessian(lambda *given: function(*given, **row.attributes).sin().sum()),
    ):
        expected = torch.vmap(change(one_by_one), in_dims)(*stacked)
        torch.testing.assert_close(torch.vmap(change(at_once), in_dims)(*stacked), expected)
    calls.clear()
    torch.vmap(at_once, in_dims)(*stacked)
    assert len(calls) == 1


# -- the dispatcher ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_opcheck_of_the_operator(row):
    operator, values = operator_of(row), tensors(row)
    forms = {form.name: form.to_torch for form in operator._registered.schema.attributes}
    attributes = {name: forms[name](value) for name, value in row.attributes.items()}
    tests = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    arguments = (values,) if row.name == "summed" else tuple(values)
    assert set(opcheck(operator.op, arguments, attributes, test_utils=tests).values()) == {"SUCCESS"}


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_opcheck_of_its_derivative(row):
    operator, values = operator_of(row), tensors(row)
    outputs = in_tuple(operator(*values, **row.attributes))
    pull = Derivative(row.operator, row.attributes, row.num_outputs).pull(differentiable(row.inputs()))
    given = [*(torch.ones_like(output).requires_grad_(output.is_floating_point()) for output in outputs)]
    given += [*(output.detach() for output in outputs), *values]
    if row.order == 1:
        given = [value.detach() for value in given]
    assert set(opcheck(operator.derivative, (given, pull.spec)).values()) == {"SUCCESS"}


# -- graphs ------------------------------------------------------------------------------------------------------------


def compiled_as_eager(row, through, **options):
    """Compare values and gradients of a compiled function with those of the function."""
    torch._dynamo.reset()
    function, variables = inexact(row, through)
    scalar = scalar_of(function)
    compiled = torch.compile(scalar, fullgraph=True, **options)
    again = [variable.detach().clone().requires_grad_() for variable in variables]
    result = compiled(*again)
    result.backward()
    expected = scalar(*variables)
    torch.testing.assert_close(result, expected)
    for variable, gradient in zip(again, torch.autograd.grad(expected, variables), strict=True):
        torch.testing.assert_close(variable.grad, gradient)


@both_ways
@pytest.mark.parametrize("row", FEW, ids=by_name)
def test_compiled(row, through):
    compiled_as_eager(row, through, backend="aot_eager")


@pytest.mark.drawn_out
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")  # by PyTorch itself
@pytest.mark.parametrize("dynamic", [False, True])
@both_ways
@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_compiled_by_inductor(row, through, dynamic):
    compiled_as_eager(row, through, dynamic=dynamic)


def in_many(part, through, dynamic):
    """Return the case of a third of the rows; all rows as graphs, and a third of the calls, run without being asked."""
    is_quick = (through, dynamic) == ("auto", True) or (part, through, dynamic) == (1, "numpy", False)
    return pytest.param(part, through, dynamic, marks=pytest.mark.with_frameworks if is_quick else ())


@pytest.mark.drawn_out
@pytest.mark.parametrize(
    ("part", "through", "dynamic"),
    [in_many(*case) for case in itertools.product(range(3), ("numpy", "auto"), (False, True))],
)
def test_many_compiled_together_by_inductor(part, through, dynamic):
    """All rows in a few graphs: most of the time that a graph takes, the compiler of C++ takes once for each."""
    torch._dynamo.reset()
    calls = [inexact(row, through) for row in ROWS[part::3]]

    def total(*values):
        result, remaining = 0.0, list(values)
        for function, variables in calls:
            inputs, remaining = remaining[: len(variables)], remaining[len(variables) :]
            for output in function(*inputs):
                result = result + output.sin().sum()
        return result

    variables = [variable for _, row_variables in calls for variable in row_variables]
    copies = [variable.detach().clone().requires_grad_() for variable in variables]
    result = torch.compile(total, fullgraph=True, dynamic=dynamic)(*copies)
    result.backward()
    expected = total(*variables)
    torch.testing.assert_close(result, expected)
    for variable, gradient in zip(copies, torch.autograd.grad(expected, variables), strict=True):
        torch.testing.assert_close(variable.grad, gradient)


@both_ways
@pytest.mark.parametrize("row", FEW, ids=by_name)
def test_one_graph_serves_four_shapes(row, through):
    assert graphs_for_four_shapes(row, through) == 1


@pytest.mark.drawn_out
@both_ways
@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_one_graph_serves_four_shapes_of_each(row, through):
    assert graphs_for_four_shapes(row, through) == 1


def test_the_shape_of_a_bounded_slice_is_not_that_of_its_array():
    @minpy.customop("numpy")
    def head(x):
        return x[:100] * 2.0

    call = to_torch(head, through="numpy")
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: call(x) + call(x).shape[0], backend="aot_eager", fullgraph=True, dynamic=True)
    for length in (5, 50, 99, 100, 101, 300, 2):
        x = torch.rand(length, 3)
        torch.testing.assert_close(compiled(x), x[:100] * 2.0 + min(length, 100))


def graphs_for_four_shapes(row, through):
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()
    counter, first = CompileCounterWithBackend("aot_eager"), 0
    compiled = torch.compile(scalar_of(call_of(row, through)), backend=counter, fullgraph=True, dynamic=True)
    for length in (5, 6, 7, 11):
        values = tensors(row, length=length)
        compiled(*values).backward()
        first = first or counter.frame_count  # a float in a closure has PyTorch begin the first one again
        expected = tensors(row, length=length)
        scalar_of(call_of(row))(*expected).backward()
        for value, other in zip(values, expected, strict=True):
            if value.requires_grad and value.grad is not None:
                torch.testing.assert_close(value.grad, other.grad)
    return counter.frame_count - first + 1


class Net(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *values):
        return tuple(output * 2 for output in in_tuple(self.function(*values)))


@both_ways
@pytest.mark.parametrize("row", FEW, ids=by_name)
def test_exported_with_a_dynamic_length(row, through):
    exported_with_a_dynamic_length(row, through)


@pytest.mark.drawn_out
@both_ways
@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_each_exported_with_a_dynamic_length(row, through):
    exported_with_a_dynamic_length(row, through)


def exported_with_a_dynamic_length(row, through):
    length = torch.export.Dim("length", min=2, max=1000)
    values = tensors(row, requires_grad=False)
    shapes = tuple({axis: length for axis, size in enumerate(value.shape) if size == 4} for value in values)
    program = torch.export.export(Net(call_of(row, through)), tuple(values), dynamic_shapes=(shapes,))
    others = tensors(row, requires_grad=False, length=9)
    for actual, expected in zip(program.module()(*others), Net(call_of(row))(*others), strict=True):
        torch.testing.assert_close(actual, expected)


@both_ways
@pytest.mark.parametrize("name", ["softplus", "to_polar"])
def test_transforms_are_compiled(name, through):
    row = ROWS_BY_NAME[name]
    torch._dynamo.reset()
    function, variables = inexact(row, through)
    mapped = torch.vmap(torch.func.grad(scalar_of(function)))
    stacked = [torch.stack([variable.detach()] * 3) for variable in variables]
    torch.testing.assert_close(torch.compile(mapped, backend="aot_eager", fullgraph=True)(*stacked), mapped(*stacked))


# -- tensors of all kinds ----------------------------------------------------------------------------------------------


@pytest.fixture(name="softplus", scope="module")
def make_softplus():
    return operator_of(ROWS_BY_NAME["softplus"])


def test_views_of_variables(softplus):
    x = torch.rand(4, 6, dtype=torch.float64, requires_grad=True)
    softplus((x * 1)[1:, ::2]).sum().backward()
    expected = torch.zeros(4, 6, dtype=torch.float64)
    expected[1:, ::2] = torch.sigmoid(x.detach())[1:, ::2]
    torch.testing.assert_close(x.grad, expected)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x.flip(0),
        lambda x: x[:, :1].expand(4, 5),
        lambda x: x[0, 0],
        lambda x: x[:0],
        lambda x: x.narrow(0, 1, 2),
        lambda x: torch.nn.Parameter(x),
        lambda x: x.float(),
        lambda x: x.half(),
    ],
    ids=["transposed", "flipped", "expanded", "0-d", "empty", "narrowed", "parameter", "float32", "float16"],
)
def test_tensors_of_all_layouts_and_dtypes(softplus, view):
    x = view(torch.rand(4, 6, dtype=torch.float64)).detach().requires_grad_()
    result = softplus(x)
    expected = torch.nn.functional.softplus(x)
    tolerance = {"rtol": 1e-2, "atol": 1e-2} if x.dtype == torch.float16 else {}
    torch.testing.assert_close(result, expected, **tolerance)
    assert result.is_contiguous()
    [gradient] = torch.autograd.grad(result.sum(), x)
    assert (gradient.shape, gradient.dtype) == (x.shape, x.dtype)
    torch.testing.assert_close(gradient, torch.sigmoid(x.detach()), **tolerance)


def test_integers_become_floating_point(softplus):
    assert softplus(torch.arange(3)).dtype == torch.float64


def test_complex_gradients_follow_pytorchs_convention():
    from minpy import customop

    @customop("numpy")
    def squared(x):
        return x * x

    squared.def_grad(lambda ans, x: lambda g: 2 * x * g)
    x = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    function = to_torch(squared, through="numpy")
    assert gradcheck(function, x)
    assert gradgradcheck(function, x)
    torch.testing.assert_close(function(x.conj()), x.conj() ** 2)
    torch.testing.assert_close(
        torch.autograd.grad(function(x).abs().sum(), x)[0], torch.autograd.grad((x * x).abs().sum(), x)[0]
    )


def test_autocast_computes_in_float32(softplus):
    layer = torch.nn.Linear(3, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = layer(torch.rand(4, 3))
        assert hidden.dtype == torch.bfloat16
        assert softplus(hidden).dtype == torch.float32
        assert softplus.op(hidden).dtype == torch.float32
        softplus(hidden).sum().backward()
    assert layer.weight.grad.shape == (2, 3)
    assert softplus(torch.rand(2).double()).dtype == torch.float64


def test_bfloat16_is_refused(softplus):
    for function in (softplus, softplus.op):
        with pytest.raises(TypeError, match=r"softplus: x is a torch\.bfloat16 tensor, .* x\.float\(\)"):
            function(torch.ones(2, dtype=torch.bfloat16))


def test_meta_tensors_have_shapes_only(softplus):
    result = softplus(torch.empty(3, 2, device="meta"))
    assert (result.device.type, result.shape, result.dtype) == ("meta", (3, 2), torch.float32)
    with pytest.raises(TypeError, match=r"softplus: x is a torch\.bfloat16 tensor"):
        softplus(torch.empty(3, device="meta", dtype=torch.bfloat16))


def test_sparse_tensors_are_refused(softplus):
    with pytest.raises(TypeError, match=r"softplus: x is a tensor of layout torch\.sparse_coo; .* x\.to_dense\(\)"):
        softplus(torch.eye(2).to_sparse())


def test_what_is_no_tensor_is_refused(softplus):
    with pytest.raises(TypeError, match=r"softplus: x is .*; expected a torch\.Tensor\. .*torch\.from_numpy\(x\)"):
        softplus(np.ones(2))


def test_numbers_take_the_dtype_of_tensors():
    scaled = operator_of(ROWS_BY_NAME["scaled"])
    assert scaled(torch.rand(3), 2.0).dtype == torch.float32


def test_memory_is_of_its_own():
    same = operator_of(ROWS_BY_NAME["same"])
    x = torch.rand(3, requires_grad=True)
    result = same(x)
    assert result.data_ptr() != x.data_ptr()
    upstream = torch.rand(3)
    [gradient] = torch.autograd.grad(result, x, upstream)
    assert gradient.data_ptr() != upstream.data_ptr()


def test_a_gradient_that_a_rule_keeps_is_not_given_away():
    from minpy import customop

    kept = np.ones(3)

    @customop("numpy")
    def total(x):
        return np.sum(x)

    total.def_grad(lambda ans, x: lambda g: kept)
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    to_torch(total, through="numpy")(x).backward()
    x.grad.zero_()
    np.testing.assert_array_equal(kept, np.ones(3))


def test_values_that_no_rule_reads_may_be_changed():
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    sigmoid, softplus = operator_of(ROWS_BY_NAME["sigmoid"]), operator_of(ROWS_BY_NAME["softplus"])
    y = x * 1
    result = sigmoid(y)
    y.mul_(2)  # its rule reads the answer
    result.sum().backward()
    expected = torch.sigmoid(x.detach())
    torch.testing.assert_close(x.grad, expected * (1 - expected))
    result = softplus(x)
    result.mul_(2)  # its rule reads the input
    result.sum().backward()
    result = sigmoid(x)
    result.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


# -- processes, threads, copies ----------------------------------------------------------------------------------------


class Doubled(torch.utils.data.Dataset):
    """A data set that calls an operator."""

    def __init__(self):
        self.function = operator_of(ROWS_BY_NAME["softplus"])

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.function(torch.full((3,), float(index)), beta=2.0)


@pytest.mark.filterwarnings("ignore:os.fork\\(\\) was called:RuntimeWarning")  # of JAX, if tests before have used it
@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.drawn_out)])
def test_workers_of_a_data_loader(context):
    expected = torch.stack([Doubled()[index] for index in range(4)])
    loader = torch.utils.data.DataLoader(Doubled(), batch_size=2, num_workers=2, multiprocessing_context=context)
    torch.testing.assert_close(torch.cat([*loader]), expected)


def test_pickled_and_copied(softplus):
    again = pickle.loads(pickle.dumps(softplus))
    assert again.op is softplus.op
    assert copy.deepcopy(softplus) is softplus
    x = torch.rand(3)
    torch.testing.assert_close(again(x, beta=3.0), softplus(x, beta=3.0))


def test_threads(softplus):
    x = torch.rand(5, dtype=torch.float64)
    results, failures = [], []

    def work(beta):
        try:
            for _ in range(50):
                variable = x.clone().requires_grad_()
                softplus(variable, beta=beta).sum().backward()
                results.append((beta, variable.grad))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(beta,)) for beta in (1.0, 2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(results) == 150
    for beta, gradient in results:
        torch.testing.assert_close(gradient, torch.sigmoid(beta * x))


# -- what is said, and names -------------------------------------------------------------------------------------------


def test_a_number_as_default_of_an_input_is_refused():
    @minpy.customop("numpy")
    def scale(x, beta=1.0):
        return x * beta

    with pytest.raises(
        TypeError, match=r"scale: beta=1\.0 is an input with a default, .* def scale\(\.\.\., \*, beta: float"
    ):
        to_torch(scale)


def test_inputs_that_may_be_left_out():
    @minpy.customop("numpy")
    def shifted(x, shift=None):
        return x * x if shift is None else x * x + shift

    shifted.def_grad(lambda ans, x, shift: lambda g: 2 * x * g)
    shifted.def_grad(lambda ans, x, shift: lambda g: g, argnum=1)
    function = to_torch(shifted, through="numpy")
    x, shift = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    function(x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    function(x, shift).sum().backward()
    torch.testing.assert_close(shift.grad, torch.ones(3))
    torch.testing.assert_close(function.op(x), x * x)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"through": "both"}, r"through='both'; expected 'auto', 'graph' or 'numpy'"),
        ({"batch": "some"}, r"batch='some'; expected 'loop' or 'elementwise'"),
        ({"name": "a b"}, r"is no name for an operator of PyTorch's"),
        ({"outputs": 0}, r"outputs is int 0; expected how many arrays"),
    ],
    ids=["through", "batch", "name", "outputs"],
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises(TypeError, match=text):
        to_torch(ROWS_BY_NAME["softplus"].operator, **options)


def test_what_is_no_operator_is_refused():
    with pytest.raises(TypeError, match=r"to_torch takes an operator of minpy's, .*@minpy\.customop\('numpy'\)"):
        to_torch(np.sin)
    with pytest.raises(TypeError, match=r"BatchNorm changes its states .* in place"):
        to_torch(minpy.nd.BatchNorm)
    with pytest.raises(TypeError, match=r"Dropout has outputs that callers do not see"):
        to_torch(minpy.nd.Dropout)


def test_a_missing_rule_is_said():
    @minpy.customop("numpy")
    def half(x):
        return x / 2

    x = torch.rand(3, requires_grad=True)
    for through in ("numpy", "auto"):
        with pytest.raises(minpy.MXNetError, match=r"half has no gradient for argument 0 \(x\); .*half\.def_grad"):
            to_torch(half, through=through)(x).sum().backward()


def test_errors_in_functions_say_where():
    @minpy.customop("numpy")
    def bad(x):
        return x[:, 99]

    with pytest.raises(IndexError, match=r"bad: forward failed on NumPy arrays .*x float32 \(3, 4\)"):
        to_torch(bad, through="numpy")(torch.rand(3, 4))


def test_a_shape_that_hangs_on_values():
    @minpy.customop("numpy")
    def above(x):
        return x[x > 0.5]

    above.def_grad_zero()
    function = to_torch(above, through="numpy")
    x = torch.tensor([0.25, 0.75, 1.0])
    assert function(x).shape == (2,)
    with pytest.raises(Exception, match=r"above: the shape of what it returns is not known .*above\.def_shape\(rule\)"):
        torch.compile(function, backend="aot_eager", fullgraph=True)(x)

    @minpy.customop("numpy")
    def above_half(x):
        return x[x > 0.5]

    above_half.def_grad_zero()
    above_half.def_shape(lambda x: (-1,))
    function = to_torch(above_half, through="numpy")
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(lambda x: function(x) * 2, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), torch.tensor([1.5, 2.0]))


def test_the_name_tells_rules_apart():
    def made(factor):
        @minpy.customop("numpy")
        def doubled(x):
            return 2 * x

        return doubled.def_grad(lambda ans, x: lambda g: factor * g)

    first, second, again = to_torch(made(2.0)), to_torch(made(3.0)), to_torch(made(2.0))
    assert first.op is again.op
    assert first.op is not second.op
    assert to_torch(made(2.0), name="other", namespace="mine").op.name().startswith("mine::other_")


def test_a_rule_edited_later_renames_it():
    factors = np.array([2.0])

    @minpy.customop("numpy")
    def doubled(x):
        return 2 * x

    doubled.def_grad(lambda ans, x: lambda g: factors * g)

    def gradient(through):
        x = torch.ones(3, dtype=torch.float64, requires_grad=True)
        torch._dynamo.reset()
        torch.compile(functions[through], backend="aot_eager", fullgraph=True)(x).sum().backward()
        return x.grad[0].item()

    functions = {through: to_torch(doubled, through=through) for through in ("numpy", "auto", "graph")}
    first = functions["numpy"].op
    assert {through: gradient(through) for through in functions} == {"numpy": 2.0, "auto": 2.0, "graph": 2.0}
    factors[0] = 3.0
    assert functions["numpy"].op is not first
    assert {through: gradient(through) for through in functions} == {"numpy": 3.0, "auto": 3.0, "graph": 3.0}
    second = functions["numpy"].op
    with pytest.warns(UserWarning, match="doubled"):
        doubled.def_grad(lambda ans, x: lambda g: 5 * g)
    assert functions["numpy"].op not in (first, second)
    assert {through: gradient(through) for through in functions} == {"numpy": 5.0, "auto": 5.0, "graph": 5.0}


_PROGRAM = """
import sys
import numpy
import torch
import minpy
from minpy.frameworks import to_torch

through, factor, later = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
factors = numpy.array([factor, 1.0])

@minpy.customop('numpy')
def doubled(x):
    return 2 * x

doubled.def_grad(lambda ans, x: lambda g: factor * factors[1] * g)
function = to_torch(doubled, through=through)
if later != factor:
    doubled.def_grad(lambda ans, x: lambda g: later * factors[1] * g)
factors[1] = 7.0
x = torch.ones(3, requires_grad=True)
torch.compile(lambda x: function(x), fullgraph=True)(x).backward(torch.ones(3))
print(x.grad.tolist())
"""


@pytest.mark.drawn_out
@pytest.mark.parametrize("through", ["numpy", "auto"])
def test_a_rule_that_was_edited_is_not_taken_from_files(tmp_path, through):
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    results = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _PROGRAM, through, *factors],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for factors in (("2", "2"), ("3", "3"), ("2", "5"))
    ]
    assert results == ["[14.0, 14.0, 14.0]", "[21.0, 21.0, 21.0]", "[35.0, 35.0, 35.0]"]


def test_a_lambda_has_a_name_of_its_own():
    tripled = to_torch(minpy.customop("numpy")(lambda x: 3 * x))
    assert tripled.op.name().startswith("minpy::lambda_operator_")
    assert torch.equal(tripled(torch.ones(2)), torch.full((2,), 3.0))
