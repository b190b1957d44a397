"""Models that were scripted ahead of the devices which use them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from conformance.api.case import Case, case_named, registered_cases
from conformance.compare.values import tensors_in
from conformance.toolchains import import_cases
from conformance.toolchains.torchscript.scripting import forget_ahead, script_ahead, scripted


@pytest.fixture(autouse=True)
def nothing_ahead() -> Iterator[None]:
    yield
    forget_ahead()


def everywhere() -> list[str]:
    import_cases("torchscript")
    return [each.name for each in registered_cases() if each.toolchain == "torchscript" and each.everywhere]


def outcome(module: torch.jit.ScriptModule, case: Case, seed: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    _, samples = case.build(seed)
    return [
        each
        for method in case.methods
        for inputs in samples[method]
        for each in tensors_in(getattr(module, method)(*inputs))
    ]


@pytest.mark.parametrize("name", everywhere())
def test_a_model_that_was_made_ahead_is_the_one_that_a_device_makes(name: str) -> None:
    case = case_named(name, "torchscript")
    script_ahead(case, 5)
    ahead, anew = scripted(case, 5), scripted(case, 5)
    assert ahead is not anew, "the first is taken, the second made"
    torch.testing.assert_close(ahead.state_dict(), anew.state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(outcome(ahead, case, 5), outcome(anew, case, 5), rtol=0, atol=0, equal_nan=True)


def test_another_seed_is_another_model_and_what_is_forgotten_is_made_anew() -> None:
    case = case_named("submodules", "torchscript")
    script_ahead(case, 5)
    other = scripted(case, 6)
    ahead = scripted(case, 5)
    assert not torch.equal(next(other.parameters()), next(ahead.parameters()))
    script_ahead(case, 5)
    forget_ahead()
    made = scripted(case, 5)
    torch.testing.assert_close(list(made.parameters()), list(ahead.parameters()), rtol=0, atol=0)
