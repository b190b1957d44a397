"""The harness proves that it can fail: saboteurs are tried, and each must be caught by name."""
