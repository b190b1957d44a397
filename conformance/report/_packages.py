"""Which packages a backend stands on, in which versions: a plugin's distribution is not what its vendor ships."""

from __future__ import annotations

from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: What every run has, and reports say elsewhere.
_EVERYBODYS = frozenset({"torch", "torch-conformance"})


def packages_of(distribution: str) -> dict[str, str]:
    """Name → version of what a distribution requires, as installed here.

    Nothing for one that is not a distribution, and for one that every run has: what torch requires says nothing of a
    backend that torch brings.
    """
    if canonicalize_name(distribution) in _EVERYBODYS:
        return {}
    try:
        stated = metadata.requires(distribution) or []
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    required = [Requirement(each) for each in stated]
    meant = {canonicalize_name(each.name) for each in required if each.marker is None or each.marker.evaluate()}
    return {name: version for name in sorted(meant - _EVERYBODYS) if (version := _version(name))}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
