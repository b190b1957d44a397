"""The verbs for trials, which the devices of every toolchain have alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.generate.makers import Maker, MovingMaker, Shadow
from conformance.generate.moving import lowered_elsewhere
from conformance.generate.play import know as known
from conformance.generate.play import play as played
from conformance.generate.serialization import trial_from_bytes
from conformance.toolchains import ProgramTraits
from conformance.toolchains.verbs import Verbs


def add_verbs(verbs: Verbs, traits: ProgramTraits, maker: Callable[[Any], Maker]) -> None:
    """Add ``shadow``, ``know`` and ``play`` to a toolchain's table, and ``artifacts`` where its models can be moved.

    ``maker`` gives what lowers in a session.
    """
    copies = traits.copies_weights

    @verbs
    def shadow(session: Any, trial: bytes, leaks: bool = False) -> dict[str, Any]:
        """What eager PyTorch makes of a trial."""
        return played(trial_from_bytes(trial), Shadow(copies=copies), leaks=leaks)

    @verbs
    def know(session: Any, trial: bytes, noises: int) -> list[dict[str, Any]]:
        """What plain PyTorch computes in 64 bits; see :func:`conformance.generate.play.know`."""
        return known(trial_from_bytes(trial), copies=copies, noises=noises)

    @verbs
    def play(session: Any, trial: bytes, leaks: bool = False, artifacts: Sequence[bytes] = ()) -> dict[str, Any]:
        """What comes of a trial with the backend; without one, of the toolchain alone."""
        return played(trial_from_bytes(trial), maker(session), leaks=leaks, artifacts=artifacts)

    if traits.moves:

        @verbs
        def artifacts(session: Any, trial: bytes) -> list[bytes]:
            """What the models of a trial are that this process lowers for another; see
            :func:`conformance.generate.moving.lowered_elsewhere`."""
            made = maker(session)
            assert isinstance(made, MovingMaker), "a toolchain whose models can be moved brings such a maker"
            return lowered_elsewhere(trial_from_bytes(trial), made)
