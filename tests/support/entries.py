"""Entries of a file of expectations."""

from __future__ import annotations


def entry(clause: str = "toy.works", verdict: str = "FAIL", **fields: str) -> str:
    """One entry of a file; the fields are TOML."""
    lines = [f'clause = "{clause}"', f'verdict = "{verdict}"', 'reason = "known"']
    return "\n".join(["[[expect]]", *lines, *(f"{name} = {value}" for name, value in fields.items()), ""])
