"""What native programs tell of themselves: what became of each step, and how long kernels take."""
