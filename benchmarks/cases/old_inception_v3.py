"""Inference of Inception-v3 from MXNet's files, one image."""

from harness.old_models import model_case

case = model_case("inceptionv3")
