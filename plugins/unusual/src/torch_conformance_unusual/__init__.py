"""Backends that keep the contract in unusual ways: whatever a clause says against one is a false alarm."""
