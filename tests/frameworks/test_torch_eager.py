"""Eager calls of operators from PyTorch: whose memory tensors have, who may follow a call, what is differentiated."""

import threading

import numpy as np
import pytest

import minpy

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")

from torch.autograd import gradcheck  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from minpy.core.errors import MutationError  # noqa: E402
from minpy.frameworks import to_torch  # noqa: E402


def of_numpy(function, *rules, **options):
    """Return an operator of PyTorch's of a function and the rules of its inputs."""
    operator = minpy.customop("numpy")(function)
    for argnum, rule in enumerate(rules):
        operator.def_grad(rule, argnum=argnum)
    return to_torch(operator, through="numpy", **options)


def softplus(x):
    return np.logaddexp(0, x)


def softplus_rule(ans, x):
    return lambda g: g / (1 + np.exp(-x))


@pytest.fixture(name="softplus")
def make_softplus():
    return of_numpy(softplus, softplus_rule)


def variable(*shape, dtype=torch.float64):
    return torch.rand(*shape, dtype=dtype).add_(0.5).requires_grad_()


# Calls again and again: the first of a kind takes another way than those after it.
TURNS = 3


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_function_cannot_write_to_tensors(requires_grad):
    def shifted(x):
        x += 1
        return x

    operator = of_numpy(shifted, lambda ans, x: lambda g: g)
    x = torch.rand(3, 4).requires_grad_(requires_grad)
    for view in (x, x.detach().t(), x[1:, ::2]):
        before = x.detach().clone()
        for function in (operator, operator.op):
            with pytest.raises(MutationError, match=r"shifted forward: it changes one of its inputs in place"):
                function(view)
        assert torch.equal(x.detach(), before)


@pytest.mark.parametrize("changed", ["ans", "x", "g"])
def test_a_rule_cannot_write_to_tensors(changed):
    def squared(x):
        return x * x

    def rule(ans, x):
        def pull(g):
            values = {"ans": ans, "x": x, "g": g}
            values[changed] *= 2
            return 2 * x * g + 0 * ans

        return pull

    operator = of_numpy(squared, rule)
    x, upstream = variable(3), torch.rand(3, dtype=torch.float64)
    before = x.detach().clone(), upstream.clone()
    for _ in range(TURNS):
        result = operator(x)
        with pytest.raises(MutationError, match=r"squared .*it changes one of its inputs in place"):
            torch.autograd.grad(result, x, upstream)
        assert torch.equal(x.detach(), before[0])
        assert torch.equal(upstream, before[1])
        assert torch.equal(result.detach(), before[0] ** 2)


def test_tensors_may_be_written_after_calls(softplus):
    x = variable(3)
    plain = x.detach()
    for _ in range(TURNS):
        result = softplus(x)
        [gradient] = torch.autograd.grad(result, x, torch.ones(3, dtype=torch.float64))
        for tensor in (result.detach(), gradient, plain):
            array = tensor.numpy()
            assert array.flags.writeable
            array += 1
    plain.numpy()[:] = 0.0
    assert torch.equal(x.detach(), torch.zeros(3, dtype=torch.float64))


