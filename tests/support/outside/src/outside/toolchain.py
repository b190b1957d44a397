"""A toolchain of about a hundred lines: programs in reverse Polish notation, which backends compile to functions.

This module is imported in every run; what runs in devices is named by it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from conformance import Backend
from conformance.toolchains import Toolchain


class PostfixBackend(Backend):
    """What an author writes: how a program becomes a function."""

    toolchain: ClassVar[str] = "postfix"

    def compile(self, program: str) -> Callable[..., float]:
        """A function of as many numbers as the program has names. Raises ValueError for what is no program."""
        raise NotImplementedError


class PostfixToolchain(Toolchain):
    """``a b + c *``: names and operators, the operands first."""

    name = "postfix"
    summary = "compilers of programs in reverse Polish notation"
    runtimes = ("call",)
    backend_class = PostfixBackend
    session = "outside.session:open_session"
    client = "outside.client:PostfixDevice"
    cases = ("outside.programs",)
    suites = Path(__file__).with_name("suite")
