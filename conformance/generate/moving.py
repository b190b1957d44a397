"""Models that one process lowers for another, which has never seen them: the artifact must have all that it needs."""

from __future__ import annotations

import warnings

from conformance.generate.makers import MovingMaker
from conformance.generate.play import Player
from conformance.generate.program import ELSEWHERE, Trial


def lowered_elsewhere(trial: Trial, maker: MovingMaker) -> list[bytes]:
    """The models of a trial that another process lowers, which is this one: each as it was saved, in order.

    Empty where one cannot be made: playing the trial shows why.
    """
    saved = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        player = Player(trial, maker)
        try:
            for step in trial.steps:
                if step.action not in ("model", "lower", "weights"):
                    continue
                if "raised" in player.step(step):
                    return []
                if step.detail == ELSEWHERE and (lowered := player.lowered[-1]) is not None:
                    saved.append(maker.save(lowered))
        finally:
            player.models.clear()
            maker.forget()
    return saved
