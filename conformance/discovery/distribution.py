"""Which files an installed distribution consists of, as one digest."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json

#: What an installer writes of its own into the metadata: the same wheel leaves it otherwise from place to place.
_OF_THE_INSTALLER = ("INSTALLER", "REQUESTED", "direct_url.json", "RECORD")


def distribution_hash(name: str) -> str | None:
    """The digest of the files that a distribution's wheel brought. The files are read; what RECORD says of them is not.

    It is the ``dirHash`` of in-toto (Hash1 of Go's modules): SHA-256 over the lines that ``sha256sum`` prints for the
    files, in the order of their names. Left out is what differs from one installation of a wheel to another: compiled
    Python, scripts, and what the installer notes. None where nothing could be said: no such distribution, one that has
    no RECORD, and an editable installation, whose RECORD does not name the files that are used.
    """
    try:
        distribution = importlib.metadata.distribution(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
    if _is_editable(distribution):
        return None
    lines = []
    for path in sorted(distribution.files or (), key=str):
        if path.hash is None or ".." in path.parts or path.suffix == ".pyc":
            continue
        if path.parent.name.endswith(".dist-info") and path.name in _OF_THE_INSTALLER:
            continue
        try:
            with open(str(path.locate()), "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            found = "missing"
        lines.append(f"{found}  {path}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else None


def _is_editable(distribution: importlib.metadata.Distribution) -> bool:
    """What PEP 610 has a direct_url.json say."""
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        return bool(origin.get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError):
        return False
