"""The everyday models: written once, and a case of every toolchain."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from conformance import models
from conformance.toolchains import corpus, toolchains

TOOLCHAINS = [each.name for each in toolchains()]


def test_every_model_is_a_case_of_two_toolchains_at_least() -> None:
    taken = Counter(case.name for each in TOOLCHAINS for case in corpus(each) if case.everyday)
    assert {name for name in models._MODELS if taken[name] < 2} == set()


@pytest.mark.parametrize("toolchain", TOOLCHAINS)
def test_the_calls_of_a_model_have_the_same_shapes_and_leave_it_as_it_is(toolchain: str) -> None:
    everyday = [case for case in corpus(toolchain) if case.everyday]
    assert len(everyday) > 70
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
        models.register_models("nobody's", without=("nonsense",))


def test_a_name_is_taken_once() -> None:
    name = next(iter(models._MODELS))
    with pytest.raises(ValueError, match=f"the everyday model '{name}' is there twice"):
        models.everyday(name, inputs=lambda make: ())(torch.nn.Identity)


def test_a_feature_that_no_backend_sees_is_none_of_the_case() -> None:
    with_parts = [each.name for each in models._MODELS.values() if any(f.name == "submodules" for f in each.features)]
    assert with_parts
    seen = {case.name: {each.name for each in case.features} for case in corpus("dynamo")}
    assert not any("submodules" in seen[name] for name in with_parts)
