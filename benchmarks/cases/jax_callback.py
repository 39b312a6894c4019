"""An operator written in NumPy called by JAX, on a small array."""

from harness.jax_operators import softplus_case

case = softplus_case("3", (3,), "numpy", "callback", 1.2)
