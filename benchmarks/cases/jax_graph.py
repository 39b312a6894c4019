"""An operator written in NumPy as a graph of JAX's, on a small array."""

from harness.jax_operators import softplus_case

case = softplus_case("3", (3,), "graph", "jnp", 1.05)
