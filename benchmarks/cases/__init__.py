"""One file a case: each implementation's few lines side by side, each importing its library only when called."""