@pytest.mark.parametrize("requires_grad", [True, False])
def test_results_share_memory_with_nothing(requires_grad):
    held = np.arange(6.0).reshape(2, 3)
    seen = []

    def several(x):
        fresh = x + 1
        seen.append(x)
        return x, x.T, held, held[0], fresh, fresh[:1], fresh, np.asfortranarray(fresh)

    operator = of_numpy(several, outputs=8)
    x = torch.rand(2, 3, dtype=torch.float64)
    expected = [np.copy(value) for value in several(x.numpy())]
    for _ in range(TURNS):
        with torch.set_grad_enabled(requires_grad):
            results = [result.detach() for result in operator(x)]
        for result, values in zip(results, expected, strict=True):
            assert result.is_contiguous()
            np.testing.assert_array_equal(result.numpy(), values)
            result.fill_(-1.0)
        np.testing.assert_array_equal(x.numpy(), expected[0])
        np.testing.assert_array_equal(held, np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("name", ["input", "transposed", "kept", "part of kept", "Fortran", "read-only", "number"])
def test_one_result_has_memory_of_its_own(name):
    held = np.arange(6.0).reshape(2, 3)
    untouchable = np.arange(6.0)
    untouchable.setflags(write=False)
    functions = {
        "input": lambda x: x,
        "transposed": lambda x: x.T,
        "kept": lambda x: held,
        "part of kept": lambda x: held[:, 1:],
        "Fortran": lambda x: np.asfortranarray(x + 1),
        "read-only": lambda x: untouchable,
        "number": np.sum,
    }
    function = functions[name]

    def result_of(x):
        return function(x)

    operator = of_numpy(result_of, lambda ans, x: lambda g: np.zeros_like(x))
    x = variable(2, 3)
    before, values = x.detach().clone(), np.copy(function(x.detach().numpy()))
    for _ in range(TURNS):
        result = operator(x)
        assert result.is_contiguous()
        assert result.requires_grad
        np.testing.assert_array_equal(result.detach().numpy(), values)
        result.detach().fill_(-1.0)
        assert torch.equal(x.detach(), before)
        np.testing.assert_array_equal(held, np.arange(6.0).reshape(2, 3))
        np.testing.assert_array_equal(untouchable, np.arange(6.0))


@pytest.mark.parametrize("name", ["upstream", "transposed", "answer", "input", "kept", "float32", "row"])
def test_a_gradient_has_memory_of_its_own(name):
    held = np.arange(9.0).reshape(3, 3)
    pulls = {
        "upstream": lambda ans, x, g: g,
        "transposed": lambda ans, x, g: g.T,
        "answer": lambda ans, x, g: ans,
        "input": lambda ans, x, g: x,
        "kept": lambda ans, x, g: held,
        "float32": lambda ans, x, g: g.astype(np.float32),
        "row": lambda ans, x, g: held[:, ::-1][::2, :].repeat(2, axis=0)[:3],
    }
    pull = pulls[name]

    def doubled(x):
        return 2 * x

    operator = of_numpy(doubled, lambda ans, x: lambda g: pull(ans, x, g))
    x, upstream = variable(3, 3), torch.rand(3, 3, dtype=torch.float64)
    before = x.detach().clone(), upstream.clone()
    expected = np.copy(np.asarray(pull(2 * before[0].numpy(), before[0].numpy(), before[1].numpy()), np.float64))
    for _ in range(TURNS):
        result = operator(x)
        [gradient] = torch.autograd.grad(result, x, upstream)
        assert (gradient.dtype, gradient.is_contiguous()) == (torch.float64, True)
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-6)
        gradient.fill_(-1.0)
        assert torch.equal(x.detach(), before[0])
        assert torch.equal(upstream, before[1])
        assert torch.equal(result.detach(), 2 * before[0])
        np.testing.assert_array_equal(held, np.arange(9.0).reshape(3, 3))


def test_one_array_as_the_gradient_of_two_inputs_becomes_two():
    def total(x, y):
        return x + y

    def rule(ans, x, y):
        return lambda g: shared

    operator = of_numpy(total, rule, rule)
    x, y = variable(3), variable(3)
    for _ in range(TURNS):
        shared = np.ones(3)
        first, second = torch.autograd.grad(operator(x, y).sum(), (x, y))
        first.zero_()
        assert torch.equal(second, torch.ones(3, dtype=torch.float64))
        np.testing.assert_array_equal(shared, np.ones(3))


def test_what_was_saved_and_changed_is_an_error(softplus):
    x = variable(3)
    for _ in range(TURNS):
        y = x * 1
        result = softplus(y)
        y.mul_(2)  # its rule reads the input
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.sum().backward()
        z = softplus(x)
        z.mul_(2).add_(1)  # nobody reads the answer
        [gradient] = torch.autograd.grad(z.sum(), x)
        torch.testing.assert_close(gradient, 2 * torch.sigmoid(x.detach()))


