"""Files, privacy, seeds, quiet and compiling: what every room may use, and what knows of none."""
