"""Operators written in MXNet's manner: `CustomOp`, `CustomOpProp`, `register`, `nd.Custom`, and `autograd.Function`."""
