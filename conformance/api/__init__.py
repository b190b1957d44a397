"""What authors of backends, clauses and cases write with. Imports nothing else of the harness."""
