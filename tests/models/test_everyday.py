"""The everyday models: written once, and a case of every toolchain."""

from __future__ import annotations

import pytest
import torch

from conformance import models
from conformance.toolchains import corpus, toolchains

TOOLCHAINS = [each.name for each in toolchains()]


@pytest.fixture(scope="module", params=TOOLCHAINS)
def cases(request: pytest.FixtureRequest) -> dict[str, object]:
    return {case.name: case for case in corpus(request.param)}


def test_every_toolchain_has_every_model_or_one_of_its_own(cases: dict[str, object]) -> None:
    assert models._MODELS.keys() <= cases.keys()


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_the_calls_of_a_model_have_the_same_shapes_and_leave_it_as_it_is(toolchain: str) -> None:
    everyday = [case for case in corpus(toolchain) if case.module_class.__module__.startswith(models.__name__)]
    assert len(everyday) > 20
    for case in everyday:
        model, samples = case.build(0)
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        first, second = samples["forward"]
        assert [each.shape for each in first] == [each.shape for each in second], case.name
        kept = [each.clone() for each in first]
        with torch.no_grad():
            model(*first)
        torch.testing.assert_close(list(first), kept, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)


def test_what_is_done_without_is_a_model() -> None:
    with pytest.raises(ValueError, match=r"no everyday models \['nonsense'\]; there are \["):
        models.register_models("nobody's", registered_by=__name__, without=("nonsense",))


def test_a_name_is_taken_once() -> None:
    name = next(iter(models._MODELS))
    with pytest.raises(ValueError, match=f"the everyday model '{name}' is there twice"):
        models.everyday(name, inputs=lambda make: ())(torch.nn.Identity)


def test_a_feature_that_no_backend_sees_is_none_of_the_case() -> None:
    with_parts = [each.name for each in models._MODELS.values() if any(f.name == "submodules" for f in each.features)]
    assert with_parts
    seen = {case.name: {each.name for each in case.features} for case in corpus("dynamo")}
    assert not any("submodules" in seen[name] for name in with_parts)
