"""TorchScript backends written in Python: one that conforms, and others that are broken in one way each."""
