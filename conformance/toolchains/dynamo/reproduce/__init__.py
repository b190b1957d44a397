"""How a failure of a torch.compile backend is written as a script."""
