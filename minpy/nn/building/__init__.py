"""The classes of `minpy.nn.model_builder`: modules, layers, models and updaters."""
