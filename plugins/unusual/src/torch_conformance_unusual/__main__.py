"""``python -m torch_conformance_unusual``: the backends of this distribution, and what is unusual about each."""

from __future__ import annotations

import inspect
from importlib.metadata import distribution


def main() -> None:
    """Print a line for each backend: its name, its toolchain, and its docstring."""
    for entry in distribution("torch-conformance-unusual").entry_points.select(group="conformance_backends"):
        backend = entry.load()
        print(f"{entry.name} ({backend.toolchain}): {' '.join((inspect.getdoc(backend) or '').split())}")


if __name__ == "__main__":
    main()
