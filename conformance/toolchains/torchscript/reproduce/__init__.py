"""How a failure of a TorchScript backend is written as a script."""
