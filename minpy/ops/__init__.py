"""The built-in operators, a folder a kind, one file a family: a definition and its gradient rules side by side.

`index` says which module defines which operator; `registry.OPERATORS` imports it when the operator is looked up.
"""
