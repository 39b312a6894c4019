"""How functions of NumPy's are written in ONNX: each module has `ROWS`, for one kind of functions."""
