"""Running sums and products along an axis: calls of the step language with a kernel of their own."""
