"""Reports on native programs: how each step was compiled, and how long kernels take."""
