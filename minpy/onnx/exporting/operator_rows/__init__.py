"""How operators of MXNet's are written in ONNX: each module has `ROWS`, for one kind of operators."""
