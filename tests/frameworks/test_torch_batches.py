"""`torch.vmap` and operators with a batch rule (`op.def_batch`): one call of it for a batch, at any order."""

import numpy as np
import pytest

import minpy

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch")

from minpy.frameworks import to_torch  # noqa: E402


def with_rule(calls, has_rule=True):
    """Return an operator with two inputs and outputs; `calls` gets the shapes that it, or its rule, is called with."""

    @minpy.customop("numpy", outputs=2)
    def turned(x, w, *, scale: float = 1.0):
        calls.append(("each", x.shape, w.shape))
        return scale * np.sum(x * x * w, axis=-1), np.sin(x)

    @turned.def_multiple_grad
    def gradients(ans, x, w, *, scale):
        return lambda g: (
            2 * scale * x * w * g[0][..., None] + np.cos(x) * g[1],
            np.sum((scale * x * x * g[0][..., None]).reshape(-1, w.shape[0]), axis=0),
        )

    turned.def_shape(lambda x, w, *, scale: (x[:-1], x))
    if has_rule:

        @turned.def_batch()
        def turned_batch(batch_size, in_axes, x, w, *, scale):
            calls.append(("batch", batch_size, tuple(in_axes), x.shape, w.shape))
            wide = w.reshape(w.shape[0], *(1,) * (x.ndim - 2), w.shape[1])
            return (scale * np.sum(x * x * wide, axis=-1), np.sin(x)), (0, 0)

    return turned


def both(calls):
    """Return the operator with its rule, and one without, whose calls are not counted."""
    return [to_torch(with_rule(seen, seen is calls), through="numpy", outputs=2) for seen in (calls, [])]


def scalar_of(function):
    return lambda *values: sum(output.sin().sum() for output in function(*values, scale=2.0))


def same(actual, expected):
    for first, second in zip(
        torch.utils._pytree.tree_leaves(actual), torch.utils._pytree.tree_leaves(expected), strict=True
    ):
        torch.testing.assert_close(first, second)


X = torch.linspace(-1, 1, 60, dtype=torch.float64)


@pytest.mark.parametrize(
    ("x", "w", "in_dims"),
    [
        (X.reshape(5, 4, 3), X[:15].reshape(5, 3), (0, 0)),
        (X.reshape(4, 5, 3), X[:3], (1, None)),
        (X.reshape(4, 3, 5), X[:15].reshape(3, 5), (-1, 1)),
        (X[:12].reshape(4, 3), X[:15].reshape(5, 3), (None, 0)),
    ],
    ids=["leading", "middle-none", "last", "none-leading"],
)
def test_a_batch_is_one_call_of_its_rule(x, w, in_dims):
    calls = []
    by_rule, looped = both(calls)
    same(torch.vmap(by_rule, in_dims)(x, w), torch.vmap(looped, in_dims)(x, w))
    assert calls == [("batch", 5, (0, 0), (5, 4, 3), (5, 3))]


def test_gradients_of_a_batch_are_one_call():
    calls = []
    by_rule, looped = both(calls)
    x, w = X.reshape(5, 4, 3), X[:3]
    actual, expected = (
        torch.vmap(torch.func.grad(scalar_of(function), (0, 1)), (0, None))(x, w) for function in (by_rule, looped)
    )
    same(actual, expected)
    assert [call[0] for call in calls] == ["batch", "batch"]  # forward, and once in the rule's derivative
    variable = x.clone().requires_grad_()
    weights = w.clone().requires_grad_()
    calls.clear()
    outer, reference = (
        torch.autograd.grad(
            sum(part.sin().sum() for part in torch.vmap(function, (0, None))(variable, weights)), (variable, weights)
        )
        for function in (by_rule, looped)
    )
    same(outer, reference)
    assert [call[0] for call in calls] == ["batch", "batch"]


def test_second_derivatives_and_jacobians_make_no_loop():
    calls = []
    by_rule, looped = both(calls)
    x, w = X[:12].reshape(4, 3), X[:3] + 2
    for transform in (torch.func.jacrev, torch.func.jacfwd, torch.func.hessian):
        for argument in (0, 1):
            calls.clear()
            same(transform(scalar_of(by_rule), argument)(x, w), transform(scalar_of(looped), argument)(x, w))
            assert len(calls) <= 8, transform
    same(
        torch.vmap(torch.func.hessian(scalar_of(by_rule)), (0, None))(x[:2, None], w),
        torch.vmap(torch.func.hessian(scalar_of(looped)), (0, None))(x[:2, None], w),
    )


def test_nested_batches_are_one_call():
    calls = []
    by_rule, looped = both(calls)
    x, w = X.reshape(5, 2, 2, 3), X[:6].reshape(2, 3)
    actual, expected = (
        torch.vmap(torch.vmap(function, (0, None)), (0, None))(x, w[0]) for function in (by_rule, looped)
    )
    same(actual, expected)
    assert calls == [("batch", 10, (0, 0), (10, 2, 3), (10, 3))]
    actual, expected = (
        torch.vmap(torch.vmap(torch.func.grad(scalar_of(function), (0, 1)), (0, 0)), (1, None))(x.movedim(0, 1), w)
        for function in (by_rule, looped)
    )
    same(actual, expected)


def test_an_empty_batch_has_shapes_and_gradients():
    calls = []
    by_rule, _ = both(calls)
    x = torch.zeros(0, 4, 3, dtype=torch.float64, requires_grad=True)
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    total, waves = torch.vmap(by_rule, (0, None))(x, w)
    assert (total.shape, waves.shape) == ((0, 4), (0, 4, 3))
    (total.sum() + waves.sum()).backward()
    assert x.grad.shape == (0, 4, 3)
    torch.testing.assert_close(w.grad, torch.zeros(3, dtype=torch.float64))
    assert not any(call[0] == "batch" for call in calls)


def test_batched_gradients_of_autograd():
    calls = []
    by_rule, _ = both(calls)
    x = X[:12].reshape(4, 3).clone().requires_grad_()
    w = (X[:3] + 2).clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda *values: by_rule(*values), (x, w), check_batched_grad=True)
    total, _ = by_rule(x, w)
    upstream = torch.eye(4, dtype=torch.float64)
    calls.clear()
    actual = torch.autograd.grad(total, (x, w), upstream, is_grads_batched=True, retain_graph=True)
    assert len(calls) == 1
    for index in range(4):
        expected = torch.autograd.grad(total, (x, w), upstream[index], retain_graph=True)
        same([part[index] for part in actual], expected)


def test_compiled():
    by_rule, looped = both([])
    x, w = X.reshape(5, 4, 3), X[:3]
    torch._dynamo.reset()
    mapped = torch.vmap(torch.func.grad(scalar_of(by_rule), (0, 1)), (0, None))
    expected = torch.vmap(torch.func.grad(scalar_of(looped), (0, 1)), (0, None))(x, w)
    same(torch.compile(mapped, backend="aot_eager", fullgraph=True, dynamic=True)(x, w), expected)


def test_a_wrong_rule_is_said():
    @minpy.customop("numpy")
    def total(x):
        return np.sum(x)

    total.def_batch(lambda batch_size, in_axes, x: x)
    with pytest.raises(minpy.MXNetError, match=r"total: the batch rule returned .*; expected \(outputs, out_axes\)"):
        torch.vmap(to_torch(total, through="numpy"))(torch.ones(2, 3))
