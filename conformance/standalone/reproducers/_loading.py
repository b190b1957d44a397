"""Where the part of a script stands that makes the backend known to PyTorch: each toolchain has one of its own.

A script gets the functions of the module that :attr:`conformance.standalone.reproducers.kit.Kit.loading` names in the
place of these, which do what is right for a backend that is there without anything being loaded.
"""

from __future__ import annotations

import argparse
from typing import Any


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let the command line name what a process cannot find by itself."""


def find_backend(options: argparse.Namespace) -> list[str]:
    """The libraries that processes are to load. Raises CannotTry where the backend is not to be had."""
    return []


def load_backend() -> None:
    """Make the backend known to PyTorch."""


class Backend:
    """How models of a generated trial are lowered, saved and loaded; a toolchain's own is in ``Kit.trials``."""

    def lower(self, module: Any, dynamic: bool = False, elsewhere: bool = False) -> Any:
        """What is called in the model's place; lowered ``elsewhere``, in a process of its own, where that is said."""
        return module

    def save_and_load(self, lowered: Any) -> Any:
        """What comes back of something lowered that was saved and loaded."""
        return lowered

    def load_damaged(self, lowered: Any) -> None:
        """Load a part of what was saved. Raises what that does."""
        raise RuntimeError("damaged")

    def reset(self) -> None:
        """Forget what was compiled."""
