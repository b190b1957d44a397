"""Certificates: a statement about a report, its signature, and what is worked out again before it is believed."""
