"""``conformance``: what needs no test run.

Each module of this package is a command or a few that belong together: ``add(commands)`` gives them their parsers, and
the ``run`` default of a parser is the function that carries the command out and returns the exit code.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from conformance._util.quiet import OPTIMIZED, ignore_missing_numpy, is_optimized
from conformance.api.errors import HarnessError
from conformance.extensions import ExtensionError
from conformance.report import printable

#: As shells say of a process that SIGINT ended.
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    0; 1 for what a command says is not as it should be (its ``--help`` tells what that is); 2 for bad input; as for a
    run, 10 for a self-test that has not tried everything, and 11 where the harness itself failed; 130 for any other
    command that Ctrl-C ended.
    """
    ignore_missing_numpy()  # before a command imports torch
    if is_optimized():
        print(f"conformance: {OPTIMIZED}", file=sys.stderr)
        return 2
    try:
        parser, _ = _parsers()
        options = parser.parse_args(arguments)
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read it has read enough, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("conformance: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except ExtensionError as error:
        print(f"conformance: {printable(str(error))}", file=sys.stderr)
        return 2
    except HarnessError as error:
        from conformance.pytest_plugin import EXIT_HARNESS_ERROR

        print(f"conformance: the harness itself failed: {printable(str(error))}", file=sys.stderr)
        return EXIT_HARNESS_ERROR
    return code


def command_parsers() -> dict[str, argparse.ArgumentParser]:
    """Command → its parser, in the order of the help."""
    return _parsers()[1]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Bad input in one sentence; the usage is where it can be asked for."""
        self.exit(2, f"{self.prog}: {printable(message)}; see {self.prog} --help\n")


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    from conformance.cli import _certify, _contract, _goldens, _new, _packs, _reports, _scoreboard, _selftest

    parser = _Parser(prog="conformance", description="The contract of PyTorch backends, and reports about it.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (_contract, _new, _reports, _scoreboard, _certify, _goldens, _packs, _selftest):
        module.add(commands)
    return parser, dict(commands.choices)
