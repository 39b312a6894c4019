"""Training steps of a network: softmax loss, SGD with momentum; in Gluon, for MXNet and minpy, and in PyTorch."""

from __future__ import annotations

from typing import Any

from harness.case import Array, Checked

__all__ = ["MOMENTUM", "RATE", "gluon_training", "torch_training"]

RATE = 0.01
MOMENTUM = 0.9


def gluon_training(
    mx: Any, net: Any, images: Array, label: Array, arrays: Any, hybridized: bool, rate: float = RATE
) -> Checked:
    """The step through `gluon.Trainer`; `arrays`: the initial values of the parameters that learn, in their order."""
    images, label = mx.nd.array(images, dtype=images.dtype), mx.nd.array(label)
    net.initialize()
    net(images)  # completes the shapes
    parameters = [parameter for parameter in net.collect_params().values() if parameter.grad_req != "null"]
    for parameter, array in zip(parameters, arrays, strict=True):
        parameter.set_data(mx.nd.array(array))
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    if hybridized:
        net.hybridize(static_alloc=True, static_shape=True)
        loss_of.hybridize(static_alloc=True, static_shape=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate, "momentum": MOMENTUM})

    def step():
        with mx.autograd.record():
            loss = loss_of(net(images), label)
        loss.backward()
        trainer.step(len(label))
        mx.nd.waitall()
        return loss

    return step, lambda loss: (loss.mean(), *(parameter.data() for parameter in parameters))


def torch_training(
    net: Any,
    images: Array,
    label: Array,
    arrays: Any,
    rate: float = RATE,
    compiled: bool = False,
    options: dict[str, Any] | None = None,
) -> Checked:
    """The step in PyTorch, of a `Module` whose parameters come in the same order.

    `compiled`: by `torch.compile`, with these `options`.
    """
    import torch

    images, label = torch.tensor(images), torch.tensor(label)
    parameters = list(net.parameters())
    with torch.no_grad():
        for parameter, array in zip(parameters, arrays, strict=True):
            parameter.copy_(torch.tensor(array))
    optimizer = torch.optim.SGD(parameters, lr=rate, momentum=MOMENTUM)
    loss_of = torch.nn.CrossEntropyLoss()
    if compiled:
        net = torch.compile(net, options=options)

    def step():
        optimizer.zero_grad()
        out = net(images)
        loss = loss_of(out.flatten(0, -2), label.flatten())
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda loss: (loss, *parameters)
