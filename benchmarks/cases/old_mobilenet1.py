"""Inference of MobileNet 1 from MXNet's files, one image."""

from harness.old_models import model_case

case = model_case("mobilenet1.0")
