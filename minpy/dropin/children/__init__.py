"""What child processes of a program find on their path: `mxnet`, which is minpy."""
