"""An operator written in NumPy as a graph of PyTorch's, compiled, on a large array."""

from harness.torch_operators import softplus_case

case = softplus_case("1,000,000", (1000, 1000), "graph", 1.1)
