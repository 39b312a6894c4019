"""Functions differentiated by running them under the tape: what the functional interface and the bridge stand on."""
