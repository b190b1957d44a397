"""Models that one process lowers for another, which has never seen them: the artifact must have all that it needs."""

from __future__ import annotations

import dataclasses
import warnings

from conformance.generate.makers import MovingMaker
from conformance.generate.play import Player
from conformance.generate.program import ELSEWHERE, Trial


def lowered_elsewhere(trial: Trial, maker: MovingMaker) -> list[bytes]:
    """The models of a trial that another process lowers, which is this one: each as it was saved, in order.

    Empty where one cannot be made or saved: playing the trial shows why.
    """
    saved: list[bytes] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        player = Player(trial, maker)
        try:
            for step in trial.steps:
                if step.action not in ("model", "lower", "weights"):
                    continue
                moves = step.detail == ELSEWHERE
                if "raised" in player.step(dataclasses.replace(step, detail="") if moves else step):
                    return []
                if moves and (lowered := player.lowered[-1]) is not None:
                    try:
                        saved.append(maker.save(lowered))
                    except Exception:  # the edge of the device: whatever the backend raises when it is saved
                        return []
        finally:
            player.models.clear()
            maker.forget()
    return saved
