"""An operator written in NumPy as a graph of JAX's, on a large array."""

from harness.jax_operators import softplus_case

case = softplus_case("1,000,000", (1000, 1000), "graph", "jnp", 1.05)
