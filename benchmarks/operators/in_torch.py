"""The operators in PyTorch."""

from __future__ import annotations

from typing import Any

from operators.table import heads


def calls(torch: Any) -> dict[str, Any]:
    """Return each operator as a function of its inputs."""
    functional = torch.nn.functional

    def batch_norm(x, gamma, beta, states={}):  # noqa: B006 - the running statistics live as long as the process
        mean, var = states.setdefault(len(gamma), (torch.zeros(len(gamma)), torch.ones(len(gamma))))
        return functional.batch_norm(x, mean, var, gamma, beta, training=torch.is_grad_enabled(), eps=1e-5)

    def sequence_mask(x, n):
        kept = torch.arange(x.shape[0])[:, None] < n[None]
        return x * kept[..., None]

    return {
        "zeros": lambda x: torch.zeros(x.shape),
        "ones_like": torch.ones_like,
        "arange": lambda x: torch.arange(x.numel(), dtype=torch.float32),
        "concat": lambda x, y: torch.cat((x, y), 1),
        "stack": lambda x, y: torch.stack((x, y)),
        "split": lambda x: list(torch.chunk(x, 2, 1)),
        "slice_axis": lambda x: x[:, 1:3],
        "reshape": lambda x: x.reshape(-1),
        "expand_dims": lambda x: x.unsqueeze(1),
        "transpose": lambda x: x.t().contiguous(),
        "swapaxes": lambda x: x.transpose(0, 1).contiguous(),
        "tile": lambda x: x.repeat(2, 2),
        "softmax": lambda x: functional.softmax(x, -1),
        "log_softmax": lambda x: functional.log_softmax(x, -1),
        "where": lambda c, x, y: torch.where(c != 0, x, y),
        "broadcast_add": lambda x, y: x + y,
        "broadcast_sub": lambda x, y: x - y,
        "broadcast_mul": lambda x, y: x * y,
        "broadcast_div": lambda x, y: x / y,
        "elemwise_add": lambda x, y: x + y,
        "elemwise_mul": lambda x, y: x * y,
        "maximum": torch.maximum,
        "sum": lambda x: x.sum(),
        "sum_axis": lambda x: x.sum(0),
        "mean": lambda x: x.mean(1),
        "max": lambda x: x.amax(1),
        "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
        "argmax": lambda x: x.argmax(1).float(),
        "topk": lambda x: x.topk(3, 1)[1].float(),
        "sort": lambda x: x.sort(1)[0],
        "clip": lambda x: x.clamp(-0.5, 0.5),
        "abs": torch.abs,
        "exp": torch.exp,
        "log": torch.log,
        "sqrt": torch.sqrt,
        "square": torch.square,
        "power": torch.pow,
        "relu": torch.relu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "erf": torch.erf,
        "LeakyReLU": lambda x: functional.leaky_relu(x, 0.1),
        "gelu": functional.gelu,
        "cast": lambda x: x.half(),
        "dot": torch.matmul,
        "batch_dot": torch.bmm,
        "FullyConnected": functional.linear,
        "Convolution": lambda x, w, b: functional.conv2d(x, w, b, padding=1),
        "max_pooling": lambda x: functional.max_pool2d(x, 2),
        "avg_pooling": lambda x: functional.avg_pool2d(x, 2),
        "BatchNorm": batch_norm,
        "LayerNorm": lambda x, gamma, beta: functional.layer_norm(x, gamma.shape, gamma, beta),
        "Dropout": lambda x: functional.dropout(x, 0.5, training=True),
        "Embedding": lambda i, w: functional.embedding(i, w),
        "take": lambda x, i: x[i],
        "gather_nd": lambda x, i: x[i[0], i[1]],
        "pick": lambda x, i: x.gather(1, i[:, None])[:, 0],
        "one_hot": lambda i: functional.one_hot(i, 256).float(),
        "SequenceMask": sequence_mask,
        "uniform": lambda x: torch.rand(x.shape),
        "normal": lambda x: torch.randn(x.shape),
    }


def build(torch: Any, name: str, arrays: list[Any], differentiable: list[int], backward: bool) -> Any:
    """Return (the function to time, what it computed as a list of arrays)."""
    call = calls(torch)[name]
    indices = {"Embedding", "take", "gather_nd", "pick", "one_hot"}
    inputs = [
        torch.tensor(array).long() if name in indices and position not in differentiable else torch.tensor(array)
        for position, array in enumerate(arrays)
    ]
    if not backward:
        as_list = lambda answer: answer if isinstance(answer, list) else [answer]

        def step():
            with torch.no_grad():
                return call(*inputs)

        return step, as_list
    for position in differentiable:
        inputs[position].requires_grad_()
    answer = call(*inputs)
    several = isinstance(answer, list)
    given = [torch.tensor(heads(one.shape)) for one in (answer if several else [answer])]
    leaves = [inputs[position] for position in differentiable]

    def step():
        for leaf in leaves:
            leaf.grad = None
        answer = call(*inputs)
        if several:
            torch.autograd.backward(answer, given)
        else:
            answer.backward(given[0])
        return answer

    return step, lambda answer: [leaf.grad for leaf in leaves]
