"""What ONNX's operators are here: one file a family, one row an operator."""
