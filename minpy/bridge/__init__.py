"""The bridge to HIPS autograd, both ways, and NumPy's protocols, by which its functions take our arrays."""
