"""Every operator of the table on tensors of all layouts: strided, views of variables, empty, in copies and threads.

What the bridge does the same way for all operators (workers of a DataLoader, autocast, dtypes, 0-d tensors) is in
`test_torch_operator.py`, for one or a few.
"""

import pickle
import threading
import warnings

import numpy as np
import pytest
from framework_operators import ROWS

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")

from minpy.frameworks import to_torch  # noqa: E402

both_ways = pytest.mark.parametrize("through", ["numpy", "auto"])
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


# Operators whose function, or gradient rule, is not for empty arrays: the error is theirs.
REFUSING = {"smoothed": IndexError, "mean_over": ZeroDivisionError}


def call(row, through, tensors):
    function = to_torch(row.operator, outputs=row.num_outputs, through=through)
    result = function(*tensors, **row.attributes)
    return result if isinstance(result, tuple) else (result,)


def gradients(outputs, variables):
    total = sum(output.sin().sum() for output in outputs if output.is_floating_point())
    return torch.autograd.grad(total, variables, allow_unused=True)


def strided(array):
    """Return a variable, and a view of it with an array's numbers: every second column of a transposed tensor."""
    tensor = torch.from_numpy(array)
    if not array.ndim:
        base = torch.stack([tensor, tensor])
        return base, lambda base: base[1]
    base = tensor.permute(*reversed(range(tensor.dim()))).contiguous().repeat_interleave(2, 0)
    return base, lambda base: base[::2].permute(*reversed(range(tensor.dim())))


@both_ways
@each_row
def test_views_that_are_not_contiguous(row, through):
    arrays = row.inputs()
    plain = [torch.from_numpy(array).requires_grad_(array.dtype.kind == "f") for array in arrays]
    bases, views = zip(*map(strided, arrays), strict=True)
    bases = [base.requires_grad_(base.is_floating_point()) for base in bases]
    inputs = [view(base) for base, view in zip(bases, views, strict=True)]
    assert any(not tensor.is_contiguous() or tensor.storage_offset() for tensor in inputs)
    outputs, expected = call(row, through, inputs), call(row, through, plain)
    for output, other in zip(outputs, expected, strict=True):
        torch.testing.assert_close(output, other)
        assert output.is_contiguous()
    moving = [position for position, tensor in enumerate(plain) if tensor.requires_grad]
    of_bases = gradients(outputs, [bases[position] for position in moving])
    of_plain = gradients(expected, [plain[position] for position in moving])
    for position, actual, gradient in zip(moving, of_bases, of_plain, strict=True):
        assert (actual is None) == (gradient is None)
        if actual is not None:
            torch.testing.assert_close(views[position](actual), gradient)
            torch.testing.assert_close(actual.sum(), gradient.sum())  # elsewhere it is zero


def empty_as_in_numpy(row, through):
    """Compare outputs for empty inputs with those of the operator, and the gradients' shapes."""
    arrays = row.inputs(length=0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
        result = row.operator(*arrays, **row.attributes)
        expected = result if isinstance(result, tuple) else (result,)
        tensors = [torch.from_numpy(array).requires_grad_(array.dtype.kind == "f") for array in arrays]
        outputs = call(row, through, tensors)
        for output, array in zip(outputs, expected, strict=True):
            assert (tuple(output.shape), output.detach().numpy().dtype) == (array.shape, array.dtype)
        variables = [tensor for tensor in tensors if tensor.requires_grad]
        for gradient, variable in zip(gradients(outputs, variables), variables, strict=True):
            assert gradient is None or gradient.shape == variable.shape


@both_ways
@each_row
def test_empty(row, through):
    if row.name in REFUSING:
        with pytest.raises(REFUSING[row.name], match=row.name):
            empty_as_in_numpy(row, through)
    else:
        empty_as_in_numpy(row, through)


def test_what_does_not_trace_for_empty_tensors_does_for_others():
    row = next(row for row in ROWS if row.name == "mean_over")
    function = to_torch(row.operator, name="mean_of_some")
    with pytest.warns(RuntimeWarning), np.errstate(all="ignore"):
        function(torch.ones(0, 3), **row.attributes)
    assert "gradient of mean_over for x does not trace: ZeroDivisionError" in function.reason
    torch.testing.assert_close(function(torch.ones(2, 3), **row.attributes), torch.ones(1, 1))
    assert function.reason is None


@each_row
def test_pickled(row):
    function = to_torch(row.operator, outputs=row.num_outputs)
    again = pickle.loads(pickle.dumps(function))
    assert again.op is function.op
    assert again.through == function.through


@both_ways
@each_row
def test_threads(row, through):
    plain = [torch.from_numpy(array).requires_grad_(array.dtype.kind == "f") for array in row.inputs()]
    variables = [tensor for tensor in plain if tensor.requires_grad]
    expected = gradients(call(row, through, plain), variables)
    results = []

    def work():
        copies = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in plain]
        moving = [tensor for tensor in copies if tensor.requires_grad]
        results.extend(gradients(call(row, through, copies), moving) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 15
    for result in results:
        for actual, gradient in zip(result, expected, strict=True):
            assert (actual is None) == (gradient is None)
            if actual is not None:
                torch.testing.assert_close(actual, gradient)
