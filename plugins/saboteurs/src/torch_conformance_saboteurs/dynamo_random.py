"""Saboteurs of torch.compile: random numbers are not those that PyTorch's seed decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("modes.seeds")
class DynamoHasOwnSeed(DynamoControl):
    """Random numbers come from a generator of the backend's own."""

    name = "dynamo_has_own_seed"
    calls = 0

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        self.calls += 1
        with torch.random.fork_rng():
            torch.manual_seed(self.calls)
            return super().call(code, arguments)


@saboteur("modes.seeds")
class DynamoDrawsOnce(DynamoControl):
    """Each call draws the same numbers."""

    name = "dynamo_draws_once"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        with torch.random.fork_rng():
            return super().call(code, arguments)


@saboteur("modes.seeds")
class DynamoSeedsWhereTheSeedChanges(DynamoControl):
    """Random numbers come from a generator of its own, which begins again where PyTorch's seed is another one, and not
    where the same one was set again, or the state of PyTorch's generator."""

    name = "dynamo_seeds_where_the_seed_changes"
    seed: int | None = None
    state: torch.Tensor

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        with torch.random.fork_rng():
            if torch.initial_seed() == self.seed:
                torch.set_rng_state(self.state)
            result = super().call(code, arguments)
            self.seed, self.state = torch.initial_seed(), torch.get_rng_state()
        return result


SABOTEURS = saboteur.all()
