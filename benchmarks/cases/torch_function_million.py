"""An operator written in NumPy called by PyTorch, on a large array."""

from harness.torch_operators import softplus_case

case = softplus_case("1,000,000", (1000, 1000), "numpy", 1.03)
