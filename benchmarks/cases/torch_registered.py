"""An operator written in NumPy called by PyTorch's dispatcher, on a small array."""

from harness.torch_operators import softplus_case

case = softplus_case("3", (3,), "numpy", limit=120e-6, is_registered=True)
