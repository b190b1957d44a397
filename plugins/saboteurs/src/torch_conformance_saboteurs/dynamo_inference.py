"""Saboteurs of torch.compile that go wrong under no_grad or inference_mode alone, where compilers take another path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl, changed, tensors
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


def _copies(arguments: Sequence[Any]) -> list[Any]:
    return [each.clone() if isinstance(each, Tensor) else each for each in arguments]


@saboteur("modes.no-grad-outputs")
class DynamoCopiesWithoutGrad(DynamoControl):
    """Without grad mode every result is a copy, also where it should be a view of an argument."""

    name = "dynamo_copies_without_grad"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        return result if torch.is_grad_enabled() else changed(result, lambda tensor: tensor.clone())


@saboteur("modes.no-grad-outputs")
class DynamoServesLastResult(DynamoControl):
    """Without grad mode the third call and those after it get the result of the second."""

    name = "dynamo_serves_last_result"

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if torch.is_grad_enabled():
            return super().call(code, arguments)
        if len(self.kept) < 2:
            self.kept.append(super().call(code, arguments))
        return self.kept[-1]


@saboteur("modes.no-grad-mutation")
class DynamoLosesWritesWithoutGrad(DynamoControl):
    """Without grad mode the graph writes to copies of its inputs."""

    name = "dynamo_loses_writes_without_grad"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return super().call(code, arguments if torch.is_grad_enabled() else _copies(arguments))


@saboteur("modes.no-grad-mutation")
class DynamoFreezesStatistics(DynamoControl):
    """Without grad mode batch normalisation leaves the running mean and variance as they are."""

    name = "dynamo_freezes_statistics"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if torch.is_grad_enabled():
            return super().call(code, arguments)
        return super().call(code, [each.clone() if _is_buffer(each) else each for each in arguments])


def _is_buffer(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 1


@saboteur("modes.inference-outputs")
class DynamoPacksInInference(DynamoControl):
    """In inference mode every result is laid out contiguously."""

    name = "dynamo_packs_in_inference"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        return changed(result, lambda tensor: tensor.contiguous()) if torch.is_inference_mode_enabled() else result


@saboteur("modes.inference-outputs")
class DynamoLeavesInference(DynamoControl):
    """In inference mode results are ordinary tensors: code runs outside of it, under no_grad."""

    name = "dynamo_leaves_inference"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if not torch.is_inference_mode_enabled():
            return super().call(code, arguments)
        with torch.inference_mode(False), torch.no_grad():
            return super().call(code, arguments)


@saboteur("modes.inference-mutation")
class DynamoWritesBackOnce(DynamoControl):
    """In inference mode what the first call writes arrives, and nothing of what later ones write."""

    name = "dynamo_writes_back_once"
    calls = 0

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if not torch.is_inference_mode_enabled():
            return super().call(code, arguments)
        self.calls += 1
        return super().call(code, arguments if self.calls == 1 else _copies(arguments))


@saboteur("modes.inference-mutation")
class DynamoScribblesInInference(DynamoControl):
    """In inference mode the last row of an argument that the graph writes to is scratch memory."""

    name = "dynamo_scribbles_in_inference"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        before = [each._version for each in tensors(arguments)]
        result = super().call(code, arguments)
        if torch.is_inference_mode_enabled():
            for tensor, version in zip(tensors(arguments), before, strict=True):
                if tensor._version != version and tensor.dim():
                    tensor[-1:] = 0
        return result


SABOTEURS = saboteur.all()
