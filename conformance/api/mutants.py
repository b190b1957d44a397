"""What mutants are: broken backends that nobody wrote, drawn at random from a grammar of sabotage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random
from typing import Any

#: Entry points of this group give a sequence of :class:`Mutants`.
ENTRY_POINT_GROUP = "conformance_mutants"


@dataclasses.dataclass(frozen=True, slots=True)
class Mutants:
    """The mutants of one toolchain.

    A *specification* is what distinguishes one from another, as JSON: ``place``, ``when`` (conditions by their axes)
    and ``effect``. ``backend`` names the class, as ``module:Class``, that becomes the mutant whose specification
    stands in the environment variable ``variable``, and the conforming control where that is not set; it adds a byte to
    the file that the variable ``firings`` names each time that it does what it should not.

    ``probe`` names the function, as ``module:function``, that makes the session of a device from a source. Its verb
    ``play(spec, number)`` runs a witness of the mutant, a program that has nothing of the contract in it, and gives how
    often the mutant ``fired`` and the ``differences`` from eager PyTorch, in sentences; None when there are no more
    witnesses. What crashes or hangs is different too.
    """

    toolchain: str
    backend: str
    probe: str
    variable: str
    firings: str
    #: A specification at random, which is the same for the same state of the generator.
    draw: Callable[[Random], dict[str, Any]]
    #: A specification in words.
    sentence: Callable[[dict[str, Any]], str]
    #: The source of a witness by its number; None when there are no more.
    witness: Callable[[dict[str, Any], int], str | None]
