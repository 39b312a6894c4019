"""Graphs and functions written as ONNX models."""
