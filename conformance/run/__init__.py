"""The cells of a run: which cells there are, what they share, and how each comes to its verdict."""
