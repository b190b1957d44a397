"""Where the part of a script stands that makes the backend known to PyTorch: each toolchain has one of its own.

A script gets the functions of the module that :attr:`conformance.standalone.reproducers.kit.Kit.loading` names in the
place of these, which do what is right for a backend that is there without anything being loaded.
"""

from __future__ import annotations

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let the command line name what a process cannot find by itself."""


def find_backend(options: argparse.Namespace) -> list[str]:
    """The libraries that processes are to load. Raises CannotTry where the backend is not to be had."""
    return []
