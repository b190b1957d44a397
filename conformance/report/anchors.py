"""Places in a page: each is called after what stands there, so that an address says the same of every run."""

from __future__ import annotations

import re
import urllib.parse

from conformance._util.escaping import legible

_SPACES = re.compile(r"\s+")


def cell_anchor(cell: str) -> str:
    """The place of a failing cell, by its id."""
    return _anchor("cell", cell)


def clause_anchor(clause: str) -> str:
    """The place of a clause's row in the grid."""
    return _anchor("clause", clause)


def address_of(anchor: str) -> str:
    """The link to a place of the same page."""
    return f"#{urllib.parse.quote(anchor, safe='/[]=,+:')}"


def _anchor(kind: str, name: str) -> str:
    """An id may have anything but spaces in it; the kind keeps it apart from those of the page's own parts."""
    return f"{kind}-{_SPACES.sub('_', legible(name))}"
