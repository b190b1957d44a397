"""Cases as scripted modules: made when a device asks for one, or ahead of it in the process that it is forked from."""

from __future__ import annotations

import torch

from conformance.api.case import Case
from conformance.devices import Subject

#: What was made ahead, by case and seed. A device takes each of them once, and makes any other by itself.
_AHEAD: dict[tuple[str, int], torch.jit.ScriptModule] = {}


def script_ahead(case: Case, seed: int) -> None:
    """Script a case's module, for processes that are forked from this one."""
    _AHEAD[case.name, seed] = _scripted(case, seed)


def forget_ahead() -> None:
    """Drop what was made ahead."""
    _AHEAD.clear()


def scripted(case: Case, seed: int) -> torch.jit.ScriptModule:
    """A case's module with the weights of a seed, scripted, and frozen where the case says so; no two are the same."""
    ahead = _AHEAD.pop((case.name, seed), None)
    return _scripted(case, seed) if ahead is None else ahead


def _scripted(case: Case, seed: int) -> torch.jit.ScriptModule:
    module, _ = case.build(seed)
    with Subject():
        scripted: torch.jit.ScriptModule = torch.jit.script(module)
        return torch.jit.freeze(scripted) if case.frozen else scripted
