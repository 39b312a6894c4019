"""An operator written in NumPy called by JAX, on a larger array."""

from harness.jax_operators import softplus_case

case = softplus_case("10,000", (100, 100), "numpy", "callback", 1.2)
