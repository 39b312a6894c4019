"""Programs written for MXNet, run on minpy as they are: `python -m minpy script.py`."""
