"""Inference of ResNet-50 from MXNet's files, one image."""

from harness.old_models import model_case

case = model_case("resnet50_v1")
