"""Updates of weights, as optimizers make them."""
