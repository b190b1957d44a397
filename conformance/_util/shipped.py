"""What ships with the harness beside its code."""

from __future__ import annotations

from pathlib import Path


def shipped_folder(name: str) -> Path:
    """A folder of the distribution: ``conformance/NAME`` when it is installed, ``NAME`` in a checkout.

    Raises FileNotFoundError for an installation that is not whole.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the folder {name!r} that ships with torch-conformance is missing beside {package.name}/")
