"""Stands for a vendor's runtime, which the torch.compile backends of this package need, and which may be missing."""
