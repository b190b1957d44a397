"""What the commands share: their parsers' type, and how bad input is refused."""

from __future__ import annotations

import argparse
import sys
from typing import TypeAlias

from conformance._util.seeds import seed_of
from conformance.report import printable, without_commands

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def seed(text: str) -> int:
    """The ``type`` of an option that takes a seed."""
    try:
        return seed_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def say(text: str) -> None:
    """Print what a command has to say: lines of which no service that keeps the log takes one for a command. The name
    of a file in it need not be UTF-8."""
    print(without_commands(text.encode(errors="backslashreplace").decode()), flush=True)


def refuse(text: str) -> int:
    """Say on stderr what is wrong with the input; the exit code for it."""
    print(f"conformance: {printable(text)}", file=sys.stderr)
    return 2
