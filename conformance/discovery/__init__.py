"""Which backends there are: where they come from, what each says of itself in a child, and which one a name means."""
