"""The cells of a run: which there are, what they share, and how one comes to its verdict."""
