"""Delegates of ExecuTorch that are broken on purpose, each in one way."""
