"""Artifacts that are changed on purpose: from outside, and inside a backend's own processed module."""
