"""Linear algebra: products of matrices."""
