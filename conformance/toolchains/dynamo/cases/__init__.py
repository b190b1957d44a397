"""The corpus of torch.compile: the models that its clauses are tried on."""
