"""The operators in MXNet's interface, for minpy and MXNet: `calls(mx)` returns the functions of NDArrays, by name."""

from __future__ import annotations

from typing import Any

from operators.table import heads


def calls(mx: Any) -> dict[str, Any]:
    """Return each operator as a function of its inputs."""
    nd = mx.nd

    def batch_norm(x, gamma, beta, states={}):  # noqa: B006 - the running statistics live as long as the process
        mean, var = states.setdefault(len(gamma), (nd.zeros(len(gamma)), nd.ones(len(gamma))))
        return nd.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False, eps=1e-5)

    return {
        "zeros": lambda x: nd.zeros(x.shape),
        "ones_like": lambda x: nd.ones_like(x),
        "arange": lambda x: nd.arange(x.size),
        "concat": lambda x, y: nd.concat(x, y, dim=1),
        "stack": lambda x, y: nd.stack(x, y, axis=0),
        "split": lambda x: nd.split(x, num_outputs=2, axis=1),
        "slice_axis": lambda x: nd.slice_axis(x, axis=1, begin=1, end=3),
        "reshape": lambda x: nd.reshape(x, shape=(-1,)),
        "expand_dims": lambda x: nd.expand_dims(x, axis=1),
        "transpose": lambda x: nd.transpose(x),
        "swapaxes": lambda x: nd.swapaxes(x, 0, 1),
        "tile": lambda x: nd.tile(x, reps=(2, 2)),
        "softmax": lambda x: nd.softmax(x),
        "log_softmax": lambda x: nd.log_softmax(x),
        "where": lambda c, x, y: nd.where(c, x, y),
        "broadcast_add": lambda x, y: nd.broadcast_add(x, y),
        "broadcast_sub": lambda x, y: nd.broadcast_sub(x, y),
        "broadcast_mul": lambda x, y: nd.broadcast_mul(x, y),
        "broadcast_div": lambda x, y: nd.broadcast_div(x, y),
        "elemwise_add": lambda x, y: x + y,
        "elemwise_mul": lambda x, y: x * y,
        "maximum": lambda x, y: nd.maximum(x, y),
        "sum": lambda x: nd.sum(x),
        "sum_axis": lambda x: nd.sum(x, axis=0),
        "mean": lambda x: nd.mean(x, axis=1),
        "max": lambda x: nd.max(x, axis=1),
        "norm": lambda x: nd.norm(x, axis=1),
        "argmax": lambda x: nd.argmax(x, axis=1),
        "topk": lambda x: nd.topk(x, k=3, axis=1),
        "sort": lambda x: nd.sort(x, axis=1),
        "clip": lambda x: nd.clip(x, -0.5, 0.5),
        "abs": lambda x: nd.abs(x),
        "exp": lambda x: nd.exp(x),
        "log": lambda x: nd.log(x),
        "sqrt": lambda x: nd.sqrt(x),
        "square": lambda x: nd.square(x),
        "power": lambda x, y: nd.power(x, y),
        "relu": lambda x: nd.relu(x),
        "sigmoid": lambda x: nd.sigmoid(x),
        "tanh": lambda x: nd.tanh(x),
        "erf": lambda x: nd.erf(x),
        "LeakyReLU": lambda x: nd.LeakyReLU(x, act_type="leaky", slope=0.1),
        "gelu": lambda x: nd.LeakyReLU(x, act_type="gelu"),
        "cast": lambda x: nd.cast(x, dtype="float16"),
        "dot": lambda x, y: nd.dot(x, y),
        "batch_dot": lambda x, y: nd.batch_dot(x, y),
        "FullyConnected": lambda x, w, b: nd.FullyConnected(x, w, b, num_hidden=w.shape[0]),
        "Convolution": lambda x, w, b: nd.Convolution(x, w, b, kernel=(3, 3), pad=(1, 1), num_filter=w.shape[0]),
        "max_pooling": lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max"),
        "avg_pooling": lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg"),
        "BatchNorm": batch_norm,
        "LayerNorm": lambda x, gamma, beta: nd.LayerNorm(x, gamma, beta),
        "Dropout": lambda x: nd.Dropout(x, p=0.5, mode="always"),
        "Embedding": lambda i, w: nd.Embedding(i, w, input_dim=w.shape[0], output_dim=w.shape[1]),
        "take": lambda x, i: nd.take(x, i),
        "gather_nd": lambda x, i: nd.gather_nd(x, i),
        "pick": lambda x, i: nd.pick(x, i),
        "one_hot": lambda i: nd.one_hot(i, 256),
        "SequenceMask": lambda x, n: nd.SequenceMask(x, n, use_sequence_length=True),
        "uniform": lambda x: nd.random.uniform(shape=x.shape),
        "normal": lambda x: nd.random.normal(shape=x.shape),
    }


def build(mx: Any, name: str, arrays: list[Any], differentiable: list[int], backward: bool) -> Any:
    """Return (the function to time, what it computed as a list of arrays)."""
    call = calls(mx)[name]
    inputs = [mx.nd.array(array) for array in arrays]
    if mx.__name__ == "mxnet":

        def wait(answer):
            for one in answer if isinstance(answer, list) else [answer]:
                one.wait_to_read()
            return answer
    else:

        def wait(answer):
            return answer

    if not backward:
        step = lambda: wait(call(*inputs))
        return step, lambda answer: answer if isinstance(answer, list) else [answer]
    for position in differentiable:
        inputs[position].attach_grad()
    autograd = mx.autograd
    with autograd.record():
        answer = call(*inputs)
    several = isinstance(answer, list)
    given = [mx.nd.array(heads(one.shape)) for one in (answer if several else [answer])]

    def step():
        with autograd.record():
            answer = call(*inputs)
        if several:
            autograd.backward(answer, given)
        else:
            answer.backward(given[0])
        for position in differentiable:
            wait(inputs[position].grad)
        return answer

    return step, lambda answer: [inputs[position].grad for position in differentiable]
