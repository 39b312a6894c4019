"""Computations on raw arrays that several families of operators share."""
