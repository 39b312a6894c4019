"""From a schedule of kernels and calls to functions of native code, and to the Python source that calls them."""
