"""Assertions about gradients, and about random numbers."""

from __future__ import annotations

from typing import Any

import torch

from conformance.api.assertions import check
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.compare.assertions import assert_close, leaves_of
from conformance.compare.comparison import describe
from conformance.toolchains.dynamo.client import (
    DynamoDevice,
    PreparedCase,
    Tensors,
    Trained,
)
from conformance.toolchains.dynamo.refusals import is_clean_refusal


def assert_trained_alike(found: Trained, expected: Trained, where: str) -> None:
    """The results are the same, those that require grad as well, and every gradient."""
    assert_close(found.results, expected.results, f"{where}, the results")
    wanted = expected.requires_grad
    check(
        found.requires_grad == wanted,
        f"{where}: which results require grad: expected {wanted}, found {found.requires_grad}",
    )
    assert_close(found.gradients, expected.gradients, f"{where}, the gradients")


def assert_training_refused(
    host: DynamoDevice, bare: DynamoDevice, case: PreparedCase, backend: str, wanted: tuple[bool, ...]
) -> None:
    """A call whose arguments require grad as ``wanted`` says, or whose model's parameters do, is refused by an error
    that names the backend, or an error of going back from it."""
    try:
        found = host.differentiate(host.compile(case), case.call.inputs, wanted)
    except SubjectError as error:
        clean = is_clean_refusal(error, backend) or "backward" in error.text
        check(clean, f"expected BackendCompilerFailed naming {backend!r}, or an error of backward, found {error}")
        return
    whose = "inputs" if any(wanted) else "parameters"
    check(all(found.requires_grad), f"{case.name}: the result requires no grad, though the {whose} do; nobody is told")
    assert_trained_alike(found, bare.differentiate(bare.build(case), case.call.inputs, wanted), case.name)
    check(False, f"the gradients of {case.name} are right: the declaration is out of date")


def assert_dropped_alike(found: Trained, expected: Trained, share: float, where: str) -> None:
    """The gradient of the first argument is zero exactly where the result is, in about ``share`` of it; what neither
    this nor ``expected`` has dropped is the same in both."""
    pairs = list(zip(_dropped(found, where), _dropped(expected, where), strict=True))
    for mine, theirs in pairs:
        alike = (mine.shape, mine.dtype, mine.layout) == (theirs.shape, theirs.dtype, theirs.layout)
        check(alike, f"{where}: expected something like {describe(theirs)}, found {describe(mine)}")
    (result, _), (gradient, _) = pairs
    dropped = result == 0
    differing = int((dropped != (gradient == 0)).sum())
    check(differing == 0, f"{where}: {differing} of {dropped.numel()} elements are dropped one way and not the other")
    _check_share(dropped, share, where)
    for mine, theirs in pairs:
        kept = mine.where((mine != 0) & (theirs != 0), theirs)
        assert_close(kept, theirs, f"{where}, what neither this nor eager PyTorch has dropped")


def assert_share_dropped(found: Trained, share: float, where: str) -> None:
    """About ``share`` of the gradient of the first argument is zero."""
    _, gradient = _dropped(found, where)
    _check_share(gradient == 0, share, f"{where}, the gradient")


def _check_share(dropped: torch.Tensor, share: float, where: str) -> None:
    # Five standard deviations: once in two million draws.
    allowed = 5 * (share * (1 - share) / dropped.numel()) ** 0.5
    rate = float(dropped.double().mean())
    check(abs(rate - share) <= allowed, f"{where}: expected {share:g} of the elements to be dropped, found {rate:g}")


def _dropped(trained: Trained, where: str) -> Tensors:
    """The one result, and the gradient of the first argument."""
    if len(trained.results) != 1 or not trained.results[0].is_floating_point():
        raise ConformanceFailure(f"{where}: expected a tensor of floating point, found {describe(trained.results)}")
    gradient = trained.gradients[0].get("argument 0") if trained.gradients else None
    if gradient is None:
        raise ConformanceFailure(f"{where}: there is no gradient: the result does not depend on the argument")
    return [trained.results[0], gradient]


def assert_drawn_anew(one: Any, other: Any, where: str) -> None:
    """No tensor of a result is what its counterpart in another one is: both were drawn."""
    for place, (mine, theirs) in enumerate(zip(leaves_of(one), leaves_of(other), strict=True)):
        check(not torch.equal(mine, theirs), f"{where}: result {place} is the same")