# -- what calls are followed by ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated")  # PyTorch's own forward mode uses it
def test_tensors_that_outlive_a_transform_are_what_they_stand_for(softplus):
    escaped = []

    def function(x):
        escaped.append(x)
        return (x * x).sum()

    x = variable(3)
    torch.func.grad(function)(x)
    torch.func.grad(torch.func.grad(function))(torch.rand((), dtype=torch.float64))
    torch.func.functionalize(function)(x)
    torch.func.jvp(function, (x,), (torch.ones_like(x),))
    for tensor in (escaped[0], escaped[-1]):
        for _ in range(TURNS):
            result = softplus(tensor)
            torch.testing.assert_close(result.detach(), torch.nn.functional.softplus(x.detach()))
            if tensor.requires_grad:
                [gradient] = torch.autograd.grad(result.sum(), x)
                torch.testing.assert_close(gradient, torch.sigmoid(x.detach()))
    for _ in range(TURNS):
        assert softplus(escaped[1]).shape == ()


def test_hooks_see_tensors_and_may_change_them(softplus):
    x = variable(3)
    expected = torch.sigmoid(x.detach())
    for _ in range(TURNS):
        result = softplus(x * 1)
        seen = []
        result.register_hook(lambda g: g * 2)
        result.grad_fn.register_prehook(lambda gradients, seen=seen: seen.append(gradients))
        result.grad_fn.register_hook(lambda inputs, outputs, seen=seen: seen.append(inputs))
        [gradient] = torch.autograd.grad(result.sum(), x)
        torch.testing.assert_close(gradient, 2 * expected)
        assert [type(gradients) for gradients in seen] == [tuple, tuple]
        torch.testing.assert_close(seen[0][0], torch.full((3,), 2.0, dtype=torch.float64))


def test_hooks_of_saved_tensors(softplus):
    x = variable(3)
    for _ in range(TURNS):
        packed = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor, packed=packed: packed.append(tensor) or tensor.detach().numpy() * 2,
            lambda array: torch.from_numpy(array / 2).t(),
        ):
            result = softplus(x * 1)
        [gradient] = torch.autograd.grad(result.sum(), x)
        assert packed
        torch.testing.assert_close(gradient, torch.sigmoid(x.detach()))
    with torch.autograd.graph.save_on_cpu():
        softplus(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.sigmoid(x.detach()))
    recomputed = torch.utils.checkpoint.checkpoint(lambda x: softplus(x * 1).sum(), x, use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(recomputed, x)[0], torch.sigmoid(x.detach()))


def test_modes_see_calls(softplus):
    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            names.append(str(function))
            return function(*args, **(kwargs or {}))

    x = variable(3)
    for _ in range(TURNS):
        names = []
        with Names():
            softplus(x).sum().backward()
        assert any("softplus" in name and "derivative" not in name for name in names)
        assert any("derivative" in name for name in names)
        torch.testing.assert_close(x.grad, torch.sigmoid(x.detach()))
        x.grad = None
    traced = torch.fx.experimental.proxy_tensor.make_fx(softplus)(torch.rand(3))
    assert "softplus" in traced.code


def test_a_mode_of_functions_sees_what_it_saw(softplus):
    x = variable(3)
    with torch.device("cpu"):
        [gradient] = torch.autograd.grad(softplus(x).sum(), x)
    torch.testing.assert_close(gradient, torch.sigmoid(x.detach()))


def test_inference_and_no_gradients(softplus):
    x = variable(3)
    for _ in range(TURNS):
        with torch.no_grad():
            assert not softplus(x).requires_grad
        with torch.inference_mode():
            inside = torch.rand(3)
            assert not softplus(x).requires_grad
            assert not softplus(inside).requires_grad
        torch.testing.assert_close(softplus(inside), torch.nn.functional.softplus(inside))
        assert softplus(x).requires_grad


