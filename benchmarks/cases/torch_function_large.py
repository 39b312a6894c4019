"""An operator written in NumPy called by PyTorch, on a larger array."""

from harness.torch_operators import softplus_case

case = softplus_case("10,000", (100, 100), "numpy", 1.15)
