"""How a failure of a delegate of ExecuTorch is written as a script."""