def test_autocast_within_autocast(softplus):
    x = torch.rand(3, dtype=torch.float16, requires_grad=True)
    assert softplus(x).dtype == torch.float16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert softplus(x).dtype == torch.float32
        with torch.autocast("cpu", enabled=False):
            assert softplus(x).dtype == torch.float16


def test_a_subclass_of_tensors_is_told(softplus):
    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            names.append(getattr(function, "__name__", str(function)))
            return super().__torch_function__(function, types, args, kwargs)

    names = []
    result = softplus(torch.rand(3).as_subclass(Told))
    assert type(result) is Told
    assert any("softplus" in name for name in names)


# -- derivatives -------------------------------------------------------------------------------------------------------


def test_a_complex_result_of_real_inputs():
    def turned(x):
        return np.exp(1j * x)

    operator = of_numpy(turned, lambda ans, x: lambda g: np.real(g * 1j * np.exp(1j * x)))
    x, upstream = variable(3), torch.randn(3, dtype=torch.complex128)
    [expected] = torch.autograd.grad(torch.exp(1j * x), x, upstream)
    for _ in range(TURNS):
        torch.testing.assert_close(torch.autograd.grad(operator(x), x, upstream)[0], expected)
    assert gradcheck(operator, x)


def test_a_real_result_of_complex_inputs():
    def power(x):
        return np.real(x) ** 2 + np.imag(x) ** 2

    operator = of_numpy(power, lambda ans, x: lambda g: 2 * g * np.conj(x))
    x = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    upstream = torch.rand(3, dtype=torch.float64)
    for values in (x, x.conj(), x.conj() * 1j):
        [expected] = torch.autograd.grad(values.real**2 + values.imag**2, x, upstream, retain_graph=True)
        for _ in range(TURNS):
            result = operator(values)
            torch.testing.assert_close(torch.autograd.grad(result, x, upstream, retain_graph=True)[0], expected)
    negative = x.detach().conj().imag  # its bit says so: the memory has the other sign
    assert negative.is_neg()
    torch.testing.assert_close(operator(negative), negative.clone() ** 2)


