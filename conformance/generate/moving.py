"""Models that one process lowers for another, which has never seen them: the artifact must have all that it needs."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings

from conformance.devices.protocol import Subject
from conformance.generate.call_modes import MODES
from conformance.generate.inputs import arguments_of
from conformance.generate.makers import MovingMaker
from conformance.generate.play import Player
from conformance.generate.steps import ELSEWHERE, MAKES_LOWERED, Call, Trial


def lowered_elsewhere(trial: Trial, maker: MovingMaker) -> list[bytes]:
    """The models of a trial that another process lowers, which is this one: each as it was saved, in order.

    Empty where one cannot be made or saved: playing the trial shows why.
    """
    saved: list[bytes] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        player = Player(trial, maker)
        try:
            for place, step in enumerate(trial.steps):
                if step.action not in ("model", "lower", "weights"):
                    continue
                moves = step.detail == ELSEWHERE
                if "raised" in player.step(dataclasses.replace(step, detail="") if moves else step):
                    return []
                if moves and (lowered := player.lowered[-1]) is not None:
                    call = _first_call(trial, place)
                    try:
                        with MODES[call.mode]() if call else contextlib.nullcontext():
                            saved.append(maker.save(lowered, arguments_of(call) if call else None))
                    except (
                        Exception,
                        SystemExit,
                    ):  # the edge of the device: whatever the backend raises when it is saved
                        return []
        finally:
            player.models.clear()
            with Subject():
                maker.forget()
    return saved


def _first_call(trial: Trial, place: int) -> Call | None:
    """How that is called first which the step in a place lowers; None where it is not."""
    number = sum(step.action in MAKES_LOWERED for step in trial.steps[:place])
    return next((step.call for step in trial.steps if step.action == "call" and step.model == number), None)
