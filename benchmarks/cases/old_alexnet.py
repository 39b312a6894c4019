"""Inference of AlexNet from MXNet's files, one image."""

from harness.old_models import model_case

case = model_case("alexnet")