def test_calls_of_several_kinds_take_turns():
    def scaled(x, y):
        return x * y

    operator = of_numpy(scaled, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    x, y, z = variable(3), variable(3), torch.randn(3, dtype=torch.complex128, requires_grad=True)
    for _ in range(TURNS):
        for left, right in ((x, y), (x, y.detach()), (x.detach(), y), (x, x), (z, z), (z, x), (x, z)):
            inputs = [value for value in (left, right) if value.requires_grad]
            result = operator(left, right)
            upstream = torch.ones_like(result) * (1j if result.is_complex() else 1)
            gradients = torch.autograd.grad(result, inputs, upstream)
            expected = torch.autograd.grad(left * right, inputs, upstream)
            torch.testing.assert_close(gradients, expected)


def test_graphs_are_kept_or_freed_as_asked(softplus):
    x = variable(3)
    slope = torch.sigmoid(x.detach())
    for _ in range(TURNS):
        result = softplus(x).sum()
        for _ in range(2):
            torch.testing.assert_close(torch.autograd.grad(result, x, retain_graph=True)[0], slope)
        [first] = torch.autograd.grad(result, x, create_graph=True)
        [second] = torch.autograd.grad(first.sum(), x)
        torch.testing.assert_close(second, slope * (1 - slope))
        torch.autograd.grad(result, x)
        with pytest.raises(RuntimeError, match="second time"):
            torch.autograd.grad(result, x)


def test_a_batch_of_gradients(softplus):
    x = variable(3)
    for _ in range(TURNS):
        [rows] = torch.autograd.grad(softplus(x), x, torch.eye(3, dtype=torch.float64), is_grads_batched=True)
        torch.testing.assert_close(rows, torch.diag(torch.sigmoid(x.detach())))
        [row] = torch.autograd.grad(softplus(x), x, torch.ones(3, dtype=torch.float64))
        torch.testing.assert_close(row, torch.sigmoid(x.detach()))


def test_upstream_gradients_of_all_layouts(softplus):
    x = variable(3, 3)
    slope = torch.sigmoid(x.detach())
    values = torch.rand(3, 3, dtype=torch.float64)
    for upstream in (values.t(), values[:1].expand(3, 3), values.flip(0), torch.zeros(3, 3).double(), values):
        for _ in range(TURNS):
            [gradient] = torch.autograd.grad(softplus(x), x, upstream)
            torch.testing.assert_close(gradient, upstream * slope)


def test_integers_among_results_have_no_gradient():
    def parted(x):
        return np.floor(x).astype(np.int64), x - np.floor(x), x > 1

    operator = of_numpy(parted, lambda ans, x: lambda g: g[1] * np.ones_like(x), outputs=3)
    x = variable(3)
    for _ in range(TURNS):
        whole, part, mask = operator(x)
        assert [value.requires_grad for value in (whole, part, mask)] == [False, True, False]
        assert (whole.dtype, mask.dtype) == (torch.int64, torch.bool)
        assert torch.equal(torch.autograd.grad(part.sum(), x)[0], torch.ones(3, dtype=torch.float64))


def test_errors_in_rules_say_where():
    def halved(x):
        return x / 2

    operator = of_numpy(halved, lambda ans, x: lambda g: g[99] if is_wrong else g / 2)
    is_wrong = False
    x = variable(3)
    for is_wrong in (True, False, True, False, False):
        result = operator(x)
        if is_wrong:
            with pytest.raises(IndexError, match=r"halved: gradient rule of x failed on .*x float64 \(3,\)"):
                result.sum().backward()
        else:
            torch.testing.assert_close(torch.autograd.grad(result.sum(), x)[0], torch.full_like(x, 0.5))


def test_dtypes_that_pytorch_lacks():
    def dates(x):
        return np.zeros(x.shape, "datetime64[s]")

    def swapped(x):
        return (2 * x).astype(">f8")

    x = variable(3)
    for _ in range(TURNS):
        with pytest.raises(TypeError, match=r"dates returned .*and PyTorch has no such dtype"):
            of_numpy(dates, lambda ans, x: lambda g: g)(x)
    operator = of_numpy(swapped, lambda ans, x: lambda g: (2 * g).astype(">f8"))
    for _ in range(TURNS):
        result = operator(x)
        torch.testing.assert_close(result, 2 * x)
        assert torch.equal(torch.autograd.grad(result.sum(), x)[0], torch.full_like(x.detach(), 2.0))


def test_a_rule_that_is_defined_anew_counts_from_then_on():
    @minpy.customop("numpy")
    def tripled(x):
        return 3 * x

    tripled.def_grad(lambda ans, x: lambda g: 2 * g + 0 * x)
    operator = to_torch(tripled, through="numpy")
    x = variable(3)
    for _ in range(TURNS):
        assert torch.equal(torch.autograd.grad(operator(x).sum(), x)[0], torch.full_like(x.detach(), 2.0))
    with pytest.warns(UserWarning, match="replaces it"):
        tripled.def_grad(lambda ans, x: lambda g: 3 * g + 0 * x)
    for _ in range(TURNS):
        assert torch.equal(torch.autograd.grad(operator(x).sum(), x)[0], torch.full_like(x.detach(), 3.0))


def test_threads_that_differentiate_at_once(softplus):
    errors = []

    def work(seed):
        x = torch.full((50,), float(seed), dtype=torch.float64, requires_grad=True)
        try:
            for _ in range(100):
                [gradient] = torch.autograd.grad(softplus(x).sum(), x)
                torch.testing.assert_close(gradient, torch.sigmoid(x.detach()))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
