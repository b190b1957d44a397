"""Values as bytes, tolerances, what is equal, and how far off the rest is."""
