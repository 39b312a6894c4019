"""Inference of MobileNet 2 from MXNet's files, one image."""

from harness.old_models import model_case

case = model_case("mobilenetv2_1.0")
