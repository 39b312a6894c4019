"""What `minpy.nn.model_builder` offers: modules and layers, the models that they make, and what moves parameters."""
