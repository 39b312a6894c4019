"""An operator written in NumPy called by PyTorch, on a small array."""

from harness.torch_operators import softplus_case

case = softplus_case("3", (3,), "numpy", 1.5)
