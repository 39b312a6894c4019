"""Random arrays: the generator, the distributions, and the operators that draw from them."""
