"""Inference of VGG-11 from MXNet's files, one image."""

from harness.old_models import model_case

case = model_case("vgg11")
