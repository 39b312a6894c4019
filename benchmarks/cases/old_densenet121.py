"""Inference of DenseNet-121 from MXNet's files, one image."""

from harness.old_models import model_case

case = model_case("densenet121")
