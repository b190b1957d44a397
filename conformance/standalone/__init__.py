"""What runs without the harness: reproducers of failures, and packs for targets that cannot be reached."""
