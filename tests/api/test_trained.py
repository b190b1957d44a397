"""Models as training leaves them."""

from __future__ import annotations

import pytest
import torch

from conformance.api.case import case_named
from conformance.api.trained import as_trained
from conformance.toolchains import corpus


def test_new_norms_are_as_training_leaves_them() -> None:
    given = torch.randn(2, 4, 3)
    for norm in (torch.nn.BatchNorm1d(4), torch.nn.GroupNorm(2, 4), torch.nn.LayerNorm(3), torch.nn.RMSNorm(3)):
        fresh = norm.eval()(given)
        assert not torch.allclose(as_trained(torch.nn.Sequential(norm))(given), fresh), norm
        for name, tensor in norm.state_dict().items():
            assert name == "num_batches_tracked" or not set(tensor.tolist()) & {0.0, 1.0}, (norm, name)


def test_what_somebody_has_set_stays() -> None:
    norm = torch.nn.BatchNorm1d(2)
    norm.running_mean = torch.tensor([0.5, 3.0])
    torch.nn.init.constant_(norm.weight, 2.0)
    as_trained(norm)
    assert norm.running_mean.tolist() == [0.5, 3.0]
    assert norm.weight.tolist() == [2.0, 2.0]
    assert norm.bias.tolist() != [0.0, 0.0]


def test_norms_without_weights_have_none() -> None:
    norm = as_trained(torch.nn.BatchNorm1d(2, affine=False, track_running_stats=False))
    assert norm.weight is None
    assert norm.running_mean is None


@pytest.mark.parametrize("toolchain", ["torchscript", "dynamo"])
def test_cases_are_built_so(toolchain: str) -> None:
    """A norm whose weights are ones may be left out, or be part of another layer, and nobody sees it."""
    assert list(corpus(toolchain))
    model, _ = case_named("shared_convolution", toolchain).build(1)
    assert set(model.norm.weight.tolist()).isdisjoint([1.0])
    again, _ = case_named("shared_convolution", toolchain).build(1)
    assert torch.equal(model.norm.weight, again.norm.weight)
