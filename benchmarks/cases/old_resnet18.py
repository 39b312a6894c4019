"""Inference of ResNet-18 from MXNet's files, one image."""

from harness.old_models import model_case

case = model_case("resnet18_v1")
