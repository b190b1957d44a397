"""What changed between reports, cell by cell."""
