"""ResNet-18 for small images (He et al., "Identity Mappings in Deep Residual Networks", 2016) as a symbol."""

from __future__ import annotations

from typing import Any

__all__ = ["FILTERS", "resnet18"]

FILTERS = (64, 128, 256, 512)


def resnet18(sym: Any, classes: int = 10, filters: tuple[int, ...] = FILTERS) -> Any:
    """The network with a softmax loss, in the symbols of MXNet or of minpy: `sym` is `mx.sym`."""
    body = sym.Convolution(
        sym.Variable("data"), num_filter=filters[0], kernel=(3, 3), pad=(1, 1), no_bias=True, name="conv0"
    )
    for stage, count in enumerate(filters):
        for unit in range(2):
            stride = 2 if stage and not unit else 1
            body = _residual(sym, body, count, stride, bool(stage) and not unit, f"stage{stage}_unit{unit}")
    body = sym.Activation(sym.BatchNorm(body, fix_gamma=False, name="bn1"), act_type="relu", name="relu1")
    body = sym.Pooling(body, global_pool=True, kernel=(1, 1), pool_type="avg", name="pool1")
    return sym.SoftmaxOutput(sym.FullyConnected(sym.Flatten(body), num_hidden=classes, name="fc1"), name="softmax")


def _residual(sym: Any, data: Any, count: int, stride: int, widens: bool, name: str) -> Any:
    def normalized(inner: Any, number: int) -> Any:
        inner = sym.BatchNorm(inner, fix_gamma=False, name=f"{name}_bn{number}")
        return sym.Activation(inner, act_type="relu", name=f"{name}_relu{number}")

    def convolved(inner: Any, kernel: int, step: int, suffix: str) -> Any:
        return sym.Convolution(
            inner,
            num_filter=count,
            kernel=(kernel, kernel),
            stride=(step, step),
            pad=(kernel // 2, kernel // 2),
            no_bias=True,
            name=f"{name}_{suffix}",
        )

    first = normalized(data, 1)
    inner = convolved(first, 3, stride, "conv1")
    inner = convolved(normalized(inner, 2), 3, 1, "conv2")
    return inner + (convolved(first, 1, stride, "shortcut") if widens else data)
