"""Neural networks as MinPy had them: layers as functions, models with named parameters, and a solver that trains them.

`layers` are functions of arrays, `init` and `optim` the rules by which parameters begin and move, `model` and
`model_builder`, with the layers of `modules`, two ways to write a model, `io` batches of data in memory, and `solver`
trains. All of it is written in
`minpy.numpy`, and differentiated by `minpy.core.grad_and_loss`.
"""
