"""ONNX models read as symbols, blocks and parameters."""
